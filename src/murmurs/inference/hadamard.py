"""The fit of Hadamard response, whose blocks hold more than its linear inverse uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from murmurs.channels.blocks import HadamardBlocks
from murmurs.inference.block_tails import BlockLaw, block_limits
from murmurs.inference.direct import DirectFit
from murmurs.inference.intervals import Scale
from murmurs.numerics import walsh
from murmurs.numerics.arrays import Floats

MOST_ROWS = 512
"""The largest number of rows in a block for which weighted least squares are solved."""

ENOUGH_REPORTS = 20
"""The fewest reports per cell for which estimated weights are worth using."""


@dataclass(frozen=True, eq=False)
class BlockFit(DirectFit):
    """The transform of each block, refined by the totals of the blocks and by weights."""

    @property
    def channel(self) -> HadamardBlocks:
        """The law of the blocks."""
        return cast(HadamardBlocks, self.counts.channel)

    def limits(self, scale: Scale, level: float) -> Floats:
        """Return limits of the shares; where reports are few, from the law of their difference."""
        usual, channel = super().limits(scale, level), self.channel
        in_block = self.counts.cells.sum(axis=1)[channel.block_of]
        gap = channel.from_rows(walsh.transform(self.counts.cells.astype(np.float64)))
        plus = (in_block + np.rint(gap).astype(np.int64)) // 2
        law = BlockLaw(self.n, channel.blocks, channel.truth, scale.bend > 0)
        return block_limits(plus, in_block - plus, law, level, usual)

    def refined(self) -> tuple[Floats, Floats, Floats]:
        """Return estimates that also use the totals of the blocks, with one noise per block."""
        return self._by_block(*self.corrected())

    def reweighted(self, shares: Floats) -> tuple[Floats, Floats, Floats] | None:
        """Return least squares weighted at the shares, if reports are many and blocks small."""
        if self.channel.rows > MOST_ROWS or self.n < ENOUGH_REPORTS * self.counts.cells.size:
            return None
        return self._by_block(*self.weighted(shares))

    def _by_block(self, estimates: Floats, constant: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the estimates with the mean noise of their block.

        The noise of a single cell would be computed from its estimate, and is smaller where that is
        large, even if only by chance: large estimates would look more certain than they are.
        """
        block = self.channel.block_of
        mean = np.bincount(block, constant) / np.bincount(block)
        return estimates, mean[block], np.zeros(self.channel.k)

    def corrected(self) -> tuple[Floats, Floats]:
        """Return estimates that also use the totals of the blocks, and their variances.

        The variances are for the respondents. The estimates from the transform and the frequency
        of a block both estimate its total; generalised least squares divides the discrepancy
        among the estimates.
        """
        channel, cells, n = self.channel, self.counts.cells, self.n
        odds = channel.odds
        scale = odds + 2 * channel.blocks - 1
        d = scale / (odds - 1)  # 1 / truth
        estimates = self.unbiased
        block = channel.block_of
        frequency = cells.sum(axis=1) / n
        direct = (scale * frequency - 2) / (odds - 1)
        total = np.clip(direct, 0, 1)
        size = np.bincount(block, minlength=channel.blocks).astype(np.float64)
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
            + np.bincount(block, variance, minlength=channel.blocks)
            + with_others * (size - 1) * total
            - 2 * with_own * np.bincount(block, share, minlength=channel.blocks)
        )
        of_discrepancy = np.maximum(of_discrepancy, 0.1 * of_direct)
        discrepancy = direct - np.bincount(block, estimates, minlength=channel.blocks)
        better = estimates - covariance * (discrepancy / of_discrepancy)[block]
        left = variance - covariance**2 / of_discrepancy[block]
        return better, np.maximum(left, 0.05 * variance)

    def weighted(self, start: Floats) -> tuple[Floats, Floats]:
        """Return least-squares estimates with cells weighted as if ``start`` were the truth.

        Solved block by block, O(width rows^2); the variances are for the respondents.
        """
        channel, cells, n = self.channel, self.counts.cells, self.n
        odds = channel.odds
        norm = channel.width // 2 * (odds - 1) + channel.blocks * channel.width
        lines = channel.to_rows(start)
        matrix = walsh.transform(np.eye(channel.width))
        estimates, variances = np.zeros_like(lines), np.zeros_like(lines)
        for block in range(channel.blocks):
            used = slice(1, 1 + len(range(block, channel.k, channel.blocks)))
            supports = (matrix[:, used] + 1) / 2
            design = supports * ((odds - 1) / norm)
            law = (1 + (odds - 1) * (supports @ lines[block, used])) / norm
            weighted = (design / law[:, None]).T
            covariance = np.linalg.inv(weighted @ design)
            estimates[block, used] = covariance @ (weighted @ (cells[block] / n - 1 / norm))
            variances[block, used] = np.diag(covariance) / n
        found, variance = channel.from_rows(estimates), channel.from_rows(variances)
        given = variance - np.clip(found, 0, 1) / n  # minus what sampling would add
        return found, np.maximum(given, 0.15 * variance)
