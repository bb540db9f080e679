"""Plots that commands save to a file, without a screen."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from murmurs.boundary.writing import writing
from murmurs.cli.output import new_file
from murmurs.present.plots import fit_height

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PICTURES = ("png", "svg", "pdf")
NEEDED = "plots need matplotlib: install it with pip install 'murmurs[plot]'"

plot_option = click.option(
    "--plot", type=new_file, help="Save a plot to a file (.png, .svg, .pdf)."
)


def picture_kind(path: Path) -> str:
    """Return the format of a plot, from the ending of its file name."""
    ending = path.suffix.removeprefix(".").lower()
    if ending not in PICTURES:
        raise ValueError(
            f"--plot {path}: the name must end with .{', .'.join(PICTURES)}, which sets the format"
        )
    return ending


def check_plot(path: Path) -> None:
    """Refuse before long work what could not be drawn or written after it."""
    picture_kind(path)
    if find_spec("matplotlib") is None:
        raise ImportError(NEEDED)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"--plot {path}: there is no folder {path.parent}: make it first")


def save_plot(
    draw: Callable[[Axes], Axes],
    path: Path,
    *,
    rows: bool = True,
    size: tuple[float, float] | None = None,
) -> None:
    """Save what ``draw`` draws into axes of this size, in inches.

    Without a size, and with ``rows``, the height is that of its labels.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(NEEDED) from None
    figure = Figure(figsize=size or (8, 4.6), layout="constrained")
    axes = draw(figure.add_subplot())
    if rows and size is None:
        fit_height(axes)
    with writing(path) as file:
        figure.savefig(file, format=picture_kind(path), dpi=150)
