"""Kairouz, Bonawitz and Ramage (2016), figures 3 and 7 to 16: open and closed alphabets."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from murmurs.present.axes import by_powers
from murmurs.studies.laws import geometric
from murmurs.studies.measured import Series, Table
from murmurs.studies.running import Cell
from murmurs_papers.drawing import level, line, tidy
from murmurs_papers.experiment import Experiment
from murmurs_papers.findings import Finding, claim
from murmurs_papers.kairouz2016_open import (
    CLOSED,
    GRID,
    LARGE,
    MANY,
    MOST,
    SMALL,
    TUNED,
    best,
)
from murmurs_papers.ours import ours, quotient

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOSSES = (0.1, 0.2, 0.3)
"""The l1 errors that figures 9, 10 and 14 hold fixed; the slides have 0.2."""

SLACK = 1.1
"""How much larger than that of O-RAPPOR the interpolated epsilon of O-RR may be."""


def lines_of(rows: Table, form: str, size: int, people: int) -> dict[str, list[Series]]:
    """Return the final series of each mechanism, in the order of epsilon."""
    found: dict[str, list[Series]] = {}
    for series in rows.where(stage="final", form=form, size=size, people=people):
        found.setdefault(str(series["mechanism"]), []).append(series)
    for own in found.values():
        own.sort(key=lambda s: float(s["epsilon"]))
    return found


def baselines(size: int, people: int) -> tuple[float, float]:
    """Return the expected l1 errors of the sample itself, and of equal shares."""
    law = geometric(size)
    sample = float(np.sqrt(2 * law * (1 - law) / (math.pi * people)).sum())
    return sample, float(np.abs(law - 1 / size).sum())


def draw_lines(axes: Axes, rows: Table, form: str, size: int, people: int, title: str) -> None:
    """Draw median errors against epsilon with the band of 90 % of the samples."""
    order = (*TUNED, *CLOSED)
    for name, own in lines_of(rows, form, size, people).items():
        x = [float(s["epsilon"]) for s in own]
        low, middle, high = ([s.quantile("l1", q) for s in own] for q in (0.05, 0.5, 0.95))
        line(axes, x, middle, order.index(name), name, (low, high))
    sample, equal = baselines(size, people)
    level(axes, sample, "the sample itself")
    level(axes, equal, "equal shares")
    by_powers(axes)
    axes.set_xlabel("ε")
    axes.legend(frameon=False, fontsize=8)
    tidy(axes, title)


def judge_lines(rows: Table, forms: tuple[tuple[str, int, int], ...]) -> list[Finding]:
    """Say whether O-RR meets O-RAPPOR and, closed, all others."""
    found = []
    for form, size, people in forms:
        lines = lines_of(rows, form, size, people)
        others = [name for name in lines if name not in ("O-RR", "our default", "k-subset")]
        for other in others:
            worse, most = [], 0.0
            for own, its in zip(lines["O-RR"], lines[other], strict=True):
                ratio, doubt = _median_ratio(own, its)
                if ratio > 1 + 3 * doubt:
                    worse.append(f"{float(own['epsilon']):g}")
                    most = max(most, ratio)
            said = (
                f"at epsilon {', '.join(worse)} its error is larger, by up to "
                f"{100 * (most - 1):.1f} %"
                if worse
                else "it does at every epsilon, within three standard errors"
            )
            found.append(
                claim(
                    f"{form}, S = {size}, {people:,} people",
                    f"O-RR meets or exceeds {other}",
                    said,
                    not worse,
                    why=WHY_MEETS,
                )
            )
        if "our default" in lines:
            pairs = list(zip(lines["our default"], lines["O-RR"], strict=True))
            ratios = [_median_ratio(own, its) for own, its in pairs]
            said = ", ".join(
                f"{ratio:.2f} at {float(own['epsilon']):g}"
                for (ratio, _), (own, _) in zip(ratios, pairs, strict=True)
            )
            found.append(
                ours(
                    f"{form}, S = {size}, {people:,} people",
                    "the best O-RR of the grid, which is tuned for each epsilon",
                    f"the median error over that of O-RR, by epsilon: {said}",
                    ratios,
                    why=WHY_SHORT,
                )
            )
    return found


def _median_ratio(own: Series, its: Series) -> tuple[float, float]:
    """Return the ratio of two median errors, and its standard error."""
    numbers = [(s.quantile("l1", 0.5), s.median_error("l1")) for s in (own, its)]
    return quotient(*numbers[0], *numbers[1])


def draw_figure3(rows: Table, figure: Figure) -> None:
    """Draw the open alphabet on the left and the closed one on the right."""
    left, right = figure.subplots(1, 2, sharey=True)
    draw_lines(left, rows, "open", SMALL, MANY, "(a) open alphabet, hash functions")
    draw_lines(right, rows, "closed", SMALL, MANY, "(b) closed alphabet, permutations")
    left.set_ylabel("l1 error, median and 90 % of the samples")
    figure.suptitle(f"S = {SMALL}, {MANY:,} people, geometric with mean S/5", fontsize=11)


def draw_one(rows: Table, figure: Figure, form: str) -> None:
    """Draw one of the two alphabets."""
    axes = figure.subplots()
    draw_lines(axes, rows, form, SMALL, MANY, f"{form} alphabet, S = {SMALL}, {MANY:,} people")
    axes.set_ylabel("l1 error, median and 90 % of the samples")


def draw_figure13(rows: Table, figure: Figure) -> None:
    """Draw a million people on the left and a hundred million on the right."""
    panels = figure.subplots(1, 2, sharey=True)
    for axes, people in zip(panels, (MANY, MOST), strict=True):
        draw_lines(axes, rows, "open", LARGE, people, f"{people:,} people")
    panels[0].set_ylabel("l1 error, median and 90 % of the samples")
    figure.suptitle(f"open alphabet, S = {LARGE}", fontsize=11)


# Epsilon at a fixed error


def epsilon_for(series: list[Series], loss: float) -> float:
    """Return the epsilon at which a line has this median error, between measured ones.

    It is not a number if the error is outside of what was measured.
    """
    x = np.array([float(s["epsilon"]) for s in series])
    y = np.log([s.quantile("l1", 0.5) for s in series])
    if not y.min() <= math.log(loss) <= y.max():
        return float("nan")
    return float(np.interp(-math.log(loss), -y, x))


def fixed(rows: Table, form: str, size: int, loss: float) -> dict[str, list[tuple[int, float]]]:
    """Return the epsilon that each mechanism allows at a fixed error, by number of people."""
    numbers = sorted({int(s["people"]) for s in rows.where(stage="final", form=form, size=size)})
    found: dict[str, list[tuple[int, float]]] = {}
    for n in numbers:
        for name, own in lines_of(rows, form, size, n).items():
            found.setdefault(name, []).append((n, epsilon_for(own, loss)))
    return found


def draw_fixed(rows: Table, figure: Figure, form: str, size: int) -> None:
    """Draw epsilon against the number of people, a panel for each error."""
    order = (*TUNED, *CLOSED)
    for axes, loss in zip(figure.subplots(1, len(LOSSES), sharey=True), LOSSES, strict=True):
        for name, pairs in fixed(rows, form, size, loss).items():
            x, y = [float(n) for n, _ in pairs], [e for _, e in pairs]
            line(axes, x, y, order.index(name), name)
        axes.set_xscale("log")
        axes.set_xlabel("people")
        tidy(axes, f"l1 error {loss:g}")
    figure.axes[0].set_ylabel("ε (lower is better)")
    figure.axes[-1].legend(frameon=False, fontsize=8)
    figure.suptitle(f"ε that is needed, {form} alphabet, S = {size}", fontsize=11)


def judge_fixed(rows: Table, form: str, size: int) -> list[Finding]:
    """Say whether O-RR needs no larger epsilon than O-RAPPOR at the same error."""
    found = []
    for loss in LOSSES:
        lines = fixed(rows, form, size, loss)
        pairs = [
            (n, own, its)
            for (n, own), (_, its) in zip(lines["O-RR"], lines["O-RAPPOR"], strict=True)
            if not (math.isnan(own) or math.isnan(its))
        ]
        if not pairs:
            continue
        said = ", ".join(f"{own:.2f} and {its:.2f} at {n:,}" for n, own, its in pairs)
        holds = all(own <= SLACK * its for _, own, its in pairs)
        found.append(
            claim(
                f"l1 error {loss:g}",
                "O-RR offers at least the privacy of O-RAPPOR",
                f"epsilon of O-RR and O-RAPPOR: {said} people; 10 % more are allowed",
                holds,
                why=WHY_MEETS,
            )
        )
    return found


# Parameter studies


def study(
    rows: Table, form: str, size: int, people: int, mechanism: str, name: str
) -> dict[Any, Any]:
    """Return the best median error for each value of a parameter, at each epsilon."""
    found: dict[Any, dict[float, float]] = {}
    own = rows.where(form=form, size=size, people=people, mechanism=mechanism)
    for key, series in best(own, name).items():
        found.setdefault(key[-1], {})[float(key[4])] = series.quantile("l1", 0.5)
    return found


PANELS = (
    ("O-RR", "width", "k"),
    ("O-RAPPOR", "width", "k"),
    ("O-RR", "cohorts", "C"),
    ("O-RAPPOR", "cohorts", "C"),
    ("O-RAPPOR", "hashes", "h"),
)


def draw_parameters(rows: Table, figure: Figure, form: str, size: int, people: int) -> None:
    """Draw the error against epsilon for each k, C and h, all else being the best."""
    from matplotlib import colormaps

    panels = figure.subplots(3, 2, sharex=True, sharey=True).ravel()
    shown = [p for p in PANELS if form == "open" or p[1] != "hashes"]
    for place, (axes, (mechanism, name, letter)) in enumerate(zip(panels, shown, strict=False)):
        found = study(rows, form, size, people, mechanism, name)
        colours = colormaps["viridis"](np.linspace(0, 0.92, len(found)))
        for colour, value in zip(colours, sorted(found), strict=True):
            own = sorted(found[value].items())
            axes.plot(*zip(*own, strict=True), "o-", color=colour, markersize=3, label=f"{value}")
        by_powers(axes)
        tidy(axes, f"({'abcde'[place]}) {mechanism} varying {letter}")
        axes.legend(frameon=False, fontsize=6, ncols=2, title=letter, title_fontsize=7)
    for axes in panels[len(shown) :]:
        axes.set_visible(False)
    for axes in panels[len(shown) - 2 : len(shown)]:  # the lowest of each side
        axes.tick_params(labelbottom=True)
        axes.set_xlabel("ε")
    figure.supylabel("l1 error, median", fontsize=10)
    figure.suptitle(f"{form} alphabet, S = {size}, {people:,} people", fontsize=11)


def judge_parameters(rows: Table, form: str, size: int, people: int) -> list[Finding]:
    """Check what the paper says about k, C and h."""
    found = []
    widths = study(rows, form, size, people, "O-RR", "width")
    epsilons = sorted({e for own in widths.values() for e in own})
    chosen = [min(widths, key=lambda w, e=e: widths[w].get(e, math.inf)) for e in epsilons]  # type: ignore[misc]
    said = ", ".join(f"{w} at {e:g}" for w, e in zip(chosen, epsilons, strict=True))
    found.append(
        claim(
            "O-RR, k",
            "the best k depends on epsilon and grows with it",
            f"best k: {said}",
            chosen == sorted(chosen),
            why=WHY_FEW,
        )
    )
    if form == "open" and size == SMALL:
        found += _judge_rappor(rows, people)
    for mechanism in TUNED:
        cohorts = study(rows, form, size, people, mechanism, "cohorts")
        several = [c for c in cohorts if c > 1]
        if 1 not in cohorts or not several:
            continue
        ratio = max(
            cohorts[1][e] / min(cohorts[c].get(e, math.inf) for c in several)
            for e in epsilons
            if e in cohorts[1]
        )
        found.append(
            claim(
                f"{mechanism}, C",
                "one cohort is noticeably worse than several"
                if form == "open"
                else "cohorts matter for O-RR at high privacy and hardly for O-RAPPOR",
                f"the error with one cohort is up to {ratio:.2f} times that with several",
                ratio > 1.05 if form == "open" or mechanism == "O-RR" else ratio < 1.15,
                why=WHY_COHORTS,
            )
        )
    if form == "open":
        hashes = study(rows, form, size, people, "O-RAPPOR", "hashes")
        more = [h for h in hashes if h > 1]
        if more:
            gain = min(min(hashes[h][e] for h in more) / hashes[1][e] for e in epsilons)
            found.append(
                claim(
                    "O-RAPPOR, h",
                    "one hash is best at every epsilon",
                    f"with more hashes the error is at least {gain:.2f} times that with one",
                    gain > 0.95,
                    why=WHY_FEW,
                )
            )
    return found


def _judge_rappor(rows: Table, people: int) -> list[Finding]:
    """Check what section 5.3 says about O-RAPPOR with an open alphabet."""
    widths, cohorts = (
        study(rows, "open", SMALL, people, "O-RAPPOR", name) for name in ("width", "cohorts")
    )
    largest = widths[max(widths)]
    worse = max(y / min(own[e] for own in widths.values()) for e, y in largest.items())
    several = [own for c, own in cohorts.items() if c > 1]
    apart = max(max(own[e] for own in several) / min(own[e] for own in several) for e in several[0])
    return [
        claim(
            "O-RAPPOR, k",
            "performance improves as k increases",
            f"with the largest k the error is at most {worse:.2f} times that with the best k; 1.05 "
            "is allowed",
            worse <= 1.05,
            why=WHY_FEW,
        ),
        claim(
            "O-RAPPOR, C",
            "two and more cohorts perform indistinguishably",
            f"their errors differ by a factor of at most {apart:.2f}; 1.15 is allowed, for noise",
            apart <= 1.15,
            why=WHY_FEW,
        ),
    ]


WHY_MEETS = (
    "At small epsilon the best parameters of O-RR are three or four buckets, and so many cohorts "
    "that all answers can be told apart: thousands for S = 4096. Neither the paper's grid, with "
    "up to 1024 cohorts and numbers of buckets that are powers of two, nor the smaller quick one "
    "has them. For S = 256 it meets O-RAPPOR with them, as the page on open alphabets shows."
)
WHY_SHORT = (
    "Our default needs no tuning. Where epsilon is large it may take a mechanism with short "
    "reports, whose error is up to 5 % larger."
)
WHY_COHORTS = "With permutations, a single cohort with as many buckets as answers loses nothing."
WHY_FEW = "The search takes few samples, whose noise is of this size."
ABOUT = (
    "Least squares and projection, as in the paper; errors are relative to the respondents. The "
    "parameters are the best of the grid. Flips of O-RAPPOR's bits keep epsilon for all bits that "
    "two strings can differ in, 2 h; the paper leaves out h."
)
ABOUT_FIXED = (
    "Epsilon that is needed for a given error, interpolated between measured ones. Parameters are "
    "those that are best for a million people."
)
ABOUT_PARAMETERS = "Errors for each value of one parameter, with the best values of the others."


def _has(cell: Cell, form: str, size: int, people: tuple[int, ...]) -> bool:
    own = (form in ("", cell["form"])) and cell["size"] == size
    return own and (not people or cell["people"] in people)


_small = partial(_has, size=SMALL, people=(MANY,))
_large = partial(_has, form="open", size=LARGE)
EXPERIMENTS = (
    Experiment(
        "kairouz2016-figure3",
        "Figure 3: O-RR and O-RAPPOR, open and closed alphabets",
        GRID,
        partial(judge_lines, forms=(("open", SMALL, MANY), ("closed", SMALL, MANY))),
        draw_figure3,
        ABOUT,
        partial(_small, form=""),
        (11.0, 4.8),
    ),
    *(
        Experiment(
            f"kairouz2016-figure{number}",
            f"Figure {number}: O-RR and O-RAPPOR, {form} alphabet, S = {SMALL}",
            GRID,
            partial(judge_lines, forms=((form, SMALL, MANY),)),
            partial(draw_one, form=form),
            ABOUT,
            partial(_small, form=form),
            (8.0, 4.8),
        )
        for number, form in ((7, "open"), (8, "closed"))
    ),
    *(
        Experiment(
            f"kairouz2016-figure{number}",
            f"Figure {number}: epsilon at a fixed error, {form} alphabet, S = {size}",
            GRID,
            partial(judge_fixed, form=form, size=size),
            partial(draw_fixed, form=form, size=size),
            ABOUT_FIXED,
            partial(_has, form=form, size=size, people=()),
            (11.0, 4.4),
        )
        for number, form, size in ((9, "open", SMALL), (10, "closed", SMALL), (14, "open", LARGE))
    ),
    *(
        Experiment(
            f"kairouz2016-figure{number}",
            f"Figure {number}: k, C and h, {form} alphabet, S = {SMALL}",
            GRID,
            partial(judge_parameters, form=form, size=SMALL, people=MANY),
            partial(draw_parameters, form=form, size=SMALL, people=MANY),
            f"{ABOUT_PARAMETERS} The caption says S = 4096, but figures 15 and 16 have the same "
            "caption for that size, and section 5.3 refers to this figure for S = 256.",
            partial(_small, form=form),
            (9.0, 10.0),
        )
        for number, form in ((11, "open"), (12, "closed"))
    ),
    Experiment(
        "kairouz2016-figure13",
        f"Figure 13: O-RR and O-RAPPOR, open alphabet, S = {LARGE}",
        GRID,
        partial(judge_lines, forms=(("open", LARGE, MANY), ("open", LARGE, MOST))),
        draw_figure13,
        ABOUT,
        partial(_large, people=(MANY, MOST)),
        (11.0, 4.8),
    ),
    *(
        Experiment(
            f"kairouz2016-figure{number}",
            f"Figure {number}: k, C and h, open alphabet, S = {LARGE}, {people:,} people",
            GRID,
            partial(judge_parameters, form="open", size=LARGE, people=people),
            partial(draw_parameters, form="open", size=LARGE, people=people),
            ABOUT_PARAMETERS,
            partial(_large, people=(people,)),
            (9.0, 10.0),
        )
        for number, people in ((15, MANY), (16, MOST))
    ),
)
