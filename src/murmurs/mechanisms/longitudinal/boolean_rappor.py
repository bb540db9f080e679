"""RAPPOR of a yes or no: a single bit, with a permanent and an instantaneous response."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np

from murmurs import kernels
from murmurs.channels.matrix import MatrixChannel
from murmurs.mechanisms.longitudinal.basic_rappor import BasicRappor
from murmurs.mechanisms.mechanism import Mechanism
from murmurs.numerics.arrays import Integers
from murmurs.randomness.bulk import Bulk
from murmurs.randomness.verbs import Randomness
from murmurs.wire import Category, Reports


@dataclass(frozen=True)
class BooleanRappor(Mechanism[int]):
    """RAPPOR of a yes or no, given by f, p and q: one bit, randomised twice.

    Use it to read the booleans of google/rappor, which are reports with k = 1; if you are free to
    choose, take `KRR` with two answers, which is better at the same epsilon unless p + q = 1. Each
    report draws its permanent response anew.

    Law: answer 0 is false and 1 is true. The permanent bit is 1 with probability f/2, 0 with f/2,
    and the answer with 1 - f; the report is 1 with probability q if the permanent bit is 1,
    otherwise with p. So it is 1 with probability q* = (1 - f/2) q + (f/2) p if the answer is true,
    and with p* = (1 - f/2) p + (f/2) q if it is false. f, p and q are rounded to multiples of
    2**-53. Two answers differ in one bit: e^epsilon is the larger of q*/p* and (1 - p*)/(1 - q*).

    >>> flag = BooleanRappor(f=0.5, p=0.25, q=0.75)
    >>> flag.labels, round(flag.epsilon, 4)
    (('false', 'true'), 0.5108)
    """

    f: float
    p: float
    q: float
    epsilon: float = field(init=False, repr=False)

    k = 2

    def __post_init__(self) -> None:
        bit = self._bit
        self._set(f=bit.f, p=bit.p, q=bit.q)
        self._set(epsilon=self.epsilon_realised)

    @cached_property
    def _bit(self) -> BasicRappor:
        """The mechanism of the single bits, which checks f, p and q."""
        return BasicRappor(k=2, f=self.f, p=self.p, q=self.q)

    @property
    def labels(self) -> tuple[str, ...]:
        """The answers in words."""
        return "false", "true"

    @property
    def one(self) -> Fraction:
        """The probability that the report is 1 if the answer is true."""
        return self._bit.one

    @property
    def zero(self) -> Fraction:
        """The probability that the report is 1 if the answer is false."""
        return self._bit.zero

    @property
    def ratio(self) -> Fraction:
        """The larger ratio of the two reports."""
        return max(self.one / self.zero, (1 - self.zero) / (1 - self.one))

    @property
    def shape(self) -> Category:
        """A report is 0 or 1."""
        return Category(2)

    @cached_property
    def channel(self) -> MatrixChannel:
        """Cell r counts the reports r."""
        return MatrixChannel(((1 - self.zero, 1 - self.one), (self.zero, self.one)))

    def _encode_one(self, answer: int, random: Randomness) -> int:
        bit = self._bit
        return int(bit._bit(bit._permanent_bit(answer == 1, random), random))

    def _encode_many(self, answers: Integers, random: Bulk) -> Reports:
        true, false = (
            random.chance(chance.numerator, len(answers), chance.denominator)
            for chance in (self.one, self.zero)
        )
        return np.where(answers == 1, true, false).astype(self.shape.dtype)

    def _count(self, reports: Reports) -> Integers:
        return kernels.load().histogram(reports, 2)

    def _simulate(self, histogram: Integers, rng: np.random.Generator) -> Integers:
        ones = rng.binomial(histogram, [float(self.zero), float(self.one)]).sum()
        return np.array([histogram.sum() - ones, ones])
