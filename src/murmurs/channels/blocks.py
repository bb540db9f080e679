"""The law of Hadamard response: cells by block and position, decoded by fast transforms."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from murmurs.channels.channel import Channel
from murmurs.numerics import walsh
from murmurs.numerics.arrays import Floats, Integers


@dataclass(frozen=True)
class HadamardBlocks(Channel):
    """Cell (b, y) counts the reports of position y in block b.

    Answer x has block x mod B and row 1 + x // B. With probability ``truth`` its report is a
    position of its block whose entry in that row of the Hadamard matrix is +1, uniformly;
    otherwise it is any position of any block, uniformly.
    """

    k: int
    blocks: int
    width: int
    truth: Fraction

    @property
    def cells(self) -> tuple[int, ...]:
        """Blocks by positions."""
        return (self.blocks, self.width)

    @property
    def is_histogram(self) -> bool:
        """True: a report is one position."""
        return True

    @property
    def block_of(self) -> Integers:
        """The block of each answer."""
        return np.arange(self.k) % self.blocks

    @property
    def rows(self) -> int:
        """The number of rows of the matrix that the fullest block uses."""
        return -(-self.k // self.blocks)

    def law_of(self, answer: int) -> list[Fraction]:
        """Return the law of the report of one answer, block after block."""
        anywhere = (1 - self.truth) / (self.blocks * self.width)
        law = [anywhere] * (self.blocks * self.width)
        block, line = answer % self.blocks, 1 + answer // self.blocks
        for place in range(self.width):
            if (place & line).bit_count() % 2 == 0:
                law[block * self.width + place] += self.truth * 2 / self.width
        return law

    @property
    def base(self) -> Floats:
        """The probability of each position in a random report."""
        return np.array((1 - float(self.truth)) / (self.blocks * self.width))

    def gain(self, shares: Floats) -> Floats:
        """Return truth times the law of truthful reports, by one transform for each block."""
        by_row = self.to_rows(shares)
        in_block = by_row.sum(axis=1, keepdims=True)
        return np.asarray(float(self.truth) * (in_block + walsh.transform(by_row)) / self.width)

    def adjoint(self, weights: Floats) -> Floats:
        """Return the mean weight of each answer's positions, times truth, by the same transform."""
        sums = weights.sum(axis=1, keepdims=True) + walsh.transform(weights)
        return self.from_rows(float(self.truth) * sums / self.width)

    def invert(self, cells: Integers | Floats, n: int) -> Floats:
        """Return the transform of each block's counts, divided by n * truth."""
        return self.from_rows(walsh.transform(np.asarray(cells, np.float64))) / (
            n * float(self.truth)
        )

    def functional(self, weights: Floats, n: int) -> Floats:
        """Return the transform of the weights in each block, divided by truth."""
        lines = np.array([walsh.transform(self.to_rows(row)).ravel() for row in weights])
        return np.asarray(lines / float(self.truth))

    def noise(self, shares: Floats, n: float) -> tuple[Floats, Floats]:
        """Return the variance of a sum of signs, which are 0 outside the answer's block."""
        truth = float(self.truth)
        in_block = self.to_rows(shares).sum(axis=1)[self.block_of]
        constant = ((1 - truth) / self.blocks + truth * (in_block - shares)) / (truth**2 * n)
        return constant, np.full(self.k, (1 / truth - 1) / n)

    @property
    def odds(self) -> float:
        """How many times more likely a supporting report is: the realised e^epsilon."""
        return float(1 + 2 * self.blocks * self.truth / (1 - self.truth))

    def to_rows(self, shares: Integers | Floats) -> Floats:
        """Return shares by block and row of the matrix, with 0 in rows without an answer."""
        padded = np.zeros((self.width, self.blocks))
        padded[1 : 1 + self.rows].ravel()[: self.k] = shares
        return padded.T.copy()

    def from_rows(self, lines: Floats) -> Floats:
        """Return for each answer the value at its block and row."""
        return np.asarray(lines[:, 1 : 1 + self.rows].T.ravel()[: self.k])
