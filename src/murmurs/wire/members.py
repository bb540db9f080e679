"""A report that is a set of answers."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurs.boundary.checks import shown, whole
from murmurs.numerics.arrays import first_outside
from murmurs.wire.bits import check_padding
from murmurs.wire.shape import Reports, Shape, all_numbers, numbers_of, smallest_unsigned


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
        if not isinstance(value, list) or len(value) != self.w or not all_numbers(value):
            raise self._not_json(f"a list of {self.w} rising numbers", value)
        return self._unpack(self.pack(tuple(value)))

    def _bulk(self, values: list[Any]) -> Reports | None:
        if set(map(type, values)) != {list} or set(map(len, values)) != {self.w}:
            return None
        numbers = numbers_of(list(itertools.chain.from_iterable(values)))
        if numbers is None or first_outside(numbers, 0, self.k - 1):
            return None
        members = numbers.reshape(-1, self.w)
        if (members[:, 1:] <= members[:, :-1]).any():
            return None
        if not self.as_bits:
            return members.astype(self.dtype)
        flags = np.zeros((len(members), self.k), np.uint8)
        np.put_along_axis(flags, members, 1, axis=1)
        return np.packbits(flags, axis=1, bitorder="little")

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

    def to_packed_bits(self, reports: Reports) -> NDArray[np.uint8]:
        """Return sets, given in the form of this shape, as rows of packed bits."""
        checked = self.check(reports)
        if self.as_bits:
            return checked
        flags = np.zeros((len(checked), self.k), np.uint8)
        np.put_along_axis(flags, checked.astype(np.int64), 1, axis=1)
        return np.packbits(flags, axis=1, bitorder="little")

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
