"""Data frames: the one file that knows how pandas, polars and Arrow keep columns and tables.

No package is imported before a value of it is here. A column has one value for each row, a table
several columns with names. Other programs hand out Arrow streams: a relation of DuckDB does.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

MISSING = -1
"""The code of a value that is not there: None, NaN, NA, null."""

UNEQUAL = ("Y", "M", "generic")
"""The units of NumPy's durations that are no number of seconds."""

_PACKAGES = ("pandas", "polars", "pyarrow")


class Coded(NamedTuple):
    """``codes`` are numbers of ``values``, which differ from each other; `MISSING` has no value.

    The codes have whatever whole-number type the column has them in.
    """

    codes: NDArray[np.integer[Any]]
    values: list[Any]


def is_missing(value: Any) -> bool:
    """Whether a value stands for no answer: None, NaN, or NA and NaT of pandas."""
    if value is None:
        return True
    if isinstance(value, float | np.floating):
        return math.isnan(value)
    return type(value).__name__ in ("NAType", "NaTType")


def _package(value: object) -> str:
    return type(value).__module__.partition(".")[0]


def _is_stream(value: object) -> bool:
    return _package(value) not in ("numpy", *_PACKAGES) and hasattr(value, "__arrow_c_stream__")


def is_table(value: object) -> bool:
    """Whether a value has several columns: a data frame, or a table of Arrow."""
    return hasattr(value, "columns") and not _is_stream(value)


def is_column(value: object) -> bool:
    """Whether a value is a column of one of the packages, or the stream of one."""
    if _is_stream(value):
        return True
    if _package(value) not in _PACKAGES or is_table(value):
        return False
    return hasattr(value, "__len__") and not hasattr(value, "as_py")  # a scalar of Arrow has it


def is_labelled(value: object) -> bool:
    """Whether a value is of pandas with labels for its rows; the index of a list is a method."""
    return hasattr(value, "reindex") and not callable(getattr(value, "index", None))


def has_rows(value: object) -> bool:
    """Whether a value is a table of polars."""
    return hasattr(value, "iter_rows") and hasattr(value, "columns")


def named_columns(table: Any) -> tuple[list[Any], Callable[[Any], Any]] | None:
    """Return the names of a table's columns and how to take one, or None if it has no names."""
    if hasattr(table, "column_names") and hasattr(table, "column"):  # Arrow
        return list(table.column_names), table.column
    if hasattr(table, "columns") and hasattr(table, "__getitem__"):
        return list(table.columns), table.__getitem__
    if isinstance(table, np.ndarray) and table.dtype.names:
        return list(table.dtype.names), table.__getitem__
    return None


def labelled_cells(values: Any) -> tuple[list[Any], list[tuple[tuple[Any, ...], Any]]]:
    """Return the cells of a Series or a crosstab of pandas: names of its sides, labels, values."""
    sides = [values.index] if values.ndim == 1 else [values.index, values.columns]
    names = [name for side in sides for name in side.names]
    if values.ndim == 1:
        labels = values.index.tolist()
        return names, [(_tuple(a), n) for a, n in zip(labels, values.tolist(), strict=True)]
    cells = [
        ((*_tuple(row), *_tuple(column)), n)
        for row, numbers in zip(values.index, values.to_numpy().tolist(), strict=True)
        for column, n in zip(values.columns, numbers, strict=True)
    ]
    return names, cells


def _tuple(label: Any) -> tuple[Any, ...]:
    return label if isinstance(label, tuple) else (label,)


def coded_column(column: Any) -> Coded | None:
    """Return a column that knows its distinct values, or learns them quickly; None for others.

    Text in Arrow is coded by Arrow itself, and a Categorical keeps its codes.
    """
    categorical = getattr(column, "cat", column)
    if hasattr(categorical, "codes") and hasattr(categorical, "categories"):
        return Coded(np.asarray(categorical.codes), list(categorical.categories))
    if _is_stream(column):
        column = _only_column(column)
    elif _package(column) == "polars" and hasattr(column, "to_arrow"):
        column = column.to_arrow()
    elif _package(column) != "pyarrow":
        return None
    if not hasattr(column, "type") or not hasattr(column, "__len__"):
        raise TypeError(f"answers are a list or a column, not {type(column).__name__}")
    return joined([_coded_chunk(chunk) for chunk in getattr(column, "chunks", [column])])


def joined(parts: list[Coded]) -> Coded:
    """Return columns one after another as one, with the distinct values of all."""
    if len(parts) == 1:
        return parts[0]
    distinct = Distinct()
    codes = []
    for part in parts:
        own = [distinct.number(value) for value in part.values]
        codes.append(np.array([*own, MISSING], np.int64)[part.codes])
    return Coded(np.concatenate(codes) if codes else np.zeros(0, np.int64), distinct.values)


class Distinct:
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


_PLAIN = re.compile(r"(large_)?string(_view)?|bool|u?int\d+|half_?float|float|double|null")
"""The Arrow types of columns that hold labels."""


def _coded_chunk(chunk: Any) -> Coded:
    kind = str(getattr(chunk.type, "value_type", chunk.type))
    if hasattr(chunk.type, "num_fields") and chunk.type.num_fields:
        kind = str(chunk.type)
    if not _PLAIN.fullmatch(kind):
        told = str(chunk.type).partition("<")[0]  # the names of fields may be answers
        raise TypeError(f"a column of type {told} does not contain labels: they are text")
    values: list[Any] | None = None
    try:  # Arrow's own error would quote what is not UTF-8
        if not hasattr(chunk, "dictionary"):
            chunk = chunk.dictionary_encode()
        values = chunk.dictionary.to_pylist()
    except Exception:
        pass
    if values is None:
        raise ValueError("the column has text that is not UTF-8")
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


class Piece(NamedTuple):
    """Some rows of a column: an array, or a list of Python values; and which are missing."""

    values: Any
    missing: NDArray[np.bool_] | None = None


class NoReportsError(TypeError):
    """A column whose type no report has; the message names the column's type alone."""


class Packed(NamedTuple):
    """Rows of bytes, one after another, and the length of each row."""

    data: memoryview
    lengths: NDArray[np.integer[Any]]


def pieces(column: Any, part: int) -> Iterator[Piece]:
    """Return a column piece by piece; what Arrow or NumPy has laid out is not copied.

    A piece is an array of NumPy, `Packed` bytes, or a list of at most ``part`` Python values.
    """
    if _is_stream(column):
        yield from _of_arrow(_only_column(column), part)
    elif _package(column) == "pandas":
        yield from _of_pandas(column, part)
    elif _package(column) == "polars":
        yield from _of_polars(column, part)
    else:
        yield from _of_arrow(column, part)


def _of_pandas(column: Any, part: int) -> Iterator[Piece]:
    dtype = column.dtype
    if isinstance(dtype, np.dtype):
        yield Piece(np.asarray(column))
    elif hasattr(dtype, "pyarrow_dtype"):
        values = getattr(column, "array", column)
        yield from _of_arrow(values.__arrow_array__(), part)
    elif hasattr(dtype, "numpy_dtype"):
        kind = dtype.numpy_dtype
        yield Piece(column.to_numpy(kind, na_value=kind.type()), np.asarray(column.isna()))
    else:
        yield Piece(np.asarray(column), np.asarray(column.isna()))


def _of_polars(column: Any, part: int) -> Iterator[Piece]:
    missing = column.is_null().to_numpy() if column.null_count() else None
    if column.dtype.is_integer():
        yield Piece(column.to_numpy() if missing is None else [], missing)
        return
    try:
        arrow = column.to_arrow()
    except ImportError:  # polars converts without pyarrow too, one by one
        yield Piece(column.to_list(), missing)
        return
    yield from _of_arrow(arrow, part)


def _of_arrow(column: Any, part: int) -> Iterator[Piece]:
    for chunk in getattr(column, "chunks", [column]):
        if chunk.null_count:
            yield Piece([], chunk.is_null().to_numpy(zero_copy_only=False))
        elif len(chunk):
            yield from _of_chunk(chunk, part)


def _of_chunk(chunk: Any, part: int) -> Iterator[Piece]:
    from pyarrow import binary, types, uint8

    kind, n = chunk.type, len(chunk)
    if types.is_integer(kind):
        yield Piece(chunk.to_numpy())
    elif types.is_dictionary(kind):
        yield from _of_arrow(chunk.dictionary_decode(), part)
    elif types.is_fixed_size_binary(kind):
        width = kind.byte_width
        data = memoryview(chunk.buffers()[1])[chunk.offset * width :][: n * width]
        yield Piece(Packed(data, np.full(n, width)))
    elif types.is_binary(kind) or types.is_large_binary(kind):
        _, ends, data = chunk.buffers()
        places = np.frombuffer(ends, np.int32 if types.is_binary(kind) else np.int64)
        places = places[chunk.offset : chunk.offset + n + 1]
        yield Piece(Packed(memoryview(data)[places[0] : places[-1]], np.diff(places)))
    elif types.is_binary_view(kind):
        yield from _of_chunk(chunk.cast(binary()), part)
    elif types.is_fixed_size_list(kind) and kind.value_type == uint8():
        items = chunk.flatten()
        gone = items.is_null().to_numpy(zero_copy_only=False).reshape(n, -1).any(axis=1)
        rows = items.fill_null(0).to_numpy().reshape(n, -1)
        yield Piece(rows, gone if items.null_count else None)
    elif types.is_nested(kind) or str(kind) in ("string", "large_string", "string_view"):
        for start in range(0, n, part):
            yield Piece(chunk.slice(start, part).to_pylist())
    else:
        raise NoReportsError(f"a column of {kind}")


def _only_column(value: Any) -> Any:
    """Return the only column of a stream as a chunked array of Arrow; refuse a table of several."""
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError(
            f"a column of type {type(value).__name__} is read with pyarrow: pip install "
            "'murmurs[frames]'"
        ) from error
    found = pyarrow.chunked_array(value)
    if not pyarrow.types.is_struct(found.type):
        return found
    if found.type.num_fields != 1:
        raise TypeError(
            f"a {type(value).__name__} has {found.type.num_fields} columns: select the one that is "
            "meant, as in relation['drink']"
        )
    kind = found.type.field(0).type
    return pyarrow.chunked_array([chunk.field(0) for chunk in found.chunks], kind)


def numeric_column(column: Any, kind: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]] | None:
    """Return a column of numbers, dates or durations as numbers, and which are missing.

    Dates are days since 1970-01-01, durations seconds. None for a column of anything else, and for
    a list, whose values differ in type.
    """
    if _is_stream(column):
        column = _only_column(column)
    if _package(column) == "polars" and hasattr(column, "to_arrow"):
        column = column.to_arrow()
    if _package(column) == "pyarrow" and hasattr(column, "type") and hasattr(column, "__len__"):
        missing = np.asarray(column.is_null())
        column = _from_arrow(column)
    elif _package(column) == "pandas" and hasattr(column, "isna") and not is_table(column):
        missing = np.asarray(column.isna())
        dtype = column.dtype
        if isinstance(dtype, np.dtype):
            column = np.asarray(column)
        elif hasattr(dtype, "pyarrow_dtype"):
            return numeric_column(getattr(column, "array", column).__arrow_array__(), kind)
        elif hasattr(dtype, "numpy_dtype"):
            own = dtype.numpy_dtype
            column = column.to_numpy(own, na_value=own.type())
        else:
            return None
    elif isinstance(column, np.ndarray) and column.ndim == 1:
        missing = np.zeros(len(column), np.bool_)
    else:
        return None
    numbers = None if column is None else _as_numbers(column, kind)
    if numbers is None:
        return None
    gone = missing | np.isnan(numbers)
    return np.where(gone, np.nan, numbers), gone


def _from_arrow(column: Any) -> NDArray[Any] | None:
    """Return a column of Arrow as an array, with anything where it has no value."""
    from pyarrow import types

    kind = column.type
    if types.is_dictionary(kind):
        column = column.combine_chunks() if hasattr(column, "chunks") else column
        column = column.dictionary_decode() if hasattr(column, "dictionary_decode") else column
        kind = column.type
    if types.is_decimal(kind):
        column = column.cast("float64")
    elif not (types.is_integer(kind) or types.is_floating(kind) or types.is_temporal(kind)):
        return None
    if types.is_time(kind):
        return None
    if types.is_timestamp(kind) and kind.tz is not None:  # the date where it was written down
        column = column.cast(f"timestamp[{kind.unit}]") if kind.tz == "UTC" else _local(column)
    return np.asarray(column)


def _local(column: Any) -> Any:
    from pyarrow import compute

    return compute.local_timestamp(column)


def _as_numbers(values: NDArray[Any], kind: str) -> NDArray[np.float64] | None:
    own = values.dtype.kind
    if kind == "dates":
        if own != "M":
            return None
        days = values.astype("datetime64[D]")
        return np.where(np.isnat(days), np.nan, days.astype(np.int64).astype(np.float64))
    if own == "m":
        if kind != "durations":
            return None
        if np.datetime_data(values.dtype)[0] in UNEQUAL:
            return np.full(len(values), np.inf)  # which no scale takes
        return np.asarray(values / np.timedelta64(1, "s"), np.float64)
    if own == "f" and values.itemsize < 8:  # as the decimals they show: 0.7 must be on the edge 0.7
        distinct, places = np.unique(values, return_inverse=True)
        return distinct.astype(str).astype(np.float64)[places]
    return values.astype(np.float64) if own in "iuf" else None
