"""Designs: the formulas of survey research, exact epsilon, and matrices that are refused."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.stats

import murmurs as mm
from murmurs.mechanisms import from_document
from murmurs.mechanisms.designs.design import as_probability
from tests.goodness import FALSE_ALARM, p_value

N, YES = 1000, 380
LAMBDA = YES / N

TEXTBOOK: list[tuple[mm.Design, float, float]] = [
    # Warner (1965), p of the statement as asked.
    (mm.warner(0.7), (LAMBDA + 0.7 - 1) / 0.4, 0.4),
    (mm.warner("1/5"), (LAMBDA + 0.2 - 1) / -0.6, 0.6),
    # Boruch (1971), forced yes and forced no.
    (mm.forced_response("1/6", "1/12"), (LAMBDA - 1 / 6) / 0.75, 0.75),
    # Greenberg et al. (1969), the share of yes to the unrelated question is known.
    (mm.unrelated_question("7/10", "1/12"), (LAMBDA - 0.3 / 12) / 0.7, 0.7),
    # Yu, Tian and Tang (2008).
    (mm.crosswise("1/4"), (LAMBDA + 0.25 - 1) / -0.5, 0.5),
    (mm.triangular("1/4"), 1 - (1 - LAMBDA) / 0.75, 0.75),
]


@pytest.mark.parametrize(("design", "share", "slope"), TEXTBOOK)
def test_estimates_and_standard_errors_are_those_of_the_textbook(
    design: mm.Design, share: float, slope: float
) -> None:
    """pi = a linear function of lambda; its variance lambda (1 - lambda) / (n slope^2)."""
    est = mm.estimate(mm.Counts(design, N, np.array([YES, N - YES])), "unbiased")
    assert est.shares == pytest.approx([share, 1 - share], rel=1e-12)
    error = math.sqrt(LAMBDA * (1 - LAMBDA) / N) / slope
    assert est.standard_errors("population") == pytest.approx([error, error], rel=1e-9)
    likely = mm.estimators.likelihood(mm.Counts(design, N, np.array([YES, N - YES])))
    assert likely.shares == pytest.approx([share, 1 - share], abs=0.02)


@pytest.mark.parametrize(
    ("design", "ratio"),
    [
        (mm.warner("3/4"), 3),
        (mm.warner(0.1), 9),
        (mm.forced_response("1/6", "1/6"), 5),
        (mm.forced_response("1/10", "1/2"), 5),  # yes: 1/2 to 1/10; no: 1/2 to 9/10
        (mm.unrelated_question("1/2", "1/2"), 3),
        (mm.crosswise("1/3"), 2),
        (mm.dice("1/2", ["a", "b", "c"]), 4),
    ],
)
def test_epsilon_is_the_logarithm_of_the_exact_ratio(design: mm.Design, ratio: int) -> None:
    assert design.ratio == ratio
    assert math.log(ratio) <= design.epsilon <= math.nextafter(math.log(ratio), math.inf)
    assert design.epsilon == design.epsilon_realised


def test_a_report_that_rules_an_answer_out_makes_epsilon_infinite() -> None:
    design = mm.triangular("1/4")
    assert (design.epsilon, design.is_private) == (math.inf, False)
    with pytest.raises(ValueError, match="is not private: some report rules an answer out"):
        design.ratio  # noqa: B018
    assert from_document(design.to_document()) == design


def test_dice_is_k_ary_randomised_response() -> None:
    scale = mm.dice("1/2", ["never", "rarely", "often", "always"])
    channel = mm.KRR(4, scale.epsilon).channel
    assert float(scale.matrix[0][0]) == pytest.approx(float(channel.hit), rel=1e-12)
    people = np.array([400, 300, 200, 100])
    np.testing.assert_allclose(scale.channel.variance(people), channel.variance(people), rtol=1e-9)


def test_more_reports_than_answers_are_used_by_least_squares() -> None:
    """False-alarm rate 1e-6 for each share. Rejected: twice the variance."""
    design = mm.Design([[0.5, 0.1], [0.4, 0.4], [0.1, 0.5]])
    rng = np.random.default_rng(1)
    found = [mm.estimate(design.simulate([300, 700], rng), "unbiased").shares for _ in range(2000)]
    mean, deviation = np.mean(found, axis=0), np.std(found, axis=0, ddof=1)
    assert (np.abs(mean - [0.3, 0.7]) < 4.9 * deviation / math.sqrt(2000)).all()
    wanted = design.channel.variance(np.array([300, 700]))
    ratio = deviation**2 / wanted  # a chi-square number over its degrees of freedom
    low, high = scipy.stats.chi2.ppf([5e-7, 1 - 5e-7], 1999) / 1999
    assert ((low < ratio) & (ratio < high)).all()
    assert not (low < 2 * ratio).all() or not (2 * ratio < high).all()


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[0.5, 0.2], [0.5, 0.7]], r"column 1 of the matrix sums to 0\.\d+, not to 1: columns are"),
        ([[0.5, 0.5], [0.5, 0.5]], r"cannot be inverted.*\(columns 0 and 1 are equal\)"),
        ([[0.2, 0.4, 0.3], [0.3, 0.1, 0.2], [0.5, 0.5, 0.5]], "cannot be inverted"),
        ([[1, 1], [0, 0]], "row 1 of the matrix is all zero: leave that report out"),
        ([[0.5, 0.5]], "at least as many reports"),
        ([[0.5], [0.5]], "at least two answers"),
        ([[0.5, 0.5], [0.5]], "rows of the same length"),
        ([], "at least one row"),
        ([[1.5, 0], [-0.5, 1]], "row 0, column 0 must be from 0 to 1, not '3/2'"),
        ([[float("nan"), 0], [0, 1]], "row 0, column 0 must be a probability"),
        ([["a third", 0], ["2/3", 1]], "such as 0.25 or '1/6', not 'a third'"),
        ([["1/0", 0], ["2/3", 1]], "such as 0.25 or '1/6', not '1/0'"),
    ],
)
def test_a_matrix_that_is_no_design_is_refused(matrix: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mm.Design(matrix)


@pytest.mark.parametrize("wrong", [None, True, [0.5], b"1/2"])
def test_what_is_no_probability_is_refused_by_its_type(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"p must be a probability, such as 0\.25 or '1/6'"):
        as_probability(wrong, "p")


def test_computed_probabilities_are_rounded_to_sum_to_one() -> None:
    """Their epsilon is exact for the rounded ones, and within rounding what was meant."""
    weights = np.exp(-1.3 * np.abs(np.arange(5)[:, None] - np.arange(5)))
    design = mm.Design((weights / weights.sum(axis=0)).tolist())
    assert all(sum(row[c] for row in design.matrix) == 1 for c in range(5))
    meant = weights / weights.sum(axis=0)
    np.testing.assert_allclose(design.channel.matrix().T, meant, rtol=1e-12)
    ratio = max(meant.max(axis=1) / meant.min(axis=1))
    assert design.epsilon == pytest.approx(math.log(ratio), rel=1e-9)
    with pytest.raises(ValueError, match=r"sums to 1\.00000001, not to 1"):
        mm.Design([[0.50000001, 0.5], [0.5, 0.5]])


def test_floats_stand_for_the_decimals_they_print_as() -> None:
    assert mm.Design([[0.1, 0.7], [0.9, 0.3]]).matrix[0] == (Fraction(1, 10), Fraction(7, 10))
    assert mm.Design([[1 / 3, 0.5], [2 / 3, 0.5]]).matrix[0] == (Fraction(1, 3), Fraction(1, 2))
    assert mm.warner(np.float64(0.7)).matrix[0][0] == Fraction(7, 10)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mm.warner("1/2"), "p must not be 1/2: a fair coin says nothing"),
        (lambda: mm.warner(1.2), "p must be from 0 to 1"),
        (lambda: mm.forced_response(0.5, 0.5), r"yes \+ no must be below 1, not 1"),
        (lambda: mm.unrelated_question(0, 0.5), "p must be above 0"),
        (lambda: mm.triangular(1), "p must be below 1"),
        (lambda: mm.dice(0, ["a", "b"]), "truth must be above 0"),
        (lambda: mm.dice(0.5, ["a"]), "a scale has at least two answers, not 1"),
        (lambda: mm.Design(mm.warner(0.7).matrix, labels=["a"]), "1 labels do not fit"),
        (lambda: mm.Design(mm.warner(0.7).matrix, labels=["a", "a"]), "must differ"),
        (lambda: mm.warner(0.7, ["\u00e9", "e\u0301"]), "labels of a design must differ"),
        (lambda: mm.warner(0.7, ["yes", " "]), "label 1 of a design is empty"),
    ],
)
def test_impossible_designs_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_long_denominators_are_drawn_exactly() -> None:
    """Chi-square test at the false-alarm rate of `goodness`; the reversed column is rejected."""
    p = Fraction(10**17 // 3, 10**17)
    design = mm.Design([[p, 1 - p], [1 - p, p]])
    reports = design.encode_many(np.zeros(40_000, np.int64), np.random.default_rng(1)).tolist()
    assert p_value(reports, {0: p, 1: 1 - p}) > FALSE_ALARM
    assert p_value(reports, {0: 1 - p, 1: p}) < FALSE_ALARM


@pytest.mark.parametrize(
    "document",
    [
        {"name": "Warner", "p": 0.75},
        {"name": "ForcedResponse", "yes": "1/6", "no": "1/6"},
        {"name": "UnrelatedQuestion", "p": "7/10", "known": "1/12"},
        {"name": "Crosswise", "p": "1/4"},
        {"name": "Triangular", "p": "1/4"},
        {"name": "Dice", "truth": "1/2", "labels": ["a", "b", "c"]},
        {"name": "Design", "matrix": [["3/4", 0.25], [0.25, "3/4"]]},
    ],
)
def test_designs_can_be_asked_for_in_a_survey(document: dict[str, Any]) -> None:
    made = from_document(document)
    assert isinstance(made, mm.Design)
    assert from_document(made.to_document()) == made


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"name": "Warner"}, "^Warner needs p$"),
        ({"name": "Warner", "p": 0.75, "q": 1}, "^Warner has no parameter 'q'; it has p, labels$"),
        ({"name": "Warner", "p": None}, "p must be a probability"),
        ({"name": "Design", "matrix": 3}, "the rows of a matrix are a list|must be"),
    ],
)
def test_a_wrong_document_is_refused(document: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_document(document)


@pytest.mark.parametrize(
    "design",
    [
        mm.triangular("1/4"),
        mm.forced_response("1/6", 0),
        mm.unrelated_question("1/2", 0),
        mm.Design([["1/2", 0, 0], ["1/2", "1/2", "1/4"], [0, "1/2", "3/4"]]),
        mm.Design(np.eye(3).tolist()),
    ],
    ids=repr,
)
def test_intervals_cover_where_an_absent_answer_has_no_noise(design: mm.Design) -> None:
    """600 collections of 500 people: below 91 % or above 99.9 % has a probability of 1e-5.

    Rejected: limits that are not numbers, which such designs had, and intervals of half the width.
    """
    rng, law = np.random.default_rng(1), np.arange(design.k, 0.0, -1)
    law /= law.sum()
    covered = half = 0.0
    for _ in range(600):
        est = mm.estimate(design.simulate(rng.multinomial(500, law), rng), "unbiased")
        low, high = est.interval(0.95)
        covered += float(np.mean((low <= law) & (law <= high)))
        half += float(np.mean(np.abs(est.unbiased - law) <= (high - low) / 4))
    assert 0.91 < covered / 600 < 0.999
    assert half / 600 < 0.8
    absent = mm.estimate(design.simulate([500] + [0] * (design.k - 1), rng))
    assert np.isfinite(absent.interval()).all()
    assert "nan" not in str(absent)


@pytest.mark.parametrize(
    "text", ["1e-9999999", "1e9999999", "0." + "1" * 5000, "\u0661/\u0662", "1_0/2_0"]
)
def test_a_probability_that_is_not_plainly_written_is_refused_at_once(text: str) -> None:
    with pytest.raises(ValueError, match="p must be a probability"):
        mm.warner(text)


def test_the_inverse_of_a_nearly_singular_design_is_accurate() -> None:
    e = Fraction(1, 10**6)
    design = mm.Design([[e + Fraction(1, 2), "1/2"], [Fraction(1, 2) - e, "1/2"]])
    shares = np.array([0.25, 0.75])
    found = design.channel.invert(1000 * design.channel.mean(shares), 1000)
    np.testing.assert_allclose(found, shares, rtol=1e-8)
    with pytest.raises(ValueError, match="cannot be inverted"):
        mm.Design([[Fraction(1, 10**12) + Fraction(1, 2), "1/2"], ["0.499999999999", "1/2"]])


def test_labels_are_not_exchanged_when_the_design_knows_them() -> None:
    counts = mm.warner(0.75).simulate([1000, 9000], np.random.default_rng(1))
    with pytest.raises(ValueError, match="have the labels 'yes', 'no': leave labels out"):
        mm.estimate(counts, labels=["no", "yes"])


@pytest.mark.parametrize(
    "make",
    [
        partial(mm.forced_response, "1/3", "1/6"),
        partial(mm.unrelated_question, "7/10", "1/12"),
        partial(mm.crosswise, "1/4"),
        partial(mm.triangular, "1/4"),
    ],
)
def test_the_label_for_yes_comes_first(make: Any) -> None:
    """With no first, the shares of yes and no would be exchanged."""
    for labels in (["no", "yes"], ["No", "Yes"], ["False", "True"]):
        with pytest.raises(ValueError, match="put the label for yes first"):
            make(labels=labels)
    assert make(labels=["Yes", "No"]).labels == ("Yes", "No")
    assert make(labels=["cheated", "did not"]).labels == ("cheated", "did not")
    assert mm.warner(0.7, labels=["no", "yes"]).labels == ("no", "yes")  # the same either way


def test_a_survey_file_names_yes_first_too() -> None:
    text = """name = "s"
    [[questions]]
    name = "cheated"
    labels = ["no", "yes"]
    mechanism = {name = "Crosswise", p = "1/4"}"""
    with pytest.raises(ValueError, match="put the label for yes first"):
        mm.Survey.from_toml(text)
    assert mm.Survey.from_toml(text.replace('"no", "yes"', '"yes", "no"'))["cheated"].labels


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_the_rows_of_a_data_frame_are_reports(frame: Any) -> None:
    """A loop over a frame of polars returns its columns, and over one of pandas their names."""
    turning = [[0.6, 0.3, 0.1], [0.1, 0.6, 0.3], [0.3, 0.1, 0.6]]
    columns = {name: [row[j] for row in turning] for j, name in enumerate("abc")}
    assert mm.Design(frame(columns)) == mm.Design(turning)
    texts = {name: [str(x) for x in column] for name, column in columns.items()}
    assert mm.Design(frame(texts)) == mm.Design(turning)


def test_a_small_matrix_is_shown_and_a_large_one_described() -> None:
    assert repr(mm.warner(0.75)) == "Design([['3/4', '1/4'], ['1/4', '3/4']])"
    assert mm.Design([["3/4", "1/4"], ["1/4", "3/4"]], ("yes", "no"), ("yes", "no")) == mm.warner(
        0.75
    )
    assert repr(mm.dice("1/2", list("abcd"))) == "Design(4 reports of 4 answers)"
    p = Fraction(10**17 // 3, 10**17)
    long = mm.Design([[p, 1 - p], [1 - p, p]])
    assert repr(long) == "Design(2 reports of 2 answers)"
