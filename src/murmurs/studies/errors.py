"""The errors of estimators on simulated counts, which every study is made of."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from murmurs.boundary.checks import shown
from murmurs.estimators import NoiseDominates
from murmurs.mechanisms.mechanism import Mechanism
from murmurs.numerics.arrays import Floats, Integers
from murmurs.studies.measured import Series

if TYPE_CHECKING:
    from murmurs.counts import Counts

ERRORS = ("l1", "l2", "largest")
"""Sum of absolute errors of the shares, sum of their squares, largest absolute error."""

_ROUNDING = 1e-12
"""Errors of a share below this are those of arithmetic, and differ between processors."""

Solve = Callable[["Counts"], Any]
"""Returns an `Estimate`, or the shares alone."""

People = Integers | Callable[[np.random.Generator], Integers]
"""How many people hold each answer: always the same, or drawn in each repetition."""


def errors_of(
    mechanism: Mechanism[Any],
    people: People,
    solvers: Mapping[str, Solve],
    repetitions: int,
    rng: np.random.Generator,
) -> list[Series]:
    """Return the errors of each estimator, relative to the shares of the respondents.

    All estimators see the same counts.
    """
    found = np.empty((len(solvers), len(ERRORS), repetitions))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoiseDominates)
        for time in range(repetitions):
            histogram = people(rng) if callable(people) else people
            truth = histogram / histogram.sum()
            counts = mechanism.simulate(histogram, rng)
            for number, (name, solve) in enumerate(solvers.items()):
                try:
                    away = np.abs(solved_shares(solve(counts), len(truth)) - truth)
                except (TypeError, ValueError) as error:
                    raise ValueError(f"estimator {shown(name)} on {mechanism}: {error}") from error
                away[away < _ROUNDING] = 0.0
                found[number, :, time] = away.sum(), (away**2).sum(), away.max()
    return [
        Series({"estimator": name}, dict(zip(ERRORS, own, strict=True)))
        for name, own in zip(solvers, found, strict=True)
    ]


def solved_shares(solved: Any, k: int) -> Floats:
    """Return the shares of k answers that an estimator found: those of an estimate, or an array.

    >>> solved_shares([0.25, 0.75], 2)
    array([0.25, 0.75])
    """
    given = getattr(solved, "shares", solved)
    try:
        shares = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        shares = np.empty(0)
    if shares.shape != (k,) or not np.isfinite(shares).all():
        raise TypeError(
            f"it returned {shown(given)}, and not an Estimate or {k} finite shares: return "
            "murmurs.estimate(...), or an array with a share for each answer"
        )
    return shares
