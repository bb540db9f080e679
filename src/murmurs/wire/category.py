"""A report that is one of several categories."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from murmurs.boundary.checks import whole
from murmurs.numerics.arrays import first_outside
from murmurs.wire.shape import Reports, Shape, numbers_of, smallest_unsigned


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

    def _bulk(self, values: list[Any]) -> Reports | None:
        return numbers_of(values)

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
