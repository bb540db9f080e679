"""The data of a study: how many people hold each value of a column."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

from murmurs.boundary.checks import index
from murmurs.boundary.frames import MISSING, is_missing
from murmurs.boundary.reading import is_digits, named
from murmurs.cli.columns import Columns
from murmurs.cli.output import MOST_PEOPLE, say
from murmurs.files.columns import Chunk
from murmurs.numerics.arrays import Integers

MOST_ANSWERS = 5000
"""Answers that are compared without being asked for; with more, Subset takes minutes."""

_MOST_DISTINCT = 10**6
"""Values that are counted, so that a column of names does not fill the memory."""

_FEW = 100
"""Values up to which nothing is said about how few people hold each."""

_LIKE_MISSING = frozenset({"na", "n/a", "nan", "null", "none", "missing", "-", ".", "?"})
"""Values of a text, in small letters, that often stand for no answer."""


def people_of_column(
    path: Path, columns: Columns, *, counts: str | None, drop_missing: bool, top: int | None
) -> Integers:
    """Return how many people hold each value of a column, the commonest first.

    ``counts`` is a second column, with the number of people of each row. ``top`` is how many values
    are kept; all others are one answer.
    """
    if counts is not None:
        if counts == columns.column:
            raise ValueError("--counts must be another column than --column")
        columns = columns._replace(by=(counts,))
    counted: Counter[str] = Counter()
    for chunk in columns.chunks(path):
        values = chunk.listed()
        missing = [position for position, value in enumerate(values) if is_missing(value)]
        if missing and not drop_missing:
            chunk.refuse(
                path, missing[0], "the value is missing: leave such people out with --drop-missing"
            )
        numbers = [1] * len(values) if counts is None else _numbers(path, chunk)
        for value, number in zip(values, numbers, strict=True):
            if not is_missing(value):
                counted[str(value)] += number
        if len(counted) > _MOST_DISTINCT:
            raise ValueError(
                f"{named(path)}: there are more than {_MOST_DISTINCT:,} different values, too many "
                "for a study: take another column, or join values"
            )
    if counts is None and columns.format is None and columns.kind(path) == "text":
        _refuse_histogram(path, counted)
    if counted.total() > MOST_PEOPLE:
        raise ValueError(f"{named(path)}: there are more than 2**62 people, too many for a study")
    _say_what_looks_missing(counted)
    people = np.array([number for _, number in counted.most_common() if number], np.int64)
    if len(people) < 2:
        found = "one value only" if len(people) else "no value"
        raise ValueError(f"{named(path)}: there is {found}, and a study needs at least two")
    return _top(path, people, top, alone=counts is None)


def _numbers(path: Path, chunk: Chunk) -> list[int]:
    """Return how many people each row stands for."""
    assert chunk.segments is not None
    codes, values = chunk.segments
    people = [int(v) if isinstance(v, str) and is_digits(v) else index(v) for v in values]
    found: list[int] = []
    for position, code in enumerate(codes.tolist()):
        number = None if code == MISSING else people[code]
        if number is None or not 0 <= number <= MOST_PEOPLE:
            what = "the number of people under --counts is missing, or not a whole number from 0 on"
            chunk.refuse(path, position, what)
        found.append(number)
    return found


def _refuse_histogram(path: Path, counted: Counter[str]) -> None:
    """Refuse lines that all differ and end with a number: so a histogram looks as a text."""
    for delimiter in (",", ";", "\t"):
        ends = (value.rpartition(delimiter)[1:] for value in counted)
        if len(counted) == counted.total() > 1 and all(d and is_digits(n.strip()) for d, n in ends):
            given = {",": "", ";": " --delimiter ';'", "\t": ""}[delimiter]
            kind = "tsv" if delimiter == "\t" else "csv"
            raise ValueError(
                f"{named(path)}: every line is another value and a number. If the number says how "
                f"many people hold the value, add --format {kind}{given} --no-header --column 1 "
                "--counts 2; if the line is the value, add --format text"
            )


def _say_what_looks_missing(counted: Counter[str]) -> None:
    """Note values that may stand for no answer: in a text they count as answers."""
    for value in sorted(value for value in counted if value.casefold() in _LIKE_MISSING):
        n = counted[value]
        say(
            f"Note: {'1 person holds' if n == 1 else f'{n:,} people hold'} the value {value!r}, "
            "which counts as an answer. If it stands for none, leave these cells empty, "
            "and add --drop-missing.",
            err=True,
        )


def _top(path: Path, people: Integers, top: int | None, *, alone: bool) -> Integers:
    """Return the histogram of the commonest values, with all others as one answer.

    Very many values are refused if ``top`` does not say how many of them are wanted. ``alone`` says
    that each row is one person.
    """
    many, everybody = len(people), int(people.sum())
    if top is None and many > MOST_ANSWERS:
        raise ValueError(
            f"{named(path)}: there are {many:,} different values among {everybody:,} people, and "
            f"no more than {MOST_ANSWERS:,} are compared by default: merge the rare ones with "
            f"--top 100, or compare all of them with --top {many} (slow)"
        )
    if alone and many == everybody:
        say(
            f"Note: every one of {many:,} people holds another value. If each row is a value, and "
            "another column says how many people hold it, name that column with --counts.",
            err=True,
        )
    elif 2 * many > everybody and many > _FEW:
        say(
            f"Note: {everybody:,} people hold {many:,} different values, most of them alone. If "
            "these are names or numbers of people, their shares tell nothing.",
            err=True,
        )
    if top is None or top >= many:
        return people
    return np.append(people[:top], people[top:].sum())
