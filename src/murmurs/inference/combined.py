"""The test of association where a combination of answers was reported as one answer."""

from __future__ import annotations

import math

import numpy as np

from murmurs.channels.product import MOST_JOINT
from murmurs.inference.association import Association
from murmurs.inference.difference import squared_distance
from murmurs.inference.fit import Fit
from murmurs.numerics.arrays import Floats
from murmurs.numerics.simplex import plausible
from murmurs.numerics.special import chi_square_tail

_WHY = "the combination was reported as one answer"


def associate_combined(fit: Fit, sizes: tuple[int, int], pair: tuple[int, int]) -> Association:
    """Test whether answers go together, from the unbiased shares of their combinations.

    The distances of the shares from the products of their margins are compared with the noise they
    have if the answers are independent.
    """
    if math.prod(sizes) > MOST_JOINT:
        raise ValueError(
            f"{math.prod(sizes)} combinations of answers are too many for the covariance of all of "
            f"them, at most {MOST_JOINT}"
        )
    shares = fit.unbiased.reshape(sizes)
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    r, c = plausible(rows), plausible(columns)
    covariance = fit.covariance(np.outer(r, c).ravel(), "population")
    change = distances_by_shares(r, c)
    distances = (shares - np.outer(rows, columns)).ravel()
    statistic, _, _ = squared_distance(distances, change @ covariance @ change.T)
    freedom = (len(r) - 1) * (len(c) - 1)
    p_value = chi_square_tail(statistic, freedom)
    return Association(pair, fit.n, "score", _WHY, statistic, freedom, p_value)


def distances_by_shares(r: Floats, c: Floats) -> Floats:
    """Return how the distances from independence change with the shares, at independence.

    >>> distances_by_shares(np.array([0.5, 0.5]), np.array([0.5, 0.5])).sum(axis=0).tolist()
    [-1.0, -1.0, -1.0, -1.0]
    """
    m, n = len(r), len(c)
    by_row = np.kron(np.kron(np.eye(m), c[:, None]), np.ones((1, n)))
    by_column = np.kron(np.kron(r[:, None], np.ones((1, m))), np.eye(n))
    return np.asarray(np.eye(m * n) - by_row - by_column)
