"""The parts of a joint: questions, or mechanisms that become questions, with cohorts in common."""

from __future__ import annotations

import dataclasses
from typing import Any, cast

from murmurs.boundary.checks import shown
from murmurs.mechanisms.mechanism import Mechanism, OpenMechanism
from murmurs.mechanisms.products.common import Combined
from murmurs.mechanisms.sets.sets import SetMechanism
from murmurs.questions.question import Question
from murmurs.questions.single import Single


def as_question(part: Any, number: int) -> Single:
    """Return a question; a mechanism becomes one with numbers for names."""
    if isinstance(part, Single):
        return part
    if isinstance(part, Combined) or hasattr(part, "questions"):
        raise TypeError(f"part {number} is itself joint: list all questions in one")
    if isinstance(part, OpenMechanism):
        return Question(str(number), (), part)
    if isinstance(part, Mechanism):
        labels = part.labels or tuple(map(str, range(part.k)))
        return Question(str(number), labels, part)
    raise TypeError(
        f"part {number} must be a question or a mechanism, not {type(part).__name__}: "
        "Joint(drink, age)"
    )


def check_questions(questions: tuple[Single, ...]) -> None:
    """Refuse fewer than two questions, and two of the same name."""
    if len(questions) < 2:
        raise ValueError(f"a joint is of at least two questions, not of {len(questions)}")
    seen: set[str] = set()
    for question in questions:
        if question.name in seen:
            raise ValueError(f"the question {shown(question.name)} is there twice")
        if isinstance(question.mechanism, SetMechanism):
            raise ValueError(
                f"question {shown(question.name)} takes several answers, and is asked by itself: "
                "leave it out of the joint; with pairs = true it shows which of its answers go "
                "together"
            )
        seen.add(question.name)


def in_common_cohorts(questions: tuple[Single, ...]) -> list[Any]:
    """Return the mechanisms; open ones with the smallest number of cohorts among them."""
    parts = [question.mechanism for question in questions]
    counts = [part.cohort_count for part in parts if part.cohort_count is not None]
    if len(set(counts)) < 2:
        return parts
    least = min(counts)
    return [
        dataclasses.replace(part, cohorts=least)  # type: ignore[type-var]
        if "cohorts" in _fields(part) and part.cohort_count != least
        else part
        for part in parts
    ]


def _fields(part: Any) -> set[str]:
    """Return the parameters of an open mechanism; those of others stay as they are."""
    is_open = isinstance(part, OpenMechanism)
    return {field.name for field in dataclasses.fields(cast(Any, part))} if is_open else set()
