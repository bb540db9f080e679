"""Quantiles of numbers in buckets, against people who are really spread evenly over them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmurs.scales.quantiles import quantile_at
from murmurs.scales.scale import Scale


@given(st.lists(st.integers(0, 4), min_size=3, max_size=6), st.integers(1, 99))
def test_the_quantile_of_whole_numbers_is_that_of_the_people(each: list[int], percent: int) -> None:
    """Each bucket of 5 numbers holds so many people at each of its numbers."""
    if not sum(each):
        return
    scale = Scale(tuple(float(5 * j) for j in range(len(each) + 1)), whole=True)
    people = np.repeat(np.arange(5 * len(each)), np.repeat(each, 5))
    below = np.cumsum(each) / sum(each)
    place = math.ceil(percent * len(people) / 100 - 1e-9)
    assert quantile_at(scale, below, percent / 100) == people[place - 1]


@pytest.mark.parametrize(("part", "number"), [(0.25, 5.0), (0.5, 10.0), (0.625, 12.5), (1.0, 20.0)])
def test_decimals_are_interpolated(part: float, number: float) -> None:
    assert quantile_at(Scale((0.0, 10.0, 20.0)), np.array([0.5, 1.0]), part) == number


def test_the_last_digit_of_a_sum_does_not_move_a_quantile_past_empty_buckets() -> None:
    """0.4 + 0.3 + 0.2 is below 0.9: the quantile would jump to the last bucket."""
    below = np.cumsum([0.4, 0.3, 0.2, 0.0, 0.1])
    assert below[2] < 0.9
    ends = (0.0, 10.0, 20.0, 30.0, 40.0, 50.0)
    assert quantile_at(Scale(ends, whole=True), below, 0.9) == 29.0
    assert quantile_at(Scale(ends), below, 0.9) == 30.0


def test_quantiles_in_open_ended_buckets_are_infinite() -> None:
    below = np.array([0.3, 0.6, 1.0])
    for scale in (
        Scale((-math.inf, 0.0, 1.0, math.inf)),
        Scale((-1.0, 0.0, 1.0, 2.0), outside="clamp"),
    ):
        assert [quantile_at(scale, below, part) for part in (0.1, 0.45, 0.9)] == [
            -math.inf,
            pytest.approx(0.5),
            math.inf,
        ]


def test_a_quantile_of_scores_is_one_of_them() -> None:
    rating = Scale((1.0, 2.0, 5.0), kind="scores")
    assert [quantile_at(rating, np.array([0.4, 0.7, 1.0]), q) for q in (0.4, 0.5, 0.8)] == [1, 2, 5]


def test_buckets_without_people_are_passed_over() -> None:
    below = np.array([0.5, 0.5, 1.0])
    assert quantile_at(Scale((0.0, 1.0, 2.0, 3.0)), below, 0.75) == 2.5
