"""The constants of SHA-256: fractional parts of roots of the first primes (FIPS 180-4)."""

from __future__ import annotations

from math import isqrt

_PRIMES = [p for p in range(2, 312) if all(p % q for q in range(2, isqrt(p) + 1))]


def _cube_root(x: int) -> int:
    """Return the largest whole number whose cube is at most x."""
    root = int(x ** (1 / 3))
    while root**3 > x:
        root -= 1
    while (root + 1) ** 3 <= x:
        root += 1
    return root


START = tuple(isqrt(p << 64) % 2**32 for p in _PRIMES[:8])
"""The first 32 bits of the fractional parts of the square roots of the first 8 primes."""

ROUNDS = tuple(_cube_root(p << 96) % 2**32 for p in _PRIMES)
"""The first 32 bits of the fractional parts of the cube roots of the first 64 primes."""
