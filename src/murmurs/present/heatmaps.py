"""Plots of tables of two questions: shares in cells, coloured by the ratio to independence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from murmurs.present.crosstabs import Crosstab
from murmurs.present.palette import ABOVE, BELOW, INK
from murmurs.present.plots import entitle, new_axes, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CELL, _ROW = 0.95, 0.48
"""The width and the height of a cell in inches."""
_TICKS = (0.25, 0.5, 1.0, 2.0, 4.0)


def plot_crosstab(found: Crosstab, title: str, axes: Axes | None = None, limit: int = 30) -> Axes:
    """Draw the table; return the axes. Frames are around cells that surely differ."""
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Rectangle

    rows, cols = (
        np.sort((-found.shares.sum(axis=side)).argsort(kind="stable")[:limit]) for side in (1, 0)
    )
    if axes is None:
        axes = new_axes(*size_of(found, limit))
    shown = np.ix_(rows, cols)
    shares, ratios, marks = (x[shown] for x in (found.shares, found.ratios, found.marks))
    colours = LinearSegmentedColormap.from_list("murmurs", [BELOW, "white", ABOVE])
    image = axes.imshow(np.log2(ratios), cmap=colours, vmin=-2, vmax=2, aspect="auto")
    for i, j in np.ndindex(*shares.shape):
        dark = abs(np.log2(ratios[i, j])) > 1.5
        axes.text(
            j,
            i,
            found.number(float(shares[i, j])),
            ha="center",
            va="center",
            color="white" if dark else INK,
            fontweight="bold" if marks[i, j] else "normal",
        )
        if marks[i, j]:
            axes.add_patch(
                Rectangle(
                    (j - 0.46, i - 0.44), 0.92, 0.88, fill=False, edgecolor=INK, linewidth=1.4
                )
            )
    down = [wrapped(found.labels[0][i], 24, 2) for i in rows]
    across = [wrapped(found.labels[1][j], 12, 2) for j in cols]
    axes.set_yticks(range(len(rows)), down, parse_math=False)
    axes.set_xticks(range(len(cols)), across, parse_math=False)
    if max(len(line) for text in across for line in text.split("\n")) * len(cols) > 11 * len(cols):
        for tick in axes.get_xticklabels():
            tick.set(rotation=40, ha="right", rotation_mode="anchor")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_ylabel(wrapped(found.names[0], 30, 1), parse_math=False)
    axes.set_xlabel(wrapped(found.names[1], 60, 1), parse_math=False)
    bar = axes.figure.colorbar(image, ax=axes, ticks=np.log2(_TICKS), pad=0.02, fraction=0.05)
    bar.ax.set_yticklabels(["¼", "½", "1", "2", "4"])
    bar.set_label("ratio to independence")
    bar.outline.set_visible(False)
    entitle(axes, title, max(40, 12 * len(cols) + 20))
    return axes


def size_of(found: Crosstab, limit: int = 30) -> tuple[float, float]:
    """Return the width and the height that a plot of the table needs, in inches."""
    down, across = (min(len(labels), limit) for labels in found.labels)
    longest = max(min(len(label), 24) for label in found.labels[0])
    return max(4.6, 2.0 + 0.08 * longest + _CELL * across), max(2.6, 1.7 + _ROW * down)
