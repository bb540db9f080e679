"""The law of some of the bits of unary encodings, in which one answer has no bit of its own."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from murmurs.channels.channel import Channel
from murmurs.numerics.arrays import Floats, Integers


@dataclass(frozen=True)
class SomeBits(Channel):
    """Cell j counts the reports with the bit of answer j set; the last answer has no bit.

    An answer's own bit is set with probability ``hit``, any other with ``miss``, each
    independently. The share of the last answer is what the others leave.
    """

    bits: int
    hit: Fraction
    miss: Fraction

    @property
    def k(self) -> int:  # type: ignore[override]
        """One answer for each bit, and one without."""
        return self.bits + 1

    @property
    def cells(self) -> tuple[int, ...]:
        """One cell for each bit."""
        return (self.bits,)

    @property
    def is_histogram(self) -> bool:
        """False: a report sets several bits, or none."""
        return False

    @property
    def other(self) -> int | None:
        """The last answer."""
        return self.bits

    @property
    def difference(self) -> float:
        """How much more often an answer's own bit is set than another."""
        return float(self.hit - self.miss)

    def law_of(self, answer: int) -> list[Fraction]:
        """Return the probability of each bit."""
        return [self.hit if j == answer else self.miss for j in range(self.bits)]

    @property
    def base(self) -> Floats:
        """The probability of a false bit."""
        return np.array([float(self.miss)])

    def gain(self, shares: Floats) -> Floats:
        """Return what the answers with a bit add to it."""
        return np.asarray(self.difference * shares[:-1])

    def adjoint(self, weights: Floats) -> Floats:
        """Return the weight of each answer's bit, and nothing for the last answer."""
        return np.append(self.difference * weights, 0.0)

    def invert(self, cells: Integers | Floats, n: int) -> Floats:
        """Return the share of each bit, and for the last answer what they leave of the whole."""
        own = (np.asarray(cells) / n - float(self.miss)) / self.difference
        return np.append(own, 1 - own.sum())

    def noise(self, shares: Floats, n: float) -> tuple[Floats, Floats]:
        """Return c and s; the variance of the last answer is the sum of the others'."""
        scale = n * self.difference**2
        false = float(self.miss * (1 - self.miss)) / scale
        slope = float(self.hit * (1 - self.hit)) / scale - false
        constants, slopes = np.full(self.k, false), np.full(self.k, slope)
        constants[-1], slopes[-1] = self.bits * false + slope, -slope
        return constants, slopes

    def covariance(self, histogram: Integers | Floats) -> Floats:
        """Return the variances of the cells: bits are independent given the answer."""
        people = np.asarray(histogram, np.float64)
        true, false = (float(p * (1 - p)) for p in (self.hit, self.miss))
        return np.diag(false * (people.sum() - people[:-1]) + true * people[:-1])
