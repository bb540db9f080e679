"""Least squares through the channel, unconstrained or on the simplex."""

from __future__ import annotations

import numpy as np

from murmurs.boundary.checks import real, whole
from murmurs.counts import Counts
from murmurs.estimators.estimation import ASKED, Estimate
from murmurs.estimators.precondition import usable
from murmurs.numerics.arrays import Floats
from murmurs.numerics.gradient import Operator, accelerated, largest_eigenvalue
from murmurs.numerics.simplex import project


def regression(
    counts: Counts,
    *,
    constrained: bool = True,
    tolerance: float = 1e-6,
    most: int = 20_000,
    why: str = ASKED,
) -> Estimate:
    """Return the shares whose expected cells are nearest to the counts, in weighted squares.

    For channels with more cells than answers, it uses what the linear inverse ignores: in
    `Hadamard` the share of each block; in the sketches the known hash functions, so that collisions
    are solved for and not only corrected on average. Cells are weighted by the inverse of their
    variance under equal shares. On the simplex, it uses an accelerated projected gradient;
    otherwise conjugate gradients, and the result is unbiased and may be negative.
    ``gap`` bounds by how much the sum of weighted squares, times n, exceeds its minimum; that sum
    is a chi-square statistic, so a millionth of a unit is negligible. Without the constraint,
    ``gap`` is the relative residual of the normal equations.
    """
    tolerance, most = real(tolerance, "tolerance", 0.0, 1e9), whole(most, "most", 1, 10**9)
    channel = usable(counts).channel
    k = channel.k
    law = channel.mean(np.full(k, 1 / k))
    spread = law * (1 - law)
    known = spread < 1e-15  # cells that are certain, such as the number of reports, say nothing
    weights = np.where(known, 0, 1 / np.where(known, 1, spread))
    goal = channel.adjoint(weights * (counts.cells / counts.n - channel.base))

    def normal(shares: Floats) -> Floats:
        return channel.adjoint(weights * channel.gain(shares))

    if constrained:
        shares, gap, steps = _projected_gradient(normal, goal, counts.n, tolerance, most)
        left = f"the squares may be {gap:.3g} above their minimum"
    else:
        shares, gap, steps = _conjugate_gradient(normal, goal, tolerance, most)
        left = f"the normal equations have a relative residual of {gap:.3g}"
    converged = steps < most or gap <= tolerance
    return Estimate(
        counts,
        shares,
        "regression",
        why,
        iterations=steps,
        gap=gap,
        converged=converged,
        notes=() if converged else (f"not converged: {left} after {steps} steps",),
    )


def _conjugate_gradient(
    normal: Operator, goal: Floats, tolerance: float, most: int
) -> tuple[Floats, float, int]:
    shares = np.zeros_like(goal)
    residual = goal - normal(shares)
    direction, size = residual.copy(), float(residual @ residual)
    wanted = tolerance**2 * float(goal @ goal)
    steps = 0
    while size > wanted and steps < most:
        turned = normal(direction)
        length = size / float(direction @ turned)
        shares += length * direction
        residual -= length * turned
        new = float(residual @ residual)
        direction = residual + new / size * direction
        size, steps = new, steps + 1
    return shares, (size / max(float(goal @ goal), 1e-300)) ** 0.5, steps


def _projected_gradient(
    normal: Operator, goal: Floats, n: int, tolerance: float, most: int
) -> tuple[Floats, float, int]:
    k = len(goal)
    # Answers only add to cells, so all numbers of the steepest direction are positive.
    steepest = 1.05 * largest_eigenvalue(normal, np.ones(k), 30)
    enough = tolerance + 1e-13 * n * float(np.abs(goal).max())  # or the limit of float precision
    gap = np.inf

    def done(new: Floats, _: Floats) -> bool:
        nonlocal gap
        slope = normal(new) - goal
        gap = 2 * n * float(slope @ new - slope.min())
        return gap <= enough

    start = np.full(k, 1 / k)
    shares, steps = accelerated(lambda x: normal(x) - goal, project, start, steepest, done, most)
    return shares, gap, steps
