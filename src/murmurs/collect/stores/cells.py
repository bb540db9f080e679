"""How cells of counts are kept: as the smallest unsigned numbers that hold them all."""

from __future__ import annotations

import math

import numpy as np

from murmurs.numerics.arrays import Integers


def pack_cells(cells: Integers) -> bytes:
    r"""Return cells as little-endian numbers of 1, 2, 4 or 8 bytes, whichever hold the largest.

    >>> pack_cells(np.array([3, 255])), len(pack_cells(np.array([3, 256])))
    (b'\x03\xff', 4)
    """
    largest = int(cells.max(initial=0))
    for kind in ("<u1", "<u2", "<u4"):
        if largest <= np.iinfo(kind).max:
            return np.ascontiguousarray(cells, kind).tobytes()
    return np.ascontiguousarray(cells, "<u8").tobytes()


def unpack_cells(data: bytes, shape: tuple[int, ...]) -> Integers:
    """Return the cells that `pack_cells` packed; their number tells how long each is."""
    places = math.prod(shape)
    size, rest = divmod(len(data), places)
    if rest or size not in (1, 2, 4, 8):
        raise ValueError(f"{len(data)} bytes are not counts of {places} cells")
    return np.frombuffer(data, f"<u{size}").astype(np.int64).reshape(shape)
