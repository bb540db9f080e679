"""The two methods of a source of randomness, and how they turn bytes into results.

Both methods read whole bytes, so that the same bytes give the same report in every language:

- ``chance(numerator)`` reads 8 bytes as a little-endian integer, drops the lowest 11 bits, and
  returns true if the remaining 53-bit integer is smaller than ``numerator``.
- ``below(n)`` reads as many bytes as n - 1 needs, as a little-endian integer, keeps as many low
  bits as n - 1 has, and tries again if the result is not smaller than ``n``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

from murmurs.boundary.checks import whole

MOST_BYTES = 2**40
"""The most random bytes in one request."""


def check_size(size: int) -> int:
    """Return a checked number of bytes; a negative number would return some bytes twice."""
    return (
        size if type(size) is int and 0 <= size < MOST_BYTES else whole(size, "size", 0, MOST_BYTES)
    )


class Randomness(Protocol):
    """The two methods that a mechanism draws with."""

    def chance(self, numerator: int) -> bool:
        """Return true with probability ``numerator`` / 2**53, exactly."""
        ...

    def below(self, n: int) -> int:
        """Return one of 0, 1, ..., n - 1, each with probability 1 / n, exactly."""
        ...


class FromBytes(ABC):
    """The two methods built on bytes; a subclass only says where the bytes come from."""

    @abstractmethod
    def take(self, size: int) -> bytes:
        """Return the next ``size`` bytes."""

    def chance(self, numerator: int) -> bool:
        """Return true with probability ``numerator`` / 2**53, exactly."""
        return int.from_bytes(self.take(8), "little") >> 11 < numerator

    def below(self, n: int) -> int:
        """Return one of 0, 1, ..., n - 1, each with probability 1 / n, exactly."""
        if n < 1:
            raise ValueError(f"below({n}) has no outcome: n must be at least 1")
        bits = (n - 1).bit_length()
        mask = (1 << bits) - 1
        size = (bits + 7) // 8
        while True:
            value = int.from_bytes(self.take(size), "little") & mask
            if value < n:
                return value
