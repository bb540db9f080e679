"""Fanti, Pihur and Erlingsson (2016), tables 1 and 2 and figure 2: joint shares and "Other"."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from murmurs import estimators
from murmurs.mechanisms import KRR
from murmurs.mechanisms.products.closed import Product
from murmurs.numerics.arrays import Floats, Integers
from murmurs.present.palette import GREY, INK, SERIES
from murmurs.studies.measured import Label, Series, Table
from murmurs.studies.running import Cell
from murmurs_papers.drawing import line, tidy
from murmurs_papers.experiment import Experiment, Grid, Scale
from murmurs_papers.fanti2016_other import (
    CATEGORIES,
    PEOPLE,
    PRINTED_FOUND,
    PRINTED_TRUE,
    RATIO,
    RUNS,
    TOP,
    likelihoods,
    printed,
    stopped_em,
    with_epsilon,
)
from murmurs_papers.findings import Finding, claim, number
from murmurs_papers.ours import ours, quotient

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

EPSILON = 3.0
BLOOM, DIRECT = "128 bits, two hashes", "five and Other, by k-RR"
READING = with_epsilon(BLOOM, EPSILON, bits=128, hashes=2, cohorts=8)
IGNORED, OTHER, AS_PRINTED, DEFAULT = "ignored", "estimated", "as printed", "our default"
"""What is done about Other; k-RR has it among its answers and is estimated by our default."""

ROUNDS: dict[Scale, int] = {"full": 10, "quick": 1, "tiny": 1}
SAMPLED: dict[Scale, tuple[int, int]] = {
    "full": (PEOPLE, RUNS),
    "quick": (PEOPLE, RUNS),
    "tiny": (20_000, 2),
}
"""People, and runs in a round."""


def cells(scale: Scale) -> list[Cell]:
    """Return rounds of ten runs for each reading."""
    people, runs = SAMPLED[scale]
    return [
        Cell({"reading": reading, "people": people, "round": i}, runs)
        for reading in (BLOOM, DIRECT)
        for i in range(ROUNDS[scale])
    ]


def answers_of(people: int, rng: np.random.Generator) -> tuple[Integers, Integers]:
    """Return the categories of two questions; those in Other are geometric, as the top ones."""
    law = printed(PRINTED_TRUE).ravel()
    which = rng.choice(law.size, people, p=law / law.sum())
    rest = RATIO ** np.arange(CATEGORIES - TOP)
    found = []
    for own in divmod(which, TOP + 1):
        others = own == TOP
        own[others] += rng.choice(len(rest), int(others.sum()), p=rest / rest.sum())
        found.append(own)
    return found[0], found[1]


def measure(cell: Cell, rng: np.random.Generator) -> list[Series]:
    """Return estimated and true shares of all cells, for each way to deal with Other."""
    side = TOP + 1
    models = (DEFAULT,) if cell["reading"] == DIRECT else (OTHER, IGNORED, AS_PRINTED)
    found = {model: np.zeros((cell.repetitions, side, side)) for model in models}
    truth, detected = np.empty((cell.repetitions, side, side)), np.empty(cell.repetitions)
    for time in range(cell.repetitions):
        answers = answers_of(cell.whole("people"), rng)
        few = np.minimum(answers[0], TOP) * side + np.minimum(answers[1], TOP)
        people = np.bincount(few, minlength=side**2)
        truth[time] = people.reshape(side, side) / people.sum()
        if cell["reading"] == DIRECT:
            counts = Product([KRR(side, EPSILON)] * 2).simulate(people, rng)
            found[DEFAULT][time] = estimators.estimate(counts).shares.reshape(side, side)
            detected[time] = TOP
            continue
        (one, first), (two, second) = (likelihoods(READING, own, rng) for own in answers)
        detected[time] = (first + second) / 2
        found[OTHER][time] = stopped_em(one[:, :side], two[:, :side], READING.stop)
        found[IGNORED][time, :TOP, :TOP] = stopped_em(one[:, :TOP], two[:, :TOP], 1e-4)
        wrong = [np.delete(own, TOP, axis=1) for own in (one, two)]
        found[AS_PRINTED][time] = stopped_em(wrong[0], wrong[1], 1e-4)
    return [
        Series(
            {"model": model, "row": i, "column": j},
            {"estimated": own[:, i, j], "true": truth[:, i, j], "detected": detected},
        )
        for model, own in found.items()
        for i in range(side)
        for j in range(side)
    ]


GRID = Grid("fanti2016-other", cells, measure)


def runs_of(rows: Table, value: str, **labels: Label) -> Floats:
    """Return a value of all cells of the table, for each run."""
    side = TOP + 1
    return np.array(
        [
            [
                np.concatenate([s.values[value] for s in rows.where(row=i, column=j, **labels)])
                for j in range(side)
            ]
            for i in range(side)
        ]
    ).transpose(2, 0, 1)


# Table 1


def shape_of(table: Floats) -> tuple[list[float], float]:
    """Return the ratios of successive shares of both questions, and the chi-square statistic."""
    ratios = [float(x) for axis in (1, 0) for x in _ratios(table.sum(axis=axis)[:TOP])]
    expected = np.outer(table.sum(axis=1), table.sum(axis=0))
    return ratios, float(PEOPLE * ((table - expected) ** 2 / expected).sum())


def _ratios(shares: Floats) -> Floats:
    return np.asarray(shares[1:] / shares[:-1])


def measure_table1(_cell: Cell, _rng: np.random.Generator) -> list[Series]:
    """Return what the printed table says about itself."""
    table = printed(PRINTED_TRUE)
    ratios, chi_square = shape_of(table)
    found = {
        "sum": float(table.sum()),
        "smallest ratio": min(ratios),
        "largest ratio": max(ratios),
        "chi-square": chi_square,
    }
    return [Series({}, {name: np.array([value]) for name, value in found.items()})]


def judge_table1(rows: Table) -> list[Finding]:
    """Add up the cells, and compare the margins with Zipf's law."""
    found = rows.series[0]
    low, high = found.mean("smallest ratio"), found.mean("largest ratio")
    return [
        number(
            "sum of all cells, in percent",
            100.0,
            round(100 * found.mean("sum"), 6),
            0.0,
            decimals=2,
        ),
        claim(
            "margins of X and Y",
            "discretized Zipfian",
            f"each share is {low:.2f} to {high:.2f} times the one before; under "
            "Zipf's law it would be 0.50, 0.67, 0.75 and 0.80 times",
            False,
            why="The margins that were used are geometric. No conclusion depends on it.",
        ),
    ]


def draw_table1(_rows: Table, figure: Figure) -> None:
    """Draw the table as numbers, and its margins beside two laws."""
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    draw_table(left, printed(PRINTED_TRUE), "True joint distribution of X (rows) and Y, in percent")
    table = 100 * printed(PRINTED_TRUE)
    rank = [float(i) for i in range(1, TOP + 1)]
    first = float(table.sum(axis=1)[0])
    lines: dict[str, list[float]] = {
        "X": table.sum(axis=1)[:TOP].tolist(),
        "Y": table.sum(axis=0)[:TOP].tolist(),
        f"geometric, ratio {RATIO}": [first * RATIO ** (r - 1) for r in rank],
        "Zipf": [first / r for r in rank],
    }
    for place, (name, own) in enumerate(lines.items()):
        line(right, rank, own, place, name, style="-" if place > 1 else " ")
    right.set_xlabel("category")
    right.set_ylabel("share in percent")
    right.set_ylim(0)
    right.legend(frameon=False, fontsize=8)
    tidy(right, "margins")


def draw_table(axes: Axes, shares: Floats, title: str) -> None:
    """Draw a table of percentages with heads, as it is printed."""
    names = [*map(str, range(1, TOP + 1)), "Other"]
    axes.imshow(shares, cmap="Blues", vmax=0.2, aspect="auto")
    for (i, j), share in np.ndenumerate(shares):
        axes.text(j, i, f"{100 * share:.3f}", ha="center", va="center", fontsize=8, color=INK)
    axes.set_xticks(range(TOP + 1), names)
    axes.set_yticks(range(TOP + 1), names)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_title(title, loc="left", fontsize=9)


# Table 2


def errors_of_runs(rows: Table, **labels: Label) -> Floats:
    """Return the errors of all cells, for each run."""
    return runs_of(rows, "estimated", **labels) - runs_of(rows, "true", **labels)


def mean_of_ten(errors: Floats) -> float:
    """Return the l1 error that the mean of ten runs has, if the errors are noise alone."""
    return float(math.sqrt(2 / math.pi / RUNS) * errors.std(axis=0, ddof=1).sum())


def alike(spread: Floats) -> Floats:
    """Return standard deviations pooled over cells with the same number of Others.

    Noise outweighs the shares, so that these cells scatter alike, and ten runs alone tell little.
    """
    is_other = (np.arange(TOP + 1) == TOP).astype(int)
    others = np.add.outer(is_other, is_other)
    means = [math.sqrt(float((spread[others == i] ** 2).mean())) for i in range(3)]
    return np.asarray(np.array(means)[others])


def judge_table2(rows: Table) -> list[Finding]:
    """Compare the 36 shares, which are means of ten runs, and their errors."""
    errors = errors_of_runs(rows, reading=BLOOM, model=OTHER)
    runs = len(errors)
    truth, published = printed(PRINTED_TRUE), printed(PRINTED_FOUND)
    names = [*map(str, range(1, TOP + 1)), "Other"]
    spread = 100 * alike(errors.std(axis=0, ddof=1))
    found = [
        number(
            f"X = {names[i]}, Y = {names[j]}, in percent",
            100 * float(published[i, j]),
            100 * float(truth[i, j] + errors[:, i, j].mean()),
            float(spread[i, j]) / math.sqrt(runs),
            published_error=float(spread[i, j]) / math.sqrt(RUNS),
            sigmas=4.0,
            beside={"truth": 100 * float(truth[i, j])},
        )
        for i in range(TOP + 1)
        for j in range(TOP + 1)
    ]
    printed_error = float(np.abs(published - truth).sum())
    expected = mean_of_ten(errors)
    detected = runs_of(rows, "detected", reading=BLOOM, model=OTHER)[:, 0, 0]
    wrong = np.abs(errors_of_runs(rows, reading=BLOOM, model=AS_PRINTED)).sum(axis=(1, 2))
    single = np.abs(errors).sum(axis=(1, 2))
    bias, doubt = 100 * float(errors[:, -1, -1].mean()), float(spread[-1, -1]) / math.sqrt(runs)
    printed_bias = 100 * float(published[-1, -1] - truth[-1, -1])
    direct = np.abs(errors_of_runs(rows, reading=DIRECT, model=DEFAULT)).sum(axis=(1, 2))
    return [
        *found,
        claim(
            "l1 error of table 2",
            f"{printed_error:.3f}, computed from the two tables",
            f"{single.mean():.3f} for a single run, {expected:.3f} for a mean of ten",
            0.6 < expected / printed_error < 1.6,
            why=WHY_FEW_PEOPLE,
        ),
        claim(
            "categories found of each variable",
            "15 on average",
            f"{detected.mean():.1f} on average",
            12.5 < detected.mean() < 17.5,
            why=WHY_FEW_PEOPLE,
        ),
        claim(
            "share of Other with Other, in percent",
            "accounting for Other gives unbiased estimates",
            f"off by {bias:+.2f} ± {doubt:.2f} here, by {printed_bias:+.2f} in table 2",
            abs(bias) < 3 * doubt,
            why=WHY_PRODUCT,
        ),
        claim(
            "section 3.2, the bits of Other",
            "the formula for c_s^m leads to unbiased estimates",
            f"with it, the l1 error of a run is {wrong.mean():.2f}",
            bool(wrong.mean() < 2 * single.mean()),
            why=WHY_OTHER,
        ),
        ours(
            "our default, with k-RR of five categories and Other",
            f"the paper's model of Other at the same epsilon, l1 error {single.mean():.4f} a run",
            f"the l1 error of a run is {direct.mean():.4f}",
            [quotient(direct.mean(), _error(direct), single.mean(), _error(single))],
        ),
    ]


def _error(numbers: Floats) -> float:
    """Return the standard error of a mean."""
    return float(numbers.std(ddof=1)) / math.sqrt(len(numbers)) if len(numbers) > 1 else 0.0


WHY_FEW_PEOPLE = "Fewer people were simulated than in the paper."
WHY_PRODUCT = (
    "Other has a product of bit rates in place of its true law, a mixture of 95 categories, so "
    "that a bias is left, here as in table 2."
)
WHY_OTHER = (
    "As printed, c_s^m = q* T_s + p* (N - T_s) counts the noise of everybody; the top m categories "
    "account for q* T_s + p* (N (p_1 + ... + p_m) - T_s). With the printed form hardly any bit is "
    "left for Other. The corrected form reproduces table 2, so the program must have had it right."
)


def draw_table2(rows: Table, figure: Figure) -> None:
    """Draw the printed table above the mean of our runs."""
    panels = figure.subplots(1, 2)
    errors = errors_of_runs(rows, reading=BLOOM, model=OTHER)
    draw_table(panels[0], printed(PRINTED_FOUND), "Table 2 as printed, in percent")
    ours = printed(PRINTED_TRUE) + errors.mean(axis=0)
    draw_table(panels[1], ours, f"mean of {len(errors)} runs here")


# Figure 2


def conditional(tables: Floats) -> Floats:
    """Return the shares among the top categories of each table."""
    top = tables[..., :TOP, :TOP]
    return np.asarray(top / top.sum(axis=(-2, -1), keepdims=True))


def slope(true: Floats, estimated: Floats) -> float:
    """Return the slope of the line of mean estimates over true shares."""
    x, y = true.mean(axis=0).ravel(), estimated.mean(axis=0).ravel()
    return float(np.polyfit(x, y, 1)[0])


def panels_of(rows: Table) -> dict[str, tuple[Floats, Floats]]:
    """Return true and estimated shares of the four panels, for each run."""
    true = runs_of(rows, "true", reading=BLOOM, model=OTHER)
    ignored = runs_of(rows, "estimated", reading=BLOOM, model=IGNORED)[:, :TOP, :TOP]
    other = runs_of(rows, "estimated", reading=BLOOM, model=OTHER)
    joint = true[:, :TOP, :TOP]
    return {
        "Other ignored, joint": (joint, ignored),
        "Other ignored, conditional": (conditional(true), ignored),
        "Other estimated, joint": (joint, other[:, :TOP, :TOP]),
        "Other estimated, conditional": (conditional(true), conditional(other)),
    }


def judge_figure2(rows: Table) -> list[Finding]:
    """Say whether estimates are biased with and without Other."""
    panels = panels_of(rows)
    true, ignored = panels["Other ignored, joint"]
    ratio = float(ignored.sum(axis=(1, 2)).mean() / true.sum(axis=(1, 2)).mean())
    squeezed = slope(*panels["Other ignored, conditional"])
    slopes = [slope(*panels[f"Other estimated, {kind}"]) for kind in ("joint", "conditional")]
    joint_true, joint = panels["Other estimated, joint"]
    errors = joint - joint_true
    z = errors.mean(axis=0) / (errors.std(axis=0, ddof=1) / math.sqrt(len(errors)))
    off = float(np.median(np.abs(z)))
    return [
        claim(
            "Other ignored, joint shares",
            "poor estimates of the true joint frequencies",
            f"their sum is {ratio:.2f} times the true one",
            ratio > 1.5,
        ),
        claim(
            "Other ignored, conditional shares",
            "regression to the mean: high values are underestimated, low ones overestimated",
            f"the slope of estimated over true shares is {squeezed:.2f}",
            squeezed < 0.95,
        ),
        claim(
            "Other estimated",
            "estimates are unbiased",
            f"slopes {slopes[0]:.2f} (joint) and {slopes[1]:.2f} (conditional); the median of 25 "
            f"cells is {off:.1f} standard errors away from the truth, where 0.7 is expected. Other "
            "with Other is not among them, and is biased: see table 2",
            off < 1.5,
            why=WHY_PRODUCT,
        ),
    ]


def draw_figure2(rows: Table, figure: Figure) -> None:
    """Draw estimated over true shares, with single runs in grey and their means in red."""
    panels = figure.subplots(2, 2)
    for axes, (title, (true, estimated)) in zip(panels.flat, panels_of(rows).items(), strict=True):
        top = 1.05 * float(max(true.max(), estimated.max()))
        axes.plot([0, top], [0, top], color=GREY, linewidth=1)
        axes.plot(true.ravel(), estimated.ravel(), ".", color="#b8b8b8", markersize=4)
        means = true.mean(axis=0).ravel(), estimated.mean(axis=0).ravel()
        axes.plot(*means, ".", color=SERIES[1][0], markersize=8)
        axes.set_xlim(0, top)
        axes.set_ylim(0, top)
        axes.set_xlabel("true share")
        axes.set_ylabel("estimated share")
        tidy(axes, title)
    figure.suptitle(f"true against estimated joint shares, {PEOPLE:,} people, ε = {EPSILON:g}")


ABOUT_READING = (
    "The paper does not say how reports were encoded. RAPPOR of 128 bits with two hashes and 8 "
    "cohorts fits the printed error, epsilon = 3 and 15 categories found at once, if table 2 is "
    "the mean of the ten runs of figure 2; docs/results/joint.md compares other readings."
)
EXPERIMENTS = (
    Experiment(
        "fanti2016-table1",
        "Table 1: true joint shares of two variables, the top five categories and Other",
        Grid("fanti2016-table1", lambda _scale: [Cell({"table": 1}, 1)], measure_table1),
        judge_table1,
        draw_table1,
        "The table is given, and the simulations of table 2 and figure 2 draw people from it. Its "
        "margins are geometric, not Zipfian as the text says. X and Y are independent in it: the "
        "chi-square statistic of 100,000 people is 24.0 on 25 degrees of freedom.",
        size=(10.0, 4.0),
    ),
    Experiment(
        "fanti2016-table2",
        "Table 2: estimated joint shares, 100,000 people, epsilon = 3 for each variable",
        GRID,
        judge_table2,
        draw_table2,
        ABOUT_READING + " The shares of the paper scatter as ours do, so that the standard errors "
        "of both are taken into account; four of them are allowed, for 36 numbers.",
        size=(11.0, 4.0),
    ),
    Experiment(
        "fanti2016-figure2",
        "Figure 2: joint shares of the top five categories, with Other ignored and estimated",
        GRID,
        judge_figure2,
        draw_figure2,
        ABOUT_READING,
        size=(8.0, 7.0),
    ),
)
