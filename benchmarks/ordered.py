"""Answers with an order: `smooth` next to the default of unordered answers, on the same counts.

``python -m benchmarks.ordered`` writes docs/results/ordered.json and .md. Errors are the l1
distance and that of Wasserstein, in buckets, to the shares of the respondents; ratios of mean
errors over the repetitions of a cell, and geometric means over cells. The constants of the
estimator were chosen on other laws, and on seven of the real ones with other seeds; four real ones
were looked at only afterwards. Histograms are counts of public data: the American Community Survey,
Adult of the UCI repository, the collaborative research cycle of NIST, nycflights13 and DPBench.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray

import murmurs as mm
from murmurs.estimators import BY_NAME

Floats = NDArray[np.float64]
SETTINGS = ((0.5, 10_000), (1.0, 10_000), (1.0, 100_000), (4.0, 100_000))
SEED = 20_261
HERE = Path(__file__).parent
RESULTS = HERE.parent / "docs" / "results"
LATER = ("times in the air", "hours of departure", "medical costs", "patents")
"""Real histograms on which nothing was chosen."""

COMPARED = ("smooth", "unbiased")


def smooth_laws(k: int) -> dict[str, Floats]:
    """Return laws with a smooth density."""
    x = (np.arange(k) + 0.5) / k

    def bump(middle: float, width: float) -> Floats:
        return np.asarray(np.exp(-(((x - middle) / width) ** 2) / 2))

    gumbel = (x - 0.35) / 0.12
    return {
        "Gumbel": np.exp(-gumbel - np.exp(-gumbel)),
        "three bumps": bump(0.2, 0.06) + bump(0.5, 0.1) + 0.5 * bump(0.8, 0.05),
        "Weibull": (x / 0.4) ** 0.8 * np.exp(-((x / 0.4) ** 1.8)),
        "logistic": 1 / np.cosh((x - 0.55) / 0.12) ** 2,
        "U": x**-0.4 * (1 - x) ** -0.2,
        "triangle": np.minimum(x / 0.3, (1 - x) / 0.7) + 0.02,
    }


def groups(rng: np.random.Generator) -> dict[str, dict[str, Floats]]:
    """Return all laws in groups."""
    given = json.loads((HERE / "ordered_data.json").read_text(encoding="utf-8"))
    real = {name: np.array(counts, np.float64) for name, counts in given.items()}
    out = {f"smooth, k = {k}": smooth_laws(k) for k in (11, 15, 60, 200)}
    out["real"] = {name: law for name, law in real.items() if name not in LATER}
    out["real, not seen before"] = {name: real[name] for name in LATER}
    out["permuted"] = {
        f"{name}, k = {k}": rng.permutation(smooth_laws(k)[name])
        for k in (20, 80, 200)
        for name in ("Gumbel", "U")
    }
    for name in ("ages, Massachusetts", "hours of work"):
        out["permuted"][name] = rng.permutation(real[name])
    out["equal shares"] = {f"k = {k}": np.ones(k) for k in (15, 60, 200)}
    return out


def errors(shares: Floats, truth: Floats) -> tuple[float, float]:
    """Return the l1 distance and that of Wasserstein, in buckets."""
    away = shares - truth
    return float(np.abs(away).sum()), float(np.abs(np.cumsum(away)).sum())


def measure(repetitions: int) -> list[dict[str, Any]]:
    """Return the mean errors of each cell: a law, an epsilon and a number of people."""
    rng = np.random.default_rng(SEED)
    rows = []
    given: list[tuple[str, Any, dict[str, Floats], tuple[str, ...]]] = [
        *((name, mm.Subset, laws, ("shrinkage", *COMPARED)) for name, laws in groups(rng).items()),
        *(
            (f"square waves, k = {k}", mm.SquareWave, smooth_laws(k), ("ems", "smooth"))
            for k in (60, 200)
        ),
    ]
    for group, kind, laws, names in given:
        for law, shares in laws.items():
            for epsilon, n in SETTINGS:
                mechanism = kind(k=len(shares), epsilon=epsilon)
                found: dict[str, list[tuple[float, float]]] = {}
                for _ in range(repetitions):
                    people = rng.multinomial(n, shares / shares.sum())
                    counts = mechanism.simulate(people, rng)
                    for name in names:
                        truth = people / n
                        one = errors(BY_NAME[name](counts).shares, truth)
                        found.setdefault(name, []).append(one)
                mean = {name: np.mean(own, axis=0).tolist() for name, own in found.items()}
                rows.append(
                    {"group": group, "law": law, "epsilon": epsilon, "n": n, "errors": mean}
                )
    return rows


def seconds() -> dict[str, float]:
    """Return the processor time of one estimate by the number of buckets."""
    out = {}
    for k in (11, 101, 1000):
        for kind in (mm.Subset, mm.SquareWave):
            people = np.rint(100_000 * smooth_laws(k)["Gumbel"]).astype(np.int64)
            counts = kind(k=k, epsilon=1.0).simulate(people, np.random.default_rng(1))
            took = []
            for _ in range(4):
                begun = time.process_time()
                BY_NAME["smooth"](counts)
                took.append(time.process_time() - begun)
            out[f"{kind.__name__}, {k:,} buckets"] = min(took[1:])
    return out


def ratios(rows: list[dict[str, Any]], name: str) -> Floats:
    """Return the errors relative to the first estimator: l1 and Wasserstein, a line per cell."""
    own = [np.array(row["errors"][name]) / next(iter(row["errors"].values())) for row in rows]
    return np.array(own)


def page(rows: list[dict[str, Any]], took: dict[str, float], repetitions: int) -> str:
    """Return the page."""
    settings = ", ".join(f"ε = {epsilon:g} and n = {n:,}" for epsilon, n in SETTINGS)
    titles = " | ".join(f"`{name}` l1 | W1" for name in COMPARED)
    lines = [
        "# Answers with an order",
        "",
        "Written by `benchmarks.ordered`: errors relative to those of "
        "[`shrinkage`](../estimators/shrinkage.md) on the same counts of `Subset`, against the "
        f"shares of the respondents; {repetitions} repetitions of each law at {settings}; "
        f"geometric means, seed {SEED}. W1 is the distance of Wasserstein. The constants of "
        "[`smooth`](../estimators/smooth.md) were chosen on other smooth laws, and on the *real* "
        "ones with other seeds, but not on those *not seen before*.",
        "",
    ]
    waves = [row for row in rows if "ems" in row["errors"]]
    rows = [row for row in rows if "ems" not in row["errors"]]
    lines += table(rows, "laws", titles, COMPARED)
    lines += [
        "",
        "## Square waves",
        "",
        "Errors relative to those of [`ems`](../estimators/ems.md), which is smoothed without a "
        "choice of how much, on the same counts of `SquareWave`:",
        "",
    ]
    lines += table(waves, "laws", "`smooth` l1 | W1", ("smooth",))
    lines += ["", "## By law", "", *table(rows, "law", titles, COMPARED)]
    lines += ["", "## Processor time of one estimate", "", "| counts | ms |", "|---|---:|"]
    lines += [f"| {name} | {1000 * value:.0f} |" for name, value in took.items()]
    return "\n".join(lines) + "\n"


def table(rows: list[dict[str, Any]], by: str, titles: str, names: tuple[str, ...]) -> list[str]:
    """Return a table with a line for each group of laws, or for each law."""
    lines = [f"| {by} | cells | {titles} | worst l1 of `smooth` |"]
    lines.append("|---|---:|" + "---:|" * (2 * len(names) + 1))
    parts: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        own = row["group"] if by == "laws" else f"{row['group']}: {row['law']}"
        parts.setdefault(own, []).append(row)
    return lines + [line_of(title, own, names) for title, own in parts.items()]


def line_of(title: str, rows: list[dict[str, Any]], names: tuple[str, ...]) -> str:
    """Return a line of a table: geometric means over the cells, and the worst of `smooth`."""
    mean = [np.exp(np.log(ratios(rows, name)).mean(axis=0)) for name in names]
    told = " | ".join(f"{value:.2f}" for own in mean for value in own)
    return f"| {title} | {len(rows)} | {told} | {ratios(rows, 'smooth')[:, 0].max():.2f} |"


def main() -> None:
    """Measure and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=3)
    repetitions = parser.parse_args().repetitions
    rows, took = measure(repetitions), seconds()
    document = {"seed": SEED, "repetitions": repetitions, "seconds": took, "cells": rows}
    text = json.dumps(document, ensure_ascii=False, indent=None).replace('{"group"', '\n{"group"')
    (RESULTS / "ordered.json").write_text(text + "\n", encoding="utf-8")
    (RESULTS / "ordered.md").write_text(page(rows, took, repetitions), encoding="utf-8")


if __name__ == "__main__":
    main()
