"""Answers to several questions, as the mechanism of each takes them; errors name the question."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurs.boundary.checks import shown
from murmurs.boundary.frames import MISSING
from murmurs.questions.joint.candidates import check_known
from murmurs.questions.joint.columns import check_lengths, columns_of
from murmurs.questions.reported import as_reports
from murmurs.questions.single import Single
from murmurs.wire import Reports

Labels = str | Mapping[str, str] | None
"""A label for all questions, or a label for each of some of them."""

Questions = tuple[Single, ...]


def answered(questions: Questions, answers: Sequence[Any]) -> tuple[Any, ...]:
    """Return one person's answers."""
    found = []
    for question, answer in zip(questions, answers, strict=True):
        with _naming(question):
            found.append(question.answer(answer))
    return tuple(found)


def coded_columns(
    questions: Questions, data: object, missing: Labels, drop_missing: bool, unknown: Labels
) -> tuple[list[Any], list[Any], NDArray[np.bool_]]:
    """Return the codes of the answers to each question, what they stand for, and of which rows."""
    names = tuple(question.name for question in questions)
    stand_ins = _for_each("missing", missing, names)
    if drop_missing and isinstance(missing, str):
        raise ValueError(
            "missing names a label for missing answers, and drop_missing leaves them out: "
            "choose one of the two"
        )
    strange = _for_each("unknown", unknown, names)
    codes, tables = [], []
    for question, column in zip(questions, columns_of(data, names), strict=True):
        label = stand_ins.get(question.name)
        drops, other = drop_missing and label is None, strange.get(question.name)
        with _naming(question):
            own, table = question.coded_answers(
                column, missing=label, drop_missing=drops, unknown=other
            )
        codes.append(own if label is None else np.where(own == MISSING, len(table) - 1, own))
        tables.append(table)
    check_lengths(names, [len(own) for own in codes])
    there = np.logical_and.reduce([own != MISSING for own in codes])
    return (codes if there.all() else [own[there] for own in codes]), tables, there


def reported_columns(
    questions: Questions, data: object, drop_missing: bool, unknown: Labels
) -> list[Reports]:
    """Return answers that were randomised already as reports, of the rows that have them all."""
    names = tuple(question.name for question in questions)
    strange = _for_each("unknown", unknown, names)
    columns, theres = [], []
    for question, column in zip(questions, columns_of(data, names), strict=True):
        with _naming(question):
            own, there = as_reports(question, column, drop_missing, strange.get(question.name))
        columns.append(own)
        theres.append(there)
    check_lengths(names, [len(own) for own in columns])
    kept = np.logical_and.reduce(theres)
    return [own[kept] for own in columns]


def _for_each(option: str, labels: Labels, names: tuple[str, ...]) -> dict[str, str]:
    """Return the label that an option gives for each question."""
    if labels is None:
        return {}
    if not isinstance(labels, Mapping):
        return dict.fromkeys(names, labels)
    check_known(option, labels, names)
    return dict(labels)


@contextlib.contextmanager
def _naming(question: Single) -> Iterator[None]:
    """Add the name of the question to an error, if the error does not have it yet."""
    try:
        yield
    except (TypeError, ValueError) as error:
        name, text = shown(question.name), str(error)
        raise type(error)(text if name in text else f"question {name}: {text}") from None
