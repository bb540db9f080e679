"""Comparisons of more answers than a covariance is computed for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import murmurs as mm

SPARSE = [
    (mm.KRR(k=10_000, epsilon=6.0), 1000),
    (mm.Product([mm.KRR(k=60, epsilon=1.0), mm.KRR(k=60, epsilon=3.0)]), 1000),
    (mm.Subset(k=5000, epsilon=5.0), 300),
]


@pytest.mark.parametrize(("mechanism", "n"), SPARSE, ids=lambda value: str(value)[:20])
def test_many_answers_with_few_reports_do_not_seem_to_differ(mechanism: Any, n: int) -> None:
    # At a rate of at most 0.05, six of eight have a probability below 5e-7. With normal tails 19 of
    # 20 comparisons of the first kind have p <= 0.05.
    rng, small = np.random.default_rng(1), 0
    for _ in range(8):
        people = [rng.multinomial(n, np.full(mechanism.k, 1 / mechanism.k)) for _ in range(2)]
        one, other = (mm.estimate(mechanism.simulate(own, rng), "unbiased") for own in people)
        found = one.difference(other).p_value
        assert np.isclose(mm.trend([one, other]).p_value, found)
        small += found <= 0.05
    assert small < 6


@pytest.mark.parametrize("groups", [2, 3])
def test_many_answers_with_many_reports_still_show_a_change(groups: int) -> None:
    rr, rng = mm.KRR(k=5000, epsilon=6.0), np.random.default_rng(1)
    people = np.full(rr.k, 100)
    changed = people + np.where(np.arange(rr.k) == 7, 5000, 0)
    all_people = [people] * (groups - 1) + [changed]
    found = [mm.estimate(rr.simulate(own, rng), "unbiased") for own in all_people]
    assert mm.trend(found).p_value < 1e-6
    if groups == 2:
        assert found[0].difference(found[1]).p_value < 1e-6


def test_the_p_value_is_that_of_the_cells() -> None:
    rr = mm.KRR(k=2000, epsilon=1.0)
    cells = np.zeros((2, 2000), int)
    cells[:, 0], cells[0, 1], cells[:, 2:102] = (9, 1), 4, 1
    cells[1, 102] = 13
    one, other = (
        mm.estimate(rr.count(np.repeat(np.arange(2000), row)), "unbiased") for row in cells
    )
    share = one.counts.n / (one.counts.n + other.counts.n)
    smallest = stats.binom.cdf(0, 13, share)  # thirteen reports, all on the other side
    assert one.difference(other).p_value == pytest.approx(min(1.0, 2 * smallest * 103), rel=1e-9)
    exact = stats.hypergeom.cdf(0, one.counts.n + other.counts.n, 13, one.counts.n)
    assert exact <= smallest  # the binomial tail is the wider one
