"""Tables of several variables: their margins, what goes beyond margins, and raking to margins."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from murmurs.numerics.arrays import Floats

Axes = tuple[int, ...]


def outer(vectors: Sequence[Floats]) -> Floats:
    """Return the table of products of one entry of each vector.

    >>> outer([np.array([0.5, 0.5]), np.array([0.25, 0.75])])
    array([[0.125, 0.375],
           [0.125, 0.375]])
    """
    out: Floats = np.ones(())
    for vector in vectors:
        out = np.multiply.outer(out, vector)
    return out


def margin(table: Floats, kept: Axes) -> Floats:
    """Return the sums of a table over all axes except the kept ones."""
    rest = tuple(i for i in range(table.ndim) if i not in kept)
    return np.asarray(table.sum(axis=rest))


def spread(part: Floats, kept: Axes, vectors: Sequence[Floats]) -> Floats:
    """Return the table that is ``part`` along the kept axes and a given vector along each other."""
    out = np.expand_dims(part, tuple(i for i in range(len(vectors)) if i not in kept))
    for i, vector in enumerate(vectors):
        if i not in kept:
            out = out * np.expand_dims(vector, tuple(j for j in range(len(vectors)) if j != i))
    return np.asarray(out)


def subsets(count: int, least: int) -> Iterator[Axes]:
    """Yield the sets of at least so many of the axes."""
    for size in range(least, count + 1):
        yield from itertools.combinations(range(count), size)


def beyond(table: Floats, order: int) -> Floats:
    """Return the part of a table that has no margins: all sums over ``order`` axes kept are zero.

    It is the nearest such table: what an analysis of variance leaves after all interactions of up
    to ``order`` variables.

    >>> beyond(np.array([[0.5, 0.1], [0.1, 0.3]]), 1)
    array([[ 0.15, -0.15],
           [-0.15,  0.15]])
    """
    out = np.zeros_like(table)
    for kept in subsets(table.ndim, order + 1):
        part = table
        for i in range(table.ndim):
            mean = part.mean(axis=i, keepdims=True)
            part = part - mean if i in kept else mean
        out += part
    return out


def rake(
    table: Floats, margins: Sequence[tuple[Axes, Floats]], most: int = 200, near: float = 1e-9
) -> Floats:
    """Return the table scaled along its axes in turn until it has the given margins.

    Iterative proportional fitting (Deming and Stephan 1940). It ends when no margin is further than
    ``near`` away in l1, or after ``most`` rounds, as margins that contradict each other have no
    table.

    >>> half = np.array([0.5, 0.5])
    >>> rake(np.array([[0.4, 0.2], [0.2, 0.2]]), [((0,), half), ((1,), half)]).round(3)
    array([[0.293, 0.207],
           [0.207, 0.293]])
    """
    for _ in range(most):
        furthest = 0.0
        for kept, wanted in margins:
            found = margin(table, kept)
            furthest = max(furthest, float(np.abs(found - wanted).sum()))
            factor = np.divide(wanted, found, out=np.zeros_like(wanted), where=found > 0)
            rest = tuple(i for i in range(table.ndim) if i not in kept)
            table = table * np.expand_dims(factor, rest)
        if furthest <= near:
            break
    return np.asarray(table / table.sum())
