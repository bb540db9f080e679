"""Confidence limits for a share that cannot be negative, from noise of known size.

An unbiased estimate of a share x has a variance v(x) that is linear in x, or quadratic with
sampling. On the scale mu(x), the integral of 1 / sqrt(v), the standard deviation is one everywhere.
There the limits are those of Feldman and Cousins (1998) for a normal mean that is at least zero:
they cover with the same probability at zero as far above it, and are never empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from statistics import NormalDist

import numpy as np

from murmurs.numerics.arrays import Floats

_NORMAL = NormalDist()


@dataclass(frozen=True, eq=False)
class Scale:
    """The scale on which estimates have noise one; v(x) = constant + slope x - bend x^2."""

    constant: Floats
    slope: Floats
    bend: float

    def of(self, estimates: Floats) -> Floats:
        """Return mu of the estimates; mu(0) = 0.

        Above one, the noise stays as it is at one. Below zero there is nobody to sample, so the
        sampling part of the variance, ``bend`` x (1 - x), is left out.
        """
        c, s, b = self.constant, self.slope, self.bend
        shares = np.clip(estimates, 0.0, 1.0)
        above = np.maximum(estimates - 1, 0) / np.sqrt(np.maximum(c + s - b, 1e-12 * c))
        below = _integral(np.minimum(estimates, 0), c, s - b)
        if b == 0:
            return np.asarray(_integral(shares, c, s) + above + below)
        reach = np.sqrt(s * s + 4 * c * b)
        angle = np.arcsin(np.clip((2 * b * shares - s) / reach, -1, 1))
        within = (angle - np.arcsin(np.clip(-s / reach, -1, 1))) / np.sqrt(b)
        return np.asarray(within + above + below)

    def back(self, mu: Floats) -> Floats:
        """Return the shares of a mu; values beyond the end of the scale give its end."""
        c, s, b = self.constant, self.slope, self.bend
        if b > 0:
            reach = np.sqrt(s * s + 4 * c * b)
            start = np.arcsin(np.clip(-s / reach, -1, 1))
            half = np.minimum(np.sqrt(b) * mu, np.pi / 2 - start) / 2
            # (sin(start + 2 half) - sin(start)) / (2 b), which is 0 at 0
            return np.asarray(reach * np.cos(start + half) * np.sin(half) / b)
        root = np.maximum(np.sqrt(c) + s * mu / 2, 0)
        return np.asarray(mu * (root + np.sqrt(c)) / 2)


def _integral(shares: Floats, constant: Floats, slope: Floats) -> Floats:
    """Return the integral of 1 / sqrt(constant + slope x) from 0 to the shares.

    It is 2 (sqrt(v) - sqrt(constant)) / slope, written so that it also holds for a slope of 0.
    """
    variance = np.maximum(constant + slope * shares, 1e-12 * constant)
    return np.asarray(2 * shares / (np.sqrt(variance) + np.sqrt(constant)))


def limits(estimates: Floats, scale: Scale, level: float) -> Floats:
    """Return lower and upper limits of shares, one row per share, between 0 and 1."""
    seen = scale.of(estimates)
    mean, low_edge, high_edge = accepted(level)
    far = mean[-1]
    reach = float(high_edge[-1] - far)
    # A mean is between the limits if the observation is between its edges.
    lower = np.where(seen > high_edge[-1], seen - reach, np.interp(seen, high_edge, mean))
    upper = np.where(seen > low_edge[-1], seen + reach, np.interp(seen, low_edge, mean))
    both = np.stack([scale.back(lower), scale.back(upper)], axis=1)
    return np.clip(both, 0.0, 1.0)


def score_limits(estimates: Floats, scale: Scale, reach: float) -> Floats:
    """Return limits that may lie below zero or above one, one row per share; for differences.

    They hold the shares x whose estimate is within ``reach`` standard deviations of x, with the
    noise at x: the interval of Wilson (1927) where all noise is that of sampling. Below zero and
    above one the noise stays as it is there, so that the estimate is always between its limits.
    """
    c, s, b = scale.constant, scale.slope, scale.bend
    square = reach * reach
    middle = 2 * estimates + square * s
    root = np.sqrt(np.maximum(middle**2 - 4 * (1 + square * b) * (estimates**2 - square * c), 0))
    none, everybody = reach * np.sqrt(c), reach * np.sqrt(np.maximum(c + s - b, 0))
    out = []
    for sign in (-1, 1):
        within = (middle + sign * root) / (2 * (1 + square * b))
        below, above = estimates + sign * none, estimates + sign * everybody
        out.append(np.where(below < 0, below, np.where(above > 1, above, within)))
    return np.stack([np.minimum(out[0], estimates), np.maximum(out[1], estimates)], axis=1)


@cache
def accepted(level: float) -> tuple[Floats, Floats, Floats]:
    """Return means, and for each the lowest and highest value that it accepts.

    Values are accepted in the order of their likelihood ratio to the best mean that is not
    negative, until they have the wanted probability (Feldman and Cousins 1998, section IV B).
    """
    z = _NORMAL.inv_cdf(0.5 + level / 2)
    means = np.concatenate([np.geomspace(1e-4, 0.1, 60), np.linspace(0.11, z + 4, 300)])
    low_edge, high_edge = np.empty_like(means), np.empty_like(means)
    for i, mean in enumerate(means):
        inside, outside = 0.0, z + 3.0
        for _ in range(50):
            d = (inside + outside) / 2
            low = mean - d if d < mean else mean / 2 - d * d / (2 * mean)
            if _NORMAL.cdf(d) - _NORMAL.cdf(low - mean) < level:
                inside = d
            else:
                outside = d
        low_edge[i], high_edge[i] = low, mean + d
    means[0] = 0.0
    return means, np.maximum.accumulate(low_edge), np.maximum.accumulate(high_edge)
