"""Strings as cliques: one n-gram at each position, each pair of which was seen together.

N-grams are the nodes of a graph with one part for each position, and edges join n-grams that go
together. A string is a choice of one node in each part in which all pairs are joined.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from murmurs.numerics.arrays import Booleans, Floats, Integers

MOST_KEPT = 20_000
"""The most choices that are kept after each position, those with the best evidence."""


@dataclass(frozen=True, eq=False)
class Edges:
    """For each pair of positions (i, j), i < j: which n-grams are joined, and how well."""

    joined: dict[tuple[int, int], Booleans]
    weights: dict[tuple[int, int], Floats]

    def between(self, i: int, j: int) -> tuple[Booleans, Floats]:
        """Return the edges from the n-grams at position i to those at j, whichever is first."""
        if i < j:
            return self.joined[i, j], self.weights[i, j]
        return self.joined[j, i].T, self.weights[j, i].T

    @property
    def count(self) -> int:
        """The number of edges."""
        return sum(int(own.sum()) for own in self.joined.values())


def cliques(
    sizes: list[int], edges: Edges, *, most: int = MOST_KEPT
) -> tuple[NDArray[np.int64], bool]:
    """Return the numbers of the n-grams of each clique, and whether these are all cliques.

    Partial cliques grow by one position at a time, the one with the fewest n-grams first. If there
    are more than ``most``, only those whose edges have the largest weights in sum are kept.

    >>> all_joined = {(0, 1): np.ones((2, 1), bool)}
    >>> cliques([2, 1], Edges(all_joined, {(0, 1): np.zeros((2, 1))}))[0].tolist()
    [[0, 0], [1, 0]]
    """
    order = sorted(range(len(sizes)), key=lambda at: (sizes[at], at))
    found: Integers = np.arange(sizes[order[0]], dtype=np.int64)[:, None]
    totals, is_complete = np.zeros(len(found)), True
    for depth, at in enumerate(order[1:], start=1):
        possible = np.ones((len(found), sizes[at]), bool)
        gained = np.repeat(totals[:, None], sizes[at], axis=1)
        for column, before in enumerate(order[:depth]):
            joined, weights = edges.between(before, at)
            possible &= joined[found[:, column]]
            gained += weights[found[:, column]]
        origin, gram = np.nonzero(possible)
        totals = gained[origin, gram]
        if len(origin) > most:
            best = np.sort(np.argsort(-totals, kind="stable")[:most])
            origin, gram, totals, is_complete = origin[best], gram[best], totals[best], False
        found = np.column_stack([found[origin], gram])
    back = np.argsort(order, kind="stable")
    found = found[:, back]
    return found[np.lexsort(found.T[::-1])], is_complete
