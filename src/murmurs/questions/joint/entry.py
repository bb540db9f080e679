"""Joints of questions in the survey's document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from murmurs import mechanisms
from murmurs.boundary.checks import shown
from murmurs.boundary.texts import listed
from murmurs.mechanisms.mechanism import Mechanism
from murmurs.questions.entry import Entry
from murmurs.questions.joint.questions import Joint
from murmurs.questions.single import Single


class JointEntry(Entry):
    """The fields of a joint in a survey file; questions are those of the survey, by name."""

    section = "joint"
    kind = "a joint"

    questions: list[str]
    name: str | None = None
    once: bool = False
    epsilon: float | None = None
    mechanism: dict[str, Any] | None = None

    def settled(self, known: Mapping[str, Single]) -> Joint:
        """Return the joint, with what the file leaves open filled in."""
        called = "a joint" if self.name is None else f"joint {shown(self.name)}"
        for name in self.questions:
            if name not in known:
                raise ValueError(
                    f"{called} has the question {shown(name)}, which the survey does not have; it "
                    f"has {listed(tuple(known))}"
                )
        asked = [known[name] for name in self.questions]
        try:
            made = None if self.mechanism is None else _single(self.mechanism, asked)
            return Joint(
                *asked, name=self.name, once=self.once, epsilon=self.epsilon, mechanism=made
            )
        except (ValueError, TypeError) as error:
            raise ValueError(f"{called} of {listed(tuple(self.questions))}: {error}") from None


def _single(document: dict[str, Any], asked: list[Single]) -> Mechanism[Any]:
    """Return the mechanism that reports a combination of answers as one answer."""
    k = 1
    for question in asked:
        k *= len(question.labels)
    given = {"k": k, **document} if document.get("name") in mechanisms.BY_NAME else document
    made = mechanisms.from_document(given)
    if not isinstance(made, Mechanism):
        raise ValueError(f"{made} takes any string, but combinations are listed")
    return made
