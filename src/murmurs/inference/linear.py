"""Sums of shares with given weights: means, shares of ranges, and distribution functions.

They come from the unbiased shares and their covariance, so they are unbiased themselves, whatever
the distribution. All shares add up to one, and where the unbiased ones need not, each sum is
corrected by what is missing to one, as far as that makes its noise smaller: of all linear
estimates from the shares it is then the unbiased one with the least noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from murmurs.inference.fit import Fit, Target
from murmurs.inference.intervals import Scale, limits
from murmurs.inference.sums import Sums
from murmurs.inference.tails import NORMAL, Support, exact_until, tail_limits
from murmurs.numerics.arrays import Floats
from murmurs.numerics.special import normal_quantile, normal_tail

_NO_NOISE = 1e-24
"""The variance of a sum that is known exactly, so that nothing is divided by zero."""

DRAWS = 4000
"""Draws of a normal process for the largest of its values; its 95 % quantile is off by 1 %."""

FEW_DRAWS = 40
"""Draws above a value that say too little about its probability if there are fewer."""


@dataclass(frozen=True, eq=False)
class Corrected:
    """Sums with weights, corrected by what the unbiased shares lack to one.

    That is the same as other weights, plus a constant.
    """

    fit: Fit
    weights: Floats
    constant: Floats

    def sums(self, shares: Floats, target: Target) -> Sums:
        """Return the sums, with their noise at these shares."""
        found = self.fit.sums(self.weights, shares, target)
        return Sums(found.values + self.constant, found.covariance)


def corrected(fit: Fit, weights: Floats, shares: Floats) -> Corrected:
    """Return sums with these weights, a row each, corrected so that noise is least at the shares.

    >>> from murmurs import OUE
    >>> from murmurs.inference.fitting import fitted
    >>> fit = fitted(OUE(k=3, epsilon=1.0).simulate([50, 30, 20], np.random.default_rng(1)))
    >>> everybody = corrected(fit, np.ones((1, 3)), np.full(3, 1 / 3))
    >>> found = everybody.sums(np.full(3, 1 / 3), "respondents")
    >>> bool(abs(found.values[0] - 1) < 1e-9), bool(found.errors[0] < 1e-6)
    (True, True)
    """
    rows = np.atleast_2d(np.asarray(weights, np.float64))
    everybody = np.ones((1, rows.shape[1]))
    few = np.vstack([rows[len(rows) // 2], everybody])
    one, total = np.diag(fit.sums(few, shares, "respondents").covariance).tolist()
    if total <= 1e-9 * one:  # they add up to one already
        return Corrected(fit, rows, np.zeros(len(rows)))
    noise = fit.sums(np.vstack([rows, everybody]), shares, "respondents").covariance
    lean = noise[:-1, -1] / total
    return Corrected(fit, rows - np.outer(lean, everybody), lean)


def share_limits(sums: Sums, level: float, scale: Scale | None = None) -> Floats:
    """Return lower and upper limits of sums that are shares, in two rows, between 0 and 1.

    ``scale`` says how the noise depends on the share; without it, it is as large at all shares.
    """
    if scale is None:
        variance = np.maximum(np.diag(sums.covariance), _NO_NOISE)
        scale = Scale(variance, np.zeros(len(variance)), 0.0)
    turned = Scale(scale.constant + scale.slope - scale.bend, scale.bend * 2 - scale.slope, 0.0)
    turned = Scale(turned.constant, turned.slope, scale.bend)
    low, high = limits(sums.values, scale, level).T
    up, down = 1 - limits(1 - sums.values, turned, level).T
    upper_half = sums.values > 0.5
    return np.stack([np.where(upper_half, down, low), np.where(upper_half, up, high)])


def group_scale(own: Corrected, members: Floats, shares: Floats, target: Target) -> Scale:
    """Return how the noise of the share of a group depends on this share.

    Within the group, and outside of it, answers are in proportion to ``shares``.
    """
    inside, outside = (_within(shares, part) for part in (members, 1 - members))
    at = [own.sums(part, "respondents").covariance[0] for part in (outside, inside, shares)]
    none, everybody, here = (np.maximum(variance, _NO_NOISE) for variance in at)
    slope, share = everybody - none, float(members @ shares)
    if not np.allclose(none + slope * share, here, rtol=1e-6):  # as with collisions
        none, slope = here, np.zeros_like(here)
    if target == "respondents":
        return Scale(none, slope, 0.0)
    counts = own.fit.counts
    sampled = counts.again / counts.people
    return Scale(none, slope + sampled, sampled)


def _within(shares: Floats, members: Floats) -> Floats:
    own = shares * members
    total = float(own.sum())
    return own / total if total > 0 else members / members.sum()


def group_limits(fit: Fit, groups: Floats, start: Floats, level: float, sampled: bool) -> Floats:
    """Return limits of the shares of groups of answers, exact where each report is in one cell.

    ``groups`` has a row of zeros and ones for each group, ``start`` the limits of `share_limits`.
    If a report supports one answer, those that support any answer of a group are binomial.
    """
    support = fit.support
    if support is None or fit.counts.again > 1:
        return start
    counts, hit, miss = support
    if hit + (len(counts) - 1) * miss != 1:
        return start
    out, many = start.copy(), NORMAL * exact_until(level)
    for row, members in enumerate(groups > 0):
        size = int(members.sum())
        if not 0 < size < len(members):
            continue
        law = Support(fit.n, hit + (size - 1) * miss, size * miss, sampled)
        own, others = law.chances[0] * law.chances[1], law.chances[2] * law.chances[3]
        if fit.n * min(own, others) < many**2:  # otherwise the count is normal at every share
            count = np.array([int(counts[members].sum())])
            out[:, row] = tail_limits(count, law, level, start[None, :, row])[0]
    return out


def largest_value(covariance: Floats, level: float) -> float:
    """Return what all values of a normal process stay below at this level, in standard errors.

    It is simulated with a fixed seed, so the same covariance always gives the same number.
    """
    draws = np.abs(standardised(covariance))
    alone = normal_quantile(0.5 + level / 2)
    if draws.shape[1] == 0:
        return alone
    return max(float(np.quantile(draws.max(axis=1), level)), alone)


def exceedances(covariance: Floats, values: Sequence[float]) -> list[float]:
    """Return how probably some value of a normal process exceeds each number of standard errors.

    It is simulated with a fixed seed; where too few draws exceed the number, it is bounded by the
    probability that the first value does, or that one does and its predecessor does not.
    """
    largest = standardised(covariance).max(axis=1)
    error = np.sqrt(np.diag(covariance))
    together = np.clip(np.diag(covariance, 1) / (error[:-1] * error[1:]), -1, 1)
    # The probability of crossing is an integral over the correlation, from this one to 1.
    angles = float(np.arccos(together).sum()) / (2 * math.pi)
    found = []
    for value in values:
        above = int((largest >= value).sum())
        bound = float(normal_tail(np.array([value]))[0]) + angles * math.exp(-(value**2) / 2)
        few = (FEW_DRAWS + 1) / DRAWS
        found.append(above / DRAWS if above > FEW_DRAWS else min(bound, few))
    return found


def standardised(covariance: Floats) -> Floats:
    """Return draws of a normal process in standard errors; values without noise are left out."""
    variance = np.diag(covariance)
    kept = variance > 1e-9 * max(float(variance.max(initial=0.0)), _NO_NOISE)
    own = covariance[np.ix_(kept, kept)] / np.sqrt(np.outer(variance[kept], variance[kept]))
    factor = np.linalg.cholesky(own + 1e-9 * np.eye(len(own)))
    return np.asarray(_normals(len(own)) @ factor.T)


@lru_cache(maxsize=4)
def _normals(count: int) -> Floats:
    return np.random.default_rng(20200614).standard_normal((DRAWS, count))
