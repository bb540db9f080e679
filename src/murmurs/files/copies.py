"""Copies: whether a column that is kept has the answers themselves, in whatever type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from murmurs.boundary.frames import is_missing
from murmurs.questions.single import Single


def is_copy(question: Single, answers: Sequence[Any], values: Sequence[Any]) -> bool:
    """Whether every value is read as the answer beside it: 1, 1.0 and "1" are one answer.

    >>> from murmurs import Question
    >>> cups = Question("cups", ["1", "2"], epsilon=1.0)
    >>> is_copy(cups, ["1", "2", None], [1.0, 2.0, float("nan")]), is_copy(cups, ["1"], ["2"])
    (True, False)
    """
    same: set[tuple[object, ...]] = set()
    for answer, value in zip(answers, values, strict=True):
        if answer == value:
            continue
        key = (type(answer), str(answer), type(value), str(value))
        if key not in same and not _is_same(question, answer, value):
            return False
        same.add(key)
    return True


def _is_same(question: Single, answer: Any, value: Any) -> bool:
    if is_missing(answer) or is_missing(value):
        return is_missing(answer) and is_missing(value)
    if question.is_open:
        return str(answer) == str(value)
    try:
        one, other = question.numbers([answer]), question.numbers([value])
    except (TypeError, ValueError, OverflowError):
        return False
    return bool(one[0] == other[0])
