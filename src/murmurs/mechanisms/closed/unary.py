"""Unary encodings: one bit per answer, each bit randomised by itself."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from murmurs import kernels
from murmurs.channels.symmetric import Symmetric
from murmurs.mechanisms.mechanism import Mechanism
from murmurs.mechanisms.settling import LEFT_OPEN, settle_flip
from murmurs.numerics.arrays import Integers
from murmurs.privacy import SCALE, check_promise
from murmurs.randomness.bulk import Bulk
from murmurs.randomness.verbs import Randomness
from murmurs.wire import Bits, Reports


class Unary(Mechanism[bytes]):
    """What unary encodings share: the answer's bit has one probability, the others another.

    A report is k bits, packed; bit j is bit j % 8 of byte j // 8.
    """

    @property
    @abstractmethod
    def one(self) -> Fraction:
        """The probability that the bit of the answer is set (p*)."""

    @property
    @abstractmethod
    def zero(self) -> Fraction:
        """The probability that any other bit is set (q*)."""

    @abstractmethod
    def _bit(self, own: bool, random: Randomness) -> bool:
        """Return one randomised bit."""

    @property
    def ratio(self) -> Fraction:
        """p*(1 - q*) / (q*(1 - p*)), since two answers differ in two bits."""
        return self.one * (1 - self.zero) / (self.zero * (1 - self.one))

    @property
    def shape(self) -> Bits:
        """A report is k bits."""
        return Bits(self.k)

    @cached_property
    def channel(self) -> Symmetric:
        """Cell j counts the reports with bit j set."""
        return Symmetric.independent(self.k, self.one, self.zero)

    def _encode_one(self, answer: int, random: Randomness) -> bytes:
        """Return the bits, drawn from the first to the last."""
        return self.shape.of(self._bit(j == answer, random) for j in range(self.k))

    def _encode_many(self, answers: Integers, random: Bulk) -> Reports:
        return self._set_bits(answers, self.one, self.zero, random)

    def _set_bits(
        self, answers: Integers, one: Fraction, zero: Fraction, random: Bulk
    ) -> NDArray[np.uint8]:
        """Return rows of bits, each set with probability ``one`` at the answer, else ``zero``."""
        n, size = len(answers), self.shape.size
        # Denominators are powers of two, so a fraction in lowest terms is already a threshold.
        out = random.packed(zero.numerator, n * size, zero.denominator)
        own = random.chance(one.numerator, n, one.denominator)
        at = np.arange(n) * size + (answers >> 3)
        place = (answers & 7).astype(np.uint8)
        out[at] = out[at] & ~(np.uint8(1) << place) | own.view(np.uint8) << place
        rows = out.reshape(n, size)
        if self.k % 8:
            rows[:, -1] &= (1 << self.k % 8) - 1
        return rows

    def supports(self, reports: Reports) -> NDArray[np.uint8]:
        """Return which answers each report supports, as packed bits: the report itself."""
        return self.shape.check(reports)

    def _count(self, reports: Reports) -> Integers:
        return kernels.load().bit_totals(np.ascontiguousarray(reports), self.k)

    def _simulate(self, histogram: Integers, rng: np.random.Generator) -> Integers:
        true = rng.binomial(histogram, float(self.one))
        return np.asarray(true + rng.binomial(histogram.sum() - histogram, float(self.zero)))


@dataclass(frozen=True)
class SUE(Unary):
    """Symmetric unary encoding, the same as k-RAPPOR and Basic one-time RAPPOR.

    Use it to compare with the literature; `OUE` has the smaller variance for most alphabets and
    `Subset` for all.

    Law: bit j is (j == answer), and each bit is flipped with probability u = flip / 2**53, the
    smallest that keeps ((1 - u) / u)^2 <= e^epsilon. Kairouz et al. (2016), eq. 10.

    >>> from murmurs import Secure
    >>> len(SUE(k=20, epsilon=1.0).encode(3, Secure()))
    3
    """

    k: int
    epsilon: float
    flip: int = field(default=LEFT_OPEN, repr=False)

    def __post_init__(self) -> None:
        self._settle()
        self._set(flip=settle_flip(self.flip, self.epsilon / 2))
        check_promise(self.ratio, self.epsilon, self)

    @property
    def one(self) -> Fraction:
        """1 - flip."""
        return 1 - self.zero

    @property
    def zero(self) -> Fraction:
        """The probability of a flip."""
        return Fraction(self.flip, SCALE)

    def _bit(self, own: bool, random: Randomness) -> bool:
        return own != random.chance(self.flip)


@dataclass(frozen=True)
class OUE(Unary):
    """Optimised unary encoding: the bit of the answer is a fair coin, others are rarely set.

    Use it for up to some thousands of answers when reports may be k bits long and the client must
    be as simple as possible. Its variance is within 3 % of the best from k = 100 on at epsilon 1,
    and from k = 1000 on at epsilon 4.

    Law: bit j == answer is set with probability 1/2, every other with probability u = flip / 2**53,
    the smallest that keeps (1 - u) / u <= e^epsilon. Wang et al. (2017).

    >>> OUE(k=20, epsilon=1.0).channel.hit
    Fraction(1, 2)
    """

    k: int
    epsilon: float
    flip: int = field(default=LEFT_OPEN, repr=False)

    def __post_init__(self) -> None:
        self._settle()
        self._set(flip=settle_flip(self.flip, self.epsilon))
        check_promise(self.ratio, self.epsilon, self)

    @property
    def one(self) -> Fraction:
        """One half: a fair coin."""
        return Fraction(1, 2)

    @property
    def zero(self) -> Fraction:
        """The probability of a false bit."""
        return Fraction(self.flip, SCALE)

    def _bit(self, own: bool, random: Randomness) -> bool:
        return random.chance(SCALE // 2 if own else self.flip)
