"""A layout puts answers on places: checked against sets of places made with the xxhash package."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st

from murmurs.hashing import layout
from murmurs.hashing.layout import Keyed, Layout, ListedPlaces, Ranked, first_ones
from murmurs.numerics.arrays import Integers

patient = settings(deadline=None, max_examples=60)
seeds = st.integers(0, 2**32 - 1)
Sets = list[list[set[int]]]
"""The places of each answer in each row."""


@dataclass(frozen=True)
class Case:
    """Parameters of a hashed layout."""

    keys: tuple[int, ...]  # line after line
    rows: int
    width: int
    salt: int
    hashes: int
    lines: int = 1

    @property
    def hashed(self) -> Keyed:
        keys = np.array([self.keys], np.uint64).reshape(self.lines, -1)
        return Keyed(keys, self.rows, self.width, self.salt, self.hashes)

    def hash(self, keys: tuple[int, ...], row: int, i: int) -> int:
        number = row * self.hashes + i
        key, seed = keys[number % self.lines], (self.salt + number) % 2**32
        return int(xxhash.xxh32_intdigest(key.to_bytes(8, "little"), seed) * self.width >> 32)

    @property
    def sets(self) -> Sets:
        numbers = range(self.hashes)
        return [
            [{self.hash(keys, row, i) for i in numbers} for row in range(self.rows)]
            for keys in self.each
        ]

    @property
    def each(self) -> list[tuple[int, ...]]:
        """The keys of each answer."""
        k = len(self.keys) // self.lines
        return [self.keys[j::k] for j in range(k)] if k else []


cases = st.builds(
    Case,
    st.lists(st.integers(0, 2**64 - 1), max_size=12).map(lambda some: (*some, *some[::-1]) * 2),
    st.integers(1, 5),
    st.integers(2, 9),
    st.one_of(seeds, st.integers(2**32 - 5, 2**32 - 1)),
    st.integers(1, 4),
    st.sampled_from([1, 2, 4]),
)


def listed_as(found: Layout, sets: Sets) -> None:
    """Hold a layout to the sets, in all its parts."""
    k, rows, width = len(sets), found.rows, found.width
    assert found.k == k
    numbers = np.arange(k)
    for row in range(rows):
        there = found.places_in(row)
        assert there.shape == (found.hashes, k)
        assert as_sets(there, width) == [own[row] for own in sets]
        assert np.array_equal(found.look_up(numbers, np.full(k, row)), there)
    mixed = found.look_up(numbers, numbers % rows)
    assert as_sets(mixed, width) == [own[x % rows] for x, own in enumerate(sets)]

    blocks = list(found.blocks())
    assert [x for part, _ in blocks for x in range(part.start, part.stop)] == list(range(k))
    for part, places in blocks:
        cells = [{row * width + p for row in range(rows) for p in own[row]} for own in sets[part]]
        assert places.dtype == np.uint32
        assert as_sets(places, rows * width) == cells

    # Whole numbers, so that sums are exact in any order.
    rng = np.random.default_rng(k)
    shares = rng.integers(-50, 50, k).astype(float)
    table = rng.integers(-50, 50, (rows, width)).astype(float)
    masses = np.zeros((rows, width))
    for own, share in zip(sets, shares, strict=True):
        for row, places_there in enumerate(own):
            for place in places_there:
                masses[row, place] += share
    assert np.array_equal(found.masses(shares), masses)
    totals = [sum(table[row, p] for row in range(rows) for p in own[row]) for own in sets]
    assert found.totals(table).tolist() == totals
    assert (masses * table).sum() == shares @ np.array(totals)  # one is the other's adjoint


def as_sets(places: Integers | layout.Places, nowhere: int) -> list[set[int]]:
    """The places of each answer; none may come twice, and what is nowhere is left out."""
    out = []
    for own in places.T.tolist():
        kept = [place for place in own if place != nowhere]
        assert len(set(kept)) == len(kept) > 0
        assert all(0 <= place < nowhere for place in kept)
        out.append(set(kept))
    return out


# Keyed


@patient
@given(cases)
def test_hashed_answers_are_on_the_places_of_brute_force(case: Case) -> None:
    listed_as(case.hashed, case.sets)


@patient
@given(cases, st.integers(0, 30), st.integers(1, 60))
def test_places_that_are_not_kept_are_the_same(case: Case, most: int, block: int) -> None:
    kept = list(case.hashed.blocks())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layout, "MOST_KEPT", most)
        patch.setattr(layout, "_BLOCK", block)
        parts = list(case.hashed.blocks())
        listed_as(case.hashed, case.sets)
    each = case.rows * case.hashes
    if len(case.each) * each > most:
        size = max(1, block // each)
        assert [part.stop - part.start for part, _ in parts[:-1]] == [size] * (len(parts) - 1)
    else:
        assert len(parts) == 1
    joined = np.concatenate([places for _, places in parts], axis=1)
    assert np.array_equal(joined, kept[0][1])


def test_kept_places_are_hashed_once_and_others_again(monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(tuple(range(100)), 3, 5, 1, 2).hashed
    first, second = (next(case.blocks())[1] for _ in range(2))
    assert first is second
    monkeypatch.setattr(layout, "MOST_KEPT", 599)
    other = Case(tuple(range(100)), 3, 5, 1, 2).hashed
    first, second = (next(other.blocks())[1] for _ in range(2))
    assert first is not second
    assert "_kept" not in vars(other)


def test_seeds_go_on_from_the_last_to_the_first() -> None:
    case = Case((1, 2**64 - 1, 77), 4, 9, 2**32 - 3, 2)
    listed_as(case.hashed, case.sets)
    again = Case(case.keys, 1, 9, 2**32 - 3 + 2 * 2 - 2**32, 2)  # row 2 begins there
    assert np.array_equal(case.hashed.places_in(2), again.hashed.places_in(0))


def test_the_largest_table_is_hashed_without_overflow() -> None:
    """The cells of the last row are just below 2**32."""
    case = Case((5, 2**63), 2**16, 2**16, 2**32 - 1, 1)
    own = [[case.hash(keys, row, 0) for keys in case.each] for row in (0, 1, 2**16 - 1)]
    assert [case.hashed.places_in(row)[0].tolist() for row in (0, 1, 2**16 - 1)] == own
    (_, places), *_ = case.hashed.blocks()
    assert places[-1].tolist() == [(2**16 - 1) * 2**16 + place for place in own[-1]]


# ListedPlaces


@patient
@given(cases)
def test_listed_places_are_those_they_were_listed_from(case: Case) -> None:
    (_, places), *_ = case.hashed.blocks()
    listed_as(ListedPlaces(places, case.rows, case.width, case.hashes), case.sets)


@patient
@given(cases.filter(lambda case: len(case.keys) > 0), st.data())
def test_selected_answers_keep_their_places(case: Case, data: st.DataObject) -> None:
    numbers = st.lists(st.integers(0, len(case.each) - 1), max_size=15)
    some = np.array(data.draw(numbers), np.int64)
    sets = [case.sets[x] for x in some]
    (_, places), *_ = case.hashed.blocks()
    listed_as(case.hashed.select(some), sets)
    listed_as(ListedPlaces(places, case.rows, case.width, case.hashes).select(some), sets)


# Ranked


@patient
@given(st.integers(2, 40), st.integers(1, 4), st.data())
def test_permuted_answers_are_on_the_places_of_brute_force(
    k: int, rows: int, data: st.DataObject
) -> None:
    width = data.draw(st.integers(2, k))
    salt = data.draw(st.one_of(seeds, st.integers(2**32 - 3, 2**32 - 1)))

    def order(x: int, row: int) -> tuple[int, int]:
        return xxhash.xxh32_intdigest(x.to_bytes(8, "little"), (salt + row) % 2**32), x

    ranks = [sorted(range(k), key=lambda x, row=row: order(x, row)) for row in range(rows)]  # type: ignore[misc]
    sets = [[{ranks[row].index(x) % width} for row in range(rows)] for x in range(k)]
    found = Ranked(k, rows, width, salt)
    listed_as(found, sets)
    for row in range(rows):
        sizes = np.bincount(found.places_in(row)[0], minlength=width)
        assert sizes.max() - sizes.min() <= 1


def test_as_many_places_as_answers_make_a_permutation() -> None:
    found = Ranked(50, 6, 50, 3)
    rows = [found.places_in(row)[0].tolist() for row in range(6)]
    assert all(sorted(row) == list(range(50)) for row in rows)
    assert len({tuple(row) for row in rows}) == 6


def test_equal_hashes_are_sorted_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    def parity(keys: np.ndarray[tuple[int], np.dtype[np.uint64]], _: object) -> layout.Places:
        return np.array(keys % 2 == 0, np.uint32)

    monkeypatch.setattr(layout, "hash_keys", parity)
    assert Ranked(6, 1, 6, 0).places_in(0).tolist() == [[3, 0, 4, 1, 5, 2]]


# first_ones


@patient
@given(seeds, st.integers(1, 5), st.integers(0, 20), st.integers(2, 6))
def test_what_comes_again_goes_nowhere(seed: int, hashes: int, n: int, width: int) -> None:
    drawn = np.random.default_rng(seed).integers(0, width, (hashes, n))
    wanted = drawn.tolist()
    for line, x in itertools.product(range(hashes), range(n)):
        if drawn[line, x] in drawn[:line, x].tolist():
            wanted[line][x] = width
    assert first_ones(drawn.copy(), width).tolist() == wanted
