"""Least squares for a layout whose hash functions are known, and its exact noise.

Let u be the unbiased estimates of the mass in each bucket, and X the layout: 1 where an answer has
a bucket, otherwise 0. The shares x solve X' W X x = X' W u with weights W = 1 / variance. In an
open alphabet, unlisted answers have the share 1 minus the sum of x, which is spread evenly, by
``filled`` on each bucket; so ``filled`` is subtracted from X. Nothing is averaged over hash
functions: collisions are solved for.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from murmurs import kernels
from murmurs.channels.repeats import ONCE, Repeats
from murmurs.hashing.layout import Layout, ListedPlaces, Places, first_ones
from murmurs.numerics.arrays import Floats, Integers

MOST_SOLVED = 1200
"""The most answers whose normal equations are solved; their square matrix is kept."""

WELL_POSED = 0.02
"""The smallest eigenvalue with which the scaled normal equations are solved.

Random hashes with four buckets for three answers have about this value; below it the noise of the
shares is many times what it is with few answers.
"""

DENSE = 8
"""The most buckets in a row for which a dense product is faster than going through pairs."""

NARROW = 64
"""The most buckets in a row for which a dense product is faster than sorting by bucket."""


@dataclass(frozen=True, eq=False)
class Solver:
    """The normal equations of a layout for one table of weights.

    ``filled_pair`` is the probability that an unlisted answer is in both of two buckets. ``parts``
    are the parts of the reports that each row gets, ``law`` is the probability that a report counts
    in each bucket, and ``gain`` (hit - miss) is how much an answer adds to it. ``exclusive`` means
    that a report counts in only one bucket; otherwise buckets are counted independently, and people
    may report several times (``repeats``).
    """

    layout: Layout
    filled: float
    filled_pair: float
    parts: Floats
    law: Floats
    gain: float
    exclusive: bool
    repeats: Repeats = ONCE

    @cached_property
    def weights(self) -> Floats:
        """One over the variance of the estimated masses, for one report."""
        spread = self.law if self.exclusive else self.repeats.variance_per_report(self.law)
        return np.asarray(self.parts * self.gain**2 / np.maximum(spread, 1e-12))

    @cached_property
    def gram(self) -> Floats:
        """X' W X."""
        return self._gram_of(self.weights)

    def _gram_of(self, weights: Floats) -> Floats:
        layout, f = self.layout, self.filled
        out = gram(layout, weights)
        if f == 0:
            return out
        on = layout.totals(weights)
        return np.asarray(out - f * (on[:, None] + on[None, :]) + f * f * weights.sum())

    @cached_property
    def inverse(self) -> Floats | None:
        """The inverse of X' W X, or None where some shares cannot be told apart."""
        diagonal = np.sqrt(np.diag(self.gram))
        if not (diagonal > 0).all():
            return None
        scale = np.outer(diagonal, diagonal)
        scaled = self.gram / scale
        try:  # the factor exists if no eigenvalue is below the limit
            np.linalg.cholesky(scaled - WELL_POSED * np.eye(len(scaled)))
        except np.linalg.LinAlgError:
            return None
        return np.asarray(np.linalg.inv(scaled) / scale)

    @property
    def solution(self) -> Floats:
        """The inverse, if the equations can be solved."""
        assert self.inverse is not None
        return self.inverse

    def against(self, table: Floats) -> Floats:
        """Return X' W table."""
        weighted = self.weights * table
        return np.asarray(self.layout.totals(weighted) - self.filled * weighted.sum())

    @cached_property
    def on(self) -> Floats:
        """The weights of each answer's buckets, added up."""
        return self.layout.totals(self.weights)

    def own_weights(self, on: Floats) -> Floats:
        """Return the diagonal of X' W X for answers with these weights on their buckets."""
        f = self.filled
        return np.asarray(on * (1 - 2 * f) + f * f * self.weights.sum())

    def fitted(self, shares: Floats) -> Floats:
        """Return the masses that these shares produce, including unlisted answers."""
        rest = self.filled * (1 - shares.sum()) if self.filled else 0.0
        return self.layout.masses(shares) + rest

    def solve(self, masses: Floats) -> Floats:
        """Return the shares, given estimated masses."""
        return np.asarray(self.solution @ self.against(masses - self.filled))

    def variances(self, shares: Floats, n: float, hit: float, miss: float) -> Floats:
        """Return the variance of each solved share, and of their sum, for a sampled population.

        ``hit`` and ``miss`` are the variances that a report adds in a true and in a false bucket.
        With Q the covariance of the estimated masses, the variances are the diagonal of
        B X' W Q W X B, where B is the inverse of X' W X. They hold at the shares that the weights
        were computed for.
        """
        inverse = np.vstack([self.solution, self.solution.sum(axis=0)])
        if self.layout.hashes > 1:
            return self._variances_of_filters(inverse, shares, n, hit, miss)
        if self.exclusive:  # W Q W is W, minus a term because the counts of a row have a fixed sum
            out = self._form(inverse, self.gram)
            if self.filled == 0:
                out -= self.gain**2 * inverse.sum(axis=1) ** 2
            return np.asarray(out / n)
        # Two bits of a row are set together less often, by b b', because each person has only one
        # bucket, the same in all of their reports.
        weighted = self.weights * self.fitted(shares)
        together = self._form(inverse, self._gram_of(weighted**2 / self.parts))
        lines = inverse @ self._rows_against(weighted / np.sqrt(self.parts))
        people = self.repeats.times * (together - (lines**2).sum(axis=1))
        return np.asarray((self._form(inverse, self.gram) + people) / n)

    def _form(self, lines: Floats, matrix: Floats) -> Floats:
        return np.asarray(((lines @ matrix) * lines).sum(axis=1))

    def _rows_against(self, table: Floats) -> Floats:
        """Return X' table, separately for each row of the table."""
        layout = self.layout
        padded = np.append(table, np.zeros((layout.rows, 1)), axis=1)
        own = np.stack(
            [padded[row][layout.places_in(row)].sum(axis=0) for row in range(layout.rows)]
        )
        return np.asarray((own - self.filled * table.sum(axis=1, keepdims=True)).T)

    def _variances_of_filters(
        self, inverse: Floats, shares: Floats, n: float, hit: float, miss: float
    ) -> Floats:
        """Return `variances` for answers with several buckets, which are then set together.

        This goes row by row, through the weights with which a row's counts enter a share (the
        lever) and the exact covariance of those counts among the people of the row.
        """
        layout, f = self.layout, self.filled
        others = inverse.sum(axis=1, keepdims=True) * f
        rest = max(1 - float(shares.sum()), 0.0) if f else 0.0
        masses = self.fitted(shares)
        present = np.flatnonzero(shares > 0)
        out = np.zeros(len(inverse))
        for row, mass in enumerate(masses):
            places = layout.places_in(row)
            lever = (_by_place(inverse, places, layout.width) - others) * self.weights[row]
            bits = mass * hit + (1 - mass) * miss
            padded = np.append(lever, np.zeros((len(lever), 1)), axis=1)
            own = sum(padded[:, at[present]] for at in places)
            squares, sums = (lever**2).sum(axis=1), lever.sum(axis=1)
            strange = f * squares + self.filled_pair * (sums**2 - squares)
            people = own**2 @ shares[present] + rest * strange - (lever @ mass) ** 2
            second = lever**2 @ bits / self.gain**2 + self.repeats.times * people
            out += second / (n * float(self.parts[row, 0]))
        return out

    def slopes(self, layout: Layout, on: Floats, variances: Floats, change: float) -> Floats:
        """Return how fast each share's variance grows with the share, through its own buckets.

        ``change`` is by how much the variance of a report in a bucket is larger if it is true.
        """
        people: Floats | float = float(self.parts.sum())
        if layout.hashes > 1:  # a bucket that an answer has twice counts once
            people = layout.totals(np.broadcast_to(self.parts, self.weights.shape))
        return np.asarray(change / self.gain**2 * on / np.maximum(people, 1e-300) * variances)

    def explained(self, seed: int = 0) -> float:
        """Return what part of an unlisted answer's buckets the solved answers imitate, on average.

        It is estimated from two hundred strings with random hashes.
        """
        inverse, layout = self.solution, self.layout
        if layout.k == 0:
            return 0.0
        rng = np.random.default_rng(seed)
        drawn = rng.integers(0, layout.width, (layout.rows, layout.hashes, 200))
        strange = np.concatenate([first_ones(row, layout.width) for row in drawn])
        starts = np.repeat(np.arange(layout.rows), layout.hashes)[:, None] * layout.width
        nowhere = layout.rows * layout.width
        placed = np.where(strange < layout.width, starts + strange, nowhere).astype(np.uint32)
        every = np.concatenate([layout.all_places(), placed], axis=1)
        both = ListedPlaces(every, layout.rows, layout.width, layout.hashes)
        gram = dataclasses.replace(self, layout=both).gram
        cross, alone = gram[layout.k :, : layout.k], np.diag(gram)[layout.k :]
        return float((self._form(cross, inverse) / alone).mean())


def gram(layout: Layout, weights: Floats) -> Floats:
    """Return for each pair of answers the sum of the weights of the buckets that they share."""
    flat = np.append(weights.ravel(), 0.0)
    product = _dense_gram if layout.width <= DENSE else kernels.load().gram
    return product(layout.all_places(), flat, layout.hashes)


def _dense_gram(places: Places, table: Floats, hashes: int) -> Floats:
    """Add up, for each pair of answers, the entries of the table at the buckets they share.

    This multiplies matrices of zeros and ones, with enough rows at once to be efficient.
    """
    m, k = places.shape
    out = np.zeros((k, k))
    size = len(table) - 1
    width = max(1, size * hashes // max(m, 1))
    step = max(1, 4096 // width)
    for start in range(0, m // hashes, step):
        low, high = start * width, min((start + step) * width, size)
        ones = np.zeros((high - low + 1, k))
        for at in places[start * hashes : (start + step) * hashes]:
            ones[np.minimum(at.astype(np.int64) - low, high - low), np.arange(k)] = 1
        out += ones[:-1].T @ (table[low:high, None] * ones[:-1])
    return out


def _by_place(columns: Floats, places: Integers, width: int) -> Floats:
    """Return the sums of the columns of answers in the same bucket."""
    if width <= NARROW:
        ones = np.zeros((columns.shape[1], width + 1))
        for at in places:
            ones[np.arange(len(at)), at] = 1.0
        return np.asarray(columns @ ones[:, :width])
    out = np.zeros((len(columns), width))
    for at in places:
        order = np.argsort(at, kind="stable")
        starts = np.searchsorted(at[order], np.arange(width + 1))
        sums = np.cumsum(columns[:, order], axis=1)
        out += np.diff(np.insert(sums, 0, 0.0, axis=1)[:, starts], axis=1)
    return out
