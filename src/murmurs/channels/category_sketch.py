"""One bucket per report, by cohort: the law of O-RR."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from murmurs.channels.tables import Tables
from murmurs.numerics.arrays import Floats, Integers


@dataclass(frozen=True, eq=False)
class CategorySketch(Tables):
    """Cell (r, b) counts the reports of place b in row r.

    The own place of an answer is reported with probability ``hit``, each other with ``miss``.
    """

    @property
    def cells(self) -> tuple[int, ...]:
        """Rows by places."""
        return (self.rows, self.width)

    @property
    def is_histogram(self) -> bool:
        """A report is one row and place."""
        return True

    @property
    def exclusive(self) -> bool:
        """A report counts on one place."""
        return True

    def reports_of(self, cells: Integers | Floats) -> Integers | Floats:
        """Return the sums of the rows."""
        return np.asarray(cells.sum(axis=1))

    def placed(self, cells: Integers | Floats) -> Integers | Floats:
        """Return the cells themselves."""
        return cells

    def law_of(self, answer: int) -> list[Fraction]:
        """Return the law of the report of one answer."""
        out: list[Fraction] = []
        for row in range(self.rows):
            own = self.on_places(row, answer)
            out += [(self.miss + (self.hit - self.miss) * part) / self.rows for part in own]
        return out

    @property
    def base(self) -> Floats:
        """Places are reported falsely."""
        return np.asarray(self.row_parts * float(self.miss))

    def gain(self, shares: Floats) -> Floats:
        """Return (hit - miss) times the share on each place, times the row's part."""
        return np.asarray(self.difference * self.row_parts * self.masses(shares))

    def adjoint(self, weights: Floats) -> Floats:
        """Return the summed weights of the places of each answer, times (hit - miss)."""
        return self.difference * self.totals(self.row_parts * weights)
