"""Expectation maximisation with smoothing, for answers that are in order."""

from __future__ import annotations

import numpy as np

from murmurs.channels.banded import Banded
from murmurs.counts import Counts
from murmurs.estimators.estimation import ASKED, Estimate
from murmurs.estimators.methods.em import histogram_step, of_a_histogram
from murmurs.estimators.precondition import UnfitCountsError
from murmurs.numerics.arrays import Floats

MOST = 10_000
"""The most steps."""

ENOUGH = 1e-3
"""The change of the log-likelihood at which the steps end; of a square wave, times e^epsilon."""


def ems(counts: Counts, *, circular: bool = False, why: str = ASKED) -> Estimate:
    """Return the shares after steps of EM that are each smoothed with the weights 1, 2, 1.

    It is the estimator that Li et al. (2020) recommend for the square wave. Steps end when the
    log-likelihood changes by less than e^epsilon / 1000 (for other mechanisms 1 / 1000), and with
    them the smoothing, whose strength nothing else decides. It wins where shares change slowly from
    one answer to the next; it loses with few answers, with very many people, and where single
    answers stand out. Answers must be in order. On a ``circular`` scale, as of `SquareWave` with
    this option, the last one is next to the first.

    >>> from murmurs import SquareWave
    >>> people = np.random.default_rng(1).binomial(29, 0.4, 10_000)
    >>> wave = SquareWave(k=30, epsilon=1.0)
    >>> found = ems(wave.count(wave.encode_many(people, np.random.default_rng(2))))
    >>> bool(abs(found.shares @ np.arange(30) - people.mean()) < 0.5)
    True
    """
    channel = of_a_histogram(counts).channel
    if channel.factors:
        raise UnfitCountsError(
            f"answers to several questions, as in counts of {counts.mechanism}, are in no order",
            "joint",
        )
    around = circular or (isinstance(channel, Banded) and channel.circular)
    step = histogram_step(channel, counts.cells / counts.n, counts.n)
    ratio = float(channel.hit / channel.miss) if isinstance(channel, Banded) else 1.0
    shares = np.full(channel.k, 1 / channel.k)
    derivative, height = step(shares)
    for steps in range(1, MOST + 1):
        shares = smoothed(shares * derivative, circular=around)
        before = height
        derivative, height = step(shares)
        if steps > 1 and abs(height - before) < ENOUGH * ratio:
            break
    return Estimate(counts, shares, "ems", why, iterations=steps)


def smoothed(shares: Floats, *, circular: bool) -> Floats:
    """Return a law of shares averaged with their neighbours; the ends have one neighbour each.

    >>> smoothed(np.array([0.0, 0.0, 1.0, 0.0]), circular=False).round(3)
    array([0.   , 0.231, 0.462, 0.308])
    """
    if circular:
        out = 2 * shares + np.roll(shares, 1) + np.roll(shares, -1)
    else:
        weights = np.full(len(shares), 4.0)
        weights[[0, -1]] = 3
        out = np.convolve(np.pad(shares, 1), (1, 2, 1), "valid") / weights
    return np.asarray(out / out.sum())
