"""PrivSet: report a set of items that is more likely to meet the set that was ticked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, combinations
from math import comb
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from murmurs import kernels
from murmurs.boundary.checks import shown, whole
from murmurs.channels.sets import SetSupport
from murmurs.mechanisms.closed.subset import floyd
from murmurs.mechanisms.closed.truthful import OftenTrue
from murmurs.mechanisms.sets.sets import MOST_KINDS, SetMechanism, Ticks
from murmurs.mechanisms.sets.sizes import best_sizes
from murmurs.mechanisms.settling import LEFT_OPEN, check_cells, settled
from murmurs.numerics.arrays import Integers
from murmurs.numerics.sampling import split_uniformly, subset_totals
from murmurs.randomness.bulk import CHUNK, Bulk, bulk
from murmurs.randomness.verbs import Randomness
from murmurs.wire import Members, Reports

More = Literal["refuse", "sample"]
"""What happens to the answers of people who tick more labels than they may."""

LARGEST_DRAW = 2**62
"""The largest bound of a number that is drawn for many people at once."""


@dataclass(frozen=True, repr=False)
class PrivSet(OftenTrue, SetMechanism[tuple[int, ...]]):
    """Report a random set of w items that favours sets with some of the labels that were ticked.

    Use it for questions where several labels may be ticked, at most ``most`` of k: its error grows
    with the square root of ``most``, and that of splitting epsilon between labels in proportion to
    it. The error does not depend on how many labels people tick. Wang et al. (2018).

    Law: there are K = k + most items, the labels and as many dummies as may be ticked. A person who
    ticked s labels holds these and the first most - s dummies, so that everybody holds ``most``
    items. With probability t = truth / 2**53 the report is a set of w items of which the person
    holds at least ``overlap``, uniformly, otherwise any set of w items, uniformly. If M of the
    C(K, w) sets are as the first kind, e^epsilon >= 1 + (C(K, w) / M) t / (1 - t), for any two sets
    of ticks. An overlap of 1 is best but for few labels at large epsilon. The default sizes have
    the smallest variance of a label that most / (2 k) of the people ticked.

    The dummies in reports show how many labels people tick. With ``pairs``, counts also keep how
    often two items are reported together, which shows which labels go together, unless w is 1.
    With ``more="sample"``, ``most`` of the labels of somebody who ticked more are kept, uniformly;
    then shares are of the labels that were kept.

    >>> from murmurs import Secure
    >>> devices = PrivSet(k=30, most=3, epsilon=1.0)
    >>> devices.w, devices.overlap, len(devices.encode({0, 2}, Secure()))
    (3, 1, 3)
    """

    k: int
    most: int
    epsilon: float
    w: int = LEFT_OPEN
    overlap: int = LEFT_OPEN
    pairs: bool = False
    more: More = "refuse"
    truth: int = field(default=LEFT_OPEN, repr=False)

    def __post_init__(self) -> None:
        self._settle_size(1)
        self._set(most=whole(self.most, "most", 1, self.k))
        if not isinstance(self.pairs, bool):
            raise TypeError(f"pairs must be True or False, not {shown(self.pairs)}")
        if self.more not in get_args(More):
            raise ValueError(f"more must be 'refuse' or 'sample', not {shown(self.more)}")
        of = (self.k, self.most, self.epsilon)
        least, overlap = 1 + self.pairs, self.overlap
        self._set(
            w=settled(self.w, "w", 1, self.k, lambda: best_sizes(*of, None, overlap, least).w)
        )
        most = min(self.w, self.most)
        self._set(
            overlap=settled(overlap, "overlap", 1, most, lambda: best_sizes(*of, self.w).overlap)
        )
        if self.pairs and self.w == 1:
            raise ValueError(
                "reports of one item do not show which labels go together: take w = 2 or more, or "
                "leave pairs out"
            )
        cells = self.items * (self.items + 1) // 2 if self.pairs else self.items
        check_cells(cells, "the number of pairs of items")
        self._settle_truth()

    @property
    def limit(self) -> int:
        """The most labels in a set."""
        return self.most if self.more == "refuse" else self.k

    @property
    def items(self) -> int:
        """The labels and the dummies."""
        return self.k + self.most

    def _ways_by_overlap(self, held: int, others: int, size: int) -> list[int]:
        """Return the number of sets of this size with 0, 1, ... held items."""
        return [comb(held, h) * comb(others, size - h) for h in range(min(held, size) + 1)]

    @cached_property
    def _meeting(self) -> list[int]:
        """The number of sets with 0, 1, ... held items; none where these are too few."""
        every = self._ways_by_overlap(self.most, self.k, self.w)
        return [0] * self.overlap + every[self.overlap :]

    @property
    def reports_per_supporting(self) -> Fraction:
        """The number of sets of w items, divided by those with enough held items."""
        return Fraction(comb(self.items, self.w), sum(self._meeting))

    @property
    def shape(self) -> Members:
        """A report is a set of w of all items."""
        return Members(self.items, self.w)

    @cached_property
    def channel(self) -> SetSupport:
        """Cell j counts the sets with item j; with ``pairs``, further cells the pairs of items."""
        K, w, t = self.items, self.w, self.overlap
        m, k, meeting = self.most, self.k, sum(self._meeting)
        truth = self.truth_probability

        def chance(own: int, given: int) -> Fraction:
            """Return that of ``given`` items being reported, of which a person holds ``own``."""
            held, others, size = m - own, k - (given - own), w - given
            ways = self._ways_by_overlap(held, others, size) if min(held, others, size) >= 0 else []
            true = sum(ways[max(t - own, 0) :])
            free = comb(K - given, size) if size >= 0 else 0
            return truth * Fraction(true, meeting) + (1 - truth) * Fraction(free, comb(K, w))

        together = (chance(0, 2), chance(1, 2), chance(2, 2))
        return SetSupport(self.k, self.most, w, chance(1, 1), chance(0, 1), together, self.pairs)

    def padded(self, answer: Ticks) -> list[int]:
        """Return the items that a person with this set holds."""
        return [*answer, *range(self.k, self.k + self.most - len(answer))]

    @cached_property
    def _places(self) -> tuple[int, list[int]]:
        """How many outcomes the draw of the overlap has, and from which on it is larger."""
        divisor = math.gcd(*self._meeting)
        ends = list(accumulate(ways // divisor for ways in self._meeting))
        return ends[-1], ends

    def _kept(self, answer: Ticks, random: Randomness) -> Ticks:
        """Return a set without the labels that are too many, by Floyd's method."""
        if len(answer) <= self.most:
            return answer
        return tuple(sorted(answer[i] for i in floyd(len(answer), self.most, random)))

    def _encode_one(self, answer: Ticks, random: Randomness) -> tuple[int, ...]:
        """Return the set in rising order: held items, then others, each by Floyd's method."""
        answer = self._kept(answer, random)
        if not random.chance(self.truth):
            return tuple(sorted(floyd(self.items, self.w, random)))
        bound, ends = self._places
        place = random.below(bound)
        overlap = next(h for h, end in enumerate(ends) if place < end)
        held = self.padded(answer)
        others = sorted(set(range(self.items)).difference(held))
        own = [held[i] for i in floyd(self.most, overlap, random)]
        return tuple(sorted(own + [others[i] for i in floyd(self.k, self.w - overlap, random)]))

    def _encode_many(self, sets: Sequence[Ticks], numbers: Integers, random: Bulk) -> Reports:
        n, K = len(numbers), self.items
        long = [number for number, ticks in enumerate(sets) if len(ticks) > self.most]
        if long:
            sets, numbers = list(sets), numbers.copy()
            rows = np.flatnonzero(np.isin(numbers, long))
            for row, one in zip(rows.tolist(), random.of(rows).each(len(rows)), strict=True):
                sets.append(self._kept(sets[numbers[row]], one))
                numbers[row] = len(sets) - 1
        out = np.empty((n, -(-K // 8)), np.uint8)
        honest = random.chance(self.truth, n)
        free = np.flatnonzero(~honest)
        none = np.full(n, -1, np.int64)
        if len(free):
            out[free] = random.of(free).subsets(none[: len(free)], K, self.w)
        own = np.flatnonzero(honest)
        used, which = np.unique(numbers[own], return_inverse=True)
        held = np.zeros((len(used), K), np.bool_)
        for row, number in enumerate(used.tolist()):
            held[row, self.padded(sets[number])] = True
        overlaps = self._overlaps(random.of(own), len(own))
        for overlap in np.unique(overlaps).tolist():
            rows = np.flatnonzero(overlaps == overlap)
            part, mine = random.of(own[rows]), held[which[rows]]
            flags = np.zeros((len(rows), K), np.uint8)
            both = ((mine, overlap, self.most), (~mine, self.w - overlap, self.k))
            for places, size, most in both:
                if 0 < size < most:
                    drawn = part.subsets(none[: len(rows)], most, size)
                    bits = np.unpackbits(drawn, axis=1, count=most, bitorder="little")
                    flags[places] = bits.ravel()
                else:  # none or all of them
                    flags[places] = size > 0
            out[own[rows]] = np.packbits(flags, axis=1, bitorder="little")
        return self.shape.from_packed_bits(out)

    def _overlaps(self, random: Bulk, n: int) -> Integers:
        """Draw how many held items a truthful report has, for n people."""
        bound, ends = self._places
        if bound <= LARGEST_DRAW:
            places = random.wide(bound, n)
            return np.searchsorted(np.array(ends, np.int64), places, side="right")
        drawn = [own.below(bound) for own in random.each(n)]
        return np.array([next(h for h, end in enumerate(ends) if place < end) for place in drawn])

    @property
    def _work_size(self) -> int:
        return 4 * self.items + 4 * self.w

    def supports(self, reports: Reports) -> NDArray[np.uint8]:
        """Return which items each report has, as packed bits."""
        return self.shape.to_packed_bits(reports)

    def _count(self, reports: Reports) -> Integers:
        kernel, reports = kernels.load(), np.ascontiguousarray(reports)
        single = (
            kernel.bit_totals(reports, self.items)
            if self.shape.as_bits
            else kernel.histogram(reports.ravel(), self.items)
        )
        if not self.pairs:
            return single
        return np.concatenate([single, self._count_pairs(reports)])

    def _count_pairs(self, reports: Reports) -> Integers:
        """Return how many reports have both of two items, for the pairs in rising order."""
        K = self.items
        table, upper = np.zeros((K, K), np.int64), np.triu_indices(K, 1)
        size = max(1, min(CHUNK, 2**23 // K))
        for start in range(0, len(reports), size):
            packed = self.supports(reports[start : start + size])
            flags = np.unpackbits(packed, axis=1, count=K, bitorder="little").astype(np.float32)
            table += (flags.T @ flags).astype(np.int64)  # sums below 2**24 are exact
        return np.asarray(table[upper])

    def _simulate(
        self, sets: Sequence[Ticks], people: Integers, rng: np.random.Generator
    ) -> Integers:
        if self.pairs:
            return self._simulate_people(sets, people, rng)
        sets, people = self._all_kept(sets, people, rng)
        honest = rng.binomial(people, float(self.truth_probability))
        chances = np.array([float(Fraction(ways, sum(self._meeting))) for ways in self._meeting])
        overlaps = rng.multinomial(honest, chances / chances.sum())
        free = np.zeros(self.w + 1, np.int64)
        free[self.w] = (people - honest).sum()
        out = subset_totals(free, self.items, rng)
        held = np.zeros((len(sets), self.items), np.bool_)
        for row, ticks in enumerate(sets):
            held[row, self.padded(ticks)] = True
        others = np.zeros((len(sets), self.w + 1), np.int64)
        others[:, self.w - np.arange(overlaps.shape[1])] = overlaps
        everything = np.empty(held.shape, np.int64)
        everything[held] = subset_totals(overlaps, self.most, rng).ravel()
        everything[~held] = subset_totals(others, self.k, rng).ravel()
        return np.asarray(out + everything.sum(axis=0))

    def _all_kept(
        self, sets: Sequence[Ticks], people: Integers, rng: np.random.Generator
    ) -> tuple[Sequence[Ticks], Integers]:
        """Return the sets that people keep of those with too many labels, and how many people."""
        if all(len(ticks) <= self.most for ticks in sets):
            return sets, people
        together: dict[Ticks, int] = {}
        for ticks, number in zip(sets, people.tolist(), strict=True):
            ways = comb(len(ticks), self.most)
            if ways > MOST_KINDS:
                raise ValueError(
                    f"there are {ways:,} ways to keep {self.most} of {len(ticks)} labels, too many "
                    "to simulate: encode the people with encode_many, and count their reports"
                )
            parts = list(combinations(ticks, min(self.most, len(ticks))))
            drawn = split_uniformly(np.array([number]), len(parts), rng)[0].tolist()
            for part, own in zip(parts, drawn, strict=True):
                together[part] = together.get(part, 0) + own
        return list(together), np.array(list(together.values()), np.int64)

    def _simulate_people(
        self, sets: Sequence[Ticks], people: Integers, rng: np.random.Generator
    ) -> Integers:
        """Encode and count everybody, in chunks: the time grows with the people, not the memory."""
        out, source = np.zeros(self.channel.cells, np.int64), bulk(rng)
        ends = np.cumsum(people)
        for start in range(0, int(ends[-1]) if len(ends) else 0, CHUNK):
            everybody = np.arange(start, min(start + CHUNK, int(ends[-1])))
            numbers = np.searchsorted(ends, everybody, side="right")
            out += self._count(self._encode_many(sets, numbers, source))
        return out

    def __repr__(self) -> str:
        more = f", overlap={self.overlap}" if self.overlap > 1 else ""
        more += ", pairs=True" if self.pairs else ""
        more += f", more={self.more!r}" if self.more != "refuse" else ""
        return f"PrivSet(k={self.k}, most={self.most}, epsilon={self.epsilon!r}, w={self.w}{more})"
