"""The unbiased linear inverse of the channel."""

from __future__ import annotations

import numpy as np

from murmurs.counts import Counts
from murmurs.estimation import Estimate


def unbiased(counts: Counts, *, why: str = "asked for by name") -> Estimate:
    """Return the channel's linear inverse applied to the counts ("Inv" in the literature).

    Use it for further arithmetic: sums, differences and averages of it stay unbiased. Single shares
    may be negative or above one, and the sum need not be one; nothing is mended silently.

    >>> import murmurs as mm
    >>> oue = mm.OUE(k=3, epsilon=2.0)
    >>> people = np.array([700, 200, 100]) * 10**9
    >>> unbiased(oue.simulate(people, np.random.default_rng(1))).shares.round(3)
    array([0.7, 0.2, 0.1])
    """
    if counts.n == 0:
        raise ValueError("there are no reports to estimate from")
    shares = counts.channel.invert(counts.cells, counts.n)
    # The variance is linear in the true counts; estimated ones stand in, kept in their range.
    people = np.clip(shares, 0, 1) * counts.n
    scale = counts.n / people.sum() if people.sum() > 0 else 1.0
    variance = counts.channel.variance(people * scale)
    return Estimate(shares, np.sqrt(variance), counts.n, "unbiased", why)
