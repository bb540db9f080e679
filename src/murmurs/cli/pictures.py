"""Plots that commands save to a file, without a screen."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from murmurs.boundary.writing import writing
from murmurs.present.plots import fit_height

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PICTURES = (".png", ".svg", ".pdf")


def check_plot(path: Path) -> None:
    """Refuse before long work what could not be drawn or written after it."""
    if path.suffix.lower() not in PICTURES:
        raise ValueError(
            f"--plot {path}: the name must end with {', '.join(PICTURES)}, which sets the format"
        )
    if find_spec("matplotlib") is None:
        raise ImportError("plots need matplotlib: install it with pip install 'murmurs[plot]'")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"--plot {path}: there is no folder {path.parent}: make it first")


def save_plot(
    draw: Callable[[Axes], Axes],
    path: Path | None,
    *,
    size: tuple[float, float] | None = None,
) -> None:
    """Save what ``draw`` draws into axes of this size, in inches, if there is a path.

    Without a size, the height is that of its labels.
    """
    if path is None:
        return
    from matplotlib.figure import Figure

    figure = Figure(figsize=size or (8, 4.6), layout="constrained")
    axes = draw(figure.add_subplot())
    if size is None:
        fit_height(axes)
    with writing(path) as file:
        figure.savefig(file, format=path.suffix[1:].lower(), dpi=150)
