"""The law of reports that support their own answer with one probability, others with another."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from murmurs.channels.channel import Channel
from murmurs.channels.repeats import ONCE, Repeats
from murmurs.numerics.arrays import Floats, Integers, exact_sum


@dataclass(frozen=True)
class Symmetric(Channel):
    """Cell j counts the reports that support answer j.

    A report of x supports x with probability ``hit`` (p* in the literature) and any other answer
    with probability ``miss`` (q*). It supports x and one given other answer together with
    probability ``hit_pair``, and two given other answers together with ``miss_pair``.
    """

    k: int
    hit: Fraction
    miss: Fraction
    hit_pair: Fraction
    miss_pair: Fraction
    repeats: Repeats = ONCE

    @classmethod
    def independent(cls, k: int, hit: Fraction, miss: Fraction) -> Symmetric:
        """Return the channel of reports that support each answer independently of the others."""
        return cls(k, hit, miss, hit * miss, miss * miss)

    @classmethod
    def exclusive(cls, k: int, hit: Fraction, miss: Fraction) -> Symmetric:
        """Return the channel of reports that support exactly one answer."""
        return cls(k, hit, miss, Fraction(0), Fraction(0))

    @property
    def cells(self) -> tuple[int, ...]:
        """One cell per answer."""
        return (self.k,)

    @cached_property
    def is_histogram(self) -> bool:
        """Whether each report supports exactly one answer."""
        return self.hit + (self.k - 1) * self.miss == 1 and self.hit_pair == 0

    @cached_property
    def supported(self) -> Fraction | None:
        """How many answers each report supports, if all support equally many, as w in k-subset."""
        mean = self.hit + (self.k - 1) * self.miss
        pairs = (self.k - 1) * (self.hit_pair + Fraction(self.k - 2, 2) * self.miss_pair)
        return mean if mean + 2 * pairs == mean**2 else None  # no variance

    def why_impossible(self, cells: Integers, n: int) -> str | None:
        """Return why the cells do not add up, if every report supports equally many answers."""
        each = self.supported
        total = exact_sum(cells)
        if each is None or total == n * each:
            return None
        count = "exactly one" if each == 1 else f"{each} answers"
        return f"cells add up to {total}, not {n * each}: each report counts in {count}"

    def law_of(self, answer: int) -> list[Fraction]:
        """Return ``hit`` for the answer and ``miss`` for the others."""
        return [self.hit if j == answer else self.miss for j in range(self.k)]

    @property
    def base(self) -> Floats:
        """False support."""
        return np.array(float(self.miss))

    def gain(self, shares: Floats) -> Floats:
        """Return (hit - miss) * share for each answer."""
        return float(self.hit - self.miss) * shares

    def adjoint(self, weights: Floats) -> Floats:
        """Return (hit - miss) * weight for each answer."""
        return float(self.hit - self.miss) * weights

    def support(self, cells: Integers) -> tuple[Integers, Fraction, Fraction] | None:
        """Return the cells themselves, which are binomial only if people report once."""
        return (cells, self.hit, self.miss) if self.times == 1 else None

    @property
    def false_support(self) -> float | None:
        """The value for one person if people report again, otherwise None: see `support`."""
        return None if self.times == 1 else self.repeats.skewed_chance(self.miss)

    def invert(self, cells: Integers | Floats, n: int) -> Floats:
        """Return (cell / n - miss) / (hit - miss)."""
        return np.asarray((cells - n * float(self.miss)) / (n * float(self.hit - self.miss)))

    def noise(self, shares: Floats, n: float) -> tuple[Floats, Floats]:
        """Return the binomial variances of false and true support, over (hit - miss)^2."""
        return support_noise(self.k, self.hit, self.miss, n, self.repeats)

    def functional(self, weights: Floats, n: int) -> Floats:
        """Return weight / (hit - miss) for each answer."""
        return np.asarray(weights / float(self.hit - self.miss))

    def functional_covariance(self, functional: Floats, shares: Floats, n: int) -> Floats:
        """Return the covariance of sums over the cells, without that of every pair of cells.

        Apart from the variances, the covariance of two cells depends only on their two shares.
        """
        variance, with_own, without = self._per_report(shares)
        total, own = functional.sum(axis=1), functional @ shares
        both = np.multiply.outer(own, total)
        alone = variance - 2 * shares * with_own - (1 - 2 * shares) * without
        out = (functional * alone) @ functional.T + (with_own - without) * (both + both.T)
        return np.asarray((out + without * np.multiply.outer(total, total)) / n)

    def _per_report(self, shares: Floats) -> tuple[Floats, float, float]:
        """Return the variance of each cell, and the covariance given either answer, or neither."""
        hit, miss = (
            float(self.repeats.variance_per_report(self.hit)),
            float(self.repeats.variance_per_report(self.miss)),
        )
        with_own = float(self.hit_pair - self.hit * self.miss)
        without = float(self.miss_pair - self.miss**2)
        return np.asarray(shares * hit + (1 - shares) * miss), with_own, without

    def covariance(self, histogram: Integers | Floats) -> Floats:
        """Return the covariance of the cells, from the probabilities of pairs.

        If people report again, the cells of different answers are independent.
        """
        own, n = np.asarray(histogram, np.float64), float(np.sum(histogram))
        variance, with_own, without = self._per_report(own / n)
        either = own[:, None] + own[None, :]
        out = either * with_own + (n - either) * without
        np.fill_diagonal(out, n * variance)
        return np.asarray(out)


def support_noise(
    k: int, hit: Fraction, miss: Fraction, n: float, repeats: Repeats = ONCE
) -> tuple[Floats, Floats]:
    """Return c and s of `Channel.noise` for counts of support."""
    scale = n * float(hit - miss) ** 2
    of_hit, of_miss = (
        float(repeats.variance_per_report(hit)),
        float(repeats.variance_per_report(miss)),
    )
    return np.full(k, of_miss / scale), np.full(k, (of_hit - of_miss) / scale)
