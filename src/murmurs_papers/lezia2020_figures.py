"""Le and Zia (2020), figures 2 to 5: mean absolute errors on synthetic data sets of growing size.

The values are drawn from a geometric distribution, whose parameter the paper does not give; here
its mean is a fifth of the number of values. Algorithms run as in the tables, in both forms.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from murmurs.studies.errors import errors_of
from murmurs.studies.laws import geometric
from murmurs.studies.measured import Series, Table
from murmurs.studies.running import Cell
from murmurs_papers.drawing import line, tidy
from murmurs_papers.experiment import Experiment, Grid, Scale
from murmurs_papers.findings import Finding, claim
from murmurs_papers.lezia2020_tables import ALGORITHMS, DEFAULT, FORMS, kept_to_epsilon
from murmurs_papers.ours import described, ours, quotient

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EPSILONS = (0.5, 1.0, 2.0)
SMALL = (2_000, 5_000, 10_000, 15_000, 20_000)
LARGE = (40_000, 100_000, 200_000, 300_000, 400_000)
FIGURES = {2: (20, SMALL), 3: (100, SMALL), 4: (100, LARGE), 5: (500, LARGE)}
"""The number of values and the numbers of people of each figure."""

BEST = {2: "bRAPPOR", 3: "HR", 4: "k-subset", 5: "bRAPPOR"}
"""The algorithm that the paper calls best at epsilon 0.5."""

REPETITIONS: dict[Scale, int] = {"full": 100, "quick": 20, "tiny": 2}


def cells(scale: Scale) -> list[Cell]:
    """Return the algorithms in both forms for all numbers of people."""
    return [
        Cell(
            {
                "figure": figure,
                "people": n,
                "form": form,
                "algorithm": algorithm,
                "epsilon": epsilon,
            },
            REPETITIONS[scale],
        )
        for figure, (_, numbers) in FIGURES.items()
        for n in (numbers if scale == "full" else numbers[::2] if scale == "quick" else numbers[:1])
        for epsilon in EPSILONS
        for form, made in FORMS.items()
        for algorithm in made(20, epsilon)
    ]


def measure(cell: Cell, rng: np.random.Generator) -> list[Series]:
    """Return the mean absolute errors of one algorithm; people are drawn anew each time."""
    k, n = FIGURES[cell.whole("figure")][0], cell.whole("people")
    mechanism, solve = FORMS[cell.text("form")](k, cell.real("epsilon"))[cell.text("algorithm")]
    people = partial(_drawn, k, n)
    [found] = errors_of(mechanism, people, {"its own": solve}, cell.repetitions, rng)
    return [Series({}, {"mae": found.values["l1"] / k})]


def _drawn(k: int, n: int, rng: np.random.Generator) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return rng.multinomial(n, geometric(k))


def judge(rows: Table, figure: int) -> list[Finding]:
    """Say which algorithm is best in how many places, in both forms."""
    rows = rows.where(figure=figure)
    found = []
    for epsilon in EPSILONS:
        wins = {form: _wins(rows.where(epsilon=epsilon, form=form)) for form in FORMS}
        said = "; ".join(
            f"{form}: {', '.join(f'{name} ({times})' for name, times in won.most_common())}"
            for form, won in wins.items()
        )
        first = wins["as published"].most_common(1)[0][0]
        if epsilon == 0.5:
            text = f"{BEST[figure]} is best at epsilon 0.5"
            holds = first == BEST[figure]
        elif epsilon == 1.0:
            text = "k-RR, k-subset and HR are best at epsilon 1"
            holds = first in ("k-RR", "k-subset", "HR")
        else:
            text = "k-RR is best at epsilon 2, k-subset and HR often near it"
            holds = first == "k-RR"
        found.append(
            claim(f"epsilon {epsilon:g}", text, f"the best, and how often, {said}", holds, why=WHY)
        )
        found.append(_default_beside_others(rows.where(epsilon=epsilon), epsilon))
    return found


def _default_beside_others(rows: Table, epsilon: float) -> Finding:
    """Say how our default stands beside the best of the others that keep to epsilon."""
    ratios = []
    for n in rows.distinct("people"):
        here = rows.where(people=n)
        own = here.one(algorithm=DEFAULT)
        best = min(
            (s for s in kept_to_epsilon(here, epsilon) if s is not own), key=lambda s: s.mean("mae")
        )
        ratios.append(quotient(*(x for s in (own, best) for x in (s.mean("mae"), s.error("mae")))))
    return ours(
        f"epsilon {epsilon:g}, {DEFAULT}",
        "the best of the others measured here at that epsilon, in each place",
        described(ratios),
        ratios,
    )


def _wins(rows: Table) -> Counter[str]:
    """Return in how many places each algorithm has the smallest error; our default is left out."""
    won: Counter[str] = Counter()
    for n in rows.distinct("people"):
        others = [s for s in rows.where(people=n) if s["algorithm"] != DEFAULT]
        won[str(min(others, key=lambda s: s.mean("mae"))["algorithm"])] += 1
    return won


def draw(rows: Table, figure: Figure, number: int) -> None:
    """Draw a panel for each epsilon, as published above and at equal privacy below."""
    rows = rows.where(figure=number)
    panels = figure.subplots(2, 3, sharex=True, squeeze=False)
    for down, form in enumerate(FORMS):
        for across, epsilon in enumerate(EPSILONS):
            axes = panels[down, across]
            here = rows.where(form=form, epsilon=epsilon)
            names = [*ALGORITHMS, DEFAULT] if down else list(ALGORITHMS)
            for place, name in enumerate(names):
                own = here.where(algorithm=name)
                x = [float(s["people"]) for s in own]
                y = [s.mean("mae") for s in own]
                line(axes, x, y, place, name, style="--" if name == "CMS" else "-")
            axes.set_ylim(0)
            tidy(axes, f"({'abc'[across]}) ε = {epsilon:g}, {form}")
            ticks = [int(n) for n in here.distinct("people")]
            axes.set_xticks(ticks, [f"{n / 1000:g}" for n in ticks], fontsize=8)
    for axes in panels[1]:
        axes.set_xlabel("people, in thousands")
    for axes in panels[:, 0]:
        axes.set_ylabel("mean absolute error")
    handles, labels = panels[1, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False, fontsize=9)
    figure.suptitle(
        f"Figure {number} of Le and Zia (2020): {FIGURES[number][0]} values", fontsize=11
    )


WHY = (
    "How steep the geometric distribution is decides which algorithm wins, and the paper does not "
    "say. With the mean at a fifth of the values, as here, Basic RAPPOR, CMS and HR gain; if more "
    "than half of the people hold the first value, k-RR is best in all panels of epsilon 2, as the "
    "paper has it, and 9 of its 12 sentences hold. No parameter was found with which all hold."
)
ABOUT = (
    "Mean absolute errors on geometric data, as the paper ran the algorithms and at equal privacy. "
    "As in the tables, Basic RAPPOR has epsilon = ln 3 in all three panels of the paper, which "
    "makes it look best at epsilon 0.5; at equal privacy it is the same as CMS."
)
GRID = Grid("lezia2020-figures", cells, measure)


def _has(cell: Cell, figure: int) -> bool:
    return cell["figure"] == figure


EXPERIMENTS = tuple(
    Experiment(
        f"lezia2020-figure{figure}",
        f"Figure {figure}: errors on geometric data, {k} values, up to {numbers[-1]:,} people",
        GRID,
        partial(judge, figure=figure),
        partial(draw, number=figure),
        ABOUT,
        partial(_has, figure=figure),
        (10.5, 6.4),
    )
    for figure, (k, numbers) in FIGURES.items()
)
