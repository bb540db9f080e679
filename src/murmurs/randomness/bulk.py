"""Randomness for many people at once: exact probabilities and uniform numbers, as arrays.

`bulk` takes the ``random`` of ``encode_many``. `Secure`, the default, gives the key stream of
AES-256 in counter mode under a fresh key of system entropy, or system entropy itself if the
`cryptography` package is not installed; a NumPy generator gives reproducible studies.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurs import kernels
from murmurs.kernels import FIRST, I64, U8, U32
from murmurs.privacy import SCALE
from murmurs.randomness.secure import Secure
from murmurs.randomness.sources import ChanceInBulk, as_generator
from murmurs.randomness.verbs import FromBytes, Randomness

CHUNK = 2**15
"""The most people encoded at a time."""

CHUNK_BYTES = 2**22
"""The most bytes worked on at a time: random words and reports stay in the processor's cache."""

_ZEROS = memoryview(bytes(2**17))
"""The plaintext that becomes the key stream, one piece at a time."""


def bulk(random: ChanceInBulk) -> Bulk:
    """Return bulk randomness from what the caller passed in."""
    source = as_generator(random)
    if isinstance(source, Secure):
        return Bulk(_cipher_stream(source.take(32)))
    return Bulk(lambda size: bytearray(source.bytes(size)))


def _cipher_stream(key: bytes) -> Callable[[int], bytearray]:
    """Return a function that returns the next bytes of an AES-256 key stream in counter mode."""
    try:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    except ImportError:
        return lambda size: bytearray(os.urandom(size))
    encryptor = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()

    def stream(size: int) -> bytearray:
        out = bytearray(size)
        view = memoryview(out)
        for start in range(0, size, len(_ZEROS)):
            part = min(len(_ZEROS), size - start)
            encryptor.update_into(_ZEROS[:part], view[start : start + part])
        return out

    return stream


class Bulk:
    """Exact probabilities and uniform numbers, many at a time, from a stream of bytes.

    A mechanism says whose draws they are, for sources whose chance belongs to the people
    (`murmurs.randomness.keyed_bulk`): a draw is for all people of a part, unless it is made with
    ``of`` for some of them. Of several numbers for each of n people, number i is one of person i
    mod n; of packed bits, those of a person follow one another.
    """

    def __init__(self, take: Callable[[int], bytearray]) -> None:
        self.take = take
        self.kernels = kernels.load()

    def part(self, rows: slice, *answers: NDArray[np.integer[Any]]) -> Bulk:
        """Return the chance of a part of the people, who have these answers: here of anybody."""
        return self

    def of(self, rows: NDArray[np.bool_] | I64) -> Bulk:
        """Return the chance of some people, each once, by number or with a boolean for each."""
        return self

    def each(self, n: int) -> Iterator[Randomness]:
        """Return the chance of one person after another."""
        return repeat(_OneAfterAnother(self.take), n)

    def words(self, n: int) -> U32:
        """Return n random 32-bit words."""
        return np.frombuffer(self.take(4 * n), "<u4")

    def packed(self, numerator: int, size: int, scale: int = SCALE) -> U8:
        """Return ``size`` bytes in which each bit is one with probability numerator / scale.

        ``scale`` is a power of two. Each bit takes about eight random bits.
        """
        threshold = binary_digits(numerator, scale)
        groups = -(-size // 8)
        if not len(threshold):  # the probability is 0 or 1
            return np.full(size, 255 if numerator else 0, np.uint8)
        first = min(FIRST, len(threshold))
        words = np.frombuffer(self.take(8 * groups * first), "<u8")
        out = np.empty(groups, "<u8")
        spare = np.frombuffer(self.take(8 * (groups * 3 // 4 + 64)), "<u8")
        while self.kernels.bits(words, threshold, spare, out) > len(spare):
            spare = np.concatenate([spare, np.frombuffer(self.take(8 * len(spare)), "<u8")])
        return out.view(np.uint8)[:size]

    def chance(self, numerator: int, n: int, scale: int = SCALE) -> NDArray[np.bool_]:
        """Return n booleans, each true with probability numerator / scale."""
        packed = self.packed(numerator, -(-n // 8), scale)
        return np.unpackbits(packed, count=n, bitorder="little").view(np.bool_)

    def below(self, bound: int, n: int) -> U32:
        """Return n exactly uniform numbers from 0 to bound - 1; bound is at most 2**32."""
        if bound == 2**32:
            return self.words(n)
        out = np.empty(n, np.uint32)
        spare = self.words(64 + 2 * n * bound // 2**32)
        words = self.words(n)
        while self.kernels.below(words, bound, spare, out) > len(spare):
            spare = np.concatenate([spare, self.words(len(spare))])
        return out

    def wide(self, bound: int, n: int) -> I64:
        """Return n exactly uniform numbers from 0 to bound - 1; bound is at most 2**62.

        Each number is as many random bits as bound - 1 has; those that are too large are drawn
        again.
        """
        if bound <= 2**32:
            return self.below(bound, n).astype(np.int64)
        shift = np.uint64(64 - (bound - 1).bit_length())
        out = np.empty(n, np.int64)
        left = np.arange(n)
        while len(left):
            words = np.frombuffer(self.take(8 * len(left)), "<u8")
            out[left] = (words >> shift).astype(np.int64)
            left = left[out[left] >= bound]
        return out

    def subsets(self, own: I64, k: int, w: int) -> U8:
        """Return uniform w-subsets of 0..k-1 as packed bits, each with ``own`` if own >= 0."""
        out = np.empty((len(own), -(-k // 8)), np.uint8)
        words = self.words(len(own) * w)
        spare = self.words(64 + 2 * len(words) * k // 2**32)
        while self.kernels.subsets(own, k, w, words, spare, out) > len(spare):
            spare = np.concatenate([spare, self.words(len(spare))])
        return out


class _OneAfterAnother(FromBytes):
    """The bytes of a bulk source, for one person after another."""

    def __init__(self, source: Callable[[int], bytearray]) -> None:
        self._source, self._buffer, self._used = source, b"", 0

    def take(self, size: int) -> bytes:
        """Return the next bytes; they are read in blocks."""
        if self._used + size > len(self._buffer):
            self._buffer, self._used = bytes(self._source(max(size, 2**14))), 0
        self._used += size
        return self._buffer[self._used - size : self._used]


def binary_digits(numerator: int, scale: int) -> U8:
    """Return the binary digits of numerator / scale after the point, without trailing zeros.

    >>> binary_digits(3, 8)
    array([0, 1, 1], dtype=uint8)
    """
    places = scale.bit_length() - 1
    if numerator in (0, scale):
        return np.zeros(0, np.uint8)
    text = format(numerator, f"0{places}b").rstrip("0")
    return np.frombuffer(text.encode(), np.uint8) - np.uint8(ord("0"))
