"""Draws from whole populations have their exact laws, on the way for large pools too.

Statistical tests have a false-alarm rate of `FALSE_ALARM` each, and fixed seeds; each rejects a
wrong law.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from murmurs import sampling
from murmurs.sampling import choose, spread
from tests.goodness import FALSE_ALARM, p_value


def hypergeometric(pool: list[int], size: int) -> dict[Any, float]:
    """The law of how many of each kind are among ``size`` drawn without replacement."""
    return {
        chosen: math.prod(map(math.comb, pool, chosen)) / math.comb(sum(pool), size)
        for chosen in itertools.product(*(range(n + 1) for n in pool))
        if sum(chosen) == size
    }


def multinomial(people: int, chances: list[float]) -> dict[Any, float]:
    """The law of how many people go to each place."""
    law = {}
    for cells in itertools.product(range(people + 1), repeat=len(chances)):
        if sum(cells) == people:
            ways = math.factorial(people) // math.prod(map(math.factorial, cells))
            law[cells] = ways * math.prod(p**c for p, c in zip(chances, cells, strict=True))
    return law


# Without replacement


POOLS = [([3, 2], 2), ([1, 4, 2], 3), ([2, 0, 3, 1], 5), ([6, 6], 6), ([1, 1, 2], 2)]


@pytest.mark.parametrize("way", ["numpy", "one by one", "coins"])
@pytest.mark.parametrize(("pool", "size"), POOLS)
def test_choose_has_the_hypergeometric_law(
    pool: list[int], size: int, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if way != "numpy":
        monkeypatch.setattr(sampling, "_NUMPY_LIMIT", 0)
    if way == "coins":
        monkeypatch.setattr(sampling, "_ONE_BY_ONE", 0)
    rng = np.random.default_rng(41)
    people = np.array(pool)
    draws = [tuple(choose(people, size, rng).tolist()) for _ in range(5000)]
    assert people.tolist() == pool
    assert p_value(draws, hypergeometric(pool, size)) > FALSE_ALARM
    # With replacement one person may be drawn twice.
    replaced = multinomial(size, [n / sum(pool) for n in pool])
    assert p_value(draws, replaced) < FALSE_ALARM


@pytest.mark.parametrize("way", ["numpy", "one by one", "coins"])
@pytest.mark.parametrize("pool", [[0, 0], [5, 0, 2]])
def test_choosing_nobody_or_everybody_leaves_nothing_to_chance(
    pool: list[int], way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if way != "numpy":
        monkeypatch.setattr(sampling, "_NUMPY_LIMIT", 0)
    if way == "coins":
        monkeypatch.setattr(sampling, "_ONE_BY_ONE", 0)
    rng = np.random.default_rng(1)
    assert choose(np.array(pool), 0, rng).tolist() == [0] * len(pool)
    assert choose(np.array(pool), sum(pool), rng).tolist() == pool


@pytest.mark.parametrize("size", [1, 33, 10**6, 10**11, 3 * 10**11 - 5])
def test_choosing_from_very_many_keeps_to_pool_and_size(size: int) -> None:
    """The count of the first kind is off by 5.4 standard deviations once in 1e7 runs."""
    pool = np.array([10**11, 0, 2 * 10**11])
    chosen = choose(pool, size, np.random.default_rng(3))
    assert chosen.sum() == size
    assert np.all((chosen >= 0) & (chosen <= pool))
    total = 3 * 10**11
    deviation = math.sqrt(size * (1 / 3) * (2 / 3) * (total - size) / (total - 1))
    assert abs(int(chosen[0]) - size / 3) <= 5.4 * deviation + 2
    assert size < 1000 or abs(int(chosen[0]) - size / 2) > 5.4 * deviation + 2  # equal kinds


@pytest.mark.parametrize("size", [-1, 6, 10**12])
def test_choosing_more_than_there_are_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match=f"^cannot draw {size} of 5 people$"):
        choose(np.array([2, 3]), size, np.random.default_rng(1))


# Over places


@pytest.mark.parametrize(("people", "places"), [(1, 2), (2, 3), (3, 3), (2, 5), (4, 2), (2, 7)])
def test_spread_has_the_multinomial_law(people: int, places: int) -> None:
    rng = np.random.default_rng(59)
    landed = spread(np.full(60_000, people), places, rng)
    assert landed.shape == (60_000, places)
    draws = [tuple(row) for row in landed.tolist()]
    assert p_value(draws, multinomial(people, [1 / places] * places)) > FALSE_ALARM
    # A tenth too often to the first place, as a draw place after place could have it.
    first = 1.1 / places
    wrong = multinomial(people, [first] + [(1 - first) / (places - 1)] * (places - 1))
    assert p_value(draws, wrong) < FALSE_ALARM


def test_spread_sends_everybody_and_keeps_the_axes() -> None:
    people = np.array([[0, 5, 10**15], [7, 1, 2]])
    landed = spread(people, 11, np.random.default_rng(2))
    assert landed.shape == (2, 3, 11)
    assert np.array_equal(landed.sum(axis=-1), people)
    assert landed.min() >= 0


def test_spread_over_one_place_leaves_nothing_to_chance() -> None:
    assert spread(np.array([4, 0]), 1, np.random.default_rng(1)).tolist() == [[4], [0]]


def test_spread_takes_a_single_number_of_people() -> None:
    landed = spread(np.int64(10) * np.ones((), np.int64), 4, np.random.default_rng(1))
    assert landed.shape == (4,)
    assert landed.sum() == 10
