"""Axes, titles and names of plots; matplotlib is loaded when it is used."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from murmurs.boundary.checks import shown as quoted
from murmurs.present.text import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDE = (8.0, 4.6)
"""Width and height in inches of a plot whose horizontal axis has names or numbers."""

_TITLE = 86
"""Characters of a label on the left and the title together."""

_ACROSS, _MOST_NAMES = 80, 26
"""Characters that fit below the axes, and the most names there."""


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


def axes_for(given: Axes | None, width: float, height: float) -> Axes:
    """Return the axes that were given, or those of a new figure of this size."""
    if given is None:
        return new_axes(width, height)
    if not hasattr(given, "annotate"):
        raise TypeError(
            f"plot draws into axes of matplotlib, not into {quoted(given)}: to save the picture, "
            "use plot().figure.savefig('shares.png')"
        )
    return given


def wrapped(text: str, width: int, most: int = 3) -> str:
    r"""Return a text on at most so many lines of this width; control characters are written out.

    >>> wrapped("I would rather come by car", 14)
    'I would rather\ncome by car'
    >>> wrapped("one two three four", 5, most=2)
    'one\ntwo…'
    """
    lines: list[str] = []
    for line in printable(text, keep="\n").split("\n"):
        lines += textwrap.wrap(line, width) or [""]
    return "\n".join([*lines[: most - 1], lines[most - 1] + "…"] if len(lines) > most else lines)


def name_places(axes: Axes, given: Sequence[str]) -> None:
    """Name the places on the horizontal axis: side by side or, if that is too long, slanted."""
    every = -(-len(given) // _MOST_NAMES)
    names = [wrapped(name, max(10, _ACROSS // len(given))) for name in given[::every]]
    slanted = len(names) * (2 + max(len(line) for n in names for line in n.split("\n"))) > _ACROSS
    axes.set_xticks(range(0, len(given), every), names, parse_math=False)
    if slanted:
        for tick in axes.get_xticklabels():
            tick.set(rotation=40, ha="right", rotation_mode="anchor")


def by_powers(axes: Axes) -> None:
    """Make the vertical axis logarithmic, with plain numbers at its ticks: 0.2, not 2 × 10⁻¹."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, StrMethodFormatter

    class Ticks(LogLocator):
        """Ticks at 1, 2 and 5 of each power; on a short axis, where few of them lie, at others."""

        def tick_values(self, vmin: float, vmax: float) -> Any:
            """Return where the ticks are."""
            found = np.asarray(super().tick_values(vmin, vmax))
            if ((vmin <= found) & (found <= vmax)).sum() > 2:
                return found
            found = np.asarray(MaxNLocator(5).tick_values(vmin, vmax))
            return found[found > 0]

    axes.set_yscale("log")
    axes.yaxis.set_major_locator(Ticks(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def room(axes: Axes) -> int:
    """Return how many characters fit above or below the axes, to the right of their labels."""
    labels = "\n".join(tick.get_text() for tick in axes.get_yticklabels())
    return _TITLE - max(map(len, labels.split("\n")))


def entitle(axes: Axes, title: str, width: int | None = None) -> None:
    """Set the title above the left edge; long labels to the left leave less room for it.

    ``width`` is that room in characters, where the labels are numbers.
    """
    text = wrapped(title, room(axes) if width is None else width, most=4)
    axes.set_title(text, loc="left", parse_math=False, fontsize="medium")
