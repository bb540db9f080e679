"""Kairouz, Bonawitz and Ramage (2016), section 5: O-RR and O-RAPPOR, simulated over a grid.

As in the paper, the free parameters are chosen by a grid search at each epsilon. The search takes
few samples; the best parameters are then measured again with fresh ones, since the smallest of
many noisy medians is too small. The figures are in `kairouz2016_figures`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from murmurs import estimators
from murmurs.counts import Counts
from murmurs.mechanisms import KRR, ORR, SUE, ORappor, PermutedRappor, PermutedRR, Subset
from murmurs.mechanisms.mechanism import Mechanism
from murmurs.numerics.arrays import Floats
from murmurs.numerics.simplex import project
from murmurs.planning.choice import choose
from murmurs.studies.laws import geometric
from murmurs.studies.measured import Label, Series, Table
from murmurs.studies.running import Cell
from murmurs_papers.experiment import Grid, Scale

TUNED = ("O-RR", "O-RAPPOR")
CLOSED = ("k-RR", "k-RAPPOR", "k-subset", "our default")
"""Mechanisms for closed alphabets that have no free parameters."""

SMALL, LARGE = 256, 4096
"""The two sizes S of the alphabet."""

MANY, MOST = 10**6, 10**8
EPSILONS: dict[int, dict[Scale, tuple[float, ...]]] = {
    SMALL: {
        "full": (0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0),
        "quick": (0.5, 1.0, 2.0, 4.0, 6.0),
        "tiny": (1.0, 4.0),
    },
    LARGE: {"full": (1.0, 2.0, 3.0, 4.0, 6.0, 8.0), "quick": (1.0, 3.0, 6.0), "tiny": (2.0, 8.0)},
}
WIDTHS: dict[int, dict[Scale, tuple[int, ...]]] = {
    SMALL: {
        "full": tuple(2**i for i in range(1, 13)),
        "quick": (2, 4, 8, 16, 64, 256, 1024, 4096),
        "tiny": (4, 64),
    },
    LARGE: {
        "full": tuple(2**i for i in range(1, 15)),
        "quick": (4, 16, 64, 256, 1024, 8192),
        "tiny": (64,),
    },
}
COHORTS: dict[int, dict[Scale, tuple[int, ...]]] = {
    SMALL: {
        "full": tuple(2**i for i in range(11)),
        "quick": (1, 2, 8, 64, 1024),
        "tiny": (8, 64),
    },
    LARGE: {"full": (1, 2, 8, 32, 128, 512, 1024), "quick": (1, 8, 64, 512), "tiny": (64,)},
}
HASHES: dict[int, dict[Scale, tuple[int, ...]]] = {
    SMALL: {"full": (1, 2, 4, 8, 16), "quick": (1, 2, 4), "tiny": (1, 2)},
    LARGE: {"full": (1, 2), "quick": (1, 2), "tiny": (1,)},
}
SEARCHED: dict[Scale, int] = {"full": 5, "quick": 2, "tiny": 2}
MEASURED: dict[Scale, int] = {"full": 50, "quick": 15, "tiny": 3}
OTHER_PEOPLE: dict[int, dict[Scale, tuple[int, ...]]] = {
    SMALL: {
        "full": (10**4, 10**5, 10**7, 10**8),
        "quick": (10**4, 10**5, 10**7, 10**8),
        "tiny": (10**5,),
    },
    LARGE: {
        "full": (3 * 10**6, 10**7, 3 * 10**7),
        "quick": (3 * 10**6, 10**7, 3 * 10**7),
        "tiny": (),
    },
}
"""Numbers of people for which only the best parameters are measured: figures 9, 10 and 14."""

MOST_CELLS = {"full": 2**22, "quick": 2**19, "tiny": 2**16}
"""Larger tables of counts are left out of the search."""

NARROW = 64
"""Buckets up to which 4096 strings are searched with 1024 cohorts; with more, fewer do as well."""


def cells(scale: Scale) -> list[Cell]:
    """Return the grid that is searched, and the mechanisms without free parameters."""
    found = []
    for form, size, n in (
        ("open", SMALL, MANY),
        ("closed", SMALL, MANY),
        ("open", LARGE, MANY),
        ("open", LARGE, MOST),
    ):
        for mechanism in TUNED:
            several = HASHES[size][scale] if (form, mechanism) == ("open", "O-RAPPOR") else (1,)
            times = SEARCHED[scale] if size == SMALL else max(1, SEARCHED[scale] // 2)
            found += [
                _cell("search", form, size, n, mechanism, width, cohorts, hashes, epsilon, times)
                for width in WIDTHS[size][scale]
                for cohorts in COHORTS[size][scale]
                for hashes in several
                for epsilon in EPSILONS[size][scale]
                if hashes <= width
                and width * cohorts <= MOST_CELLS[scale]
                and (form == "open" or width <= size)
                and (size == SMALL or cohorts < 1024 or width <= NARROW)
            ]
    for n in (MANY, *OTHER_PEOPLE[SMALL][scale]):
        found += [
            _cell("final", "closed", SMALL, n, name, 0, 0, 0, epsilon, MEASURED[scale])
            for name in CLOSED
            for epsilon in EPSILONS[SMALL][scale]
        ]
    return found


def refine(scale: Scale, rows: Table) -> list[Cell]:
    """Return the best parameters of each mechanism at each epsilon, for all numbers of people."""
    found = []
    for (form, size, n, mechanism, epsilon), series in best(rows).items():
        numbers = (n, *OTHER_PEOPLE[size][scale]) if n == MANY else (n,)
        width, cohorts, hashes = (int(series[name]) for name in ("width", "cohorts", "hashes"))
        times = MEASURED[scale] if size == SMALL else max(2, MEASURED[scale] // 3)
        found += [
            _cell("final", form, size, people, mechanism, width, cohorts, hashes, epsilon, times)
            for people in numbers
        ]
    return found


def best(rows: Table, *also: str) -> dict[tuple[Any, ...], Series]:
    """Return what the search found best, by form, size, people, mechanism and epsilon.

    With ``also`` there is a best one for each value of these parameters too, such as the width.
    """
    found: dict[tuple[Any, ...], Series] = {}
    names = ("form", "size", "people", "mechanism", "epsilon", *also)
    for series in rows.where(stage="search"):
        key = tuple(series[name] for name in names)
        if key not in found or series.quantile("l1", 0.5) < found[key].quantile("l1", 0.5):
            found[key] = series
    return found


def _cell(
    stage: str,
    form: str,
    size: int,
    people: int,
    mechanism: str,
    width: int,
    cohorts: int,
    hashes: int,
    epsilon: float,
    repetitions: int,
) -> Cell:
    labels: dict[str, Label] = {
        "stage": stage,
        "form": form,
        "size": size,
        "people": people,
        "mechanism": mechanism,
        "width": width,
        "cohorts": cohorts,
        "hashes": hashes,
        "epsilon": epsilon,
    }
    return Cell(labels, repetitions)


@cache
def _names(size: int) -> list[str]:
    return [f"string {i}" for i in range(size)]


def mechanism_of(cell: Cell, salt: int) -> Mechanism[Any]:
    """Return the mechanism of a cell, with hash functions of its own."""
    name, size, epsilon = cell.text("mechanism"), cell.whole("size"), cell.real("epsilon")
    width, cohorts = cell.whole("width"), cell.whole("cohorts")
    if name == "our default":
        chosen = choose(size, epsilon).mechanism
        assert isinstance(chosen, Mechanism)
        return chosen
    if name in CLOSED:
        kinds: dict[str, Callable[[int, float], Mechanism[Any]]]
        kinds = {"k-RR": KRR, "k-RAPPOR": SUE, "k-subset": Subset}
        return kinds[name](size, epsilon)
    if cell["form"] == "closed":
        kind = PermutedRR if name == "O-RR" else PermutedRappor
        return kind(size, epsilon, width=width, cohorts=cohorts, salt=salt)
    if name == "O-RR":
        return ORR(epsilon, width, cohorts, salt).over(_names(size), complete=True)
    made = ORappor(epsilon, width, cohorts, cell.whole("hashes"), salt)
    return made.over(_names(size), complete=True)


def measure(cell: Cell, rng: np.random.Generator) -> list[Series]:
    """Return l1 errors relative to the respondents, who are drawn anew each time."""
    size, n = cell.whole("size"), cell.whole("people")
    law = geometric(size)
    tuned = cell["mechanism"] in TUNED
    found = np.empty(cell.repetitions)
    mechanism = mechanism_of(cell, int(rng.integers(2**31)))
    for time in range(cell.repetitions):
        people = rng.multinomial(n, law)
        counts = mechanism.simulate(people, rng)
        if tuned:
            shares = project(least_squares(counts))
        elif cell["mechanism"] == "our default":
            shares = estimators.estimate(counts).shares
        else:
            shares = estimators.simplex(counts).shares
        found[time] = np.abs(shares - people / n).sum()
    return [Series({}, {"l1": found})]


def least_squares(counts: Counts, most: int = 300, tolerance: float = 1e-4) -> Floats:
    """Return the solution of equation (18) of smallest norm, by conjugate gradients.

    The equations say which masses the shares produce in the buckets of all cohorts. They have
    equal weights, as in the paper.
    """
    channel: Any = counts.channel
    layout = channel.layout
    left = channel.masses_of(counts.cells)
    shares = np.zeros(layout.k)
    slope = layout.totals(left)
    direction, size = slope, float(slope @ slope)
    enough = tolerance**2 * size
    for _ in range(most):
        if size <= enough:
            break
        image = layout.masses(direction)
        step = size / float((image * image).sum())
        shares = shares + step * direction
        left = left - step * image
        slope = layout.totals(left)
        before, size = size, float(slope @ slope)
        direction = slope + size / before * direction
    return shares


GRID = Grid("kairouz2016-open", cells, measure, refine)
