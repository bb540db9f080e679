"""Scales from what people write, and what is refused with the way out."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmurs import Question
from murmurs.scales.making import Written, scale_of_labels, scale_of_numbers
from murmurs.scales.scale import Scale


def made(**given: Any) -> Scale:
    return scale_of_numbers(Written(**given), "question 'q'", 1.0, None)[0]


def test_whole_numbers_include_both_ends_of_their_range() -> None:
    assert made(range=(0, 99), width=10).labels[-1] == "90 to 99"
    assert made(range=(0, 100), width=10).labels[-2:] == ("90 to 99", "100")
    assert made(range=(0, 100.0), width=50).labels == ("0 to 50", "50 to 100")
    assert made(range=(0, 100), width=50, whole=False).labels == ("0 to 50", "50 to 100")


@given(st.integers(-50, 50), st.integers(1, 120), st.integers(1, 30))
def test_all_buckets_but_the_last_are_as_wide_as_they_shall_be(
    low: int, size: int, width: int
) -> None:
    if size < width:
        return
    scale = made(range=(low, low + size), width=width)
    widths = np.diff(scale.edges)
    assert (widths[:-1] == width).all()
    assert 0 < widths[-1] <= width
    assert (scale.low[0], scale.high[-1]) == (low, low + size)


@given(st.integers(1, 300), st.integers(2, 40))
def test_there_are_as_many_buckets_as_there_shall_be(size: int, buckets: int) -> None:
    if size + 1 < buckets:
        return
    whole, decimal = (
        made(range=(0, size), buckets=buckets),
        made(range=(0, size / 8), buckets=buckets),
    )
    assert whole.k == decimal.k == buckets
    assert (whole.high[-1], decimal.high[-1]) == (size, size / 8)
    widths = np.diff(whole.edges)
    assert widths.max() - widths.min() <= 1 or (widths[:-1] == widths[0]).all()


def test_steps_of_a_tenth_are_exact() -> None:
    assert made(range=(0, 1), width=0.1).edges == tuple(j / 10 for j in range(11))
    assert made(range=(0.05, 0.95), width=0.1).edges[3] == 0.35
    assert made(range=(0, 0.7), buckets=7, whole=False).edges == tuple(j / 10 for j in range(8))


def test_edges_may_be_infinite_at_the_ends() -> None:
    open_ended = made(edges=[-math.inf, 0, 10, math.inf])
    assert open_ended.labels == ("-1 or less", "0 to 9", "10 or more")
    assert made(edges=[None, 0, 10, None]) == open_ended  # as JSON has them


def test_dates_are_in_weeks_months_quarters_and_years() -> None:
    spring = (dt.date(2027, 1, 15), dt.date(2027, 6, 30))
    assert made(range=spring, width="month").labels[:2] == ("2027-01-15 to 2027-01-31", "2027-02")
    assert made(range=spring, width="quarter").k == 2
    assert made(range=("2020-01-01", "2027-12-31"), width="year").labels[-1] == "2027"
    assert made(range=spring, width="week").labels[0] == "2027-01-15 to 2027-01-21"
    assert made(range=spring, width=dt.timedelta(7)) == made(range=spring, width=7)
    assert made(edges=[None, "2020-01-01", "2027-01-01"]).kind == "dates"


def test_durations_are_in_seconds() -> None:
    delay = made(range=("0:00", "2:00"), width="0:30", durations=True, outside="clamp")
    assert delay.edges == (0, 1800, 3600, 5400, 7200)
    hour = dt.timedelta(hours=1)
    assert made(range=(0 * hour, 2 * hour), width=hour / 2, outside="clamp") == delay


def test_width_is_chosen_from_people_and_epsilon_with_its_reason() -> None:
    written = Written(range=(0, 100), whole=False)
    for epsilon, people, width in ((1.0, 10_000, 1), (1.0, 100, 10), (8.0, 10**7, 0.5)):
        scale, why = scale_of_numbers(written, "question 'q'", epsilon, people)
        assert np.diff(scale.edges)[0] == width
        assert why.startswith(f"buckets are {width} wide, since ")
    assert "people=... is not given" in scale_of_numbers(written, "question 'q'", 1.0, None)[1]


def test_ordered_labels_have_scores() -> None:
    def scores(*labels: str, **given: Any) -> tuple[float, ...]:
        return scale_of_labels(labels, Written(**given), "question 'q'").edges

    assert scores("never", "often", "always") == (1, 2, 3)
    assert scores("18", "19", "25") == (18, 19, 25)
    assert scores("3", "2", "1") == (1, 2, 3)
    assert scores("never", "often", scores=[0, 5]) == (0, 5)


BAD: list[tuple[dict[str, Any], str]] = [
    ({"range": (0, 10), "edges": [0, 10]}, "has a range and edges: give one of the two"),
    ({"range": (0, 10), "scores": [1, 2]}, "leave scores out"),
    ({"width": 5}, "has width without a range: say which numbers are answers, as range=\\(0, 100"),
    ({"buckets": 5}, "has buckets without a range"),
    ({"whole": False}, "has whole without a range"),
    ({"durations": True}, "has durations without a range"),
    ({"outside": "clamp"}, "has labels: leave outside out"),
    ({"circular": True}, "has circular, but no order: add ordered=True"),
    ({"scores": [1, 2]}, "has scores, but no order"),
    ({"unit": "kg"}, "has unit, but no order"),
    ({"edges": [0, 5, 10], "width": 5}, "has edges: leave width and buckets out"),
    ({"range": (0, 10), "width": 5, "buckets": 2}, "has a width and a number of buckets"),
    ({"range": (10, 0)}, "the range of question 'q' is \\(10, 0\\): give the smallest and the la"),
    ({"range": (5, 5)}, "give the smallest and the largest number"),
    ({"range": (0, 5, 10)}, "give the smallest and the largest number"),
    ({"range": (0, math.inf)}, "an infinite number in its range, .* only the first and the last"),
    ({"range": (0, 2**60)}, "goes beyond 2\\*\\*53: take larger units"),
    ({"edges": [0, math.inf, 10]}, "an infinite number in its range, or among its edges"),
    ({"edges": [math.inf, 0, 10]}, "edge 0 of a scale is inf"),
    ({"edges": [0, 10, 5]}, "edge 2 of a scale, 5, must be above the one before, 10"),
    ({"edges": [0, 5, 5, 10]}, "edge 2 of a scale, 5, must be above the one before, 5"),
    ({"range": (0, 10), "width": 0}, "the width of the buckets of question 'q' is 0: it must be a"),
    ({"range": (0, 10), "width": -1}, "it must be a positive whole number"),
    ({"range": (0, 10), "width": 2.5, "whole": True}, "is 2.5: it must be a positive whole number"),
    ({"range": (0.0, 10.0), "width": "wide"}, "is 'wide': it must be positive"),
    ({"range": (0, 100), "width": "5"}, "is '5': it must be positive"),
    ({"range": ("2027-01-01", "2027-02-01"), "width": [7]}, "is \\[7\\]: it must be a positive"),
    (
        {"range": ("2027-01-01", "2027-02-01"), "width": dt.timedelta(days=1, hours=5)},
        "it must be a positive whole number",
    ),
    ({"range": ("9990-01-01", "9999-12-31"), "width": "year"}, "is after 9999-12-31"),
    ({"range": (0, 10**6), "width": 1}, "are 1,000,001 in the range .* at most 1,000"),
    ({"range": (0, 10), "buckets": 12}, "there are only 11 whole numbers for 12 buckets"),
    ({"range": (0, 10), "buckets": 1}, "buckets must be from 2 to 1000, not 1"),
    ({"range": ("2027-01-01", "2027-12-31"), "whole": True}, "has dates for answers: leave whole"),
    ({"range": (0, 60), "durations": True, "whole": True}, "has durations for answers: leave whol"),
    ({"range": (0, 10), "outside": "drop"}, "outside must be 'refuse' or 'clamp', not 'drop'"),
]


@pytest.mark.parametrize(("given", "said"), BAD)
def test_what_makes_no_scale_is_refused_with_the_way_out(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Question("q", epsilon=1.0, **given)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"range": (0, "ten")}, "question 'q' has 'ten' where a number must be"),
        ({"range": (0, "10")}, "question 'q' has '10' where a number must be"),
        ({"edges": ["0", 5, 10]}, "question 'q' has '0' where a number must be"),
        ({"range": ("2027-01-01", 5)}, "has 5 where a date must be"),
        ({"range": (dt.timedelta(1), "x")}, "has 'x' where a duration must be"),
        ({"range": 100}, "the ends of the range of question 'q' are a list, not 100"),
        ({"edges": "0-10"}, "edges of question 'q' are a list, not '0-10'"),
        ({"range": (True, 5)}, "has True where a number must be"),
        ({"range": (0, 10), "buckets": 2.5}, "buckets must be a whole number, not 2.5"),
    ],
)
def test_values_of_another_type_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        made(**given)


def test_durations_are_asked_for_by_a_truth_value() -> None:
    given: Any = "yes"
    with pytest.raises(TypeError, match="durations must be True or False, not 'yes'"):
        Question("q", range=(0, 60), durations=given, epsilon=1.0)


def test_scores_must_fit_the_labels() -> None:
    with pytest.raises(ValueError, match="question 'q' has 2 labels and 3 scores"):
        scale_of_labels(("a", "b"), Written(scores=[1, 2, 3]), "question 'q'")
    with pytest.raises(ValueError, match="score 1 of a scale, 1, must be above the one before, 2"):
        scale_of_labels(("a", "b"), Written(scores=[2, 1]), "question 'q'")
