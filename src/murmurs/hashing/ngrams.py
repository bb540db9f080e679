"""Strings in pieces of equal length, side by side: n-grams at fixed positions.

Letters are the characters of normal form C. A string is cut after a number of letters and padded
with spaces, so that all strings have n-grams at all positions. Spaces at the end of a string are
therefore no part of it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from murmurs.hashing.layout import Layout, Places
from murmurs.numerics.arrays import Floats, Integers

PAD = " "
"""What fills the rest of a string that is shorter than the longest."""


def cut(text: str, longest: int) -> str:
    """Return the part of a normalised string that is reported; empty if it is only spaces.

    >>> cut("teapot", 3), cut("tea  ", 8)
    ('tea', 'tea')
    """
    return text[:longest].rstrip(PAD)


def positions(longest: int, size: int) -> int:
    """Return how many n-grams of this size a string has.

    >>> positions(20, 2), positions(7, 3)
    (10, 3)
    """
    return -(-longest // size)


def ngrams(text: str, longest: int, size: int) -> list[str]:
    """Return the n-grams of a string that is cut already.

    >>> ngrams("mate", 7, 3)
    ['mat', 'e  ', '   ']
    """
    count = positions(longest, size)
    padded = text.ljust(count * size, PAD)
    return [padded[i * size : (i + 1) * size] for i in range(count)]


def possible(alphabet: str, size: int, *, first: bool) -> Iterator[str]:
    """Return all n-grams of an alphabet: letters up to the end of the string, then padding.

    The first n-gram of a string has a letter. If the alphabet has a space, it may be anywhere.

    >>> list(possible("ab", 2, first=False))
    ['  ', 'a ', 'b ', 'aa', 'ab', 'ba', 'bb']
    """
    if PAD in alphabet:
        for gram in map("".join, itertools.product(alphabet, repeat=size)):
            if gram.strip(PAD) or not first:
                yield gram
        return
    for length in range(1 if first else 0, size + 1):
        for letters in itertools.product(alphabet, repeat=length):
            yield "".join(letters).ljust(size, PAD)


def goes_on(earlier: str, later: str) -> bool:
    """Return whether a string without spaces may have these n-grams: nothing follows padding.

    >>> goes_on("te", "a "), goes_on("a ", "te")
    (True, False)
    """
    return not earlier.endswith(PAD) or not later.strip(PAD)


@dataclass(frozen=True, eq=False)
class CutLayout(Layout):
    """The buckets of whole strings, and beside them those of their n-grams at each position."""

    whole: Layout
    grams: tuple[Layout, ...]

    @property
    def rows(self) -> int:  # type: ignore[override]
        """The rows of the whole strings."""
        return self.whole.rows

    @property
    def width(self) -> int:  # type: ignore[override]
        """The buckets of the whole strings."""
        return self.whole.width

    @property
    def hashes(self) -> int:  # type: ignore[override]
        """The hashes of the whole strings."""
        return self.whole.hashes

    @property
    def k(self) -> int:
        """The number of strings."""
        return self.whole.k

    def blocks(self) -> Iterator[tuple[slice, Places]]:
        """Return the buckets of the whole strings."""
        return self.whole.blocks()

    def all_totals(self, *tables: Floats) -> Floats:
        """Return the sums of several tables over the buckets of each whole string."""
        return self.whole.all_totals(*tables)

    def look_up(self, answers: Integers, rows: Integers) -> Integers:
        """Return the buckets of whole strings, each in one row."""
        return self.whole.look_up(answers, rows)

    def select(self, answers: Integers) -> CutLayout:
        """Return the layout of some of the strings."""
        return CutLayout(
            self.whole.select(answers), tuple(own.select(answers) for own in self.grams)
        )
