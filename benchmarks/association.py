"""How often the tests of association are wrong and right, and how the measures' intervals cover.

``python -m benchmarks.association`` runs the setting of Fanti, Pihur and Erlingsson (2016, appendix
A): two questions with 6 and m answers, margins drawn uniformly from the simplex, independent
answers for the type I error, and mass added to the diagonal for the power. It also measures the
type I error of other mechanisms, and the coverage of intervals on four public tables; then, also by
itself with ``--beyond``, tests with rare answers, structural zeros and sketches. It writes
docs/results/association.json and association.md.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import textwrap
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import murmurs as mm
from murmurs.inference.fitting import fitted
from murmurs.inference.homogeneity import homogeneity
from murmurs.numerics.special import chi_square_tail
from murmurs_papers.fanti2016_tests import table_of

RESULTS = Path(__file__).parent.parent / "docs" / "results"
LEVEL = 0.05

TABLES: dict[str, list[list[int]]] = {
    # hair (black, brown, red, blond) by eyes (brown, blue, hazel, green): Snee 1974
    "hair and eyes": [[68, 20, 15, 5], [119, 84, 54, 29], [26, 17, 14, 14], [7, 94, 10, 16]],
    # departments A to F by admission: Bickel, Hammel and O'Connell 1975
    "UCB admissions": [[601, 332], [370, 215], [322, 596], [269, 523], [147, 437], [46, 668]],
    # first, second, third class and crew by survival: Dawson 1995
    "Titanic": [[203, 122], [118, 167], [178, 528], [212, 673]],
    # eyes by hair of children in Caithness: Fisher 1940
    "Caithness": [
        [326, 38, 241, 110, 3],
        [688, 116, 584, 188, 4],
        [343, 84, 909, 412, 26],
        [98, 48, 403, 681, 85],
    ],
}


def pair(name: str, m: int, n: int, epsilon: float) -> mm.Product:
    """Return a pair of mechanisms by name."""
    kinds: dict[str, Callable[..., Any]] = {
        "SUE": mm.SUE,
        "KRR": mm.KRR,
        "OUE": mm.OUE,
        "Subset": mm.Subset,
        "Hadamard": mm.Hadamard,
        "LocalHashing": mm.LocalHashing,
    }
    sizes = iter((m, n))

    def part(kind: str) -> Any:
        k = next(sizes)
        if kind in kinds:
            return kinds[kind](k=k, epsilon=epsilon)
        strings = mm.ORR if kind == "ORR" else mm.ORappor
        candidates = [f"string {i}" for i in range(k - 1)]  # and all others
        return strings(epsilon=epsilon, width=8, cohorts=16).over(candidates)

    return mm.Product(tuple(part(kind) for kind in name.split(" x ")))


def rejections(task: tuple[str, int, int, int, float, float, str, int]) -> dict[str, Any]:
    """Return how often a test rejects, and how often the default was a permutation test."""
    name, m, n, people, epsilon, added, test, trials = task
    rng = np.random.default_rng(zlib.crc32(repr(task).encode()))
    both, start = pair(name, m, n, epsilon), time.process_time()
    hits = exact = 0
    for _ in range(trials):
        histogram = rng.multinomial(people, table_of(m, n, added, rng).ravel())
        if test == "wald" and name != "KRR x KRR":
            answers = np.repeat(np.arange(m * n), histogram)
            reports = both.encode_many(answers, rng)
            found = mm.association(both.count(reports), test="wald", reports=reports)
        else:
            counts = both.simulate(histogram, rng)
            asked: Any = None if test == "default" else test
            # With 199 permutations p <= 0.05 has probability 0.05 exactly, as with any 20 j - 1.
            found = mm.association(counts, test=asked, permutations=199, random=rng)
        hits += found.p_value <= LEVEL
        exact += found.test == "permutation"
    return {
        "mechanisms": name,
        "m": m,
        "n": n,
        "people": people,
        "epsilon": epsilon,
        "added": added,
        "test": test,
        "trials": trials,
        "rejected": hits / trials,
        "permutation": exact / trials,
        "ms": 1e3 * (time.process_time() - start) / trials,
    }


def covered(task: tuple[str, str, float, int, int]) -> dict[str, Any]:
    """Return how often the intervals of the measures contain the truth."""
    table, name, epsilon, people, trials = task
    rng = np.random.default_rng(zlib.crc32(repr(task).encode()))
    truth = np.array(TABLES[table], np.float64)
    truth /= truth.sum()
    r, c = truth.sum(axis=1), truth.sum(axis=0)
    m, n = truth.shape
    both = pair(name, m, n, epsilon)
    squares = (truth - np.outer(r, c)) ** 2 / np.outer(r, c)
    exact = {
        "share": truth / c,
        "lift": truth / np.outer(r, c),
        "odds ratio": (truth * truth[0, 0] / np.outer(truth[:, 0], truth[0]))[1:, 1:],
        "V": np.sqrt(squares.sum() / (min(truth.shape) - 1)),
    }
    inside: dict[str, list[Any]] = {what: [] for what in exact}
    bounded: list[Any] = []
    for _ in range(trials):
        counts = both.simulate(rng.multinomial(people, truth.ravel()), rng)
        v = mm.cramers_v(counts)
        odds = mm.odds_ratios(counts)
        found: dict[str, tuple[Any, Any]] = {
            "odds ratio": (odds.low[1:, 1:], odds.high[1:, 1:]),
            "V": (v.low, v.high),
        }
        for own in (mm.conditional_shares(counts), mm.lift(counts)):
            found[own.what] = own.low, own.high
        for what, (low, high) in found.items():
            inside[what].append((low <= exact[what]) & (exact[what] <= high))
        bounded.append(np.isfinite(odds.high[1:, 1:]))
    good, ends = np.array(inside["odds ratio"]), np.array(bounded)
    means = {what: float(np.mean(own)) for what, own in inside.items()}
    worst = {what: float(np.mean(own, axis=0).min()) for what, own in inside.items()}
    return {
        "table": table,
        "mechanisms": name,
        "epsilon": epsilon,
        "people": people,
        "trials": trials,
        "coverage": means,
        "worst": worst,
        "odds ratios with an upper limit": float(ends.mean()),
        "coverage of those": float(good[ends].mean()) if ends.any() else None,
    }


def changes(task: tuple[str, int, int, int]) -> dict[str, Any]:
    """Return how often tests find a change between estimates with the same true shares."""
    name, k, people, trials = task
    rng = np.random.default_rng(zlib.crc32(repr(task).encode()))
    shares = 1 / np.arange(1.0, k + 1)
    shares /= shares.sum()
    overall, each = [], []
    for trial in range(trials):
        sides = [
            mm.estimate(kind.simulate(rng.multinomial(people, shares), rng), "unbiased")
            for kind in compared(name, k, trial)
        ]
        found = mm.trend(sides)
        overall.append(found.p_value <= LEVEL)
        each.append(found.p_values <= LEVEL)
    return {
        "mechanisms": name,
        "k": k,
        "people": people,
        "trials": trials,
        "overall": float(np.mean(overall)),
        "each": float(np.mean(each)),
    }


def compared(name: str, k: int, trial: int) -> list[Any]:
    """Return the mechanisms of a comparison; salts change with the trial, unless they are one."""
    sketches: dict[str, Any] = {"CMS": mm.CountMeanSketch, "HadamardSketch": mm.HadamardSketch}
    out: list[Any] = []
    for number, one in enumerate(name.split(" / ")):
        kind, *table = one.split(" ")
        if kind in sketches:
            rows, width = (int(size) for size in table[0].split("x"))
            salt = 10**6 * trial + (0 if table[1:] else 10**4 * number)
            out.append(sketches[kind](k, 4.0, rows=rows, width=width, salt=salt))
        else:
            plain: dict[str, Any] = {"KRR": mm.KRR, "OUE": mm.OUE, "LocalHashing": mm.LocalHashing}
            out.append(plain[kind](k, 4.0))
    return out


def once(task: tuple[str, int, float, int, int]) -> dict[str, Any]:
    """Return how often independent answers with rare ones are said to go together."""
    kind, size, epsilon, people, trials = task
    rng = np.random.default_rng(zlib.crc32(repr(task).encode()))
    margin = np.array([1 - 0.02 * (size - 1)] + [0.02] * (size - 1))
    law = np.outer(margin, margin).ravel()
    kinds: dict[str, Any] = {"KRR": mm.KRR, "OUE": mm.OUE}
    parts = [mm.Question(name, list("vwxyz")[:size], epsilon=epsilon) for name in "ab"]
    joint = mm.Joint(*parts, once=True, mechanism=kinds["KRR"](size**2, epsilon))
    both = mm.Product([kinds["OUE"](size, epsilon)] * 2)
    found = []
    for _ in range(trials):
        histogram = rng.multinomial(people, law)
        if kind == "KRR, once":
            counts = joint.simulate(histogram.reshape(size, size), rng)
            found.append(joint.estimate(counts).association())
        else:
            found.append(mm.association(both.simulate(histogram, rng)))
    rough = [chi_square_tail(test.statistic, test.freedom) for test in found]
    rates = {
        name: [float(np.mean(np.array(values) <= level)) for level in (0.05, 0.01)]
        for name, values in (("default", [t.p_value for t in found]), ("chi-square", rough))
    }
    return {
        "mechanisms": kind,
        "answers": size,
        "epsilon": epsilon,
        "people": people,
        "trials": trials,
        **rates,
    }


def odds(task: tuple[int, int]) -> dict[str, Any]:
    """Return how often equal odds ratios are said to differ, with shares of zero."""
    people, trials = task
    rng = np.random.default_rng(people % 2**32)
    both = mm.Product([mm.KRR(k=3, epsilon=2.0)] * 2)
    common = np.array([[4.0, 1, 0], [1, 3, 2], [0, 1, 5]])
    tables = [common, common * np.outer([2, 1, 0.5], [1, 0.5, 2])]
    rejected = 0
    for _ in range(trials):
        groups = [rng.multinomial(people, own.ravel() / own.sum()) for own in tables]
        fits = [fitted(both.simulate(group, rng)) for group in groups]
        rejected += homogeneity(fits, (3, 3)).p_value <= LEVEL
    return {"people": people, "trials": trials, "rejected": rejected / trials}


def beyond(trials: int) -> dict[str, list[Any]]:
    """Return what is measured beyond many reports and much noise."""
    names = [
        "CMS 16x16 / KRR",
        "CMS 16x16 / CMS 16x16",
        "CMS 16x16 same / CMS 16x16 same",
        "CMS 64x32 / KRR",
        "HadamardSketch 16x16 / KRR",
        "HadamardSketch 16x16 / CMS 16x16",
        "KRR / OUE",
        "OUE / LocalHashing",
        "KRR / CMS 16x16 / OUE",
        "KRR / KRR / KRR / KRR",
    ]
    pairs = [(name, 10, 5000, trials) for name in names]
    pairs += [(name, 50, 5000, trials // 4) for name in (*names[:1], names[2])]
    pairs += [(name, 300, 20_000, trials // 4) for name in (names[0], names[2])]
    rare = [
        ("KRR, once", 3, 5.0, 300, trials // 2),
        ("KRR, once", 3, 20.0, 100, trials // 2),
        ("KRR, once", 2, 8.0, 60, trials // 2),
        ("OUE x OUE, counts", 4, 5.0, 300, trials // 4),
    ]
    zeros = [(10**power, trials // 4) for power in (4, 8, 12)]
    return {"changes": pairs, "rare": rare, "zeros": zeros}


def tasks(trials: int) -> dict[str, list[Any]]:
    """Return everything that is measured."""
    grid = [
        # fewer trials where everybody's bits are drawn
        (
            f"{kind} x {kind}",
            6,
            n,
            people,
            epsilon,
            0.0,
            "default",
            trials // (1 + (people > 10**4)),
        )
        for kind in ("SUE", "KRR")
        for people in (1000, 10_000, 100_000)
        for epsilon in (1.0, 1.5, 3.0)
        for n in (3, 6, 10)
    ]
    small = [
        ("KRR x KRR", 6, n, people, epsilon, 0.0, test, trials // 2)
        for people in (100, 300)
        for epsilon in (3.0, 5.0)
        for test in ("default", "score")
        for n in (3, 6, 10)
    ]
    others = ["OUE x OUE", "Subset x Subset", "Hadamard x Hadamard", "LocalHashing x LocalHashing"]
    others += ["KRR x OUE", "ORR x KRR", "ORR x ORR", "ORappor x ORappor"]
    mixed = [(name, 6, 4, 5000, 1.5, 0.0, "default", trials // 4) for name in others]
    power = [
        (name, 6, 6, 10_000, 1.5, added, test, trials // (10 if test == "wald" else 2))
        for added in (0.0, 0.05, 0.1)
        for name, test in (
            ("SUE x SUE", "default"),
            ("SUE x SUE", "wald"),
            ("OUE x OUE", "default"),
            ("KRR x KRR", "default"),
            ("KRR x KRR", "wald"),
        )
    ]
    intervals = [
        (table, name, epsilon, 10_000, max(trials // 5, 2))
        for table in TABLES
        for name in ("KRR x KRR", "OUE x OUE")
        for epsilon in (1.0, 2.0, 4.0)
    ]
    return {"grid": grid, "small": small, "others": mixed, "power": power, "coverage": intervals}


def percent(value: float) -> str:
    """Return a rate in percent."""
    return f"{100 * value:.1f}"


def key(row: dict[str, Any]) -> tuple[str, int, float]:
    """Return what the row of a table is about."""
    return row["mechanisms"], row["people"], row["epsilon"]


def rate(row: dict[str, Any]) -> str:
    """Return how often a test rejected, with a mark if it was mostly a permutation test."""
    return percent(row["rejected"]) + (" p" if row["permutation"] > 0.5 else "")


def told(*sentences: str) -> list[str]:
    """Return a paragraph with lines of at most 120 characters, and an empty line."""
    return [*textwrap.wrap(" ".join(sentences), 120, break_on_hyphens=False), ""]


def page(found: dict[str, list[dict[str, Any]]]) -> str:
    """Return the page of results."""
    tests = (type_one_error, few_people, rare_answers, other_mechanisms, zeros, shares_differ)
    parts = (*tests, power, coverage)
    lines = [
        "# Tests and measures of association: measured",
        "",
        *told(
            "Made by `python -m benchmarks.association`; all numbers are in",
            "`association.json`. How",
            "the tests work, and when to use which, is on the page about",
            "[association](../association.md).",
        ),
    ]
    for part in parts:
        lines += part(found)
    return "\n".join(lines).rstrip() + "\n"


def type_one_error(found: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Return the section about the grid of independent answers."""
    grid = found["grid"]
    rates = [row["rejected"] for row in grid]
    inside = sum(0.035 <= rate <= 0.065 for rate in rates)
    trials = grid[0]["trials"]
    lines = [
        "## Type I error: how often independent answers are said to go together",
        "",
        *told(
            "The setting is that of Fanti, Pihur and Erlingsson (2016, appendix A): one",
            "question with",
            "6 answers and one with m, both margins drawn uniformly from the simplex in each of",
            f"{trials:,} trials (half as many for n = 100,000), nominal level 5 %. `SUE` is",
            "their Basic",
            "RAPPOR; ε is that of each question. `p` marks settings in which most trials used the",
            "permutation test, because few reports were expected in some cells. The standard",
            "error of",
            f"each number is {standard_error(trials):.1f} percentage points. Rejected by the",
            "default",
            "test, in percent:",
        ),
        "| mechanisms | n | ε | m = 3 | m = 6 | m = 10 |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name, people, epsilon in dict.fromkeys(key(row) for row in grid):
        own = [row for row in grid if key(row) == (name, people, epsilon)]
        lines.append(f"| {name} | {people:,} | {epsilon:g} | {' | '.join(map(rate, own))} |")
    mean = percent(float(np.mean(rates)))
    return [
        *lines,
        "",
        *told(
            f"{inside} of {len(grid)} settings are between 3.5 and 6.5 % (lowest",
            f"{percent(min(rates))}, highest {percent(max(rates))}, mean {mean}).",
        ),
    ]


def few_people(found: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Return the section about few people."""
    small = found["small"]
    lines = [
        *told(
            "With few people, `KRR x KRR`: the default next to the score test, whose chi-square",
            f"distribution is then rough ({small[0]['trials']:,} trials each):",
        ),
        "| n | ε | test | m = 3 | m = 6 | m = 10 |",
        "|---:|---:|---|---:|---:|---:|",
    ]
    for setting in dict.fromkeys((row["people"], row["epsilon"], row["test"]) for row in small):
        own = [row for row in small if (row["people"], row["epsilon"], row["test"]) == setting]
        lines.append(
            f"| {setting[0]} | {setting[1]:g} | {setting[2]} | {' | '.join(map(rate, own))} |"
        )
    return [*lines, ""]


def rare_answers(found: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Return the section about answers that hardly anybody gives."""
    lines = [
        *told(
            "Rare answers and little noise: all answers but the first have a share of 2 %. The",
            "combination is reported once, or only the counts of bits are known, so that nothing",
            "can be permuted; the default simulates independent answers. In percent at the levels",
            "0.05 and 0.01, next to the chi-square distribution of the same statistic:",
        ),
        "| reported | answers | ε | n | default | chi-square | trials |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for row in found["rare"]:
        rates = [" / ".join(map(percent, row[name])) for name in ("default", "chi-square")]
        lines.append(
            f"| {row['mechanisms']} | {row['answers']} x {row['answers']} | {row['epsilon']:g} | "
            f"{row['people']:,} | {' | '.join(rates)} | {row['trials']:,} |"
        )
    return [*lines, ""]


def zeros(found: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Return the section about equal odds ratios."""
    rates = [f"{percent(row['rejected'])} of {row['people']:.0e} people" for row in found["zeros"]]
    return told(
        "Equal odds ratios in two groups with different margins, 3 x 3 answers, two combinations",
        f"that nobody holds, `KRR` with ε = 2, {found['zeros'][0]['trials']:,} trials: rejected,",
        f"in percent, {', '.join(rates)} in each group.",
    )


def shares_differ(found: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Return the section about comparisons."""
    rows = found["changes"]
    lines = [
        "## Do shares differ? The size over pairs of mechanisms",
        "",
        *told(
            "Estimates of different people with the same true shares (Zipf's law), ε = 4, compared",
            "by `difference` or, if there are more than two, by `trend`. A sketch has a new salt",
            "in each trial and on each side, or the `same` on all sides. Rejected at 5 %, in",
            "percent, by the overall test and by the tests of single answers:",
        ),
        "| mechanisms | answers | n each | overall | single answers | trials | s.e. overall |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        rates = f"{percent(row['overall'])} | {percent(row['each'])}"
        lines.append(
            f"| {row['mechanisms']} | {row['k']} | {row['people']:,} | {rates} | "
            f"{row['trials']:,} | {standard_error(row['trials']):.1f} |"
        )
    return [
        *lines,
        "",
        *told(
            "With 300 answers, 16 x 16 buckets cannot tell all of them apart. With one salt",
            "collisions cancel; against `KRR` the p-values are upper limits. A test of the",
            "project holds all pairs of mechanisms to their size.",
        ),
    ]


def other_mechanisms(found: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Return the section about other mechanisms."""
    others = found["others"]
    lines = [
        *told(
            "Other mechanisms, 6 x 4 answers, n = 5,000, ε = 1.5 for each question,",
            f"{others[0]['trials']:,} trials. `ORR` and `ORappor` have 16 cohorts, which both",
            "questions",
            'share, and their last answer is "(other)":',
        ),
        "| mechanisms | rejected, % | ms of processor time, with simulation |",
        "|---|---:|---:|",
    ]
    rows = (f"| {row['mechanisms']} | {rate(row)} | {row['ms']:.0f} |" for row in others)
    return [*lines, *rows, ""]


def power(found: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Return the section about dependent answers."""
    rows = found["power"]
    lines = [
        "## Power: how often answers that go together are found out",
        "",
        *told(
            "6 x 6 answers, n = 10,000, ε = 1.5 for each question; mass is added to each",
            "cell of the",
            'diagonal, then all is scaled to sum one ("Dist1" and "Dist2" of the paper).',
            "Rejected at",
            "level 5 %, in percent:",
        ),
        "| mechanisms | test | nothing added | + 0.05 | + 0.1 | trials |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for name, test in dict.fromkeys((row["mechanisms"], row["test"]) for row in rows):
        own = [row for row in rows if (row["mechanisms"], row["test"]) == (name, test)]
        called = {"default": "score", "wald": "Wald (the paper's)"}[test]
        cells = " | ".join(percent(row["rejected"]) for row in own)
        lines.append(f"| {name} | {called} | {cells} | {own[0]['trials']:,} |")
    return [
        *lines,
        "",
        *told(
            "The paper's test compares the most likely table with the product of its margins. At",
            "this noise many of the most likely shares are zero, where its approximation fails. It",
            "rejects independent answers far less often than in 5 % of trials, and so it finds",
            "less of what is there.",
        ),
    ]


def coverage(found: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Return the section about intervals."""
    rows, measures = found["coverage"], ("share", "lift", "odds ratio", "V")
    lines = [
        "## Coverage of the measures' 95 % intervals",
        "",
        *told(
            "Populations with the shares of four public tables, n = 10,000 people sampled",
            "from each. In",
            "percent, averaged over all combinations; in brackets the combination with the lowest",
            "coverage. The last column says how many odds ratios have an upper limit.",
        ),
        "| table | mechanisms | ε | conditional | lift | odds ratios | Cramér's V | bounded |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        cells = [
            percent(row["coverage"][what])
            + ("" if what == "V" else f" ({percent(row['worst'][what])})")
            for what in measures
        ]
        cells.append(percent(row["odds ratios with an upper limit"]))
        name = f"{row['table']} | {row['mechanisms']} | {row['epsilon']:g}"
        lines.append(f"| {name} | {' | '.join(cells)} |")
    means = [percent(float(np.mean([row["coverage"][what] for row in rows]))) for what in measures]
    trials = rows[0]["trials"]
    return [
        *lines,
        "",
        *told(
            f"Means over all rows: conditional shares {means[0]}, lift {means[1]}, odds ratios",
            f"{means[2]}, V {means[3]}. Each row is {trials:,} trials, so a single",
            "combination has a",
            f"standard error of {standard_error(trials):.1f} points, and the lowest of many",
            "is lower by",
            "chance. Where the shares in a denominator cannot be told apart from zero, a",
            "ratio has no",
            "upper limit, and V the limits 0 and 1. Such intervals contain the truth more",
            "often than",
            "95 %.",
        ),
    ]


def standard_error(trials: int) -> float:
    """Return the standard error of a rate of 5 %, in percentage points."""
    return float(100 * np.sqrt(0.05 * 0.95 / trials))


def main() -> None:
    """Measure everything and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--beyond", action="store_true", help="only few reports and sketches")
    parser.add_argument("--page", action="store_true", help="only write the page again")
    options = parser.parse_args()
    store = RESULTS / "association.json"
    if options.page:
        found = json.loads(store.read_text(encoding="utf-8"))
    else:
        found = json.loads(store.read_text(encoding="utf-8")) if options.beyond else {}
        others: dict[str, Any] = {
            "coverage": covered,
            "changes": changes,
            "rare": once,
            "zeros": odds,
        }
        measured = beyond(options.trials)
        if not options.beyond:
            measured = {**tasks(options.trials), **measured}
        with multiprocessing.Pool(options.processes) as pool:
            for part, own in measured.items():
                function: Any = others.get(part, rejections)
                found[part] = []
                for row in pool.imap(function, own):
                    print(part, row, flush=True)
                    found[part].append(row)
        store.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (RESULTS / "association.md").write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    main()
