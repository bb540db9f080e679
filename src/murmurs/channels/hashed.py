"""Cells of hash tables: a report tells of one row, in which answers fall on a few places.

Rows are the rows of a sketch, or cohorts of people who share hash functions. In an open alphabet
the last answer is all that is in no list. It falls on every place alike.

The mean estimate averages the masses at an answer's places, less what others add there *on average
over hash functions*; an answer that shares places with common ones is then estimated too high, and
the variances include that error as its mean square over hash functions. `murmurs.channels.tables`
does better where it can.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from murmurs.channel import Channel
from murmurs.hashing.layout import Layout
from murmurs.numerics.arrays import Floats


@dataclass(frozen=True, eq=False)
class Sketch(Channel):
    """What all of them share: the layout, and in an open alphabet the answer for all others."""

    layout: Layout
    is_open: bool

    @property
    def k(self) -> int:  # type: ignore[override]
        """The answers of the layout, and one for all others."""
        return self.layout.k + self.is_open

    @property
    def other(self) -> int | None:
        """The last answer, in an open alphabet."""
        return self.layout.k if self.is_open else None

    @property
    def rows(self) -> int:
        """How many hash tables there are."""
        return self.layout.rows

    @property
    def width(self) -> int:
        """How many places each has."""
        return self.layout.width

    @property
    def filled(self) -> Fraction:
        """The chance that an answer with a random hash falls on a given place."""
        return 1 - (1 - Fraction(1, self.width)) ** self.layout.hashes

    @property
    def filled_pair(self) -> Fraction:
        """The chance that it falls on both of two given places."""
        both = (1 - Fraction(2, self.width)) ** self.layout.hashes
        return 1 - 2 * (1 - self.filled) + both

    def masses(self, shares: Floats) -> Floats:
        """Return the share that falls on each place of each row."""
        if not self.is_open:
            return self.layout.masses(shares)
        return np.asarray(self.layout.masses(shares[:-1]) + float(self.filled) * shares[-1])

    def totals(self, table: Floats) -> Floats:
        """Return for each answer the sum of the table over its places."""
        totals = self.layout.totals(table)
        if not self.is_open:
            return totals
        return np.append(totals, float(self.filled) * table.sum())

    def on_places(self, row: int, answer: int) -> list[Fraction]:
        """Return the chance that an answer falls on each place of a row: one or zero if listed."""
        if answer == self.layout.k:
            return [self.filled] * self.width
        places = self.layout.select(np.array([answer])).places_in(row).ravel().tolist()
        return [Fraction(place in places) for place in range(self.width)]

    @property
    def _crowd(self) -> tuple[float, float]:
        """How many places an answer has, and how many it shares with another, on average."""
        own = float(self.filled) * self.width
        return own, own * own / self.width

    def unhash(self, masses: Floats) -> Floats:
        """Turn the rows' summed parts of estimated masses into shares, less what others add."""
        own, shared = self._crowd
        shares = (self.layout.totals(masses) - shared) / (own - shared)
        return np.append(shares, 1 - shares.sum()) if self.is_open else shares

    @property
    def _collision(self) -> tuple[float, float]:
        """Scale, and the variance that two people with one answer add together in one row."""
        own, shared = self._crowd
        spread = own / self.width * (1 - own / self.width) * own
        return (own - shared) ** -2, spread / self.rows

    def spread_noise(
        self, shares: Floats, n: float, own: float, other: float
    ) -> tuple[Floats, Floats]:
        """Return c and s of unhashed shares; a report's variances are ``own`` and ``other``.

        Only pairs of different people collide by chance, of n / times people.
        """
        scale, pair = self._collision
        together = shares * (n * shares - self.times) * pair
        constant = scale / n * (other + together.sum() - together)
        slope = np.full(self.k, scale / n * (own - other))
        if self.is_open:  # the rest is what all the others leave
            constant[-1], slope[-1] = constant[:-1].sum(), 0.0
        return constant, slope

    def collision_part(self, shares: Floats, n: int) -> float:
        """Return which part of the variance comes from collisions, if they could be solved for."""
        if self.rows * (self.width - 1) + 1 < self.k:
            return 0.0
        constant, _ = self.noise(shares, n)
        scale, pair = self._collision
        pairs = float((shares * np.maximum(n * shares - self.times, 0)).sum()) * pair
        return min(scale / n * pairs / float(constant.max()), 1.0)

    def variance_sampled(self, shares: Floats, n: int) -> Floats:
        """Add sampling; it also makes pairs with one answer more frequent than the shares tell."""
        scale, pair = self._collision
        pairs = shares * (1 - shares) * pair
        more = scale * self.times / n * (pairs.sum() - pairs)
        return np.asarray(super().variance_sampled(shares, n) + more)
