"""The likelihood of reports to several questions: every way to compute it, and its covariance.

Statistical tests have a false-alarm rate of 1e-6 each, fixed seeds, and name a law they reject.
"""

from __future__ import annotations

import math
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.stats

import murmurs as mm
from murmurs.channels.evidence import Evidence
from murmurs.estimators import (
    NoiseDominates,
    em,
    information,
    likelihood_covariance,
    report_likelihood,
    steps,
)
from murmurs.estimators.methods.report_likelihood import most_likely
from murmurs.estimators.newton import newton
from murmurs.estimators.steps import step_of
from murmurs.mechanisms import Among, BooleanRappor
from murmurs.numerics.arrays import Floats

FALSE_ALARM = 1e-6

WORDS = ("tea", "mate")


def product(parts: Sequence[Any]) -> mm.Product:
    return mm.Product(tuple(parts))


MIXED: list[mm.Product] = [
    product([mm.SUE(k=3, epsilon=2.0), mm.OUE(k=9, epsilon=2.0)]),
    product([mm.KRR(k=3, epsilon=2.0), mm.OUE(k=4, epsilon=2.0)]),
    product([mm.LocalHashing(k=5, epsilon=2.0), mm.BasicRappor(k=3, f=0.2, p=0.1, q=0.8)]),
    product([mm.OUE(k=4, epsilon=2.0), mm.KRR(k=3, epsilon=2.0), mm.Hadamard(k=3, epsilon=1.0)]),
    product([mm.SUE(k=2, epsilon=2.0), mm.SUE(k=3, epsilon=2.0), mm.SUE(k=2, epsilon=2.0)]),
    product([mm.KRR(k=3, epsilon=2.0), mm.KRR(k=2, epsilon=1.0)]),
    product([mm.ORR(epsilon=3.0, width=4, cohorts=8).over(WORDS), mm.KRR(k=3, epsilon=2.0)]),
    product(
        [
            mm.Rappor(width=8, hashes=2, cohorts=4, f=0.2, p=0.25, q=0.75).over(WORDS),
            BooleanRappor(f=0.2, p=0.25, q=0.75),
        ]
    ),
    product(
        [
            Among(mm.SUE(k=20, epsilon=3.0), [4, 1]),
            Among(mm.OUE(k=30, epsilon=3.0), range(13)),
        ]
    ),
]
mixed = pytest.mark.parametrize("mechanism", MIXED, ids=repr)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoiseDominates)
        yield


def reports_of(mechanism: mm.Product, n: int, seed: int = 1) -> Any:
    rng = np.random.default_rng(seed)
    law = rng.dirichlet(np.ones(mechanism.k))
    return mechanism.encode_many(rng.choice(mechanism.k, n, p=law), rng)


def dense(pieces: tuple[Evidence, ...]) -> Floats:
    """All reports by all combinations: what no step holds."""
    out = np.ones((1, 1))
    for piece in pieces:
        rows = piece.rows(slice(None))
        out = (out[:, :, None] * rows[:, None, :]).reshape(len(rows), -1)
    return out


@mixed
@pytest.mark.parametrize("n", [40, 3000])
def test_a_step_is_that_of_all_reports_by_all_combinations(mechanism: mm.Product, n: int) -> None:
    pieces = mechanism.evidence(reports_of(mechanism, n))
    likelihoods = dense(pieces)
    shares = np.random.default_rng(2).dirichlet(np.ones(mechanism.k))
    each = likelihoods @ shares
    for precision, close in ((np.float64, 1e-9), (np.float32, 1e-5)):
        slopes, height = step_of(pieces, precision)(shares)
        np.testing.assert_allclose(slopes, (likelihoods / each[:, None]).mean(axis=0), rtol=close)
        assert height == pytest.approx(np.log(each).sum(), rel=close, abs=n * close)


def test_blocks_of_people_add_up_to_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = MIXED[4]
    pieces = mechanism.evidence(reports_of(mechanism, 300))
    shares = np.full(mechanism.k, 1 / mechanism.k)
    whole = step_of(pieces, np.float64)(shares)
    monkeypatch.setattr(steps, "PEOPLE", 7)
    parts = step_of(pieces, np.float64)(shares)
    np.testing.assert_allclose(parts[0], whole[0], rtol=1e-12)
    assert parts[1] == pytest.approx(whole[1], rel=1e-12)


@mixed
def test_no_optimiser_of_scipy_finds_a_larger_likelihood(mechanism: mm.Product) -> None:
    reports = reports_of(mechanism, 80)
    likelihoods, k = dense(mechanism.evidence(reports)), mechanism.k
    found = report_likelihood(mechanism, reports, tolerance=1e-5, most=20_000)
    assert found.converged

    def depth(shares: Floats) -> float:
        return -float(np.log(likelihoods @ shares).sum())

    def slopes(shares: Floats) -> Floats:
        return np.asarray(-(likelihoods / (likelihoods @ shares)[:, None]).sum(axis=0))

    theirs = scipy.optimize.minimize(
        depth,
        np.full(k, 1 / k),
        jac=slopes,
        bounds=[(0, 1)] * k,
        constraints={
            "type": "eq",
            "fun": lambda shares: shares.sum() - 1,
            "jac": lambda _: np.ones(k),
        },
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-12},
    )
    own = np.maximum(theirs.x, 0) / np.maximum(theirs.x, 0).sum()
    assert depth(found.shares) <= depth(own) + 1e-5
    assert depth(own) <= depth(found.shares) + 1e-3  # it has converged too, to the same height


def test_pairs_of_categories_have_the_likelihood_of_their_counts() -> None:
    pairs = MIXED[5]
    reports = reports_of(pairs, 2000)
    ours = report_likelihood(pairs, reports, tolerance=1e-7)
    theirs = em(pairs.count(reports), tolerance=1e-7)
    np.testing.assert_allclose(ours.shares, theirs.shares, atol=1e-5)


def test_a_long_ascent_in_single_precision_ends_where_one_in_double_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mechanism = MIXED[0]
    pieces = mechanism.evidence(reports_of(mechanism, 2000))
    double = most_likely(pieces, 1e-6, 5000)
    own = sys.modules["murmurs.estimators.methods.report_likelihood"]
    monkeypatch.setattr(own, "WORTHWHILE", 1)
    monkeypatch.setattr(own, "FEW", 1)
    told: list[int] = []
    both = most_likely(pieces, 1e-6, 5000, lambda step, _: told.append(step))
    assert told.count(1) == 2  # once in each precision
    assert double.converged
    assert both.converged
    np.testing.assert_allclose(both.shares, double.shares, atol=1e-5)
    assert not most_likely(pieces, 1e-6, 4).converged


def test_newton_and_em_find_the_same_maximum(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = MIXED[3]
    pieces = mechanism.evidence(reports_of(mechanism, 3000))
    first = most_likely(pieces, 1e-4)
    monkeypatch.setattr(sys.modules["murmurs.estimators.methods.report_likelihood"], "FEW", 1)
    second = most_likely(pieces, 1e-4, 20_000)
    assert first.converged
    assert second.converged
    assert 3 * first.evaluations < second.evaluations
    np.testing.assert_allclose(first.shares, second.shares, atol=1e-2)


def test_a_misleading_curvature_costs_time_and_nothing_else() -> None:
    mechanism = MIXED[1]
    pieces = mechanism.evidence(reports_of(mechanism, 2000))
    step, start = step_of(pieces, np.float64), np.full(12, 1 / 12)
    wrong = np.random.default_rng(1).random((50, 12)) ** 8
    found = newton(step, wrong, start, 2000, 1e-3, 5000, None)
    assert found.converged
    assert found.gap <= 1e-3
    for most in (1, 3, 6, 7, 8, 9, 12):
        early = newton(step, wrong, start, 2000, 1e-9, most, None)
        assert not early.converged
        assert early.evaluations <= most + 2
        assert early.shares.min() >= 0
        assert early.shares.sum() == pytest.approx(1)


def test_the_estimate_says_what_the_reports_were_counted_to() -> None:
    mechanism = MIXED[1]
    reports = reports_of(mechanism, 500)
    found = report_likelihood(mechanism, reports)
    assert found.counts == mechanism.count(reports)
    assert found.estimator == "report_likelihood"
    assert found.interval(0.95).shape == (2, 12)


# Information and covariance


def settled(mechanism: mm.Product, reports: Any) -> Floats:
    return report_likelihood(mechanism, reports, tolerance=1e-9, most=20_000).shares


def test_the_information_is_minus_the_second_derivative() -> None:
    mechanism = MIXED[1]
    reports = reports_of(mechanism, 200)
    likelihoods = dense(mechanism.evidence(reports))
    shares = np.random.default_rng(3).dirichlet(np.ones(mechanism.k))
    found = information(mechanism, reports, shares)
    step = 1e-5
    for a, b in [(0, 0), (2, 7), (11, 3)]:

        def height(x: float, y: float, a: int = a, b: int = b) -> float:
            moved = shares + x * np.eye(12)[a] + y * np.eye(12)[b]
            return float(np.log(likelihoods @ moved).sum())

        second = height(step, step) - height(step, -step) - height(-step, step)
        second = (second + height(-step, -step)) / (4 * step**2)
        assert found[a, b] == pytest.approx(-second, rel=1e-3)


def test_at_the_maximum_shares_vary_along_the_plane_of_sum_one() -> None:
    """I p = n 1 there, so that p p' / n is what is missing from I^-1 in the paper."""
    mechanism = product([mm.SUE(k=2, epsilon=3.0), mm.OUE(k=2, epsilon=3.0)])
    rng = np.random.default_rng(4)
    reports = mechanism.encode_many(rng.choice(4, 20_000, p=[0.4, 0.3, 0.2, 0.1]), rng)
    shares = settled(mechanism, reports)
    matrix = information(mechanism, reports, shares)
    np.testing.assert_allclose(matrix @ shares, 20_000, rtol=1e-5)
    assert np.linalg.inv(matrix).sum() == pytest.approx(1 / 20_000, rel=1e-4)
    found = likelihood_covariance(mechanism, reports, shares)
    np.testing.assert_allclose(found.sum(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(found, np.linalg.inv(matrix) - np.outer(shares, shares) / 20_000)


def test_the_covariance_is_that_of_repeated_collections() -> None:
    """300 collections; the variance of the largest share, in units of the told one, is chi-squared.

    The paper's I^-1, without the second term, is 2.1 times as large and rejected.
    """
    mechanism = product([mm.SUE(k=2, epsilon=5.0), mm.KRR(k=2, epsilon=3.0)])
    law, n, times = [0.6, 0.2, 0.15, 0.05], 4000, 300
    rng = np.random.default_rng(5)
    found, told, printed = [], [], []
    for i in range(times):
        reports = mechanism.encode_many(rng.choice(4, n, p=law), rng)
        shares = report_likelihood(mechanism, reports, tolerance=1e-4).shares
        found.append(shares[0])
        if i < 10:
            told.append(likelihood_covariance(mechanism, reports, shares)[0, 0])
            printed.append(told[-1] + shares[0] ** 2 / n)
    low, high = scipy.stats.chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], times - 1)
    total = (times - 1) * float(np.var(found, ddof=1))
    assert low < total / np.mean(told) < high
    assert total / np.mean(printed) < low


def test_answers_that_nobody_holds_have_no_variance() -> None:
    mechanism = product([mm.SUE(k=3, epsilon=6.0), mm.KRR(k=2, epsilon=5.0)])
    rng = np.random.default_rng(6)
    reports = mechanism.encode_many(rng.choice([0, 3], 5000), rng)
    shares = settled(mechanism, reports)
    found = likelihood_covariance(mechanism, reports, shares)
    empty = shares * 5000 < 0.1
    assert 0 < empty.sum() < 5
    assert (np.diag(found) > 0).tolist() == (~empty).tolist()
    np.testing.assert_allclose(found.sum(axis=0), 0, atol=1e-6)


@pytest.mark.parametrize(
    ("shares", "rule"),
    [
        ([0.5, 0.5], "there are 2 shares, but 6 combinations of answers"),
        ([0.5, 0.5, 0.5, 0, 0, 0], "shares must be at least 0 and sum to 1"),
    ],
)
def test_shares_that_do_not_fit_are_refused(shares: list[float], rule: str) -> None:
    mechanism = MIXED[5]
    with pytest.raises(ValueError, match=re.escape(rule)):
        information(mechanism, reports_of(mechanism, 10), shares)


def test_answers_that_look_alike_have_no_covariance() -> None:
    alike = product([mm.SUE(k=2, epsilon=1.0), mm.KRR(k=2, epsilon=1.0)])
    with pytest.raises(ValueError, match="cannot be told apart by these reports"):
        likelihood_covariance(alike, alike.encode_many([0]), [0.25] * 4)


def test_too_many_combinations_for_a_matrix_are_refused() -> None:
    large = product([mm.SUE(k=80, epsilon=1.0), mm.SUE(k=80, epsilon=1.0)])
    with pytest.raises(ValueError, match="combine answers, for at most 4096"):
        information(large, large.encode_many([0]), np.full(6400, 1 / 6400))


# Other answers, as one


def table_of_many(rng: np.random.Generator) -> Floats:
    """Twelve by twelve answers: frequent ones, and a third of the people at others."""
    margin = 0.75 ** np.arange(12)
    margin /= margin.sum()
    table = np.outer(margin, margin) + 0.3 * np.diag(margin)
    return np.asarray(table / table.sum())


def collapsed(table: Floats, m: int) -> Floats:
    """The first m rows and columns, and the sums of the others."""
    rows = np.vstack([table[:m], table[m:].sum(axis=0)])
    return np.column_stack([rows[:, :m], rows[:, m:].sum(axis=1)])


def test_the_printed_law_of_other_answers_is_wrong_and_the_corrected_one_ours() -> None:
    """fanti2016, section 3.2, on expected counts of a unary encoding, the first four listed."""
    sue = mm.SUE(k=12, epsilon=3.0)
    margin = table_of_many(np.random.default_rng(1)).sum(axis=1)
    n, q, p = 10**5, float(sue.one), float(sue.zero)
    bits = n * sue.channel.mean(margin)
    listed, own = margin[:4].sum(), n * margin[:4]
    printed = (bits[:4] - q * own - p * (n - own)) / (n * (1 - listed))
    corrected = (bits[:4] - q * own - p * (n * listed - own)) / (n * (1 - listed))
    np.testing.assert_allclose(printed, 0, atol=1e-9)
    np.testing.assert_allclose(corrected, p)
    among = Among(sue, range(4))
    (piece,) = among.evidence(sue.encode_many([11] * 50, np.random.default_rng(2)))
    rows = piece.rows(slice(None))
    flags = np.unpackbits(
        sue.encode_many([11] * 50, np.random.default_rng(2)), axis=1, bitorder="little"
    )[:, :4]
    given_other = np.prod(np.where(flags, p, 1 - p), axis=1)
    given_first = np.prod(np.where(flags, [q, p, p, p], [1 - q, 1 - p, 1 - p, 1 - p]), axis=1)
    np.testing.assert_allclose(rows[:, 0] / rows[:, 4], given_first / given_other)


def test_leaving_other_answers_out_is_biased_and_one_answer_for_them_is_not() -> None:
    """Twelve by twelve answers of 240,000 people, four by four listed; epsilon 3 for each question.

    With "other" the l1 error is below 0.06 and without it the listed shares, even as parts of the
    listed ones, are off by more than 0.13. On 40 other draws these were 0.025 and 0.167 with
    deviations of 0.005 and 0.004, so each bound is more than 7 deviations away.
    """
    rng = np.random.default_rng(7)
    table = table_of_many(rng)
    sue = mm.SUE(k=12, epsilon=3.0)
    reports = product([sue, sue]).encode_many(rng.choice(144, 240_000, p=table.ravel()), rng)
    top = product([Among(sue, range(4))] * 2)
    found = report_likelihood(top, reports).shares.reshape(5, 5)
    truth = collapsed(table, 4)
    assert np.abs(found - truth).sum() < 0.06
    pieces = tuple(
        type(piece)(piece.kinds, piece.table[:, :4])  # type: ignore[attr-defined, call-arg]
        for piece in top.evidence(reports)
    )
    without = most_likely(pieces).shares.reshape(4, 4)
    assert np.abs(without - truth[:4, :4] / truth[:4, :4].sum()).sum() > 0.13


def test_other_answers_by_subtraction_from_the_margins() -> None:
    rng = np.random.default_rng(8)
    sue = mm.SUE(k=12, epsilon=3.0)
    both = product([sue, sue])
    reports = both.encode_many(rng.integers(0, 144, 3000), rng)
    whole = mm.estimate(both.count(reports), "unbiased").shares.reshape(12, 12)
    top = product([Among(sue, range(4))] * 2)
    counts = top.count(reports)
    assert counts.cells.shape == (5, 5)  # the reports themselves, and four bits, on each axis
    found = mm.estimate(counts, "unbiased").shares.reshape(5, 5)
    np.testing.assert_allclose(found[:4, :4], whole[:4, :4], atol=1e-12)
    rows = mm.estimate(both.count(reports).margin(0), "unbiased").shares
    np.testing.assert_allclose(found[:4, 4], rows[:4] - whole[:4, :4].sum(axis=1), atol=1e-12)
    assert found.sum() == pytest.approx(1)


def test_listed_answers_that_are_none_are_refused() -> None:
    sue = mm.SUE(k=4, epsilon=1.0)
    for listed, rule in (
        ([4], "numbers from 0 to 3, not (4,)"),
        (["tea"], "numbers from 0 to 3"),
        ([], "different ones, at least one and fewer than 4"),
        ([1, 1], "different ones"),
        (range(4), "different ones, at least one and fewer than 4"),
    ):
        with pytest.raises(ValueError, match=re.escape(rule)):
            Among(sue, listed)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="among those of a unary encoding, such as SUE"):
        Among(mm.KRR(k=4, epsilon=1.0), [1])  # type: ignore[arg-type]
    assert mm.mechanisms.from_document(Among(sue, [2]).to_document()) == Among(sue, [2])
    with pytest.raises(ValueError, match="Among has a mechanism and a list of answers"):
        mm.mechanisms.from_document({"name": "Among"})


def test_a_boolean_is_one_bit_of_basic_rappor() -> None:
    flag, bits = (
        BooleanRappor(f=0.3, p=0.2, q=0.9),
        mm.BasicRappor(k=2, f=0.3, p=0.2, q=0.9),
    )
    assert (flag.one, flag.zero) == (bits.one, bits.zero)
    assert flag.epsilon == pytest.approx(math.log((1 - flag.zero) / (1 - flag.one)))
    with pytest.raises(ValueError, match="reveals nothing"):
        BooleanRappor(f=1.0, p=0.2, q=0.9)
