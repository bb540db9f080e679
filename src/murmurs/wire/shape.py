"""What every shape of report has: bytes, arrays and JSON values, there and back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from murmurs.boundary.checks import shown

Report = TypeVar("Report")
"""One report: a number, a set, bits, or a pair of these, depending on the mechanism."""

Reports = NDArray[Any]
"""Many reports: integers, rows of packed bits, or records, depending on the shape."""


_FEW = 16
"""How many JSON values are read one by one, once it is known that one of them is no report."""


def smallest_unsigned(count: int) -> np.dtype[Any]:
    """Return the smallest unsigned type for the numbers 0..count-1."""
    for name, limit in (("<u1", 2**8), ("<u2", 2**16), ("<u4", 2**32)):
        if count <= limit:
            return np.dtype(name)
    raise ValueError(f"{count} kinds of report need more than four bytes each")


class BadReportError(ValueError):
    """One of many reports does not fit; ``position`` says which, and ``rule`` why."""

    __module__ = "murmurs.wire"  # as users import it

    def __init__(self, position: int, rule: str) -> None:
        super().__init__(f"report {position} {rule}")
        self.position, self.rule = position, rule

    def after(self, earlier: int) -> BadReportError:
        """Return the error of the same report, with so many reports before the first."""
        return BadReportError(earlier + self.position, self.rule)


class Shape(ABC, Generic[Report]):
    """How one kind of report is written."""

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """The type of one element of an array of reports."""

    @property
    def columns(self) -> int | None:
        """The number of elements in a report, or None if it is one element."""
        return None

    @property
    def size(self) -> int:
        """The number of bytes in one report."""
        return self.dtype.itemsize * (self.columns or 1)

    @property
    @abstractmethod
    def bits(self) -> float:
        """The information in one report: log2 of the number of possible reports."""

    @abstractmethod
    def pack(self, report: Report) -> bytes:
        """Return the bytes of one report; refuse a report of another shape."""

    @abstractmethod
    def to_json(self, report: Report) -> Any:
        """Return one report as a plain value for JSON; refuse a report of another shape."""

    @abstractmethod
    def from_json(self, value: Any) -> Report:
        """Return the report that a JSON value represents; refuse any other value."""

    @abstractmethod
    def _unpack(self, row: bytes) -> Report: ...

    @abstractmethod
    def _check_rows(self, reports: Reports) -> None: ...

    def _bulk(self, values: list[Any]) -> Reports | None:
        """Return many JSON values as an unchecked array, or None if some are no reports."""
        return None

    def many_from_json(self, values: list[Any]) -> Reports:
        """Return an array of the reports that JSON values represent; refuse the first other one."""
        found = self._bulk(values) if values else self.empty(0)
        if found is not None:
            return self.check(found)
        return self.from_bytes(self._searched(values))

    def _searched(self, values: list[Any]) -> bytes:
        """Return the bytes of reports; find the first value that is none by halving the list."""
        if len(values) <= _FEW:
            return b"".join(self._one_by_one(values))
        half, rows = len(values) // 2, []
        for start, part in ((0, values[:half]), (half, values[half:])):
            try:
                found = self._bulk(part)
                rows.append(self._searched(part) if found is None else self.check(found).tobytes())
            except BadReportError as error:
                raise error.after(start) from None
        return b"".join(rows)

    def _one_by_one(self, values: list[Any]) -> Iterator[bytes]:
        for position, value in enumerate(values):
            try:
                yield self.pack(self.from_json(value))
            except BadReportError as error:
                raise BadReportError(position, error.rule) from None
            except (TypeError, ValueError) as error:
                raise BadReportError(position, f"is refused: {error}") from None

    def unpack(self, data: bytes) -> Report:
        """Return the report that the bytes represent; refuse other bytes."""
        return self._unpack(self.from_bytes(data, one=True).tobytes())

    def from_bytes(self, data: bytes | bytearray | memoryview, *, one: bool = False) -> Reports:
        """Return a batch of reports as an array, without copying; refuse bad reports."""
        return self.check(self.view(data, one=one))

    def view(self, data: bytes | bytearray | memoryview, *, one: bool = False) -> Reports:
        """Return a batch of reports as an array that is not checked yet."""
        length = memoryview(data).nbytes
        if (one and length != self.size) or length % self.size:
            raise ValueError(f"{length} bytes are not reports of {self.size} bytes each: {self}")
        array = np.frombuffer(data, self.dtype)
        if not array.flags.aligned:  # a part of a larger buffer may begin anywhere
            array = array.copy()
        return array if self.columns is None else array.reshape(-1, self.columns)

    def stack(self, reports: Iterable[Report]) -> Reports:
        """Return single reports as one array."""
        return self.from_bytes(b"".join(self.pack(report) for report in reports))

    def unstack(self, reports: Reports) -> list[Report]:
        """Return an array as single reports."""
        data, size = np.ascontiguousarray(self.check(reports)).tobytes(), self.size
        return [self._unpack(data[i : i + size]) for i in range(0, len(data), size)]

    def column(self, reports: Reports) -> list[Any]:
        """Return an array as a list with one number or one bytes object per report.

        Any data frame takes it as a column, and `count` reads it back.
        """
        checked = np.ascontiguousarray(self.check(reports))
        if self.columns is None and checked.dtype.fields is None:
            return list(checked.tolist())
        data, size = checked.tobytes(), self.size
        return [data[i : i + size] for i in range(0, len(data), size)]

    def empty(self, n: int) -> Reports:
        """Return an array with room for n reports."""
        return np.empty(n if self.columns is None else (n, self.columns), self.dtype)

    def check(self, reports: Reports) -> Reports:
        """Return the array if all its reports have this shape; refuse the first that does not."""
        like = self.empty(0)
        array = np.asarray(reports)
        if array.dtype != self.dtype or array.shape[1:] != like.shape[1:] or array.ndim == 0:
            raise TypeError(
                f"reports of {self} are arrays of {self.dtype} of shape "
                f"(n{f', {self.columns}' if self.columns else ''}), not of {array.dtype} of shape "
                f"{array.shape}; for a data frame, encode_column makes a column of them"
            )
        self._check_rows(array)
        return array

    def refuse(self, position: int, what: str) -> None:
        """Raise the error for one report of an array."""
        raise BadReportError(position, f"is not a {self}: {what}")

    def _not_json(self, rule: str, value: object) -> TypeError:
        """Return the error for a value that is no report; it may be an answer, so only its type."""
        kind = {"str": "text", "NoneType": "null"}.get(type(value).__name__, type(value).__name__)
        if isinstance(value, list):
            kind = "this list"
        return TypeError(f"in JSON a report of {self} is {rule}, not {kind}")


def table_of(values: list[Any], width: int) -> list[tuple[Any, ...]] | None:
    """Return the columns of a list of lists, or None if some are no lists of this length."""
    if set(map(type, values)) != {list} or set(map(len, values)) != {width}:
        return None
    return list(zip(*values, strict=True))


def numbers_of(values: Sequence[Any]) -> NDArray[np.int64] | None:
    """Return whole numbers as an array, or None if there is anything else among them."""
    if set(map(type, values)) != {int}:
        return None
    try:
        return np.array(values, np.int64)
    except OverflowError:
        return None


def all_numbers(values: list[Any]) -> bool:
    """Return whether all values are whole numbers, and no truth values."""
    return all(isinstance(x, int) and not isinstance(x, bool) for x in values)


def pair(report: object, what: str) -> tuple[object, object]:
    """Return the two parts of a report that is a tuple of them."""
    if not isinstance(report, tuple) or len(report) != 2:
        raise TypeError(f"a report is a tuple of {what}, not {shown(report)}")
    return report
