"""Sums of shares with given weights: means, shares of ranges, and distribution functions.

They come from the unbiased shares and their covariance, so they are unbiased themselves, whatever
the distribution. All shares add up to one, and where the unbiased ones need not, each sum is
corrected by what is missing to one, as far as that makes its noise smaller.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from murmurs.inference.fit import Fit, Target
from murmurs.inference.intervals import Scale, limits
from murmurs.inference.sums import Sums
from murmurs.inference.tails import Support, tail_limits
from murmurs.numerics.arrays import Floats, Integers
from murmurs.numerics.special import normal_quantile

_NO_NOISE = 1e-24
"""The variance of a sum that is known exactly, so that nothing is divided by zero."""

DRAWS = 4000
"""Draws of a normal process for the largest of its values; its 95 % quantile is off by 1 %."""


def corrected_sums(fit: Fit, weights: Floats, shares: Floats, target: Target) -> Sums:
    """Return the sums of shares with these weights, one row for each sum.

    >>> from murmurs import OUE
    >>> from murmurs.inference.fitting import fitted
    >>> fit = fitted(OUE(k=3, epsilon=1.0).simulate([50, 30, 20], np.random.default_rng(1)))
    >>> everybody = corrected_sums(fit, np.ones((1, 3)), np.full(3, 1 / 3), "respondents")
    >>> bool(abs(everybody.values[0] - 1) < 1e-9), bool(everybody.errors[0] < 1e-6)
    (True, True)
    """
    rows = np.atleast_2d(weights)
    found = fit.sums(np.vstack([rows, np.ones(rows.shape[1])]), shares, target)
    values, noise = found.values[:-1], found.covariance[:-1, :-1]
    shared, total = found.covariance[:-1, -1], float(found.covariance[-1, -1])
    if total > 1e-9 * float(np.trace(noise)):
        lean = shared / total
        values = values + lean * (1 - found.values[-1])
        noise = noise - np.outer(lean, lean) * total
    return Sums(values, noise)


def share_limits(sums: Sums, level: float) -> Floats:
    """Return lower and upper limits of sums that are shares, in two rows, between 0 and 1."""
    noise = Scale(np.maximum(np.diag(sums.covariance), _NO_NOISE), np.zeros(len(sums.values)), 0.0)
    low, high = limits(sums.values, noise, level).T
    up, down = 1 - limits(1 - sums.values, noise, level).T
    upper_half = sums.values > 0.5
    return np.stack([np.where(upper_half, down, low), np.where(upper_half, up, high)])


def group_limits(fit: Fit, groups: Floats, start: Floats, level: float, sampled: bool) -> Floats:
    """Return limits of the shares of groups of answers, exact where each report counts in a cell.

    ``groups`` has a row of zeros and ones for each group, ``start`` the limits of `share_limits`.
    If a report supports one answer, those that support any answer of a group are binomial.
    """
    support = fit.support
    if support is None or not fit.channel.is_histogram or fit.counts.again > 1:
        return start
    counts, hit, miss = support
    out = start.copy()
    for row, members in enumerate(groups > 0):
        size = int(members.sum())
        if 0 < size < len(members):
            law = _law_of(fit.n, hit, miss, size, sampled)
            own = np.array([int(counts[members].sum())])
            out[:, row] = _tail_limits(own, law, level, start[:, row])
    return out


def _law_of(n: int, hit: Fraction, miss: Fraction, size: int, sampled: bool) -> Support:
    return Support(n, hit + (size - 1) * miss, size * miss, sampled)


def _tail_limits(counts: Integers, law: Support, level: float, start: Floats) -> Floats:
    found: Floats = tail_limits(counts, law, level, start[None, :])
    return np.asarray(found[0])


def largest_value(covariance: Floats, level: float, *, one_sided: bool = False) -> float:
    """Return what the largest standardised value of a normal process stays below at this level.

    It is simulated with a fixed seed, so the same covariance always gives the same number.
    """
    draws = _standardised(covariance)
    if draws.shape[1] == 0:
        return 0.0
    largest = (draws if one_sided else np.abs(draws)).max(axis=1)
    alone = normal_quantile(level if one_sided else 0.5 + level / 2)
    return max(float(np.quantile(largest, level)), alone)


def exceedance(covariance: Floats, value: float) -> float:
    """Return the probability that some standardised value of a normal process is above this one."""
    draws = _standardised(covariance)
    if draws.shape[1] == 0:
        return 1.0
    above = int((draws.max(axis=1) >= value).sum())
    return (above + 1) / (len(draws) + 1)


def _standardised(covariance: Floats) -> Floats:
    variance = np.diag(covariance)
    kept = variance > 1e-9 * max(float(variance.max(initial=0.0)), _NO_NOISE)
    own = covariance[np.ix_(kept, kept)] / np.sqrt(np.outer(variance[kept], variance[kept]))
    values, vectors = np.linalg.eigh(own)
    factor = vectors * np.sqrt(np.maximum(values, 0.0))
    normals = np.random.default_rng(20200614).standard_normal((DRAWS, len(own)))
    return np.asarray(normals @ factor.T)
