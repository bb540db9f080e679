"""The test that odds ratios are the same in several groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats

import murmurs as mm
from murmurs.inference.fitting import fitted
from murmurs.inference.homogeneity import homogeneity
from murmurs.numerics.arrays import Floats
from murmurs.numerics.special import chi_square_tail
from murmurs.numerics.tables import rake

SURE = mm.Product([mm.KRR(k=2, epsilon=30.0)] * 2)


def of_sure(*people: list[int]) -> list[Any]:
    rng = np.random.default_rng(1)
    return [fitted(SURE.simulate(own, rng)) for own in people]


def test_it_is_the_distance_of_log_odds_ratios_where_there_is_hardly_noise() -> None:
    tables = [[4000, 1000, 1500, 3500], [2000, 900, 1100, 1000], [700, 600, 800, 900]]
    found = homogeneity(of_sure(*tables), (2, 2))
    logs = [np.log(a * d / (b * c)) for a, b, c, d in tables]
    weights = [1 / sum(1 / cell for cell in own) for own in tables]
    mean = np.average(logs, weights=weights)
    woolf = float(np.sum(np.multiply(weights, np.subtract(logs, mean) ** 2)))  # Woolf 1955
    assert found.freedom == 2
    assert found.statistic == pytest.approx(woolf, rel=0.05)
    assert found.p_value == pytest.approx(chi_square_tail(found.statistic, 2))


def test_the_order_of_answers_and_groups_does_not_matter() -> None:
    rng = np.random.default_rng(2)
    tables = rng.integers(100, 900, (3, 2, 2))
    one = homogeneity(of_sure(*tables.reshape(3, 4).tolist()), (2, 2))
    other = homogeneity(of_sure(*tables[::-1, ::-1].reshape(3, 4).tolist()), (2, 2))
    assert other.statistic == pytest.approx(one.statistic, rel=1e-3)


def drawn(rng: np.random.Generator, change: float) -> list[Any]:
    """Three groups with different margins; odds ratios differ by ``change``."""
    both = mm.Product([mm.KRR(k=3, epsilon=2.0), mm.KRR(k=2, epsilon=2.0)])
    common = np.exp(rng.normal(0, 1, (3, 2)))
    fits = []
    for _ in range(3):
        margins: list[tuple[Any, Floats]] = [
            ((0,), rng.dirichlet([3.0] * 3)),
            ((1,), rng.dirichlet([3.0] * 2)),
        ]
        table = rake(common * np.exp(change * rng.normal(0, 1, (3, 2))), margins)
        people = rng.multinomial(4000, table.ravel())
        fits.append(fitted(both.simulate(people, rng)))
    return fits


def test_equal_odds_ratios_are_rejected_about_as_often_as_the_level_says() -> None:
    # 150 trials at level 0.05: more than 24 rejections have a probability below 1e-6 if the size is
    # at most 0.05. A test that takes equal tables for equal association rejects nearly always.
    rng = np.random.default_rng(3)
    values = [homogeneity(drawn(rng, 0.0), (3, 2)).p_value for _ in range(150)]
    assert sum(value <= 0.05 for value in values) <= 24
    assert np.mean(values) > 0.3


def test_different_odds_ratios_are_found() -> None:
    rng = np.random.default_rng(4)
    values = [homogeneity(drawn(rng, 1.0), (3, 2)).p_value for _ in range(20)]
    assert sum(value <= 0.05 for value in values) >= 14


def test_empty_cells_are_no_obstacle() -> None:
    found = homogeneity(of_sure([500, 0, 0, 500], [300, 0, 0, 700]), (2, 2))
    assert found.p_value > 0.05
    assert "may be the same in the segments" in found.sentence


def test_too_many_combinations_and_single_groups_are_refused() -> None:
    fits = of_sure([10, 10, 10, 10])
    with pytest.raises(ValueError, match="at least two segments"):
        homogeneity(fits, (2, 2))
    with pytest.raises(ValueError, match="are too many to compare"):
        homogeneity(fits * 2, (40, 40))


def test_combinations_that_nobody_holds_do_no_harm_whatever_the_number_of_people() -> None:
    """Two of nine shares are zero in both groups, whose odds ratios are the same.

    Of 40 tests at most 6 % reject (exact binomial test, false-alarm rate 1e-6 for each number of
    people). Where the fit ended before the shares came down to the noise, 70 % of those with 10^12
    people did.
    """
    both = mm.Product([mm.KRR(k=3, epsilon=2.0)] * 2)
    common = np.array([[4.0, 1, 0], [1, 3, 2], [0, 1, 5]])
    turned = common * np.outer([2, 1, 0.5], [1, 0.5, 2])
    rng = np.random.default_rng(5)
    for people in (10**6, 10**12):
        rejected = 0
        for _ in range(40):
            groups = [rng.multinomial(people, t.ravel() / t.sum()) for t in (common, turned)]
            fits = [fitted(both.simulate(group, rng)) for group in groups]
            rejected += homogeneity(fits, (3, 3)).p_value < 0.05
        assert scipy.stats.binom.sf(rejected - 1, 40, 0.06) > 1e-6
