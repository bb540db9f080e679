"""What a device and a collector can live with: what is out of bounds is refused by a rule.

Costs are not measured in time, but in what is computed and allocated.
"""

from __future__ import annotations

import dataclasses
import tracemalloc
from typing import Any

import numpy as np
import pytest

import murmurs as mm
from murmurs import (
    KRR,
    LOSUE,
    ORR,
    OUE,
    SUE,
    CountMeanSketch,
    Counts,
    Derived,
    Given,
    HadamardSketch,
    ORappor,
    PermutedRappor,
    PermutedRR,
    ProjectiveGeometry,
    Rappor,
    Secure,
    Seeded,
)
from murmurs.boundary.checks import integers, shown
from murmurs.hashing import layout
from murmurs.mechanisms import BY_NAME, OPEN, Prefixes
from murmurs.mechanisms.hashed.permuted import MOST_PERMUTED
from murmurs.mechanisms.mechanism import LARGEST_K
from murmurs.mechanisms.settling import MOST_CELLS
from murmurs.numerics import xxh32 as hashing
from murmurs.numerics.arrays import exact_sum
from murmurs.randomness.bulk import bulk
from murmurs.randomness.verbs import FromBytes
from tests import laws
from tests.walk import exact_law

HUGE = [10**400, -(10**400), 10**5000, 2**63, 2**64]

EXAMPLES: list[Any] = [
    *({type(m): m for m in laws.SMALL if type(m) in BY_NAME.values()}.values()),
    ORR(epsilon=1.0, width=3, cohorts=3),
    ORappor(epsilon=4.0, width=4, cohorts=2, hashes=2),
    Rappor(width=4, hashes=2, cohorts=2, f=0.25, p=0.125, q=0.875),
    Prefixes(epsilon=1.0, width=3, levels=((2, 2), (4, 1))),
]
every = pytest.mark.parametrize("mechanism", EXAMPLES, ids=repr)


def parameters(mechanism: Any) -> dict[str, Any]:
    return {f.name: getattr(mechanism, f.name) for f in dataclasses.fields(mechanism) if f.init}


def test_every_kind_is_among_the_examples() -> None:
    assert {type(m) for m in EXAMPLES} == {*BY_NAME.values(), *OPEN.values()}


# Numbers


@every
@pytest.mark.parametrize("huge", HUGE, ids=["10^400", "-10^400", "10^5000", "2^63", "2^64"])
def test_a_huge_parameter_is_refused_shortly(mechanism: Any, huge: int) -> None:
    given = parameters(mechanism)
    for name, value in given.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            with pytest.raises(ValueError, match=name) as error:
                type(mechanism)(**{**given, name: huge})
            assert len(str(error.value)) < 200


@every
def test_a_huge_answer_or_population_is_refused(mechanism: Any) -> None:
    closed = mechanism if hasattr(mechanism, "k") else mechanism.over(["tea"])
    for huge in HUGE:
        for act in (
            lambda: closed.encode(huge, Secure()),  # noqa: B023
            lambda: closed.encode_many([0, huge]),  # noqa: B023
            lambda: closed.simulate([huge] + [0] * (closed.k - 1)),  # noqa: B023
            lambda: Counts(mechanism, huge, mechanism.count([]).cells),  # noqa: B023
            lambda: closed.channel.expected_l2(huge),  # noqa: B023
        ):
            with pytest.raises(ValueError, match=r"answer|histogram|n must be") as error:
                act()
            assert len(str(error.value)) < 200


HALF = [
    SUE(k=4, epsilon=1.0),
    OUE(k=4, epsilon=1.0),
    CountMeanSketch(k=4, epsilon=1.0, rows=2, width=3),
    HadamardSketch(k=4, epsilon=1.0, rows=2, width=4),
    ORappor(epsilon=1.0, width=3, cohorts=3),
    PermutedRappor(k=4, epsilon=1.0, width=3, cohorts=2),
    LOSUE(k=4, epsilon=1.0, epsilon_permanent=2.0),
]


@pytest.mark.parametrize("mechanism", HALF, ids=repr)
def test_bits_that_are_flipped_half_of_the_time_are_refused(mechanism: Any) -> None:
    """They tell nothing, and shares would be divided by zero."""
    rule = "flip must be from 1 to 4503599627370495, not 4503599627370496"
    with pytest.raises(ValueError, match=f"^{rule}$"):
        dataclasses.replace(mechanism, flip=2**52)
    rest: dict[str, Any] = {"permanent_flip": 2**52 - 1} if isinstance(mechanism, LOSUE) else {}
    least = dataclasses.replace(mechanism, flip=2**52 - 1, **rest)
    assert least.ratio > 1
    closed = least if hasattr(least, "k") else least.over(["tea", "mate"])
    counts = closed.simulate([5] * closed.k, np.random.default_rng(1))
    assert np.isfinite(counts.channel.invert(counts.cells, counts.n)).all()


def test_a_value_is_shown_shortly_and_printable() -> None:
    nested: Any = []
    for _ in range(10_000):
        nested = [nested]

    class Broken:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    for value in (
        "a" * 10**7,
        b"a" * 10**7,
        10**5000,
        -(10**5000),
        "\x1b[31m\u202e\u2066\n" * 100,
        nested,
        [10**5000],
        {"a": "b" * 10**6},
        np.arange(10**6),
        np.random.default_rng(1),
        Broken(),
        Secure,
    ):
        text = shown(value)
        assert len(text) <= 300
        assert text.isprintable()
    assert shown("a" * 41) == f"'{'a' * 40}'... (41 in all)"
    assert shown("a" * 40) == repr("a" * 40)
    assert shown(10**400, 5) == shown(10**400) == "about 10**400"
    assert shown(2**70) == str(2**70)
    assert shown("abc", 2) == "'ab'... (3 in all)"
    assert "Broken" in shown(Broken())


def test_sums_of_64_bits_are_exact() -> None:
    rng = np.random.default_rng(1)
    for size in (0, 1, 7, 1000):
        values = rng.integers(0, 2**62, size)
        assert exact_sum(values) == sum(values.tolist())
        assert exact_sum(-values) == -sum(values.tolist())


def test_nested_lists_are_not_followed_for_ever() -> None:
    endless: list[Any] = [0]
    endless.append(endless)
    with pytest.raises(TypeError, match="cells must be whole numbers, number 1, 1, 1, 1"):
        integers(endless, "cells", ndim=None)


# Tables


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ORR(1.0, 65536, 257), "cohorts * width must be at most 2**24, not 16842752"),
        (lambda: ORappor(1.0, 2048, 65536), "cohorts * width must be at most 2**24, not 134217728"),
        (
            lambda: Rappor(width=2048, hashes=2, cohorts=65536, f=0.5, p=0.25, q=0.75),
            "cohorts * width must be at most 2**24, not 134217728",
        ),
        (
            lambda: CountMeanSketch(9, 1.0, rows=65536, width=257),
            "rows * width must be at most 2**24, not 16842752",
        ),
        (
            lambda: HadamardSketch(9, 1.0, rows=65536, width=256),
            "2 * rows * width must be at most 2**24, not 33554432",
        ),
        (
            lambda: PermutedRR(2048, 1.0, width=4, cohorts=65536),
            "k * cohorts must be at most 2**24, not 134217728: permutations of all answers",
        ),
        (
            lambda: PermutedRappor(2048, 1.0, width=4, cohorts=65536),
            "k * cohorts must be at most 2**24, not 134217728: permutations of all answers",
        ),
        (
            lambda: ProjectiveGeometry(100, 1.0, q=2, t=25),
            "the number of points must be at most 2**24, not 33554431",
        ),
    ],
)
def test_more_cells_than_a_collector_can_live_with_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the message is looked for below
        make()
    assert str(error.value).startswith(message)


def test_the_largest_tables_are_as_large_as_is_said() -> None:
    assert MOST_CELLS == MOST_PERMUTED == 2**24
    for made in (
        ORR(1.0, 256, 65536),
        ORR(1.0, 65536, 256),
        ORappor(1.0, 256, 65536),
        HadamardSketch(9, 1.0, rows=65536, width=128),
        PermutedRR(256, 1.0, width=256, cohorts=65536),
        ProjectiveGeometry(100, 1.0, q=2, t=24),
    ):
        cells = int(np.prod(made.channel.cells))
        assert MOST_CELLS / 1.01 < cells <= MOST_CELLS * 1.01


@pytest.mark.parametrize("kind", BY_NAME.values())
def test_what_is_chosen_stays_within_the_limits(kind: Any) -> None:
    if kind is mm.BasicRappor:
        return
    rest = {"epsilon_permanent": 10.0} if kind in (mm.LOSUE, mm.LOLOHA) else {}
    for k, epsilon in ((LARGEST_K, 0.5), (LARGEST_K, 9.0), (2, 0.5), (70_000, 3.0)):
        made = kind(k=min(k, kind.largest_k), epsilon=epsilon, **rest)
        assert np.prod(made.channel.cells) <= MOST_CELLS


@pytest.mark.parametrize(
    "mechanism",
    [
        ORappor(epsilon=2.0, width=64, cohorts=4096),
        ORR(epsilon=2.0, width=64, cohorts=4096),
        Rappor(width=64, hashes=2, cohorts=4096, f=0.5, p=0.25, q=0.75),
        CountMeanSketch(k=1000, epsilon=2.0, rows=4096, width=64),
        HadamardSketch(k=1000, epsilon=2.0, rows=2048, width=64),
        PermutedRR(k=64, epsilon=2.0, width=64, cohorts=4096),
        PermutedRappor(k=64, epsilon=2.0, width=64, cohorts=4096),
        ProjectiveGeometry(k=100, epsilon=1.0, q=2, t=18),
        OUE(k=200_000, epsilon=1.0),
    ],
    ids=repr,
)
def test_counting_takes_a_few_times_the_memory_of_its_cells(mechanism: Any) -> None:
    """The cells, the sum so far and a copy that cannot be written; bits one block at a time."""
    answer: Any = 5 if hasattr(mechanism, "k") else "tea"
    many = np.repeat(mechanism.shape.stack([mechanism.encode(answer, Secure())]), 300, axis=0)
    mechanism.count(many[:1])  # what is loaded once is loaded now
    tracemalloc.start()
    counts = mechanism.count([many[:1], many])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert counts.n == 301
    assert peak < 5 * counts.cells.nbytes + 2**25


# Permutations


@pytest.mark.parametrize("kind", [PermutedRR, PermutedRappor])
def test_a_device_permutes_its_own_cohort_alone(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """All 65,536 permutations took seconds; a device hashes the k answers once, and sorts none."""
    hashed: list[int] = []
    plain = hashing.hash_keys

    def counting(keys: Any, seeds: Any) -> Any:
        hashed.append(len(keys))
        return plain(keys, seeds)

    monkeypatch.setattr(layout, "hash_keys", counting)
    mechanism = kind(k=256, epsilon=1.0, width=4, cohorts=65536)
    for answer in (0, 100, 255):
        mechanism.encode(answer, Secure())
    assert hashed == [256, 256, 256]
    assert "_kept" not in vars(mechanism.layout)


@pytest.mark.parametrize("k", [2, 5, 40])
def test_people_looked_up_one_by_one_have_the_places_of_all(k: int) -> None:
    for width in {2, k}:
        one, all_of_them = (layout.Ranked(k, 60, width, 2**32 - 5) for _ in range(2))
        next(all_of_them.blocks())
        answers = np.repeat(np.arange(k), 60)
        rows = np.tile(np.arange(60), k)
        wanted = all_of_them.look_up(answers, rows)
        for start in range(0, len(answers), 7):
            part = slice(start, start + 7)
            found = one.look_up(answers[part], rows[part])
            assert np.array_equal(found, wanted[:, part])
        assert "_kept" not in vars(one)


def test_equal_hashes_are_ranked_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    def parity(keys: Any, _: object) -> Any:
        return np.array(keys % 2 == 0, np.uint32)

    monkeypatch.setattr(layout, "hash_keys", parity)
    one = layout.Ranked(6, 1, 6)
    places = [int(one.look_up(np.array([x]), np.array([0]))[0, 0]) for x in range(6)]
    assert places == [3, 0, 4, 1, 5, 2]


def test_a_device_that_ranks_has_the_law_of_one_that_sorts() -> None:
    fresh = PermutedRR(k=5, epsilon=1.0, width=3, cohorts=3, salt=6)
    kept = PermutedRR(k=5, epsilon=1.0, width=3, cohorts=3, salt=6)
    next(kept.layout.blocks())
    for answer in range(5):
        assert exact_law(fresh.encode, answer) == exact_law(kept.encode, answer)


# Chance


def sources() -> list[FromBytes]:
    return [Secure(), Seeded(np.random.default_rng(1)), Given(bytes(100)), Derived(bytes(16), "q")]


@pytest.mark.parametrize("kind", range(4), ids=["Secure", "Seeded", "Given", "Derived"])
def test_bytes_are_asked_for_by_a_whole_number(kind: int) -> None:
    """A negative size would step back, and hand out bytes a second time."""
    wrong: list[Any] = [-1, -8, 8.0, "8", None, True, 2**60, 10**400]
    for size in wrong:
        source = sources()[kind]
        source.take(16)
        with pytest.raises((TypeError, ValueError), match=r"^size must be "):
            source.take(size)
        assert source.take(0) == b""
        assert len(source.take(np.int64(3))) == 3  # type: ignore[arg-type]


def test_no_bytes_of_the_system_come_again_after_a_bad_size() -> None:
    secure = Secure()
    first = secure.take(8)
    with pytest.raises(ValueError, match="size must be from 0 to"):
        secure.take(-8)
    assert secure.take(8) != first


def test_a_class_for_chance_lacks_its_brackets() -> None:
    rr: Any = KRR(k=4, epsilon=1.0)
    way_out = r"not the class Secure: write Secure\(\) with brackets$"
    for act in (
        lambda: rr.encode(1, Secure),
        lambda: rr.encode_many([1], Secure),
        lambda: rr.simulate([1, 1, 1, 1], Secure),
        lambda: bulk(Secure),  # type: ignore[arg-type]
        lambda: ORR(1.0, 4, 4).encode("tea", Secure),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError, match=way_out):
            act()
    with pytest.raises(TypeError, match=r"not 7$"):
        rr.encode(1, 7)
