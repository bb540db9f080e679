"""How likely each letter is after the letters before it, learnt from strings."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from murmurs.boundary.checks import shown
from murmurs.hashing import strings
from murmurs.numerics.arrays import Floats, Integers

ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789.-_ '"
"""The letters that strings are made of, unless others are given."""

RANGES = ("a-z", "A-Z", "0-9")
"""What looks like a range of letters in an alphabet, which has every letter by itself."""

PSEUDO = 0.1
"""Weight of the shorter context, in strings of average weight."""

ANY = 0.1
"""The part of every prediction that ignores the context, so that nothing is impossible."""

UNIFORM = 0.15
"""The part of that which gives every letter the same probability."""


class Letters:
    """A trigram model of the letters of an alphabet and of the end of a string.

    A context is the last two letters; contexts that were seen rarely fall back on one letter, and
    on none (interpolation as by Witten and Bell). Before anything is learnt, all letters are
    equally likely. Letter number ``len(alphabet)`` is the end of the string. Only contexts that
    were seen are kept, so a large alphabet takes little memory.
    """

    def __init__(self, alphabet: str) -> None:
        self.alphabet = alphabet
        self.size = len(alphabet) + 1
        self._number = {letter: i for i, letter in enumerate(alphabet)}
        self._after_one: Floats | None = None
        self._seen: Integers = np.zeros(0, np.int64)
        self._after_two: Floats = np.zeros((0, self.size))

    def codes(self, text: str) -> list[int]:
        """Return the numbers of the letters of a string."""
        return [self._number[letter] for letter in text]

    def learn(self, texts: Sequence[str], ended: Sequence[bool], weights: Floats) -> None:
        """Learn from strings with weights; those that ended also tell how strings end."""
        size, nothing = self.size, self.size
        contexts: list[int] = []
        letters: list[int] = []
        added: list[float] = []
        for text, is_whole, weight in zip(texts, ended, weights.tolist(), strict=True):
            codes = [nothing, nothing, *self.codes(text), *([size - 1] if is_whole else [])]
            for i in range(2, len(codes)):
                contexts.append(self._context(codes[i - 2], codes[i - 1]))
                letters.append(codes[i])
                added.append(weight)
        self._seen, rows = np.unique(np.array(contexts, np.int64), return_inverse=True)
        table = np.zeros((len(self._seen), size))
        np.add.at(table, (rows.ravel(), np.array(letters, np.int64)), added)
        last = self._seen % (size + 1)
        pairs = np.zeros((size + 1, size))
        np.add.at(pairs, last, table)
        pseudo = PSEUDO * float(weights.mean())
        alone = pairs.sum(axis=0) / max(float(pairs.sum()), 1e-300)
        anywhere = (1 - UNIFORM) * alone + UNIFORM / size
        after_one = (pairs + pseudo * anywhere) / (pairs.sum(axis=1, keepdims=True) + pseudo)
        after_two = table + pseudo * after_one[last]
        after_two /= table.sum(axis=1, keepdims=True) + pseudo
        self._after_one = np.log((1 - ANY) * after_one + ANY * anywhere)
        self._after_two = np.log((1 - ANY) * after_two + ANY * anywhere)

    def _context(self, first: int, second: int) -> int:
        return first * (self.size + 1) + second

    def after(self, last_two: Integers) -> Floats:
        """Return the log-probability of every next letter, one row per context.

        A context is a row of two letter numbers, with ``size`` where there is no letter yet.
        """
        if self._after_one is None:
            return np.full((len(last_two), self.size), -math.log(self.size))
        out = self._after_one[last_two[:, 1]]
        wanted = last_two[:, 0] * (self.size + 1) + last_two[:, 1]
        at = np.minimum(np.searchsorted(self._seen, wanted), max(len(self._seen) - 1, 0))
        seen = np.flatnonzero(self._seen[at] == wanted) if len(self._seen) else at[:0]
        out[seen] = self._after_two[at[seen]]
        return np.asarray(out)

    def context(self, text: str) -> tuple[int, int]:
        """Return the numbers of the last two letters."""
        first, second = [self.size, self.size, *self.codes(text[-2:])][-2:]
        return first, second


def letters_of(alphabet: object) -> Letters:
    """Return an empty letter model of an alphabet; refuse what is none."""
    if not isinstance(alphabet, str):
        raise TypeError(f"alphabet is a text of all letters, not {type(alphabet).__name__}")
    if not alphabet:
        raise ValueError("alphabet has no letters")
    for text in RANGES:
        if text in alphabet:
            raise ValueError(f"alphabet has {text!r}: write out every letter, as in {ALPHABET!r}")
    normal = strings.normal(alphabet)
    if len(set(normal)) != len(normal):
        twice = next(letter for letter in normal if normal.count(letter) > 1)
        raise ValueError(f"alphabet has the letter {shown(twice)} twice")
    return Letters(normal)
