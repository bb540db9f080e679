"""A fit: the unbiased shares of counts, with their noise.

A channel is a law and knows no data. The fit holds what depends on the data: which answers are
solved for together, how cells are weighted, and by how much the noise exceeds its law. Every
`Estimate` has a fit, and its intervals, detection and differences use nothing else.

`murmurs.inference.fitting` says which fit suits which channel.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from murmurs.boundary.checks import shown
from murmurs.channels.channel import Channel
from murmurs.counts import Counts
from murmurs.inference.intervals import Scale, limits
from murmurs.inference.sums import Sums
from murmurs.inference.tails import Support, tail_limits
from murmurs.numerics.arrays import Floats, Integers
from murmurs.numerics.simplex import plausible

Target = Literal["respondents", "population"]
"""Whose shares: those of the respondents, or of the population they were sampled from."""

LARGEST_COVARIANCE, MOST_CELLS = 1000, 4096
"""The most answers and cells for which the whole covariance of the shares is computed."""


def check_target(target: object) -> None:
    """Refuse a target that is neither of the two."""
    if target not in get_args(Target):
        raise ValueError(f"target must be 'respondents' or 'population', not {shown(target)}")


@dataclass(frozen=True, eq=False)
class Fit:
    """The linear inverse of the channel, applied to counts, with the noise that its law gives."""

    counts: Counts

    @property
    def n(self) -> int:
        """The number of reports."""
        return self.counts.n

    @property
    def channel(self) -> Channel:
        """The law of the cells, given what the counts show apart from the answers."""
        return self.counts.channel

    @cached_property
    def unbiased(self) -> Floats:
        """The unbiased shares; they may be negative."""
        return self.channel.invert(self.counts.cells, self.n)

    def noise(self, shares: Floats) -> tuple[Floats, Floats]:
        """Return c and s: each unbiased share has variance c + s * (that share).

        This is the noise for the respondents; ``shares`` are the shares of all answers.
        """
        return self.channel.noise(shares, self.n)

    def refined(self) -> tuple[Floats, Floats, Floats]:
        """Return shares with c and s of their noise, for estimators that trade bias for variance.

        They are the unbiased shares, unless the cells hold more than the linear inverse uses.
        """
        return self.unbiased, *self.noise(plausible(self.unbiased))

    def reweighted(self, shares: Floats) -> tuple[Floats, Floats, Floats] | None:
        """Return the same with cells weighted as if these shares were true, if that is better."""
        return None

    def covariance(self, shares: Floats, target: Target) -> Floats:
        """Return the covariance of the unbiased shares if these shares are true."""
        channel = self.channel
        cells = (
            channel.covariance_sampled(shares, self.n)
            if target == "population"
            else channel.covariance(self.n * shares)
        )
        lever = channel.lever(self.n)
        return np.asarray(lever.T @ cells @ lever)

    def covariance_of(self, shares: Floats, target: Target) -> Floats:
        """Return the same for people who may have been asked again, with new noise each time."""
        out = self.covariance(shares, target)
        if target == "respondents" or self.counts.again == 1:
            return out
        sampled = np.diag(shares) - np.outer(shares, shares)
        return np.asarray(out + (self.counts.again - 1) / self.counts.people * sampled)

    def sums(self, weights: Floats, shares: Floats, target: Target = "population") -> Sums:
        """Return weighted sums of the unbiased shares, with their covariance at these shares.

        There is a sum for each row of ``weights``: a row of numbers gives their mean over people,
        a row of zeros and ones the share of a group of answers.
        """
        check_target(target)
        rows = np.atleast_2d(np.asarray(weights, np.float64))
        return Sums(rows @ self.unbiased, self._covariance_of_sums(rows, shares, target))

    def _covariance_of_sums(self, rows: Floats, shares: Floats, target: Target) -> Floats:
        return np.asarray(rows @ self.covariance_of(shares, target) @ rows.T)

    @property
    def has_covariance(self) -> bool:
        """Whether answers and cells are few enough for tests with the whole covariance."""
        cells = math.prod(self.channel.cells)
        return len(self.unbiased) <= LARGEST_COVARIANCE and cells <= MOST_CELLS

    def alongside(self, fits: Sequence[Fit]) -> Fit:
        """Return the fit to compare with the others of ``fits``, if what it chose depends on data.

        Otherwise it is the fit itself.
        """
        return self

    def without_collisions(self) -> Fit | None:
        """Return the fit to compare with others: its shares contain no others; None if they do."""
        return self

    @property
    def support(self) -> tuple[Integers, Fraction, Fraction] | None:
        """Counts of support with their two probabilities, if the unbiased shares come from them."""
        return self.channel.support(self.counts.cells)

    @property
    def supports(self) -> Sequence[tuple[Integers, Integers, Fraction, Fraction]]:
        """Groups of answers, with their counts of support and the probabilities of each group."""
        support = self.support
        return () if support is None else ((np.arange(len(support[0])), *support),)

    @property
    def tells_absence(self) -> bool:
        """Whether the unbiased share of an answer that nobody holds is zero, apart from noise."""
        return self.channel.tells_absence

    @property
    def confounded(self) -> Sequence[Integers]:
        """Groups of answers that nothing tells apart."""
        return ()

    def limits(self, scale: Scale, level: float) -> Floats:
        """Return lower and upper limits of the shares, from noise on this scale.

        Where counts of support are few, limits come from the exact law of the counts.
        """
        out = limits(self.unbiased, scale, level)
        for places, counts, hit, miss in self.supports:
            if hit < miss:  # then reports that do not support the answer speak for it
                counts, hit, miss = self.n - counts, 1 - hit, 1 - miss
            law = Support(self.n, hit, miss, scale.bend > 0)
            out[places] = tail_limits(counts, law, level, out[places])
        return out

    def widen(self, limits: Floats) -> Floats:
        """Return the limits of the shares, widened where the cells cannot tell answers apart."""
        return limits

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know about the fit before using it."""
        assumed = self.counts.assumption
        return () if assumed is None else (assumed,)
