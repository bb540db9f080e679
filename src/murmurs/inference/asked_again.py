"""Limits of shares from people who were asked again and again, with new noise each time.

The noise averages out over the reports, the sampling of the people does not. Each has limits of its
own: those of the noise are for the respondents, those of the sampling for as many people as there
are. The squares of their distances from the share add up, as variances do (Zou and Donner 2008).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from murmurs.inference.fit import Fit
from murmurs.inference.intervals import Scale, limits
from murmurs.inference.tails import Support, tail_limits
from murmurs.numerics.arrays import Floats


def limits_again(fit: Fit, scale: Scale, level: float) -> Floats:
    """Return lower and upper limits of the shares in the population, one row per answer."""
    noise = fit.limits(Scale(scale.constant, scale.slope - scale.bend, 0.0), level)
    shares = np.clip(fit.unbiased, 0.0, 1.0)
    people = max(1, round(1 / scale.bend))
    law = Support(people, Fraction(1), Fraction(0), sampled=True)
    numbers = np.rint(shares * people).astype(np.int64)
    own = numbers / people
    sampled = tail_limits(numbers, law, level, limits(own, law.scale, level))
    below = np.hypot(shares - np.minimum(noise[:, 0], shares), own - sampled[:, 0])
    above = np.hypot(np.maximum(noise[:, 1], shares) - shares, sampled[:, 1] - own)
    low = np.minimum(shares - below, sampled[:, 0])  # people are whole, shares of reports are not
    high = np.maximum(shares + above, sampled[:, 1])
    return np.asarray(np.clip(np.stack([low, high], axis=1), 0.0, 1.0))
