"""Heaps: what single answers have beyond a smooth density, such as round numbers.

Most answers have nothing, and some much. The distribution of what they have is learned from all
of them (empirical Bayes): a mixture of nothing and of normal distributions around sizes in
geometric steps, to both sides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from murmurs.estimators.methods.em import climb
from murmurs.numerics.arrays import TINY, Floats

RATIO, WIDTH = 1.35, 0.2
"""The ratio of neighbouring sizes, and the standard deviation around each, relative to it."""

SMALLEST = 0.5
"""The smallest size, in standard errors."""

PSEUDO, NOTHING = 5.0, 0.95
"""Pseudo-observations, and the part of them that have nothing beyond the smooth density."""

MOST_STEPS = 5000
"""Evaluations for one distribution; some dozen are enough."""


@dataclass(frozen=True, eq=False)
class Heaps:
    """What each answer has beyond the rest: mean and variance; how well that predicts, and a gap.

    ``evidence`` is the log-likelihood of each answer given what was learned from the others.
    """

    means: Floats
    variances: Floats
    evidence: float
    gap: float


def heaps(beyond: Floats, noise: Floats, tolerance: float) -> Heaps:
    """Learn from what was observed beyond the rest, with these noise variances, what is there.

    >>> seen = np.array([0.1, -0.2, 5.0, 0.3, -0.1, 0.2, 0.0, -0.3, 0.1, 0.2])
    >>> np.flatnonzero(heaps(seen, np.full(10, 0.05), 0.01).means.round(1)).tolist()
    [2]
    """
    unit = float(np.sqrt(np.median(noise)))
    largest = max(float(np.abs(beyond).max()) / unit, 2.0)
    steps = 2 + int(np.log(largest / SMALLEST) / np.log(RATIO))
    sizes = unit * SMALLEST * RATIO ** np.arange(steps)
    sizes = np.concatenate([[0.0], sizes, -sizes])
    prior = PSEUDO * np.concatenate([[NOTHING], np.full(2 * steps, (1 - NOTHING) / (2 * steps))])
    spread = (WIDTH * sizes) ** 2
    both = noise[:, None] + spread
    away = beyond[:, None] - sizes
    logs = -0.5 * (away**2 / both + np.log(2 * np.pi * both))
    top = logs.max(axis=1, keepdims=True)
    likelihood = np.exp(logs - top)
    total = len(beyond) + PSEUDO

    def step(law: Floats) -> tuple[Floats, float]:
        seen = likelihood @ law + TINY
        height = float(np.log(seen).sum() + prior @ np.log(law))
        return ((1 / seen) @ likelihood + prior / law) / total, height

    found = climb(step, prior / PSEUDO, 1, tolerance / total, MOST_STEPS, None)
    own = likelihood * found.shares
    own /= own.sum(axis=1, keepdims=True) + TINY
    # The law without the answer itself: a lone heap is not evidence of its own size.
    without = np.maximum(total * found.shares - own, prior) / (total - 1)
    own = likelihood * without
    seen = own.sum(axis=1)
    own /= seen[:, None]
    middle = sizes + spread / both * away
    means = (own * middle).sum(axis=1)
    variances = (own * (middle**2 + noise[:, None] * spread / both)).sum(axis=1) - means**2
    return Heaps(
        means, np.maximum(variances, 0), float((np.log(seen) + top[:, 0]).sum()), found.gap * total
    )
