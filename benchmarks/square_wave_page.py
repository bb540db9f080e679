"""The page of `benchmarks.square_wave`, from what it measured."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from murmurs.planning.choice import FEWEST_BUCKETS, LARGEST_EPSILON

SHOWN = (15, 24, 60, 150)
"""Buckets of the tables of all errors."""

ERRORS = ("W1", "KS", "mean", "90 % quantile")
WAVE, SUBSET = "SquareWave, `smooth`", "Subset, `smooth`"
BAR = 0.5
"""What W1 of the square wave should be at most, relative to that of k-subset."""

INTRODUCTION = """# Numbers by the square wave

`python -m benchmarks.square_wave` writes this page.

Six smooth laws (those of `benchmarks.ordered`: Gumbel, three bumps, Weibull, logistic, U,
triangle), {repetitions} simulated collections of each, seed {seed}. Errors are against the
shares of the respondents, and lengths are parts of the range. W1 is the distance of
Wasserstein, KS the largest difference of the distribution functions. Ratios are geometric means
over the laws; judged by how much laws differ, those of W1 have a standard error of {spread:.0f} %.

## What it should reach

**W1 at most half of that of `Subset`**, both with [`smooth`](../estimators/smooth.md), on
smooth laws with n ≥ 10,000 and ε ≤ 1: {verdict}.
"""

CHOICE = """
**The mean within 3 % of the best of Duchi's, the piecewise and the hybrid mechanism**:
{verdict}. Over all laws, with {ks} buckets and ε from {low:g} to {high:g}, the exact standard
error is at most {worst:.3f} times the smallest of the three for the law at hand.

## Where the square wave is chosen

A question about a scale gets it from {fewest} buckets on and up to ε = {largest:g}. Errors
relative to those of `Subset`, both with `smooth`: W1 / KS / mean. With many buckets the square
wave wins at larger ε, too, if laws are smooth. But intervals come from the unbiased distribution
function, whose noise is {noise} times that of `Subset` up to ε = {largest:g}, and
{more} times beyond.
"""

WAYS = """
## All ways

Mean errors, times 1000. *Tree* is HIO (Wang et al. 2019, *Answering multi-dimensional
analytical queries*): each person draws one level of a tree with 4 children per node, and
reports an interval of it by OUE or, where its variance is smaller, by k-ary randomised
response. It is estimated as in Li et al. (2020): the distribution with the least weighted
squares from what all levels say. `shrinkage` makes no use of the order.

PriPL-Tree (Wang et al. 2024), which learns a piecewise linear density from a part of the people
first, and the wavelet expansion of Zhao et al. (2025) were not measured: they have several
phases and settings, and nothing here says how well they do.
"""

MEANS = """
## Exact errors

Standard errors of the unbiased mean, times √n, averaged over the laws. *To the best* is the largest
ratio, over the laws, of the square wave to the best of the three mechanisms that report nothing but
a mean. The last column has the standard error of the unbiased distribution function relative to
that of `Subset`.
"""

WINDOWS = """
## The window

Windows reach b = 0.56 k e^(−ε/2) to each side, at most (k − 1) / 2. Exact standard errors with
other windows, relative to it: mean / distribution function, {buckets} buckets, averaged over
the laws.
"""


def page(found: dict[str, Any]) -> str:
    """Return the page."""
    rows, means = found["shapes"], found["means"]
    verdict, halves = told_of_halves(rows)
    worst = max(row["worst"] for row in means)
    epsilons = [row["epsilon"] for row in means]
    parts = [
        INTRODUCTION.format(verdict=verdict, spread=100 * spread(rows), **found),
        *halves,
        CHOICE.format(
            verdict="reached" if worst <= 1.03 else "missed",
            worst=worst,
            ks=", ".join(map(str, SHOWN)),
            low=min(epsilons),
            high=max(epsilons),
            noise=span(row for row in means if row["epsilon"] <= LARGEST_EPSILON),
            more=span(row for row in means if row["epsilon"] > LARGEST_EPSILON),
            fewest=FEWEST_BUCKETS,
            largest=LARGEST_EPSILON,
        ),
        *told_of_the_choice(rows),
        WAYS,
        *told_of_all_ways(rows),
        MEANS,
        *told_of_means(means),
        WINDOWS.format(**found),
        *told_of_windows(found),
    ]
    return "\n".join(parts) + "\n"


def span(means: Iterable[dict[str, Any]]) -> str:
    """Return the range of the noise of the distribution function, where buckets are many enough."""
    found = [row["below"] for row in means if row["k"] >= FEWEST_BUCKETS]
    return f"{min(found):.1f} to {max(found):.1f}"


def within(rows: list[dict[str, Any]], **setting: Any) -> list[dict[str, Any]]:
    """Return the rows of one setting."""
    return [row for row in rows if all(row[name] == value for name, value in setting.items())]


def settings(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return epsilon and the number of people, in the order in which they were measured."""
    pairs = dict.fromkeys((row["epsilon"], row["n"]) for row in rows)
    return [{"epsilon": epsilon, "n": n} for epsilon, n in pairs]


def told(setting: dict[str, Any]) -> str:
    """Return the words of a setting."""
    return f"ε = {setting['epsilon']:g}, n = {setting['n']:,}"


def ratios(rows: list[dict[str, Any]], error: str) -> Any:
    """Return the logarithms of the error of the square wave relative to that of k-subset."""
    number = ERRORS.index(error)
    pairs = [[row["errors"][name][number] for name in (WAVE, SUBSET)] for row in rows]
    return -np.diff(np.log(pairs))[:, 0]


def ratio(rows: list[dict[str, Any]], error: str) -> float:
    """Return that error in the geometric mean over the laws."""
    return float(np.exp(ratios(rows, error).mean()))


def spread(rows: list[dict[str, Any]]) -> float:
    """Return the standard error of a ratio of W1, about: the root of its mean square."""
    squares = []
    for k in dict.fromkeys(row["k"] for row in rows):
        for setting in settings(rows):
            own = ratios(within(rows, k=k, **setting), "W1")
            squares.append(own.var(ddof=1) / len(own))
    return float(np.sqrt(np.mean(squares)))


def table(head: list[str], lines: list[list[str]], left: int = 0) -> list[str]:
    """Return a table whose columns are to the right, but for the one of this number."""
    ruler = ["---" if i == left else "---:" for i in range(len(head))]
    return ["| " + " | ".join(cells) + " |" for cells in (head, ruler, *lines)]


def told_of_halves(rows: list[dict[str, Any]]) -> tuple[str, list[str]]:
    """Return where W1 is half of that of k-subset, and a table."""
    own = [row for row in rows if row["k"] >= SHOWN[0] and row["epsilon"] <= 1]
    ks = list(dict.fromkeys(row["k"] for row in own))
    lines, reached = [], dict.fromkeys(ks, True)
    for setting in settings(own):
        here = {k: ratio(within(own, k=k, **setting), "W1") for k in ks}
        lines.append([told(setting), *(f"{here[k]:.2f}" for k in ks)])
        reached = {k: reached[k] and here[k] <= BAR for k in ks}
    good = [str(k) for k in ks if reached[k]]
    bad = [str(k) for k in ks if not reached[k]]
    verdicts = [f"reached with {', '.join(good)} buckets"] * bool(good)
    verdicts += [f"missed with {', '.join(bad)}"] * bool(bad)
    return ", ".join(verdicts), table(["W1, ratio", *(f"{k} buckets" for k in ks)], lines)


def told_of_the_choice(rows: list[dict[str, Any]]) -> list[str]:
    """Return the errors next to k-subset, by buckets and setting."""
    lines = []
    for k in dict.fromkeys(row["k"] for row in rows):
        here = [within(rows, k=k, **setting) for setting in settings(rows)]
        cells = [" / ".join(f"{ratio(own, e):.2f}" for e in ERRORS[:3]) for own in here]
        lines.append([str(k), *cells])
    return table(["buckets", *map(told, settings(rows))], lines)


def told_of_all_ways(rows: list[dict[str, Any]]) -> list[str]:
    """Return a table for each error."""
    out, ways = [], list(rows[0]["errors"])
    for number, error in enumerate(ERRORS):
        lines = []
        for k in SHOWN:
            for setting in settings(rows):
                own = within(rows, k=k, **setting)
                means = [np.mean([row["errors"][name][number] for row in own]) for name in ways]
                lines.append([str(k), told(setting), *(f"{1000 * mean:.1f}" for mean in means)])
        out += [f"### {error}", "", *table(["buckets", "setting", *ways], lines, left=1), ""]
    return out[:-1]


def told_of_means(means: list[dict[str, Any]]) -> list[str]:
    """Return the exact errors of means."""
    head = ["buckets", "ε", *means[0]["errors"], "to the best", "distribution function"]
    lines = [
        [
            str(row["k"]),
            f"{row['epsilon']:g}",
            *(f"{own:.3g}" for own in row["errors"].values()),
            f"{row['worst']:.3f}",
            f"{row['below']:.2f}",
        ]
        for row in means
    ]
    return table(head, lines, left=-1)


def told_of_windows(found: dict[str, Any]) -> list[str]:
    """Return the exact errors with other windows."""
    head = ["ε", "b", *(f"{times:g} b" for times in found["times"])]
    lines = [
        [
            f"{row['epsilon']:g}",
            str(row["b"]),
            *(f"{mean:.2f} / {below:.2f}" for mean, below in row["ratios"]),
        ]
        for row in found["windows"]
    ]
    return table(head, lines, left=-1)
