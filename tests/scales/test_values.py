"""What values stand for which numbers, and how numbers are shown."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmurs.scales.values import Kind, number_of, value_text, whole_period

READ: list[tuple[Any, Kind, float | None]] = [
    (37, "numbers", 37.0),
    (np.uint8(37), "numbers", 37.0),
    (np.float32(0.7), "numbers", 0.7),
    (np.float16(0.3), "numbers", 0.3),
    (Decimal("0.1"), "numbers", 0.1),
    (Fraction(1, 4), "numbers", 0.25),
    (" 12.5 ", "numbers", 12.5),
    ("-1e3", "numbers", -1000.0),
    ("1_000", "numbers", None),
    ("１２", "numbers", None),
    ("", "numbers", None),
    ("12,5", "numbers", None),
    ("inf", "numbers", None),
    (float("nan"), "numbers", None),
    (10**400, "numbers", None),
    (True, "numbers", None),
    (np.True_, "numbers", None),
    (b"37", "numbers", None),
    (None, "numbers", None),
    ([37], "numbers", None),
    (1j, "numbers", None),
    (dt.timedelta(1), "numbers", None),
    (dt.date(1970, 1, 3), "dates", 2.0),
    (dt.datetime(1969, 12, 31, 23, 59), "dates", -1.0),
    (np.datetime64("1970-01-03T12:00"), "dates", 2.0),
    (np.datetime64("NaT"), "dates", None),
    ("1970-01-03", "dates", 2.0),
    ("1970-01-03T23:00:00", "dates", 2.0),
    ("3.1.1970", "dates", None),
    (2, "dates", None),
    (dt.timedelta(minutes=1.5), "durations", 90.0),
    (np.timedelta64(1500, "ms"), "durations", 1.5),
    (np.timedelta64("NaT"), "durations", None),
    (np.timedelta64("NaT", "s"), "durations", None),
    (np.timedelta64(1, "Y"), "durations", None),
    (90, "durations", 90.0),
    ("90", "durations", 90.0),
    ("1:30", "durations", 5400.0),
    ("1:30:05.5", "durations", 5405.5),
    ("1:-30", "durations", None),
    ("1:2:3:4", "durations", None),
    ("1:", "durations", None),
    ("1:60", "durations", None),
    ("1:00:60", "durations", None),
    ("100:59:59", "durations", 363599.0),
]


@pytest.mark.parametrize(("value", "kind", "number"), READ)
def test_values_are_read_as_numbers(value: Any, kind: Kind, number: float | None) -> None:
    assert number_of(value, kind) == number


@given(st.dates())
def test_dates_are_shown_as_they_are_read(day: dt.date) -> None:
    number = number_of(day, "dates")
    assert number is not None
    assert value_text(number, "dates") == day.isoformat()
    assert number_of(day.isoformat(), "dates") == number


@given(st.integers(-(10**7), 10**7))
def test_durations_are_shown_as_they_are_read(tenths: int) -> None:
    assert number_of(value_text(tenths / 10, "durations"), "durations") == tenths / 10


@given(st.floats(-1e12, 1e12))
def test_numbers_are_shown_as_they_are_read(number: float) -> None:
    assert number_of(value_text(number, "numbers"), "numbers") == number


def test_digits_behind_the_point_are_rounded() -> None:
    assert value_text(1234567.0, "numbers", -3) == "1,235,000"
    assert value_text(90.04, "durations", 1) == "0:01:30.0"
    assert value_text(-61.0, "durations") == "-0:01:01"
    assert value_text(59.99, "durations", 0) == "0:01:00"


@given(st.integers(1, 9998), st.integers(1, 12))
def test_whole_years_and_months_have_names(year: int, month: int) -> None:
    first = dt.date(year, month, 1)
    after = dt.date(year + month // 12, month % 12 + 1, 1)
    start, end = number_of(first, "dates"), number_of(after, "dates")
    assert start is not None
    assert end is not None
    assert whole_period(start, end - 1) == f"{year:04}-{month:02}"
    assert whole_period(start, end) is whole_period(start + 1, end - 1) is None
