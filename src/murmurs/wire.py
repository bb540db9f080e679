"""The shape of a report: one report to and from bytes, many reports as one compact array.

All reports of a shape have the same number of bytes, so a batch is their concatenation and an array
is a view of it. Numbers are little-endian; bit j of a row of bits is bit j % 8 of byte j // 8, and
the unused bits of the last byte are zero. A report that does not fit its shape is refused, with its
value.

A report also has one JSON form: a number, base64 text of its bits, or a list of these.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from murmurs.boundary import base64s
from murmurs.boundary.checks import shown, whole
from murmurs.numerics.arrays import first_outside

Report = TypeVar("Report")
Reports = NDArray[Any]
"""Many reports: integers, rows of packed bits, or records, depending on the shape."""


def smallest_unsigned(count: int) -> np.dtype[Any]:
    """Return the smallest unsigned type that holds the numbers 0..count-1."""
    for name, limit in (("<u1", 2**8), ("<u2", 2**16), ("<u4", 2**32)):
        if count <= limit:
            return np.dtype(name)
    raise ValueError(f"{count} kinds of report need more than four bytes each")


class BadReportError(ValueError):
    """One of many reports does not fit; ``position`` says which, and ``rule`` why."""

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


@dataclass(frozen=True)
class Category(Shape[int]):
    """One of ``count`` categories, in 1, 2 or 4 bytes."""

    count: int

    @property
    def dtype(self) -> np.dtype[Any]:
        """The smallest unsigned integer that holds all categories."""
        return smallest_unsigned(self.count)

    @property
    def bits(self) -> float:
        """log2 of the number of categories."""
        return math.log2(self.count)

    def pack(self, report: int) -> bytes:
        """Return the category's little-endian bytes."""
        return whole(report, "report", 0, self.count - 1).to_bytes(self.size, "little")

    def to_json(self, report: int) -> int:
        """Return the category, a whole number."""
        return self._unpack(self.pack(report))

    def from_json(self, value: Any) -> int:
        """Return the category that a whole number represents."""
        if not isinstance(value, int) or isinstance(value, bool):
            raise self._not_json("a whole number", value)
        return self._unpack(self.pack(value))

    def _unpack(self, row: bytes) -> int:
        return int.from_bytes(row, "little")

    def check(self, reports: Reports) -> Reports:
        """Return the array in the smallest type; accept any whole numbers in range."""
        array = np.asarray(reports)
        if array.dtype == self.dtype:
            return super().check(array)
        if array.ndim == 1 and array.dtype.kind in "iu":
            self._check_rows(array)
            return array.astype(self.dtype)
        return super().check(array)

    def _check_rows(self, reports: Reports) -> None:
        bad = first_outside(reports, 0, self.count - 1)
        if bad:
            self.refuse(bad[0], f"{bad[1]} is outside 0..{self.count - 1}")


def check_padding(shape: Shape[Any], rows: NDArray[np.uint8], count: int) -> None:
    """Refuse rows of packed bits with a bit set after the first ``count``."""
    if count % 8 and len(rows):
        padding = rows[:, -1] >> (count % 8)
        if padding.any():
            shape.refuse(int(np.argmax(padding != 0)), f"a bit after the first {count} is set")


@dataclass(frozen=True)
class Bits(Shape[bytes]):
    """A row of ``count`` bits, packed; a single report is the packed bytes."""

    count: int

    @property
    def dtype(self) -> np.dtype[Any]:
        """Bytes."""
        return np.dtype(np.uint8)

    @property
    def columns(self) -> int:
        """The number of bytes in a row."""
        return -(-self.count // 8)

    @property
    def bits(self) -> float:
        """The number of bits."""
        return float(self.count)

    def of(self, flags: Iterable[bool]) -> bytes:
        r"""Return bits as a report, the first one at bit 0 of byte 0.

        >>> Bits(10).of([True, False, True] + [False] * 6 + [True])
        b'\x05\x02'
        """
        out = bytearray(self.columns)
        for j, flag in enumerate(flags):
            out[j >> 3] |= flag << (j & 7)
        return bytes(out)

    def flags(self, report: bytes) -> list[bool]:
        """Return the bits of a report; the inverse of `of`."""
        return [report[j >> 3] >> (j & 7) & 1 == 1 for j in range(self.count)]

    def pack(self, report: bytes) -> bytes:
        """Check the packed bytes and return them."""
        if not isinstance(report, bytes):
            raise TypeError(
                f"a report with {self.count} bits is bytes, {self.columns} of them, not "
                f"{shown(report)}"
            )
        self.from_bytes(report, one=True)
        return report

    def to_json(self, report: bytes) -> str:
        """Return the packed bytes as base64 text."""
        return base64s.to_text(self.pack(report))

    def from_json(self, value: Any) -> bytes:
        """Return the bits that base64 text of their packed bytes represents."""
        if not isinstance(value, str):
            raise self._not_json("base64 text", value)
        return self.pack(base64s.from_text(value))

    def _unpack(self, row: bytes) -> bytes:
        return row

    def _check_rows(self, reports: Reports) -> None:
        check_padding(self, reports, self.count)


@dataclass(frozen=True)
class Members(Shape[tuple[int, ...]]):
    """A set of ``w`` of ``k`` numbers, as a row of bits or as a rising list, whichever is shorter.

    A single report is a rising tuple; neither form reveals the order in which members were drawn.
    """

    k: int
    w: int

    @property
    def as_bits(self) -> bool:
        """Whether a row of k bits is no longer than w numbers."""
        return -(-self.k // 8) <= self.w * smallest_unsigned(self.k).itemsize

    @property
    def dtype(self) -> np.dtype[Any]:
        """Bytes for a row of bits, or the smallest unsigned integer that holds a member."""
        return np.dtype(np.uint8) if self.as_bits else smallest_unsigned(self.k)

    @property
    def columns(self) -> int:
        """The number of bytes in a row, or of members."""
        return -(-self.k // 8) if self.as_bits else self.w

    @property
    def bits(self) -> float:
        """log2 of the number of sets."""
        k, w = self.k, self.w
        return (math.lgamma(k + 1) - math.lgamma(w + 1) - math.lgamma(k - w + 1)) / math.log(2)

    def pack(self, report: tuple[int, ...]) -> bytes:
        """Return the set's bits or its members' bytes."""
        if not isinstance(report, tuple):
            raise TypeError(
                f"a report with {self.w} of {self.k} members is a tuple of {self.w} rising "
                f"numbers, not {shown(report)}: pass a list of such tuples"
            )
        members = [whole(x, "member", 0, self.k - 1) for x in report]
        if len(members) != self.w or sorted(set(members)) != members:
            raise ValueError(
                f"a report with {self.w} of {self.k} members is {self.w} rising numbers, not "
                f"{shown(report)}"
            )
        if self.as_bits:
            flags = np.zeros(self.k, np.uint8)
            flags[members] = 1
            return np.packbits(flags, bitorder="little").tobytes()
        return np.array(members, self.dtype).tobytes()

    def to_json(self, report: tuple[int, ...]) -> list[int]:
        """Return the members as a rising list."""
        return list(self._unpack(self.pack(report)))

    def from_json(self, value: Any) -> tuple[int, ...]:
        """Return the set that a rising list of its members represents."""
        if not isinstance(value, list) or not _all_numbers(value):
            raise self._not_json(f"a list of {self.w} rising numbers", value)
        return self._unpack(self.pack(tuple(value)))

    def _unpack(self, row: bytes) -> tuple[int, ...]:
        if self.as_bits:
            flags = np.unpackbits(np.frombuffer(row, np.uint8), bitorder="little")
            return tuple(int(x) for x in np.flatnonzero(flags))
        return tuple(int(x) for x in np.frombuffer(row, self.dtype))

    def from_packed_bits(self, rows: NDArray[np.uint8]) -> Reports:
        """Return sets, given as rows of packed bits, in the form of this shape."""
        if self.as_bits:
            return rows
        flags = np.unpackbits(rows, axis=1, bitorder="little")
        return np.nonzero(flags)[1].reshape(-1, self.w).astype(self.dtype)

    def _check_rows(self, reports: Reports) -> None:
        if self.as_bits:
            check_padding(self, reports, self.k)
            bad = np.bitwise_count(reports).sum(axis=1, dtype=np.int64) != self.w
        else:
            bad = (reports >= self.k).any(axis=1) | (reports[:, 1:] <= reports[:, :-1]).any(axis=1)
        if bad.any():
            self.refuse(
                int(np.argmax(bad)), f"it does not have {self.w} rising members below {self.k}"
            )


class Hash(NamedTuple):
    """A report of local hashing: the seed of the hash function, and the randomised bucket."""

    seed: int
    value: int


@dataclass(frozen=True)
class Hashed(Shape[Hash]):
    """A 32-bit seed and one of ``count`` buckets."""

    count: int

    @property
    def dtype(self) -> np.dtype[Any]:
        """A record of seed and value."""
        return np.dtype([("seed", "<u4"), ("value", smallest_unsigned(self.count))])

    @property
    def bits(self) -> float:
        """32 for the seed, and log2 of the number of buckets."""
        return 32 + math.log2(self.count)

    def pack(self, report: Hash) -> bytes:
        """Return the four bytes of the seed, then those of the value."""
        seed, value = _fields(report, "a seed and a bucket")
        value = whole(value, "value", 0, self.count - 1)
        head = whole(seed, "seed", 0, 2**32 - 1).to_bytes(4, "little")
        return head + value.to_bytes(self.size - 4, "little")

    def to_json(self, report: Hash) -> list[int]:
        """Return the list of seed and value."""
        return list(self._unpack(self.pack(report)))

    def from_json(self, value: Any) -> Hash:
        """Return the report that a list of seed and value represents."""
        if not isinstance(value, list) or len(value) != 2 or not _all_numbers(value):
            raise self._not_json("a list of seed and value", value)
        return self._unpack(self.pack(Hash(*value)))

    def _unpack(self, row: bytes) -> Hash:
        return Hash(int.from_bytes(row[:4], "little"), int.from_bytes(row[4:], "little"))

    def _check_rows(self, reports: Reports) -> None:
        bad = first_outside(reports["value"], 0, self.count - 1)
        if bad:
            self.refuse(bad[0], f"value {bad[1]} is outside 0..{self.count - 1}")


class CohortBits(NamedTuple):
    """A report in a cohort: its number and the randomised bits; a sketch's row is a cohort."""

    cohort: int
    bits: bytes


@dataclass(frozen=True)
class BitsByCohort(Shape[CohortBits]):
    """One of ``cohorts`` cohorts and its ``count`` bits."""

    cohorts: int
    count: int

    @property
    def dtype(self) -> np.dtype[Any]:
        """A record of cohort and packed bits."""
        width = -(-self.count // 8)
        return np.dtype([("cohort", smallest_unsigned(self.cohorts)), ("bits", np.uint8, (width,))])

    @property
    def bits(self) -> float:
        """The number of bits, and log2 of the number of cohorts."""
        return self.count + math.log2(self.cohorts)

    def pack(self, report: CohortBits) -> bytes:
        """Return the bytes of the cohort, then the packed bits."""
        cohort, bits = _fields(report, "a cohort and bits")
        width = -(-self.count // 8)
        head = whole(cohort, "cohort", 0, self.cohorts - 1).to_bytes(self.size - width, "little")
        return head + Bits(self.count).pack(cast(bytes, bits))

    def to_json(self, report: CohortBits) -> list[int | str]:
        """Return the list of the cohort and the packed bits as base64 text."""
        cohort, bits = self._unpack(self.pack(report))
        return [cohort, base64s.to_text(bits)]

    def from_json(self, value: Any) -> CohortBits:
        """Return the report that a list of cohort and base64 text represents."""
        if not isinstance(value, list) or len(value) != 2 or not _all_numbers(value[:1]):
            raise self._not_json("a list of cohort and base64 text", value)
        cohort, bits = value
        return self._unpack(self.pack(CohortBits(cohort, Bits(self.count).from_json(bits))))

    def _unpack(self, row: bytes) -> CohortBits:
        split = self.size - -(-self.count // 8)
        return CohortBits(int.from_bytes(row[:split], "little"), row[split:])

    def _check_rows(self, reports: Reports) -> None:
        bad = first_outside(reports["cohort"], 0, self.cohorts - 1)
        if bad:
            self.refuse(bad[0], f"cohort {bad[1]} is outside 0..{self.cohorts - 1}")
        check_padding(self, reports["bits"], self.count)


def _all_numbers(values: list[Any]) -> bool:
    return all(isinstance(x, int) and not isinstance(x, bool) for x in values)


def _fields(report: object, what: str) -> tuple[object, object]:
    if not isinstance(report, tuple) or len(report) != 2:
        raise TypeError(f"a report is a tuple of {what}, not {shown(report)}")
    return report
