"""Do the intervals cover? Summed exactly where the law of counts is known, otherwise simulated.

``python -m benchmarks.coverage`` writes docs/results/coverage.json, .md and .png:

- shares whose counts of support are binomial: coverage is summed over all counts, for epsilon from
  0.5 to 20, 20 to 10^5 people and shares from 0 to 1, next to that of limits from the normal law;
- other mechanisms and the default estimator: simulated, down to 20 people and up to epsilon 20;
- conditional shares, lift, odds ratios and Cramér's V of two questions: simulated.

With ``--parts ratios`` only some are run again, and the others stay as they are.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import sys
import zlib
from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from benchmarks.accuracy import by, law_of
from scipy.stats import binom

import murmurs as mm
from murmurs import estimators
from murmurs.inference.intervals import Scale, limits
from murmurs.inference.tails import Support, tail_limits

TARGETS = ("population", "respondents")
DEVIATIONS = ((0, 1), (1, 3), (3, 10), (10, 40))
EXACT = {"KRR": mm.KRR, "Subset": mm.Subset, "OUE": mm.OUE, "SUE": mm.SUE}
SHARES = (0.0, 1e-6, 1e-5, 1e-4, 1e-3, 0.003, 0.0105, 0.022, 0.05, 0.2, 0.5, 0.95, 1.0)
SIMULATED: dict[str, Any] = {
    "KRR": mm.KRR,
    "OUE": mm.OUE,
    "Hadamard": mm.Hadamard,
    "ProjectiveGeometry": mm.ProjectiveGeometry,
    "LocalHashing": mm.LocalHashing,
}
FIGURES = ("population", "respondents", "near zero", "simultaneous")
TABLES = {
    "even": np.full((2, 2), 0.25),
    "a rare answer": np.array([[0.01, 0.19], [0.05, 0.75]]),
    "three answers": np.array([[0.3, 0.05, 0.1], [0.02, 0.2, 0.08], [0.01, 0.04, 0.2]]),
    "nobody in a cell": np.array([[0.0, 0.2], [0.1, 0.7]]),
    "rare in both": np.array([[0.74, 0.1, 0.005], [0.1, 0.02, 0.005], [0.005, 0.005, 0.02]]),
}
MEASURES = ("conditional share", "lift", "odds ratio", "Cramér's V")


def exact_cells() -> Iterator[dict[str, Any]]:
    """Return the laws whose coverage is summed; unary ones are the same for every k."""
    for name in EXACT:
        for k in (2,) if name in ("OUE", "SUE") else (2, 20, 1000):
            for epsilon in (0.5, 1, 2, 3, 4, 6, 8, 12, 16, 20):
                for n in (20, 100, 1000, 10**5):
                    yield {"part": "exact", "mechanism": name, "k": k, "epsilon": epsilon, "n": n}


def run_exact(cell: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the exact coverage at each share, by the normal law and as the library has it."""
    channel = EXACT[cell["mechanism"]](cell["k"], float(cell["epsilon"])).channel
    out = []
    for target in TARGETS:
        law = Support(cell["n"], channel.hit, channel.miss, target == "population")
        shares = {s if law.sampled else round(law.n * s) / law.n for s in SHARES}
        for share in sorted(shares):
            deviation = float(law.deviation(np.array(share)))
            if deviation < DEVIATIONS[-1][1]:
                covered = _exact(law, share, deviation)
                row = {"target": target, "share": share, "deviation": round(deviation, 4)}
                out.append({**cell, **row, "normal": covered[0], "coverage": covered[1]})
    return out


def _exact(law: Support, share: float, deviation: float) -> tuple[float, float]:
    """Return the coverage at one share by limits from the normal law, and by those in use."""
    n, hit, miss = law.n, float(law.hit), float(law.miss)
    mean = n * float(law.miss + (law.hit - law.miss) * Fraction(share))
    reach = 9 * deviation + 25
    counts = np.arange(max(0, int(mean - reach)), min(n, int(mean + reach)) + 1)
    if law.sampled:
        chances = binom.pmf(counts, n, miss + (hit - miss) * share)
    else:
        own = round(n * share)
        spread = 9 * math.sqrt(own * hit * (1 - hit)) + 30
        held = np.arange(max(0, int(own * hit - spread)), min(own, int(own * hit + spread)) + 1)
        chances = binom.pmf(counts[:, None] - held, n - own, miss) @ binom.pmf(held, own, hit)
    one = law.scale
    each = Scale(np.full(len(counts), one.constant), np.full(len(counts), one.slope), one.bend)
    normal = limits((counts / n - miss) / (hit - miss), each, 0.95)
    both = (normal, tail_limits(counts, law, 0.95, normal))
    inside = [(x[:, 0] <= share + 1e-12) & (share <= x[:, 1] + 1e-12) for x in both]
    covered = [round(float(chances[flags].sum()), 5) for flags in inside]
    return covered[0], covered[1]


def simulated_cells(people: int) -> Iterator[dict[str, Any]]:
    """Return the cells that are simulated, about ``people`` shares in each."""
    for method in ("unbiased", "shrinkage"):
        for name in SIMULATED:
            for k in (4, 64):
                for n in (20, 1000, 10**5):
                    for epsilon in (1.0, 6.0, 20.0):
                        cell = {"mechanism": name, "k": k, "n": n, "epsilon": epsilon}
                        times = max(8, people // k)
                        yield {"part": "simulated", "method": method, **cell, "repeat": times}


def run_simulated(cell: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a cell with the coverage of each figure; populations are of three kinds in turn."""
    rng = np.random.default_rng(zlib.crc32(json.dumps(cell, sort_keys=True).encode()))
    mechanism = SIMULATED[cell["mechanism"]](k=cell["k"], epsilon=cell["epsilon"])
    held, asked = np.zeros(len(FIGURES)), np.zeros(len(FIGURES))
    for turn in range(cell["repeat"]):
        law = law_of(("zipf1.3", "geometric", "zipf2.5")[turn % 3], cell["k"], rng)
        people = rng.multinomial(cell["n"], law)
        found = estimators.BY_NAME[cell["method"]](mechanism.simulate(people, rng))
        drawn = _inside(law, found.interval(0.95))
        parts = (
            drawn,
            _inside(people / cell["n"], found.interval(0.95, "respondents")),
            drawn[law < found.standard_errors()],
            np.array([_inside(law, found.interval(0.95, simultaneous=True)).all()]),
        )
        held += [part.sum() for part in parts]
        asked += [len(part) for part in parts]
    figures = zip(FIGURES, held.tolist(), asked.tolist(), strict=True)
    return [{**cell, "coverage": {f: round(h / a, 4) if a else None for f, h, a in figures}}]


def _inside(share: Any, interval: Any) -> Any:
    return (interval[0] <= share + 1e-12) & (share <= interval[1] + 1e-12)


def ratio_cells(repeat: int) -> Iterator[dict[str, Any]]:
    """Return the tables whose ratios are simulated, reported once or each question by itself."""
    sizes = {1.0: (3000, 30_000), 2.0: (1000, 10_000), 4.0: (300, 3000), 8.0: (60, 1000)}
    for name in TABLES:
        for way in ("once", "each"):
            for epsilon, several in {**sizes, 16.0: (60, 300)}.items():
                for n in several:
                    cell = {"table": name, "way": way, "epsilon": epsilon, "n": n}
                    yield {"part": "ratios", **cell, "repeat": repeat}


def run_ratios(cell: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a cell with the coverage of each measure, on average and of the worst combination."""
    rng = np.random.default_rng(zlib.crc32(json.dumps(cell, sort_keys=True).encode()))
    table = TABLES[cell["table"]]
    names = zip("pq", table.shape, strict=True)
    asked = [
        mm.Question(x, [f"{x}{i}" for i in range(k)], epsilon=cell["epsilon"]) for x, k in names
    ]
    once = cell["way"] == "once"
    joint = mm.Joint(*asked, once=True, epsilon=cell["epsilon"]) if once else mm.Joint(*asked)
    r, c = table.sum(axis=1), table.sum(axis=0)
    truths = (
        table / c,
        table / np.outer(r, c),
        (table * table[-1, -1] / np.outer(table[:, -1], table[-1]))[:-1, :-1],
    )
    held: list[list[Any]] = [[] for _ in MEASURES]
    for _ in range(cell["repeat"]):
        people = rng.multinomial(cell["n"], table.ravel()).reshape(table.shape)
        found = joint.estimate(joint.simulate(people, rng), "unbiased")
        last = tuple(question.labels[-1] for question in asked)
        odds = found.odds_ratios(reference=(last[0], last[1]))
        several = (found.conditional_shares("q"), found.lift(), odds)
        for flags, truth, one in zip(held, truths, several, strict=False):
            both = (
                (one.low, one.high) if one is not odds else (one.low[:-1, :-1], one.high[:-1, :-1])
            )
            flags.append(_inside(truth, both).ravel())
        v = found.cramers_v()
        if not math.isnan(v.value):
            rows = [int(name[1:]) for name in v.rows]
            columns = [int(name[1:]) for name in v.columns]
            part = table[np.ix_(rows, columns)] / table[np.ix_(rows, columns)].sum()
            product = np.outer(part.sum(axis=1), part.sum(axis=0))
            square = ((part - product) ** 2 / np.maximum(product, 1e-300)).sum()
            own = math.sqrt(square / (min(part.shape) - 1))
            held[3].append(np.array([v.low - 1e-12 <= own <= v.high + 1e-12]))
    means = [np.mean(flags, axis=0) if flags else None for flags in held]
    figures = {
        name: None if mean is None else [round(float(mean.mean()), 4), round(float(mean.min()), 4)]
        for name, mean in zip(MEASURES, means, strict=True)
    }
    return [{**cell, "coverage": figures}]


RUN = {"exact": run_exact, "simulated": run_simulated, "ratios": run_ratios}


def run(cell: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of a cell."""
    return RUN[cell["part"]](cell)


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def exact_tables(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Return the tables of what was summed."""
    lead = ["lowest, normal law", "below 93 %, normal law", "lowest", "5 % quantile", "highest"]
    for target in TARGETS:
        yield f"\n| {target}: standard deviation of the count | shares | {' | '.join(lead)} |"
        yield "|---|---:|" + "---:|" * len(lead)
        for low, high in DEVIATIONS:
            own = [r for r in rows if r["target"] == target and low <= r["deviation"] < high]
            old, new = (np.array([r[key] for r in own]) for key in ("normal", "coverage"))
            shown = [old.min(), (old < 0.93).mean(), new.min(), np.quantile(new, 0.05), new.max()]
            cells = " | ".join(_percent(float(x)) for x in shown)
            yield f"| {low} to {high} | {len(own)} | {cells} |"
    yield "\nWhere limits of the normal law cover least:\n"
    yield "| mechanism | k | ε | n | share | target | normal law | in use |"
    yield "|---|---:|---:|---:|---:|---|---:|---:|"
    for r in sorted(rows, key=lambda r: (r["normal"], str(r)))[:8]:
        where = f"{r['mechanism']} | {r['k']} | {r['epsilon']:g} | {r['n']:,} | {r['share']:.3g}"
        yield f"| {where} | {r['target']} | {_percent(r['normal'])} | {_percent(r['coverage'])} |"


def mean_of(rows: Iterable[dict[str, Any]], figure: str) -> str:
    """Return the mean over the cells that have anything to cover."""
    seen = [r["coverage"][figure] for r in rows if r["coverage"][figure] is not None]
    return _percent(float(np.mean(seen))) if seen else ""


def simulated_tables(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Return the tables of what was simulated."""
    for method, group in by(rows, "method").items():
        yield f"\n### Estimator: {method}"
        for key in ("mechanism", "k", "n", "epsilon"):
            yield f"\n| {key} | {' | '.join(FIGURES)} | lowest cell, population |"
            yield "|---|" + "---:|" * (len(FIGURES) + 1)
            for name, own in by(group, key).items():
                least = min(r["coverage"]["population"] for r in own)
                means = " | ".join(mean_of(own, figure) for figure in FIGURES)
                yield f"| {name} | {means} | {_percent(least)} |"


def ratio_tables(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Return the table of ratios: mean over combinations, and the combination covered least."""
    yield "| table | reported | ε | n | " + " | ".join(MEASURES) + " |"
    yield "|---|---|---:|---:|" + "---:|" * len(MEASURES)
    for r in rows:
        shown = []
        for name in MEASURES:
            own = r["coverage"][name]
            both = "" if own is None else f"{_percent(own[0])}, {_percent(own[1])}"
            shown.append(both.split(",")[0] if name == MEASURES[-1] else both)
        where = f"{r['table']} | {r['way']} | {r['epsilon']:g} | {r['n']:,}"
        yield f"| {where} | {' | '.join(shown)} |"


def page(rows: list[dict[str, Any]]) -> str:
    """Return docs/results/coverage.md."""
    parts = {name: [row for row in rows if row["part"] == name] for name in RUN}
    repeat = parts["ratios"][0]["repeat"]
    lines = [
        "# Coverage",
        "",
        "Written by `benchmarks.coverage`: how often nominal 95 % intervals contain the truth.",
        "",
        "**What is promised.** If counts of support are binomial, limits cover at least 93 %, for "
        "every number of people, share, k and ε, by [a theorem](../intervals.md#few-reports). "
        "Where the standard deviation of the count is below three there is no upper bound: one "
        "count may have more than 5 %, so that no limits can stay below 97 % at every share. Where "
        "the law of a count depends on other unknown numbers, nothing is promised but what is "
        "measured here.",
        "",
        "## Shares, summed over all counts",
        "",
        f"{', '.join(EXACT)}; k from 2 to 1000, ε from 0.5 to 20, n from 20 to 100,000, shares "
        "from 0 over 10⁻⁶ to 1. Coverage is the sum of the probabilities of all counts whose "
        "limits contain the share, so that nothing is random. Beside it stands what limits from "
        "the normal law alone would cover.",
        *exact_tables(parts["exact"]),
        "",
        "![coverage of every share against the standard deviation of its count](coverage.png)",
        "",
        "## Shares, simulated",
        "",
        "Populations are Zipf 1.3, geometric and Zipf 2.5 in turn. *near zero*: shares below one "
        "standard error. *simultaneous*: all shares at once. Means over cells; the last column is "
        "the cell of the group with the lowest coverage, which has about "
        f"{parts['simulated'][0]['repeat'] * 4} shares.",
        *simulated_tables(parts["simulated"]),
        "",
        "## Two questions",
        "",
        f"Each cell has {repeat} populations, so that a coverage of 95 % has a standard error of "
        f"{100 * math.sqrt(0.95 * 0.05 / repeat):.1f} points. *once*: the combination is one "
        "answer with the whole ε; *each*: every question has this ε. First the mean over "
        "combinations, then the one covered least. Cramér's V is that of the answers it is about.",
        "",
        *ratio_tables(parts["ratios"]),
    ]
    return "\n".join(lines) + "\n"


def picture(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw the exact coverage of every share against the standard deviation of its count."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.4), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for ax, key, title in zip(
        axes, ("normal", "coverage"), ("normal law alone", "in use"), strict=True
    ):
        x = np.array([max(r["deviation"], 0.01) for r in rows])
        y = np.array([100 * r[key] for r in rows])
        ax.semilogx(x, y, ".", markersize=2.5, alpha=0.35, color="#4477aa")
        ax.axhline(93, color="#222", linewidth=0.8)
        ax.set_title(title, loc="left", fontsize=10)
        ax.set_xlabel("standard deviation of the count (left edge: 0.01 or less)")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("exact coverage of 95 % intervals, %")
    figure.savefig(path, dpi=150)


def main() -> None:
    """Run the study and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shares", type=int, default=128, help="simulated in each cell")
    parser.add_argument("--repeat", type=int, default=100, help="populations of two questions")
    parser.add_argument("--parts", nargs="+", choices=list(RUN), default=list(RUN))
    parser.add_argument("--output", type=Path, default=Path("docs/results"))
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    options = parser.parse_args()
    several = (exact_cells(), simulated_cells(options.shares), ratio_cells(options.repeat))
    wanted = [cell for cells in several for cell in cells if cell["part"] in options.parts]
    kept = options.output / "coverage.json"
    rows: list[dict[str, Any]] = json.loads(kept.read_text()) if kept.exists() else []
    rows = [row for row in rows if row.get("part", options.parts[0]) not in options.parts]
    with multiprocessing.get_context("spawn").Pool(options.workers) as pool:
        for done, found in enumerate(pool.imap(run, wanted, chunksize=2), 1):
            rows += found
            print(f"\r{done} of {len(wanted)} cells", end="", file=sys.stderr)
    print(file=sys.stderr)
    rows.sort(key=lambda row: list(RUN).index(row["part"]))
    options.output.mkdir(parents=True, exist_ok=True)
    text = "[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n"
    kept.write_text(text)
    (options.output / "coverage.md").write_text(page(rows))
    picture([r for r in rows if r["part"] == "exact"], options.output / "coverage.png")
    print(page(rows))


if __name__ == "__main__":
    main()
