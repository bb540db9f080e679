"""Contrasts of numbers between estimates: their differences, their slope over periods, and tests.

A contrast is a sum of the values of several estimates of different people with weights that add up
to zero. Its limits combine those of the values (Zou and Donner 2008): it is at its lowest where
values with positive weights are low and the others high. Means are tested with the noise at each
side's own shares, since equal means need not come from equal shares; shares with the noise at those
of all people together, as in `murmurs.inference.difference`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from murmurs.inference.comparable import Comparable, common_shares
from murmurs.inference.fit import Target
from murmurs.inference.intervals import score_limits
from murmurs.inference.linear import corrected, group_scale
from murmurs.inference.numbers import checked_level, quantile_of
from murmurs.inference.statistic import Statistic
from murmurs.numerics.arrays import Floats
from murmurs.numerics.special import chi_square_tail, normal_quantile, normal_tail
from murmurs.scales.figures import Figure, Quantile, up_to_each
from murmurs.scales.scale import Scale

_NO_NOISE = 1e-13


@dataclass(frozen=True)
class Contrast:
    """A weighted sum of values with limits, and the p-value of the hypothesis that it is zero."""

    value: float
    low: float
    high: float
    p_value: float

    def of(
        self, said: Readings, name: str, scale: Scale, asked: Figure | Quantile, per: str = ""
    ) -> Statistic:
        """Return the contrast as a statistic with this name."""
        is_share = isinstance(asked, Figure) and asked.is_share
        return Statistic(
            name,
            self.value,
            self.low,
            self.high,
            said.level,
            said.target,
            p_value=self.p_value,
            scale=None if is_share else scale,
            notes=asked.notes,
            unbiased=self.value,
            is_change=True,
            per=per,
        )


@dataclass(frozen=True, eq=False)
class Readings:
    """What several estimates say about one number, each with its limits at this level."""

    values: Floats
    low: Floats
    high: Floats
    level: float
    target: Target
    errors: Floats | None
    """Standard errors if nothing differs; None for quantiles, whose limits say how sure they are"""
    noise: Floats
    """Variances that say how much weight each value deserves."""
    p_value: float
    """That of the hypothesis that all are equal."""

    def contrast(self, weights: Floats) -> Contrast:
        """Return the sum of the values with these weights, which add up to zero."""
        value = float(weights @ self.values)
        below, above = self.values - self.low, self.high - self.values
        down = np.where(weights > 0, below, above) * weights
        up = np.where(weights > 0, above, below) * weights
        low, high = value - math.hypot(*down), value + math.hypot(*up)
        if self.errors is not None:
            error = math.hypot(*(weights * self.errors))
            z = abs(value) / max(error, _NO_NOISE)
        else:  # how far the limits would have to be moved so that they end at zero
            reach = value - low if value > 0 else high - value
            z = normal_quantile(0.5 + self.level / 2) * abs(value) / max(reach, _NO_NOISE)
        return Contrast(value, low, high, float(2 * normal_tail(np.array([z]))[0]))

    @cached_property
    def difference(self) -> Contrast:
        """The first value minus the second one."""
        return self.contrast(np.array([1.0, -1.0]))

    def slope(self, places: Floats) -> Contrast:
        """Return how much the value grows with the place, by weighted least squares."""
        return self.contrast(slope_weights(places, self.noise))


def slope_weights(places: Floats, noise: Floats) -> Floats:
    """Return the weights with which values at these places, with these variances, give the slope.

    >>> slope_weights(np.array([0.0, 1.0, 2.0]), np.ones(3)).tolist()
    [-0.5, 0.0, 0.5]
    """
    weights = 1 / np.maximum(noise, max(float(noise.max()), 1e-300) * 1e-9)
    weights /= weights.sum()
    away = places - weights @ places
    return np.asarray(weights * away / float(weights @ away**2))


def readings(
    sides: Sequence[Comparable],
    scale: Scale,
    asked: Figure | Quantile,
    level: float,
    target: Target,
) -> Readings:
    """Return what estimates say about a mean, a share of buckets, or a quantile."""
    if isinstance(asked, Quantile):
        return _of_quantile(sides, scale, asked, level, target)
    return _of_figure(sides, asked, level, target)


def _of_figure(
    sides: Sequence[Comparable], figure: Figure, level: float, target: Target
) -> Readings:
    level, common = checked_level(level), common_shares(sides)
    z = normal_quantile(0.5 + level / 2)
    rows: list[tuple[float, float, float, float, float]] = []
    for side in sides:
        own = corrected(side.fit, figure.weights, side.plausible)
        here = own.sums(side.plausible, target)
        together = float(own.sums(common, target).errors[0])
        value, error = float(here.values[0]), float(here.errors[0])
        low, high = value - z * error, value + z * error
        if figure.is_share and figure.ends[0] < figure.ends[1]:
            scale = group_scale(own, figure.weights, side.plausible, target)
            low, high = score_limits(here.values, scale, z)[0].tolist()
        rows.append((value, low, high, together if figure.is_share else error, together))
    values, low_limits, high_limits, errors, noise = np.array(rows).T
    errors = np.maximum(errors, _NO_NOISE)
    weights = errors**-2 / (errors**-2).sum()
    statistic = float((((values - weights @ values) / errors) ** 2).sum())
    p_value = chi_square_tail(statistic, len(rows) - 1)
    return Readings(values, low_limits, high_limits, level, target, errors, noise**2, p_value)


def _of_quantile(
    sides: Sequence[Comparable], scale: Scale, quantile: Quantile, level: float, target: Target
) -> Readings:
    found = [quantile_of(side, scale, quantile, level, target) for side in sides]  # type: ignore[arg-type]
    values, low, high = (
        np.array([getattr(one, name) for one in found]) for name in ("unbiased", "low", "high")
    )
    if not np.isfinite(np.concatenate([values, low, high])).all():
        raise ValueError(
            f"the {quantile.name} is in an open-ended bucket, or may be, and how far out is "
            "unknown: compare shares, as above(...)"
        )
    low, high = np.minimum(low, values), np.maximum(high, values)
    statistic, noise = _common_quantile(sides, scale, quantile.part, target)
    p_value = chi_square_tail(statistic, len(found) - 1)
    return Readings(values, low, high, found[0].level, target, None, noise, p_value)


def _common_quantile(
    sides: Sequence[Comparable], scale: Scale, part: float, target: Target
) -> tuple[float, Floats]:
    """Return the least squared distance from a quantile that all sides have, in its noise.

    Also the noise of the distribution functions there. At a number x, the distance of a side is
    that of its distribution function from ``part``; within a bucket both are linear.
    """
    groups, common = up_to_each(scale), common_shares(sides)
    starts, ends, starting, ending, both = [], [], [], [], []
    for side in sides:
        sums = corrected(side.fit, groups, side.plausible).sums(common, target)
        values = np.concatenate([[0.0], sums.values, [1.0]]) - part
        noise = np.concatenate([[0.0], np.diag(sums.covariance), [0.0]])
        near = np.concatenate([[0.0], np.diag(sums.covariance, 1), [0.0]])
        starts.append(values[:-1])
        ends.append(values[1:])
        starting.append(noise[:-1])
        ending.append(noise[1:])
        both.append(near)
    first, last, v_first, v_last, v_both = map(np.array, (starts, ends, starting, ending, both))
    least = 1e-9 * float(max(v_first.max(), _NO_NOISE))
    inside = np.isfinite(scale.low) & np.isfinite(scale.high) & (scale.kind != "scores")

    def variance(at: Floats) -> Floats:
        own = (1 - at) ** 2 * v_first + 2 * at * (1 - at) * v_both + at**2 * v_last
        return np.asarray(np.maximum(own, least))

    at, step = np.full(scale.k, 0.5), last - first
    for _ in range(4):
        weights = 1 / variance(at)
        square = (step**2 * weights).sum(axis=0)
        at = np.clip(-(first * step * weights).sum(axis=0) / np.maximum(square, 1e-300), 0, 1)
    within = ((first + at * step) ** 2 / variance(at)).sum(axis=0)
    # Of scores, and of buckets without an end, only the two ends are known.
    beyond = np.maximum(first, 0) ** 2 / np.maximum(v_first, least)
    beyond += np.maximum(-last, 0) ** 2 / np.maximum(v_last, least)
    distances = np.where(inside, within, beyond.sum(axis=0))
    best = int(distances.argmin())
    ends_of = np.maximum(v_first[:, best], v_last[:, best])
    return float(distances[best]), np.where(inside[best], variance(at)[:, best], ends_of)
