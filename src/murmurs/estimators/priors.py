"""The prior distributions of shares that empirical Bayes starts from."""

from __future__ import annotations

import math

import numpy as np

from murmurs.numerics.arrays import TINY, Floats

UNIFORM, MORE_UNIFORM = 0.3, 0.63
"""Prior weight of a uniform population: for few answers, and what very many add to it."""

UNIFORM_HALFWAY = 80
"""Number of answers at which half of that is added."""

SPARSE = 5 / 7
"""Part of the remaining weight for distributions with most answers absent, for many answers."""

SPARSE_HALFWAY = 10
"""Number of answers at which that part is halved."""

SIGMAS = np.array([0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8])

PARTS = 7
"""Number of parts of the answers, from one answer to three in five, that have nearly everything."""

SMALL, SMALL_SHARES = 0.2, (1.0, 2.0)
"""Part of the weight of those distributions for the ones in which the other answers are not absent
but small, and their mean shares, in standard errors."""

_ODDS, _FINER = np.arange(-45.0, 45.05, 0.1), np.arange(-1.0, 1.0, 0.008)
"""Logarithms of odds between which a density is summed up, and those around its mean."""


def plausible_laws(
    mean: float, n: float, noise: float, left: Floats, right: Floats
) -> tuple[Floats, Floats]:
    """Return the prior weights of the distributions, and their masses between the limits."""
    largest = min(max(1.0, mean * mean / noise), 1e8)
    # From where the density is flat at a share of one.
    alphas = np.exp(np.arange(math.log(mean / (1 - mean)), math.log(largest) + 0.65, 0.65))
    dirichlet_spread = mean * (1 - mean) / (1 + alphas / mean)
    lognormal_spread = mean**2 * np.minimum(np.expm1(SIGMAS**2), 1 / mean - 1)
    spread = np.concatenate([dirichlet_spread, lognormal_spread])
    smooth = np.sqrt(spread / (noise + spread) + TINY)
    # A uniform population of n people gives shares like a Dirichlet with a = n times the mean.
    all_alphas = np.concatenate([[max(n * mean, 1e-3)], alphas])
    sparse, absent = sparse_laws(mean, left, right)
    small, present = small_laws(mean, math.sqrt(noise), left, right)
    # The more cells there are, the more of them stand out by chance, even if all shares are equal.
    uniform = UNIFORM + MORE_UNIFORM / (1 + UNIFORM_HALFWAY * mean)
    uneven = (1 - uniform) * SPARSE / (1 + SPARSE_HALFWAY * mean)
    of_small = SMALL * uneven if len(small) else 0.0
    prior = [
        np.array([uniform]),
        (1 - uniform - uneven) * smooth / smooth.sum(),
        (uneven - of_small) * absent / absent.sum(),
        of_small * present / max(float(present.sum()), TINY),
    ]
    masses = [
        beta_masses(all_alphas, mean, left, right),
        lognormal_masses(mean, left, right),
        sparse,
        small,
    ]
    return np.concatenate(prior), np.concatenate(masses)


def sparse_laws(mean: float, left: Floats, right: Floats) -> tuple[Floats, Floats]:
    """Return the masses of distributions in which only a part of the answers occurs at all.

    The part goes from one answer to three in five; the shares of those that occur are Dirichlet
    with a = 1, or much alike (a = 8). Also returned are relative weights, the same for each part.
    """
    masses, weights = [], []
    for part in np.geomspace(mean, 0.6, PARTS):
        if mean / part > 0.97:  # one answer has everything
            present = np.zeros((1, len(left)))
            present[0, -1] = float(right[-1] >= 1)
        else:
            present = beta_masses(np.array([1.0, 8.0]), mean / part, left, right)
        present *= part
        present[:, 0] += 1 - part
        masses.append(present)
        weights.append(np.full(len(present), 1 / len(present)))
    return np.concatenate(masses), np.concatenate(weights)


def small_laws(mean: float, error: float, left: Floats, right: Floats) -> tuple[Floats, Floats]:
    """Return the masses of distributions in which the other answers have small shares.

    They differ from those of `sparse_laws` in that the shares of the others are exponential, with a
    mean of one or two standard errors: too small to be seen one by one, but not together.
    """
    masses, weights = [np.zeros((0, len(left)))], [np.zeros(0)]
    for small in (times * error for times in SMALL_SHARES):
        others = None  # made where they are needed first, as they are the same for each part
        for part in np.geomspace(mean, 0.6, PARTS):
            large = (mean - (1 - part) * small) / part
            if not 3 * small < large < 1:
                continue
            alike = np.array([1.0, 8.0] if mean / part <= 0.97 else [8.0])
            if others is None:
                others = beta_masses(np.array([1.0]), small, left, right)
            masses.append(part * beta_masses(alike, large, left, right) + (1 - part) * others)
            weights.append(np.full(len(alike), 1 / len(alike)))
    return np.concatenate(masses), np.concatenate(weights)


def beta_masses(alphas: Floats, mean: float, left: Floats, right: Floats) -> Floats:
    """Return the masses of Beta(a, a (1/mean - 1)) between limits, one row for each a.

    The integral is over the logarithm of the odds: it has no pole, neither at zero nor at one.
    """
    centre = math.log(mean / (1 - mean))
    odds = np.unique(np.concatenate([_ODDS, centre + _FINER]))
    doubts = np.logaddexp(0, odds)
    widths = np.diff(odds)
    odds_left, odds_right = _log_odds(left), _log_odds(right)
    out = np.empty((len(alphas), len(left)))
    for i, a in enumerate(alphas):
        b = a * (1 / mean - 1)
        if a > 400:  # nearly normal
            deviation = math.sqrt(mean * (1 - mean) / (a + b + 1))
            out[i] = _between((left - mean) / deviation, (right - mean) / deviation, left)
            continue
        logs = a * odds - (a + b) * doubts
        before, after = a * odds[0] - math.log(a), -b * odds[-1] - math.log(b)  # the masses outside
        top = max(float(logs.max()), before, after)
        density = np.exp(logs - top)
        steps = 0.5 * (density[1:] + density[:-1]) * widths
        below = math.exp(before - top) + np.concatenate([[0.0], np.cumsum(steps)])
        below /= below[-1] + math.exp(after - top)

        def at(places: Floats, a: float = a, below: Floats = below) -> Floats:
            first = np.exp(np.minimum(a * (places - odds[0]), 0)) * below[0]
            return np.where(places < odds[0], first, np.interp(places, odds, below, right=1.0))

        out[i] = at(odds_right) - np.where(left <= 0, 0, at(odds_left))
    return np.maximum(out, 0)


def lognormal_masses(mean: float, left: Floats, right: Floats) -> Floats:
    """Return the masses of log-normals with that mean between limits, one row for each sigma."""
    log_left, log_right = _logarithms(left), _logarithms(right)
    out = [
        _between(
            (log_left - math.log(mean) + 0.5 * s * s) / s,
            (log_right - math.log(mean) + 0.5 * s * s) / s,
            left,
        )
        for s in SIGMAS
    ]
    return np.maximum(np.stack(out), 0)


def _logarithms(shares: Floats) -> Floats:
    return np.log(np.maximum(shares, TINY))


def _log_odds(shares: Floats) -> Floats:
    return _logarithms(shares) - _logarithms(1 - shares)


def _between(low: Floats, high: Floats, left: Floats) -> Floats:
    """Return normal masses; a limit at a share of 0 includes everything below it."""
    return _normal(high) - np.where(left <= 0, 0, _normal(low))


def _normal(values: Floats) -> Floats:
    """Return the normal distribution function, to 2e-4: enough for a prior."""
    v = np.clip(values, -9, 9)
    return np.asarray(0.5 * (1 + np.tanh(0.7978845608 * (v + 0.044715 * v**3))))
