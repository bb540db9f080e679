"""How uncertain the maximum likelihood of reports is: the information in the reports."""

from __future__ import annotations

import math

import numpy as np

from murmurs.boundary.checks import shown
from murmurs.estimators.methods.report_likelihood import Telling
from murmurs.estimators.steps import ENTRIES, rows_of
from murmurs.numerics.arrays import Floats

MOST_COMBINATIONS = 4096
"""The most combinations of answers whose information matrix is computed."""

NOBODY = 0.1
"""People below which an answer counts as one that nobody holds."""


def information(mechanism: Telling, reports: object, shares: object) -> Floats:
    """Return the observed information: minus the second derivatives of the log-likelihood.

    ``shares`` are those of all combinations of answers. With l the likelihoods of a report given
    each of them, the matrix is the sum of l l' / (l' shares)^2 over the reports.

    >>> import murmurs as mm
    >>> rr = mm.KRR(k=2, epsilon=1.0)
    >>> information(rr, [0, 0, 0, 1], [0.75, 0.25]).shape
    (2, 2)
    """
    pieces = mechanism.evidence(reports)
    answers = tuple(piece.k for piece in pieces)
    k, n = math.prod(answers), len(pieces[0])
    law = np.asarray(shares, np.float64).ravel()
    if len(law) != k:
        raise ValueError(f"there are {len(law)} shares, but {k} combinations of answers")
    if not (law.min() >= 0 and abs(law.sum() - 1) < 1e-6):
        raise ValueError(f"shares must be at least 0 and sum to 1, not {shown(law.tolist())}")
    if k > MOST_COMBINATIONS:
        raise ValueError(
            f"the information on {k} combinations of answers is too large a matrix: combine "
            f"answers, for at most {MOST_COMBINATIONS}"
        )
    out, size = np.zeros((k, k)), max(1, ENTRIES // k)
    for start in range(0, n, size):
        rows = rows_of(pieces, slice(start, start + size))
        rows /= (rows @ law)[:, None]
        out += rows.T @ rows
    return out


def likelihood_covariance(mechanism: Telling, reports: object, shares: object) -> Floats:
    """Return the covariance of the most likely shares, I^-1 - p p' / n.

    I is the information at the most likely shares p, and the second term is due to their sum being
    one (it is missing in Fanti, Pihur and Erlingsson, 2016, section 3.3). It holds for many
    reports, and for answers that somebody holds: an answer whose most likely share is below a tenth
    of a person is taken as one that nobody holds, and its variance is zero. The intervals of an
    `Estimate` need no such assumption.

    >>> import murmurs as mm
    >>> rr = mm.KRR(k=2, epsilon=1.0)
    >>> reports = [0] * 600 + [1] * 400
    >>> estimate = mm.estimators.report_likelihood(rr, reports, tolerance=1e-9)
    >>> found = likelihood_covariance(rr, reports, estimate.shares)
    >>> (found.sum(axis=0).round(6) + 0).tolist(), round(float(found[0, 0]) ** 0.5, 4)
    ([0.0, 0.0], 0.0335)
    """
    matrix = information(mechanism, reports, shares)
    law = np.asarray(shares, np.float64).ravel()
    n = float(law @ matrix @ law)
    held = np.flatnonzero(law * n >= NOBODY)
    inner = matrix[np.ix_(held, held)]
    scale = np.sqrt(np.diag(inner))
    try:
        inverse = np.linalg.inv(inner / np.outer(scale, scale)) / np.outer(scale, scale)
    except np.linalg.LinAlgError:
        raise ValueError(
            "some combinations of answers cannot be told apart by these reports: combine them, or "
            "list fewer candidates"
        ) from None
    out = np.zeros_like(matrix)
    out[np.ix_(held, held)] = inverse - np.outer(law[held], law[held]) / n
    return out
