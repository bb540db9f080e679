"""Fits of channels that know the noise of weighted sums, without a whole covariance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from murmurs.inference.fit import Fit, Target
from murmurs.numerics.arrays import Floats


@dataclass(frozen=True, eq=False)
class DirectFit(Fit):
    """The channel's own inverse; the noise of a sum takes as long as the cells are many."""

    def _covariance_of_sums(self, rows: Floats, shares: Floats, target: Target) -> Floats:
        """Return the noise of the sums and, in a population, that of drawing the people.

        As the sums are unbiased, a person with answer x adds ``rows[:, x]`` to them on average,
        whatever the channel.
        """
        functional = self.channel.functional(rows, self.n)
        out = self.channel.functional_covariance(functional, shares, self.n)
        if target == "respondents":
            return out
        mean = rows @ shares
        sampled = (rows * shares) @ rows.T - np.multiply.outer(mean, mean)
        return np.asarray(out + sampled * self.counts.again / self.counts.people)


WIDE = (
    "neighbouring answers have nearly the same reports, so that intervals of single ones are wide: "
    "read means, quantiles and ranges instead"
)
"""The note on shares that only the edges of windows tell apart."""


@dataclass(frozen=True, eq=False)
class BandedFit(DirectFit):
    """The same, and a word about single shares."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know about the fit before using it."""
        return (*super().notes, WIDE)
