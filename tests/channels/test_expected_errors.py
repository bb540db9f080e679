"""Errors that channels predict: of the mean sketches, over hash functions, and in l1.

What a sketch errs is worked out here a second time, for given hash functions and from the fraction
of rows in which two answers collide. Averaged over all functions it must be the channel's formula
exactly; over the salts of the real hash, within five and a half standard errors of the average,
which it leaves once in 2e7 runs for each answer. Seeds are fixed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import xxhash

from murmurs import KRR, OUE, CountMeanSketch, Hadamard, HadamardSketch, ProjectiveGeometry, Subset
from murmurs.mechanisms.mechanism import Mechanism
from murmurs.numerics.arrays import Floats, Integers
from murmurs.privacy import SCALE

Sketch = CountMeanSketch | HadamardSketch
REACH = 5.5


def collisions(tables: Any) -> Floats:
    """In what fraction of the rows each two answers share a bucket; tables are rows by answers."""
    at = np.asarray(tables)
    return np.asarray((at[:, :, None] == at[:, None, :]).mean(axis=0))


def one_report(sketch: Sketch, shared: Floats) -> Floats:
    """The mean square of what one report of y adds at x, before the correction for others."""
    flip = sketch.flip / SCALE
    if isinstance(sketch, CountMeanSketch):
        return np.asarray(flip * (1 - flip) / (1 - 2 * flip) ** 2 + shared)
    return np.full_like(shared, 1 / (1 - 2 * flip) ** 2)


def error_given_people(sketch: Sketch, shared: Floats, people: Integers) -> Floats:
    """The mean squared error of each share for these hash functions and these people."""
    n, m = people.sum(), sketch.width
    bias = m / (m - 1) * (shared @ people / n - 1 / m) - people / n
    noise = (one_report(sketch, shared) - shared**2) @ people / n**2
    return np.asarray(bias**2 + (m / (m - 1)) ** 2 * noise)


def error_of_sample(sketch: Sketch, shared: Floats, shares: Floats, n: int) -> Floats:
    """The same when n people are drawn from a population with these shares."""
    m, mean = sketch.width, shared @ shares
    bias = m / (m - 1) * (mean - 1 / m) - shares
    noise = (one_report(sketch, shared) @ shares - mean**2) / n
    return np.asarray(bias**2 + (m / (m - 1)) ** 2 * noise)


def all_functions(sketch: Sketch) -> Iterator[Floats]:
    """The collisions under every choice of hash functions: an ideal hash, enumerated."""
    tables = list(itertools.product(range(sketch.width), repeat=sketch.k))
    return (collisions(rows) for rows in itertools.product(tables, repeat=sketch.rows))


TINY: list[Sketch] = [
    CountMeanSketch(k=3, epsilon=1.0, rows=1, width=2),
    CountMeanSketch(k=3, epsilon=6.0, rows=2, width=2),
    CountMeanSketch(k=4, epsilon=2.0, rows=1, width=3),
    HadamardSketch(k=3, epsilon=1.0, rows=1, width=2),
    HadamardSketch(k=3, epsilon=6.0, rows=2, width=2),
    HadamardSketch(k=3, epsilon=2.0, rows=1, width=4),
]
tiny = pytest.mark.parametrize("sketch", TINY, ids=repr)


@tiny
def test_the_variance_of_a_sketch_is_its_mean_error_over_all_hash_functions(sketch: Sketch) -> None:
    people = np.array([5, 1, 3, 2][: sketch.k])
    wanted = np.mean([error_given_people(sketch, c, people) for c in all_functions(sketch)], axis=0)
    np.testing.assert_allclose(sketch.channel.variance(people), wanted, rtol=1e-12)


@tiny
def test_the_variance_of_a_sampled_sketch_is_its_mean_error_over_all_hash_functions(
    sketch: Sketch,
) -> None:
    shares = np.array([0.5, 0.1, 0.3, 0.2][: sketch.k])
    shares /= shares.sum()
    wanted = np.mean([error_of_sample(sketch, c, shares, 9) for c in all_functions(sketch)], axis=0)
    np.testing.assert_allclose(sketch.channel.variance_sampled(shares, 9), wanted, rtol=1e-12)


def real_collisions(sketch: Sketch, salt: int) -> Floats:
    def bucket(answer: int, row: int) -> int:
        seed = (salt + row) % 2**32
        value: int = xxhash.xxh32_intdigest(answer.to_bytes(8, "little"), seed)
        return value * sketch.width >> 32

    return collisions([[bucket(x, j) for x in range(sketch.k)] for j in range(sketch.rows)])


def too_far(found: Floats, formula: Floats) -> bool:
    """Whether averages over salts (the first axis) and a formula differ, for any answer."""
    errors = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    return bool(np.any(np.abs(found.mean(axis=0) - formula) > REACH * errors))


@pytest.mark.parametrize(("rows", "width"), [(1, 4), (1, 64), (3, 16), (16, 8)])
@pytest.mark.parametrize("kind", [CountMeanSketch, HadamardSketch])
def test_the_error_of_a_sketch_averages_to_its_formula_over_salts(
    kind: type[Sketch], rows: int, width: int
) -> None:
    people = np.array([4000, 3000, 1500, 1000, 400, 100])
    sketch = kind(k=6, epsilon=2.0, rows=rows, width=width)
    salts = np.random.default_rng(rows * width).integers(0, 2**32, 3000)
    found = np.array(
        [error_given_people(sketch, real_collisions(sketch, int(s)), people) for s in salts]
    )
    assert not too_far(found, sketch.channel.variance(people))
    # Without the people who share one's row and bucket, as papers have it, the error is too small.
    n, m = people.sum(), width
    squares = (people * (people - 1)).sum() - people * (people - 1)
    shared = (m / (m - 1)) ** 2 * (1 / m) * (1 - 1 / m) / rows * squares / n**2
    assert too_far(found, sketch.channel.variance(people) - shared)


@pytest.mark.parametrize(
    ("sketch", "report"),
    [
        (CountMeanSketch(k=50, epsilon=1.5, rows=8, width=16), "bits"),
        (HadamardSketch(k=50, epsilon=1.5, rows=8, width=16), "sign"),
    ],
)
def test_the_variance_of_a_sketch_is_the_closed_form_of_the_notes(
    sketch: Sketch, report: str
) -> None:
    """For many people: J rows, width m, noise of a bit or of a sign, and what others add."""
    shares = np.random.default_rng(2).dirichlet(np.ones(50))
    n, m, rows = 10**9, sketch.width, sketch.rows
    a, s = np.exp(sketch.epsilon), np.exp(sketch.epsilon / 2)
    shared = (1 / m) * (1 - 1 / m)
    if report == "bits":
        noise = s / (s - 1) ** 2 / n + shared * (1 - shares) / n
    else:
        noise = ((a + 1) / (a - 1)) ** 2 / n
    others = shared * ((shares**2).sum() - shares**2) / rows
    closed = (m / (m - 1)) ** 2 * (noise + others)
    np.testing.assert_allclose(sketch.channel.variance(shares * n), closed, rtol=1e-5)


def test_salts_make_other_tables_and_rows_wrap_round() -> None:
    last = CountMeanSketch(k=30, epsilon=1.0, rows=3, width=8, salt=2**32 - 1)
    for row, seed in enumerate([2**32 - 1, 0, 1]):
        wanted = [
            xxhash.xxh32_intdigest(x.to_bytes(8, "little"), seed) * 8 >> 32 for x in range(30)
        ]
        assert last.channel.layout.places_in(row).tolist() == [wanted]
        answers = np.arange(30)
        assert last.layout.look_up(answers, np.full(30, row)).tolist() == [wanted]


# Expected errors


MECHANISMS: list[Mechanism[Any]] = [
    KRR(k=8, epsilon=1.0),
    OUE(k=8, epsilon=1.0),
    Subset(k=8, epsilon=1.0),
    Hadamard(k=8, epsilon=1.0),
    ProjectiveGeometry(k=8, epsilon=1.0),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_the_expected_l1_error_is_that_of_simulated_surveys(mechanism: Mechanism[Any]) -> None:
    """The mean of 500 surveys; beyond 5.5 of its standard errors once in 2e7 runs.

    Half a percent is left for errors that are only nearly normal.
    """
    rng = np.random.default_rng(71)
    people = np.array([9000, 5000, 3000, 1500, 800, 400, 200, 100])
    n, shares = int(people.sum()), people / people.sum()
    errors = np.array(
        [
            np.abs(mechanism.channel.invert(mechanism.simulate(people, rng).cells, n) - shares)
            for _ in range(500)
        ]
    ).sum(axis=1)
    reach = REACH * errors.std() / np.sqrt(len(errors)) + 0.005 * errors.mean()
    expected = mechanism.channel.expected_l1(n, shares)
    assert abs(errors.mean() - expected) < reach
    # The sum of standard deviations, without sqrt(2 / pi), is another number.
    assert abs(errors.mean() - expected * np.sqrt(np.pi / 2)) > reach


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_expected_errors_fall_with_more_people_and_rise_with_sampling(
    mechanism: Mechanism[Any],
) -> None:
    channel, shares = mechanism.channel, np.full(8, 1 / 8)
    assert channel.expected_l2(100) == pytest.approx(100 * channel.expected_l2(10_000))
    assert channel.expected_l1(100) == pytest.approx(10 * channel.expected_l1(10_000))
    assert channel.expected_l2(100) == pytest.approx(channel.expected_l2(100, shares))
    sampled = channel.expected_l2(100, sampled=True)
    assert sampled == pytest.approx(channel.expected_l2(100) + (1 - 1 / 8) / 100)
    assert channel.expected_l1(100, sampled=True) > channel.expected_l1(100)
