"""A plot of strings that were found, by rank, beside how likely each share is found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from murmurs.numerics.arrays import Floats
from murmurs.present.axes import axes_for, entitle
from murmurs.present.palette import BAR, CALM, INK, MARK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PLOT_SIZE = (8.0, 4.8)
"""Width and height of the plot in inches."""

NAMED = 30
"""The most strings whose names fit into the plot."""

_BESIDE = 0.26
"""The width of the panel with the chances, as a part of that of the shares."""


def plot_discovery(
    columns: Mapping[str, Any] | None,
    floor: float,
    chance: Callable[[Floats], Floats],
    heading: str,
    title: str,
    axes: Axes | None = None,
    limit: int = 100,
) -> Axes:
    """Draw shares against ranks, with the floor, and the chance of discovery beside them."""
    axes = axes_for(axes, *PLOT_SIZE)
    count = 0 if columns is None else len(columns["share"]) - 1  # without all other strings
    shown = np.arange(min(count, limit))
    share = low = high = np.zeros(0)
    if columns is not None:
        share, low, high = (100 * columns[name][shown] for name in ("share", "low", "high"))
    bottom, top = _limits(100 * floor, share, high)
    axes.set_yscale("log")
    axes.set_ylim(bottom, top)
    ranks = shown + 1
    axes.vlines(ranks, np.maximum(low, bottom), high, color=BAR, linewidth=2.2)
    axes.plot(ranks, np.maximum(share, bottom), "o", color=INK, markersize=3.5)
    if columns is not None and 0 < len(shown) <= NAMED:
        for rank, end, number in zip(ranks, high, shown, strict=True):
            axes.annotate(
                str(columns["answer"][number])[:24],
                (rank, end),
                (0, 4),
                textcoords="offset points",
                rotation=90,
                ha="center",
                va="bottom",
                fontsize="small",
                parse_math=False,
            )
    axes.set_xlim(0.3, max(len(shown), 9) + 0.7)
    more = f", the first {limit} of {count}" if count > limit else ""
    axes.set_xlabel(f"rank of the string{more}")
    axes.locator_params(axis="x", integer=True)
    axes.set_ylabel(f"share, %, with {heading}")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.spines[["top", "right"]].set_visible(False)
    beside = axes.inset_axes((1.03, 0.0, _BESIDE, 1.0), sharey=axes)
    levels = np.geomspace(bottom, top, 200)
    beside.plot(100 * chance(levels / 100), levels, color=MARK, linewidth=1.8)
    beside.fill_betweenx(levels, 0, 100 * chance(levels / 100), color=MARK, alpha=0.12)
    beside.set_xlim(0, 104)
    beside.set_xticks([0, 50, 100])
    beside.set_xlabel("chance to be\nfound, %")
    beside.tick_params(axis="y", labelleft=False, which="both", length=0)
    beside.spines[["top", "right"]].set_visible(False)
    for panel in (axes, beside):
        panel.axhline(100 * floor, color=CALM, linewidth=1.1, linestyle="--")
    axes.annotate(
        f"noise floor {100 * floor:.2g} %",
        (axes.get_xlim()[0], 100 * floor),
        (4, -4),
        textcoords="offset points",
        ha="left",
        va="top",
        color=CALM,
        fontsize="small",
    )
    entitle(axes, title)
    return axes


def _limits(floor: float, share: Floats, high: Floats) -> tuple[float, float]:
    """Return the limits of the shares in percent: around the floor and all strings found."""
    seen = share[share > 0]
    bottom = 0.5 * min(0.4 * floor, float(seen.min()) if len(seen) else np.inf)
    top = max(4 * floor, 2.2 * float(high.max()) if len(high) else 0.0)
    return bottom, min(max(top, 4 * bottom), 300.0) if bottom < 75 else 4 * bottom
