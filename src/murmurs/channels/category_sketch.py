"""The law of O-RR: one bucket per report, by cohort."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from murmurs.channels.tables import Tables
from murmurs.numerics.arrays import Floats, Integers


@dataclass(frozen=True, eq=False)
class CategorySketch(Tables):
    """Cell (r, b) counts the reports of bucket b in row r.

    An answer's own bucket is reported with probability ``hit``, every other with ``miss``.
    """

    @property
    def cells(self) -> tuple[int, ...]:
        """Rows by buckets."""
        return (self.rows, self.width)

    @property
    def is_histogram(self) -> bool:
        """True: a report is one row and bucket."""
        return True

    @property
    def exclusive(self) -> bool:
        """True: a report counts in one bucket."""
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
        """False reports of each bucket."""
        return np.asarray(self.row_parts * float(self.miss))

    def gain(self, shares: Floats) -> Floats:
        """Return (hit - miss) times the share in each bucket, times the row's part."""
        return np.asarray(self.difference * self.row_parts * self.masses(shares))

    def adjoint(self, weights: Floats) -> Floats:
        """Return the summed weights of the buckets of each answer, times (hit - miss)."""
        return self.difference * self.totals(self.row_parts * weights)
