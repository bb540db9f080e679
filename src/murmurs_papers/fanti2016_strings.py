"""Fanti, Pihur and Erlingsson (2016), figures 7, 17 and 18: random strings that are not listed.

The grid is that of figures 9 to 11 too, which are in `fanti2016_lengths`.
"""

from __future__ import annotations

import string
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from murmurs.numerics.arrays import Floats
from murmurs.studies.measured import Label, Series, Table
from murmurs.studies.running import Cell
from murmurs_papers.drawing import line, tidy
from murmurs_papers.experiment import Experiment, Grid, Scale
from murmurs_papers.fanti2016_ngrams import (
    Learnt,
    bloom_grams,
    learn_by_grams,
    learn_by_prefixes,
    q_of_the_paper,
)
from murmurs_papers.findings import Finding, claim
from murmurs_papers.ours import clearly_above, ours, quotient

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POWER, STEEP, GEOMETRIC, UNIFORM = "power law", "steep power law", "geometric", "uniform"
PUBLISHED, PREFIXES = "as published", "prefixes"
LETTERS = string.ascii_lowercase
COHORTS = 16
MOST, HIGH = 10**5, 9.0
"""The people of figures 9 to 11, and their epsilon of all reports as the paper counts it."""

EPSILONS: dict[Scale, tuple[float, ...]] = {
    "full": (1.0, 2.0, 3.0, 4.0, 6.0, 9.0),
    "quick": (2.0, 4.0, 9.0),
    "tiny": (4.0,),
}
PEOPLE: dict[Scale, tuple[int, ...]] = {
    "full": (10**4, 10**5, 10**6),
    "quick": (10**4, 10**5),
    "tiny": (10**5,),
}
LENGTHS: dict[Scale, dict[int, tuple[int, ...]]] = {
    "full": {2: (4, 6, 8, 10, 12), 3: (6, 9, 12), 4: (8,)},
    "quick": {2: (4, 6, 8, 12), 3: (6, 9, 12)},
    "tiny": {2: (4, 6), 3: (6,)},
}
MULTIPLES: dict[Scale, tuple[float, ...]] = {
    "full": (0.0, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0),
    "quick": (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0),
    "tiny": (1.0, 4.0),
}
"""Thresholds of figure 11, as multiples of that of the paper."""

TIMES: dict[Scale, dict[str, int]] = {
    "full": {PUBLISHED: 20, PREFIXES: 5},
    "quick": {PUBLISHED: 3, PREFIXES: 1},
    "tiny": {PUBLISHED: 1, PREFIXES: 1},
}
LENGTH_TIMES: dict[Scale, int] = {"full": 20, "quick": 4, "tiny": 1}
THRESHOLD_TIMES: dict[Scale, int] = {"full": 30, "quick": 4, "tiny": 1}


def law_of(name: str, strings: int) -> Floats:
    """Return the shares of random strings.

    The paper does not say how its power law of exponent -5 is made discrete. Under (r + 14)^-5,
    RAPPOR with a known list finds 17 of 100 strings, as in figure 8; under r^-5, the steep one, the
    first string has 96 % of the people.

    >>> round(float(law_of(STEEP, 10)[0]), 2), round(float(law_of(POWER, 10)[0]), 2)
    (0.96, 0.27)
    """
    rank = np.arange(1, strings + 1.0)
    weights = {
        POWER: (rank + 14) ** -5,
        STEEP: rank**-5,
        GEOMETRIC: 0.7**rank,
        UNIFORM: np.ones(strings),
    }[name]
    return np.asarray(weights / weights.sum())


def cells(scale: Scale) -> list[Cell]:
    """Return random strings of all laws, of several lengths, and with several thresholds."""
    found = [
        _cell("law", law, 10, 6, 2, epsilon, people, method, 1.0, TIMES[scale][method])
        for law in (POWER, GEOMETRIC, UNIFORM)
        for epsilon in EPSILONS[scale]
        for people in PEOPLE[scale]
        for method in (PUBLISHED, PREFIXES)
    ]
    found += [
        _cell("length", POWER, 100, length, size, HIGH, MOST, PUBLISHED, 1.0, LENGTH_TIMES[scale])
        for size, lengths in LENGTHS[scale].items()
        for length in lengths
    ]
    found += [
        _cell(
            "threshold", POWER, 100, 6, 2, HIGH, MOST, PUBLISHED, multiple, THRESHOLD_TIMES[scale]
        )
        for multiple in MULTIPLES[scale]
    ]
    return found


def _cell(
    part: str,
    law: str,
    strings: int,
    length: int,
    size: int,
    epsilon: float,
    people: int,
    method: str,
    multiple: float,
    repetitions: int,
) -> Cell:
    labels: dict[str, Label] = {
        "part": part,
        "law": law,
        "strings": strings,
        "length": length,
        "size": size,
        "epsilon": epsilon,
        "people": people,
        "method": method,
        "multiple": multiple,
    }
    return Cell(labels, repetitions)


VALUES = ("hellinger", "fraction", "false", "edges")


def measure(cell: Cell, rng: np.random.Generator) -> list[Series]:
    """Return how far what is learnt is from the truth, with new strings and people each time."""
    law = law_of(cell.text("law"), cell.whole("strings"))
    found = np.empty((cell.repetitions, len(VALUES)))
    for time in range(cell.repetitions):
        texts = texts_of(len(law), cell.whole("length"), rng)
        people = rng.multinomial(cell.whole("people"), law)
        learnt: Learnt
        if cell["method"] == PREFIXES:
            learnt = learn_by_prefixes(cell.real("epsilon"), texts, people, LETTERS, rng)
        else:
            q = q_of_the_paper(cell.real("epsilon"))
            asked = bloom_grams(q, cell.whole("length"), cell.whole("size"), COHORTS)
            learnt = learn_by_grams(
                asked, texts, people, LETTERS, rng, multiple=cell.real("multiple")
            )
        true = learnt.true(texts)
        found[time] = (
            learnt.hellinger(texts, law),
            true / len(texts),
            len(learnt.shares) - true,
            0 if learnt.by is None else learnt.by.edges,
        )
    return [Series({}, dict(zip(VALUES, found.T, strict=True)))]


def texts_of(many: int, length: int, rng: np.random.Generator) -> list[str]:
    """Return different random strings."""
    found: dict[str, None] = {}
    while len(found) < many:
        found["".join(rng.choice(list(LETTERS), length))] = None
    return list(found)


GRID = Grid("fanti2016-strings", cells, measure)


def _learning(rows: Table, law: str, method: str = PUBLISHED) -> Table:
    """Return the series of figures 7, 17 and 18."""
    return rows.where(part="law", law=law, method=method)


# Figures 7, 17 and 18


def judge_law(rows: Table, law: str) -> list[Finding]:
    """Say what is learnt at which epsilon, and what prefixes learn at the same."""
    own, found = _learning(rows, law), []
    few = own.where(people=10**5)
    strong = Table(s for s in few if float(s["epsilon"]) <= 2)
    weak = Table(s for s in few if float(s["epsilon"]) >= 4)
    if len(strong):
        lost, learnt = (
            min(s.mean("hellinger") for s in strong),
            min(s.mean("hellinger") for s in weak),
        )
        found.append(
            claim(
                "100,000 people",
                "epsilon must be at least 3 or 4 for meaningful estimates",
                f"the distance is {lost:.2f} or more for epsilon up to 2, where 0.71 means that "
                f"nothing was learnt, and falls to {learnt:.2f} for epsilon of 4 and more",
                lost > 0.5 and learnt < 0.5,
            )
        )
    missed = [s for s in own if s.mean("fraction") < 1]
    found.append(
        claim(
            "dictionary",
            "it is learnt in part, and many strings may not be detected",
            f"in {len(missed)} of {len(own)} settings strings are missing, half of them or more in "
            f"{sum(s.mean('fraction') <= 0.5 for s in missed)}",
            bool(missed) or len(own) < 3,
        )
    )
    both = [(s, rows.one(**{**s.labels, "method": PREFIXES})) for s in own]
    ratios = [
        quotient(*(x for s in pair for x in (s.mean("fraction"), s.error("fraction"))))
        for pair in both
    ]
    fewer = sum(ratio > 1 for ratio, _ in ratios)
    means = [
        float(np.mean([s.mean("fraction") for s in several])) for several in zip(*both, strict=True)
    ]
    found.append(
        ours(
            "prefixes, our default",
            "the published method at the same epsilon",
            f"prefixes find {means[1]:.2f} of the strings on average, the published method "
            f"{means[0]:.2f}; fewer in {fewer} of {len(both)} settings, by more than three "
            f"standard errors in {clearly_above(ratios)}",
            ratios,
        )
    )
    return found


def judge_entropy(rows: Table, law: str) -> list[Finding]:
    """Say the same, and whether a law of higher entropy is harder to learn than the power law."""
    pairs = [
        (rows.one(**{**s.labels, "law": POWER}).mean("hellinger"), s.mean("hellinger"), s)
        for s in _learning(rows, law)
    ]
    easier = [
        f"epsilon {float(s['epsilon']):g} with {int(s['people']):,} people"
        for power, own, s in pairs
        if own < power - 3 * s.error("hellinger") - 0.02
    ]
    return [
        *judge_law(rows, law),
        claim(
            f"{law} and power law",
            "random variables with higher entropy are more difficult to learn",
            f"not at {', '.join(easier)}" if easier else "they are in all settings",
            not easier,
            why=WHY_ENTROPY,
        ),
    ]


def draw_law(rows: Table, figure: Figure, law: str) -> None:
    """Draw the distance on the left and the fraction of the strings on the right."""
    panels = figure.subplots(1, 2)
    for axes, value, name in zip(
        panels,
        ("hellinger", "fraction"),
        ("Hellinger distance", "fraction of the strings learnt"),
        strict=True,
    ):
        for method, style in ((PUBLISHED, "-"), (PREFIXES, ":")):
            own = _learning(rows, law, method)
            for place, n in enumerate(own.distinct("people")):
                series = own.where(people=n)
                x, y = [float(s["epsilon"]) for s in series], [s.mean(value) for s in series]
                wide = [1.96 * s.error(value) for s in series]
                label = f"{n:,} people" if method == PUBLISHED else None
                band = (
                    [a - b for a, b in zip(y, wide, strict=True)],
                    [a + b for a, b in zip(y, wide, strict=True)],
                )
                line(axes, x, y, place, label, band if method == PUBLISHED else None, style)
        axes.set_xlabel("ε of all reports")
        axes.set_ylim(0, 1.02 if value == "fraction" else None)
        tidy(axes, name)
    panels[0].legend(frameon=False, fontsize=8, title="published; dotted: prefixes")
    figure.suptitle(f"10 strings of 6 letters, {law}", fontsize=11)


WHY_ENTROPY = (
    "Where noise is strong it is so: rare n-grams drown in it. Where all strings stand out from "
    "the noise, equal shares are learnt completely, and the long tail of the power law is not."
)
ABOUT = (
    "Random strings of lower-case letters, RAPPOR of 128 bits with two hashes and p = 0.25; the "
    "paper does not state the number of cohorts, which is 16 here. Epsilon is counted as the paper "
    "counts it, although its q spends only half of that (see figure 12). Strings that are not "
    "found count with a share of zero in the distance, and the others are not scaled up. The paper "
    "prints a picture without numbers, so its sentences are compared. "
)
ABOUT_LAWS = ABOUT + "Prefixes, our default, keep to epsilon. "
ABOUT_POWER = (
    "The paper does not say how its power law of exponent -5 is made discrete: r^-5 would give 96 "
    "% of the people to one string. Under (r + 14)^-5 RAPPOR with a list finds the 17 strings of "
    "figure 8."
)


def _laws(*names: str) -> Callable[[Cell], bool]:
    def wanted(cell: Cell) -> bool:
        return cell["part"] == "law" and cell["law"] in names

    return wanted


EXPERIMENTS = (
    Experiment(
        "fanti2016-figure7",
        "Figure 7: strings that are not listed, power law",
        GRID,
        partial(judge_law, law=POWER),
        partial(draw_law, law=POWER),
        ABOUT_LAWS + ABOUT_POWER,
        wanted=_laws(POWER),
        size=(9.5, 4.5),
    ),
    Experiment(
        "fanti2016-figure17",
        "Figure 17: strings that are not listed, geometric shares",
        GRID,
        partial(judge_entropy, law=GEOMETRIC),
        partial(draw_law, law=GEOMETRIC),
        ABOUT_LAWS + "String r has a share proportional to 0.7^r, the p = 0.3 of the paper.",
        wanted=_laws(POWER, GEOMETRIC),
        size=(9.5, 4.5),
    ),
    Experiment(
        "fanti2016-figure18",
        "Figure 18: strings that are not listed, equal shares",
        GRID,
        partial(judge_entropy, law=UNIFORM),
        partial(draw_law, law=UNIFORM),
        ABOUT_LAWS.rstrip(),
        wanted=_laws(POWER, UNIFORM),
        size=(9.5, 4.5),
    ),
)
