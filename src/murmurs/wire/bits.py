"""A report that is a row of bits, alone or in a cohort."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from murmurs.boundary import base64s
from murmurs.boundary.checks import shown, whole
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

    def _bulk(self, values: Sequence[Any]) -> Reports | None:
        if set(map(type, values)) != {str}:
            return None
        try:
            rows = list(map(base64s.from_text, values))
        except ValueError:
            return None
        return self.view(b"".join(rows)) if set(map(len, rows)) == {self.columns} else None

    def _unpack(self, row: bytes) -> bytes:
        return row

    def _check_rows(self, reports: Reports) -> None:
        check_padding(self, reports, self.count)


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
        cohort, bits = pair(report, "a cohort and bits")
        width = -(-self.count // 8)
        head = whole(cohort, "cohort", 0, self.cohorts - 1).to_bytes(self.size - width, "little")
        return head + Bits(self.count).pack(cast(bytes, bits))

    def to_json(self, report: CohortBits) -> list[int | str]:
        """Return the list of the cohort and the packed bits as base64 text."""
        cohort, bits = self._unpack(self.pack(report))
        return [cohort, base64s.to_text(bits)]

    def from_json(self, value: Any) -> CohortBits:
        """Return the report that a list of cohort and base64 text represents."""
        if not isinstance(value, list) or len(value) != 2 or not all_numbers(value[:1]):
            raise self._not_json("a list of cohort and base64 text", value)
        cohort, bits = value
        return self._unpack(self.pack(CohortBits(cohort, Bits(self.count).from_json(bits))))

    def _bulk(self, values: list[Any]) -> Reports | None:
        columns = table_of(values, 2)
        if columns is None:
            return None
        cohorts, bits = numbers_of(columns[0]), Bits(self.count)._bulk(columns[1])
        if cohorts is None or bits is None or first_outside(cohorts, 0, self.cohorts - 1):
            return None
        out = self.empty(len(values))
        out["cohort"], out["bits"] = cohorts, bits
        return out

    def _unpack(self, row: bytes) -> CohortBits:
        split = self.size - -(-self.count // 8)
        return CohortBits(int.from_bytes(row[:split], "little"), row[split:])

    def _check_rows(self, reports: Reports) -> None:
        bad = first_outside(reports["cohort"], 0, self.cohorts - 1)
        if bad:
            self.refuse(bad[0], f"cohort {bad[1]} is outside 0..{self.cohorts - 1}")
        check_padding(self, reports["bits"], self.count)
