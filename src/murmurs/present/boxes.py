"""Boxes: how numbers are distributed in each of several groups or periods, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from murmurs.numerics.arrays import Floats
from murmurs.present.axes import axes_for, entitle, label_style, wrapped
from murmurs.present.histograms import name_numbers
from murmurs.present.marks import quieten
from murmurs.present.palette import DATA, INK, QUIET, STEM
from murmurs.scales.scale import Scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PARTS = (0.1, 0.25, 0.5, 0.75, 0.9)
"""The parts of people at the ends of the lines, at those of the boxes, and at the tick."""


def plot_boxes(
    names: Sequence[str],
    quantiles: Floats,
    limits: tuple[Floats, Floats],
    scale: Scale,
    heading: str,
    title: str,
    axes: Axes | None = None,
) -> Axes:
    """Draw a row for each group: a line, a box and, for the median, a band and a tick.

    ``quantiles`` are those of `PARTS`, one row for each group, and ``limits`` those of the median.
    What is infinite, in an open-ended bucket, ends at the edge of the plot.
    """
    axes = axes_for(axes, *size_of(len(names)))
    ends = [edge for edge in scale.edges if np.isfinite(edge)]
    found = np.clip(quantiles, ends[0], ends[-1])
    low, high = (np.clip(own, ends[0], ends[-1]) for own in limits)
    places = np.arange(len(names), dtype=np.float64)
    first, left, middle, right, last = found.T
    axes.hlines(places, first, last, color=QUIET, linewidth=1.0, zorder=1)
    axes.barh(places, right - left, left=left, height=0.52, color=STEM, zorder=2)
    axes.barh(places, high - low, left=low, height=0.26, color=DATA, zorder=3)
    axes.vlines(middle, places - 0.3, places + 0.3, color=INK, linewidth=2.0, zorder=4)
    quieten(axes)
    axes.set_yticks(places, [wrapped(name, 22, most=2) for name in names], **label_style())
    axes.set_ylim(len(names) - 0.4, -0.6)
    name_numbers(axes, scale, np.array(ends), ())
    told = f"line: 10 to 90 % of people; box: 25 to 75 %; tick: median; band: its {heading}"
    axes.set_xlabel(", ".join(filter(None, [scale.unit, told])), color=QUIET, **label_style())
    entitle(axes, title)
    return axes


def size_of(groups: int) -> tuple[float, float]:
    """Return the width and the height of the plot in inches."""
    return 8.0, 1.5 + 0.45 * groups
