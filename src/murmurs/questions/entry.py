"""Entries: what a survey's document says about a question, as people write it.

Each kind of question has its own class, whose fields are those of the entry. `kinds` lists them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, cast

import msgspec

from murmurs import mechanisms
from murmurs.boundary.checks import shown
from murmurs.mechanisms.mechanism import Mechanism, OpenMechanism
from murmurs.planning.choice import Goal
from murmurs.questions.question import Question
from murmurs.questions.single import Single
from murmurs.scales.making import Written, scale_of_numbers
from murmurs.scales.scale import Outside

if TYPE_CHECKING:
    from murmurs.questions.asked import Asked


class Entry(msgspec.Struct, forbid_unknown_fields=True):
    """An entry of one kind; what the file leaves open is filled in by `settled`."""

    section: ClassVar[str] = "questions"
    """The list of the document that it stands in."""
    kind: ClassVar[str] = "a question"
    """What errors call it."""

    @classmethod
    def owns(cls, entry: Mapping[str, Any]) -> bool:  # noqa: ARG003
        """Whether an entry of its section is one of this kind; all are that no other kind owns."""
        return True

    def settled(self, known: Mapping[str, Single]) -> Asked:
        """Return what is asked; ``known`` are the single questions of the survey, by name."""
        raise NotImplementedError


class QuestionEntry(Entry):
    """The fields of a question with labels, or with any string for an answer."""

    name: str
    mechanism: dict[str, Any] | None = None
    labels: list[str] = []
    text: str = ""
    epsilon: float | None = None
    people: int | None = None
    open: bool | None = None
    ordered: bool = False
    range: list[Any] | None = None
    width: Any = None
    buckets: int | None = None
    edges: list[Any] | None = None
    scores: list[float] | None = None
    whole: bool | None = None
    durations: bool = False
    outside: Outside = "refuse"
    circular: bool = False
    unit: str = ""
    goal: Goal | None = None

    @property
    def _written(self) -> dict[str, Any]:
        """What the file says about the scale."""
        names = {field.name for field in dataclasses.fields(Written)} & set(self.__struct_fields__)
        return {name: getattr(self, name) for name in names}

    def settled(self, known: Mapping[str, Single]) -> Single:
        """Return the question, with what the file leaves open filled in."""
        rest = {"epsilon": self.epsilon, "people": self.people, "open": self.open}
        mechanism = None if self.mechanism is None else self._made(dict(self.mechanism))
        return Question(
            self.name,
            tuple(self.labels),
            cast(Any, mechanism),
            self.text,
            ordered=self.ordered,
            goal=self.goal,
            **cast(Any, rest),
            **self._written,
        )

    @property
    def _answers(self) -> int:
        """How many labels or buckets there are."""
        written = Written(**self._written)
        if self.labels or not written.has_numbers:
            return len(self.labels)
        called = f"question {shown(self.name)}"
        return scale_of_numbers(written, called, self.epsilon, self.people)[0].k

    def _made(self, mechanism: dict[str, Any]) -> Mechanism[Any] | OpenMechanism[Any]:
        name = shown(self.name)
        over = sorted(mechanisms.OF_CANDIDATES & set(mechanism))
        if over:
            raise ValueError(
                f"question {name} has {over[0]!r} in its mechanism: a survey lists no candidates, "
                "give them when estimating"
            )
        kind = str(mechanism.get("name"))
        if kind in mechanisms.survey_designs.BY_NAME:
            return self._single({**({"labels": self.labels} if self.labels else {}), **mechanism})
        if kind not in [*mechanisms.OPEN, "Design", "Dictionary", "NGrams", "Product"]:
            answers = self._answers
            if not answers:
                raise ValueError(
                    f"question {name} has no labels; only open mechanisms "
                    f"({', '.join(mechanisms.OPEN)}) and designs do without"
                )
            mechanism = {"k": answers, **mechanism}
        return self._single(mechanism)

    def _single(self, document: dict[str, Any]) -> Mechanism[Any] | OpenMechanism[Any]:
        """Return the mechanism of one question; a product is that of several."""
        made = mechanisms.from_document(document)
        if isinstance(made, mechanisms.Product | mechanisms.OpenProduct):
            raise ValueError(
                f"question {shown(self.name)} has a Product for a mechanism, which is that of "
                "several questions: list these one by one, and their names in a [[joint]]"
            )
        if isinstance(made, mechanisms.SetMechanism):
            raise ValueError(
                f"question {shown(self.name)} has a mechanism for sets of answers: add "
                "several = true, or take another"
            )
        return made
