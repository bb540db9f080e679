"""A toy kind of question, for tests only: a rating of some stars, answered with whole numbers.

It is written as a kind would be: a class, its entry, and one line in the list of kinds. Up to
`rating_listed` it could stand in `questions/`: it imports from lower layers, not from `murmurs`.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from murmurs.boundary.answers import coded
from murmurs.boundary.labelled import in_order
from murmurs.boundary.labels import Labels
from murmurs.counts import Counts
from murmurs.estimators import estimate
from murmurs.estimators.estimation import Estimate
from murmurs.mechanisms import KRR
from murmurs.numerics.arrays import Integers
from murmurs.questions.asked import GIVEN
from murmurs.questions.entry import Entry
from murmurs.questions.kinds import KINDS
from murmurs.questions.single import Single
from murmurs.randomness.sources import ChanceInBulk


@dataclass(frozen=True)
class Rating(Single):
    """How many stars of so many; the answer n has the label "n stars"."""

    name: str
    stars: int
    mechanism: KRR
    text: str = ""
    ordered: bool = field(default=True, init=False)
    labels: tuple[str, ...] = field(init=False)
    why: str = field(default=GIVEN, init=False)

    def __post_init__(self) -> None:
        labels = tuple("1 star" if n == 1 else f"{n} stars" for n in range(1, self.stars + 1))
        object.__setattr__(self, "labels", labels)

    @property
    def _numbers(self) -> Labels:
        return Labels(tuple(str(n) for n in range(1, self.stars + 1)), self.called)

    def answer(self, answer: int | str) -> int:
        """Return the number of the answer with so many stars."""
        stars = self._numbers.find(answer)
        if stars is None:
            raise ValueError(f"an answer to {self.called} is a number from 1 to {self.stars}")
        return stars

    def coded_answers(
        self,
        answers: object,
        *,
        missing: str | None = None,
        drop_missing: bool = False,
        unknown: str | None = None,
    ) -> tuple[NDArray[np.integer[Any]], Integers]:
        """Return a column of stars as codes, and the number of the answer for each code."""
        column = coded(answers)
        table = self._numbers.table(column.values, missing, unknown)
        self._numbers.refuse_bad(column.codes, table, drop_missing)
        return column.codes, table

    def simulate(self, people: object, random: ChanceInBulk = None) -> Counts:
        """Draw the counts of so many people with each number of stars."""
        given = in_order(people, self.stars, self.labels, "people", self.called, self.place_of)
        return self.mechanism.simulate(given, random)

    def estimate(
        self,
        counts: Counts,
        estimator: Any = None,
        *,
        candidates: Any = None,
        complete: bool = False,
    ) -> Estimate:
        """Estimate the share of each number of stars."""
        if candidates is not None or complete:
            raise ValueError(f"{self.called} takes no candidates")
        found = estimate(counts, estimator, labels=self.labels)
        return dataclasses.replace(found, title=self.text or self.name, ordered=True)

    def with_mechanism(self, mechanism: KRR) -> Self:
        """Return the same rating with another mechanism."""
        return dataclasses.replace(self, mechanism=mechanism)

    def to_document(self) -> dict[str, Any]:
        """Return its entry in a survey."""
        return {
            "name": self.name,
            "text": self.text,
            "stars": self.stars,
            "mechanism": self.mechanism.to_document(),
        }


class RatingEntry(Entry):
    """The fields of a rating in a survey file."""

    kind = "a rating"

    name: str
    stars: int
    text: str = ""
    epsilon: float | None = None
    mechanism: dict[str, Any] | None = None

    @classmethod
    def owns(cls, entry: Mapping[str, Any]) -> bool:
        """Whether an entry has stars."""
        return "stars" in entry

    def settled(self, known: Mapping[str, Single]) -> Rating:
        """Return the rating, with the probabilities of its mechanism fixed."""
        given = {"epsilon": self.epsilon} | (self.mechanism or {})
        given.pop("name", None)
        return Rating(self.name, self.stars, KRR(**{"k": self.stars, **given}), self.text)


@contextlib.contextmanager
def rating_listed() -> Iterator[None]:
    """List the toy among the kinds until the end of the block."""
    KINDS.insert(0, RatingEntry)
    try:
        yield
    finally:
        KINDS.remove(RatingEntry)
