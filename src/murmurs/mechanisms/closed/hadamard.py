"""Hadamard response: a short report, decoded by a fast Walsh-Hadamard transform."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np

from murmurs import kernels
from murmurs.channels.blocks import HadamardBlocks
from murmurs.mechanisms.closed.truthful import Truthful
from murmurs.mechanisms.settling import LEFT_OPEN, settled
from murmurs.numerics import walsh
from murmurs.numerics.arrays import Integers
from murmurs.numerics.sampling import split_uniformly
from murmurs.randomness.bulk import Bulk
from murmurs.randomness.verbs import Randomness
from murmurs.wire import Category, Reports


@dataclass(frozen=True)
class Hadamard(Truthful[int]):
    """Hadamard response with any number of blocks; by default, the best number.

    Use it when k is large and the server's time matters most: reports have about log2(2 k) bits,
    encoding takes a few operations, and decoding is one transform in O(k log k). For large k its
    variance is up to twice that of `Subset`; `ProjectiveGeometry` avoids that at the cost of an
    FFT. The best number of blocks is computed as if all blocks were equally full.

    Law: answer x has block x mod B and row r = 1 + x // B; each block has b positions, where b is
    the smallest power of two above the number of rows. With probability t = truth / 2**53 the
    report is a position y of the block with an even number of ones in r & y, uniformly (b / 2 of
    them); otherwise any position of any block, uniformly. A report is block * b + position;
    e^epsilon >= 1 + 2 B t / (1 - t).

    With one block this is Acharya, Sun and Zhang (2019) at small epsilon. The estimate and its
    variance hold for any B: the transform of the counts of x's block at row r, over n t.

    >>> from murmurs import Secure
    >>> h = Hadamard(k=100, epsilon=3.0)
    >>> h.blocks, h.width, h.encode(42, Secure()) < h.blocks * h.width
    (10, 16, True)
    """

    k: int
    epsilon: float
    blocks: int = LEFT_OPEN
    truth: int = field(default=LEFT_OPEN, repr=False)

    def __post_init__(self) -> None:
        self._settle()
        best = settled(self.blocks, "blocks", 1, self.k, lambda: best_blocks(self.k, self.epsilon))
        self._set(blocks=best)
        self._settle_truth()

    @property
    def width(self) -> int:
        """The positions in a block: the smallest power of two above the number of rows used."""
        return 1 << (-(-self.k // self.blocks)).bit_length()

    @property
    def reports_per_supporting(self) -> Fraction:
        """Twice the number of blocks: half the positions of one block support an answer."""
        return Fraction(2 * self.blocks)

    @property
    def shape(self) -> Category:
        """A report is a position of a block."""
        return Category(self.blocks * self.width)

    @cached_property
    def channel(self) -> HadamardBlocks:
        """Cell (b, y) counts the reports of position y in block b."""
        return HadamardBlocks(self.k, self.blocks, self.width, self.truth_probability)

    def _encode_one(self, answer: int, random: Randomness) -> int:
        """Return a position; for a true one, draw all bits but one, which follows from them."""
        if not random.chance(self.truth):
            return random.below(self.blocks * self.width)
        row = 1 + answer // self.blocks
        low = row & -row
        drawn = random.below(self.width // 2)
        place = (drawn & (low - 1)) | (drawn & -low) << 1  # room for the bit at ``low``
        if (place & row).bit_count() % 2:
            place |= low
        return answer % self.blocks * self.width + place

    def _encode_many(self, answers: Integers, random: Bulk) -> Reports:
        n = len(answers)
        honest = random.chance(self.truth, n)
        anywhere = random.below(self.blocks * self.width, n)
        row = 1 + answers // self.blocks
        place = random.below(self.width, n).astype(np.int64)
        # Of two positions that differ at the lowest one-bit of the row, one is even: take that one.
        place ^= (row & -row) * walsh.parity(place & row)
        return np.where(honest, answers % self.blocks * self.width + place, anywhere)

    def _count(self, reports: Reports) -> Integers:
        size = self.blocks * self.width
        return kernels.load().histogram(reports, size).reshape(self.blocks, self.width)

    def _simulate(self, histogram: Integers, rng: np.random.Generator) -> Integers:
        honest = rng.binomial(histogram, float(self.truth_probability))
        people = np.zeros((self.blocks, 2, self.width), np.int64)
        answers = np.arange(self.k)
        people[answers % self.blocks, 0, 1 + answers // self.blocks] = honest
        lies = split_uniformly(histogram.sum() - honest.sum(), self.blocks * self.width, rng)
        return walsh.scatter(people, rng) + lies.reshape(self.blocks, self.width)


def best_blocks(k: int, epsilon: float) -> int:
    """Return the number of blocks with the smallest error, next to (e^epsilon - 1) / 2.

    >>> best_blocks(1000, 2.0)
    3
    """
    # The error is k (e + 2B - 1)^2 / (B (e - 1)^2) - 1: compare the factors with B.
    gain = math.expm1(epsilon)
    centre = gain / 2
    sides = {int(min(max(side, 1), k)) for side in (math.floor(centre), math.ceil(centre))}
    return min(sides, key=lambda b: (gain / b + 2) * (1 + 2 * b / gain))
