"""k-ary randomised response: report the truth with some probability, otherwise any answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np

from murmurs import kernels
from murmurs.channels.symmetric import Symmetric
from murmurs.mechanisms.closed.truthful import Truthful
from murmurs.mechanisms.settling import LEFT_OPEN
from murmurs.numerics.arrays import Integers
from murmurs.numerics.sampling import split_uniformly
from murmurs.randomness.bulk import Bulk
from murmurs.randomness.verbs import Randomness
from murmurs.wire import Category, Reports


@dataclass(frozen=True)
class KRR(Truthful[int]):
    """k-ary randomised response: report the true answer or, with some probability, any of the k.

    Use it when epsilon is large for the alphabet (k below about 1.4 (e^epsilon + 1)): there it is
    the best mechanism known, and its report is a single answer. For k = 2 it is Warner's (1965).

    Law: with probability t = truth / 2**53 the report is the answer, otherwise one of 0..k-1
    uniformly. So p* = t + (1 - t) / k, q* = (1 - t) / k and e^epsilon >= 1 + k t / (1 - t).
    Kairouz, Bonawitz and Ramage (2016), eq. 4; the variance of a share x of n people is
    (x p*(1 - p*) + (1 - x) q*(1 - q*)) / (n (p* - q*)^2).

    >>> from murmurs import Secure
    >>> rr = KRR(k=4, epsilon=1.0)
    >>> rr.encode(2, Secure()) in range(4)
    True
    >>> round(rr.channel.hit / rr.channel.miss, 12), rr.epsilon_realised <= 1.0
    (Fraction(2718281828459, 1000000000000), True)
    """

    k: int
    epsilon: float
    truth: int = field(default=LEFT_OPEN, repr=False)

    def __post_init__(self) -> None:
        self._settle()
        self._settle_truth()

    @property
    def reports_per_supporting(self) -> Fraction:
        """The number of answers: one of k reports supports a given answer."""
        return Fraction(self.k)

    @property
    def shape(self) -> Category:
        """A report is an answer."""
        return Category(self.k)

    @cached_property
    def channel(self) -> Symmetric:
        """Cell j counts the reports of answer j."""
        lie = (1 - self.truth_probability) / self.k
        return Symmetric.exclusive(self.k, self.truth_probability + lie, lie)

    def _encode_one(self, answer: int, random: Randomness) -> int:
        """Return the answer or, with the complementary probability, any answer."""
        return answer if random.chance(self.truth) else random.below(self.k)

    def _encode_many(self, answers: Integers, random: Bulk) -> Reports:
        out = random.below(self.k, len(answers)).astype(self.shape.dtype)
        np.copyto(out, answers, casting="unsafe", where=random.chance(self.truth, len(answers)))
        return out

    def _count(self, reports: Reports) -> Integers:
        return kernels.load().histogram(reports, self.k)

    def _simulate(self, histogram: Integers, rng: np.random.Generator) -> Integers:
        honest = rng.binomial(histogram, float(self.truth_probability))
        return honest + split_uniformly(histogram.sum() - honest.sum(), self.k, rng)
