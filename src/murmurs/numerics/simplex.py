"""Ways to turn estimated shares into a distribution: a point of the simplex."""

from __future__ import annotations

import numpy as np

from murmurs.numerics.arrays import TINY, Floats


def plausible(shares: Floats) -> Floats:
    """Return shares clipped to their range and scaled to sum one, to compute noise with."""
    return normalised(np.minimum(shares, 1))


def normalised(values: Floats) -> Floats:
    """Return values clipped at 0 and scaled to sum one; equal values if none is positive."""
    positive = np.maximum(values, 0)
    total = float(positive.sum())
    return np.asarray(positive / total if total > 0 else np.full(len(positive), 1 / len(positive)))


def project(values: Floats) -> Floats:
    """Return the nearest point of the simplex: all values shifted equally, then clipped at 0.

    >>> project(np.array([0.9, 0.4, -0.1]))
    array([0.75, 0.25, 0.  ])
    """
    if not np.isfinite(values).all():
        raise ValueError("the noise of these counts is so large that the shares are not finite")
    ordered = np.sort(values)[::-1]
    level = (np.cumsum(ordered) - 1) / np.arange(1, len(values) + 1)
    kept = np.flatnonzero(ordered > level)[-1]
    return np.asarray(np.maximum(values - level[kept], 0))


def weighted_projection(values: Floats, weights: Floats) -> Floats:
    """Return shares on the simplex: values shifted in proportion to weights, clipped at 0."""
    weights = weights + 1e-12 * weights.max() + TINY
    amount = (values.sum() - 1) / weights.sum()
    for _ in range(200):
        kept = values - amount * weights > 0
        if not kept.any():
            return np.full(len(values), 1 / len(values))
        better = (values[kept].sum() - 1) / weights[kept].sum()
        if abs(better - amount) <= 1e-13 * abs(better):
            break
        amount = better
    shares = np.maximum(values - amount * weights, 0)
    return np.asarray(shares / shares.sum())
