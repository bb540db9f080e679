"""Answers in the shapes that people have them: lists, NumPy, pandas, polars and Arrow columns.

`coded` turns any of them into whole numbers and the distinct values they stand for. Columns that
are coded already (a Categorical of pandas or polars, a dictionary array of Arrow) keep their codes,
so that no string is looked at twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any

import numpy as np

from murmurs.boundary.frames import (
    MISSING,
    Coded,
    Distinct,
    coded_column,
    has_rows,
    is_missing,
)


def coded(column: object) -> Coded:
    """Return a column of answers as codes and distinct values.

    >>> codes, values = coded(["tea", None, "mate", "tea"])
    >>> codes.tolist(), values
    ([0, -1, 1, 0], ['tea', 'mate'])
    """
    if isinstance(column, Coded):
        return column
    if isinstance(column, str | bytes | bytearray):
        raise TypeError("answers are a list or a column, one per person, not one text")
    if isinstance(column, Mapping):
        raise TypeError(
            "answers are one per person, and this mapping looks like counts: simulate() takes the "
            "number of people per answer"
        )
    if isinstance(column, Set):
        raise TypeError(
            "answers are a list or a column, not a set, which has each answer only once"
        )
    if getattr(column, "ndim", 1) == 0:
        raise TypeError("answers are a list or a column, one per person, not a single value")
    if has_rows(column) or getattr(column, "ndim", 1) > 1:
        raise TypeError(
            f"answers are one column, not a table of type {type(column).__name__}: select the "
            "column, as in frame['drink']"
        )
    found = coded_column(column)
    if found is not None:
        return found
    if not isinstance(column, Iterable):
        raise TypeError(
            f"answers are a list or a column, one per person, not {type(column).__name__}"
        )
    listed = column.tolist() if hasattr(column, "tolist") else column
    return _of_values(listed)


def without_empty(column: Coded) -> Coded:
    """Return a column in which empty strings are missing, as they are in a file.

    >>> without_empty(coded(["tea", "", "mate"])).codes.tolist()
    [0, -1, 2]
    """
    empty = [n for n, value in enumerate(column.values) if isinstance(value, str) and not value]
    if not empty:
        return column
    return Coded(np.where(np.isin(column.codes, empty), MISSING, column.codes), column.values)


def _of_values(column: Iterable[Any]) -> Coded:
    listed = column if isinstance(column, list) else list(column)
    if set(map(type, listed)) <= {str, type(None)}:  # nearly always, and then there is no doubt
        known = [value for value in dict.fromkeys(listed) if value is not None]
        places = {None: MISSING, **{value: number for number, value in enumerate(known)}}
        codes = np.fromiter(map(places.__getitem__, listed), np.int64, len(listed))
        return Coded(codes, known)
    distinct = Distinct()
    found = [MISSING if is_missing(value) else distinct.number(value) for value in listed]
    return Coded(np.array(found, np.int64), distinct.values)
