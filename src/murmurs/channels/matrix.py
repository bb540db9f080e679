"""Any known matrix of report given answer: the channel of a design."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from murmurs.channels.channel import Channel
from murmurs.numerics.arrays import Floats, Integers


@dataclass(frozen=True)
class MatrixChannel(Channel):
    """Cell r counts the reports r; ``law[r][x]`` is the probability of report r given answer x.

    With as many reports as answers the inverse is that of the matrix. With more reports it is
    least squares, weighted as equal shares demand.
    """

    law: tuple[tuple[Fraction, ...], ...]

    @property
    def k(self) -> int:  # type: ignore[override]
        """One answer per column."""
        return len(self.law[0])

    @property
    def cells(self) -> tuple[int, ...]:
        """One cell per report."""
        return (len(self.law),)

    @property
    def is_histogram(self) -> bool:
        """A report counts in exactly one cell."""
        return True

    @cached_property
    def _floats(self) -> Floats:
        return np.array([[float(chance) for chance in row] for row in self.law])

    @cached_property
    def _inverse(self) -> Floats:
        """The matrix from frequencies of reports to shares."""
        law = self._floats
        if len(law) == self.k:
            return np.asarray(np.linalg.inv(law))
        root = 1 / np.sqrt(law.mean(axis=1))
        return np.asarray(np.linalg.pinv(law * root[:, None]) * root)

    def law_of(self, answer: int) -> list[Fraction]:
        """Return the column of the answer."""
        return [row[answer] for row in self.law]

    @property
    def base(self) -> Floats:
        """Nothing is added whatever the answer."""
        return np.zeros(1)

    def gain(self, shares: Floats) -> Floats:
        """Return the probability of each report."""
        return np.asarray(self._floats @ shares)

    def adjoint(self, weights: Floats) -> Floats:
        """Return for each answer the mean weight of its reports."""
        return np.asarray(weights @ self._floats)

    def invert(self, cells: Integers | Floats, n: int) -> Floats:
        """Return the inverse of the matrix applied to the frequencies of the reports."""
        return np.asarray(self._inverse @ (cells / n))

    def noise(self, shares: Floats, n: float) -> tuple[Floats, Floats]:
        """Return c and s, in which the other answers have the variance of their average.

        One person with answer x adds ``each[i, x]`` / n to the variance of share i.
        """
        inverse, law = self._inverse, self._floats
        each = inverse**2 @ law - (inverse @ law) ** 2
        own = np.diag(each)
        others = 1 - shares
        equal = (each.sum(axis=1) - own) / (self.k - 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            average = (each @ shares - own * shares) / others
        average = np.where(others > 1e-9, average, equal)
        return average / n, (own - average) / n
