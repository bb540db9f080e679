"""Open mechanisms over a list of candidates, what all of them share."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from murmurs.hashing import strings
from murmurs.mechanisms.mechanism import Mechanism, OpenMechanism
from murmurs.wire import Report

OTHER = "(other)"
"""The label of all strings that are not among the candidates."""


@dataclass(frozen=True, repr=False)
class OverCandidates(Mechanism[Report]):
    """An open mechanism with a list of candidates; the last answer stands for all other strings.

    If the list is ``complete``, there is no such answer.
    """

    mechanism: OpenMechanism[Report]
    candidates: tuple[str, ...]
    complete: bool = False

    def __post_init__(self) -> None:
        self._set(candidates=strings.candidates(self.candidates, self.mechanism.check))
        if not self.candidates:
            raise ValueError("there are no candidates: list the strings to look for")
        if OTHER in self.candidates:
            line = self.candidates.index(OTHER) + 1
            raise ValueError(f"line {line}: {OTHER!r} stands for all strings that are not listed")

    @property
    def is_open(self) -> bool:
        """Whether the last answer stands for all unlisted strings: if the list is not complete."""
        return not self.complete

    @property
    def k(self) -> int:  # type: ignore[override]
        """The number of candidates, plus one for all others if there are any."""
        return len(self.candidates) + self.is_open

    @property
    def labels(self) -> tuple[str, ...]:
        """The candidates, and the label for all other strings."""
        return (*self.candidates, OTHER) if self.is_open else self.candidates

    @property
    def epsilon(self) -> float:  # type: ignore[override]
        """The epsilon of the open mechanism."""
        return self.mechanism.epsilon

    @property
    def ratio(self) -> Fraction:
        """The ratio of the open mechanism."""
        return self.mechanism.ratio

    @property
    def cohort_count(self) -> int | None:
        """The number of cohorts."""
        return self.mechanism.cohort_count

    @property
    def shape(self) -> Any:
        """The shape of the open mechanism's reports."""
        return self.mechanism.shape

    @property
    def is_longitudinal(self) -> bool:
        """Whether the reports of one person share a permanent response."""
        return self.mechanism.is_longitudinal

    def to_document(self) -> dict[str, Any]:
        """Return the open mechanism with the candidates."""
        listed = {"candidates": list(self.candidates)}
        return self.mechanism.to_document() | listed | ({"complete": True} if self.complete else {})

    def __repr__(self) -> str:
        only = "only " if self.complete else ""
        return f"{self.mechanism!r}.over({only}{len(self.candidates)} candidates)"
