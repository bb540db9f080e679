"""O-RR: k-ary randomised response of hashed answers, for open questions and fixed lists."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np

from murmurs import kernels
from murmurs.channels.category_sketch import CategorySketch
from murmurs.hashing.layout import Layout
from murmurs.mechanisms.hashed.cohorts import Cohorts
from murmurs.mechanisms.hashed.permuted import Permuted
from murmurs.mechanisms.settling import LEFT_OPEN, settle_truth
from murmurs.numerics.arrays import Integers
from murmurs.numerics.sampling import split_uniformly
from murmurs.privacy import SCALE, check_epsilon, check_promise, truth_ratio
from murmurs.randomness.bulk import Bulk
from murmurs.randomness.verbs import Randomness
from murmurs.wire import Category, Reports


class BucketResponse(Cohorts[int]):
    """Randomised response of a bucket: with the probability ``truth`` the true one, else any."""

    truth: int

    @property
    def truth_probability(self) -> Fraction:
        """The exact probability of a truthful report."""
        return Fraction(self.truth, SCALE)

    def _settle_response(self) -> None:
        """Compute the probability of truth from epsilon, or check a given one against it."""
        self._set(epsilon=check_epsilon(self.epsilon))
        self._settle_table()
        self._set(truth=settle_truth(self.truth, self.epsilon, Fraction(self.width)))
        check_promise(self.ratio, self.epsilon, self)

    @property
    def ratio(self) -> Fraction:
        """The ratio of `KRR` with as many answers as buckets."""
        return truth_ratio(self.truth, Fraction(self.width))

    @property
    def shape(self) -> Category:
        """A report is a cohort and a bucket, in one number."""
        return Category(self.cohorts * self.width)

    def channel_for(self, layout: Layout, is_open: bool) -> CategorySketch:
        """Cell (c, b) counts the reports of bucket b in cohort c."""
        lie = (1 - self.truth_probability) / self.width
        return CategorySketch(layout, is_open, self.truth_probability + lie, lie)

    def _randomise(self, cohort: int, places: Sequence[int], random: Randomness) -> int:
        own = places[0] if random.chance(self.truth) else random.below(self.width)
        return cohort * self.width + own

    def _randomise_many(self, cohorts: Integers, places: Integers, random: Bulk) -> Reports:
        out = random.below(self.width, len(cohorts)).astype(np.int64)
        np.copyto(out, places[0], where=random.chance(self.truth, len(cohorts)))
        return cohorts * self.width + out

    def _count(self, reports: Reports) -> Integers:
        return kernels.load().histogram(reports, self.shape.count).reshape(self.channel.cells)

    def _simulate_cohort(self, held: Integers, people: int, rng: np.random.Generator) -> Integers:
        honest = rng.binomial(held, float(self.truth_probability))
        return honest + split_uniformly(people - honest.sum(), self.width, rng)


@dataclass(frozen=True)
class ORR(BucketResponse):
    """O-RR: k-ary randomised response of a hashed string, with one hash function per cohort.

    Use it when answers are strings that cannot be listed beforehand. The best ``width`` grows with
    epsilon (about e^epsilon + 1), and there should be many cohorts: `murmurs.tune`
    finds both.

    Law: the cohort c is uniform; the string's bucket in it is y = XXH32(key, salt + c) * width
    >> 32, the key being number c mod 4 of the four in its SHA-256. With probability
    t = truth / 2**53 the reported bucket is y, otherwise any bucket, uniformly: e^epsilon >= 1 +
    width t / (1 - t). The report is the number c * width + bucket. Kairouz, Bonawitz and Ramage
    (2016), eqs. 15 to 18.

    >>> from murmurs import Secure
    >>> rr = ORR(epsilon=2.0, width=8, cohorts=64)
    >>> rr.encode("https://example.org", Secure()) in range(512)
    True
    """

    epsilon: float
    width: int
    cohorts: int
    salt: int = 0
    truth: int = field(default=LEFT_OPEN, repr=False)

    hashes = 1

    def __post_init__(self) -> None:
        self._settle_response()


@dataclass(frozen=True)
class PermutedRR(Permuted[int]):
    """O-RR for a closed alphabet: in each cohort answers are permuted and taken modulo width.

    Use it for a listed alphabet that is large for epsilon, when a report must be one number. With
    one cohort and width = k it is `KRR` with its answers in another order.

    By default, the width is e^epsilon + 1, or k if that is not far, and there are enough cohorts to
    tell all answers apart, up to 2**22 / k.

    Law: as `ORR`, but the bucket of an answer in cohort c is its rank modulo width, where ranks are
    in the order of XXH32(answer, salt + c). Kairouz, Bonawitz and Ramage (2016), section 5.4.

    >>> from murmurs import Secure
    >>> PermutedRR(k=100, epsilon=2.0, width=8, cohorts=16).encode(99, Secure()) in range(128)
    True
    """

    k: int
    epsilon: float
    width: int = LEFT_OPEN
    cohorts: int = LEFT_OPEN
    salt: int = 0
    truth: int = field(default=LEFT_OPEN, repr=False)

    def __post_init__(self) -> None:
        best = round(math.exp(min(check_epsilon(self.epsilon), 20.0))) + 1
        self._settle_permuted(best)

    @cached_property
    def randomiser(self) -> ORR:
        """The same mechanism for strings."""
        return ORR(self.epsilon, self.width, self.cohorts, self.salt, self.truth)
