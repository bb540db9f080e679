"""Newton's method on the simplex for a mixture likelihood, with a curvature from some reports."""

from __future__ import annotations

import numpy as np

from murmurs.estimators.methods.em import Ascent, Progress, Step, climb
from murmurs.numerics.arrays import Floats

FIRST = 5
"""Evaluations of EM before the first step of Newton's method."""

SWEEPS = 50
"""Most sweeps over the shares to maximise the quadratic model."""


def newton(
    step: Step,
    rows: Floats,
    start: Floats,
    n: int,
    tolerance: float,
    most: int,
    progress: Progress | None,
) -> Ascent:
    """Maximise a mixture likelihood over the simplex, with the certificate of `climb`.

    ``rows`` are the likelihoods of some of the reports, from which the second derivatives are
    estimated; the first ones come from all reports, so the maximum found is that of all reports.
    Each step maximises the quadratic model over shares that are not negative (Kim, Carbonetto,
    Stephens and Anitescu, 2020) and is halved until the likelihood increases. For up to some
    hundred shares this takes far fewer evaluations than EM.
    """
    begun = climb(step, start, n, tolerance, min(most, FIRST), progress)
    if begun.converged or begun.evaluations >= most:
        return begun
    shares, used = begun.shares, begun.evaluations
    derivative, height = step(shares)
    used += 1
    while True:
        gap = n * (float(derivative.max()) - 1)
        if progress is not None:
            progress(used, gap)
        if gap <= tolerance or used >= most:
            return Ascent(shares, used, gap, gap <= tolerance)
        scaled = rows / (rows @ shares)[:, None]
        curvature = scaled.T @ scaled / len(rows)
        curvature += 1e-6 * np.trace(curvature) / len(shares) * np.eye(len(shares))
        target = best_above_zero(shares, derivative - 1, curvature)
        target /= target.sum()
        for length in (1.0, 0.5, 0.25, 0.1, 0.02):
            candidate = shares + length * (target - shares)
            there = step(candidate)
            used += 1
            if there[1] >= height - 1e-13 * abs(height) or used >= most:
                break
        else:  # the curvature of some reports misleads: go on with all of them
            left = climb(step, _inside(shares), n, tolerance, max(1, most - used), progress)
            return Ascent(left.shares, used + left.evaluations, left.gap, left.converged)
        if there[1] < height - 1e-13 * abs(height):
            return Ascent(shares, used, gap, False)
        shares, (derivative, height) = candidate, there


def best_above_zero(start: Floats, slope: Floats, curvature: Floats) -> Floats:
    """Return the maximum of slope'(y - x) - (y - x)'C(y - x) / 2 over y >= 0, by coordinates.

    >>> best_above_zero(np.array([0.5, 0.5]), np.array([0.25, -1.0]), np.eye(2))
    array([0.75, 0.  ])
    """
    out, left = start.copy(), slope.copy()
    own = np.diag(curvature)
    for _ in range(SWEEPS):
        largest = 0.0
        for j in np.flatnonzero((out > 0) | (left > 0)).tolist():
            move = max(-out[j], left[j] / own[j])
            if move:
                out[j] += move
                left -= move * curvature[:, j]
                largest = max(largest, abs(move))
        if largest < 1e-7:
            break
    return out


def _inside(shares: Floats) -> Floats:
    """Return shares none of which is zero, where EM would leave it."""
    return np.asarray(0.99 * shares + 0.01 / len(shares))
