"""The law of bits in cohorts: Bloom filters and count mean sketches."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from murmurs.boundary.texts import numbered
from murmurs.channels.tables import Tables
from murmurs.numerics.arrays import Floats, Integers, exact_sum


@dataclass(frozen=True, eq=False)
class BitSketch(Tables):
    """Cell (r, 0) counts the reports of row r, cell (r, 1 + b) those of them with bit b set.

    The bits of the answer's own buckets are set with probability ``hit``, all others with ``miss``.
    """

    @property
    def cells(self) -> tuple[int, ...]:
        """The rows, each with one count of reports and ``width`` counts of bits."""
        return (self.rows, 1 + self.width)

    @property
    def is_histogram(self) -> bool:
        """False: a report sets many bits."""
        return False

    @property
    def exclusive(self) -> bool:
        """False: bits are set independently."""
        return False

    def why_impossible(self, cells: Integers, n: int) -> str | None:
        """Return why the rows do not add up, or which bit is set more often than its row."""
        total = exact_sum(cells[:, 0])
        if total != n:
            return f"rows add up to {numbered(total, 'report')}, not {n}"
        parted = np.flatnonzero(cells[:, 0] % self.times)
        if isinstance(self.times, int) and len(parted):  # not if some report more often
            row = int(parted[0])
            reports = numbered(int(cells[row, 0]), "report")
            return f"row {row} has {reports}, but each person sends {self.times}"
        above = np.argwhere(cells[:, 1:] > cells[:, :1])
        if len(above):
            row, bit = (int(x) for x in above[0])
            times = numbered(int(cells[row, 1 + bit]), "time")
            reports = numbered(int(cells[row, 0]), "report")
            return f"bit {bit} of row {row} is set {times} in {reports}"
        return None

    def reports_of(self, cells: Integers | Floats) -> Integers | Floats:
        """Return the first column."""
        return cells[:, 0]

    def placed(self, cells: Integers | Floats) -> Integers | Floats:
        """Return the other columns."""
        return cells[:, 1:]

    def law_of(self, answer: int) -> list[Fraction]:
        """Return the mean of every cell for one answer."""
        out: list[Fraction] = []
        for row in range(self.rows):
            own = self.on_places(row, answer)
            bits = [self.miss + (self.hit - self.miss) * part for part in own]
            out += [x / self.rows for x in [Fraction(1), *bits]]
        return out

    @property
    def base(self) -> Floats:
        """The report itself in its row, and false bits."""
        return np.asarray(self.row_parts * ([1.0] + [float(self.miss)] * self.width))

    def gain(self, shares: Floats) -> Floats:
        """Return (hit - miss) times the share in each bucket, times the row's part."""
        out = np.zeros(self.cells)
        out[:, 1:] = self.difference * self.row_parts * self.masses(shares)
        return out

    def adjoint(self, weights: Floats) -> Floats:
        """Return the summed weights of the buckets of each answer, times (hit - miss)."""
        return self.difference * self.totals(self.row_parts * weights[:, 1:])

    def covariance(self, histogram: Integers | Floats) -> Floats:
        """Return the covariance of the cells: bits of one row are independent given the row.

        Two reports of one person have the same row, and their bits share all variance but `fresh`.
        """
        size, times = 1 + self.width, self.times
        out = np.zeros((self.rows * size, self.rows * size))
        histogram = np.asarray(histogram, np.float64)
        for answer, (people, mean) in enumerate(zip(histogram, self.matrix(), strict=True)):
            second = np.zeros_like(out)
            for row in range(self.rows):
                part = slice(row * size, (row + 1) * size)
                given_row = mean[part] * self.rows
                block = times * np.outer(given_row, given_row)
                if answer == self.layout.k:  # two buckets are set together less often
                    pair = float(self.filled_pair - self.filled**2)
                    block[1:, 1:] += times * self.difference**2 * pair
                fresh = np.append(0.0, self.repeats.fresh(given_row[1:]))
                np.fill_diagonal(block, times * given_row - (times - 1) * fresh)
                second[part, part] = block / self.rows
            out += people * (second - times * np.outer(mean, mean))
        return out


@dataclass(frozen=True, eq=False)
class MeanSketch(BitSketch):
    """The bits of a count mean sketch: its rows are averaged, and collisions never solved for."""

    solvable: ClassVar[bool] = False
