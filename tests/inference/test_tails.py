"""Limits from exact tails: the coverage that a theorem promises, summed over all counts."""

from __future__ import annotations

import itertools
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, binomtest

import murmurs as mm
from murmurs.channels.symmetric import Symmetric
from murmurs.estimators.estimation import Estimate
from murmurs.inference import block_tails, tails
from murmurs.inference.block_tails import BlockLaw
from murmurs.inference.fit import Target
from murmurs.inference.grouped import Grouped
from murmurs.inference.intervals import Scale, limits
from murmurs.inference.tails import Support, tail_limits
from murmurs.mechanisms.mechanism import Mechanism
from murmurs.numerics.arrays import Floats, Integers

TARGETS: tuple[Target, ...] = ("population", "respondents")


def limits_of(counts: Integers, law: Support, level: float = 0.95) -> tuple[Floats, Floats]:
    """Limits of counts from the normal law, and from exact tails where they are used."""
    one, hit, miss = law.scale, float(law.hit), float(law.miss)
    each = Scale(np.full(len(counts), one.constant), np.full(len(counts), one.slope), one.bend)
    usual = limits((counts / law.n - miss) / (hit - miss), each, level)
    return usual, tail_limits(counts, law, level, usual)


def law_of(law: Support, share: float, counts: Integers) -> Floats:
    """The probabilities of the counts, by SciPy."""
    hit, miss = float(law.hit), float(law.miss)
    if law.sampled:
        return np.asarray(binom.pmf(counts, law.n, miss + (hit - miss) * share))
    own = round(law.n * share)
    mean, reach = own * hit, 9 * np.sqrt(own * hit * (1 - hit)) + 30
    held = np.arange(max(0, int(mean - reach)), min(own, int(mean + reach)) + 1)
    others = binom.pmf(counts[:, None] - held, law.n - own, miss)
    return np.asarray(others @ binom.pmf(held, own, hit))


def coverage(
    mechanism: Mechanism[Any], n: int, share: float, target: str, level: float = 0.95
) -> tuple[float, float]:
    """The exact coverage of the limits of the normal law, and of those that are given."""
    channel = mechanism.channel
    assert isinstance(channel, Symmetric)
    law = Support(n, channel.hit, channel.miss, target == "population")
    truth = share if law.sampled else round(n * share) / n
    mean = n * float(law.miss + (law.hit - law.miss) * Fraction(truth))
    reach = 9 * float(law.deviation(np.array(truth))) + 25
    counts = np.arange(max(0, int(mean - reach)), min(n, int(mean + reach)) + 1)
    chances = law_of(law, truth, counts)
    out = []
    for both in limits_of(counts, law, level):
        inside = (both[:, 0] <= truth + 1e-12) & (truth <= both[:, 1] + 1e-12)
        out.append(float(chances[inside].sum()))
    return out[0], out[1]


@pytest.mark.parametrize(
    ("mechanism", "n", "share", "before"),
    [
        (mm.KRR(4, 12.0), 100, 0.0105, 0.64),
        (mm.KRR(4, 20.0), 10**5, 1e-5, 0.62),
        (mm.KRR(4, 8.0), 60, 0.022, 0.74),
        (mm.Subset(30, 9.0), 40, 0.03, 0.80),
        (mm.SUE(3, 24.0), 1000, 0.00105, 0.66),
    ],
    ids=repr,
)
def test_limits_cover_where_about_one_report_is_expected(
    mechanism: Mechanism[Any], n: int, share: float, before: float
) -> None:
    """Those of the normal law do not, at these shares."""
    normal, exact = coverage(mechanism, n, share, "population")
    assert normal < before
    assert exact > 0.93


KINDS = [mm.KRR, mm.Subset, mm.OUE, mm.SUE]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", KINDS)
def test_limits_cover_at_least_93_percent_everywhere(kind: Any, target: str) -> None:
    """1 - 0.05 / (5 / 7), the bound of the theorem, over n, epsilon, k and shares."""
    for n, epsilon, k in itertools.product((1, 20, 250), (0.2, 1.5, 5.0, 18.0), (2, 12)):
        for share in (0.0, 0.004, 0.031, 0.4, 1.0):
            exact = coverage(kind(k, epsilon), n, share, target)[1]
            assert exact > 0.93 - 1e-9, (k, epsilon, n, share)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("mechanism", "n", "people", "before"),
    [(mm.KRR(62, 0.72), 3689, 3688, 4.0), (mm.KRR(21, 0.0031), 2552, 119, 3.6)],
    ids=repr,
)
def test_limits_far_out_miss_no_more_than_the_theorem_allows(
    mechanism: Mechanism[Any], n: int, people: int, before: float, target: str
) -> None:
    """As those of bands for many answers; there, counts with a deviation of 11 are not normal."""
    for level in (0.99, 0.999, 1 - 0.05 / 1000, 0.999999):
        missed = [1 - x for x in coverage(mechanism, n, people / n, target, level)]
        assert missed[1] < 1.4001 * (1 - level), level
    assert missed[0] > before * (1 - level)


@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_every_guess_leads_to_the_same_limit(kind: Any, sampled: bool) -> None:
    for n, epsilon, level in itertools.product((20, 300), (0.5, 4.0), (0.95, 0.9999)):
        channel = kind(12, epsilon).channel
        law = Support(n, channel.hit, channel.miss, sampled)
        counts = np.repeat(np.linspace(0, n, 6).round(), 2)
        upper = np.tile([False, True], 6)
        near = tails._limits(counts, upper, law, level, counts / n)
        for guesses in (np.zeros(12), np.ones(12), np.linspace(0, 1, 12)):
            found = tails._limits(counts, upper, law, level, guesses)
            np.testing.assert_allclose(found, near, rtol=0, atol=1e-8 if sampled else 0)


def test_with_weight_one_and_no_noise_limits_are_those_of_clopper_and_pearson(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Away from 0 and 1, where alpha has equal parts."""
    monkeypatch.setattr(tails, "WEIGHT", 1.0)
    law = Support(60, Fraction(1), Fraction(0), sampled=True)
    counts = np.arange(8, 53)
    found = limits_of(counts, law)[1]
    wanted = [binomtest(int(count), 60).proportion_ci(0.95) for count in counts]
    np.testing.assert_allclose(found, [(ci.low, ci.high) for ci in wanted], rtol=1e-6)


@pytest.mark.parametrize("n", [20, 1000, 10**12])
def test_without_a_single_report_the_upper_limit_is_a_few_people(n: int) -> None:
    """Where (1 - share)^n is 0.025 / (5 / 7): 3.35 / n; 3.7 with weight one, Wilson's 3.84."""
    counts = mm.Counts(mm.KRR(4, 45.0), n, np.array([0, n, 0, 0]))
    low, high = mm.estimators.unbiased(counts).interval()
    wanted = 1 - (0.025 * 7 / 5) ** (1 / n) if n < 10**9 else 3.352 / n
    assert high[0] == pytest.approx(wanted, rel=1e-3)
    assert low[0] == 0
    assert low[1] == pytest.approx(1 - wanted, rel=1e-3)
    assert high[1] == 1


def test_limits_rise_with_the_count_and_have_no_cliff_where_the_normal_law_takes_over() -> None:
    for mechanism, n in ((mm.KRR(100, 8.0), 3000), (mm.OUE(4, 3.0), 1500), (mm.KRR(4, 3.0), 900)):
        channel = mechanism.channel
        for sampled in (True, False):
            law = Support(n, channel.hit, channel.miss, sampled)
            found = limits_of(np.arange(n + 1), law)[1]
            assert np.diff(found, axis=0).min() > -1e-9
            assert (found[:, 0] <= found[:, 1]).all()
            if sampled:
                step = 1 / n / float(channel.hit - channel.miss)
                assert np.diff(found, axis=0).max() < 3 * step


def test_hardly_any_information_gives_no_empty_interval() -> None:
    """Also for counts that no share makes likely: none of them can say where a share is."""
    for n, epsilon in itertools.product((1, 3, 30), (0.01, 0.1)):
        channel = mm.KRR(2, epsilon).channel
        for sampled in (True, False):
            law = Support(n, channel.hit, channel.miss, sampled)
            low, high = limits_of(np.arange(n + 1), law)[1].T
            assert (high - low > 0.15).all()
            assert ((low == 0) | (high == 1)).all()
            usual = law_of(law, 0.5, np.arange(n + 1)) > 0.01
            assert (high - low > 0.4)[usual].all()


def test_zero_on_the_scale_is_the_share_zero() -> None:
    rng = np.random.default_rng(1)
    many = Scale(10 ** rng.uniform(-12, 0, 5000), 10 ** rng.uniform(-9, -2, 5000), 1e-4)
    assert (many.back(np.zeros(5000)) == 0).all()


@pytest.mark.parametrize("target", TARGETS)
def test_counts_of_a_million_million_people_have_limits(target: Target) -> None:
    """Those of about three people of 1e12, whose answer hardly anybody reports falsely."""
    n = 10**12
    counts = mm.Counts(mm.KRR(3, 40.0), n, np.array([3, n // 2, n - n // 2 - 3]))
    low, high = n * mm.estimators.unbiased(counts).interval(0.95, target)
    if target == "population":
        assert (low[0], high[0]) == pytest.approx((0.77, 8.4), abs=0.1)
    else:
        assert (low[0], high[0]) == pytest.approx((3, 3), abs=1e-3)


def test_designs_that_support_an_answer_by_denying_it_have_the_same_limits() -> None:
    """With hit below miss, reports that do not support an answer speak for it."""
    yes = Support(50, Fraction(9, 10), Fraction(2, 10), sampled=True)
    found = limits_of(np.array([12, 30]), yes)[1]
    channel = Symmetric.independent(2, Fraction(1, 10), Fraction(8, 10))

    class Denying(mm.KRR):
        @property
        def channel(self) -> Symmetric:
            return channel

    counts = mm.Counts(Denying(2, 1.0), 50, np.array([38, 20]))
    low, high = mm.estimators.unbiased(counts).interval()
    np.testing.assert_allclose(np.stack([low, high], axis=1), found, atol=1e-9)


def test_intervals_need_no_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = mm.KRR(3, 8.0).simulate([50, 9, 1], np.random.default_rng(1))
    blocks = mm.Hadamard(5, 6.0).simulate([50, 9, 1, 0, 0], np.random.default_rng(1))
    monkeypatch.setitem(sys.modules, "scipy", None)
    monkeypatch.setitem(sys.modules, "scipy.special", None)
    for found in (mm.estimators.unbiased(counts), mm.estimators.unbiased(blocks)):
        for target in TARGETS:
            low, high = found.interval(0.95, target, simultaneous=True)
            assert (low <= high).all()


# Sums of answers


def test_sums_of_answers_that_exclude_each_other_are_counts_of_support() -> None:
    """Coverage of the sum of three rare answers at almost no noise, summed over its count."""
    mechanism, n, groups = mm.KRR(6, 16.0), 60, np.array([0, 0, 0, 1, 1, 2])
    truth = 0.0175
    hit, miss = (float(x) for x in (mechanism.channel.hit, mechanism.channel.miss))
    law = binom(n, 3 * miss + (hit - miss) * truth)
    covered = normal = 0.0
    for count in range(12):
        counts = mm.Counts(mechanism, n, np.array([count, 0, 0, n - count, 0, 0]))
        whole = mm.estimators.unbiased(counts)
        fit = Grouped(counts, whole.fit, groups, whole.plausible)
        found = Estimate(counts, fit.unbiased, "unbiased", "it is a test", fit=fit)
        low, high = found.interval()
        covered += float(law.pmf(count)) * bool(low[0] <= truth <= high[0])
        below, above = limits(fit.unbiased, found._scale("population"), 0.95)[0]
        normal += float(law.pmf(count)) * bool(below <= truth <= above)
        noise = np.diag(fit.covariance(found.plausible, "respondents"))
        assert found.standard_errors("respondents") ** 2 == pytest.approx(noise, rel=1e-9)
    assert covered > 0.93
    assert normal < 0.80


# Hadamard response


@pytest.mark.parametrize("sampled", [True, False])
def test_tails_of_the_difference_in_a_block_are_those_of_all_people(sampled: bool) -> None:
    """Against the law of 40 people, one after another."""
    law = BlockLaw(40, 3, Fraction(7, 10), sampled)
    floor, own, others = law.floor, 6, 10
    against = floor + 0.35 * others / 40
    persons = [(floor + 0.7, floor)] * own + [(floor + 0.35, floor + 0.35)] * others
    persons += [(floor, floor)] * (40 - own - others)
    if sampled:
        persons = [(against + 0.7 * own / 40, against)] * 40
    chances = np.ones(1)
    for plus, minus in persons:
        chances = np.convolve(chances, [minus, 1 - plus - minus, plus])
    for difference in (-3, 0, 4, 9):
        at = difference + 40
        wanted = (chances[:at].sum(), chances[at], chances[at + 1 :].sum())
        given = np.array([float(difference)]), np.array([against]), np.array([float(own)])
        assert [float(p[0]) for p in law.tails(*given)] == pytest.approx(wanted, abs=1e-12)


def test_the_fitted_part_of_the_block_is_the_likeliest() -> None:
    law = BlockLaw(60, 4, Fraction(8, 10), sampled=True)
    for plus, minus, share in ((5, 3, 0.1), (0, 2, 0.05), (7, 0, 0.1), (0, 0, 0.02), (30, 20, 0.3)):
        gap = 0.8 * share
        x = np.linspace(law.floor, law.floor + 0.4 * (1 - share), 100_001)
        rest = 60 - plus - minus
        fit = plus * np.log(x + gap) + minus * np.log(x) + rest * np.log(1 - 2 * x - gap)
        found = law.against(*(np.array([float(v)]) for v in (plus, minus, 60 * share)))
        assert float(found[0]) == pytest.approx(x[fit.argmax()], abs=1e-5)


PAIRS = [(0, 0), (1, 0), (0, 3), (20, 17), (60, 40), (150, 150), (170, 80)]
"""Reports for an answer and against it, of 300; likely ones: the law far out is rounded."""


@pytest.mark.parametrize("sampled", [False, True])
def test_every_guess_leads_to_the_same_limit_in_a_block(sampled: bool) -> None:
    plus, minus = (np.repeat([float(x) for x in side], 2) for side in zip(*PAIRS, strict=True))
    upper = np.tile([False, True], len(PAIRS))
    for truth, blocks, level in itertools.product((0.2, 0.9), (1, 8), (0.95, 0.9997)):
        law = BlockLaw(300, blocks, Fraction(truth), sampled)

        def found(guesses: Floats, law: BlockLaw = law, level: float = level) -> Floats:
            reach = law.deviation(law.against(plus, minus, 300 * guesses), 300 * guesses)
            return block_tails._limits(plus, minus, upper, law, level, guesses, reach)

        near = found(np.clip((plus - minus) / (300 * truth), 0, 1))
        for guesses in (np.zeros(len(plus)), np.ones(len(plus)), np.linspace(0, 1, len(plus))):
            np.testing.assert_allclose(found(guesses), near, rtol=0, atol=1e-8 if sampled else 0)


def test_limits_of_hadamard_response_cover_where_one_report_is_expected() -> None:
    """150 populations of 100 people; false alarm 1e-6 if coverage is 93 %.

    The limits of the normal law cover 64 % here.
    """
    mechanism, rng, times = mm.Hadamard(8, 12.0), np.random.default_rng(1), 150
    law = np.array([0.6, 0.0105, 0.022, 0.05, 0, 0, 0, 0.3175])
    hits = np.zeros(8)
    normal = 0
    for _ in range(times):
        counts = mechanism.simulate(rng.multinomial(100, law), rng)
        found = mm.estimators.unbiased(counts)
        low, high = found.interval()
        hits += (low <= law) & (law <= high)
        below, above = limits(found.unbiased, found._scale("population"), 0.95)[1]
        normal += below <= law[1] <= above
    assert (hits >= binom.ppf(1e-6, times, 0.93)).all()
    assert normal < binom.ppf(1e-6, times, 0.93)
