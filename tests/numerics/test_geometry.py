"""Points of a projective space: their numbers, their hyperplanes and their primes, by brute force.

The points are listed here as all vectors whose first non-zero digit is 1, in lexical order.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from murmurs.numerics import geometry
from murmurs.numerics.arrays import Floats

SPACES = [(2, 2), (2, 3), (2, 5), (3, 2), (3, 3), (3, 4), (5, 3), (7, 2), (7, 3), (11, 2)]
every = pytest.mark.parametrize(("q", "t"), SPACES)


def listed(q: int, t: int) -> list[tuple[int, ...]]:
    vectors = itertools.product(range(q), repeat=t)
    return [v for v in vectors if next((digit for digit in v if digit), 0) == 1]


def orthogonal(a: tuple[int, ...], b: tuple[int, ...], q: int) -> bool:
    return sum(x * y for x, y in zip(a, b, strict=True)) % q == 0


@every
def test_points_are_numbered_in_lexical_order(q: int, t: int) -> None:
    points = listed(q, t)
    assert geometry.point_count(q, t) == len(points)
    numbers = np.arange(len(points))
    vectors = geometry.vectors(numbers, q, t)
    assert [tuple(row) for row in vectors.tolist()] == points
    assert np.array_equal(geometry.points(vectors, q), numbers)


@every
def test_multiples_of_a_vector_are_one_point(q: int, t: int) -> None:
    numbers = np.arange(geometry.point_count(q, t))
    vectors = geometry.vectors(numbers, q, t)
    for factor in range(1, q):
        assert np.array_equal(geometry.points(vectors * factor % q, q), numbers)


@every
def test_a_hyperplane_holds_each_orthogonal_point_once(q: int, t: int) -> None:
    points = listed(q, t)
    which = np.arange(geometry.point_count(q, t - 1))
    for x, normal in enumerate(points):
        found = geometry.on_hyperplane(np.full(len(which), x), which, q, t)
        assert sorted(found.tolist()) == [
            y for y, point in enumerate(points) if orthogonal(normal, point, q)
        ]


def test_hyperplanes_of_different_points_can_be_asked_at_once() -> None:
    q, t = 5, 3
    normals = np.array([0, 3, 30, 12, 3])
    which = np.array([5, 0, 2, 1, 4])
    together = geometry.on_hyperplane(normals, which, q, t)
    alone = [
        int(geometry.on_hyperplane(normals[i : i + 1], which[i : i + 1], q, t)[0]) for i in range(5)
    ]
    assert together.tolist() == alone


@every
def test_incidence_sums_the_weights_of_orthogonal_points(
    q: int, t: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = listed(q, t)
    weights = np.random.default_rng(q * t).integers(0, 1000, len(points)).astype(float)
    wanted = [
        sum(w for point, w in zip(points, weights, strict=True) if orthogonal(x, point, q))
        for x in points
    ]
    np.testing.assert_allclose(geometry.incidence(weights, q, t), wanted, atol=1e-7)
    monkeypatch.setattr(geometry, "_KEPT", 0)
    np.testing.assert_allclose(geometry.incidence(weights, q, t), wanted, atol=1e-7)


def test_incidence_transforms_one_digit_less_than_the_space_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The transform of the whole space, q**t numbers, took 50 times as long at q = 41, t = 4."""
    sizes, transform = [], np.fft.fftn

    def watched(values: Floats) -> Any:
        sizes.append(values.size)
        return transform(values)

    monkeypatch.setattr(np.fft, "fftn", watched)
    geometry.incidence(np.ones(geometry.point_count(7, 4)), 7, 4)
    assert max(sizes) == 7**3


@pytest.mark.parametrize("q", [2, 3, 5, 7, 101, 2_097_143])
def test_an_inverse_times_its_number_is_one(q: int) -> None:
    numbers = np.array(sorted({1, 2 % q, q // 2, q - 1} - {0}))
    assert np.all(geometry.inverse(numbers, q) * numbers % q == 1)


def test_primes_are_those_of_the_sieve() -> None:
    top = 20_000
    sieve = np.ones(top, bool)
    sieve[:2] = False
    for number in range(2, int(top**0.5) + 1):
        if sieve[number]:
            sieve[number * number :: number] = False
    assert [geometry.is_prime(number) for number in range(top)] == sieve.tolist()
    assert not geometry.is_prime(-7)


@pytest.mark.parametrize(
    ("number", "prime"), [(0, 2), (2, 2), (4, 5), (14, 17), (90, 97), (97, 97), (1328, 1361)]
)
def test_the_next_prime(number: int, prime: int) -> None:
    assert geometry.next_prime(number) == prime


@pytest.mark.parametrize("number", [1_000_003, 2_097_143, 999_983 * 999_979, 1009 * 1009])
def test_large_numbers_are_told_apart(number: int) -> None:
    divided = any(number % d == 0 for d in range(2, int(number**0.5) + 1))
    assert geometry.is_prime(number) is not divided
