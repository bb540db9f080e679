"""The unbiased linear inverse of the channel."""

from __future__ import annotations

from murmurs.counts import Counts
from murmurs.estimators.estimation import ASKED, Estimate
from murmurs.estimators.precondition import usable
from murmurs.inference.fitting import fitted
from murmurs.numerics.arrays import Floats


def invert(counts: Counts) -> Floats:
    """Return the unbiased shares of usable counts."""
    return fitted(usable(counts)).unbiased


def unbiased(counts: Counts, *, why: str = ASKED) -> Estimate:
    """Return the linear inverse of the channel, applied to the counts ("Inv" in the literature).

    Use it for further arithmetic: sums, differences and averages stay unbiased. Single shares may
    be negative or above one, and the sum need not be one; nothing is post-processed.

    >>> import numpy as np, murmurs as mm
    >>> oue = mm.OUE(k=3, epsilon=2.0)
    >>> people = np.array([700, 200, 100]) * 10**9
    >>> unbiased(oue.simulate(people, np.random.default_rng(1))).shares.round(3)
    array([0.7, 0.2, 0.1])
    """
    return Estimate(counts, invert(counts), "unbiased", why)
