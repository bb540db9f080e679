"""How a share or a change is drawn with its interval: the one place for all plots.

A share is a pale stem from zero, its interval a solid band, and the estimate a dark tick: the
interval is the strongest mark. What the data do not show (an answer that was not detected, a change
whose interval contains zero) has no stem, and its band is an outline.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from murmurs.numerics.arrays import Floats
from murmurs.present.palette import DATA, INK, LINE, QUIET, SECOND, STEM

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STEM, _BAND, _TICK = 0.52, 0.26, 0.44
"""Heights of stem, band and tick, as parts of a row."""


def draw_intervals(
    axes: Axes,
    places: Floats,
    values: Floats,
    limits: tuple[Floats, Floats],
    solid: NDArray[np.bool_],
    *,
    stems: bool,
) -> None:
    """Draw values and their limits in rows; those that are not ``solid`` as outlines."""
    low, high = limits
    if stems:
        axes.barh(places[solid], values[solid].clip(min=0), color=STEM, height=_STEM, zorder=1)
    for which, fill in ((solid, DATA), (~solid, "white")):
        axes.barh(
            places[which],
            (high - low)[which],
            left=low[which],
            height=_BAND,
            facecolor=fill,
            edgecolor=DATA,
            linewidth=1.0,
            zorder=2,
            clip_on=False,
        )
    ends = places - _TICK / 2, places + _TICK / 2
    axes.vlines(values, *ends, color=INK, linewidth=2.0, zorder=3, clip_on=False)


def draw_truth(axes: Axes, x: Floats, y: Floats) -> None:
    """Mark true shares, which only simulations know."""
    axes.plot(
        x,
        y,
        "D",
        color=SECOND,
        markerfacecolor="white",
        markeredgewidth=1.4,
        markersize=6,
        label="truth",
        clip_on=False,
        zorder=2.5,  # the estimate is in front
    )


def draw_band(axes: Axes, x: Floats, values: Floats, limits: tuple[Floats, Floats]) -> None:
    """Draw a line with the band of its intervals; it has gaps where values are nan."""
    axes.fill_between(x, *limits, color=STEM, linewidth=0, zorder=2)
    axes.plot(x, values, color=DATA, linewidth=1.8, zorder=3, clip_on=False)


def quieten(axes: Axes, *, grid: str = "x") -> None:
    """Leave only the lines that help reading: a faint grid across the numbers."""
    hidden = {"x": ["left"], "y": ["bottom"], "both": []}[grid]
    axes.spines[["top", "right", *hidden]].set_visible(False)
    axes.spines[:].set_color(LINE)
    axes.grid(axis=grid, color=LINE, linewidth=0.8)  # type: ignore[arg-type]
    axes.set_axisbelow(True)
    axes.tick_params(length=0, colors=QUIET, labelcolor=INK)
