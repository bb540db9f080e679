"""NumberEstimate: what people ask of numbers and scales, each with an interval."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from murmurs.boundary.checks import whole
from murmurs.channels.channel import MOST_PEOPLE
from murmurs.estimators.estimation import Estimate
from murmurs.estimators.methods.smooth import NO_ORDER
from murmurs.inference.fit import Target
from murmurs.inference.numbers import (
    Distribution,
    circular_mean_of,
    distribution,
    figure_of,
    quantile_of,
    sums_up_to,
)
from murmurs.inference.statistic import Statistic
from murmurs.inference.sums import Sums
from murmurs.numerics.arrays import Floats
from murmurs.present.axes import WIDE
from murmurs.present.histograms import plot_histogram
from murmurs.present.text import Order
from murmurs.scales import figures
from murmurs.scales.figures import Figure
from murmurs.scales.scale import Scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHRUNK_MEAN = "take a mean from the estimate itself, not from these shares, which are shrunk"
"""The note on a scale whose shares noise has moved without regard to their order."""

SHRUNK = 0.1
"""The sum of the changes of all shares from which on they count as moved."""


@dataclass(frozen=True, eq=False)
class NumberEstimate(Estimate):
    """The shares of buckets on a scale, and everything that an `Estimate` has.

    >>> import numpy as np
    >>> import murmurs as mm
    >>> age = mm.Question("age", range=(0, 99), width=10, epsilon=2.0, unit="years")
    >>> people = {25: 3000, 35: 4000, 45: 2000, 85: 1000}
    >>> est = age.estimate(age.simulate(people, np.random.default_rng(1)))
    >>> print(est.mean())
    mean 38.8 years (95 % interval 37.1 to 39.6)
    """

    scale: Scale = None  # type: ignore[assignment]  # always given, but fields before have defaults

    @classmethod
    def of(cls, found: Estimate, scale: Scale) -> NumberEstimate:
        """Return an estimate as one on a scale."""
        own = {field.name: getattr(found, field.name) for field in dataclasses.fields(Estimate)}
        if SHRUNK_MEAN not in found.notes and _is_shrunk(found):
            own["notes"] += (SHRUNK_MEAN,)
        return cls(**own, scale=scale)

    def mean(self, level: float = 0.95, target: Target = "population") -> Statistic:
        """Return the mean; people in a bucket count with its middle, labels with their scores."""
        return self._figure(figures.mean(self.scale), level, target)

    def sum(
        self, people: int | None = None, level: float = 0.95, target: Target | None = None
    ) -> Statistic:
        """Return the sum over so many people of the population.

        Without ``people`` it is the sum over those who answered, whose sampling does not matter.
        """
        many = self.counts.people if people is None else whole(people, "people", 1, MOST_PEOPLE)
        usual: Target = "respondents" if people is None else "population"
        one = self.mean(level, usual if target is None else target)
        scaled = {
            name: value * many
            for name in ("value", "low", "high", "error", "unbiased")
            if (value := getattr(one, name)) is not None
        }
        return dataclasses.replace(one, name="sum", **scaled)

    def circular_mean(self, level: float = 0.95, target: Target = "population") -> Statistic:
        """Return the direction in which people are on average, on a circular scale.

        Its limits may go past the end of the scale, so that the lower one is the larger number.
        """
        return circular_mean_of(self, self.scale, level, target)

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
        sums, labels = self._sums_up_to(target), self.labels
        return distribution(
            self, self.scale, labels, level, target, simultaneous=simultaneous, sums=sums
        ).entitled(self._heading)

    def quantile(
        self, part: float, level: float = 0.95, target: Target = "population"
    ) -> Statistic:
        """Return the number that this part of all people do not exceed.

        Its limits are where the limits of the distribution function reach this part. People in a
        bucket are taken to be spread evenly over it.
        """
        asked, sums = figures.quantile(self.scale, part), self._sums_up_to(target)
        return quantile_of(self, self.scale, asked, level, target, sums=sums)

    def median(self, level: float = 0.95, target: Target = "population") -> Statistic:
        """Return the median: half of all people do not exceed it."""
        return self.quantile(0.5, level, target)

    def between(
        self, low: Any, high: Any, level: float = 0.95, target: Target = "population"
    ) -> Statistic:
        """Return the share of people from ``low`` up to, but not including, ``high``.

        Both must be edges of buckets. On a circular scale, from 22 up to 6 goes past midnight.
        """
        return self._figure(figures.between(self.scale, low, high), level, target)

    def above(self, low: Any, level: float = 0.95, target: Target = "population") -> Statistic:
        """Return the share of people from ``low`` on, which must be the edge of a bucket."""
        return self._figure(figures.above(self.scale, low), level, target)

    def top(self, many: int = 2, level: float = 0.95, target: Target = "population") -> Statistic:
        """Return the share of people in the highest buckets, such as the top two boxes."""
        return self._figure(figures.top(self.scale, many), level, target)

    def plot(
        self,
        axes: Axes | None = None,
        level: float = 0.95,
        target: Target = "population",
        *,
        order: Order | None = None,
        title: str | None = None,
        truth: Floats | None = None,
        limit: int = 30,
    ) -> Axes:
        """Draw numbers as a histogram, and labels with scores as `Estimate.plot` does."""
        if self.scale.kind == "scores" or order is not None:
            return super().plot(
                axes, level, target, order=order, title=title, truth=truth, limit=limit
            )
        told = self._heading if title is None else title
        heading = f"{100 * level:g} % intervals"
        return plot_histogram(self.columns(level, target), self.scale, heading, told, axes, truth)

    @property
    def plot_size(self) -> tuple[float, float] | None:
        """The width and the height of a plot, in inches, unless it has one row a label."""
        return super().plot_size if self.scale.kind == "scores" else WIDE

    def _figure(self, figure: Figure, level: float, target: Target) -> Statistic:
        return figure_of(self, self.scale, figure, level, target)

    def _sums_up_to(self, target: Target) -> Sums:
        """Return the unbiased distribution function, which is kept for the next question."""
        if target not in self._cumulated:
            self._cumulated[target] = sums_up_to(self, self.scale, target)
        return self._cumulated[target]

    @cached_property
    def _cumulated(self) -> dict[Target, Sums]:
        return {}


def _is_shrunk(found: Estimate) -> bool:
    """Return whether shares were moved without regard to their order, which moves their mean."""
    if found.estimator != "shrinkage" and not any(n.startswith(NO_ORDER) for n in found.notes):
        return False
    return bool(abs(found.shares - found.unbiased).sum() > SHRUNK)
