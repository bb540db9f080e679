"""Chance for many people at once is as exact as for one, in both forms of the kernels.

Exact where possible: every pattern of random digits is fed once. The statistical test has a
false-alarm rate of `FALSE_ALARM` and a fixed seed, and shows a wrong law that it rejects.
"""

from __future__ import annotations

import importlib
import itertools
import math
import os
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st

from murmurs import KRR, Given, Secure, kernels
from murmurs.kernels import FIRST, Kernels, reference
from murmurs.privacy import SCALE
from murmurs.randomness.bulk import Bulk, _cipher_stream, binary_digits, bulk
from tests.goodness import FALSE_ALARM, p_value

compiled = cast(Kernels, import_module("murmurs.kernels.compiled"))
plain = cast(Kernels, reference)
both = pytest.mark.parametrize("kernel", [plain, compiled], ids=["reference", "compiled"])
patient = settings(deadline=None, max_examples=60)
seeds = st.integers(0, 2**32 - 1)

BOUNDS = [1, 2, 3, 5, 64, 1000, 2**16, 2**31 - 1, 2**31, 2**31 + 1, 3 * 2**30, 2**32 - 1]
"""Powers of two reject no word; those just above 2**31 nearly half of all."""


def words32(rng: np.random.Generator, n: int) -> kernels.U32:
    return rng.integers(0, 2**32, n, dtype=np.uint32)


def words64(rng: np.random.Generator, n: int) -> kernels.U64:
    return rng.integers(0, 2**64, n, dtype=np.uint64)


# bits


def lanes(digits: Any) -> kernels.U64:
    """Pack 0 and 1 into words, the first of 64 in the lowest bit."""
    return np.packbits(np.asarray(digits, np.uint8), bitorder="little").view("<u8")


def ones(out: kernels.U64) -> int:
    return int(np.bitwise_count(out).sum())


@both
@pytest.mark.parametrize("places", range(1, FIRST + 1))
def test_all_patterns_of_few_digits_give_exactly_numerator_ones(
    kernel: Kernels, places: int
) -> None:
    for numerator in range(1, 2**places):
        threshold = binary_digits(numerator, 2**places)
        used = len(threshold)
        patterns = np.tile(np.arange(2**used), max(1, 64 >> used))
        words = np.array([lanes(patterns >> (used - 1 - d) & 1) for d in range(used)]).T.copy()
        out = np.empty(len(words), np.uint64)
        spare = np.zeros(0, np.uint64)
        assert kernel.bits(words.ravel(), threshold, spare, out) == 0
        assert ones(out) * 2**places == numerator * 64 * len(out)


@both
def test_digits_after_the_first_come_from_spare_words_exactly(kernel: Kernels) -> None:
    """Ten digits: all 1024 patterns; only one group of 64 is undecided after eight of them."""
    for numerator in range(1, 1024, 2):
        threshold = binary_digits(numerator, 1024)
        patterns = np.arange(1024)
        digits = np.array([lanes(patterns >> (9 - d) & 1) for d in range(10)])
        undecided = numerator >> 6
        out = np.empty(16, np.uint64)
        used = kernel.bits(
            digits[:FIRST].T.ravel().copy(), threshold, digits[FIRST:, undecided].copy(), out
        )
        assert used == 2
        assert np.array_equal(out, lanes(patterns < numerator))


def random_threshold(rng: np.random.Generator, places: int) -> kernels.U8:
    digits = rng.integers(0, 2, places, dtype=np.uint8)
    digits[-1:] = 1
    return digits


@patient
@given(seeds, st.integers(0, 300), st.integers(1, 60), st.integers(0, 400))
def test_bits_compiled_equal_bits_of_reference(
    seed: int, groups: int, places: int, spare: int
) -> None:
    rng = np.random.default_rng(seed)
    threshold = random_threshold(rng, places)
    words, more = words64(rng, groups * min(FIRST, places)), words64(rng, spare)
    outs = np.empty((2, groups), np.uint64)
    used = [
        form.bits(words, threshold, more, out)
        for form, out in zip((plain, compiled), outs, strict=True)
    ]
    assert used[0] == used[1]
    assert used[0] > spare or np.array_equal(*outs)


# lanes


@both
@pytest.mark.parametrize("places", range(1, 9))
def test_of_all_patterns_of_throws_exactly_numerator_are_ones_or_open(
    kernel: Kernels, places: int
) -> None:
    """The pattern of all ones is open: it stands for what lies between two numerators."""
    patterns = np.tile(np.arange(2**places), max(1, 64 >> places))
    planes = np.array([lanes(patterns >> (places - 1 - d) & 1) for d in range(places)])
    for numerator in range(2**places):
        digits = np.array([numerator >> (places - 1 - d) & 1 for d in range(places)], np.uint8)
        out, listed = np.empty(planes.shape[1], np.uint64), np.empty(64, np.int64)
        count = kernel.lanes(planes, digits, out, listed)
        assert listed[:count].tolist() == np.flatnonzero(patterns == 2**places - 1).tolist()
        assert ones(out) * 2**places == numerator * len(patterns)


@patient
@given(seeds, st.integers(1, 100), st.integers(1, 16), st.integers(0, 40))
def test_lanes_compiled_equal_lanes_of_reference(
    seed: int, words: int, places: int, room: int
) -> None:
    rng = np.random.default_rng(seed)
    digits = rng.integers(0, 2, places, dtype=np.uint8)
    planes = words64(rng, words * places).reshape(places, words)
    outs, listed = np.empty((2, words), np.uint64), np.zeros((2, room), np.int64)
    counts = [
        form.lanes(planes, digits, out, own)
        for form, out, own in zip((plain, compiled), outs, listed, strict=True)
    ]
    assert counts[0] == counts[1]
    assert np.array_equal(*outs)
    assert np.array_equal(*listed)


@pytest.mark.parametrize(
    ("numerator", "scale", "digits"),
    [
        (1, 2, [1]),
        (1, 8, [0, 0, 1]),
        (3, 8, [0, 1, 1]),
        (4, 8, [1]),
        (6, 8, [1, 1]),
        (0, 8, []),
        (8, 8, []),
        (2**106 + 1, 2**107, [1, *[0] * 105, 1]),
        (SCALE - 1, SCALE, [1] * 53),
    ],
)
def test_binary_digits(numerator: int, scale: int, digits: list[int]) -> None:
    found = binary_digits(numerator, scale)
    assert found.dtype == np.uint8
    assert found.tolist() == digits


@given(st.integers(1, SCALE - 1))
def test_binary_digits_add_up_to_the_fraction(numerator: int) -> None:
    digits = binary_digits(numerator, SCALE).tolist()
    assert sum(digit << 52 - place for place, digit in enumerate(digits)) == numerator
    assert digits[-1] == 1


# below


@both
@pytest.mark.parametrize("bound", BOUNDS)
def test_below_accepts_equally_many_words_for_each_number(kernel: Kernels, bound: int) -> None:
    """Word x gives x * bound >> 32; the kernel is asked at both ends of each number's words.

    The words of number v are those from ceil(v 2**32 / bound) up to before that of v + 1. Their
    lower halves rise by bound from word to word and the limit, 2**32 % bound, is below bound: only
    the first word can be rejected. What is left must be 2**32 // bound words for every number.
    """
    numbers = {0, 1, 2, bound // 3, bound // 2, bound - 2, bound - 1}
    numbers |= set(range(min(bound, 1000)))
    limit = 2**32 % bound
    words, wanted = [], []
    for v in sorted(x for x in numbers if 0 <= x < bound):
        first, end = -(-v * 2**32 // bound), -(-(v + 1) * 2**32 // bound)
        rejected = first * bound - v * 2**32 < limit
        assert end - first - rejected == 2**32 // bound
        for word in {first, min(first + 1, end - 1), end - 1}:
            words.append(word)
            wanted.append(-1 if rejected and word == first else v)
    out = np.empty(1, np.uint32)
    nothing = np.zeros(0, np.uint32)
    for word, number in zip(words, wanted, strict=True):
        used = kernel.below(np.array([word], np.uint32), bound, nothing, out)
        assert (int(out[0]) if used == 0 else -1) == number


@patient
@given(
    seeds,
    st.integers(0, 300),
    st.sampled_from(BOUNDS) | st.integers(1, 2**32 - 1),
    st.integers(0, 500),
)
def test_below_compiled_equals_below_of_reference(
    seed: int, n: int, bound: int, spare: int
) -> None:
    rng = np.random.default_rng(seed)
    words, more = words32(rng, n), words32(rng, spare)
    outs = np.empty((2, n), np.uint32)
    used = [
        form.below(words, bound, more, out)
        for form, out in zip((plain, compiled), outs, strict=True)
    ]
    assert (used[0] > spare) == (used[1] > spare)
    if used[0] <= spare:
        assert used[0] == used[1]
        assert np.array_equal(*outs)
        assert n == 0 or int(outs.max()) < bound


# subsets


def word_for(value: int, bound: int) -> int:
    """A word in the middle of those that give this number."""
    return (value * 2**32 + 2**31) // bound


def members(row: Any, k: int) -> tuple[int, ...]:
    return tuple(
        int(x) for x in np.flatnonzero(np.unpackbits(row, bitorder="little")) if 0 <= x < k
    )


@both
@pytest.mark.parametrize(
    ("k", "w"), [(1, 1), (2, 1), (3, 2), (4, 4), (5, 2), (5, 3), (6, 5), (9, 2), (9, 3)]
)
def test_all_draws_give_every_set_equally_often(kernel: Kernels, k: int, w: int) -> None:
    """Each draw takes each of its values once, in all combinations: an exact law."""
    nothing = np.zeros(0, np.uint32)
    for own in (-1, *range(k)):
        forced = own >= 0
        bounds = [k - w + d + 1 - forced for d in range(forced, w)]
        draws = list(itertools.product(*(range(bound) for bound in bounds)))
        words = np.array(
            [
                [0] * forced + [word_for(v, b) for v, b in zip(row, bounds, strict=True)]
                for row in draws
            ],
            np.uint32,
        ).reshape(len(draws), w)
        out = np.empty((len(draws), -(-k // 8)), np.uint8)
        assert kernel.subsets(np.full(len(draws), own), k, w, words.ravel(), nothing, out) == 0
        assert not np.unpackbits(out, axis=1, bitorder="little")[:, k:].any()
        sets = [s for s in itertools.combinations(range(k), w) if not forced or own in s]
        assert Counter(members(row, k) for row in out) == dict.fromkeys(
            sets, len(draws) // len(sets)
        )


@patient
@given(seeds, st.integers(0, 60), st.integers(2, 70), st.data())
def test_subsets_compiled_equal_subsets_of_reference(
    seed: int, n: int, k: int, data: st.DataObject
) -> None:
    w = data.draw(st.integers(1, k))
    spare = data.draw(st.sampled_from([0, 3, 400]))
    rng = np.random.default_rng(seed)
    own = rng.integers(-1, k, n)
    words = words32(rng, n * w)
    words[rng.random(n * w) < 0.1] = 0  # a zero is rejected by every bound but powers of two
    more = words32(rng, spare)
    outs = np.empty((2, n, -(-k // 8)), np.uint8)
    used = [
        form.subsets(own, k, w, words, more, out)
        for form, out in zip((plain, compiled), outs, strict=True)
    ]
    assert (used[0] > spare) == (used[1] > spare)
    if used[0] <= spare:
        assert used[0] == used[1]
        assert np.array_equal(*outs)
        for row, x in zip(outs[0], own.tolist(), strict=True):
            assert len(members(row, k)) == w
            assert x < 0 or x in members(row, k)


def test_subsets_in_bulk_are_uniform() -> None:
    rows = bulk(np.random.default_rng(17)).subsets(np.full(40_000, -1), 6, 3)
    draws = [members(row, 6) for row in rows]
    sets = list(itertools.combinations(range(6), 3))
    law: dict[Any, float] = dict.fromkeys(sets, 1 / len(sets))
    assert p_value(draws, law) > FALSE_ALARM
    # Floyd's rule turned round (the draw itself when taken) would leave some sets out.
    wrong: dict[Any, float] = {s: (1.2 if 5 in s else 0.8) / len(sets) for s in sets}
    assert p_value(draws, wrong) < FALSE_ALARM


# Counting kernels


@patient
@given(seeds, st.integers(0, 1000), st.integers(1, 300), st.sampled_from(["u1", "u2", "u4"]))
def test_histograms_are_those_of_brute_force(seed: int, n: int, size: int, kind: str) -> None:
    size = min(size, 256) if kind == "u1" else size
    values = np.random.default_rng(seed).integers(0, size, n).astype(kind)
    seen = Counter(values.tolist())
    for form in (plain, compiled):
        assert form.histogram(values, size).tolist() == [seen[x] for x in range(size)]


def test_a_histogram_longer_than_a_block_of_the_reference_is_whole() -> None:
    values = np.arange(2**20 + 3, dtype=np.uint32) % 5
    wanted = np.bincount(values.astype(np.int64), minlength=7)
    for form in (plain, compiled):
        assert np.array_equal(form.histogram(values, 7), wanted)


@patient
@given(seeds, st.integers(0, 600), st.integers(1, 140))
def test_bit_totals_are_those_of_brute_force(seed: int, n: int, k: int) -> None:
    packed = np.random.default_rng(seed).integers(0, 256, (n, -(-k // 8)), dtype=np.uint8)
    wanted = np.unpackbits(packed, axis=1, bitorder="little").sum(axis=0, dtype=np.int64)[:k]
    for form in (plain, compiled):
        assert np.array_equal(form.bit_totals(packed, k), wanted)


@pytest.mark.parametrize("k", [64, 12])
def test_bit_totals_of_full_rows_do_not_overflow_a_byte(k: int) -> None:
    packed = np.full((1021, -(-k // 8)), 255, np.uint8)
    for form in (plain, compiled):
        assert form.bit_totals(packed, k).tolist() == [1021] * k


@patient
@given(seeds, st.integers(0, 30), st.integers(1, 40))
def test_support_totals_are_those_of_xxhash(seed: int, n: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    own, low, width = (words32(rng, n) for _ in range(3))
    wanted = [
        sum(
            (xxhash.xxh32_intdigest(key.to_bytes(8, "little"), int(s)) - int(a)) % 2**32 < int(b)
            for s, a, b in zip(own, low, width, strict=True)
        )
        for key in range(k)
    ]
    for form in (plain, compiled):
        assert form.support_totals(own, low, width, k).tolist() == wanted


def test_support_totals_of_more_keys_than_a_tile_agree() -> None:
    rng = np.random.default_rng(3)
    own, low, width = (words32(rng, 600) for _ in range(3))
    one, other = (form.support_totals(own, low, width, 5000) for form in (plain, compiled))
    assert np.array_equal(one, other)


@patient
@given(
    seeds,
    st.integers(1, 6),
    st.integers(2, 40),
    st.integers(1, 3),
    st.integers(0, 60),
    st.integers(0, 2**32 - 1),
)
def test_places_and_sums_over_them_are_those_of_xxhash(
    seed: int, rows: int, width: int, hashes: int, k: int, salt: int
) -> None:
    """Whole numbers, so that sums are exact in any order."""
    rng = np.random.default_rng(seed)
    keys = rng.integers(0, 2**64, (3, k), np.uint64)
    table = rng.integers(-1000, 1000, rows * width + 1).astype(float)
    table[-1] = 0
    values = rng.integers(-1000, 1000, k).astype(float)
    own: list[set[int]] = [set() for _ in range(k)]
    for j, number in itertools.product(range(k), range(rows * hashes)):
        key = int(keys[number % 3, j]).to_bytes(8, "little")
        digest = xxhash.xxh32_intdigest(key, (salt + number) % 2**32)
        own[j].add(number // hashes * width + (digest * width >> 32))
    for form in (plain, compiled):
        places = form.places(keys, salt, rows, width, hashes)
        found = [set(places[:, j].tolist()) - {rows * width} for j in range(k)]
        assert found == own
        assert (places < rows * width).sum() == sum(len(places) for places in own)
        assert form.gather(places, table).tolist() == [table[list(s)].sum() for s in own]
        tables = np.stack([table[:-1], 2 * table[:-1]]).reshape(2, rows, width)
        sums = form.hashed_totals(keys, salt, rows, width, hashes, tables)
        assert sums.tolist() == [[f * table[list(s)].sum() for s in own] for f in (1, 2)]
        wanted = [sum(values[j] for j in range(k) if at in own[j]) for at in range(rows * width)]
        assert form.scatter(places, values, rows * width + 1)[:-1].tolist() == wanted
        pairs = [[table[list(a & b)].sum() for b in own] for a in own]
        assert form.gram(places, table, hashes).tolist() == pairs


@patient
@given(seeds, st.integers(0, 200), st.integers(1, 5), st.floats(0.01, 1000.0))
def test_support_likelihoods_are_those_of_brute_force(
    seed: int, n: int, size: int, excess: float
) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 256, (n, size), dtype=np.uint8)
    shares = rng.dirichlet(np.ones(8 * size))
    flags = np.unpackbits(rows, axis=1, bitorder="little")
    likelihood = 1 + excess * (flags @ shares)
    for form in (plain, compiled):
        total, by_bit, height = form.support_likelihood(rows, shares, excess)
        assert total == pytest.approx((1 / likelihood).sum(), rel=1e-12)
        np.testing.assert_allclose(by_bit, (1 / likelihood) @ flags, rtol=1e-12, atol=1e-15)
        assert height == pytest.approx(np.log(likelihood).sum(), rel=1e-12)


@patient
@given(seeds, st.integers(1, 200), st.integers(1, 3), st.integers(1, 3), st.floats(0.01, 100.0))
def test_likelihoods_of_pairs_are_those_of_brute_force(
    seed: int, n: int, one: int, two: int, excess: float
) -> None:
    rng = np.random.default_rng(seed)
    rows = [rng.integers(0, 256, (n, size), dtype=np.uint8) for size in (one, two)]
    shares = rng.dirichlet(np.ones(64 * one * two)).reshape(8 * one, 8 * two)
    both = (excess, 2 * excess)
    left, right = (
        1 + e * np.unpackbits(own, axis=1, bitorder="little")
        for own, e in zip(rows, both, strict=True)
    )
    likelihood = ((left @ shares) * right).sum(axis=1)
    wanted = left.T @ (right / likelihood[:, None])
    tables: list[tuple[Any, float]] = [(shares, 1e-12), (shares.astype(np.float32), 1e-5)]
    for form in (plain, compiled):
        for table, close in tables:
            slopes, height = form.pair_likelihood(rows[0], rows[1], table, both)
            assert slopes.dtype == np.float64
            np.testing.assert_allclose(slopes, wanted, rtol=close)
            assert height == pytest.approx(np.log(likelihood).sum(), rel=close, abs=n * close)


def test_every_kernel_is_compared_here_or_beside_the_kernels() -> None:
    offered = {name for name in vars(Kernels) if not name.startswith("_")}
    here = Path(__file__)
    files = [here, here.parents[1] / "kernels" / "test_kernels.py"]
    compared = "".join(file.read_text(encoding="utf-8") for file in files)
    assert offered == {name for name in offered if f"form.{name}(" in compared}
    assert {"bits", "below", "subsets"} < offered


# Bulk


class Fed(Bulk):
    """Bulk that is fed zeros for the first calls, then a generator's bytes."""

    def __init__(self, zeros: int, form: Kernels, seed: int = 5) -> None:
        generator = np.random.default_rng(seed)
        self.calls = 0

        def take(size: int) -> bytearray:
            self.calls += 1
            return bytearray(size if self.calls <= zeros else generator.bytes(size))

        super().__init__(take)
        self.kernels = form


@both
def test_below_goes_on_when_spare_words_run_out(kernel: Kernels) -> None:
    """Zeros are rejected, so words and first spare words are all lost; the next ones are used."""
    random = Fed(2, kernel)
    found = random.below(2**31 + 1, 50)
    assert random.calls >= 3
    stream = np.frombuffer(np.random.default_rng(5).bytes(4 * 1000), "<u4").tolist()
    products = (word * (2**31 + 1) for word in stream)
    accepted = [x >> 32 for x in products if x % 2**32 >= 2**32 % (2**31 + 1)]
    assert found.tolist() == accepted[:50]


@both
def test_packed_goes_on_when_spare_words_run_out(kernel: Kernels) -> None:
    """Zeros follow the digits of 2**-53 to the last one, which decides for one."""
    random = Fed(10**9, kernel)
    assert random.packed(1, 4001).tolist() == [255] * 4001
    assert random.calls >= 3


@both
def test_subsets_go_on_when_spare_words_run_out(kernel: Kernels) -> None:
    random = Fed(2, kernel)
    rows = random.subsets(np.arange(100) % 9 - 1, 9, 4)
    assert random.calls >= 3
    assert all(len(members(row, 9)) == 4 for row in rows)
    other = Fed(2, compiled if kernel is plain else plain)
    assert np.array_equal(rows, other.subsets(np.arange(100) % 9 - 1, 9, 4))


def test_never_and_always_need_no_chance() -> None:
    random = Fed(0, plain)
    assert random.packed(0, 5).tolist() == [0] * 5
    assert random.packed(SCALE, 5).tolist() == [255] * 5
    assert random.chance(0, 9).tolist() == [False] * 9
    assert random.chance(SCALE, 9).tolist() == [True] * 9
    assert random.calls == 0


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 64, 65, 1000])
def test_sizes_are_as_asked(n: int) -> None:
    for random in (bulk(None), bulk(np.random.default_rng(1))):
        assert len(random.words(n)) == len(random.below(2**32, n)) == n
        assert len(random.packed(SCALE // 3, n)) == len(random.chance(SCALE // 3, n)) == n
        assert len(random.below(7, n)) == n
        assert random.subsets(np.full(n, -1), 9, 2).shape == (n, 2)
        assert random.chance(SCALE // 3, n).dtype == np.bool_


def test_chances_in_bulk_have_their_probability() -> None:
    """A count off by 5.4 standard deviations happens once in 1e7 runs.

    So many draws put the wrong law more than twice as far away.
    """
    numerator, n = SCALE // 10, 6 * 10**6
    yes = int(bulk(np.random.default_rng(9)).chance(numerator, n).sum())
    reach = 5.4 * math.sqrt(n * 0.1 * 0.9)
    assert abs(yes - 0.1 * n) < reach
    assert abs(yes - 26 / 256 * n) > reach  # a threshold of one byte would give this


def test_a_generator_gives_the_same_again_and_system_entropy_does_not() -> None:
    rr, answers = KRR(k=100, epsilon=0.1), np.zeros(1000, np.int64)
    one, same, other = (rr.encode_many(answers, np.random.default_rng(s)) for s in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    secure = Secure()
    assert not np.array_equal(rr.encode_many(answers, secure), rr.encode_many(answers, secure))
    assert not np.array_equal(rr.encode_many(answers), rr.encode_many(answers))


@pytest.mark.parametrize(
    "wrong",
    [7, Given(b""), np.random.RandomState(1)],
)
def test_other_chance_is_refused_with_its_value(wrong: Any) -> None:
    with pytest.raises(TypeError) as error:
        bulk(wrong)
    assert str(error.value).startswith("random must be Secure() or, in a study, numpy.")
    assert repr(wrong)[:36] in str(error.value)


# The stream of system entropy


def test_the_stream_is_that_of_aes_256_in_counter_mode() -> None:
    """Known answers: the encryptions of 0 and 1 under the key of zeros (GCM's test case 13)."""
    stream = _cipher_stream(bytes(32))
    assert stream(16).hex() == "dc95c078a2408989ad48a21492842087"
    assert stream(16).hex() == "530f8afbc74536b9a963b4f1c4cb738b"


def test_the_stream_does_not_depend_on_how_it_is_cut() -> None:
    key = bytes(range(32))
    whole = _cipher_stream(key)(2**21 + 77)
    parts = _cipher_stream(key)
    sizes = [1, 15, 2**20 + 3, 0, 50]
    cut = b"".join(bytes(parts(size)) for size in sizes)
    assert cut == whole[: sum(sizes)]


def test_every_use_of_a_secure_source_has_its_own_key() -> None:
    secure = Secure()
    assert bulk(secure).take(32) != bulk(secure).take(32)


def test_without_cryptography_bytes_come_from_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "cryptography"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(ImportError, match="cryptography"):
        importlib.import_module("cryptography")
    asked: list[int] = []
    system = os.urandom

    def urandom(size: int) -> bytes:
        asked.append(size)
        return system(size)

    monkeypatch.setattr(os, "urandom", urandom)
    random = bulk(None)
    assert len(random.words(1000)) == 1000
    assert asked[-1] == 4000
    reports = KRR(k=4, epsilon=1.0).encode_many(np.zeros(5000, np.int64))
    assert set(reports.tolist()) == {0, 1, 2, 3}
