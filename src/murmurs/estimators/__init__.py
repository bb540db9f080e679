"""The estimators, plain functions from counts to an estimate, by name."""

from __future__ import annotations

from collections.abc import Callable

from murmurs.counts import Counts
from murmurs.estimation import Estimate
from murmurs.estimators.unbiased import unbiased

__all__ = ["BY_NAME", "estimate", "unbiased"]

BY_NAME: dict[str, Callable[[Counts], Estimate]] = {"unbiased": unbiased}


def estimate(counts: Counts) -> Estimate:
    """Estimate the shares with the default estimator, and say why it is the one.

    >>> import murmurs as mm
    >>> rr = mm.KRR(k=2, epsilon=1.0)
    >>> estimate(rr.count([0, 0, 0, 1])).method
    'unbiased'
    """
    return unbiased(counts, why="it is exact on average, whatever the answers are")
