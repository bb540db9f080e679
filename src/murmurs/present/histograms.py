"""Plots of numbers: the histogram and the distribution function, on an axis of numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from murmurs.numerics.arrays import Floats
from murmurs.present.axes import WIDE, axes_for, entitle, label_style, wrapped
from murmurs.present.marks import draw_truth, quieten
from murmurs.present.palette import DATA, INK, QUIET, STEM
from murmurs.scales.scale import Scale
from murmurs.scales.values import value_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TICKS = 9
"""The most dates or clock times below the axes."""

_EVEN = 1.15
"""How much wider than the narrowest buckets may be and count as equally wide, as months are."""

_ROOM = 3.0
"""How much of the height intervals may take, so that the shares of square waves are seen at all."""


def plot_histogram(
    columns: Mapping[str, Any],
    scale: Scale,
    heading: str,
    title: str,
    axes: Axes | None = None,
    truth: Floats | None = None,
) -> Axes:
    """Draw the shares of buckets as bars on an axis of numbers; return the axes.

    A pale bar is a share, the band across it its interval, the dark line the estimate. Where
    buckets differ in width, areas are shares: heights are per bucket of the smallest width.
    Bands may go on above the axes, which are at most `_ROOM` times as high as the highest share.
    """
    axes = axes_for(axes, *WIDE)
    edges = _edges_shown(scale)
    widths = np.diff(edges)
    least = float(widths.min())
    even = float(widths.max()) < _EVEN * least
    per = np.full(len(widths), 100.0) if even else 100 * least / widths
    share, low, high = (per * columns[name] for name in ("share", "low", "high"))
    axes.bar(edges[:-1], share.clip(min=0), widths, align="edge", color=STEM, linewidth=0)
    inner = edges[:-1] + 0.22 * widths, 0.56 * widths
    axes.bar(inner[0], high - low, inner[1], low, align="edge", color=DATA, alpha=0.55, zorder=2)
    axes.hlines(share, edges[:-1], edges[1:], color=INK, linewidth=1.8, zorder=3)
    if truth is not None:
        draw_truth(axes, (edges[:-1] + edges[1:]) / 2, per * np.asarray(truth, np.float64))
        axes.lines[-1].set_markersize(4)
        axes.legend(frameon=False, loc="upper right")
    quieten(axes, grid="y")
    tallest = share.max() if truth is None else max(share.max(), (per * truth).max())
    top, room = float(max(high.max(), tallest, 1e-9)), float(max(_ROOM * tallest, 1e-9))
    axes.set_ylim(min(0.0, float(share.min())), 1.05 * min(top, room))
    heading += ", partly above" * (top > room)
    each = "" if even else f" per {_width_text(scale, least)}"
    axes.set_ylabel(f"share of answers in %{each}, with {heading}", color=QUIET)
    name_numbers(axes, scale, edges, columns["answer"])
    entitle(axes, title)
    return axes


def plot_distribution(
    columns: Mapping[str, Any], scale: Scale, heading: str, title: str, axes: Axes | None = None
) -> Axes:
    """Draw the share of people up to each number, with the band of its limits."""
    axes = axes_for(axes, *WIDE)
    edges = _edges_shown(scale)
    share, low, high = (
        100 * np.concatenate([[0.0], columns[name]]) for name in ("share", "low", "high")
    )
    step: Any = "post" if scale.kind == "scores" else None
    axes.fill_between(edges, low, high, step=step, color=STEM, linewidth=0, zorder=2)
    axes.plot(
        edges,
        share,
        color=DATA,
        linewidth=1.8,
        zorder=3,
        drawstyle="steps-post" if step else "default",
    )
    quieten(axes, grid="y")
    axes.set_ylim(0, 100)
    axes.set_ylabel(f"share up to here in %, with {heading}", color=QUIET)
    name_numbers(axes, scale, edges, columns["answer"])
    entitle(axes, title)
    return axes


def _edges_shown(scale: Scale) -> Floats:
    """Return the edges of buckets on the axis; an open-ended one is as wide as its neighbour."""
    if scale.kind == "scores":
        own = np.array(scale.edges)
        return np.append(own[0] - (own[1] - own[0]), own)
    edges = np.array(scale.edges, np.float64)
    if math.isinf(edges[0]):
        edges[0] = edges[1] - (edges[2] - edges[1] if np.isfinite(edges[2]) else 1.0)
    if math.isinf(edges[-1]):
        edges[-1] = edges[-2] + (edges[-2] - edges[-3])
    if scale.outside == "clamp" and len(edges) > 3:  # a last bucket of one number is too thin
        edges[-1] = max(edges[-1], 2 * edges[-2] - edges[-3])
    return edges


def _width_text(scale: Scale, width: float) -> str:
    if scale.kind == "dates":
        return f"{width:g} days"
    return scale.text(width)


def name_numbers(axes: Axes, scale: Scale, edges: Floats, labels: Sequence[str]) -> None:
    """Write below the axes round numbers, or the dates, clock times or labels of some edges."""
    inside = edges[1:] if scale.kind == "scores" else edges
    axes.set_xlim(float(inside[0]), float(edges[-1]))
    axes.set_xlabel(scale.unit, color=QUIET, **label_style())
    if scale.kind == "numbers":
        axes.xaxis.set_major_formatter(lambda number, _: scale.grouped(float(f"{number:g}")))
        return
    apart = (inside[-1] - inside[0]) / _TICKS
    shown: list[int] = []
    for place, number in enumerate(inside):
        if not shown or number - inside[shown[-1]] >= apart:
            shown.append(place)
    texts = [value_text(float(inside[place]), scale.kind) for place in shown]
    for end in ("-01", "-01"):  # days, then months, where all begin with the first
        if scale.kind == "dates" and all(text.endswith(end) for text in texts):
            texts = [text.removesuffix(end) for text in texts]
    if scale.kind == "scores":
        texts = [wrapped(labels[place], 80 // len(shown)) for place in shown]
    axes.set_xticks(inside[shown], texts, **label_style())
