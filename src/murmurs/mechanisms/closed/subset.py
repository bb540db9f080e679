"""k-subset: report a set of w answers, which is more likely to contain the true one."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from murmurs import kernels
from murmurs.channels.symmetric import Symmetric
from murmurs.mechanisms.closed.truthful import Truthful
from murmurs.mechanisms.settling import LEFT_OPEN, settled
from murmurs.numerics.arrays import Integers
from murmurs.numerics.sampling import choose
from murmurs.randomness.bulk import Bulk
from murmurs.randomness.verbs import Randomness
from murmurs.wire import Members, Reports

_LONGEST_SWEEP = 10**9


@dataclass(frozen=True)
class Subset(Truthful[tuple[int, ...]]):
    """k-subset: report a random set of w answers that favours the true one.

    Use it whenever accuracy matters most: with the optimal w, the default, no mechanism has a
    smaller worst-case error (Ye and Barg, 2018), and it becomes `KRR` where w = 1 is best. A
    report is a set, written as k bits or as w numbers, whichever is shorter.

    Law: with probability t = truth / 2**53 the set is the answer and w - 1 of the other k - 1,
    uniformly; otherwise w of all k, uniformly. A set that contains the answer is
    1 + (k / w) t / (1 - t) <= e^epsilon times as likely as one that does not. The set is written
    in rising order, so it does not reveal how it was drawn.

    >>> from murmurs import Secure
    >>> best = Subset(k=16, epsilon=1.0)
    >>> best.w, len(best.encode(3, Secure()))
    (4, 4)
    """

    k: int
    epsilon: float
    w: int = LEFT_OPEN
    truth: int = field(default=LEFT_OPEN, repr=False)

    def __post_init__(self) -> None:
        self._settle()
        best = settled(self.w, "w", 1, self.k - 1, lambda: best_size(self.k, self.epsilon))
        self._set(w=best)
        self._settle_truth()

    @property
    def reports_per_supporting(self) -> Fraction:
        """The ratio k / w: a given answer is in w of every k sets."""
        return Fraction(self.k, self.w)

    @property
    def shape(self) -> Members:
        """A report is a set of w answers."""
        return Members(self.k, self.w)

    @cached_property
    def channel(self) -> Symmetric:
        """Cell j counts the sets that contain answer j."""
        k, w, truth = self.k, self.w, self.truth_probability
        free, both = Fraction(w, k), Fraction(w * (w - 1), k * (k - 1))
        with_own = Fraction(w - 1, k - 1)
        two_others = Fraction((w - 1) * (w - 2), (k - 1) * (k - 2)) if k > 2 else Fraction(0)
        return Symmetric(
            k,
            hit=truth + (1 - truth) * free,
            miss=truth * with_own + (1 - truth) * free,
            hit_pair=truth * with_own + (1 - truth) * both,
            miss_pair=truth * two_others + (1 - truth) * both,
        )

    def _encode_one(self, answer: int, random: Randomness) -> tuple[int, ...]:
        """Return the set in rising order, drawn without replacement by Floyd's method."""
        if not random.chance(self.truth):
            return tuple(sorted(floyd(self.k, self.w, random)))
        others = floyd(self.k - 1, self.w - 1, random)
        return tuple(sorted({answer} | {x + (x >= answer) for x in others}))

    def _encode_many(self, answers: Integers, random: Bulk) -> Reports:
        honest = random.chance(self.truth, len(answers))
        rows = random.subsets(np.where(honest, answers, -1), self.k, self.w)
        return self.shape.from_packed_bits(rows)

    @property
    def _work_size(self) -> int:
        return -(-self.k // 8) + 4 * self.w

    def supports(self, reports: Reports) -> NDArray[np.uint8]:
        """Return which answers each report supports, as packed bits."""
        return self.shape.to_packed_bits(reports)

    def _count(self, reports: Reports) -> Integers:
        if self.shape.as_bits:
            return kernels.load().bit_totals(np.ascontiguousarray(reports), self.k)
        return kernels.load().histogram(np.ascontiguousarray(reports).ravel(), self.k)

    def _simulate(self, histogram: Integers, rng: np.random.Generator) -> Integers:
        """Sweep over the answers, keeping only how many people have how many members left to draw.

        Given that, the next answer is a member with probability (members left) / (answers left).
        People whose set must contain their own answer take it when the sweep arrives there; how
        many members these people have left is drawn without replacement.
        """
        k, w = self.k, self.w
        if k * w > _LONGEST_SWEEP:
            raise ValueError(
                f"simulating {self} takes k w = {k * w:.1g} steps, more than {_LONGEST_SWEEP:.0e}: "
                "OUE and ProjectiveGeometry have nearly the same error and are simulated quickly"
            )
        bound_to = rng.binomial(histogram, float(self.truth_probability))
        free, bound = np.zeros(w + 1, np.int64), np.zeros(w + 1, np.int64)
        free[w] = histogram.sum() - bound_to.sum()
        bound[w - 1] = bound_to.sum()
        members = np.arange(w + 1)
        cells = np.empty(k, np.int64)
        for j in range(k):
            own = choose(bound, int(bound_to[j]), rng)
            bound -= own
            left = k - j
            taken = rng.binomial(free, np.minimum(members / left, 1))
            taken_bound = rng.binomial(bound, np.minimum(members / max(left - 1, 1), 1))
            cells[j] = own.sum() + taken.sum() + taken_bound.sum()
            free += own - taken
            free[:-1] += taken[1:]
            bound -= taken_bound
            bound[:-1] += taken_bound[1:]
        return cells


def floyd(k: int, w: int, random: Randomness) -> set[int]:
    """Return w of the numbers 0..k-1, uniformly, drawn without replacement by Floyd's method."""
    chosen: set[int] = set()
    for last in range(k - w, k):
        draw = random.below(last + 1)
        chosen.add(last if draw in chosen else draw)
    return chosen


def best_size(k: int, epsilon: float) -> int:
    """Return the subset size with the smallest error: one of the two next to k / (e^epsilon + 1).

    >>> best_size(100, 1.0)
    27
    """
    e = math.exp(epsilon)
    centre = k / (e + 1)
    sizes = {min(max(side, 1), k - 1) for side in (math.floor(centre), math.ceil(centre))}
    # The error is (k-1)^2 (w e + k-w)^2 / (k (e-1)^2 w (k-w)) - (1 - 1/k): compare factors with w.
    return min(sizes, key=lambda w: (w + (k - w) / e) * ((w + (k - w) / e) / (w * (k - w))))
