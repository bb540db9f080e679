"""Sketches are compared given their public hash functions: collisions are no changes.

Statistical tests have fixed seeds and a false-alarm rate of `FALSE_ALARM` (1e-7) for each number
looked at; each names a wrong law that it rejects. The size of tests over all pairs of mechanisms is
in `test_every_comparison`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats

import murmurs as mm
from murmurs.inference.collisions import MeanFit, SameHashes, SolvedMean, apart_from_collisions
from murmurs.inference.fit import Target
from murmurs.inference.fitting import fitted
from murmurs.mechanisms.mechanism import Mechanism
from murmurs.numerics.arrays import Floats
from murmurs.studies.laws import zipf
from tests.goodness import FALSE_ALARM

AnyMechanism = Mechanism[Any]
SHARES = np.array([0.4, 0.25, 0.15, 0.1, 0.06, 0.04])
MEANS: list[AnyMechanism] = [
    mm.CountMeanSketch(k=6, epsilon=2.0, rows=8, width=4, salt=5),
    mm.HadamardSketch(k=6, epsilon=2.0, rows=8, width=4, salt=5),
    mm.PermutedRR(k=6, epsilon=1.0, width=3, cohorts=3, salt=6),
]
"""The third is averaged because its few cohorts cannot tell six answers apart."""


def by_definition(mechanism: Any, channel: Any) -> tuple[Floats, Floats]:
    """The averages as a linear map of the cells of one report, and what is added to them."""
    cells, layout = mechanism.channel.cells, channel.layout
    one = 1 - 1 / layout.width
    inverse = np.zeros((*cells, layout.k))
    for row in range(layout.rows):
        for answer, place in enumerate(layout.places_in(row)[0].tolist()):
            if isinstance(mechanism, mm.HadamardSketch):
                for at in range(layout.width):
                    sign = (-1) ** (at & place).bit_count() / float(2 * channel.keep - 1) / one
                    inverse[row, at, :, answer] = sign, -sign
                continue
            gain = 1 / float(channel.hit - channel.miss) / one
            first = cells[1] - layout.width  # a sketch of bits counts reports before bits
            inverse[row, first + place, answer] += gain
            inverse[row, 0 if first else slice(None), answer] -= gain * float(channel.miss)
    return inverse.reshape(-1, layout.k), np.full(layout.k, -1 / layout.width / one)


@pytest.mark.parametrize("mechanism", MEANS, ids=repr)
def test_the_law_of_averages_given_the_hashes_is_that_of_the_cells(mechanism: AnyMechanism) -> None:
    """The law of the cells is held to that of single reports in test_every_mechanism."""
    people = (500 * SHARES).round().astype(int)
    fit = fitted(mechanism.simulate(people, np.random.default_rng(1)))
    assert isinstance(fit, MeanFit)
    channel = mechanism.channel
    inverse, added = by_definition(mechanism, channel)
    seen = fit.counts.cells.ravel() @ inverse / 500 + added
    np.testing.assert_allclose(fit.unbiased, seen, atol=1e-12)
    np.testing.assert_allclose(
        fit.mixing @ SHARES, channel.mean(SHARES).ravel() @ inverse + added, atol=1e-12
    )
    laws: dict[Target, Floats] = {
        "population": channel.covariance_sampled(SHARES, 500),
        "respondents": channel.covariance(500 * SHARES),
    }
    for target, law in laws.items():
        wanted = inverse.T @ law @ inverse / 500**2
        np.testing.assert_allclose(fit.given_hashes(SHARES, target), wanted, atol=1e-12)
    np.testing.assert_allclose(
        fit.variances(SHARES), np.diag(fit.given_hashes(SHARES, "population")), atol=1e-12
    )


@pytest.mark.parametrize("kind", [mm.CountMeanSketch, mm.HadamardSketch])
def test_over_hash_functions_collisions_have_the_covariance_that_is_added(kind: Any) -> None:
    """500 salts, within six standard errors: a false alarm has probability 1e-7 for all entries.

    A law without collisions has zeros, and is off by more than ten of them.
    """
    biases = []
    for salt in range(500):
        fit = MeanFit(kind(4, 4.0, rows=4, width=8, salt=10 * salt).simulate([9, 1, 1, 1], None))
        biases.append((fit.mixing - np.eye(4)) @ SHARES[:4])
    found = np.array(biases)
    extra = fit.covariance(SHARES[:4], "population") - fit.given_hashes(SHARES[:4], "population")
    squares = found[:, :, None] * found[:, None, :]
    error = squares.std(axis=0) / np.sqrt(len(found))
    assert (np.abs(squares.mean(axis=0) - extra) < 6 * error).all()
    assert (np.diag(extra) > 10 * np.diag(error)).all()


def test_collisions_are_solved_for_where_answers_can_be_told_apart() -> None:
    sketch = mm.CountMeanSketch(10, 4.0, rows=16, width=16, salt=3)
    fit = fitted(sketch.simulate((10**9 * zipf(10)).astype(int), np.random.default_rng(1)))
    solved = fit.without_collisions()
    assert isinstance(solved, SolvedMean)
    assert np.abs(fit.unbiased - zipf(10)).max() > 0.01
    assert np.abs(solved.unbiased - zipf(10)).max() < 1e-3
    crowded = fitted(mm.CountMeanSketch(300, 4.0, rows=16, width=16).simulate([9] * 300, None))
    assert crowded.without_collisions() is None


def sample(mechanism: AnyMechanism, rng: np.random.Generator, n: int = 20_000) -> Any:
    return mm.estimate(mechanism.simulate(rng.multinomial(n, zipf(mechanism.k)), rng), "unbiased")


def test_the_same_hash_functions_make_the_same_errors() -> None:
    """300 answers in 241 equations: not to be solved for, but no share changed.

    At most 6 % of 40 p-values are below 0.05 (exact binomial test). With the noise of collisions
    on both sides, as for two salts, no single p-value of 6,000 was below 0.05.
    """
    rng = np.random.default_rng(4)
    overall, each = [], []
    for _ in range(40):
        sketch = mm.CountMeanSketch(300, 4.0, rows=16, width=16, salt=int(rng.integers(2**20)))
        sides = [sample(sketch, rng) for _ in range(2)]
        assert all(isinstance(side.fit, SameHashes) for side in apart_from_collisions(sides))
        change = sides[0].difference(sides[1])
        overall.append(change.p_value)
        each.append(change.p_values)
        assert not any("share buckets" in note for note in change.notes)
    below = int((np.array(overall) < 0.05).sum())
    assert scipy.stats.binom.sf(below - 1, 40, 0.06) > FALSE_ALARM
    assert 0.035 < (np.array(each) < 0.05).mean() < 0.065


def test_a_change_collides_with_answers_that_did_not_change() -> None:
    """Half of all people leave the first answer for the last, at n = 10^8, in 300 answers.

    Single p-values of the others stay above 1e-9; without the collisions of what changed, the
    smallest was below 1e-300.
    """
    rng = np.random.default_rng(5)
    sketch = mm.CountMeanSketch(300, 4.0, rows=16, width=16, salt=1)
    before, after = np.full(300, 10**5), np.full(300, 10**5)
    before[0], after[-1] = 5 * 10**7, 5 * 10**7
    sides = [mm.estimate(sketch.simulate(people, rng), "unbiased") for people in (before, after)]
    change = sides[0].difference(sides[1])
    assert change.p_value < FALSE_ALARM
    assert change.p_values[[0, -1]].max() < FALSE_ALARM
    assert change.p_values[1:-1].min() > 1e-9


def test_two_salts_that_cannot_be_solved_for_are_compared_with_limits() -> None:
    """Sixteen rows of 1024 buckets: one collision is eight standard errors of the collisions.

    With the normal distribution, the overall test rejected in all of 20 pairs.
    """
    rng = np.random.default_rng(6)
    for salt in range(20):
        pair = [mm.CountMeanSketch(1500, 4.0, rows=16, width=1024, salt=s) for s in (salt, 10**6)]
        sides = [sample(sketch, rng, 10**7) for sketch in pair]
        change = sides[0].difference(sides[1])
        assert change.p_value > 0.05
        assert any("sketches with one salt compare best" in note for note in change.notes)
    turned = rng.multinomial(10**7, zipf(1500)[::-1])
    changed = mm.estimate(pair[1].simulate(turned, rng), "unbiased")
    assert changed.difference(sides[0]).p_value < 1e-5
    assert mm.trend([*sides, changed]).p_value < 1e-3
    assert mm.trend([*sides, sample(pair[0], rng, 10**7)]).p_value > 0.05


def test_many_answers_with_another_epsilon_are_no_change() -> None:
    """Cells of two mechanisms have two laws; ranked among each other they always differed."""
    rng = np.random.default_rng(7)
    for kind in (mm.KRR, mm.OUE):
        sides = [sample(kind(1200, epsilon), rng) for epsilon in (1.0, 4.0)]
        assert sides[0].difference(sides[1]).p_value > 1e-6


def test_limits_hold_although_noise_hides_how_common_answers_are() -> None:
    """300 answers, 241 equations, against KRR: none of 100 p-values is below 0.05.

    With collisions taken at shares that noise made smaller, 7 % of 913 were.
    """
    rng = np.random.default_rng(8)
    for salt in range(100):
        sketch = mm.CountMeanSketch(300, 4.0, rows=16, width=16, salt=1000 * salt)
        change = sample(sketch, rng).difference(sample(mm.KRR(300, 4.0), rng))
        assert change.p_value > 0.05
