"""Keys of rows, as tables have them: whole numbers, texts, bytes, or the 16 bytes of a UUID.

A key names a person or a row, so errors give its position and never the key.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from murmurs.boundary.checks import index, utf8
from murmurs.boundary.frames import NoReportsError, Packed, is_column, is_missing, is_table, pieces

Kind = Literal["integer", "uuid", "text", "bytes"]

_FORMS = "keys are whole numbers, texts, bytes or UUIDs, one for each row"

_AT_ONCE = 2**16
"""Texts of a column that are looked at together."""


@dataclass(frozen=True, eq=False, repr=False)
class RowKeys:
    """One key for each row, and of which kind all of them are.

    ``values`` are a whole-number array; rows of 16 bytes; or a list of bytes, which for texts are
    their UTF-8. The kind follows from the type of the column and never from its values, so that
    all parts of a table have the same.
    """

    kind: Kind
    values: NDArray[Any] | list[bytes]

    def __len__(self) -> int:
        return len(self.values)

    def only(self, rows: slice | NDArray[Any]) -> RowKeys:
        """Return the keys of some rows."""
        values = self.values
        if isinstance(values, np.ndarray):
            return RowKeys(self.kind, values[rows])
        if isinstance(rows, slice):
            return RowKeys(self.kind, values[rows])
        places = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
        return RowKeys(self.kind, [values[place] for place in places.tolist()])


def row_keys(column: object) -> RowKeys:
    """Return a column of keys; refuse missing ones, floats, and several types in one column.

    >>> row_keys([7, 5, -1]).kind, row_keys(["7", "5"]).values
    ('integer', [b'7', b'5'])
    """
    if isinstance(column, RowKeys):
        return column
    if isinstance(column, str | bytes | bytearray | Mapping | Set) or is_table(column):
        raise TypeError(f"{_FORMS}: a list or a column, not {type(column).__name__}")
    if is_column(column):
        return _of_column(column)
    if isinstance(column, np.ndarray):
        return _of_array(column)
    if not isinstance(column, Iterable):
        raise TypeError(f"{_FORMS}: a list or a column, not {type(column).__name__}")
    return _of_list(column if isinstance(column, list) else list(column))


def _of_array(array: NDArray[Any]) -> RowKeys:
    kind = array.dtype.kind
    if array.ndim == 2 and array.dtype == np.uint8 and array.shape[1] == 16:
        return RowKeys("uuid", array)
    if array.ndim != 1:
        raise TypeError(f"{_FORMS}: an array has one dimension, or rows of 16 bytes (uint8)")
    if kind in "iu":
        return RowKeys("integer", array)
    if kind == "V" and array.dtype.itemsize == 16 and array.dtype.names is None:
        return RowKeys("uuid", np.ascontiguousarray(array).view(np.uint8).reshape(-1, 16))
    if kind in "UTO":
        return _of_list(array.tolist())
    if kind == "S":
        raise TypeError("an array of bytes in NumPy drops zeros at their end: give keys as a list")
    raise TypeError(f"{_FORMS}, not {_told(array.dtype)}")


def _told(dtype: np.dtype[Any]) -> str:
    if dtype.kind != "f":
        return str(dtype)
    return (
        f"{dtype}: whole numbers become floats where some are missing; leave rows without a key "
        "out, then take .astype(int)"
    )


def _of_list(values: list[Any]) -> RowKeys:
    if not values:
        return RowKeys("integer", np.zeros(0, np.int64))
    kind = _kind_of(values[0], 0)
    plain = {"integer": int, "uuid": UUID, "text": str, "bytes": bytes}[kind]
    if set(map(type, values)) != {plain}:
        for position, value in enumerate(values):
            own = _kind_of(value, position)
            if own != kind:
                raise TypeError(
                    f"keys are all of one type, and number {position} is of type "
                    f"{type(value).__name__} after {type(values[0]).__name__}"
                )
    if kind == "integer":
        return RowKeys("integer", _whole_numbers(values))
    if kind == "uuid":
        joined = b"".join([value.bytes for value in values])
        return RowKeys("uuid", np.frombuffer(joined, np.uint8).reshape(-1, 16))
    return RowKeys(kind, _filled(_encoded(values) if kind == "text" else list(map(bytes, values))))


def _kind_of(value: Any, position: int) -> Kind:
    if is_missing(value):
        raise ValueError(f"key number {position} is missing: leave rows without a key out")
    if isinstance(value, str):
        return "text"
    if isinstance(value, bytes | bytearray):
        return "bytes"
    if isinstance(value, UUID):
        return "uuid"
    if index(value) is not None:
        return "integer"
    raise TypeError(f"{_FORMS}, and number {position} is of type {type(value).__name__}")


def _whole_numbers(values: list[Any]) -> NDArray[Any]:
    """Return 64-bit numbers, signed if they fit."""
    low, high = min(values), max(values)
    if low >= -(2**63) and high < 2**63:
        return np.array(values, np.int64)
    if low >= 0 and high < 2**64:
        return np.array(values, np.uint64)
    raise ValueError("keys that are whole numbers fit into 64 bits: give longer ones as text")


def _encoded(texts: Sequence[str]) -> list[bytes]:
    try:
        return [text.encode() for text in texts]
    except UnicodeEncodeError:
        pass  # it would contain the key
    where = next(place for place, text in enumerate(texts) if isinstance(utf8(text), int))
    raise ValueError(f"key number {where} has half of a surrogate pair, which no UTF-8 has")


def _filled(keys: list[bytes]) -> list[bytes]:
    if not all(keys):
        raise ValueError(
            f"key number {keys.index(b'')} is empty: leave rows without a key out, or name them"
        )
    return keys


def _of_column(column: Any) -> RowKeys:
    """Return the keys of a column of pandas, polars or Arrow."""
    column, kind = _stored(column)
    fixed = str(kind) == "fixed_size_binary[16]"
    found: list[RowKeys] = []
    start = 0
    try:
        for piece in pieces(column, _AT_ONCE):
            if piece.missing is not None and piece.missing.any():
                where = start + int(np.argmax(piece.missing))
                raise ValueError(f"key number {where} is missing: leave rows without a key out")
            found.append(_of_piece(piece.values, fixed, start))
            start += len(found[-1])
    except NoReportsError as error:
        raise TypeError(f"{_FORMS}, not {error}") from None
    if not found:
        return RowKeys("integer", np.zeros(0, np.int64))
    if len({own.kind for own in found}) > 1:
        raise TypeError("keys are all of one type: make the column one of text or of numbers")
    if len(found) == 1:
        return found[0]
    arrays = [own.values for own in found]
    if found[0].kind in ("integer", "uuid"):
        return RowKeys(found[0].kind, np.concatenate(arrays))
    return RowKeys(found[0].kind, [key for own in arrays for key in own])


def _stored(column: Any) -> tuple[Any, Any]:
    """Return a column and its type in Arrow, if it has one; of a UUID, as it is stored."""
    own = getattr(getattr(column, "dtype", None), "pyarrow_dtype", None)
    kind: Any = getattr(column, "type", own)
    if hasattr(kind, "storage_type") and hasattr(column, "cast"):
        kind = kind.storage_type
        return column.cast(kind), kind
    return column, kind


def _of_piece(values: Any, fixed: bool, start: int) -> RowKeys:
    if isinstance(values, Packed):
        if fixed:
            return RowKeys("uuid", np.frombuffer(values.data, np.uint8).reshape(-1, 16))
        data, ends = bytes(values.data), [0, *np.cumsum(values.lengths).tolist()]
        return RowKeys("bytes", _filled([data[a:b] for a, b in pairwise(ends)]))
    try:
        return _of_array(values) if isinstance(values, np.ndarray) else _of_list(values)
    except (TypeError, ValueError) as error:
        if not start:
            raise
        told = f"from row {start} on, {error}"
        raise type(error)(told) from None
