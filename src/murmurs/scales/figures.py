"""Figures: what is added up over the buckets of a scale for a mean, a range, or the top boxes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from murmurs.boundary.checks import real, shown, whole
from murmurs.numerics.arrays import Floats
from murmurs.scales.scale import Scale
from murmurs.scales.values import number_of

OPEN_ENDED = (
    "how far out people in an open-ended bucket are is unknown: the mean takes them to be near it"
)
"""The note on a mean over buckets without an end."""


@dataclass(frozen=True, eq=False)
class Figure:
    """A weighted sum of the shares of buckets: a share of people, or a number on the scale."""

    name: str
    weights: Floats
    is_share: bool
    notes: tuple[str, ...] = ()

    @property
    def ends(self) -> tuple[float, float]:
        """The smallest and the largest value that it can have."""
        return float(self.weights.min()), float(self.weights.max())


@dataclass(frozen=True)
class Quantile:
    """The number that a part of all people do not exceed."""

    part: float
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What tables call it."""
        return "median" if self.part == 0.5 else f"{100 * self.part:g} % quantile"


def mean(scale: Scale) -> Figure:
    """Return the mean; people in a bucket count with its middle, labels with their scores."""
    _refuse_circular(scale, "a mean", "circular_mean()")
    return Figure("mean", scale.middles, False, (OPEN_ENDED,) if scale.is_open_ended else ())


def quantile(scale: Scale, part: float = 0.5) -> Quantile:
    """Return the quantile of this part of people, by default the median."""
    _refuse_circular(scale, "a quantile")
    return Quantile(real(part, "the part of people", 1e-9, 1 - 1e-9))


def between(scale: Scale, low: Any, high: Any) -> Figure:
    """Return the share from ``low`` up to, but not including, ``high``, both edges of buckets.

    On a circular scale, from 22 up to 6 goes past midnight.
    """
    start, end = _value(scale, low), _value(scale, high)
    first, last = _edge(scale, start, low), _edge(scale, end, high)
    members = np.zeros(scale.k)
    if first < last:
        members[first:last] = 1
    elif scale.circular and first > last:
        members[first:], members[:last] = 1, 1
    if not members.any():
        raise ValueError(f"there is nothing from {shown(low)} up to {shown(high)}")
    return Figure(f"share from {_named(scale, start)} up to {_named(scale, end)}", members, True)


def above(scale: Scale, low: Any) -> Figure:
    """Return the share from ``low`` on, which must be the edge of a bucket."""
    _refuse_circular(scale, "a share above a number")
    start, members = _value(scale, low), np.zeros(scale.k)
    members[_edge(scale, start, low) :] = 1
    if not members.any():
        raise ValueError(f"no bucket begins at {shown(low)}, the end of the last one")
    return Figure(f"share from {_named(scale, start)} on", members, True)


def top(scale: Scale, many: int = 2) -> Figure:
    """Return the share in so many of the highest buckets, such as the top two boxes."""
    _refuse_circular(scale, "a top")
    members = np.zeros(scale.k)
    members[-whole(many, "the number of buckets", 1, scale.k - 1) :] = 1
    return Figure(f"share of the top {many}", members, True)


def up_to_each(scale: Scale) -> Floats:
    """Return the weights of the distribution function: a row for each bucket but the last."""
    _refuse_circular(scale, "a distribution function")
    return np.tri(scale.k - 1, scale.k)


def around(scale: Scale) -> tuple[Floats, float]:
    """Return the angle of the middle of each bucket of a circular scale, and its length."""
    if not scale.circular:
        raise ValueError("the scale is not circular: ask for its mean()")
    start, length = _circle(scale)
    return 2 * np.pi * (scale.middles - start) / length, length


def _circle(scale: Scale) -> tuple[float, float]:
    """Return where a circle begins, and how long it is; labels are one step apart."""
    low = float(scale.low[0])
    if scale.kind == "scores":
        steps = np.diff(scale.edges)
        return low, float(scale.edges[-1] - low + (steps.mean() if len(steps) else 1.0))
    return low, float(scale.edges[-1]) - low


def at_angle(scale: Scale, angle: float) -> float:
    """Return the number on a circular scale at this angle."""
    start, length = _circle(scale)
    return start + (angle / (2 * math.pi)) % 1.0 * length


def _value(scale: Scale, number: Any) -> float:
    if isinstance(number, float) and math.isinf(number):
        return number
    found = number_of(number, scale.kind)
    if found is None:
        raise TypeError(f"{shown(number)} is not a number on this scale: {scale.rule()}")
    return found


def _named(scale: Scale, number: float) -> str:
    return f"{scale.grouped(number)} {scale.unit}".rstrip()


def _edge(scale: Scale, value: float, given: Any) -> int:
    """Return the number of the bucket that begins here; k for the end of the last one."""
    edges = np.array(scale.edges)
    place = int(np.searchsorted(edges, value))
    if place < len(edges) and edges[place] == value:
        return min(place, scale.k)
    if not edges[0] < value < edges[-1]:
        ends = f"{scale.text(edges[0])} to {scale.text(edges[-1])}"
        raise ValueError(f"{shown(given)} is outside of the survey's range, {ends}")
    near = [scale.text(edges[i]) for i in (place - 1, place)]
    if scale.kind == "scores":
        raise ValueError(f"{shown(given)} is no score: ask for {near[0]} or {near[1]}")
    raise ValueError(
        f"{shown(given)} is inside a bucket, and nothing is known about parts of it: ask for "
        f"{near[0]} or {near[1]}"
    )


def _refuse_circular(scale: Scale, what: str, way: str = "a share, as between(22, 6)") -> None:
    if scale.circular:
        raise ValueError(
            f"a circular scale has no first and no last bucket, so it has no {what[2:]}: ask "
            f"for {way}"
        )
