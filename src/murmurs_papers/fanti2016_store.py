"""Fanti, Pihur and Erlingsson (2016), section 3.6 and figure 4: categories of apps and payment."""

from __future__ import annotations

import csv
import warnings
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from murmurs import estimators
from murmurs.estimators.steps import rows_of
from murmurs.inference.association import association
from murmurs.mechanisms import KRR, SUE
from murmurs.mechanisms.products.closed import Product
from murmurs.numerics.arrays import Floats
from murmurs.numerics.special import chi_square_tail
from murmurs.present.palette import SERIES
from murmurs.studies.measured import Series, Table
from murmurs.studies.running import Cell
from murmurs_papers.drawing import tidy
from murmurs_papers.experiment import Experiment, Grid, Scale
from murmurs_papers.findings import Finding, claim, number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CATEGORIES = 30
EPSILON, LEVEL = 2.0, 1.959964
PEOPLE: dict[Scale, int] = {"full": 10**5, "quick": 10**5, "tiny": 10**4}
TIMES: dict[Scale, int] = {"full": 50, "quick": 6, "tiny": 2}
STATISTIC, P_VALUE, FREEDOM = 107.093, 6.9523e-11, CATEGORIES - 1
"""The Wald statistic and the p-value that the paper prints; it does not print the freedom."""

KINDS = ("free", "paid")


@cache
def apps() -> tuple[tuple[str, ...], Floats]:
    """Return the 30 largest categories, and the shares of their free and paid apps.

    The counts are those of 10,839 apps in a public table; that of the paper, with 200,000 apps, is
    not public.

    >>> apps()[0][:2], apps()[1].shape
    (('Family', 'Game'), (30, 2))
    """
    path = files("murmurs_papers") / "data" / "playstore.csv"
    rows = list(csv.reader(path.read_text("utf-8").splitlines()))[1 : CATEGORIES + 1]
    counts = np.array([[float(x) for x in row[1:]] for row in rows])
    return tuple(row[0] for row in rows), counts / counts.sum()


def cells(scale: Scale) -> list[Cell]:
    """Return the one setting of the paper."""
    return [Cell({"people": PEOPLE[scale], "epsilon": EPSILON}, TIMES[scale])]


VALUES = ("estimated", "error", "error as printed", "Wald", "score", "score p-value")


def measure(cell: Cell, rng: np.random.Generator) -> list[Series]:
    """Return the most likely shares of all combinations, their standard errors, and two tests."""
    names, law = apps()
    both = Product([SUE(len(names), cell.real("epsilon")), KRR(2, cell.real("epsilon"))])
    n = cell.whole("people")
    found = np.empty((len(VALUES), law.size, cell.repetitions))
    for time in range(cell.repetitions):
        answers = np.repeat(np.arange(law.size), rng.multinomial(n, law.ravel()))
        reports = both.encode_many(answers, rng)
        with warnings.catch_warnings(action="ignore", category=estimators.NoiseDominates):
            shares = estimators.report_likelihood(both, reports, tolerance=0.1).shares
        rows = rows_of(both.evidence(reports), slice(0, n))
        information = information_of(rows, shares)
        inverse = np.linalg.inv(information)
        table = shares.reshape(law.shape)
        away = (table - np.outer(table.sum(axis=1), table.sum(axis=0))).ravel()
        score = association(both.count(reports), test="score")
        found[:, :, time] = [
            shares,
            np.sqrt(np.maximum(np.diag(inverse) - shares**2 / n, 0)),
            np.sqrt(np.diag(inverse)),
            np.full(law.size, away @ information @ away),
            np.full(law.size, score.statistic),
            np.full(law.size, score.p_value),
        ]
    return [
        Series(
            {"category": names[i // 2], "kind": KINDS[i % 2]},
            dict(zip(VALUES, found[:, i], strict=True)),
        )
        for i in range(law.size)
    ]


def information_of(rows: Floats, shares: Floats) -> Floats:
    """Return the information about shares in reports, given their likelihoods: section 3.3.

    >>> rows = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])  # no noise: n / p
    >>> information_of(rows, np.array([1 / 3, 2 / 3])).round(3)
    array([[9. , 0. ],
           [0. , 4.5]])
    """
    relative = rows / (rows @ shares)[:, None]
    return np.asarray(relative.T @ relative)


GRID = Grid("fanti2016-store", cells, measure)


def _runs(rows: Table, value: str) -> Floats:
    """Return a value by category, kind and run."""
    names, _ = apps()
    return np.array(
        [[rows.one(category=name, kind=kind).values[value] for kind in KINDS] for name in names]
    )


def _paid(table: Floats) -> Floats:
    """Return the part of paid apps of each category."""
    return np.asarray(table[:, 1] / np.maximum(table.sum(axis=1), 1e-9))


def judge(rows: Table) -> list[Finding]:
    """Compare coverage and the tests; the numbers of another table cannot be the same."""
    _, law = apps()
    estimated, error, as_printed = (_runs(rows, name) for name in VALUES[:3])
    away = np.abs(estimated - law[:, :, None])
    inside, wide = away <= LEVEL * error, away <= LEVEL * as_printed
    runs = estimated.shape[2]
    worst = float(inside.mean(axis=2).min())
    wald = rows.series[0].values["Wald"]
    score = rows.series[0]
    excess = as_printed / np.maximum(error, 1e-12) - 1
    p_values = np.array([chi_square_tail(float(x), FREEDOM) for x in wald])
    middle = float(np.median(p_values))
    paid = _paid(law)
    return [
        number(
            "p-value of T = 107.093 with 29 degrees of freedom, in 1e-11",
            1e11 * P_VALUE,
            1e11 * chi_square_tail(STATISTIC, FREEDOM),
            0.0,
            decimals=2,
        ),
        number(
            "T, on another table of apps",
            STATISTIC,
            float(wald.mean()),
            rows.series[0].error("Wald"),
            why=WHY_TABLE,
            beside={"score test": score.mean("score")},
        ),
        claim(
            "independence of category and payment",
            "rejected, p = 7e-11",
            f"rejected at 5 % in {(p_values <= 0.05).sum()} of {runs} runs, the median p-value is "
            f"{middle:.1g}; by the score test in {(score.values['score p-value'] <= 0.05).sum()}, "
            f"median {float(np.median(score.values['score p-value'])):.1g}",
            middle < 0.05,
            why=WHY_TABLE,
        ),
        claim(
            "95 % intervals of 60 shares",
            "proper coverage in all cases",
            f"{100 * inside.mean():.1f} % of the intervals cover ({runs} runs), the worst of 60 "
            f"cells in {100 * worst:.0f} % of the runs",
            bool(inside.mean() > 0.93),
            why=WHY_ZERO,
        ),
        claim(
            "section 3.3, covariance",
            "the inverse of the information I",
            "it must be I^-1 - p p'/N; the standard errors as printed are up to "
            f"{100 * excess.max():.1f} % larger, and {100 * wide.mean():.1f} % of the intervals "
            "cover",
            False,
            why=WHY_COVARIANCE,
        ),
        claim(
            "paid rates",
            "from 30 % to 4 % between categories",
            f"from {100 * paid.max():.0f} % to {100 * paid.min():.0f} % in the substitute",
            False,
            why=WHY_TABLE,
        ),
    ]


WHY_TABLE = (
    "The table of the paper is not public. The substitute has 10,839 apps, and its 30 largest "
    "categories are taken. Only 7 % of these apps are paid, so that there is less to see."
)
WHY_ZERO = (
    "Many categories have hardly any paid apps. The most likely shares of such cells are at zero, "
    "where the normal approximation of section 3.3 does not hold."
)
WHY_COVARIANCE = (
    "Shares add up to one: I p = N for each cell, so that I^-1 has the variance 1/N in the "
    "direction of the sum, which is known. Also, the second derivative is printed without its "
    "minus sign. The difference matters for large shares only, and not for the test, since the "
    "distance of two tables adds up to zero."
)


def draw(rows: Table, figure: Figure) -> None:
    """Draw paid rates above, and the shares of free and paid apps with intervals below."""
    names, law = apps()
    above, below = figure.subplots(2, 1, sharex=True)
    order = np.argsort(-_paid(law), kind="stable")
    x = np.arange(len(names))
    estimated, error = (_runs(rows, name)[:, :, 0] for name in ("estimated", "error"))
    above.plot(x, _paid(law)[order], "o", mfc="none", color=SERIES[0][0], label="true")
    above.plot(x, _paid(estimated)[order], ".", color=SERIES[1][0], label="estimated")
    above.set_ylabel("paid rate")
    above.legend(frameon=False, fontsize=8)
    tidy(above, "paid rate of each category, ordered")
    for kind, name in enumerate(KINDS):
        colour = SERIES[2 + kind][0]
        below.plot(x, law[order, kind], "o", mfc="none", color=colour, label=f"{name}, true")
        below.errorbar(
            x + 0.2,
            estimated[order, kind],
            LEVEL * error[order, kind],
            color=colour,
            marker=".",
            capsize=2,
            linestyle="none",
            label=f"{name}, estimated",
        )
    below.set_ylabel("joint share")
    below.set_xticks(x, [names[i] for i in order], rotation=90, fontsize=7)
    below.legend(frameon=False, fontsize=8, ncols=2)
    people = int(rows.series[0]["people"])
    tidy(below, f"joint shares with 95 % intervals, one run, {people:,} people, ε = {EPSILON:g}")


EXPERIMENTS = (
    Experiment(
        "fanti2016-figure4",
        "Figure 4: categories of apps in the Play Store, and whether they are paid",
        GRID,
        judge,
        draw,
        "The table of the paper is not public; a public table of 10,839 apps stands in for it. "
        "Reports of categories have 30 bits and those of payment one, with epsilon = 2 each. "
        "Shares are those of the largest likelihood of the reports, with standard errors from the "
        "information, corrected for the known sum.",
        size=(9.0, 8.0),
    ),
)
