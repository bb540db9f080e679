"""How random words become results: thresholds, uniform numbers and throws of many bits, exact.

The functions know nothing of where words come from. Each says which results its words leave open,
with a small probability; the caller decides those with more words. The width of a word can be set,
so that tests go through all of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurs.kernels import I64, U8, U64

Booleans = NDArray[np.bool_]


def less(words: U64, numerator: int, scale: int, bits: int = 64) -> tuple[Booleans, int]:
    """Compare words with the first ``bits`` binary digits of numerator / scale, a power of two.

    Returns which words are below, and these digits as a number: a word that equals it is undecided
    if numerator / scale has more digits, and otherwise not below.
    """
    top = (numerator << bits) // scale
    return words < words.dtype.type(top), top


def more_digits(numerator: int, scale: int, bits: int = 64) -> int:
    """Return the numerator over ``scale`` of the digits after the first ``bits``."""
    return (numerator << bits) % scale


def biased(words: NDArray[Any], bounds: NDArray[Any] | int, bits: int = 32) -> Booleans:
    """Return which words must be drawn again, so that word * bound >> bits is uniform."""
    wide = np.asarray(bounds, np.uint64)
    size = np.uint64(2**bits)
    product = words.astype(np.uint64) * wide
    return np.asarray(product & (size - np.uint64(1)) < size % wide)


def last_of_draws(own: NDArray[np.int64], k: int, w: int) -> NDArray[np.int64]:
    """Return the largest number that each draw of a w-subset may give, one row per person.

    It is that of the kernel `subsets`, whose first draw is not used if ``own`` is a member.
    """
    return np.maximum(k - w + np.arange(w) - (own >= 0)[:, None], 0)


def planes_of(throws: U64, unit: int, digits: int) -> U64:
    """Return one line of throws for each digit, from blocks with one line for each number.

    A block is a throw of one unit of a row or, if rows are shorter than a block, several throws.
    """
    if unit == 16:
        return throws.reshape(digits, -1)
    words = throws.view(f"<u{unit}").transpose(0, 2, 1)
    rows, in_word = words.shape[2], 8 // unit
    # The last word is filled up with zeros, which decide their lanes at once.
    out = np.zeros((*words.shape[:2], -(-rows // in_word) * in_word), words.dtype)
    out[:, :, :rows] = words
    return out.view("<u8").reshape(-1, out.shape[2] // in_word)[:digits]


def by_row(ones: U64, rows: int, unit: int) -> U8:
    """Return the bytes of each row; in ``ones``, all rows have one unit after another."""
    if unit < 16:
        return ones.view(np.uint8)[: rows * unit].reshape(rows, unit)
    units = ones.view(np.complex128).reshape(-1, rows)  # of 16 bytes, which are only moved
    return np.ascontiguousarray(units.T).view(np.uint8)


def bits_at(places: I64, first: int, rows: int, unit: int) -> tuple[I64, I64]:
    """Return row and number of bits, given their places; all rows have one unit after another."""
    units, place = np.divmod(places, 8 * unit * rows)
    row, bits = np.divmod(place, 8 * unit)
    return first + row, units * (8 * unit) + bits
