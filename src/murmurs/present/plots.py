"""A plot of shares with their intervals; matplotlib is loaded when it is used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from murmurs.present.text import percent, printable, shown_digits

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_BAR, _INK = "#4477aa", "#222222"


def plot_shares(
    columns: Mapping[str, Any], heading: str, title: str, axes: Axes | None = None, limit: int = 30
) -> Axes:
    """Draw bars with intervals and numbers, the largest share on top; return the axes."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(
            "plots need matplotlib: install it with pip install 'murmurs[plot]'"
        ) from None
    order = (-columns["share"]).argsort(kind="stable")[:limit]
    share, low, high = (100 * columns[name][order] for name in ("share", "low", "high"))
    if axes is None:
        _, axes = plt.subplots(figsize=(7, 0.9 + 0.32 * len(order)), layout="constrained")
    places = range(len(order))
    axes.barh(places, share.clip(min=0), color=_BAR, height=0.65)
    axes.hlines(places, low, high, color=_INK, linewidth=1.4)
    axes.plot(share, places, "|", color=_INK, markersize=7)
    digits = shown_digits(columns["standard_error"])
    right = float(max(high.max(), share.max(), 1e-9))
    for place, value, end in zip(places, share, high, strict=True):
        text = percent(float(value) / 100, digits)
        axes.annotate(text, (max(end, 0), place), (6, 0), textcoords="offset points", va="center")
    labels = [printable(columns["answer"][j], keep="\n") for j in order]
    axes.set_yticks(places, labels, parse_math=False)  # a dollar sign does not start a formula
    axes.invert_yaxis()
    axes.set_xlim(min(0.0, 1.05 * float(share.min())), 1.15 * right)
    axes.set_xlabel(f"share of answers, %, with {heading}")
    left_out = len(columns["share"]) - len(order)
    axes.set_title(title + (f", the largest {limit}" if left_out else ""), loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    return axes
