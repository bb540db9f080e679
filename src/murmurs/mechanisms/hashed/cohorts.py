"""Hashed answers in cohorts, for open questions and for fixed lists of answers.

Each person is in a random cohort. A cohort has its own hash functions, which map an answer to one
or a few of ``width`` buckets; a report is the cohort and the randomised buckets. Answers that share
buckets in one cohort are separate in others, so many more answers than buckets can be told apart.
Kairouz, Bonawitz and Ramage (2016), section 5. The mechanisms are in `orr` and
`orappor`, beside this file, and in `murmurs.mechanisms.longitudinal.rappor`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from murmurs.boundary.checks import whole
from murmurs.channels.evidence import Classified, Evidence, Graded, check_size
from murmurs.channels.tables import Tables
from murmurs.hashing import strings
from murmurs.hashing.layout import Keyed, Layout, first_ones
from murmurs.mechanisms.hashed.candidates import OverCandidates
from murmurs.mechanisms.mechanism import Mechanism, OpenMechanism
from murmurs.mechanisms.settling import check_cells
from murmurs.numerics.arrays import Integers
from murmurs.numerics.sampling import (
    distinct_law,
    split_uniformly,
    strange_likelihoods,
    subset_totals,
)
from murmurs.numerics.xxh32 import LARGEST_RANGE
from murmurs.randomness.bulk import Bulk
from murmurs.randomness.verbs import Randomness
from murmurs.wire import Report, Reports


class Cohorts(OpenMechanism[Report]):
    """What mechanisms with cohorts share; they differ in how buckets are randomised."""

    width: int
    cohorts: int
    salt: int
    hashes: int

    @abstractmethod
    def channel_for(self, layout: Layout, is_open: bool) -> Tables:
        """Return the law of the cells for answers with this layout."""

    @abstractmethod
    def _randomise(self, cohort: int, places: Sequence[int], random: Randomness) -> Report:
        """Return a report, given the cohort and the buckets of an answer."""

    @abstractmethod
    def _randomise_many(self, cohorts: Integers, places: Integers, random: Bulk) -> Reports:
        """Return reports of many people, given buckets, one line per hash; ``width`` is none."""

    @abstractmethod
    def _simulate_cohort(self, held: Integers, people: int, rng: np.random.Generator) -> Integers:
        """Return the cells of a cohort, given how many of its people hold each bucket."""

    def _settle_table(self) -> None:
        self._set(
            width=whole(self.width, "width", 2, min(LARGEST_RANGE, 2**16)),
            cohorts=whole(self.cohorts, "cohorts", 1, 2**16),
            salt=whole(self.salt, "salt", 0, 2**32 - 1),
        )
        check_cells(self.cohorts * self.width, "cohorts * width")

    @cached_property
    def channel(self) -> Tables:
        """The law of the cells; without candidates every string is an unlisted one."""
        return self.channel_for(self.layout_of(()), True)

    def layout_of(self, texts: Sequence[str]) -> Layout:
        """Return the buckets of checked strings, by the hash of their keys."""
        return Keyed(strings.keys(texts), self.cohorts, self.width, self.salt, self.hashes)

    def over(self, candidates: Sequence[str], *, complete: bool = False) -> Over[Report]:
        """Return the mechanism whose answers are the candidates, plus one for all other strings.

        With ``complete`` there is no such answer: nobody holds a string that is not listed.
        """
        return Over(self, cast("tuple[str, ...]", candidates), complete)  # checked there

    @property
    def cohort_count(self) -> int | None:
        """The number of cohorts."""
        return self.cohorts

    def _encode_one(self, text: str, random: Randomness) -> Report:
        return self._encode_in(random.below(self.cohorts), text, random)

    def _encode_in(self, cohort: int, text: str, random: Randomness) -> Report:
        """Return a report of one checked string in a cohort."""
        return self._randomise(cohort, self.places(text, cohort), random)

    def places(self, text: str, cohort: int) -> list[int]:
        """Return the buckets of a string in a cohort, each once, in the order of the hashes."""
        found = self.layout_of([text]).look_up(np.array([0]), np.array([cohort])).ravel().tolist()
        return [place for place in found if place < self.width]

    def _encode_many(self, layout: Layout, answers: Integers, random: Bulk) -> Reports:
        cohorts = random.below(self.cohorts, len(answers)).astype(np.int64)
        return self._randomise_many(cohorts, layout.look_up(answers, cohorts), random)

    def _cells_of(self, reports: Reports) -> Integers | NDArray[np.uint8]:
        """Return the cell of each report within its cohort, or the bits that it sets there."""
        if self.channel.exclusive:
            return np.asarray(reports, np.int64) % self.width
        bits = np.unpackbits(reports["bits"], axis=1, count=self.width, bitorder="little")
        return np.insert(bits, 0, 1, axis=1)


class ClosedCohorts(Mechanism[Report]):
    """A mechanism with listed answers, made of one with cohorts and a layout of the answers."""

    @property
    @abstractmethod
    def randomiser(self) -> Cohorts[Report]:
        """The mechanism that randomises buckets."""

    @property
    @abstractmethod
    def layout(self) -> Layout:
        """The buckets of the answers."""

    @property
    def is_open(self) -> bool:
        """Whether the last answer stands for all unlisted strings."""
        return False

    @property
    def ratio(self) -> Fraction:
        """The ratio of the randomiser."""
        return self.randomiser.ratio

    @property
    def shape(self) -> Any:
        """The shape of the randomiser's reports."""
        return self.randomiser.shape

    @property
    def second_round(self) -> tuple[Fraction, Fraction] | None:
        """The second round of the randomiser, if it has one."""
        return self.randomiser.second_round

    @cached_property
    def channel(self) -> Tables:
        """The law of the cells of all cohorts."""
        return self.randomiser.channel_for(self.layout, self.is_open)

    @property
    def cohort_count(self) -> int | None:
        """The number of cohorts of the randomiser."""
        return self.randomiser.cohorts

    def _cells_of(self, reports: Reports) -> Integers | NDArray[np.uint8]:
        return self.randomiser._cells_of(reports)

    def _evidence(self, reports: Reports) -> tuple[Evidence, ...]:
        """Return the likelihood of each report given each answer and the report's cohort.

        An unlisted string has random hashes, so its likelihood is the average over all of them; it
        depends on the report only through the number of ones.
        """
        if self.channel.exclusive:
            check_size(self.randomiser.cohorts * self.randomiser.width, self.k, self)
            law = np.ascontiguousarray(self.channel.matrix().T)
            return (Classified(np.asarray(reports, np.int64), law),)
        check_size(len(reports), self.k, self)
        by_bits = np.empty((len(reports), self.k), np.float32)
        up = float(self.channel.hit / self.channel.miss)
        down = float((1 - self.channel.hit) / (1 - self.channel.miss))
        unlisted = np.log(strange_likelihoods(self.randomiser.hashes, self.layout.width, up, down))
        order = np.argsort(reports["cohort"], kind="stable")
        ends = np.cumsum(np.bincount(reports["cohort"], minlength=self.randomiser.cohorts))
        for cohort in np.unique(reports["cohort"]).tolist():
            own = order[ends[cohort - 1] if cohort else 0 : ends[cohort]]
            flags = np.unpackbits(
                reports["bits"][own], axis=1, count=self.layout.width, bitorder="little"
            )
            held = self._held_in(cohort)
            hits = flags.astype(np.float32) @ held.T
            heights = hits * np.log(up) + (held.sum(axis=1) - hits) * np.log(down)
            if self.is_open:
                heights = np.column_stack([heights, unlisted[flags.sum(axis=1, dtype=np.int64)]])
            by_bits[own] = np.exp(heights - heights.max(axis=1, keepdims=True))
        return (Graded(by_bits),)

    def _held_in(self, cohort: int) -> NDArray[np.float32]:
        """Return which buckets each listed answer has in a cohort."""
        held = np.zeros((self.layout.k, self.layout.width + 1), np.float32)
        for at in self.layout.places_in(cohort):
            held[np.arange(self.layout.k), at] = 1
        return held[:, :-1]

    def _encode_one(self, answer: int, random: Randomness) -> Report:
        return self._encode_in(random.below(self.randomiser.cohorts), answer, random)

    def _encode_in(self, cohort: int, answer: int, random: Randomness) -> Report:
        """Return a report of one checked answer in a cohort."""
        if answer == self.layout.k:
            drawn = [random.below(self.randomiser.width) for _ in range(self.randomiser.hashes)]
            return self.randomiser._randomise(cohort, list(dict.fromkeys(drawn)), random)
        found = self.layout.look_up(np.array([answer]), np.array([cohort])).ravel().tolist()
        places = [place for place in found if place < self.randomiser.width]
        return self.randomiser._randomise(cohort, places, random)

    def _encode_many(self, answers: Integers, random: Bulk) -> Reports:
        cohorts = random.below(self.randomiser.cohorts, len(answers)).astype(np.int64)
        return self._encode_many_in(cohorts, answers, random)

    def _encode_many_in(self, cohorts: Integers, answers: Integers, random: Bulk) -> Reports:
        """Return reports of a chunk of checked answers in given cohorts."""
        if not self.is_open:
            return self.randomiser._randomise_many(
                cohorts, self.layout.look_up(answers, cohorts), random
            )
        listed = answers < self.layout.k
        places = np.empty((self.randomiser.hashes, len(answers)), np.int64)
        places[:, listed] = self.layout.look_up(answers[listed], cohorts[listed])
        places[:, ~listed] = self._strange(int((~listed).sum()), random.of(~listed))
        return self.randomiser._randomise_many(cohorts, places, random)

    def _strange(self, n: int, random: Bulk) -> Integers:
        """Return the buckets of n unlisted strings, drawn uniformly."""
        hashes, width = self.randomiser.hashes, self.randomiser.width
        drawn = random.below(width, n * hashes).astype(np.int64).reshape(hashes, n)
        return first_ones(drawn, width)

    def _count(self, reports: Reports) -> Integers:
        return self.randomiser._count(reports)

    def _simulate(self, histogram: Integers, rng: np.random.Generator) -> Integers:
        """Split the people over the cohorts, add them up by bucket, and randomise the sums."""
        rows, width = self.randomiser.cohorts, self.randomiser.width
        out = np.empty(self.channel.cells, np.int64)
        left, several = histogram, self.is_open and self.randomiser.hashes > 1
        if several:
            left = np.append(histogram[:-1], 0)
            strangers, held_by_strangers = self._simulate_unlisted(int(histogram[-1]), rng)
        for row in range(rows):
            here = rng.binomial(left, 1 / (rows - row))
            left = left - here
            held = np.zeros(width + 1, np.int64)
            people = int(here.sum())
            for at in self.layout.places_in(row):
                np.add.at(held, at, here[: self.layout.k])
            if several:
                held[:width] += held_by_strangers[row]
                people += int(strangers[row])
            elif self.is_open:
                held[:width] += split_uniformly(here[-1], width, rng)
            out[row] = self.randomiser._simulate_cohort(held[:width], people, rng)
        return out

    def _simulate_unlisted(self, n: int, rng: np.random.Generator) -> tuple[Integers, Integers]:
        """Draw how many of n people with random hashes are in each cohort and hold each bucket.

        Given how many different buckets somebody has, all sets of that size are equally likely.
        """
        people = split_uniformly(np.array(n), self.randomiser.cohorts, rng)
        law = distinct_law(self.randomiser.hashes, self.randomiser.width)
        by_number = rng.multinomial(people, law)
        return people, subset_totals(by_number, self.randomiser.width, rng)


@dataclass(frozen=True, repr=False)
class Over(OverCandidates[Report], ClosedCohorts[Report]):
    """An open mechanism with a list of candidates; the last answer stands for all other strings.

    It is used to estimate from the counts of an open question (`Counts.over`) and to simulate them.
    A string that is not listed has a random hash, so the last answer is equally likely in every
    bucket. If the list is ``complete``, there is no such answer.
    """

    mechanism: Cohorts[Report]

    @property
    def randomiser(self) -> Cohorts[Report]:
        """The open mechanism."""
        return self.mechanism

    @cached_property
    def layout(self) -> Layout:
        """The buckets of the candidates."""
        return self.mechanism.layout_of(self.candidates)
