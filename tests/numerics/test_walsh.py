"""The fast transform is SciPy's Hadamard matrix; scattered people land where that matrix allows.

Statistical tests have a false-alarm rate of `FALSE_ALARM` each, and fixed seeds; each rejects a
wrong law.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.linalg

from murmurs.numerics import walsh
from tests.goodness import FALSE_ALARM, p_value

sizes = pytest.mark.parametrize("size", [1, 2, 4, 8, 64, 512])


@sizes
def test_the_transform_is_the_matrix_applied(size: int) -> None:
    values = np.random.default_rng(size).integers(-1000, 1000, size).astype(float)
    assert np.array_equal(walsh.transform(values), scipy.linalg.hadamard(size) @ values)


@sizes
def test_the_last_axis_is_transformed_and_the_input_kept(size: int) -> None:
    values = np.random.default_rng(size).integers(-1000, 1000, (3, 2, size)).astype(float)
    before = values.copy()
    found = walsh.transform(values)
    assert np.array_equal(found, values @ scipy.linalg.hadamard(size))
    assert np.array_equal(values, before)


def test_the_layout_in_memory_does_not_matter() -> None:
    values = np.arange(24.0).reshape(3, 8)
    wanted = walsh.transform(values)
    assert np.array_equal(walsh.transform(np.asfortranarray(values)), wanted)
    assert np.array_equal(walsh.transform(np.repeat(values, 2, axis=1)[:, ::2]), wanted)


def test_twice_the_transform_is_the_size_times_the_values() -> None:
    values = np.arange(32.0)
    assert np.array_equal(walsh.transform(walsh.transform(values)), 32 * values)


def test_parity_counts_ones() -> None:
    values = np.array([0, 1, 2, 3, 255, 256, 2**40 + 1, 2**62 - 1])
    assert walsh.parity(values).tolist() == [bin(v).count("1") % 2 for v in values.tolist()]


def allowed(x: int, sign: int, size: int) -> list[int]:
    """The places whose entry in row x of the matrix is plus (sign 0) or minus (sign 1)."""
    return [y for y in range(size) if scipy.linalg.hadamard(size)[x, y] == 1 - 2 * sign]


STATES = [(x, sign) for x in range(8) for sign in (0, 1) if (x, sign) != (0, 1)]


@pytest.mark.parametrize(("x", "sign"), STATES)
def test_people_land_evenly_where_the_matrix_allows(x: int, sign: int) -> None:
    """Two people at a time: their joint law, so that nobody's place tells of another's."""
    rng = np.random.default_rng(100 * x + sign)
    people = np.zeros((2000, 2, 8), np.int64)
    people[:, sign, x] = 2
    landed = walsh.scatter(people, rng)
    assert landed.shape == (2000, 8)
    places = allowed(x, sign, 8)
    law: dict[Any, float] = {}
    for pair in itertools.product(places, repeat=2):
        cells = tuple(np.bincount(pair, minlength=8).tolist())
        law[cells] = law.get(cells, 0.0) + len(places) ** -2
    draws = [tuple(row) for row in landed.tolist()]
    assert p_value(draws, law) > FALSE_ALARM
    # Both people at one place, as if one draw served the two.
    wrong = {tuple((2 * np.eye(8, dtype=int)[y]).tolist()): 1 / len(places) for y in places}
    assert p_value(draws, wrong) < FALSE_ALARM


def test_everybody_lands_somewhere_and_stays_in_the_group() -> None:
    rng = np.random.default_rng(5)
    people = rng.integers(0, 10**12, (3, 2, 16))
    people[:, 1, 0] = 0  # no place has an odd number of ones in common with zero
    landed = walsh.scatter(people, rng)
    assert np.array_equal(landed.sum(axis=1), people.sum(axis=(1, 2)))
    assert landed.min() >= 0
    alone = people.copy()
    alone[1:] = 0
    assert walsh.scatter(alone, rng)[1:].sum() == 0


def test_a_group_of_one_place_keeps_its_people() -> None:
    people = np.array([[[7], [0]], [[9], [0]]])
    assert walsh.scatter(people, np.random.default_rng(1)).tolist() == [[7], [9]]
