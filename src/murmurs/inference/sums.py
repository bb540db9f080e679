"""Weighted sums of shares: means, groups of answers, points of a distribution function."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from murmurs.numerics.arrays import Floats


@dataclass(frozen=True, eq=False)
class Sums:
    """Weighted sums of unbiased shares, which are unbiased too, and the covariance of the sums."""

    values: Floats
    covariance: Floats

    @property
    def errors(self) -> Floats:
        """The standard error of each sum."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0))
