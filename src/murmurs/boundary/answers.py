"""Answers in the shapes that people have them: lists, NumPy, pandas, polars and Arrow columns.

`coded` turns any of them into whole numbers and the distinct values they stand for. Columns that
are coded already (a Categorical of pandas or polars, a dictionary array of Arrow) keep their codes,
so that no string is looked at twice. The other packages are recognised without importing them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Set
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmurs.boundary.streams import column_of, is_stream

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
    if is_stream(column):
        return _of_arrow(column_of(column))
    if getattr(column, "ndim", 1) == 0:
        raise TypeError("answers are a list or a column, one per person, not a single value")
    if hasattr(column, "iter_rows") or getattr(column, "ndim", 1) > 1:
        raise TypeError(
            f"answers are one column, not a table of type {type(column).__name__}: select the "
            "column, as in frame['drink']"
        )
    package = type(column).__module__.partition(".")[0]
    if package == "pyarrow":
        return _of_arrow(column)
    if package == "polars" and hasattr(column, "to_arrow"):
        return _of_arrow(column.to_arrow())
    categorical = getattr(column, "cat", column)
    if hasattr(categorical, "codes") and hasattr(categorical, "categories"):
        return Coded(np.asarray(categorical.codes), list(categorical.categories))
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


def _of_arrow(column: Any) -> Coded:
    """Return an array of Arrow, in one piece or in chunks; strings are coded by Arrow itself."""
    if not hasattr(column, "type") or not hasattr(column, "__len__"):
        raise TypeError(f"answers are a list or a column, not {type(column).__name__}")
    chunks = column.chunks if hasattr(column, "chunks") else [column]
    parts = [_of_chunk(chunk) for chunk in chunks]
    if len(parts) == 1:
        return parts[0]
    distinct = _Distinct()
    codes = []
    for part in parts:
        own = [distinct.number(value) for value in part.values]
        codes.append(np.array([*own, MISSING], np.int64)[part.codes])
    joined = np.concatenate(codes) if codes else np.zeros(0, np.int64)
    return Coded(joined, distinct.values)


_PLAIN = re.compile(r"(large_)?string(_view)?|bool|u?int\d+|half_?float|float|double|null")
"""The Arrow types of columns that hold labels."""


def _of_chunk(chunk: Any) -> Coded:
    kind = str(getattr(chunk.type, "value_type", chunk.type))
    if hasattr(chunk.type, "num_fields") and chunk.type.num_fields:
        kind = str(chunk.type)
    if not _PLAIN.fullmatch(kind):
        told = str(chunk.type).partition("<")[0]  # the names of fields may be answers
        raise TypeError(f"a column of type {told} does not hold labels: they are text")
    values: list[Any] | None = None
    try:  # Arrow's own error would quote what is not UTF-8
        if not hasattr(chunk, "dictionary"):
            chunk = chunk.dictionary_encode()
        values = chunk.dictionary.to_pylist()
    except Exception:
        pass
    if values is None:
        raise ValueError("the column holds text that is not UTF-8")
    indices = chunk.indices
    codes = indices.to_numpy(zero_copy_only=False) if not indices.null_count else None
    if codes is None:
        missing = indices.is_null().to_numpy(zero_copy_only=False)
        codes = indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
        codes[missing] = MISSING
    elif len(codes) and int(codes.min()) < 0:
        raise ValueError("the column is damaged: some of its codes are negative")
    if len(codes) and int(codes.max()) >= len(values):
        raise ValueError("the column is damaged: some of its codes have no value")
    kept = [value for value in values if not is_missing(value)]
    if len(kept) == len(values):
        return Coded(codes, values)
    table = np.full(len(values) + 1, MISSING, np.int64)
    table[[n for n, value in enumerate(values) if not is_missing(value)]] = np.arange(len(kept))
    return Coded(table[codes], kept)


def _of_values(column: Iterable[Any]) -> Coded:
    listed = column if isinstance(column, list) else list(column)
    if set(map(type, listed)) <= {str, type(None)}:  # nearly always, and then there is no doubt
        known = [value for value in dict.fromkeys(listed) if value is not None]
        places = {None: MISSING, **{value: number for number, value in enumerate(known)}}
        codes = np.fromiter(map(places.__getitem__, listed), np.int64, len(listed))
        return Coded(codes, known)
    distinct = _Distinct()
    found = [MISSING if is_missing(value) else distinct.number(value) for value in listed]
    return Coded(np.array(found, np.int64), distinct.values)


class _Distinct:
    """Distinct values with their numbers: 1, True and 1.0 are three, unhashable ones each one."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._numbers: dict[Any, int] = {}

    def number(self, value: Any) -> int:
        """Return the number of a value, a new one if it was not there yet."""
        key: tuple[type, Any] = (type(value), value)
        try:
            hash(value)
        except Exception:  # whatever a strange object says, it may say the answer
            key = (type(value), id(value))
        if key not in self._numbers:
            self._numbers[key] = len(self.values)
            self.values.append(value)
        return self._numbers[key]


def is_missing(value: Any) -> bool:
    """Whether a value stands for no answer: None, NaN, or NA and NaT of pandas."""
    if value is None:
        return True
    if isinstance(value, float | np.floating):
        return math.isnan(value)
    return type(value).__name__ in ("NAType", "NaTType")
