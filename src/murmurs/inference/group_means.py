"""Means of numbers by group: of one question's numbers, among people with each other answer.

The mean of a group is a ratio of two unbiased sums, what its people add up to and how many they
are. Its limits are the means m for which the first sum minus m times the second is within its noise
of zero (Fieller 1954); they are those of the scale where a group is too small to be seen.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from murmurs.boundary.checks import shown
from murmurs.boundary.texts import listed
from murmurs.inference.fit import Target
from murmurs.inference.joint_table import JointTable
from murmurs.inference.numbers import checked_level
from murmurs.inference.statistic import Statistic, p_said
from murmurs.numerics.arrays import Floats
from murmurs.numerics.special import chi_square_tail, normal_quantile
from murmurs.present import frames
from murmurs.present.layout import fold
from murmurs.present.text import printable, table
from murmurs.scales import figures
from murmurs.scales.scale import Scale

UNSEEN = "too few people are in {} to tell their mean, so its interval is the whole scale"
"""The note on groups whose number of people is lost in the noise."""

_NO_NOISE = 1e-24


@dataclass(frozen=True, eq=False)
class GroupMeans(frames.Tabular):
    """The mean of each group, with its limits, and a test whether all means are equal.

    ``totals`` and ``people`` are the unbiased sums of the groups per person, and ``noise`` is their
    covariance, totals first.
    """

    names: tuple[str, ...]
    values: Floats
    low: Floats
    high: Floats
    totals: Floats
    people: Floats
    noise: Floats
    scale: Scale
    title: str = ""
    level: float = 0.95
    target: Target = "population"
    notes: tuple[str, ...] = ()

    @property
    def p_value(self) -> float:
        """The p-value of the hypothesis that all groups have the same mean."""
        return self._equal(np.arange(len(self.names)))

    def _equal(self, groups: Any) -> float:
        """Return the p-value for some groups: the least distance from a common mean."""
        both = np.concatenate([groups, groups + len(self.names)])
        noise = self.noise[np.ix_(both, both)]
        totals, people, count = self.totals[groups], self.people[groups], len(groups)

        def distances(means: Floats) -> Floats:
            rest = totals - means[:, None] * people
            one = means[:, None, None]
            cross = noise[:count, count:] + noise[count:, :count]
            own = noise[:count, :count] - one * cross + one**2 * noise[count:, count:]
            own = own + _NO_NOISE * np.eye(count)
            return np.asarray((rest * np.linalg.solve(own, rest[..., None])[..., 0]).sum(axis=1))

        low, high = float(self.scale.middles.min()), float(self.scale.middles.max())
        least = math.inf
        for _ in range(8):  # each time around the best of the last one
            means = np.linspace(low, high, 33)
            found = distances(means)
            best, step = int(found.argmin()), means[1] - means[0]
            least = min(least, float(found[best]))
            low, high = float(means[best] - step), float(means[best] + step)
        return chi_square_tail(least, count - 1)

    def difference(self, one: str, other: str) -> Statistic:
        """Return the mean of one group minus that of another, with an interval and a p-value."""
        i, j = self._place(one), self._place(other)
        if i == j:
            raise ValueError(f"a difference is of two groups, not of {shown(one)} twice")
        pair, count = np.array([i, j]), len(self.names)
        means = self.totals[pair] / self.people[pair]
        rows = np.zeros((2, 2 * count))
        rows[[0, 1], pair], rows[[0, 1], pair + count] = 1, -means
        noise = rows @ self.noise @ rows.T
        lean = noise[0, 1] / max(math.sqrt(noise[0, 0] * noise[1, 1]), _NO_NOISE)
        below, above = (
            np.maximum(means - self.low[pair], 0.0),
            np.maximum(self.high[pair] - means, 0.0),
        )
        value = float(means[0] - means[1])
        down = _together(below[0], above[1], lean)
        up = _together(above[0], below[1], lean)
        return Statistic(
            f"mean, {printable(one)} minus {printable(other)}:",
            value,
            value - down,
            value + up,
            self.level,
            self.target,
            p_value=self._equal(pair),
            scale=self.scale,
            notes=self.notes,
            unbiased=value,
            is_change=True,
        )

    def _place(self, name: str) -> int:
        if name not in self.names:
            raise ValueError(f"there is no group {shown(name)}; there are {listed(self.names)}")
        return self.names.index(name)

    @property
    def statistics(self) -> tuple[Statistic, ...]:
        """The mean of each group."""
        return tuple(
            Statistic(name, value, low, high, self.level, self.target, scale=self.scale)
            for name, value, low, high in zip(
                self.names, self.values.tolist(), self.low.tolist(), self.high.tolist(), strict=True
            )
        )

    @property
    def conclusion(self) -> str:
        """What the test says, in one sentence."""
        return f"Test that all {len(self.names)} means are equal: {p_said(self.p_value)}."

    def columns(self) -> dict[str, Any]:
        """Return the columns group, mean, low and high."""
        return {
            "group": list(self.names),
            "mean": self.values,
            "low": self.low,
            "high": self.high,
        }

    def table(self) -> str:
        """Return the table for the terminal, a row for each group."""
        found = self.statistics
        digits, unit = max(one.digits for one in found), found[0].unit
        rows = [
            [
                printable(one.name),
                f"{one.shown(one.value, digits)} {unit}".strip(),
                f"{one.shown(one.low, digits)} … {one.shown(one.high, digits)}",
            ]
            for one in found
        ]
        return table(["group", "mean", f"{100 * self.level:g} % interval"], rows)

    def to_document(self) -> dict[str, Any]:
        """Return the means as plain values for JSON."""
        columns = {name: np.asarray(own).tolist() for name, own in self.columns().items()}
        return {
            "title": self.title,
            "level": self.level,
            "target": self.target,
            "notes": list(self.notes),
            "p_value": self.p_value,
            **columns,
        }

    def to_json(self) -> str:
        """Return the means as a JSON document."""
        return json.dumps(self.to_document(), ensure_ascii=False)

    def __str__(self) -> str:
        notes = "".join(f"\nNote: {note}." for note in self.notes)
        return f"{self.table()}\n\n{fold(self.conclusion + notes)}"


def _together(one: float, other: float, lean: float) -> float:
    """Return the distance of a difference from a limit, from those of two correlated values."""
    return math.sqrt(max(one**2 + other**2 - 2 * lean * one * other, 0.0))


def group_means(
    found: JointTable, shares: Floats, scale: Scale, level: float, title: str = ""
) -> GroupMeans:
    """Return the mean of the numbers in rows among the people of each column.

    ``shares`` are those of an estimator: a mean is that of these shares, moved to within a standard
    error of the unbiased mean if need be.
    """
    level, own = checked_level(level), found.adding_up
    weights = figures.mean(scale).weights
    groups = len(own.columns)
    totals, people = weights @ own.shares, own.shares.sum(axis=0)
    rows = np.stack([weights, np.ones_like(weights)])
    noise = np.einsum("ai,ijkl,bk->ajbl", rows, own.covariance, rows, optimize=True)
    noise = noise.reshape(2 * groups, 2 * groups)
    least, most = float(weights.min()), float(weights.max())
    z, limits, values, unseen = normal_quantile(0.5 + level / 2), [], [], []
    estimated = weights @ shares / np.maximum(shares.sum(axis=0), 1e-300)
    for j, name in enumerate(own.columns):
        at = np.ix_([j, j + groups], [j, j + groups])
        low, high, error = _fieller(float(totals[j]), float(people[j]), noise[at], z)
        value = float(np.clip(estimated[j], least, most))
        if math.isinf(low):
            unseen.append(name)
            low, high = least, most
        else:
            middle = float(totals[j] / people[j])
            value = min(max(value, middle - error), middle + error)
        low, high, value = (min(max(x, least), most) for x in (low, high, value))
        limits.append((min(low, value), max(high, value)))
        values.append(value)
    notes = (UNSEEN.format(listed(tuple(unseen))),) if unseen else ()
    target: Target = "population" if own.sampled else "respondents"
    low_limits, high_limits = np.array(limits).T
    return GroupMeans(
        own.columns,
        np.array(values),
        low_limits,
        high_limits,
        totals,
        people,
        noise,
        scale,
        title,
        level,
        target,
        notes + figures.mean(scale).notes,
    )


def _fieller(total: float, people: float, noise: Floats, z: float) -> tuple[float, float, float]:
    """Return the limits of total / people, and its standard error; infinite if people may be 0."""
    square = people**2 - z**2 * float(noise[1, 1])
    if people <= 0 or square <= 0:
        return -math.inf, math.inf, math.inf
    middle = total * people - z**2 * float(noise[0, 1])
    root = math.sqrt(max(middle**2 - square * (total**2 - z**2 * float(noise[0, 0])), 0.0))
    mean = total / people
    slope = np.array([1.0, -mean])
    error = math.sqrt(max(float(slope @ noise @ slope), 0.0)) / people
    return (middle - root) / square, (middle + root) / square, error
