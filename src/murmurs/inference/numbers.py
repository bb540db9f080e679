"""What one estimate says about numbers: means, shares of ranges, quantiles, each with limits.

Limits come from the unbiased shares and their covariance, which hold for every distribution, never
from the estimator. The value itself is that of the estimator's shares, unless it is more than one
standard error away from the unbiased value: then it is moved to within one standard error, so that
what an estimator smooths away in single buckets cannot add up in a mean (the limited translation
rule of Efron and Morris 1971).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from murmurs.boundary.checks import real
from murmurs.inference.fit import Fit, Target
from murmurs.inference.linear import (
    corrected,
    group_limits,
    group_scale,
    largest_value,
    share_limits,
)
from murmurs.inference.statistic import Statistic
from murmurs.inference.sums import Sums
from murmurs.numerics.arrays import Floats
from murmurs.numerics.special import normal_quantile
from murmurs.present import frames
from murmurs.present.histograms import plot_distribution
from murmurs.present.text import percent, table
from murmurs.scales.figures import Figure, Quantile, around, at_angle, up_to_each
from murmurs.scales.quantiles import quantile_at
from murmurs.scales.scale import Scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOVED = 1.0
"""How many standard errors a value may be away from the unbiased one."""


class Measured(Protocol):
    """What statistics need from an estimate."""

    @property
    def fit(self) -> Fit:
        """The unbiased shares with their noise."""
        ...

    @property
    def shares(self) -> Floats:
        """The estimated shares."""
        ...

    @property
    def plausible(self) -> Floats:
        """Shares on the simplex, to compute the noise."""
        ...


@dataclass(frozen=True, eq=False)
class Distribution(frames.Tabular):
    """The share of people up to the end of each bucket, with limits.

    Without ``simultaneous`` each share has limits of its own, which need not increase.

    >>> import murmurs as mm
    >>> age = mm.Question("age", edges=[0, 18, 65, 100], epsilon=20.0)
    >>> counts = age.simulate([10, 20, 10], np.random.default_rng(1))
    >>> print(age.estimate(counts).cdf(target="respondents"))
    up to the end of    share      95 % interval
    ────────────────  ───────  ─────────────────
    0 to 17            25.0 %    25.0 % … 25.0 %
    18 to 64           75.0 %    75.0 % … 75.0 %
    65 to 99          100.0 %  100.0 % … 100.0 %
    """

    ends: Floats
    shares: Floats
    unbiased: Floats
    low: Floats
    high: Floats
    level: float
    simultaneous: bool
    labels: tuple[str, ...]
    scale: Scale
    title: str = ""

    def entitled(self, title: str) -> Distribution:
        """Return the same with another title for its plot."""
        return replace(self, title=title)

    def plot(self, axes: Axes | None = None, *, title: str | None = None) -> Axes:
        """Draw the share of people up to each number, with the band of its limits."""
        heading = f"{'simultaneous ' * self.simultaneous}{100 * self.level:g} % intervals"
        told = self.title if title is None else title
        return plot_distribution(self.columns(), self.scale, heading, told, axes)

    def columns(self) -> dict[str, object]:
        """Return the columns answer, up_to, share, low and high."""
        return {
            "answer": list(self.labels),
            "up_to": self.ends,
            "share": self.shares,
            "low": self.low,
            "high": self.high,
        }

    def __str__(self) -> str:
        heading = f"{100 * self.level:g} % interval"
        rows = [
            [label, percent(share), f"{percent(low)} … {percent(high)}"]
            for label, share, low, high in zip(
                self.labels, self.shares, self.low, self.high, strict=True
            )
        ]
        return table(["up to the end of", "share", heading], rows)


def checked_level(level: float) -> float:
    """Return a level of confidence, if it is one."""
    return real(level, "level", 0.5, 1 - 1e-9)


def _near(values: Floats, sums: Sums) -> Floats:
    """Return values of the estimator's shares, moved to within a standard error if need be."""
    reach = MOVED * sums.errors
    return np.clip(values, sums.values - reach, sums.values + reach)


def statistic_of(
    side: Measured, scale: Scale, asked: Figure | Quantile, level: float, target: Target
) -> Statistic:
    """Return a mean, a share of people in some buckets, or a quantile."""
    if isinstance(asked, Quantile):
        return quantile_of(side, scale, asked, level, target)
    return figure_of(side, scale, asked, level, target)


def figure_of(
    side: Measured, scale: Scale, figure: Figure, level: float, target: Target
) -> Statistic:
    """Return a mean, or the share of people in some of the buckets."""
    level, weights, ends = checked_level(level), figure.weights, figure.ends
    if ends[0] == ends[1]:  # everybody
        known = ends[0]
        return Statistic(figure.name, known, known, known, level, target, 0.0, unbiased=known)
    own = corrected(side.fit, weights, side.plausible)
    sums = own.sums(side.plausible, target)
    if figure.is_share:
        noise = group_scale(own, weights, side.plausible, target)
        limits = share_limits(sums, level, noise)
        sampled = target == "population"
        low, high = group_limits(side.fit, weights[None], limits, level, sampled)[:, 0].tolist()
    else:
        reach = normal_quantile(0.5 + level / 2) * float(sums.errors[0])
        low, high = np.clip(sums.values[0] + reach * np.array([-1.0, 1.0]), *ends).tolist()
    value = float(np.clip(_near(weights @ side.shares, sums)[0], *ends))
    return Statistic(
        figure.name,
        value,
        min(low, value),
        max(high, value),
        level,
        target,
        float(sums.errors[0]),
        scale=None if figure.is_share else scale,
        notes=figure.notes,
        unbiased=float(sums.values[0]),
    )


def sums_up_to(side: Measured, scale: Scale, target: Target) -> Sums:
    """Return the unbiased share of people up to the end of each bucket but the last."""
    groups = up_to_each(scale)
    return corrected(side.fit, groups, side.plausible).sums(side.plausible, target)


def distribution(
    side: Measured,
    scale: Scale,
    labels: tuple[str, ...],
    level: float,
    target: Target,
    *,
    simultaneous: bool = False,
    sums: Sums | None = None,
) -> Distribution:
    """Return the share of people up to the end of each bucket; the last is one.

    ``sums`` are those of `sums_up_to`, if they are known already.
    """
    level, sums = checked_level(level), sums or sums_up_to(side, scale, target)
    if simultaneous:
        reach = largest_value(sums.covariance, level) * sums.errors
        low, high = np.clip(sums.values + np.stack([-reach, reach]), 0.0, 1.0)
        limits = np.stack([np.maximum.accumulate(low), np.minimum.accumulate(high[::-1])[::-1]])
    else:
        limits = share_limits(sums, level)
        groups, sampled = up_to_each(scale), target == "population"
        limits = group_limits(side.fit, groups, limits, level, sampled)
    near = _near(np.cumsum(side.shares)[:-1], sums)
    shares = np.clip(np.maximum.accumulate(near), 0.0, 1.0)
    low, high = np.minimum(limits[0], shares), np.maximum(limits[1], shares)
    shares, unbiased, low, high = (np.append(own, 1.0) for own in (shares, sums.values, low, high))
    return Distribution(scale.high, shares, unbiased, low, high, level, simultaneous, labels, scale)


def quantile_of(
    side: Measured,
    scale: Scale,
    quantile: Quantile,
    level: float,
    target: Target,
    *,
    sums: Sums | None = None,
) -> Statistic:
    """Return the number that a part of all people do not exceed.

    Its limits are where the limits of the distribution function reach this part. Noise may take
    them there more than once; sorting them gives one crossing in the middle (Chernozhukov,
    Fernández-Val and Galichon 2009). People in a bucket are taken to be spread evenly over it.
    """
    found = distribution(side, scale, (), level, target, sums=sums)
    rising = (found.shares, np.sort(found.high), np.sort(found.low), np.sort(found.unbiased))
    value, low, high, unbiased = (quantile_at(scale, own, quantile.part) for own in rising)
    return Statistic(
        quantile.name,
        value,
        min(low, value),
        max(high, value),
        level,
        target,
        scale=scale,
        unbiased=unbiased,
    )


def circular_mean_of(side: Measured, scale: Scale, level: float, target: Target) -> Statistic:
    """Return the direction in which people are on average, on a circular scale.

    Its limits are the directions that the mean direction may have (Fieller 1954); they may go past
    the end of the scale, so that the lower one is the larger number. Where no direction stands out
    from the noise they are the whole circle.
    """
    level, (angles, length) = checked_level(level), around(scale)
    rows = np.stack([np.cos(angles), np.sin(angles)])
    sums = corrected(side.fit, rows, side.plausible).sums(side.plausible, target)
    z, (x, y) = normal_quantile(0.5 + level / 2), sums.values
    middle = math.atan2(y, x)
    turn = np.array([[math.cos(middle), math.sin(middle)], [-math.sin(middle), math.cos(middle)]])
    noise = z * z * (turn @ sums.covariance @ turn.T)
    # tan of an angle from the middle: |across - tan * along| is within z standard errors.
    along = math.hypot(x, y)
    square = along**2 - noise[0, 0]
    root = noise[0, 1] ** 2 + square * noise[1, 1]
    value = at_angle(scale, middle)
    if square <= 0 or root < 0:
        low, high = at_angle(scale, 0.0), at_angle(scale, 0.0) + length
        note = ("no direction stands out from the noise, so the interval is the whole circle",)
        return Statistic("circular mean", value, low, high, level, target, scale=scale, notes=note)
    tangents = (-noise[0, 1] + np.array([-1.0, 1.0]) * math.sqrt(root)) / square
    low, high = (at_angle(scale, middle + math.atan(float(t))) for t in np.sort(tangents))
    return Statistic("circular mean", value, low, high, level, target, scale=scale, unbiased=value)
