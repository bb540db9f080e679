"""The law of projective geometry response: cells are points, decoded by orthogonality."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from murmurs.channels.channel import Channel
from murmurs.channels.symmetric import support_noise
from murmurs.numerics import geometry
from murmurs.numerics.arrays import Floats, Integers


@dataclass(frozen=True)
class ProjectivePoints(Channel):
    """Cell y counts the reports of point y; answer x is point x.

    With probability ``truth`` the report is a point orthogonal to x, uniformly; otherwise it is any
    point, uniformly.
    """

    k: int
    q: int
    t: int
    truth: Fraction

    @property
    def cells(self) -> tuple[int, ...]:
        """One cell per point."""
        return (geometry.point_count(self.q, self.t),)

    @property
    def is_histogram(self) -> bool:
        """True: a report is one point."""
        return True

    @property
    def hit(self) -> Fraction:
        """The probability that a report supports its answer, that is, is orthogonal to it."""
        return self.truth + (1 - self.truth) * self._orthogonal / self.cells[0]

    @property
    def miss(self) -> Fraction:
        """The probability that a report supports any given other answer."""
        both = geometry.point_count(self.q, self.t - 2) if self.t > 2 else 0
        by_truth = self.truth * Fraction(both, self._orthogonal)
        return by_truth + (1 - self.truth) * self._orthogonal / self.cells[0]

    @property
    def _orthogonal(self) -> Fraction:
        return Fraction(geometry.point_count(self.q, self.t - 1))

    def law_of(self, answer: int) -> list[Fraction]:
        """Return the law of the report of one answer, point after point."""
        size = self.cells[0]
        anywhere = (1 - self.truth) / size
        law = [anywhere] * size
        which = np.arange(int(self._orthogonal))
        for point in geometry.on_hyperplane(np.full(len(which), answer), which, self.q, self.t):
            law[point] += self.truth / self._orthogonal
        return law

    @property
    def base(self) -> Floats:
        """The probability of each point in a random report."""
        return np.array(float((1 - self.truth) / self.cells[0]))

    @cached_property
    def _supports(self) -> Floats:
        """One for each answer, in the rows, and each point that is orthogonal to it."""
        digits = geometry.vectors(np.arange(self.cells[0]), self.q, self.t)
        return np.asarray(digits[: self.k] @ digits.T % self.q == 0, np.float64)

    def matrix(self) -> Floats:
        """Return the means of the cells, one row per answer; for small alphabets."""
        return np.asarray(float(self.truth / self._orthogonal) * self._supports + self.base)

    def lever(self, n: int) -> Floats:
        """Return 1 / (n (hit - miss)) where a point supports an answer, one row per point."""
        return np.asarray(self._supports.T / (n * float(self.hit - self.miss)))

    def gain(self, shares: Floats) -> Floats:
        """Return for each point the total share orthogonal to it, times truth / s."""
        padded = np.zeros(self.cells)
        padded[: self.k] = shares
        per_point = float(self.truth / self._orthogonal)
        return per_point * geometry.incidence(padded, self.q, self.t)

    def adjoint(self, weights: Floats) -> Floats:
        """Return for each answer the total weight orthogonal to it, times truth / s."""
        per_point = float(self.truth / self._orthogonal)
        return per_point * geometry.incidence(weights, self.q, self.t)[: self.k]

    def support(self, cells: Integers) -> tuple[Integers, Fraction, Fraction]:
        """Return for each answer the number of reports orthogonal to it."""
        sums = geometry.incidence(cells.astype(np.float64), self.q, self.t)[: self.k]
        return np.rint(sums).astype(np.int64), self.hit, self.miss

    def invert(self, cells: Integers | Floats, n: int) -> Floats:
        """Return (support / n - miss) / (hit - miss)."""
        support = geometry.incidence(cells.astype(np.float64), self.q, self.t)[: self.k]
        return np.asarray((support / n - float(self.miss)) / float(self.hit - self.miss))

    def noise(self, shares: Floats, n: float) -> tuple[Floats, Floats]:
        """Return the binomial variances of false and true support, over (hit - miss)^2."""
        return support_noise(self.k, self.hit, self.miss, n)
