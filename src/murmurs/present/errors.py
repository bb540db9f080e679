"""The plot of a study: errors against a parameter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from murmurs.numerics.arrays import Floats
from murmurs.present.axes import (
    WIDE,
    axes_for,
    by_powers,
    entitle,
    label_style,
    panels,
    wrapped,
)
from murmurs.present.glyphs import drawable
from murmurs.present.marks import quieten
from murmurs.present.palette import GREY, QUIET, SERIES
from murmurs.present.text import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ABOVE = 86
"""Characters that fit above the axes."""

_LINES = len(SERIES)
"""The most lines that share axes."""

_ROW = 0.25
"""The height of a row in inches."""

_APART = 0.1
"""How far the marks at one x lie apart, as a part of the way to the next x."""

_BARS = "± 2 standard errors"
"""What the bars are, said where the errors are named."""


def size_for(lines: int, ticks: int, groups: int) -> tuple[float, float]:
    """Return the width and height in inches of a plot of so many lines, places and groups."""
    if ticks == 1:
        return WIDE[0], 1.2 + _ROW * (lines + 0.6 * groups)
    if lines <= _LINES:
        return WIDE
    return WIDE[0], 1.4 + 2.1 * -(-groups // _across(groups))


def plot_errors(
    series: Mapping[str, Floats],
    groups: Mapping[str, str],
    names: tuple[str, str],
    title: str,
    axes: Axes | None = None,
) -> Axes:
    """Draw y with two standard errors against x on logarithmic axes, one line for each name.

    ``series`` has rows for x, y and the standard errors of y; ``names`` are those of the two axes,
    and ``groups`` those that series belong to. Up to eight lines share the axes. More of them are
    in panels, one for each group, with all others in grey. If there is only one x, each name has a
    row instead.
    """
    ticks = sorted({float(value) for x, _, _ in series.values() for value in x})
    several = list(dict.fromkeys(groups.values()))
    axes = axes_for(axes, *size_for(len(series), len(ticks), len(several)))
    if len(ticks) == 1:
        _plot_rows(axes, series, groups, (f"{names[0]} {ticks[0]:,g}", names[1]))
        entitle(axes, title)
        return axes
    if len(series) <= _LINES:
        _plot_lines(axes, series, ticks)
        axes.set_xlabel(names[0])
        axes.set_ylabel(f"{names[1]}, {_BARS}")
        if len(series) > 1:
            axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False, borderaxespad=0)
        entitle(axes, title, _ABOVE)
        return axes
    kinds = list(dict.fromkeys(_kind(name, groups[name]) for name in series))
    small = panels(axes, len(several), _across(len(several)))
    for group, panel in zip(several, small, strict=True):
        own = {_kind(n, group): values for n, values in series.items() if groups[n] == group}
        for name, (x, y, _) in series.items():
            if groups[name] != group:
                panel.plot(x, y, color=GREY, linewidth=0.5, zorder=1)
        _plot_lines(panel, own, ticks, kinds)
        panel.set_title(
            wrapped(group, 24, 1), loc="left", fontsize="medium", fontweight="bold", **label_style()
        )
        first = several.index(group) % _across(len(several)) == 0
        panel.tick_params(labelsize="small", labelleft=first)
    _share_limits(small)
    handles, labels = _keys(small, kinds)
    axes.legend(
        handles,
        labels,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.02),
        ncols=min(len(kinds), 4),
        frameon=False,
        title=f"{names[1]}, {_BARS}, against {names[0]}; grey: all others",
        title_fontsize="small",
    )
    entitle(axes, title, _ABOVE)
    return axes


def _across(groups: int) -> int:
    return 3 if groups in (3, 5, 6, 9) else min(groups, 4)


def _kind(name: str, group: str) -> str:
    """Return what a series is called within its group."""
    return name.removeprefix(group).removeprefix(", ") or name


def _plot_lines(
    axes: Axes,
    series: Mapping[str, Floats],
    ticks: list[float],
    kinds: list[str] | None = None,
) -> None:
    """Draw lines with bars in the colours and marks of their kinds, a little apart."""
    aside = _aside(ticks, len(series))
    for place, (name, (x, y, error)) in enumerate(series.items()):
        number = place if kinds is None else kinds.index(name)
        colour, mark = SERIES[number % len(SERIES)]
        axes.errorbar(
            x * aside[place],
            y,
            2 * error,
            color=colour,
            marker=mark,
            linestyle=("-", "--", ":", "-.")[number // len(SERIES) % 4],
            markersize=6 if kinds is None else 4,
            linewidth=1.6 if kinds is None else 1.2,
            label=drawable(printable(name)),
            zorder=3,
        )
    by_powers(axes)
    axes.set_xscale("log")
    if len(ticks) <= 12:
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.set_xticks([], minor=True)
    quieten(axes, grid="both")


def _share_limits(small: list[Axes]) -> None:
    """Give all panels the limits that hold what is in any of them."""
    low, high = zip(*(panel.get_ylim() for panel in small), strict=True)
    for panel in small:
        panel.set_ylim(min(low), max(high))


def _keys(small: list[Axes], kinds: list[str]) -> tuple[list[Any], list[str]]:
    """Return a line for each kind, from the first panel that has it."""
    found: dict[str, Any] = {}
    for panel in small:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    shown = [drawable(printable(kind)) for kind in kinds]
    return [found[label] for label in shown], shown


def _aside(ticks: list[float], lines: int) -> Floats:
    """Return the factors by which the lines are moved along a logarithmic axis."""
    gap = min(np.diff(np.log(ticks)), default=0.0)
    return np.exp(_APART * gap * (np.arange(lines) / max(lines - 1, 1) - 0.5 * (lines > 1)))


def _plot_rows(
    axes: Axes,
    series: Mapping[str, Floats],
    groups: Mapping[str, str],
    names: tuple[str, str],
) -> None:
    """Draw one error for each name, in rows by group, and a line at the smallest."""
    several = list(dict.fromkeys(groups.values()))
    kinds = list(dict.fromkeys(_kind(name, groups[name]) for name in series))
    single = len(several) == len(series)
    axes.axvline(min(float(y[0]) for _, y, _ in series.values()), color=QUIET, linestyle=":")
    places: list[float] = []
    labels: list[str] = []
    at = 0.0
    for group in several:
        own = [name for name in series if groups[name] == group]
        for number, name in enumerate(own):
            _, y, error = series[name]
            kind = _kind(name, group)
            colour, mark = SERIES[0 if single else kinds.index(kind) % len(SERIES)]
            axes.errorbar(y, [at], xerr=2 * error, color=colour, marker=mark, markersize=6)
            labels.append(name if single or number == 0 else kind)
            places.append(at)
            at += 1
        at += 0.0 if single else 0.6
    axes.set_yticks(places, [drawable(printable(name)) for name in labels], **label_style())
    axes.set_ylim(places[-1] + 0.6, -0.6)
    axes.set_xlim(0)
    axes.set_xlabel(f"{names[1]} at {names[0]}, {_BARS}", color=QUIET)
    quieten(axes)
