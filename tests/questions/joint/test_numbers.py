"""Means by group and rank correlation, from tables of two questions."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
import scipy.stats

import murmurs as mm
from murmurs.estimators.numbers import NumberEstimate
from murmurs.numerics.arrays import Integers
from murmurs.questions.joint import JointEstimate

CLEAR = 30.0
"""An epsilon at which no report is changed."""


def table(people: Integers, epsilon: float, seed: int = 1) -> JointEstimate:
    kind = mm.KRR if epsilon == CLEAR else mm.OUE
    rows, columns = people.shape
    edges = [10.0 * j for j in range(rows + 1)]
    income = mm.Question("income", edges=edges, whole=False, mechanism=kind(rows, epsilon))
    group = mm.Question(
        "group", [*"abcdefgh"][:columns], mechanism=kind(columns, epsilon), ordered=True
    )
    both = mm.Joint(income, group)
    found = both.estimate(both.simulate(people, np.random.default_rng(seed)), "unbiased")
    assert isinstance(found, JointEstimate)
    return found


def sign_table(people: Integers) -> tuple[Integers, Integers]:
    """The numbers of the two answers of every person."""
    cells = np.indices(people.shape).reshape(2, -1)
    one, two = np.repeat(cells, people.ravel(), axis=1)
    return one, two


PEOPLE = np.array([[60, 30, 10], [50, 80, 40], [10, 60, 90], [5, 20, 45]])


def test_without_noise_the_rank_correlation_is_that_of_scipy() -> None:
    found = table(PEOPLE, CLEAR).rank_correlation()
    one, two = sign_table(PEOPLE)
    n = len(one)
    tau = scipy.stats.kendalltau(one, two, variant="b").statistic
    assert found.value == pytest.approx(tau, abs=3 / n)  # nobody is a pair
    rng = np.random.default_rng(1)
    again = [
        scipy.stats.kendalltau(one[row], two[row]).statistic for row in rng.integers(0, n, (400, n))
    ]
    assert found.error == pytest.approx(np.std(again), rel=0.15)
    assert found.p_value is not None
    assert found.p_value < 1e-6
    turned = table(PEOPLE[::-1], CLEAR).rank_correlation("group", "income")
    assert turned.value == pytest.approx(-found.value)


def test_the_noise_of_reports_does_not_weaken_the_rank_correlation() -> None:
    """60 tables: the mean is within 5 standard errors of the truth; squares of noise would weaken
    it by far more, as in the correlation of the unbiased shares themselves."""
    one, two = sign_table(PEOPLE)
    truth = scipy.stats.kendalltau(one, two).statistic
    found = [table(4 * PEOPLE, 1.5, seed) for seed in range(60)]
    values = [one.rank_correlation() for one in found]
    unbiased = np.array([value.unbiased for value in values])
    assert abs(unbiased.mean() - truth) < 5 * unbiased.std() / np.sqrt(60)
    errors = np.array([value.error for value in values])
    assert np.median(errors) == pytest.approx(unbiased.std(), rel=0.35)
    held = sum(value.low <= truth <= value.high for value in values)
    assert held >= 48  # a chance of 1e-6 at 95 %


def test_the_means_of_groups_are_ratios_of_sums() -> None:
    found = table(PEOPLE, CLEAR).means("income", by="group")
    middles = np.array([5.0, 15, 25, 35])
    np.testing.assert_allclose(found.values, middles @ PEOPLE / PEOPLE.sum(axis=0))
    for j, name in enumerate("abc"):
        people = PEOPLE[:, j]
        answers = np.repeat(middles, people)
        error = answers.std() / np.sqrt(people.sum())
        assert (found.high - found.low)[j] == pytest.approx(2 * 1.96 * error, rel=0.02)
        assert found.names[j] == name
    welch = found.difference("c", "b")
    a, c = (np.repeat(middles, PEOPLE[:, j]) for j in (1, 2))
    z = (c.mean() - a.mean()) / np.hypot(c.std() / np.sqrt(len(c)), a.std() / np.sqrt(len(a)))
    assert welch.value == pytest.approx(c.mean() - a.mean())
    assert welch.p_value is not None
    assert scipy.stats.norm.isf(welch.p_value / 2) == pytest.approx(z, rel=0.1)
    assert found.p_value < welch.p_value
    assert "mean, c minus b: +" in str(welch)


def test_the_test_of_equal_means_is_the_least_distance_from_a_common_one() -> None:
    found = table(6 * PEOPLE, 2.0).means("income", "group")

    def distance(mean: float) -> float:
        rest = found.totals - mean * found.people
        rows = np.hstack([np.eye(3), -mean * np.eye(3)])
        return float(rest @ np.linalg.solve(rows @ found.noise @ rows.T, rest))

    least = scipy.optimize.minimize_scalar(distance, bounds=(5, 35), method="bounded").fun
    assert found.p_value == pytest.approx(scipy.stats.chi2.sf(least, 2), rel=1e-3)


def test_limits_of_a_mean_are_those_of_fieller() -> None:
    found = table(6 * PEOPLE, 2.0).means("income", "group", level=0.9)
    z = scipy.stats.norm.isf(0.05)
    for j in range(3):
        noise = found.noise[np.ix_([j, j + 3], [j, j + 3])]
        for mean in (found.low[j], found.high[j]):
            row = np.array([1.0, -mean])
            if mean in (5, 35):  # the end of the scale
                continue
            away = found.totals[j] - mean * found.people[j]
            assert abs(away) == pytest.approx(z * np.sqrt(row @ noise @ row))


def test_a_group_that_noise_hides_has_the_whole_scale() -> None:
    people = np.array([[400, 1], [300, 2], [300, 1]])
    found = table(people, 0.5).means("income", "group")
    assert (found.low[1], found.high[1]) == (5, 25)
    assert "too few people are in 'a', 'b'" in found.notes[0]


def test_tests_by_group_keep_their_size() -> None:
    """50 tables in which nothing goes together: at 0.065, 17 rejections have a chance below 1e-7;
    tests that took half of the variance would have 17 % and more than 33 of 200 together."""
    rng, found = np.random.default_rng(2), []
    shares = np.outer([0.1, 0.3, 0.4, 0.2], [0.5, 0.3, 0.2])
    for seed in range(50):
        both = table(rng.multinomial(4000, shares.ravel()).reshape(4, 3), 1.5, seed)
        means, tau = both.means("income", "group"), both.rank_correlation()
        rise = both.means("group", "income")
        found.append([means.p_value, means.difference("a", "b").p_value, tau.p_value, rise.p_value])
    rejected = (np.array(found, np.float64) < 0.05).sum(axis=0)
    assert (rejected < 17).all()
    assert rejected.sum() < 30


def test_of_three_questions_groups_are_those_of_one_or_combinations_of_two() -> None:
    age = mm.Question("age", range=(0, 29), width=10, mechanism=mm.KRR(3, CLEAR))
    sex = mm.Question("sex", ["f", "m"], mechanism=mm.KRR(2, CLEAR))
    town = mm.Question("town", ["x", "y"], mechanism=mm.KRR(2, CLEAR))
    people = np.arange(1, 13).reshape(2, 3, 2) * 10
    both = mm.Joint(town, age, sex)
    found = both.estimate(both.simulate(people, np.random.default_rng(1)))
    middles = np.array([4.5, 14.5, 24.5])
    one = found.means("age", "sex")
    wanted = np.einsum("j,ijk->k", middles, people) / people.sum(axis=(0, 1))
    np.testing.assert_allclose(one.values, wanted, rtol=1e-6)
    two = found.means("age", ["sex", "town"])
    wanted = np.einsum("j,ijk->ki", middles, people) / people.sum(axis=1).T
    np.testing.assert_allclose(two.values, wanted.ravel(), rtol=1e-6)
    assert len(two.names) == 4
    margin = found.margin("age")
    assert isinstance(margin, NumberEstimate)
    assert margin.mean().value == pytest.approx(float(middles @ people.sum(axis=(0, 2)) / 780))


def test_what_has_no_order_is_refused() -> None:
    sex = mm.Question("sex", ["f", "m"], mechanism=mm.KRR(2, 2.0))
    hour = mm.Question("hour", range=(0, 23), width=6, circular=True, mechanism=mm.KRR(4, 2.0))
    both = mm.Joint(sex, hour)
    found = both.estimate(both.simulate(np.full((2, 4), 50), np.random.default_rng(1)))
    with pytest.raises(ValueError, match="'sex' has neither numbers nor an order"):
        found.means("sex", "hour")
    with pytest.raises(ValueError, match="circular scale"):
        found.means("hour", "sex")
    with pytest.raises(ValueError, match="neither numbers nor an order"):
        found.rank_correlation()
    with pytest.raises(ValueError, match="of one question, by others"):
        found.means("hour", "hour")


def test_means_of_groups_are_a_table_and_a_document() -> None:
    found = table(6 * PEOPLE, 4.0).means("income", "group")
    assert str(found).splitlines()[0].split() == ["group", "mean", "95", "%", "interval"]
    assert found.conclusion in str(found)
    document = found.to_document()
    assert document["group"] == ["a", "b", "c"]
    assert document["p_value"] == found.p_value
    assert found.to_csv().startswith("group,mean,low,high\n")
    with pytest.raises(ValueError, match="there is no group"):
        found.difference("a", "z")
    with pytest.raises(ValueError, match="of two groups"):
        found.difference("a", "a")
