"""Fanti, Pihur and Erlingsson (2016), figures 3 and 16: how accurate joint tables are."""

from __future__ import annotations

import itertools
import math
import warnings
from typing import TYPE_CHECKING

import numpy as np

from murmurs import estimators
from murmurs.mechanisms import SUE
from murmurs.mechanisms.products.closed import Product
from murmurs.numerics.arrays import Floats
from murmurs.studies.measured import Series, Table
from murmurs.studies.running import Cell
from murmurs_papers.drawing import line, tidy
from murmurs_papers.experiment import Experiment, Grid, Scale
from murmurs_papers.fanti2016_tests import table_of
from murmurs_papers.findings import Finding, claim
from murmurs_papers.ours import described, ours, paired

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LIKELIHOOD, DEFAULT = "EM on the reports", "our default"
SMALL = (4, 5)
FIXED = 6
"""The answers to the first question in figure 16."""

LOW = 1.5
SIZES = (6, 12, 18)
EPSILONS: dict[Scale, tuple[float, ...]] = {
    "full": (0.5, 1.0, 1.5, 2.0, 3.0, 4.0),
    "quick": (0.5, 1.0, 2.0, 3.0),
    "tiny": (1.0, 3.0),
}
PEOPLE: dict[Scale, tuple[int, ...]] = {
    "full": (2000, 5000, 10_000, 20_000, 50_000, 100_000),
    "quick": (5000, 20_000, 100_000),
    "tiny": (2000, 20_000),
}
MANY: dict[Scale, tuple[int, ...]] = {
    "full": (1000, 3000, 10_000, 30_000, 100_000),
    "quick": (1000, 10_000, 100_000),
    "tiny": (1000,),
}
TIMES: dict[Scale, int] = {"full": 150, "quick": 8, "tiny": 2}


def cells(scale: Scale) -> list[Cell]:
    """Return the 4 x 5 tables of figure 3 and the larger ones of figure 16."""
    found = [
        _cell(*SMALL, epsilon, n, TIMES[scale])
        for epsilon in EPSILONS[scale]
        for n in PEOPLE[scale]
    ]
    found += [
        _cell(FIXED, m, LOW, n, max(2, TIMES[scale] // (1 + (n > 30_000) * 3)))
        for m in (SIZES if scale != "tiny" else SIZES[:2])
        for n in MANY[scale]
    ]
    return found


def _cell(rows: int, columns: int, epsilon: float, people: int, times: int) -> Cell:
    labels = {"rows": rows, "columns": columns, "epsilon": epsilon, "people": people}
    return Cell(labels, times)


def measure(cell: Cell, rng: np.random.Generator) -> list[Series]:
    """Return Hellinger distances from the law of the people, which is drawn anew each time."""
    shape = cell.whole("rows"), cell.whole("columns")
    both = Product([SUE(k, cell.real("epsilon")) for k in shape])
    found = {name: np.empty(cell.repetitions) for name in (LIKELIHOOD, DEFAULT)}
    for time in range(cell.repetitions):
        law = table_of(*shape, 0.0, rng).ravel()
        people = rng.multinomial(cell.whole("people"), law)
        reports = both.encode_many(np.repeat(np.arange(law.size), people), rng)
        with warnings.catch_warnings(action="ignore", category=estimators.NoiseDominates):
            likely = estimators.report_likelihood(both, reports, tolerance=1.0).shares
            default = estimators.estimate(both.count(reports)).shares
        found[LIKELIHOOD][time] = hellinger(law, likely)
        found[DEFAULT][time] = hellinger(law, default)
    return [Series({"estimator": name}, {"hellinger": own}) for name, own in found.items()]


def hellinger(one: Floats, two: Floats) -> float:
    """Return the distance of two laws, between 0 and 1.

    >>> hellinger(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    1.0
    """
    return float(math.sqrt(((np.sqrt(one) - np.sqrt(np.maximum(two, 0))) ** 2).sum() / 2))


GRID = Grid("fanti2016-joint", cells, measure)


def people_for(rows: Table, distance: float) -> float:
    """Return how many people EM needs for a mean distance, between measured numbers of people.

    It is not a number if the distance is outside of what was measured.
    """
    own = sorted(rows.where(estimator=LIKELIHOOD), key=lambda s: int(s["people"]))
    reached = [s.mean("hellinger") for s in own][::-1]
    if not reached[0] <= distance <= reached[-1]:
        return math.nan
    logs = [math.log(int(s["people"])) for s in own][::-1]
    return math.exp(float(np.interp(math.log(distance), np.log(reached), logs)))


ENOUGH, RELIABLE = 20_000, 0.25
"""The people that the paper asks for, and the distance that is called reliable here."""


def judge_figure3(rows: Table) -> list[Finding]:
    """Say how far tables of few people are from the truth."""
    own = rows.where(rows=SMALL[0], columns=SMALL[1])
    at = {
        epsilon: own.one(epsilon=epsilon, people=ENOUGH, estimator=LIKELIHOOD)
        for epsilon in own.distinct("epsilon")
    }
    told = ", ".join(f"{s.mean('hellinger'):.3f} at epsilon = {e:g}" for e, s in at.items())
    few = min(int(s["people"]) for s in own)
    fewer = own.one(epsilon=1.0, people=few, estimator=LIKELIHOOD).mean("hellinger")
    return [
        claim(
            "4 x 5 answers",
            "20,000 people are needed for reliable tables at epsilon = 1",
            f"the distance is {at[1.0].mean('hellinger'):.3f} with 20,000 people and {fewer:.3f} "
            f"with {few:,}; {RELIABLE} is our limit, the paper states none",
            at[1.0].mean("hellinger") < RELIABLE,
            why="The distance depends on the true distribution, which the paper does not state.",
        ),
        claim(
            "4 x 5 answers, 20,000 people",
            "the distance falls with epsilon",
            told,
            _falls([at[e] for e in sorted(at, key=float)]),
        ),
        _default_beside_em(own),
    ]


def _falls(series: list[Series]) -> bool:
    """Return whether distances do not rise by more than three standard errors."""
    return all(
        later.mean("hellinger")
        <= earlier.mean("hellinger")
        + 3 * math.hypot(later.error("hellinger"), earlier.error("hellinger"))
        for earlier, later in itertools.pairwise(series)
    )


def _default_beside_em(rows: Table) -> Finding:
    """Say how the distance of our default stands beside that of EM on the same reports."""
    ratios = [
        paired(
            rows.one(**{**s.labels, "estimator": DEFAULT}).values["hellinger"],
            s.values["hellinger"],
        )
        for s in rows.where(estimator=LIKELIHOOD)
    ]
    return ours(DEFAULT, "EM on the same reports", described(ratios, "its distance"), ratios)


def judge_figure16(rows: Table) -> list[Finding]:
    """Say how many people larger tables need."""
    own = rows.where(rows=FIXED)
    needed = {m: people_for(own.where(columns=m), RELIABLE) for m in own.distinct("columns")}
    numbers = [n for n in needed.values() if not math.isnan(n)]
    ratios = [later / earlier for earlier, later in itertools.pairwise(numbers)]
    told = ", ".join(f"{n:,.0f} people for 6 x {m}" for m, n in needed.items())
    largest = own.distinct("columns")[-1]
    numbers_of_people = sorted(int(n) for n in own.distinct("people"))
    far = {
        n: own.one(columns=largest, people=n, estimator=LIKELIHOOD).mean("hellinger")
        for n in numbers_of_people[-2:]
    }
    return [
        claim(
            f"people for a distance of {RELIABLE}, a limit of ours: the paper states none",
            "six more strings can cost as much as an order of magnitude",
            f"{told}: {', '.join(f'{ratio:.1f}' for ratio in ratios)} times as many (3 to 30 times "
            "are called an order of magnitude)"
            if ratios
            else told,
            bool(ratios) and 3 < max(ratios) < 30,
            why="The cost depends on the limit and on the true distributions, which the paper does "
            "not state.",
        ),
        claim(
            f"6 x {largest} answers",
            "practical only with 100,000 people or more",
            ", ".join(f"the distance is {x:.3f} with {n:,} people" for n, x in far.items())
            + f"; {RELIABLE} is our limit",
            min(far.values()) < RELIABLE < max(far.values()),
            why="The cost depends on the limit and on the true distributions, which the paper does "
            "not state.",
        ),
        _default_beside_em(own),
    ]


def draw_figure3(rows: Table, figure: Figure) -> None:
    """Draw distances over epsilon, a line for each number of people."""
    axes = figure.subplots()
    own = rows.where(rows=SMALL[0], columns=SMALL[1])
    for place, n in enumerate(own.distinct("people")):
        for name, style in ((LIKELIHOOD, "-"), (DEFAULT, ":")):
            series = own.where(people=n, estimator=name)
            x, y = [float(s["epsilon"]) for s in series], [s.mean("hellinger") for s in series]
            label = f"{n:,} people" if name == LIKELIHOOD else None
            line(axes, x, y, place, label, style=style)
    axes.set_xlabel("ε of each question")
    axes.set_ylabel("Hellinger distance")
    axes.set_ylim(0)
    axes.legend(frameon=False, fontsize=8, title="EM; dotted: our default", title_fontsize=8)
    tidy(axes, "4 x 5 answers")


def draw_figure16(rows: Table, figure: Figure) -> None:
    """Draw distances over the number of people, a line for each dictionary."""
    axes = figure.subplots()
    own = rows.where(rows=FIXED)
    for place, m in enumerate(own.distinct("columns")):
        for name, style in ((LIKELIHOOD, "-"), (DEFAULT, ":")):
            series = own.where(columns=m, estimator=name)
            x, y = [float(s["people"]) for s in series], [s.mean("hellinger") for s in series]
            line(axes, x, y, place, f"6 x {m}" if name == LIKELIHOOD else None, style=style)
    axes.set_xscale("log")
    axes.set_xlabel("people")
    axes.set_ylabel("Hellinger distance")
    axes.set_ylim(0)
    axes.legend(frameon=False, fontsize=8, title="EM; dotted: our default", title_fontsize=8)
    tidy(axes, f"ε = {LOW:g} of each question")


ABOUT = (
    "Basic RAPPOR without permanent noise; epsilon is that of each question. The paper does not "
    "state its true distributions; here margins are drawn uniformly from the simplex, as in its "
    "appendix A, and answers are independent, which is the best case of our default. It prints "
    "curves only, so that its sentences are compared."
)
EXPERIMENTS = (
    Experiment(
        "fanti2016-figure3",
        "Figure 3: errors of joint tables, by epsilon and number of people",
        GRID,
        judge_figure3,
        draw_figure3,
        ABOUT,
        wanted=lambda cell: cell["rows"] == SMALL[0],
        size=(7.0, 4.5),
    ),
    Experiment(
        "fanti2016-figure16",
        "Figure 16: errors of joint tables, by size and number of people, epsilon = 1.5",
        GRID,
        judge_figure16,
        draw_figure16,
        ABOUT,
        wanted=lambda cell: cell["rows"] == FIXED,
        size=(7.0, 4.5),
    ),
)
