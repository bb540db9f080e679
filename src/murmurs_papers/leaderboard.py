"""All mechanisms and estimators on real histograms, at equal epsilon: the leaderboard."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from murmurs import estimators
from murmurs.mechanisms import KRR, OUE, SUE, Hadamard, LocalHashing, ProjectiveGeometry, Subset
from murmurs.mechanisms.mechanism import Mechanism
from murmurs.numerics.arrays import Floats
from murmurs.studies.errors import Solve, errors_of
from murmurs.studies.measured import Series, Table
from murmurs.studies.running import Cell
from murmurs_papers.drawing import number_grid
from murmurs_papers.experiment import Experiment, Grid, Scale
from murmurs_papers.findings import Finding
from murmurs_papers.histograms import SOURCES, histograms
from murmurs_papers.ours import described, ours, quotient

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MECHANISMS: dict[str, Callable[[int, float], Mechanism[Any]]] = {
    "KRR": KRR,
    "SUE": SUE,
    "OUE": OUE,
    "Subset": Subset,
    "Hadamard": Hadamard,
    "ProjectiveGeometry": ProjectiveGeometry,
    "LocalHashing": LocalHashing,
}
ESTIMATORS: dict[str, Solve] = {
    "default": estimators.estimate,
    "simplex": estimators.simplex,
    "normalized": estimators.normalized,
    "norm_cut": estimators.norm_cut,
    "clipped": estimators.clipped,
    "base_cut": estimators.base_cut,
    "unbiased": estimators.unbiased,
}
RECOMMENDED = ("Subset", "default")
EPSILONS = (0.5, 1.0, 2.0, 4.0)
TIMES: dict[Scale, int] = {"full": 100, "quick": 8, "tiny": 2}


def columns(scale: Scale) -> list[tuple[str, str]]:
    """Return the columns of all data sets of the package."""
    found = [(source, name) for source in SOURCES for name in histograms(source)]
    return found if scale != "tiny" else found[:4]


def cells(scale: Scale) -> list[Cell]:
    """Return all mechanisms on all columns."""
    return [
        Cell({"source": source, "column": name, "epsilon": e, "mechanism": mechanism}, TIMES[scale])
        for source, name in columns(scale)
        for e in (EPSILONS if scale != "tiny" else EPSILONS[1:2])
        for mechanism in MECHANISMS
    ]


def measure(cell: Cell, rng: np.random.Generator) -> list[Series]:
    """Return the l1 errors of all estimators."""
    people = histograms(cell.text("source"))[cell.text("column")]
    mechanism = MECHANISMS[cell.text("mechanism")](len(people), cell.real("epsilon"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = errors_of(mechanism, people, ESTIMATORS, cell.repetitions, rng)
    return [Series(s.labels, {"l1": s.values["l1"]}) for s in found]


def ranking(rows: Table) -> dict[tuple[str, str], Floats]:
    """Return each pair's l1 errors in all settings, over the best pair's in that setting."""
    found: dict[tuple[Any, ...], dict[tuple[str, str], float]] = {}
    for s in rows:
        key = (s["source"], s["column"], s["epsilon"])
        pair = (str(s["mechanism"]), str(s["estimator"]))
        found.setdefault(key, {})[pair] = s.mean("l1")
    ratios: dict[tuple[str, str], list[float]] = {}
    for own in found.values():
        least = min(own.values())
        for pair, value in own.items():
            ratios.setdefault(pair, []).append((value + 1e-9) / (least + 1e-9))
    return {pair: np.array(values) for pair, values in ratios.items()}


def means(ratios: Mapping[tuple[str, str], Floats]) -> list[tuple[tuple[str, str], float, float]]:
    """Return the pairs with the geometric means and the largest of their ratios, best first."""
    found = [
        (pair, math.exp(float(np.log(own).mean())), float(own.max()))
        for pair, own in ratios.items()
    ]
    return sorted(found, key=lambda row: row[1])


def judge(rows: Table) -> list[Finding]:
    """Say which rank the pair has that murmurs recommends."""
    ranked = means(ranking(rows))
    pairs = [pair for pair, _, _ in ranked]
    place = pairs.index(RECOMMENDED)
    other = pairs[1 if place == 0 else 0]
    ratios = compared(rows, RECOMMENDED, other)
    return [
        ours(
            f"{RECOMMENDED[0]} with {RECOMMENDED[1]}, which murmurs recommends",
            f"{other[0]} with {other[1]}, the best of the other {len(pairs) - 1} pairs",
            f"rank {place + 1}, {ranked[place][1]:.3f} times the best of each setting in geometric "
            f"mean, at most {ranked[place][2]:.2f} times; {described(ratios)}",
            ratios,
        )
    ]


def compared(
    rows: Table, one: tuple[str, str], other: tuple[str, str]
) -> list[tuple[float, float]]:
    """Return the l1 errors of a pair over those of another, with standard errors."""
    own, its = (rows.where(mechanism=pair[0], estimator=pair[1]) for pair in (one, other))
    ratios = []
    for s in own:
        same = its.one(source=s["source"], column=s["column"], epsilon=s["epsilon"])
        ratios.append(quotient(*(x for t in (s, same) for x in (t.mean("l1"), t.error("l1")))))
    return ratios


def draw(rows: Table, figure: Figure) -> None:
    """Draw the geometric mean ratio to the best pair, for all pairs."""
    found = {pair: mean for pair, mean, _ in means(ranking(rows))}
    grid = np.array([[found[m, e] for e in ESTIMATORS] for m in reversed(MECHANISMS)])
    axes = figure.subplots()
    number_grid(
        axes,
        100 * (grid - 1),
        list(reversed(MECHANISMS)),
        list(ESTIMATORS),
        "l1 error above that of the best pair of each setting, in per cent (geometric mean)",
        ("", ""),
        decimals=0,
        linear=True,
    )


EXPERIMENTS = (
    Experiment(
        "leaderboard-histograms",
        "Leaderboard: mechanisms and estimators on real histograms at equal epsilon",
        Grid("leaderboard", cells, measure),
        judge,
        draw,
        "Errors on all columns of the package at epsilon 0.5, 1, 2 and 4, each divided by that of "
        "the best pair in its setting. The best of many noisy means is too small, so no pair "
        "reaches 1.",
        size=(9.0, 4.6),
    ),
)
