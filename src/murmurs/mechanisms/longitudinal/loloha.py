"""LOLOHA: local hashing with one hash function per device, and permanent responses."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from murmurs.mechanisms.closed.local_hashing import Hashing, settle_range
from murmurs.mechanisms.longitudinal.two_rounds import Longitudinal, check_permanent
from murmurs.mechanisms.settling import LEFT_OPEN, settled
from murmurs.numerics.arrays import Integers
from murmurs.numerics.xxh32 import bucket, buckets
from murmurs.privacy import SCALE, check_promise, exp_below, log_above, truth_numerator, truth_ratio
from murmurs.randomness.bulk import Bulk
from murmurs.randomness.verbs import Randomness
from murmurs.wire import Hash, Reports


@dataclass(frozen=True)
class LOLOHA(Longitudinal[Hash], Hashing):
    """LOLOHA, longitudinal local hashing: for answers of a large alphabet, collected repeatedly.

    Use it with a `Device` when the same question is asked again and again, k is large and reports
    must be short. One report has the law of `LocalHashing` at `epsilon`. A device keeps its hash
    function whatever its value is, and can be recognised by it. Unlike in the paper, values that
    share a bucket do not share a permanent response: see docs/theory.md.

    Law: the seed is uniform below 2**32; the bucket of answer x is XXH32(x, seed) * g >> 32. The
    permanent value is that bucket with probability u = permanent_truth / 2**53, otherwise one of
    0..g-1 uniformly; the value of a report is the permanent one with probability v = truth / 2**53,
    otherwise one of 0..g-1 uniformly. Both rounds together report the true bucket with probability
    t = u v and otherwise draw uniformly, so e^epsilon >= 1 + g t / (1 - t) and
    e^epsilon_permanent >= 1 + g u / (1 - u), exactly; u and v are the largest that keep this.
    Arcolezi et al. (2023). Other software calibrates the second round as if g were 2, and spends
    less than epsilon.

    >>> loloha = LOLOHA(k=1000, epsilon=1.0, epsilon_permanent=2.0)
    >>> loloha.g, loloha.epsilon_realised, loloha.epsilon_permanent_realised
    (4, 0.9999999999999999, 1.9999999999999998)
    """

    k: int
    epsilon: float
    epsilon_permanent: float
    g: int = LEFT_OPEN
    permanent_truth: int = field(default=LEFT_OPEN, repr=False)
    truth: int = field(default=LEFT_OPEN, repr=False)

    def __post_init__(self) -> None:
        self._settle()
        self._set(epsilon_permanent=check_permanent(self.epsilon, self.epsilon_permanent))
        self._set(g=settle_range(self.g, self.k, self.epsilon))
        reports_per_supporting = Fraction(self.g)
        lasting = settled(
            self.permanent_truth,
            "permanent_truth",
            1,
            SCALE - 1,
            lambda: truth_numerator(self.epsilon_permanent, reports_per_supporting),
        )
        self._set(permanent_truth=lasting)
        self._set(truth=settled(self.truth, "truth", 1, SCALE - 1, self._largest_truth))
        lasting_ratio = truth_ratio(self.permanent_truth, Fraction(self.g))
        check_promise(lasting_ratio, self.epsilon_permanent, f"the permanent response of {self}")
        check_promise(self.ratio, self.epsilon, self)

    def _largest_truth(self) -> int:
        """Return the largest probability whose product with the first keeps epsilon."""
        gain = exp_below(self.epsilon) - 1
        numerator = math.floor(SCALE**2 * gain / ((self.g + gain) * self.permanent_truth))
        return min(numerator, SCALE - 1)

    @property
    def truth_probability(self) -> Fraction:
        """The exact probability that both rounds are truthful."""
        return Fraction(self.permanent_truth * self.truth, SCALE**2)

    @property
    def ratio(self) -> Fraction:
        """1 + g * truth / (1 - truth), for both rounds together."""
        return 1 + self.g * self.truth_probability / (1 - self.truth_probability)

    @property
    def epsilon_permanent_realised(self) -> float:
        """The epsilon of the permanent response, for any number of reports made from it."""
        return log_above(truth_ratio(self.permanent_truth, Fraction(self.g)))

    @property
    def permanent_law(self) -> tuple[int, ...]:
        """The number of buckets, and the probability of a true permanent bucket."""
        return self.g, self.permanent_truth

    @property
    def second_round(self) -> tuple[Fraction, Fraction]:
        """The probabilities of reporting the permanent bucket and any given other one."""
        truth = Fraction(self.truth, SCALE)
        return truth + (1 - truth) / self.g, (1 - truth) / self.g

    def _permanent(self, answer: int, device: Randomness, response: Randomness) -> Hash:
        """Return the device's seed and a permanent bucket under it."""
        seed = device.below(2**32)
        return Hash(seed, self._round(bucket(answer, seed, self.g), self.permanent_truth, response))

    def _instant(self, permanent: Hash, random: Randomness) -> Hash:
        return Hash(permanent.seed, self._round(permanent.value, self.truth, random))

    def _own_many(self, n: int, random: Bulk) -> Reports:
        return random.words(n)

    def _permanent_many(self, answers: Integers, own: Reports, random: Bulk) -> Reports:
        values = buckets(answers.view(np.uint64), own, self.g)
        return self._round_many(own, values, self.permanent_truth, random)

    def _instant_many(self, permanent: Reports, random: Bulk) -> Reports:
        return self._round_many(permanent["seed"], permanent["value"], self.truth, random)

    def _round_many(self, seeds: Reports, values: Reports, truth: int, random: Bulk) -> Reports:
        out = self.shape.empty(len(seeds))
        told = random.chance(truth, len(seeds))
        out["seed"] = seeds
        out["value"] = np.where(told, values, random.below(self.g, len(seeds)))
        return out

    def _round(self, value: int, truth: int, random: Randomness) -> int:
        return value if random.chance(truth) else random.below(self.g)
