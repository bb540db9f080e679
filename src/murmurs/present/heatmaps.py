"""Plots of tables of two questions: shares in cells, coloured by the ratio to independence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from murmurs.present.axes import entitle, new_axes, wrapped
from murmurs.present.crosstabs import MARKS, Crosstab, colour_of
from murmurs.present.palette import INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CELL, _ROW = 0.95, 0.48
"""The width and the height of a cell in inches."""
_BESIDE = 10
"""The most characters of names of columns that stand side by side."""
_TICKS = (0.25, 0.5, 1.0, 2.0, 4.0)


def plot_crosstab(found: Crosstab, title: str, axes: Axes | None = None, limit: int = 30) -> Axes:
    """Draw the table; return the axes. Shares that surely differ from independence are bold."""
    from matplotlib.colors import ListedColormap

    rows, cols = (
        np.sort((-found.shares.sum(axis=side)).argsort(kind="stable")[:limit]) for side in (1, 0)
    )
    if axes is None:
        axes = new_axes(*size_of(found, limit))
    shown = np.ix_(rows, cols)
    shares, ratios, marks = (x[shown] for x in (found.shares, found.ratios, found.marks))
    colours = ListedColormap([colour_of(2.0**power) for power in np.linspace(-2, 2, 129)])
    image = axes.pcolormesh(
        np.log2(ratios), cmap=colours, vmin=-2, vmax=2, edgecolors="white", linewidth=1.5
    )
    for i, j in np.ndindex(*shares.shape):
        mark = MARKS[int(marks[i, j])].strip()
        axes.text(
            j + 0.5,
            i + 0.5,
            f"{found.number(float(shares[i, j]))} {mark}".strip(),
            ha="center",
            va="center",
            color=INK,
            fontweight="bold" if mark else "normal",
        )
    _name_answers(axes, [found.labels[0][i] for i in rows], [found.labels[1][j] for j in cols])
    axes.set_ylabel(wrapped(found.names[0], 30, 1), parse_math=False)
    axes.set_xlabel(wrapped(found.names[1], 60, 1), parse_math=False)
    bar = axes.figure.colorbar(image, ax=axes, ticks=np.log2(_TICKS), pad=0.02, fraction=0.05)
    bar.ax.set_yticklabels(["¼", "½", "1", "2", "4"])
    bar.set_label("ratio to independence")
    bar.outline.set_visible(False)
    entitle(axes, title, max(54, 12 * len(cols) + 20))
    return axes


def _name_answers(axes: Axes, down: list[str], across: list[str]) -> None:
    """Name rows and columns; long names of columns are slanted."""
    axes.set_ylim(len(down), 0)
    axes.set_yticks(np.arange(len(down)) + 0.5, [wrapped(t, 24, 2) for t in down], parse_math=False)
    slanted = max(map(len, across)) > _BESIDE
    names = [wrapped(text, 24 if slanted else _BESIDE, 1) for text in across]
    axes.set_xticks(np.arange(len(across)) + 0.5, names, parse_math=False)
    if slanted:
        for tick in axes.get_xticklabels():
            tick.set(rotation=40, ha="right", rotation_mode="anchor")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def size_of(found: Crosstab, limit: int = 30) -> tuple[float, float]:
    """Return the width and the height that a plot of the table needs, in inches."""
    down, across = (min(len(labels), limit) for labels in found.labels)
    longest = max(min(len(label), 24) for label in found.labels[0])
    return max(5.0, 2.0 + 0.08 * longest + _CELL * across), max(2.6, 1.7 + _ROW * down)
