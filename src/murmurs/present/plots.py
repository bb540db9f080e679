"""A plot of shares with their intervals; matplotlib is loaded when it is used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from murmurs.numerics.arrays import Floats
from murmurs.present.text import Order, in_order, percent, printable, shown_digits

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_BAR, _INK, _MARK = "#4477aa", "#222222", "#ee7733"


def new_axes(width: float, height: float) -> Axes:
    """Return axes of a new figure of this size, in inches."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(
            "plots need matplotlib: install it with pip install 'murmurs[plot]'"
        ) from None
    _, axes = plt.subplots(figsize=(width, height), layout="constrained")
    return axes


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
    if axes is None:
        axes = new_axes(7, 0.9 + 0.32 * len(shown))
    places = range(len(shown))
    axes.barh(places, share.clip(min=0), color=_BAR, height=0.65)
    axes.hlines(places, low, high, color=_INK, linewidth=1.4)
    axes.plot(share, places, "|", color=_INK, markersize=7)
    if truth is not None:
        marks = 100 * np.asarray(truth, np.float64)[shown]
        axes.plot(marks, places, "D", color=_MARK, markersize=5, label="truth")
        axes.legend(loc="lower right", frameon=False)
    digits = shown_digits(columns["unbiased_error"])
    right = float(max(high.max(), share.max(), 1e-9))
    for place, value, end in zip(places, share, high, strict=True):
        text = percent(float(value) / 100, digits)
        axes.annotate(text, (max(end, 0), place), (6, 0), textcoords="offset points", va="center")
    labels = [printable(columns["answer"][j], keep="\n") for j in shown]
    axes.set_yticks(places, labels, parse_math=False)  # a dollar sign does not start a formula
    axes.invert_yaxis()
    axes.set_xlim(min(0.0, 1.05 * float(share.min())), 1.15 * right)
    axes.set_xlabel(f"share of answers, %, with {heading}")
    left_out = len(columns["share"]) - len(shown)
    which = "largest" if order == "share" else "first"
    whole = title + (f", the {which} {limit}" if left_out else "")
    axes.set_title(whole, loc="left", parse_math=False, fontsize="medium")
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def plot_changes(
    columns: Mapping[str, Any], heading: str, title: str, axes: Axes | None = None, limit: int = 30
) -> Axes:
    """Draw changes of shares with their intervals, those that are surely not zero in colour."""
    shown = columns["p_value"].argsort(kind="stable")[:limit]
    change, low, high = (100 * columns[name][shown] for name in ("change", "low", "high"))
    if axes is None:
        axes = new_axes(7, 1.2 + 0.32 * len(shown))
    places = np.arange(len(shown))
    sure = (low > 0) | (high < 0)
    axes.axvline(0, color=_INK, linewidth=0.8)
    for which, colour in ((sure, _MARK), (~sure, _BAR)):
        axes.hlines(places[which], low[which], high[which], color=colour, linewidth=2)
        axes.plot(change[which], places[which], "o", color=colour, markersize=6)
    labels = [printable(columns["answer"][j], keep="\n") for j in shown]
    axes.set_yticks(places, labels, parse_math=False)
    axes.invert_yaxis()
    axes.set_xlabel(f"change, percentage points, with {heading}")
    axes.set_title(title, loc="left", parse_math=False, fontsize="medium")
    axes.spines[["top", "right"]].set_visible(False)
    return axes
