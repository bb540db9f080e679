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
    def block_of(self) -> Integers:
        """The block each answer lives in."""
        return np.arange(self.k) % self.blocks

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

    @property
    def base(self) -> Floats:
        """Any place is as likely."""
        return np.array((1 - float(self.truth)) / (self.blocks * self.width))

    def gain(self, shares: Floats) -> Floats:
        """Return truth times the law of truthful reports, by one transform for each block."""
        by_row = self._to_rows(shares)
        in_block = by_row.sum(axis=1, keepdims=True)
        return np.asarray(float(self.truth) * (in_block + walsh.transform(by_row)) / self.width)

    def collect(self, weights: Floats) -> Floats:
        """Return the mean weight of each answer's places, times truth, by the same transform."""
        sums = weights.sum(axis=1, keepdims=True) + walsh.transform(weights)
        return self._from_rows(float(self.truth) * sums / self.width)

    def invert(self, cells: Integers | Floats, n: int) -> Floats:
        """Return the transform of each block's counts, divided by n * truth."""
        return self._from_rows(walsh.transform(np.asarray(cells, np.float64))) / (
            n * float(self.truth)
        )

    def noise(self, shares: Floats, n: float) -> tuple[Floats, Floats]:
        """Return the variance of a sum of signs, each of which is 0 outside the answer's block."""
        truth = float(self.truth)
        in_block = self._to_rows(shares).sum(axis=1)[self.block_of]
        constant = ((1 - truth) / self.blocks + truth * (in_block - shares)) / (truth**2 * n)
        return constant, np.full(self.k, (1 / truth - 1) / n)

    def corrected(self, cells: Integers, n: int) -> tuple[Floats, Floats]:
        """Return estimates that also use the blocks' totals, and their variances given the people.

        The transform's estimates of a block and the block's own frequency both tell the block's
        total; generalised least squares shares the discrepancy among the estimates.
        """
        odds = self._odds
        scale = odds + 2 * self.blocks - 1
        d = scale / (odds - 1)  # 1 / truth
        estimates = self.invert(cells, n)
        block = self.block_of
        frequency = cells.sum(axis=1) / n
        direct = (scale * frequency - 2) / (odds - 1)
        total = np.clip(direct, 0, 1)
        size = np.bincount(block, minlength=self.blocks).astype(np.float64)
        share = np.clip(estimates, 0, total[block])
        variance = np.maximum(
            (d * d * np.maximum(frequency, 1 / scale)[block] - share) / n,
            0.02 * d * d * 2 / scale / n,
        )
        in_block = (odds + 1) / scale
        with_own, with_others = d * (1 - in_block) / n, d / n
        of_direct = (
            d
            * d
            * (total * in_block * (1 - in_block) + (1 - total) * 2 / scale * (1 - 2 / scale))
            / n
        )
        covariance = with_own * share - variance - with_others * (total[block] - share)
        of_discrepancy = (
            of_direct
            + np.bincount(block, variance, minlength=self.blocks)
            + with_others * (size - 1) * total
            - 2 * with_own * np.bincount(block, share, minlength=self.blocks)
        )
        of_discrepancy = np.maximum(of_discrepancy, 0.1 * of_direct)
        discrepancy = direct - np.bincount(block, estimates, minlength=self.blocks)
        better = estimates - covariance * (discrepancy / of_discrepancy)[block]
        left = variance - covariance**2 / of_discrepancy[block]
        return better, np.maximum(left, 0.05 * variance)

    def reweighted(self, cells: Integers, n: int, start: Floats) -> tuple[Floats, Floats]:
        """Return least-squares estimates with cells weighted as if ``start`` were the truth.

        Block by block, O(width rows^2); variances are given the people.
        """
        odds = self._odds
        norm = self.width // 2 * (odds - 1) + self.blocks * self.width
        lines = self._to_rows(start)
        matrix = walsh.transform(np.eye(self.width))
        estimates, variances = np.zeros_like(lines), np.zeros_like(lines)
        for block in range(self.blocks):
            used = slice(1, 1 + len(range(block, self.k, self.blocks)))
            supports = (matrix[:, used] + 1) / 2
            design = supports * ((odds - 1) / norm)
            law = (1 + (odds - 1) * (supports @ lines[block, used])) / norm
            weighted = (design / law[:, None]).T
            covariance = np.linalg.inv(weighted @ design)
            estimates[block, used] = covariance @ (weighted @ (cells[block] / n - 1 / norm))
            variances[block, used] = np.diag(covariance) / n
        found, variance = self._from_rows(estimates), self._from_rows(variances)
        given = variance - np.clip(found, 0, 1) / n  # less what sampling would add
        return found, np.maximum(given, 0.15 * variance)

    @property
    def _odds(self) -> float:
        """How much likelier a supporting report is: e^epsilon as realised."""
        return float(1 + 2 * self.blocks * self.truth / (1 - self.truth))

    def _to_rows(self, shares: Integers | Floats) -> Floats:
        padded = np.zeros((self.width, self.blocks))
        padded[1 : 1 + self.rows].ravel()[: self.k] = shares
        return padded.T.copy()

    def _from_rows(self, lines: Floats) -> Floats:
        return np.asarray(lines[:, 1 : 1 + self.rows].T.ravel()[: self.k])
