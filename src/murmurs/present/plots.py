"""Plots of shares and of changes with their intervals, one row for each answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from murmurs.numerics.arrays import Floats
from murmurs.present.axes import WIDE, axes_for, entitle, label_style, name_places, room, wrapped
from murmurs.present.marks import draw_band, draw_intervals, draw_truth, quieten
from murmurs.present.palette import INK, QUIET
from murmurs.present.text import Order, in_order, percent, points, shown_digits

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDTH, _LABEL = 8.0, 34
"""The width of a plot in inches, and characters on a line of a label."""

_LETTER = 6.6
"""The width of a digit in points."""

LONG_SCALE = 20
"""Answers of a scale up to which each has a row; longer scales are a line with a band."""

ABSENT, UNCLEAR = "not detected", "no clear change"
"""What stands below the labels of outlines."""


def plot_shares(
    columns: Mapping[str, Any],
    heading: str,
    title: str,
    axes: Axes | None = None,
    limit: int = 30,
    order: Order = "share",
    truth: Floats | None = None,
    present: NDArray[np.bool_] | None = None,
) -> Axes:
    """Draw shares with their intervals and numbers; return the axes.

    Answers that are not ``present`` are outlines, and called not detected. Many answers that are
    listed in order are a line.
    """
    if order == "listed" and len(columns["share"]) > LONG_SCALE:
        return _plot_scale(columns, heading, title, axes, truth)
    shown = in_order(columns["share"], order)[:limit]
    share, low, high = (100 * columns[name][shown] for name in ("share", "low", "high"))
    seen = np.ones(len(shown), np.bool_) if present is None else present[shown]
    axes = _rows([columns["answer"][j] for j in shown], seen, ABSENT, axes)
    places = np.arange(len(shown), dtype=np.float64)
    draw_intervals(axes, places, share, (low, high), seen, stems=True)
    ends = np.maximum(high, share)
    if truth is not None:
        marks = 100 * np.asarray(truth, np.float64)[shown]
        draw_truth(axes, marks, places)
        _legend(axes)
        ends = np.maximum(ends, marks)
    digits = shown_digits(columns["unbiased_error"])
    numbers = [percent(float(value) / 100, digits) for value in share]
    limits = [_limits(*both, digits) for both in zip(low, high, strict=True)]
    _write_numbers(axes, numbers, limits)
    axes.set_xlim(min(0.0, 1.05 * float(share.min())), 1.04 * float(max(ends.max(), 1e-9)))
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.set_xlabel(f"share of answers in %, with {heading}", color=QUIET)
    left_out = len(columns["share"]) - len(shown)
    which = "largest" if order == "share" else "first"
    entitle(axes, title + (f", the {which} {limit}" if left_out else ""))
    return axes


def _plot_scale(
    columns: Mapping[str, Any],
    heading: str,
    title: str,
    axes: Axes | None,
    truth: Floats | None,
) -> Axes:
    """Draw the shares of a long scale as a line with a band, in the order of the answers."""
    axes = axes_for(axes, *WIDE)
    share, low, high = (100 * columns[name] for name in ("share", "low", "high"))
    places = np.arange(len(share), dtype=np.float64)
    draw_band(axes, places, share, (low, high))
    if truth is not None:
        draw_truth(axes, places, 100 * np.asarray(truth, np.float64))
        axes.lines[-1].set_markersize(4)
        _legend(axes)
    quieten(axes, grid="y")
    name_places(axes, columns["answer"])
    axes.set_xlim(-0.5, len(share) - 0.5)
    axes.set_ylim(min(0.0, float(share.min())), 1.05 * float(max(high.max(), share.max(), 1e-9)))
    axes.set_ylabel(f"share of answers in %, with {heading}", color=QUIET)
    entitle(axes, title)
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

    The band of a change is solid if it leaves zero out; otherwise it is an outline, and the label
    says that there is no clear change. ``what`` names them on the axis.
    """
    p_values = columns["p_value"]
    order = np.arange(len(p_values)) if ordered else p_values.argsort(kind="stable")
    shown = order[:limit]
    change, low, high = (100 * columns[name][shown] for name in ("change", "low", "high"))
    sure = (low > 0) | (high < 0)
    axes = _rows([columns["answer"][j] for j in shown], sure, UNCLEAR, axes)
    axes.axvline(0, color=INK, linewidth=0.8)
    places = np.arange(len(shown), dtype=np.float64)
    draw_intervals(axes, places, change, (low, high), sure, stems=False)
    digits = shown_digits((high - low) / 400)
    numbers = [_signed(float(value), digits) for value in change]
    limits = [
        f"{_signed(float(a), digits)} … {_signed(float(b), digits)}"
        for a, b in zip(low, high, strict=True)
    ]
    _write_numbers(axes, numbers, limits)
    ends = min(float(low.min()), 0.0), max(float(high.max()), 0.0)
    edge = 0.04 * (ends[1] - ends[0])
    axes.set_xlim(ends[0] - edge, ends[1] + edge)
    comma = "," * ("," in what)  # change, June minus May, in percentage points
    name = f"{what}{comma} in percentage points, with {heading}"
    axes.set_xlabel(wrapped(name, room(axes)), color=QUIET, **label_style())
    left_out = f" The {'first' if ordered else 'surest'} {limit} answers."
    entitle(axes, title + (left_out if len(order) > limit else ""))
    return axes


def _signed(value: float, digits: int) -> str:
    return points(value / 100, digits).replace("-", "\N{MINUS SIGN}")


def _limits(low: float, high: float, digits: int) -> str:
    """Return limits that are in percent, with one sign for both."""
    return f"{percent(low / 100, digits).removesuffix(' %')} … {percent(high / 100, digits)}"


def _write_numbers(axes: Axes, numbers: Sequence[str], limits: Sequence[str]) -> None:
    """Write the value and the interval of each row to the right of the axes."""
    first = 10 + _LETTER * max(map(len, numbers))
    second = first + 12 + _LETTER * max(map(len, limits))
    for place, (number, both) in enumerate(zip(numbers, limits, strict=True)):
        style: dict[str, Any] = {"xycoords": axes.get_yaxis_transform(), "va": "center"}
        beside = {"textcoords": "offset points", "ha": "right", **style}
        axes.annotate(number, (1, place), (first, 0), fontweight="bold", color=INK, **beside)
        axes.annotate(both, (1, place), (second, 0), color=QUIET, **beside)


def _legend(axes: Axes) -> None:
    axes.legend(
        loc="upper left", bbox_to_anchor=(1.02, 0), borderpad=0, frameon=False, handletextpad=0.2
    )


def _rows(labels: list[str], solid: NDArray[np.bool_], otherwise: str, axes: Axes | None) -> Axes:
    """Return axes with one row for each label, from top to bottom; new ones if none are given."""
    lines = [
        wrapped(label, _LABEL) + ("" if sure else f"\n{otherwise}")
        for label, sure in zip(labels, solid, strict=True)
    ]
    axes = axes_for(axes, _WIDTH, _height(lines))
    quieten(axes)
    axes.set_yticks(range(len(lines)), lines, **label_style())
    axes.set_ylim(len(lines) - 0.4, -0.6)
    return axes


def _height(labels: Iterable[str]) -> float:
    """Return the height in inches of a plot with these labels."""
    several = list(labels)
    lines = max((label.count("\n") + 1 for label in several), default=1)
    return 1.3 + len(several) * max(0.34, 0.18 * lines + 0.08)


def fit_height(axes: Axes) -> None:
    """Give the figure of a plot with one row for each answer the height that its labels need."""
    height = _height(tick.get_text() for tick in axes.get_yticklabels())
    axes.figure.set_size_inches(_WIDTH, height)  # type: ignore[union-attr]
