"""Joints of questions in files: the entry of a survey, and the document of a file of counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from murmurs import mechanisms
from murmurs.boundary.checks import shown
from murmurs.boundary.documents import reading_as
from murmurs.boundary.texts import listed
from murmurs.mechanisms.mechanism import Mechanism
from murmurs.questions.joint.questions import Joint
from murmurs.questions.question import Question
from murmurs.questions.question_file import question_from_document


class JointFile(msgspec.Struct, forbid_unknown_fields=True):
    """The fields of a joint in a survey file; questions are those of the survey, by name."""

    questions: list[str]
    name: str | None = None
    once: bool = False
    epsilon: float | None = None
    mechanism: dict[str, Any] | None = None

    def settled(self, known: Mapping[str, Question]) -> Joint:
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


def _single(document: dict[str, Any], asked: list[Question]) -> Mechanism[Any]:
    """Return the mechanism that reports a combination of answers as one answer."""
    k = 1
    for question in asked:
        k *= len(question.labels)
    given = {"k": k, **document} if document.get("name") in mechanisms.BY_NAME else document
    made = mechanisms.from_document(given)
    if not isinstance(made, Mechanism):
        raise ValueError(f"{made} takes any string, but combinations are listed")
    return made


class _Document(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    questions: list[dict[str, Any]]
    once: bool = False
    mechanism: dict[str, Any] | None = None


def joint_from_document(document: Any) -> Joint:
    """Return the joint that a JSON object describes; the inverse of `Joint.to_document`.

    >>> from murmurs import KRR
    >>> both = Joint(KRR(k=2, epsilon=1.0), KRR(k=3, epsilon=1.0), once=True)
    >>> joint_from_document(both.to_document()) == both
    True
    """
    with reading_as("a joint of questions"):
        found = msgspec.convert(document, _Document)
    known = {q.name: q for q in map(question_from_document, found.questions)}
    if len(known) < len(found.questions):
        raise ValueError(f"joint {shown(found.name)} has a question twice")
    file = JointFile(list(known), found.name, found.once, None, found.mechanism)
    return file.settled(known)


def asked_from_document(document: Any) -> Question | Joint:
    """Return the question, or the joint of several, that a JSON object describes."""
    if isinstance(document, dict) and "questions" in document:
        return joint_from_document(document)
    return question_from_document(document)
