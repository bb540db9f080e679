"""Plots of tables of two questions: shares in cells, coloured by the ratio to independence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from murmurs.present.axes import axes_for, entitle, label_style, wrapped
from murmurs.present.crosstabs import MARKS, Crosstab
from murmurs.present.palette import HEAT, INK, QUIET

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CELL, _ROW = 0.82, 0.5
"""The width and the height of a cell in inches."""
_BESIDE = 10
"""The most characters of names of columns that stand side by side."""
_GAP = 0.03
"""The space between cells, as a part of one."""


def plot_crosstab(found: Crosstab, title: str, axes: Axes | None = None, limit: int = 30) -> Axes:
    """Draw the table with its margins; return the axes.

    Only cells whose intervals rule independence out have a mark and a strong colour.
    """
    rows, cols = (
        np.sort((-found.shares.sum(axis=side)).argsort(kind="stable")[:limit]) for side in (1, 0)
    )
    axes = axes_for(axes, *size_of(found, limit))
    colours = found.colours
    for i, row in enumerate(rows):
        for j, column in enumerate(cols):
            _draw_cell(
                axes,
                (i, j),
                found.number(float(found.shares[row, column])),
                colours[row][column],
                MARKS[int(found.marks[row, column])].strip(),
            )
    down, across = found.shares.sum(axis=1), found.shares.sum(axis=0)
    for i, row in enumerate(rows):
        _draw_margin(axes, i + 0.5, len(cols) + 0.4, found.number(float(down[row])))
    for j, column in enumerate(cols):
        _draw_margin(axes, len(rows) + 0.35, j + 0.5, found.number(float(across[column])))
    _name_answers(axes, [found.labels[0][i] for i in rows], [found.labels[1][j] for j in cols])
    axes.set_ylabel(wrapped(found.names[0], 30, 1), color=QUIET, **label_style())
    _draw_key(axes, wrapped(found.names[1], 60, 1))
    entitle(axes, title, max(54, 12 * len(cols) + 20))
    return axes


def _draw_cell(axes: Axes, at: tuple[int, int], number: str, colour: str, mark: str) -> None:
    from matplotlib.patches import FancyBboxPatch

    i, j = at
    corner = (j + _GAP + 0.06, i + _GAP + 0.06)
    size = 1 - 2 * (_GAP + 0.06)
    axes.add_patch(
        FancyBboxPatch(
            corner,
            size,
            size,
            boxstyle="round,pad=0.06",
            mutation_aspect=1,
            facecolor=colour,
            linewidth=0,
        )
    )
    axes.text(j + 0.5, i + 0.5, number, ha="center", va="center", color=INK)
    if mark:
        axes.text(j + 0.9, i + 0.14, mark, ha="right", va="top", color=INK, fontsize="x-small")


def _draw_margin(axes: Axes, y: float, x: float, number: str) -> None:
    axes.text(x, y, number, ha="center", va="center", color=QUIET, fontsize="small")


def _draw_key(axes: Axes, name: str) -> None:
    """Name the columns, and say what the colours mean."""
    from matplotlib.patches import Patch

    axes.xaxis.set_label_position("top")
    axes.set_xlabel(name, color=QUIET, **label_style())
    said = ("▼ clearly below", "below", "near", "above", "▲ clearly above", "▲ twice or more")
    handles = [Patch(facecolor=c, label=text) for c, text in zip(HEAT, said, strict=True)]
    axes.legend(
        handles=handles,
        title="Cells: share in %. Colours: against independent\n"
        'answers; "clearly": by more than noise explains',
        loc="upper left",
        bbox_to_anchor=(0, 0),
        ncols=3,
        frameon=False,
        fontsize="small",
        title_fontsize="small",
        alignment="left",
        borderaxespad=0.2,
        handlelength=1.2,
        columnspacing=1.2,
    )


def _name_answers(axes: Axes, down: list[str], across: list[str]) -> None:
    """Name rows and columns; long names of columns are slanted."""
    axes.set_ylim(len(down) + 0.7, 0)
    axes.set_xlim(0, len(across) + 0.8)
    names = [wrapped(t, 24, 2) for t in down]
    style = label_style()
    axes.set_yticks([*np.arange(len(down)) + 0.5, len(down) + 0.35], [*names, "all"], **style)
    slanted = max(map(len, across)) > _BESIDE
    names = [wrapped(text, 24 if slanted else _BESIDE, 1) for text in across]
    axes.set_xticks([*np.arange(len(across)) + 0.5, len(across) + 0.4], [*names, "all"], **style)
    axes.xaxis.tick_top()
    if slanted:
        for tick in axes.get_xticklabels():
            tick.set(rotation=35, ha="left", rotation_mode="anchor")
    axes.tick_params(length=0, labelcolor=INK)
    axes.spines[:].set_visible(False)


def size_of(found: Crosstab, limit: int = 30) -> tuple[float, float]:
    """Return the width and the height that a plot of the table needs, in inches."""
    down, across = (min(len(labels), limit) for labels in found.labels)
    longest = max(min(len(label), 24) for label in found.labels[0])
    return max(5.4, 1.6 + 0.08 * longest + _CELL * (across + 1)), 2.6 + _ROW * down
