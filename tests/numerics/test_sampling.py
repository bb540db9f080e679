"""Draws from whole populations have their exact laws, on the way for large pools too.

Statistical tests have a false-alarm rate of `FALSE_ALARM` each, and fixed seeds; each rejects a
wrong law.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from murmurs.numerics import sampling
from murmurs.numerics.sampling import choose, distinct_law, split_uniformly, subset_totals
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
    landed = split_uniformly(np.full(60_000, people), places, rng)
    assert landed.shape == (60_000, places)
    draws = [tuple(row) for row in landed.tolist()]
    assert p_value(draws, multinomial(people, [1 / places] * places)) > FALSE_ALARM
    # A tenth too often to the first place, as a draw place after place could have it.
    first = 1.1 / places
    wrong = multinomial(people, [first] + [(1 - first) / (places - 1)] * (places - 1))
    assert p_value(draws, wrong) < FALSE_ALARM


def test_spread_sends_everybody_and_keeps_the_axes() -> None:
    people = np.array([[0, 5, 10**15], [7, 1, 2]])
    landed = split_uniformly(people, 11, np.random.default_rng(2))
    assert landed.shape == (2, 3, 11)
    assert np.array_equal(landed.sum(axis=-1), people)
    assert landed.min() >= 0


def test_spread_over_one_place_leaves_nothing_to_chance() -> None:
    assert split_uniformly(np.array([4, 0]), 1, np.random.default_rng(1)).tolist() == [[4], [0]]


def test_spread_takes_a_single_number_of_people() -> None:
    landed = split_uniformly(np.int64(10) * np.ones((), np.int64), 4, np.random.default_rng(1))
    assert landed.shape == (4,)
    assert landed.sum() == 10


# Sets of places


class Fork(Exception):  # noqa: N818 - a question, not an error
    """A draw beyond the script."""

    def __init__(self, n: int, chance: float) -> None:
        self.n, self.chance = n, chance


class Branch(np.random.Generator):
    """A generator whose first binomial draws are given; the next one raises `Fork`."""

    def __init__(self, outcomes: tuple[int, ...]) -> None:
        super().__init__(np.random.PCG64(0))
        self.outcomes = iter(outcomes)

    def binomial(self, n: Any, p: Any, size: Any = None) -> Any:
        drawn = [self._simulate(int(m), float(q)) for m, q in np.broadcast(n, p)]
        return np.array(drawn, np.int64).reshape(np.broadcast(n, p).shape)

    def multinomial(self, n: Any, pvals: Any, size: Any = None) -> Any:
        """Binomial draws one after another, by which NumPy has it."""
        out = np.zeros((*np.shape(n), len(pvals)), np.int64)
        for at, people in np.ndenumerate(np.asarray(n)):
            left, rest = int(people), 1.0
            for kind, chance in enumerate(pvals[:-1]):
                out[(*at, kind)] = self._simulate(
                    left, min(float(chance) / rest, 1.0) if rest else 0.0
                )
                left, rest = left - int(out[(*at, kind)]), rest - float(chance)
            out[(*at, len(pvals) - 1)] = left
        return out

    def _simulate(self, n: int, chance: float) -> int:
        if n == 0 or chance in (0.0, 1.0):
            return n if chance else 0
        for outcome in self.outcomes:
            return outcome
        raise Fork(n, chance)


def walked(draw: Callable[[Any], Any]) -> dict[tuple[int, ...], float]:
    """The law of what is drawn, by following every outcome of every draw."""
    law: dict[tuple[int, ...], float] = {}
    branches: list[tuple[tuple[int, ...], float]] = [((), 1.0)]
    while branches:
        outcomes, weight = branches.pop()
        try:
            found = tuple(int(x) for x in np.ravel(draw(Branch(outcomes))))
        except Fork as fork:
            p = fork.chance
            branches += [
                ((*outcomes, x), weight * math.comb(fork.n, x) * p**x * (1 - p) ** (fork.n - x))
                for x in range(fork.n + 1)
            ]
        else:
            law[found] = law.get(found, 0.0) + weight
    return law


def added(laws: list[dict[tuple[int, ...], Fraction]]) -> dict[tuple[int, ...], Fraction]:
    """The law of a sum of independent rows of numbers."""
    total = laws[0]
    for law in laws[1:]:
        longer: dict[tuple[int, ...], Fraction] = {}
        for (a, p), (b, q) in itertools.product(total.items(), law.items()):
            key = tuple(x + y for x, y in zip(a, b, strict=True))
            longer[key] = longer.get(key, Fraction(0)) + p * q
        total = longer
    return total


def held(places: int, size: int) -> dict[tuple[int, ...], Fraction]:
    """The law of who holds what, of one person with any set of so many places."""
    sets = list(itertools.combinations(range(places), size))
    rows = [tuple(int(place in own) for place in range(places)) for own in sets]
    return dict.fromkeys(rows, Fraction(1, len(sets)))


def same_law(found: dict[Any, float], wanted: dict[Any, Fraction]) -> bool:
    return set(found) == set(wanted) and all(
        math.isclose(found[key], weight, abs_tol=1e-12) for key, weight in wanted.items()
    )


@pytest.mark.parametrize(
    ("people", "places"),
    [
        ([0, 3], 3),
        ([0, 0, 2], 3),
        ([1, 1, 1], 3),
        ([0, 1, 1, 1], 3),
        ([0, 0, 2, 1], 4),
        ([2, 2], 2),
    ],
)
def test_totals_of_sets_have_their_exact_joint_law(people: list[int], places: int) -> None:
    one_by_one = [held(places, size) for size, times in enumerate(people) for _ in range(times)]
    law = walked(lambda rng: subset_totals(np.array(people), places, rng))
    assert same_law(law, added(one_by_one))
    # People who draw places with replacement hold fewer of them.
    again = [held(places, min(size, 1)) for size, times in enumerate(people) for _ in range(times)]
    assert same_law(law, added(again)) == (sum(people[2:]) == 0)


def test_totals_of_several_groups_are_drawn_apart() -> None:
    people = np.array([[0, 1, 1], [0, 0, 1]])
    law = walked(lambda rng: subset_totals(people, 3, rng))
    first, second = added([held(3, 1), held(3, 2)]), held(3, 2)
    joint = {(*a, *b): p * q for (a, p), (b, q) in itertools.product(first.items(), second.items())}
    assert same_law(law, joint)


@pytest.mark.parametrize("places", [2, 3, 7])
@pytest.mark.parametrize("draws", [1, 2, 5])
def test_how_many_places_are_different_is_counted_over_all_draws(draws: int, places: int) -> None:
    wanted = np.zeros(draws + 1)
    for drawn in itertools.product(range(places), repeat=draws):
        wanted[len(set(drawn))] += places**-draws
    np.testing.assert_allclose(distinct_law(draws, places), wanted, atol=1e-12)
    assert distinct_law(16, 65536).sum() == pytest.approx(1, abs=1e-14)
