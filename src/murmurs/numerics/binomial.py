"""Binomial probabilities and tails on whole arrays, without SciPy.

Probabilities are those of Loader (2000), Fast and accurate computation of binomial probabilities:
Stirling's formula with its error, and deviances in place of logarithms of large numbers. Tails are
sums of products of ratios of neighbouring probabilities. They are meant for numbers whose standard
deviation is at most some tens; n may be as large as 2^62.
"""

from __future__ import annotations

import math

import numpy as np

from murmurs.numerics.arrays import Floats

_SMALL = np.array(
    [0.0]
    + [
        math.lgamma(x + 1) - (x + 0.5) * math.log(x) + x - 0.5 * math.log(2 * math.pi)
        for x in range(1, 16)
    ]
)
"""The errors of Stirling's formula for log(x!), below 16; that of 0 is not used."""

MOST_DEVIATION = 40.0
"""The largest standard deviation of numbers near their mean whose tails are exact."""


def masses(x: Floats, n: Floats, chance: Floats, rest: Floats) -> Floats:
    """Return the probability of exactly x among n, each with this chance; ``rest`` is 1 - chance.

    Both are given, so that neither is rounded to zero. Beyond 0..n the probability is zero.

    >>> masses(np.array([0.0, 2.0]), np.array(4.0), np.array(0.5), np.array(0.5))
    array([0.0625, 0.375 ])
    """
    x, n, chance, rest = np.broadcast_arrays(x, n, chance, rest)
    left = n - x
    inside = (x > 0) & (left > 0) & (chance > 0) & (rest > 0)
    own, others = np.where(inside, x, 1.0), np.where(inside, left, 1.0)
    p, q = np.where(inside, chance, 0.5), np.where(inside, rest, 0.5)
    total = own + others
    # x - n p, from the smaller of the two chances so that large numbers do not cancel
    excess = np.where(p <= q, own - total * p, total * q - others)
    log = _stirling(total) - _stirling(own) - _stirling(others)
    log -= _deviance(excess, total * p) + _deviance(-excess, total * q)
    within = np.exp(log) * np.sqrt(total / (2 * math.pi * own * others))
    with np.errstate(divide="ignore", invalid="ignore"):
        none = np.where(n > 0, np.exp(n * _log(rest, chance)), 1.0)
        all_ = np.where(n > 0, np.exp(n * _log(chance, rest)), 1.0)
    ends = np.where(x == 0, none, np.where(left == 0, all_, 0.0))
    return np.asarray(np.where(inside, within, ends))


def tails(x: Floats, n: Floats, chance: Floats, rest: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the probabilities of less than x, of exactly x and of more than x.

    >>> [float(p) for p in tails(np.array(1.0), np.array(3.0), np.array(0.5), np.array(0.5))]
    [0.125, 0.375, 0.5]
    """
    x, n, chance, rest = np.broadcast_arrays(x, n, chance, rest)
    at = masses(x, n, chance, rest)
    is_low = np.where(chance <= rest, x <= n * chance, n - x >= n * rest)
    # Sum away from the mean: turned round, the tail that is summed is always the lower one.
    own, others = np.where(is_low, x, n - x), np.where(is_low, n - x, x)
    p, q = np.where(is_low, chance, rest), np.where(is_low, rest, chance)
    deviation = np.sqrt(float((n * chance * rest).max(initial=0.0)))
    steps = np.arange(int(9 * min(deviation, MOST_DEVIATION)) + 25)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        odds = np.where(p > 0, q / p, 0.0)[..., None]
        ratios = np.maximum(own[..., None] - steps, 0) / (others[..., None] + steps + 1) * odds
        sums = np.minimum(ratios, 1.0).cumprod(axis=-1).sum(axis=-1)
    far = at * sums
    near = np.maximum(1 - far - at, 0.0)
    return np.where(is_low, far, near), at, np.where(is_low, near, far)


def _stirling(x: Floats) -> Floats:
    """Return the error of Stirling's formula for log(x!)."""
    large = np.maximum(x, 16.0)
    square = 1 / (large * large)
    series = (1 / 12 - (1 / 360 - (1 / 1260 - square / 1680) * square) * square) / large
    return np.asarray(np.where(x < 16, _SMALL[np.minimum(x, 15).astype(np.int64)], series))


def _deviance(excess: Floats, mean: Floats) -> Floats:
    """Return x log(x / mean) + mean - x, for x = mean + excess above zero."""
    part = excess / mean
    return np.asarray(mean * ((1 + part) * np.log1p(np.maximum(part, -1 + 1e-300)) - part))


def _log(chance: Floats, rest: Floats) -> Floats:
    """Return the logarithm of a chance, from the rest if that is smaller."""
    return np.asarray(np.where(rest < 0.5, np.log1p(-np.minimum(rest, 0.5)), np.log(chance)))
