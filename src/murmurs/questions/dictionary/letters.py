"""The letters of strings: their numbers in an alphabet, and the hash keys of what they spell."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from murmurs import kernels
from murmurs.boundary.checks import shown
from murmurs.hashing import strings
from murmurs.hashing.pieces import GOES_ON, WHOLE
from murmurs.numerics.arrays import Integers

ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789.-_ '"
"""The letters that strings are made of, unless others are given."""

RANGES = ("a-z", "A-Z", "0-9")
"""What looks like a range of letters in an alphabet, which has every letter by itself."""

Codes = NDArray[np.int32]
"""Strings as the numbers of their letters, one row each."""


@dataclass(frozen=True)
class Letters:
    """An alphabet. Letter number ``len(alphabet)`` is the end of a string."""

    alphabet: str

    @property
    def size(self) -> int:
        """The number of letters, with the end of a string."""
        return len(self.alphabet) + 1

    @property
    def end(self) -> int:
        """The number of the end of a string."""
        return len(self.alphabet)

    @cached_property
    def _number(self) -> dict[str, int]:
        return {letter: i for i, letter in enumerate(self.alphabet)}

    def covers(self, text: str) -> bool:
        """Whether a string consists of these letters."""
        return self._number.keys() >= set(text)

    def codes(self, text: str) -> list[int]:
        """Return the numbers of the letters of a string."""
        return [self._number[letter] for letter in text]

    def text(self, codes: Iterable[int]) -> str:
        """Return the string of these letters."""
        return "".join([self.alphabet[code] for code in codes])

    @cached_property
    def _bytes(self) -> tuple[NDArray[np.uint8], Integers]:
        """The UTF-8 bytes of the letters and of the two marks of pieces, and how many they are."""
        encoded = [letter.encode() for letter in (*self.alphabet, WHOLE, GOES_ON)]
        table = np.array([list(own.ljust(4, b"\0")) for own in encoded], np.uint8)
        return table, np.array([len(own) for own in encoded], np.int64)

    def keys(self, codes: Codes, sizes: Integers, ended: NDArray[np.bool_]) -> NDArray[np.uint64]:
        """Return the hash keys of pieces: of strings that ended, and of others that go on."""
        marks = np.where(ended, self.size - 1, self.size)  # the marks come after the letters
        table, widths = self._bytes
        marked = np.column_stack([marks.astype(np.int32), codes])
        return kernels.load().text_keys(marked, sizes + 1, table, widths)


def letters_of(alphabet: object) -> Letters:
    """Return an alphabet; refuse what is none."""
    if not isinstance(alphabet, str):
        raise TypeError(f"alphabet is a text of all letters, not {type(alphabet).__name__}")
    if not alphabet:
        raise ValueError("alphabet has no letters")
    if why := strings.why_refused(alphabet):
        raise ValueError(f"alphabet is a text of all letters, but {why}")
    for text in RANGES:
        if text in alphabet:
            raise ValueError(f"alphabet has {text!r}: write out every letter, as in {ALPHABET!r}")
    normal = strings.normal(alphabet)
    if len(set(normal)) != len(normal):
        twice = next(letter for letter in normal if normal.count(letter) > 1)
        raise ValueError(f"alphabet has the letter {shown(twice)} twice")
    return Letters(normal)
