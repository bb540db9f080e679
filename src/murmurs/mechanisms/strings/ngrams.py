"""A string and some of its n-grams, reported together: the published way to find unlisted strings.

People report the whole string and n-grams at random positions. Which n-grams are common at each
position, and which of them go together, suggests strings; the reports of whole strings test them
(`murmurs.questions.dictionary.ngrams.strings`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, cast

import numpy as np

from murmurs.boundary.checks import real, whole
from murmurs.channels.ngrams import NGramsChannel
from murmurs.counts import Counts
from murmurs.hashing.layout import Layout
from murmurs.hashing.ngrams import CutLayout, cut, ngrams, positions
from murmurs.mechanisms.hashed.cohorts import Cohorts
from murmurs.mechanisms.hashed.orr import ORR
from murmurs.mechanisms.mechanism import OpenMechanism
from murmurs.mechanisms.products.open import OpenProduct
from murmurs.mechanisms.strings.over_ngrams import COUNTED_AT_ONCE, OverNGrams
from murmurs.numerics.arrays import Integers
from murmurs.numerics.crossing import cross
from murmurs.privacy import check_epsilon
from murmurs.randomness.bulk import Bulk
from murmurs.randomness.verbs import Randomness
from murmurs.wire import Category, Reports, Together

LONGEST = 200
"""The most letters of a string that are reported."""

MOST_TOGETHER = 4
"""The most n-grams in a report: the privacy budget is split between all of them."""

MOST_CELLS = 2**25
"""The most cells in the counts: 256 MiB, of which a collector needs a few copies."""

MOST_CHOICES = 2**16
"""The most choices of positions."""

MOST_ROUNDED = 16
"""The most steps by which epsilons are rounded down until their sum is not exceeded."""

Make = Callable[[float], Cohorts[Any]]
"""Makes the mechanism of one part of a report, given its epsilon."""


def chosen(epsilon: float) -> ORR:
    """Return O-RR with 256 cohorts and about e^epsilon + 1 buckets."""
    width = min(max(2, round(math.exp(min(epsilon, 20.0))) + 1), 64)
    return ORR(epsilon, width, 256)


@dataclass(frozen=True, repr=False)
class NGrams(OpenMechanism[tuple[Any, ...]]):
    """Reports of the whole string and of n-grams at random positions, which share a cohort.

    Use it to reproduce Fanti, Pihur and Erlingsson (2016), section 4; prefixes find many times as
    many strings with the same privacy. ``whole`` and ``gram`` are the open mechanisms of the two
    kinds of report, such as `Rappor` or `ORR`, with the same number of cohorts. `splitting` makes
    them from an epsilon for all reports together.

    Law: the string, in normal form C, is cut after ``longest`` characters; spaces at its end are
    dropped. The cohort c is drawn uniformly from the cohorts, then the number s from the C(P, r)
    choices of r = ``together`` of the P = ceil(longest / size) positions, in lexical order. The
    report is a tuple of s, a report of the string by ``whole`` in cohort c, and for each chosen
    position i, in rising order, a report by ``gram`` in cohort c of characters i * size to
    (i + 1) * size - 1 of the string padded with spaces. The positions say nothing about the
    string, so e^epsilon is at most the ratio of ``whole`` times the r-th power of that of ``gram``.

    >>> asked = NGrams.splitting(4.39, longest=20)
    >>> asked.positions, round(asked.epsilon_realised, 2)
    (10, 4.39)
    >>> choice, string, first, second = asked.encode("example.org")
    """

    longest: int
    size: int
    whole: Cohorts[Any]
    gram: Cohorts[Any]
    together: int = 2

    def __post_init__(self) -> None:
        self._set(
            longest=whole(self.longest, "longest", 2, LONGEST),
            together=whole(self.together, "together", 2, MOST_TOGETHER),
        )
        self._set(size=whole(self.size, "size", 1, self.longest))
        for name, part in (("whole", self.whole), ("gram", self.gram)):
            if not isinstance(part, Cohorts):
                raise TypeError(
                    f"{name} must be an open mechanism such as ORR, not {type(part).__name__}"
                )
        if self.whole.cohorts != self.gram.cohorts:
            raise ValueError(
                f"whole has {self.whole.cohorts} cohorts and gram has {self.gram.cohorts}, but a "
                "person has one cohort: give both the same number"
            )
        if self.positions < self.together:
            raise ValueError(
                f"{self.longest} letters have {self.positions} n-grams of {self.size} letters, "
                f"fewer than the {self.together} that are reported: take shorter n-grams"
            )
        choices = math.comb(self.positions, self.together)
        if choices > MOST_CHOICES:
            raise ValueError(
                f"{self.together} of {self.positions} positions can be chosen in {choices} ways, "
                "more than 2**16: take longer n-grams"
            )
        (cells,) = self.channel.cells
        if cells > MOST_CELLS:
            raise ValueError(
                f"counts would have {cells} cells, more than 2**25: take fewer buckets, fewer "
                "cohorts or longer n-grams"
            )

    @classmethod
    def splitting(
        cls,
        epsilon: float,
        *,
        longest: int,
        size: int = 2,
        together: int = 2,
        whole_part: float | None = None,
        make: Make = chosen,
    ) -> NGrams:
        """Return the mechanism that splits epsilon between the whole string and its n-grams.

        ``whole_part`` is the part of epsilon for the whole string; by default all reports have the
        same. ``make`` makes the mechanism of a report from its epsilon: O-RR unless another is
        given.

        >>> NGrams.splitting(3.0, longest=6, whole_part=0.5).gram.epsilon
        0.75
        """
        epsilon = check_epsilon(epsilon)
        together = whole(together, "together", 2, MOST_TOGETHER)
        part = 1 / (together + 1) if whole_part is None else whole_part
        part = real(part, "whole_part", 0.001, 0.999)
        own = epsilon * part
        each = (epsilon - own) / together
        for _ in range(MOST_ROUNDED):
            made = cls(longest, size, make(own), make(each), together)
            if made.epsilon <= epsilon:
                return made
            each = math.nextafter(each, 0.0)  # the sum was rounded up
        raise ValueError(
            f"make gives mechanisms with epsilon {made.epsilon:g} in all, more than {epsilon:g}: "
            "it must keep the epsilon that it is called with"
        )

    @property
    def positions(self) -> int:
        """The number of n-grams of a string."""
        return positions(self.longest, self.size)

    @cached_property
    def choices(self) -> tuple[tuple[int, ...], ...]:
        """The positions that a person may be asked for, by number."""
        return tuple(itertools.combinations(range(self.positions), self.together))

    @property
    def cohort_count(self) -> int | None:
        """The number of cohorts, one of which a person has for all reports."""
        return self.whole.cohorts

    @property
    def epsilon(self) -> float:  # type: ignore[override]
        """The sum of the epsilons of all reports of a person."""
        promised = math.fsum([self.whole.epsilon, *[self.gram.epsilon] * self.together])
        return max(promised, self.epsilon_realised)

    @property
    def ratio(self) -> Fraction:
        """The product of the ratios of all reports of a person."""
        return self.whole.ratio * self.gram.ratio**self.together

    @property
    def epsilon_realised(self) -> float:
        """The logarithm of the ratio, rounded up; infinite if that of a part is."""
        if any(math.isinf(part.epsilon_realised) for part in (self.whole, self.gram)):
            return math.inf
        return super().epsilon_realised

    @property
    def is_longitudinal(self) -> bool:
        """Whether the reports of one person share a permanent response."""
        return self.whole.is_longitudinal or self.gram.is_longitudinal

    @cached_property
    def shape(self) -> Together:
        """The choice of positions, the report of the string, and those of its n-grams."""
        parts = (self.whole.shape, *[self.gram.shape] * self.together)
        return Together(
            (Category(len(self.choices)), *parts),
            self.whole.cohorts,
            (False, *[True] * len(parts)),
        )

    @cached_property
    def channel(self) -> NGramsChannel:
        """The law of the cells; without candidates every string is an unlisted one."""
        return self.channel_for(self.layout_of(()), True)

    def channel_for(self, layout: CutLayout, is_open: bool) -> NGramsChannel:
        """Return the law of the cells for strings with this layout."""
        return NGramsChannel(
            self.whole.channel_for(layout.whole, is_open),
            tuple(self.gram.channel_for(own, is_open) for own in layout.grams),
            self.together,
        )

    def check(self, text: object) -> str:
        """Return the part of a string that is reported; refuse one that is only spaces."""
        kept = cut(self.whole.check(text), self.longest)
        if not kept:
            raise ValueError(
                "an answer to an open question is a string that is not empty, and spaces at its "
                f"end, or in all of its first {self.longest} characters, do not count"
            )
        return kept

    def layout_of(self, texts: Sequence[str]) -> CutLayout:
        """Return the buckets of checked strings and of their n-grams."""
        cut_up = [ngrams(text, self.longest, self.size) for text in texts]
        by_position = zip(*cut_up, strict=True) if cut_up else [()] * self.positions
        return CutLayout(
            self.whole.layout_of(texts), tuple(self._gram_layout(own) for own in by_position)
        )

    def _gram_layout(self, grams: Sequence[str]) -> Layout:
        """Return the buckets of n-grams, each of which is hashed once."""
        numbers: dict[str, int] = {}
        codes = [numbers.setdefault(gram, len(numbers)) for gram in grams]
        return self.gram.layout_of(list(numbers)).select(np.array(codes, np.int64))

    def over(self, candidates: Sequence[str], *, complete: bool = False) -> OverNGrams:
        """Return the mechanism whose answers are the candidates, plus one for all other strings.

        With ``complete`` there is no such answer: nobody holds a string that is not listed.
        """
        return OverNGrams(self, cast("tuple[str, ...]", candidates), complete)  # checked there

    def _encode_one(self, text: str, random: Randomness) -> tuple[Any, ...]:
        cohort, choice = random.below(self.whole.cohorts), random.below(len(self.choices))
        grams = ngrams(text, self.longest, self.size)
        return (
            choice,
            self.whole._encode_in(cohort, text, random),
            *(self.gram._encode_in(cohort, grams[i], random) for i in self.choices[choice]),
        )

    def _encode_many(self, layout: Layout, answers: Integers, random: Bulk) -> Reports:
        def look_up(at: int, people: Integers, cohorts: Integers) -> Integers:
            own = cast(CutLayout, layout)
            return (own.whole if at < 0 else own.grams[at]).look_up(answers[people], cohorts)

        return self._encoded(len(answers), look_up, random)

    def _encoded(
        self, n: int, look_up: Callable[[int, Integers, Integers], Integers], random: Bulk
    ) -> Reports:
        """Return reports, given the buckets of people's strings (-1) or n-grams in cohorts."""
        cohorts = random.below(self.whole.cohorts, n).astype(np.int64)
        choices = random.below(len(self.choices), n).astype(np.int64)
        out, everybody = self.shape.empty(n), np.arange(n)
        out["q0"] = choices
        places = look_up(-1, everybody, cohorts)
        out["q1"] = self.whole._randomise_many(cohorts, places, random)
        table = np.array(self.choices, np.int64)
        for number in range(self.together):
            chosen_at = table[choices, number]
            places = np.empty((self.gram.hashes, n), np.int64)
            for at in range(self.positions):
                own = np.flatnonzero(chosen_at == at)
                if len(own):
                    places[:, own] = look_up(at, own, cohorts[own])
            out[f"q{2 + number}"] = self.gram._randomise_many(cohorts, places, random)
        return out

    def _count(self, reports: Reports) -> Integers:
        channel = self.channel
        found, tables = channel.split(np.zeros(channel.cells, np.int64))
        pairs = {pair: number for number, pair in enumerate(channel.pairs)}
        for start in range(0, len(reports), COUNTED_AT_ONCE):
            choices, strings_, *grams = self.shape.split(reports[start : start + COUNTED_AT_ONCE])
            found += self.whole._count(strings_)
            cohorts = self.shape.cohorts_of(reports[start : start + COUNTED_AT_ONCE])
            cells = [self.gram._cells_of(own) for own in grams]
            for i, j in itertools.combinations(range(self.together), 2):
                number = np.array([pairs[own[i], own[j]] for own in self.choices], np.int64)
                axes = [number[choices], np.asarray(cohorts, np.int64), cells[i], cells[j]]
                tables += cross(axes, tables.shape)
        return channel.joined(found, tables)

    def whole_counts(self, counts: Counts) -> Counts:
        """Return the counts of whole strings, as those of their own mechanism.

        >>> asked = NGrams.splitting(9.0, longest=6)
        >>> counts = asked.count(asked.encode_many(["tea", "mate"] * 5))
        >>> asked.whole_counts(counts).n, asked.pair_counts(counts, 0, 2).mechanism.parts[0].width
        (10, 21)
        """
        cells, _ = self.channel.split(self._own(counts).cells)
        return Counts(self.whole, counts.n, cells, counts.times, counts.again)

    def gram_counts(self, counts: Counts, position: int) -> Counts:
        """Return the counts of n-grams at a position, as those of their own mechanism."""
        channel = self.channel
        _, tables = channel.split(self._own(counts).cells)
        at = whole(position, "position", 0, self.positions - 1)
        kept = not channel.axes[0].is_histogram
        out = np.zeros(tables.shape[1:3], np.int64)
        for (i, j), table in zip(channel.pairs, tables, strict=True):
            if i == at:
                out += table[:, :, 0] if kept else table.sum(axis=2)
            elif j == at:
                out += table[:, 0, :] if kept else table.sum(axis=1)
        out //= self.together - 1  # each report of the n-gram is in so many pairs
        n = int(self.gram.channel.groups(out).sum())
        return Counts(self.gram, n, out, counts.times, counts.again)

    def pair_counts(self, counts: Counts, first: int, second: int) -> Counts:
        """Return the counts of n-grams at two positions, as those of an open product."""
        channel = self.channel
        _, tables = channel.split(self._own(counts).cells)
        number = channel.pairs.index((first, second))
        n = int(channel.reports(tables)[number].sum())
        return Counts(
            OpenProduct((self.gram, self.gram)), n, tables[number], counts.times, counts.again
        )

    def _own(self, counts: Counts) -> Counts:
        if self not in (counts.mechanism, getattr(counts.mechanism, "mechanism", None)):
            raise ValueError(f"counts of {counts.mechanism} are not counts of {self}")
        return counts

    def to_document(self) -> dict[str, Any]:
        """Return the parameters, with those of the two mechanisms."""
        return {
            "name": "NGrams",
            "longest": self.longest,
            "size": self.size,
            "whole": self.whole.to_document(),
            "gram": self.gram.to_document(),
            "together": self.together,
        }

    def __repr__(self) -> str:
        return (
            f"NGrams(longest={self.longest}, size={self.size}, whole={self.whole!r}, "
            f"gram={self.gram!r}, together={self.together})"
        )
