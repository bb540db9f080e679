"""Keyed answers in cohorts: O-RR and O-RAPPOR, for strings nobody listed and for closed lists.

Each person is in one of a number of cohorts, by chance. A cohort has hash functions of its own that
turn an answer into one or a few of ``width`` places; what is sent is the cohort and the randomised
places. Answers that share places in one cohort are apart in others, so that many more answers than
places can be told apart. Kairouz, Bonawitz and Ramage (2016), section 5.
"""

from __future__ import annotations

import dataclasses
import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from murmurs import kernels, strings
from murmurs.bulk import Bulk
from murmurs.channels.tables import BitSketch, CategorySketch, Tables
from murmurs.checks import Integers, whole
from murmurs.hashing import LARGEST_RANGE
from murmurs.layout import Keyed, Layout, first_ones, permuted
from murmurs.mechanism import Mechanism, OpenMechanism, settle_flip
from murmurs.privacy import (
    SCALE,
    check_epsilon,
    check_promise,
    flip_numerator,
    flip_ratio,
    truth_numerator,
    truth_ratio,
)
from murmurs.randomness import Randomness
from murmurs.sampling import spread
from murmurs.wire import Category, Report, Reports, Row, RowOfBits

OTHER = "(other)"
"""The label of all strings that are not among the candidates."""

MOST_HASHES = 16
MOST_PERMUTED = 2**27
_KEPT = 2**22


class Cohorts(OpenMechanism[Report]):
    """What mechanisms with cohorts share; they differ in how places are randomised."""

    width: int
    cohorts: int
    salt: int

    hashes: int

    @abstractmethod
    def table(self, layout: Layout, is_open: bool) -> Tables:
        """Return the law of the cells for answers that fall where the layout says."""

    @abstractmethod
    def _randomise(self, cohort: int, places: Sequence[int], random: Randomness) -> Report:
        """Return a report of one cohort and the places of an answer."""

    @abstractmethod
    def _randomise_many(self, cohorts: Integers, places: Integers, random: Bulk) -> Reports:
        """Return reports of many; places have one line a hash, where ``width`` is nowhere."""

    @abstractmethod
    def _draw_row(self, held: Integers, people: int, rng: np.random.Generator) -> Integers:
        """Return the cells of a cohort, of whose people so many hold each place."""

    def _settle_table(self) -> None:
        self._set(
            width=whole(self.width, "width", 2, min(LARGEST_RANGE, 2**16)),
            cohorts=whole(self.cohorts, "cohorts", 1, 2**16),
            salt=whole(self.salt, "salt", 0, 2**32 - 1),
        )
        if self.cohorts * self.width > 2**31:
            raise ValueError(
                f"cohorts * width must be at most 2**31, not {self.cohorts * self.width}"
            )

    @cached_property
    def channel(self) -> Tables:
        """The law of the cells; without candidates every answer is another one."""
        return self.table(self.layout_of(()), True)

    def layout_of(self, texts: Sequence[str]) -> Layout:
        """Return where checked strings fall, by the hash of their keys."""
        return Keyed(strings.keys(texts), self.cohorts, self.width, self.salt, self.hashes)

    def over(self, candidates: Sequence[str], *, complete: bool = False) -> Over[Report]:
        """Return the mechanism whose answers are the candidates, and one for all other strings.

        With ``complete`` there are no others: nobody holds a string that is not listed.
        """
        return Over(self, strings.candidates(candidates, self.check), complete)

    def _report(self, text: str, random: Randomness) -> Report:
        cohort = random.below(self.cohorts)
        return self._randomise(cohort, self.places(text, cohort), random)

    def places(self, text: str, cohort: int) -> list[int]:
        """Return the places of a string in a cohort, each once, in the order of the hashes."""
        found = self.layout_of([text]).look_up(np.array([0]), np.array([cohort])).ravel().tolist()
        return [place for place in found if place < self.width]

    def _encode(self, layout: Layout, answers: Integers, random: Bulk) -> Reports:
        cohorts = random.below(self.cohorts, len(answers)).astype(np.int64)
        return self._randomise_many(cohorts, layout.look_up(answers, cohorts), random)


class Tabled(Mechanism[Report]):
    """A closed mechanism made of one with cohorts and a layout of its answers."""

    @property
    @abstractmethod
    def table(self) -> Cohorts[Report]:
        """The mechanism that randomises places."""

    @property
    @abstractmethod
    def layout(self) -> Layout:
        """Where the answers fall."""

    @property
    def is_open(self) -> bool:
        """Whether the last answer stands for all that are in no list."""
        return False

    @property
    def ratio(self) -> Fraction:
        """That of the randomised places."""
        return self.table.ratio

    @property
    def shape(self) -> Any:
        """That of the randomised places."""
        return self.table.shape

    @cached_property
    def channel(self) -> Tables:
        """The law of the cells of all cohorts."""
        return self.table.table(self.layout, self.is_open)

    def _report(self, answer: int, random: Randomness) -> Report:
        cohort = random.below(self.table.cohorts)
        if answer == self.layout.k:
            drawn = [random.below(self.table.width) for _ in range(self.table.hashes)]
            return self.table._randomise(cohort, list(dict.fromkeys(drawn)), random)
        found = self.layout.look_up(np.array([answer]), np.array([cohort])).ravel().tolist()
        places = [place for place in found if place < self.table.width]
        return self.table._randomise(cohort, places, random)

    def _encode(self, answers: Integers, random: Bulk) -> Reports:
        cohorts = random.below(self.table.cohorts, len(answers)).astype(np.int64)
        if not self.is_open:
            return self.table._randomise_many(
                cohorts, self.layout.look_up(answers, cohorts), random
            )
        listed = answers < self.layout.k
        places = np.empty((self.table.hashes, len(answers)), np.int64)
        places[:, listed] = self.layout.look_up(answers[listed], cohorts[listed])
        places[:, ~listed] = self._strange(int((~listed).sum()), random)
        return self.table._randomise_many(cohorts, places, random)

    def _strange(self, n: int, random: Bulk) -> Integers:
        """Return the places of n strings that are in no list: any, each as likely."""
        hashes, width = self.table.hashes, self.table.width
        drawn = random.below(width, n * hashes).astype(np.int64).reshape(hashes, n)
        return first_ones(drawn, width)

    def _tally(self, reports: Reports) -> Integers:
        return self.table._tally(reports)

    def _draw(self, histogram: Integers, rng: np.random.Generator) -> Integers:
        """Split the people over the cohorts, add them up by place, and randomise the sums."""
        rows, width = self.table.cohorts, self.table.width
        out = np.empty(self.channel.cells, np.int64)
        left = histogram
        for row in range(rows):
            here = rng.binomial(left, 1 / (rows - row))
            left = left - here
            held = np.zeros(width + 1, np.int64)
            listed = here[: self.layout.k]
            for at in self.layout.row(row):
                np.add.at(held, at, listed)
            if self.is_open:
                held += _strange_held(int(here[-1]), width, self.table.hashes, rng)
            out[row] = self.table._draw_row(held[:width], int(here.sum()), rng)
        return out


def _strange_held(n: int, width: int, hashes: int, rng: np.random.Generator) -> Integers:
    """Return how many of n people with random hashes hold each place; the last is nowhere."""
    if n == 0:
        return np.zeros(width + 1, np.int64)
    if hashes == 1:
        return np.append(spread(np.array(n), width, rng), 0)
    held = np.zeros(width + 1, np.int64)
    for start in range(0, n, 2**20):
        drawn = rng.integers(0, width, (hashes, min(2**20, n - start)))
        held += np.bincount(first_ones(drawn, width).ravel(), minlength=width + 1)
    return held


@dataclass(frozen=True)
class Over(Tabled[Report]):
    """An open mechanism seen over a list of candidates; the last answer is all other strings.

    It is what counts of an open question are estimated through (`Counts.over`), and what they are
    simulated with. A string that is not listed has a random hash, so the last answer falls on
    every place alike. A list that is ``complete`` has no such answer.
    """

    mechanism: Cohorts[Report]
    candidates: tuple[str, ...]
    complete: bool = False

    def __post_init__(self) -> None:
        self._set(candidates=strings.candidates(self.candidates, self.mechanism.check))
        if not self.candidates:
            raise ValueError("there are no candidates: list the strings to look for")
        if OTHER in self.candidates:
            line = self.candidates.index(OTHER) + 1
            raise ValueError(f"line {line}: {OTHER!r} stands for all strings that are not listed")

    @property
    def k(self) -> int:  # type: ignore[override]
        """The candidates, and one for all others."""
        return len(self.candidates) + self.is_open

    @property
    def epsilon(self) -> float:  # type: ignore[override]
        """That of the open mechanism."""
        return self.mechanism.epsilon

    @property
    def labels(self) -> tuple[str, ...]:
        """The candidates, and the name for all others."""
        return (*self.candidates, OTHER) if self.is_open else self.candidates

    @property
    def table(self) -> Cohorts[Report]:
        """The open mechanism."""
        return self.mechanism

    @cached_property
    def layout(self) -> Layout:
        """Where the candidates fall."""
        return self.mechanism.layout_of(self.candidates)

    @property
    def is_open(self) -> bool:
        """The last answer stands for all that are in no list, unless there are none."""
        return not self.complete

    def to_document(self) -> dict[str, Any]:
        """Return the open mechanism with the candidates."""
        listed = {"candidates": list(self.candidates)}
        return self.mechanism.to_document() | listed | ({"complete": True} if self.complete else {})

    def __repr__(self) -> str:
        only = "only " if self.complete else ""
        return f"{self.mechanism!r}.over({only}{len(self.candidates)} candidates)"


@dataclass(frozen=True)
class ORR(Cohorts[int]):
    """O-RR: k-ary randomised response of a hashed string, in cohorts with a hash function each.

    Use it when answers are strings that cannot be listed beforehand. The best ``width`` grows with
    epsilon (about e^epsilon + 1), and cohorts should be many: `murmurs.tuning.tune` finds both.

    Law: the cohort c is uniform; the string's place in it is y = XXH32(key, salt + c) * width
    >> 32, the key being number c mod 4 of the four in its SHA-256. With probability
    t = truth / 2**53 the report is y, otherwise any of the places: e^epsilon >= 1 + width t /
    (1 - t). The report is the number c * width + place. Kairouz, Bonawitz and Ramage (2016), eqs.
    15 to 18.

    >>> from murmurs import Secure
    >>> rr = ORR(epsilon=2.0, width=8, cohorts=64)
    >>> rr.encode("https://example.org", Secure()) in range(512)
    True
    """

    epsilon: float
    width: int
    cohorts: int
    salt: int = 0
    truth: int = field(default=0, repr=False)

    hashes = 1

    def __post_init__(self) -> None:
        self._set(epsilon=check_epsilon(self.epsilon))
        self._settle_table()
        derived = self.truth or truth_numerator(self.epsilon, Fraction(self.width))
        self._set(truth=whole(derived, "truth", 1, SCALE - 1))
        check_promise(self.ratio, self.epsilon, self)

    @property
    def truth_probability(self) -> Fraction:
        """The chance of telling the true place, exactly."""
        return Fraction(self.truth, SCALE)

    @property
    def ratio(self) -> Fraction:
        """That of `KRR` with as many answers as places."""
        return truth_ratio(self.truth, Fraction(self.width))

    @property
    def shape(self) -> Category:
        """A report is a cohort and a place, in one number."""
        return Category(self.cohorts * self.width)

    def table(self, layout: Layout, is_open: bool) -> CategorySketch:
        """Cell (c, b) counts the reports of place b in cohort c."""
        lie = (1 - self.truth_probability) / self.width
        return CategorySketch(layout, is_open, self.truth_probability + lie, lie)

    def _randomise(self, cohort: int, places: Sequence[int], random: Randomness) -> int:
        own = places[0] if random.chance(self.truth) else random.below(self.width)
        return cohort * self.width + own

    def _randomise_many(self, cohorts: Integers, places: Integers, random: Bulk) -> Reports:
        out = random.below(self.width, len(cohorts)).astype(np.int64)
        np.copyto(out, places[0], where=random.chance(self.truth, len(cohorts)))
        return cohorts * self.width + out

    def _tally(self, reports: Reports) -> Integers:
        return kernels.load().histogram(reports, self.shape.count).reshape(self.channel.cells)

    def _draw_row(self, held: Integers, people: int, rng: np.random.Generator) -> Integers:
        honest = rng.binomial(held, float(self.truth_probability))
        return honest + spread(people - honest.sum(), self.width, rng)


class Blooming(Cohorts[Row]):
    """What mechanisms with a Bloom filter for each cohort share: its bits are randomised singly."""

    @property
    @abstractmethod
    def one(self) -> Fraction:
        """Chance that a bit of the answer is set."""

    @property
    @abstractmethod
    def zero(self) -> Fraction:
        """Chance that any other bit is set."""

    @property
    def shape(self) -> RowOfBits:
        """A report is a cohort and its bits."""
        return RowOfBits(self.cohorts, self.width)

    def table(self, layout: Layout, is_open: bool) -> BitSketch:
        """Cell (c, 0) counts the reports of cohort c, cell (c, 1 + b) those with bit b set."""
        return BitSketch(layout, is_open, self.one, self.zero)

    def _packed(self, cohort: int, bits: Sequence[bool]) -> Row:
        out = bytearray(-(-self.width // 8))
        for b, bit in enumerate(bits):
            out[b >> 3] |= bit << (b & 7)
        return Row(cohort, bytes(out))

    def _randomise_many(self, cohorts: Integers, places: Integers, random: Bulk) -> Reports:
        """Draw all bits as false ones, then those of the answers anew."""
        n, size = len(cohorts), -(-self.width // 8)
        bits = random.packed(self.zero.numerator, n * size, self.zero.denominator)
        for at in places:
            own = random.chance(self.one.numerator, n, self.one.denominator)
            here = np.flatnonzero(at < self.width)
            byte, place = here * size + (at[here] >> 3), (at[here] & 7).astype(np.uint8)
            bits[byte] = bits[byte] & ~(np.uint8(1) << place) | own[here].view(np.uint8) << place
        return self._rows(cohorts, bits)

    def _rows(self, cohorts: Integers, bits: np.ndarray[Any, np.dtype[np.uint8]]) -> Reports:
        out = self.shape.empty(len(cohorts))
        out["row"] = cohorts
        out["bits"] = bits.reshape(len(cohorts), -1)
        if self.width % 8:
            out["bits"][:, -1] &= (1 << self.width % 8) - 1
        return out

    def _tally(self, reports: Reports) -> Integers:
        load, order = kernels.load(), np.argsort(reports["row"], kind="stable")
        sorted_bits = np.ascontiguousarray(reports["bits"])[order]
        cells = np.zeros((self.cohorts, 1 + self.width), np.int64)
        cells[:, 0] = load.histogram(np.ascontiguousarray(reports["row"]), self.cohorts)
        ends = np.cumsum(cells[:, 0])
        for row in np.flatnonzero(cells[:, 0]):
            part = sorted_bits[ends[row] - cells[row, 0] : ends[row]]
            cells[row, 1:] = load.bit_totals(part, self.width)
        return cells

    def _draw_row(self, held: Integers, people: int, rng: np.random.Generator) -> Integers:
        true = rng.binomial(held, float(self.one))
        return np.append(people, true + rng.binomial(people - held, float(self.zero)))


@dataclass(frozen=True)
class ORappor(Blooming):
    """O-RAPPOR: a Bloom filter of a hashed string, in cohorts, every bit randomised.

    Use it to compare with the literature or where reports must be bits; `ORR` sends less and is at
    least as precise.

    Law: the cohort c is uniform; hash i of the string, number j = c * hashes + i, is
    XXH32(key, salt + j) * width >> 32, the key being number j mod 4 of the four in its SHA-256. The
    bits at these places are one, and each bit is turned round with probability
    flip / 2**53. Two strings differ in up to 2 * hashes bits, so flip is the smallest that keeps
    ((1 - flip) / flip)^(2 hashes) <= e^epsilon. (Kairouz et al. 2016, section 5.2, leave the
    number of hashes out; with it, one hash is best.)

    >>> ORappor(epsilon=2.0, width=16, cohorts=64, hashes=2).epsilon_realised <= 2.0
    True
    """

    epsilon: float
    width: int
    cohorts: int
    hashes: int = 1
    salt: int = 0
    flip: int = field(default=0, repr=False)

    def __post_init__(self) -> None:
        self._set(epsilon=check_epsilon(self.epsilon))
        self._settle_table()
        self._set(hashes=whole(self.hashes, "hashes", 1, min(MOST_HASHES, self.width)))
        self._set(flip=settle_flip(self.flip, flip_numerator(self.epsilon, self.differing)))
        check_promise(self.ratio, self.epsilon, self)

    @property
    def one(self) -> Fraction:
        """1 - flip."""
        return 1 - self.zero

    @property
    def zero(self) -> Fraction:
        """The chance of a flip."""
        return Fraction(self.flip, SCALE)

    @property
    def ratio(self) -> Fraction:
        """All differing bits kept against all of them flipped."""
        return flip_ratio(self.flip) ** self.differing

    @property
    def differing(self) -> int:
        """Two strings differ in twice as many bits as hashes, if there are so many."""
        return min(2 * self.hashes, self.width)

    def _randomise(self, cohort: int, places: Sequence[int], random: Randomness) -> Row:
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


class Permuted(Tabled[Report]):
    """What closed mechanisms with cohorts share: answers are permuted, then taken modulo width."""

    width: int
    cohorts: int
    salt: int

    def _settle_permuted(self, widest: int) -> None:
        """Check, and choose what is left open: places as wide as is best, and enough cohorts."""
        self._settle()
        best = widest if 1.5 * widest < self.k else self.k
        width = whole(_or_else(self.width, min(best, 2**16)), "width", 2, self.k)
        enough = -(-3 * self.k // (width - 1)) if width < self.k else 1
        chosen = _or_else(self.cohorts, min(enough, max(2, _KEPT // self.k)))
        self._set(width=width, cohorts=whole(chosen, "cohorts", 1, 2**16))
        if self.k * self.cohorts > MOST_PERMUTED:
            raise ValueError(
                f"k * cohorts must be at most 2**27, not {self.k * self.cohorts}: permutations of "
                "all answers are kept; take fewer cohorts"
            )

    @cached_property
    def layout(self) -> Layout:
        """A permutation of the answers for each cohort."""
        return permuted(self.k, self.cohorts, self.width, self.salt)


@dataclass(frozen=True)
class PermutedRR(Permuted[int]):
    """O-RR for a closed alphabet: in each cohort answers are permuted and taken modulo width.

    Use it for a listed alphabet that is large for epsilon, when a report must be one number. With
    one cohort and width = k it is `KRR` with its answers in another order.

    Left open, the width is e^epsilon + 1, or k if that is not far, and cohorts are as many as tell
    all answers apart, up to 2**22 / k of them.

    Law: as `ORR`, but the place of an answer in cohort c is its rank modulo width, ranks being in
    the order of XXH32(answer, salt + c). Kairouz, Bonawitz and Ramage (2016), section 5.4.

    >>> from murmurs import Secure
    >>> PermutedRR(k=100, epsilon=2.0, width=8, cohorts=16).encode(99, Secure()) in range(128)
    True
    """

    k: int
    epsilon: float
    width: int = 0
    cohorts: int = 0
    salt: int = 0
    truth: int = field(default=0, repr=False)

    def __post_init__(self) -> None:
        best = round(math.exp(min(check_epsilon(self.epsilon), 20.0))) + 1
        self._settle_permuted(best)
        self._set(**_shared(self.table, self))

    @cached_property
    def table(self) -> ORR:
        """The same of strings."""
        return ORR(self.epsilon, self.width, self.cohorts, self.salt, self.truth)


@dataclass(frozen=True)
class PermutedRappor(Permuted[Row]):
    """O-RAPPOR for a closed alphabet: in each cohort answers are permuted and taken modulo width.

    Use it to compare with the literature; `PermutedRR` sends less. With one cohort and width = k it
    is `SUE` with its answers in another order.

    Law: as `ORappor` with one hash, but the place of an answer in cohort c is its rank modulo
    width, ranks being in the order of XXH32(answer, salt + c).

    >>> PermutedRappor(k=100, epsilon=2.0, width=8, cohorts=16).shape.size
    2
    """

    k: int
    epsilon: float
    width: int = 0
    cohorts: int = 0
    salt: int = 0
    flip: int = field(default=0, repr=False)

    def __post_init__(self) -> None:
        self._settle_permuted(128)
        self._set(**_shared(self.table, self))

    @cached_property
    def table(self) -> ORappor:
        """The same of strings."""
        return ORappor(self.epsilon, self.width, self.cohorts, 1, self.salt, self.flip)


def _or_else(given: int, chosen: int) -> int:
    """Return what was given, or what was chosen if that is a plain 0."""
    return chosen if type(given) is int and given == 0 else given


def _shared(table: Cohorts[Any], mechanism: Mechanism[Any]) -> dict[str, Any]:
    """Return the settled values of the fields that both have."""
    names = {f.name for f in dataclasses.fields(mechanism)}  # type: ignore[arg-type]
    return {
        f.name: getattr(table, f.name)
        for f in dataclasses.fields(table)  # type: ignore[arg-type]
        if f.name in names
    }
