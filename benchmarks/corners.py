"""Where the default estimator loses, and to which one: few answers, with shares near the noise.

``python -m benchmarks.corners`` lets all people give a few of ten answers, or a few of two hundred,
in equal parts or as 1 / rank, and increases their number until those shares are 1 to 24 standard
errors. It writes docs/results/corners.json, and from that corners.png and corners.md; with
``--draw`` it makes those two from the existing JSON. Errors are measured against the shares of the
respondents. Ratios are to the best of three estimators in each cell, as in `benchmarks.accuracy`.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import sys
import warnings
import zlib
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray

import murmurs as mm
from murmurs import estimators

ORACLE = ("normalized", "simplex", "likelihood")
METHODS = ("shrinkage", *ORACLE, "norm_cut")
LAWS = ("equal", "1 / rank")
ALPHABETS: dict[int, tuple[float, tuple[int, ...]]] = {
    10: (0.5, (1, 2, 3, 5, 7, 10)),
    200: (1.0, (1, 2, 3, 5, 10, 20, 50)),
}
"""For each number of answers: epsilon, and how many of them people give."""

FLOOR = 1e-6
"""Added to errors before they are divided, so that two perfect estimates have the ratio 1."""

SIZES = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 9.0, 14.0, 24.0)
"""The mean share of the answers that people give, in standard errors."""


def people_of(cell: dict[str, Any]) -> NDArray[np.int64]:
    """Return how many people give each answer, enough in all to make the shares that large."""
    k, given = cell["k"], cell["given"]
    weights = 1 / np.arange(1, given + 1) if cell["law"] == "1 / rank" else np.ones(given)
    law = np.append(weights / weights.sum(), np.zeros(k - given))
    noise = mm.KRR(k=k, epsilon=cell["epsilon"]).channel.variance(law * 1e9).mean() * 1e9
    n = max(round(noise * (given * cell["size"]) ** 2), given)
    people: NDArray[np.int64] = np.floor(n * law).astype(np.int64)
    people[:given] += np.arange(given) < n - people.sum()
    return people


def run_cell(cell: dict[str, Any]) -> dict[str, Any]:
    """Return a cell with the mean errors of the methods."""
    warnings.simplefilter("ignore", estimators.NoiseDominates)
    rng = np.random.default_rng(zlib.crc32(json.dumps(cell, sort_keys=True).encode()))
    mechanism, people = mm.KRR(k=cell["k"], epsilon=cell["epsilon"]), people_of(cell)
    truth, errors = people / people.sum(), np.zeros((len(METHODS), 2))
    for _ in range(cell["repeat"]):
        counts = mechanism.simulate(people, rng)
        for i, method in enumerate(METHODS):
            away = estimators.BY_NAME[method](counts).shares - truth
            errors[i] += np.abs(away).sum(), (away**2).sum()
    l1, l2 = (np.round(column / cell["repeat"], 6).tolist() for column in errors.T)
    return {
        **cell,
        "n": int(people.sum()),
        "l1": dict(zip(METHODS, l1, strict=True)),
        "l2": dict(zip(METHODS, l2, strict=True)),
    }


def cells(repeat: int) -> list[dict[str, Any]]:
    """Return all cells."""
    return [
        {"k": k, "epsilon": epsilon, "law": law, "given": given, "size": size, "repeat": repeat}
        for k, (epsilon, numbers) in ALPHABETS.items()
        for law in LAWS
        for given in numbers
        for size in SIZES
        if given > 1 or law == "equal"
    ]


def best(row: dict[str, Any]) -> str:
    """Return the one of the three that has the smallest l1 error."""
    return min(ORACLE, key=lambda method: float(row["l1"][method]))


def ratio(row: dict[str, Any], method: str = "shrinkage") -> float:
    """Return the l1 error of a method, divided by that of the best of the three."""
    return float((row["l1"][method] + FLOOR) / (row["l1"][best(row)] + FLOOR))


def panels(rows: list[dict[str, Any]]) -> dict[tuple[int, str], list[dict[str, Any]]]:
    """Return the rows for each number of answers and distribution."""
    return {
        (k, law): [row for row in rows if (row["k"], row["law"]) == (k, law)]
        for k in ALPHABETS
        for law in LAWS
    }


def table(rows: list[dict[str, Any]], most: int) -> str:
    """Return the cells in which the default loses most, a few per panel, with all errors."""
    lines = [
        "| answers | people give | mean share, standard errors | n | "
        + " | ".join(f"`{method}`" for method in METHODS)
        + " | ratio |",
        "|---:|---|---:|---:|" + "---:|" * (len(METHODS) + 1),
    ]
    for (k, law), panel in panels(rows).items():
        for row in sorted(panel, key=ratio, reverse=True)[:most]:
            smallest = min(row["l1"].values())
            shown = [f"**{x:.3f}**" if x == smallest else f"{x:.3f}" for x in row["l1"].values()]
            parts = f"{row['given']}, " + ("in equal parts" if law == "equal" else "as 1 / rank")
            where = f"{k} | {parts} | {row['size']:g} | {row['n']:,}"
            lines.append(f"| {where} | " + " | ".join(shown) + f" | {ratio(row):.2f} |")
    return "\n".join(lines)


def mean_ratios(rows: list[dict[str, Any]], above: float) -> str:
    """Return the mean ratios of the methods where the default is above a ratio, and elsewhere."""
    lines = [
        "| cells | number | " + " | ".join(f"`{method}`" for method in METHODS) + " |",
        "|---|---:|" + "---:|" * len(METHODS),
    ]
    for k in ALPHABETS:
        of_k = [row for row in rows if row["k"] == k]
        lost = [row for row in of_k if ratio(row) > above]
        for name, part in (
            (f"{k} answers, ratio above {above:g}", lost),
            (f"{k} answers, others", [row for row in of_k if row not in lost]),
        ):
            means = [
                math.exp(np.mean([math.log(ratio(row, method)) for row in part]))
                for method in METHODS
            ]
            figures = " | ".join(f"{mean:.2f}" for mean in means)
            lines.append(f"| {name} | {len(part)} | {figures} |")
    return "\n".join(lines)


def page(rows: list[dict[str, Any]]) -> str:
    """Return docs/results/corners.md."""
    lines = [
        "# Corners",
        "",
        "Written by `benchmarks.corners`. `KRR` with ten answers (ε = 0.5) and with two hundred "
        "(ε = 1), of which people give only a few: one, two or more, in equal parts or as 1 / "
        "rank. The number of people, n, is chosen so that the mean share of those answers is 1 to "
        f"{SIZES[-1]:g} standard errors. Errors are mean l1 errors over {rows[0]['repeat']} "
        "collections, measured against the shares of the respondents. The *ratio* is the default's "
        "error divided by that of the best of `normalized`, `simplex` and `likelihood` in the "
        "cell, known only afterwards; where it is above 1.1, the picture names the best one.",
        "",
        "![ratio of the default's l1 error to the best of three others](corners.png)",
        "",
        "The cells in which the default loses most, three per panel; the smallest error is bold:",
        "",
        table(rows, 3),
        "",
        "All errors divided by that of the best of the three, as geometric means over the cells "
        "in which the default is more than a tenth above it, and over the other cells:",
        "",
        mean_ratios(rows, 1.1),
    ]
    return "\n".join(lines) + "\n"


def picture(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw the ratio of every cell, and where the default loses, the estimator to use."""
    from matplotlib.colors import TwoSlopeNorm
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.5, 7.4), layout="constrained")
    axes = figure.subplots(2, 2)
    scale = TwoSlopeNorm(0.0, vmin=math.log(0.25), vmax=math.log(2.0))
    for ax, ((k, law), panel) in zip(axes.ravel(), panels(rows).items(), strict=True):
        numbers = sorted({row["given"] for row in panel})
        shown = np.full((len(numbers), len(SIZES)), np.nan)
        for row in panel:
            at = numbers.index(row["given"]), SIZES.index(row["size"])
            shown[at] = math.log(ratio(row))
            lost = ratio(row) > 1.1
            ink = "#222" if -0.75 < shown[at] < 0.5 else "white"
            place = {"ha": "center", "va": "center", "color": ink}
            ax.text(at[1], at[0] + 0.17 * lost, f"{ratio(row):.2f}", fontsize=8, **place)
            if lost:
                ax.text(at[1], at[0] - 0.2, best(row), fontsize=6.3, **place)
        image = ax.imshow(shown, cmap="RdBu_r", norm=scale, aspect="auto", origin="lower")
        ax.set_xticks(range(len(SIZES)), [f"{size:g}" for size in SIZES])
        ax.set_yticks(range(len(numbers)), [str(number) for number in numbers])
        how = "in equal parts" if law == "equal" else "as 1 / rank"
        ax.set_title(f"{k} answers, people give some of them {how}", loc="left", fontsize=10)
        ax.spines[:].set_visible(False)
        ax.tick_params(length=0)
    for ax in axes[:, 0]:
        ax.set_ylabel("answers that people give")
    for ax in axes[1]:
        ax.set_xlabel("their mean share, in standard errors")
    bar = figure.colorbar(image, ax=axes, shrink=0.5, pad=0.015)
    ticks = (0.25, 0.5, 1.0, 1.25, 1.5, 2.0)
    bar.set_ticks([math.log(tick) for tick in ticks], labels=[f"{tick:g}" for tick in ticks])
    bar.set_label("l1 error of the default / best of the three", fontsize=9)
    bar.outline.set_visible(False)
    figure.savefig(path, dpi=130)


def main() -> None:
    """Measure, or read what was measured before, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=100)
    parser.add_argument("--output", type=Path, default=Path("docs/results"))
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--draw", action="store_true", help="use the errors measured before")
    options = parser.parse_args()
    file = options.output / "corners.json"
    if options.draw:
        rows = json.loads(file.read_text())
    else:
        wanted, rows = cells(options.repeat), []
        with multiprocessing.get_context("spawn").Pool(options.workers) as pool:
            for row in pool.imap(run_cell, wanted):
                rows.append(row)
                print(f"\r{len(rows)} of {len(wanted)}", end="", file=sys.stderr)
        print(file=sys.stderr)
        file.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
    (options.output / "corners.md").write_text(page(rows))
    picture(rows, options.output / "corners.png")


if __name__ == "__main__":
    main()
