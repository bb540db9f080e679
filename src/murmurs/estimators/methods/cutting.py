"""Simple post-processing from the literature: cut negative shares, scale the rest."""

from __future__ import annotations

import numpy as np

from murmurs.boundary.checks import real
from murmurs.counts import Counts
from murmurs.estimators.estimation import ASKED, Estimate
from murmurs.estimators.methods.unbiased import invert
from murmurs.numerics.arrays import ROUNDING
from murmurs.numerics.simplex import normalised
from murmurs.numerics.special import normal_quantile


def normalized(counts: Counts, *, why: str = ASKED) -> Estimate:
    """Return the unbiased shares, cut at 0 and scaled to sum to 1 ("InvN", "Norm-Mul").

    Wins on flat distributions, since it cuts least; loses badly on sparse ones, where the positive
    noise of many answers adds up. If no share is positive, all shares are equal.
    """
    return Estimate(counts, normalised(invert(counts)), "normalized", why)


def clipped(counts: Counts, *, why: str = ASKED) -> Estimate:
    """Return the unbiased shares, cut at 0, so that their sum is above 1 ("Base-Pos").

    Several papers use it as the decoder of Basic RAPPOR; it is here for comparison with them.
    """
    return Estimate(counts, np.maximum(invert(counts), 0), "clipped", why)


def base_cut(counts: Counts, *, error_rate: float = 0.05, why: str = ASKED) -> Estimate:
    """Return the unbiased shares that stand out from the noise, and 0 for all others ("Base-Cut").

    A share stands out if noise alone exceeds it with probability error_rate / k (Bonferroni). Wins
    on very sparse distributions; loses on flat ones, and the sum may be far from 1. Wang et al.
    (2020).
    """
    error_rate = real(error_rate, "error_rate", 1e-12, 0.5)
    shares = invert(counts)
    k = len(shares)
    constant, _ = counts.channel.noise(np.full(k, 1 / k), counts.n)
    threshold = normal_quantile(1 - error_rate / k) * np.sqrt(constant)
    return Estimate(counts, np.where(shares >= threshold, shares, 0.0), "base_cut", why)


def norm_cut(counts: Counts, *, why: str = ASKED) -> Estimate:
    """Return the largest unbiased shares while their sum is below 1, and 0 for others ("Norm-Cut").

    Large shares stay unbiased; the last one kept is lowered to make the sum 1. If several answers
    tie for the last, all are lowered equally. Wang et al. (2020).
    """
    positive = np.maximum(invert(counts), 0)
    ordered = np.sort(positive)[::-1]
    last = ordered[min(int(np.searchsorted(np.cumsum(ordered), 1.0)), len(ordered) - 1)]
    # Answers with equal counts may differ by rounding.
    tied = np.abs(positive - last) <= ROUNDING * last
    shares = np.where((positive > last) & ~tied, positive, 0.0)
    left = max(1 - float(shares.sum()), 0.0)
    shares[tied] = np.minimum(positive[tied], left / tied.sum())
    return Estimate(counts, shares, "norm_cut", why)
