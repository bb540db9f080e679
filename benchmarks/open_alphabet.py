"""Open alphabets: O-RR and O-RAPPOR with tuned parameters; figure 3 of Kairouz et al. (2016).

``python -m benchmarks.open_alphabet`` draws 10^6 people with one of 256 answers, geometric with
mean 256 / 5, 50 times for each epsilon and mechanism, and writes docs/results/open_alphabet.json,
.md and .png. Errors are l1 distances from the shares of the respondents; in open alphabets the
strings that nobody listed are one more answer, which nobody holds. Width, cohorts and hashes come
from `murmurs.tune`, which does not know the distribution.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
import zlib
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from benchmarks.accuracy import geometric
from numpy.typing import NDArray

import murmurs as mm
from murmurs import estimators
from murmurs.planning.tuning import expected_loss

Floats = NDArray[np.float64]
SIZE = 256
PEOPLE = 10**6
EPSILONS = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
METHODS = ("unbiased", "simplex", "default")
FORMS = {
    "open": {"O-RR": "ORR", "O-RAPPOR": "ORappor"},
    "closed": {"O-RR": "PermutedRR", "O-RAPPOR": "PermutedRappor"},
}
REFERENCES: dict[str, Any] = {"k-RR": mm.KRR, "k-RAPPOR": mm.SUE, "Subset": mm.Subset}
EARLIER = {
    ("open", "O-RR"): (0.577, 0.321, 0.160, 0.089, 0.054, 0.036, 0.023),
    ("open", "O-RAPPOR"): (0.522, 0.302, 0.168, 0.110, 0.078, 0.063, 0.047),
    ("closed", "O-RR"): (0.577, 0.300, 0.160, 0.082, 0.051, 0.031, 0.0154),
    ("closed", "k-RR"): (1.46, 1.01, 0.380, 0.164, 0.070, 0.033, 0.0168),
    ("closed", "k-RAPPOR"): (0.557, 0.332, 0.169, 0.110, 0.082, 0.061, 0.047),
    ("closed", "Subset"): (0.536, 0.310, 0.152, 0.087, 0.053, 0.032, 0.0162),
}
"""Medians of an earlier prototype with `simplex`: the best of the paper's grid, in 2 runs each."""


def mechanism_of(cell: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the mechanism of a cell, closed over its answers, and its tuned parameters."""
    form, name, epsilon = cell["form"], cell["mechanism"], cell["epsilon"]
    if name in REFERENCES:
        found = REFERENCES[name](k=SIZE, epsilon=epsilon)
        return found, {"expected": found.channel.expected_l1(PEOPLE, geometric(SIZE, SIZE / 5))}
    start = time.perf_counter()
    found = mm.tune(
        epsilon,
        PEOPLE,
        SIZE,
        kind=FORMS[form][name],
        most_cohorts=cell["most_cohorts"],
        within=cell["within"],
    )
    best = found.best
    parameters = {
        "width": best.width,
        "cohorts": best.cohorts,
        "hashes": best.hashes,
        "expected": expected_here(cell, best.width, best.cohorts, best.hashes),
        "tuning seconds": time.perf_counter() - start,
    }
    if form == "closed":
        return found.mechanism, parameters
    names = [f"string {i}" for i in range(SIZE)]
    return found.mechanism.over(names, complete=True), parameters  # as in the paper


def expected_here(cell: dict[str, Any], width: int, cohorts: int, hashes: int) -> float:
    """Return the loss that the tuner would expect if it knew the distribution."""
    return expected_loss(
        cell["epsilon"],
        PEOPLE,
        SIZE,
        width,
        cohorts,
        hashes,
        kind=FORMS[cell["form"]][cell["mechanism"]],
        shares=geometric(SIZE, SIZE / 5),
        exact=False,
    ).loss


def run_cell(cell: dict[str, Any]) -> dict[str, Any]:
    """Return a cell with its parameters, and median and 90 % band of the errors of each method."""
    start = time.perf_counter()
    mechanism, parameters = mechanism_of(cell)
    law = geometric(SIZE, SIZE / 5)
    errors = np.empty((cell["repeat"], len(METHODS)))
    seed = zlib.crc32(json.dumps(cell, sort_keys=True).encode())
    for i in range(cell["repeat"]):
        people = np.random.default_rng(i).multinomial(PEOPLE, law)  # the same for all mechanisms
        errors[i] = losses(mechanism, people, np.random.default_rng([seed, i]))
    low, median, high = np.quantile(errors, (0.05, 0.5, 0.95), axis=0)
    deviation = 1.2533 * errors.std(axis=0, ddof=1) / math.sqrt(cell["repeat"])
    figures = zip(METHODS, low, median, high, deviation, strict=True)
    return {
        **cell,
        **parameters,
        "l1": {
            method: dict(zip(("low", "median", "high", "deviation"), map(float, x), strict=True))
            for method, *x in figures
        },
        "seconds": time.perf_counter() - start,
    }


def losses(mechanism: Any, people: NDArray[np.int64], rng: np.random.Generator) -> list[float]:
    """Return the l1 errors of the methods in one simulated collection."""
    counts = mechanism.simulate(people, rng)
    truth = people / people.sum()
    found = (estimators.unbiased(counts), estimators.simplex(counts), mm.estimate(counts))
    return [float(np.abs(x.shares - truth).sum()) for x in found]


def cells(repeat: int, most_cohorts: int, within: float) -> list[dict[str, Any]]:
    """Return the cells of the study."""
    names = {"open": list(FORMS["open"]), "closed": [*FORMS["closed"], *REFERENCES]}
    return [
        {
            "form": form,
            "mechanism": name,
            "epsilon": epsilon,
            "repeat": repeat,
            "most_cohorts": most_cohorts,
            "within": within,
        }
        for form in FORMS
        for name in names[form]
        for epsilon in EPSILONS
    ]


def median(rows: list[dict[str, Any]], form: str, name: str, method: str, epsilon: float) -> float:
    """Return the median error of one line at one epsilon."""
    return float(_cell(rows, form, name, epsilon)["l1"][method]["median"])


def _cell(rows: list[dict[str, Any]], form: str, name: str, epsilon: float) -> dict[str, Any]:
    key = (form, name, epsilon)
    return next(r for r in rows if (r["form"], r["mechanism"], r["epsilon"]) == key)


def verdict(
    rows: list[dict[str, Any]], form: str, method: str, epsilon: float
) -> tuple[float, str]:
    """Return O-RR's error divided by O-RAPPOR's, and whether they differ by two deviations."""
    pair = [_cell(rows, form, name, epsilon)["l1"][method] for name in FORMS[form]]
    ratio = pair[0]["median"] / pair[1]["median"]
    doubt = 2 * ratio * math.hypot(*(x["deviation"] / x["median"] for x in pair))
    if abs(ratio - 1) <= doubt:
        return ratio, "meets"
    return ratio, "beats" if ratio < 1 else "misses"


def page(rows: list[dict[str, Any]]) -> str:
    """Return docs/results/open_alphabet.md."""
    repeat, most = rows[0]["repeat"], rows[0]["most_cohorts"]
    lines = [
        "# Open alphabets",
        "",
        f"Written by `benchmarks.open_alphabet`: {PEOPLE:,} people hold {SIZE} strings with a "
        f"geometric distribution of mean {SIZE}/5 (cut off and scaled). Errors are l1 distances "
        f"from the shares of the respondents, medians of {repeat} samples. This is the setting of "
        "figure 3 of Kairouz, Bonawitz and Ramage (2016): (a) open alphabets with hash functions, "
        "(b) closed alphabets with permutations. Width, cohorts and hashes come from "
        "[`murmurs.tune`](../tuning.md), which does not know the distribution, with up to "
        f"{most} cohorts. In the open form the list of candidates is complete, as in the paper.",
        "",
        "![l1 errors of O-RR and O-RAPPOR](open_alphabet.png)",
        "",
        "Below, *expected* is the tuner's formula for unbiased shares of the candidates, evaluated "
        "at the true distribution as a mean over hash functions; *unbiased* is the measured error "
        "of those shares. *simplex* is the paper's estimator (InvP), and *default* is "
        "`murmurs.estimate`. *earlier prototype* has the smallest errors over the paper's grid "
        "with *simplex*, from two runs each. One run varies by several per cent, so the smallest "
        "of many such means is too small by about as much.",
    ]
    for form in FORMS:
        lines += ["", f"## {'(a) Open' if form == 'open' else '(b) Closed'}: parameters and errors"]
        for name in dict.fromkeys(r["mechanism"] for r in rows if r["form"] == form):
            lines += ["", f"### {name}", "", *_table(rows, form, name)]
    lines += ["", "## Does O-RR meet O-RAPPOR?", ""]
    lines += [
        "Median error of O-RR divided by that of O-RAPPOR with the same estimator; *meets* means "
        "equal within two standard deviations.",
        "",
        "| ε | " + " | ".join(f"{form}, {m}" for form in FORMS for m in METHODS[1:]) + " |",
        "|---:|" + "---:|" * 4,
    ]
    for epsilon in EPSILONS:
        shown = [verdict(rows, form, m, epsilon) for form in FORMS for m in METHODS[1:]]
        lines.append(f"| {epsilon:g} | " + " | ".join(f"{r:.3f} {v}" for r, v in shown) + " |")
    lines += ["", "## Is the default below the earlier prototype?", ""]
    lines += [
        "| ε | " + " | ".join(f"{name}, {form}" for form, name in EARLIER) + " |",
        "|---:|" + "---:|" * len(EARLIER),
    ]
    for i, epsilon in enumerate(EPSILONS):
        shown_ratios = []
        for (form, name), values in EARLIER.items():
            ratio = median(rows, form, name, "default", epsilon) / values[i]
            shown_ratios.append(f"{ratio:.3f} {'yes' if ratio < 1 else 'no'}")
        lines.append(f"| {epsilon:g} | " + " | ".join(shown_ratios) + " |")
    return "\n".join(lines) + "\n"


def _table(rows: list[dict[str, Any]], form: str, name: str) -> list[str]:
    """Return the Markdown table of one mechanism."""
    tuned = name in FORMS[form]
    lines = [
        "| ε |"
        + (" width | cohorts | hashes |" if tuned else "")
        + " expected | unbiased | simplex | default | 90 % of samples | earlier prototype |",
        "|---:|" + "---:|" * (9 if tuned else 6),
    ]
    for i, epsilon in enumerate(EPSILONS):
        row = _cell(rows, form, name, epsilon)
        parameters = [f"{row[key]}" for key in ("width", "cohorts", "hashes")] if tuned else []
        l1 = row["l1"]
        earlier = EARLIER.get((form, name))
        shown = [
            f"{epsilon:g}",
            *parameters,
            f"{row['expected']:.4f}",
            *(f"{l1[method]['median']:.4f}" for method in METHODS),
            f"{l1['default']['low']:.4f} … {l1['default']['high']:.4f}",
            f"{earlier[i]:g}" if earlier else "–",
        ]
        lines.append("| " + " | ".join(shown) + " |")
    return lines


COLOURS = {
    "O-RR": "#0072b2",
    "O-RAPPOR": "#d55e00",
    "k-RR": "#009e73",
    "k-RAPPOR": "#cc79a7",
    "Subset": "#333333",
}
TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
MARKS = {"O-RR": "o", "O-RAPPOR": "s", "k-RR": "^", "k-RAPPOR": "v", "Subset": "D"}


def picture(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw the errors against epsilon, and below them relative to k-subset's."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullFormatter, PercentFormatter

    figure = Figure(figsize=(9.5, 6.2), layout="constrained")
    axes = figure.subplots(2, 2, sharex=True, sharey="row", height_ratios=[1.5, 1])
    base = np.array([median(rows, "closed", "Subset", "default", e) for e in EPSILONS])
    equal = float(np.abs(geometric(SIZE, SIZE / 5) - 1 / SIZE).sum())
    titles = {"open": "(a) open alphabet, hash functions", "closed": "(b) closed, permutations"}
    for column, form in enumerate(FORMS):
        above, below = axes[:, column]
        for name in dict.fromkeys(r["mechanism"] for r in rows if r["form"] == form):
            style = {"color": COLOURS[name], "marker": MARKS[name], "markersize": 4}
            own = [_cell(rows, form, name, e)["l1"] for e in EPSILONS]
            for method, line in (("default", "-"), ("simplex", "--")):
                values = np.array([x[method]["median"] for x in own])
                label = name if method == "default" else None
                above.semilogy(EPSILONS, values, line, label=label, linewidth=1.4, **style)
                below.plot(EPSILONS, values / base, line, linewidth=1.4, **style)
            band = np.array([[x["default"][side] for x in own] for side in ("low", "high")])
            below.fill_between(EPSILONS, *(band / base), color=COLOURS[name], alpha=0.13, lw=0)
            if (form, name) in EARLIER and name in FORMS[form]:
                earlier = np.array(EARLIER[form, name])
                below.plot(
                    EPSILONS, earlier / base, "x", color=COLOURS[name], markersize=7, mew=1.6
                )
        above.set_title(titles[form], loc="left", fontsize=10)
        above.axhline(equal, color="#888", linestyle=":", linewidth=1)
        above.text(6, equal, "equal shares", ha="right", va="bottom", color="#666", fontsize=8)
        above.set_yticks(TICKS, [f"{tick:g}" for tick in TICKS])
        above.yaxis.set_minor_formatter(NullFormatter())
        above.legend(frameon=False, fontsize=9, loc="lower left")
        below.set_ylim(0.8, 2.0)
        below.set_yticks(np.arange(0.8, 2.1, 0.2))
        below.yaxis.set_major_formatter(PercentFormatter(1.0))
        below.set_xlabel("ε")
        for ax in (above, below):
            ax.spines[["top", "right"]].set_visible(False)
            ax.grid(axis="y", color="#e4e4e4", linewidth=0.6)
            ax.set_axisbelow(True)
    axes[0, 0].set_ylabel("median l1 error")
    axes[1, 0].set_ylabel("relative to closed k-subset")
    axes[1, 0].text(
        0.02,
        0.97,
        "solid: default, dashed: simplex\nshaded: 90 % of samples (default)\n×: earlier prototype",
        transform=axes[1, 0].transAxes,
        va="top",
        fontsize=8,
    )
    figure.savefig(path, dpi=150)


def finished(log: Path) -> dict[str, dict[str, Any]]:
    """Return the cells that an interrupted run has logged."""
    if not log.is_file():
        return {}
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    return {_identity(row): row for row in rows}


def _identity(cell: dict[str, Any]) -> str:
    keys = ("form", "mechanism", "epsilon", "repeat", "most_cohorts", "within")
    return " ".join(str(cell[key]) for key in keys)


def main() -> None:
    """Run the study and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=50)
    parser.add_argument("--most-cohorts", type=int, default=2**14)
    parser.add_argument("--within", type=float, default=0.005)
    parser.add_argument("--output", type=Path, default=Path("docs/results"))
    parser.add_argument("--log", default=os.devnull, help="a file of finished cells to resume")
    options = parser.parse_args()
    done = finished(Path(options.log))
    rows = []
    with Path(options.log).open("a") as log:
        for cell in cells(options.repeat, options.most_cohorts, options.within):
            row = done.get(_identity(cell)) or run_cell(cell)
            rows.append(row)
            if _identity(cell) not in done:
                print(json.dumps(row), file=log, flush=True)
            print(f"\r{len(rows)} cells", end="", file=sys.stderr)
    print(file=sys.stderr)
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "open_alphabet.json").write_text(json.dumps(rows, indent=0))
    (options.output / "open_alphabet.md").write_text(page(rows))
    picture(rows, options.output / "open_alphabet.png")
    print(page(rows))


if __name__ == "__main__":
    main()
