"""Windows over ordered answers: the inverse, and the noise of sums of shares."""

from __future__ import annotations

import numpy as np
import pytest

import murmurs as mm
from murmurs.channels.matrix import MatrixChannel
from murmurs.numerics.arrays import Floats

WAVES = [
    mm.SquareWave(k=12, epsilon=0.5),
    mm.SquareWave(k=30, epsilon=2.0),
    mm.SquareWave(k=9, epsilon=1.0, b=9),
    mm.SquareWave(k=5, epsilon=3.0, b=0),
    mm.SquareWave(k=24, epsilon=1.0, circular=True),
]
every = pytest.mark.parametrize("wave", WAVES, ids=repr)


@every
def test_it_is_inverted_as_a_matrix_without_structure(wave: mm.SquareWave) -> None:
    """SVD of the whole law, weighted as equal shares demand: the code of designs."""
    columns = [wave.channel.law_of(x) for x in range(wave.k)]
    plain = MatrixChannel(tuple(zip(*columns, strict=True)))
    np.testing.assert_allclose(wave.channel.lever(1), plain.lever(1), atol=1e-9)
    wrong = MatrixChannel(tuple(zip(*columns[::-1], strict=True)))
    assert np.abs(wave.channel.lever(1) - wrong.lever(1)).max() > 1e-3


@every
def test_no_unbiased_sum_has_a_smaller_variance_if_shares_are_equal(wave: mm.SquareWave) -> None:
    """Anything that may be added to an unbiased sum without a bias makes it noisier."""
    channel, equal = wave.channel, np.full(wave.k, 1 / wave.k)
    law = channel.mean(equal)
    row = channel.functional(np.arange(wave.k, dtype=float)[None], 1)
    np.testing.assert_allclose(row @ channel.matrix().T, np.arange(wave.k)[None], atol=1e-9)
    free = np.linalg.svd(channel.matrix())[2][wave.k :]  # what no answer changes on average
    assert len(free) == wave.report_count - wave.k
    np.testing.assert_allclose(free @ (law * row[0]), 0, atol=1e-9)
    if len(free):  # the mean of the reports themselves, as in the paper, is not the best
        plain = (np.arange(wave.report_count) - wave.b) / float(wave.truth_probability)
        assert variance(channel.matrix(), plain, equal) > variance(channel.matrix(), row[0], equal)


def variance(law: Floats, functional: Floats, shares: Floats) -> float:
    """Of one report, given the answers, by its definition."""
    return float(shares @ (law @ functional**2 - (law @ functional) ** 2))


@every
def test_the_variance_of_a_sum_is_that_of_its_definition(wave: mm.SquareWave) -> None:
    shares = np.random.default_rng(1).dirichlet(np.ones(wave.k))
    rows = np.stack([np.arange(wave.k), np.arange(wave.k) < 3]).astype(float)
    functional = wave.channel.functional(rows, 100)
    noise = wave.channel.functional_covariance(functional, shares, 100)
    for own, row in zip(np.diag(noise), functional, strict=True):
        assert own == pytest.approx(variance(wave.channel.matrix(), row, shares) / 100)


def duchi(t: Floats, epsilon: float) -> Floats:
    """Duchi et al. (2018): plus or minus (e^epsilon + 1) / (e^epsilon - 1), for t in -1..1."""
    return np.asarray(1 / np.tanh(epsilon / 2) ** 2 - t**2)


def piecewise(t: Floats, epsilon: float) -> Floats:
    """Wang et al. (2019), lemma 1."""
    half = np.exp(epsilon / 2)
    return np.asarray(t**2 / (half - 1) + (half + 3) / (3 * (half - 1) ** 2))


def hybrid(t: Floats, epsilon: float) -> Floats:
    """Wang et al. (2019), equation 7: the piecewise mechanism with this chance, or Duchi's."""
    part = 1 - np.exp(-epsilon / 2) if epsilon > 0.61 else 0.0
    return np.asarray(part * piecewise(t, epsilon) + (1 - part) * duchi(t, epsilon))


@pytest.mark.parametrize("epsilon", [0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
@pytest.mark.parametrize("k", [12, 40, 101])
def test_a_mean_is_as_exact_as_from_mechanisms_for_means(k: int, epsilon: float) -> None:
    """At most 3 % above the best of three for the law at hand, by the exact variances of all."""
    channel, place = mm.SquareWave(k=k, epsilon=epsilon).channel, (np.arange(k) + 0.5) / k
    row = channel.functional(place[None], 1)
    laws = {
        "flat": np.ones(k),
        "bell": np.exp(-(((place - 0.4) / 0.15) ** 2) / 2),
        "falling": np.exp(-6 * place),
        "beta": place * (1 - place) ** 4,
    }
    for name, law in laws.items():
        shares = law / law.sum()
        own = np.sqrt(channel.functional_covariance(row, shares, 1)[0, 0])
        others = [
            np.sqrt(f(2 * place - 1, epsilon) @ shares) / 2 for f in (duchi, piecewise, hybrid)
        ]
        assert own <= 1.03 * min(others), (name, own / min(others))
        wide = mm.SquareWave(k=k, epsilon=epsilon, b=k).channel  # the window matters
        worse = wide.functional_covariance(wide.functional(place[None], 1), shares, 1)[0, 0]
        assert np.sqrt(worse) > 1.03 * min(others)
