"""Confidence limits for Hadamard response from the law of a difference of two counts.

Of the reports in the block of an answer, some speak for it and the others against it. If an answer
has a share, the difference of the two counts has a known law except for one number: how many other
people have answers of the same block. Here it is that which makes both counts most likely, not less
than none. Limits follow from the tails of the difference as in `murmurs.inference.tails`. As a
number is estimated, no theorem says how often they cover; in simulations it is 93 % or more.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from murmurs.inference.intervals import Scale
from murmurs.inference.tails import (
    DECIDED,
    above_its_part,
    blended,
    exact_part,
    low_part,
    search,
)
from murmurs.numerics.arrays import Floats, Integers

_AT_ONCE = 1024
"""Limits that are computed together, so that memory is bounded."""


@dataclass(frozen=True)
class BlockLaw:
    """The law of the difference: how many reports there are, in how many blocks, how truthful."""

    n: int
    blocks: int
    truth: Fraction
    sampled: bool

    @property
    def floor(self) -> float:
        """The probability of a report against the answer from somebody in another block."""
        return float((1 - self.truth) / (2 * self.blocks))

    def against(self, plus: Floats, minus: Floats, people: Floats) -> Floats:
        """Return the likeliest probability of a report against an answer that people hold."""
        n, gap = float(self.n), float(self.truth) * people / self.n
        rest, in_block = n - plus - minus, plus + minus
        linear = in_block * (1 - gap) - 2 * minus * gap - 2 * rest * gap
        root = np.sqrt(linear**2 + 8 * n * minus * gap * (1 - gap))
        most = self.floor + float(self.truth) * (1 - people / n) / 2
        return np.clip((linear + root) / (4 * n), self.floor, np.maximum(most, self.floor))

    def scale(self, against: Floats) -> Scale:
        """Return the scale on which the unbiased share has noise one."""
        n, truth = self.n, float(self.truth)
        slope, bend = (1 / truth - 1) / n, 1 / n if self.sampled else 0.0
        return Scale(np.maximum(2 * against / (truth**2 * n), 1e-24), np.array(slope + bend), bend)

    def deviation(self, against: Floats, people: Floats) -> Floats:
        """Return the standard deviation of the difference."""
        mean = float(self.truth) * people
        known = mean * float(self.truth) * (people / self.n if self.sampled else 1.0)
        return np.asarray(np.sqrt(np.maximum(2 * self.n * against + mean - known, 0)))

    def tails(
        self, difference: Floats, against: Floats, people: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Return the probabilities of a smaller, of this and of a larger difference.

        Its distribution is the inverse of its characteristic function, which is a product of those
        of all people. Far from the mean, only the side counts.
        """
        n, truth, floor = self.n, float(self.truth), self.floor
        mean, deviation = truth * people, self.deviation(against, people)
        far = (deviation > DECIDED) & (np.abs(difference - mean) > 20 * deviation)
        widest = float(deviation[~far].max(initial=0.0))
        size = 1 << int(2 * (9 * widest + 25)).bit_length()
        start = np.rint(mean) - size // 2
        angle = 2 * np.pi * np.arange(size // 2 + 1) / size
        turn, wave = -4 * np.sin(angle / 2) ** 2, np.sin(angle)
        in_block = 2 * (against - floor) / truth  # the share of others in the block
        if self.sampled:
            either = turn * (against + mean / n / 2)[:, None]
            log = n * _log(either, (mean / n)[:, None] * wave)
        else:
            log = people[:, None] * _log(turn * (floor + truth / 2), truth * wave)
            log += (n * in_block)[:, None] * _log(turn * (floor + truth / 2), 0 * wave)
            log += (n * (1 - in_block) - people)[:, None] * _log(turn * floor, 0 * wave)
        law = np.fft.irfft(np.exp(log.conj() + 1j * angle * (start % size)[:, None]), size, axis=1)
        law = np.maximum(law, 0.0)
        place = np.clip(difference - start, -1, size).astype(np.int64)[:, None]
        steps = np.arange(size)
        sums = [(law * side).sum(axis=1) for side in (steps < place, steps == place, steps > place)]
        decided = (difference > mean, np.zeros(len(mean)), difference <= mean)
        below, at, above = (np.where(far, one, own) for one, own in zip(decided, sums, strict=True))
        return below, at, above


def block_limits(
    plus: Integers, minus: Integers, law: BlockLaw, level: float, usual: Floats
) -> Floats:
    """Return limits of shares, one row for each pair of counts.

    ``usual`` are those of the normal law; they are replaced where the difference varies little.
    """
    up, down = (np.repeat(counts.astype(np.float64), 2) for counts in (plus, minus))
    side = np.tile([False, True], len(plus))
    out = usual.ravel().copy()
    deviation = law.deviation(law.against(up, down, law.n * out), law.n * out)
    rows = np.flatnonzero(exact_part(deviation, level) > 0)
    for start in range(0, len(rows), _AT_ONCE):
        own = rows[start : start + _AT_ONCE]
        out[own] = _limits(up[own], down[own], side[own], law, level, out[own], deviation[own])
    return blended(usual, out.reshape(-1, 2), deviation.reshape(-1, 2), level)


def _limits(
    plus: Floats,
    minus: Floats,
    is_upper: NDArray[np.bool_],
    law: BlockLaw,
    level: float,
    guesses: Floats,
    deviation: Floats,
) -> Floats:
    """Return one limit for each pair of counts."""

    def excess(people: Floats, rows: Integers) -> Floats:
        against = law.against(plus[rows], minus[rows], people)
        scale = law.scale(against)
        low = low_part(scale.of(people / law.n), scale.of(np.ones(len(rows))), level)
        tails = law.tails(plus[rows] - minus[rows], against, people)
        return above_its_part(tails, low, is_upper[rows], level)

    reach = deviation / float(law.truth)
    return search(excess, is_upper, law.n, guesses, reach, whole=not law.sampled)


def _log(real: Floats, imaginary: Floats) -> NDArray[np.complex128]:
    """Return the logarithm of a characteristic function, given what it has beyond one."""
    size = np.maximum(2 * real + real**2 + imaginary**2, -1 + 1e-16)
    return np.asarray(np.log1p(size) / 2 + 1j * np.arctan2(imaginary, 1 + real))
