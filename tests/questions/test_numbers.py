"""Questions whose answers are numbers: every form in which numbers come, and what is refused."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmurs import KRR, ORR, Joint, Question, Survey
from murmurs.estimators.numbers import NumberEstimate
from murmurs.mechanisms.designs.known import crosswise
from murmurs.survey.changes import compare_surveys
from murmurs.survey.promise import promise

AGE = Question("age", range=(0, 99), width=10, epsilon=2.0, unit="years")
TENTHS = Question("part", range=(0, 1), width=0.1, epsilon=2.0)
BORN = Question("born", range=("1990-01-01", "1999-12-31"), width="year", epsilon=2.0)
DELAY = Question("delay", edges=[0, 60, 3600, None], durations=True, epsilon=2.0)

AGES = [5, 15, 35, 99]
MISSING_AGES = [5, None, 35, 99]
DAY = dt.date(1995, 7, 1)


def pandas(values: Any, kind: Any) -> Any:
    return pd.Series(values, dtype=kind)


INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]
COLUMNS: dict[str, Any] = {
    **{f"numpy {kind}": np.array(AGES, kind) for kind in INTS + FLOATS},
    **{f"pandas {kind}": pandas(AGES, kind) for kind in [*INTS, "Int8", "UInt64", "Float32"]},
    **{f"arrow {kind}": pa.array(AGES, getattr(pa, kind)()) for kind in INTS + FLOATS[1:]},
    "arrow decimal": pa.array([Decimal(age) for age in AGES], pa.decimal128(9, 2)),
    "arrow chunks": pa.chunked_array([AGES[:1], AGES[1:]]),
    "arrow dictionary": pa.array(AGES).dictionary_encode(),
    "pandas arrow": pandas(AGES, pd.ArrowDtype(pa.int32())),
    "pandas category": pandas(AGES, "category"),
    "pandas object": pandas(AGES, object),
    "polars": pl.Series(AGES),
    "polars u8": pl.Series(AGES, dtype=pl.UInt8),
    "list": AGES,
    "tuple": tuple(AGES),
    "generator": (age for age in AGES),
    "texts": list(map(str, AGES)),
    "decimals": list(map(Decimal, AGES)),
    "numpy texts": np.array(list(map(str, AGES))),
    "labels": ["0 to 9", "10 to 19", "30 to 39", "90 to 99"],
    "mixed": [5, "15", "30 to 39", np.int8(99)],
}
WITH_MISSING: dict[str, Any] = {
    "list": MISSING_AGES,
    "nan": [5, math.nan, 35, 99],
    "numpy": np.array([5, math.nan, 35, 99]),
    "pandas float": pandas(MISSING_AGES, "float64"),
    "pandas Int64": pandas(MISSING_AGES, "Int64"),
    "pandas arrow": pandas(MISSING_AGES, pd.ArrowDtype(pa.int32())),
    "pandas category": pandas(MISSING_AGES, "category"),
    "polars": pl.Series(MISSING_AGES),
    "polars float": pl.Series([5.0, None, 35.0, 99.0]),
    "arrow": pa.array(MISSING_AGES),
    "arrow dictionary": pa.array(MISSING_AGES).dictionary_encode(),
    "arrow decimal": pa.array([Decimal(5), None, Decimal(35), Decimal(99)]),
}


@pytest.mark.parametrize("form", COLUMNS)
def test_columns_of_numbers_of_every_form_are_put_into_the_same_buckets(form: str) -> None:
    column = list(AGES) if form == "generator" else COLUMNS[form]
    given = (age for age in column) if form == "generator" else column
    assert AGE.numbers(given).tolist() == [0, 1, 3, 9]
    single = column.to_pylist() if hasattr(column, "to_pylist") else list(column)
    assert [AGE.answer(age) for age in single] == [0, 1, 3, 9]


@pytest.mark.parametrize("form", WITH_MISSING)
def test_missing_numbers_are_refused_left_out_or_named(form: str) -> None:
    column = WITH_MISSING[form]
    with pytest.raises(ValueError, match="1 of 4 answers is missing, first answer number 1"):
        AGE.encode_many(column)
    assert len(AGE.encode_many(column, drop_missing=True)) == 3
    assert AGE.numbers(column, missing="90 to 99").tolist() == [0, 9, 3, 9]


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_decimals_of_every_precision_lie_on_their_edges(kind: str) -> None:
    tenths = np.arange(10) / 10
    wanted = list(range(10))
    assert TENTHS.numbers(tenths.astype(kind)).tolist() == wanted
    assert TENTHS.numbers(list(tenths.astype(kind))).tolist() == wanted
    assert TENTHS.numbers([Decimal(j) / 10 for j in range(10)]).tolist() == wanted
    exact = pa.array([Decimal(j) / 10 for j in range(10)], pa.decimal128(9, 5))
    assert TENTHS.numbers(exact).tolist() == wanted


@given(st.lists(st.integers(-20, 130), min_size=1, max_size=30))
def test_a_column_is_read_like_its_numbers_one_by_one(ages: list[int]) -> None:
    clamped = Question("age", range=(0, 99), width=10, epsilon=2.0, outside="clamp")
    by_hand = [min(max(age, 0), 99) // 10 for age in ages]
    assert clamped.numbers(np.array(ages)).tolist() == by_hand
    assert clamped.numbers(ages).tolist() == by_hand
    assert [clamped.answer(age) for age in ages] == by_hand


DAYS: dict[str, Any] = {
    "dates": [DAY],
    "datetimes": [dt.datetime(1995, 7, 1, 23, 59)],
    "text": ["1995-07-01"],
    "numpy": np.array(["1995-07-01"], "datetime64[D]"),
    "pandas": pd.Series(["1995-07-01"], dtype="datetime64[ns]"),
    "pandas with a zone": pd.Series([pd.Timestamp("1995-07-01 23:00", tz="Asia/Tokyo")]),
    "polars": pl.Series([DAY]),
    "arrow": pa.array([DAY]),
    "arrow time stamps": pa.array([dt.datetime(1995, 7, 1, 23)], pa.timestamp("us")),
    "label": ["1995"],
}


@pytest.mark.parametrize("form", DAYS)
def test_dates_of_every_form_are_put_into_their_year(form: str) -> None:
    assert BORN.numbers(DAYS[form]).tolist() == [5]


def test_time_stamps_of_arrow_count_on_the_day_where_they_were_written_down() -> None:
    newyear = dt.datetime(1995, 1, 1, 3, tzinfo=dt.UTC)
    there = pa.array([newyear], pa.timestamp("us", "America/New_York"))
    assert BORN.numbers(there).tolist() == [4]
    assert BORN.numbers(pa.array([newyear], pa.timestamp("us", "UTC"))).tolist() == [5]


SECONDS: dict[str, Any] = {
    "numbers": [90],
    "text": ["0:01:30"],
    "timedelta": [dt.timedelta(seconds=90)],
    "numpy": np.array([90], "timedelta64[s]"),
    "numpy numbers": np.array([90.0]),
    "pandas": pd.Series([dt.timedelta(seconds=90)]),
    "polars": pl.Series([dt.timedelta(seconds=90)]),
    "arrow": pa.array([dt.timedelta(seconds=90)]),
}


@pytest.mark.parametrize("form", SECONDS)
def test_durations_of_every_form_are_seconds(form: str) -> None:
    assert DELAY.numbers(SECONDS[form]).tolist() == [1]


def test_years_are_no_durations() -> None:
    years = np.array([1, 1], "timedelta64[Y]")
    with pytest.raises(ValueError, match="2 of 2 answers to question 'delay' are not a duration"):
        DELAY.encode_many(years)
    with pytest.raises(ValueError, match="this is not an answer to 'delay'"):
        DELAY.encode(years[0])


STRANGE: dict[str, Any] = {
    "outside": [5, 171],
    "negative": [5, -71],
    "a fraction": [5, 71.5],
    "numpy fraction": np.array([5, 71.5]),
    "numpy outside": np.array([5, 171], np.uint8),
    "infinite": [5, math.inf],
    "numpy infinite": np.array([5, math.inf]),
    "text": [5, "secret71"],
    "bool": [5, True],
    "bytes": [5, b"71"],
    "date": [5, dt.date(1971, 1, 1)],
    "list": [5, [71]],
    "label of another scale": [5, "71 to 75"],
    "pandas": pd.Series([5, 171]),
    "polars": pl.Series([5, 171]),
    "arrow": pa.array([5, 171]),
}


@pytest.mark.parametrize("form", STRANGE)
def test_what_is_no_answer_is_refused_by_position_and_not_quoted(form: str) -> None:
    column = STRANGE[form]
    with pytest.raises(ValueError, match="1 of 2 answers to question 'age' is not a whole") as e:
        AGE.encode_many(column)
    assert "number from 0 to 99, first answer number 1 (from 0): correct them" in str(e.value)
    with pytest.raises(ValueError, match="not an answer to 'age'; an answer is a whole num") as one:
        AGE.encode(column[1].as_py() if isinstance(column, pa.Array) else column[1])
    assert "71" not in str(e.value) + str(one.value)
    assert AGE.numbers(column, unknown="90 to 99").tolist() == [0, 9]


def test_columns_of_truth_values_are_refused() -> None:
    for column in (np.array([True]), pd.Series([True]), pl.Series([True]), pa.array([True])):
        with pytest.raises(ValueError, match="1 of 1 answers to question 'age' is not a whole num"):
            AGE.encode_many(column)


def test_numbers_are_no_dates_and_no_durations() -> None:
    for column in ([8000], np.array([8000])):
        with pytest.raises(ValueError, match="is not a date from 1990-01-01 to 1999-12-31"):
            BORN.encode_many(column)
    with pytest.raises(ValueError, match="is not a duration from 0:00:00 on"):
        DELAY.encode_many([-1])


def test_tables_and_single_numbers_are_refused() -> None:
    frame = pd.DataFrame({"age": [1]})
    for column in (frame, pl.from_pandas(frame), np.zeros((2, 2)), 5, "5", {5: 1}):
        with pytest.raises(TypeError, match="answers are"):
            AGE.encode_many(column)


def test_people_are_drawn_by_their_numbers() -> None:
    rng = np.random.default_rng(1)
    people = {31: 3, 35: 4, "0 to 9": 5, Decimal(99): 6}
    exact = Question("age", range=(0, 99), width=10, mechanism=KRR(10, 30.0))
    wanted = [5, 0, 0, 7, 0, 0, 0, 0, 0, 6]
    assert exact.simulate(people, rng).cells.tolist() == wanted
    assert exact.simulate(pd.Series([31] * 7 + [5] * 5 + [99] * 6).value_counts(), rng).n == 18
    assert exact.simulate(wanted, rng).cells.tolist() == wanted
    with pytest.raises(ValueError, match="people has 171, which is no answer to question 'age': a"):
        exact.simulate({171: 1}, rng)
    with pytest.raises(ValueError, match="the number of people at 31 must be from 0"):
        exact.simulate({31: -1}, rng)


def test_numbers_that_were_randomised_on_paper_are_counted() -> None:
    paper = Question("age", range=(0, 29), width=10, mechanism=KRR(3, 1.0))
    assert paper.count_reported([5, "12", "20 to 29", None], drop_missing=True).cells.tolist() == [
        1,
        1,
        1,
    ]
    assert paper.count_reported({"0 to 9": 4, "20 to 29": 2}).cells.tolist() == [4, 0, 2]
    with pytest.raises(ValueError, match="is not a whole number from 0 to 29"):
        paper.count_reported([71])


def test_an_estimate_knows_its_scale() -> None:
    est = AGE.estimate(AGE.simulate({25: 500, 35: 500}, np.random.default_rng(1)))
    assert isinstance(est, NumberEstimate)
    assert est.scale is AGE.scale
    assert est.ordered
    assert 25 < est.mean().value < 35


@pytest.mark.parametrize("once", [False, True])
def test_the_margin_of_a_number_in_a_joint_has_its_mean(once: bool) -> None:
    sex = Question("sex", ["f", "m"], epsilon=2.0)
    both = Joint(AGE, sex, once=once, epsilon=4.0 if once else None)
    rng = np.random.default_rng(1)
    columns = (np.array([25] * 2000 + [45] * 2000), ["f", "m"] * 2000)
    est = both.estimate(both.count(both.encode_many(columns, rng))).margin("age")
    assert isinstance(est, NumberEstimate)
    found = est.mean(1 - 1e-7)  # a mean of 35, which is left out once in 1e7
    assert found.low < 34.5 < found.high
    assert both.answer((25, "f")) == both.answer(("20 to 29", "f"))


def test_documents_are_read_back() -> None:
    open_ended = Question("pay", edges=[-math.inf, 0, 9.5, math.inf], epsilon=1.0, unit="€")
    hours = Question("hour", range=(0, 24), width=1, whole=False, circular=True, epsilon=1.0)
    named = Question("pay", ["low", "high"], edges=[0, 10, 99], outside="clamp", epsilon=1.0)
    scores = Question("meal", ["bad", "good"], ordered=True, scores=[0, 10], epsilon=1.0)
    asked = (open_ended, hours, named, scores, AGE, TENTHS, BORN, DELAY)
    for question in asked:
        survey = Survey("s", (question,))
        again = Survey.from_json(survey.to_json())
        assert again.questions == (question,)
        assert again.fingerprint == survey.fingerprint
        assert again.questions[0].scale == question.scale
    first = asked[0].to_document()
    assert (first["edges"], first["unit"], first["whole"]) == ([None, 0, 9.5, None], "€", False)
    assert BORN.to_document()["edges"][:2] == ["1990-01-01", "1991-01-01"]


def test_a_survey_file_has_ranges_and_edges() -> None:
    survey = Survey.from_toml(
        """
        name = "s"
        [[questions]]
        name = "pay"
        edges = [-inf, 0, 1000, inf]
        epsilon = 1.0
        [[questions]]
        name = "born"
        range = [1990-01-01, 1999-12-31]
        width = "year"
        mechanism = {name = "KRR", epsilon = 1.0}
        [[questions]]
        name = "part"
        range = [0, 1]
        width = 0.1
        epsilon = 1.0
        """
    )
    assert survey.question("pay").labels == ("-1 or less", "0 to 999", "1000 or more")
    assert survey.question("born").mechanism == KRR(10, 1.0)
    assert survey.question("part").scale == TENTHS.scale


def test_ordered_labels_without_scores_are_written_as_ever() -> None:
    survey = Survey.from_toml(
        """
        name = "meals"
        [[questions]]
        name = "taste"
        labels = ["1", "2", "3"]
        ordered = true
        mechanism = {name = "KRR", epsilon = 1.0}
        [[questions]]
        name = "again"
        labels = ["never", "often"]
        ordered = true
        epsilon = 1.0
        """
    )
    assert survey.fingerprint.startswith("c56c6eef9e0f9c3f")  # from before there were scales
    assert list(survey.question("taste").to_document())[-1] == "ordered"


def edited(**new: Any) -> tuple[list[tuple[str, str]], tuple[str, ...]]:
    usual: dict[str, Any] = {"range": (0, 99), "width": 10, "mechanism": KRR(10, 1.0)}
    old = Survey("s", (Question("age", **usual),))
    usual.update(new)
    found = compare_surveys(old, Survey("s", (Question("age", **usual),)))
    return [(change.kind, change.what) for change in found.changes], found.addable


def test_an_edit_of_buckets_breaks_and_one_of_their_meaning_does_not() -> None:
    breaks, harmless = [("breaks", "the buckets of 'age'")], [("harmless", "the scale of 'age'")]
    assert edited(range=(1, 100)) == (breaks, ())
    assert edited(outside="clamp") == (breaks, ())
    assert edited(unit="years") == (harmless, ("age",))
    assert edited(circular=True) == (harmless, ("age",))
    assert edited(width=5, mechanism=KRR(20, 1.0))[0][0] == breaks[0]
    assert edited(labels=list("abcdefghij"))[0] == breaks


def test_edges_count_although_labels_hide_them() -> None:
    def named(*edges: float) -> Survey:
        mechanism = KRR(2, 1.0)
        return Survey("s", (Question("pay", ["low", "high"], mechanism, edges=list(edges)),))

    found = compare_surveys(named(0, 10, 99), named(0, 20, 99))
    assert [change.what for change in found.changes] == ["the buckets of 'pay'"]
    assert found.addable == ()


def test_scores_may_change() -> None:
    def scored(*scores: float) -> Survey:
        labels, mechanism = ["bad", "good"], KRR(2, 1.0)
        return Survey("s", (Question("meal", labels, mechanism, ordered=True, scores=scores),))

    found = compare_surveys(scored(0, 1), scored(0, 10))
    assert [(change.kind, change.what) for change in found.changes] == [
        ("harmless", "the scale of 'meal'")
    ]
    assert found.addable == ("meal",)


def test_labels_of_buckets_must_fit_them() -> None:
    with pytest.raises(ValueError, match="question 'pay' has 3 labels for 2 buckets: give one for"):
        Question("pay", ["a", "b", "c"], edges=[0, 10, 99], epsilon=1.0)
    with pytest.raises(
        ValueError, match="label 1 of question 'pay' is '5', which is a number of t"
    ):
        Question("pay", ["no", "5"], edges=[0, 10, 99], epsilon=1.0)
    with pytest.raises(ValueError, match="has the label 'a' twice"):
        Question("pay", ["a", "a"], edges=[0, 10, 99], epsilon=1.0)
    assert Question("pay", ["5", "50"], edges=[0, 10, 99], epsilon=1.0).answer(7) == 0


def test_what_numbers_do_not_go_with_is_refused() -> None:
    with pytest.raises(ValueError, match="has numbers for answers: it cannot be open, too"):
        Question("pay", range=(0, 9), epsilon=1.0, open=True)
    with pytest.raises(ValueError, match="has numbers for answers: it cannot be open, too"):
        Question("pay", mechanism=ORR(1.0, width=8, cohorts=8), range=(0, 9))
    with pytest.raises(ValueError, match="has 10 labels, but its mechanism KRR"):
        Question("pay", mechanism=KRR(3, 1.0), range=(0, 9))
    with pytest.raises(ValueError, match="people must be from 1"):
        Question("pay", range=(0, 9), epsilon=1.0, people=0)


def test_an_ordered_design_has_scores_too() -> None:
    design = crosswise("1/4")
    assert Question("cheated", mechanism=design, ordered=True).scale is not None
    asked = Question("cheated", mechanism=design, edges=[0, 1, 9], labels=["few", "many"])
    assert (asked.answer(5), asked.closed.k) == (1, 2)


def test_a_scale_with_labels_survives_another_mechanism() -> None:
    other = AGE.with_mechanism(KRR(10, 1.0))
    assert (other.scale, other.answer(35), other == AGE) == (AGE.scale, 3, False)


def test_a_changed_copy_keeps_its_scale() -> None:
    asked = (
        AGE,
        Question("pay", ["low", "high"], edges=[0, 10, 99], epsilon=1.0),
        Question("meal", ["bad", "good"], ordered=True, scores=[0, 10], epsilon=1.0),
    )
    for question in asked:
        copied = replace(question, text="How much?")
        assert (copied.scale, copied.labels) == (question.scale, question.labels)
    assert replace(asked[2], ordered=False).scale is None
    with pytest.raises(ValueError, match="has a scale: leave out what else describes one"):
        Question("age", scale=AGE.scale, width=10, epsilon=1.0)


def test_a_report_depends_on_the_bucket_alone_as_is_promised() -> None:
    for seed in range(50):
        reports = {
            AGE.mechanism.shape.pack(AGE.encode(age, np.random.default_rng(seed)))
            for age in range(30, 40)
        }
        assert len(reports) == 1
    said = promise(Survey("s", (AGE,)), AGE)
    assert "Of a number, no report says more than in which of 10 buckets it is." in said
    drink = Question("drink", ["tea", "mate"], epsilon=1.0)
    assert "number" not in promise(Survey("s", (drink,)), drink)
