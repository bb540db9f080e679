"""A report that is a seed and a bucket."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from murmurs.boundary.checks import whole
from murmurs.numerics.arrays import first_outside
from murmurs.wire.shape import (
    Reports,
    Shape,
    all_numbers,
    numbers_of,
    pair,
    smallest_unsigned,
    table_of,
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
        seed, value = pair(report, "a seed and a bucket")
        value = whole(value, "value", 0, self.count - 1)
        head = whole(seed, "seed", 0, 2**32 - 1).to_bytes(4, "little")
        return head + value.to_bytes(self.size - 4, "little")

    def to_json(self, report: Hash) -> list[int]:
        """Return the list of seed and value."""
        return list(self._unpack(self.pack(report)))

    def from_json(self, value: Any) -> Hash:
        """Return the report that a list of seed and value represents."""
        if not isinstance(value, list) or len(value) != 2 or not all_numbers(value):
            raise self._not_json("a list of seed and value", value)
        return self._unpack(self.pack(Hash(*value)))

    def _bulk(self, values: list[Any]) -> Reports | None:
        columns = table_of(values, 2)
        if columns is None:
            return None
        seeds, buckets = map(numbers_of, columns)
        if seeds is None or buckets is None or first_outside(seeds, 0, 2**32 - 1):
            return None
        if first_outside(buckets, 0, self.count - 1):
            return None
        out = self.empty(len(values))
        out["seed"], out["value"] = seeds, buckets
        return out

    def _unpack(self, row: bytes) -> Hash:
        return Hash(int.from_bytes(row[:4], "little"), int.from_bytes(row[4:], "little"))

    def _check_rows(self, reports: Reports) -> None:
        bad = first_outside(reports["value"], 0, self.count - 1)
        if bad:
            self.refuse(bad[0], f"value {bad[1]} is outside 0..{self.count - 1}")
