"""Joint tables: the default estimator next to brute force, its margins, notes and limits."""

from __future__ import annotations

import math
import sys
from typing import Any, cast

import numpy as np
import pytest
import scipy.optimize
import scipy.stats

import murmurs as mm
from murmurs.channels.product import ProductChannel
from murmurs.counts import Counts
from murmurs.estimators import BY_NAME, em, independence, joint
from murmurs.estimators.methods.joint import face_dimension, stands_out
from murmurs.estimators.ratio_laws import edges, gamma_below, ratio_laws
from murmurs.estimators.residual import free_cells, residual, residual_in_cohorts, side_of
from murmurs.mechanisms import OpenProduct
from murmurs.numerics import normal
from murmurs.numerics.arrays import Floats
from murmurs.numerics.tables import beyond, margin, outer, rake

HAIR = np.array([[68, 20, 15, 5], [119, 84, 54, 29], [26, 17, 14, 14], [7, 94, 10, 16]])
"""Hair and eye colour of 592 students (Snee 1974): associated."""


def pair(k: int = 4, m: int = 4, epsilon: float = 2.0) -> mm.Product:
    return mm.Product((mm.KRR(k=k, epsilon=epsilon), mm.KRR(k=m, epsilon=epsilon)))


def drawn(mechanism: mm.Product, people: Any, seed: int = 1) -> Counts:
    return mechanism.simulate(np.asarray(people).ravel(), np.random.default_rng(seed))


# Against brute force


def test_em_on_a_pair_is_the_maximum_that_scipy_finds() -> None:
    counts = drawn(pair(2, 3, 1.5), np.array([[400, 100, 0], [0, 200, 300]]))
    law, seen = counts.channel.matrix(), counts.cells.ravel()

    def loss(shares: Floats) -> float:
        return -float(seen @ np.log(np.maximum(shares @ law, 1e-300)))

    found = scipy.optimize.minimize(
        loss,
        np.full(6, 1 / 6),
        method="SLSQP",
        bounds=[(0, 1)] * 6,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 1},
        options={"maxiter": 1000, "ftol": 1e-12},
    )
    ours = em(counts, tolerance=1e-9).shares
    assert loss(ours) <= loss(found.x) + 1e-6
    np.testing.assert_allclose(ours, found.x, atol=1e-3)


@pytest.mark.parametrize(
    "parts",
    [
        [mm.KRR(k=2, epsilon=1.0), mm.KRR(k=3, epsilon=2.0)],
        [mm.Hadamard(k=3, epsilon=1.0, blocks=1), mm.KRR(k=2, epsilon=1.0)],
    ],
)
def test_the_noise_of_the_rest_is_that_of_all_reports_enumerated(parts: Any) -> None:
    """The variance of a product of deviations, over all pairs of reports."""
    both = mm.Product(tuple(parts))
    channel = both.channel
    table = np.random.default_rng(3).dirichlet(np.ones(both.k)).reshape(channel.answers)
    own = [margin(table, (i,)) for i in (0, 1)]
    sides = [side_of(axis, a, a) for axis, a in zip(channel.axes, own, strict=True)]
    counts = drawn(both, np.full(both.k, 100))
    rest = residual(counts, outer(own), 1, sides)
    away = [axis.q(0) - a[:, None] for axis, a in zip(channel.axes, own, strict=True)]
    law = channel.mean(outer(own).ravel())
    square = np.einsum("ix,jy,xy->ij", away[0] ** 2, away[1] ** 2, law)
    left = outer([side.kept for side in sides])  # where estimates need not sum to one by themselves
    np.testing.assert_allclose(rest.constant * counts.n, square * left, rtol=1e-9)
    assert rest.freedom == 2
    for side, axis in zip(sides, channel.axes, strict=True):  # kept: least squares for a sum of one
        free = axis.second_moment(0, side.shares) - np.outer(side.shares, side.shares)
        np.testing.assert_allclose(side.covariance, side.projection @ free, atol=1e-12)
        np.testing.assert_allclose(side.covariance.sum(axis=0), 0, atol=1e-9)


@pytest.mark.parametrize(
    "mechanism",
    [mm.OUE(k=4, epsilon=1.0), mm.Subset(k=5, epsilon=1.0, w=2), mm.Hadamard(k=3, epsilon=1.0)],
)
def test_the_mean_of_second_moments_is_that_of_each_answer(mechanism: Any) -> None:
    axis = mm.Product((mechanism, mm.KRR(k=2, epsilon=1.0))).channel.axes[0]
    shares = np.random.default_rng(1).dirichlet(np.ones(mechanism.k))
    wanted = np.tensordot(shares, axis.moments(0), axes=1)
    np.testing.assert_allclose(axis.second_moment(0, shares), wanted, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(np.diag(wanted), axis.squares(0) @ shares, rtol=1e-9)


def test_with_cohorts_the_rest_agrees_with_that_of_products() -> None:
    """A pair without cohorts, seen as one in cohorts: the same rest, with the same noise."""
    counts = drawn(pair(3, 4), np.arange(1, 13) * 300)
    channel = counts.channel
    assert isinstance(channel, ProductChannel)
    base = independence(counts).shares.reshape(3, 4)
    own = [margin(base, (i,)) for i in (0, 1)]
    unbiased = [mm.estimate(counts.margin(i), "unbiased").shares for i in (0, 1)]
    sides = [side_of(a, s, u) for a, s, u in zip(channel.axes, own, unbiased, strict=True)]
    first, second = residual(counts, base, 1, sides), residual_in_cohorts(counts, base, 1)
    np.testing.assert_allclose(second.constant, first.constant, rtol=1e-6)
    assert second.freedom == first.freedom == 6
    error = np.sqrt(first.constant)
    assert np.abs(second.estimates - first.estimates).max() < 0.02 * error.min()
    assert second.statistic == pytest.approx(first.statistic, rel=0.02)


# Margins


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_margins_are_the_estimates_of_the_single_questions(epsilon: float) -> None:
    for both in (
        pair(4, 4, epsilon),
        mm.Product((mm.OUE(k=4, epsilon=epsilon), mm.Subset(k=4, epsilon=epsilon))),
    ):
        counts = drawn(both, HAIR * 10)
        table = joint(counts).shares.reshape(4, 4)
        for i in (0, 1):
            wanted = mm.estimate(counts.margin(i)).shares
            np.testing.assert_allclose(margin(table, (i,)), wanted, atol=1e-6)


def test_three_questions_agree_with_their_pairs_and_with_each_question() -> None:
    three = mm.Product(
        (mm.KRR(k=2, epsilon=2.0), mm.OUE(k=3, epsilon=2.0), mm.KRR(k=2, epsilon=2.0))
    )
    people = np.array([9, 1, 4, 6, 2, 8, 3, 7, 5, 5, 9, 1]) * 2000
    counts = drawn(three, people)
    table = joint(counts).shares.reshape(2, 3, 2)
    for i in range(3):
        single = mm.estimate(counts.margin(i)).shares
        np.testing.assert_allclose(margin(table, (i,)), single, atol=1e-6)
        rest = tuple(j for j in range(3) if j != i)
        both = mm.estimate(counts.margin(*rest)).shares.reshape(margin(table, rest).shape)
        np.testing.assert_allclose(margin(table, rest), both, atol=1e-4)
    # The association of all three that pairs do not show is seen: the truth is far from the base.
    truth = people.reshape(2, 3, 2) / people.sum()
    pairs = [(p, margin(truth, p)) for p in ((0, 1), (0, 2), (1, 2))]
    only_pairs = rake(np.full((2, 3, 2), 1 / 12), pairs)
    assert np.abs(table - truth).sum() < 0.5 * np.abs(only_pairs - truth).sum()


def test_independence_is_the_product_of_single_estimates() -> None:
    counts = drawn(pair(), HAIR * 10)
    own = [mm.estimate(counts.margin(i)).shares for i in (0, 1)]
    np.testing.assert_allclose(independence(counts).shares, outer(own).ravel(), rtol=1e-9)


# Accuracy and intervals


@pytest.mark.filterwarnings("ignore::murmurs.estimators.NoiseDominates")
def test_the_default_is_more_accurate_than_em_and_independence() -> None:
    """Eight by eight answers with a heavy diagonal, 10,000 people, epsilon 1 and 2, 20 collections.

    With other seeds the ratios of the summed errors were 0.52 and 0.60, with standard deviations
    of 0.017: 0.75 is eight of them away, a false alarm with probability below 1e-12. Either of the
    other two in the place of the default would have a ratio of one.
    """
    law = (0.7 / 64 + 0.3 / 8 * np.eye(8)).ravel()
    rng = np.random.default_rng(5)
    errors = {"joint": 0.0, "em": 0.0, "independence": 0.0}
    for epsilon in [1.0, 2.0] * 10:
        people = rng.multinomial(10_000, law)
        counts = pair(8, 8, epsilon).simulate(people, rng)
        for name in errors:
            errors[name] += float(np.abs(BY_NAME[name](counts).shares - people / 10_000).sum())
    assert errors["joint"] < 0.75 * errors["em"]
    assert errors["joint"] < 0.75 * errors["independence"]


def test_least_squares_find_strong_association_at_strong_noise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    people = np.array([[2400, 600, 10], [700, 2900, 700], [10, 500, 1800]])
    tables = [drawn(pair(3, 3, 0.5), people, seed) for seed in range(10)]

    def error() -> float:
        truth = people.ravel() / people.sum()
        return float(np.mean([np.abs(joint(counts).shares - truth).sum() for counts in tables]))

    with_least_squares = error()
    monkeypatch.setattr(sys.modules["murmurs.estimators.methods.joint"], "LEAST_WEIGHT", 1.0)
    assert with_least_squares < 0.95 * error()


def pulled(statistic: float, corner: tuple[int, int]) -> float:
    """Return how far the default goes from independence to EM, at a chi-square statistic.

    Expected reports of 100,000 people; two rows and two columns, without the corner's, associated.
    """
    own = [np.array([0.5, 0.3, 0.2]), np.array([0.4, 0.35, 0.25])]
    signs = [np.insert([1.0, -1.0], at, 0.0) for at in corner]
    both = pair(3, 3, 0.7)

    def counts(size: float) -> Counts:
        shares = outer(own) + size * outer(signs)
        cells = np.rint(100_000 * both.channel.mean(shares.ravel())).astype(np.int64)
        return Counts(both, int(cells.sum()), cells.reshape(3, 3))

    def seen(counts: Counts) -> float:
        single = [mm.estimate(counts.margin(i)) for i in (0, 1)]
        axes = cast(ProductChannel, counts.channel).axes
        sides = [side_of(a, e.shares, e.unbiased) for a, e in zip(axes, single, strict=True)]
        return residual(counts, outer([e.shares for e in single]), 1, sides).statistic

    found = counts(0.01 * math.sqrt(statistic / seen(counts(0.01))))
    assert seen(found) == pytest.approx(statistic, rel=0.05)
    start = independence(found).shares
    way = em(found, tolerance=1e-3).shares - start
    return float((joint(found).shares - start) @ way / (way @ way))


def test_a_table_that_chance_explains_stays_near_independence() -> None:
    """Chi-square of 8 with four degrees of freedom: chance exceeds it in 9 of 100 tables.

    No rule is nearer to the better of EM and independence, at its worst, than one that goes 0.1 to
    0.2 of the way there, half of it at 12 and two thirds at 16.
    """
    corners = [(0, 0), (0, 2), (2, 0), (2, 2)]
    assert np.mean([pulled(8.0, corner) for corner in corners]) < 0.3
    assert np.mean([pulled(24.0, corner) for corner in corners]) > 0.8


def test_a_face_has_as_many_dimensions_as_cells_beyond_its_margins() -> None:
    assert face_dimension(np.full((3, 4), 1 / 12)) == free_cells((3, 4), 1)
    assert face_dimension(np.eye(3) / 3) == 0  # its margins determine it
    assert face_dimension(np.array([[0.5, 0.2], [0.3, 0.0]])) == 0
    empty_row = np.array([[0.25, 0.25], [0.25, 0.25], [0.0, 0.0]])
    assert face_dimension(empty_row) == 1


def test_intervals_of_tables_cover_at_their_level() -> None:
    """95 % intervals cover 93 to 97 % of the cells, for the population and for the respondents.

    Means of 120 collections; beyond the bounds by six standard errors with probability below 1e-8.
    Intervals for respondents, taken for the population at epsilon 4, would cover less than 93 %.
    """
    rng = np.random.default_rng(7)
    law = (HAIR / HAIR.sum()).ravel()
    seen: dict[str, list[float]] = {"population": [], "respondents": [], "wrong": []}
    unary = mm.Product((mm.OUE(k=4, epsilon=2.0), mm.SUE(k=4, epsilon=2.0)))
    for both in [pair(epsilon=1.0), pair(epsilon=4.0), unary] * 40:
        people = rng.multinomial(3000, law)
        estimate = mm.estimate(both.simulate(people, rng))
        for name, target, truth in (
            ("population", "population", law),
            ("respondents", "respondents", people / 3000),
            ("wrong", "respondents", law),
        ):
            if name == "wrong" and both.epsilon < 8:
                continue
            low, high = estimate.interval(0.95, target)  # type: ignore[arg-type]
            seen[name].append(float(np.mean((low <= truth) & (truth <= high))))
    for name, averages in seen.items():
        error = 6 * float(np.std(averages)) / math.sqrt(len(averages))
        mean = float(np.mean(averages))
        assert (mean + error < 0.93) if name == "wrong" else (mean + error > 0.93), (name, mean)
        assert mean - error < 0.97, (name, mean)


def test_a_cell_many_times_its_share_under_independence_is_not_cut_off() -> None:
    """500 people of a million, all alike in two rare answers: a thousand times as under chance."""
    people = np.diag([500, 400_000, 599_500])
    table = joint(drawn(pair(3, 3, 6.0), people)).shares.reshape(3, 3)
    assert table[0, 0] == pytest.approx(0.0005, rel=0.3)


# What it says


def test_a_note_says_if_no_association_stands_out() -> None:
    few = joint(drawn(pair(epsilon=0.5), HAIR))
    assert any(note.startswith("no association stands out from the noise") for note in few.notes)
    many = joint(drawn(pair(epsilon=2.0), HAIR * 100))
    assert many.notes == ()
    three = mm.Product((mm.KRR(k=2, epsilon=1.0),) * 3)
    found = joint(drawn(three, np.full(8, 1000)))
    assert any(note.startswith("nothing stands out beyond the pairs") for note in found.notes)


def test_a_note_about_a_question_says_which() -> None:
    both = mm.Product((mm.KRR(k=4, epsilon=0.02), mm.KRR(k=4, epsilon=4.0)))
    notes = joint(drawn(both, HAIR)).notes
    assert [note for note in notes if note.startswith("question 1: noise hides the shares")]
    assert not [note for note in notes if note.startswith("question 2")]


def test_the_limit_is_that_of_chi_square() -> None:
    for freedom in (1, 4, 30, 1000):
        limit = float(scipy.stats.chi2.ppf(0.95, freedom))
        assert stands_out(limit * 1.03, freedom)
        assert not stands_out(limit * 0.97, freedom)


def test_it_is_the_default_for_several_questions_and_refuses_one() -> None:
    found = mm.estimate(drawn(pair(), HAIR))
    assert found.estimator == "joint"
    assert found.why == "it keeps the association that stands out from the noise"
    one = mm.KRR(k=3, epsilon=1.0).count([0, 1, 2])
    for estimator in (joint, independence):
        way = (
            r"KRR\(k=3, epsilon=1\.0\) are of one question, not of several: use shrinkage\(counts\)"
        )
        with pytest.raises(ValueError, match=way):
            estimator(one)


def test_a_table_needs_reports_and_candidates() -> None:
    with pytest.raises(ValueError, match="there are no reports to estimate from"):
        joint(pair().count([]))
    both = OpenProduct((mm.ORR(epsilon=2.0, width=8, cohorts=8), mm.KRR(k=2, epsilon=1.0)))
    rng = np.random.default_rng(1)
    counts = both.count(both.encode_many([["tea", "mate"] * 200, [0, 1] * 200], rng))
    with pytest.raises(ValueError, match="asks an open question: say which strings to look for"):
        joint(counts)
    found = joint(counts.over(cast(Any, [["tea", "mate"], None])))
    assert found.shares.shape == (6,)
    assert found.shares.sum() == pytest.approx(1)


# Corners


def test_without_noise_the_table_is_that_of_the_respondents() -> None:
    people = np.array([[10, 20], [30, 5]])
    np.testing.assert_allclose(
        joint(drawn(pair(2, 2, 700.0), people)).shares, people.ravel() / 65, atol=1e-6
    )
    everybody = np.array([[10, 0], [0, 0]])
    np.testing.assert_allclose(joint(drawn(pair(2, 2, 700.0), everybody)).shares, [1, 0, 0, 0])


def test_a_question_with_one_possible_answer_adds_nothing() -> None:
    only = mm.ORR(epsilon=2.0, width=4, cohorts=4).over(["tea"], complete=True)
    counts = drawn(mm.Product((only, mm.KRR(k=2, epsilon=1.0))), np.array([50, 60]))
    np.testing.assert_allclose(joint(counts).shares, mm.estimate(counts.margin(1)).shares)


def test_a_table_of_thousands_of_cells_is_worked_on_in_blocks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts = drawn(pair(12, 9), np.arange(108) * 30)
    whole = joint(counts).shares
    monkeypatch.setattr("murmurs.estimators.ratios.BLOCK", 10)
    np.testing.assert_allclose(joint(counts).shares, whole, rtol=1e-9, atol=1e-12)


# The mathematics


def test_normal_probabilities_and_quantiles_are_those_of_scipy() -> None:
    x = np.concatenate([np.linspace(-38, 38, 5001), [0.0, 7.0710678, 7.071068]])
    np.testing.assert_allclose(normal.below(x), scipy.stats.norm.cdf(x), rtol=1e-7, atol=1e-300)
    near = np.abs(x) < 7
    np.testing.assert_allclose(normal.below(x[near]), scipy.stats.norm.cdf(x[near]), rtol=1e-8)
    p = np.concatenate([np.geomspace(1e-300, 0.5, 2000), 1 - np.geomspace(1e-15, 0.5, 2000)])
    np.testing.assert_allclose(normal.quantiles(p), scipy.stats.norm.ppf(p), rtol=1e-9, atol=1e-12)


def test_gamma_masses_are_those_of_scipy() -> None:
    x = np.concatenate([[0.0], np.geomspace(1e-3, 100, 60)])
    for shape in (0.05, 0.5, 1.0, 8.0, 200.0):
        wanted = scipy.stats.gamma.cdf(x, shape, scale=1 / shape)
        np.testing.assert_allclose(gamma_below(shape, x), wanted, atol=1e-3)


@pytest.mark.parametrize("largest", [1.0, 150.0, 5000.0])
def test_the_first_guesses_are_distributions_of_ratios(largest: float) -> None:
    limits = edges(largest)
    assert limits[-1] >= largest
    weights, laws = ratio_laws(limits)
    assert weights.sum() == pytest.approx(1)
    np.testing.assert_allclose(laws.sum(axis=1), 1)
    assert laws.min() >= 0
    middle = np.concatenate([[0, 1], (limits[1:] + limits[:-1]) / 2])
    means = laws @ middle
    assert np.abs(means - 1).max() < 0.25  # up to the width of the bins


def test_raking_gives_the_margins_and_keeps_the_odds_ratios() -> None:
    table = np.array([[0.4, 0.2], [0.2, 0.2]])
    first, second = np.array([0.3, 0.7]), np.array([0.6, 0.4])
    out = rake(table, [((0,), first), ((1,), second)])
    np.testing.assert_allclose(out.sum(axis=1), first, atol=1e-8)
    np.testing.assert_allclose(out.sum(axis=0), second, atol=1e-8)
    odds = [t[0, 0] * t[1, 1] / (t[0, 1] * t[1, 0]) for t in (table, out)]
    assert odds[0] == pytest.approx(odds[1])
    # Margins that no table has: it ends all the same.
    assert rake(table, [((0,), first), ((1,), np.array([1.0, 0.5]))]).sum() == pytest.approx(1)


def test_what_is_beyond_margins_has_none() -> None:
    table = np.random.default_rng(1).random((2, 3, 4))
    for order in (1, 2):
        rest = beyond(table, order)
        for kept in ((0, 1), (0, 2), (1, 2)) if order == 2 else ((0,), (1,), (2,)):
            np.testing.assert_allclose(margin(rest, kept), 0, atol=1e-12)
        np.testing.assert_allclose(beyond(rest, order), rest, atol=1e-12)
        free = np.linalg.matrix_rank(
            [beyond(unit.reshape(2, 3, 4), order).ravel() for unit in np.eye(24)]
        )
        assert free == free_cells((2, 3, 4), order)
