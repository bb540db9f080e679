"""NumberEstimate: what people ask of numbers and scales, each with an interval.

Limits come from the unbiased shares and their covariance, which hold for every distribution, never
from the estimator. The value itself is that of the estimator's shares, unless it is more than one
standard error away from the unbiased value: then it is moved to within one standard error, so that
what an estimator smooths away in single buckets cannot add up in a mean (the limited translation
rule of Efron and Morris 1971).
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from murmurs.boundary.checks import real, shown, whole
from murmurs.channels.channel import MOST_PEOPLE
from murmurs.estimators.estimation import Estimate
from murmurs.estimators.statistic import Statistic
from murmurs.inference.fit import Target
from murmurs.inference.linear import corrected_sums, group_limits, largest_value, share_limits
from murmurs.inference.sums import Sums
from murmurs.numerics.arrays import Floats
from murmurs.numerics.special import normal_quantile
from murmurs.present import frames
from murmurs.scales.quantiles import quantile_at
from murmurs.scales.scale import Scale
from murmurs.scales.values import number_of

OPEN_ENDED = (
    "people in an open-ended bucket count with its edge, since how far out they are is unknown"
)
"""The note on a mean over buckets without an end."""

MOVED = 1.0
"""How many standard errors a value may be away from the unbiased one."""


@dataclass(frozen=True, eq=False)
class Distribution(frames.Tabular):
    """The share of people up to the end of each bucket, with limits."""

    ends: Floats
    shares: Floats
    low: Floats
    high: Floats
    level: float
    simultaneous: bool
    labels: tuple[str, ...]

    def columns(self) -> dict[str, Any]:
        """Return the columns answer, up_to, share, low and high."""
        return {
            "answer": list(self.labels),
            "up_to": self.ends,
            "share": self.shares,
            "low": self.low,
            "high": self.high,
        }


@dataclass(frozen=True, eq=False)
class NumberEstimate(Estimate):
    """The shares of buckets on a scale, and everything that an `Estimate` has.

    >>> import murmurs as mm
    >>> age = mm.Question("age", range=(0, 99), width=10, epsilon=2.0, unit="years")
    >>> people = {25: 3000, 35: 4000, 45: 2000, 85: 1000}
    >>> est = age.estimate(age.simulate(people, np.random.default_rng(1)))
    >>> print(est.mean())
    mean 39.1 years (95 % interval 38.2 to 40.0)
    """

    scale: Scale = None  # type: ignore[assignment]  # always given, but fields before have defaults

    @classmethod
    def of(cls, found: Estimate, scale: Scale) -> NumberEstimate:
        """Return an estimate as one on a scale."""
        own = {field.name: getattr(found, field.name) for field in dataclasses.fields(Estimate)}
        return cls(**own, scale=scale)

    def sums(self, weights: Floats, target: Target = "population") -> Sums:
        """Return unbiased sums of the shares with these weights, a row each, with their noise."""
        return corrected_sums(self.fit, weights, self.plausible, target)

    def _near(self, values: Floats, sums: Sums) -> Floats:
        """Return values of the estimator's shares, moved to within a standard error if need be."""
        reach = MOVED * sums.errors
        return np.clip(values, sums.values - reach, sums.values + reach)

    def mean(self, level: float = 0.95, target: Target = "population") -> Statistic:
        """Return the mean; people in a bucket count with its middle, labels with their scores."""
        self._refuse_circular("a mean")
        level = real(level, "level", 0.5, 1 - 1e-9)
        weights = self.scale.middles
        sums = self.sums(weights, target)
        reach = normal_quantile(0.5 + level / 2) * float(sums.errors[0])
        ends = float(weights.min()), float(weights.max())
        value = float(np.clip(self._near(weights @ self.shares, sums)[0], *ends))
        low, high = np.clip(sums.values[0] + reach * np.array([-1.0, 1.0]), *ends).tolist()
        return Statistic(
            "mean",
            value,
            low,
            high,
            level,
            target,
            float(sums.errors[0]),
            scale=self.scale,
            notes=(OPEN_ENDED,) if self.scale.is_open_ended else (),
        )

    def sum(
        self, people: int | None = None, level: float = 0.95, target: Target = "population"
    ) -> Statistic:
        """Return the sum over so many people, by default those who answered."""
        many = self.counts.people if people is None else whole(people, "people", 1, MOST_PEOPLE)
        one = self.mean(level, target)
        error = None if one.error is None else one.error * many
        return dataclasses.replace(
            one,
            name="sum",
            value=one.value * many,
            low=one.low * many,
            high=one.high * many,
            error=error,
        )

    def cdf(
        self,
        level: float = 0.95,
        target: Target = "population",
        *,
        simultaneous: bool = False,
    ) -> Distribution:
        """Return the share of people up to the end of each bucket, with limits.

        With ``simultaneous``, all shares lie within their limits together.
        """
        self._refuse_circular("a distribution function")
        level = real(level, "level", 0.5, 1 - 1e-9)
        shares, low, high = self._below(level, target, simultaneous)
        return Distribution(self.scale.high, shares, low, high, level, simultaneous, self.labels)

    def _below(
        self, level: float, target: Target, simultaneous: bool = False
    ) -> tuple[Floats, Floats, Floats]:
        """Return the shares up to the end of each bucket and their limits; the last is one."""
        k = self.scale.k
        groups = np.tri(k - 1, k)
        sums = self.sums(groups, target)
        each = level
        if simultaneous:
            each = 1 - 2 * _tail(largest_value(sums.covariance, level))
        limits = share_limits(sums, each)
        if not simultaneous:
            limits = group_limits(self.fit, groups, limits, level, target == "population")
        near = self._near(np.cumsum(self.shares)[:-1], sums)
        shares = np.clip(np.maximum.accumulate(near), 0.0, 1.0)
        low = np.minimum(np.maximum.accumulate(limits[0]), shares)
        high = np.maximum(np.minimum.accumulate(limits[1][::-1])[::-1], shares)
        one = np.ones(1)
        return tuple(np.concatenate([own, one]) for own in (shares, low, high))  # type: ignore[return-value]

    def quantile(
        self, part: float, level: float = 0.95, target: Target = "population"
    ) -> Statistic:
        """Return the number that this part of all people do not exceed.

        Its limits are where the limits of the distribution function reach this part. People in a
        bucket are taken to be spread evenly over it.
        """
        self._refuse_circular("a quantile")
        part = real(part, "the part of people", 1e-9, 1 - 1e-9)
        level = real(level, "level", 0.5, 1 - 1e-9)
        shares, low, high = self._below(level, target)
        name = "median" if part == 0.5 else f"{100 * part:g} % quantile"
        value, first, last = (quantile_at(self.scale, own, part) for own in (shares, high, low))
        return Statistic(name, value, first, last, level, target, scale=self.scale)

    def median(self, level: float = 0.95, target: Target = "population") -> Statistic:
        """Return the median: half of all people do not exceed it."""
        return self.quantile(0.5, level, target)

    def between(
        self, low: Any, high: Any, level: float = 0.95, target: Target = "population"
    ) -> Statistic:
        """Return the share of people from ``low`` up to, but not including, ``high``.

        Both must be edges of buckets. On a circular scale, from 22 up to 6 goes past midnight.
        """
        first, last = self._edge(low), self._edge(high)
        members = np.zeros(self.scale.k)
        if first < last:
            members[first:last] = 1
        elif self.scale.circular and first > last:
            members[first:], members[:last] = 1, 1
        else:
            raise ValueError(f"there is nothing from {shown(low)} up to {shown(high)}")
        name = f"share from {self.scale.text(self._value(low))} up to"
        return self._group(members, f"{name} {self.scale.text(self._value(high))}", level, target)

    def above(self, low: Any, level: float = 0.95, target: Target = "population") -> Statistic:
        """Return the share of people from ``low`` on, which must be the edge of a bucket."""
        self._refuse_circular("a share above a number")
        members = np.zeros(self.scale.k)
        members[self._edge(low) :] = 1
        return self._group(
            members, f"share from {self.scale.text(self._value(low))} on", level, target
        )

    def top(self, many: int = 2, level: float = 0.95, target: Target = "population") -> Statistic:
        """Return the share of people in the highest buckets, such as the top two boxes."""
        self._refuse_circular("a top")
        members = np.zeros(self.scale.k)
        members[-whole(many, "the number of buckets", 1, self.scale.k - 1) :] = 1
        return self._group(members, f"share of the top {many}", level, target)

    def _group(self, members: Floats, name: str, level: float, target: Target) -> Statistic:
        level = real(level, "level", 0.5, 1 - 1e-9)
        if members.all() or not members.any():
            one = float(members.all())
            return Statistic(name, one, one, one, level, target, 0.0)
        sums = self.sums(members, target)
        limits = share_limits(sums, level)
        limits = group_limits(self.fit, members[None], limits, level, target == "population")
        value = float(np.clip(self._near(members @ self.shares, sums)[0], 0.0, 1.0))
        low, high = min(float(limits[0, 0]), value), max(float(limits[1, 0]), value)
        return Statistic(name, value, low, high, level, target, float(sums.errors[0]))

    def _value(self, number: Any) -> float:
        if isinstance(number, float) and math.isinf(number):
            return number
        found = number_of(number, self.scale.kind)
        if found is None:
            raise TypeError(f"{shown(number)} is not a number on this scale: {self.scale.rule()}")
        return found

    def _edge(self, number: Any) -> int:
        """Return the number of the bucket that begins here; k for the end of the last one."""
        value, edges = self._value(number), np.array(self.scale.edges)
        place = int(np.searchsorted(edges, value))
        if place < len(edges) and edges[place] == value:
            return min(place, self.scale.k)
        if not edges[0] < value < edges[-1]:
            ends = f"{self.scale.text(edges[0])} to {self.scale.text(edges[-1])}"
            raise ValueError(f"{shown(number)} is outside of the survey's range, {ends}")
        near = [self.scale.text(edges[i]) for i in (place - 1, min(place, len(edges) - 1))]
        raise ValueError(
            f"{shown(number)} is inside a bucket, and nothing is known about parts of it: ask for "
            f"{near[0]} or {near[1]}"
        )

    def _refuse_circular(self, what: str) -> None:
        if self.scale.circular:
            raise ValueError(
                f"a circular scale has no first and no last bucket, so it has no {what[2:]}: ask "
                "for a share, as between(22, 6)"
            )


def _tail(z: float) -> float:
    return math.erfc(z / math.sqrt(2)) / 2
