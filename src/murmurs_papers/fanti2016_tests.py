"""Fanti, Pihur and Erlingsson (2016), figures 13 to 15: the Wald test and the score test."""

from __future__ import annotations

import itertools
import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from murmurs.inference.association import LEVEL, Test, association
from murmurs.mechanisms import SUE
from murmurs.mechanisms.products.closed import Product
from murmurs.numerics.arrays import Floats
from murmurs.present.palette import GREY, SERIES
from murmurs.studies.measured import Series, Table
from murmurs.studies.running import Cell
from murmurs_papers.drawing import level, line, tidy
from murmurs_papers.experiment import Experiment, Grid, Scale
from murmurs_papers.findings import Finding, claim, number
from murmurs_papers.ours import clearly_above, ours, paired

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIRST = 6
"""The answers to the first question; the second has m."""

WALD, SCORE = "Wald", "score"
TESTS: dict[str, Test] = {WALD: "wald", SCORE: "score"}
ADDED = (0.0, 0.05, 0.1)
"""What is added to the diagonal: nothing for the type I error, then Dist1 and Dist2."""

EPSILONS = (1.5, 3.0)
TRIALS: dict[Scale, dict[int, int]] = {
    "full": {3: 1000, 6: 500, 10: 200},
    "quick": {3: 50, 6: 20, 10: 6},
    "tiny": {3: 4, 6: 1},
}
PEOPLE: dict[Scale, dict[int, tuple[int, ...]]] = {
    "full": {3: (10**3, 10**4, 10**5), 6: (10**3, 10**4, 10**5), 10: (10**3, 10**4)},
    "quick": {3: (10**3, 10**4), 6: (10**3, 10**4), 10: (10**3, 10**4)},
    "tiny": {3: (10**3, 10**4), 6: (10**4,)},
}


def table_of(m: int, n: int, added: float, rng: np.random.Generator) -> Floats:
    """Return a table with margins drawn from the simplex, and mass added to its diagonal."""
    table = np.outer(rng.dirichlet(np.ones(m)), rng.dirichlet(np.ones(n)))
    table[np.arange(min(m, n)), np.arange(min(m, n))] += added
    return np.asarray(table / table.sum())


def cells(scale: Scale) -> list[Cell]:
    """Return all sizes, numbers of people and epsilons, independent and dependent."""
    return [
        Cell(
            {"m": m, "people": n, "epsilon": epsilon, "added": added}, trials * (1 + (epsilon > 2))
        )
        for m, trials in TRIALS[scale].items()
        for n in PEOPLE[scale][m]
        for epsilon in EPSILONS
        for added in ADDED
    ]


def measure(cell: Cell, rng: np.random.Generator) -> list[Series]:
    """Return the p-values of both tests on the same reports, with new margins each time."""
    m, n = cell.whole("m"), cell.whole("people")
    both = Product([SUE(FIRST, cell.real("epsilon")), SUE(m, cell.real("epsilon"))])
    found = {name: np.empty(cell.repetitions) for name in TESTS}
    for time in range(cell.repetitions):
        law = table_of(FIRST, m, cell.real("added"), rng)
        answers = np.repeat(np.arange(law.size), rng.multinomial(n, law.ravel()))
        reports = both.encode_many(answers, rng)
        counts = both.count(reports)
        for name, test in TESTS.items():
            given = reports if test == "wald" else None
            found[name][time] = association(counts, test=test, reports=given).p_value
    return [Series({"test": name}, {"p_value": own}) for name, own in found.items()]


GRID = Grid("fanti2016-tests", cells, measure)


def rejected(series: Series) -> tuple[float, float]:
    """Return how often a test rejects, and the standard error of that at the measured rate."""
    rate, many = float(_is_rejected(series).mean()), series.repetitions
    return rate, math.sqrt(max(rate * (1 - rate), LEVEL / many) / many)


def _is_rejected(series: Series) -> Floats:
    return np.asarray(series.values["p_value"] <= LEVEL, np.float64)


# Figure 13

QQ_PEOPLE, QQ_SIZE, QQ_EPSILON = 10**4, 6, 3.0


def judge_figure13(rows: Table) -> list[Finding]:
    """Compare the mean p-value, which is one half if p-values are uniform."""
    found = []
    for m in (3, QQ_SIZE):
        wald, score = (
            rows.one(m=m, people=QQ_PEOPLE, epsilon=QQ_EPSILON, added=0.0, test=test)
            for test in (WALD, SCORE)
        )
        found.append(
            number(
                f"mean p-value, Wald test, 6 x {m} answers",
                0.5,
                wald.mean("p_value"),
                math.sqrt(1 / 12 / wald.repetitions),
                why=WHY_BOUNDARY,
                beside={"score test": score.mean("p_value")},
            )
        )
    return found


def draw_figure13(rows: Table, figure: Figure) -> None:
    """Draw observed over theoretical quantiles, for both tests."""
    panels = figure.subplots(1, 2, sharey=True)
    for axes, m in zip(panels, (3, QQ_SIZE), strict=True):
        axes.plot([0, 1], [0, 1], color=GREY, linewidth=1)
        for place, test in enumerate(TESTS):
            own = rows.one(m=m, people=QQ_PEOPLE, epsilon=QQ_EPSILON, added=0.0, test=test)
            p_values = np.sort(own.values["p_value"])
            expected = (np.arange(len(p_values)) + 0.5) / len(p_values)
            colour, mark = SERIES[place]
            axes.plot(expected, p_values, mark, color=colour, markersize=4, label=f"{test} test")
        axes.set_xlabel("theoretical quantile")
        axes.legend(frameon=False, fontsize=8)
        tidy(axes, f"6 x {m} answers, {QQ_PEOPLE:,} people, ε = {QQ_EPSILON:g}")
    panels[0].set_ylabel("observed p-value")


# Figures 14 and 15


def pooled(rows: Table) -> tuple[float, float]:
    """Return how often tests reject in all settings together, with the standard error."""
    p_values = np.concatenate([s.values["p_value"] for s in rows])
    return rejected(Series({}, {"p_value": p_values}))


def _by(rows: Table, label: str) -> dict[float, tuple[float, float]]:
    """Return how often tests reject for each value of a label, in the order of the values."""
    found = {float(value): pooled(rows.where(**{label: value})) for value in rows.distinct(label)}
    return dict(sorted(found.items()))


def _rises(rates: dict[float, tuple[float, float]]) -> bool:
    """Return whether rates do not fall by more than three standard errors."""
    own = list(rates.values())
    return all(
        later[0] >= earlier[0] - 3 * math.hypot(earlier[1], later[1])
        for earlier, later in itertools.pairwise(own)
    )


def _told(rates: dict[float, tuple[float, float]], name: str) -> str:
    return ", ".join(f"{rate:.3f} for {name} = {value:,g}" for value, (rate, _) in rates.items())


def judge_figure14(rows: Table) -> list[Finding]:
    """Say how often independent answers are rejected."""
    own = rows.where(added=0.0)
    wald = own.where(test=WALD)
    said, ratios = _type_one(wald)
    found = [
        claim(
            f"Wald test, {len(ratios)} settings",
            "the type I error appears to be bounded by 0.05",
            said,
            not clearly_above(ratios),
        )
    ]
    said, ratios = _type_one(own.where(test=SCORE))
    found.append(
        ours(f"score test, our default, {len(ratios)} settings", "the level 0.05", said, ratios)
    )
    sizes = _by(wald, "m")
    found.append(
        claim(
            "Wald test, size of the dictionary",
            "larger dictionaries have lower rates",
            _told(sizes, "m"),
            _rises(dict(reversed(sizes.items()))),
        )
    )
    people = _by(wald, "people")
    last_rate, last_error = list(people.values())[-1]
    found.append(
        claim(
            "Wald test, number of people",
            "the rate increases and stabilizes around 0.05",
            _told(people, "N"),
            _rises(people) and last_rate > LEVEL - 3 * last_error,
            why=WHY_BOUNDARY,
        )
    )
    return found


def _type_one(rows: Table) -> tuple[str, list[tuple[float, float]]]:
    """Return type I errors in words, and over the level with their standard errors."""
    rates = [rejected(s) for s in rows]
    ratios = [(rate / LEVEL, error / LEVEL) for rate, error in rates]
    rate, error = pooled(rows)
    return (
        f"{rate:.3f} ± {error:.3f} in all trials, {min(rates)[0]:.3f} to {max(rates)[0]:.3f} in "
        f"single settings, above 0.05 by more than three standard errors in {clearly_above(ratios)}"
    ), ratios


def judge_figure15(rows: Table) -> list[Finding]:
    """Say how often dependent answers are found, and on what that depends."""
    own = rows.where(test=WALD)
    several = Table(s for s in own if s["added"])
    low = several.where(epsilon=min(EPSILONS))
    power = _by(Table(s for s in low if int(s["people"]) <= 10**4), "added")
    found = [
        claim("Wald test", f"the power increases with {what}", _told(rates, name), _rises(rates))
        for what, name, rates in (
            ("epsilon", "ε", _by(several, "epsilon")),
            ("N", "N", _by(several, "people")),
            ("the mass on the diagonal", "added", _by(several, "added")),
        )
    ]
    sizes = _by(Table(s for s in several if int(s["people"]) <= 10**4), "m")
    found.append(
        claim(
            "Wald test, size of the dictionary",
            "the power decreases as the dictionary grows, and is low with 10 strings",
            _told(sizes, "m"),
            _rises(dict(reversed(sizes.items()))),
            why=WHY_SIZE,
        )
    )
    found.append(
        claim(
            f"Wald test, epsilon = {min(EPSILONS)}, at most 10,000 people",
            "almost no power",
            _told(power, "added"),
            max(rate for rate, _ in power.values()) < 0.2,
            why=WHY_POWER,
        )
    )
    ratios = [
        paired(*(_is_rejected(one) for one in (s, rows.one(**{**s.labels, "test": SCORE}))))
        for s in several
    ]
    fewer = sum(ratio > 1 for ratio, _ in ratios)
    found.append(
        ours(
            "score test, our default",
            "the Wald test on the same reports",
            f"it finds {pooled(Table(s for s in rows.where(test=SCORE) if s['added']))[0]:.2f} of "
            f"the associations, the Wald test {pooled(several)[0]:.2f}; fewer in {fewer} of "
            f"{len(ratios)} settings, by more than three standard errors in "
            f"{clearly_above(ratios)}",
            ratios,
        )
    )
    return found


def draw_rates(rows: Table, figure: Figure, several: tuple[float, ...]) -> None:
    """Draw how often tests reject over the number of people, a panel for each epsilon and table."""
    panels = figure.subplots(len(several), len(EPSILONS), sharex=True, sharey=True, squeeze=False)
    for above, added in zip(panels, several, strict=True):
        for axes, epsilon in zip(above, EPSILONS, strict=True):
            for place, m in enumerate(rows.distinct("m")):
                for test, style in ((WALD, "-"), (SCORE, ":")):
                    own = rows.where(m=m, epsilon=epsilon, added=added, test=test)
                    x = [float(s["people"]) for s in own]
                    y = [rejected(s)[0] for s in own]
                    line(axes, x, y, place, f"m = {m}" if test == WALD else None, style=style)
            axes.set_xscale("log")
            name = "" if added == 0 else f"{added:g} on the diagonal, "
            tidy(axes, f"{name}ε = {epsilon:g}")
            if added == 0:
                level(axes, LEVEL, "0.05")
        above[0].set_ylabel("type I error" if several == (0.0,) else "power")
    for axes in panels[-1]:
        axes.set_xlabel("people")
    panels[0, 0].legend(frameon=False, fontsize=8, title="Wald; dotted: score", title_fontsize=8)


WHY_BOUNDARY = (
    "The Wald statistic has a chi-square law only where no share is estimated at zero. In tables "
    "of this size many of the most likely shares are at zero, so that the test rejects too rarely, "
    "also with larger samples; the score test does not depend on estimated shares."
)
WHY_SIZE = (
    "Mass is added to each cell of the diagonal, of which a table with m = 3 has three and one "
    "with m = 6 or 10 has six. So larger tables have more of it, which outweighs their degrees of "
    "freedom."
)
WHY_POWER = (
    "The paper does not say which epsilon its 1.5 is. If it is that of both reports together, each "
    "has 0.75, and the Wald test finds next to nothing; here it is that of each report."
)
ABOUT = (
    "One question has 6 answers and the other m; margins are drawn uniformly from the simplex. "
    "Reports are those of Basic RAPPOR without permanent noise, epsilon is that of each question. "
    "The paper prints its results as curves only, so that its sentences are compared. The score "
    "test, our default, is made on the same reports."
)
EXPERIMENTS = (
    Experiment(
        "fanti2016-figure13",
        "Figure 13: quantiles of the p-values of independent answers",
        GRID,
        judge_figure13,
        draw_figure13,
        ABOUT + " Under the hypothesis p-values are uniform, with a mean of one half.",
        wanted=lambda cell: (
            cell["added"] == 0
            and cell["people"] == QQ_PEOPLE
            and cell["epsilon"] == QQ_EPSILON
            and cell.whole("m") <= QQ_SIZE
        ),
        size=(9.0, 4.5),
    ),
    Experiment(
        "fanti2016-figure14",
        "Figure 14: type I error of the test of independence",
        GRID,
        judge_figure14,
        partial(draw_rates, several=(0.0,)),
        ABOUT,
        wanted=lambda cell: cell["added"] == 0,
        size=(9.0, 4.0),
    ),
    Experiment(
        "fanti2016-figure15",
        "Figure 15: power of the test of independence",
        GRID,
        judge_figure15,
        partial(draw_rates, several=ADDED[1:]),
        ABOUT + " Mass of 0.05 (Dist1) or 0.1 (Dist2) is added to each cell of the diagonal.",
        wanted=lambda cell: cell["added"] != 0,
        size=(9.0, 6.5),
    ),
)
