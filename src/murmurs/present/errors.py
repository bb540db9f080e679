"""The plot of a study: errors against a parameter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from murmurs.numerics.arrays import Floats
from murmurs.present.axes import WIDE, axes_for, by_powers, entitle, name_places
from murmurs.present.palette import INK, SERIES
from murmurs.present.text import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ABOVE = 86
"""Characters that fit above the axes."""

_BESIDE = 10
"""The most names that stand side by side."""

_LINE = 0.22
"""The height of a line of the legend in inches."""

_APART = 0.1
"""How far the marks at one x lie apart, as a part of the way to the next x."""

_BARS = "± 2 standard errors"
"""What the bars are, said where the errors are named."""


def size_for(lines: int) -> tuple[float, float]:
    """Return the width and height in inches of a plot with a legend of so many lines."""
    return WIDE[0], max(WIDE[1], 1.0 + _LINE * lines)


def plot_errors(
    series: Mapping[str, Floats],
    groups: Mapping[str, str],
    names: tuple[str, str],
    title: str,
    axes: Axes | None = None,
) -> Axes:
    """Draw y with two standard errors against x on logarithmic axes, one line for each name.

    ``series`` has rows for x, y and the standard errors of y; ``names`` are those of the two axes.
    Lines of one of the ``groups`` have one colour and mark, and differ in their dashes. Marks at
    one x lie a little apart, so that no bar hides another. If there is only one x, the names stand
    side by side below the axes instead; many names, one below another.
    """
    ticks = sorted({float(value) for x, _, _ in series.values() for value in x})
    beside = len(ticks) == 1
    if beside and len(series) > _BESIDE:
        return _plot_below(series, groups, (f"{names[0]} {ticks[0]:,g}", names[1]), title, axes)
    axes = axes_for(axes, *(WIDE if beside else size_for(len(series))))
    several = list(dict.fromkeys(groups.values()))
    aside = _aside(ticks, len(series))
    drawn = dict.fromkeys(several, 0)
    for place, (name, (x, y, error)) in enumerate(series.items()):
        group = groups[name]
        number = several.index(group)
        colour, mark = SERIES[number % len(SERIES)]
        style = ("-", "--", ":", "-.")[(number // len(SERIES) + drawn[group]) % 4]
        drawn[group] += 1
        axes.errorbar(
            np.full(len(x), place) if beside else x * aside[place],
            y,
            2 * error,
            color=colour,
            marker=mark,
            linestyle=style,
            markersize=6,
            linewidth=1.6,
            label=printable(name),
        )
    by_powers(axes)
    if beside:
        name_places(axes, list(series))
        axes.set_xlim(-0.5, len(series) - 0.5)
    else:
        axes.set_xscale("log")
    if 1 < len(ticks) <= 12:
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.set_xticks([], minor=True)
    axes.set_xlabel(f"{names[0]} {ticks[0]:,g}" if beside else names[0])
    axes.set_ylabel(f"{names[1]}, {_BARS}")
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    for spine in axes.spines.values():
        spine.set_color(INK)
    if len(series) > 1 and not beside:
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False, borderaxespad=0)
    entitle(axes, title, _ABOVE)
    return axes


def _aside(ticks: list[float], lines: int) -> Floats:
    """Return the factors by which the lines are moved along a logarithmic axis."""
    gap = min(np.diff(np.log(ticks)), default=0.0)
    return np.exp(_APART * gap * (np.arange(lines) / max(lines - 1, 1) - 0.5 * (lines > 1)))


def _plot_below(
    series: Mapping[str, Floats],
    groups: Mapping[str, str],
    names: tuple[str, str],
    title: str,
    axes: Axes | None,
) -> Axes:
    """Draw one error for each name, the names one below another, and a line at the smallest."""
    axes = axes_for(axes, WIDE[0], 1.2 + 0.26 * len(series))
    several = list(dict.fromkeys(groups.values()))
    axes.axvline(min(float(y[0]) for _, y, _ in series.values()), color=INK, linestyle=":")
    for place, (name, (_, y, error)) in enumerate(series.items()):
        colour, mark = SERIES[several.index(groups[name]) % len(SERIES)]
        axes.errorbar(y, [place], xerr=2 * error, color=colour, marker=mark, markersize=6)
    axes.set_yticks(range(len(series)), [printable(name) for name in series], parse_math=False)
    axes.set_ylim(len(series) - 0.5, -0.5)
    axes.set_xlim(0)
    axes.set_xlabel(f"{names[1]} at {names[0]}, {_BARS}")
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    entitle(axes, title)
    return axes
