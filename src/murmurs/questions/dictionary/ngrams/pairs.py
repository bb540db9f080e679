"""Which n-grams at two positions go together: their joint shares, and the threshold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from murmurs.channels.axes import CohortAxis
from murmurs.channels.tables import Tables
from murmurs.counts import Counts
from murmurs.mechanisms.hashed.cohorts import Cohorts
from murmurs.mechanisms.strings.ngrams import NGrams
from murmurs.numerics.arrays import Floats
from murmurs.numerics.special import normal_quantile

MISSED = 0.05
"""The probability that noise takes away any edge of a string whose share is at the threshold."""

STEPS, CLOSE = 100, 1e-7
"""The most steps of the joint solution, and the relative residual at which it is done."""


def delta(mechanism: NGrams, n: int, *, as_printed: bool = False) -> float:
    """Return the threshold of joint shares for n reports: Fanti et al. (2016), eq. 2.

    It is meant to be the standard error of a share from n reports, so q - p must be squared under
    the root; ``as_printed`` leaves out the square, as the paper does.

    >>> from murmurs.mechanisms import NGrams, Rappor
    >>> def make(epsilon):
    ...     return Rappor(width=128, hashes=2, cohorts=8, f=0.0, p=0.25, q=0.32)
    >>> paper = NGrams.splitting(4.39, longest=20, make=make)
    >>> round(delta(paper, 10**6), 4), round(delta(paper, 10**6, as_printed=True), 4)
    (0.0062, 0.0016)
    """
    channel = mechanism.gram.channel
    p, gain = float(channel.miss), channel.difference
    if as_printed:
        return math.sqrt(p * (1 - p) / (gain * max(n, 1)))
    return math.sqrt(p * (1 - p) / max(n, 1)) / gain


@dataclass(frozen=True, eq=False)
class GramSide:
    """The n-grams of a position and all others together, as they enter joint shares.

    ``held[c]`` says which buckets each is in, in cohort c; ``grams[c]`` how many two of them share.
    """

    axis: CohortAxis
    inverse: Floats
    grams: Floats

    @classmethod
    def of(cls, mechanism: Cohorts[object], texts: Sequence[str]) -> GramSide:
        """Return the side of these n-grams."""
        axis = CohortAxis(mechanism.channel_for(mechanism.layout_of(texts), True))
        rows = range(mechanism.cohorts)
        return cls(
            axis, np.stack([axis.q(c) for c in rows]), np.stack([axis.gram(c) for c in rows])
        )

    @property
    def listed(self) -> int:
        """The number of n-grams, without the one answer for all others."""
        return self.axis.k - 1


def joint_shares(table: Counts, one: GramSide, two: GramSide) -> Floats:
    """Return unbiased joint shares of n-grams at two positions: least squares over all cohorts.

    The last row and the last column are those of all other n-grams. The normal equations are those
    of `murmurs.channels.product.ProductChannel`; conjugate gradients solve them for any number of
    n-grams.
    """
    channel = cast(Tables, table.mechanism.channel)
    n = max(table.n, 1)
    parts = channel.groups(table.cells) / n
    wanted = np.einsum("cax,cxy,cby->ab", one.inverse, table.cells / n, two.inverse, optimize=True)

    def applied(shares: Floats) -> Floats:
        both = one.grams @ shares @ two.grams
        return np.asarray(np.tensordot(parts, both, axes=1))

    diagonals = [np.einsum("caa->ca", side.grams) for side in (one, two)]
    scale = np.einsum("c,ca,cb->ab", parts, *diagonals)
    scale = np.maximum(scale, 1e-12)
    out = np.zeros_like(wanted)
    left = wanted
    direction = step = left / scale
    size = float((left * step).sum())
    first = size
    for _ in range(STEPS):
        if size <= CLOSE**2 * first:
            break
        image = applied(direction)
        length = size / float((direction * image).sum())
        out, left = out + length * direction, left - length * image
        step = left / scale
        size, before = float((left * step).sum()), size
        direction = step + size / before * direction
    return np.asarray(out, np.float64)


def joined(
    asked: NGrams, table: Counts, one: GramSide, two: GramSide, threshold: float, as_printed: bool
) -> tuple[NDArray[np.bool_], Floats]:
    """Return which n-grams at two positions go together, and the evidence that they do.

    The evidence is a log-likelihood ratio: that a string of the smallest share that is common at a
    position has both n-grams, to that none has.
    """
    kept = slice(0, one.listed), slice(0, two.listed)
    if table.n == 0:
        return np.full((one.listed, two.listed), not as_printed), np.zeros((one.listed, two.listed))
    shares = joint_shares(table, one, two)[kept]
    error = error_of_absent_gram(asked.gram, 1.0) ** 2 / math.sqrt(table.n)
    if as_printed:
        return shares > threshold, shares
    lower = normal_quantile(1 - MISSED / len(asked.channel.pairs))
    reports = table.n * (asked.positions - 1)
    smallest = 4 * error_of_absent_gram(asked.gram, reports)
    weights = (np.minimum(shares, smallest) * smallest - smallest**2 / 2) / error**2
    return shares > threshold - lower * error, weights


def error_of_absent_gram(mechanism: Cohorts[Any], n: float) -> float:
    """Return the standard error of the share of an absent n-gram or string, for n reports."""
    channel = mechanism.channel
    law = float(channel.miss) + channel.difference * float(channel.filled)
    one = law * (1 - law) / (channel.difference**2 * mechanism.hashes)
    return math.sqrt(one / max(n, 1e-9))
