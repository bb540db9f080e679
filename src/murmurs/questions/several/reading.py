"""Sets of ticks in the shapes that people have them.

One person's ticks are a collection of labels, or text with ";" between them. A column has a set or
a text for each person; a table has a column of zeros and ones for each label.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurs.boundary.checks import shown
from murmurs.boundary.frames import MISSING, is_missing, is_table, named_columns
from murmurs.boundary.labels import UNKNOWN, Labels
from murmurs.boundary.texts import listed

BETWEEN = ";"
"""Stands between labels in a text; alone it is an answer without any tick."""

Ticks = tuple[int, ...]


class Choices(Labels):
    """The labels of a question, of which at most ``most`` may be ticked."""

    def __init__(self, labels: tuple[str, ...], owner: str, most: int) -> None:
        super().__init__(labels, owner)
        self.most = most

    @property
    def rule(self) -> str:
        """What an answer is, as errors say it."""
        return (
            f"an answer is at most {self.most} different labels of {listed(self.labels)}, in a "
            f"text with {BETWEEN!r} between them"
        )

    def check(self) -> None:
        """Also refuse labels that could not be told apart in a text of several."""
        super().check()
        for label in self.labels:
            if BETWEEN in label or label != label.strip():
                raise ValueError(
                    f"{self.owner} has the label {shown(label)}: with several answers, labels "
                    f"have no {BETWEEN!r}, which is between them in a text, and no space at their "
                    "ends"
                )


class NoAnswerError(ValueError):
    """A value that is no set of ticks; the message says why, and does not quote it."""


def ticks_in(value: Any, labels: Choices, unknown: int | None = None) -> Ticks:
    """Return the numbers of the labels that one person ticked; errors do not quote them.

    ``unknown`` is the label of what is none of them.

    >>> owns = Choices(("car", "bike", "boat"), "question 'owns'", 2)
    >>> ticks_in({"bike", "car"}, owns), ticks_in("boat;car", owns), ticks_in(";", owns)
    ((0, 1), (0, 2), ())
    """
    found = [labels.number_of(part) for part in _parts(value, labels)]
    if unknown is not None:  # several that are unknown are one answer
        known = [number for number in found if number != UNKNOWN]
        found = [*known, unknown] if len(known) < len(found) and unknown not in known else known
    for number in found:
        if number == UNKNOWN:
            raise NoAnswerError(
                f"an answer has a label that is none of {labels.owner}; it has "
                f"{listed(labels.labels)}; several are written with ';' between them"
            )
    ticks = tuple(sorted(set(found)))
    if len(ticks) < len(found):
        raise NoAnswerError("an answer has the same label twice")
    if len(ticks) > labels.most:
        raise NoAnswerError(
            f"an answer has more labels than the {labels.most} that {labels.owner} takes: have "
            'people tick fewer, or ask with more="sample"'
        )
    return ticks


def _parts(value: Any, labels: Labels) -> list[Any]:
    """Return the labels in a value, one by one."""
    if isinstance(value, str):
        if value.strip() in ("", BETWEEN):
            return []
        return [part.strip() for part in value.split(BETWEEN)]
    if isinstance(value, Mapping) or not isinstance(value, Iterable):
        if labels.find(value) is not None:  # a number or a truth value that is a label
            return [value]
        raise NoAnswerError(
            f"an answer is a collection of labels, such as {shown(list(labels.labels[:2]))}, or "
            f"text with {BETWEEN!r} between them"
        )
    return list(value)


def coded_sets(
    answers: Any, labels: Labels, read: Callable[[Any], Ticks], missing: Ticks | None
) -> tuple[NDArray[np.int64], list[Ticks]]:
    """Return the sets of many people as codes and the different sets they stand for.

    Those that are not there have the code `MISSING`, unless a set is given for them.
    """
    sets: dict[Ticks, int] = {}
    known: dict[Any, int] = {}
    table = _flags(answers, labels)
    codes = []
    for position, value in enumerate(_values(answers) if table is None else table):
        if table is None and is_missing(value):
            code = MISSING if missing is None else sets.setdefault(missing, len(sets))
        elif isinstance(value, str) and value in known:
            code = known[value]
        else:
            try:
                ticks = read(value)
            except NoAnswerError as error:
                raise NoAnswerError(f"answer number {position} (from 0): {error}") from None
            code = sets.setdefault(ticks, len(sets))
            if isinstance(value, str):
                known[value] = code
        codes.append(code)
    return np.array(codes, np.int64), list(sets)


def _values(answers: Any) -> Iterable[Any]:
    """Return the values of a column, as Python has them."""
    if isinstance(answers, str | bytes | Mapping | set | frozenset):
        raise TypeError(
            "answers are a list or a column with the ticks of each person, not of type "
            f"{type(answers).__name__}"
        )
    for way in ("to_pylist", "to_list", "tolist"):
        if hasattr(answers, way):
            found: Iterable[Any] = getattr(answers, way)()
            return found
    if not isinstance(answers, Iterable):
        raise TypeError(
            f"answers are a list or a column with the ticks of each person, not of type "
            f"{type(answers).__name__}"
        )
    return answers


def _flags(answers: Any, labels: Labels) -> list[list[str]] | None:
    """Return the ticks in a table with a column of zeros and ones for each label, if it is one."""
    columns: list[Any]
    if isinstance(answers, Mapping):
        names, columns = list(answers), [list(column) for column in answers.values()]
    elif isinstance(answers, np.ndarray) and answers.ndim == 2:
        if answers.shape[1] != len(labels.labels):
            raise ValueError(
                f"{labels.owner} has {len(labels.labels)} labels, and this table has "
                f"{answers.shape[1]} columns: pass a column of zeros and ones for each label"
            )
        names, columns = list(labels.labels), list(answers.T)
    elif is_table(answers) and (found := named_columns(answers)) is not None:
        names, columns = found[0], [_values(found[1](name)) for name in found[0]]
    else:
        return None
    if len({len(list(column)) for column in columns}) > 1:
        raise ValueError("the columns of the labels have different lengths")
    numbers = [labels.number_of(name) for name in names]
    if UNKNOWN in numbers or len(set(numbers)) < len(labels.labels):
        raise ValueError(
            f"a table has a column of zeros and ones for each label of {labels.owner}, which are "
            f"{listed(labels.labels)}, and no other column: select them, or pass one column of sets"
        )
    ticked = np.column_stack(
        [_ticked(column, name) for column, name in zip(columns, names, strict=True)]
    )
    texts = [labels.labels[number] for number in numbers]
    return [[texts[i] for i in np.flatnonzero(row)] for row in ticked]


def _ticked(column: Iterable[Any], name: Any) -> NDArray[np.bool_]:
    """Return a column of zeros and ones as booleans."""
    out = []
    for position, value in enumerate(column):
        if is_missing(value) or isinstance(value, str) or value not in (0, 1):
            what = "missing" if is_missing(value) else "not 0 or 1"
            raise NoAnswerError(
                f"answer number {position} (from 0): the tick of {shown(name)} is {what}"
            )
        out.append(bool(value))
    return np.array(out, np.bool_)


def text_of(ticks: Sequence[int], labels: Sequence[str]) -> str:
    """Return a set as text; the inverse of `ticks_in`."""
    return BETWEEN.join(labels[number] for number in ticks) or BETWEEN
