"""Le and Zia (2020), tables II to IV: mean absolute errors on columns of real data sets.

Each algorithm runs twice: as the paper ran it, and at the epsilon of the table with the same
estimator for all. What the paper ran is inferred from its numbers, of which it agrees with all:
Basic RAPPOR with p = 0.5 and q = 0.75 at every epsilon, which is epsilon = ln 3; k-subset with
sets of half of the values at every epsilon; k-RR with maximum likelihood, the others with shares
cut at zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from murmurs import estimators
from murmurs.mechanism import Mechanism
from murmurs.mechanisms import KRR, SUE, BasicRappor, Hadamard, Subset
from murmurs.numerics.arrays import Integers
from murmurs.papers.drawing import dots
from murmurs.papers.experiment import Experiment, Grid, Scale
from murmurs.papers.findings import Finding, claim, number
from murmurs.papers.histograms import CENSUS, histograms
from murmurs.planning.choice import choose
from murmurs.planning.errors import Solve, errors_of
from murmurs.planning.measured import Series, Table
from murmurs.planning.running import Cell

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TABLES = {0.5: "table2", 1.0: "table3", 2.0: "table4"}
NUMERALS = {0.5: "II", 1.0: "III", 2.0: "IV"}
COLUMNS = {
    "A4": ("statlog", "A4"),
    "A6": ("statlog", "A6"),
    "A5": ("statlog", "A5"),
    "Race": ("adult", "race"),
    "Occ": ("adult", "occupation"),
    "Country": ("adult", "native_country"),
}
"""The columns of the paper's Statlog and Adult, and where the package has them."""

ALGORITHMS = ("k-RR", "bRAPPOR", "CMS", "k-subset", "HR")
HONEST = {0.5: ("k-RR", "CMS", "k-subset", "HR"), 1.0: ("k-RR", "CMS", "k-subset", "HR")}
"""Algorithms whose epsilon was at most that of the table; at epsilon 2 it was so for all."""

DEFAULT = "our default"
RUNS = 100

# Mean and standard deviation of each algorithm, as printed; 100 runs (USCensus1990: 10).
PRINTED: dict[float, dict[str, tuple[float, ...]]] = {
    0.5: {
        "A4": (0.067, 0.036, 0.05, 0.024, 0.109, 0.054, 0.063, 0.037, 0.078, 0.048),
        "A6": (0.083, 0.03, 0.043, 0.014, 0.089, 0.03, 0.082, 0.022, 0.071, 0.023),
        "A5": (0.083, 0.013, 0.05, 0.01, 0.086, 0.021, 0.085, 0.014, 0.061, 0.011),
        "Race": (0.012, 0.005, 0.008, 0.002, 0.015, 0.006, 0.013, 0.004, 0.014, 0.005),
        "Occ": (0.024, 0.005, 0.009, 0.002, 0.016, 0.003, 0.015, 0.003, 0.015, 0.003),
        "Country": (0.008, 0.002, 0.005, 0.001, 0.01, 0.002, 0.01, 0.001, 0.013, 0.002),
        "Military 1990": (0.002, 0.001, 0.001, 0.0, 0.002, 0.001, 0.002, 0.001, 0.002, 0.001),
        "Rvetserv 1990": (0.003, 0.001, 0.001, 0.0, 0.002, 0.0, 0.002, 0.0, 0.002, 0.001),
        "Race 1990": (0.001, 0.0, 0.016, 0.0, 0.023, 0.0, 0.001, 0.0, 0.002, 0.0),
        "PoB 1990": (0.004, 0.0, 0.004, 0.0, 0.005, 0.0, 0.001, 0.0, 0.001, 0.0),
    },
    1.0: {
        "A4": (0.033, 0.02, 0.05, 0.023, 0.044, 0.025, 0.034, 0.02, 0.106, 0.04),
        "A6": (0.041, 0.013, 0.044, 0.013, 0.043, 0.014, 0.044, 0.013, 0.048, 0.015),
        "A5": (0.054, 0.011, 0.049, 0.011, 0.049, 0.01, 0.051, 0.009, 0.046, 0.008),
        "Race": (0.006, 0.002, 0.008, 0.003, 0.008, 0.003, 0.007, 0.002, 0.008, 0.003),
        "Occ": (0.01, 0.002, 0.008, 0.002, 0.008, 0.002, 0.008, 0.002, 0.016, 0.003),
        "Country": (0.005, 0.001, 0.005, 0.001, 0.005, 0.001, 0.006, 0.001, 0.008, 0.001),
        "Military 1990": (0.001, 0.0, 0.001, 0.0, 0.001, 0.0, 0.001, 0.0, 0.001, 0.0),
        "Rvetserv 1990": (0.001, 0.0, 0.001, 0.0, 0.001, 0.0, 0.001, 0.0, 0.001, 0.0),
        "Race 1990": (0.001, 0.0, 0.016, 0.0, 0.021, 0.0, 0.001, 0.0, 0.01, 0.0),
        "PoB 1990": (0.002, 0.0, 0.004, 0.0, 0.005, 0.0, 0.001, 0.0, 0.001, 0.0),
    },
    2.0: {
        "A4": (0.013, 0.008, 0.047, 0.024, 0.024, 0.013, 0.013, 0.008, 0.031, 0.013),
        "A6": (0.018, 0.005, 0.047, 0.014, 0.025, 0.006, 0.027, 0.008, 0.029, 0.008),
        "A5": (0.022, 0.004, 0.051, 0.01, 0.027, 0.006, 0.031, 0.006, 0.032, 0.007),
        "Race": (0.003, 0.001, 0.008, 0.003, 0.004, 0.002, 0.004, 0.001, 0.055, 0.002),
        "Occ": (0.003, 0.001, 0.009, 0.002, 0.004, 0.001, 0.005, 0.001, 0.006, 0.001),
        "Country": (0.003, 0.0, 0.005, 0.001, 0.003, 0.0, 0.004, 0.0, 0.007, 0.001),
        "Military 1990": (0.0, 0.0, 0.001, 0.0, 0.001, 0.0, 0.001, 0.0, 0.039, 0.0),
        "Rvetserv 1990": (0.0, 0.0, 0.001, 0.0, 0.001, 0.0, 0.001, 0.0, 0.0, 0.0),
        "Race 1990": (0.0, 0.0, 0.016, 0.0, 0.018, 0.0, 0.0, 0.0, 0.003, 0.0),
        "PoB 1990": (0.001, 0.0, 0.004, 0.0, 0.004, 0.0, 0.0, 0.0, 0.001, 0.0),
    },
}

HR_WHY = (
    "The paper took the Hadamard response from other authors' code with its own defaults, which it "
    "does not describe. One block, cut at zero and scaled, comes nearest. No Hadamard response "
    "with an unbiased decoder explains errors that rise with epsilon (A4 and Occ at 1) or are ten "
    "times too large (Race at 2)."
)
CENSUS_WHY = (
    "The printed errors of RAPPOR, CMS and HR do not fall with the number of people, as all of "
    "these estimators' errors do: they cannot be errors of the algorithms that are described."
)


def published(k: int, epsilon: float) -> dict[str, tuple[Mechanism[Any], Solve]]:
    """Return the algorithms as the paper ran them, whatever epsilon they then have."""
    return {
        "k-RR": (KRR(k, epsilon), estimators.likelihood),
        "bRAPPOR": (BasicRappor(k, f=0.0, p=0.5, q=0.75), estimators.clipped),
        "CMS": (SUE(k, epsilon), estimators.clipped),
        "k-subset": (Subset(k, epsilon, w=max(1, k // 2)), estimators.clipped),
        "HR": (Hadamard(k, epsilon, blocks=1), estimators.normalized),
    }


def equal(k: int, epsilon: float) -> dict[str, tuple[Mechanism[Any], Solve]]:
    """Return the algorithms at the epsilon of the table, with their best parameters.

    As the paper describes it, CMS is the same mechanism as Basic RAPPOR at equal epsilon.
    """
    mechanisms: dict[str, Mechanism[Any]] = {
        "k-RR": KRR(k, epsilon),
        "bRAPPOR": SUE(k, epsilon),
        "CMS": SUE(k, epsilon),
        "k-subset": Subset(k, epsilon),
        "HR": Hadamard(k, epsilon),
    }
    made: dict[str, tuple[Mechanism[Any], Solve]] = {
        name: (mechanism, estimators.simplex) for name, mechanism in mechanisms.items()
    }
    chosen = choose(k, epsilon).mechanism
    assert isinstance(chosen, Mechanism)
    return {**made, DEFAULT: (chosen, estimators.estimate)}


FORMS: dict[str, Callable[[int, float], dict[str, tuple[Mechanism[Any], Solve]]]] = {
    "as published": published,
    "at equal privacy": equal,
}
REPETITIONS: dict[Scale, int] = {"full": 4000, "quick": 200, "tiny": 40}


def people_in(column: str, census: Mapping[str, Integers]) -> Integers:
    """Return the histogram of a column."""
    if column in COLUMNS:
        source, name = COLUMNS[column]
        return histograms(source)[name]
    return census[column.removesuffix(" 1990")]


def cells(scale: Scale, census: Mapping[str, Integers]) -> list[Cell]:
    """Return the algorithms on all columns, at all epsilons, in both forms."""
    columns = [*COLUMNS, *(f"{name} 1990" for name in census)]
    times = REPETITIONS[scale]
    return [
        Cell(
            {"column": column, "form": form, "algorithm": algorithm, "epsilon": epsilon},
            max(times // 10, 10) if column not in COLUMNS else times,
        )
        for epsilon in TABLES
        for column in columns
        for form, made in FORMS.items()
        for algorithm in made(3, epsilon)
    ]


def measure(
    cell: Cell, rng: np.random.Generator, *, census: Mapping[str, Integers]
) -> list[Series]:
    """Return the mean absolute errors of one algorithm."""
    people = people_in(cell.text("column"), census)
    made = FORMS[cell.text("form")](len(people), cell.real("epsilon"))
    mechanism, solve = made[cell.text("algorithm")]
    [found] = errors_of(mechanism, people, {"its own": solve}, cell.repetitions, rng)
    return [Series({}, {"mae": found.values["l1"] / len(people)})]


def judge(rows: Table, epsilon: float) -> list[Finding]:
    """Set the printed means beside the measured ones, and our default beside the best of them."""
    rows = rows.where(epsilon=epsilon)
    found = []
    for column in rows.distinct("column"):
        printed = PRINTED[epsilon][str(column)]
        here = rows.where(column=column)
        runs = RUNS if column in COLUMNS else RUNS // 10
        for place, algorithm in enumerate(ALGORITHMS):
            own = here.one(algorithm=algorithm, form="as published")
            fair = here.one(algorithm=algorithm, form="at equal privacy")
            why = CENSUS_WHY if column not in COLUMNS else HR_WHY if algorithm == "HR" else ""
            found.append(
                number(
                    f"{column}, {algorithm}",
                    printed[2 * place],
                    own.mean("mae"),
                    own.error("mae"),
                    published_error=printed[2 * place + 1] / math.sqrt(runs),
                    why=why,
                    beside={"at equal privacy": fair.mean("mae")},
                )
            )
        found.append(_ours(str(column), epsilon, here))
    return found


def _ours(column: str, epsilon: float, here: Table) -> Finding:
    """Say whether our default is at most the best printed value that kept to its epsilon."""
    printed = PRINTED[epsilon][column]
    honest = HONEST.get(epsilon, ALGORITHMS)
    best = min(honest, key=lambda name: printed[2 * ALGORITHMS.index(name)])
    place = 2 * ALGORITHMS.index(best)
    runs = RUNS if column in COLUMNS else RUNS // 10
    ours = here.one(algorithm=DEFAULT)
    doubt = math.hypot(
        ours.error("mae"), printed[place + 1] / math.sqrt(runs), 0.001 / math.sqrt(12)
    )
    mean = ours.mean("mae")
    kept = [s for s in here if s["algorithm"] in honest or s["form"] != "as published"]
    least = min((s for s in kept if s is not ours), key=lambda s: s.mean("mae"))
    return claim(
        f"{column}, {DEFAULT}",
        f"the best that kept to epsilon is {best}, {printed[place]:g}",
        f"{mean:.4f} ± {ours.error('mae'):.4f}; the best of the others measured is "
        f"{least['algorithm']} {least['form']}, {least.mean('mae'):.4f} ± {least.error('mae'):.4f}",
        mean <= printed[place] + 3 * doubt,
    )


def draw(rows: Table, figure: Figure, epsilon: float) -> None:
    """Draw a panel for each column: printed, as published, at equal privacy."""
    rows = rows.where(epsilon=epsilon)
    columns = [str(column) for column in rows.distinct("column")]
    panels = figure.subplots(-(-len(columns) // 3), 3, squeeze=False).ravel()
    nothing = float("nan")
    for axes, column in zip(panels, columns, strict=False):
        printed = PRINTED[epsilon][column]
        here = rows.where(column=column)
        runs = RUNS if column in COLUMNS else RUNS // 10
        names = [*ALGORITHMS, "default"]
        series = {
            "printed": (
                [*printed[::2], nothing],
                [*(x / math.sqrt(runs) for x in printed[1::2]), nothing],
            )
        }
        for form in FORMS:
            own = [here.where(form=form, algorithm=name).series for name in ALGORITHMS]
            own.append(here.where(form=form, algorithm=DEFAULT).series)
            series[form] = (
                [s[0].mean("mae") if s else nothing for s in own],
                [s[0].error("mae") if s else nothing for s in own],
            )
        size = len(people_in(column, {})) if column in COLUMNS else CENSUS[column.split()[0]]
        dots(axes, names, series, f"{column} ({size} values)", hollow="printed")
        axes.tick_params(axis="x", rotation=30)
    for axes in panels[len(columns) :]:
        axes.set_visible(False)
    panels[0].set_ylabel("mean absolute error")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    figure.suptitle(f"Table {NUMERALS[epsilon]} of Le and Zia (2020): ε = {epsilon:g}", fontsize=11)


ABOUT = (
    "Mean absolute errors of the shares. As published, Basic RAPPOR runs with p = 0.5 and q = 0.75 "
    "whatever the column says, which is epsilon = ln 3 = 1.0986: more than twice the budget of "
    "table II and half of that of table IV. That is why it wins in the first and stands still in "
    "the last. k-subset runs with sets of half of the values, the best only for small epsilon, "
    "and the decoders differ: maximum likelihood for k-RR, shares cut at zero for the others. With "
    "that, all printed means of k-RR, Basic RAPPOR, CMS and k-subset are reproduced. At equal "
    "privacy all have the epsilon of the table, their best parameters and one decoder (simplex); "
    "Basic RAPPOR and CMS are then the same."
)


def tables(census: Mapping[str, Integers]) -> tuple[Experiment, ...]:
    """Return the three tables; with the columns of USCensus1990 if they are given."""
    grid = Grid("lezia2020-tables", partial(cells, census=census), partial(measure, census=census))
    return tuple(
        Experiment(
            f"lezia2020-{name}",
            f"Table {NUMERALS[epsilon]}: errors on real data sets at epsilon {epsilon:g}",
            grid,
            partial(judge, epsilon=epsilon),
            partial(draw, epsilon=epsilon),
            ABOUT,
            partial(_has, epsilon=epsilon),
            (10.5, 6.2) if not census else (10.5, 11.0),
        )
        for epsilon, name in TABLES.items()
    )


def _has(cell: Cell, epsilon: float) -> bool:
    return cell["epsilon"] == epsilon


EXPERIMENTS = tables({})
