"""Joint tables: margins, noise and tests agree with brute force, and what is drawn says so."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from matplotlib.colors import to_hex
from scipy.stats import chi2_contingency

import murmurs as mm
from murmurs import KRR, Joint, JointEstimate, Question, Subset
from murmurs.inference.combined import distances_by_shares
from murmurs.present.crosstabs import Crosstab, crosstab_html, crosstab_text
from murmurs.present.palette import HEAT

DRINK = Question("drink", ["tea", "mate", "water"], epsilon=1.5, text="What do you drink?")
SUGAR = Question("sugar", ["yes", "no"], epsilon=1.0)
AGE = Question("age", ["young", "old"], epsilon=1.0, ordered=True)
PEOPLE = np.array([[5000, 1000], [500, 8000], [500, 5000]])
BOTH, ONCE = Joint(DRINK, SUGAR), Joint(DRINK, SUGAR, once=True)
THREE = Joint(DRINK, SUGAR, AGE)
THREE_ONCE = Joint(DRINK, SUGAR, AGE, once=True)


def found(joint: Joint = BOTH, method: str | None = None) -> JointEstimate:
    people = PEOPLE if len(joint.names) == 2 else np.stack([PEOPLE, PEOPLE[::-1]], axis=2)
    return joint.estimate(joint.simulate(people, np.random.default_rng(3)), method)


# Margins


def test_the_margin_of_a_product_is_the_estimate_of_the_single_question() -> None:
    estimate = found()
    own = DRINK.estimate(estimate.counts.margin(0))
    margin = estimate.margin("drink")
    assert margin.shares == pytest.approx(own.shares, abs=0)
    assert (margin.labels, margin.title) == (own.labels, own.title)
    assert estimate.margin("drink", "sugar") is estimate


@pytest.mark.parametrize("joint", [THREE, THREE_ONCE], ids=["product", "once"])
def test_two_of_three_questions_have_a_table_of_their_own(joint: Joint) -> None:
    pair = found(joint).margin("drink", "age")
    assert isinstance(pair, JointEstimate)
    assert pair.names == ("drink", "age")
    assert pair.sizes == pair.crosstab().shape == (3, 2)
    whole = found(joint).crosstab("unbiased")
    assert pair.crosstab("unbiased") == pytest.approx(whole.sum(axis=1), abs=1e-9)


def test_the_noise_of_sums_is_that_of_the_covariance() -> None:
    estimate = found(ONCE)
    margin = estimate.margin("drink")
    member = np.kron(np.eye(3), np.ones((2, 1)))
    for target in ("population", "respondents"):
        covariance = estimate.fit.covariance(estimate.plausible, target)
        errors = np.sqrt(np.diag(member.T @ covariance @ member))
        assert margin.standard_errors(target) == pytest.approx(errors, rel=1e-6)
    assert margin.shares == pytest.approx(estimate.crosstab().sum(axis=1), abs=1e-12)
    assert margin.detected().present.all()


def test_sums_of_too_many_combinations_are_refused() -> None:
    joint = Joint(KRR(k=40, epsilon=1.0), KRR(k=40, epsilon=1.0), once=True)
    estimate = joint.estimate(joint.simulate(np.ones((40, 40), int), np.random.default_rng(1)))
    with pytest.raises(ValueError, match="at most 1200 answers and 4096 cells, not for 1600"):
        estimate.margin("0")


@pytest.mark.parametrize("names", [(), ("drink", "drink"), ("cups",)])
def test_margins_of_other_questions_are_refused(names: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="'drink', 'sugar'"):
        found().margin(*names)


@pytest.mark.parametrize("joint", [THREE, THREE_ONCE], ids=["product", "once"])
def test_a_margin_in_another_order_is_refused_with_the_way_out(joint: Joint) -> None:
    with pytest.raises(ValueError, match="give 'drink', 'age'; to turn the table of two, use"):
        found(joint).margin("age", "drink")


@pytest.mark.parametrize("method", ["unbiased", "em", "simplex", "independence"])
def test_a_margin_has_the_estimator_of_the_table(method: str) -> None:
    estimate = found(THREE, method)
    pair, one = estimate.margin("drink", "age"), estimate.margin("drink")
    assert pair.estimator == method
    assert one.estimator == ("shrinkage" if method == "independence" else method)
    own = mm.estimate(estimate.counts.margin(0, 2), method).shares
    assert pair.shares == pytest.approx(own, abs=0)


def test_a_long_table_is_cut_and_says_how_to_see_the_rest() -> None:
    large = Joint(KRR(k=40, epsilon=3.0), KRR(k=40, epsilon=3.0))
    text = str(large.estimate(large.simulate(np.ones((40, 40), int), np.random.default_rng(1))))
    assert len(text.splitlines()) <= 30
    assert "… and 25 more rows" in text
    assert "print(estimate.table(limit=40, width=500))" in text
    assert "To see all of it" not in str(found())
    many = str(found(THREE))
    assert "To see all of it" not in many


# Tests of association


def test_without_noise_the_test_of_combinations_is_pearsons() -> None:
    drink = Question("drink", DRINK.labels, KRR(k=3, epsilon=30.0))
    sugar = Question("sugar", SUGAR.labels, KRR(k=2, epsilon=30.0))
    joint = Joint(drink, sugar, once=True)
    people = np.array([[50, 60], [70, 55], [66, 41]])
    test = joint.estimate(joint.simulate(people, np.random.default_rng(1))).association()
    statistic, p_value, freedom, _ = chi2_contingency(people, correction=False)
    assert test.statistic == pytest.approx(statistic, rel=1e-6)
    assert test.freedom == freedom
    assert test.p_value == pytest.approx(p_value, rel=1e-6)


def test_the_test_of_combinations_rejects_as_often_as_it_says() -> None:
    """800 draws at level 0.05: outside 0.016 to 0.096 with probability below 1e-6.

    A test with twice the covariance would reject in 0.0025 of the draws, one with half of it in
    0.22.
    """
    joint = Joint(
        Question("a", ["x", "y", "z"], epsilon=1.0),
        Question("b", ["x", "y"], epsilon=1.0),
        once=True,
    )
    people = (np.outer([0.5, 0.3, 0.2], [0.7, 0.3]) * 5000).round().astype(int)
    rng = np.random.default_rng(5)
    shares = people.ravel() / people.sum()
    drawn = [joint.simulate(rng.multinomial(5000, shares).reshape(3, 2), rng) for _ in range(800)]
    p_values = [joint.estimate(counts, "unbiased").association().p_value for counts in drawn]
    assert 0.016 < np.mean(np.array(p_values) < 0.05) < 0.096


def test_distances_change_with_shares_as_they_should() -> None:
    r, c = np.array([0.5, 0.3, 0.2]), np.array([0.6, 0.4])
    table, step = np.outer(r, c), 1e-6
    change = distances_by_shares(r, c)
    for cell in range(6):
        moved = table.ravel().copy()
        moved[cell] += step
        own = moved.reshape(3, 2)
        distances = own - np.outer(own.sum(axis=1), own.sum(axis=0))
        assert distances.ravel() / step == pytest.approx(change[:, cell], abs=1e-5)


@pytest.mark.parametrize("joint", [BOTH, ONCE, THREE, THREE_ONCE], ids=list("abcd"))
def test_what_goes_together_is_told(joint: Joint) -> None:
    estimate = found(joint)
    test = estimate.association("sugar", "drink")
    assert test.questions == (0, 1)
    assert estimate.association(0, 1) == test
    assert "The answers go together" in estimate.conclusion
    assert test.p_value < 1e-6
    told = "of 3 pairs" if len(joint.names) > 2 else "Cramér's V is"
    assert told in estimate.conclusion
    with pytest.raises(ValueError, match="two questions, not of 'drink' twice"):
        estimate.association("drink", "drink")


def test_other_tests_need_the_single_reports() -> None:
    assert found().association(test="pearson").test == "pearson"
    with pytest.raises(ValueError, match="the combination was reported once: leave 'test' out"):
        found(ONCE).association(test="pearson")


def test_one_report_of_a_rare_combination_is_no_proof() -> None:
    """99 people say no twice, and one yes twice: Fisher's exact p-value is 0.01.

    The chi-square distribution has 1e-22. Simulations do not keep the margins, and have 0.0015.
    """
    joint = Joint(*[Question(name, ["no", "yes"], epsilon=15.0) for name in "ab"], once=True)
    table = np.array([[99, 0], [0, 1]])
    counts = joint.simulate(table, np.random.default_rng(1))
    test = joint.estimate(counts).association()
    assert scipy.stats.fisher_exact(table).pvalue == pytest.approx(0.01)
    assert (test.test, test.notes) == ("bootstrap", ())
    assert 5e-4 <= test.p_value < 0.06
    assert scipy.stats.chi2.sf(test.statistic, test.freedom) < 1e-9
    assert "simulation of independent answers, 1,999 draws" in test.sentence


def test_few_reports_of_combinations_do_not_make_the_test_reject() -> None:
    """Independent answers, 100 people, margins .96 .02 .02: of 15 tests at most 2 % are below 0.01.

    Exact binomial test, false-alarm rate 1e-6; a p-value without its noise is zero everywhere.
    """
    margin, rng = np.array([0.96, 0.02, 0.02]), np.random.default_rng(3)
    law, mechanism = np.outer(margin, margin), KRR(k=9, epsilon=20.0)
    questions = [Question(name, list("xyz"), epsilon=1.0) for name in "ab"]
    joint = Joint(*questions, once=True, mechanism=mechanism)
    tests = []
    for _ in range(15):
        people = rng.multinomial(100, law.ravel()).reshape(3, 3)
        tests.append(joint.estimate(joint.simulate(people, rng)).association())
    rejected = sum(test.p_value <= 0.01 for test in tests)
    assert scipy.stats.binom.sf(rejected - 1, 15, 0.02) > 1e-6
    assert {test.test for test in tests} == {"bootstrap"}


# Measures of association


def test_measures_of_a_product_are_those_of_its_counts() -> None:
    estimate = found()
    counts = estimate.counts
    assert estimate.cramers_v().to_document() == mm.cramers_v(counts).to_document()
    assert estimate.lift().values == pytest.approx(mm.lift(counts).values)
    own, wanted = estimate.conditional_shares("sugar"), mm.conditional_shares(counts)
    assert own.low == pytest.approx(wanted.low)
    assert (own.rows, own.columns) == (DRINK.labels, SUGAR.labels)
    other = estimate.conditional_shares(given="drink").values
    assert other == pytest.approx(mm.conditional_shares(counts, of=1, given=0).values)
    odds = estimate.odds_ratios(reference=("mate", "no"))
    assert odds.high == pytest.approx(mm.odds_ratios(counts, reference=(1, 1)).high)
    assert odds.to_arrow()["low"].to_pylist() == odds.to_polars()["low"].to_list()
    assert odds.to_polars()["high"].to_list() == odds.high.ravel().tolist()


@pytest.mark.parametrize("joint", [BOTH, ONCE, THREE, THREE_ONCE], ids=list("abcd"))
def test_measures_contain_the_truth(joint: Joint) -> None:
    """Limits at level 1 - 1e-8: all contain the truth unless chances of 1e-6 together happen."""
    people = PEOPLE if len(joint.names) == 2 else PEOPLE + PEOPLE[::-1]
    truth = people / people.sum()
    estimate, level = found(joint), 1 - 1e-8
    lift = estimate.lift("drink", "sugar", level=level)
    independent = np.outer(truth.sum(axis=1), truth.sum(axis=0))
    assert ((lift.low <= truth / independent) & (truth / independent <= lift.high)).all()
    given = estimate.conditional_shares("sugar", of="drink", level=level)
    shares = truth / truth.sum(axis=0)
    assert ((given.low <= shares) & (shares <= given.high)).all()
    turned = shares[:, ::-1]
    assert not ((given.low <= turned) & (turned <= given.high)).all()
    strength = estimate.cramers_v("sugar", "drink", level=level)
    square = ((truth - independent) ** 2 / independent).sum()
    assert strength.low <= square**0.5 <= strength.high


def test_shares_are_conditional_on_combinations_of_answers() -> None:
    drink = Question("drink", DRINK.labels, KRR(k=3, epsilon=30.0))
    sugar, age = (Question(q.name, q.labels, KRR(k=2, epsilon=30.0)) for q in (SUGAR, AGE))
    people = np.arange(1, 13).reshape(3, 2, 2) * 100
    for once in (False, True):
        joint = Joint(drink, sugar, age, once=once)
        estimate = joint.estimate(joint.simulate(people, np.random.default_rng(1)))
        given = estimate.conditional_shares(["age", "drink"], of="sugar")
        wanted = people.transpose(1, 2, 0).reshape(2, -1) / people.sum(axis=1).T.ravel()
        assert given.values == pytest.approx(wanted, abs=1e-6)
        assert given.columns[1] == "young × mate"
        assert estimate.conditional_shares(("age", "drink")).rows == SUGAR.labels


def test_conditions_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match=r"of=\.\.\., one of 'sugar', 'age'"):
        found(THREE).conditional_shares("drink")
    with pytest.raises(ValueError, match="of one question, given others"):
        found().conditional_shares("drink", of="drink")
    with pytest.raises(ValueError, match="'chai' is not one of the answers 'tea'"):
        found().odds_ratios(reference=("chai", "no"))


def test_tables_too_large_for_a_test_say_so() -> None:
    joint = Joint(KRR(k=40, epsilon=1.0), KRR(k=40, epsilon=1.0), once=True)
    estimate = joint.estimate(joint.simulate(np.ones((40, 40), int), np.random.default_rng(1)))
    assert "not tested: 1600 combinations of answers are too many" in str(estimate)
    with pytest.raises(ValueError, match="1600 combinations"):
        estimate.lift()


# Tables and pictures


def test_the_table_has_rows_columns_and_margins() -> None:
    lines = str(found()).splitlines()
    assert lines[0].split() == ["drink", "╲", "sugar", "yes", "no", "all"]
    cells = [re.findall(r"[\d.]+", line) for line in lines[2:6]]
    assert [len(row) for row in cells] == [3, 3, 3, 3]
    table = np.array(cells, float)
    assert table[3, 2] == 100.0
    assert table[:3, :2].sum(axis=1) == pytest.approx(table[:3, 2], abs=0.11)
    assert lines[2].startswith("tea")
    assert "▲" in lines[2]
    assert "▼" in lines[2]
    assert "The answers go together" in str(found())
    assert "Estimator: joint" in str(found())


def big(rows: int, columns: int) -> Crosstab:
    shares = np.arange(1.0, rows * columns + 1).reshape(rows, columns)
    shares /= shares.sum()
    labels = tuple(f"row {i}" for i in range(rows)), tuple(f"column {j}" for j in range(columns))
    marks = np.zeros((rows, columns), np.int64)
    return Crosstab(("first", "second"), labels, shares, shares / 2, shares * 2, marks, 2)


@pytest.mark.parametrize("width", [40, 80, 100])
def test_the_table_fits_the_terminal(width: int) -> None:
    text = crosstab_text(big(50, 30), 20, width)
    assert max(map(len, text.splitlines())) <= width
    assert "… and 30 more rows" in text
    assert re.search(r"… and \d+ more columns", text)
    assert "row 49" in text
    assert "column 29" in text
    page = crosstab_html(big(50, 30), "caption", 20)
    assert "… and 30 more rows" in page
    assert page.count("<tr>") == 1 + 20 + 1 + 2


def test_marks_say_what_all_intervals_together_leave_out() -> None:
    estimate = found()
    table = estimate.crosstab()
    low, high = estimate.interval(simultaneous=True).reshape(2, 3, 2)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0))
    text = estimate.table()
    assert text.count("▲") - 1 == (low > expected).sum() > 0  # one stands in the explanation
    assert text.count("▼") - 1 == (high < expected).sum() > 0


def test_only_cells_with_marks_have_strong_colours() -> None:
    """However far a cell is from independence: if noise explains it, its colour is pale."""
    shares = np.array([[0.4, 0.1], [0.1, 0.4]])
    two = ("x", "y")

    def colours(shares: Any, marks: Any) -> list[list[str]]:
        labels = (two[: len(shares)], two)
        return Crosstab(("a", "b"), labels, shares, shares, shares, np.array(marks), 1).colours

    below, pale_below, near, pale_above, above, far_above = HEAT
    assert colours(shares, [[0, 0], [0, 0]]) == [[pale_above, pale_below], [pale_below, pale_above]]
    assert colours(shares, [[1, 0], [-1, 0]]) == [[above, pale_below], [below, pale_above]]
    rare = np.array([[0.9, 0.0002], [0.0002, 0.0996]])
    assert colours(rare, [[0, 0], [0, 1]])[1] == [pale_below, far_above]
    assert colours(np.array([[1.0, 0.0]]), [[0, 0]]) == [[near, near]]
    assert colours(np.full((2, 2), 0.25), [[0, 0], [0, 0]]) == [[near, near], [near, near]]
    assert near != "#ffffff"


def test_a_notebook_shows_the_same_numbers_in_colours() -> None:
    page = found()._repr_html_()
    assert page.startswith("<table><caption>drink × sugar: 20,000 reports. The answers go together")
    for share in found().crosstab().ravel():
        assert f">{100 * share:.1f}" in page
    assert (
        "&lt;b&gt;"
        in Joint(Question("<b>", ["x", "y"], epsilon=1.0), SUGAR)
        .estimate(Joint(Question("<b>", ["x", "y"], epsilon=1.0), SUGAR).simulate([[9, 9], [9, 9]]))
        ._repr_html_()
    )
    assert found(THREE)._repr_html_().count("<tr>") == 13


def test_three_questions_have_a_long_table() -> None:
    text = found(THREE).table()
    assert "× old" in text
    assert "tea × yes" in found().table(order="share")


def test_data_frames_have_a_column_for_each_question() -> None:
    frame = found().to_pandas()
    assert list(frame)[:3] == ["drink", "sugar", "share"]
    assert frame["drink"].tolist() == ["tea", "tea", "mate", "mate", "water", "water"]
    share = Joint(Question("share", ["a", "b"], epsilon=1.0), SUGAR)
    estimate = share.estimate(share.simulate([[10, 20], [30, 40]]))
    assert list(estimate.columns())[:3] == ["share_answer", "sugar", "share"]
    rows = found(THREE).to_crosstab("high").index
    assert isinstance(rows, pd.MultiIndex)
    assert rows.names == ["drink", "sugar"]
    document = json.loads(found().to_json())
    assert document["questions"][1] == {"name": "sugar", "labels": ["yes", "no"]}
    with pytest.raises(ValueError, match="value must be one of 'share'"):
        found().crosstab("lift")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="are those of the questions"):
        found().with_labels(("a",) * 6)


def test_tables_are_compared_as_shares_are() -> None:
    change = found().difference(found(ONCE))
    assert change.labels[0] == "tea × yes"
    assert change.shares == pytest.approx(found().unbiased - found(ONCE).unbiased)
    same = BOTH.estimate(BOTH.simulate(PEOPLE, np.random.default_rng(9)))
    assert found().difference(same).p_value > 1e-4


def test_two_of_three_questions_must_be_named() -> None:
    three = found(THREE)
    for measure in (three.association, three.cramers_v, three.lift, three.odds_ratios):
        for names in ((), (three.names[0],)):
            with pytest.raises(ValueError, match="say which two questions of 'drink', 'sugar'"):
                measure(*names)


def test_the_picture_has_every_share_and_only_marked_cells_have_strong_colours() -> None:
    estimate = found()
    axes = estimate.plot()
    texts = [text.get_text() for text in axes.texts]
    table = estimate.crosstab()
    margins = [*table.sum(axis=1), *table.sum(axis=0)]
    shares = [f"{100 * share:.1f}" for share in [*table.ravel(), *margins]]
    assert [text for text in texts if text not in "▲▼"] == shares
    assert [tick.get_text() for tick in axes.get_yticklabels()] == [*DRINK.labels, "all"]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == [*SUGAR.labels, "all"]
    marked = [text for text in texts if text in "▲▼"]
    assert len(marked) == np.abs(estimate._drawn(0.95, "population").marks).sum() > 0
    strong = {HEAT[0], HEAT[4], HEAT[5]}
    filled = [to_hex(patch.get_facecolor()) for patch in axes.patches]
    assert len(filled) == table.size
    assert sum(colour in strong for colour in filled) == len(marked)
    heading = axes.get_title(loc="left").split("\n")
    assert heading[0] == "drink × sugar"
    bars = found(THREE).plot(title="bars")
    assert bars.get_title(loc="left") == "bars"


def test_another_mechanism_for_the_combination_gives_the_same_kind_of_table() -> None:
    joint = Joint(DRINK, SUGAR, once=True, mechanism=Subset(k=6, epsilon=2.0))
    estimate = found(joint)
    truth = PEOPLE / PEOPLE.sum()
    # 8 standard errors: false alarm below 1e-14; rejects a table read by columns.
    errors = estimate.crosstab("unbiased_error")
    assert (np.abs(estimate.crosstab("unbiased") - truth) < 8 * errors).all()
    assert errors.max() < 0.02
