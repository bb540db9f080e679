"""The slides of Kairouz, Bonawitz and Ramage (2016): the table of effective samples."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from murmurs import estimators
from murmurs.studies.measured import Series, Table
from murmurs.studies.running import Cell
from murmurs_papers.drawing import tidy
from murmurs_papers.experiment import Experiment, Grid, Scale
from murmurs_papers.findings import Finding, number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

from murmurs_papers.kairouz2016_risks import mechanism_of, risk_l2


def effective(name: str, k: int, epsilon: float) -> float:
    """Return the share of the people that remains, if they were asked without noise."""
    uniform = np.full(k, 1 / k)
    return (1 - 1 / k) / risk_l2(name, uniform, epsilon, 1)


def as_on_the_slide(name: str, k: int, epsilon: float) -> float:
    """Return the same as the slides print it: k-RAPPOR with e^epsilon in place of e^(epsilon/2)."""
    a, s = math.exp(epsilon), math.exp(epsilon / 2)
    if name == "k-RR":
        return ((a - 1) / (a + k - 1)) ** 2
    return (k - 1) * (s - 1) ** 2 / ((k - 1) * (s - 1) ** 2 + k * k * a)


LIMITS: dict[str, tuple[str, Callable[[int], float], str, Callable[[int, float], float]]] = {
    "k-RR": ("n/4", lambda _: 1 / 4, "n ε²/k²", lambda k, e: e * e / k**2),
    "k-RAPPOR": ("n/sqrt(k)", lambda k: k**-0.5, "n ε²/4k", lambda k, e: e * e / (4 * k)),
}
SLIDE_K, SMALL = 100, 0.05
SLIDE_TIMES: dict[Scale, int] = {"full": 20_000, "quick": 400, "tiny": 200}


def slide_cells(scale: Scale) -> list[Cell]:
    """Return both mechanisms at a low and a high privacy."""
    return [
        Cell({"mechanism": name, "regime": regime}, SLIDE_TIMES[scale])
        for name in LIMITS
        for regime in ("low privacy", "high privacy")
    ]


def measure_slide(cell: Cell, rng: np.random.Generator) -> list[Series]:
    """Return the squared errors of unbiased shares of a uniform law, times n."""
    epsilon = math.log(SLIDE_K) if cell["regime"] == "low privacy" else SMALL
    mechanism = mechanism_of(cell.text("mechanism"), SLIDE_K, epsilon)
    law, n = np.full(SLIDE_K, 1 / SLIDE_K), 10**6
    found = [
        (estimators.unbiased(mechanism.simulate(rng.multinomial(n, law), rng)).shares - law) ** 2
        for _ in range(cell.repetitions)
    ]
    return [Series({}, {"risk": n * np.array(found).sum(axis=1)})]


def judge_slide(rows: Table) -> list[Finding]:
    """Set the slide's formulas and limits beside the simulated shares of samples."""
    found = []
    for name, (low, at_low, high, at_high) in LIMITS.items():
        for regime, limit, stated in (
            ("low privacy", low, at_low(SLIDE_K)),
            ("high privacy", high, at_high(SLIDE_K, SMALL)),
        ):
            epsilon = math.log(SLIDE_K) if regime == "low privacy" else SMALL
            series = rows.one(mechanism=name, regime=regime)
            risk, error = series.mean("risk"), series.error("risk")
            share = (1 - 1 / SLIDE_K) / risk
            doubt = share * error / risk
            exact = effective(name, SLIDE_K, epsilon)
            where = f"{name}, k = {SLIDE_K}, epsilon = {epsilon:.3g}"
            found.append(number(f"{where}: corrected formula", exact, share, doubt, decimals=12))
            found.append(
                number(
                    f"{where}: formula as printed",
                    as_on_the_slide(name, SLIDE_K, epsilon),
                    share,
                    doubt,
                    decimals=12,
                    why="A misprint on the slide: k² e^ε must be k² e^(ε/2), as in equation (12).",
                )
            )
            found.append(
                number(
                    f"{where}: limit {limit}",
                    stated,
                    share,
                    doubt,
                    decimals=12,
                    why="The limit is the order of magnitude only.",
                )
            )
    return found


def draw_slide(rows: Table, figure: Figure) -> None:
    """Draw the share of samples that remains against epsilon, with the simulated points."""
    axes = figure.subplots()
    x = np.geomspace(0.03, 10, 60).tolist()
    for place, name in enumerate(LIMITS):
        colour = ("#0072b2", "#d55e00")[place]
        axes.loglog(x, [effective(name, SLIDE_K, e) for e in x], color=colour, label=name)
        if name == "k-RAPPOR":
            printed = [as_on_the_slide(name, SLIDE_K, e) for e in x]
            axes.loglog(x, printed, "--", color=colour, label="k-RAPPOR, as printed")
        for series in rows.where(mechanism=name):
            epsilon = math.log(SLIDE_K) if series["regime"] == "low privacy" else SMALL
            share = (1 - 1 / SLIDE_K) / series.mean("risk")
            label = "simulated" if not place and series["regime"] == "low privacy" else None
            axes.loglog([epsilon], [share], "o", color=colour, label=label)
    axes.set_xlabel("ε")
    axes.legend(frameon=False)
    tidy(axes, f"effective samples / samples, k = {SLIDE_K}, squared error, uniform law")


EXPERIMENTS = (
    Experiment(
        "kairouz2016-slides",
        "The slides' table of effective samples",
        Grid("kairouz2016-slides", slide_cells, measure_slide),
        judge_slide,
        draw_slide,
        "Samples without noise that would give the same squared error, over the samples that are "
        "there, for a uniform law: the corrected formula, the printed one, and the limits for low "
        "and high privacy.",
        size=(8.0, 4.6),
    ),
)
