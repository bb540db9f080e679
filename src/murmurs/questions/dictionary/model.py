"""How likely each letter is after the letters before it, learnt from strings.

Every string counts once. The probability of a letter is (count + c * that after one letter less) /
(total + c), where c is a fixed number, or the number of different letters that were seen there
(Witten and Bell 1991). How many letters a model looks back on, and c, are chosen by leaving each
string out in turn, and that all letters are equally likely is one of the choices.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from murmurs.numerics.arrays import Floats, Integers
from murmurs.questions.dictionary.letters import Letters

CHOICES: tuple[tuple[int, float | None], ...] = (
    (0, 10.0),
    (1, 10.0),
    (1, None),
    (2, 10.0),
    (2, 3.0),
    (2, None),
    (3, 10.0),
    (3, None),
    (5, 10.0),
    (5, 3.0),
    (5, None),
)
"""How many letters a model may look back on, and c; none stands for Witten and Bell's number."""

FEWEST = 4
"""Strings that a model is learnt from at least."""

LARGEST = 2**62
"""The largest number that stands for the letters before a letter, and for the letter."""


@dataclass(frozen=True, eq=False)
class Order:
    """What was seen after each run of so many letters: how often, and how often which letter."""

    contexts: Integers
    totals: Integers
    different: Integers
    starts: Integers
    letters: Integers
    counts: Integers

    def find(self, contexts: Integers) -> Integers:
        """Return the row of each context, or -1 if it was not seen."""
        at = np.minimum(np.searchsorted(self.contexts, contexts), len(self.contexts) - 1)
        return np.where(self.contexts[at] == contexts, at, -1)


@dataclass(frozen=True, eq=False)
class Seen:
    """Strings letter by letter: of each letter the string, what came before, and its number.

    What came before is a number in base ``letters.size + 1``, in which 0 stands for no letter.
    """

    letters: Letters
    strings: Integers
    contexts: Integers
    found: Integers

    @property
    def base(self) -> int:
        """The base in which the letters before a letter are one number."""
        return self.letters.size + 1

    @cached_property
    def _orders(self) -> dict[int, Order]:
        return {}

    def before(self, contexts: Integers, order: int) -> Integers:
        """Return the number of the last letters alone."""
        return np.asarray(contexts % self.base**order)

    def order(self, order: int) -> Order:
        """Return what was seen after runs of so many letters."""
        if order not in self._orders:
            keys = self.before(self.contexts, order) * self.letters.size + self.found
            unique, counts = np.unique(keys, return_counts=True)
            own, letters = np.divmod(unique, self.letters.size)
            contexts, starts = np.unique(own, return_index=True)
            totals = np.add.reduceat(counts, starts) if len(counts) else counts
            starts = np.append(starts, len(own))
            self._orders[order] = Order(contexts, totals, np.diff(starts), starts, letters, counts)
        return self._orders[order]

    def left_out(self, order: int, c: float | None, scored: Integers) -> Floats:
        """Return the log-probability of letters by a model that has not seen their strings.

        ``scored`` are the numbers of the strings, and their letters follow one after another.
        """
        others = [self.of_others(each, scored) for each in range(order + 1)]
        return _predicted(others, c, self.letters.size)

    def of_others(self, order: int, scored: Integers) -> Others:
        """Return for each letter of some strings what other strings have after the same letters."""
        at = np.flatnonzero(np.isin(self.strings, scored))
        strings, found = self.strings[at], self.found[at]
        seen, contexts = self.order(order), self.before(self.contexts[at], order)
        size, rows = self.letters.size, len(seen.contexts)
        row_of = np.repeat(np.arange(rows), seen.different)
        entry = np.searchsorted(
            seen.contexts[row_of] * size + seen.letters, contexts * size + found
        )
        row = row_of[entry]
        pairs, pair, own = np.unique(
            strings * len(row_of) + entry, return_inverse=True, return_counts=True
        )
        groups, group, total = np.unique(
            strings * rows + row, return_inverse=True, return_counts=True
        )
        string, listed = np.divmod(pairs, len(row_of))
        at = np.searchsorted(groups, string * rows + row_of[listed])
        alone = np.bincount(at, own == seen.counts[listed], minlength=len(groups))
        return Others(
            np.asarray(seen.counts[entry] - own[pair], np.float64),
            np.asarray(seen.totals[row] - total[group], np.float64),
            np.asarray(seen.different[row] - alone[group], np.float64),
        )


class Others(NamedTuple):
    """How often other strings have a letter after the same letters, any letter, different ones."""

    counts: Floats
    totals: Floats
    different: Floats


def _predicted(others: Sequence[Others], c: float | None, size: int) -> Floats:
    """Return the log-probability of letters, given what others have after ever more letters."""
    chances = np.full(len(others[0].counts), 1 / size)
    for counts, totals, different in others:
        weight = different if c is None else np.full(len(counts), c)
        known = totals + weight > 0
        chances[known] = (counts + weight * chances)[known] / (totals + weight)[known]
    return np.asarray(np.log(chances))


def seen_in(letters: Letters, texts: Sequence[str], ended: Sequence[bool]) -> Seen:
    """Return strings letter by letter; those that ended also tell how strings end."""
    base, limit = letters.size + 1, (letters.size + 1) ** farthest(letters)
    strings: list[int] = []
    contexts: list[int] = []
    found: list[int] = []
    for number, (text, is_whole) in enumerate(zip(texts, ended, strict=True)):
        context, codes = 0, letters.codes(text)
        for code in (*codes, letters.end) if is_whole else codes:
            strings.append(number)
            contexts.append(context)
            found.append(code)
            context = (context * base + code + 1) % limit
    return Seen(letters, *(np.array(each, np.int64) for each in (strings, contexts, found)))


def farthest(letters: Letters) -> int:
    """Return how many letters back a model can look, so that what it saw fits into a number."""
    fits = int(math.log(LARGEST) / math.log(letters.size + 1)) - 1
    return min(fits, max(order for order, _ in CHOICES))


@dataclass(frozen=True, eq=False)
class LetterModel:
    """The probability of each letter after the last ``order`` letters."""

    seen: Seen
    order: int = -1
    c: float | None = 10.0

    def after(self, contexts: Integers) -> Floats:
        """Return the log-probability of every next letter, one row per context.

        With order -1, all letters are equally likely.
        """
        size = self.seen.letters.size
        if self.order < 0:
            return np.full((len(contexts), size), -math.log(size))
        different, back = np.unique(self.seen.before(contexts, self.order), return_inverse=True)
        chances = np.full((len(different), size), 1 / size)
        for order in range(self.order + 1):
            seen = self.seen.order(order)
            at = seen.find(self.seen.before(different, order))
            rows = np.flatnonzero(at >= 0)
            at = at[rows]
            weight = seen.different[at] if self.c is None else np.full(len(at), self.c)
            scale = 1 / (seen.totals[at] + weight)
            chances[rows] *= (weight * scale)[:, None]
            many = seen.different[at]
            first = np.repeat(seen.starts[at] - np.cumsum(many) + many, many)
            entries = first + np.arange(len(first))
            into = np.repeat(rows, many), seen.letters[entries]
            chances[into] += seen.counts[entries] * np.repeat(scale, many)
        return np.asarray(np.log(chances)[back])

    def following(self, contexts: Integers, letters: Integers) -> Integers:
        """Return the contexts after one more letter each."""
        base = self.seen.base
        return np.asarray((contexts * base + letters + 1) % base ** farthest(self.seen.letters))


def learnt(seen: Seen, scored: Integers | None = None) -> LetterModel:
    """Return the model that best predicts strings that it has not seen.

    With ``scored``, only these strings are predicted. With too few strings, all letters are equally
    likely.
    """
    best, size = LetterModel(seen), seen.letters.size
    scored = np.unique(seen.strings) if scored is None else scored
    if len(scored) < FEWEST:
        return best
    most_letters = farthest(seen.letters)
    others = [seen.of_others(order, scored) for order in range(most_letters + 1)]
    most = -math.log(size) * len(others[0].counts)
    for order, c in CHOICES:
        if order <= most_letters:
            score = float(_predicted(others[: order + 1], c, size).sum())
            if score > most:
                best, most = LetterModel(seen, order, c), score
    return best
