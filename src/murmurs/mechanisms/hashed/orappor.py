"""O-RAPPOR: Bloom filters of hashed answers, for open questions and fixed lists."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from murmurs import kernels
from murmurs.boundary.checks import whole
from murmurs.channels.bit_sketch import BitSketch
from murmurs.hashing.layout import Layout
from murmurs.mechanisms.hashed.cohorts import Cohorts
from murmurs.mechanisms.hashed.permuted import Permuted
from murmurs.mechanisms.settling import LEFT_OPEN, settle_flip
from murmurs.numerics.arrays import Integers
from murmurs.privacy import SCALE, check_epsilon, check_promise, flip_ratio
from murmurs.randomness.bulk import Bulk
from murmurs.randomness.verbs import Randomness
from murmurs.wire import Bits, BitsByCohort, CohortBits, Reports

MOST_HASHES = 16


class BloomCohorts(Cohorts[CohortBits]):
    """What mechanisms with Bloom filters in cohorts share: each bit is randomised by itself."""

    @property
    @abstractmethod
    def one(self) -> Fraction:
        """The probability that a bit of the answer is set."""

    @property
    @abstractmethod
    def zero(self) -> Fraction:
        """The probability that any other bit is set."""

    @property
    def shape(self) -> BitsByCohort:
        """A report is a cohort and its bits."""
        return BitsByCohort(self.cohorts, self.width)

    def channel_for(self, layout: Layout, is_open: bool) -> BitSketch:
        """Cell (c, 0) counts the reports of cohort c, cell (c, 1 + b) those with bit b set."""
        return BitSketch(layout, is_open, self.one, self.zero)

    def _packed(self, cohort: int, bits: Iterable[bool]) -> CohortBits:
        return CohortBits(cohort, Bits(self.width).of(bits))

    def _randomise_many(self, cohorts: Integers, places: Integers, random: Bulk) -> Reports:
        return self._set_bits(cohorts, places, self.one, self.zero, random)

    def _set_bits(
        self, cohorts: Integers, places: Integers, one: Fraction, zero: Fraction, random: Bulk
    ) -> Reports:
        """Draw all bits as false (``zero``), then those of the answers again as true (``one``)."""
        n, size = len(cohorts), -(-self.width // 8)
        bits = random.packed(zero.numerator, n * size, zero.denominator)
        for at in places:
            own = random.chance(one.numerator, n, one.denominator)
            here = np.flatnonzero(at < self.width)
            byte, place = here * size + (at[here] >> 3), (at[here] & 7).astype(np.uint8)
            bits[byte] = bits[byte] & ~(np.uint8(1) << place) | own[here].view(np.uint8) << place
        return self._rows(cohorts, bits)

    def _rows(self, cohorts: Integers, bits: np.ndarray[Any, np.dtype[np.uint8]]) -> Reports:
        out = self.shape.empty(len(cohorts))
        out["cohort"] = cohorts
        out["bits"] = bits.reshape(len(cohorts), -1)
        if self.width % 8:
            out["bits"][:, -1] &= (1 << self.width % 8) - 1
        return out

    def _count(self, reports: Reports) -> Integers:
        load, order = kernels.load(), np.argsort(reports["cohort"], kind="stable")
        sorted_bits = np.ascontiguousarray(reports["bits"])[order]
        cells = np.zeros((self.cohorts, 1 + self.width), np.int64)
        cells[:, 0] = load.histogram(np.ascontiguousarray(reports["cohort"]), self.cohorts)
        ends = np.cumsum(cells[:, 0])
        for row in np.flatnonzero(cells[:, 0]):
            part = sorted_bits[ends[row] - cells[row, 0] : ends[row]]
            cells[row, 1:] = load.bit_totals(part, self.width)
        return cells

    def _simulate_cohort(self, held: Integers, people: int, rng: np.random.Generator) -> Integers:
        true = rng.binomial(held, float(self.one))
        return np.append(people, true + rng.binomial(people - held, float(self.zero)))


@dataclass(frozen=True)
class ORappor(BloomCohorts):
    """O-RAPPOR: a Bloom filter of a hashed string, in cohorts, every bit randomised.

    Use it to compare with the literature or where reports must be bits; `ORR` sends less and is at
    least as precise.

    Law: the cohort c is uniform; hash i of the string, number j = c * hashes + i, is
    XXH32(key, salt + j) * width >> 32, the key being number j mod 4 of the four in its SHA-256. The
    bits of these buckets are one, and each bit is flipped with probability u = flip / 2**53. Two
    strings differ in up to 2 * hashes bits, so flip is the smallest that keeps
    ((1 - u) / u)^(2 hashes) <= e^epsilon. (Kairouz et al. 2016, section 5.2, leave out the
    number of hashes; with it, one hash is best.)

    >>> ORappor(epsilon=2.0, width=16, cohorts=64, hashes=2).epsilon_realised <= 2.0
    True
    """

    epsilon: float
    width: int
    cohorts: int
    hashes: int = 1
    salt: int = 0
    flip: int = field(default=LEFT_OPEN, repr=False)

    def __post_init__(self) -> None:
        self._set(epsilon=check_epsilon(self.epsilon))
        self._settle_table()
        self._set(hashes=whole(self.hashes, "hashes", 1, min(MOST_HASHES, self.width)))
        self._set(flip=settle_flip(self.flip, self.epsilon, self.differing))
        check_promise(self.ratio, self.epsilon, self)

    @property
    def one(self) -> Fraction:
        """1 - flip."""
        return 1 - self.zero

    @property
    def zero(self) -> Fraction:
        """The probability of a flip."""
        return Fraction(self.flip, SCALE)

    @property
    def ratio(self) -> Fraction:
        """The probability that all differing bits are kept, over that of all flipped."""
        return flip_ratio(self.flip) ** self.differing

    @property
    def differing(self) -> int:
        """The most bits in which two strings differ: two per hash, if there are so many."""
        return min(2 * self.hashes, self.width)

    def _randomise(self, cohort: int, places: Sequence[int], random: Randomness) -> CohortBits:
        bits = [(b in places) != random.chance(self.flip) for b in range(self.width)]
        return self._packed(cohort, bits)

    def _randomise_many(self, cohorts: Integers, places: Integers, random: Bulk) -> Reports:
        n, size = len(cohorts), -(-self.width // 8)
        bits = random.packed(self.flip, n * size)
        for at in places:
            here = np.flatnonzero(at < self.width)
            byte, place = here * size + (at[here] >> 3), (at[here] & 7).astype(np.uint8)
            bits[byte] ^= np.uint8(1) << place
        return self._rows(cohorts, bits)


@dataclass(frozen=True)
class PermutedRappor(Permuted[CohortBits]):
    """O-RAPPOR for a closed alphabet: in each cohort answers are permuted and taken modulo width.

    Use it to compare with the literature; `PermutedRR` sends less. With one cohort and width = k it
    is `SUE` with its answers in another order.

    Law: as `ORappor` with one hash, but the bucket of an answer in cohort c is its rank modulo
    width, where ranks are in the order of XXH32(answer, salt + c).

    >>> PermutedRappor(k=100, epsilon=2.0, width=8, cohorts=16).shape.size
    2
    """

    k: int
    epsilon: float
    width: int = LEFT_OPEN
    cohorts: int = LEFT_OPEN
    salt: int = 0
    flip: int = field(default=LEFT_OPEN, repr=False)

    def __post_init__(self) -> None:
        self._settle_permuted(128)

    @cached_property
    def randomiser(self) -> ORappor:
        """The same mechanism for strings."""
        return ORappor(self.epsilon, self.width, self.cohorts, 1, self.salt, self.flip)
