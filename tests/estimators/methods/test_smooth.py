"""`smooth`: a log-spline with heaps. All seeds are fixed, so that nothing fails by chance."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize

import murmurs as mm
from murmurs.estimators import shrinkage, smooth
from murmurs.estimators.estimation import Estimate
from murmurs.estimators.methods.smooth import NO_ORDER
from murmurs.estimators.seen import SeenCells, SeenShares
from murmurs.estimators.splines import Splines, bases, rough
from murmurs.inference.fitting import fitted
from murmurs.numerics.arrays import Floats, Integers

K = 60
BELL = np.exp(-(((np.arange(K) - 22) / 9) ** 2) / 2)
PEOPLE = np.random.default_rng(3).multinomial(40_000, BELL / BELL.sum())
AGES = mm.Subset(k=K, epsilon=1.0).simulate(PEOPLE, np.random.default_rng(4))
WAVES = mm.SquareWave(k=K, epsilon=1.0).simulate(PEOPLE, np.random.default_rng(1))


def error(found: Estimate, people: Integers) -> float:
    return float(np.abs(found.shares - people / people.sum()).sum())


def falls_back(found: Estimate) -> bool:
    return any(note.startswith(NO_ORDER) for note in found.notes)


def seen(counts: mm.Counts = AGES) -> SeenShares:
    return SeenShares.of(shrinkage(counts))


def test_neighbours_help() -> None:
    """The error is less than half; of a law in no order it is that of the unordered default."""
    assert error(smooth(AGES), PEOPLE) < 0.5 * error(shrinkage(AGES), PEOPLE)
    order = np.random.default_rng(5).permutation(K)
    counts = mm.Subset(k=K, epsilon=1.0).simulate(PEOPLE[order], np.random.default_rng(4))
    found = smooth(counts)
    assert falls_back(found)
    assert not falls_back(smooth(AGES))
    assert error(found, PEOPLE[order]) == pytest.approx(
        error(shrinkage(counts), PEOPLE[order]), rel=0.05
    )


def test_heaps_on_a_common_level_are_not_an_order() -> None:
    """Most people give ten of sixty answers, and equally many each of the others.

    A line below the heaps explains that far better than equal shares do: without the same heaps on
    the other side, the order would win by 40 nats.
    """
    rng = np.random.default_rng(0)
    law = 1 + 0.1 * rng.normal(size=K) + np.where(np.arange(K) < 10, rng.uniform(5, 30, K), 0)
    people = rng.permutation(np.rint(law / law.sum() * 100_000).astype(np.int64))
    counts = mm.Subset(k=K, epsilon=4.0).simulate(people, rng)
    assert falls_back(smooth(counts))
    np.testing.assert_allclose(smooth(counts).shares, shrinkage(counts).shares, atol=1e-3)


def test_equal_shares_lose_little() -> None:
    """Of ten counts none has a tenth more error; what chance draws has up to 3.8 times as much."""
    flat = mm.Subset(k=30, epsilon=1.0)
    rng = np.random.default_rng(11)
    for _ in range(10):
        people = rng.multinomial(10_000, np.full(30, 1 / 30))
        counts = flat.simulate(people, rng)
        assert error(smooth(counts), people) < 1.1 * error(shrinkage(counts), people)


def test_a_heap_stays_where_it_is() -> None:
    heaped = PEOPLE.copy()
    heaped[30] += 8000
    counts = mm.Subset(k=K, epsilon=1.0).simulate(heaped, np.random.default_rng(4))
    found, truth = smooth(counts), heaped / heaped.sum()
    assert found.shares[30] == pytest.approx(truth[30], abs=0.02)
    near = [28, 29, 31, 32]  # no part of it is spread over its neighbours
    np.testing.assert_allclose(found.shares[near], truth[near], atol=0.01)
    assert truth[30] > 5 * truth[near].max()


@pytest.mark.parametrize("number", range(2))
@pytest.mark.parametrize("strength", [0.1, 100.0])
def test_a_spline_is_at_the_maximum_that_scipy_finds(number: int, strength: float) -> None:
    basis, data = bases((1.0,) * K, False)[number], seen()
    precision = basis.precision(strength)

    def height(b: Floats) -> float:
        return float(precision @ b**2) / 2 - data.at(basis.shares(b))[0]

    splines = Splines([basis], 1e-9)
    own, found = splines._climb(basis, data, strength, np.zeros(len(precision)))
    other = scipy.optimize.minimize(height, own, method="Powell", options={"maxiter": 3})
    assert height(own) <= other.fun + 1e-6
    assert height(np.zeros(len(precision))) > height(own) + 10  # it has climbed
    assert found.gap <= 1e-9


def test_the_evidence_is_the_integral_of_the_likelihood() -> None:
    """Of two coefficients, by sums over a fine grid: Laplace's method is off by little here."""
    counts = mm.KRR(k=4, epsilon=2.0).simulate([400, 300, 200, 100], np.random.default_rng(1))
    basis, data, strength = bases((1.0,) * 4, False)[1], seen(counts), 30.0
    assert basis.columns.shape[1] == 3
    precision = basis.precision(strength)
    found = Splines([basis], 1e-9)._climb(basis, data, strength, np.zeros(3))
    directions = basis.directions(found[1].shares)
    spread = np.linalg.inv(data.information(found[1].shares, directions) + np.diag(precision))
    nodes, weights = np.polynomial.hermite_e.hermegauss(14)
    root = np.linalg.cholesky(spread)
    grid = np.stack(np.meshgrid(nodes, nodes, nodes, indexing="ij")).reshape(3, -1)
    each = np.prod(np.stack(np.meshgrid(weights, weights, weights)).reshape(3, -1), axis=0)
    points = found[0][:, None] + root @ grid
    logs = np.array([data.at(basis.shares(b))[0] - precision @ b**2 / 2 for b in points.T])
    logs += (grid**2).sum(axis=0) / 2
    total = np.log(np.sum(each * np.exp(logs - logs.max()))) + logs.max()
    total += np.log(np.diag(root)).sum() + np.log(precision).sum() / 2 - 1.5 * np.log(2 * np.pi)
    assert found[1].evidence == pytest.approx(total, abs=0.1)


def test_what_is_smooth_is_the_density() -> None:
    """Equal densities in buckets of very different widths: a spline of the shares is far off."""
    widths = np.where(np.arange(40) % 2 == 0, 1.0, 3.0)
    people = np.rint(20_000 * widths / widths.sum()).astype(np.int64)
    counts = mm.Subset(k=40, epsilon=1.0).simulate(people, np.random.default_rng(2))
    told, untold = smooth(counts, widths=widths.tolist()), smooth(counts)
    assert error(told, people) < 0.3 * error(untold, people)


def test_a_bucket_without_an_end_may_hold_many() -> None:
    people = np.append(PEOPLE[:40], 15_000)
    counts = mm.Subset(k=41, epsilon=1.0).simulate(people, np.random.default_rng(2))
    found = smooth(counts, widths=[1.0] * 40 + [np.inf])
    assert found.shares[40] == pytest.approx(15_000 / people.sum(), abs=0.03)
    assert error(found, people) < 0.5 * error(shrinkage(counts), people)


def test_the_first_hour_follows_the_last() -> None:
    people = np.rint(1000 * (1.2 + np.cos(2 * np.pi * np.arange(24) / 24))).astype(np.int64)
    counts = mm.Subset(k=24, epsilon=1.0).simulate(people, np.random.default_rng(1))
    assert error(smooth(counts, circular=True), people) < error(smooth(counts), people)


def test_cells_are_used_where_they_say_more_than_single_shares() -> None:
    for kind in (mm.KRR, mm.Subset, mm.Hadamard, mm.ProjectiveGeometry, mm.OUE):
        counts = kind(k=K, epsilon=1.0).simulate(PEOPLE, np.random.default_rng(1))
        assert SeenCells.of(fitted(counts), False) is None, kind
    assert SeenCells.of(fitted(WAVES), False) is not None
    assert error(smooth(WAVES), PEOPLE) < 0.15 * error(shrinkage(WAVES), PEOPLE)


def test_the_slope_and_information_of_cells_are_those_of_their_law() -> None:
    """With 300 answers they are in groups, which keep nearly all information on smooth shapes."""
    wave = mm.SquareWave(k=300, epsilon=1.0)
    counts = wave.simulate(np.full(300, 100), np.random.default_rng(1))
    data = SeenCells.of(fitted(counts), False)
    assert data is not None
    place, law = np.arange(300) / 300, wave.channel.matrix().T
    shares = np.exp(np.sin(3 * place)) / np.exp(np.sin(3 * place)).sum()
    np.testing.assert_allclose(data.at(shares)[1], law.T @ (counts.cells / (law @ shares)))
    shapes = shares[:, None] * np.cos(np.outer(place, [3.0, 6.0, 9.0]))
    exact = (law @ shapes).T @ (law @ shapes * (counts.n / (law @ shares))[:, None])
    found = data.information(shares, shapes)
    np.testing.assert_allclose(np.linalg.eigvals(np.linalg.solve(exact, found)), 1, atol=0.01)


def test_a_rough_spline_has_equal_variances_and_the_same_shapes() -> None:
    for basis in bases((1.0,) * 100, False):
        found = rough(basis)
        np.testing.assert_allclose(
            found.columns.T @ found.columns, np.eye(found.columns.shape[1]), atol=1e-9
        )
        left = basis.columns - found.columns @ (found.columns.T @ basis.columns)
        np.testing.assert_allclose(left, 0, atol=1e-6 * np.abs(basis.columns).max())


def test_the_tolerance_acts() -> None:
    exact, loose = (smooth(AGES, tolerance=tolerance) for tolerance in (1e-6, 5.0))
    assert exact.gap <= 1e-6 < loose.gap <= 5.0
    assert exact.iterations > loose.iterations
    assert exact.converged
    np.testing.assert_allclose(smooth(AGES).shares, exact.shares, atol=2e-4)


def test_widths_that_are_none_are_refused() -> None:
    for widths, rule in (
        ([1.0] * 3, "3 widths do not fit 60 answers"),
        ([0.0] + [1.0] * 59, "width 0 is 0: widths are positive"),
        ([1.0, np.inf] + [1.0] * 58, "width 1 is inf: .* only the first and the last"),
        ([np.nan] * 60, "width 0 is nan"),
    ):
        with pytest.raises(ValueError, match=rule):
            smooth(AGES, widths=widths)
    with pytest.raises(ValueError, match="unless the scale is circular"):
        smooth(AGES, widths=[1.0] * 59 + [np.inf], circular=True)


def test_a_question_with_an_order_uses_it_and_says_why() -> None:
    age = mm.Question("age", range=(0, K - 1), width=1, mechanism=mm.Subset(k=K, epsilon=1.0))
    found = age.estimate(AGES)
    assert found.estimator == "smooth"
    assert found.why == "answers have an order, and neighbouring ones are alike"
    np.testing.assert_array_equal(found.shares, mm.estimate(AGES, scale=age.scale).shares)
    order = np.random.default_rng(5).permutation(K)
    apart = mm.Subset(k=K, epsilon=1.0).simulate(PEOPLE[order], np.random.default_rng(4))
    assert "only as far as" in age.estimate(apart).why
    edges = mm.Question("age", edges=[0, 1, 4, 5, 8, 9], epsilon=1.0)
    counts = edges.simulate([1000, 3000, 1000, 3000, 1000], np.random.default_rng(1))
    widths = smooth(counts, widths=[1, 3, 1, 3, 1]).shares
    np.testing.assert_array_equal(edges.estimate(counts).shares, widths)
    np.testing.assert_array_equal(edges.estimate(counts, "smooth").shares, widths)
    assert np.abs(smooth(counts).shares - widths).max() > 1e-4
