"""Cells of Hadamard response: reports by block and place, decoded by a Walsh-Hadamard transform."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from murmurs import walsh
from murmurs.channel import Channel
from murmurs.checks import Floats, Integers


@dataclass(frozen=True)
class HadamardBlocks(Channel):
    """Cell (b, y) counts the reports of place y in block b.

    Answer x lives in block x mod B at row 1 + x // B. With probability ``truth`` its report is a
    place of its block whose entry in that row of the Hadamard matrix is +1, uniformly; otherwise
    it is any place of any block.
    """

    k: int
    blocks: int
    width: int
    truth: Fraction

    @property
    def cells(self) -> tuple[int, ...]:
        """Blocks by places."""
        return (self.blocks, self.width)

    @property
    def is_histogram(self) -> bool:
        """A report is one place."""
        return True

    @property
    def rows(self) -> int:
        """How many rows of the matrix are in use in the fullest block."""
        return -(-self.k // self.blocks)

    def row(self, answer: int) -> list[Fraction]:
        """Return the law of the report of one answer, block after block."""
        anywhere = (1 - self.truth) / (self.blocks * self.width)
        law = [anywhere] * (self.blocks * self.width)
        block, line = answer % self.blocks, 1 + answer // self.blocks
        for place in range(self.width):
            if (place & line).bit_count() % 2 == 0:
                law[block * self.width + place] += self.truth * 2 / self.width
        return law

    def mean(self, shares: Floats) -> Floats:
        """Return the law of a report, by one transform for each block."""
        by_row = self._to_rows(shares)
        own_block = by_row.sum(axis=1, keepdims=True)
        signal = (own_block + walsh.transform(by_row)) / self.width
        anywhere = (1 - float(self.truth)) / (self.blocks * self.width)
        return np.asarray(anywhere + float(self.truth) * signal)

    def invert(self, cells: Integers | Floats, n: int) -> Floats:
        """Return the transform of each block's counts, divided by n * truth."""
        lines = walsh.transform(cells.astype(np.float64)) / (n * float(self.truth))
        return lines[:, 1 : 1 + self.rows].T.ravel()[: self.k]

    def variance(self, histogram: Integers | Floats) -> Floats:
        """Return the variance of a sum of signs, each of which is 0 outside the answer's block."""
        own = np.asarray(histogram, np.float64)
        n, truth = own.sum(), float(self.truth)
        in_block = self._to_rows(own).sum(axis=1)[np.arange(self.k) % self.blocks]
        squares = n * (1 - truth) / self.blocks + truth * in_block
        return np.asarray((squares / truth**2 - own) / n**2)

    def _to_rows(self, shares: Integers | Floats) -> Floats:
        padded = np.zeros((self.width, self.blocks))
        padded[1 : 1 + self.rows].ravel()[: self.k] = shares
        return padded.T.copy()
