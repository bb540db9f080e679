"""Differences and slopes of numbers, of shares, and the order of distributions.

Their sizes over all mechanisms are in `test_every_comparison`; power is measured by
`benchmarks/numbers_coverage.py`.
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest
import scipy.stats

import murmurs as mm
from murmurs.counts import Counts
from murmurs.estimators.numbers import NumberEstimate
from murmurs.inference.comparable import common_shares
from murmurs.inference.contrasts import readings, slope_weights
from murmurs.inference.linear import corrected
from murmurs.numerics.arrays import Floats
from murmurs.scales.figures import Quantile
from murmurs.scales.scale import Scale

TEN = Scale(tuple(np.arange(0.0, 101.0, 10.0)), unit="km")


def bell(middle: float, width: float = 18.0) -> Floats:
    shares = np.exp(-0.5 * ((TEN.middles - middle) / width) ** 2)
    return np.asarray(shares / shares.sum())


def expected(shares: Floats, n: int = 6000, epsilon: float = 1.0) -> NumberEstimate:
    """The estimate of counts as they are on average, with k-RR."""
    mechanism = mm.KRR(k=len(shares), epsilon=epsilon)
    cells = np.rint(n * mechanism.channel.mean(shares)).astype(np.int64)
    cells[0] += n - cells.sum()
    return NumberEstimate.of(mm.estimate(Counts(mechanism, n, cells), "unbiased"), TEN)


def drawn(
    shares: Floats, n: int, rng: np.random.Generator, kind: Any = mm.Subset
) -> NumberEstimate:
    counts = kind(k=len(shares), epsilon=1.0).simulate(rng.multinomial(n, shares), rng)
    return NumberEstimate.of(mm.estimate(counts, "unbiased"), TEN)


def test_a_difference_of_means_is_tested_with_the_noise_of_each_side() -> None:
    """Equal means need not come from equal shares: the usual z-test with two variances."""
    this, other = expected(bell(48)), expected(bell(45, 30), 2000)
    found = this.difference(other).mean()
    means = this.mean(), other.mean()
    assert means[0].unbiased is not None
    assert means[1].unbiased is not None
    assert means[0].error is not None
    assert means[1].error is not None
    error = np.hypot(means[0].error, means[1].error)
    value = means[0].unbiased - means[1].unbiased
    assert found.value == pytest.approx(value)
    assert found.high - found.low == pytest.approx(2 * 1.959964 * error)
    assert found.p_value == pytest.approx(2 * scipy.stats.norm.sf(abs(value) / error))
    assert str(found).startswith("change of the mean +")


def test_a_difference_of_one_bucket_is_that_of_shares() -> None:
    this, other = expected(bell(48)), expected(bell(45))
    change = this.difference(other, names=("June", "May"))
    found = change.between(40, 50)
    low, high = change.interval()[:, 4]
    assert found.value == pytest.approx(float(change.shares[4]))
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-6)
    assert found.p_value == pytest.approx(float(change.p_values[4]), rel=1e-6)
    assert found.name == "share from 40 km up to 50 km, June minus May:"
    assert change.top(1).value == pytest.approx(change.above(90).value)


def test_the_test_of_equal_quantiles_is_the_least_distance_from_a_common_one() -> None:
    """Compared with all numbers of a fine grid."""
    sides = [expected(bell(47)), expected(bell(43, 25), 3000), expected(bell(44))]
    common = common_shares(sides)
    values, noise = np.zeros((3, 11)), np.zeros((3, 11, 11))
    for j, side in enumerate(sides):
        own = corrected(side.fit, np.tri(9, 10), side.plausible).sums(common, "population")
        values[j] = [0.0, *own.values, 1.0]
        noise[j, 1:-1, 1:-1] = own.covariance
    least = np.inf
    for place, part in itertools.product(range(10), np.linspace(0, 1, 201)):
        at = np.zeros(11)
        at[place], at[place + 1] = 1 - part, part
        least = min(least, ((values @ at - 0.5) ** 2 / (at @ noise @ at + 1e-12)).sum())
    found = readings(sides, TEN, Quantile(0.5), 0.95, "population")
    assert found.p_value == pytest.approx(scipy.stats.chi2.sf(least, 2), rel=0.01)
    assert 0.01 < found.p_value < 0.9


def test_a_median_that_moved_is_found_and_one_that_did_not_is_not() -> None:
    same, moved = expected(bell(50), 200_000), expected(bell(53), 200_000)
    spread = expected(bell(50, 25), 200_000)
    change = moved.difference(same).median()
    assert change.p_value is not None
    assert change.p_value < 1e-4
    assert change.low < 3 < change.high
    assert change.low > 0
    unmoved = spread.difference(same)
    assert unmoved.median().p_value == pytest.approx(1, abs=0.2)
    assert unmoved.quantile(0.9).low > 0
    assert str(change).startswith("change of the median +")


def test_a_quantile_in_a_bucket_without_an_end_is_not_compared() -> None:
    counts = mm.KRR(k=3, epsilon=4.0).simulate([100, 200, 700], np.random.default_rng(1))
    est = NumberEstimate.of(mm.estimate(counts), Scale((0.0, 10.0, 20.0, float("inf"))))
    with pytest.raises(ValueError, match="open-ended bucket"):
        est.difference(est).median()
    assert est.difference(est).above(20).p_value == 1


def test_numbers_are_compared_on_one_scale() -> None:
    est, other = expected(bell(45)), expected(bell(45))
    plain = mm.estimate(est.counts)
    with pytest.raises(ValueError, match="of numbers, or of ordered labels"):
        est.difference(plain).mean()
    moved = NumberEstimate.of(mm.estimate(other.counts), Scale(tuple(np.arange(11.0))))
    with pytest.raises(ValueError, match="different scales"):
        est.difference(moved).mean()


def test_one_distribution_lies_above_another_or_they_cross() -> None:
    low, high, wide = (
        expected(bell(45), 200_000),
        expected(bell(48), 200_000),
        expected(bell(45, 26), 200_000),
    )
    above = high.difference(low, names=("June", "May")).order()
    assert above.p_larger < 1e-4 < 0.2 < above.p_smaller
    assert above.sentence.startswith("Numbers of June tend to be larger than those of May (")
    below = low.difference(high).order()
    assert (below.p_larger, below.p_smaller) == (above.p_smaller, above.p_larger)
    assert below.sentence.startswith("Numbers of the other tend")
    crossing = wide.difference(low).order()
    assert max(crossing.p_larger, crossing.p_smaller) < 0.01
    assert "cross" in crossing.sentence
    assert "stands out" in low.difference(low).order().sentence
    assert above.to_document()["p_value"] == min(1, 2 * above.p_larger)


def test_slopes_are_those_of_weighted_least_squares() -> None:
    places, noise = np.array([0.0, 1.0, 2.0, 5.0]), np.array([1.0, 4.0, 2.0, 1.0])
    values = np.array([3.0, 1.0, 4.0, 9.0])
    wanted = np.polyfit(places, values, 1, w=1 / np.sqrt(noise))[0]
    assert slope_weights(places, noise) @ values == pytest.approx(wanted)
    assert slope_weights(places, noise).sum() == pytest.approx(0, abs=1e-12)


def test_the_slope_of_a_share_is_that_over_the_dates() -> None:
    weeks = ["2026-11-02", "2026-11-09", "2026-11-30"]
    several = [expected(bell(45 + by)) for by in (0, 1, 4)]
    found = mm.trend(several, weeks)
    assert found.places is not None
    assert found.slopes is not None
    assert found.places.tolist() == [0, 1, 4]
    unbiased = np.stack([one.unbiased for one in several])
    np.testing.assert_allclose(
        found.slopes.values, np.polyfit([0, 1, 4], unbiased, 1)[0], atol=1e-9
    )
    mean = found.mean()
    assert mean.slope is not None
    assert mean.slope.low < 1 < mean.slope.high
    assert mean.slope.value == pytest.approx(1, abs=0.1)
    assert (mean.slope.unit, mean.slope.per) == ("km", "per period")


def test_a_straight_drift_is_found_more_often_by_its_slope() -> None:
    """Of counts as they are on average, so that the p-values are those of the mean statistic."""
    found = mm.trend([expected(bell(45 + 0.4 * week), 60_000) for week in range(6)])
    mean, median = found.mean(), found.median()
    assert mean.slope is not None
    assert median.slope is not None
    assert found.slopes is not None
    assert mean.slope.p_value is not None
    assert median.slope.p_value is not None
    assert mean.slope.p_value < mean.p_value < found.p_value
    assert mean.slope.p_value < 0.1 < found.slopes.p_value < found.p_value
    assert median.slope.p_value < median.p_value


def test_the_overall_test_of_slopes_is_that_of_the_difference_for_the_ends_alone() -> None:
    """Of three periods with equal noise, the middle one has no weight."""
    a, b, c = (expected(bell(m)) for m in (45, 46, 47))
    slopes = mm.trend([a, b, c]).slopes
    assert slopes is not None
    change = c.difference(a)
    np.testing.assert_allclose(slopes.values, change.shares / 2, atol=1e-9)
    assert slopes.p_value == pytest.approx(change.p_value, rel=0.05)
    np.testing.assert_allclose(slopes.p_values, change.p_values, rtol=0.05)
    np.testing.assert_allclose(slopes.interval(0.95), change.interval() / 2, rtol=0.01, atol=1e-6)


def test_groups_and_two_periods_have_no_slope() -> None:
    several = [expected(bell(45)), expected(bell(46)), expected(bell(47))]
    for found in (mm.trend(several, groups=True), mm.trend(several[:2])):
        assert found.slopes is None
        assert found.mean().slope is None
        assert found.to_document()["slopes"] is None
        assert "slope" not in str(found)
    two = mm.trend(several[:2]).mean()
    other = several[0].difference(several[1]).mean()
    assert two.p_value == pytest.approx(other.p_value)


def test_a_course_is_a_table_a_document_and_a_picture() -> None:
    found = mm.trend([expected(bell(45 + m)) for m in range(3)], ["May", "June", "July"]).median()
    assert [line.split()[0] for line in found.table().splitlines()[2:]] == ["May", "June", "July"]
    assert "Slope of the median +1" in str(found)
    assert "Test that the median is the same in all 3: p =" in str(found)
    document = found.to_document()
    assert document["slope"]["per"] == "per period"
    assert [one["value"] for one in document["statistics"]] == found.columns()["value"]
    assert found.to_csv().splitlines()[0] == "period,value,low,high"
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    axes = found.plot()
    assert axes.get_ylabel() == "median, km"
    assert [label.get_text() for label in axes.get_xticklabels()] == ["May", "June", "July"]
    groups = mm.trend([expected(bell(45)), expected(bell(46))], groups=True).above(50)
    assert groups.plot().get_ylabel().endswith(", %")
    matplotlib.pyplot.close("all")


def test_people_who_report_again_are_no_new_sample_in_a_slope() -> None:
    several = [expected(bell(45 + m), 900, 4.0) for m in range(3)]
    again = [
        NumberEstimate.of(mm.estimate(dataclasses.replace(one.counts, again=3.0), "unbiased"), TEN)
        for one in several
    ]
    once, more = (mm.trend(own).mean().slope for own in (several, again))
    assert once is not None
    assert more is not None
    assert more.high - more.low > 1.2 * (once.high - once.low)
    same = mm.trend(again, people="same").mean().slope
    assert same is not None
    assert same.high - same.low < 0.9 * (once.high - once.low)


def test_tests_of_numbers_keep_their_size() -> None:
    """30 trends of four periods in which nothing changes, but people and mechanism do.

    At a rate of 0.065 more than 12 of 30 rejections have a chance below 1e-7. A z-test that takes
    half of the noise rejects 17 % and is found by the same bar on all tests together.
    """
    rng, found = np.random.default_rng(5), []
    for number in range(30):
        kinds = (mm.Subset, mm.OUE, mm.KRR, mm.Subset)
        several = [drawn(bell(45, 18), 1500 + 300 * j, rng, kinds[j]) for j in range(4)]
        trend, change = mm.trend(several), several[0].difference(several[1])
        mean, median, slopes = trend.mean(), trend.median(), trend.slopes
        assert mean.slope is not None
        assert median.slope is not None
        assert slopes is not None
        order = change.order()
        row = [change.mean().p_value, change.median().p_value, change.above(50).p_value]
        row += [mean.p_value, median.p_value, mean.slope.p_value, median.slope.p_value]
        row += [slopes.p_value, slopes.p_values[number % 10], order.p_larger, order.p_value]
        found.append(row)
    p_values = np.array(found, np.float64)
    rejected = (p_values < 0.05).sum(axis=0)
    assert (rejected <= 12).all()
    together = int(rejected.sum())
    assert together < 0.09 * p_values.size
    z = scipy.stats.norm.isf(p_values[:, [0, 5]] / 2) * np.sqrt(2)
    assert (z > 1.96).mean() > 0.09
