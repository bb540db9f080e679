"""Intervals of differences: the published examples of the method, and coverage for rare answers."""

from __future__ import annotations

import numpy as np
import pytest

import murmurs as mm
from murmurs.inference.intervals import Scale, score_limits


def _answered(yes: int, people: int) -> mm.Estimate:
    """Return the estimate from people who answered without any noise."""
    told = mm.Design(np.eye(2).tolist())
    return mm.estimate(mm.Counts(told, people, np.array([yes, people - yes])), "unbiased")


@pytest.mark.parametrize(
    ("this", "other", "low", "high"),
    [
        ((56, 70), (48, 80), 0.0524, 0.3339),
        ((9, 10), (3, 10), 0.1705, 0.8090),
        ((6, 7), (2, 7), 0.0582, 0.8062),
        ((5, 56), (0, 29), -0.0381, 0.1926),
        ((0, 10), (0, 20), -0.1611, 0.2775),
        ((0, 10), (0, 10), -0.2775, 0.2775),
    ],
)
def test_without_privacy_noise_the_limits_are_those_of_newcombe(
    this: tuple[int, int], other: tuple[int, int], low: float, high: float
) -> None:
    """Newcombe (1998), Interval estimation for the difference, table II, method 10."""
    found = _answered(*this).difference(_answered(*other)).interval(0.95)[:, 0]
    assert found == pytest.approx([low, high], abs=5e-5)


def test_with_much_privacy_noise_the_limits_are_symmetric() -> None:
    """Noise that is the same at all shares leaves estimate plus or minus its standard error."""
    mechanism, rng = mm.KRR(6, 0.1), np.random.default_rng(1)
    sides = [mm.estimate(mechanism.simulate([5000] * 6, rng), "unbiased") for _ in range(2)]
    change = sides[0].difference(sides[1])
    low, high = change.interval(0.95)
    np.testing.assert_allclose((low + high) / 2, change.shares, atol=0.02 * (high - low).max())
    np.testing.assert_allclose(high - low, 2 * 1.96 * change.standard_errors, rtol=0.05)


def test_an_estimate_is_between_its_limits_wherever_it_lies() -> None:
    estimates = np.linspace(-3, 4, 141)
    for constant, bend in ((1e-24, 0.01), (0.01, 0.01), (2.0, 0.01), (0.5, 0.0)):
        for slope in (bend, bend + 0.02):
            many = np.ones_like(estimates)
            scale = Scale(constant * many, slope * many, bend)
            low, high = score_limits(estimates, scale, 1.96).T
            assert (low <= estimates).all()
            assert (estimates <= high).all()
            assert (np.diff(low) > 0).all()
            assert (np.diff(high) > 0).all()


@pytest.mark.parametrize(
    ("shares", "people"), [((0.01, 0.01), (200, 2000)), ((0, 0.05), (100, 100))]
)
def test_intervals_cover_where_one_side_may_miss_a_rare_answer(
    shares: tuple[float, float], people: tuple[int, int]
) -> None:
    """600 comparisons: coverage below 0.90 has a probability of 1e-7 if it is 0.95.

    Rejected: estimate plus or minus 1.96 standard errors, which covers 0.87 in both cases; here it
    must stay below 0.90.
    """
    mechanism, rng = mm.KRR(6, 8.0), np.random.default_rng(1)
    covered = plain = 0
    for _ in range(600):
        sides = [
            mm.estimate(
                mechanism.simulate(rng.multinomial(n, [x] + [(1 - x) / 5] * 5), rng), "unbiased"
            )
            for x, n in zip(shares, people, strict=True)
        ]
        change, truth = sides[0].difference(sides[1]), shares[0] - shares[1]
        low, high = change.interval(0.95)[:, 0]
        covered += low <= truth <= high
        plain += abs(change.shares[0] - truth) <= 1.96 * change.standard_errors[0]
    assert covered / 600 > 0.90
    assert plain / 600 < 0.90
