"""What single mechanisms refuse or derive, beyond the battery."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest

import murmurs as mm
from murmurs.mechanisms import from_document


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mm.Subset(k=8, epsilon=1.0, w=8), "w must be from 1 to 7, not 8"),
        (lambda: mm.Hadamard(k=8, epsilon=1.0, blocks=9), "blocks must be from 1 to 8, not 9"),
        (lambda: mm.LocalHashing(k=8, epsilon=1.0, g=1), "g must be from 2 to"),
        (lambda: mm.ProjectiveGeometry(k=9, epsilon=1.0, q=4), "q must be a prime number, not 4"),
        (
            lambda: mm.ProjectiveGeometry(k=100, epsilon=1.0, q=3, t=3),
            "q=3, t=3 give 13 points for k=100 answers: take a larger q or t",
        ),
        (
            lambda: mm.ProjectiveGeometry(k=100, epsilon=1.0, q=101, t=5),
            r"q\*\*t must be at most 33554432, not 101\*\*5",
        ),
        (
            lambda: mm.HadamardSketch(k=9, epsilon=1.0, width=100),
            "width must be a power of two, not 100",
        ),
        (
            lambda: mm.HadamardSketch(k=9, epsilon=1.0, rows=2**16, width=2**16),
            r"2 \* rows \* width must be at most 2\*\*24, not 8589934592: counts have that many",
        ),
        (lambda: mm.CountMeanSketch(k=9, epsilon=1.0, salt=-1), "salt must be from 0 to"),
        (lambda: mm.BasicRappor(4, f=0.0, p=0.0, q=1.0), "is not private: without f"),
        (lambda: mm.BasicRappor(4, f=0.5, p=0.7, q=0.2), "reveals nothing: f must be below 1"),
        (lambda: from_document({"name": "KRR", "k": 4}), "KRR needs epsilon"),
        (
            lambda: from_document({"name": "KRR", "k": 4, "epsilon": 1.0, "w": 3}),
            "no parameter 'w'",
        ),
    ],
)
def test_impossible_parameters_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_a_space_is_completed_from_either_number() -> None:
    assert mm.ProjectiveGeometry(k=100, epsilon=1.0, q=3).t == 5
    assert mm.ProjectiveGeometry(k=100, epsilon=1.0, t=3).q == 11


def test_a_sweep_too_long_is_refused_with_a_way_out() -> None:
    huge = mm.Subset(k=10**5, epsilon=0.5)
    with pytest.raises(ValueError, match="OUE and ProjectiveGeometry have nearly the same error"):
        huge.simulate(np.ones(10**5, np.int64))


def test_large_populations_are_drawn_at_once_and_small_ones_each() -> None:
    """Both ways of simulating projective geometry have the mean that the channel tells."""
    pgr = mm.ProjectiveGeometry(k=20, epsilon=2.0, q=3, t=4)
    rng = np.random.default_rng(5)
    for each in (3, 10**6):  # below and above k times the points of a hyperplane
        people = np.arange(20) * each
        runs = [pgr.simulate(people, rng).cells for _ in range(200)]
        mean = people @ pgr.channel.matrix()
        deviation = np.sqrt(np.diag(pgr.channel.covariance(people)) / 200)
        # 40 means of 200 draws: beyond 6 deviations with probability below 1e-7.
        assert (np.abs(np.mean(runs, axis=0) - mean) < 6 * deviation).all()
        assert (np.abs(np.mean(runs, axis=0) - mean[::-1]) > 6 * deviation).any()


def test_a_device_hands_in_chance_that_can_be_asked() -> None:
    rr = mm.KRR(k=4, epsilon=1.0)
    generator = np.random.default_rng(1)
    assert rr.encode(2, generator) in range(4)
    with pytest.raises(TypeError, match=r"random must be Secure\(\) or, .*, not 7"):
        rr.encode(2, 7)  # type: ignore[arg-type]


def test_no_copy_of_secure_shares_its_bytes() -> None:
    secure = mm.Secure()
    secure.take(1)
    for other in (copy.copy(secure), copy.deepcopy(secure), pickle.loads(pickle.dumps(secure))):
        assert other.take(64) != secure.take(64)


@pytest.mark.parametrize(("epsilon", "most"), [(0.5, 3), (1.0, 5), (2.0, 11), (3.0, 29), (4.0, 78)])
def test_randomised_response_is_the_best_up_to_the_number_of_answers_that_is_stated(
    epsilon: float, most: int
) -> None:
    """Where the best sets have one answer, Subset is KRR: up to about 1.4 (e^epsilon + 1)."""
    assert [mm.Subset(k, epsilon).w for k in (most, most + 1)] == [1, 2]
    assert most == int(math.sqrt(2) * (math.exp(epsilon) + 1))
