"""Pinzón et al. (2026, poster): MLE* for k-RR beside other estimators, over a large grid."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from murmurs import estimators
from murmurs.counts import Counts
from murmurs.estimators.estimation import Estimate
from murmurs.mechanisms import KRR
from murmurs.numerics.arrays import Integers
from murmurs.studies.errors import Solve, errors_of
from murmurs.studies.laws import zipf
from murmurs.studies.measured import Series, Table
from murmurs.studies.running import Cell
from murmurs_papers.drawing import line, number_grid, tidy
from murmurs_papers.experiment import Experiment, Grid, Scale
from murmurs_papers.findings import Finding, claim
from murmurs_papers.ours import described, ours, paired

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STEPS = 200
"""Steps of the iterative Bayesian update, whose limit is the maximum of the likelihood."""


def bayesian_update(counts: Counts, *, steps: int = STEPS) -> Estimate:
    """Return the shares after so many steps of EM without acceleration ("IBU")."""
    channel = counts.channel
    frequencies = counts.cells / counts.n
    shares = np.full(channel.k, 1 / channel.k)
    for _ in range(steps):
        weights = frequencies / channel.mean(shares)
        derivative = channel.adjoint(weights) + float((channel.base * weights).sum())
        shares = shares * derivative
        shares /= shares.sum()
    return Estimate(counts, shares, "IBU", "the poster has it")


SOLVERS: dict[str, Solve] = {
    "InvN": estimators.normalized,
    "InvP": estimators.simplex,
    "MLE*": estimators.likelihood,
    "our default": estimators.estimate,
}
VALID = ("InvN", "InvP", "MLE*")
"""The poster's estimators that are distributions and need no iteration."""

ROUNDING = 1e-9
"""Added to errors before they are divided: differences below it are only rounding."""

SKEWS = (0.01, 1.3, 2.5)
NUMBERS = (10**2, 10**3, 10**4, 10**5, 10**6)
SIZES = (50, 500, 5000)
EPSILONS: dict[Scale, tuple[float, ...]] = {
    "full": tuple(float(e) for e in range(1, 11)),
    "quick": (1.0, 2.0, 4.0, 6.0, 8.0, 10.0),
    "tiny": (1.0, 4.0),
}
TIMES: dict[Scale, int] = {"full": 100, "quick": 10, "tiny": 4}
LARGE, LARGE_EPSILON = 10_000, 4.0


def cells(scale: Scale) -> list[Cell]:
    """Return the grid of the poster."""
    sizes, numbers = (SIZES, NUMBERS) if scale != "tiny" else (SIZES[:2], NUMBERS[1:4:2])
    return [
        Cell({"skew": skew, "k": k, "people": n, "epsilon": epsilon}, TIMES[scale])
        for skew in SKEWS
        for k in sizes
        for n in numbers
        for epsilon in EPSILONS[scale]
    ]


def large_cells(scale: Scale) -> list[Cell]:
    """Return the setting of the poster's figure."""
    numbers = NUMBERS if scale != "tiny" else NUMBERS[2:4]
    return [
        Cell({"skew": skew, "k": LARGE, "people": n, "epsilon": LARGE_EPSILON}, TIMES[scale])
        for skew in SKEWS
        for n in numbers
    ]


def _drawn(k: int, skew: float, n: int, rng: np.random.Generator) -> Integers:
    return rng.multinomial(n, zipf(k, skew))


def measure(cell: Cell, rng: np.random.Generator) -> list[Series]:
    """Return the errors of the estimators on the same reports."""
    return _errors(cell, SOLVERS, rng)


def measure_large(cell: Cell, rng: np.random.Generator) -> list[Series]:
    """Return the same with the unbiased inverse and the iterative update."""
    more = {"Inv": estimators.unbiased, **SOLVERS, f"IBU, {STEPS} steps": bayesian_update}
    return _errors(cell, more, rng)


def _errors(cell: Cell, solvers: dict[str, Solve], rng: np.random.Generator) -> list[Series]:
    k = cell.whole("k")
    people = partial(_drawn, k, cell.real("skew"), cell.whole("people"))
    mechanism = KRR(k, cell.real("epsilon"))
    found = errors_of(mechanism, people, solvers, cell.repetitions, rng)
    return [Series(s.labels, {"l1": s.values["l1"], "l2": s.values["l2"]}) for s in found]


def settings(rows: Table) -> Iterator[dict[str, Series]]:
    """Return the series of each setting by estimator."""
    found: dict[tuple[object, ...], dict[str, Series]] = {}
    for s in rows:
        key = tuple(s[name] for name in ("skew", "k", "people", "epsilon"))
        found.setdefault(key, {})[str(s["estimator"])] = s
    yield from found.values()


def surely_above(one: Series, other: Series, loss: str) -> bool:
    """Return whether an error is larger by more than three standard errors, in the same draws."""
    away = one.values[loss] - other.values[loss]
    return float(away.mean()) > 3 * float(away.std(ddof=1)) / math.sqrt(len(away)) + 1e-9


def _best(every: list[dict[str, Series]], loss: str) -> tuple[dict[str, int], int]:
    """Return in how many settings each has the smallest mean error, and in how many the best tie.

    They do where no share is negative: then all are the same but for rounding.
    """
    best, alike = dict.fromkeys(VALID, 0), 0
    for own in every:
        (first, name), (second, _) = sorted((own[name].mean(loss), name) for name in VALID)[:2]
        if math.isclose(first, second, rel_tol=1e-9, abs_tol=1e-12):
            alike += 1
        else:
            best[name] += 1
    return best, alike


def judge(rows: Table) -> list[Finding]:
    """Count in how many settings each estimator is surely the worst, and which is the best."""
    found = []
    every = list(settings(rows))
    for loss in ("l1", "l2"):
        worst = {
            name: sum(
                all(surely_above(own[name], own[other], loss) for other in VALID if other != name)
                for own in every
            )
            for name in VALID
        }
        said = ", ".join(f"{name} {times}" for name, times in worst.items())
        found.append(
            claim(
                f"{loss}, {len(every)} settings",
                "MLE* is never the worst",
                f"how often each is surely the worst of the three: {said}",
                worst["MLE*"] == 0,
                why=WHY_WORST,
            )
        )
        best, alike = _best(every, loss)
        said = ", ".join(f"{name} {times}" for name, times in best.items())
        found.append(
            claim(
                f"{loss}, {len(every)} settings",
                "InvP and InvN alternate as the best",
                f"how often each has the smallest mean error: {said}; how often the best are "
                f"alike: {alike}",
                min(best["InvN"], best["InvP"]) > 0,
            )
        )
        ratios = [
            paired(
                own["our default"].values[loss] + ROUNDING,
                min((own[name] for name in VALID), key=lambda s: s.mean(loss)).values[loss]
                + ROUNDING,
            )
            for own in every
        ]
        found.append(
            ours(
                f"{loss}, our default",
                "the best of the three in each setting, on the same reports",
                described(ratios),
                ratios,
            )
        )
    return found


def draw(rows: Table, figure: Figure) -> None:
    """Draw how far MLE* and our default are from the best of InvN and InvP, for each skew."""
    skews = [float(s) for s in rows.distinct("skew")]
    lines = [(int(k), int(n)) for k in rows.distinct("k") for n in rows.distinct("people")]
    epsilons = [float(e) for e in rows.distinct("epsilon")]
    grids = np.empty((2, len(skews), len(lines), len(epsilons)))
    for own in settings(rows):
        s = own["MLE*"]
        place = (
            skews.index(float(s["skew"])),
            lines.index((int(s["k"]), int(s["people"]))),
            epsilons.index(float(s["epsilon"])),
        )
        base = min(own[name].mean("l1") for name in ("InvN", "InvP"))
        for down, name in enumerate(("MLE*", "our default")):
            ratio = (own[name].mean("l1") + 1e-9) / (base + 1e-9)
            grids[(down, *place)] = 100 * (ratio - 1)
    panels = figure.subplots(2, len(skews), squeeze=False)
    for (down, across), axes in np.ndenumerate(panels):
        number_grid(
            axes,
            grids[down, across],
            [f"{k}, 1e{round(math.log10(n))}" for k, n in lines],
            [f"{e:g}" for e in epsilons],
            f"{('MLE*', 'our default')[down]}, Zipf {skews[across]:g}",
            ("K, N", "ε"),
            decimals=0,
        )
    figure.suptitle("l1 error above (+) or below (-) the better of InvN and InvP, in per cent")


def judge_large(rows: Table) -> list[Finding]:
    """Check the same at K = 10^4, and that the iterative update has not arrived."""
    found = judge(rows)
    late = max(
        abs(own[f"IBU, {STEPS} steps"].mean("l1") - own["MLE*"].mean("l1"))
        for own in settings(rows)
    )
    found.append(
        claim(
            f"IBU, {STEPS} steps",
            "needs many iterations to come near the maximum of the likelihood",
            f"its l1 error still differs from that of MLE* by up to {late:.3f}",
            late > 0.01,
        )
    )
    return found


def draw_large(rows: Table, figure: Figure) -> None:
    """Draw the errors against the number of people, a panel for each skew."""
    panels = figure.subplots(1, len(SKEWS), sharey=True)
    for axes, skew in zip(panels, SKEWS, strict=True):
        here = rows.where(skew=skew)
        for place, name in enumerate(here.distinct("estimator")):
            own = here.where(estimator=name)
            x, y = [float(s["people"]) for s in own], [s.mean("l1") for s in own]
            line(axes, x, y, place, str(name))
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("N")
        tidy(axes, f"Zipf {skew:g}")
    panels[0].set_ylabel("l1 error")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False, fontsize=9)
    figure.suptitle(f"K = {LARGE:,}, ε = {LARGE_EPSILON:g}", fontsize=11)


# The table of properties

PROPERTY_K, PROPERTY_N = 20, 300


def property_cells(scale: Scale) -> list[Cell]:
    """Return few people, for bias and validity, and very many, for consistency."""
    times = {"full": 20_000, "quick": 2000, "tiny": 300}[scale]
    return [
        Cell({"people": PROPERTY_N}, times),
        Cell({"people": 10**14}, 3),
    ]


def measure_properties(cell: Cell, rng: np.random.Generator) -> list[Series]:
    """Return the smallest share, the sum, the share of the last answer, and the log-likelihood."""
    n, mechanism = cell.whole("people"), KRR(PROPERTY_K, 1.0)
    people = rng.multinomial(n, zipf(PROPERTY_K, 1.3))
    hit, miss = float(mechanism.channel.hit), float(mechanism.channel.miss)
    solvers = {"Inv": estimators.unbiased, **{name: SOLVERS[name] for name in VALID}}
    numbers = np.empty((len(solvers), 4, cell.repetitions))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", estimators.NoiseDominates)
        for time in range(cell.repetitions):
            counts = mechanism.simulate(people, rng)
            for place, solve in enumerate(solvers.values()):
                shares = solve(counts).shares
                law = np.maximum(miss + (hit - miss) * shares, 1e-300)
                height = float((counts.cells * np.log(law)).sum()) / n
                away = float(shares[-1] - people[-1] / n)
                numbers[place, :, time] = shares.min(), np.abs(shares).sum(), away, height
    kinds = ("smallest", "norm", "bias", "height")
    return [
        Series({"estimator": name}, dict(zip(kinds, own, strict=True)))
        for name, own in zip(solvers, numbers, strict=True)
    ]


def judge_properties(rows: Table) -> list[Finding]:
    """Check the poster's table: valid, unbiased, most likely, consistent."""
    found = []
    few, many = rows.where(people=PROPERTY_N), rows.where(people=10**14)
    heights = {str(s["estimator"]): s.values["height"] for s in few}
    for s in few:
        name = str(s["estimator"])
        valid = bool(s.values["smallest"].min() >= -1e-12) and bool(
            np.abs(s.values["norm"] - 1).max() < 1e-9
        )
        wanted = name != "Inv"
        text = "every estimate is a distribution" if valid else "shares below zero occur"
        found.append(claim(name, "valid" if wanted else "not valid", text, valid == wanted))
        z = s.mean("bias") / max(s.error("bias"), 1e-300)
        unbiased = abs(z) < 4.5
        text = (
            f"the mean error of the rarest answer is {s.mean('bias'):.4f} ± {s.error('bias'):.4f}"
        )
        wanted = name == "Inv"
        found.append(claim(name, "unbiased" if wanted else "biased", text, unbiased == wanted))
        away = max(np.abs(many.one(estimator=name).values["bias"]))
        text = f"with 10^14 people the error is {away:.1g}"
        found.append(claim(name, "consistent", text, bool(away < 1e-5)))
    valid_others = [heights[name] for name in VALID if name != "MLE*"]
    most = all(bool((heights["MLE*"] >= other - 1e-9).all()) for other in valid_others)
    text = "no other valid estimate has a larger likelihood" if most else "another one has more"
    found.append(claim("MLE*", "has the largest likelihood", text, most))
    return found


def draw_properties(rows: Table, figure: Figure) -> None:
    """Draw the spread of the rarest answer's error and of the smallest share."""
    few = rows.where(people=PROPERTY_N)
    names = [str(s["estimator"]) for s in few]
    for axes, kind, title in zip(
        figure.subplots(1, 2),
        ("bias", "smallest"),
        ("error of the rarest answer", "smallest share"),
        strict=True,
    ):
        axes.boxplot([s.values[kind] for s in few], tick_labels=names, showmeans=True)
        axes.axhline(0, color="#222222", linewidth=0.8)
        tidy(axes, title)
    figure.suptitle(f"K = {PROPERTY_K}, ε = 1, N = {PROPERTY_N}; triangles are means", fontsize=11)


WHY_WORST = (
    "The poster does not say by which error its estimators are ranked, nor how it decides that one "
    "is the worst; the settings here are those of its grid."
)
ABOUT = (
    "InvN, InvP and MLE* of k-RR on Zipf data, errors relative to the respondents, who are drawn "
    "anew each time; all estimators see the same reports. An estimator is surely the worst if both "
    "others have smaller errors by more than three standard errors. Our default is beside them."
)
EXPERIMENTS = (
    Experiment(
        "pinzon2026-grid",
        "The grid: is MLE* never the worst?",
        Grid("pinzon2026-grid", cells, measure),
        judge,
        draw,
        ABOUT,
        size=(12.0, 10.0),
    ),
    Experiment(
        "pinzon2026-figure",
        f"The figure: K = {LARGE:,} at epsilon {LARGE_EPSILON:g}",
        Grid("pinzon2026-large", large_cells, measure_large),
        judge_large,
        draw_large,
        ABOUT,
        size=(11.0, 4.6),
    ),
    Experiment(
        "pinzon2026-properties",
        "The table of properties: valid, unbiased, most likely, consistent",
        Grid("pinzon2026-properties", property_cells, measure_properties),
        judge_properties,
        draw_properties,
        "The proof sketch on the poster says that the most likely shares are 0 or those of the "
        "inverse; they are those of the inverse of frequencies scaled by the factor c of its "
        "formula.",
        size=(9.0, 4.2),
    ),
)
