"""Choosing among very many candidates: what is found, what is not, and intervals that cover."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any, cast

import numpy as np
import pytest
import scipy.optimize
import scipy.stats

import murmurs as mm
from murmurs.channels.tables import Tables
from murmurs.counts import Counts
from murmurs.estimators import selection
from murmurs.estimators.estimation import Estimate
from murmurs.estimators.methods.selection import lasso
from murmurs.hashing.layout import Keyed
from murmurs.inference.least_squares import Selected
from murmurs.mechanisms.mechanism import Mechanism
from murmurs.numerics.arrays import Floats, Integers

PRESENT, LISTED, N = 60, 3000, 200_000
MODULE = selection.__module__


def view(mechanism: Any) -> Mechanism[Any]:
    over: Mechanism[Any] = mechanism.over([f"value {i}" for i in range(LISTED)])
    return over


VIEWS = {
    "ORR": view(mm.ORR(epsilon=3.0, width=21, cohorts=64)),
    "ORappor": view(mm.ORappor(epsilon=4.0, width=32, cohorts=64)),
    "Bloom": view(mm.ORappor(epsilon=8.0, width=32, cohorts=32, hashes=2)),
}


def people() -> Integers:
    """Some Zipf-like strings among thousands of candidates; a fifth of all hold unlisted ones."""
    shares = 1 / np.arange(1, PRESENT + 1)
    histogram = np.zeros(LISTED + 1, np.int64)
    histogram[:PRESENT] = np.rint(0.8 * N * shares / shares.sum())
    histogram[-1] = N - histogram.sum()
    return histogram


@cache
def studies(name: str) -> tuple[Estimate, ...]:
    rng = np.random.default_rng(77)
    return tuple(selection(VIEWS[name].simulate(people(), rng)) for _ in range(20))


by_view = pytest.mark.parametrize("name", VIEWS)


@by_view
def test_intervals_cover_and_nothing_absent_is_found(name: str) -> None:
    """Twenty surveys of 3000 candidates, most of them absent.

    Coverage of a survey has a standard deviation of about 0.005, as candidates share noise; the
    mean of twenty is then below 0.93 or above 0.97 with a probability under 1e-8. False findings
    are at most 5 % of surveys: more than 8 of 20 happen with probability 3e-7.
    """
    truth = people() / N
    covered, found_falsely, strong = [], 0, []
    for estimate in studies(name):
        both = estimate.interval(0.95).T[:-1]
        covered.append(np.mean((both[:, 0] <= truth[:-1]) & (truth[:-1] <= both[:, 1])))
        present = estimate.detected(0.05).present[:-1]
        found_falsely += int(present[PRESENT:].any())
        strong.append(present[:5].all())
    assert 0.93 < np.mean(covered) < 0.97
    assert found_falsely <= 8
    assert all(strong)
    # Intervals of half the width, or a test without control, would not do.
    half = studies(name)[0]
    middle, both = half.unbiased, half.interval(0.95).T
    narrow = np.abs(truth - middle)[:-1] < (both[:, 1] - both[:, 0])[:-1] / 4
    assert narrow.mean() < 0.9
    assert (half.detected(0.05).p_values[PRESENT:-1] < 0.05).any()


@by_view
def test_shares_are_near_and_the_rest_is_bounded(name: str) -> None:
    truth = people() / N
    for estimate in studies(name):
        assert estimate.shares.sum() == pytest.approx(1.0)
        assert estimate.shares.min() >= 0
        assert estimate.interval(0.999)[0, -1] == 0.0
        assert estimate.interval(0.9999)[1, -1] > truth[-1]
        # Averaging the places of each answer, without solving for the strong ones, is much worse.
        assert np.abs(estimate.shares - truth).sum() < 0.7
        top = np.abs(estimate.shares - truth)[:10].max()
        assert top < 0.05


@by_view
def test_the_lasso_finds_the_strong_ones_too(name: str) -> None:
    counts = VIEWS[name].simulate(people(), np.random.default_rng(5))
    steps, penalised = (selection(counts, by=by) for by in ("steps", "lasso"))
    for estimate in (steps, penalised):
        assert isinstance(estimate.fit, Selected)
        assert set(range(5)) <= set(estimate.fit.chosen.tolist())
    assert np.abs(steps.shares - penalised.shares)[:10].max() < 0.02


def test_the_lasso_is_the_minimum() -> None:
    """Against SciPy's bounded quasi-Newton method."""
    rng = np.random.default_rng(2)
    mechanism = mm.ORR(epsilon=3.0, width=8, cohorts=8).over([f"v{i}" for i in range(40)])
    channel = mechanism.channel
    assert isinstance(channel, Tables)
    counts = mechanism.simulate(np.append(rng.multinomial(3000, np.ones(40) / 40), 300), rng)
    solver = channel.solver(np.full(41, 1 / 41))
    masses = channel.masses_of(counts.cells) - solver.filled
    gram, goal = solver.gram, solver.against(masses)
    for strength in (0.0, 0.5, 2.0):
        penalty = strength * np.sqrt(np.diag(gram) / counts.n)

        def loss(x: Floats, penalty: Floats = penalty) -> tuple[float, Floats]:
            slope = gram @ x - goal + penalty
            return float(x @ (gram @ x) / 2 + (penalty - goal) @ x), slope

        best = scipy.optimize.minimize(
            loss, np.zeros(40), jac=True, bounds=[(0, None)] * 40, options={"ftol": 1e-15}
        )
        found = lasso(solver, masses, penalty, steps=20_000)
        assert loss(found)[0] <= best.fun + 1e-9 * abs(best.fun)
        np.testing.assert_allclose(found, best.x, atol=1e-4)


def test_what_cannot_be_told_apart_is_named() -> None:
    mechanism = mm.ORR(epsilon=3.0, width=2, cohorts=3).over([f"v{i}" for i in range(40)])
    rng = np.random.default_rng(1)
    counts = mechanism.simulate([5000, *[0] * 39, 100], rng)
    for by in ("steps", "lasso"):
        notes = selection(counts, by=by).notes
        assert "40 candidates are more than the 4 that 3 cohorts of 2 buckets" in notes[1]
        assert "120 cohorts would" in notes[1]
        assert "nothing tells them apart" in notes[2]


def test_the_default_chooses_only_where_not_all_can_be_solved_for() -> None:
    rng = np.random.default_rng(1)
    few = mm.ORR(epsilon=3.0, width=8, cohorts=16).over(["tea", "coffee"])
    assert mm.estimate(few.simulate([500, 300, 200], rng)).estimator == "shrinkage"
    many = VIEWS["ORR"]
    found = mm.estimate(many.simulate(people(), rng))
    assert found.estimator == "selection"
    assert "many candidates" in found.why


def test_closed_answers_are_chosen_among_too() -> None:
    """Four of 5000 answers hold everything; the mean over hash functions would miss by far more."""
    mechanism = mm.PermutedRR(k=5000, epsilon=3.0, width=21, cohorts=60)
    people = np.zeros(5000, np.int64)
    people[:4] = 40_000, 30_000, 20_000, 10_000
    counts = mechanism.simulate(people, np.random.default_rng(3))
    found = mm.estimate(counts)
    assert found.estimator == "selection"
    assert found.shares.shape == (5000,)
    assert found.shares.sum() == pytest.approx(1.0)
    truth = people / people.sum()
    assert np.abs(found.shares - truth).sum() < 0.03
    by_lasso = selection(counts, by="lasso")
    assert np.abs(by_lasso.shares - truth).sum() < 0.03
    averaged = mm.estimators.shrinkage(counts)
    assert np.abs(averaged.shares - truth).sum() > 0.1
    assert np.flatnonzero(found.detected(0.01).present).tolist() == [0, 1, 2, 3]
    with pytest.raises(
        ValueError, match=r"cannot be told apart from those that share buckets.*selection"
    ):
        averaged.detected()


def test_a_common_string_that_is_missing_is_told() -> None:
    orr = mm.ORR(epsilon=4.0, width=32, cohorts=32)
    full = orr.over(["tea", "coffee", "qahwa"], complete=True)
    counts = full.simulate([50_000, 30_000, 20_000], np.random.default_rng(2))
    missing = mm.estimate(mm.Counts(orr.over(["tea", "coffee"]), counts.n, counts.cells))
    assert any("fit the candidates poorly" in note for note in missing.notes)
    assert mm.estimate(counts).notes == ()
    both = missing.interval(0.95).T
    assert (both[:, 0] <= [0.5, 0.3, 0.2]).all()
    assert (both[:, 1] >= [0.5, 0.3, 0.2]).all()


def test_strings_are_not_alike_in_all_cohorts_by_chance() -> None:
    """The keys take turns: of these strings twelve pairs would be alike with a single key."""
    texts = [f"string {i}" for i in range(300_000)]
    layout = mm.ORR(epsilon=1.0, width=64, cohorts=24).layout_of(texts)
    assert layout.alike() == []


def test_bad_input_is_refused() -> None:
    counts = mm.KRR(k=4, epsilon=1.0).simulate([1, 2, 3, 4], np.random.default_rng(1))
    with pytest.raises(ValueError, match=r"in cohorts, not for KRR.*: use shrinkage\(counts\)"):
        selection(counts)
    empty = VIEWS["ORR"].count([])
    with pytest.raises(ValueError, match="there are no reports"):
        selection(empty)
    one = VIEWS["ORR"].simulate([10, *[0] * LISTED], np.random.default_rng(1))
    with pytest.raises(ValueError, match="by must be 'steps' or 'lasso', not 'forward'"):
        selection(one, by="forward")  # type: ignore[arg-type]


def test_few_reports_choose_nobody() -> None:
    counts = VIEWS["ORappor"].simulate([3, 2, *[0] * (LISTED - 1)], np.random.default_rng(1))
    found = selection(counts)
    assert found.shares.sum() == pytest.approx(1.0)
    assert np.isfinite(found.interval()).all()
    assert not found.detected().present.any()


def test_a_common_string_is_chosen_however_few_the_equations_are() -> None:
    """Two cohorts of two places give two equations; all people hold one of eight strings."""
    view = mm.ORR(epsilon=2.0, width=2, cohorts=2).over([f"s{i}" for i in range(8)])
    found = selection(view.simulate([20_000, *[0] * 8], np.random.default_rng(1)))
    group = next((g for g in found.fit.confounded if 0 in g), np.array([0]))
    assert found.shares[group].sum() > 0.9


def test_noise_of_strings_that_were_not_chosen_is_told() -> None:
    view = mm.ORR(epsilon=3.0, width=4, cohorts=4).over([f"s{i}" for i in range(200)])
    people = np.zeros(201, np.int64)
    people[:12] = 2500
    notes = selection(view.simulate(people, np.random.default_rng(1))).notes
    assert any("strings that were not chosen" in note for note in notes)
    people[:12], people[0] = 0, 30_000
    notes = selection(view.simulate(people, np.random.default_rng(1))).notes
    assert not any("strings that were not chosen" in note for note in notes)


def zipf_counts(seed: int) -> Counts:
    rr = mm.ORR(epsilon=3.0, width=16, cohorts=64)
    people = {f"word {i}": int(20_000 / (i + 1)) for i in range(60)}
    return rr.simulate_strings(list(people.items()), np.random.default_rng(seed))


@pytest.mark.parametrize("short", [3, 40])
def test_steps_through_the_strongest_of_a_long_list_end_as_steps_through_all(
    short: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = [f"word {i}" for i in range(400)]
    for seed in range(4):
        counts = zipf_counts(seed).over(listed)
        all_at_once = selection(counts)
        with monkeypatch.context() as shortened:
            shortened.setattr(sys.modules[MODULE], "LONG", 100)
            shortened.setattr(sys.modules[MODULE], "SHORT", short)
            by_reach = selection(counts)
        strong = set(range(20))  # those at the edge depend on the order of the steps
        assert strong <= set(chosen_of(all_at_once)) & set(chosen_of(by_reach))
        low, high = by_reach.interval()
        assert (np.abs(by_reach.shares - all_at_once.shares) < (high - low) / 2).all()
        np.testing.assert_allclose(by_reach.shares[:10], all_at_once.shares[:10], rtol=0.02)


def chosen_of(estimate: Estimate) -> Any:
    return cast(Selected, estimate.fit).chosen


def test_a_long_list_is_hashed_a_few_times_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time costs the number of candidates times that of cohorts; there were about eighty."""
    monkeypatch.setattr(sys.modules[MODULE], "LONG", 100)
    monkeypatch.setattr(sys.modules[MODULE], "SHORT", 50)
    monkeypatch.setattr("murmurs.hashing.layout.MOST_KEPT", 0)
    passes: list[int] = []
    hashed, totals = Keyed._hashed, Keyed.all_totals

    def hashing(self: Keyed, keys: Any) -> Any:
        passes.append(keys.shape[1])
        return hashed(self, keys)

    def adding(self: Keyed, *tables: Floats) -> Floats:
        passes.append(self.k)
        return totals(self, *tables)

    monkeypatch.setattr(Keyed, "_hashed", hashing)
    monkeypatch.setattr(Keyed, "all_totals", adding)
    steps: list[int] = []
    found = selection(
        zipf_counts(1).over([f"word {i}" for i in range(2000)]),
        progress=lambda chosen, of: steps.append(chosen),
    )
    found.interval()
    assert len(steps) > 3
    assert steps[-1] == len(chosen_of(found))
    assert sum(passes) <= 15 * 2000
