"""Detection and difference: exact p-values, controls that act, tests that have their size.

Statistical tests use fixed seeds and have a false-alarm rate of `FALSE_ALARM` (1e-7) for each
p-value looked at; each names a wrong law that it rejects.
"""

from __future__ import annotations

import math
import sys
from functools import cache
from typing import Any, cast

import numpy as np
import pytest
import scipy.stats
from matplotlib.figure import Figure

import murmurs as mm
from murmurs import estimators
from murmurs.channels.sign_sketch import SignSketch
from murmurs.counts import Counts
from murmurs.estimators.estimation import Estimate
from murmurs.inference.detection import Control, detect
from murmurs.inference.difference import Difference
from murmurs.inference.fit import LARGEST_COVARIANCE, Fit, Target
from murmurs.inference.fitting import fitted
from murmurs.mechanisms.mechanism import Mechanism
from murmurs.numerics.arrays import Floats, Integers
from tests import laws
from tests.goodness import FALSE_ALARM

AnyMechanism = Mechanism[Any]
CONTROLS: tuple[Control, Control] = ("bonferroni", "fdr")
TARGETS: tuple[Target, Target] = ("respondents", "population")
by_control = pytest.mark.parametrize("control", CONTROLS)
by_target = pytest.mark.parametrize("target", TARGETS)

# Is an answer there at all?

WITH_SUPPORT: list[AnyMechanism] = [
    mm.KRR(k=6, epsilon=1.0),
    mm.OUE(k=6, epsilon=1.0),
    mm.SUE(k=6, epsilon=2.0),
    mm.Subset(k=6, epsilon=1.0),
    mm.LocalHashing(k=6, epsilon=1.0),
    mm.ProjectiveGeometry(k=6, epsilon=1.0, q=2, t=3),
]


def some_counts(mechanism: AnyMechanism, n: int = 1000, seed: int = 1) -> Counts:
    """Counts of people who hold the first three answers only."""
    people = np.zeros(mechanism.k, np.int64)
    people[:3] = n - 2 * (n // 3), n // 3, n // 3
    return mechanism.simulate(people, np.random.default_rng(seed))


@pytest.mark.parametrize("mechanism", WITH_SUPPORT, ids=repr)
def test_p_values_are_exact_binomial_tails(mechanism: AnyMechanism) -> None:
    for n in (1, 30, 1000, 10**6):
        counts = some_counts(mechanism, n)
        support, _, miss = cast(Any, mechanism.channel.support(counts.cells))
        wanted = scipy.stats.binom.sf(support - 1, n, float(miss))  # P(at least so many)
        np.testing.assert_allclose(detect(fitted(counts)).p_values, wanted, rtol=1e-9, atol=1e-300)


def test_an_answer_without_support_has_p_value_one() -> None:
    counts = mm.KRR(k=4, epsilon=1.0).count(np.zeros(20, np.uint8))
    assert detect(fitted(counts)).p_values[1:].tolist() == [1.0] * 3
    assert detect(fitted(counts)).p_values[0] < 1e-6


@pytest.mark.parametrize(
    "mechanism",
    [mm.Hadamard(k=6, epsilon=1.0), mm.HadamardSketch(k=6, epsilon=1.0, rows=4, width=4)],
    ids=repr,
)
def test_without_counts_of_support_the_normal_law_stands_in(mechanism: AnyMechanism) -> None:
    counts = some_counts(mechanism)
    unbiased = mechanism.channel.invert(counts.cells, counts.n)
    plausible = np.maximum(unbiased, 0) / np.maximum(unbiased, 0).sum()
    constant, _ = mechanism.channel.noise(plausible, counts.n)
    wanted = scipy.stats.norm.sf(unbiased / np.sqrt(constant))
    np.testing.assert_allclose(detect(fitted(counts)).p_values, wanted, rtol=1e-9)


def by_definition(p_values: Floats, level: float, control: Control) -> list[bool]:
    """Bonferroni; Benjamini and Yekutieli (2001), the largest i with p_(i) <= i level / (k H_k)."""
    k = len(p_values)
    if control == "bonferroni":
        return [p <= level / k for p in p_values]
    harmonic = sum(1 / i for i in range(1, k + 1))
    ordered = sorted(p_values)
    passed = [i for i in range(1, k + 1) if ordered[i - 1] <= i * level / (k * harmonic)]
    return [bool(passed) and p <= ordered[max(passed) - 1] for p in p_values]


@pytest.mark.parametrize(
    ("mechanism", "only"),
    [
        (mm.forced_response("1/2", 0), 1),  # a coin: heads say yes, so a no is always true
        (mm.forced_response(0, "2/7"), 0),
        (mm.triangular("1/3"), 1),
    ],
)
def test_a_report_that_only_one_answer_leads_to_is_proof(
    mechanism: AnyMechanism, only: int
) -> None:
    cells = np.full(2, 599)
    cells[only] = 1
    proven = detect(fitted(Counts(mechanism, 600, cells)))
    assert proven.p_values[only] == 0
    assert proven.present[only]
    cells = np.where(np.arange(2) == only, 0, 600)
    nobody = detect(fitted(Counts(mechanism, 600, cells)))
    assert nobody.p_values[only] == 1
    assert nobody.present.tolist() == [n != only for n in range(2)]


@by_control
@pytest.mark.parametrize("level", [1e-6, 0.05, 0.5])
def test_the_present_answers_are_those_of_the_definition(control: Control, level: float) -> None:
    rng = np.random.default_rng(2)
    for mechanism in (mm.OUE(k=40, epsilon=2.0), mm.Hadamard(k=40, epsilon=2.0)):
        for _ in range(10):
            people = rng.multinomial(3000, rng.dirichlet(np.full(40, 0.3)))
            found = detect(fitted(mechanism.simulate(people, rng)), level, control)
            assert found.present.tolist() == by_definition(found.p_values, level, control)
            assert (found.error_rate, found.control) == (level, control)


def test_an_estimate_detects_what_its_counts_do() -> None:
    counts = some_counts(mm.OUE(k=6, epsilon=2.0))
    estimate = mm.estimate(counts)
    for control in CONTROLS:
        one, two = estimate.detected(0.01, control), detect(fitted(counts), 0.01, control)
        assert one.present.tolist() == two.present.tolist()
        np.testing.assert_array_equal(one.p_values, two.p_values)
        assert (one.error_rate, one.control) == (0.01, control)
    assert estimate.detected().present.tolist() == [True] * 3 + [False] * 3


# Half of fifty answers are held by somebody, by a little; the others by nobody.
FIFTY = mm.OUE(k=50, epsilon=2.0)
HELD = np.arange(50) < 25
SPARSE = np.where(HELD, 4000 // 25, 0)


@cache
def repeated() -> tuple[Counts, ...]:
    rng = np.random.default_rng(3)
    return tuple(FIFTY.simulate(SPARSE, rng) for _ in range(2000))


def false_and_all(counts: Counts, level: float, control: Control) -> tuple[int, int]:
    present = detect(fitted(counts), level, control).present
    return int((present & ~HELD).sum()), int(present.sum())


def singly(counts: Counts, level: float) -> Any:
    """The answers that seem present when each is judged by itself, as if it were the only one."""
    return detect(fitted(counts)).p_values <= level


def test_bonferroni_holds_the_family_wise_error() -> None:
    """Absent answers are among the present ones in at most 5 % of 2000 repetitions.

    An exact binomial test at FALSE_ALARM. Judging each answer at 5 % by itself is rejected.
    """
    several = repeated()
    errors = sum(false_and_all(counts, 0.05, "bonferroni")[0] > 0 for counts in several)
    assert scipy.stats.binom.sf(errors - 1, 2000, 0.05) > FALSE_ALARM
    wrong = sum(bool(singly(counts, 0.05)[~HELD].any()) for counts in several)
    assert scipy.stats.binom.sf(wrong - 1, 2000, 0.05) < FALSE_ALARM


def test_the_family_wise_error_is_below_its_level_exactly() -> None:
    """Bits of unary encodings are independent, so it can be computed."""
    n, miss = int(SPARSE.sum()), float(FIFTY.channel.miss)
    counts = np.arange(n + 1)
    tails = scipy.stats.binom.sf(counts - 1, n, miss)
    reached = tails[tails <= 0.05 / 50].max()  # the chance of the lowest count that is present
    assert 1 - (1 - reached) ** 25 <= 0.05


def test_fdr_holds_the_part_of_absent_answers() -> None:
    """On average at most 5 % of the present answers are absent ones, over 2000 repetitions.

    The mean is allowed six of its standard errors: a false alarm has a probability of 1e-9.
    Judging each answer at 20 % by itself is rejected.
    """

    def surely_above(parts: list[float]) -> bool:
        return bool(np.mean(parts) - 6 * np.std(parts) / math.sqrt(len(parts)) > 0.05)

    several = repeated()
    counted = [false_and_all(counts, 0.05, "fdr") for counts in several]
    assert not surely_above([false / max(found, 1) for false, found in counted])
    alone = [singly(counts, 0.2) for counts in several]
    assert surely_above([float((x & ~HELD).sum() / max(x.sum(), 1)) for x in alone])


def test_fdr_finds_more_than_bonferroni_where_many_are_there() -> None:
    several = repeated()[:200]
    found = {c: sum(false_and_all(counts, 0.2, c)[1] for counts in several) for c in CONTROLS}
    assert found["fdr"] > 1.02 * found["bonferroni"] > 0


@by_control
def test_a_higher_level_finds_more(control: Control) -> None:
    counts = FIFTY.simulate(SPARSE, np.random.default_rng(4))
    strict, usual, loose = (
        detect(fitted(counts), level, control).present for level in (1e-9, 0.05, 0.5)
    )
    assert strict.sum() < usual.sum() < loose.sum()
    assert not (strict & ~usual).any()
    assert not (usual & ~loose).any()


def test_what_cannot_be_tested_is_refused() -> None:
    mechanism = mm.OUE(k=6, epsilon=1.0)
    with pytest.raises(ValueError, match="there are no reports to test"):
        detect(fitted(mechanism.count([])))
    counts = some_counts(mechanism)
    for level in (0.0, 0.6, -1.0, math.nan):
        with pytest.raises(ValueError, match="error_rate must be from"):
            detect(fitted(counts), level)
    with pytest.raises(ValueError, match="'bonferroni' or 'fdr', not 'holm'"):
        detect(fitted(counts), 0.05, "holm")  # type: ignore[arg-type]


# Have shares changed?


def pair(
    mechanism: AnyMechanism,
    people: tuple[Integers, Integers],
    rng: np.random.Generator,
    target: Target,
) -> Difference:
    this, other = (estimators.simplex(mechanism.simulate(part, rng)) for part in people)
    return this.difference(other, target)


def falling(k: int) -> Floats:
    """Shares in the ratio k : k - 1 : ... : 1."""
    shares = np.arange(k, 0, -1.0)
    return np.asarray(shares / shares.sum())


@cache
def unchanged(mechanism: AnyMechanism, target: Target) -> tuple[Difference, ...]:
    """Two surveys of different people, 400 times, between which nothing has changed."""
    rng = np.random.default_rng(5)
    shares, n = falling(mechanism.k), 20_000
    out = []
    for _ in range(400):
        first = rng.multinomial(n, shares)
        again = rng.multinomial(n, shares) if target == "population" else first
        out.append(pair(mechanism, (first, again), rng, target))
    return tuple(out)


def uniform(p_values: list[float]) -> float:
    """The p-value of Kolmogorov and Smirnov that numbers are uniform."""
    return float(scipy.stats.kstest(p_values, "uniform").pvalue)


COMPARED: list[AnyMechanism] = [
    mm.KRR(k=5, epsilon=1.0),
    mm.KRR(k=5, epsilon=5.0),
    mm.OUE(k=5, epsilon=1.0),
    mm.Subset(k=6, epsilon=1.0, w=2),
    mm.Hadamard(k=5, epsilon=1.0),
    mm.Hadamard(k=7, epsilon=3.0, blocks=3),
]
compared = pytest.mark.parametrize("mechanism", COMPARED, ids=repr)


@by_target
@compared
def test_unchanged_shares_have_uniform_p_values(mechanism: AnyMechanism, target: Target) -> None:
    """Of one share in each of 250 repetitions. Standard errors of two thirds are rejected."""
    several = unchanged(mechanism, target)[:250]
    assert uniform([float(d.p_values[1]) for d in several]) > FALSE_ALARM
    wrong = [math.erfc(1.5 * abs(d.shares[1]) / d.standard_errors[1] / 2**0.5) for d in several]
    assert uniform(wrong) < FALSE_ALARM


@by_target
@compared
def test_the_overall_test_has_its_size(mechanism: AnyMechanism, target: Target) -> None:
    """Uniform p-values in 150 repetitions, so 5 % below 0.05.

    Rejected: the noise of one of the two surveys only, which doubles the statistic.
    """
    p_values = [d.p_value for d in unchanged(mechanism, target)[:150]]
    assert uniform(p_values) > FALSE_ALARM
    statistics = scipy.stats.chi2.isf(p_values, mechanism.k)
    assert uniform(scipy.stats.chi2.sf(2 * statistics, mechanism.k).tolist()) < FALSE_ALARM


def test_the_overall_test_for_respondents_is_no_test_for_the_population() -> None:
    """With little privacy noise it takes the chance of who was asked for a change."""
    several = unchanged(mm.KRR(k=5, epsilon=5.0), "population")[:200]
    wrong = [Difference(d.this, d.other, "respondents").p_value for d in several]
    assert uniform(wrong) < FALSE_ALARM


@by_target
@compared
def test_a_change_is_found(mechanism: AnyMechanism, target: Target) -> None:
    """One share falls and one rises, by eight standard errors each.

    The threshold at 1 % is some 4, the shift in their direction 10 or more, and at 5 % for one
    share 2 of 8: a change is missed with a probability of 1e-9.
    """
    rng = np.random.default_rng(8)
    shares, n = falling(mechanism.k), 20_000
    people = np.rint(n * shares).astype(np.int64)
    error = unchanged(mechanism, target)[0].standard_errors.max()
    moved = people.copy()
    step = min(round(8 * error * n), int(people[0]))
    moved[0] -= step
    moved[-1] += step
    changed = pair(mechanism, (people, moved), rng, target)
    assert changed.p_value < 0.01
    assert changed.p_values[-1] < 0.05
    assert changed.shares[0] > 0 > changed.shares[-1]


def enumerated_covariance(mechanism: AnyMechanism, shares: Floats, n: int, target: Target) -> Any:
    """The covariance of the unbiased shares, from the law of every single report."""
    channel = mechanism.channel
    zero = channel.invert(np.zeros(channel.cells), n)
    total = np.zeros((mechanism.k, mechanism.k))
    means = []
    for answer, share in enumerate(shares):
        law = laws.BY_KIND[type(mechanism)](mechanism, answer)
        values = np.array(
            [channel.invert(mechanism.count([report]).cells, n) - zero for report in law]
        )
        chances = np.array([float(x) for x in law.values()])
        mean = chances @ values
        means.append(mean)
        total += n * share * (values.T @ (values * chances[:, None]) - np.outer(mean, mean))
    if target == "population":
        away = np.array(means) - shares @ np.array(means)
        total += n * away.T @ (away * shares[:, None])
    return total


@by_target
@compared
def test_the_overall_test_is_the_chi_square_of_the_exact_covariance(
    mechanism: AnyMechanism, target: Target
) -> None:
    rng = np.random.default_rng(10)
    shares, n = falling(mechanism.k), 900
    found = pair(mechanism, (rng.multinomial(n, shares), rng.multinomial(n, shares)), rng, target)
    sides = (found.this, found.other)
    own = sum(enumerated_covariance(mechanism, side.plausible, n, target) for side in sides)
    common = (found.this.plausible + found.other.plausible) / 2  # of all people, if nothing changed
    covariance = 2 * enumerated_covariance(mechanism, common, n, target)
    statistic = found.shares @ np.linalg.pinv(covariance, rcond=1e-9, hermitian=True) @ found.shares
    rank = np.linalg.matrix_rank(covariance, tol=1e-9 * np.abs(covariance).max())
    assert found.p_value == pytest.approx(float(scipy.stats.chi2.sf(statistic, rank)), rel=1e-6)
    np.testing.assert_allclose(found.standard_errors**2, np.diag(own), rtol=1e-9)
    if isinstance(mechanism, mm.KRR):
        assert rank == mechanism.k - 1  # its shares add up to one


@by_target
@compared
def test_intervals_cover_the_change(mechanism: AnyMechanism, target: Target) -> None:
    """95 % intervals cover from 93 to 97 % of no changes, and bands all together at least 92 %.

    The mean of 400 repetitions is allowed six of its standard errors (1e-9), the bands an exact
    binomial test at FALSE_ALARM. Intervals of half the width are rejected.
    """

    def surely_outside(averages: list[float]) -> bool:
        error = 6 * np.std(averages) / math.sqrt(len(averages))
        return bool(np.mean(averages) + error < 0.93 or np.mean(averages) - error > 0.97)

    several = unchanged(mechanism, target)
    covers = [(d.interval()[0] <= 0) & (d.interval()[1] >= 0) for d in several]
    assert not surely_outside([float(flags.mean()) for flags in covers])
    half = [np.abs(d.shares) < np.ptp(d.interval(), axis=0) / 4 for d in several]
    assert surely_outside([float(flags.mean()) for flags in half])
    bands = [d.interval(simultaneous=True).T for d in several]
    held = sum(bool(((band[:, 0] <= 0) & (band[:, 1] >= 0)).all()) for band in bands)
    assert scipy.stats.binom.cdf(held, 400, 0.92) > FALSE_ALARM
    assert sum(bool(flags.all()) for flags in covers) < held


def one_pair(mechanism: AnyMechanism, target: Target = "population") -> Difference:
    return unchanged(mechanism, target)[0]


def test_a_difference_is_that_of_the_unbiased_shares() -> None:
    found = one_pair(mm.OUE(k=5, epsilon=1.0))
    np.testing.assert_array_equal(found.shares, found.this.fit.unbiased - found.other.fit.unbiased)
    squares = [side.standard_errors("population") ** 2 for side in (found.this, found.other)]
    np.testing.assert_allclose(found.standard_errors**2, squares[0] + squares[1])
    shares = np.mean([found.this.plausible, found.other.plausible], axis=0)  # of as many people
    sides = (found.this, found.other)
    z = found.shares / np.hypot(*(side.standard_errors("population", shares) for side in sides))
    np.testing.assert_allclose(found.p_values, 2 * scipy.stats.norm.sf(np.abs(z)), rtol=1e-9)
    back = Difference(found.other, found.this, "population")
    np.testing.assert_array_equal(back.shares, -found.shares)
    np.testing.assert_allclose(back.p_values, found.p_values)
    assert back.p_value == pytest.approx(found.p_value)


def test_rare_answers_of_small_groups_seldom_seem_to_differ() -> None:
    """With the noise at each side's own shares, a fourth of the p-values were below 0.05.

    Whoever is rare is often missing in the small group, which then seems to have no noise.
    """
    rng, rr = np.random.default_rng(8), mm.KRR(k=4, epsilon=8.0)
    shares, rejected = np.array([0.7, 0.28, 0.01, 0.01]), np.zeros((2, 4))
    for _ in range(200):
        small, large = (
            mm.estimators.unbiased(rr.simulate(rng.multinomial(n, shares), rng))
            for n in (200, 2000)
        )
        rejected[0] += small.difference(large).p_values < 0.05
        rejected[1] += mm.trend([small, large]).p_values < 0.05
    assert rejected.max() <= 24


def test_the_interval_of_a_difference_is_nearly_that_of_the_normal_law() -> None:
    """Privacy noise prevails, so that the limits of each side are nearly symmetric."""
    found = one_pair(mm.OUE(k=5, epsilon=1.0))
    for level, together, tail in ((0.9, False, 0.05), (0.9, True, 0.01)):
        reach = scipy.stats.norm.isf(tail) * found.standard_errors
        wanted = np.stack([found.shares - reach, found.shares + reach], axis=1)
        both = found.interval(level, simultaneous=together).T
        assert (np.abs(both - wanted) < 0.01 * reach[:, None]).all()
    with pytest.raises(ValueError, match="level must be from"):
        found.interval(1.0)


def test_the_target_of_a_difference_acts() -> None:
    this = some_estimate(mm.KRR(k=5, epsilon=5.0), 1)
    other = some_estimate(mm.KRR(k=5, epsilon=5.0), 2)
    population, respondents = this.difference(other), this.difference(other, "respondents")
    assert population.target == "population"
    assert (population.standard_errors[:3] > 2 * respondents.standard_errors[:3]).all()
    assert population.p_value > respondents.p_value


def test_a_target_that_is_none_is_refused() -> None:
    this, other = (some_estimate(mm.KRR(k=5, epsilon=1.0), seed) for seed in (1, 2))
    with pytest.raises(ValueError, match="'respondents' or 'population', not 'sample'"):
        _ = this.difference(other, "sample").standard_errors  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'respondents' or 'population', not 'sample'"):
        _ = this.difference(other, "sample").p_value  # type: ignore[arg-type]


def some_estimate(mechanism: AnyMechanism, seed: int) -> Estimate:
    return estimators.simplex(some_counts(mechanism, 3000, seed))


def test_estimates_of_other_answers_are_not_compared() -> None:
    this = some_estimate(mm.KRR(k=4, epsilon=1.0), 1)
    with pytest.raises(ValueError, match=r"^cannot compare 4 answers with 5$"):
        this.difference(some_estimate(mm.KRR(k=5, epsilon=1.0), 2))
    labelled = this.with_labels(("a", "b", "c", "d"))
    with pytest.raises(ValueError, match="cannot compare estimates whose labels differ"):
        labelled.difference(this.with_labels(("a", "b", "d", "c")))
    assert labelled.difference(this).p_value > 0.99  # one has no labels: nothing contradicts


def test_estimates_of_two_mechanisms_are_compared() -> None:
    this, other = some_estimate(mm.KRR(k=6, epsilon=2.0), 1), some_estimate(mm.Hadamard(6, 2.0), 2)
    assert this.difference(other).p_value > FALSE_ALARM
    moved = estimators.simplex(
        mm.Hadamard(6, 2.0).simulate([0, 0, 0, 0, 0, 3000], np.random.default_rng(3))
    )
    assert this.difference(moved).p_value < FALSE_ALARM


def test_a_large_alphabet_is_tested_by_its_smallest_p_value(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mechanism = mm.OUE(k=1001, epsilon=2.0)
    this, other = (some_estimate(mechanism, seed) for seed in (1, 2))

    def never(*_: object) -> Floats:
        raise AssertionError("a covariance of more than a thousand answers")

    monkeypatch.setattr(Fit, "covariance", never)
    assert 0.01 < this.difference(other).p_value <= 1
    moved = estimators.simplex(
        mechanism.simulate([0] * 1000 + [3000], np.random.default_rng(3))
    ).difference(this)
    assert moved.p_value < FALSE_ALARM
    assert LARGEST_COVARIANCE == 1000


def test_a_large_table_of_few_answers_is_compared_without_its_matrix(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The default sketch has two million cells: their covariance would take terabytes."""
    sketch = mm.HadamardSketch(k=6, epsilon=2.0, rows=64, width=64)
    this, other = (some_estimate(sketch, seed) for seed in (1, 2))

    def never(_: object) -> Floats:
        raise AssertionError("a matrix of answers by cells")

    monkeypatch.setattr(SignSketch, "matrix", never)
    assert 0 < this.difference(other).p_value <= 1


def test_without_scipy_tests_say_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    this, other = (some_estimate(mm.KRR(k=5, epsilon=1.0), seed) for seed in (1, 2))
    found = this.difference(other)
    monkeypatch.setitem(sys.modules, "scipy", None)
    monkeypatch.setitem(sys.modules, "scipy.special", None)
    message = r"need SciPy: install it with pip install 'murmurs\[stats\]'"
    for act in (this.detected, lambda: found.p_values, lambda: found.p_value):
        with pytest.raises(ImportError, match=message):
            act()
    # Intervals and errors need no SciPy.
    assert this.interval().shape == found.interval().shape == (2, 5)
    assert (found.standard_errors > 0).all()


def test_few_people_are_noted() -> None:
    rr = mm.KRR(2, 20.0)
    few, many = (mm.estimate(rr.simulate([n, 0])) for n in (1, 30))
    assert "Note: with only 1 person on one side, intervals and p-values are rough." in str(
        few.difference(many)
    )
    assert few.difference(many).to_document()["notes"] == list(few.difference(many).notes)
    assert "Note: with only 1 person in one of them, " in str(mm.trend([few, many, many]))
    assert "Note" not in str(many.difference(many)) + str(mm.trend([many, many]))


def test_named_differences_speak_of_which_minus_which() -> None:
    question = mm.Question("drink", ["tea", "mate"], epsilon=2.0, text="What do you drink?")
    rng = np.random.default_rng(1)
    law, arts = (question.estimate(question.simulate(n, rng)) for n in ([900, 100], [300, 700]))
    plain, named = law.difference(arts), law.difference(arts, names=("law", "arts"))
    assert plain.table().splitlines()[0].split()[:2] == ["answer", "change"]
    assert "law minus arts" in named.table().splitlines()[0]
    assert named.conclusion == (
        "law minus arts, overall test that no share differs in the population: p < 1e-6."
    )
    assert "nothing changed" in plain.conclusion
    axes = named.plot(Figure().add_subplot())
    assert axes.get_title(loc="left") == f"What do you drink?\n{named.conclusion}"
    assert axes.get_xlabel().startswith("difference law minus arts in percentage points, with 95 %")
    assert "largest difference law minus arts, tea: +" in repr(named)
    for shown in (str(named), repr(named), axes.get_xlabel()):
        assert "chang" not in shown
    assert named.to_document()["names"] == ["law", "arts"]
    assert "names" not in plain.to_document()
    assert named.to_csv() == plain.to_csv()


@pytest.mark.parametrize(
    "names", ["ab", ("law",), ("law", "law"), ("law", "arts", "x"), ("", "b"), 5]
)
def test_names_of_a_difference_are_two_different_texts(names: Any) -> None:
    question = mm.Question("drink", ["tea", "mate"], epsilon=2.0)
    found = question.estimate(question.simulate([50, 50], np.random.default_rng(1)))
    with pytest.raises(ValueError, match=r"two different texts|must have a name"):
        found.difference(found, names=names)
