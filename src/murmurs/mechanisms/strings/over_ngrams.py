"""Strings and their n-grams over a list of candidates: to simulate, and to estimate shares."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from murmurs.channels.axes import CohortAxis
from murmurs.channels.ngrams import NGramsChannel
from murmurs.hashing.layout import first_ones
from murmurs.hashing.ngrams import CutLayout
from murmurs.mechanisms.hashed.candidates import OverCandidates
from murmurs.numerics.arrays import Integers
from murmurs.numerics.sampling import split_uniformly
from murmurs.randomness.bulk import CHUNK, Bulk, bulk
from murmurs.randomness.verbs import Randomness
from murmurs.wire import Reports

if TYPE_CHECKING:
    from murmurs.mechanisms.strings.ngrams import NGrams

COUNTED_AT_ONCE = 2**18
"""Reports that are counted at a time."""


@dataclass(frozen=True, repr=False)
class OverNGrams(OverCandidates[tuple[Any, ...]]):
    """`NGrams` with a list of candidates; the last answer stands for all other strings.

    It is used to estimate from the counts of whole strings and to simulate all counts. A string
    that is not listed has random hashes, and so do all of its n-grams. If the list is ``complete``,
    there is no such answer.
    """

    mechanism: NGrams

    @cached_property
    def layout(self) -> CutLayout:
        """The buckets of the candidates and of their n-grams."""
        return self.mechanism.layout_of(self.candidates)

    @cached_property
    def channel(self) -> NGramsChannel:
        """The law of the cells."""
        return self.mechanism.channel_for(self.layout, not self.complete)

    def _encode_one(self, answer: int, random: Randomness) -> tuple[Any, ...]:
        own = self.mechanism
        if answer < len(self.candidates):
            return own._encode_one(self.candidates[answer], random)
        cohort, choice = random.below(own.whole.cohorts), random.below(len(own.choices))
        parts = [own.whole, *[own.gram] * own.together]
        out: list[Any] = [choice]
        for part in parts:
            drawn = [random.below(part.width) for _ in range(part.hashes)]
            out.append(part._randomise(cohort, list(dict.fromkeys(drawn)), random))
        return tuple(out)

    def _encode_many(self, answers: Integers, random: Bulk) -> Reports:
        own, layout = self.mechanism, self.layout

        def look_up(at: int, people: Integers, cohorts: Integers) -> Integers:
            part = own.whole if at < 0 else own.gram
            table = layout.whole if at < 0 else layout.grams[at]
            found, held = np.empty((part.hashes, len(people)), np.int64), answers[people]
            listed = held < len(self.candidates)
            found[:, listed] = table.look_up(held[listed], cohorts[listed])
            strangers = random.of(people[~listed])
            drawn = strangers.below(part.width, int((~listed).sum()) * part.hashes).astype(np.int64)
            found[:, ~listed] = first_ones(drawn.reshape(part.hashes, -1), part.width)
            return found

        return own._encoded(len(answers), look_up, random)

    def _count(self, reports: Reports) -> Integers:
        return self.mechanism._count(reports)

    def _simulate(self, histogram: Integers, rng: np.random.Generator) -> Integers:
        """Draw the cells if an n-gram's report counts in one of them; else encode everybody."""
        channel = self.channel
        if not (channel.axes[0].is_histogram and channel.whole.exclusive):
            return self._simulate_people(histogram, rng)
        found, tables = channel.split(np.zeros(channel.cells, np.int64))
        numbers = {pair: number for number, pair in enumerate(channel.pairs)}
        strings_axis = CohortAxis(channel.whole)
        by_cohort = split_uniformly(histogram, channel.cohorts, rng).T
        for cohort, people in enumerate(by_cohort):
            found[cohort] = _drawn(people, [strings_axis.law(cohort)], rng)
            laws = [axis.law(cohort) for axis in channel.axes]
            by_choice = split_uniformly(people, len(channel.subsets), rng).T
            for subset, here in zip(channel.subsets, by_choice, strict=True):
                drawn = _drawn(here, [laws[at] for at in subset], rng)
                for i, j in itertools.combinations(range(len(subset)), 2):
                    others = tuple(at for at in range(len(subset)) if at not in (i, j))
                    tables[numbers[subset[i], subset[j]], cohort] += drawn.sum(axis=others)
        return channel.joined(found, tables)

    def _simulate_people(self, histogram: Integers, rng: np.random.Generator) -> Integers:
        """Encode and count everybody, in chunks: the time grows with the people, not the memory."""
        out, source = np.zeros(self.channel.cells, np.int64), bulk(rng)
        ends = np.cumsum(histogram)
        size = max(COUNTED_AT_ONCE, CHUNK)
        for start in range(0, int(ends[-1]), size):
            people = np.arange(start, min(start + size, int(ends[-1])))
            answers = np.searchsorted(ends, people, side="right")
            out += self._count(self._encode_many(answers, source))
        return out


def _drawn(
    people: Integers, laws: list[NDArray[np.float64]], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw the table of the reports that people with each answer send, one axis for each report."""
    sizes = [law.shape[1] for law in laws]
    here = np.flatnonzero(people)
    joint = reduce(_outer, [law[here] for law in laws])
    joint = np.maximum(joint, 0)
    drawn = rng.multinomial(people[here], joint / joint.sum(axis=1, keepdims=True))
    return np.asarray(drawn.sum(axis=0, dtype=np.int64).reshape(sizes))


def _outer(one: NDArray[np.float64], two: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the products of all numbers in two rows, for each row."""
    return np.asarray(
        (one[:, :, None] * two[:, None, :]).reshape(len(one), one.shape[1] * two.shape[1])
    )
