"""Plots of shares and of changes with their intervals, one row for each answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from murmurs.numerics.arrays import Floats
from murmurs.present.axes import axes_for, entitle, room, wrapped
from murmurs.present.palette import BAR, CALM, INK, MARK
from murmurs.present.text import Order, in_order, percent, points, shown_digits

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDTH, _LABEL = 7.0, 34
"""The width of a plot in inches, and characters on a line of a label."""

_NUMBER = 12
"""Characters that are left free on both sides of the changes, for their numbers."""


def plot_shares(
    columns: Mapping[str, Any],
    heading: str,
    title: str,
    axes: Axes | None = None,
    limit: int = 30,
    order: Order = "share",
    truth: Floats | None = None,
) -> Axes:
    """Draw bars with intervals and numbers; return the axes."""
    shown = in_order(columns["share"], order)[:limit]
    share, low, high = (100 * columns[name][shown] for name in ("share", "low", "high"))
    labels = [columns["answer"][j] for j in shown]
    axes = _rows(labels, axes)
    places = range(len(shown))
    axes.barh(places, share.clip(min=0), color=BAR, height=0.68)
    axes.hlines(places, low, high, color=INK, linewidth=1.4)
    axes.plot(share, places, "|", color=INK, markersize=8, clip_on=False)
    ends = np.maximum(high, 0)
    if truth is not None:
        marks = 100 * np.asarray(truth, np.float64)[shown]
        axes.plot(
            marks,
            places,
            "D",
            color=MARK,
            markersize=5.5,
            markeredgecolor="white",
            label="truth",
            clip_on=False,
            zorder=3,
        )
        axes.legend(
            loc="lower right", bbox_to_anchor=(1, 1), borderpad=0, frameon=False, handletextpad=0.2
        )
        ends = np.maximum(ends, marks)
    digits = shown_digits(columns["unbiased_error"])
    right = float(max(ends.max(), share.max(), 1e-9))
    for place, value, end in zip(places, share, ends, strict=True):
        text = percent(float(value) / 100, digits)
        axes.annotate(text, (end, place), (6, 0), textcoords="offset points", va="center")
    axes.set_xlim(min(0.0, 1.05 * float(share.min())), 1.15 * right)
    axes.set_xlabel(f"share of answers, %, with {heading}")
    left_out = len(columns["share"]) - len(shown)
    which = "largest" if order == "share" else "first"
    entitle(axes, title + (f", the {which} {limit}" if left_out else ""))
    return axes


def plot_changes(
    columns: Mapping[str, Any],
    heading: str,
    title: str,
    axes: Axes | None = None,
    limit: int = 30,
    *,
    ordered: bool = False,
    what: str = "change",
) -> Axes:
    """Draw changes of shares with their intervals, the surest first unless answers are ordered.

    Those whose interval leaves zero out have another colour and a filled mark. ``what`` names them
    on the axis.
    """
    p_values = columns["p_value"]
    order = np.arange(len(p_values)) if ordered else p_values.argsort(kind="stable")
    shown = order[:limit]
    change, low, high = (100 * columns[name][shown] for name in ("change", "low", "high"))
    axes = _rows([columns["answer"][j] for j in shown], axes)
    places = np.arange(len(shown))
    sure = (low > 0) | (high < 0)
    axes.axvline(0, color=INK, linewidth=0.8)
    styles = ((sure, MARK, "D", MARK), (~sure, CALM, "o", "white"))
    for which, colour, mark, fill in styles:
        axes.hlines(places[which], low[which], high[which], color=colour, linewidth=1.8)
        axes.plot(
            change[which], places[which], mark, color=colour, markerfacecolor=fill, markersize=6
        )
    digits = shown_digits((high - low) / 400)
    for place, value, *ends in zip(places, change, low, high, strict=True):
        text = points(float(value) / 100, digits).replace("-", "\N{MINUS SIGN}")  # as on the axis
        right = value >= 0  # away from the line at zero
        at, away, side = (ends[1], 6, "left") if right else (ends[0], -6, "right")
        axes.annotate(
            text, (at, place), (away, 0), textcoords="offset points", va="center", ha=side
        )
    axes.margins(x=_NUMBER / room(axes))
    filled = " (filled: zero excluded)" if sure.any() else ""
    name = f"{what}, percentage points, with {heading}{filled}"
    axes.set_xlabel(wrapped(name, room(axes)), parse_math=False)
    left_out = f" The {'first' if ordered else 'surest'} {limit} answers."
    entitle(axes, title + (left_out if len(order) > limit else ""))
    return axes


def _rows(labels: list[str], axes: Axes | None) -> Axes:
    """Return axes with one row for each label, from top to bottom; new ones if none are given."""
    lines = [wrapped(label, _LABEL) for label in labels]
    axes = axes_for(axes, _WIDTH, _height(lines))
    axes.set_yticks(range(len(lines)), lines, parse_math=False)  # "$" does not start a formula
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(lines) - 0.4, -0.6)
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def _height(labels: Iterable[str]) -> float:
    """Return the height in inches of a plot with these labels."""
    several = list(labels)
    lines = max((label.count("\n") + 1 for label in several), default=1)
    return 1.3 + len(several) * max(0.32, 0.18 * lines + 0.06)


def fit_height(axes: Axes) -> None:
    """Give the figure of a plot with one row for each answer the height that its labels need."""
    height = _height(tick.get_text() for tick in axes.get_yticklabels())
    axes.figure.set_size_inches(_WIDTH, height)  # type: ignore[union-attr]
