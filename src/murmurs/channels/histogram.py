"""Channels whose reports count in one cell each, with the matrix of the law and an inverse."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property

import numpy as np

from murmurs.channels.channel import Channel
from murmurs.numerics.arrays import Floats, Integers


class Histogram(Channel):
    """A channel whose every report counts in one cell, inverted by a matrix that is kept."""

    @property
    @abstractmethod
    def _floats(self) -> Floats:
        """The probability of each report, one column per answer."""

    @property
    @abstractmethod
    def _inverse(self) -> Floats:
        """The matrix from frequencies of reports to shares, a left inverse of the law."""

    @property
    def is_histogram(self) -> bool:
        """A report counts in exactly one cell."""
        return True

    def invert(self, cells: Integers | Floats, n: int) -> Floats:
        """Return the inverse of the matrix applied to the frequencies of the reports."""
        return np.asarray(self._inverse @ (cells / n))

    def lever(self, n: int) -> Floats:
        """Return what each cell adds to each inverted share: a column of the inverse."""
        return np.asarray(self._inverse.T / n)

    def functional(self, weights: Floats, n: int) -> Floats:
        """Return the weighted sums of the rows of the inverse."""
        return np.asarray(weights @ self._inverse)

    @cached_property
    def _each(self) -> Floats:
        """What one person with answer x, over n, adds to the variance of share i."""
        inverse, law = self._inverse, self._floats
        return np.asarray(inverse**2 @ law - (inverse @ law) ** 2)

    def noise(self, shares: Floats, n: float) -> tuple[Floats, Floats]:
        """Return c and s, in which the other answers have the variance of their average."""
        each = self._each
        own = np.diag(each)
        others = 1 - shares
        equal = (each.sum(axis=1) - own) / (self.k - 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            average = (each @ shares - own * shares) / others
        average = np.where(others > 1e-9, average, equal)
        return average / n, (own - average) / n
