"""Local hashing: each report hashes the answer to a bucket and randomises the bucket."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from murmurs import kernels
from murmurs.channels.symmetric import Symmetric
from murmurs.mechanisms.closed.truthful import Truthful
from murmurs.mechanisms.mechanism import Mechanism
from murmurs.mechanisms.settling import LEFT_OPEN, settled
from murmurs.numerics.arrays import Integers
from murmurs.numerics.xxh32 import LARGEST_RANGE, bucket, bucket_bounds, buckets
from murmurs.randomness.bulk import Bulk
from murmurs.randomness.verbs import Randomness
from murmurs.wire import Hash, Hashed, Reports


class Hashing(Mechanism[Hash]):
    """What mechanisms with a hash function in each report share.

    With some probability the value is the bucket of the answer, otherwise any of the g buckets.
    """

    g: int

    @property
    @abstractmethod
    def truth_probability(self) -> Fraction:
        """The exact probability of a truthful value."""

    @property
    def shape(self) -> Hashed:
        """A report is a seed and a value."""
        return Hashed(self.g)

    @cached_property
    def channel(self) -> Symmetric:
        """Cell j counts the reports whose function maps j to their value."""
        lie = (1 - self.truth_probability) / self.g
        hit, miss = self.truth_probability + lie, Fraction(1, self.g)
        return Symmetric.independent(self.k, hit, miss)

    def _encode_many(self, answers: Integers, random: Bulk) -> Reports:
        n = len(answers)
        out = self.shape.empty(n)
        seeds = random.words(n)
        own = buckets(answers.view(np.uint64), seeds, self.g)
        out["seed"] = seeds
        truth = self.truth_probability  # its denominator is a power of two
        honest = random.chance(truth.numerator, n, truth.denominator)
        out["value"] = np.where(honest, own, random.below(self.g, n))
        return out

    def supports(self, reports: Reports) -> NDArray[np.uint8]:
        """Return which answers each report supports, as packed bits: those in its bucket."""
        checked = self.shape.check(reports)
        keys = np.arange(self.k, dtype=np.uint64)[None, :]
        out = np.empty((len(checked), -(-self.k // 8)), np.uint8)
        rows = max(1, 2**20 // self.k)
        for start in range(0, len(checked), rows):
            part = checked[start : start + rows]
            own = buckets(keys, part["seed"][:, None], self.g) == part["value"][:, None]
            out[start : start + rows] = np.packbits(own, axis=1, bitorder="little")
        return out

    def _count(self, reports: Reports) -> Integers:
        bounds = bucket_bounds(self.g)
        low = bounds[:-1].astype(np.uint32)
        width = np.diff(bounds).astype(np.uint32)
        seeds, values = np.ascontiguousarray(reports["seed"]), reports["value"]
        return kernels.load().support_totals(seeds, low[values], width[values], self.k)

    def _simulate(self, histogram: Integers, rng: np.random.Generator) -> Integers:
        channel = self.channel
        true = rng.binomial(histogram, float(channel.hit))
        return np.asarray(true + rng.binomial(histogram.sum() - histogram, float(channel.miss)))


@dataclass(frozen=True)
class LocalHashing(Truthful[Hash], Hashing):
    """Local hashing: every report has its own hash function, with g buckets, by default the best.

    Use it when k is very large and the reports should be short: 32 bits and a bucket. The
    server hashes every candidate with every report's function, so counting costs n k hashes. Its
    error is that of `OUE`.

    Law: the seed is uniform below 2**32; the bucket of answer x is XXH32(x, seed) * g >> 32 (see
    `murmurs.hashing.hash_key`). With probability t = truth / 2**53 the value is that bucket,
    otherwise one of 0..g-1 uniformly; e^epsilon >= 1 + g t / (1 - t). A report supports every
    answer whose bucket is its value: p* = t + (1 - t) / g and, over the seeds of an ideal hash, q*
    = 1 / g. Wang et al. (2017); g is the exact optimum for this k, not e^epsilon + 1 rounded.

    `simulate` and `channel` take the hash as ideal: buckets of different answers are independent.

    >>> from murmurs import Secure
    >>> LocalHashing(k=1000, epsilon=2.0).g
    8
    >>> LocalHashing.binary(k=1000, epsilon=2.0).encode(7, Secure()).value in (0, 1)
    True
    """

    k: int
    epsilon: float
    g: int = LEFT_OPEN
    truth: int = field(default=LEFT_OPEN, repr=False)

    def __post_init__(self) -> None:
        self._settle()
        self._set(g=settle_range(self.g, self.k, self.epsilon))
        self._settle_truth()

    @classmethod
    def binary(cls, k: int, epsilon: float) -> LocalHashing:
        """Return binary local hashing: two buckets."""
        return cls(k, epsilon, g=2)

    @property
    def reports_per_supporting(self) -> Fraction:
        """The number of buckets: given the seed, one of g values supports an answer."""
        return Fraction(self.g)

    def _encode_one(self, answer: int, random: Randomness) -> Hash:
        """Return a seed and the randomised bucket under it."""
        seed = random.below(2**32)
        if random.chance(self.truth):
            return Hash(seed, bucket(answer, seed, self.g))
        return Hash(seed, random.below(self.g))


def settle_range(given: int | None, k: int, epsilon: float) -> int:
    """Return the number of buckets: the given number, or the best one."""
    return settled(given, "g", 2, LARGEST_RANGE, lambda: best_range(k, epsilon))


def best_range(k: int, epsilon: float) -> int:
    """Return the number of buckets with the smallest error, near e^epsilon + 1.

    >>> [best_range(k, 1.0) for k in (2, 16, 10**6)]
    [3, 4, 4]
    """
    top = min(LARGEST_RANGE, 4 + math.ceil(2 * math.exp(min(epsilon, 15))))
    g = np.arange(2, top + 1, dtype=np.float64)
    e = math.exp(min(epsilon, 300))
    hit, miss = e / (e + g - 1), 1 / g
    own = (g - 1) * e / (e + g - 1) ** 2  # hit * (1 - hit)
    return int(g[np.argmin((own + (k - 1) * miss * (1 - miss)) / (hit - miss) ** 2)])
