"""Course: one number, such as the median, over several periods or groups."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from murmurs.inference.statistic import Statistic, p_said
from murmurs.numerics.arrays import Floats
from murmurs.present import frames
from murmurs.present.axes import axes_for, entitle
from murmurs.present.layout import fold
from murmurs.present.marks import draw_band, quieten
from murmurs.present.periods import places_of, with_gaps
from murmurs.present.text import printable, table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PER = "per period"
"""What a slope is about: one step between neighbouring periods."""


@dataclass(frozen=True, eq=False)
class Course(frames.Tabular):
    """A number in each of several periods or groups, and whether it differs between them.

    ``p_value`` is that of the hypothesis that it is the same in all. ``slope`` is how much it grows
    per period, by weighted least squares; of groups, which have no order, it is None.
    """

    statistics: tuple[Statistic, ...]
    names: tuple[str, ...]
    p_value: float
    slope: Statistic | None = None
    title: str = ""
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What is shown, such as "median"."""
        return self.statistics[0].name

    @property
    def conclusion(self) -> str:
        """What the tests say, a sentence each."""
        which = "both" if len(self.names) == 2 else f"all {len(self.names)}"
        said = [f"Test that the {self.name} is the same in {which}: {p_said(self.p_value)}."]
        if self.slope is not None:
            said.append(f"{str(self.slope)[0].upper()}{str(self.slope)[1:]}.")
        return "\n".join(said)

    def columns(self) -> dict[str, Any]:
        """Return the columns period, value, low and high."""
        return {
            "period": list(self.names),
            "value": [one.value for one in self.statistics],
            "low": [one.low for one in self.statistics],
            "high": [one.high for one in self.statistics],
        }

    def table(self) -> str:
        """Return the table for the terminal, a row for each period."""
        first = self.statistics[0]
        digits = max(one.digits for one in self.statistics)
        unit = f" {first.unit}" if first.unit else ""
        rows = [
            [
                printable(name),
                f"{one.shown(one.value, digits)}{unit}",
                f"{one.shown(one.low, digits)} … {one.shown(one.high, digits)}",
            ]
            for name, one in zip(self.names, self.statistics, strict=True)
        ]
        return table(["period", self.name, f"{100 * first.level:g} % interval"], rows)

    def to_document(self) -> dict[str, Any]:
        """Return the course as plain values for JSON."""
        return {
            "name": self.name,
            "title": self.title,
            "notes": list(self.notes),
            "p_value": self.p_value,
            "slope": None if self.slope is None else self.slope.to_document(),
            "periods": list(self.names),
            "statistics": [one.to_document() for one in self.statistics],
        }

    def to_json(self) -> str:
        """Return the course as a JSON document."""
        return json.dumps(self.to_document(), ensure_ascii=False)

    def plot(self, axes: Axes | None = None, *, title: str | None = None) -> Axes:
        """Draw the number over the periods with its intervals; return matplotlib's axes.

        Periods are joined by a line with a band, groups are marks.
        """
        axes = axes_for(axes, 7.0, 3.5)
        factor = 100.0 if self.statistics[0].scale is None else 1.0
        value, low, high = (
            factor * _finite(self.columns()[name]) for name in ("value", "low", "high")
        )
        quieten(axes, grid="y")
        if self.slope is None:
            x = places_of([str(j) for j in range(len(self.names))])
            axes.errorbar(x, value, (value - low, high - value), fmt="o", color="C0")
        else:
            x = places_of(self.names)
            at, own, least, most = with_gaps(x, value, low, high)
            draw_band(axes, at, own, (least, most))
        axes.set_xticks(x, [printable(name) for name in self.names])
        unit = self.statistics[0].unit
        axes.set_ylabel(f"{self.name}, {unit}" if unit else self.name)
        told = "\n".join(filter(None, [self.title, self.conclusion]))
        entitle(axes, told if title is None else title)
        return axes

    def __str__(self) -> str:
        notes = "".join(f"\nNote: {note}." for note in self.notes)
        return f"{self.table()}\n\n{fold(self.conclusion + notes)}"


def _finite(values: list[float]) -> Floats:
    found = np.array(values, np.float64)
    return np.where(np.isfinite(found), found, np.nan)
