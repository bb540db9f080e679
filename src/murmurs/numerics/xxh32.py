"""The hash that assigns buckets: XXH32 of a 64-bit key, reduced to a range by multiplication.

The hash of key x under a 32-bit seed is XXH32 of the eight little-endian bytes of x; the bucket
among g is (hash * g) >> 32. Both are exact in Python, NumPy, numba and JavaScript (g < 2**21).
Known answers are in ``vectors/hash.json``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

P2, P3, P4, P5 = 2246822519, 3266489917, 668265263, 374761393
"""Primes of XXH32, as its specification names them."""

LARGEST_RANGE = 2**21 - 1
"""hash * g stays below 2**53, so that JavaScript's numbers hold it exactly."""

_MASK = 2**32 - 1


def hash_key(key: int, seed: int) -> int:
    """Return XXH32 of one key in plain Python, as a device computes it.

    >>> hex(hash_key(0x0102030405060708, 0))
    '0x48e9240'
    """
    h = (seed + P5 + 8) & _MASK
    for half in (key & _MASK, key >> 32):
        h = (h + half * P3) & _MASK
        h = ((h << 17 | h >> 15) & _MASK) * P4 & _MASK
    h = (h ^ h >> 15) * P2 & _MASK
    h = (h ^ h >> 13) * P3 & _MASK
    return h ^ h >> 16


def hash_keys(keys: NDArray[np.uint64], seeds: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return XXH32 of many keys and seeds, broadcast against each other."""
    h = seeds + np.uint32((P5 + 8) & _MASK)
    for half in (keys.astype(np.uint32), (keys >> np.uint64(32)).astype(np.uint32)):
        h = h + half * np.uint32(P3)
        h = (h << np.uint32(17) | h >> np.uint32(15)) * np.uint32(P4)
    h = (h ^ h >> np.uint32(15)) * np.uint32(P2)
    h = (h ^ h >> np.uint32(13)) * np.uint32(P3)
    return np.asarray(h ^ h >> np.uint32(16), np.uint32)


def bucket(key: int, seed: int, g: int) -> int:
    """Return the bucket of one key among g."""
    return hash_key(key, seed) * g >> 32


def buckets(keys: NDArray[np.uint64], seeds: NDArray[np.uint32], g: int) -> NDArray[np.uint32]:
    """Return the buckets of many keys among g."""
    wide = hash_keys(keys, seeds).astype(np.uint64) * np.uint64(g)
    return (wide >> np.uint64(32)).astype(np.uint32)


def bucket_bounds(g: int) -> NDArray[np.uint64]:
    """Return g + 1 bounds: bucket y holds the hashes from bounds[y] up to bounds[y + 1] - 1.

    >>> bucket_bounds(3)
    array([         0, 1431655766, 2863311531, 4294967296], dtype=uint64)
    """
    steps = np.arange(g + 1, dtype=np.uint64) << np.uint64(32)
    return (steps + np.uint64(g - 1)) // np.uint64(g)
