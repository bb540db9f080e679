"""The plot of a trend: shares over several periods or groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from murmurs.numerics.arrays import Floats
from murmurs.present.axes import WIDE, axes_for, entitle, name_places, wrapped
from murmurs.present.palette import GREY, SERIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINE = 0.052
"""The height of a line of text, as a part of the height of the axes."""


def plot_periods(
    answers: Sequence[str],
    periods: Sequence[str],
    values: tuple[Floats, Floats, Floats],
    heading: str,
    title: str,
    axes: Axes | None = None,
    *,
    joined: bool = True,
) -> Axes:
    """Draw the shares of each answer over the periods; return the axes.

    ``values`` are shares and their limits, one row per answer, those to be coloured first. With
    ``joined`` they are lines with bands, otherwise marks side by side with intervals.
    """
    axes = axes_for(axes, *WIDE)
    share, low, high = (100 * rows for rows in values)
    places = np.arange(len(periods), dtype=np.float64)
    coloured = min(len(answers), len(SERIES))
    for row in range(coloured, len(answers)):
        faint: dict[str, Any] = {"linewidth": 0.8} if joined else {"marker": ".", "linestyle": ""}
        axes.plot(places, share[row], color=GREY, alpha=0.6, zorder=1, clip_on=False, **faint)
    for row, (colour, mark) in enumerate(SERIES[:coloured]):
        style: dict[str, Any] = {"color": colour, "marker": mark, "markersize": 6, "zorder": 3}
        style["clip_on"] = False  # a mark at zero is whole
        if joined:
            axes.fill_between(places, low[row], high[row], color=colour, alpha=0.15, linewidth=0)
            axes.plot(places, share[row], linewidth=1.8, **style)
        else:
            beside = places + 0.6 * ((row + 0.5) / coloured - 0.5)
            axes.vlines(beside, low[row], high[row], color=colour, linewidth=1.6)
            axes.plot(beside, share[row], linestyle="none", **style)
    name_places(axes, periods)
    edge = 0.04 * (len(periods) - 1) if joined else 0.5
    axes.set_xlim(-edge, len(periods) - 1 + edge)
    lowest, highest = min(0.0, float(share.min())), float(max(high[:coloured].max(), share.max()))
    axes.set_ylim(lowest, 1.05 * max(highest, 1e-9))
    axes.set_ylabel(f"share of answers, %, with {heading}")
    _label_ends(axes, answers[:coloured], share[:coloured, -1], len(answers) - coloured)
    axes.spines[["top", "right"]].set_visible(False)
    entitle(axes, title)
    return axes


def _label_ends(axes: Axes, answers: Sequence[str], ends: Floats, in_grey: int) -> None:
    """Write each answer to the right of its line, moved apart where lines end close together."""
    bottom, top = axes.get_ylim()
    texts = [wrapped(answer, 26, most=2) for answer in answers]
    heights = np.array([_LINE * (text.count("\n") + 1) for text in texts])
    places = spread((ends - bottom) / (top - bottom), heights)
    for text, end, place, (colour, mark) in zip(texts, ends, places, SERIES, strict=False):
        at = (float(end) - bottom) / (top - bottom)
        axes.plot(
            [1.0, 1.025, 1.045],
            [at, place, place],
            transform=axes.transAxes,
            color=colour,
            marker=mark,
            markevery=[2],
            markersize=5,
            linewidth=0.8,
            clip_on=False,
        )
        axes.annotate(
            text, (1.065, float(place)), xycoords="axes fraction", va="center", parse_math=False
        )
    if in_grey:
        note = f"grey: {in_grey} more"
        axes.annotate(note, (1.065, 1.03), xycoords="axes fraction", color="#666666")


def spread(wanted: Floats, heights: Floats) -> Floats:
    """Return places near the wanted ones, such that texts of these heights do not overlap.

    >>> spread(np.array([0.5, 0.5, 0.9]), np.array([0.1, 0.1, 0.1])).round(2).tolist()
    [0.55, 0.45, 0.9]
    """
    groups: list[tuple[list[int], float]] = []  # rows from top to bottom, and their middle
    for row in np.argsort(-wanted, kind="stable").tolist():
        groups.append(([row], _middle([row], wanted, heights)))
        while len(groups) > 1 and _overlap(groups[-2], groups[-1], heights):
            below, above = groups.pop()[0], groups.pop()[0]
            groups.append((above + below, _middle(above + below, wanted, heights)))
    places = np.empty(len(wanted))
    for rows, middle in groups:
        bottoms = middle + heights[rows].sum() / 2 - np.cumsum(heights[rows])
        places[rows] = bottoms + heights[rows] / 2
    return places


def _middle(rows: list[int], wanted: Floats, heights: Floats) -> float:
    """Return the middle of texts below each other, within the axes if they are not too many."""
    half = float(heights[rows].sum()) / 2
    return max(half - 0.02, min(float(wanted[rows].mean()), 1.02 - half))


def _overlap(
    above: tuple[list[int], float], below: tuple[list[int], float], heights: Floats
) -> bool:
    return above[1] - below[1] < float(heights[above[0] + below[0]].sum()) / 2
