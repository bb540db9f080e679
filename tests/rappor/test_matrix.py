"""A piece of google/rappor's matrix: our error, our intervals and detection beside their rule.

Each statistical test has a fixed seed and a false-alarm rate of at most `FALSE_ALARM`, and shows a
decoder that it rejects. The whole matrix is docs/results/rappor_matrix.md.
"""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.stats
from benchmarks import rappor_matrix as study

from murmurs.counts import Counts
from murmurs.inference.least_squares import LeastSquares
from tests.goodness import FALSE_ALARM

REPEAT = 6


def _cell(config: str, law: str, size: str, **changes: Any) -> dict[str, Any]:
    cells = study.matrix(REPEAT, REPEAT, REPEAT)
    names = {"config": config, "law": law, "size": size}
    (found,) = [c for c in cells if all(c[key] == name for key, name in names.items())]
    return {**found, **changes}


@cache
def _sharp() -> dict[str, Any]:
    return study.run_cell(_cell("sharp", "zipf1", "small"))


def _drawn(cell: dict[str, Any], seed: int) -> tuple[Counts, np.ndarray[Any, Any]]:
    rng = np.random.default_rng(seed)
    people = study.people_of(cell)
    mechanism = study.question(cell, seed * 256)
    histogram = rng.multinomial(cell["n"], people.law)
    drawn = mechanism.over(people.held).simulate(histogram, rng)
    candidates = people.listed + [f"v{100 + i}" for i in range(1, cell["extra"] + 1)]
    share = np.zeros(len(candidates))
    for i, text in enumerate(people.listed):
        share[i] = histogram[people.held.index(text)] / cell["n"]
    return Counts(mechanism.over(candidates), drawn.n, drawn.cells), share


def _covers(held: float, asked: int) -> bool:
    """Whether so many shares may be held by 95 % intervals.

    Those of one decoding are dependent: the sum of all is better known than each. As if there were
    a quarter as many, the test is on the safe side.
    """
    few = asked // 4
    return bool(scipy.stats.binom.cdf(round(held * few / asked), few, 0.95) > FALSE_ALARM)


def _collisions_ignored(counts: Counts) -> study.Answer:
    """Decode wrongly: each string has all that is on its bits."""
    channel: Any = counts.channel
    masses = channel.masses_of(counts.cells)
    bits = channel.layout.totals(np.ones_like(masses))
    shares = np.maximum(channel.layout.totals(masses) / bits, 0)
    law = float(channel.miss) + channel.difference * np.clip(masses, 0, 1)
    variances = law * (1 - law) / channel.difference**2 / np.maximum(counts.cells[:, :1], 1)
    reach = 1.96 * np.sqrt(channel.layout.totals(variances)) / bits
    return study.Answer(shares, shares - reach, shares + reach, shares > reach)


def test_our_total_variation_is_lower_in_every_repetition() -> None:
    # The paired difference is -0.075 with a deviation of 0.008: below zero but for e-19.
    row = _sharp()
    for own, other in zip(row["ours"], row["theirs"], strict=True):
        assert own["all"] < other["shown"]
        assert own["all, rest"] < other["shown, rest"]


def test_a_decoder_that_ignores_collisions_has_a_larger_error_than_theirs() -> None:
    row = _sharp()
    counts, share = _drawn(_cell("sharp", "zipf1", "small"), 1)
    wrong = study.figures(_collisions_ignored(counts), share)
    assert wrong["all"] > 2 * max(other["shown"] for other in row["theirs"])


def test_our_intervals_cover_and_theirs_do_not() -> None:
    row = _sharp()
    asked = 100 * REPEAT
    for target in ("coverage", "population"):
        assert _covers(asked * study.mean(row["ours"], target), asked)
    assert not _covers(asked * study.mean(row["theirs"], "coverage"), asked)


def test_intervals_of_a_decoder_that_ignores_collisions_are_rejected() -> None:
    counts, share = _drawn(_cell("sharp", "zipf1", "small"), 1)
    wrong = study.figures(_collisions_ignored(counts), share)
    assert not _covers(100 * wrong["coverage"], 100)


class Blind(LeastSquares):
    """A fit that does not look at its residuals."""

    @property
    def inflation(self) -> float:
        """The noise is taken as the law has it."""
        return 1.0


def test_intervals_know_of_strings_in_no_list() -> None:
    # Ten strings in no list hold a tenth of all, and with little noise that is seen.
    cell, held, without = _cell("loose", "exp", "small"), 0.0, 0.0
    for seed in range(REPEAT):
        counts, share = _drawn(cell, seed)
        found, ours = study.ours(counts)
        held += share.size * study.figures(ours, share)["coverage"]
        blind = study.answer(dataclasses.replace(found, fit=Blind(counts)))
        without += share.size * study.figures(blind, share)["coverage"]
    assert _covers(held, share.size * REPEAT)
    assert not _covers(without, share.size * REPEAT)


def _falsely_detected(decode: Any, decodings: int) -> int:
    cell = _cell("over_x2", "zipf1.5", "tiny", extra=30)
    alarms = 0
    for seed in range(decodings):
        counts, share = _drawn(cell, seed)
        alarms += bool((decode(counts).shown & (share == 0)).any())
    return alarms


def test_absent_strings_are_rarely_detected() -> None:
    # In each decoding with probability 0.05 at most.
    decodings = 12
    limit = int(scipy.stats.binom.isf(FALSE_ALARM, decodings, 0.05))
    assert _falsely_detected(lambda counts: study.ours(counts)[1], decodings) <= limit
    assert _falsely_detected(_collisions_ignored, decodings) > limit


def test_their_fit_is_the_constrained_minimum() -> None:
    rng = np.random.default_rng(5)
    for _ in range(4):
        bits = (rng.random((40, 6)) < 0.3).astype(float)
        truth = rng.dirichlet(np.ones(7))[:6]
        target = bits @ truth + rng.normal(0, 0.1, 40)
        most = np.clip(target + 0.1, 0.01, 1)
        found = study.constrained(bits, target, bits, most)
        assert found.min() >= 0
        assert found.sum() <= 1 + 1e-9
        assert (bits @ found <= most + 1e-8).all()
        best = scipy.optimize.minimize(
            lambda x, b=bits, y=target: ((b @ x - y) ** 2).sum(),
            np.zeros(6),
            method="SLSQP",
            bounds=[(0, None)] * 6,
            constraints=[
                {"type": "ineq", "fun": lambda x: 1 - x.sum()},
                {"type": "ineq", "fun": lambda x, b=bits, m=most: m - b @ x},
            ],
            options={"ftol": 1e-14, "maxiter": 1000},
        )
        assert ((bits @ found - target) ** 2).sum() <= best.fun + 1e-7


def test_the_screen_of_theirs_is_the_minimum_of_the_lasso() -> None:
    rng = np.random.default_rng(6)
    design = (rng.random((50, 80)) < 0.25).astype(float)
    gram = design.T @ design + 1e-6 * np.eye(80)
    goal = design.T @ rng.normal(0.3, 0.3, 50) - 1.0
    found = study.nonnegative(gram, goal, np.zeros(80, np.bool_))
    slope = gram @ found - goal
    assert (found >= 0).all()
    assert (found > 0).any()
    assert slope.min() >= -1e-8
    assert slope[found > 0] == pytest.approx(0, abs=1e-8)


@pytest.mark.parametrize("law", study.LAWS)
def test_laws_are_laws(law: str) -> None:
    shares = study.law_of(law)
    assert shares.sum() == pytest.approx(1)
    assert (shares > 0).all()
    ratios = {"unif": 1, "exp": np.exp(0.05), "gauss": None, "zipf1": 2, "zipf1.5": 2**1.5}
    if ratios[law] is None:
        assert shares.argmax() == 49
    else:
        assert shares[0] / shares[1] == pytest.approx(ratios[law])
