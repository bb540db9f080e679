"""Axes, titles and names of plots; matplotlib is loaded when it is used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from murmurs.boundary.checks import shown as quoted
from murmurs.present.glyphs import drawable, families
from murmurs.present.layout import cut, split
from murmurs.present.palette import INK
from murmurs.present.text import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDE = (8.0, 4.6)
"""Width and height in inches of a plot whose horizontal axis has names or numbers."""

_TITLE = 86
"""Characters of a label on the left and the title together."""

_BETWEEN_PANELS = 0.1
"""The part of the width of a panel that is left free beside it."""

_ACROSS, _MOST_NAMES, _SHORT = 80, 26, 6
"""Characters that fit below the axes, the most names there, and those of a name never slanted."""


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
    r"""Return a text on at most so many lines of this width, with letters that can be drawn.

    >>> wrapped("I would rather come by car", 14)
    'I would rather\ncome by car'
    >>> wrapped("one two three four", 5, most=2)
    'one\ntwo…'
    """
    lines: list[str] = []
    for line in drawable(printable(text, keep="\n")).split("\n"):
        lines += split(" ".join(line.split()), width)
    return "\n".join(cut(lines, most))


def label_style() -> dict[str, Any]:
    """Return the style of texts that people wrote: no formulas, and fonts with more letters."""
    return {"parse_math": False, "fontfamily": families()}


def name_places(axes: Axes, given: Sequence[str]) -> None:
    """Name the places on the horizontal axis: side by side or, if that is too long, slanted."""
    longest = max(map(len, given))
    fitting = _ACROSS // (2 + longest) if longest <= _SHORT else _MOST_NAMES
    every = -(-len(given) // fitting)
    names = [wrapped(name, max(10, _ACROSS // len(given))) for name in given[::every]]
    slanted = len(names) * (2 + max(len(line) for n in names for line in n.split("\n"))) > _ACROSS
    axes.set_xticks(range(0, len(given), every), names, **label_style())
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
    axes.set_title(text, loc="left", fontsize="medium", color=INK, **label_style())


def panels(axes: Axes, count: int, across: int) -> list[Axes]:
    """Return small axes within axes, row by row, with room above each for two lines."""
    axes.axis("off")
    rows = -(-count // across)
    wide, high = 1 / across, 1 / rows
    inches = axes.get_position().height * axes.get_figure(root=True).get_size_inches()[1] / rows  # type: ignore[union-attr]
    above, below = min(0.45 / inches, 0.4), min(0.25 / inches, 0.25)
    return [
        axes.inset_axes(
            (
                (n % across) * wide,
                1 - (n // across + 1) * high + below * high,
                wide * (1 - _BETWEEN_PANELS * (across > 1)),
                high * (1 - above - below),
            )
        )
        for n in range(count)
    ]
