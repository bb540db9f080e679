"""The plot of a trend: one small panel for each answer, over several periods or groups."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np

from murmurs.boundary.texts import numbered
from murmurs.numerics.arrays import Floats
from murmurs.present.axes import axes_for, entitle, label_style, panels, wrapped
from murmurs.present.marks import draw_band, draw_intervals, quieten
from murmurs.present.palette import DATA, GREY, INK, QUIET
from murmurs.present.text import p_text, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PANELS = 12
"""The most answers that have a panel; others are only among the grey lines."""

_LABEL = 22
"""Characters on a line of an answer above its panel."""


def size_for(answers: int, groups: int = 0) -> tuple[float, float]:
    """Return the width and height in inches of a plot of so many answers, of groups if any."""
    rows = -(-min(answers, PANELS) // across(min(answers, PANELS)))
    return 8.0, 0.8 + rows * (1.75 if groups == 0 else 0.75 + 0.24 * groups)


def across(count: int) -> int:
    """Return how many of so many panels stand side by side.

    >>> [across(count) for count in (1, 2, 4, 5, 6, 7, 12)]
    [1, 2, 4, 3, 3, 4, 4]
    """
    return 3 if count in (5, 6, 9) else min(count, 4)


def plot_periods(
    answers: Sequence[str],
    periods: Sequence[str],
    values: tuple[Floats, Floats, Floats],
    p_values: Floats,
    heading: str,
    title: str,
    axes: Axes | None = None,
    *,
    digits: int = 1,
    joined: bool = True,
) -> Axes:
    """Draw a panel for each answer, at most twelve; return the axes around them.

    ``values`` are shares and their limits, one row per answer, those with a panel first. With
    ``joined`` a panel has a line with a band, and the other answers in grey; otherwise a row with
    the interval of each group.
    """
    axes = axes_for(axes, *size_for(len(answers), 0 if joined else len(periods)))
    share, low, high = (100 * rows for rows in values)
    count = min(len(answers), PANELS)
    more = f" {numbered(len(answers) - count, 'more answer')} only in grey." if joined else ""
    entitle(axes, title + (more if len(answers) > count else ""), 90)
    top = (1.2 if joined else 1.45) * float(max(high[:count].max(), share.max(), 1e-9))
    least = min(0.0, float(share.min()))
    for row, panel in enumerate(panels(axes, count, across(count))):
        label = wrapped(answers[row], _LABEL, most=1)
        panel.set_title(
            label, loc="left", fontsize="medium", fontweight="bold", pad=18, **label_style()
        )
        panel.annotate(
            _p(float(p_values[row])),
            (0, 1),
            (0, 5),
            xycoords="axes fraction",
            textcoords="offset points",
            fontsize="small",
            color=QUIET,
        )
        first = row % across(count) == 0
        limits = (low[row], high[row])
        if joined:
            _draw_line(panel, periods, share, row, limits, digits)
            panel.set_ylim(least, top)
            panel.tick_params(labelleft=first)
            panel.yaxis.set_major_formatter("{x:g} %")
        else:
            _draw_groups(panel, periods if first else [], share[row], limits, digits)
            panel.set_xlim(least, top)
    where = "line" if joined else "tick"
    told = f"{where}: share of answers; band: {heading}{'; grey: the other answers' * joined}"
    axes.text(0, 0, told, transform=axes.transAxes, va="top", color=QUIET, fontsize="small")
    return axes


def _p(p_value: float) -> str:
    return f"p {'' if p_value < 1e-6 else '= '}{p_text(p_value)}"


def _draw_line(
    panel: Axes,
    periods: Sequence[str],
    share: Floats,
    row: int,
    limits: tuple[Floats, Floats],
    digits: int,
) -> None:
    """Draw the shares of one answer over time, with the others behind it."""
    from matplotlib.patheffects import withStroke

    quieten(panel, grid="y")
    x = places_of(periods)
    for other in range(len(share)):
        if other != row:
            panel.plot(*with_gaps(x, share[other]), color=GREY, linewidth=0.7, zorder=1)
    at, own, low, high = with_gaps(x, share[row], *limits)
    draw_band(panel, at, own, (low, high))
    alone = _alone(own)
    if alone.any():
        panel.plot(at[alone], own[alone], "o", color=DATA, markersize=3, zorder=3, clip_on=False)
    for place, side, weight in ((0, "left", "normal"), (-1, "right", "bold")):
        panel.plot(x[place], share[row][place], "o", color=DATA, markersize=4, clip_on=False)
        panel.annotate(
            percent(float(share[row][place]) / 100, digits),
            (float(x[place]), float(limits[1][place])),
            (0, 3),
            textcoords="offset points",
            ha=side,
            fontsize="small",
            fontweight=weight,
            color=INK,
            path_effects=[withStroke(linewidth=2.5, foreground="white")],
            zorder=5,
        )
    names = [wrapped(periods[place], 12, most=1) for place in (0, -1)]
    panel.set_xticks([x[0], x[-1]], names, fontsize="small", color=QUIET, **label_style())
    left, right = panel.get_xticklabels()
    left.set_horizontalalignment("left")
    right.set_horizontalalignment("right")
    edge = 0.03 * float(x[-1] - x[0])
    panel.set_xlim(float(x[0]) - edge, float(x[-1]) + edge)


def _draw_groups(
    panel: Axes,
    groups: Sequence[str],
    share: Floats,
    limits: tuple[Floats, Floats],
    digits: int,
) -> None:
    """Draw the share of one answer in each group, in rows."""
    quieten(panel)
    places = np.arange(len(share), dtype=np.float64)
    draw_intervals(panel, places, share, limits, np.ones(len(share), np.bool_), stems=True)
    panel.axvline(0, color=INK, linewidth=0.8)
    for place, value, end in zip(places, share, limits[1], strict=True):
        text = percent(float(value) / 100, digits)
        beside: dict[str, Any] = {
            "textcoords": "offset points",
            "va": "center",
            "fontsize": "small",
        }
        panel.annotate(text, (float(max(end, value)), float(place)), (4, 0), color=INK, **beside)
    names = [wrapped(group, 14, most=1) for group in groups] or [""] * len(share)
    panel.set_yticks(places, names, **label_style())
    panel.set_ylim(len(share) - 0.4, -0.6)
    panel.tick_params(axis="x", labelsize="small")


def places_of(periods: Sequence[str]) -> Floats:
    """Return where periods are on the axis: dates, weeks, months and numbers by what they say.

    So a period that is missing leaves a gap. Other names are one step apart.

    >>> places_of(["week 9", "week 10", "week 12"]).tolist()
    [9.0, 10.0, 12.0]
    >>> places_of(["2026-W52", "2026-W53", "2027-W02"]).tolist()
    [0.0, 1.0, 3.0]
    >>> places_of(["May", "June"]).tolist()
    [0.0, 1.0]
    """
    found = _numbers(periods)
    if found is None or (np.diff(found) <= 0).any():
        return np.arange(len(periods), dtype=np.float64)
    return found


def _numbers(periods: Sequence[str]) -> Floats | None:
    months = [re.fullmatch(r"(\d{4})-(\d\d)", name) for name in periods]
    if all(months):
        return np.array([12.0 * int(m[1]) + int(m[2]) for m in months if m])
    try:
        days = np.array([float(date.fromisoformat(name).toordinal()) for name in periods])
    except ValueError:
        numbers = [re.fullmatch(r"(\D*)(\d{1,9})", name) for name in periods]
        if all(numbers) and len({m[1] for m in numbers if m}) == 1:
            return np.array([float(m[2]) for m in numbers if m])
        return None
    return np.asarray((days - days[0]) / max(float(np.diff(days).min()), 1.0))


def with_gaps(x: Floats, *values: Floats) -> tuple[Floats, ...]:
    """Return places and values with nan between periods that are not neighbours.

    >>> with_gaps(np.array([1.0, 2.0, 4.0]), np.array([10.0, 20.0, 30.0]))[1].tolist()
    [10.0, 20.0, nan, 30.0]
    """
    steps = np.diff(x)
    wide = np.flatnonzero(steps > 1.5 * steps.min()) + 1
    return tuple(np.insert(own, wide, np.nan) for own in (x, *values))


def _alone(values: Floats) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return which values have a gap on both sides: a line would not show them."""
    empty = np.isnan(np.concatenate([[np.nan], values, [np.nan]]))
    return np.asarray(~empty[1:-1] & empty[:-2] & empty[2:], np.bool_)
