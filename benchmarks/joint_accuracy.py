"""How accurate joint tables are: the default estimator next to EM, independence and others.

``python -m benchmarks.joint_accuracy`` asks two questions of simulated people over 66 tables: 30
real ones, whose counts are in joint_tables.json, and six synthetic kinds in six sizes. It writes
docs/results/joint.json and from that joint.md; with ``--draw`` it makes the page from the existing
JSON. Errors are l1 distances from the table of the respondents.

- grid: pairs of k-ary randomised response, four epsilons (for each question), 10^4 to 10^6 people;
  also one report of the combination with twice the epsilon.
- small: tables of 2 x 3 to 4 x 4 at strong noise, and what any rule must lose (joint_small.py).
- unary: pairs of OUE, 10^4 people, tables of up to 160 cells, next to EM on the reports.
- paper: the setting of tables 1 and 2 of Fanti, Pihur and Erlingsson (2016).
- readings: what their table 2 may mean (joint_readings.py).
- structure: whether one report of a combination gains from rows and columns (joint_once.py).
- coverage: 95 % intervals on the real tables.
- large: time and memory of tables of up to 1000 x 1000 answers.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import resource
import sys
import time
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[_name] = "1"

import numpy as np
from benchmarks import joint_once, joint_readings, joint_small
from numpy.typing import NDArray

import murmurs as mm
from murmurs import estimators
from murmurs.estimators.methods.em import climb
from murmurs.inference.fit import Target

Floats = NDArray[np.float64]
Row = dict[str, Any]

RESULTS = Path(__file__).parent.parent / "docs" / "results"
TABLES = Path(__file__).parent / "joint_tables.json"
KINDS = ("independent", "diagonal", "blocks", "sparse", "band", "latent")
SIZES = ((2, 2), (3, 3), (5, 4), (10, 10), (20, 8), (40, 40))
EPSILONS = (0.5, 1.0, 2.0, 4.0)
PEOPLE = (10**4, 10**5, 10**6)
KIND: dict[str, Any] = {"KRR": mm.KRR, "OUE": mm.OUE}
ROUND = 4
"""Collections of the grid come in rounds of so many, each with its own randomness."""
METHODS = ("joint", "em", "independence", "simplex", "shrinkage")


def real_tables() -> dict[str, Floats]:
    """Return the shares of the real tables."""
    counts = json.loads(TABLES.read_text())
    return {name: np.array(rows) / np.sum(rows) for name, rows in counts.items()}


def synthetic(kind: str, rows: int, columns: int, rng: np.random.Generator) -> Floats:
    """Return a table of one of the six kinds."""
    a, b = rng.dirichlet(np.ones(rows)), rng.dirichlet(np.ones(columns))
    table: Floats = np.outer(a, b)
    if kind == "diagonal":
        line = np.zeros((rows, columns))
        for at in range(max(rows, columns)):
            line[at % rows, at % columns] += 1
        line *= a[:, None] + b
        table = 0.7 * table + 0.3 * line / line.sum()
    elif kind == "blocks":
        groups = 2 if rows < 6 else 3
        group = np.arange(rows) * groups // rows
        other = np.arange(columns) * min(groups, columns) // columns
        table = table * rng.gamma(0.5, size=(groups, groups))[group][:, other]
    elif kind == "sparse":
        count = min(rows * columns - 1, max(rows, columns) + 1)
        table = np.zeros(rows * columns)
        table[rng.choice(len(table), count, replace=False)] = rng.dirichlet(np.ones(count))
    elif kind == "band":
        i, j = (np.arange(rows) + 0.5) / rows, (np.arange(columns) + 0.5) / columns
        table = np.exp(-((i[:, None] - j) ** 2) / 0.08 - 2 * (i[:, None] - 0.4) ** 2)
    elif kind == "latent":
        classes = rng.dirichlet(np.ones(3))[:, None]
        first, second = (rng.dirichlet(np.full(size, 0.5), 3) for size in (rows, columns))
        table = (first * classes).T @ second
    return np.asarray(table.reshape(rows, columns) / table.sum())


def all_tables() -> dict[str, tuple[str, Floats]]:
    """Return the kind and the shares of all tables."""
    rng = np.random.default_rng(1)
    out = {
        f"{kind} {m} x {k}": (kind, synthetic(kind, m, k, rng)) for kind in KINDS for m, k in SIZES
    }
    return out | {name: ("real", table) for name, table in real_tables().items()}


def generator(row: Row) -> np.random.Generator:
    """Return the randomness of a row, which depends on nothing else."""
    return np.random.default_rng(zlib.crc32(json.dumps(row, sort_keys=True).encode()))


def errors(truth: Floats, found: dict[str, Floats]) -> dict[str, float]:
    """Return the l1 errors."""
    return {name: float(np.abs(shares - truth).sum()) for name, shares in found.items()}


def averaged(row: Row, one: Callable[[np.random.Generator], dict[str, float]]) -> Row:
    """Return a row with the mean of each error over its repetitions."""
    rng, total = generator(row), dict[str, float]()
    with warnings.catch_warnings(action="ignore", category=estimators.NoiseDominates):
        for _ in range(row["repeat"]):
            for name, value in one(rng).items():
                total[name] = total.get(name, 0.0) + value / row["repeat"]
    return {**row, "l1": total}


# Pairs of k-ary randomised response


def grid(repeat: int) -> list[Row]:
    """Return the rows of pairs of k-ary randomised response."""
    return [
        {"part": "grid", "table": name, "epsilon": e, "n": n, "repeat": repeat}
        for name in all_tables()
        for e in EPSILONS
        for n in PEOPLE
    ]


def run_grid(row: Row) -> Row:
    """Return a row with the errors of all methods, and of one report of the combination."""
    table = all_tables()[row["table"]][1]
    both = mm.Product(tuple(mm.KRR(k=k, epsilon=row["epsilon"]) for k in table.shape))
    once = mm.Subset(k=table.size, epsilon=2 * row["epsilon"])

    def one(rng: np.random.Generator) -> dict[str, float]:
        people = rng.multinomial(row["n"], table.ravel())
        counts = both.simulate(people, rng)
        found = {name: mm.estimate(counts, name).shares for name in METHODS if name != "em"}
        found["em"] = estimators.em(counts, tolerance=0.1, most=3000).shares
        found["once"] = mm.estimate(once.simulate(people, rng)).shares
        return errors(people / row["n"], found)

    rounds = [
        averaged({**row, "repeat": ROUND, **({"round": number} if number else {})}, one)["l1"]
        for number in range(max(row["repeat"] // ROUND, 1))
    ]
    return {**row, "l1": {name: float(np.mean([r[name] for r in rounds])) for name in rounds[0]}}


def small(repeat: int) -> list[Row]:
    """Return the rows of small tables at strong noise."""
    return [{"part": "small", **setting, "repeat": repeat} for setting in joint_small.settings()]


def run_small(row: Row) -> Row:
    """Return a row with the errors of small tables."""
    with warnings.catch_warnings(action="ignore", category=estimators.NoiseDominates):
        return {**row, **joint_small.compared(row, generator(row))}


# Pairs of unary encodings


def unary(repeat: int) -> list[Row]:
    """Return the rows of pairs of unary encodings."""
    return [
        {"part": "unary", "table": name, "epsilon": e, "n": 10**4, "repeat": repeat}
        for name, (_, table) in all_tables().items()
        if table.size <= 160
        for e in EPSILONS
    ]


def em_on_bits(first: Floats, second: Floats, most: int = 150) -> Floats:
    """Return the most likely table, given the likelihood of each report under each answer."""
    n, shape = len(first), (first.shape[1], second.shape[1])
    one, two = first.astype(np.float32), second.astype(np.float32)

    def step(shares: Floats) -> tuple[Floats, float]:
        law = np.einsum("ij,ij->i", one @ shares.reshape(shape).astype(np.float32), two)
        slope = (one / law[:, None]).T @ two
        return slope.astype(np.float64).ravel() / n, float(np.log(law.astype(np.float64)).sum())

    start = np.full(math.prod(shape), 1 / math.prod(shape))
    return climb(step, start, n, 1.0, most, None).shares


def bits_of(reports: Any, k: int) -> NDArray[np.bool_]:
    """Return the bits of unary reports."""
    return np.unpackbits(reports, axis=1, count=k, bitorder="little").astype(np.bool_)


def likelihoods(bits: NDArray[np.bool_], hit: float, miss: float) -> Floats:
    """Return the likelihood of each answer, relative to an answer without a bit."""
    return np.where(bits, hit / miss, (1 - hit) / (1 - miss))


def run_unary(row: Row) -> Row:
    """Return a row with the errors of all methods, EM on the reports among them."""
    table = all_tables()[row["table"]][1]
    parts = [mm.OUE(k=k, epsilon=row["epsilon"]) for k in table.shape]
    both = mm.Product(tuple(parts))

    def one(rng: np.random.Generator) -> dict[str, float]:
        people = rng.multinomial(row["n"], table.ravel())
        reports = both.encode_many(np.repeat(np.arange(table.size), people), rng)
        counts = both.count(reports)
        found = {name: mm.estimate(counts, name).shares for name in METHODS if name != "em"}
        sides = [
            likelihoods(bits_of(single, p.k), float(p.channel.hit), float(p.channel.miss))
            for p, single in zip(parts, both.shape.split(reports), strict=True)
        ]
        found["em"] = em_on_bits(sides[0], sides[1])
        return errors(people / row["n"], found)

    return averaged(row, one)


# The setting of a paper

TOP = 5
RATIO = 0.82
"""Each category has so many times the share of the one before: so the paper's table 1 has it."""


def paper(repeat: int) -> list[Row]:
    """Return the row of the paper's setting."""
    return [{"part": "paper", "n": 10**5, "epsilon": 3.0, "k": 100, "repeat": repeat}]


def stopped_em(first: Floats, second: Floats, change: float = 1e-4) -> Floats:
    """Return the table after plain EM from equal shares, when no cell changes by more."""
    one, two = first.astype(np.float32), second.astype(np.float32)
    table = np.full((one.shape[1], two.shape[1]), 1 / (one.shape[1] * two.shape[1]))
    while True:
        law = np.einsum("ij,ij->i", one @ table.astype(np.float32), two)
        new = table * ((one / law[:, None]).T @ two) / len(one)
        if np.abs(new - table).max() < change:
            return np.asarray(new)
        table = new


def by_subtraction(counts: mm.Counts) -> Floats:
    """Return the unbiased table of the top answers, with what the margins leave as Other."""
    k = counts.channel.factors[0].k
    table = mm.estimate(counts, "unbiased").shares.reshape(k, k)[:TOP, :TOP]
    first, second = (mm.estimate(counts.margin(i), "unbiased").shares[:TOP] for i in (0, 1))
    table = np.column_stack([table, first - table.sum(axis=1)])
    last = np.append(second, 1 - second.sum()) - table.sum(axis=0)
    return np.vstack([table, last])


def run_paper(row: Row) -> Row:
    """Compare ways to learn the 6 x 6 table of the top five categories and all others."""
    k, n, epsilon = row["k"], row["n"], row["epsilon"]
    law = RATIO ** np.arange(k)
    law /= law.sum()
    table = np.outer(law, law)
    few = np.minimum(np.arange(k), TOP)
    total: dict[str, Floats] = {}

    def collapsed(shares: Floats) -> Floats:
        out = np.zeros((TOP + 1, TOP + 1))
        np.add.at(out, (few[:, None], few[None, :]), shares.reshape(k, k))
        return out

    def with_other(bits: NDArray[np.bool_], hit: float, miss: float) -> Floats:
        """Return the likelihoods of the top answers and, by the product of bits, of "Other"."""
        own = likelihoods(bits, hit, miss)
        rate = bits.mean(axis=0)
        shares = (rate - miss) / (hit - miss)
        left = 1 - shares[:TOP].sum()
        rates = miss + (hit - miss) * np.where(np.arange(k) < TOP, 0, np.maximum(shares, 0) / left)
        logs = np.where(bits, np.log(rates / miss), np.log((1 - rates) / (1 - miss)))
        other = np.exp(logs.sum(axis=1))
        return np.column_stack([own[:, :TOP], other])

    def one(rng: np.random.Generator) -> dict[str, float]:
        people = rng.multinomial(n, table.ravel())
        truth = collapsed(people / n)
        answers = np.repeat(np.arange(k * k), people)
        found: dict[str, Floats] = {}
        for name, kind in (("SUE", mm.SUE), ("OUE", mm.OUE)):
            both = mm.Product((kind(k=k, epsilon=epsilon),) * 2)
            reports = both.encode_many(answers, rng)
            counts = both.count(reports)
            found[f"{name}, moments"] = by_subtraction(counts)
            found[f"{name}, joint"] = collapsed(mm.estimate(counts).shares)
            part: Any = both.parts[0].channel
            sides = [
                with_other(bits_of(single, k), float(part.hit), float(part.miss))
                for single in both.shape.split(reports)
            ]
            found[f"{name}, EM with Other, stopped"] = stopped_em(sides[0], sides[1])
            found[f"{name}, EM with Other, converged"] = em_on_bits(sides[0], sides[1])
        rr = mm.Product((mm.KRR(k=TOP + 1, epsilon=epsilon),) * 2)
        counts = rr.simulate(np.rint(truth * n).astype(np.int64).ravel(), rng)
        for name in ("unbiased", "em", "joint"):
            found[f"KRR of five and Other, {name}"] = mm.estimate(counts, name).shares
        for name, shares in found.items():
            total[name] = total.get(name, 0) + (shares.reshape(truth.shape) - truth)
        return errors(truth.ravel(), {name: shares.ravel() for name, shares in found.items()})

    out = averaged(row, one)
    mean = {name: float(np.abs(sum_).sum()) / row["repeat"] for name, sum_ in total.items()}
    return {**out, "l1 of the mean table": mean}


def readings(repeat: int) -> list[Row]:
    """Return a row for each way to read the paper's setting."""
    names = [reading.name for reading in joint_readings.READINGS]
    return [{"part": "readings", "name": name, "repeat": repeat} for name in names]


def run_readings(row: Row) -> Row:
    """Return a row with the errors of one reading."""
    return {**row, **joint_readings.run_reading(row["name"], row["repeat"], generator(row))}


def structure(repeat: int) -> list[Row]:
    """Return the rows of combinations that are reported once, for tables of up to 200 cells."""
    return [
        {"part": "structure", "table": name, "epsilon": e, "n": n, "repeat": repeat}
        for name, (_, table) in all_tables().items()
        for e, n in joint_once.SETTINGS
        if table.size <= 200
    ]


def run_structure(row: Row) -> Row:
    """Return a row with the errors with and without regard to rows and columns."""
    table = all_tables()[row["table"]][1]
    with warnings.catch_warnings(action="ignore", category=estimators.NoiseDominates):
        l1 = joint_once.compared(table, row["epsilon"], row["n"], row["repeat"], generator(row))
    return {**row, "l1": l1}


# Intervals


def coverage(repeat: int) -> list[Row]:
    """Return the rows of intervals."""
    return [
        {"part": "coverage", "kind": kind, "table": name, "epsilon": e, "n": n, "repeat": repeat}
        for kind in ("KRR", "OUE")
        for name, table in real_tables().items()
        for e in (1.0, 2.0, 4.0)
        for n in ((10**4, 10**5) if kind == "KRR" else (10**4,))
        if kind == "KRR" or table.size <= 160
    ]


def run_coverage(row: Row) -> Row:
    """Return a row with the part of the cells that are covered."""
    table, rng = real_tables()[row["table"]], generator(row)
    both = mm.Product(tuple(KIND[row["kind"]](k=k, epsilon=row["epsilon"]) for k in table.shape))
    held: dict[str, float] = {}
    for _ in range(row["repeat"]):
        people = rng.multinomial(row["n"], table.ravel())
        estimate = mm.estimate(both.simulate(people, rng))
        targets: tuple[tuple[Target, Floats], ...] = (
            ("population", table.ravel()),
            ("respondents", people / row["n"]),
        )
        for target, truth in targets:
            low, high = estimate.interval(0.95, target)
            inside = float(np.mean((low <= truth) & (truth <= high)))
            held[target] = held.get(target, 0.0) + inside / row["repeat"]
    return {**row, "cells": table.size, "covered": held}


# Large tables


def large() -> list[Row]:
    """Return the rows of large tables."""
    return [
        {"part": "large", "kind": kind, "k": k, "n": 10**4}
        for kind, k in (("KRR", 100), ("OUE", 100), ("OUE", 300), ("OUE", 1000))
    ]


def run_large(row: Row) -> Row:
    """Measure one estimate in a process of its own."""
    rng = generator(row)
    both = mm.Product((KIND[row["kind"]](k=row["k"], epsilon=4.0),) * 2)
    answers = np.minimum(rng.geometric(0.02, row["n"]), row["k"]) - 1
    counts = both.count(both.encode_many(np.column_stack([answers, answers]), rng))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    mm.estimate(counts)
    seconds = time.process_time() - start
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {**row, "seconds": seconds, "GiB": after / 2**20, "GiB before": before / 2**20}


RUN: dict[str, Callable[[Row], Row]] = {
    "grid": run_grid,
    "small": run_small,
    "unary": run_unary,
    "paper": run_paper,
    "readings": run_readings,
    "structure": run_structure,
    "coverage": run_coverage,
    "large": run_large,
}


def run(row: Row) -> Row:
    """Return a row with its results."""
    return RUN[row["part"]](row)


# The page


def geometric(values: list[float]) -> float:
    """Return the geometric mean."""
    return math.exp(float(np.mean(np.log(values))))


def ratios(rows: list[Row], name: str) -> list[float]:
    """Return the errors of a method relative to those of EM."""
    return [max(row["l1"][name], 1e-9) / row["l1"]["em"] for row in rows]


def to_the_better(rows: list[Row], name: str) -> list[float]:
    """Return the errors relative to the better of EM and independence."""
    return [
        max(row["l1"][name], 1e-9) / min(row["l1"]["em"], row["l1"]["independence"]) for row in rows
    ]


def markdown(heads: list[str], body: list[list[str]]) -> list[str]:
    """Return a table."""
    rule = "|---|" + "---:|" * (len(heads) - 1)
    return ["| " + " | ".join(heads) + " |", rule] + ["| " + " | ".join(r) + " |" for r in body]


def verdict(value: float, bar: float) -> str:
    """Return a figure, and whether it is above its bar."""
    return f"{value:.3f}" if round(value, 3) <= bar else f"**{value:.3f}**, above the bar"


def compared(rows: list[Row], methods: list[str]) -> list[str]:
    """Return the table of all methods: against EM, against the better, and its high quantiles."""
    body = []
    for name in methods:
        better = to_the_better(rows, name)
        figures = [geometric(ratios(rows, name)), geometric(better)]
        figures += [float(np.percentile(better, q)) for q in (90, 99, 100)]
        body.append([SHOWN.get(name, f"`{name}`"), *(f"{x:.2f}" for x in figures)])
    heads = ["estimator", "to EM", "to the better", "90 %", "99 %", "worst"]
    return markdown(heads, body)


SHOWN = {"once": "the combination in one report", "em": "EM"}


def split(rows: list[Row], methods: list[str]) -> list[str]:
    """Return ratios to EM for parts of the grid."""
    kinds = {name: kind for name, (kind, _) in all_tables().items()}
    parts: list[tuple[str, list[Row]]] = [("all", rows)]
    parts += [(x, [r for r in rows if kinds[r["table"]] == x]) for x in (*KINDS, "real")]
    parts += [(f"ε = {e:g}", [r for r in rows if r["epsilon"] == e]) for e in EPSILONS]
    sizes = sorted({r["n"] for r in rows})
    parts += [(f"n = {n:,}", [r for r in rows if r["n"] == n]) for n in sizes]
    for m, k in SIZES:
        own = [r for r in rows if r["table"].endswith(f" {m} x {k}")]
        if own:
            parts.append((f"{m} x {k}, synthetic", own))
    body = [
        [name, str(len(own)), *(f"{geometric(ratios(own, method)):.2f}" for method in methods)]
        for name, own in parts
    ]
    return markdown(["part", "settings", *(SHOWN.get(m, f"`{m}`") for m in methods)], body)


def page(rows: list[Row]) -> str:
    """Return the page."""
    parts = {name: [row for row in rows if row["part"] == name] for name in RUN}
    kinds = {name: kind for name, (kind, _) in all_tables().items()}
    pairs, bits = parts["grid"], parts["unary"]
    real = [row for row in pairs if kinds[row["table"]] == "real"]
    better = to_the_better(pairs, "joint")
    paper_row, held = parts["paper"][0], parts["coverage"]
    ours = min(paper_row["l1"][name] for name in paper_row["l1"] if name.endswith("joint"))
    bars = [
        ("`KRR` pairs, to EM, geometric mean", geometric(ratios(pairs, "joint")), 0.80),
        ("the same, real tables", geometric(ratios(real, "joint")), 0.90),
        ("to the better of EM and independence, geometric mean", geometric(better), 1.00),
        ("the same, 99th percentile", float(np.percentile(better, 99)), 1.7),
        ("the combination in one report, to EM", geometric(ratios(pairs, "once")), 0.35),
        ("`OUE` pairs, to EM on the reports", geometric(ratios(bits, "joint")), 0.90),
        ("to the better of EM and independence", geometric(to_the_better(bits, "joint")), 1.10),
        ("five categories and Other, l1 of our best", ours, 0.022),
    ]
    lines = [
        "# Joint tables",
        "",
        "Written by `python -m benchmarks.joint_accuracy`. Errors are l1 distances from the table "
        "of the respondents; ratios are averaged as geometric means over settings. ε is that of "
        "each question, so two reports of a person spend twice as much.",
        "",
        "The tables: 30 real ones (from the UCI data sets Adult and Statlog, the American "
        "Community Survey, Kosarak clicks, the Play Store, New York flights, 1.usa.gov clicks, and "
        "R's Titanic, HairEyeColor, UCBAdmissions and occupationalStatus), 2 x 2 to 97 x 2, and "
        "six synthetic kinds in six sizes: independent answers, a heavy diagonal, blocks, few "
        "occupied cells (sparse), a band, and three latent classes.",
        "",
        "## Bars",
        "",
        *markdown(
            ["what", "measured", "bar"],
            [[name, verdict(value, bar), f"{bar:.3g}"] for name, value, bar in bars],
        ),
        "",
        "## Pairs of k-ary randomised response",
        "",
        f"{len(pairs)} settings: 66 tables, four ε, three numbers of people, "
        f"{pairs[0]['repeat']} collections each. `shrinkage` and `simplex` take the cells as one "
        "list of answers, without regard to rows and columns. The combination in one report spends "
        "the same total 2ε on a single `Subset` report of the pair, estimated by `shrinkage`. The "
        "last columns are quantiles of the ratio to the better of EM and independence.",
        "",
        *compared(pairs, ["joint", "em", "independence", "simplex", "shrinkage", "once"]),
        "",
        "Errors relative to EM:",
        "",
        *split(pairs, ["joint", "independence", "simplex", "shrinkage", "once"]),
        "",
        "### Small tables at strong noise",
        "",
        *joint_small.section(parts["small"]),
        "",
        "### One report of the combination, and its rows and columns",
        "",
        "A combination that is reported once is estimated as one list of answers. Should the "
        "default use rows and columns, and shrink towards independence, as for a product? Its "
        "margins are sums over the same reports, and no better known than the cells are. The l1 "
        f"error so, relative to that of the list, in {len(parts['structure'])} settings (tables of "
        f"up to 200 cells, {parts['structure'][0]['repeat']} collections each):",
        "",
        *structure_table(parts["structure"]),
        "",
        "It gains where answers are nearly independent or tables have few classes, loses a little "
        "on real tables, and most where many combinations are impossible, which one list handles "
        "well. So the list stays the default.",
        "",
        "## Pairs of unary encodings",
        "",
        f"{len(bits)} settings: `OUE` pairs, 10,000 people, tables of up to 160 cells, "
        f"{bits[0]['repeat']} collections each. EM works on the reports, of which the counts keep "
        "only how often bits occur together.",
        "",
        *compared(bits, ["joint", "em", "independence", "simplex", "shrinkage"]),
        "",
        *split(bits, ["joint", "independence", "simplex", "shrinkage"]),
        "",
        "## Five categories and Other",
        "",
        "The setting of tables 1 and 2 of Fanti, Pihur and Erlingsson (2016): two independent "
        "questions of 100 categories, each with 0.82 times the share of the one before, as in "
        "their table 1; 100,000 people; ε = 3 for each question; the top five categories and all "
        f"others as Other. The l1 error of their table 2 is {joint_readings.printed_error():.3f}. "
        "Here bits are unary. EM with Other is their method: Other has the product of the bit "
        "rates that are left. Stopped EM ends when no cell changes by more than 10⁻⁴; converged EM "
        "fits more of the noise. Moments are the unbiased table, with Other by subtraction from "
        "the margins. `joint` estimates the whole table of 100 x 100, which is then added up. Mean "
        f"over {paper_row['repeat']} collections, and the error of the mean of all their tables.",
        "",
        *markdown(
            ["method", "l1", "l1 of the mean table"],
            [
                [name, f"{value:.4f}", f"{paper_row['l1 of the mean table'][name]:.4f}"]
                for name, value in paper_row["l1"].items()
            ],
        ),
        "",
        "### What their table may mean",
        "",
        "The paper says neither how reports were encoded nor whether table 2 is one run or the "
        "mean of ten, as the points in its figure 2 are. It does say that about 15 categories were "
        "detected in 100,000 reports. Below are ways to read it (`benchmarks/joint_readings.py`), "
        "all with EM from equal shares until no cell changes by more than 10⁻⁶, unless noted. l1 "
        "is that of a single run, ± twice the standard deviation between runs (10 or 20 of them); "
        "detected are categories that stand out by a Bonferroni test. The numbers of bits and "
        "cohorts are ours: nine readings were tried, so one that fits is possible, not proven.",
        "",
        *readings_table(parts["readings"]),
        "",
        *reading_found(parts["readings"]),
        "",
        "## Coverage of 95 % intervals",
        "",
        "Of the intervals of the default estimate on the real tables, averaged over all cells of "
        "all tables, in per cent. The bar: 93 to 97. There are "
        f"{held[0]['repeat']} collections of each table, so the figures of single small tables "
        "scatter: one of 2 x 2 has 32 intervals. Intervals come from the counts, and are only "
        "widened to contain the estimate.",
        "",
        *coverage_table(held),
        "",
        "## Large tables",
        "",
        "One estimate of two questions with as many answers each, 10,000 people, ε = 4: CPU time "
        "of the estimate, and the peak memory of the process before and after it.",
        "",
        *markdown(
            ["mechanism", "answers", "seconds", "GiB before", "GiB"],
            [
                [
                    f"`{r['kind']}`",
                    f"{r['k']} x {r['k']}",
                    f"{r['seconds']:.1f}",
                    f"{r['GiB before']:.2f}",
                    f"{r['GiB']:.2f}",
                ]
                for r in parts["large"]
            ],
        ),
        "",
    ]
    return "\n".join(lines)


def structure_table(rows: list[Row]) -> list[str]:
    """Return how the structure of a table changes errors, by kind of table."""
    kinds = {name: kind for name, (kind, _) in all_tables().items()}
    body = []
    for kind in ("all", *KINDS, "real"):
        own = [r["l1"] for r in rows if kind in ("all", kinds[r["table"]])]
        parts = [one["by structure"] / one["as one list"] for one in own]
        cells = [f"{geometric(parts):.2f}", f"{min(parts):.2f}", f"{max(parts):.2f}"]
        body.append([kind, str(len(own)), *cells])
    return markdown(["tables", "settings", "geometric mean", "best", "worst"], body)


def readings_table(rows: list[Row]) -> list[str]:
    """Return the errors of the readings of the paper's setting."""
    heads = ["reading", "ε of a report", "detected", "l1", "l1 of the mean of ten"]
    body = [
        [
            row["name"],
            f"{row['epsilon']:.2f}",
            f"{row['detected']:.0f}",
            f"{row['l1']:.3f} ± {2 * row['spread']:.3f}",
            f"{row['l1 of the mean of ten']:.3f}",
        ]
        for row in rows
    ]
    return markdown(heads, body)


def reading_found(rows: list[Row]) -> list[str]:
    """Return which readings give the printed error, of a single run or of a mean."""
    printed = joint_readings.printed_error()
    single = [r["name"] for r in rows if abs(r["l1"] - printed) <= 2 * r["spread"]]
    # The error of a mean of ten is about as uncertain as that of a single run, relative to it.
    mean = [
        row["name"]
        for row in rows
        if abs(row["l1 of the mean of ten"] / printed - 1) <= 2 * row["spread"] / row["l1"]
    ]
    told = []
    for names, what in ((single, "a single run"), (mean, "a mean of ten runs")):
        if names:
            told.append(f"- As {what}, {printed:.3f} is within two standard deviations of: ")
            whole = [n.replace("the same", joint_readings.READINGS[0].name) for n in names]
            told[-1] += "; ".join(whole) + "."
        else:
            told.append(f"- As {what}, {printed:.3f} fits none of the readings.")
    fits = [
        f"{row['name']} (as {what})"
        for names, what in ((single, "a single run"), (mean, "a mean of ten"))
        for row in rows
        if row["name"] in names
        and abs(row["detected"] - 15) < 0.5
        and abs(row["epsilon"] - 3) < 0.1
    ]
    told.append(
        "- What fits the printed error, ε = 3 and about 15 detected categories at once: "
        + ("; ".join(fits) if fits else "none of them")
        + "."
    )
    return told


def coverage_table(rows: list[Row]) -> list[str]:
    """Return how often intervals cover, by setting."""
    body = []
    for kind, n, e in sorted({(r["kind"], r["n"], r["epsilon"]) for r in rows}):
        own = [r for r in rows if (r["kind"], r["n"], r["epsilon"]) == (kind, n, e)]
        weights = [r["cells"] for r in own]
        cells = [f"`{kind}` pairs, n = {n:,}, ε = {e:g}"]
        for target in ("population", "respondents"):
            each = [r["covered"][target] for r in own]
            cells += [f"{100 * np.average(each, weights=weights):.1f}"]
            cells += [f"{100 * min(each):.1f} to {100 * max(each):.1f}"]
        body.append(cells)
    heads = ["setting", "population", "single tables", "respondents", "single tables"]
    return markdown(heads, body)


def write(rows: list[Row], folder: Path) -> None:
    """Write the figures, one line per row, and the page."""
    lines = ",\n".join(json.dumps(_rounded(row), ensure_ascii=False) for row in rows)
    (folder / "joint.json").write_text(f"[\n{lines}\n]\n")
    (folder / "joint.md").write_text(page(rows))


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _rounded(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_rounded(v) for v in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


def main() -> None:
    """Run all parts and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--repeat", type=int, default=4, help="collections of each setting, a multiple of 4"
    )
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--parts", nargs="*", default=list(RUN), choices=list(RUN))
    parser.add_argument("--draw", action="store_true", help="only make the page")
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    path = options.output / "joint.json"
    known: list[Row] = json.loads(path.read_text()) if path.exists() else []
    if options.draw:
        write(known, options.output)
        return
    wanted = {
        "grid": grid(options.repeat),
        "small": small(max(options.repeat // 2, 1)),
        "unary": unary(max(options.repeat // 2, 1)),
        "paper": paper(5 * options.repeat),
        "readings": readings(max(options.repeat // 2, 1)),
        "structure": structure(max(options.repeat // 2, 1)),
        "coverage": coverage(2 * options.repeat),
        "large": large(),
    }
    rows = [row for row in known if row["part"] not in options.parts]
    for part in options.parts:
        with multiprocessing.Pool(
            options.processes, maxtasksperchild=1 if part == "large" else None
        ) as pool:
            for done, row in enumerate(pool.imap(run, wanted[part], chunksize=1)):
                rows.append(row)
                print(f"{part} {done + 1} of {len(wanted[part])}", file=sys.stderr, end="\r")
    rows.sort(key=lambda row: list(RUN).index(row["part"]))
    write(rows, options.output)


if __name__ == "__main__":
    main()
