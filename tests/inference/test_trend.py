"""Trends: exact where they can be, tests that have their size and their power.

Statistical tests use fixed seeds and have a false-alarm rate of `FALSE_ALARM` (1e-7) for each
p-value looked at; each names a wrong law that it rejects.
"""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.linalg
import scipy.stats
from matplotlib.figure import Figure

import murmurs as mm
from murmurs import estimators
from murmurs.counts import Counts, People
from murmurs.estimators.estimation import Estimate
from murmurs.inference.comparable import common_shares
from murmurs.inference.fit import Fit, Target
from murmurs.inference.trend import Trend, trend
from murmurs.mechanisms.mechanism import Mechanism
from murmurs.numerics.arrays import Floats
from murmurs.present.palette import DATA
from murmurs.privacy import SCALE
from tests.goodness import FALSE_ALARM

AnyMechanism = Mechanism[Any]
COMPARED: list[AnyMechanism] = [
    mm.KRR(k=5, epsilon=1.0),
    mm.KRR(k=5, epsilon=5.0),
    mm.OUE(k=5, epsilon=1.0),
    mm.Subset(k=6, epsilon=1.0, w=2),
    mm.Hadamard(k=5, epsilon=1.0),
]
compared = pytest.mark.parametrize("mechanism", COMPARED, ids=repr)
by_people = pytest.mark.parametrize("people", ["different", "same"])


def falling(k: int) -> Floats:
    """Shares in the ratio k : k - 1 : ... : 1."""
    shares = np.arange(k, 0, -1.0)
    return np.asarray(shares / shares.sum())


def periods(
    mechanism: AnyMechanism, count: int, rng: np.random.Generator, *, same: bool, n: int = 20_000
) -> list[Estimate]:
    """Estimates of several periods between which nothing has changed."""
    first = rng.multinomial(n, falling(mechanism.k))
    return [
        estimators.simplex(
            mechanism.simulate(first if same else rng.multinomial(n, falling(mechanism.k)), rng)
        )
        for _ in range(count)
    ]


def some(mechanism: AnyMechanism, count: int = 3, seed: int = 1) -> list[Estimate]:
    return periods(mechanism, count, np.random.default_rng(seed), same=False)


def uniform(p_values: list[float]) -> float:
    """The p-value of Kolmogorov and Smirnov that numbers are uniform."""
    return float(scipy.stats.kstest(p_values, "uniform").pvalue)


# Exactly


@compared
@pytest.mark.parametrize("target", ["respondents", "population"])
def test_two_periods_are_a_difference(mechanism: AnyMechanism, target: Target) -> None:
    before, after = some(mechanism, 2)
    found, change = trend([before, after], target=target), after.difference(before, target)
    assert found.p_value == pytest.approx(change.p_value, rel=1e-9)
    np.testing.assert_allclose(found.p_values, change.p_values, rtol=1e-9)


def by_contrasts(found: Trend) -> float:
    """The p-value from all differences to the first period, with their joint covariance."""
    rows = [e.fit.unbiased for e in found.estimates]
    people = [e.fit.counts.people for e in found.estimates]
    common = np.average([e.plausible for e in found.estimates], axis=0, weights=people)
    parts = [e.fit.covariance(common, found.target) for e in found.estimates]
    differences = np.concatenate([row - rows[0] for row in rows[1:]])
    count = len(rows) - 1
    covariance = scipy.linalg.block_diag(*parts[1:]) + np.kron(np.ones((count, count)), parts[0])
    values, vectors = np.linalg.eigh(covariance)
    kept = values > 1e-9 * values[-1]
    statistic = ((vectors[:, kept].T @ differences) ** 2 / values[kept]).sum()
    return float(scipy.stats.chi2.sf(statistic, kept.sum()))


@compared
@by_people
def test_the_overall_test_is_that_of_all_differences_together(
    mechanism: AnyMechanism, people: People
) -> None:
    rng = np.random.default_rng(2)
    found = trend(periods(mechanism, 5, rng, same=people == "same"), people=people)
    assert found.p_value == pytest.approx(by_contrasts(found), rel=1e-6)


def test_rare_answers_and_little_noise_do_not_make_it_reject_too_often() -> None:
    """At 5 %, 300 trends: more than 38 rejections have a probability of 1e-7.

    Noise taken at each period's own shares rejected in 10 % of them, which 300 trends would show
    about once in ten; it is rejected by the enumeration in the test of `Difference`.
    """
    rng, law, rr = np.random.default_rng(3), np.arange(20.0, 0, -1) / 210, mm.KRR(20, 6.0)
    rejected = 0
    for _ in range(300):
        people = (rng.multinomial(1000, law) for _ in range(5))
        several = [mm.estimators.unbiased(rr.simulate(counts, rng)) for counts in people]
        rejected += trend(several).p_value < 0.05
    assert rejected <= 38


def test_mechanisms_may_differ_although_shares_of_some_always_sum_to_one() -> None:
    kinds: list[AnyMechanism] = [mm.KRR(5, 1.0), mm.OUE(5, 2.0), mm.Hadamard(5, 1.0)]
    mixed = [some(mechanism, 1, seed)[0] for seed, mechanism in enumerate(kinds)]
    found = trend(mixed)
    assert found.p_value == pytest.approx(by_contrasts(found), rel=1e-6)
    backwards = trend(mixed[::-1])
    assert found.p_value == pytest.approx(backwards.p_value, rel=1e-6)
    np.testing.assert_allclose(found.p_values, backwards.p_values)


def test_the_p_value_of_an_answer_weighs_periods_by_their_precision() -> None:
    several = [*some(mm.KRR(5, 1.0)), *some(mm.KRR(5, 3.0), 1, seed=4)]
    found = trend(several)
    x = np.array([e.fit.unbiased[1] for e in several])
    common = common_shares(several)
    v = np.array([e.standard_errors("population", common)[1] for e in several]) ** 2
    statistic = ((x - np.average(x, weights=1 / v)) ** 2 / v).sum()
    assert found.p_values[1] == pytest.approx(scipy.stats.chi2.sf(statistic, 3))


def test_many_answers_are_tested_by_the_smallest_p_value(monkeypatch: pytest.MonkeyPatch) -> None:
    several = some(mm.OUE(k=1001, epsilon=2.0))

    def never(*_: object) -> Floats:
        raise AssertionError("a covariance of more than a thousand answers")

    monkeypatch.setattr(Fit, "covariance", never)
    found = trend(several)
    assert found.p_value == min(1.0, 1001 * float(found.p_values.min()))


def test_shares_without_noise_are_the_same_or_not() -> None:
    """Of a design that tells the truth, asked about the respondents."""
    one_to_one: Any = [[1, 0], [0, 1]]
    truth = mm.Design(one_to_one, labels=("a", "b"))
    rng = np.random.default_rng(1)
    one, same, other = (
        mm.estimate(truth.simulate(people, rng)) for people in ([50, 50], [50, 50], [60, 40])
    )
    equal, different = trend([one, same], people="same"), trend([one, other], people="same")
    assert equal.p_value == one.difference(same, "respondents").p_value == 1
    assert different.p_value == one.difference(other, "respondents").p_value == 0
    assert equal.p_values.tolist() == one.difference(same, "respondents").p_values.tolist()
    assert different.p_values.tolist() == [0, 0]


# Size and power


@compared
@by_people
def test_the_tests_have_their_size(mechanism: AnyMechanism, people: People) -> None:
    """Uniform p-values in 150 repetitions of four periods, overall and of one answer.

    Rejected: as many degrees of freedom as there are shares (the mean is not counted as fitted).
    """
    rng = np.random.default_rng(5)
    several = [
        trend(periods(mechanism, 4, rng, same=people == "same"), people=people) for _ in range(150)
    ]
    p_values = [found.p_value for found in several]
    assert uniform(p_values) > FALSE_ALARM
    assert uniform([float(found.p_values[1]) for found in several]) > FALSE_ALARM
    k = mechanism.k
    statistics = scipy.stats.chi2.isf(p_values, 3 * k)
    assert uniform(scipy.stats.chi2.sf(statistics, 4 * k).tolist()) < FALSE_ALARM


def test_the_same_people_are_no_new_sample_and_different_people_are() -> None:
    """With little privacy noise, each wrong reading of ``people`` is rejected at FALSE_ALARM."""
    rng, krr = np.random.default_rng(6), mm.KRR(k=5, epsilon=5.0)
    others = [periods(krr, 4, rng, same=False) for _ in range(150)]
    assert uniform([trend(several, people="same").p_value for several in others]) < FALSE_ALARM
    panels = [periods(krr, 4, rng, same=True) for _ in range(150)]
    assert uniform([trend(several).p_value for several in panels]) < FALSE_ALARM
    assert uniform([trend(several, people="same").p_value for several in panels]) > FALSE_ALARM


@compared
@by_people
def test_a_change_in_one_period_is_found(mechanism: AnyMechanism, people: People) -> None:
    """One share falls and one rises by ten standard errors in the last of four periods.

    The statistic at 1 % is some 38 for 20 degrees of freedom; the shift adds at least
    0.75 · 10^2 · 1 = 75 to it: a change is missed with a probability below 1e-6.
    """
    rng = np.random.default_rng(7)
    several = periods(mechanism, 3, rng, same=True)
    error = trend(several, people=people).estimates[0].standard_errors("population").max()
    moved = np.rint(20_000 * falling(mechanism.k)).astype(np.int64)
    step = min(round(10 * error * 20_000), int(moved[0]))
    moved[0] -= step
    moved[-1] += 20_000 - moved.sum()
    last = estimators.simplex(mechanism.simulate(moved, rng))
    found = trend([*several, last], people=people)
    assert found.p_value < 0.01
    assert found.p_values[-1] < 0.05


LOSUE = mm.LOSUE(k=4, epsilon=1.0, epsilon_permanent=1.5)


def permanent_weeks(count: int, n: int, rng: np.random.Generator) -> list[Estimate]:
    """Weeks in which the same people send new reports of the same permanent bits."""
    own = np.repeat(np.eye(4, dtype=bool), n // 4, axis=0)
    stay, stray = (float(chance) for chance in LOSUE.second_round)
    permanent = rng.random(own.shape) < np.where(own, 0.5, LOSUE.permanent_flip / SCALE)
    out = []
    for _ in range(count):
        bits = rng.random(own.shape) < np.where(permanent, stay, stray)
        out.append(estimators.simplex(Counts(LOSUE, n, bits.sum(axis=0))))
    return out


def test_the_permanent_weeks_have_the_law_of_the_mechanism() -> None:
    """The mean of 400 weeks is within six standard errors: a false alarm has probability 1e-8."""
    rng = np.random.default_rng(9)
    found = [permanent_weeks(1, 2000, rng)[0] for _ in range(400)]
    shares = np.array([e.fit.unbiased for e in found])
    error = found[0].standard_errors("respondents") / 20
    assert (np.abs(shares.mean(axis=0) - 0.25) < 6 * error).all()
    np.testing.assert_allclose(shares.std(axis=0), 20 * error, rtol=0.25)


def test_the_same_people_are_tested_conservatively_if_noise_is_permanent() -> None:
    """In 400 repetitions at most 5 % are below 0.05: an exact binomial test at FALSE_ALARM.

    The p-values are not uniform but too large, as the shared noise cancels.
    """
    rng = np.random.default_rng(8)
    p_values = [trend(permanent_weeks(3, 2000, rng), people="same").p_value for _ in range(400)]
    below = sum(p < 0.05 for p in p_values)
    assert scipy.stats.binom.sf(below - 1, 400, 0.05) > FALSE_ALARM
    assert uniform(p_values) < FALSE_ALARM
    assert np.mean(p_values) > 0.6


# What is shown

LABELS = ("tea", "mate", "water")
DRINK = mm.Question("drink", LABELS, epsilon=2.0, text="What do you drink?")
WEEKS = [[2000, 3000, 5000], [2000, 3100, 4900], [1800, 3700, 4500]]


def weeks(question: mm.Question = DRINK) -> list[Estimate]:
    rng = np.random.default_rng(1)
    return [question.estimate(question.simulate(week, rng)) for week in WEEKS]


def test_answers_have_one_order_by_their_mean_share() -> None:
    found = trend(weeks(), ["a", "b", "c"])
    assert found.order.tolist() == [2, 1, 0]
    columns = found.columns()
    assert list(columns) == ["answer", "period", "share", "low", "high"]
    assert columns["answer"] == ["water"] * 3 + ["mate"] * 3 + ["tea"] * 3
    assert columns["period"] == ["a", "b", "c"] * 3
    np.testing.assert_array_equal(columns["share"][:3], [e.shares[2] for e in found.estimates])
    np.testing.assert_array_equal(columns["low"][3:6], [e.interval()[0, 1] for e in weeks()])


def test_ordered_answers_keep_their_order() -> None:
    scale = mm.Question("drink", LABELS, epsilon=2.0, ordered=True)
    assert trend(weeks(scale)).order.tolist() == [0, 1, 2]
    mixed = [weeks(scale)[0], weeks()[1]]
    assert not trend(mixed).ordered


def test_every_form_has_the_same_numbers() -> None:
    found = trend(weeks())
    columns = found.columns(0.9)
    document = json.loads(json.dumps(found.to_document(0.9)))
    assert np.ravel(document["shares"]).tolist() == columns["share"].tolist()
    assert np.ravel(document["high"]).tolist() == columns["high"].tolist()
    assert document["periods"] == ["1", "2", "3"]
    assert document["p_value"] == found.p_value
    assert document["level"] == 0.9
    assert document["labels"] == ["water", "mate", "tea"]
    rows = list(csv.DictReader(io.StringIO(found.to_csv(0.9))))
    assert [float(row["low"]) for row in rows] == columns["low"].tolist()
    assert found.to_pandas(0.9)["share"].tolist() == columns["share"].tolist()
    assert found.to_polars(0.9)["share"].to_list() == columns["share"].tolist()
    assert found.to_arrow(0.9)["share"].to_pylist() == columns["share"].tolist()


def test_the_table_has_a_row_per_answer_and_a_column_per_period() -> None:
    found = trend(dict(zip(("may", "june", "july"), weeks(), strict=True)))
    lines = found.table().splitlines()
    head = ["answer", "may", "june", "july", "p-value", "slope", "p of slope"]
    assert re.split(r" {2,}", lines[0]) == head
    assert [line.split()[0] for line in lines[2:8:2]] == ["water", "mate", "tea"]
    low, high = found.interval()[:, found.order]
    assert found.slopes is not None
    slopes = found.slopes.interval(0.95)[:, found.order].T
    for line, (least, most), *limits in zip(lines[3:8:2], slopes, low, high, strict=True):
        both = zip(*limits, strict=True)
        wanted = [f"{100 * a:.1f} … {100 * b:.1f}" for a, b in both]
        wanted.append(f"{100 * least:+.1f} … {100 * most:+.1f}")
        assert re.split(r" {2,}", line.strip()) == wanted
    assert "\n… and 2 more\n" in found.table(limit=1)
    assert found.conclusion in str(found)
    assert repr(found) == (
        "Trend(3 estimates of 3 answers, people='different', target='population')"
    )


def test_target_and_people_act() -> None:
    several = weeks()
    assert trend(several).target == "population"
    assert trend(several, people="same").target == "respondents"
    wide, narrow = trend(several), trend(several, target="respondents")
    assert (np.ptp(wide.interval(), axis=0) > np.ptp(narrow.interval(), axis=0)).all()
    assert narrow.p_value < wide.p_value
    assert "new sample" in trend(several, people="same", target="population").notes[0]
    assert trend(several).notes == trend(several, people="same").notes == ()
    rng = np.random.default_rng(1)
    panel = trend(permanent_weeks(2, 400, rng), people="same")
    assert "permanent noise" in panel.notes[0]
    assert panel.notes[0] in " ".join(str(panel).split())


def test_what_cannot_be_a_trend_is_refused() -> None:
    one, two, three = weeks()
    with pytest.raises(ValueError, match="at least two estimates, not 1"):
        trend([one])
    with pytest.raises(TypeError, match="names of estimates are a list, not 'ab'"):
        trend([one, two], "ab")
    with pytest.raises(ValueError, match="2 names do not fit 3 estimates"):
        trend([one, two, three], ["a", "b"])
    with pytest.raises(ValueError, match="two estimates have the name 'a'"):
        trend([one, two], ["a", "a"])
    with pytest.raises(ValueError, match="leave names out"):
        trend({"a": one, "b": two}, ["a", "b"])
    with pytest.raises(TypeError, match=r"number 1 is of type Counts: use murmurs.estimate"):
        trend([one, two.counts])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="people must be 'different' or 'same', not 'other'"):
        trend([one, two], people="other")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="target must be 'respondents' or 'population'"):
        trend([one, two], target="sample")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="labels of '2' differ"):
        trend([one, two.with_labels(("mate", "tea", "water"))])
    four = some(mm.KRR(4, 1.0), 1)[0]
    with pytest.raises(ValueError, match="'2' has 4 answers and '1' has 3"):
        trend([one, four])
    fewer = DRINK.estimate(DRINK.simulate([10, 10, 10], np.random.default_rng(1)))
    with pytest.raises(ValueError, match="10000 people in '1' and 30 in '2' are not the same"):
        trend([one, fewer], people="same")
    with pytest.raises(ValueError, match="level must be from"):
        trend([one, two]).interval(1.0)


def test_without_scipy_tests_say_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    found = trend(weeks())
    monkeypatch.setitem(sys.modules, "scipy", None)
    monkeypatch.setitem(sys.modules, "scipy.special", None)
    with pytest.raises(ImportError, match=r"pip install 'murmurs\[stats\]'"):
        _ = found.p_value
    assert found.interval().shape == (2, 3, 3)


# Pictures


def test_the_picture_has_a_line_a_band_and_a_name_for_every_answer() -> None:
    found = trend(weeks(), ["may", "june", "july"])
    axes = found.plot(Figure(layout="constrained").add_subplot())
    small: list[Any] = list(axes.child_axes)
    assert [panel.get_title(loc="left") for panel in small] == ["water", "mate", "tea"]
    for panel, j in zip(small, found.order, strict=True):
        own = next(line for line in panel.lines if line.get_color() == DATA)
        np.testing.assert_allclose(np.asarray(own.get_ydata()), 100 * found.shares[j])
        assert len(panel.collections) == 1
        assert [tick.get_text() for tick in panel.get_xticklabels()] == ["may", "july"]
    assert axes.get_title(loc="left").startswith("What do you drink?\nOverall test")
    assert "95 % intervals" in axes.texts[0].get_text()
    other = found.plot(Figure().add_subplot(), 0.8, title="Drinks", joined=False)
    assert other.get_title(loc="left") == "Drinks"
    assert "80 % intervals" in other.texts[0].get_text()


def test_a_picture_without_axes_is_a_new_figure() -> None:
    axes = trend(weeks()).plot()
    assert axes.figure is plt.gcf()
    plt.close("all")


def test_a_trend_of_no_list_is_refused() -> None:
    with pytest.raises(TypeError, match="a trend takes a list of estimates, not int"):
        trend(5)  # type: ignore[arg-type]


def test_a_note_says_that_hardly_any_report_is_changed() -> None:
    """With 500 people and six answers, epsilon 8 changes 0.84 reports and epsilon 4 about 42."""
    rng, people = np.random.default_rng(1), [100, 90, 85, 80, 75, 70]

    def weeks(epsilon: float, number: int = 2) -> list[mm.Estimate]:
        mechanism = mm.KRR(6, epsilon)
        return [mm.estimate(mechanism.simulate(people, rng), "unbiased") for _ in range(number)]

    (note,) = trend(weeks(8.0), people="same").notes
    assert note.startswith("privacy noise changes less than one report on one side, and with")
    assert "only about 6 reports in one of them" in trend(weeks(6.0, 3), people="same").notes[0]
    assert trend(weeks(4.0), people="same").notes == ()
    assert trend(weeks(8.0)).notes == ()  # sampling is noise, too
    two = weeks(8.0)
    assert two[0].difference(two[1], "respondents").notes == (note,)
    assert two[0].difference(two[1]).notes == ()
    exact = mm.Design(np.eye(2).tolist())
    known = [
        mm.estimate(mm.Counts(exact, 100, np.array([n, 100 - n])), "unbiased") for n in (40, 40)
    ]
    assert trend(known, people="same").notes == ()
