"""Limits of shares: the scale, the construction of Feldman and Cousins, and their exact coverage.

Nothing here is statistical: coverage is integrated or summed, not drawn.
"""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.stats

import murmurs as mm
from murmurs.channels.symmetric import Symmetric
from murmurs.inference.intervals import Scale, limits
from murmurs.mechanisms.mechanism import Mechanism
from murmurs.numerics.arrays import Floats

normal = scipy.stats.norm


def scale(constant: float, slope: float, bend: float = 0.0) -> Scale:
    return Scale(np.array(constant), np.array(slope), bend)


SCALES = {
    "level": scale(1e-4, 0.0),
    "rising": scale(1e-4, 3e-3),
    "steep": scale(1e-12, 1e-3),
    "falling": scale(2e-3, -1.9e-3),
    "sampled": scale(1e-4, 3e-3, 1e-3),
    "sampled, nearly no noise": scale(1e-10, 1e-3, 1e-3),
    "sampled, falling": scale(2e-3, -1e-3, 1e-3),
}
every_scale = pytest.mark.parametrize("name", SCALES)


def deviation(of: Scale, share: Floats) -> Floats:
    return np.sqrt(of.constant + of.slope * share - of.bend * share**2)


# The scale


@every_scale
def test_the_scale_and_back_is_the_share(name: str) -> None:
    shares = np.concatenate([[0.0], np.geomspace(1e-9, 1, 200)])
    again = SCALES[name].back(SCALES[name].of(shares))
    np.testing.assert_allclose(again, shares, rtol=1e-5, atol=1e-12)


@every_scale
def test_a_mu_and_back_is_the_mu(name: str) -> None:
    mu = np.linspace(0, float(SCALES[name].of(np.array(1.0))), 200)
    np.testing.assert_allclose(SCALES[name].of(SCALES[name].back(mu)), mu, atol=1e-6)


@every_scale
def test_the_noise_is_one_on_the_scale(name: str) -> None:
    """Its derivative is one over the standard deviation."""
    shares = np.linspace(0.01, 0.97, 60)
    step = 1e-6
    rise = SCALES[name].of(shares + step) - SCALES[name].of(shares - step)
    np.testing.assert_allclose(rise / (2 * step), 1 / deviation(SCALES[name], shares), rtol=1e-5)


@every_scale
def test_zero_is_zero_and_larger_shares_are_larger(name: str) -> None:
    shares = np.linspace(-1.5, 2.5, 400)
    mu = SCALES[name].of(shares)
    assert float(SCALES[name].of(np.array(0.0))) == 0
    assert np.isfinite(mu).all()
    assert (np.diff(mu) >= 0).all()
    assert (np.sign(mu) == np.sign(shares)).all()


@every_scale
def test_beyond_its_end_the_scale_goes_back_to_the_end(name: str) -> None:
    end = float(SCALES[name].of(np.array(1.0)))
    beyond = SCALES[name].back(np.array([end, end + 1, end + 100]))
    assert (beyond >= 1 - 1e-9).all()
    assert np.isfinite(beyond).all()


# Feldman and Cousins

NARROW = 1e-4
"""A standard deviation so small that limits never meet the end at one."""


def limits_of(seen: Floats, level: float) -> Floats:
    """Limits of a normal mean seen with standard deviation one."""
    width = Scale(np.full(len(seen), NARROW**2), np.zeros(len(seen)), 0.0)
    return limits(np.asarray(seen) * NARROW, width, level) / NARROW


@cache
def acceptance(level: float) -> tuple[Floats, Floats, Floats]:
    """The construction by brute force: for each mean, cells of x in the order of their ratio."""
    step = 0.004
    means = np.arange(0, 6, 0.01)
    x = np.arange(-9, 12, step)
    low, high = np.empty(len(means)), np.empty(len(means))
    for i, mean in enumerate(means):
        ratio = normal.logpdf(x, mean) - normal.logpdf(x, np.maximum(x, 0))
        order = np.argsort(-ratio, kind="stable")
        mass = np.cumsum(normal.pdf(x[order], mean) * step)
        kept = x[order[: np.searchsorted(mass, level) + 1]]
        low[i], high[i] = kept.min(), kept.max()
    return means, low, high


def brute_force(seen: float, level: float) -> tuple[float, float]:
    means, low, high = acceptance(level)
    inside = means[(low <= seen) & (seen <= high)]
    return float(inside.min()), float(inside.max())


@pytest.mark.parametrize("level", [0.8, 0.9, 0.95])
@pytest.mark.parametrize("seen", [-3.0, -2.0, -1.0, -0.3, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0])
def test_limits_are_those_of_the_construction(seen: float, level: float) -> None:
    found = limits_of(np.array([seen]), level)[0]
    np.testing.assert_allclose(found, brute_force(seen, level), atol=0.02)


@pytest.mark.parametrize(
    ("level", "seen", "low", "high"),
    [
        (0.95, -1.0, 0.00, 1.10),
        (0.95, 0.0, 0.00, 1.96),
        (0.95, 1.0, 0.00, 2.96),
        (0.95, 2.0, 0.35, 3.96),
        (0.90, -1.0, 0.00, 0.81),
        (0.90, 0.0, 0.00, 1.64),
        (0.90, 1.0, 0.00, 2.64),
        (0.90, 3.0, 1.37, 4.64),
    ],
)
def test_limits_are_the_known_ones(level: float, seen: float, low: float, high: float) -> None:
    """Of Feldman and Cousins (1998) for a normal mean, to their two decimals."""
    np.testing.assert_allclose(limits_of(np.array([seen]), level)[0], (low, high), atol=0.0056)


def covered(mean: float, level: float) -> float:
    """The probability of all that is seen whose limits hold the mean, by the normal integral."""

    def edge(side: int, wanted: float) -> float:
        def away(x: float) -> float:
            return float(limits_of(np.array([x]), level)[0, side]) - wanted

        return float(scipy.optimize.bisect(away, -100, mean + 12, xtol=1e-10))

    lowest = edge(1, mean) if mean > 0 else -np.inf  # no upper limit is below zero
    highest = edge(0, max(mean, 1e-9))
    return float(normal.cdf(highest - mean) - normal.cdf(lowest - mean))


@pytest.mark.parametrize("level", [0.8, 0.9, 0.95, 0.99, 0.999])
@pytest.mark.parametrize("mean", [0.0, 0.3, 1.0, 2.0, 5.0])
def test_limits_cover_with_the_same_probability_at_zero_as_far_above(
    mean: float, level: float
) -> None:
    assert covered(mean, level) == pytest.approx(level, abs=2e-4)


def test_far_from_zero_limits_are_those_of_every_textbook() -> None:
    for level in (0.5, 0.95, 0.999):
        z = normal.ppf(0.5 + level / 2)
        found = limits_of(np.array([30.0, 200.0]), level)
        np.testing.assert_allclose(found, [[30 - z, 30 + z], [200 - z, 200 + z]], rtol=1e-6)


def test_limits_rise_with_what_is_seen_and_are_never_empty() -> None:
    seen = np.linspace(-40, 40, 4001)
    for level in (0.8, 0.95, 1 - 1e-9):
        both = limits_of(seen, level)
        assert (np.diff(both, axis=0) >= -1e-12).all()
        assert (both[:, 0] >= 0).all()
        assert (both[:, 0] < both[:, 1]).all()
        assert both[0, 0] == 0


def test_a_higher_level_gives_wider_limits() -> None:
    seen = np.linspace(-4, 8, 300)
    several = [limits_of(seen, level) for level in (0.5, 0.6, 0.8, 0.95, 0.99, 0.9999)]
    for narrow, wide in itertools.pairwise(several):
        assert (wide[:, 0] <= narrow[:, 0]).all()
        assert (narrow[:, 1] < wide[:, 1]).all()


@every_scale
def test_limits_stay_within_zero_and_one(name: str) -> None:
    seen = np.linspace(-3, 4, 200)
    one = SCALES[name]
    many = Scale(np.full(200, one.constant), np.full(200, one.slope), one.bend)
    both = limits(seen, many, 0.95)
    assert (both >= 0).all()
    assert (both <= 1).all()
    assert (both[:, 0] <= both[:, 1]).all()


# Coverage of the real counts, exactly


def exact_coverage(mechanism: Mechanism[Any], n: int, share: float, target: str) -> float:
    """Sum the probabilities of all counts of support whose limits hold the share."""
    channel = mechanism.channel
    assert isinstance(channel, Symmetric)
    p, q = float(channel.hit), float(channel.miss)
    counts = np.arange(n + 1)
    if target == "population":
        law = scipy.stats.binom.pmf(counts, n, q + (p - q) * share)
    else:
        own = round(n * share)
        mine = scipy.stats.binom.pmf(np.arange(own + 1), own, p)
        law = np.convolve(mine, scipy.stats.binom.pmf(np.arange(n - own + 1), n - own, q))
    bend = 1 / n if target == "population" else 0.0
    constant, slope = (x[0] for x in channel.noise(np.full(channel.k, 1 / channel.k), n))
    per_count = Scale(np.full(n + 1, constant), np.full(n + 1, slope + bend), bend)
    both = limits((counts / n - q) / (p - q), per_count, 0.95)
    return float(law[(both[:, 0] <= share) & (share <= both[:, 1])].sum())


@pytest.mark.parametrize(
    "mechanism",
    [
        mm.OUE(k=4, epsilon=1.0),
        mm.OUE(k=4, epsilon=4.0),
        mm.SUE(k=8, epsilon=2.0),
        mm.KRR(k=20, epsilon=1.0),
        mm.Subset(k=20, epsilon=1.0),
    ],
    ids=repr,
)
@pytest.mark.parametrize("target", ["respondents", "population"])
def test_limits_of_counts_cover_exactly_as_they_say(mechanism: Mechanism[Any], target: str) -> None:
    """Counts are whole numbers, so coverage goes up and down around 95 %, by less than 2 points."""
    for share in (0.0, 0.01, 0.03, 0.1, 0.2, 0.5, 0.9):
        assert 0.93 < exact_coverage(mechanism, 300, share, target) < 0.97, share
        assert 0.94 < exact_coverage(mechanism, 3000, share, target) < 0.96, share
    assert 0.93 < exact_coverage(mechanism, 300, 1.0, target) < 0.99  # nothing lies above one
