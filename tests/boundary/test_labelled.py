"""Numbers that come with labels go where their labels say, or are refused; never by position."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import murmurs as mm
from murmurs import KRR, ORR, CountMeanSketch, Counts, Hadamard, ProjectiveGeometry

RR = KRR(k=4, epsilon=1.0)
ANSWERS = [2] * 5 + [0] * 3 + [3] * 7 + [1] * 1
OVER = ORR(epsilon=2.0, width=4, cohorts=8).over(["tea", "Z\u00fcrich", "mate"])
DRINKS = ["mate"] * 5 + ["(other)"] * 3 + ["tea"] * 7 + ["Zu\u0308rich"]


def labelled_forms(values: list[Any]) -> list[Any]:
    """Counts of values as people have them, the commonest first."""
    series = pd.Series(values).value_counts()
    assert series.tolist() == [7, 5, 3, 1]
    return [
        series,
        series.astype("Int64"),
        series.astype("uint8"),
        Counter(values),
        dict(series),
        series.to_dict(),
        pl.Series("v", values).value_counts(sort=True),
        pl.DataFrame({"v": values}).group_by("v").len(),
    ]


def seen(mechanism: Any, histogram: Any) -> list[int]:
    """The histogram that a simulation would have."""
    return [int(x) for x in mechanism.check_histogram(histogram)]


def test_counts_of_numbers_are_matched_by_number() -> None:
    for form in labelled_forms(ANSWERS):
        assert seen(RR, form) == [3, 1, 5, 7]


def test_counts_of_strings_are_matched_by_label_where_labels_are_known() -> None:
    assert OVER.labels == ("tea", "Z\u00fcrich", "mate", "(other)")
    for form in labelled_forms(DRINKS):
        assert seen(OVER, form) == [7, 1, 5, 3]


def test_a_simulation_and_counts_take_them() -> None:
    series = pd.Series(ANSWERS).value_counts()
    plain = RR.simulate([3, 1, 5, 7], np.random.default_rng(1))
    assert RR.simulate(series, np.random.default_rng(1)) == plain
    cells: Any = series
    assert Counts(RR, 16, cells).cells.tolist() == [3, 1, 5, 7]
    # In the order in which they stand, the first answer would have 7.
    assert series.to_numpy().tolist() == [7, 5, 3, 1]


def test_answers_that_nobody_has_need_not_be_there() -> None:
    series = pd.Series([3, 3, 1]).value_counts()
    assert seen(RR, series) == [0, 1, 0, 2]
    assert seen(RR, {}) == [0, 0, 0, 0]
    cells: Any = series
    assert Counts(RR, 3, cells).cells.tolist() == [0, 1, 0, 2]


def test_a_series_whose_index_counts_up_is_in_order() -> None:
    assert seen(RR, pd.Series([3, 1, 5, 7])) == [3, 1, 5, 7]
    assert seen(OVER, pd.Series([3, 1, 5, 7])) == [3, 1, 5, 7]


def test_what_has_no_labels_is_taken_by_position() -> None:
    for plain in ([3, 1, 5, 7], (3, 1, 5, 7), np.array([3, 1, 5, 7]), pl.Series([3, 1, 5, 7])):
        assert seen(RR, plain) == [3, 1, 5, 7]


@pytest.mark.parametrize("form", labelled_forms(DRINKS), ids=lambda form: type(form).__name__)
def test_labels_of_a_mechanism_of_numbers_are_refused_with_a_way_out(form: Any) -> None:
    message = (
        r"^histogram has the label '.*', but KRR\(k=4, epsilon=1.0\) has the numbers 0\.\.3: put "
        r"the values in their order, as with series\.reindex\(question\.labels, fill_value=0\)\.to"
    )
    with pytest.raises(ValueError, match=message):
        RR.simulate(form)
    with pytest.raises(ValueError, match=message.replace("histogram", "cells")):
        Counts(RR, 16, form)


def test_the_way_out_works() -> None:
    question = mm.Question("drink", ("tea", "mate", "beer"), KRR(k=3, epsilon=1.0))
    series = pd.Series(["mate"] * 5 + ["tea"] * 3).value_counts()
    ordered = series.reindex(question.labels, fill_value=0).to_numpy()
    assert seen(question.mechanism, ordered) == [3, 5, 0]


@pytest.mark.parametrize(
    ("mechanism", "wrong", "message"),
    [
        (RR, {4: 1}, "histogram has the label 4, which is not one of 0..3 of KRR(k=4, epsilon=1"),
        (RR, {-1: 1}, "histogram has the label -1, which is not one of 0..3 of KRR"),
        (RR, {0.0: 1}, "histogram has the label 0.0, which is not one of 0..3 of KRR"),
        (RR, {True: 1}, "histogram has the label True, which is not one of 0..3 of KRR"),
        (RR, {None: 1}, "histogram has the label None, which is not one of 0..3 of KRR"),
        (RR, {"1": 1}, "histogram has the label '1', but KRR"),
        (RR, {"x" * 10**6: 1}, "histogram has the label 'xxxxxxxx"),
        (RR, pd.Series([1, 2], [0, 0]), "histogram has the label 0 twice"),
        (RR, pd.Series([1], [4]), "histogram has the label 4, which is not one of 0..3"),
        (RR, pd.Series([1.0], [2.0]), "histogram has the label 2.0, which is not one of 0..3"),
        (OVER, {"milk": 1}, "histogram has the label 'milk', which is not an answer of ORR"),
        (OVER, {"tea": 1, 0: 2}, "histogram has the label 0 twice"),
        (OVER, {4: 1}, "histogram has the label 4, which is not an answer of ORR"),
        (RR, pd.DataFrame({"v": [0], "n": [1]}), "histogram has the columns ['v', 'n']: pass"),
        (RR, pl.DataFrame({"v": [0]}), "histogram has the columns ['v']: pass one column"),
    ],
    ids=str,
)
def test_other_labels_are_refused(mechanism: Any, wrong: Any, message: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the message is looked for below
        mechanism.simulate(wrong)
    assert message in str(error.value)
    assert len(str(error.value)) < 300


def test_labelled_values_are_checked_as_others_are() -> None:
    with pytest.raises(TypeError, match="histogram must be whole numbers, number 2 is of type flo"):
        RR.simulate({2: 0.5})
    with pytest.raises(ValueError, match="histogram has -1 people at answer 2"):
        RR.simulate({2: -1})


def test_points_are_matched_by_number() -> None:
    pgr = ProjectiveGeometry(k=6, epsilon=1.0, q=2, t=3)
    reports = [6, 6, 6, 0, 0, 2]
    cells: Any = pd.Series(reports).value_counts()
    assert Counts(pgr, 6, cells) == pgr.count(reports)


@pytest.mark.parametrize(
    "mechanism",
    [Hadamard(k=5, epsilon=1.0, blocks=2), CountMeanSketch(k=3, epsilon=1.0, rows=2, width=3)],
    ids=repr,
)
def test_tables_have_no_labels(mechanism: Any) -> None:
    counts = mechanism.simulate([2] * mechanism.k, np.random.default_rng(1))
    cells = counts.cells
    plain: Any = pd.DataFrame(cells)
    assert Counts(mechanism, counts.n, plain) == counts
    wrong: list[Any] = [
        plain[::-1],
        plain.rename(columns=str),
        plain.T.set_index(pd.Index(list("abcd"))).T,
        pl.DataFrame(cells),
        pd.Series(cells.ravel()),
        {0: 1},
    ]
    for form in wrong:
        with pytest.raises(ValueError, match=r"must be a table without labels: pass an array"):
            Counts(mechanism, counts.n, form)


def test_reports_are_not_taken_from_what_is_counted_already() -> None:
    for wrong in (Counter([0, 1, 1]), {0: 1}, pd.DataFrame({0: [1], 1: [1]})):
        with pytest.raises(TypeError, match=r"not .*: if they are counted already, use Counts"):
            RR.count(wrong)
    with pytest.raises(TypeError, match="answers must be a list or an array, not Counter"):
        RR.encode_many(Counter([0, 1, 1]))
    with pytest.raises(TypeError, match="one per person, not Counter: over"):
        OVER.mechanism.encode_many(Counter(["tea", "tea"]))
