"""Quantiles of numbers in buckets: people of a bucket are taken to be spread evenly over it."""

from __future__ import annotations

import math

import numpy as np

from murmurs.numerics.arrays import Floats
from murmurs.scales.scale import Scale

_ROUNDED = 1e-9
"""A part that is missed by less is reached: the last digits of sums must not decide."""


def quantile_at(scale: Scale, below: Floats, part: float) -> float:
    """Return the smallest number that this part of all people do not exceed.

    ``below`` is the share of people up to the end of each bucket, in increasing order; the last is
    taken as one. In an open-ended bucket the quantile is infinite.

    >>> age = Scale((0, 10, 20), whole=True)
    >>> quantile_at(age, np.array([0.5, 1.0]), 0.5), quantile_at(age, np.array([0.5, 1.0]), 0.55)
    (9.0, 10.0)
    """
    ends = np.append(below[:-1], 1.0)
    j = int(np.searchsorted(ends, part - _ROUNDED))
    j = min(j, scale.k - 1)
    low, high = float(scale.low[j]), float(scale.high[j])
    if math.isinf(low) or math.isinf(high):
        return low if math.isinf(low) else high
    before = float(ends[j - 1]) if j else 0.0
    inside = (part - before) / max(float(ends[j]) - before, 1e-300)
    if scale.kind == "scores":
        return low
    if scale.whole:
        many = high - low + 1
        return low + min(max(math.ceil(inside * many - _ROUNDED), 1), many) - 1
    return low + min(max(inside, 0.0), 1.0) * (high - low)
