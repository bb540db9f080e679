"""The composite likelihood: likelihoods of support counts, multiplied as if independent."""

from __future__ import annotations

import numpy as np

from murmurs.counts import Counts
from murmurs.estimators.estimation import ASKED, Estimate
from murmurs.estimators.precondition import UnfitCountsError, usable
from murmurs.numerics.arrays import Floats


def composite(counts: Counts, *, why: str = ASKED) -> Estimate:
    """Return the shares that maximise the product of the cells' binomial likelihoods.

    For unary encodings this is proposition 7 of Kairouz et al. (2016), who call it the maximum
    likelihood. But the cells depend on each other through the answer, so it is a composite
    likelihood. Its accuracy is close to that of `simplex`. O(k) per step, some fifty steps.
    """
    found = usable(counts).channel.support(counts.cells)
    if found is None:
        way = "likelihood" if counts.channel.is_histogram else "regression"
        raise UnfitCountsError(f"{counts.mechanism} has no support counts", way)
    support, hit, miss = found
    shares = _maximise(support.astype(np.float64), float(counts.n), float(hit), float(miss))
    return Estimate(counts, shares, "composite", why)


def _maximise(support: Floats, n: float, hit: float, miss: float) -> Floats:
    """Solve for each cell T/m - (n - T)/(1 - m) = c, and find the c that makes the shares sum to 1.

    With m = miss + (hit - miss) share this is c m^2 - b m + T = 0, b = n + c. Its root in 0..1 is
    2 T / (b + d) with d = sqrt(b^2 - 4 c T), or written without cancellation (b - d) / (2 c) where
    b is negative. Shares fall as c rises.
    """

    def shares(c: float) -> Floats:
        b = n + c
        d = np.sqrt(np.maximum(b * b - 4 * c * support, 0))
        m = 2 * support / (b + d) if b > 0 else (b - d) / (2 * c)
        return np.clip((m - miss) / (hit - miss), 0, 1)

    low, high = -2 * n, 2 * n
    while shares(low).sum() < 1:
        low *= 4
    while shares(high).sum() > 1:
        high *= 4
    for _ in range(200):
        c = (low + high) / 2
        low, high = (c, high) if shares(c).sum() > 1 else (low, c)
        if high - low <= 1e-14 * n:
            break
    found = shares((low + high) / 2)
    return np.asarray(found / found.sum())
