"""Do the intervals of numbers cover, and do their tests keep their size? Simulated.

``python -m benchmarks.numbers_coverage`` writes docs/results/numbers.json and .md:

- coverage of means, medians, quantiles, ranges and distribution functions, pointwise and together,
  for all mechanisms whose counts are of buckets, in populations that are smooth, heaped, skewed or
  at a few points;
- the rate at which tests reject where nothing differs: means, medians, order, slopes;
- how often a straight drift is found, by the overall test and by tests of a slope.

A cell is a setting; its result depends on nothing but the setting and the number of repetitions.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import murmurs as mm
from murmurs.estimators.numbers import NumberEstimate
from murmurs.numerics.arrays import Floats
from murmurs.scales.quantiles import quantile_at
from murmurs.scales.scale import Scale

MECHANISMS: dict[str, Any] = {
    name: getattr(mm, name)
    for name in (
        "KRR",
        "Subset",
        "OUE",
        "Hadamard",
        "ProjectiveGeometry",
        "LocalHashing",
        "SquareWave",
    )
    if hasattr(mm, name)
}
FIGURES = ("mean", "median", "90 % quantile", "range", "tail", "pointwise", "simultaneous")
LEVEL = 0.05
Estimator = str | None


def law_of(name: str, k: int) -> Floats:
    """Return shares of k buckets: smooth, heaped at every fifth, skewed, or at three points."""
    x = (np.arange(k) + 0.5) / k
    shares = np.exp(-0.5 * ((x - 0.45) / 0.17) ** 2)
    if name == "heaped":
        shares = shares * np.where(np.arange(k) % 5 == 0, 6.0, 1.0)
    elif name == "skewed":
        shares = np.exp(-8 * x)
    elif name == "points":
        shares = np.full(k, 1e-3 / k)
        shares[[k // 5, k // 2, k - 1 - k // 10]] += (0.45, 0.2, 0.35)
    return np.asarray(shares / shares.sum())


LAWS = ("smooth", "heaped", "skewed", "points")


def scale_of(k: int) -> Scale:
    """Return k buckets of one number each, in decimals."""
    return Scale(tuple(np.arange(k + 1.0)))


def estimate(
    mechanism: Any, people: Any, rng: np.random.Generator, estimator: Estimator = "unbiased"
) -> NumberEstimate:
    """Return the estimate of simulated people; None is the default estimator, which takes longer.

    Limits are those of the unbiased shares; the estimator says only at which shares the noise is
    taken, and where the value is.
    """
    found = mm.estimate(mechanism.simulate(people, rng), estimator)
    return NumberEstimate.of(found, scale_of(mechanism.k))


def truths(shares: Floats, scale: Scale) -> dict[str, float]:
    """Return the true figures of a population."""
    low, high = scale.k // 4, scale.k // 2
    return {
        "mean": float(shares @ scale.middles),
        "median": quantile_at(scale, np.cumsum(shares), 0.5),
        "90 % quantile": quantile_at(scale, np.cumsum(shares), 0.9),
        "range": float(shares[low:high].sum()),
        "tail": float(shares[scale.k - scale.k // 5 - 1 :].sum()),
    }


def covered(est: NumberEstimate, truth: dict[str, float], below: Floats) -> list[float]:
    """Return which intervals hold the truth; of the distribution function, the part that does."""
    k = est.scale.k
    found = {
        "mean": est.mean(),
        "median": est.median(),
        "90 % quantile": est.quantile(0.9),
        "range": est.between(k // 4, k // 2),
        "tail": est.above(k - k // 5 - 1),
    }
    slack = 1e-9
    out = [float(one.low - slack <= truth[name] <= one.high + slack) for name, one in found.items()]
    for simultaneous in (False, True):
        band = est.cdf(simultaneous=simultaneous)
        holds = (band.low - slack <= below) & (below <= band.high + slack)
        out.append(float(holds.all()) if simultaneous else float(holds[:-1].mean()))
    return out


def run_coverage(cell: dict[str, Any]) -> dict[str, Any]:
    """Return the coverage of each figure in one setting."""
    rng = np.random.default_rng(zlib.crc32(repr(cell).encode()))
    mechanism = MECHANISMS[cell["mechanism"]](k=cell["k"], epsilon=cell["epsilon"])
    shares = law_of(cell["law"], cell["k"])
    scale, rows = scale_of(cell["k"]), []
    truth, below = truths(shares, scale), np.cumsum(shares)
    for _ in range(cell["times"]):
        people = rng.multinomial(cell["n"], shares)
        rows.append(covered(estimate(mechanism, people, rng, cell["estimator"]), truth, below))
    return dict(zip(FIGURES, np.mean(rows, axis=0).round(4).tolist(), strict=True))


def coverage_cells(times: int) -> Iterator[dict[str, Any]]:
    """Return settings: each mechanism with every k, epsilon and n, and laws in turn."""
    grid = itertools.product((0.5, 1.5, 4.0), (5, 20, 77, 200), (10**3, 10**4, 10**6))
    for number, (epsilon, k, n) in enumerate(grid):
        for place, name in enumerate(MECHANISMS):
            law = LAWS[(number + number // 4 + place) % 4]
            yield {
                "part": "coverage",
                "mechanism": name,
                "k": k,
                "epsilon": epsilon,
                "n": n,
                "law": law,
                "estimator": None if k == 5 else "unbiased",
                "times": times,
            }


def shifted(k: int, by: float) -> Floats:
    """Return a smooth population whose centre moves by a part of the range."""
    x = (np.arange(k) + 0.5) / k
    shares = np.exp(-0.5 * ((x - 0.45 - by) / 0.17) ** 2)
    return np.asarray(shares / shares.sum())


def p_values(weeks: list[NumberEstimate]) -> dict[str, float]:
    """Return the p-values of all tests, of the first two periods and of all."""
    change, trend = weeks[0].difference(weeks[1]), mm.trend(list(weeks))
    k = weeks[0].scale.k
    mean, median, tail = trend.mean(), trend.median(), trend.above(k // 2)
    order, slopes = change.order(), trend.slopes
    assert slopes is not None
    found = {
        "difference of means": change.mean().p_value,
        "difference of medians": change.median().p_value,
        "difference of a range": change.above(k // 2).p_value,
        "order, larger": order.p_larger,
        "order, either": order.p_value,
        "all means equal": mean.p_value,
        "all medians equal": median.p_value,
        "overall test of shares": trend.p_value,
        "slopes of all shares": slopes.p_value,
        "slope of the mean": mean.slope.p_value if mean.slope else None,
        "slope of the median": median.slope.p_value if median.slope else None,
        "slope of a range": tail.slope.p_value if tail.slope else None,
    }
    return {name: 1.0 if value is None else float(value) for name, value in found.items()}


def run_tests(cell: dict[str, Any]) -> dict[str, Any]:
    """Return how often each test rejects at the level 0.05 in one setting."""
    rng = np.random.default_rng(zlib.crc32(repr(cell).encode()))
    mechanism = MECHANISMS[cell["mechanism"]](k=cell["k"], epsilon=cell["epsilon"])
    rows = []
    for _ in range(cell["times"]):
        weeks = []
        for week in range(cell["periods"]):
            own = law_of(cell["law"], cell["k"])
            if cell["drift"]:
                own = shifted(cell["k"], cell["drift"] * week)
            weeks.append(estimate(mechanism, rng.multinomial(cell["n"], own), rng))
        rows.append(p_values(weeks))
    return {name: round(float(np.mean([row[name] < LEVEL for row in rows])), 4) for name in rows[0]}


def test_cells(times: int) -> Iterator[dict[str, Any]]:
    """Return settings in which nothing differs, and those with a straight drift of the centre."""
    for number, (name, (k, epsilon, n)) in enumerate(
        itertools.product(MECHANISMS, ((5, 1.0, 3000), (20, 4.0, 1000), (30, 0.5, 10**5)))
    ):
        own = {"mechanism": name, "k": k, "epsilon": epsilon, "n": n, "law": LAWS[number % 4]}
        yield {"part": "size", **own, "periods": 4, "drift": 0.0, "times": times}
    for k, n in ((11, 4000), (20, 20_000)):
        own = {"mechanism": "Subset", "k": k, "epsilon": 1.0, "n": n, "law": "smooth"}
        yield {"part": "power", **own, "periods": 6, "drift": 0.006, "times": times}


RUN: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "coverage": run_coverage,
    "size": run_tests,
    "power": run_tests,
}


HEAD = """# Numbers

Written by `benchmarks.numbers_coverage`: how often nominal 95 % intervals of numbers contain the
truth, and how often tests reject. Populations of 5 to 200 buckets are smooth, heaped at every fifth
bucket, skewed, or at three points; k, epsilon, n and population take turns. A figure of n trials
has a standard error of about 22 / sqrt(n) points.

*range* and *tail* are shares of groups of buckets, *pointwise* is the mean over all points of the
distribution function, *simultaneous* all of them together. Where k is large and noise strong,
quantiles cover more than 95 %: the unbiased distribution function crosses a part of people several
times there, and limits that are sorted hold all but the outermost crossings.
"""


def page(rows: list[dict[str, Any]]) -> str:
    """Return the page of the results."""
    told, own = [HEAD, "## Coverage\n"], [row for row in rows if row["part"] == "coverage"]
    for key in ("mechanism", "k", "epsilon", "n", "law"):
        told += ["| " + " | ".join([key, "trials", *FIGURES]) + " |", "|---|" + "---:|" * 8]
        for value in sorted({row[key] for row in own}):
            part = [row for row in own if row[key] == value]
            weights = [row["times"] for row in part]
            means = [np.average([row[name] for row in part], weights=weights) for name in FIGURES]
            shown = [f"{value:,}" if key == "n" else str(value), f"{sum(weights):,}"]
            told.append("| " + " | ".join([*shown, *(f"{mean:.1%}" for mean in means)]) + " |")
        told.append("")
    for title, name in (("Tests where nothing differs", "size"), ("A straight drift", "power")):
        part = [row for row in rows if row["part"] == name]
        trials = sum(row["times"] for row in part)
        settings = len(part)
        told += [f"## {title}\n", f"{trials} trials in {settings} settings, at the level 5 %.\n"]
        told += ["| test | rejects |", "|---|---:|"]
        for test in [key for key in (part[0] if part else {}) if " " in key]:
            rate = np.average([row[test] for row in part], weights=[row["times"] for row in part])
            told.append(f"| {test} | {rate:.1%} |")
        told.append("")
    return "\n".join(told)


def main(arguments: list[str]) -> None:
    """Run the parts that are wanted, and write the results."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=40)
    parser.add_argument("--parts", nargs="*", default=list(RUN))
    parser.add_argument("--mechanisms", nargs="*", default=list(MECHANISMS))
    parser.add_argument("--out", type=Path, default=Path("docs/results/numbers.json"))
    given = parser.parse_args(arguments)
    rows = json.loads(given.out.read_text()) if given.out.exists() else []
    wanted = [*test_cells(3 * given.times), *coverage_cells(given.times)]
    wanted.sort(key=lambda cell: zlib.crc32(repr(cell).encode()))  # what is done is a fair sample
    wanted = [
        cell
        for cell in wanted
        if cell["part"] in given.parts and cell["mechanism"] in given.mechanisms
    ]
    rows = [
        row
        for row in rows
        if row["part"] not in given.parts or row["mechanism"] not in given.mechanisms
    ]
    for number, cell in enumerate(wanted):
        start = time.process_time()
        rows.append({**cell, **RUN[cell["part"]](cell)})
        seconds = time.process_time() - start
        print(f"{number + 1}/{len(wanted)} {seconds:.0f} s {rows[-1]}", flush=True)
        given.out.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
    given.out.with_suffix(".md").write_text(page(rows))


if __name__ == "__main__":
    main(sys.argv[1:])
