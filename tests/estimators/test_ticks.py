"""The estimate of several ticks: shares, numbers of ticks, pairs, differences.

Each statistical test states a wrong law or formula that it rejects; with fixed seeds, a right one
fails with a probability below 1e-6 for another seed.
"""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pytest

import murmurs as mm
from murmurs.estimators.ticks import OF_TICKS
from murmurs.inference.fitting import fitted
from murmurs.inference.sets import SetFit
from murmurs.mechanisms.sets.sets import SetMechanism

LABELS = ("a", "b", "c", "d", "e")
PEOPLE = {(0, 1): 40_000, (0, 1, 2): 10_000, (3,): 20_000, (): 30_000}
SHARES = np.array([0.5, 0.5, 0.1, 0.2, 0.0])
TICKS = np.array([0.3, 0.2, 0.4, 0.1])
PAIRS = mm.PrivSet(k=5, most=3, epsilon=2.0, w=3, overlap=1, pairs=True)
OVERLAP = mm.PrivSet(k=5, most=3, epsilon=2.0, w=3, overlap=2, pairs=True)
ONE = mm.OneLabel(k=5, epsilon=2.0)
EVERY = pytest.mark.parametrize("mechanism", [mm.PrivSet(5, 3, 2.0), OVERLAP, ONE], ids=repr)


def estimate(mechanism: SetMechanism, scale: int = 1, seed: int = 1) -> mm.TicksEstimate:  # type: ignore[type-arg]
    people = {ticks: number * scale for ticks, number in PEOPLE.items()}
    if getattr(mechanism, "pairs", False):
        people = {ticks: number // 2 for ticks, number in PEOPLE.items()}
    found = mm.estimate(mechanism.simulate(people, np.random.default_rng(seed)), labels=LABELS)
    assert isinstance(found, mm.TicksEstimate)
    return found


@EVERY
@pytest.mark.parametrize("name", [None, *OF_TICKS])
def test_every_estimator_finds_the_shares_of_very_many_people(
    mechanism: SetMechanism,  # type: ignore[type-arg]
    name: str | None,
) -> None:
    counts = estimate(mechanism, 10**8).counts
    found = mm.estimate(counts, name)
    few = isinstance(mechanism, mm.PrivSet) and mechanism.pairs
    np.testing.assert_allclose(found.shares, SHARES, atol=0.05 if few else 1e-4)
    assert ((found.shares >= 0) & (found.shares <= 1)).all() or name == "unbiased"


@EVERY
def test_the_mean_number_of_ticks_is_the_sum_of_the_shares(mechanism: SetMechanism) -> None:  # type: ignore[type-arg]
    found = estimate(mechanism, 10**8 if not getattr(mechanism, "pairs", False) else 1)
    mean = found.mean_ticks(1 - 1e-7)
    assert mean.low <= 1.3 <= mean.high
    assert mean.value == pytest.approx(found.unbiased.sum())
    assert not mean.low <= 1.8 <= mean.high  # the mean of those who ticked any


def test_dummies_show_how_many_labels_people_tick() -> None:
    found = estimate(mm.PrivSet(5, 3, 2.0), 10**8).ticks(1 - 1e-7)
    np.testing.assert_allclose(found.shares, TICKS, atol=1e-3)
    assert ((found.low <= TICKS) & (found.high >= TICKS)).all()
    wrong = np.roll(TICKS, 1)
    assert not ((found.low <= wrong) & (found.high >= wrong)).any()
    with pytest.raises(ValueError, match="use mean_ticks"):
        estimate(ONE).ticks()


def exact_moments(mechanism: mm.PrivSet, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of one report's contribution, from its law over all sets of items."""
    law = mechanism.channel
    items = range(mechanism.k + mechanism.most)
    reports = list(itertools.combinations(items, mechanism.w))
    total = sum(PEOPLE.values())
    chances = np.zeros(len(reports))
    truth = float(mechanism.truth_probability)
    for ticks, number in PEOPLE.items():
        held = {*mechanism.padded(ticks)}
        own = np.array([len(held & {*z}) >= mechanism.overlap for z in reports], float)
        chances += number / total * (truth * own / own.sum() + (1 - truth) / len(reports))
    flags = np.array([[item in z for item in items] for z in reports], float)
    each = (flags - float(law.miss)) / float(law.hit - law.miss)
    if kind == "shares":
        values = each[:, : mechanism.k]
    elif kind == "ticks":
        few = each[:, mechanism.k :][:, ::-1]
        ends = np.ones((len(reports), 1))
        values = np.diff(np.hstack([np.zeros_like(ends), few, ends]), axis=1)
    else:
        i, j = np.triu_indices(mechanism.k, 1)
        none, one, two = (float(chance) for chance in law.together)
        both = flags[:, i] * flags[:, j] - none - (one - none) * (each[:, i] + each[:, j])
        values = both / (two - 2 * one + none)
    mean = chances @ values
    away = values - mean
    return mean, away.T @ (away * chances[:, None])


@pytest.mark.parametrize("mechanism", [PAIRS, OVERLAP], ids=repr)
def test_pairs_and_their_errors_are_those_of_the_law(mechanism: mm.PrivSet) -> None:
    mean, covariance = exact_moments(mechanism, "pairs")
    expected = np.zeros((5, 5))
    for ticks, number in PEOPLE.items():
        for i, j in itertools.combinations(ticks, 2):
            expected[i, j] += number / 100_000
    np.testing.assert_allclose(mean, expected[np.triu_indices(5, 1)], atol=1e-12)  # unbiased
    found = estimate(mechanism)
    pairs = found.pairs(1 - 1e-7)
    for (first, second), low, high in zip(pairs.names, pairs.low, pairs.high, strict=True):
        truth = expected[tuple(sorted((LABELS.index(first), LABELS.index(second))))]
        assert low <= truth <= high
    assert set(pairs.names[0]) == {"a", "b"}
    assert pairs.p_values[0] < 1e-6
    assert pairs.expected[0] == pytest.approx(0.25, abs=0.05)
    own = found.pairs(0.95)
    at = own.names.index(("a", "b"))
    error = np.sqrt(covariance[0, 0] / found.n)
    assert (own.high[at] - own.low[at]) / 3.92 == pytest.approx(error, rel=0.05)


def test_the_errors_of_numbers_of_ticks_are_those_of_the_law() -> None:
    mechanism = mm.PrivSet(5, 3, 2.0, w=3, overlap=1)
    mean, covariance = exact_moments(mechanism, "ticks")
    np.testing.assert_allclose(mean, TICKS, atol=1e-12)
    found = estimate(mechanism, 100)
    ticks = found.ticks()
    errors = np.sqrt(np.diag(covariance) / found.n)
    np.testing.assert_allclose((ticks.high - ticks.low) / 3.92, errors, rtol=0.02)
    _, shares = exact_moments(mechanism, "shares")
    assert found.mean_ticks().error == pytest.approx(np.sqrt(shares.sum() / found.n), rel=0.02)


@pytest.mark.parametrize("mechanism", [PAIRS, OVERLAP], ids=repr)
def test_the_covariance_of_shares_is_that_of_the_law(mechanism: mm.PrivSet) -> None:
    _, exact = exact_moments(mechanism, "shares")
    found = estimate(mechanism)
    scale = np.sqrt(np.diag(exact))
    for target, wanted in (("population", exact), ("respondents", None)):
        covariance = found.fit.covariance_of(SHARES, target) * found.n  # type: ignore[arg-type]
        if wanted is None:
            people = np.zeros((5, 5))
            for ticks, number in PEOPLE.items():
                flags = np.isin(np.arange(5), ticks) * 1.0
                people += number / 100_000 * np.outer(flags, flags)
            wanted = exact - (people - np.outer(SHARES, SHARES))
        np.testing.assert_allclose(
            covariance / np.outer(scale, scale), wanted / np.outer(scale, scale), atol=0.05
        )


@EVERY
def test_the_standard_errors_are_the_spread_of_the_unbiased_shares(
    mechanism: SetMechanism,  # type: ignore[type-arg]
) -> None:
    """In a population; over 120 collections the ratio is within 0.36 but once in 1e6."""
    rng = np.random.default_rng(3)
    law = np.array(list(PEOPLE.values())) / 100_000
    found = []
    for _ in range(120):
        people = zip(PEOPLE, rng.multinomial(1000, law).tolist(), strict=True)
        found.append(mm.estimate(mechanism.simulate(people, rng), "unbiased"))
    spread = np.std([one.shares for one in found], axis=0)
    told = np.mean([one.standard_errors("population", SHARES) for one in found], axis=0)
    np.testing.assert_allclose(spread / told, 1, atol=0.36)
    limits = [one.interval() for one in found[:: 10 if mechanism == ONE else 2]]
    inside = np.mean([(low <= SHARES) & (high >= SHARES) for low, high in limits])
    assert inside > 0.85  # limits without the noise of the reports cover below 0.6


def test_a_label_about_which_nobody_was_asked_may_have_any_share() -> None:
    counts = mm.Counts(mm.OneLabel(k=2, epsilon=1.0), 4, np.array([1, 3, 0, 0]))
    found = mm.estimate(counts)
    low, high = found.interval()
    assert (low[1], high[1]) == (0.0, 1.0)


@EVERY
def test_two_collections_are_compared(mechanism: SetMechanism) -> None:  # type: ignore[type-arg]
    one, other = estimate(mechanism, seed=2), estimate(mechanism, seed=3)
    assert one.difference(other).p_value > 1e-6
    moved = {(0, 1): 40_000, (0, 1, 3): 10_000, (2,): 20_000, (): 30_000}
    changed = mm.estimate(mechanism.simulate(moved, np.random.default_rng(4)), labels=LABELS)
    assert one.difference(changed).p_value < 1e-6
    assert mm.trend([one, other, changed]).p_value < 1e-6
    assert fitted(one.counts).has_covariance is getattr(mechanism, "pairs", False)


def test_what_reports_do_not_show_is_refused_with_the_way_out() -> None:
    for mechanism in (ONE, mm.PrivSet(5, 3, 2.0)):
        found = estimate(mechanism)
        with pytest.raises(ValueError, match="pairs=True"):
            found.pairs()
        assert isinstance(found.fit, SetFit)
        with pytest.raises(TypeError, match="pairs=True"):
            found.fit.covariance(SHARES, "population")
    wrong: Any = "people"
    for ask in (estimate(mm.PrivSet(5, 3, 2.0)).ticks, estimate(ONE).mean_ticks):
        with pytest.raises(ValueError, match="target must be 'respondents' or 'population', not"):
            ask(target=wrong)
    counts = estimate(ONE).counts
    with pytest.raises(ValueError, match="several answers; choose one of shrinkage"):
        mm.estimate(counts, "simplex")
    with pytest.raises(ValueError, match="do not add up to one"):
        mm.estimators.simplex(counts)
    with pytest.raises(ValueError, match="no reports"):
        mm.estimate(mm.Counts(ONE, 0, np.zeros(10, np.int64)))


def test_the_document_has_shares_and_numbers_of_ticks() -> None:
    document = json.loads(estimate(mm.PrivSet(5, 3, 2.0), 10).to_json())
    assert document["several"] is True
    assert document["ticks"]["mean"]["value"] == pytest.approx(1.3, abs=0.05)
    assert len(document["ticks"]["shares"]) == 4
    assert "shares" not in json.loads(estimate(ONE).to_json())["ticks"]


def test_shares_near_one_are_estimated_as_well_as_those_near_zero() -> None:
    """Turned round, the shares of those who did not tick are estimated; noise is the same."""
    mechanism = mm.OneLabel(k=20, epsilon=1.0)
    most, few = tuple(range(2, 20)), (0, 1)
    for ticks, truth in ((most, np.arange(20) > 1), (few, np.arange(20) < 2)):
        counts = [mechanism.simulate({ticks: 4000}, np.random.default_rng(s)) for s in range(20)]
        found = [np.abs(mm.estimate(one).shares - truth).mean() for one in counts]
        plain = [np.abs(mm.estimate(one, "clipped").shares - truth).mean() for one in counts]
        assert np.mean(found) < 0.5 * np.mean(plain)
