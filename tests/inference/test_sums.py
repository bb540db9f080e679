"""Weighted sums of shares: unbiased, with the noise that the whole covariance gives them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import murmurs as mm
from murmurs.counts import Counts
from murmurs.inference.fit import Fit, Target
from murmurs.inference.fitting import fitted
from murmurs.mechanisms.mechanism import Mechanism
from tests import laws

MECHANISMS: list[Mechanism[Any]] = [m for m in laws.SMALL if m.channel.k <= 30]
LINEAR = [m for m in MECHANISMS if not m.channel.groups(np.ones(m.channel.cells, np.int64)).size]
"""Those whose inverse does not divide by the numbers of people in cohorts or rows."""
TARGETS: tuple[Target, Target] = ("respondents", "population")


def some_counts(mechanism: Mechanism[Any]) -> Counts:
    people = np.arange(1, mechanism.k + 1) * 40
    return mechanism.simulate(people, np.random.default_rng(6))


def rows_for(k: int) -> Any:
    """The mean of the numbers of the answers, a group, and one answer."""
    return np.array([np.arange(k), np.arange(k) < k // 2 + 1, np.arange(k) == k - 1], np.float64)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
@pytest.mark.parametrize("target", TARGETS)
def test_sums_have_the_noise_that_the_whole_covariance_gives(
    mechanism: Mechanism[Any], target: Target
) -> None:
    fit = fitted(some_counts(mechanism))
    shares = np.arange(1.0, mechanism.k + 1)
    shares /= shares.sum()
    rows = rows_for(mechanism.k)
    found = fit.sums(rows, shares, target)
    whole = rows @ fit.covariance(shares, target) @ rows.T
    np.testing.assert_allclose(found.values, rows @ fit.unbiased, rtol=1e-9, atol=1e-9)
    nothing = 1e-12 * float(np.abs(whole).max())
    np.testing.assert_allclose(found.covariance, whole, rtol=1e-7, atol=nothing)
    np.testing.assert_allclose(
        found.errors**2, np.maximum(np.diag(whole), 0), rtol=1e-7, atol=nothing
    )


@pytest.mark.parametrize("mechanism", LINEAR, ids=str)
def test_a_channel_adds_up_its_cells_to_the_sums_of_the_inverted_shares(
    mechanism: Mechanism[Any],
) -> None:
    counts = some_counts(mechanism)
    channel, rows = counts.channel, rows_for(mechanism.k)
    functional = channel.functional(rows, counts.n)
    constant = rows @ channel.invert(np.zeros(channel.cells), counts.n)
    direct = functional @ counts.cells.ravel() / counts.n + constant
    np.testing.assert_allclose(direct, rows @ channel.invert(counts.cells, counts.n), atol=1e-9)


def test_one_row_of_weights_is_one_sum() -> None:
    fit = fitted(mm.KRR(k=4, epsilon=1.0).count([0, 1, 1, 3, 2, 1]))
    found = fit.sums(np.arange(4.0), np.full(4, 0.25))
    assert found.values.shape == (1,)
    assert found.covariance.shape == (1, 1)


@pytest.mark.parametrize("target", TARGETS)
def test_sums_of_people_who_were_asked_again_are_no_new_sample(target: Target) -> None:
    mechanism = mm.KRR(k=4, epsilon=1.0)
    once = some_counts(mechanism)
    again = Counts(mechanism, once.n, once.cells, 1, 2.0)
    shares, rows = np.full(4, 0.25), rows_for(4)
    found = fitted(again).sums(rows, shares, target).covariance
    whole = rows @ fitted(again).covariance_of(shares, target) @ rows.T
    np.testing.assert_allclose(found, whole, rtol=1e-9)
    assert (target == "respondents") == np.allclose(
        found, fitted(once).sums(rows, shares, target).covariance
    )


def test_the_noise_of_a_sum_needs_no_covariance_of_ten_thousand_answers() -> None:
    mechanism = mm.OUE(k=10_000, epsilon=1.0)
    counts = mechanism.simulate(np.full(10_000, 10), np.random.default_rng(1))
    fit, shares = fitted(counts), np.full(10_000, 1e-4)
    assert not fit.has_covariance
    found = fit.sums(np.eye(10_000)[:1], shares)
    alone = float(mechanism.channel.variance_sampled(shares, counts.n)[0])
    np.testing.assert_allclose(found.covariance, [[alone]], rtol=1e-9)


def test_the_plain_fit_and_the_direct_one_agree() -> None:
    counts = some_counts(mm.Subset(k=12, epsilon=1.0))
    shares, rows = np.full(12, 1 / 12), rows_for(12)
    plain = Fit(counts).sums(rows, shares)
    direct = fitted(counts).sums(rows, shares)
    assert type(fitted(counts)) is not Fit
    np.testing.assert_allclose(plain.covariance, direct.covariance, rtol=1e-9)
