"""The law of a Hadamard sketch: reports by row, position and sign."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from murmurs.channels.hashed import Sketch
from murmurs.numerics import walsh
from murmurs.numerics.arrays import Floats, Integers


@dataclass(frozen=True, eq=False)
class SignSketch(Sketch):
    """Cell (j, l, s) counts the reports of sign s (0: plus, 1: minus) at position l of row j.

    Row and position are uniform. The sign is the entry of the Hadamard matrix at l and the answer's
    bucket; it is kept with probability ``keep`` and flipped otherwise.
    """

    keep: Fraction

    @property
    def cells(self) -> tuple[int, ...]:
        """Rows by positions by signs."""
        return (self.rows, self.width, 2)

    @property
    def is_histogram(self) -> bool:
        """True: a report is one row, position and sign."""
        return True

    def law_of(self, answer: int) -> list[Fraction]:
        """Return the law of the report of one answer."""
        out: list[Fraction] = []
        for row in range(self.rows):
            bucket = self.on_places(row, answer).index(Fraction(1))
            for place in range(self.width):
                odd = (place & bucket).bit_count() % 2
                signs = [1 - self.keep, self.keep] if odd else [self.keep, 1 - self.keep]
                out += [x / (self.rows * self.width) for x in signs]
        return out

    @property
    def base(self) -> Floats:
        """Both signs equally likely at every position."""
        return np.array(1 / (2 * self.rows * self.width))

    def gain(self, shares: Floats) -> Floats:
        """Return how far the signs deviate from equal, by one transform for each row."""
        tilt = walsh.transform(self.masses(shares)) * float(2 * self.keep - 1)
        return np.stack([tilt, -tilt], axis=-1) / (2 * self.rows * self.width)

    def adjoint(self, weights: Floats) -> Floats:
        """Return each answer's signed weights, plus against minus, by the same transform."""
        table = walsh.transform(weights[..., 0] - weights[..., 1])
        return float(2 * self.keep - 1) / (2 * self.rows * self.width) * self.totals(table)

    def invert(self, cells: Integers | Floats, n: int) -> Floats:
        """Return the mean sketch estimate, by one transform for each row."""
        signs = (cells[..., 0] - cells[..., 1]) / float(2 * self.keep - 1)
        return self.unhash(walsh.transform(signs) / n)

    def noise(self, shares: Floats, n: float) -> tuple[Floats, Floats]:
        """Return the mean squared error over privacy noise, rows, positions and hash functions."""
        square = float(1 / (2 * self.keep - 1) ** 2)
        return self.spread_noise(shares, n, square - 1, square - self.width**-2)
