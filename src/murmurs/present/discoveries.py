"""A plot of strings that were found, by rank, beside how likely each share is found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from murmurs.numerics.arrays import Floats
from murmurs.present.axes import axes_for, entitle, label_style
from murmurs.present.glyphs import drawable
from murmurs.present.palette import DATA, HEAT, INK, QUIET, SECOND
from murmurs.present.text import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

PLOT_SIZE = (8.0, 4.8)
"""Width and height of the plot in inches."""

NAMED = 30
"""The most strings whose names fit into the plot; of more, every second, third, ... is named."""

_WIDEST = 5.0
"""The width of an interval in points; among many strings it is narrower."""

_BESIDE = 0.26
"""The width of the panel with the chances, as a part of that of the shares."""

_LETTERS = 20
"""The most letters of a string that are shown; longer ones end with three dots."""

_GAP = 9
"""Points that are left free below and above each name."""


def plot_discovery(
    columns: Mapping[str, Any] | None,
    floor: float,
    chance: Callable[[Floats], Floats],
    heading: str,
    title: str,
    axes: Axes | None = None,
    limit: int = 100,
    chance_in_corpus: Callable[[Floats], Floats] | None = None,
) -> Axes:
    """Draw shares against ranks, with the floor, and the chance of discovery beside them.

    If strings of a corpus were searched for, their chance is drawn too.
    """
    axes = axes_for(axes, *PLOT_SIZE)
    count = 0 if columns is None else len(columns["share"]) - 1  # without all other strings
    shown = np.arange(min(count, limit))
    share = low = high = np.zeros(0)
    if columns is not None:
        share, low, high = (100 * columns[name][shown] for name in ("share", "low", "high"))
    step = max(1, -(-len(shown) // NAMED))
    names = [] if columns is None else [_name(columns["answer"][i]) for i in shown[::step]]
    bottom, top = _limits(100 * floor, share, high)
    axes.set_yscale("log")
    room = max(0.7, 0.015 * len(shown))  # so that the first name stays beside the axis
    axes.set_xlim(1 - room, max(len(shown), 5) + room)
    axes.set_ylim(bottom, top)
    ranks = shown + 1
    wide = min(_WIDEST, 0.7 * _points_between(axes))
    axes.vlines(ranks, np.maximum(low, bottom), high, color=DATA, linewidth=wide)
    axes.plot(
        ranks,
        np.maximum(share, bottom),
        "_",
        color=INK,
        markersize=2 * wide,
        markeredgewidth=0.4 * wide,
    )
    for name, rank, end in zip(names, ranks[::step], high[::step], strict=True):
        text = axes.annotate(
            name,
            (rank, end),
            (0, 4),
            textcoords="offset points",
            rotation=90,
            ha="center",
            va="bottom",
            fontsize="small",
            **label_style(),
        )
        top = max(top, _top_above(axes, text, float(end), bottom))
    axes.set_ylim(bottom, top)
    more = f", the first {limit} of {count}" if count > limit else ""
    axes.set_xlabel(f"rank of the string{more}")
    axes.locator_params(axis="x", integer=True)
    axes.set_ylabel(f"share of answers in %, with {heading}")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}" if value <= 100 else "")
    axes.spines[["top", "right"]].set_visible(False)
    beside = axes.inset_axes((1.03, 0.0, _BESIDE, 1.0), sharey=axes)
    levels = np.geomspace(bottom, top, 200)
    shares = np.minimum(levels / 100, 1.0)  # the axis may go on above everybody
    beside.plot(100 * chance(shares), levels, color=SECOND, linewidth=1.8)
    beside.fill_betweenx(levels, 0, 100 * chance(shares), color=SECOND, alpha=0.12)
    if chance_in_corpus is not None:
        listed = 100 * chance_in_corpus(shares)
        beside.plot(listed, levels, color=SECOND, linewidth=1.8, linestyle="--")
        beside.text(
            0.96,
            0.03,
            "dashed: in\nthe corpus",
            transform=beside.transAxes,
            ha="right",
            va="bottom",
            color=QUIET,
            fontsize="small",
        )
    beside.set_xlim(0, 104)
    beside.set_xticks([0, 50, 100])
    beside.get_xticklabels()[-1].set_horizontalalignment(
        "right"
    )  # its middle is at the edge of the picture
    beside.set_xlabel("chance to be found\nin %, at least")
    beside.tick_params(axis="y", labelleft=False, which="both", length=0)
    beside.spines[["top", "right"]].set_visible(False)
    for panel in (axes, beside):
        panel.axhspan(bottom, 100 * floor, color=HEAT[2], zorder=0)
        panel.axhline(100 * floor, color=QUIET, linewidth=1.1, linestyle="--")
    axes.annotate(
        f"noise floor {100 * floor:.2g} %",
        (axes.get_xlim()[0], 100 * floor),
        (4, -4),
        textcoords="offset points",
        ha="left",
        va="top",
        color=QUIET,
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


def _name(text: object) -> str:
    """Return a string as it stands in the plot: on one line, and not too long."""
    name = drawable(printable(str(text)))
    return name if len(name) <= _LETTERS else name[: _LETTERS - 1] + "…"


def _points_between(axes: Axes) -> float:
    """Return the distance of two ranks in points."""
    left, right = axes.get_xlim()
    across = axes.bbox.width / axes.get_figure(root=True).dpi * 72  # type: ignore[union-attr]
    return float(across / (right - left))


def _top_above(axes: Axes, name: Annotation, end: float, bottom: float) -> float:
    """Return the upper limit of the shares that leaves room for a name above an interval."""
    gap = _GAP / 72 * axes.get_figure(root=True).dpi  # type: ignore[union-attr]
    part = min((name.get_window_extent().height + gap) / axes.bbox.height, 0.75)
    return float(bottom * (end / bottom) ** (1 / (1 - part)))
