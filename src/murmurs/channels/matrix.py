"""Any known matrix of report given answer: the channel of a design."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from murmurs.channels.histogram import Histogram
from murmurs.numerics.arrays import Floats


@dataclass(frozen=True)
class MatrixChannel(Histogram):
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

    @cached_property
    def _floats(self) -> Floats:
        return np.array([[float(chance) for chance in row] for row in self.law])

    @cached_property
    def _inverse(self) -> Floats:
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
