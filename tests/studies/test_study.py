"""Studies: their means are those of the theory, every option acts, bad input is refused.

The means of 100 repetitions are allowed six of their standard errors: a false alarm has a
probability of 3e-8 each.
"""

from __future__ import annotations

import csv
import io
import math
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

import murmurs as mm
from murmurs import estimators
from murmurs.present.palette import GREY
from murmurs.studies.errors import ERRORS
from murmurs.studies.laws import LAWS, people_of, shares_of

KINDS = ["KRR", "OUE", "Subset", "Hadamard", "ProjectiveGeometry"]


def one(**changes: Any) -> mm.ErrorStudy:
    """A small study, with changes."""
    given: dict[str, Any] = {
        "mechanisms": "KRR",
        "answers": 8,
        "people": 1000,
        "epsilons": 1.0,
        "estimators": "unbiased",
        "repetitions": 5,
        "random": 1,
    }
    given |= changes
    return mm.study(given.pop("mechanisms"), **given)


@pytest.mark.parametrize("law", LAWS)
def test_errors_of_unbiased_shares_are_those_of_the_channel(law: str) -> None:
    """Rejected: the expectation at half of the people."""
    found = mm.study(
        KINDS,
        answers=12,
        people=5000,
        epsilons=[1.0, 3.0],
        laws=law,
        estimators="unbiased",
        repetitions=100,
        random=2,
    )
    shares = LAWS[law](12)
    wrong = 0
    for row in found.rows:
        channel = getattr(mm, row.mechanism)(k=12, epsilon=row.epsilon).channel
        assert abs(row.l2 - channel.expected_l2(5000, shares)) < 6 * row.l2_se
        wrong += abs(row.l2 - channel.expected_l2(2500, shares)) > 6 * row.l2_se
        assert row.l1 == pytest.approx(channel.expected_l1(5000, shares), rel=0.15)
    assert wrong == len(found) == 10


def test_the_means_are_those_of_a_study_by_hand() -> None:
    kept: list[Any] = []

    def keeping(counts: Any) -> Any:
        kept.append(counts)
        return estimators.simplex(counts)

    row = one(estimators=keeping, laws=[0.5, 0.5, 0, 0, 0, 0, 0, 0], repetitions=7).rows[0]
    truth = np.array([0.5, 0.5, 0, 0, 0, 0, 0, 0])
    errors = np.array(
        [np.abs(estimators.simplex(c).shares - truth) for c in kept[1:]]
    )  # the first is a trial
    assert row.estimator == "keeping"
    assert row.law == "given"
    assert row.l1 == pytest.approx(errors.sum(axis=1).mean())
    assert row.l2 == pytest.approx((errors**2).sum(axis=1).mean())
    assert row.largest == pytest.approx(errors.max(axis=1).mean())
    assert row.largest_se == pytest.approx(errors.max(axis=1).std(ddof=1) / math.sqrt(7))


def test_all_combinations_are_there() -> None:
    found = one(
        mechanisms=["KRR", mm.OUE],
        answers=[4, 8],
        people=[100, 1000],
        epsilons=[1, 2],
        laws=["zipf", "sparse"],
        estimators=["default", "simplex"],
    )
    keys = {(r.mechanism, r.answers, r.people, r.epsilon, r.law, r.estimator) for r in found.rows}
    assert len(keys) == len(found) == 64
    assert {row.mechanism for row in found.rows} == {"KRR", "OUE"}


def test_a_row_depends_on_the_seed_and_on_nothing_else_in_the_study() -> None:
    alone = one().rows[0]
    assert one().rows[0] == alone
    assert alone in one(mechanisms=["OUE", "KRR"], people=[50, 1000], laws=["zipf", "uniform"]).rows
    assert one(random=2).rows[0].l1 != alone.l1
    by_chance = one(random=None)
    assert one(random=by_chance.seed).rows == by_chance.rows
    drawn = one(random=np.random.default_rng(3))
    assert one(random=np.random.default_rng(3)).rows == drawn.rows


def test_estimators_see_the_same_counts() -> None:
    found = one(estimators={"one": estimators.unbiased, "again": estimators.unbiased})
    assert found.rows[0].l1 == found.rows[1].l1


def test_functions_and_shares_get_names_from_a_mapping() -> None:
    found = one(
        mechanisms={"wide": lambda k, epsilon: mm.Subset(k=k, epsilon=epsilon, w=4)},
        laws={"half": lambda k: np.where(np.arange(k) < 2, 0.5, 0.0), "first": "point"},
    )
    assert [(row.mechanism, row.law) for row in found.rows] == [("wide", "half"), ("wide", "first")]


def test_more_repetitions_give_smaller_standard_errors() -> None:
    few, many = one(repetitions=20).rows[0], one(repetitions=500).rows[0]
    assert many.l1_se < few.l1_se / 2


def test_the_cost_does_not_grow_with_the_people() -> None:
    """A study of a quintillion people ends; one that made reports would not."""
    assert one(people=10**18).rows[0].l1 < 1e-6


@pytest.mark.parametrize("name", LAWS)
def test_laws_are_shares(name: str) -> None:
    for k in (2, 3, 10, 1000):
        shares = shares_of(name, k, name)
        assert shares.sum() == pytest.approx(1)
        assert shares.min() >= 0
        for n in (1, 7, 10**6, 2**62):
            people = people_of(shares, n)
            assert int(people.sum()) == n
            assert people.min() >= 0
            assert np.abs(people / n - shares).max() <= max(1 / n, 1e-12)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"mechanisms": "KRS"}, ValueError, "there is no mechanism 'KRS'; choose one of KRR"),
        ({"mechanisms": []}, ValueError, "mechanisms is empty"),
        ({"mechanisms": {}}, ValueError, "mechanisms is empty"),
        ({"mechanisms": [3]}, ValueError, "3, which has no name: pass a mapping"),
        ({"mechanisms": {"x": 3}}, TypeError, "name or a function"),
        ({"mechanisms": ["KRR", mm.KRR]}, ValueError, "'KRR' twice"),
        ({"mechanisms": lambda k, e: mm.KRR(k, e)}, ValueError, "has no name"),
        ({"mechanisms": "LOSUE"}, TypeError, "from k and epsilon alone"),
        ({"mechanisms": {"x": lambda k, e: mm.KRR(k + 1, e)}}, TypeError, "k=9.* for 8 answers"),
        ({"mechanisms": {"x": lambda k, e: 3}}, TypeError, "made 3, not a mechanism for 8"),
        ({"estimators": "best"}, ValueError, "there is no estimator 'best'; choose one of default"),
        ({"estimators": {"x": 3}}, TypeError, "counts -> estimate"),
        (
            {"mechanisms": "OUE", "estimators": "likelihood"},
            ValueError,
            "no estimator fits any mechanism: estimator 'likelihood' does not fit",
        ),
        ({"laws": "normal"}, ValueError, "there is no law 'normal'; choose one of uniform"),
        (
            {"laws": [0.5, 0.5]},
            ValueError,
            r"has shape \(2,\), not one share for each of 8 answers",
        ),
        ({"laws": np.ones(8)}, ValueError, "sum to one: divide by"),
        (
            {"laws": {"x": lambda k: np.full(k, math.nan)}},
            ValueError,
            "not negative and sum to one",
        ),
        ({"answers": 1}, ValueError, "answers must be from 2"),
        ({"answers": []}, ValueError, "answers is empty"),
        ({"people": 0}, ValueError, "people must be from 1"),
        ({"epsilons": 0}, ValueError, "epsilons must be from"),
        ({"repetitions": 1}, ValueError, "repetitions must be from 2"),
        ({"random": "seed"}, TypeError, "random"),
    ],
)
def test_bad_input_is_refused(
    changes: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        one(**changes)


def test_every_form_has_the_same_numbers() -> None:
    found = one(mechanisms=["KRR", "OUE"], epsilons=[1, 2])
    columns = found.columns()
    rows = list(csv.DictReader(io.StringIO(found.to_csv())))
    assert [row["mechanism"] for row in rows] == ["KRR", "KRR", "OUE", "OUE"]
    assert [float(row["l1"]) for row in rows] == columns["l1"].tolist()
    assert found.to_pandas()["l2"].tolist() == columns["l2"].tolist()
    assert found.to_polars()["largest"].to_list() == columns["largest"].tolist()
    assert found.to_arrow().column_names == list(columns)
    assert found.table(limit=1).endswith("… and 3 more")
    assert "Means of 5 repetitions" in str(found)
    assert repr(found) == "ErrorStudy(4 rows, repetitions=5, seed=1)"


def test_the_picture_has_a_line_for_each_mechanism_and_estimator() -> None:
    found = one(mechanisms=["KRR", "OUE"], epsilons=[2, 1], estimators=["default", "unbiased"])
    axes = found.plot(Figure().add_subplot(), y="l2")
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [
        "KRR, default",
        "KRR, unbiased",
        "OUE, default",
        "OUE, unbiased",
    ]
    first = axes.containers[0].get_children()[0]
    rows = [row for row in found.rows if (row.mechanism, row.estimator) == ("KRR", "default")]
    apart = 2 ** (0.1 / 2)  # the first of the lines is moved to the left, the last to the right
    assert first.get_xdata().tolist() == pytest.approx([1 / apart, 2 / apart])  # type: ignore[attr-defined]
    last = axes.containers[-1].get_children()[0]
    assert last.get_xdata().tolist() == pytest.approx([apart, 2 * apart])  # type: ignore[attr-defined]
    assert axes.get_ylabel() == "l2: sum of squared errors, ± 2 standard errors"
    assert first.get_ydata().tolist() == [rows[1].l2, rows[0].l2]  # type: ignore[attr-defined]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert "8 answers, 1,000 people" in axes.get_title(loc="left")
    assert one(people=[10, 100]).plot(x="people", title="n").get_title(loc="left") == "n"
    plt.close("all")
    with pytest.raises(ValueError, match="x must be one of epsilon, people, answers, not 'law'"):
        found.plot(x="law")
    with pytest.raises(ValueError, match="y must be one of l1, l2, largest, not 'l3'"):
        found.plot(y="l3")


def test_a_mechanism_with_a_larger_epsilon_is_refused() -> None:
    with pytest.raises(ValueError, match=r"with epsilon 1\.099, more than the 0\.5 of this row"):
        mm.study(
            {"fixed": lambda k, epsilon: mm.warner("3/4")},
            answers=2,
            people=100,
            epsilons=[0.5],
            repetitions=2,
        )


def test_estimators_that_do_not_fit_are_left_out_with_a_note() -> None:
    given: dict[str, Any] = {
        "answers": [5, 7],
        "people": 1000,
        "epsilons": [1, 2],
        "repetitions": 2,
        "random": 1,
    }
    found = mm.study(["KRR", "OUE"], estimators=["likelihood", "unbiased"], **given)
    pairs = {(row.mechanism, row.estimator) for row in found.rows}
    assert pairs == {("KRR", "likelihood"), ("KRR", "unbiased"), ("OUE", "unbiased")}
    assert len(found) == 12
    (note,) = found.notes
    assert note.startswith("estimator 'likelihood' does not fit OUE and is left out: counts of OUE")
    assert " ".join(str(found).split()).endswith(f"Note: {note}.")
    alone = mm.study(["KRR"], estimators=["unbiased"], **given)
    assert alone.notes == ()
    assert alone.rows == tuple(
        row for row in found.rows if (row.mechanism, row.estimator) == ("KRR", "unbiased")
    )


def test_an_estimator_that_fits_at_some_settings_is_left_out_at_others() -> None:
    def small(counts: Any) -> Any:
        if counts.mechanism.k > 4:
            raise ValueError("too many answers")
        return estimators.estimate(counts)

    given: dict[str, Any] = {"people": 1000, "epsilons": 1, "repetitions": 2}
    found = mm.study("KRR", answers=[3, 4, 5], estimators=small, **given)
    assert [row.answers for row in found.rows] == [3, 4]
    assert found.notes == (
        "estimator 'small' does not fit KRR at 1 of 3 settings and is left out: too many answers",
    )


def test_nothing_is_measured_if_no_estimator_fits() -> None:
    runs = []

    def broken(counts: Any) -> Any:
        runs.append(counts)
        raise ValueError("cannot")

    with pytest.raises(ValueError, match=r"^no estimator fits any mechanism: ") as error:
        mm.study(["KRR", "OUE"], answers=5, people=9, epsilons=1, estimators=broken)
    assert "'broken' does not fit KRR" in str(error.value)
    assert "'broken' does not fit OUE" in str(error.value)
    assert len(runs) == 2


def test_one_epsilon_is_drawn_with_a_row_for_each_name() -> None:
    found = one(mechanisms=["KRR", "OUE", "Subset"])
    axes = found.plot(Figure(figsize=(8, 4.6), layout="constrained").add_subplot())
    places = [bars.get_children()[0].get_ydata() for bars in axes.containers]  # type: ignore[attr-defined]
    assert np.ravel(places).tolist() == [0, 1, 2]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["KRR", "OUE", "Subset"]
    assert "at epsilon 1, ± 2 standard errors" in axes.get_xlabel()
    assert axes.get_xlim()[0] == 0
    assert axes.get_legend() is None


def test_more_than_eight_lines_are_in_panels_with_the_others_in_grey() -> None:
    names = ["KRR", "SUE", "OUE", "Subset", "Hadamard", "ProjectiveGeometry", "LocalHashing"]
    solvers = ["unbiased", "simplex", "normalized"]
    axes: Any = one(mechanisms=names, estimators=solvers, epsilons=[1, 2]).plot()
    assert [panel.get_title(loc="left") for panel in axes.child_axes] == names
    assert len({panel.get_ylim() for panel in axes.child_axes}) == 1
    for panel in axes.child_axes:
        assert sum(line.get_color() == GREY for line in panel.lines) == 3 * 6
        assert panel.get_legend_handles_labels()[1] == solvers
    axes.figure.canvas.draw()
    legend = axes.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == solvers
    assert legend.get_window_extent().y0 >= 0
    plt.close("all")


def test_a_study_of_several_laws_and_sizes_has_a_table_for_each() -> None:
    text = str(one(mechanisms=["KRR", "OUE"], laws=["zipf", "uniform"], people=[100, 200]))
    heads = [f"{law}, 8 answers, {n} people" for law in ("zipf", "uniform") for n in (100, 200)]
    assert all(text.count(f"{head}, epsilon 1\n") == 1 for head in heads)
    assert text.count("KRR") == 4


@pytest.mark.parametrize("epsilons", [1, [1, 2]])
def test_the_title_of_a_study_uses_the_room_and_fits(epsilons: Any) -> None:
    found = one(mechanisms=["KRR", "OUE"], epsilons=epsilons, people=100_000_000)
    axes = found.plot()
    title = "unbiased estimator, uniform, 8 answers, 100,000,000 people · 5 repetitions"
    assert axes.get_title(loc="left") == title
    axes.figure.canvas.draw()
    renderer = axes.figure.canvas.get_renderer()  # type: ignore[attr-defined]
    left = next(t for t in axes.get_children() if getattr(t, "get_text", str)() == title)
    assert left.get_window_extent(renderer).x1 <= axes.figure.bbox.x1
    plt.close("all")


def test_a_mechanism_with_fixed_parameters_is_refused_with_the_way_out() -> None:
    for given in (mm.KRR(4, 1.0), [mm.KRR(4, 1.0)], {"mine": mm.KRR(4, 1.0)}):
        with pytest.raises(
            TypeError, match=r"whose k and epsilon are fixed: pass its name, its cl"
        ):
            mm.study(given, answers=4, people=10, epsilons=1)


def test_own_estimators_may_return_the_shares_alone() -> None:
    def alone(counts: mm.Counts) -> Any:
        return estimators.simplex(counts).shares

    def listed(counts: mm.Counts) -> Any:
        return alone(counts).tolist()

    found = one(estimators=[estimators.simplex, alone, listed], laws="zipf")
    wanted = [getattr(found.rows[0], error) for error in ERRORS]
    for row in found.rows[1:]:
        assert [getattr(row, error) for error in ERRORS] == wanted


@pytest.mark.parametrize(
    ("returned", "rule"),
    [
        (0.5, r"it returned 0.5, and not an Estimate or 8 finite shares"),
        (None, r"it returned None, and not an Estimate or 8 finite shares"),
        (np.full(7, 1 / 7), r".*and not an Estimate or 8 finite shares"),
        (np.full(8, np.nan), r".*and not an Estimate or 8 finite shares"),
        (["a"] * 8, r".*and not an Estimate or 8 finite shares"),
    ],
)
def test_own_estimators_that_return_no_shares_are_refused(returned: Any, rule: str) -> None:
    def mine(counts: mm.Counts) -> Any:
        return returned

    with pytest.raises(TypeError, match=rf"^estimator 'mine': {rule}"):
        one(estimators=["simplex", mine])


def test_the_latex_table_has_what_varies_and_says_what_does_not() -> None:
    found = one(mechanisms=["KRR", "OUE"], epsilons=[1, 2], estimators={"50_%": "unbiased"})
    lines = found.to_latex().splitlines()
    assert lines[0].startswith("% 50_%, ")
    assert lines[1] == r"\begin{tabular}{lrrrr}"
    assert lines[3] == r"mechanism & $\varepsilon$ & $l_1$ & $l_2$ & largest \\"
    assert len(lines) == 5 + len(found.rows) + 2
    named = one(mechanisms="KRR", estimators={"50_%": "unbiased", "b": "simplex"}).to_latex()
    assert r"50\_\% & $" in named
