"""Do the intervals cover? A study over k, epsilon, n, skew and mechanisms.

``python -m benchmarks.coverage`` writes docs/results/coverage.json, .md and .png: how often
nominal 95 % intervals contain the share, for the respondents and for their population, for all
shares and for those below one standard error, and how often simultaneous bands contain all of them.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import zlib
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from benchmarks.accuracy import by, law_of

import murmurs as mm
from murmurs import estimators

MECHANISMS: dict[str, Any] = {
    "KRR": mm.KRR,
    "SUE": mm.SUE,
    "OUE": mm.OUE,
    "Subset": mm.Subset,
    "Hadamard": mm.Hadamard,
    "ProjectiveGeometry": mm.ProjectiveGeometry,
    "LocalHashing": mm.LocalHashing,
}
FIGURES = ("respondents", "population", "near zero", "near zero, population", "simultaneous")


def run_cell(cell: dict[str, Any]) -> dict[str, Any]:
    """Return a cell with the coverage of each figure, and the mean width of the intervals."""
    rng = np.random.default_rng(zlib.crc32(json.dumps(cell, sort_keys=True).encode()))
    mechanism = MECHANISMS[cell["mechanism"]](k=cell["k"], epsilon=cell["epsilon"])
    held = np.zeros(len(FIGURES))
    asked = np.zeros(len(FIGURES))
    width = 0.0
    for _ in range(cell["repeat"]):
        law = law_of(cell["law"], cell["k"], rng)
        people = rng.multinomial(cell["n"], law)
        truth = people / cell["n"]
        counts = mechanism.simulate(people, rng)
        found = estimators.BY_NAME[cell["method"]](counts)
        small = found.standard_errors()
        single, drawn = found.interval(0.95).T, found.interval(0.95, "population").T
        bands = found.interval(0.95, simultaneous=True).T
        inside = _inside(truth, single)
        inside_population = _inside(law, drawn)
        near, near_population = truth < small, law < small
        parts = (
            inside,
            inside_population,
            inside[near],
            inside_population[near_population],
            np.array([_inside(truth, bands).all()]),
        )
        held += [part.sum() for part in parts]
        asked += [len(part) for part in parts]
        width += float((single[:, 1] - single[:, 0]).mean())
    coverage = [h / a if a else None for h, a in zip(held.tolist(), asked.tolist(), strict=True)]
    return {
        **cell,
        "coverage": dict(zip(FIGURES, coverage, strict=True)),
        "asked": dict(zip(FIGURES, asked.tolist(), strict=True)),
        "width": width / cell["repeat"],
    }


def _inside(share: Any, interval: Any) -> Any:
    return (interval[:, 0] <= share + 1e-15) & (share <= interval[:, 1] + 1e-15)


def cells(method: str, repeat: int, largest_k: int) -> list[dict[str, Any]]:
    """Return the cells of the study for one estimator."""
    return [
        {
            "mechanism": m,
            "k": k,
            "n": n,
            "epsilon": e,
            "law": law,
            "method": method,
            "repeat": max(6, min(repeat, 40 * repeat // k)),
        }
        for m in MECHANISMS
        for k in (4, 16, 64, 512, 4096)
        for n in (10**3, 10**4, 10**5, 10**6)
        for e in (0.5, 1.0, 2.0, 4.0)
        for law in ("zipf0.5", "zipf1.3", "zipf2.5", "geometric")
        if k <= largest_k and not (m == "Subset" and k > 512)
    ]


def mean(rows: list[dict[str, Any]], figure: str) -> float:
    """Return the mean over the cells that have anything to cover."""
    seen = [r["coverage"][figure] for r in rows if r["coverage"][figure] is not None]
    return float(np.mean(seen)) if seen else float("nan")


def table(title: str, groups: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Return a Markdown table of mean coverages."""
    lines = [f"| {title} | " + " | ".join(FIGURES) + " |", "|---|" + "---:|" * len(FIGURES)]
    for name, rows in groups.items():
        shown = [f"{100 * mean(rows, figure):.1f} %" for figure in FIGURES]
        lines.append(f"| {name} | " + " | ".join(shown) + " |")
    return lines


def page(rows: list[dict[str, Any]]) -> str:
    """Return docs/results/coverage.md."""
    lines = [
        "# Coverage",
        "",
        "Written by `benchmarks.coverage`. The tables show how often nominal 95 % intervals "
        "contain the true share, as means over cells. *near zero*: shares below one standard "
        "error. *simultaneous*: all shares at once. The bars: 93 to 97 % on average, and at least "
        "90 % near zero.",
        "",
        "![coverage of every cell](coverage.png)",
        "",
        "Each point is a cell of the study; the lines are three standard deviations around 95 % "
        "for the same number of independent shares.",
    ]
    for method, group in by(rows, "method").items():
        lines += ["", f"## Estimator: {method}", ""]
        lines += table("mechanism", {**by(group, "mechanism"), "all": group})
        for key in ("k", "n", "epsilon", "law"):
            lines += ["", *table("distribution" if key == "law" else key, by(group, key))]
        enough = [r for r in group if r["asked"]["near zero"] >= 200]
        lowest = sorted(enough, key=lambda r: r["coverage"]["near zero"])[:6]
        lines += ["", "Lowest coverage near zero, among cells with at least 200 such shares:", ""]
        lines += [
            "| mechanism | k | n | epsilon | distribution | near zero |",
            "|---|---:|---:|---:|---|---:|",
        ]
        for r in lowest:
            where = f"{r['mechanism']} | {r['k']} | {r['n']} | {r['epsilon']:g} | {r['law']}"
            lines.append(f"| {where} | {100 * r['coverage']['near zero']:.1f} % |")
    return "\n".join(lines) + "\n"


def picture(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw the coverage of every cell against its number of shares, by estimator."""
    from matplotlib.figure import Figure

    methods = by(rows, "method")
    figure = Figure(figsize=(9, 3.2), layout="constrained")
    axes = figure.subplots(1, len(methods), sharey=True, squeeze=False)[0]
    for ax, (name, group) in zip(axes, methods.items(), strict=True):
        asked = np.array([row["asked"]["respondents"] for row in group])
        held = np.array([row["coverage"]["respondents"] for row in group])
        ax.semilogx(asked, 100 * held, ".", markersize=2.5, alpha=0.35, color="#4477aa")
        n = np.geomspace(asked.min(), asked.max(), 100)
        for side in (-3, 3):  # independent shares would stay between
            ax.plot(n, 95 + side * 100 * np.sqrt(0.95 * 0.05 / n), color="#222", linewidth=0.8)
        ax.set_title(name, loc="left", fontsize=10)
        ax.set_xlabel("shares in the cell")
        ax.set_ylim(85, 100.5)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("coverage of 95 % intervals, %")
    figure.savefig(path, dpi=150)


def main() -> None:
    """Run the study and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=100)
    parser.add_argument("--largest-k", type=int, default=4096)
    parser.add_argument("--methods", nargs="+", default=["unbiased", "simplex", "shrinkage"])
    parser.add_argument("--output", type=Path, default=Path("docs/results"))
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    options = parser.parse_args()
    wanted = [c for m in options.methods for c in cells(m, options.repeat, options.largest_k)]
    rows = []
    with multiprocessing.get_context("spawn").Pool(options.workers) as pool:
        for row in pool.imap(run_cell, wanted, chunksize=4):
            rows.append(row)
            print(f"\r{len(rows)} of {len(wanted)} cells", end="", file=sys.stderr)
    print(file=sys.stderr)
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "coverage.json").write_text(json.dumps(rows, indent=0))
    (options.output / "coverage.md").write_text(page(rows))
    picture(rows, options.output / "coverage.png")
    print(page(rows))


if __name__ == "__main__":
    main()
