"""The laws of reports about sets: tick all that apply.

The shares are those of the people who ticked each label. They are between zero and one, and do not
add up to one.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

from murmurs.channels.channel import Channel
from murmurs.numerics.arrays import Floats, Integers, exact_sum


class SetChannel(Channel):
    """Reports support a label with the probability ``hit`` if it was ticked, otherwise ``miss``."""

    hit: Fraction
    miss: Fraction

    @abstractmethod
    def asked(self, cells: Integers, n: int) -> Integers:
        """Return how many reports say anything about each label."""

    @abstractmethod
    def supporting(self, cells: Integers) -> Integers:
        """Return how many reports support each label."""

    def invert(self, cells: Integers | Floats, n: int) -> Floats:
        """Return (support / asked - miss) / (hit - miss); one half if nobody was asked."""
        asked = np.asarray(self.asked(np.asarray(cells), n), np.float64)
        support = np.where(asked > 0, self.supporting(np.asarray(cells)), 1)
        part = support / np.where(asked > 0, asked, 2.0)
        middle = np.where(asked > 0, float(self.miss), 0.0)
        return np.asarray(np.where(asked > 0, (part - middle) / float(self.hit - self.miss), part))

    def noise(self, shares: Floats, n: float) -> tuple[Floats, Floats]:
        """Return the binomial variances of false and true support, over (hit - miss)^2."""
        return self.noise_of(np.full(self.k, self._asked_of_all * n))

    @property
    @abstractmethod
    def _asked_of_all(self) -> float:
        """The part of all reports that say anything about a label."""

    def noise_of(self, asked: Integers | Floats) -> tuple[Floats, Floats]:
        """Return the same, given how many reports say anything about each label."""
        scale = np.maximum(np.asarray(asked, np.float64), 1e-3) * float(self.hit - self.miss) ** 2
        of_hit, of_miss = (float(chance * (1 - chance)) for chance in (self.hit, self.miss))
        return of_miss / scale, (of_hit - of_miss) / scale

    def _refuse(self) -> NoReturn:
        raise TypeError(
            "the cells of sets of ticks do not follow from the shares of the labels: they depend "
            "on which labels go together"
        )

    @property
    def base(self) -> Floats:
        """Refuse: see `_refuse`."""
        self._refuse()

    def gain(self, shares: Floats) -> Floats:
        """Refuse: see `_refuse`."""
        self._refuse()

    def adjoint(self, weights: Floats) -> Floats:
        """Refuse: see `_refuse`."""
        self._refuse()


@dataclass(frozen=True)
class SetSupport(SetChannel):
    """Cell j counts the reports with item j; everybody holds ``most`` of k + most items.

    The first k items are labels. Of the dummies that follow, somebody with s ticks holds the first
    most - s. Each report has ``w`` items. ``together`` are the probabilities that two items are
    both reported if none, one or both of them are held. With ``pairs``, further cells count the
    reports with both of two items, (0, 1), (0, 2), ..., (1, 2), ....
    """

    k: int
    most: int
    w: int
    hit: Fraction
    miss: Fraction
    together: tuple[Fraction, Fraction, Fraction]
    pairs: bool = False

    @property
    def items(self) -> int:
        """The labels and the dummies."""
        return self.k + self.most

    @property
    def cells(self) -> tuple[int, ...]:
        """One cell for each item and, if they are kept, for each pair."""
        items = self.items
        return (items * (items + 1) // 2 if self.pairs else items,)

    @property
    def is_histogram(self) -> bool:
        """Whether reports have one item."""
        return self.w == 1

    def law_of(self, answer: int) -> list[Fraction]:
        """Return the mean of the cells if only this label was ticked."""
        return self.law_of_set((answer,))

    def law_of_set(self, ticks: tuple[int, ...]) -> list[Fraction]:
        """Return the mean of the cells of one report of a set."""
        held = {*ticks, *range(self.k, self.items - len(ticks))}
        law = [self.hit if item in held else self.miss for item in range(self.items)]
        if self.pairs:
            law += [
                self.together[(i in held) + (j in held)]
                for i in range(self.items)
                for j in range(i + 1, self.items)
            ]
        return law

    def asked(self, cells: Integers, n: int) -> Integers:
        """Return that all reports say something about each label."""
        return np.full(self.k, n)

    @property
    def _asked_of_all(self) -> float:
        return 1.0

    def supporting(self, cells: Integers) -> Integers:
        """Return the cells of the labels."""
        return cells[: self.k]

    def support(self, cells: Integers) -> tuple[Integers, Fraction, Fraction] | None:
        """Return the cells of the labels, which are binomial."""
        return self.supporting(cells), self.hit, self.miss

    def few(self, cells: Integers | Floats, n: int) -> Floats:
        """Return the unbiased shares of people with at most 0, 1, ..., most - 1 ticks."""
        dummies = cells[self.k : self.items][::-1]
        return np.asarray((dummies / n - float(self.miss)) / float(self.hit - self.miss))

    def pair_table(self, cells: Integers) -> Integers:
        """Return how many reports have both of two labels, and on the diagonal each of them."""
        table = np.zeros((self.items, self.items), np.int64)
        table[np.triu_indices(self.items, 1)] = cells[self.items :]
        table += table.T
        np.fill_diagonal(table, cells[: self.items])
        return table[: self.k, : self.k]

    def why_impossible(self, cells: Integers, n: int) -> str | None:
        """Return why the cells do not add up: every report has equally many items."""
        w, total = self.w, exact_sum(cells[: self.items])
        if total != n * w:
            return f"cells add up to {total}, not {n * w}: each report has {w} items"
        pairs, total = n * w * (w - 1) // 2, exact_sum(cells[self.items :])
        if self.pairs and total != pairs:
            return f"cells of pairs add up to {total}, not {pairs}: each report has {w} items"
        return None


@dataclass(frozen=True)
class OneOfSet(SetChannel):
    """Cells 2 j and 2 j + 1 count the reports no and yes of those who were asked for label j.

    ``numbers`` are the reports for each label, once they are known.
    """

    k: int
    hit: Fraction
    miss: Fraction
    numbers: tuple[int, ...] = ()

    @property
    def cells(self) -> tuple[int, ...]:
        """Two cells for each label."""
        return (2 * self.k,)

    @property
    def is_histogram(self) -> bool:
        """Each report counts in one cell."""
        return True

    def law_of(self, answer: int) -> list[Fraction]:
        """Return the mean of the cells if only this label was ticked."""
        return self.law_of_set((answer,))

    def law_of_set(self, ticks: tuple[int, ...]) -> list[Fraction]:
        """Return the mean of the cells of one report of a set."""
        yes = [self.hit if label in ticks else self.miss for label in range(self.k)]
        return [part / self.k for chance in yes for part in (1 - chance, chance)]

    def asked(self, cells: Integers, n: int) -> Integers:
        """Return the number of reports for each label."""
        return np.asarray(cells[0::2] + cells[1::2])

    @property
    def _asked_of_all(self) -> float:
        return 1 / self.k

    def supporting(self, cells: Integers) -> Integers:
        """Return the number of those that say yes."""
        return cells[1::2]

    def groups(self, cells: Integers) -> Integers:
        """Return the number of reports for each label."""
        return self.asked(cells, 0)

    def conditioned_on(self, cells: Integers) -> OneOfSet:
        """Return the channel given the number of reports for each label."""
        return replace(self, numbers=tuple(self.asked(cells, 0).tolist()))

    def noise(self, shares: Floats, n: float) -> tuple[Floats, Floats]:
        """Return the noise for so many reports of each label, or for their mean."""
        known: Any = np.array(self.numbers) if self.numbers else np.full(self.k, n / self.k)
        return self.noise_of(known)
