"""Fanti, Pihur and Erlingsson (2016), figures 9 to 11: lengths of strings and n-grams, edges."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from murmurs.present.palette import SERIES
from murmurs.studies.measured import Series, Table
from murmurs.studies.running import Cell
from murmurs_papers.drawing import line, tidy
from murmurs_papers.experiment import Experiment
from murmurs_papers.fanti2016_strings import ABOUT, ABOUT_POWER, GRID, HIGH, MOST
from murmurs_papers.findings import SIGMAS, Finding, claim

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _lengths(rows: Table) -> dict[int, list[Series]]:
    """Return the series of figures 9 and 10 by the size of n-grams, in the order of length."""
    found: dict[int, list[Series]] = {}
    for s in rows.where(part="length"):
        found.setdefault(int(s["size"]), []).append(s)
    return {size: sorted(own, key=lambda s: int(s["length"])) for size, own in found.items()}


def _missed(series: Series) -> float:
    return 1 - series.mean("fraction")


def doubt_of(one: Series, other: Series) -> float:
    """Return three standard errors of the difference of two distances."""
    return SIGMAS * float(np.hypot(one.error("hellinger"), other.error("hellinger")))


def judge_figure9(rows: Table) -> list[Finding]:
    """Say whether longer n-grams give a better estimate for strings of the same length."""
    lengths = _lengths(rows)
    pairs = [
        (short, long)
        for short in lengths[2]
        for long in lengths[3]
        if short["length"] == long["length"]
    ]
    told = ", ".join(
        f"{short.mean('hellinger'):.2f} and {long.mean('hellinger'):.2f} for {short['length']} "
        "letters"
        for short, long in pairs
    )
    worse = [
        long
        for short, long in pairs
        if long.mean("hellinger") > short.mean("hellinger") + doubt_of(long, short) + 0.01
    ]
    return [
        claim(
            "strings of the same length",
            "larger n-grams give a better estimate",
            f"distances with bigrams and trigrams: {told}",
            not worse,
            why="A single run scatters.",
        )
    ]


def judge_figure10(rows: Table) -> list[Finding]:
    """Say how many strings are missed, and whether any string is false."""
    found = []
    for size, own in _lengths(rows).items():
        if len(own) < 2:
            continue
        first, last = own[0], own[-1]
        doubt = 3 * float(np.hypot(first.error("fraction"), last.error("fraction")))
        found.append(
            claim(
                f"n-grams of {size} letters",
                "the longer the strings, the more are missed",
                ", ".join(f"{_missed(s):.2f} for {s['length']} letters" for s in own),
                _missed(last) > _missed(first) - doubt,
            )
        )
    every = [s for own in _lengths(rows).values() for s in own]
    false = sum(float(s.values["false"].sum()) for s in every)
    runs = sum(s.repetitions for s in every)
    found.append(
        claim(
            "false positives",
            "none was observed in these trials",
            f"{false:.0f} in {runs} runs, of which 5 % may have one",
            false == 0,
            why=WHY_FALSE if false <= max(3.0, 0.12 * runs) else "",
        )
    )
    return found


def draw_lengths(rows: Table, figure: Figure, value: str) -> None:
    """Draw the distance, or the part of the strings that is missed, over the length."""
    axes = figure.subplots()
    for place, (size, own) in enumerate(_lengths(rows).items()):
        x = [float(s["length"]) for s in own]
        y = [s.mean("hellinger") if value == "hellinger" else _missed(s) for s in own]
        line(axes, x, y, place, f"n-grams of {size} letters")
    axes.set_xlabel("length of the strings")
    axes.set_ylabel("Hellinger distance" if value == "hellinger" else "false negative rate")
    axes.legend(frameon=False, fontsize=8)
    tidy(axes, f"100 strings, {MOST:,} people, ε = {HIGH:g}")


def judge_figure11(rows: Table) -> list[Finding]:
    """Say how the threshold trades edges for strings."""
    own = sorted(rows.where(part="threshold"), key=lambda s: float(s["multiple"]))
    edges = [s.mean("edges") for s in own]
    best = min(own, key=lambda s: s.mean("hellinger"))
    paper = next(s for s in own if s["multiple"] == 1.0)
    loss = paper.mean("hellinger") - best.mean("hellinger")
    lowest = own[0]
    return [
        claim(
            "number of edges",
            "it decreases as the threshold increases",
            f"from {edges[0]:.0f} to {edges[-1]:.0f}",
            edges == sorted(edges, reverse=True),
            why="A single run scatters.",
        ),
        claim(
            "thresholds near zero",
            "accuracy decreases, since more candidates are tested",
            f"the distance is {lowest.mean('hellinger'):.3f} for {lowest['multiple']:g} times the "
            f"threshold, {best.mean('hellinger'):.3f} for {best['multiple']:g} times",
            lowest.mean("hellinger") - best.mean("hellinger") > doubt_of(lowest, best),
            why="The difference is smaller than three standard errors of these runs: strings that "
            "nobody holds hardly pass the test, so that many candidates do little harm.",
        ),
        claim(
            "threshold of equation 2",
            "close to a local optimum",
            f"the distance is {paper.mean('hellinger'):.3f} with it, and best with "
            f"{best['multiple']:g} times as much, {best.mean('hellinger'):.3f}",
            loss < doubt_of(paper, best) + 0.02,
            why="It is the standard error of a share from all reports, not from those of a pair.",
        ),
    ]


def draw_figure11(rows: Table, figure: Figure) -> None:
    """Draw the distance over the number of edges, a cluster for each threshold."""
    from matplotlib import colormaps

    axes = figure.subplots()
    own = rows.where(part="threshold").series
    colours = colormaps["viridis"](np.linspace(0, 0.92, len(own)))
    for place, (s, colour) in enumerate(zip(own, colours, strict=True)):
        _, mark = SERIES[place % len(SERIES)]
        label = f"{float(s['multiple']):g}"
        edges, distance = s.values["edges"], s.values["hellinger"]
        axes.plot(edges, distance, mark, color=colour, markersize=5, alpha=0.8, label=label)
    axes.set_xlabel("edges of the candidate graph")
    axes.set_ylabel("Hellinger distance")
    axes.legend(frameon=False, fontsize=8, title="multiple of the threshold", title_fontsize=8)
    tidy(axes, f"100 strings of 6 letters, {MOST:,} people, ε = {HIGH:g}")


WHY_FALSE = (
    "The test lets one false string pass in 5 % of the runs; the paper does not say how many it "
    "made, and in few of them there may be none."
)


def _part(name: str) -> Callable[[Cell], bool]:
    def wanted(cell: Cell) -> bool:
        return cell["part"] == name

    return wanted


EXPERIMENTS = (
    Experiment(
        "fanti2016-figure9",
        "Figure 9: distance of what is learnt, by length of strings and n-grams",
        GRID,
        judge_figure9,
        partial(draw_lengths, value="hellinger"),
        ABOUT + ABOUT_POWER,
        wanted=_part("length"),
        size=(7.0, 4.5),
    ),
    Experiment(
        "fanti2016-figure10",
        "Figure 10: strings that are missed, by length of strings and n-grams",
        GRID,
        judge_figure10,
        partial(draw_lengths, value="fraction"),
        ABOUT + ABOUT_POWER,
        wanted=_part("length"),
        size=(7.0, 4.5),
    ),
    Experiment(
        "fanti2016-figure11",
        "Figure 11: distance of what is learnt, by the number of edges",
        GRID,
        judge_figure11,
        draw_figure11,
        ABOUT + "Thresholds are multiples of that of equation 2, with the square that it lacks.",
        wanted=_part("threshold"),
        size=(7.0, 4.5),
    ),
)
