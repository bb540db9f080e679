"""Accelerated gradient descent for constrained quadratic problems."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from murmurs.numerics.arrays import TINY, Floats

Operator = Callable[[Floats], Floats]


def largest_eigenvalue(normal: Operator, start: Floats, rounds: int) -> float:
    """Return approximately the largest eigenvalue of a symmetric operator, by power iteration.

    ``start`` must not be orthogonal to the eigenvector. A random start would make the result depend
    on the order of the answers.
    """
    size, probe = 0.0, start
    for _ in range(rounds):
        length = float(np.sqrt(probe @ probe))
        if length == 0:
            break
        probe = normal(probe / length)
        size = float(np.sqrt(probe @ probe))
    return max(size, TINY)


def accelerated(
    gradient: Operator,
    proximal: Operator,
    start: Floats,
    steepest: float,
    done: Callable[[Floats, Floats], bool],
    most: int,
) -> tuple[Floats, int]:
    """Minimise by accelerated proximal gradient; return the last point and the number of steps.

    ``proximal`` maps a point back into the allowed set, ``steepest`` bounds the gradient's
    derivative, and ``done`` takes each new point and the one before it. The momentum is reset
    whenever it leads uphill (Beck and Teboulle 2009; O'Donoghue and Candes 2015).
    """
    point = ahead = start
    momentum = 1.0
    for step in range(1, most + 1):
        new = proximal(ahead - gradient(ahead) / steepest)
        if done(new, point):
            return new, step
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        if float((ahead - new) @ (new - point)) > 0:
            following, ahead = 1.0, new
        else:
            ahead = new + (momentum - 1) / following * (new - point)
        point, momentum = new, following
    return point, most
