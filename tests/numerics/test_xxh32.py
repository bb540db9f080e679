"""The hash is XXH32 of eight bytes, in plain Python and in NumPy, and its buckets are intervals."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import xxhash
from hypothesis import example, given
from hypothesis import strategies as st

from murmurs.numerics.xxh32 import (
    LARGEST_RANGE,
    bucket,
    bucket_bounds,
    buckets,
    hash_key,
    hash_keys,
)

keys = st.integers(0, 2**64 - 1)
seeds = st.integers(0, 2**32 - 1)
ranges = st.integers(2, LARGEST_RANGE)


def xxh32(key: int, seed: int) -> int:
    value: int = xxhash.xxh32_intdigest(key.to_bytes(8, "little"), seed)
    return value


@given(keys, seeds)
@example(0x0102030405060708, 0)
@example(2**64 - 1, 2**32 - 1)
@example(0, 0)
def test_one_hash_is_that_of_xxhash(key: int, seed: int) -> None:
    assert hash_key(key, seed) == xxh32(key, seed)


@given(st.lists(st.tuples(keys, seeds), min_size=1, max_size=30))
def test_many_hashes_are_those_of_xxhash(pairs: list[tuple[int, int]]) -> None:
    some_keys = np.array([key for key, _ in pairs], np.uint64)
    some_seeds = np.array([seed for _, seed in pairs], np.uint32)
    found = hash_keys(some_keys, some_seeds)
    assert found.dtype == np.uint32
    assert found.tolist() == [xxh32(key, seed) for key, seed in pairs]


def test_keys_and_seeds_are_broadcast() -> None:
    some_keys = np.array([1, 2**40], np.uint64)
    some_seeds = np.array([0, 9, 2**32 - 1], np.uint32)
    wanted = [[xxh32(int(k), int(s)) for k in some_keys] for s in some_seeds]
    assert hash_keys(some_keys[None, :], some_seeds[:, None]).tolist() == wanted


@given(keys, seeds, ranges)
@example(7, 7, 2)
@example(7, 7, LARGEST_RANGE)
def test_a_bucket_is_the_hash_times_the_range_without_its_lower_half(
    key: int, seed: int, g: int
) -> None:
    wanted = xxh32(key, seed) * g // 2**32
    assert bucket(key, seed, g) == wanted < g
    one_key, one_seed = np.array([key], np.uint64), np.array([seed], np.uint32)
    assert buckets(one_key, one_seed, g).tolist() == [wanted]


def test_a_hash_times_the_largest_range_is_exact_in_javascript() -> None:
    assert (2**32 - 1) * LARGEST_RANGE < 2**53 <= (2**32 - 1) * (LARGEST_RANGE + 2)


@pytest.mark.parametrize("g", [2, 3, 7, 256, 1000, 65537, LARGEST_RANGE])
def test_bounds_part_the_hashes_by_bucket(g: int) -> None:
    bounds = [int(x) for x in bucket_bounds(g)]
    assert (bounds[0], bounds[-1], len(bounds)) == (0, 2**32, g + 1)
    for y in {0, 1, g // 2, g - 2, g - 1}:
        first, last = bounds[y], bounds[y + 1] - 1
        assert first * g >> 32 == last * g >> 32 == y
    sizes = {b - a for a, b in itertools.pairwise(bounds)}
    assert sizes <= {2**32 // g, -(-(2**32) // g)}  # no bucket is larger than another by two
