"""What table 2 of Fanti, Pihur and Erlingsson (2016) may mean: its setting, read in several ways.

Every reading is simulated from the reports on, and decoded as the paper does it: EM on the reports,
with the top five categories and Other (`murmurs_papers.fanti2016_other`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from murmurs_papers.fanti2016_other import (
    CATEGORIES,
    PEOPLE,
    PRINTED_FOUND,
    PRINTED_TRUE,
    RATIO,
    RUNS,
    TOP,
    Reading,
    likelihoods,
    printed,
    stopped_em,
    with_epsilon,
)

READINGS = (
    with_epsilon("a bit for each category, ε = 3", 3.0),
    with_epsilon("the same, EM until a change below 10⁻⁴", 3.0, stop=1e-4),
    with_epsilon("the same, EM until a change below 10⁻³", 3.0, stop=1e-3),
    with_epsilon("the same, q = 1/2 (`OUE`)", 3.0, 0.5),
    with_epsilon("the same, q = 3/4", 3.0, 0.75),
    Reading("a bit for each category, q = 3/4 and p = 1/4 as in the paper's section 5", 0.75, 0.25),
    with_epsilon("a bit for each category, ε = 3 for both questions together", 1.5),
    with_epsilon("128 bits, one hash, 8 cohorts, ε = 3", 3.0, bits=128, hashes=1, cohorts=8),
    with_epsilon("128 bits, two hashes, 8 cohorts, ε = 3", 3.0, bits=128, hashes=2, cohorts=8),
)


def printed_error() -> float:
    """Return the l1 error of the paper's table 2."""
    return float(np.abs(printed(PRINTED_TRUE) - printed(PRINTED_FOUND)).sum())


def run_reading(name: str, repeat: int, rng: np.random.Generator) -> dict[str, Any]:
    """Return the errors of single runs and of means of ten, in ``repeat`` rounds of ten runs."""
    reading = next(own for own in READINGS if own.name == name)
    law = RATIO ** np.arange(CATEGORIES)
    law /= law.sum()
    single, means, found = [], [], []
    for _ in range(repeat):
        rest = []
        for _ in range(RUNS):
            answers = [rng.choice(CATEGORIES, PEOPLE, p=law) for _ in (0, 1)]
            few = [np.minimum(own, TOP) for own in answers]
            truth = np.bincount(few[0] * (TOP + 1) + few[1], minlength=(TOP + 1) ** 2) / PEOPLE
            sides = []
            for own in answers:
                side, count = likelihoods(reading, own, rng)
                sides.append(side[:, : TOP + 1])
                found.append(count)
            rest.append(stopped_em(sides[0], sides[1], reading.stop).ravel() - truth)
        single += [float(np.abs(own).sum()) for own in rest]
        means.append(float(np.abs(np.mean(rest, axis=0)).sum()))
    return {
        "epsilon": reading.epsilon,
        "l1": float(np.mean(single)),
        "error": float(np.std(single) / math.sqrt(len(single))),
        "spread": float(np.std(single)),
        "l1 of the mean of ten": float(np.mean(means)),
        "detected": float(np.mean(found)),
    }
