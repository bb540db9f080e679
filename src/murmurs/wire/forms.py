"""Reports in the forms that people have them: arrays, columns, bytes, base64 text and JSON values.

`arrays` turns any of them into arrays of one shape, in bounded parts, without copying what is laid
out that way already (`murmurs.boundary.frames`). Every report is checked by its shape, and an error
gives its position among all reports.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any

import numpy as np

from murmurs.boundary import base64s
from murmurs.boundary.checks import index
from murmurs.boundary.frames import (
    NoReportsError,
    Packed,
    is_column,
    is_missing,
    is_table,
    pieces,
)
from murmurs.wire import BadReportError, Bits, Category, Reports, Shape

COUNT_REPORTED = "question.count_reported(labels)"
"""What errors suggest for labels in place of reports."""

_PART = 2**16
_MISSING = "is missing: leave it out"
_FORMS = "reports are an array or a column, bytes, base64 text, or a list of reports"


def arrays(reports: object, shape: Shape[Any]) -> Iterator[Reports]:
    r"""Return reports in any form as checked arrays of this shape.

    >>> shape = Category(300)
    >>> [part.tolist() for part in arrays([258, b"\x02\x01", "AgE=", np.array([2, 1])], shape)]
    [[258, 258, 258], [2, 1]]
    >>> next(arrays([1, 300], shape))
    Traceback (most recent call last):
    murmurs.wire.BadReportError: report 1 is not a Category(count=300): 300 is outside 0..299
    """
    done, pieces = 0, _pieces(reports, shape)
    while True:
        try:
            piece = next(pieces, None)
            if piece is None:
                return
            checked = shape.check(piece)
        except BadReportError as error:
            raise error.after(done) from None
        done += len(checked)
        yield checked


def _pieces(reports: object, shape: Shape[Any]) -> Iterator[Reports]:
    """Return unchecked arrays; an error has the position after the reports returned before it."""
    if isinstance(reports, str):
        yield shape.view(_of_long_text(reports))
    elif isinstance(reports, bytes | bytearray | memoryview):
        yield shape.view(reports)
    elif isinstance(reports, Mapping) or is_table(reports):
        raise TypeError(
            f"{_FORMS}, not {type(reports).__name__}: if they are counted already, use Counts; of "
            "a table, select the column"
        )
    elif isinstance(reports, Set):
        raise TypeError(f"{_FORMS}, not a set, which has each report only once")
    elif _is_column(reports):
        yield from _of_column(reports, shape)
    elif isinstance(reports, Iterable):
        yield from _of_items(reports, shape)
    else:
        raise TypeError(f"{_FORMS}, not {type(reports).__name__}")


def _is_column(value: object) -> bool:
    return value.ndim > 0 if isinstance(value, np.ndarray) else is_column(value)


def _of_long_text(text: str) -> bytes:
    """Return the bytes of base64 text, which may be broken into lines."""
    try:
        return base64s.from_text("".join(text.split()))
    except ValueError as error:
        raise ValueError(f"{error}: texts of one report each are given as a list") from None


def _of_items(items: Iterable[Any], shape: Shape[Any]) -> Iterator[Reports]:
    """Return single reports in parts, and columns among them one by one, in their order."""
    single: list[Any] = []
    for item in items:
        if isinstance(item, np.ndarray) and _is_row(item, shape):
            single.append(item.tobytes())
        elif type(item) not in _SINGLE and _is_column(item):
            if single:
                yield _packed(single, shape)
                single = []
            yield from _of_column(item, shape)
        elif type(item) not in _SINGLE and is_table(item):
            raise TypeError(f"{_FORMS}, not of {type(item).__name__}: select the column")
        else:
            single.append(item)
            if len(single) == _PART:
                yield _packed(single, shape)
                single = []
    if single:
        yield _packed(single, shape)


def _is_row(item: Reports, shape: Shape[Any]) -> bool:
    """Whether an array is one report of several elements, as a row of an array of reports is."""
    return item.shape == (shape.columns,) and item.dtype == shape.dtype


_SINGLE = frozenset({int, bytes, str, list, tuple, type(None)})
"""The types of most single reports, which need no closer look."""


def _packed(single: list[Any], shape: Shape[Any]) -> Reports:
    kinds = set(map(type, single))
    if kinds == {int} and isinstance(shape, Category) and max(map(abs, single)) < 2**63:
        return np.array(single, np.int64)
    if kinds == {bytes} and set(map(len, single)) == {shape.size}:
        return shape.view(b"".join(single))
    rows = []
    for position, item in enumerate(single):
        try:
            rows.append(_row(item, shape))
        except BadReportError as error:
            raise BadReportError(position, error.rule) from None
        except (TypeError, ValueError) as error:
            raise BadReportError(position, f"is refused: {error}") from None
    return shape.view(b"".join(rows))


def _row(item: Any, shape: Shape[Any]) -> bytes:
    """Return the bytes of one report, as `encode` returns it, packed, as base64 text or in JSON."""
    if hasattr(item, "as_py"):
        item = item.as_py()
    if is_missing(item):
        raise BadReportError(0, _MISSING)
    if isinstance(item, str):
        try:
            item = base64s.from_text(item)
        except ValueError as error:
            raise ValueError(
                f"{error}; labels that were randomised already are counted with {COUNT_REPORTED}"
            ) from None
    if isinstance(item, bytes | bytearray | memoryview):
        if memoryview(item).nbytes != shape.size:
            length = memoryview(item).nbytes
            raise ValueError(f"{length} bytes are not one report of {shape.size} bytes: {shape}")
        return bytes(item)
    if isinstance(item, list):
        return shape.pack(shape.from_json(item))
    if not isinstance(item, tuple) and index(item) is None:  # may be an answer: not quoted
        raise TypeError(f"a report of {shape} is not of type {type(item).__name__}")
    return shape.pack(item)


def _of_column(column: Any, shape: Shape[Any]) -> Iterator[Reports]:
    if isinstance(column, np.ndarray):
        yield from _of_array(column, shape)
        return
    found = pieces(column, _PART)
    while True:
        try:
            piece = next(found, None)
        except NoReportsError as error:
            raise TypeError(f"{error} does not contain reports of {shape}") from None
        if piece is None:
            return
        values, missing = piece
        if missing is not None:
            is_row = isinstance(values, np.ndarray) and values.ndim == 2
            _refuse_missing(missing, "has a missing byte" if is_row else _MISSING)
        if isinstance(values, Packed):
            yield shape.view(_joined(values, shape))
        elif isinstance(values, list):
            yield from _of_items(values, shape)
        elif values.ndim == 2 and not isinstance(shape, Bits):  # lists of small numbers
            yield from _of_items(values.tolist(), shape)
        else:
            yield from _of_array(values, shape)


def _refuse_missing(missing: Any, rule: str = _MISSING) -> None:
    """Refuse the first position where a report is missing."""
    flags = np.asarray(missing, bool)
    if flags.any():
        raise BadReportError(int(flags.argmax()), rule)


def _of_array(array: Reports, shape: Shape[Any]) -> Iterator[Reports]:
    if isinstance(array, np.ma.MaskedArray):
        mask = np.frombuffer(
            np.ma.getmaskarray(array).tobytes(), bool
        )  # of records, field by field
        if mask.any():
            _refuse_missing(mask.reshape(len(array), -1).any(axis=1))
        array = array.data
    dtype = array.dtype
    if array.ndim == 1 and shape.columns == 1 and dtype == shape.dtype:
        yield array.reshape(-1, 1)  # a data frame has made one dimension of two
    elif dtype == shape.dtype or array.ndim > 1:
        yield array
    elif dtype.kind in "SV" and dtype.fields is None and dtype.itemsize == shape.size:
        yield shape.view(np.ascontiguousarray(array).tobytes())
    elif dtype.kind in "OUT":
        yield from _of_items(array.tolist(), shape)
    else:
        if dtype.kind == "f":
            _refuse_missing(np.isnan(array))
        yield array


def _joined(packed: Packed, shape: Shape[Any]) -> memoryview:
    """Return the bytes of binary values, which lie one after another, if all are reports."""
    wrong = packed.lengths != shape.size
    if wrong.any():
        where = int(wrong.argmax())
        raise BadReportError(
            where,
            f"is refused: {packed.lengths[where]} bytes are not one report of {shape.size} bytes: "
            f"{shape}",
        )
    return packed.data
