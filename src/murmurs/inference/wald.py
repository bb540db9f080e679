"""The Wald test of Fanti, Pihur and Erlingsson (2016, section 3.4), for comparison.

It measures how far the most likely table is from the product of its margins, in units of the
information I about the table. Their covariance must be I^-1 - p p'/n, not I^-1, as the shares add
up to one. As I p = n for every combination, the distance d of two tables, whose sum is zero, is
d' I d in either case. The test assumes that no share is at zero. In private reports many of the
most likely shares are, so it rejects too rarely: prefer the score test.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from murmurs.numerics.arrays import Floats

_STEPS, _TOLERANCE = 2000, 1e-6


def wald_statistic(left: Floats, right: Floats, weights: Floats) -> tuple[float, bool]:
    """Return the squared distance, and whether EM came to rest.

    Row r of ``left`` and of ``right`` has the likelihoods, up to a factor, of the reports to the
    two questions given each answer; ``weights`` says how often this pair of reports occurs.

    >>> truth = np.eye(2)[[0, 0, 1, 1]], np.eye(2)[[0, 1, 0, 1]]
    >>> round(wald_statistic(*truth, np.array([30.0, 20.0, 20.0, 30.0]))[0], 9)  # no noise
    4.166666667
    """
    n = float(weights.sum())
    table = np.full((left.shape[1], right.shape[1]), 1 / (left.shape[1] * right.shape[1]))
    rests = False
    for _ in range(_STEPS):
        chance = ((left @ table) * right).sum(axis=1)
        better = table * (left.T @ (right * (weights / chance)[:, None])) / n
        rests = bool(np.abs(better - table).max() < _TOLERANCE)
        table = better
        if rests:
            break
    chance = ((left @ table) * right).sum(axis=1)
    distance = table - np.outer(table.sum(axis=1), table.sum(axis=0))
    along = ((left @ distance) * right).sum(axis=1) / chance
    return float((weights * along**2).sum()), rests


def distinct(
    left: NDArray[np.uint8], right: NDArray[np.uint8]
) -> tuple[NDArray[np.uint8], NDArray[np.uint8], Floats]:
    """Return the distinct pairs of rows, and how often each occurs."""
    both = np.ascontiguousarray(np.hstack([left, right]))
    keys = both.view(np.dtype((np.void, both.shape[1]))).ravel()
    _, first, often = np.unique(keys, return_index=True, return_counts=True)
    return left[first], right[first], often.astype(np.float64)
