"""The errors of estimators on simulated counts, which every study is made of."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from murmurs.boundary.checks import shown
from murmurs.estimators import NoiseDominates
from murmurs.mechanism import Mechanism
from murmurs.numerics.arrays import Integers
from murmurs.planning.measured import Series

if TYPE_CHECKING:
    from murmurs.counts import Counts
    from murmurs.estimation import Estimate

ERRORS = ("l1", "l2", "largest")
"""Sum of absolute errors of the shares, sum of their squares, largest absolute error."""

Solve = Callable[["Counts"], "Estimate"]
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
                    away = np.abs(solve(counts).shares - truth)
                except (TypeError, ValueError) as error:
                    raise ValueError(f"estimator {shown(name)} on {mechanism}: {error}") from error
                found[number, :, time] = away.sum(), (away**2).sum(), away.max()
    return [
        Series({"estimator": name}, dict(zip(ERRORS, own, strict=True)))
        for name, own in zip(solvers, found, strict=True)
    ]
