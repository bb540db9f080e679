"""Sums: a CRC-32 in every row with reports or counts, so that damage is never taken for data.

It is of the whole row: which series and day it is of, how many reports it has, and their bytes. A
disk that returns other bytes than were written changes it, but for one case in four billion.
"""

from __future__ import annotations

import struct
import zlib

from murmurs.boundary.texts import numbered
from murmurs.collect.stores.store import DamagedError

_ROW = struct.Struct("<qqq")


def sum_of(series: int, day: int, n: int, data: bytes) -> int:
    """Return the sum of a row, as a signed number of 32 bits, which all databases have.

    >>> sum_of(1, 20_000, 3, b"tea"), sum_of(1, 20_000, 3, b"tee")
    (435631534, 513470903)
    """
    found = zlib.crc32(data, zlib.crc32(_ROW.pack(series, day, n)))
    return found - 2**32 if found >= 2**31 else found


def check_sum(series: int, day: int, n: int, data: bytes, written: int) -> bytes:
    """Return the bytes of a row if it is as it was written."""
    if sum_of(series, day, n, data) != written:
        raise DamagedError(
            f"the row of {numbered(n, 'report')} of series {series} on day {day} is damaged: "
            "it is not as it was written. Look at the disk, and restore a backup; "
            "`murmurs store check` finds damage"
        )
    return data
