"""Each estimator against something independent: its definition, SciPy's solvers, brute force.

Statistical tests state by how many standard deviations they would have to be wrong to raise a false
alarm (six are 1e-9, five 3e-7), and show an estimator that they reject.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
import scipy.optimize
import scipy.stats

import murmurs as mm
from murmurs import estimators
from murmurs.counts import Counts
from murmurs.estimators import NoiseDominates
from murmurs.estimators.estimation import Estimate
from murmurs.estimators.methods.likelihood import water_filling
from murmurs.kernels import compiled, reference
from murmurs.mechanisms.mechanism import Mechanism
from murmurs.numerics.arrays import Floats, Integers
from murmurs.numerics.simplex import project
from murmurs.studies.laws import geometric
from tests import laws

AnyMechanism = Mechanism[Any]
quietly = pytest.mark.filterwarnings("ignore::murmurs.estimators.NoiseDominates")


def report_likelihood(mechanism: AnyMechanism, reports: Any, **options: Any) -> Estimate:
    return estimators.report_likelihood(mechanism, reports, **options)


def draw(mechanism: AnyMechanism, n: int, rng: np.random.Generator, spread: float = 0.5) -> Counts:
    """Counts of n people whose shares are drawn too, more unequal for a smaller spread."""
    shares = rng.dirichlet(np.full(mechanism.k, spread))
    return mechanism.simulate(rng.multinomial(n, shares), rng)


def minimum(value: Callable[[Floats], float], slope: Callable[[Floats], Floats], k: int) -> Floats:
    """Minimise a convex function over the simplex with SciPy's SLSQP."""
    found = scipy.optimize.minimize(
        value,
        np.full(k, 1 / k),
        jac=slope,
        method="SLSQP",
        bounds=[(0, 1)] * k,
        constraints=[{"type": "eq", "fun": lambda x: x.sum() - 1, "jac": lambda x: np.ones(k)}],
        options={"maxiter": 1000, "ftol": 1e-15},
    )
    shares = np.clip(found.x, 0, 1)
    return np.asarray(shares / shares.sum())


def least_squares(a: Floats, b: Floats) -> Floats:
    """Return the shares on the simplex for which a @ shares is nearest to b."""
    return minimum(
        lambda x: float(((a @ x - b) ** 2).sum()), lambda x: 2 * a.T @ (a @ x - b), a.shape[1]
    )


# Projection on the simplex


def norm_sub(values: Floats) -> Floats:
    """Wang et al. (2020): share the excess equally, drop what became negative, and again."""
    kept = np.full(len(values), True)
    while True:
        shares = np.where(kept, values + (1 - values[kept].sum()) / kept.sum(), 0)
        if (shares >= 0).all():
            return shares
        kept &= shares > 0


def test_projection_is_norm_sub() -> None:
    rng = np.random.default_rng(1)
    for k in rng.integers(2, 60, 300):
        values = rng.normal(1 / k, rng.choice([0.01, 0.3, 5]), k)
        np.testing.assert_allclose(project(values), norm_sub(values), atol=1e-12)


def test_projection_is_the_nearest_point() -> None:
    rng = np.random.default_rng(2)
    for k in (2, 3, 5, 8):
        values = rng.normal(1 / k, 0.4, k)
        nearest = least_squares(np.eye(k), values)
        np.testing.assert_allclose(project(values), nearest, atol=1e-7)


def test_projection_leaves_a_law_alone() -> None:
    shares = np.random.default_rng(3).dirichlet(np.ones(9))
    np.testing.assert_allclose(project(shares), shares, atol=1e-15)
    np.testing.assert_allclose(project(np.full(3, -4.0)), 1 / 3, atol=1e-15)


def test_simplex_projects_the_unbiased_shares() -> None:
    counts = draw(mm.OUE(k=9, epsilon=1.0), 500, np.random.default_rng(4))
    unbiased = estimators.unbiased(counts).shares
    np.testing.assert_allclose(estimators.simplex(counts).shares, norm_sub(unbiased), atol=1e-12)


# Cutting and scaling, by definition


def cases() -> list[Counts]:
    rng = np.random.default_rng(5)
    kinds: list[AnyMechanism] = [mm.OUE(k=9, epsilon=1.0), mm.Hadamard(k=30, epsilon=2.0)]
    return [draw(mechanism, n, rng) for mechanism in kinds for n in (3, 200, 5000) for _ in "abc"]


def nobody(k: int) -> Counts:
    """Reports that support no answer at all."""
    return Counts(mm.OUE(k=k, epsilon=1.0), 12, np.zeros(k, np.int64))


def test_unbiased_is_the_textbook_formula() -> None:
    counts = draw(mm.OUE(k=9, epsilon=1.0), 500, np.random.default_rng(6))
    p, q = 0.5, 1 / (math.e + 1)
    wanted = (counts.cells / 500 - q) / (p - q)
    np.testing.assert_allclose(estimators.unbiased(counts).shares, wanted, rtol=1e-12)


def test_normalized_is_cut_and_scaled() -> None:
    for counts in cases():
        positive = [max(x, 0.0) for x in estimators.unbiased(counts).shares]
        wanted = [x / sum(positive) for x in positive]
        np.testing.assert_allclose(estimators.normalized(counts).shares, wanted, atol=1e-15)


def test_normalized_shares_are_equal_when_nothing_is_positive() -> None:
    np.testing.assert_array_equal(estimators.normalized(nobody(4)).shares, np.full(4, 0.25))


def test_clipped_is_cut_only() -> None:
    for counts in cases():
        wanted = [max(x, 0.0) for x in estimators.unbiased(counts).shares]
        np.testing.assert_array_equal(estimators.clipped(counts).shares, wanted)


@pytest.mark.parametrize("level", [0.3, 0.05, 1e-6])
def test_base_cut_keeps_what_noise_seldom_exceeds(level: float) -> None:
    mechanism = mm.OUE(k=9, epsilon=1.0)
    p, q = 0.5, 1 / (math.e + 1)
    kept = []
    for seed in range(20):
        counts = draw(mechanism, 2000, np.random.default_rng(seed))
        threshold = scipy.stats.norm.isf(level / 9) * math.sqrt(q * (1 - q) / 2000) / (p - q)
        unbiased = estimators.unbiased(counts).shares
        wanted = [x if x >= threshold else 0.0 for x in unbiased]
        np.testing.assert_array_equal(estimators.base_cut(counts, error_rate=level).shares, wanted)
        kept.append(np.count_nonzero(wanted))
    assert 0 < sum(kept) < 20 * 9


def test_the_level_of_base_cut_acts() -> None:
    counts = draw(mm.OUE(k=9, epsilon=1.0), 2000, np.random.default_rng(7))
    loose, strict = (estimators.base_cut(counts, error_rate=level).shares for level in (0.4, 1e-12))
    assert np.count_nonzero(strict) < np.count_nonzero(loose)
    np.testing.assert_array_equal(
        estimators.base_cut(counts).shares, estimators.base_cut(counts, error_rate=0.05).shares
    )


def literal_norm_cut(values: Floats) -> Floats:
    """Go from the largest to the smallest; stop when the sum is one. Equal ones come together."""
    out, left = np.zeros(len(values)), 1.0
    for value in sorted(set(values[values > 0].tolist()), reverse=True):
        tied = values == value
        out[tied] = min(value, left / tied.sum())
        left -= float(out[tied].sum())
    return out


def test_norm_cut_keeps_the_largest_up_to_one() -> None:
    sums = []
    for counts in cases():
        shares = estimators.norm_cut(counts).shares
        wanted = literal_norm_cut(estimators.unbiased(counts).shares)
        np.testing.assert_allclose(shares, wanted, atol=1e-12)
        sums.append(shares.sum())
    assert max(sums) == pytest.approx(1)
    assert min(sums) < 0.99  # nothing is scaled up when less than one is positive
    np.testing.assert_array_equal(estimators.norm_cut(nobody(4)).shares, np.zeros(4))


# Maximum likelihood of k-ary randomised response


def poster(frequencies: Floats, p: float, q: float) -> Floats:
    """MLE* as the poster of Pinzón et al. has it: the lowest threshold that leaves none negative.

    With the factor c that its proof omits: theta = (c phi - q) / (p - q).
    """
    for tau in [0.0, *sorted(set(frequencies.tolist()))]:
        kept = frequencies >= tau
        c = (1 - np.count_nonzero(~kept) * q) / frequencies[kept].sum()
        if (c * frequencies[kept] >= q).all():
            return np.where(kept, (c * frequencies - q) / (p - q), 0.0)
    raise AssertionError("the largest frequency alone is always kept")


def random_frequencies(rng: np.random.Generator, k: int) -> Floats:
    """Frequencies of few or many reports: with zeros and equal ones, or without."""
    n = int(rng.choice([k, 10 * k, 10**6]))
    return np.asarray(rng.multinomial(n, rng.dirichlet(np.full(k, 0.5))) / n)


def test_water_filling_is_the_algorithm_of_the_poster() -> None:
    rng = np.random.default_rng(8)
    touched = 0
    for _ in range(300):
        k, epsilon = int(rng.integers(2, 60)), float(rng.uniform(0.05, 6))
        frequencies = random_frequencies(rng, k)
        p, q = math.exp(epsilon) / (math.expm1(epsilon) + k), 1 / (math.expm1(epsilon) + k)
        wanted = poster(frequencies, p, q)
        touched += bool((wanted == 0).any())
        np.testing.assert_allclose(
            water_filling(frequencies, math.expm1(epsilon)), wanted, atol=1e-12
        )
    assert 100 < touched < 300  # some have no share at zero


def plain_ibu(frequencies: Floats, p: float, q: float, steps: int) -> Floats:
    """Iterative Bayesian update: every share times the mean of its posterior over the reports."""
    k = len(frequencies)
    channel = np.full((k, k), q)
    np.fill_diagonal(channel, p)
    shares = np.full(k, 1 / k)
    for _ in range(steps):
        shares = shares * (channel @ (frequencies / (shares @ channel)))
    return shares


@quietly
@pytest.mark.parametrize(("k", "epsilon"), [(2, 0.5), (3, 1.0), (5, 2.0), (10, 2.0), (20, 3.0)])
def test_likelihood_is_the_limit_of_plain_ibu(k: int, epsilon: float) -> None:
    mechanism = mm.KRR(k=k, epsilon=epsilon)
    counts = draw(mechanism, 400, np.random.default_rng(k))
    p, q = float(mechanism.channel.hit), float(mechanism.channel.miss)
    limit = plain_ibu(counts.cells / 400, p, q, 20_000)
    np.testing.assert_allclose(estimators.likelihood(counts).shares, limit, atol=1e-9)


@quietly
def test_em_finds_what_water_filling_finds() -> None:
    rng = np.random.default_rng(9)
    for k in (2, 4, 12, 20):
        counts = draw(mm.KRR(k=k, epsilon=1.5), 500, rng)
        closed, iterated = estimators.likelihood(counts), estimators.em(counts, tolerance=1e-9)
        assert iterated.converged
        np.testing.assert_allclose(iterated.shares, closed.shares, atol=1e-5)
        assert (closed.iterations, closed.gap, closed.converged) == (0, 0.0, True)


# Maximum likelihood of other histograms, and its certificate

TINY: list[AnyMechanism] = [
    mm.Hadamard(k=4, epsilon=1.0, blocks=1),
    mm.Hadamard(k=7, epsilon=2.0, blocks=3),
    mm.ProjectiveGeometry(k=6, epsilon=1.0, q=2, t=3),
    mm.ProjectiveGeometry(k=10, epsilon=2.0, q=3, t=3),
    mm.HadamardSketch(k=5, epsilon=2.0, rows=4, width=4),
]
tiny = pytest.mark.parametrize("mechanism", TINY, ids=repr)


def log_likelihood(counts: Counts) -> Callable[[Floats], float]:
    matrix, cells = counts.channel.matrix(), counts.cells.ravel()
    return lambda shares: float((cells * np.log(shares @ matrix)).sum())


def most_likely(counts: Counts) -> float:
    """The highest log-likelihood, by SLSQP."""
    matrix, cells, n = counts.channel.matrix(), counts.cells.ravel(), counts.n
    height = log_likelihood(counts)
    best = minimum(
        lambda s: -height(s) / n, lambda s: -matrix @ (cells / (s @ matrix)) / n, len(matrix)
    )
    return height(best)


@quietly
@tiny
def test_likelihood_is_the_maximum_that_scipy_finds(mechanism: AnyMechanism) -> None:
    for seed in range(10):
        counts = draw(mechanism, 300, np.random.default_rng(seed))
        estimate = estimators.likelihood(counts)
        assert estimate.converged
        assert estimate.gap <= 1e-3
        top = most_likely(counts)
        assert -estimate.gap - 1e-6 <= log_likelihood(counts)(estimate.shares) - top <= 1e-3
        for other in (estimators.normalized, estimators.simplex, estimators.regression):
            assert log_likelihood(counts)(other(counts).shares) <= top + 1e-6
        assert log_likelihood(counts)(np.full(mechanism.k, 1 / mechanism.k)) < top - 0.1


@quietly
@tiny
def test_the_gap_bounds_what_is_missing_wherever_em_stops(mechanism: AnyMechanism) -> None:
    for seed in range(5):
        counts = draw(mechanism, 300, np.random.default_rng(seed))
        top, height = most_likely(counts), log_likelihood(counts)
        for most in (1, 3, 5, 9, 17):
            estimate = estimators.em(counts, most=most)
            missing = top - height(estimate.shares)
            assert missing <= estimate.gap + 1e-6
        first = estimators.em(counts, most=1)
        np.testing.assert_allclose(first.shares, 1 / mechanism.k)
        assert first.gap > 1e-3


@quietly
@tiny
def test_the_tolerance_of_em_acts(mechanism: AnyMechanism) -> None:
    counts = draw(mechanism, 3000, np.random.default_rng(1))
    several = [estimators.em(counts, tolerance=tolerance) for tolerance in (10.0, 0.1, 1e-6)]
    assert [e.gap <= t for e, t in zip(several, (10.0, 0.1, 1e-6), strict=True)] == [True] * 3
    assert several[0].iterations < several[2].iterations
    by_name = estimators.likelihood(counts, tolerance=1e-6)
    assert (by_name.estimator, by_name.iterations) == ("likelihood", several[2].iterations)


@quietly
def test_em_that_is_stopped_says_so() -> None:
    counts = draw(mm.Hadamard(k=50, epsilon=1.0), 5000, np.random.default_rng(2))
    told: list[tuple[int, float]] = []
    estimate = estimators.em(
        counts, tolerance=1e-9, most=9, progress=lambda *step: told.append(step)
    )
    assert not estimate.converged
    assert 9 <= estimate.iterations <= 11  # a step evaluates two or three times
    assert f"the log-likelihood may be {estimate.gap:.3g} below" in estimate.notes[-1]
    assert f"after {estimate.iterations} evaluations" in estimate.notes[-1]
    assert f"Note: {estimate.notes[-1]}." in estimate.explanation
    assert told[0][0] == 1
    assert told[-1] == (estimate.iterations, estimate.gap)
    assert [step for step, _ in told] == sorted({step for step, _ in told})
    longer = estimators.em(counts, tolerance=1e-9, most=200)
    assert longer.gap < estimate.gap


@quietly
def test_likelihood_tells_its_progress() -> None:
    counts = draw(mm.Hadamard(k=8, epsilon=1.0), 500, np.random.default_rng(3))
    told: list[tuple[int, float]] = []
    estimate = estimators.likelihood(counts, progress=lambda *step: told.append(step))
    assert told[-1] == (estimate.iterations, estimate.gap)
    assert len(told) > 1


@pytest.mark.parametrize(("most", "error"), [(0, ValueError), (-1, ValueError), (2.5, TypeError)])
def test_a_number_of_steps_that_is_none_is_refused(most: Any, error: type[Exception]) -> None:
    counts = mm.KRR(k=3, epsilon=1.0).count(np.array([0, 1, 2], np.uint8))
    with pytest.raises(error, match="most must be"):
        estimators.em(counts, most=most)


# A warning where noise dominates

CERTIFIED: dict[str, Callable[[Counts], Any]] = {
    "likelihood": estimators.likelihood,
    "em": estimators.em,
}


@pytest.mark.parametrize("name", CERTIFIED)
@pytest.mark.parametrize("kind", [mm.KRR, mm.Hadamard])
def test_the_most_likely_shares_are_told_to_be_noise_where_they_are(kind: Any, name: str) -> None:
    rng = np.random.default_rng(4)
    mechanism = kind(k=100, epsilon=0.5)
    with pytest.warns(NoiseDominates, match="noise dominates") as seen:
        estimate = CERTIFIED[name](draw(mechanism, 300, rng))
    assert len(seen) == 1
    assert any(note.startswith("noise dominates") for note in estimate.notes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clear = CERTIFIED[name](draw(mechanism, 10**8, rng))
    assert clear.notes == ()


def test_reports_whose_noise_dominates_are_told_too() -> None:
    rng = np.random.default_rng(5)
    oue = mm.OUE(k=40, epsilon=0.5)
    with pytest.warns(NoiseDominates, match="noise dominates"):
        report_likelihood(oue, oue.encode_many(rng.integers(0, 40, 200), rng))
    sharp = mm.OUE(k=40, epsilon=5.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clear = report_likelihood(sharp, sharp.encode_many(rng.integers(0, 3, 5000), rng))
    assert clear.notes == ()


# The composite likelihood


def composite_loss(counts: Counts) -> tuple[Callable[[Floats], float], Callable[[Floats], Floats]]:
    """Proposition 7 of Kairouz et al.: minus the mean log of the cells' binomial likelihoods."""
    support, hit, miss = cast(Any, counts.channel.support(counts.cells))
    n, p, q = counts.n, float(hit), float(miss)

    def loss(shares: Floats) -> float:
        m = q + (p - q) * shares
        return -float((support * np.log(m) + (n - support) * np.log1p(-m)).sum()) / n

    def slope(shares: Floats) -> Floats:
        m = q + (p - q) * shares
        return np.asarray(-(p - q) * (support / m - (n - support) / (1 - m)) / n)

    return loss, slope


def assert_composite(counts: Counts) -> None:
    loss, slope = composite_loss(counts)
    wanted = minimum(loss, slope, counts.channel.k)
    found = estimators.composite(counts).shares
    assert loss(found) <= loss(wanted) + 1e-9, counts
    np.testing.assert_allclose(found, wanted, atol=1e-3)


@pytest.mark.parametrize(
    "mechanism",
    [
        mm.OUE(k=4, epsilon=1.0),
        mm.SUE(k=6, epsilon=3.0),
        mm.Subset(k=6, epsilon=1.0),
        mm.KRR(k=5, epsilon=1.0),
        mm.LocalHashing(k=5, epsilon=2.0),
        mm.ProjectiveGeometry(k=6, epsilon=1.0),
    ],
    ids=repr,
)
def test_composite_is_the_maximum_that_scipy_finds(mechanism: AnyMechanism) -> None:
    for seed in range(15):
        rng = np.random.default_rng(seed)
        assert_composite(draw(mechanism, int(rng.integers(40, 3000)), rng))


@pytest.mark.parametrize(
    ("mechanism", "n", "support"),
    [
        (mm.SUE(k=2, epsilon=3.5), 12, [6, 0]),
        (mm.SUE(k=2, epsilon=4.0), 2, [0, 1]),
        (mm.OUE(k=3, epsilon=1.0), 10, [0, 0, 1]),
        (mm.OUE(k=4, epsilon=4.0), 30, [3, 1, 0, 2]),
    ],
    ids=repr,
)
def test_so_it_is_when_hardly_any_bit_is_set(
    mechanism: AnyMechanism, n: int, support: list[int]
) -> None:
    assert_composite(Counts(mechanism, n, np.array(support)))


def test_composite_is_not_the_maximum_likelihood() -> None:
    """Bits depend on each other through the answer, so multiplying their likelihoods is not it."""
    rng = np.random.default_rng(6)
    sue = mm.SUE(k=8, epsilon=4.0)
    reports = sue.encode_many(rng.choice(8, 5000, p=geometric(8)), rng)
    true = report_likelihood(sue, reports, tolerance=1e-6)
    product = estimators.composite(true.counts)
    assert np.abs(product.shares - true.shares).max() > 1e-4
    likelihood = dense_likelihood(sue, reports)
    heights = [float(np.log(likelihood @ e.shares).sum()) for e in (true, product)]
    assert heights[0] > heights[1] + 0.1


@pytest.mark.parametrize(
    "mechanism",
    [mm.Hadamard(k=5, epsilon=1.0), mm.HadamardSketch(k=5, epsilon=1.0, rows=2, width=4)],
    ids=repr,
)
def test_composite_needs_counts_of_support(mechanism: AnyMechanism) -> None:
    counts = draw(mechanism, 10, np.random.default_rng(7))
    with pytest.raises(ValueError, match=r"has no support counts: use \w+\(counts\)"):
        estimators.composite(counts)


# The likelihood of the reports themselves


def dense_likelihood(mechanism: AnyMechanism, reports: Any) -> Floats:
    """The probability of every report from every answer, by the laws written down in the tests."""
    if isinstance(mechanism, mm.LocalHashing):
        yes, g = mechanism.truth / laws.ONE, mechanism.g
        same = [
            [laws.bucket(x, int(seed), g) == value for x in range(mechanism.k)]
            for seed, value in reports
        ]
        return np.asarray(np.where(same, yes + (1 - yes) / g, (1 - yes) / g))
    rows = [laws.BY_KIND[type(mechanism)](mechanism, x) for x in range(mechanism.k)]
    singles = mechanism.shape.unstack(reports)
    return np.array([[float(row[report]) for row in rows] for report in singles])


def plain_em(likelihood: Floats, steps: int) -> Floats:
    shares = np.full(likelihood.shape[1], 1 / likelihood.shape[1])
    for _ in range(steps):
        shares = shares * (likelihood / (likelihood @ shares)[:, None]).mean(axis=0)
    return shares


SUPPORTING: list[AnyMechanism] = [
    mm.OUE(k=5, epsilon=2.0),
    mm.SUE(k=9, epsilon=3.0),
    mm.BasicRappor(k=3, f=0.4, p=0.3, q=0.8),
    mm.Subset(k=6, epsilon=2.0, w=3),  # a report is six bits
    mm.Subset(k=17, epsilon=3.0, w=2),  # a report is two numbers
    mm.LocalHashing(k=5, epsilon=2.0, g=4),
]


def test_both_layouts_of_subsets_are_looked_at() -> None:
    layouts = [m.shape.as_bits for m in SUPPORTING if isinstance(m, mm.Subset)]
    assert sorted(layouts) == [False, True]


@quietly
@pytest.mark.parametrize("mechanism", SUPPORTING, ids=repr)
def test_report_likelihood_is_what_a_dense_em_finds(mechanism: AnyMechanism) -> None:
    rng = np.random.default_rng(8)
    answers = rng.choice(mechanism.k, 150, p=rng.dirichlet(np.ones(mechanism.k)))
    reports = mechanism.encode_many(answers, rng)
    likelihood = dense_likelihood(mechanism, reports)
    wanted = plain_em(likelihood, 4000)
    estimate = report_likelihood(mechanism, reports, tolerance=1e-7)
    assert estimate.converged
    assert estimate.estimator == "report_likelihood"
    heights = [float(np.log(likelihood @ shares).sum()) for shares in (estimate.shares, wanted)]
    assert heights[0] >= heights[1] - 1e-6
    assert heights[0] <= heights[1] + 0.01  # plain EM is nearly there
    np.testing.assert_allclose(estimate.shares, wanted, atol=5e-3)
    assert estimate.counts == mechanism.count(reports)


@quietly
@pytest.mark.parametrize("mechanism", SUPPORTING, ids=repr)
def test_the_gap_of_report_likelihood_bounds_what_is_missing(mechanism: AnyMechanism) -> None:
    rng = np.random.default_rng(9)
    reports = mechanism.encode_many(rng.integers(0, 2, 100), rng)
    likelihood = dense_likelihood(mechanism, reports)
    told: list[tuple[int, float]] = []
    options: dict[str, Any] = {"tolerance": 1e-8, "progress": lambda *step: told.append(step)}
    top = report_likelihood(mechanism, reports, **options).shares
    for most in (1, 3, 7):
        estimate = report_likelihood(mechanism, reports, most=most, **options)
        missing = float(np.log(likelihood @ top / (likelihood @ estimate.shares)).sum())
        assert -1e-6 <= missing <= estimate.gap + 1e-6
        assert told[-1] == (estimate.iterations, estimate.gap)
        assert not estimate.converged


def test_report_likelihood_refuses_what_it_cannot_use() -> None:
    oue = mm.OUE(k=4, epsilon=1.0)
    with pytest.raises(ValueError, match="there are no reports to estimate from"):
        report_likelihood(oue, oue.encode_many([]))
    orr = mm.ORR(epsilon=1.0, width=4, cohorts=2)
    with pytest.raises(ValueError, match="asks an open question: say which strings to look for"):
        report_likelihood(cast(Any, orr), orr.encode_many(["tea"]))
    sketch = mm.HadamardSketch(k=1000, epsilon=1.0)
    with pytest.raises(ValueError, match=r"more likelihoods than 2\*\*27: estimate from counts"):
        report_likelihood(sketch, sketch.encode_many([1, 2]))


def squared(shares: Floats, truth: Floats) -> float:
    return float(((shares - truth) ** 2).sum())


def test_reports_say_more_than_their_counts() -> None:
    """SUE, k = 16, geometric, epsilon 4: 1.7 times smaller squared error, here at least 1.2 times.

    The rival is the unbiased estimate on the plane of sum one. The difference of its loss and 1.2
    times the likelihood's is 6.2 standard deviations of a mean of 40 repetitions (measured on 120
    others), so a false alarm has a probability of about 1e-9. The projection on the simplex, which
    is made of the counts too, is rejected: it is not 1.2 times better than the rival.
    """
    rng = np.random.default_rng(10)
    k, n = 16, 20_000
    sue = mm.SUE(k=k, epsilon=4.0)
    losses = []
    for _ in range(40):
        people = rng.multinomial(n, geometric(k))
        truth = people / n
        reports = sue.encode_many(np.repeat(np.arange(k), people), rng)
        estimate = report_likelihood(sue, reports)
        plane = estimate.unbiased + (1 - estimate.unbiased.sum()) / k
        simplex = estimators.simplex(estimate.counts).shares
        losses.append([squared(x, truth) for x in (plane, estimate.shares, simplex)])
    rival, from_reports, from_counts = np.mean(losses, axis=0)
    assert rival > 1.2 * from_reports
    assert rival < 1.2 * from_counts


@pytest.mark.parametrize(("n", "k"), [(1, 8), (50, 16), (70_000, 24)])
def test_compiled_and_reference_kernels_agree_on_the_likelihood(n: int, k: int) -> None:
    rng = np.random.default_rng(11)
    rows = rng.integers(0, 256, (n, k // 8)).astype(np.uint8)
    shares = rng.dirichlet(np.ones(k))
    one, two = (x.support_likelihood(rows, shares, 6.5) for x in (compiled, reference))
    assert one[0] == pytest.approx(two[0], rel=1e-12)
    np.testing.assert_allclose(one[1], two[1], rtol=1e-11)
    assert one[2] == pytest.approx(two[2], rel=1e-12)
    # And with the plain formula.
    bits = np.unpackbits(rows, axis=1, bitorder="little").astype(np.float64)
    likelihood = 1 + 6.5 * bits @ shares
    assert two[0] == pytest.approx(float((1 / likelihood).sum()), rel=1e-12)
    np.testing.assert_allclose(two[1], (1 / likelihood) @ bits, rtol=1e-11)
    assert two[2] == pytest.approx(float(np.log(likelihood).sum()), rel=1e-12)


# Regression

SOLVABLE: list[AnyMechanism] = [
    mm.KRR(k=4, epsilon=1.0),
    mm.OUE(k=5, epsilon=1.0),
    mm.Hadamard(k=5, epsilon=1.0, blocks=1),
    mm.Hadamard(k=7, epsilon=2.0, blocks=3),
    mm.ProjectiveGeometry(k=6, epsilon=1.0),
    mm.CountMeanSketch(k=5, epsilon=2.0, rows=4, width=4),
    mm.HadamardSketch(k=5, epsilon=2.0, rows=4, width=4),
]
solvable = pytest.mark.parametrize("mechanism", SOLVABLE, ids=repr)


def system(counts: Counts) -> tuple[Floats, Floats]:
    """The weighted linear system: columns are what an answer adds to the cells beyond the base."""
    channel = counts.channel
    matrix = channel.matrix()
    base = np.broadcast_to(channel.base, channel.cells).ravel()
    law = matrix.mean(axis=0)  # of equal shares
    weight = 1 / np.sqrt(np.maximum(law * (1 - law), 1e-300))
    return ((matrix - base) * weight).T, (counts.cells.ravel() / counts.n - base) * weight


@solvable
def test_free_regression_is_least_squares(mechanism: AnyMechanism) -> None:
    for seed in range(5):
        counts = draw(mechanism, 400, np.random.default_rng(seed))
        a, b = system(counts)
        wanted = np.linalg.lstsq(a, b, rcond=None)[0]
        estimate = estimators.regression(counts, constrained=False, tolerance=1e-9)
        assert estimate.converged
        np.testing.assert_allclose(estimate.shares, wanted, atol=1e-6)


@solvable
def test_regression_on_the_simplex_is_what_scipy_finds(mechanism: AnyMechanism) -> None:
    for seed in range(10):
        counts = draw(mechanism, 400, np.random.default_rng(seed), spread=0.2)
        a, b = system(counts)
        wanted = least_squares(a, b)
        # Non-negative least squares with one heavy row for the sum is another solver.
        heavy = np.vstack([a, np.full(mechanism.k, 1e4)])
        other, _ = scipy.optimize.nnls(heavy, np.append(b, 1e4))
        estimate = estimators.regression(counts, tolerance=1e-9)
        assert estimate.converged
        np.testing.assert_allclose(estimate.shares, wanted, atol=1e-5)
        np.testing.assert_allclose(estimate.shares, other, atol=1e-4)


@solvable
def test_the_gap_of_regression_bounds_the_excess_of_squares(mechanism: AnyMechanism) -> None:
    for seed in range(20):
        counts = draw(mechanism, 40, np.random.default_rng(seed), spread=0.2)
        a, b = system(counts)
        best = estimators.regression(counts, tolerance=1e-9).shares
        least = float(((a @ best - b) ** 2).sum())
        for most in (1, 2, 3, 5):
            estimate = estimators.regression(counts, most=most)
            excess = counts.n * (float(((a @ estimate.shares - b) ** 2).sum()) - least)
            assert excess <= estimate.gap + 1e-6, most


def test_regression_that_is_stopped_says_so() -> None:
    counts = draw(mm.Hadamard(k=30, epsilon=1.0), 1000, np.random.default_rng(12))
    for constrained in (True, False):
        stopped = estimators.regression(counts, constrained=constrained, most=2)
        assert (stopped.converged, stopped.iterations) == (False, 2)
        done = estimators.regression(counts, constrained=constrained)
        assert done.converged
        assert done.gap < stopped.gap
        assert estimators.regression(counts, constrained=constrained, tolerance=10.0).iterations < (
            done.iterations
        )
    assert estimators.regression(counts, constrained=False).shares.min() < 0


SPARED: list[tuple[AnyMechanism, int]] = [
    (mm.Hadamard(k=20, epsilon=3.0), 40),
    (mm.HadamardSketch(k=30, epsilon=2.0, rows=16, width=16), 12),
    (mm.CountMeanSketch(k=30, epsilon=2.0, rows=16, width=16), 12),
]


@pytest.mark.parametrize(("mechanism", "repetitions"), SPARED, ids=lambda x: f"{x}")
@pytest.mark.parametrize("constrained", [True, False])
def test_regression_uses_what_the_linear_inverse_leaves_aside(
    mechanism: AnyMechanism, repetitions: int, constrained: bool
) -> None:
    """Its squared error is smaller: 1.5 times for Hadamard, 4 and 6 times for the sketches.

    The mean difference of losses was 10.9 standard deviations of a mean of so many repetitions or
    more in another run: a false alarm has a probability far below 1e-9. The unbiased estimate with
    its sum mended is rejected: it does not come half as far down.
    """
    rng = np.random.default_rng(13)
    k, n = mechanism.k, 20_000
    losses = []
    for _ in range(repetitions):
        people = rng.multinomial(n, geometric(k))
        counts = mechanism.simulate(people, rng)
        linear = estimators.unbiased(counts).shares
        solved = estimators.regression(counts, constrained=constrained).shares
        mended = linear + (1 - linear.sum()) / k
        losses.append([squared(x, people / n) for x in (linear, solved, mended)])
    linear_loss, solved_loss, mended_loss = np.mean(losses, axis=0)
    assert solved_loss < linear_loss
    assert linear_loss - mended_loss < 0.5 * (linear_loss - solved_loss)


def people_of(truth: Floats, n: int) -> Integers:
    """Whole people with nearly these shares."""
    return np.rint(truth * n).astype(np.int64)


def test_regression_solves_for_collisions_exactly() -> None:
    """A sketch's inverse stays wrong however many people answer; regression does not."""
    sketch = mm.HadamardSketch(k=30, epsilon=4.0, rows=16, width=16)
    people = people_of(geometric(30), 10**6)
    counts = sketch.simulate(people, np.random.default_rng(14))
    truth = people / people.sum()
    assert squared(estimators.unbiased(counts).shares, truth) > 5e-3
    assert squared(estimators.regression(counts).shares, truth) < 2e-4


def test_the_default_solves_for_collisions_only_where_they_outweigh_the_noise() -> None:
    sketch = mm.CountMeanSketch(k=6, epsilon=1.0, rows=64, width=16)
    few, many = (np.array([500, 300, 150, 50, 0, 0]) * times for times in (1, 10**5))
    rng = np.random.default_rng(1)
    assert mm.estimate(sketch.simulate(few, rng)).estimator == "shrinkage"
    assert mm.estimate(sketch.simulate(many, rng)).estimator == "regression"
    wide = mm.HadamardSketch(k=200, epsilon=1.0, rows=2, width=64)  # too small a table to solve
    people = np.full(200, 10**6)
    assert mm.estimate(wide.simulate(people, rng)).estimator == "shrinkage"


@pytest.mark.parametrize("wrong", [0, -1, 2, 0.95, math.nan, "x", None])
def test_an_error_rate_that_is_none_is_refused(wrong: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"^error_rate must be"):
        mm.estimators.base_cut(mm.KRR(3, 1.0).count([0, 1]), error_rate=wrong)


@pytest.mark.parametrize("name", ["em", "likelihood", "regression"])
@pytest.mark.parametrize("wrong", [-1, math.nan, "x", None])
def test_a_tolerance_that_is_none_is_refused(name: str, wrong: Any) -> None:
    estimator: Any = mm.estimators.BY_NAME[name]
    with pytest.raises((TypeError, ValueError), match=r"^tolerance must be"):
        estimator(mm.KRR(3, 1.0).count([0, 1]), tolerance=wrong)


def test_shares_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(
        ValueError, match="the noise of these counts is so large that the shares are not finite"
    ):
        project(np.array([0.5, np.nan]))


def test_what_is_handed_in_by_mistake_is_named_with_the_way_out() -> None:
    rr = mm.KRR(k=4, epsilon=1.0)
    counts = rr.count([0, 1, 1, 2])
    question = mm.Question("drink", ("a", "b", "c", "d"), rr)
    with pytest.raises(TypeError, match=r"read_counts returns \(question, counts\): pass the coun"):
        mm.estimate((question, counts))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"not Counts: murmurs.estimate\(counts\) first"):
        mm.estimate(counts).difference(counts)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="not list: estimate both"):
        mm.estimate(counts).difference([0.5, 0.5])  # type: ignore[arg-type]
    shares = [0.4, 0.3, 0.2, 0.1]
    for given in (shares, np.array(shares), dict(enumerate(shares))):
        with pytest.raises(TypeError, match="look like shares: multiply them by the number of peo"):
            rr.simulate(given)
    with pytest.raises(TypeError, match="if they are whole"):
        rr.simulate([40.0, 30.0, 20.0, 10.0])
