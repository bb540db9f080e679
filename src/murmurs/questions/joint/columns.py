"""Answers to several questions, one row per person: a table, a mapping, or columns in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from murmurs.boundary.checks import shown
from murmurs.boundary.frames import is_labelled, named_columns

_FORMS = (
    "answers to several questions are a data frame or a mapping with a column for each question, "
    "or a list of columns"
)


def columns_of(data: Any, names: Sequence[str]) -> list[Any]:
    """Return the columns with these names, in their order; other columns are not looked at.

    >>> columns_of({"age": [30, 70], "drink": ["tea", "mate"], "id": [1, 2]}, ["drink", "age"])
    [['tea', 'mate'], [30, 70]]
    """
    if isinstance(data, Mapping):
        return _in_rows([_named(data.__getitem__, list(data), name) for name in names], names)
    table = named_columns(data)
    if table is not None:
        known, take = table
        return [_named(take, known, name) for name in names]
    if isinstance(data, np.ndarray):
        raise TypeError(f"{_FORMS}, not an array: give its rows as dict(zip(names, rows.T))")
    if isinstance(data, str | bytes) or not isinstance(data, Sequence):
        raise TypeError(f"{_FORMS}, not {type(data).__name__}")
    if any(isinstance(column, tuple) for column in data):
        raise TypeError(
            f"{_FORMS}, not a list of tuples, which may be rows: give rows as "
            "dict(zip(names, zip(*rows)))"
        )
    if len(data) != len(names):
        raise ValueError(f"answers to {len(names)} questions are as many columns, not {len(data)}")
    return _in_rows(list(data), names)


def _in_rows(columns: list[Any], names: Sequence[str]) -> list[Any]:
    """Return columns; refuse pandas Series whose rows are in different orders."""
    series = [(name, c) for name, c in zip(names, columns, strict=True) if is_labelled(c)]
    for name, column in series[1:]:
        first, other = series[0]
        if not column.index.equals(other.index):
            raise ValueError(
                f"the columns for {shown(first)} and {shown(name)} have different indexes, so it "
                "is not clear which rows belong together: put them into one data frame"
            )
    return columns


def _named(take: Any, known: list[Any], name: str) -> Any:
    if known.count(name) == 1:
        return take(name)
    if name in known:
        raise ValueError(f"the data has {known.count(name)} columns called {shown(name)}")
    raise ValueError(
        f"the data has no column called {shown(name)} among its {len(known)}: the first row of a "
        "file, or the names of a data frame, must name the questions"
    )


def check_lengths(names: Sequence[str], lengths: Sequence[int]) -> None:
    """Refuse columns of different lengths: one submission is one row."""
    for name, length in zip(names, lengths, strict=True):
        if length != lengths[0]:
            raise ValueError(
                f"there are {lengths[0]} answers to {shown(names[0])} and {length} to "
                f"{shown(name)}: one submission is one row, with an answer to every question"
            )
