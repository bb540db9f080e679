"""Means, ranges, quantiles and distribution functions of one estimate, against other computations.

Coverage in simulations is measured by `benchmarks/numbers_coverage.py`.
"""

from __future__ import annotations

import dataclasses
from typing import Any, cast

import numpy as np
import pytest
import scipy.stats

import murmurs as mm
from murmurs.estimators.numbers import NumberEstimate
from murmurs.inference.fitting import fitted
from murmurs.inference.linear import corrected, exceedances, group_limits, largest_value
from murmurs.inference.tails import Support, tail_limits
from murmurs.numerics.arrays import Floats, Integers
from murmurs.scales.scale import Scale

NEVER_WRONG = 30.0
"""An epsilon at which no report is changed."""


def smooth(k: int) -> Floats:
    shares = np.exp(-0.5 * ((np.arange(k) - 0.4 * k) / (0.2 * k)) ** 2)
    return np.asarray(shares / shares.sum())


def estimate(mechanism: Any, n: int = 4000, seed: int = 1, **scale: Any) -> NumberEstimate:
    rng = np.random.default_rng(seed)
    counts = mechanism.simulate(rng.multinomial(n, smooth(mechanism.k)), rng)
    return NumberEstimate.of(
        mm.estimate(counts), Scale(tuple(np.arange(mechanism.k + 1.0)), **scale)
    )


def test_a_corrected_sum_is_that_of_least_squares_under_shares_that_add_up_to_one() -> None:
    """Generalised least squares with the constraint as an equation, solved by Lagrange."""
    est = estimate(mm.OUE(k=6, epsilon=1.0))
    weights, k = np.array([0.0, 1, 2, 5, 3, 1]), 6
    noise = est.fit.covariance(est.plausible, "respondents")
    system = np.block(
        [[np.linalg.inv(noise), np.ones((k, 1))], [np.ones((1, k)), np.zeros((1, 1))]]
    )
    right = np.append(np.linalg.inv(noise) @ est.unbiased, 1.0)
    shares = np.linalg.solve(system, right)[:k]
    variance = np.linalg.inv(system)[:k, :k]
    found = corrected(est.fit, weights, est.plausible).sums(est.plausible, "respondents")
    assert found.values[0] == pytest.approx(float(weights @ shares))
    assert found.covariance[0, 0] == pytest.approx(float(weights @ variance @ weights))
    plain = float(weights @ noise @ weights)
    assert found.covariance[0, 0] < 0.99 * plain


def test_without_noise_figures_are_those_of_the_sample() -> None:
    people = np.array([10, 30, 40, 15, 5]) * 20
    counts = mm.KRR(k=5, epsilon=NEVER_WRONG).simulate(people, np.random.default_rng(1))
    est = NumberEstimate.of(mm.estimate(counts), Scale((0.0, 10.0, 20.0, 30.0, 40.0, 50.0)))
    answers = np.repeat(np.arange(5) * 10 + 5.0, people)
    mean, error = answers.mean(), answers.std() / np.sqrt(len(answers))
    assert est.mean().value == pytest.approx(mean)
    assert est.mean().low == pytest.approx(mean - 1.959964 * error)
    assert (est.sum().low, est.sum().high) == pytest.approx((answers.sum(), answers.sum()))
    assert est.sum(50, 0.8).high > est.sum(50, 0.8).value == pytest.approx(50 * mean)
    assert est.median().value == pytest.approx(20 + 10 * (0.5 - 0.4) / 0.4)
    above = est.above(30)
    exact = scipy.stats.binomtest(400, 2000).proportion_ci(method="wilson")
    assert (above.low, above.high) == pytest.approx((exact.low, exact.high), abs=1e-3)
    assert est.between(0, 50).low == est.between(0, 50).high == 1.0


def test_quantiles_lie_where_the_distribution_function_reaches_them() -> None:
    """Limits of the median are those shares of the sample below it that are not refused."""
    est = estimate(mm.KRR(k=20, epsilon=NEVER_WRONG), n=900)
    median, band = est.median(), est.cdf()
    for limit, side in ((median.low, band.high), (median.high, band.low)):
        place = int(limit)
        assert np.interp(limit, [place, place + 1], side[place - 1 : place + 1]) == (
            pytest.approx(0.5)
        )
    below = np.cumsum(est.unbiased)[:-1]
    wilson = [
        scipy.stats.binomtest(round(900 * b), 900).proportion_ci(method="wilson") for b in below
    ]
    np.testing.assert_allclose(band.low[:-1], [own.low for own in wilson], atol=4e-3)
    np.testing.assert_allclose(band.high[:-1], [own.high for own in wilson], atol=4e-3)


@pytest.mark.parametrize(
    "mechanism", [mm.KRR(9, 1.0), mm.OUE(9, 1.0), mm.Hadamard(9, 1.0)], ids=str
)
def test_every_value_is_within_its_limits_at_every_level(mechanism: Any) -> None:
    est = estimate(mechanism, 300)
    for level in (0.5, 0.95, 0.999):
        for one in (
            est.mean(level),
            est.median(level),
            est.above(4, level),
            est.between(1, 3, level),
        ):
            assert one.low <= one.value <= one.high
        for band in (est.cdf(level), est.cdf(level, simultaneous=True)):
            assert ((band.low <= band.shares) & (band.shares <= band.high)).all()
            assert (np.diff(band.shares) >= 0).all()
            assert band.high[-1] == band.low[-1] == 1.0


def test_a_value_is_at_most_one_standard_error_from_the_unbiased_one() -> None:
    """An estimator that makes all shares equal has another mean, which is far from the truth."""
    est = estimate(mm.OUE(k=10, epsilon=1.0), 40_000)
    flat = dataclasses.replace(est, shares=np.full(10, 0.1))
    mean = flat.mean()
    assert mean.error is not None
    assert mean.unbiased is not None
    assert mean.unbiased == pytest.approx(est.mean().unbiased, abs=0.1)
    assert mean.unbiased < 5 - 1.5 * mean.error
    assert mean.value - mean.unbiased == pytest.approx(mean.error)
    assert est.mean().value < mean.value


def test_limits_of_groups_are_exact_where_reports_support_one_answer() -> None:
    fit = estimate(mm.KRR(k=6, epsilon=2.0), 60).fit
    members = np.array([[0.0, 0, 1, 1, 0, 0]])
    start = np.array([[0.1], [0.6]])
    support = fit.support
    assert support is not None
    counts, hit, miss = support
    law = Support(60, hit + miss, 2 * miss, sampled=True)
    wanted = tail_limits(np.array([int(counts[2:4].sum())]), law, 0.95, start.T)[0]
    assert group_limits(fit, members, start, 0.95, True)[:, 0].tolist() == wanted.tolist()


@pytest.mark.parametrize("mechanism", [mm.ProjectiveGeometry(101, 1.0), mm.Subset(9, 0.5)], ids=str)
def test_reports_that_support_several_answers_have_no_binomial_groups(mechanism: Any) -> None:
    """Taken for binomial, the limits of groups were those of another law, or an error."""
    est = estimate(mechanism, 500)
    start = np.array([[0.1], [0.6]])
    members = (np.arange(mechanism.k) < 4)[None].astype(float)
    assert group_limits(est.fit, members, start, 0.95, True) is start
    assert 0 <= est.median().low < est.median().high


def test_pointwise_limits_are_not_tightened_by_their_neighbours() -> None:
    est = estimate(mm.Subset(k=60, epsilon=0.5), 200_000)
    band, together = est.cdf(), est.cdf(simultaneous=True)
    assert (np.diff(band.low) < 0).any()
    assert (np.diff(together.low) >= 0).all()
    assert (np.diff(together.high) >= 0).all()
    width = est.fit.sums(np.tri(59, 60), est.plausible).errors[30]
    assert band.high[30] - band.low[30] == pytest.approx(2 * 1.96 * width, rel=0.01)


def test_the_largest_of_a_normal_process_has_its_quantile() -> None:
    """Of independent values it is known exactly; 4,000 draws are within 3 %, a wrong one is not."""
    exact = float(scipy.stats.norm.isf((1 - 0.95 ** (1 / 30)) / 2))
    assert largest_value(4.0 * np.eye(30), 0.95) == pytest.approx(exact, rel=0.03)
    assert exact > 1.05 * 1.96
    assert largest_value(np.ones((5, 5)), 0.95) == pytest.approx(1.96, rel=0.03)
    assert largest_value(np.zeros((2, 2)), 0.95) == pytest.approx(1.96, rel=0.001)


def test_the_probability_that_a_process_exceeds_a_value_is_never_too_small() -> None:
    """Two values with correlation 0.8: the truth is an integral that SciPy computes."""
    noise = np.array([[1.0, 0.8], [0.8, 1.0]])
    for value, near in ((1.0, 0.03), (2.0, 0.2), (4.0, None), (6.0, None)):
        below = scipy.stats.multivariate_normal(cov=noise).cdf([value, value])
        truth, found = 1 - below, exceedances(noise, [value])[0]
        if near is None:
            assert 0.999 * truth <= found < 2.5 * truth + 1e-12
        else:
            assert found == pytest.approx(truth, rel=near)


def hours(people: Floats | Integers, epsilon: float = 2.0, seed: int = 1) -> NumberEstimate:
    question = mm.Question("hour", range=(0, 23), width=1, circular=True, epsilon=epsilon)
    found = question.estimate(question.simulate(people, np.random.default_rng(seed)), "unbiased")
    assert isinstance(found, NumberEstimate)
    return found


def test_the_mean_on_a_circle_turns_with_the_people() -> None:
    people = np.rint(3000 * (1 + np.cos((np.arange(24) - 23.9) / 12 * np.pi))).astype(np.int64)
    night = hours(people).circular_mean()
    assert 23 < night.low < 24
    assert 0 <= night.high < 1
    clear = [hours(np.roll(people, turn), NEVER_WRONG).circular_mean() for turn in (0, 5)]
    assert clear[0].value == pytest.approx(23.9, abs=1e-3)
    for name in ("value", "low", "high"):
        turned = getattr(clear[0], name) + 5
        assert getattr(clear[1], name) == pytest.approx(turned % 24, abs=1e-9)


def test_the_mean_on_a_circle_has_the_limits_of_its_two_sums() -> None:
    """Fieller's limits are where the sum across a direction is 1.96 of its standard errors."""
    people = np.rint(600 * (1.5 + np.cos((np.arange(24) - 6) / 12 * np.pi))).astype(np.int64)
    est = hours(people, 1.0)
    found = est.circular_mean()
    angles = np.arange(24) / 12 * np.pi
    noise = est.fit.covariance(est.plausible, "population")
    for limit in (found.low, found.high):
        across = np.sin(angles - limit / 12 * np.pi)
        centred = across - noise.sum(axis=0) @ across / max(noise.sum(), 1e-300)
        if noise.sum() < 1e-9 * np.trace(noise):
            centred = across
        value = across @ est.unbiased
        assert abs(value) == pytest.approx(1.959964 * np.sqrt(centred @ noise @ centred), rel=0.02)


def test_no_direction_is_given_where_none_stands_out() -> None:
    found = hours(np.full(24, 40), 0.5).circular_mean()
    assert found.high - found.low == pytest.approx(24)
    assert "no direction" in found.notes[0]


def test_what_has_no_meaning_on_a_circle_is_refused() -> None:
    est = hours(np.full(24, 100))
    for ask in (est.mean, est.median, est.cdf, lambda: est.above(3), est.top):
        with pytest.raises(ValueError, match="circular scale has no first"):
            ask()
    assert est.between(22, 2).value == pytest.approx(4 / 24, abs=0.1)
    with pytest.raises(ValueError, match="nothing from 24 up to 0"):
        est.between(24, 0)
    with pytest.raises(ValueError, match="not circular"):
        estimate(mm.KRR(4, 1.0)).circular_mean()


def test_what_is_no_edge_is_refused_with_its_neighbours() -> None:
    est = estimate(mm.KRR(6, 1.0))
    with pytest.raises(ValueError, match=r"2.5 is inside a bucket.*ask for 2 or 3"):
        est.above(2.5)
    with pytest.raises(ValueError, match="outside of the survey's range, 0 to 6"):
        est.above(7)
    with pytest.raises(ValueError, match="nothing from 3 up to 3"):
        est.between(3, 3)
    with pytest.raises(ValueError, match="no bucket begins at 6, the end of the last one"):
        est.above(6)
    for ask in (est.mean, est.median, est.cdf, est.sum, est.top):
        with pytest.raises(ValueError, match="target must be 'respondents' or 'population', not"):
            ask(target=cast(Any, "people"))
    with pytest.raises(TypeError, match="is not a number on this scale"):
        est.above("many")
    with pytest.raises(ValueError, match="the part of people"):
        est.quantile(1.0)


def test_labels_in_order_have_a_mean_score_and_top_boxes() -> None:
    rating = mm.Question(
        "rating", ["bad", "poor", "fair", "good", "best"], epsilon=3.0, ordered=True
    )
    people = [100, 300, 900, 1500, 1200]
    est = rating.estimate(rating.simulate(people, np.random.default_rng(1)))
    assert isinstance(est, NumberEstimate)
    mean, top = est.mean(), est.top()
    assert mean.low < 3.85 < mean.high
    assert mean.high - mean.low < 0.2
    assert top.low < 2700 / 4000 < top.high
    assert est.median().value == 4
    assert top.value == est.above(4).value


def test_people_who_reported_again_are_sampled_once() -> None:
    est = estimate(mm.KRR(k=6, epsilon=4.0), 600)
    again = dataclasses.replace(est.counts, again=3.0)
    other = NumberEstimate.of(mm.estimate(again), est.scale)
    for one, two in ((est.mean(), other.mean()), (est.above(3), other.above(3))):
        assert two.high - two.low > 1.2 * (one.high - one.low)
    sizes = [e.mean(target="respondents").error for e in (est, other)]
    assert sizes[0] == pytest.approx(sizes[1], rel=1e-6)


def test_buckets_without_an_end_are_noted_and_quantiles_in_them_are_infinite() -> None:
    counts = mm.KRR(k=3, epsilon=4.0).simulate([100, 200, 700], np.random.default_rng(1))
    est = NumberEstimate.of(mm.estimate(counts), Scale((0.0, 10.0, 20.0, float("inf"))))
    assert est.median().value == float("inf")
    assert est.median().to_document()["value"] is None
    assert "open-ended" in est.mean().notes[0]
    assert fitted(counts).n == 1000


def test_intervals_cover_in_populations_that_are_not_smooth() -> None:
    """40 draws each of two laws with three figures; fewer than 200 of 240 at 95 % have a chance
    below 1e-9, and limits of 80 % would have it in nearly all runs."""
    rng, held, wrong = np.random.default_rng(3), 0, 0
    heaped = np.where(np.arange(20) % 5 == 0, 6.0, 1.0)
    for shares in (heaped / heaped.sum(), np.array([0.5, 0, 0, 0.2, *[0] * 15, 0.3])):
        below = np.cumsum(shares)
        for _ in range(40):
            counts = mm.Subset(k=20, epsilon=1.0).simulate(rng.multinomial(2000, shares), rng)
            est = NumberEstimate.of(mm.estimate(counts, "unbiased"), Scale(tuple(np.arange(21.0))))
            mean, share, band = est.mean(), est.above(10), est.cdf(simultaneous=True)
            truth = float(shares @ est.scale.middles)
            held += mean.low <= truth <= mean.high
            held += share.low <= 1 - below[9] <= share.high
            held += bool(((band.low <= below + 1e-9) & (below <= band.high + 1e-9)).all())
            narrow = est.mean(0.6)
            wrong += narrow.low <= truth <= narrow.high
    assert held >= 204
    assert 3 * wrong < 204
