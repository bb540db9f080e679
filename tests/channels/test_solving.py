"""Least squares through hash tables: unbiased given the hash functions, with its exact noise.

The noise is held against enumeration: the law of a report in each cohort is written down a second
time (tests/laws.py), and the solution is linear in the estimated masses.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.stats

import murmurs as mm
from murmurs.channels.bit_sketch import BitSketch
from murmurs.channels.solving import Solver
from murmurs.channels.tables import Tables
from murmurs.estimators import unbiased
from murmurs.inference.fitting import fitted
from murmurs.inference.least_squares import LeastSquares
from murmurs.mechanisms.mechanism import Mechanism
from murmurs.numerics.arrays import Floats
from tests import laws

SOLVED: list[Mechanism[Any]] = [
    mm.ORR(epsilon=1.0, width=3, cohorts=4, salt=1).over(["tea", "coffee", "mate"]),
    mm.ORR(epsilon=4.0, width=4, cohorts=3, salt=5).over(["tea", "coffee"]),
    mm.ORappor(epsilon=2.0, width=3, cohorts=4, salt=1).over(["tea", "coffee", "mate"]),
    mm.ORappor(epsilon=4.0, width=4, cohorts=3, hashes=2, salt=7).over(["tea", "coffee"]),
    mm.ORappor(epsilon=4.0, width=5, cohorts=3, hashes=3, salt=2).over(["tea", "coffee"]),
    mm.PermutedRR(k=4, epsilon=1.0, width=3, cohorts=4, salt=3),
    mm.PermutedRR(k=4, epsilon=1.0, width=4, cohorts=1),
    mm.PermutedRappor(k=4, epsilon=1.0, width=3, cohorts=4, salt=3),
    mm.PermutedRappor(k=4, epsilon=2.0, width=4, cohorts=1),
]
solved = pytest.mark.parametrize("mechanism", SOLVED, ids=repr)


def tables(mechanism: Mechanism[Any]) -> Tables:
    channel = mechanism.channel
    assert isinstance(channel, Tables)
    assert channel.is_solved
    return channel


def some_shares(k: int) -> Floats:
    shares = np.arange(2.0, k + 2) ** 2
    return np.asarray(shares / shares.sum())


def enumerated_covariance(
    mechanism: Mechanism[Any], shares: Floats, n: int, solver: Solver
) -> Floats:
    """The covariance of the solution, from the law of a report in each cohort, by brute force."""
    channel = tables(mechanism)
    rows, width = channel.rows, channel.width
    law: dict[Any, float] = {}
    for answer, share in enumerate(shares):
        for report, chance in laws.BY_KIND[type(mechanism)](mechanism, answer).items():
            law[report] = law.get(report, 0.0) + share * float(chance)
    out = 0.0
    for row in range(rows):
        masses, chances = [], []
        for report, weight in law.items():
            cells = mechanism.count([report]).cells
            if channel.reports_of(cells)[row]:
                masses.append(
                    (channel.placed(cells)[row] - float(channel.miss)) / channel.difference
                )
                chances.append(weight * rows)
        assert math.isclose(sum(chances), 1.0)
        units = np.zeros((width, rows, width))
        units[np.arange(width), row, np.arange(width)] = 1.0
        lever = np.array([solver.solve(unit) for unit in units])
        lever -= solver.solve(np.zeros((rows, width)))
        if channel.is_open:
            lever = np.append(lever, -lever.sum(axis=1, keepdims=True), axis=1)
        effect = np.array(masses) @ lever
        mean = np.array(chances) @ effect
        second = effect.T @ (np.array(chances)[:, None] * effect)
        out = out + (second - np.outer(mean, mean)) / (n / rows)
    return np.asarray(out)


@solved
def test_the_noise_is_that_of_the_enumerated_law(mechanism: Mechanism[Any]) -> None:
    shares, n = some_shares(mechanism.k), 1000
    solver = tables(mechanism).solver(shares)
    wanted = np.diag(enumerated_covariance(mechanism, shares, n, solver))
    found = mechanism.channel.variance_sampled(shares, n)
    np.testing.assert_allclose(found, wanted, rtol=1e-9)
    people = mechanism.channel.variance(shares * n)
    np.testing.assert_allclose(people, wanted - shares * (1 - shares) / n, rtol=1e-9)


@solved
def test_the_covariance_of_a_fit_is_that_of_the_enumerated_law(mechanism: Mechanism[Any]) -> None:
    shares, people = some_shares(mechanism.k), 1200
    rows = tables(mechanism).rows
    cells = np.rint(people * mechanism.channel.mean(shares)).astype(np.int64)
    if mechanism.channel.is_histogram:  # equal cohorts, whatever the rounding took away
        cells[:, 0] += people // rows - cells.sum(axis=1)
    else:
        cells[:, 0] = people // rows
    fit = fitted(mm.Counts(mechanism, people // rows * rows, cells))
    assert isinstance(fit, LeastSquares)
    wanted = fit.inflation * enumerated_covariance(mechanism, shares, fit.n, fit.solver)
    found = fit.covariance(shares, "population")
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12 * np.abs(wanted).max())
    people_only = fit.covariance(shares, "respondents")
    sampling = (np.diag(shares) - np.outer(shares, shares)) / fit.n
    np.testing.assert_allclose(people_only, wanted - sampling, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("mechanism", [SOLVED[0], SOLVED[2], SOLVED[5]], ids=repr)
def test_the_test_of_no_change_has_its_size(mechanism: Mechanism[Any]) -> None:
    """Of 150 pairs of surveys of one law 5 % have a p-value below 0.05, and half one below 0.5.

    More than 26 below 0.05, and fewer than 44 or more than 106 below 0.5, have probabilities of
    3e-8 and 4e-7. The covariance of twice as many people is another law, and rejected.
    """
    rng = np.random.default_rng(8)
    shares, n = some_shares(mechanism.k), 20_000

    def sample() -> mm.Estimate:
        return unbiased(mechanism.simulate(rng.multinomial(n, shares), rng))

    differences = [sample().difference(sample()) for _ in range(150)]
    p_values = np.array([difference.p_value for difference in differences])
    assert (p_values < 0.05).sum() <= 26
    assert 44 <= (p_values < 0.5).sum() <= 106
    freedom = mechanism.k - 1
    wrong = scipy.stats.chi2.sf(2 * scipy.stats.chi2.isf(p_values, freedom), freedom)
    assert (wrong < 0.05).sum() > 26


@solved
def test_the_solution_is_unbiased_with_that_variance(mechanism: Mechanism[Any]) -> None:
    """The mean and the variance of 400 surveys; `enumerated_variances` holds the noise exactly.

    A mean is 5.5 standard errors off once in 2.6e7; a variance is compared with the chi-square law
    at 1e-8, with a tenth left for weights that are estimated and for cohorts of unequal size.
    """
    rng = np.random.default_rng(41)
    shares, n, times = some_shares(mechanism.k), 4000, 400
    drawn = [mechanism.simulate(rng.multinomial(n, shares), rng) for _ in range(times)]
    found = np.array([unbiased(counts).shares for counts in drawn])
    variance = mechanism.channel.variance_sampled(shares, n)
    away = (found.mean(axis=0) - shares) / np.sqrt(variance / times)
    assert np.abs(away).max() < 5.5
    ratio = found.var(axis=0, ddof=1) / variance
    reach = scipy.stats.chi2.ppf([1e-8, 1 - 1e-8], times - 1) / (times - 1)
    assert (ratio > 0.9 * reach[0]).all()
    assert (ratio < 1.1 * reach[1]).all()
    # Half of the noise, as if there were twice as many people, is another law.
    assert (ratio * 2 > 1.1 * reach[1]).any()


def test_cohorts_are_taken_as_large_as_they_are() -> None:
    """Counts whose cohorts differ tenfold in size give the truth, and not what equal ones would."""
    mechanism = mm.ORR(epsilon=2.0, width=4, cohorts=2).over(["tea", "coffee"])
    shares = np.array([0.5, 0.3, 0.2])
    mean = 2 * mechanism.channel.mean(shares)  # of a cohort's people
    sizes = np.array([10**9, 10**10])
    cells = np.rint(mean * sizes[:, None]).astype(np.int64)
    counts = mm.Counts(mechanism, int(cells.sum()), cells)
    np.testing.assert_allclose(unbiased(counts).shares, shares, atol=1e-8)
    equal = mechanism.channel
    assert isinstance(equal, Tables)
    assert counts.channel.conditioned_on(counts.cells).parts == pytest.approx(sizes / sizes.sum())  # type: ignore[attr-defined]
    assert np.abs(equal.gain(shares) - counts.channel.gain(shares)).max() > 0.01


def test_a_cohort_without_reports_tells_nothing() -> None:
    mechanism = mm.ORappor(epsilon=2.0, width=4, cohorts=3).over(["tea", "coffee"])
    rng = np.random.default_rng(3)
    cells = mechanism.simulate([3000, 2000, 1000], rng).cells.copy()
    cells[1] = 0
    counts = mm.Counts(mechanism, int(cells[:, 0].sum()), cells)
    for name in ("unbiased", "shrinkage", "regression", "selection"):
        found = mm.estimators.BY_NAME[name](counts)
        assert np.isfinite(found.shares).all()
        assert np.isfinite(found.interval()).all()


def test_two_candidates_with_the_same_places_are_not_solved_for() -> None:
    mechanism = mm.ORR(epsilon=2.0, width=2, cohorts=1).over([f"v{i}" for i in range(8)])
    channel = mechanism.channel
    assert isinstance(channel, Tables)
    assert not channel.is_solved
    assert len(channel.layout.alike()) == 2
    places = channel.layout.places_in(0)[0]
    for group in channel.layout.alike():
        assert len(set(places[group].tolist())) == 1


def test_one_cohort_of_all_places_is_the_plain_mechanism() -> None:
    """With one cohort and as many places as answers there is nothing but a permutation."""
    rng = np.random.default_rng(5)
    people = np.array([500, 300, 200, 100, 50])
    for tabled, plain in (
        (mm.PermutedRR(k=5, epsilon=1.5, width=5, cohorts=1), mm.KRR(k=5, epsilon=1.5)),
        (mm.PermutedRappor(k=5, epsilon=1.5, width=5, cohorts=1), mm.SUE(k=5, epsilon=1.5)),
    ):
        channel = tables(tabled)
        np.testing.assert_allclose(
            channel.variance(people), plain.channel.variance(people), rtol=1e-9
        )
        counts = tabled.simulate(people, rng)
        order = channel.layout.places_in(0)[0]
        cells = counts.cells[0, 1:] if isinstance(channel, BitSketch) else counts.cells[0]
        same = plain.channel.invert(cells[order], counts.n)
        np.testing.assert_allclose(unbiased(counts).shares, same, atol=1e-12)


def test_the_rank_of_the_cohorts_is_that_of_their_places() -> None:
    """No more than C (k - 1) + 1 answers are told apart: for 16 places in 8 cohorts, 121."""
    keys = [f"v{i}" for i in range(300)]
    layout = mm.ORR(epsilon=1.0, width=16, cohorts=8).layout_of(keys)
    ones = np.zeros((8 * 16, 300))
    for _, places in layout.blocks():
        for at in places:
            ones[at, np.arange(300)] = 1
    assert np.linalg.matrix_rank(ones) == 8 * 15 + 1
