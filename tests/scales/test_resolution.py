"""The width of buckets that is chosen if nothing is said."""

from __future__ import annotations

import math

import numpy as np
import pytest

import murmurs as mm
from murmurs.scales.resolution import FEWEST, MOST, chosen_width, mean_error


@pytest.mark.parametrize("size", [0.37, 1.0, 24.0, 101.0, 123456.0])
@pytest.mark.parametrize("whole", [False, True])
def test_buckets_are_neither_too_many_nor_too_few(size: float, whole: bool) -> None:
    for epsilon in (0.1, 1.0, 8.0):
        for people in (10, 10**4, 10**9):
            width, why = chosen_width(size, whole, epsilon, people)
            assert size / width <= 1.5 * MOST
            assert size / width >= FEWEST / 1.5 or (whole and width == 1)
            assert width == int(width) or not whole
            assert why


def test_more_people_and_more_epsilon_make_narrower_buckets() -> None:
    people = [chosen_width(100.0, False, 1.0, 10**e)[0] for e in range(2, 9)]
    epsilons = [chosen_width(100.0, False, e / 2, 10**4)[0] for e in range(1, 9)]
    assert people == sorted(people, reverse=True)
    assert epsilons == sorted(epsilons, reverse=True)
    assert people[0] > people[-1]
    assert epsilons[0] > epsilons[-1]


def test_the_reason_is_the_one_that_decided() -> None:
    assert "how uncertain the mean" in chosen_width(100.0, False, 1.0, 10_000)[1]
    assert "more than 200 buckets" in chosen_width(100.0, False, 8.0, 10**7)[1]
    assert "fewer than 12 buckets" in chosen_width(100.0, False, 1.0, 100)[1]
    assert "10,000 people are assumed" in chosen_width(100.0, False, None, None)[1]


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 4.0])
def test_the_error_of_a_mean_is_that_of_the_square_wave(epsilon: float) -> None:
    """Against the variance that numerical integration of the mechanism's density has."""
    a = math.exp(epsilon)
    b = mm.SquareWave(k=2000, epsilon=epsilon).b / 2000
    report = np.linspace(-b, 1 + b, 200_001)
    answers = (np.arange(50) + 0.5) / 50
    low = 1 / (2 * b * a + 1)
    density = np.mean([np.where(np.abs(report - x) <= b, a * low, low) for x in answers], axis=0)
    mean = np.trapezoid(report * density, report)
    variance = np.trapezoid((report - mean) ** 2 * density, report)
    slope = 2 * b * (a - 1) * low  # how far the mean report moves if all answers move by one
    assert mean_error(epsilon) == pytest.approx(math.sqrt(variance) / slope, rel=2e-3)
