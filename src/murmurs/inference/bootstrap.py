"""Tests of independence by simulation, where few reports make the chi-square distribution rough.

If the answers are independent, the counts come from a table that is the product of its margins. New
counts are drawn from the product of the estimated margins, through the mechanism, and the statistic
is ranked among theirs. Where permutations are not possible, as when a combination was reported as
one answer, this holds far better than the chi-square distribution, though not exactly: the margins
are estimated.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Protocol, cast

import numpy as np

from murmurs.counts import Counts
from murmurs.numerics.arrays import Floats, Integers

DRAWS, ENOUGH = 1999, 40
"""The most counts that are drawn, and how many statistics as large as the observed one suffice."""

MOST_COMBINATIONS, MOST_PEOPLE = 100, 10**6
"""Combinations of answers, and people, up to which counts are drawn."""

_TIE = 1 - 1e-9


HALF = 0.5
"""People added to each answer of a margin, as one that nobody gave may have been missed."""


class _Simulating(Protocol):
    def simulate(self, histogram: Integers, rng: np.random.Generator) -> Counts: ...


def independent(rows: Floats, columns: Floats, people: int) -> Floats:
    """Return the shares of all combinations of independent answers with these margins.

    >>> independent(np.array([0.5, 0.5]), np.array([1.0, 0.0]), 9).tolist()
    [0.475, 0.025, 0.475, 0.025]
    """
    r, c = ((people * own + HALF) / (people + HALF * len(own)) for own in (rows, columns))
    return np.outer(r, c).ravel()


def can_draw(counts: Counts, combinations: int) -> bool:
    """Return whether drawing counts takes seconds at most, and each person reported once."""
    return (
        counts.times == 1
        and combinations <= MOST_COMBINATIONS
        and counts.n <= MOST_PEOPLE
        and hasattr(counts.mechanism, "simulate")
    )


def simulated_p_value(
    counts: Counts, shares: Floats, statistic: Callable[[Counts], float], observed: float
) -> tuple[float, int]:
    """Return the p-value of a statistic if people are sampled from these shares, and the draws.

    Drawing ends when the p-value is known well enough: if ``ENOUGH`` statistics are as large as the
    observed one (Besag and Clifford 1991). The counts are the seed.
    """
    rng = np.random.default_rng(zlib.crc32(counts.cells.tobytes()))
    mechanism, above = cast(_Simulating, counts.mechanism), 0
    for drawn in range(1, DRAWS + 1):
        people = rng.multinomial(counts.n, shares)
        above += statistic(mechanism.simulate(people, rng)) >= _TIE * observed
        if above == ENOUGH:
            return above / drawn, drawn
    return (1 + above) / (1 + DRAWS), DRAWS
