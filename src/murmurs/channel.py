"""The law of the count cells given an answer: mean, inverse, variance, covariance.

A report adds something to some cells; the channel says what, on average and around it. Estimators
know channels and nothing else of a mechanism. Two noises are told apart by name: *conditional* on
the true counts of the people who answered only the privacy noise is left; for a *sampled*
population the people themselves are a draw from it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction

import numpy as np

from murmurs.checks import Floats, Integers


class Channel(ABC):
    """What an answer among ``k`` adds to the cells, and how to get back from cells to shares."""

    k: int

    @property
    @abstractmethod
    def cells(self) -> tuple[int, ...]:
        """The shape of the array of cells."""

    @property
    @abstractmethod
    def is_histogram(self) -> bool:
        """Whether each report adds one to exactly one cell, so that the cells tell all it says."""

    @abstractmethod
    def row(self, answer: int) -> list[Fraction]:
        """Return exactly what one report of this answer adds to each cell on average."""

    @abstractmethod
    def mean(self, shares: Floats) -> Floats:
        """Return what one report adds to the cells on average, when answers have these shares."""

    @abstractmethod
    def invert(self, cells: Integers | Floats, n: int) -> Floats:
        """Return the unbiased linear estimate of the shares; it may be negative."""

    @abstractmethod
    def variance(self, histogram: Integers | Floats) -> Floats:
        """Return the variance of each inverted share, conditional on the true counts."""

    def variance_sampled(self, shares: Floats, n: int) -> Floats:
        """Return the variance of each inverted share when n people are drawn from a population."""
        return self.variance(shares * n) + shares * (1 - shares) / n

    def matrix(self) -> Floats:
        """Return the means of the cells, one row an answer; for small alphabets."""
        return np.array([[float(x) for x in self.row(answer)] for answer in range(self.k)])

    def covariance(self, histogram: Integers | Floats) -> Floats:
        """Return the covariance of the (flattened) cells, conditional on the true counts."""
        if not self.is_histogram:
            raise TypeError(f"{type(self).__name__} must say how its cells vary together")
        rows = self.matrix()
        return np.diag(histogram @ rows) - rows.T @ (rows * np.asarray(histogram)[:, None])

    def covariance_sampled(self, shares: Floats, n: int) -> Floats:
        """Return the covariance of the cells when n people are drawn from a population."""
        rows = self.matrix()
        people = np.diag(shares) - np.outer(shares, shares)
        return self.covariance(n * shares) + n * rows.T @ people @ rows

    def expected_l2(self, n: int, shares: Floats | None = None, *, sampled: bool = False) -> float:
        """Return the expected squared l2 distance of the inverted shares from the truth.

        The truth is the shares of the people who answered, or with ``sampled`` those of the
        population they come from. Without shares the answers are taken as uniform.
        """
        return float(self._variances(n, shares, sampled).sum())

    def expected_l1(self, n: int, shares: Floats | None = None, *, sampled: bool = False) -> float:
        """Return the expected l1 distance, each error being nearly normal: sum sqrt(2 var / pi)."""
        return float(np.sqrt(self._variances(n, shares, sampled) * 2 / np.pi).sum())

    def _variances(self, n: int, shares: Floats | None, sampled: bool) -> Floats:
        law = np.full(self.k, 1 / self.k) if shares is None else np.asarray(shares, np.float64)
        return self.variance_sampled(law, n) if sampled else self.variance(law * n)
