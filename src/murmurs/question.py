"""Question: what is asked, the possible answers, and the mechanism that randomises them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from murmurs import mechanisms
from murmurs.boundary.checks import shown
from murmurs.boundary.documents import reading_as
from murmurs.boundary.texts import as_tuple, check_name, check_text, listed
from murmurs.mechanism import Mechanism, OpenMechanism


@dataclass(frozen=True)
class Question:
    """A question; answer j has labels[j]. An open question has no labels: it takes any string."""

    name: str
    labels: tuple[str, ...]
    mechanism: Mechanism[Any] | OpenMechanism[Any]
    text: str = ""

    def __post_init__(self) -> None:
        check_name(self.name, "a question")
        check_text(self.text, f"the text of {self._called}", allowed="\n\t")
        object.__setattr__(self, "labels", as_tuple(self.labels, f"labels of {self._called}"))
        self._check_mechanism()
        seen: set[str] = set()
        for number, label in enumerate(self.labels):
            # The first test is a fast path: there may be a million labels.
            if not (type(label) is str and label.isprintable()):
                check_text(label, f"label {number} of {self._called}")
            if not label.strip():
                raise ValueError(f"{self._called} has an empty label")
            if label in seen:
                raise ValueError(f"{self._called} has the label {shown(label)} twice")
            seen.add(label)

    @property
    def _called(self) -> str:
        return f"question {shown(self.name)}"

    def _check_mechanism(self) -> None:
        """Refuse a mechanism that does not fit the labels."""
        mechanism, called = self.mechanism, self._called
        if isinstance(mechanism, OpenMechanism):
            if self.labels:
                raise ValueError(
                    f"{called} has {len(self.labels)} labels, but its mechanism "
                    f"{mechanism} takes any string: give candidates when estimating"
                )
        elif not isinstance(mechanism, Mechanism):
            raise TypeError(f"{called} has {shown(mechanism)} for a mechanism")
        elif isinstance(mechanism, mechanisms.Over):
            raise ValueError(
                f"{called} has a mechanism over candidates, {mechanism}: ask with "
                f"{mechanism.mechanism} and without labels; give candidates when estimating"
            )
        elif len(self.labels) != mechanism.k:
            raise ValueError(
                f"{called} has {len(self.labels)} labels, "
                f"but its mechanism {mechanism} takes {mechanism.k} answers"
            )

    @property
    def is_open(self) -> bool:
        """Whether any string is an answer."""
        return isinstance(self.mechanism, OpenMechanism)

    @property
    def closed(self) -> Mechanism[Any]:
        """The mechanism of a question that lists its answers."""
        if isinstance(self.mechanism, OpenMechanism):
            raise ValueError(f"{self._called} is open: it has no list of answers")
        return self.mechanism

    def answer(self, label: str) -> int:
        """Return the number of the answer with this label; an error does not reveal the label."""
        if not isinstance(label, str):
            raise TypeError(
                f"an answer to {shown(self.name)} is one of its labels, a string, not of type "
                f"{type(label).__name__}"
            )
        if label not in self.labels:
            raise ValueError(
                f"this is not an answer to {shown(self.name)}; answers are {listed(self.labels)}"
            )
        return self.labels.index(label)

    def to_document(self) -> dict[str, Any]:
        """Return the question as plain values for JSON."""
        return {
            "name": self.name,
            "text": self.text,
            "labels": list(self.labels),
            "mechanism": self.mechanism.to_document(),
        }


class QuestionFile(msgspec.Struct, forbid_unknown_fields=True):
    """The fields of a question in a survey file."""

    name: str
    mechanism: dict[str, Any]
    labels: list[str] = []
    text: str = ""

    def settled(self) -> Question:
        """Return the question, with defaults for what the file leaves out."""
        mechanism, name = self.mechanism, shown(self.name)
        over = sorted(mechanisms.OF_CANDIDATES & set(mechanism))
        if over:
            raise ValueError(
                f"question {name} has {over[0]!r} in its mechanism: a survey lists no candidates, "
                "give them when estimating"
            )
        if mechanism.get("name") not in list(mechanisms.OPEN):
            if not self.labels:
                raise ValueError(
                    f"question {name} has no labels; only open mechanisms "
                    f"({', '.join(mechanisms.OPEN)}) need none"
                )
            mechanism = {"k": len(self.labels), **mechanism}
        return Question(
            self.name, tuple(self.labels), mechanisms.from_document(mechanism), self.text
        )


def question_from_document(document: Any) -> Question:
    """Return the question that a JSON object describes, the inverse of ``to_document``."""
    with reading_as("a question"):
        file = msgspec.convert(document, QuestionFile)
    return file.settled()
