"""Where answers are hashed: in each row, to one or a few of its ``width`` buckets.

Each row is a hash table: a row of a sketch, or a cohort of people who share hash functions. A
layout turns the shares of the answers into the means of a table of counts (`masses`); its adjoint
turns the table back into estimates of the shares (`totals`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from murmurs import kernels
from murmurs.numerics.arrays import Floats, Integers
from murmurs.numerics.xxh32 import buckets, hash_keys

Places = NDArray[np.uint32]
"""Cells of the table, one line for each hash of each row; rows * width means no bucket."""

MOST_KEPT = 2**24
"""The most buckets kept in memory; larger layouts hash them again when needed."""

_BLOCK = 2**22
"""About how many buckets of a larger layout are hashed at a time."""

_LOOKED_UP_SINGLY = 16
"""The most people who are looked up one by one, without keeping all permutations."""


class Layout(ABC):
    """``k`` answers in ``rows`` rows of ``width`` buckets, each in up to ``hashes`` per row."""

    rows: int
    width: int
    hashes: int

    @property
    @abstractmethod
    def k(self) -> int:
        """The number of answers."""

    @abstractmethod
    def blocks(self) -> Iterator[tuple[slice, Places]]:
        """Return the buckets of all answers, one block of answers after another."""

    @abstractmethod
    def select(self, answers: Integers) -> Layout:
        """Return the layout of some of the answers."""

    def all_places(self) -> Places:
        """Return the buckets of all answers at once; for few answers."""
        return np.concatenate([places for _, places in self.blocks()], axis=1)

    def places_in(self, row: int) -> NDArray[np.int64]:
        """Return the buckets of every answer in one row, one line per hash; ``width`` is none."""
        own = slice(row * self.hashes, (row + 1) * self.hashes)
        parts = [places[own].astype(np.int64) for _, places in self.blocks()]
        places = np.concatenate(parts, axis=1)
        return np.minimum(places - row * self.width, self.width)

    @abstractmethod
    def look_up(self, answers: Integers, rows: Integers) -> Integers:
        """Return the buckets of answers, each in one row; one line per hash, ``width`` is none."""

    def masses(self, shares: Floats) -> Floats:
        """Return the total share in each bucket of each row."""
        held = np.flatnonzero(shares)
        if 2 * len(held) < self.k:
            return self.select(held).masses(shares[held])
        scatter, size = kernels.load().scatter, self.rows * self.width + 1
        out = np.zeros(size)
        for part, places in self.blocks():
            out += scatter(places, np.ascontiguousarray(shares[part], np.float64), size)
        return out[:-1].reshape(self.rows, self.width)

    def totals(self, table: Floats) -> Floats:
        """Return for each answer the sum of the table over its buckets."""
        return np.asarray(self.all_totals(table)[0])

    def all_totals(self, *tables: Floats) -> Floats:
        """Return the sums of several tables over the buckets of each answer, one line a table."""
        gather, flat = kernels.load().gather, [np.append(table.ravel(), 0.0) for table in tables]
        parts = [[gather(places, own) for own in flat] for _, places in self.blocks()]
        return np.concatenate(parts, axis=1)

    def alike(self) -> list[Integers]:
        """Return groups of answers that cannot be told apart: their buckets agree in every row.

        Buckets get random whole numbers; answers with equal sums in two such draws are alike.
        """
        return self._alike

    @cached_property
    def _alike(self) -> list[Integers]:
        rng = np.random.default_rng(0)
        sums = self.all_totals(
            *(rng.integers(0, 2**36, (self.rows, self.width)).astype(np.float64) for _ in range(2))
        )
        order = np.lexsort(sums)
        same = np.logical_and(*(np.diff(total[order]) == 0 for total in sums))
        edges = np.diff(np.concatenate([[0], same.astype(np.int8), [0]]))
        starts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
        return [np.sort(order[a : b + 1]) for a, b in zip(starts, ends, strict=True)]


@dataclass(frozen=True, eq=False)
class ListedPlaces(Layout):
    """Buckets as a given list: permutations of a closed alphabet, or another system's hash."""

    places: Places
    rows: int
    width: int
    hashes: int = 1

    @property
    def k(self) -> int:
        """The number of answers that have buckets."""
        return int(self.places.shape[1])

    def look_up(self, answers: Integers, rows: Integers) -> Integers:
        """Return the buckets of answers, each in one row."""
        lines = rows * self.hashes + np.arange(self.hashes)[:, None]
        places = self.places[lines, answers].astype(np.int64) - rows * self.width
        return np.asarray(np.minimum(places, self.width))

    def blocks(self) -> Iterator[tuple[slice, Places]]:
        """Return all buckets at once."""
        yield slice(0, self.k), self.places

    def select(self, answers: Integers) -> ListedPlaces:
        """Return the layout of some of the answers."""
        kept = np.ascontiguousarray(self.places[:, answers])
        return ListedPlaces(kept, self.rows, self.width, self.hashes)

    def bits(self) -> Integers:
        """Return the buckets within their rows, one line for each hash; ``width`` is none."""
        first = np.repeat(np.arange(self.rows) * self.width, self.hashes)[:, None]
        return np.asarray(np.minimum(self.places.astype(np.int64) - first, self.width))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ListedPlaces):
            return NotImplemented
        same = (self.rows, self.width, self.hashes) == (other.rows, other.width, other.hashes)
        return same and np.array_equal(self.places, other.places)

    def __hash__(self) -> int:
        return hash((self.rows, self.width, self.hashes, self.places.shape))


@dataclass(frozen=True, eq=False)
class Keyed(Layout):
    """Buckets by hash of 64-bit keys; an answer has one or a few, one line each.

    Hash i of row r is number j = r * hashes + i. It has the seed salt + j and hashes line
    j mod (the number of lines) of the keys.
    """

    keys: NDArray[np.uint64]
    rows: int
    width: int
    salt: int = 0
    hashes: int = 1

    @property
    def k(self) -> int:
        """The number of answers that have keys."""
        return int(self.keys.shape[1])

    def _hashed(self, keys: NDArray[np.uint64]) -> Places:
        return kernels.load().places(keys, self.salt, self.rows, self.width, self.hashes)

    @cached_property
    def _kept(self) -> Places:
        return self._hashed(self.keys)

    def blocks(self) -> Iterator[tuple[slice, Places]]:
        """Return all buckets at once if they can be kept, otherwise block by block."""
        each = self.rows * self.hashes
        if self.k * each <= MOST_KEPT:
            yield slice(0, self.k), self._kept
            return
        size = max(1, _BLOCK // each)
        for start in range(0, self.k, size):
            part = slice(start, min(start + size, self.k))
            yield part, self._hashed(np.ascontiguousarray(self.keys[:, part]))

    def all_totals(self, *tables: Floats) -> Floats:
        """Return the sums of several tables; buckets that are not kept are hashed on the way."""
        if self.k * self.rows * self.hashes <= MOST_KEPT:
            return super().all_totals(*tables)
        return kernels.load().hashed_totals(
            self.keys, self.salt, self.rows, self.width, self.hashes, np.array(tables, np.float64)
        )

    def look_up(self, answers: Integers, rows: Integers) -> Integers:
        """Hash each answer into one row."""
        number = (rows * self.hashes)[None, :] + np.arange(self.hashes)[:, None]
        seeds = number.astype(np.uint32) + np.uint32(self.salt)
        one = len(self.keys) == 1
        keys = self.keys[0, answers] if one else self.keys[number % len(self.keys), answers]
        return first_ones(buckets(keys, seeds, self.width).astype(np.int64), self.width)

    def places_in(self, row: int) -> NDArray[np.int64]:
        """Hash all answers into one row."""
        number = row * self.hashes
        keys = np.roll(self.keys, -(number % len(self.keys)), axis=0)
        salt = (self.salt + number) % 2**32
        places = kernels.load().places(keys, salt, 1, self.width, self.hashes)
        return places.astype(np.int64)

    def select(self, answers: Integers) -> Keyed:
        """Return the layout of some of the answers."""
        keys = np.ascontiguousarray(self.keys[:, answers])
        return Keyed(keys, self.rows, self.width, self.salt, self.hashes)


@dataclass(frozen=True, eq=False)
class Ranked(Layout):
    """``size`` answers, permuted in each row and taken modulo width: buckets are equally full.

    The permutation of row r sorts the answers by their hash under the seed salt + r, and equal
    hashes by number; an answer's bucket is its rank modulo width. Single people are looked up in
    their own rows; all permutations are made, and kept, when many people need them.
    """

    size: int
    rows: int
    width: int
    salt: int = 0

    hashes = 1

    @property
    def k(self) -> int:
        """The number of answers that are permuted."""
        return self.size

    def places_in(self, row: int) -> NDArray[np.int64]:
        """Sort the answers of one row."""
        places = np.empty((1, self.k), np.int64)
        places[0, np.argsort(self._hashed(row), kind="stable")] = np.arange(self.k) % self.width
        return places

    def look_up(self, answers: Integers, rows: Integers) -> Integers:
        """Return the buckets of answers, each in one row."""
        if "_kept" in vars(self) or len(answers) > min(self.rows, _LOOKED_UP_SINGLY):
            return self._kept.look_up(answers, rows)
        pairs = zip(answers.tolist(), rows.tolist(), strict=True)
        found = [self._rank(answer, row) % self.width for answer, row in pairs]
        return np.array([found], np.int64)

    def _rank(self, answer: int, row: int) -> int:
        """Return how many answers come before this one, which needs no sorting."""
        hashes = self._hashed(row)
        own = hashes[answer]
        return int((hashes < own).sum()) + int((hashes[:answer] == own).sum())

    def _hashed(self, row: int) -> NDArray[np.uint32]:
        seed = np.array([(self.salt + row) % 2**32], np.uint32)
        return hash_keys(np.arange(self.k, dtype=np.uint64), seed)

    @cached_property
    def _kept(self) -> ListedPlaces:
        places = np.empty((self.rows, self.k), np.uint32)
        for row in range(self.rows):
            places[row] = row * self.width + self.places_in(row)[0]
        return ListedPlaces(places, self.rows, self.width)

    def blocks(self) -> Iterator[tuple[slice, Places]]:
        """Return all buckets at once."""
        return self._kept.blocks()

    def select(self, answers: Integers) -> ListedPlaces:
        """Return the layout of some of the answers."""
        return self._kept.select(answers)


@dataclass(frozen=True, eq=False)
class Stacked(Layout):
    """Layouts of the same answers, the rows of one below those of another, with one hash each.

    An answer may be hashed as something else in each of them, such as one of its prefixes.
    """

    parts: tuple[Layout, ...]

    hashes = 1

    @property
    def rows(self) -> int:  # type: ignore[override]
        """The rows of all parts."""
        return sum(part.rows for part in self.parts)

    @property
    def width(self) -> int:  # type: ignore[override]
        """The number of buckets, the same in all parts."""
        return self.parts[0].width

    @property
    def k(self) -> int:
        """The number of answers."""
        return self.parts[0].k

    @cached_property
    def starts(self) -> Integers:
        """The first row of each part, and after the last one the number of rows."""
        return np.cumsum([0, *(part.rows for part in self.parts)])

    def blocks(self) -> Iterator[tuple[slice, Places]]:
        """Return the buckets of as many answers at once as can be kept."""
        size = self.k if self.k * self.rows <= MOST_KEPT else _BLOCK // self.rows
        for start in range(0, max(self.k, 1), max(size, 1)):
            block = slice(start, min(start + size, self.k))
            chosen = np.arange(block.start, block.stop)
            stacked = [
                places + np.uint32(first * self.width)
                for first, part in zip(self.starts, self.parts, strict=False)
                for _, places in part.select(chosen).blocks()
            ]
            yield block, np.concatenate(stacked)

    def places_in(self, row: int) -> NDArray[np.int64]:
        """Return the buckets of every answer in one row."""
        part = int(np.searchsorted(self.starts, row, side="right")) - 1
        return self.parts[part].places_in(row - int(self.starts[part]))

    def look_up(self, answers: Integers, rows: Integers) -> Integers:
        """Return the buckets of answers, each in one row."""
        out = np.empty((1, len(answers)), np.int64)
        for number, part in enumerate(self.parts):
            own = (rows >= self.starts[number]) & (rows < self.starts[number + 1])
            if own.any():
                out[:, own] = part.look_up(answers[own], rows[own] - self.starts[number])
        return out

    def masses(self, shares: Floats) -> Floats:
        """Return the total share in each bucket of each row."""
        return np.concatenate([part.masses(shares) for part in self.parts])

    def all_totals(self, *tables: Floats) -> Floats:
        """Return the sums of several tables over the buckets of each answer."""
        cut = zip(*(np.split(table, self.starts[1:-1]) for table in tables), strict=True)
        each = [part.all_totals(*own) for part, own in zip(self.parts, cut, strict=True)]
        return np.asarray(np.sum(each, axis=0))

    def select(self, answers: Integers) -> Stacked:
        """Return the layout of some of the answers."""
        return Stacked(tuple(part.select(answers) for part in self.parts))


def first_ones(places: Integers, width: int) -> Integers:
    """Replace a bucket by ``width``, which means none, where an earlier line already has it."""
    for line in range(1, len(places)):
        again = (places[line] == places[:line]).any(axis=0)
        places[line][again] = width
    return places


def listed(bits: Places | Integers, cohorts: int, width: int, hashes: int) -> ListedPlaces:
    """Return the layout of bits, one line for each hash of each cohort; each bit counts once."""
    places = np.empty(bits.shape, np.uint32)
    for cohort in range(cohorts):
        own = slice(cohort * hashes, (cohort + 1) * hashes)
        found = first_ones(bits[own].astype(np.int64), width)
        places[own] = np.where(found < width, found + cohort * width, cohorts * width)
    return ListedPlaces(places, cohorts, width, hashes)
