"""Drawing in the layouts of the papers: grids of numbers, lines with bands, dots beside dots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from murmurs.numerics.arrays import Floats
from murmurs.present.palette import ABOVE, BELOW, GREY, INK, SERIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def tidy(axes: Axes, title: str = "") -> None:
    """Leave out what carries no information, and set a title above the left edge."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#e4e4e4", linewidth=0.6)
    axes.set_axisbelow(True)
    if title:
        axes.set_title(title, loc="left", fontsize="medium")


def number_grid(
    axes: Axes,
    numbers: Floats,
    rows: Sequence[str],
    columns: Sequence[str],
    title: str,
    names: tuple[str, str] = ("k", "ε"),
    decimals: int = 3,
    *,
    linear: bool = False,
) -> None:
    """Draw a grid of numbers, the first row below: below zero in blue, above in orange.

    Colours are those of logarithms, so that small numbers can be told apart, unless ``linear``.
    """
    from matplotlib.colors import LinearSegmentedColormap, Normalize, SymLogNorm

    scale = max(float(np.abs(numbers).max()), 10.0**-decimals)
    colours = LinearSegmentedColormap.from_list("signs", [BELOW, "#ffffff", ABOVE])
    norm = (
        Normalize(-scale, scale)
        if linear
        else SymLogNorm(max(scale / 100, 1e-12), vmin=-scale, vmax=scale)
    )
    axes.pcolormesh(numbers, cmap=colours, norm=norm, edgecolors="white", linewidth=1)
    for (i, j), value in np.ndenumerate(numbers):
        text = f"{value:.{decimals}f}"
        text = text.removeprefix("-") if float(text) == 0 else text
        strong = abs(float(norm(value)) - 0.5) > 0.38
        axes.text(
            j + 0.5,
            i + 0.5,
            text,
            ha="center",
            va="center",
            fontsize=6,
            color="white" if strong else INK,
        )
    axes.set_xticks(np.arange(len(columns)) + 0.5, columns, fontsize=7)
    axes.set_yticks(np.arange(len(rows)) + 0.5, rows, fontsize=7)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_ylabel(names[0])
    axes.set_xlabel(names[1])
    axes.set_title(title, loc="left", fontsize=9)


def line(
    axes: Axes,
    x: Sequence[float],
    y: Sequence[float],
    number: int,
    label: str | None,
    band: tuple[Sequence[float], Sequence[float]] | None = None,
    style: str = "-",
) -> None:
    """Draw a line in a colour and with a mark of its own, perhaps with a band around it."""
    colour, mark = SERIES[number % len(SERIES)]
    axes.plot(x, y, style, color=colour, marker=mark, markersize=4.5, linewidth=1.4, label=label)
    if band is not None:
        axes.fill_between(x, *band, color=colour, alpha=0.16, linewidth=0)


def level(axes: Axes, height: float, text: str) -> None:
    """Draw a horizontal line for comparison, with its name above the right end."""
    axes.axhline(height, color=GREY, linestyle=":", linewidth=1)
    axes.annotate(
        text,
        (1, height),
        (0, 2),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        ha="right",
        color="#666666",
        fontsize=8,
    )


def dots(
    axes: Axes,
    groups: Sequence[str],
    series: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    title: str,
    *,
    hollow: str = "",
) -> None:
    """Draw dots with two standard errors beside each other for each group.

    ``series`` has values and standard errors by name; that named ``hollow`` has hollow marks. A
    value that is not a number is left out.
    """
    for number, (name, (values, errors)) in enumerate(series.items()):
        colour, mark = SERIES[number % len(SERIES)]
        place = np.arange(len(groups)) + 0.16 * (number - (len(series) - 1) / 2)
        axes.errorbar(
            place,
            values,
            2 * np.asarray(errors),
            color=colour,
            marker=mark,
            markersize=5.5,
            linestyle="none",
            markerfacecolor="white" if name == hollow else colour,
            label=name,
        )
    axes.set_xticks(range(len(groups)), groups, fontsize=8)
    axes.set_ylim(0)
    tidy(axes, title)
