"""The sizes of PrivSet's reports with the smallest error."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from murmurs.boundary.checks import whole
from murmurs.numerics.arrays import Floats, Integers

SEARCHED = 64
"""Sizes of reports that are always searched; for sparse sets, up to about items / most."""

LEAST_GAP = 1e-12
"""The least difference of the two probabilities of support that is more than rounding."""


class Sizes(NamedTuple):
    """The size of reports and the overlap with the smallest variance, of one person's report."""

    w: int
    overlap: int
    variance: float


def usual_share(k: int, most: int) -> float:
    """Return the share of a label if people tick half of what they may: errors are compared at it.

    >>> usual_share(30, 3)
    0.05
    """
    return most / (2 * k)


def best_sizes(
    k: int,
    most: int,
    epsilon: float,
    w: int | None = None,
    overlap: int | None = None,
    least: int = 1,
) -> Sizes:
    """Return the best sizes, from ``least`` on; those that are given stay as they are.

    >>> best_sizes(30, 3, 1.0)[:2], best_sizes(4, 2, 4.0)[:2]
    ((3, 1), (2, 2))
    """
    top = min(k, max(SEARCHED, (k + most) // most + most))
    sizes = np.arange(min(least, k), top + 1) if w is None else np.array([w])
    variances = set_variances(k, most, epsilon, sizes)
    if overlap is not None:
        kept = whole(overlap, "overlap", 1, most)
        variances[: kept - 1], variances[kept:] = np.inf, np.inf
    smallest = float(variances.min())
    if not math.isfinite(smallest):  # no size can be told from any other
        return Sizes(int(sizes[0]), overlap or 1, math.inf)
    near = np.round(variances / smallest, 7) <= 1  # the last digits must not decide
    row, column = np.argwhere(near)[0].tolist()
    return Sizes(int(sizes[column]), row + 1, float(variances[row, column]))


def set_variances(
    k: int, most: int, epsilon: float, sizes: Integers, share: float | None = None
) -> Floats:
    """Return the variance of a label's share among the respondents, times their number.

    It is that at the usual share, unless another is given. There is a row for
    each overlap and a column for each size; it is infinite if the overlap is larger than the size.
    """
    K, m, w = k + most, most, sizes
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, K + 1)))])

    def choices(n: int, r: Integers) -> Floats:
        inside = (r >= 0) & (r <= n)
        r = np.where(inside, r, 0)
        return np.where(inside, logs[n] - logs[r] - logs[n - r], -np.inf)

    h = np.arange(m + 1)[:, None]
    every = choices(K, w)
    meeting = np.exp(choices(m, h) + choices(k, w - h) - every)
    own = np.exp(choices(m - 1, h - 1) + choices(k, w - h) - every)
    other = np.exp(choices(m, h) + choices(k - 1, w - 1 - h) - every)
    meeting, own, other = (
        np.cumsum(part[::-1], axis=0)[::-1][1:] for part in (meeting, own, other)
    )
    small = math.exp(-epsilon)
    total = small + (1 - small) * meeting
    hit = (small * w / K + (1 - small) * own) / total
    miss = (small * w / K + (1 - small) * other) / total
    share = usual_share(k, most) if share is None else share
    noise = share * hit * (1 - hit) + (1 - share) * miss * (1 - miss)
    gap = (1 - small) * (own - other) / total
    found = noise / np.maximum(gap, LEAST_GAP) ** 2
    return np.where((h[1:] <= w) & (gap > LEAST_GAP), found, np.inf)
