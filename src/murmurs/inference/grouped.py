"""The fit of groups of answers: sums of unbiased shares, with their noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from murmurs.channels.product import MOST_JOINT
from murmurs.channels.symmetric import support_noise
from murmurs.inference.fit import Fit, Target
from murmurs.numerics.arrays import Floats, Integers

MOST_CELLS = 4096
"""Cells up to which the covariance of the shares is computed."""


@dataclass(frozen=True, eq=False)
class Grouped(Fit):
    """Shares of groups of answers: ``groups[j]`` is the group of answer j of the ``whole`` fit.

    ``shares`` are those of all answers, where the noise is evaluated.
    """

    whole: Fit
    groups: Integers
    shares: Floats

    def __post_init__(self) -> None:
        cells = math.prod(self.whole.channel.cells)
        if len(self.groups) > MOST_JOINT or cells > MOST_CELLS:
            raise ValueError(
                f"the noise of sums is computed for at most {MOST_JOINT} answers and "
                f"{MOST_CELLS} cells, not for {len(self.groups)} and {cells}"
            )

    @cached_property
    def unbiased(self) -> Floats:
        """The sums of the unbiased shares."""
        return self._sums(self.whole.unbiased)

    def _sums(self, shares: Floats) -> Floats:
        return np.asarray(np.bincount(self.groups, shares), np.float64)

    @cached_property
    def supports(self) -> Sequence[tuple[Integers, Integers, Fraction, Fraction]]:
        """Groups of equal size with their counts, if each report supports exactly one answer.

        Then the reports for any answer of a group are counts of support, too.
        """
        support, size = self.whole.support, np.bincount(self.groups)
        if support is None or not self.whole.channel.is_histogram:
            return ()
        counts, hit, miss = support
        sums = np.zeros(len(size), np.int64)
        np.add.at(sums, self.groups, counts)
        out = []
        for own in np.unique(size[size > 0]).tolist():
            places = np.flatnonzero(size == own)
            out.append((places, sums[places], hit + (own - 1) * miss, own * miss))
        return out

    def noise(self, shares: Floats) -> tuple[Floats, Floats]:
        """Return c and s; if counts are not of support, the variances at given shares and zeros."""
        if self.supports:
            constant, slope = np.zeros(len(shares)), np.zeros(len(shares))
            for places, counts, hit, miss in self.supports:
                constant[places], slope[places] = support_noise(len(counts), hit, miss, self.n)
            return constant, slope
        variance = np.diag(self.covariance(shares, "respondents"))
        return np.maximum(variance, 0.0), np.zeros(len(shares))

    def covariance(self, shares: Floats, target: Target) -> Floats:
        """Return the covariance of the sums if the groups have these shares.

        Within a group, shares are taken in proportion to those of all answers.
        """
        sums = np.maximum(self._sums(self.shares), 1e-300)
        spread = self.shares * (shares / sums)[self.groups]
        member = np.eye(len(shares))[self.groups]
        covariance = self.whole.covariance(spread / spread.sum(), target)
        return np.asarray(member.T @ covariance @ member)

    def alongside(self, fits: Sequence[Fit]) -> Fit:
        """Return the sums of a fit to compare with the others of ``fits``."""
        wholes = [fit.whole if isinstance(fit, Grouped) else fit for fit in fits]
        whole = self.whole.alongside(wholes)
        return self if whole is self.whole else replace(self, whole=whole)

    def without_collisions(self) -> Grouped | None:
        """Return the sums of shares without collisions, if there are such shares."""
        whole = self.whole.without_collisions()
        if whole is None or whole is self.whole:
            return None if whole is None else self
        return replace(self, whole=whole)

    @property
    def has_covariance(self) -> bool:
        """As for the single answers."""
        return self.whole.has_covariance

    @property
    def support(self) -> None:
        """None: groups of different size have different probabilities, see `supports`."""
        return

    @property
    def tells_absence(self) -> bool:
        """As for the single answers."""
        return self.whole.tells_absence
