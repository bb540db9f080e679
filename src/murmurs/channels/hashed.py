"""Cells of hash tables: a report concerns one row, in which an answer has one or a few buckets.

Rows are the rows of a sketch, or cohorts of people who share hash functions. In an open alphabet
the last answer stands for all unlisted strings, which fall in every bucket equally often.

The mean estimate averages the masses in an answer's buckets, minus what other answers add there *on
average over hash functions*. An answer that shares buckets with common answers is then estimated
too high; the variances include that error as its mean square over hash functions.
`murmurs.channels.tables` does better where it can.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from murmurs.channels.channel import Channel
from murmurs.hashing.layout import Layout
from murmurs.numerics.arrays import Floats


@dataclass(frozen=True, eq=False)
class Sketch(Channel):
    """What all sketches share: the layout and, in an open alphabet, the answer for all others."""

    layout: Layout
    is_open: bool

    @property
    def k(self) -> int:  # type: ignore[override]
        """The number of answers: those of the layout, plus one for all others if it is open."""
        return self.layout.k + self.is_open

    @property
    def other(self) -> int | None:
        """The last answer in an open alphabet, otherwise None."""
        return self.layout.k if self.is_open else None

    @property
    def rows(self) -> int:
        """The number of hash tables."""
        return self.layout.rows

    @property
    def width(self) -> int:
        """The number of buckets in each hash table."""
        return self.layout.width

    @property
    def filled(self) -> Fraction:
        """The probability that an answer with random hashes falls in a given bucket."""
        return 1 - (1 - Fraction(1, self.width)) ** self.layout.hashes

    @property
    def filled_pair(self) -> Fraction:
        """The probability that it falls in both of two given buckets."""
        both = (1 - Fraction(2, self.width)) ** self.layout.hashes
        return 1 - 2 * (1 - self.filled) + both

    def masses(self, shares: Floats) -> Floats:
        """Return the total share in each bucket of each row."""
        if not self.is_open:
            return self.layout.masses(shares)
        return np.asarray(self.layout.masses(shares[:-1]) + float(self.filled) * shares[-1])

    def totals(self, table: Floats) -> Floats:
        """Return for each answer the sum of the table over its buckets."""
        totals = self.layout.totals(table)
        if not self.is_open:
            return totals
        return np.append(totals, float(self.filled) * table.sum())

    def on_places(self, row: int, answer: int) -> list[Fraction]:
        """Return the probability of an answer in each bucket of a row: one or zero if listed."""
        if answer == self.layout.k:
            return [self.filled] * self.width
        places = self.layout.select(np.array([answer])).places_in(row).ravel().tolist()
        return [Fraction(place in places) for place in range(self.width)]

    @property
    def _crowd(self) -> tuple[float, float]:
        """How many buckets an answer has, and how many it shares with another, on average."""
        own = float(self.filled) * self.width
        return own, own * own / self.width

    def unhash(self, masses: Floats) -> Floats:
        """Turn estimated masses, weighted by row, into shares, minus what other answers add."""
        own, shared = self._crowd
        shares = (self.layout.totals(masses) - shared) / (own - shared)
        return np.append(shares, 1 - shares.sum()) if self.is_open else shares

    @property
    def collision(self) -> tuple[float, float]:
        """The scale, and the variance that two people with one answer add together in one row."""
        own, shared = self._crowd
        spread = own / self.width * (1 - own / self.width) * own
        return (own - shared) ** -2, spread / self.rows

    def spread_noise(
        self, shares: Floats, n: float, own: float, other: float
    ) -> tuple[Floats, Floats]:
        """Return c and s of `noise` for shares from `unhash`.

        ``own`` and ``other`` are the variances of a report. Only different people collide at
        random, and there are n / times of them.
        """
        scale, pair = self.collision
        together = shares * (n * shares - self.times) * pair
        constant = scale / n * (other + together.sum() - together)
        slope = np.full(self.k, scale / n * (own - other))
        if self.is_open:  # the last share is one minus all the others
            constant[-1], slope[-1] = constant[:-1].sum(), 0.0
        return constant, slope

    def collision_part(self, shares: Floats, n: int) -> float:
        """Return the part of the variance due to collisions, if they could be solved for."""
        if self.rows * (self.width - 1) + 1 < self.k:
            return 0.0
        constant, _ = self.noise(shares, n)
        scale, pair = self.collision
        pairs = float((shares * np.maximum(n * shares - self.times, 0)).sum()) * pair
        return min(scale / n * pairs / float(constant.max()), 1.0)

    def variance_sampled(self, shares: Floats, n: int) -> Floats:
        """Add sampling, which also makes more pairs of people share an answer."""
        scale, pair = self.collision
        pairs = shares * (1 - shares) * pair
        more = scale * self.times / n * (pairs.sum() - pairs)
        return np.asarray(super().variance_sampled(shares, n) + more)
