"""Answers in the shapes that people have them: lists, NumPy, pandas, polars and Arrow columns.

`coded` turns any of them into whole numbers and the distinct values they stand for. Columns that
are coded already (a Categorical of pandas or polars, a dictionary array of Arrow) keep their codes,
so that no string is looked at twice. The other packages are recognised without importing them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

MISSING = -1
"""The code of a value that is not there: None, NaN, NA, null."""


class Coded(NamedTuple):
    """``codes`` are numbers of ``values``, which differ from each other; `MISSING` has no value.

    The codes have whatever whole-number type the column has them in.
    """

    codes: NDArray[np.integer[Any]]
    values: list[Any]


def coded(column: object) -> Coded:
    """Return a column of answers as codes and distinct values.

    >>> codes, values = coded(["tea", None, "mate", "tea"])
    >>> codes.tolist(), values
    ([0, -1, 1, 0], ['tea', 'mate'])
    """
    if isinstance(column, str | bytes | bytearray):
        raise TypeError("answers are a list or a column, one per person, not one text")
    if isinstance(column, Mapping):
        raise TypeError(
            "answers are one per person, and this mapping looks like counts: simulate() takes the "
            "number of people per answer"
        )
    if hasattr(column, "columns") or getattr(column, "ndim", 1) > 1:
        raise TypeError(
            f"answers are one column, not a table of type {type(column).__name__}: select the "
            "column, as in frame['drink']"
        )
    package = type(column).__module__.partition(".")[0]
    if package == "pyarrow":
        return _of_arrow(column)
    if package == "polars":
        return _of_arrow(column.to_arrow())  # type: ignore[attr-defined]
    categorical = getattr(column, "cat", column)
    if hasattr(categorical, "codes") and hasattr(categorical, "categories"):
        return Coded(np.asarray(categorical.codes), list(categorical.categories))
    if not isinstance(column, Iterable):
        raise TypeError(
            f"answers are a list or a column, one per person, not {type(column).__name__}"
        )
    listed = column.tolist() if hasattr(column, "tolist") else column
    return _of_values(listed)


def _of_arrow(column: Any) -> Coded:
    """Return an array of Arrow, in one piece or in chunks; strings are coded by Arrow itself."""
    chunks = column.chunks if hasattr(column, "chunks") else [column]
    parts = [_of_chunk(chunk) for chunk in chunks]
    if len(parts) == 1:
        return parts[0]
    numbers: dict[Any, int] = {}
    codes = []
    for part in parts:
        own = [numbers.setdefault(_key(value), len(numbers)) for value in part.values]
        codes.append(np.array([*own, MISSING], np.int64)[part.codes])
    joined = np.concatenate(codes) if codes else np.zeros(0, np.int64)
    return Coded(joined, [value for _, value in numbers])


def _of_chunk(chunk: Any) -> Coded:
    if not hasattr(chunk, "dictionary"):
        chunk = chunk.dictionary_encode()
    values, indices = chunk.dictionary.to_pylist(), chunk.indices
    codes = indices.to_numpy(zero_copy_only=False) if not indices.null_count else None
    if codes is None:
        missing = indices.is_null().to_numpy(zero_copy_only=False)
        codes = indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
        codes[missing] = MISSING
    kept = [value for value in values if not is_missing(value)]
    if len(kept) == len(values):
        return Coded(codes, values)
    table = np.full(len(values) + 1, MISSING, np.int64)
    table[[n for n, value in enumerate(values) if not is_missing(value)]] = np.arange(len(kept))
    return Coded(table[codes], kept)


def _of_values(column: Iterable[Any]) -> Coded:
    listed = column if isinstance(column, list) else list(column)
    if set(map(type, listed)) <= {str, type(None)}:  # nearly always, and then there is no doubt
        distinct = [value for value in dict.fromkeys(listed) if value is not None]
        places = {None: MISSING, **{value: number for number, value in enumerate(distinct)}}
        codes = np.fromiter(map(places.__getitem__, listed), np.int64, len(listed))
        return Coded(codes, distinct)
    numbers: dict[Any, int] = {}
    found = [
        MISSING if is_missing(value) else numbers.setdefault(_key(value), len(numbers))
        for value in listed
    ]
    return Coded(np.array(found, np.int64), [value for _, value in numbers])


def _key(value: Any) -> tuple[type, Any]:
    """Return what tells values apart: 1, True and 1.0 are three values."""
    try:
        hash(value)
    except TypeError:
        return type(value), id(value)
    return type(value), value


def is_missing(value: Any) -> bool:
    """Whether a value stands for no answer: None, NaN, or NA and NaT of pandas."""
    if value is None:
        return True
    if isinstance(value, float | np.floating):
        return math.isnan(value)
    return type(value).__name__ in ("NAType", "NaTType")
