"""Cells of projective geometry response: points, decoded through who is orthogonal to whom."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from murmurs import geometry
from murmurs.channel import Channel
from murmurs.checks import Floats, Integers


@dataclass(frozen=True)
class ProjectivePoints(Channel):
    """Cell y counts the reports of point y; answer x is point x.

    With probability ``truth`` the report is a point orthogonal to x, uniformly; otherwise any.
    """

    k: int
    q: int
    t: int
    truth: Fraction

    @property
    def cells(self) -> tuple[int, ...]:
        """One cell a point."""
        return (geometry.point_count(self.q, self.t),)

    @property
    def is_histogram(self) -> bool:
        """A report is one point."""
        return True

    @property
    def hit(self) -> Fraction:
        """Probability that a report supports its answer, by being orthogonal to it."""
        return self.truth + (1 - self.truth) * self._orthogonal / self.cells[0]

    @property
    def miss(self) -> Fraction:
        """Probability that a report supports any other answer."""
        both = geometry.point_count(self.q, self.t - 2) if self.t > 2 else 0
        by_truth = self.truth * Fraction(both, self._orthogonal)
        return by_truth + (1 - self.truth) * self._orthogonal / self.cells[0]

    @property
    def _orthogonal(self) -> Fraction:
        return Fraction(geometry.point_count(self.q, self.t - 1))

    def row(self, answer: int) -> list[Fraction]:
        """Return the law of the report of one answer, point after point."""
        size = self.cells[0]
        anywhere = (1 - self.truth) / size
        law = [anywhere] * size
        which = np.arange(int(self._orthogonal))
        for point in geometry.on_hyperplane(np.full(len(which), answer), which, self.q, self.t):
            law[point] += self.truth / self._orthogonal
        return law

    def mean(self, shares: Floats) -> Floats:
        """Return the law of a report: each point collects the shares orthogonal to it."""
        padded = np.zeros(self.cells)
        padded[: self.k] = shares
        supported = geometry.incidence(padded, self.q, self.t)
        return (1 - float(self.truth)) / self.cells[0] + supported * float(
            self.truth / self._orthogonal
        )

    def invert(self, cells: Integers | Floats, n: int) -> Floats:
        """Return (support / n - miss) / (hit - miss)."""
        support = geometry.incidence(cells.astype(np.float64), self.q, self.t)[: self.k]
        return np.asarray((support / n - float(self.miss)) / float(self.hit - self.miss))

    def variance(self, histogram: Integers | Floats) -> Floats:
        """Return the binomial variances of true and false support, divided by (hit - miss)^2."""
        own, n = np.asarray(histogram, np.float64), float(np.sum(histogram))
        hit, miss = float(self.hit * (1 - self.hit)), float(self.miss * (1 - self.miss))
        return (own * hit + (n - own) * miss) / (n * float(self.hit - self.miss)) ** 2
