"""Confidence limits for shares that are reported only because they were large enough to be found.

Of many strings that are about as common as the rarest that can be found, those are found that noise
makes look more common. Limits that ignore this cover too rarely. Here they hold given that the
string was found: on the scale on which noise has standard deviation one, an estimate was seen only
above a known threshold, so its law is that of a normal variable cut off there.

Such limits alone could reach down to zero for an estimate just above its threshold. But strings
with a share of s or more number at most 1 / s. So, with s times a small probability spent on each,
no estimate is far above its share, and shares that would contradict this are left out (the hybrid
limits of Andrews, Kitagawa and McCloskey 2024, with a bound over all strings).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from murmurs.inference.intervals import Scale
from murmurs.numerics.arrays import Floats
from murmurs.numerics.special import normal_quantiles, normal_tail

SPENT = 0.1
"""The part of the error probability that is spent on the bound over all strings."""

RAREST = 1e-9
"""The smallest share that the bound is computed for."""

STEPS = 50
"""Halvings of the range in which a limit lies, down to rounding errors."""


def limits_of_found(estimates: Floats, margins: Floats, scale: Scale, level: float) -> Floats:
    """Return lower and upper limits of shares, one row per share, between 0 and 1.

    ``margins`` say by how many standard deviations each estimate exceeds the least with which the
    string would still have been found; they are infinite for a string that was given.

    >>> scale = Scale(np.array([1e-4]), np.array([0.0]), 0.0)
    >>> seen = np.array([0.07])
    >>> for margin in (np.inf, 1.0, 0.1):
    ...     print(limits_of_found(seen, np.array([margin]), scale, 0.95).round(3).tolist())
    [[0.05, 0.09]]
    [[0.036, 0.09]]
    [[0.034, 0.081]]
    """
    spent = SPENT * (1 - level)
    half = (1 - level - spent) / (1 - spent) / 2
    seen = scale.of(estimates)
    least = seen - np.maximum(margins, 0.0)

    def above(means: Floats) -> Floats:
        """Return the probability of at least what was seen, given that the string was found."""
        shares = np.clip(scale.back(means), RAREST, 1.0)
        beyond = spent * shares
        farthest = means - normal_quantiles(beyond)
        found, tail = normal_tail(least - means) - beyond, normal_tail(seen - means) - beyond
        return np.where(seen < farthest, tail / np.maximum(found, 1e-300), 0.0)

    far = np.maximum(seen, 0) - normal_quantiles(np.array(half)) + 1
    lower, upper = (_reached(above, chance, far) for chance in (half, 1 - half))
    both = np.stack([scale.back(lower), scale.back(np.maximum(upper, seen))], axis=1)
    return np.clip(both, 0.0, 1.0)


def _reached(above: Callable[[Floats], Floats], chance: float, far: Floats) -> Floats:
    """Return the means, from zero to far, at which a probability that rises reaches a value."""
    low, high = np.zeros_like(far), far
    for _ in range(STEPS):
        middle = (low + high) / 2
        is_below = above(middle) < chance
        low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
    return high
