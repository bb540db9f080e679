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
    # People are whole, shares of reports are not: between two people, limits are between theirs.
    numbers = np.minimum(np.floor(shares * people).astype(np.int64), people - 1)
    part = shares * people - numbers
    fewer, more = (
        tail_limits(own, law, level, limits(own / people, law.scale, level))
        for own in (numbers, numbers + 1)
    )
    up = np.where(numbers == 0, _of_one(part, level), part)
    down = np.where(numbers == people - 1, _of_one(1 - part, level), 1 - part)
    sampled = more + np.stack([1 - up, down], axis=1) * (fewer - more)
    below = np.hypot(shares - np.minimum(noise[:, 0], shares), shares - sampled[:, 0])
    above = np.hypot(np.maximum(noise[:, 1], shares) - shares, sampled[:, 1] - shares)
    return np.asarray(np.clip(np.stack([shares - below, shares + above], axis=1), 0.0, 1.0))


def _of_one(part: Floats, level: float) -> Floats:
    """Return how near the lower limit of a part of one person is to that of one person.

    Continued to parts of a person, the lower limit of binomial numbers falls so as well: it is the
    power 1 / part of alpha, but for a factor.
    """
    return np.asarray((1 - level) ** (1 / np.maximum(part, 1e-3) - 1))
