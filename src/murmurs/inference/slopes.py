"""Slopes of shares: how much each share grows per period, and tests of a straight change.

A change that goes on in one direction is found more often by its slope than by the overall test,
which looks in all directions. Periods have the same weights for all answers, so that the slopes of
all answers together are one sum of unbiased shares, whose covariance is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from murmurs.inference.comparable import Comparable, common_shares
from murmurs.inference.contrasts import slope_weights
from murmurs.inference.difference import squared_distance
from murmurs.inference.fit import Target
from murmurs.numerics.arrays import Floats, Integers
from murmurs.numerics.special import chi_square_tail, normal_tail

_NO_NOISE = 1e-13


@dataclass(frozen=True, eq=False)
class Slopes:
    """How much the share of each answer grows per period."""

    sides: Sequence[Comparable]
    places: Floats
    target: Target
    weights: Floats
    """What each period adds to a slope."""
    values: Floats
    """The slopes of the unbiased shares."""
    p_values: Floats
    """The p-values of the hypotheses that each slope is zero."""

    def interval(self, level: float) -> Floats:
        """Return lower and upper limits of the slopes, combined from the limits of all shares."""
        down, up = np.zeros_like(self.values), np.zeros_like(self.values)
        for weight, side in zip(self.weights, self.sides, strict=True):
            limits = side.score_interval(level, self.target)
            away = side.fit.unbiased - limits[:, 0], limits[:, 1] - side.fit.unbiased
            below, above = away if weight > 0 else away[::-1]
            down, up = np.hypot(down, weight * below), np.hypot(up, weight * above)
        return np.stack([self.values - down, self.values + up])

    def columns(self, rows: Integers, level: float) -> tuple[Floats, Floats, Floats, Floats]:
        """Return slopes of some answers, their lower and upper limits, and their p-values."""
        low, high = self.interval(level)[:, rows]
        return self.values[rows], low, high, self.p_values[rows]

    def to_document(self, rows: Integers, level: float) -> dict[str, Any]:
        """Return the slopes of answers in this order as plain values for JSON."""
        names = ("values", "low", "high", "p_values")
        columns = zip(names, self.columns(rows, level), strict=True)
        return {"p_value": self.p_value, **{name: column.tolist() for name, column in columns}}

    @cached_property
    def p_value(self) -> float:
        """The p-value of the hypothesis that no share has a slope.

        With at most some thousands of answers it uses the full covariance, as the overall test.
        """
        fits = [side.fit for side in self.sides]
        if not all(fit.has_covariance for fit in fits):
            return float(min(1.0, len(self.values) * self.p_values.min()))
        common = common_shares(self.sides)
        covariance = sum(
            weight**2 * fit.covariance_of(common, self.target)
            for weight, fit in zip(self.weights, fits, strict=True)
        )
        statistic, freedom, _ = squared_distance(self.values, np.asarray(covariance))
        return chi_square_tail(statistic, freedom)


def slopes_of(sides: Sequence[Comparable], places: Floats, target: Target) -> Slopes:
    """Return the slopes of all shares over periods at these places."""
    common = common_shares(sides)
    errors = np.stack([side.standard_errors(target, common) for side in sides])
    weights = slope_weights(places, np.maximum((errors**2).mean(axis=1), _NO_NOISE**2))
    values = weights @ np.stack([side.fit.unbiased for side in sides])
    error = np.sqrt((weights[:, None] ** 2 * errors**2).sum(axis=0))
    p_values = 2 * normal_tail(np.abs(values) / np.maximum(error, _NO_NOISE))
    return Slopes(sides, places, target, weights, values, p_values)
