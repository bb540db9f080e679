"""The test of association where a combination of answers was reported as one answer."""

from __future__ import annotations

import math

import numpy as np

from murmurs.channels.product import MOST_JOINT
from murmurs.counts import Counts
from murmurs.inference.association import FEW, FEW_PART, VERY_FEW, Association
from murmurs.inference.bootstrap import can_draw, independent, simulated_p_value
from murmurs.inference.difference import squared_distance
from murmurs.inference.fit import Fit
from murmurs.inference.fitting import fitted
from murmurs.inference.grouped import Grouped
from murmurs.numerics.arrays import Floats
from murmurs.numerics.simplex import plausible
from murmurs.numerics.special import chi_square_tail

_WHY = "the combination was reported as one answer"
_FEW = "few reports are expected for some combinations"


def associate_combined(fit: Fit, sizes: tuple[int, int], pair: tuple[int, int]) -> Association:
    """Test whether answers go together, from the unbiased shares of their combinations.

    The distances of the shares from the products of their margins are compared with the noise they
    have if the answers are independent. If few reports are expected for some combinations, the
    distance is ranked among those of counts that are drawn with independent answers.
    """
    if math.prod(sizes) > MOST_JOINT:
        raise ValueError(
            f"{math.prod(sizes)} combinations of answers are too many for the covariance of all of "
            f"them, at most {MOST_JOINT}"
        )
    own = fit.without_collisions()
    if own is None:
        raise ValueError(
            f"combinations of answers share buckets of {fit.counts.mechanism} and cannot be told "
            "apart: ask with more rows or buckets"
        )
    statistic = _statistic(own, sizes)
    freedom = (sizes[0] - 1) * (sizes[1] - 1)
    law = _independent(own, sizes)
    if not _is_rough(own, law):
        p_value = chi_square_tail(statistic, freedom)
        return Association(pair, fit.n, "score", _WHY, statistic, freedom, p_value)
    if not can_draw(fit.counts, len(law)):
        p_value, notes = chi_square_tail(statistic, freedom), (f"{_FEW}, so the p-value is rough",)
        why = f"{_WHY}, and there are too many to simulate"
        return Association(pair, fit.n, "score", why, statistic, freedom, p_value, None, notes)
    p_value, drawn = simulated_p_value(
        fit.counts, law, lambda counts: _statistic(_again(own, counts), sizes), statistic
    )
    why = f"{_WHY}, and {_FEW}"
    return Association(pair, fit.n, "bootstrap", why, statistic, freedom, p_value, drawn)


def _statistic(fit: Fit, sizes: tuple[int, int]) -> float:
    """Return the squared distance from independence in units of its noise there."""
    shares = fit.unbiased.reshape(sizes)
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    r, c = plausible(rows), plausible(columns)
    covariance = fit.covariance(np.outer(r, c).ravel(), "population")
    change = distances_by_shares(r, c)
    distances = (shares - np.outer(rows, columns)).ravel()
    return squared_distance(distances, change @ covariance @ change.T)[0]


def _again(fit: Fit, counts: Counts) -> Fit:
    """Return the fit of other counts, with the same groups."""
    found = fitted(counts)
    if isinstance(fit, Grouped):
        found = Grouped(counts, found, fit.groups, plausible(found.unbiased))
    return found.without_collisions() or found


def _independent(fit: Fit, sizes: tuple[int, int]) -> Floats:
    """Return the shares of all answers if the two questions are independent, with their margins."""
    shares = fit.unbiased.reshape(sizes)
    r, c = plausible(shares.sum(axis=1)), plausible(shares.sum(axis=0))
    product = independent(r, c, fit.counts.people)
    if not isinstance(fit, Grouped):
        return product
    sums = np.maximum(np.bincount(fit.groups, fit.shares), 1e-12)
    spread = (fit.shares + 1e-12) * (product / sums)[fit.groups]
    return np.asarray(spread / spread.sum())


def _is_rough(fit: Fit, law: Floats) -> bool:
    """Return whether few reports are expected to support some answers (Cochran's rule)."""
    counted = fitted(fit.counts)
    if counted.support is not None:
        _, hit, miss = counted.support
        expected = fit.n * (float(miss) + float(hit - miss) * law)
    elif fit.channel.is_histogram and np.prod(fit.channel.cells) <= len(law):
        expected = fit.n * fit.channel.mean(law).ravel()
    else:
        return False  # each answer rests on many cells
    return bool((expected < VERY_FEW).any() or (expected < FEW).mean() > FEW_PART)


def distances_by_shares(r: Floats, c: Floats) -> Floats:
    """Return how the distances from independence change with the shares, at independence.

    >>> distances_by_shares(np.array([0.5, 0.5]), np.array([0.5, 0.5])).sum(axis=0).tolist()
    [-1.0, -1.0, -1.0, -1.0]
    """
    m, n = len(r), len(c)
    by_row = np.kron(np.kron(np.eye(m), c[:, None]), np.ones((1, n)))
    by_column = np.kron(np.kron(r[:, None], np.ones((1, m))), np.eye(n))
    return np.asarray(np.eye(m * n) - by_row - by_column)
