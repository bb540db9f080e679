"""Tuning: the mean over hash functions, the exact covariance and simulations agree."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import murmurs as mm
from murmurs import estimators
from murmurs.cli import main
from murmurs.hashing.layout import Keyed, Ranked
from murmurs.numerics.arrays import Floats
from murmurs.planning.identifiability import cohorts_needed, identifiable
from murmurs.planning.loss_model import KINDS, Parameters
from murmurs.planning.tuning import Tuning, expected_loss, tune
from murmurs.studies.laws import zipf

EPSILONS = (0.5, 1.0, 2.0, 4.0, 6.0)
S, FEW, N = 256, 64, 10**6


def geometric(size: int) -> Floats:
    law = (size / (5 + size)) ** (5 * np.arange(size) / size * 5)
    return np.asarray(law / law.sum())


LAWS = {
    "equal": np.full(S, 1 / S),
    "geometric": geometric(S),
    "zipf": zipf(S),
    "half of it in one": np.append(0.5, np.full(S - 1, 0.5 / (S - 1))),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(
    ("kind", "epsilon", "width", "cohorts", "hashes"),
    [
        ("ORR", 0.5, 3, 512, 1),
        ("ORR", 2.0, 8, 128, 1),
        ("ORR", 4.0, 55, 32, 1),
        ("ORR", 6.0, 403, 16, 1),
        ("ORappor", 0.5, 1024, 8, 1),
        ("ORappor", 2.0, 16, 64, 1),
        ("ORappor", 2.0, 64, 32, 2),
        ("ORappor", 5.0, 256, 32, 1),
        ("PermutedRR", 0.5, 3, 512, 1),
        ("PermutedRR", 4.0, 55, 64, 1),
        ("PermutedRR", 6.0, 128, 16, 1),
        ("PermutedRR", 6.0, 256, 1, 1),
        ("PermutedRR", 6.0, 200, 64, 1),
        ("PermutedRappor", 0.5, 128, 16, 1),
        ("PermutedRappor", 5.0, 256, 1, 1),
    ],
)
def test_the_mean_over_hash_functions_is_near_the_exact_covariance(
    kind: str, epsilon: float, width: int, cohorts: int, hashes: int, law: str
) -> None:
    for loss, tolerance in (("l1", 0.03), ("l2", 0.1)):
        mean, exact = (
            expected_loss(
                epsilon,
                N,
                S,
                width,
                cohorts,
                hashes,
                kind=kind,
                shares=LAWS[law],
                loss=loss,
                exact=is_exact,
            )
            for is_exact in (False, True)
        )
        assert (mean.estimator, exact.estimator) == ("least squares", "least squares")
        assert (mean.exact, exact.exact) == (False, True)
        assert mean.loss == pytest.approx(exact.loss, rel=tolerance)


@pytest.mark.parametrize("rest", [0.0, 0.4])
def test_the_mean_is_near_the_covariance_when_many_strings_are_not_listed(rest: float) -> None:
    shares = (1 - rest) * zipf(60)
    mean, exact = (
        expected_loss(3.0, N, 60, 20, 32, shares=shares, exact=is_exact).loss
        for is_exact in (False, True)
    )
    assert mean == pytest.approx(exact, rel=0.03)


@pytest.mark.parametrize(
    ("kind", "mechanism"),
    [
        ("ORR", mm.ORR(2.0, 4, 16)),
        ("ORappor", mm.ORappor(2.0, 8, 16, hashes=2)),
        ("ORappor", mm.ORappor(1.0, 4, 1)),
    ],
)
def test_averages_have_the_variance_that_the_channel_states(kind: str, mechanism: Any) -> None:
    size = 200
    shares = zipf(size)
    channel = mechanism.over([f"{i}" for i in range(size)]).channel
    assert not channel.is_solved
    constant, slope = channel.noise(np.append(shares, 0.0), 5000)
    found = expected_loss(
        mechanism.epsilon,
        5000,
        size,
        mechanism.width,
        mechanism.cohorts,
        mechanism.hashes,
        kind=kind,
        loss="l2",
        exact=False,
    )
    variance = (constant + slope * np.append(shares, 0.0))[:size]
    assert found.estimator == "averages"
    # Pairs of fewer than one person are cut off here and not there.
    assert found.loss == pytest.approx(float(variance.sum()), rel=1e-3)


FALSE_ALARM = 1e-6
QUANTILE = 4.9
"""Two-sided standard normal quantile of the false-alarm rate."""


@pytest.mark.parametrize(
    ("kind", "width", "cohorts"),
    [("ORR", 8, 12), ("ORappor", 16, 8), ("PermutedRR", 8, 12), ("PermutedRappor", 12, 8)],
)
def test_simulated_losses_have_the_expected_mean(kind: str, width: int, cohorts: int) -> None:
    # False-alarm rate 1e-6 a case, were mean losses normal. Rejected: that without inflation.
    size, n, runs = 24, 10**5, 250
    rng = np.random.default_rng(5)
    people = rng.multinomial(n, zipf(size))
    shares = people / n
    texts = [f"string {i}" for i in range(size)]
    parameters = {"epsilon": 2.0, "width": width, "cohorts": cohorts}
    if kind.startswith("Permuted"):
        mechanism, histogram = KINDS[kind](k=size, **parameters), people
    else:
        mechanism, histogram = KINDS[kind](**parameters).over(texts), np.append(people, 0)
    losses = np.empty(runs)
    for run in range(runs):
        found = estimators.unbiased(mechanism.simulate(histogram, rng)).shares[:size]
        losses[run] = ((found - shares) ** 2).sum()
    # The layout of the strings, not the tuner's own: only the choice of hash functions differs.
    whole = histogram / n
    constant, slope = mechanism.channel.noise(whole, n)
    expected = float((constant + slope * whole)[:size].sum())
    deviation = losses.std(ddof=1) / math.sqrt(runs)
    assert abs(losses.mean() - expected) < QUANTILE * deviation
    tuned = expected_loss(
        2.0, n, size, width, cohorts, kind=kind, shares=shares, loss="l2", exact=False
    ).loss
    assert tuned == pytest.approx(expected, rel=0.12)  # few places: hash functions differ
    endless = expected_loss(
        2.0, n, size, width, 2**14, kind=kind, shares=shares, loss="l2", exact=False
    ).loss
    assert losses.mean() - endless > QUANTILE * deviation


def incidence(width: int, cohorts: int, size: int, salt: int) -> Floats:
    """Return the matrix of a layout: a line a place, a column an answer."""
    keys = np.arange(size, dtype=np.uint64)[None, :]
    layout = Keyed(keys, cohorts, width, salt)
    lines = [layout.places_in(c)[0][None, :] == np.arange(width)[:, None] for c in range(cohorts)]
    return np.concatenate(lines).astype(np.float64)


@pytest.mark.parametrize(("width", "cohorts"), [(2, 5), (4, 6), (16, 8), (7, 3)])
def test_the_rank_of_layouts_is_the_number_of_equations(width: int, cohorts: int) -> None:
    many = 4 * width * cohorts
    for salt in range(5):
        rank = np.linalg.matrix_rank(incidence(width, cohorts, many, 1000 * salt))
        assert rank == identifiable(width, cohorts, many).equations == cohorts * (width - 1) + 1
        assert rank < width * cohorts or cohorts == 1  # what the paper counts


def test_the_equations_of_permutations_are_as_many() -> None:
    layout = Ranked(60, 5, 6, 0)
    places = np.concatenate(
        [layout.places_in(c)[0][None, :] == np.arange(6)[:, None] for c in range(5)]
    )
    assert np.linalg.matrix_rank(places.astype(float)) == identifiable(6, 5, 60).equations


@pytest.mark.parametrize(("width", "cohorts", "size"), [(2, 2, 3), (3, 1, 4), (2, 1, 5), (4, 1, 3)])
def test_what_is_distinguishable_by_enumeration(width: int, cohorts: int, size: int) -> None:
    patterns = width**cohorts
    alone, all_alone, first_alone = Fraction(0), Fraction(0), Fraction(0)
    for drawn in itertools.product(range(patterns), repeat=size):
        own = [drawn.count(x) == 1 for x in drawn]
        alone += sum(own)
        all_alone += all(own)
        first_alone += own[0]
    total = patterns**size
    found = identifiable(width, cohorts, size)
    assert found.distinguishable == pytest.approx(float(alone / total))
    assert found.sharing == pytest.approx(size - float(alone / total))
    for probability, every in ((first_alone / total, False), (all_alone / total, True)):
        if 0 < probability < 1:
            just = float(probability) * (1 - 1e-9)
            assert cohorts_needed(width, size, just, every=every) <= cohorts
            above = min(float(probability) * (1 + 1e-9), 1 - 1e-12)
            assert cohorts_needed(width, size, above, every=every) > cohorts


def test_the_paper_s_exponent_would_ask_for_nothing() -> None:
    k, wanted = 2, 0.9
    found = cohorts_needed(k, S, wanted)
    assert k**found >= 1 / (1 - wanted ** (1 / (S - 1))) > k ** (found - 1)
    assert 1 / (1 - wanted ** (S - 1)) < 1.0001  # as printed: one pattern for all of them


def test_all_apart_is_asked_for_with_very_many_patterns_too() -> None:
    for size in (10**6, 10**9):
        found = cohorts_needed(16, size, 0.99, every=True)
        pairs = size * (size - 1) / 2
        assert pairs / 16**found < -math.log(0.99) <= pairs / 16 ** (found - 1)


def test_advice_says_what_to_add() -> None:
    few = identifiable(16, 8, 256)
    assert not few.enough
    assert "at most 121 equations for 256 shares: add 9 cohorts, or use a width of 33" in (
        few.advice
    )
    assert identifiable(16, 17, 256).enough
    assert identifiable(33, 8, 256).enough
    tangled = identifiable(2**16, 1, 1000)
    assert tangled.enough
    assert "15.1 of 1000 candidates share all their buckets with another: 2 cohorts" in (
        tangled.advice
    )
    assert identifiable(8, 1024, 256).advice == "256 candidates can be told apart"
    assert identifiable(2, 3, 1).sharing == 0


@pytest.fixture(scope="module")
def tuned() -> dict[tuple[str, float], Tuning]:
    """All kinds at the epsilons of the paper's figure 3, with a quarter of its strings."""
    return {(k, e): tune(e, N, FEW, kind=k, most_cohorts=1024) for k in KINDS for e in EPSILONS}


def test_the_best_width_of_o_rr_grows_with_epsilon(tuned: dict[tuple[str, float], Tuning]) -> None:
    for kind in ("ORR", "PermutedRR"):
        widths = [tuned[kind, e].best.width for e in EPSILONS]
        assert widths == sorted(widths)
        for e, width in zip(EPSILONS, widths, strict=True):
            natural = min(math.exp(e) + 1, 1.5 * FEW if kind == "ORR" else FEW)
            assert 0.45 * natural < width < 1.5 * natural


def test_one_cohort_is_not_enough_for_open_alphabets(
    tuned: dict[tuple[str, float], Tuning],
) -> None:
    for kind, e in itertools.product(("ORR", "ORappor"), EPSILONS):
        assert tuned[kind, e].best.cohorts > 4
        assert tune(e, N, FEW, kind=kind, most_cohorts=1).best.loss > 1.2 * tuned[kind, e].best.loss


def test_one_hash_is_best(tuned: dict[tuple[str, float], Tuning]) -> None:
    for e in (0.5, 2.0, 6.0):
        assert {c.hashes for c in tuned["ORappor", e].alternatives} == {1, 2, 4}
        assert tuned["ORappor", e].best.hashes == 1
        more = tune(e, N, FEW, kind="ORappor", most_cohorts=256, hashes=[2, 4, 8, 16]).best
        assert more.loss > 1.2 * tuned["ORappor", e].best.loss


def test_o_rr_is_expected_to_meet_o_rappor(tuned: dict[tuple[str, float], Tuning]) -> None:
    for e in EPSILONS:
        for rr, rappor in (("ORR", "ORappor"), ("PermutedRR", "PermutedRappor")):
            limit = 1.01 if e < 1 else 1.0  # for three places 1024 cohorts are few
            assert tuned[rr, e].best.loss < limit * tuned[rappor, e].best.loss
    many = {
        kind: expected_loss(0.5, N, S, width, cohorts, kind=kind, exact=False).loss
        for kind, width, cohorts in (
            ("ORR", 3, 2**14),
            ("ORappor", 4096, 2**10),
            ("PermutedRR", 3, 2**14),
            ("PermutedRappor", S, 1),
        )
    }
    assert many["ORR"] < 1.002 * many["ORappor"]
    assert many["PermutedRR"] < many["PermutedRappor"]


def test_closed_alphabets_that_are_small_for_epsilon_need_one_cohort(
    tuned: dict[tuple[str, float], Tuning],
) -> None:
    best = tuned["PermutedRR", 6.0].best
    assert (best.width, best.cohorts) == (FEW, 1)
    krr = mm.KRR(k=FEW, epsilon=6.0).channel.expected_l1(N, zipf(FEW))
    assert best.loss == pytest.approx(krr, rel=1e-3)


def test_the_study_in_small() -> None:
    """Medians of 15 samples; O-RR beats O-RAPPOR, and the ratio is that of expected losses.

    A median has a standard deviation of about 4 %, so a ratio is off by a quarter of it once in
    1e5 runs; seeds are fixed.
    """
    size, n = 32, 10**6
    law = geometric(size)
    for e, closed in ((3.0, False), (4.0, False), (4.0, True)):
        medians, expected = [], []
        for kind in ("PermutedRR", "PermutedRappor") if closed else ("ORR", "ORappor"):
            found = tune(e, n, size, kind=kind, most_cohorts=128)
            mechanism: Any = found.mechanism
            if not closed:
                mechanism = mechanism.over([f"s{i}" for i in range(size)])
            errors = []
            for seed in range(15):
                rng = np.random.default_rng(seed)
                people = rng.multinomial(n, law)
                people = people if closed else np.append(people, 0)
                shares = mm.estimators.unbiased(mechanism.simulate(people, rng)).shares[:size]
                errors.append(float(np.abs(shares - people[:size] / n).sum()))
            medians.append(float(np.median(errors)))
            expected.append(found.best.loss)
        assert medians[0] < 0.97 * medians[1]
        assert medians[0] / medians[1] == pytest.approx(expected[0] / expected[1], rel=0.25)


def test_a_hundred_thousand_candidates_are_tuned_for() -> None:
    found = tune(2.0, 10**7, 10**5)
    assert not found.best.exact
    assert found.best.cohorts == 4096
    assert 6 <= found.best.width <= 64  # wider than e^2 + 1: collisions cannot be solved for
    wide = tune(2.0, 10**7, 10**5, most_cohorts=2**16).best
    assert wide.loss < found.best.loss


def test_groups_of_a_long_tail_are_as_good_as_all_shares() -> None:
    found = [
        expected_loss(3.0, N, size, 21, 512, shares=shares, exact=False).loss
        for size, shares in (
            (1000, zipf(1000)),
            (1000, np.random.default_rng(1).permutation(zipf(1000))),
        )
    ]
    assert found[0] == pytest.approx(found[1], rel=1e-12)
    exact = expected_loss(3.0, N, 1000, 21, 512, shares=zipf(1000))
    assert exact.exact
    assert found[0] == pytest.approx(exact.loss, rel=0.02)


def test_every_option_acts() -> None:
    base = tune(2.0, N, 50)
    assert isinstance(base.best, Parameters)
    assert base.best.cells == base.best.width * base.best.cohorts
    assert base.looked_at > len(base.alternatives) > 8
    assert all(1.03 * c.loss > base.best.loss for c in base.alternatives)
    assert tune(2.0, N, 50, most_cohorts=100).best.cohorts <= 100
    assert tune(2.0, N, 50, most_cohorts=100, within=0.0).best.cohorts == 100
    assert tune(2.0, N, 50, within=0.5).best.cohorts < base.best.cohorts
    assert tune(2.0, N, 50, widths=[5, 20]).best.width == 5
    assert tune(2.0, N, 50, kind="ORappor", hashes=[2]).best.hashes == 2
    assert tune(2.0, 4 * N, 50).best.loss == pytest.approx(base.best.loss / 2, rel=0.02)
    squared = tune(2.0, N, 50, loss="l2")
    assert squared.best.loss == pytest.approx(math.pi / 2 * base.best.loss**2 / 50, rel=0.05)
    assert squared.error_of_a_share == pytest.approx(
        math.sqrt(math.pi / 2) * base.error_of_a_share, rel=0.05
    )
    half = tune(6.0, N, 50, shares=zipf(50) / 2).best
    assert half.loss != tune(6.0, N, 50).best.loss


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", [1e-6, 30.0, 700.0])
def test_the_ends_of_the_range_are_tuned_too(kind: str, epsilon: float) -> None:
    for size, n in ((2, 1), (5, 10**12)):
        found = tune(epsilon, n, size, kind=kind, most_cohorts=16)
        best = found.best
        again = expected_loss(epsilon, n, size, best.width, best.cohorts, best.hashes, kind=kind)
        assert best.loss == pytest.approx(again.loss, rel=1e-9)
        assert found.mechanism.epsilon == epsilon


def test_a_tuning_gives_the_mechanism_and_a_document() -> None:
    for kind in KINDS:
        found = tune(1.0, N, 30, kind=kind, most_cohorts=64)
        mechanism = found.mechanism
        assert type(mechanism) is KINDS[kind]
        assert (mechanism.width, mechanism.cohorts) == (found.best.width, found.best.cohorts)
        document = json.loads(json.dumps(found.to_document()))
        assert document["best"]["width"] == found.best.width
        assert len(document["alternatives"]) == len(found.alternatives)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon": 0}, "epsilon must be from 1e-06 to 700, not 0"),
        ({"people": 0}, "people must be from 1 to"),
        ({"candidate_count": 1}, "candidate_count must be from 2 to 10000000, not 1"),
        ({"kind": "KRR"}, "cannot tune 'KRR'; choose one of ORR, ORappor"),
        ({"loss": "l3"}, "loss must be one of l1, l2, not 'l3'"),
        ({"most_cohorts": 0}, "most_cohorts must be from 1 to 65536, not 0"),
        ({"within": -1}, "within must be from 0 to 1, not -1"),
        ({"shares": [0.5, 0.5]}, "shares must be 4 numbers, one per candidate, not of shape (2,)"),
        ({"shares": [0.5, 0.6, 0.1, -0.2]}, "must not be negative or missing, but one is -0.2"),
        ({"shares": [0.5, 0.6, 0.1, 0.2]}, "add up to at most 1: the rest is held by other str"),
        ({"shares": [0.1] * 4, "kind": "PermutedRR"}, "shares must add up to 1, not to 0.4"),
        ({"widths": [1]}, "width must be from 2 to 65536, not 1"),
        ({"widths": [9], "kind": "PermutedRR"}, "no given width is at least the number"),
        ({"hashes": [17], "kind": "ORappor"}, "hashes must be from 1 to 16, not 17"),
        ({"hashes": [2]}, "ORR has one hash; hashes are for ORappor"),
    ],
)
def test_bad_input_is_refused(change: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"epsilon": 1.0, "people": 100, "candidate_count": 4, **change}
    with pytest.raises(ValueError, match=r".*") as caught:
        tune(**given)
    assert message in str(caught.value)


def test_bad_parameters_of_one_line_are_refused() -> None:
    with pytest.raises(ValueError, match="width must be from 2 to 4, not 5"):
        expected_loss(1.0, 100, 4, 5, 1, kind="PermutedRR")
    with pytest.raises(ValueError, match="hashes must be from 1 to 1, not 2"):
        expected_loss(1.0, 100, 4, 5, 1, 2)
    with pytest.raises(ValueError, match="cohorts must be from 1 to 65536, not 0"):
        identifiable(2, 0, 5)
    with pytest.raises(ValueError, match="probability must be from"):
        cohorts_needed(2, 5, 1.0)


def test_the_command_prints_the_mechanism_and_a_table() -> None:
    arguments = ["tune", "--epsilon", "2", "--respondents", "1000000", "--candidate-count", "64"]
    told = CliRunner().invoke(main, [*arguments, "--lines", "3"])
    assert told.exit_code == 0
    best = tune(2.0, 10**6, 64)
    text = " ".join(told.output.split())
    assert text.startswith(f"{best.mechanism}: the expected error of a share is ")
    assert "64 candidates can be told apart" in text
    assert "one layout: computed for one drawn set of hash functions; all layouts: " in text
    assert len(told.output.splitlines()) == 13
    document = json.loads(CliRunner().invoke(main, [*arguments, "--json"]).output)
    assert document == best.to_document() | {
        "alternatives": [dict(vars(c)) for c in best.alternatives]
    }
    refused = CliRunner().invoke(main, [*arguments, "--most-cohorts", "0"])
    assert refused.exit_code == 2
    assert "most_cohorts must be from 1 to 65536, not 0" in refused.output
