"""The interface of mechanisms whose answers are sets of labels, and the checks they share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurs.boundary.checks import index, whole
from murmurs.channels.channel import MOST_PEOPLE
from murmurs.channels.sets import SetChannel
from murmurs.counts import Counts
from murmurs.mechanisms.mechanism import LARGEST_K, AnyMechanism, study_generator
from murmurs.numerics.arrays import Integers
from murmurs.privacy import check_epsilon
from murmurs.randomness.bulk import Bulk
from murmurs.randomness.sources import Chance, ChanceInBulk, as_randomness
from murmurs.randomness.verbs import Randomness
from murmurs.wire import Report, Reports

Ticks = tuple[int, ...]
"""A set of labels by their numbers, in rising order; it may be empty."""

MOST_KINDS = 10**5
"""Different sets that `simulate` takes; with more of them, encoding people is no slower."""


class SetMechanism(AnyMechanism[Report]):
    """A way to answer one question privately, with a set of at most ``most`` of k labels.

    Any two sets are protected from each other, however many labels they differ in.
    """

    k: int

    @property
    @abstractmethod
    def channel(self) -> SetChannel:
        """The distribution of the count cells given the set."""

    @property
    @abstractmethod
    def limit(self) -> int:
        """The most labels in a set."""

    @abstractmethod
    def _encode_one(self, answer: Ticks, random: Randomness) -> Report:
        """Return a report of one checked set."""

    @abstractmethod
    def _encode_many(self, sets: Sequence[Ticks], numbers: Integers, random: Bulk) -> Reports:
        """Return reports of a chunk of people, who have these sets by their numbers."""

    @abstractmethod
    def _simulate(
        self, sets: Sequence[Ticks], people: Integers, rng: np.random.Generator
    ) -> Integers:
        """Draw the cells of so many people with each set."""

    def encode(self, answer: Iterable[int], random: Chance = None) -> Report:
        """Return a private report of one set.

        ``random`` is `Secure` by default; for a reproducible study, pass a NumPy generator.
        """
        return self._encode_one(self.check(answer), as_randomness(random))

    def encode_many(self, answers: Iterable[Iterable[int]], random: ChanceInBulk = None) -> Reports:
        """Return the reports of many people as one compact array; an answer is a set of numbers.

        ``random`` is `Secure` by default; for a reproducible study, pass a NumPy generator.
        """
        if isinstance(answers, str | bytes | Mapping):
            raise TypeError(
                f"answers are a list with a set of numbers for each person, not "
                f"{type(answers).__name__}"
            )
        numbers: dict[Ticks, int] = {}
        codes = []
        for position, answer in enumerate(answers):
            try:
                own = self.check(answer)
            except (TypeError, ValueError) as error:
                raise type(error)(f"answer number {position}: {error}") from None
            codes.append(numbers.setdefault(own, len(numbers)))
        return self.encode_coded(np.array(codes, np.int64), list(numbers), random)

    def encode_coded(
        self, codes: NDArray[np.integer[Any]], sets: Sequence[Ticks], random: ChanceInBulk = None
    ) -> Reports:
        """Return the reports of people whose sets are ``sets[code]``; sets are checked."""
        texts = [",".join(map(str, ticks)) for ticks in sets]
        source = self._people(random, len(codes), [texts])
        out = self.shape.empty(len(codes))
        for part in self._chunks(len(codes)):
            own = codes[part].astype(np.int64)
            out[part] = self._encode_many(sets, own, source.part(part, own))
        return out

    def simulate(
        self, people: Mapping[Any, int] | Iterable[tuple[Any, int]], random: ChanceInBulk = None
    ) -> Counts:
        """Draw the counts of a whole population, with the law of encoding and counting its reports.

        ``people`` says how many have each set, as a mapping or as pairs. The cost grows with the
        number of different sets, not with that of the people.
        """
        pairs = people.items() if isinstance(people, Mapping) else people
        together: dict[Ticks, int] = {}
        for answer, number in pairs:
            more = whole(number, "a number of people", 0, MOST_PEOPLE)
            own = self.check(answer)
            together[own] = together.get(own, 0) + more
        n = whole(sum(together.values()), "all people together", 0, MOST_PEOPLE)
        if len(together) > MOST_KINDS:
            raise ValueError(
                f"there are {len(together):,} different sets, more than {MOST_KINDS:,}: encode the "
                "people with encode_many, and count their reports"
            )
        numbers = np.array(list(together.values()), np.int64)
        return Counts(self, n, self._simulate(list(together), numbers, study_generator(random)))

    def check(self, answer: Iterable[int]) -> Ticks:
        """Return a set of numbers in rising order; errors do not quote it."""
        if isinstance(answer, str | bytes | Mapping) or not isinstance(answer, Iterable):
            raise TypeError(
                f"an answer of {self} is a set of numbers from 0 to {self.k - 1}, not of type "
                f"{type(answer).__name__}"
            )
        given = [index(label) for label in answer]
        numbers = [number for number in given if number is not None and 0 <= number < self.k]
        if len(numbers) < len(given):
            raise ValueError(f"a label is not one of 0..{self.k - 1} of {self}")
        ticks = tuple(sorted(set(numbers)))
        if len(ticks) < len(numbers):
            raise ValueError("the same label is ticked twice")
        if len(ticks) > self.limit:
            raise ValueError(f"{self} takes at most {self.limit} labels, and there are more")
        return ticks

    def _settle_size(self, smallest: int) -> None:
        self._set(k=whole(self.k, "k", smallest, LARGEST_K), epsilon=check_epsilon(self.epsilon))
