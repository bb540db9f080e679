"""Square wave: report a bucket near the true one or, with some probability, any bucket."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np

from murmurs import kernels
from murmurs.boundary.checks import shown
from murmurs.channels.banded import Banded
from murmurs.mechanisms.closed.truthful import Truthful
from murmurs.mechanisms.settling import LEFT_OPEN, settled
from murmurs.numerics.arrays import Integers
from murmurs.numerics.sampling import split_uniformly
from murmurs.randomness.bulk import Bulk
from murmurs.randomness.verbs import Randomness
from murmurs.scales.resolution import reach
from murmurs.wire import Category, Reports


@dataclass(frozen=True)
class SquareWave(Truthful[int]):
    """Square wave: report a bucket near the true one or, with some probability, any bucket.

    Use it for numbers in some dozens of buckets or more, where the mean, quantiles or the shares of
    ranges are wanted. It tells a bucket from its neighbours badly, so it is no choice for single
    buckets, and numbers that many people round to are not seen.

    Law: with probability t = truth / 2**53 the report is one of x, ..., x + 2b uniformly, where x
    is the answer, otherwise one of 0..k + 2b - 1 uniformly. So report y stands for bucket y - b,
    and a report within b of the answer is 1 + (k + 2b) / (2b + 1) t / (1 - t) <= e^epsilon times as
    likely as any other. If ``circular``, the first bucket follows the last: reports are 0..k-1,
    and the first kind is one of x - b, ..., x + b modulo k. Li et al. (2020) with buckets; b is by
    default the one of `window`.

    >>> from murmurs import Secure
    >>> wave = SquareWave(k=20, epsilon=1.0)
    >>> wave.b, wave.shape.count, wave.encode(3, Secure()) in range(34)
    (7, 34, True)
    """

    k: int
    epsilon: float
    b: int = LEFT_OPEN
    circular: bool = False
    truth: int = field(default=LEFT_OPEN, repr=False)
    largest_k = 2000
    """Shares are solved for together, in a time that grows like the cube of their number."""

    def __post_init__(self) -> None:
        self._settle()
        if not isinstance(self.circular, bool):
            raise TypeError(f"circular must be True or False, not {shown(self.circular)}")
        most = (self.k - 1) // 2 if self.circular else self.k
        best = settled(self.b, "b", 0, most, lambda: window(self.k, self.epsilon, self.circular))
        if self.circular and math.gcd(2 * best + 1, self.k) > 1:
            raise ValueError(
                f"b is {best}, but windows of {2 * best + 1} on a circle of {self.k} do not tell "
                "all shares apart: 2b + 1 and k must have no common divisor; leave b out to have "
                "it chosen"
            )
        self._set(b=best)
        self._settle_truth()

    @property
    def width(self) -> int:
        """The number of reports that support an answer."""
        return 2 * self.b + 1

    @property
    def report_count(self) -> int:
        """The number of reports."""
        return self.k if self.circular else self.k + 2 * self.b

    @property
    def reports_per_supporting(self) -> Fraction:
        """The number of reports per report in the window of a given answer."""
        return Fraction(self.report_count, self.width)

    @property
    def shape(self) -> Category:
        """A report is the number of a bucket, counted from b below the first one."""
        return Category(self.report_count)

    @cached_property
    def channel(self) -> Banded:
        """Cell y counts the reports y."""
        lie = (1 - self.truth_probability) / self.report_count
        hit = self.truth_probability / self.width + lie
        return Banded(self.k, self.b, self.circular, hit, lie)

    def _encode_one(self, answer: int, random: Randomness) -> int:
        """Return a report of the window or, with the complementary probability, any report."""
        if not random.chance(self.truth):
            return random.below(self.report_count)
        near = answer + random.below(self.width)
        return (near - self.b) % self.k if self.circular else near

    def _encode_many(self, answers: Integers, random: Bulk) -> Reports:
        n = len(answers)
        out = random.below(self.report_count, n).astype(self.shape.dtype)
        near = answers + random.below(self.width, n)
        if self.circular:
            near = (near - self.b) % self.k
        np.copyto(out, near, casting="unsafe", where=random.chance(self.truth, n))
        return out

    def _count(self, reports: Reports) -> Integers:
        return kernels.load().histogram(reports, self.report_count)

    def _simulate(self, histogram: Integers, rng: np.random.Generator) -> Integers:
        honest = rng.binomial(histogram, float(self.truth_probability))
        near = split_uniformly(honest, self.width, rng)
        cells = split_uniformly(histogram.sum() - honest.sum(), self.report_count, rng)
        np.add.at(cells, self.channel.windows, near)
        return cells


def window(k: int, epsilon: float, circular: bool) -> int:
    """Return by how many buckets a window reaches to each side of the answer.

    It is 0.56 k e^(-epsilon / 2), and at most as wide as the scale. With wider windows means have
    smaller errors, with narrower ones the distribution function; see docs/results/square_wave.md.
    On a circle the window is the same part of all reports, with a width that inverts.

    >>> [window(100, epsilon, circular=False) for epsilon in (0.25, 1.0, 2.0, 4.0)]
    [49, 34, 21, 8]
    >>> 2 * window(24, 1.0, circular=True) + 1
    11
    """
    far = reach(epsilon)
    if not circular:
        return min((k - 1) // 2, round(k * far))
    best = k * 2 * far / (1 + 2 * far)
    inverting = [width for width in range(1, k, 2) if math.gcd(width, k) == 1]
    return min(inverting, key=lambda width: abs(width - best)) // 2
