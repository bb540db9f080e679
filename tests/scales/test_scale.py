"""Which bucket a number falls into, against a rule that is written out number by number."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmurs.scales.scale import MOST_BUCKETS, NOWHERE, Outside, Scale
from murmurs.scales.values import Kind, value_text

AGES = Scale((0.0, 18.0, 65.0, math.inf), whole=True, unit="years")


@st.composite
def scales(draw: st.DrawFn) -> Scale:
    """Scales of every form: whole or not, clamped, circular, with open ends, or of scores."""
    kind = draw(st.sampled_from(get_args(Kind)))
    whole = kind == "dates" or (kind == "numbers" and draw(st.booleans()))
    step = 1 if whole else draw(st.sampled_from([1, 10, 4]))
    tenths = st.integers(-200, 200)
    edges = sorted(draw(st.lists(tenths, min_size=3, max_size=12, unique=True)))
    numbers = [edge / step for edge in edges]
    choices = ["refuse"] if kind == "scores" else get_args(Outside)
    outside: Outside = draw(st.sampled_from(choices))
    circular = outside == "refuse" and draw(st.booleans())
    if not circular and kind != "scores":
        numbers = [-math.inf] * draw(st.booleans()) + numbers + [math.inf] * draw(st.booleans())
    return Scale(tuple(map(float, numbers)), whole, kind, outside, circular)


def by_hand(scale: Scale, number: float) -> int:
    """Return the bucket of a number, read from the definition, one edge after another."""
    if not math.isfinite(number) or (scale.whole and Fraction(number).denominator != 1):
        return NOWHERE
    if scale.kind == "scores":
        return scale.edges.index(number) if number in scale.edges else NOWHERE
    for j, (low, high) in enumerate(zip(scale.edges, scale.edges[1:], strict=False)):
        if low <= number < high:
            return j
    last = len(scale.edges) - 2
    if number == scale.edges[-1] and not scale.whole:
        return 0 if scale.circular else last
    if scale.outside == "clamp":
        return 0 if number < scale.edges[0] else last
    return NOWHERE


@given(scales(), st.lists(st.integers(-2500, 2500), max_size=20))
def test_places_are_those_of_the_definition(scale: Scale, tenths: list[int]) -> None:
    numbers = [number / 10 for number in tenths] + [*scale.edges, math.nan, math.inf, 0.5]
    wanted = [by_hand(scale, number) for number in numbers]
    assert scale.places(np.array(numbers)).tolist() == wanted
    assert [scale.place(number) for number in numbers] == wanted


@given(scales())
def test_every_bucket_holds_its_ends_and_its_middle(scale: Scale) -> None:
    for j in range(scale.k):
        ends = [float(end) for end in (scale.low[j], scale.high[j]) if math.isfinite(end)]
        inside = ends if scale.whole or scale.kind == "scores" else ends[:1]
        if len(ends) == 2 and not scale.whole:
            inside.append(sum(ends) / 2)
        open_below = math.isinf(scale.low[j])  # then its upper edge belongs to the next bucket
        assert all(scale.place(number) == j for number in inside if scale.whole or not open_below)


@given(scales())
def test_labels_differ_and_the_buckets_meet(scale: Scale) -> None:
    assert len(set(scale.labels)) == scale.k
    gap = 1 if scale.whole else 0
    if scale.kind != "scores":
        assert (scale.high[:-1] + gap == scale.low[1:]).all()


def test_buckets_have_the_labels_that_people_write() -> None:
    assert AGES.labels == ("0 to 17", "18 to 64", "65 or more")
    assert Scale((-math.inf, 0.5, 1.0)).labels == ("under 0.5", "0.5 to 1")
    assert Scale((-math.inf, 1.0, 2.0, 5.0), whole=True).labels == ("0 or less", "1", "2 to 4")
    hours = Scale((0.0, 1800.0, 5400.0), kind="durations", outside="clamp")
    assert hours.labels == ("under 0:30:00", "0:30:00 or more")
    days = Scale((0.0, 31.0, 59.0, 60.0, 365.0, 730.0), whole=True, kind="dates")
    named = ("1970-01", "1970-02", "1970-03-01", "1970-03-02 to 1970-12-31", "1971")
    assert days.labels == named
    assert Scale((1.0, 2.0, 3.0), kind="scores").labels == ("1", "2", "3")


def test_numbers_outside_are_clamped_only_where_that_is_declared() -> None:
    refused, clamped = Scale((0.0, 1.0, 2.0)), Scale((0.0, 1.0, 2.0), outside="clamp")
    assert [refused.place(number) for number in (-1, 0, 2, 3)] == [NOWHERE, 0, 1, NOWHERE]
    assert [clamped.place(number) for number in (-1, 0, 2, 3)] == [0, 0, 1, 1]
    assert (clamped.is_open_ended, refused.is_open_ended) == (True, False)
    assert clamped.place(math.nan) == NOWHERE
    assert (clamped.middles == refused.middles).all()


def test_the_end_of_a_circle_is_its_beginning() -> None:
    hours = Scale(tuple(map(float, range(25))), circular=True)
    assert [hours.place(hour) for hour in (0, 23.99, 24)] == [0, 23, 0]


def test_tenths_are_exact() -> None:
    tenths = Scale(tuple(j / 10 for j in range(11)))
    assert [tenths.place(j / 10) for j in range(10)] == list(range(10))
    assert tenths.labels[3] == "0.3 to 0.4"


def test_the_middle_of_an_open_ended_bucket_is_its_edge() -> None:
    assert AGES.middles.tolist() == [8.5, 41.0, 65.0]
    assert Scale((-math.inf, 0.0, 2.0)).middles.tolist() == [0.0, 1.0]


def test_a_rule_says_which_numbers_are_answers() -> None:
    assert AGES.rule() == "a whole number from 0 on"
    assert Scale((-math.inf, 0.0, 1.5)).rule() == "a number up to 1.5"
    assert Scale((0.0, 1.0, 2.0)).rule() == "a number from 0 to 2"
    assert Scale((0.0, 1.0, 2.0), outside="clamp").rule() == "a number"
    assert Scale((0.0, 1.0, 60.0), kind="durations").rule() == "a duration from 0:00:00 to 0:01:00"
    days = Scale((0.0, 1.0, 2.0), whole=True, kind="dates")
    assert days.rule() == "a date from 1970-01-01 to 1970-01-02"
    assert Scale((1.0, 3.0), kind="scores").rule() == "one of the scores 1, 3"


def test_numbers_are_shown_with_their_unit() -> None:
    assert AGES.text(41.25, 1) == "41.2 years"
    assert Scale((0.0, 1.0, 2.0)).text(1234.5, 0) == "1,234"


BAD: list[tuple[dict[str, Any], str]] = [
    ({"edges": (0.0, 2.0, 1.0)}, "edge 2 of a scale, 1, must be above the one before, 2"),
    ({"edges": (0.0, 1.0, 1.0)}, "edge 2 of a scale, 1, must be above the one before, 1"),
    ({"edges": (0.0, math.inf, 3.0)}, "edge 1 of a scale is inf: only the first edge may be -inf"),
    ({"edges": (math.inf, 0.0, 1.0)}, "edge 0 of a scale is inf"),
    ({"edges": (0.0, 1.0, math.nan)}, "edge 2 of a scale is nan"),
    ({"edges": (0.0, 1.0, 1e17)}, "edges are at most 2\\*\\*53, take larger units"),
    ({"edges": (0.0, 1.5, 2.0), "whole": True}, "edge 1 of a scale is 1.5, and edges between wh"),
    ({"edges": (0.0, 1.0)}, "has 1 bucket: add edges"),
    ({"edges": ()}, "-1 buckets: add edges"),
    ({"edges": tuple(map(float, range(MOST_BUCKETS + 2)))}, "has 1001 buckets: take wider ones"),
    ({"kind": "colours"}, "kind must be one of numbers, dates, durations, scores, not 'colours'"),
    ({"outside": "drop"}, "outside must be 'refuse' or 'clamp', not 'drop'"),
    ({"circular": True, "outside": "clamp"}, "a circular scale has neither open-ended buckets"),
    ({"circular": True, "edges": (0.0, 1.0, math.inf)}, "a circular scale has neither open-ended"),
    ({"kind": "scores", "outside": "clamp"}, "scores belong to labels"),
    ({"kind": "scores", "edges": (1.0, math.inf)}, "score 1 of a scale is inf"),
    ({"kind": "dates", "whole": True, "edges": (0.0, 1.0, 2932897.0)}, "after 9999-12-31"),
]


@pytest.mark.parametrize(("given", "said"), BAD)
def test_what_is_no_scale_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Scale(**({"edges": (0.0, 1.0, 2.0)} | given))


def test_options_of_another_type_are_refused() -> None:
    with pytest.raises(TypeError, match="whole must be True or False, not 1"):
        Scale((0.0, 1.0, 2.0), whole=1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="the unit of a scale must be text, not 5"):
        Scale((0.0, 1.0, 2.0), unit=5)  # type: ignore[arg-type]


def test_dates_go_up_to_the_last_one_that_there_is() -> None:
    last = Scale((2931802.0, 2932167.0, 2932896.0), whole=True, kind="dates")
    assert (last.labels[0], value_text(2932896.0, "dates")) == ("9997", "9999-12-31")
