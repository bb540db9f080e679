"""The distributions of ratios to independence that shrinkage of joint tables starts from.

The ratio of a cell is its share divided by what independent answers would give. Masses are listed
as: cells that are empty, cells exactly as under independence, and then the bins between `edges`.
All distributions have the mean one.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from murmurs.numerics.arrays import TINY, Floats

INDEPENDENT, SMOOTH, SPARSE, PEAKED = 0.4, 0.27, 0.24, 0.09
"""Prior weights: independence; Gamma; empty cells and Gamma; nearly independent with peaks."""

BELOW = np.concatenate([[0.0], np.geomspace(0.02, 1 / 1.06, 28)])
GROWTH, ABOVE = (150 / 1.06) ** (1 / 29), 30
"""The bins above one grow by this factor; there are so many at least, up to a ratio of 150."""


def edges(largest: float) -> Floats:
    """Return the limits of the bins, up to the largest ratio or beyond."""
    return _edges(max(0, math.ceil(math.log(max(largest, 150) / 150) / math.log(GROWTH))))


def _edges(more: int) -> Floats:
    return np.concatenate([BELOW, 1.06 * GROWTH ** np.arange(ABOVE + more)])


def ratio_laws(limits: Floats) -> tuple[Floats, Floats]:
    """Return the prior weights of the distributions, and their masses: one row for each."""
    return _laws(len(limits) - len(BELOW) - ABOVE)


@cache
def _laws(more: int) -> tuple[Floats, Floats]:
    limits = _edges(more)

    def gamma(shape: float, shift: float = 0.0, scale: float = 1.0, part: float = 1.0) -> Floats:
        below = gamma_below(shape, np.maximum(limits - shift, 0) / scale)
        below[-1] = 1.0
        return np.concatenate([[0.0, 0.0], part * np.diff(below)])

    independent = np.zeros((1, len(limits) + 1))
    independent[0, 1] = 1.0
    smooth = [gamma(shape) for shape in np.geomspace(0.05, 200, 13)]
    sparse, peaked = [], []
    for part in np.geomspace(0.02, 0.7, 7).tolist():
        for shape in (1.0, 8.0):
            law = gamma(shape, scale=1 / part, part=part)
            law[0] = 1 - part
            sparse.append(law)
    for lost in (0.03, 0.1, 0.2, 0.4):  # by all cells, to the peaks
        for part in (0.02, 0.05, 0.1, 0.25):
            law = gamma(1.0, shift=1 - lost, scale=lost / part, part=part)
            law[1 + np.searchsorted(limits, 1 - lost)] += 1 - part
            peaked.append(law)
    groups = (
        (INDEPENDENT, independent),
        (SMOOTH, np.array(smooth)),
        (SPARSE, np.array(sparse)),
        (PEAKED, np.array(peaked)),
    )
    weights = np.concatenate([np.full(len(laws), weight / len(laws)) for weight, laws in groups])
    return weights, np.concatenate([laws for _, laws in groups])


def gamma_below(shape: float, values: Floats) -> Floats:
    """Return the mass of the Gamma distribution with the mean one below each value.

    >>> gamma_below(1.0, np.array([0.0, 1.0, 5.0])).round(3)
    array([0.   , 0.632, 0.993])
    """
    y = np.unique(np.concatenate([np.arange(-45.0, 8.0, 0.05), np.arange(-1.0, 1.0, 0.002)]))
    logs = shape * (y - np.exp(y) + 1)  # of the density of the logarithm
    before = shape * (y[0] + 1) - math.log(shape)  # the mass below the first point
    density = np.exp(logs)
    steps = 0.5 * (density[1:] + density[:-1]) * np.diff(y)
    below = math.exp(before) + np.concatenate([[0.0], np.cumsum(steps)])
    below /= below[-1]
    at = np.log(np.maximum(values, TINY))
    first = below[0] * np.exp(np.minimum(shape * (at - y[0]), 0))
    return np.where(values <= 0, 0.0, np.where(at < y[0], first, np.interp(at, y, below)))
