"""The integer probabilities keep their epsilon, and waste none of it.

e**x is bounded here a second time, by whole numbers only: the sum of its series, every term
rounded down for the lower bound and up for the upper one, and the rest bounded by its largest term.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from murmurs.privacy import (
    SCALE,
    check_epsilon,
    check_promise,
    exp_below,
    flip_numerator,
    flip_ratio,
    log_above,
    truth_numerator,
    truth_ratio,
)

UNIT = 2**400
TIGHT = Fraction(1, 10**100)
FINE = Fraction(1, 10**58)

epsilons = st.floats(1e-6, 700.0) | st.floats(-6, 2.8).map(lambda power: 10.0**power)
patient = settings(deadline=None, max_examples=150)


def exp_bounds(x: Fraction) -> tuple[Fraction, Fraction]:
    """Return a lower and an upper bound of e**x for x >= 0, closer than `TIGHT` of its value."""
    low = high = low_term = high_term = UNIT
    number = 0
    while number < 2 * x or high_term > 1:
        number += 1
        low_term = low_term * x.numerator // (x.denominator * number)
        high_term = -(-high_term * x.numerator // (x.denominator * number))
        low, high = low + low_term, high + high_term
    # From here on each term is at most half the last one, so all of them are at most the last one.
    high += high_term
    assert high - low <= TIGHT * low
    return Fraction(low, UNIT), Fraction(high, UNIT)


def spreads() -> st.SearchStrategy[Fraction]:
    """How many reports there are for each one that supports an answer: above one."""
    whole = st.integers(1, 10**9)
    return st.builds(lambda s, more: Fraction(s + more, s), whole, whole)


def test_the_bounds_of_this_file_hold_e_as_it_is_printed() -> None:
    low, high = exp_bounds(Fraction(1))
    printed = Fraction("2.71828182845904523536028747135266249775724709369995")
    assert low <= high
    assert printed < low
    assert high < printed + Fraction(1, 10**50)
    assert exp_bounds(Fraction(0))[0] == 1


@patient
@given(epsilons)
@example(1e-6)
@example(700.0)
@example(math.log(2))
def test_exp_below_is_below_and_close(epsilon: float) -> None:
    low, high = exp_bounds(Fraction(epsilon))
    assert exp_below(epsilon) <= low
    assert exp_below(epsilon) >= high * (1 - FINE)


ratios = st.builds(
    lambda low, more, power: Fraction(low + more, low) ** power,
    st.integers(1, 2**107),
    st.integers(1, 2**107),
    st.integers(1, 9),
)


@patient
@given(ratios)
@example(Fraction(3))
@example(Fraction(2**53 - 1))
@example(Fraction(2**53, 2**53 - 1))
@example(1 + Fraction(1, 10**70))
def test_log_above_is_above_by_at_most_one_unit_in_the_last_place(ratio: Fraction) -> None:
    bound = log_above(ratio)
    assert exp_bounds(Fraction(bound))[0] >= ratio
    before = math.nextafter(bound, -math.inf)
    assert exp_bounds(Fraction(before))[0] <= ratio * (1 + FINE)


def test_log_above_of_one_is_next_to_nothing() -> None:
    assert 0 <= log_above(Fraction(1)) <= 5e-324


@patient
@given(epsilons, spreads())
@example(700.0, Fraction(2))
@example(1e-6, Fraction(10**6))
@example(36.7, Fraction(2))
def test_the_chance_of_truth_keeps_epsilon_and_the_next_one_does_not(
    epsilon: float, spread: Fraction
) -> None:
    low, high = exp_bounds(Fraction(epsilon))
    try:
        truth = truth_numerator(epsilon, spread)
    except ValueError:
        truth = 0  # too little for one part in 2**53: then one part breaks the promise
    else:
        assert 1 <= truth < SCALE
        assert truth_ratio(truth, spread) == 1 + spread * Fraction(truth, SCALE - truth)
        assert truth_ratio(truth, spread) <= low
        check_promise(truth_ratio(truth, spread), epsilon, "this")
    if truth < SCALE - 1:
        assert truth_ratio(truth + 1, spread) > high


def test_a_chance_of_truth_too_small_to_write_is_refused() -> None:
    message = "^epsilon 1e-06 is too small for this many answers: the probability of a truthful"
    with pytest.raises(ValueError, match=message):
        truth_numerator(1e-6, Fraction(2**60))
    assert truth_numerator(1e-6, Fraction(2**33)) == 1


@patient
@given(epsilons)
@example(1e-6)
@example(700.0)
@example(math.log(2**53 - 1))
def test_the_chance_of_a_flip_keeps_epsilon_and_the_one_before_does_not(epsilon: float) -> None:
    low, high = exp_bounds(Fraction(epsilon))
    flip = flip_numerator(epsilon)
    assert 1 <= flip <= SCALE // 2
    assert flip_ratio(flip) == Fraction(SCALE - flip, flip)
    assert flip_ratio(flip) <= low
    check_promise(flip_ratio(flip), epsilon, "this")
    assert flip == 1 or flip_ratio(flip - 1) > high


@patient
@given(epsilons)
def test_two_flips_of_half_an_epsilon_keep_the_whole(epsilon: float) -> None:
    check_promise(flip_ratio(flip_numerator(epsilon / 2)) ** 2, epsilon, "this")


def test_a_broken_promise_tells_both_epsilons() -> None:
    with pytest.raises(ValueError, match=r"^the probabilities of that give epsilon 1\.0986122886"):
        check_promise(Fraction(3), 1.0, "that")
    with pytest.raises(ValueError, match=r"more than the 1\.0 they promise$"):
        check_promise(exp_below(1.0) + Fraction(1, 10**70), 1.0, "that")
    check_promise(exp_below(1.0), 1.0, "that")


# What is no epsilon


@pytest.mark.parametrize("value", [1e-6, 700, np.float32(0.5), Fraction(1, 3), Decimal("2.5")])
def test_an_epsilon_comes_back_as_a_float(value: Any) -> None:
    epsilon = check_epsilon(value)
    assert type(epsilon) is float
    assert epsilon == float(value)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (-1.0, "-1"),
        (9.9e-7, "9.9e-07"),
        (700.5, "700.5"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (math.nan, "nan"),
        (Decimal("NaN"), "nan"),
    ],
)
def test_an_epsilon_outside_is_refused_with_its_value(value: Any, shown: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the whole message is compared
        check_epsilon(value)
    assert str(error.value) == f"epsilon must be from 1e-06 to 700, not {shown}"


def test_an_epsilon_too_large_for_a_float_is_refused_like_any_other() -> None:
    with pytest.raises(ValueError, match=r"^epsilon must be from 1e-06 to 700, not "):
        check_epsilon(10**400)


@pytest.mark.parametrize("value", [True, np.True_, "1", b"1", None, 1j, [1.0], Decimal("sNaN")])
def test_an_epsilon_that_is_no_number_is_refused_with_its_value(value: Any) -> None:
    with pytest.raises(TypeError) as error:
        check_epsilon(value)
    assert str(error.value) == f"epsilon must be a number, not {value!r}"
