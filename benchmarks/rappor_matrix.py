"""google/rappor's regression matrix: its decoder and this library's, on the same counts.

``python -m benchmarks.rappor_matrix`` writes docs/results/rappor_matrix.json, .md and .png. The
matrix is theirs (five distributions, two sizes, five configurations); their decoder is rewritten
here from its description, and decodes the same counts. Then come questions that are not in the
matrix, and decoding with very many candidates. Their constrained least squares needs SciPy.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import sys
import time
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular
from scipy.optimize import nnls

import murmurs as mm
from murmurs.counts import Counts
from murmurs.estimators.estimation import Estimate
from murmurs.hashing.layout import Layout

Floats = NDArray[np.float64]

LAWS = ("unif", "exp", "gauss", "zipf1", "zipf1.5")
SIZES = {"tiny": 10**3, "small": 10**6}
STRICT = {"p": 0.39, "q": 0.61, "f": 0.45}
LOOSE = {"p": 0.225, "q": 0.775, "f": 0.0}
CONFIGS: dict[str, tuple[dict[str, float], int, bool]] = {
    "typical": (STRICT, 20, True),
    "sharp": (STRICT, 0, False),
    "loose": (LOOSE, 20, True),
    "over_x2": (STRICT, 200, True),
    "over_x10": (STRICT, 1000, True),
}
"""Privacy parameters, how many candidates nobody holds, whether every tenth value is unlisted."""

VALUES = 100
LEVEL = 0.05
MOST_SCREENED = 500


def law_of(name: str, k: int = VALUES) -> Floats:
    """Return the shares of the values: densities at 1..k, scaled to a sum of one.

    "exp" has the rate 5 / k, "gauss" has its mean in the middle and a deviation of k / 6.
    """
    at = np.arange(1, k + 1)
    if name == "exp":
        weights = np.exp(-5 * at / k)
    elif name == "gauss":
        weights = np.exp(-0.5 * ((at - k / 2) / (k / 6)) ** 2)
    else:
        weights = at ** -{"unif": 0.0, "zipf1": 1.0, "zipf1.5": 1.5}[name]
    return np.asarray(weights / weights.sum())


@dataclass(frozen=True)
class Answer:
    """What a decoder says about the candidates: ``shown`` are the strings that it reports."""

    shares: Floats
    low: Floats
    high: Floats
    shown: NDArray[np.bool_]


def design_of(layout: Layout) -> Floats:
    """Return the bits of the candidates: a row per bit of each cohort, a column per candidate."""
    out = np.zeros((layout.rows * layout.width + 1, layout.k))
    for part, places in layout.blocks():
        for line in places:
            out[line, np.arange(part.start, part.stop)] = 1.0
    return out[:-1]


def theirs(counts: Counts, one: float, zero: float, rng: np.random.Generator) -> Answer:
    """Decode as google/rappor does.

    The frequency of each bit is estimated with its deviation, and the candidates are fitted to the
    bits, five times: four of them with normal noise of the same deviation added to the bits. The
    mean of the five is the estimate, and their deviation its standard error. Strings whose mean is
    above two deviations are reported, in whole clients.
    """
    cells, n = counts.cells, counts.n
    layout: Layout = counts.channel.layout  # type: ignore[attr-defined]
    seen = cells[:, 0] > 0
    reports = np.maximum(cells[:, :1], 1)
    bits = (cells[:, 1:] / reports - zero) / (one - zero)
    chance = zero + (one - zero) * np.clip(bits, 0, 1)
    deviations = np.sqrt(chance * (1 - chance) / reports) / (one - zero)
    used = np.repeat(seen, layout.width)
    design, y, sd = design_of(layout)[used], bits.ravel()[used], deviations.ravel()[used]
    centred = design - design.mean(axis=0)
    gram = None
    if layout.k > 0.8 * len(y):
        gram = centred.T @ centred + 1e-6 * np.eye(layout.k)
    fits: list[Floats] = []
    place = 99
    for _ in range(5):
        noise = rng.normal(size=len(y)) * sd if fits else 0.0
        chosen = np.arange(layout.k)
        if gram is not None:
            chosen, place = screened(gram, design, y + noise, place)
        fits.append(_fitted(design, chosen, y + noise, np.sqrt(2 if fits else 1) * sd))
    mean, spread = np.mean(fits, axis=0), np.std(fits, axis=0, ddof=1)
    shares, errors = np.floor(n * mean + 1e-6) / n, np.floor(n * spread + 1e-6) / n
    reach = 1.96 * errors
    shown = n * mean > 1e-6 + 2 * n * spread
    return Answer(shares, np.maximum(shares - reach, 0), np.minimum(shares + reach, 1), shown)


def _fitted(design: Floats, chosen: NDArray[np.int64], y: Floats, sd: Floats) -> Floats:
    """Return the shares that fit the bits best, 0 for candidates that are not chosen."""
    out = np.zeros(design.shape[1])
    if len(chosen):
        weights = 1 / sd
        weights = np.minimum(weights, 2 * np.median(weights))
        most = np.clip(y + 3 * sd, 0.01, 1)
        own = design[:, chosen]
        out[chosen] = constrained(own * weights[:, None], y * weights, own, most)
    return out


def screened(
    gram: Floats, design: Floats, y: Floats, guess: int = 99
) -> tuple[NDArray[np.int64], int]:
    """Return the candidates with a positive coefficient in a nonnegative Lasso with an intercept.

    The penalty is the last of a path of a hundred, down to a hundredth of the smallest that leaves
    nothing, with at most 500 coefficients or 0.8 of the bits; it is sought from the guess on.
    """
    most = min(MOST_SCREENED, int(0.8 * len(y)))
    goal = design.T @ (y - y.mean())
    path = max(float(goal.max()), 0.0) * np.geomspace(1, 0.01, 100)
    kept = free = np.zeros(len(goal), np.bool_)
    low, high, step = 0, len(path), 1
    tried = min(guess, high - 1)
    while high - low > 1:
        free = nonnegative(gram, goal - path[tried], free) > 0
        few = int(free.sum()) <= most
        if few:
            low, kept = tried, free
        else:
            high = tried
        step *= 2
        tried = low + step if few else high - step
        if not low < tried < high:
            tried = (low + high) // 2
    return np.flatnonzero(kept), low


def nonnegative(gram: Floats, goal: Floats, free: NDArray[np.bool_]) -> Floats:
    """Minimise x' gram x / 2 - goal' x over x >= 0, by pivots on blocks (Kim and Park 2011).

    ``free`` are those that are guessed to be positive.
    """
    k = len(goal)
    tolerance = 1e-10 * float(np.abs(goal).max(initial=0.0))
    free, wrong = free.copy(), np.arange(0)
    fewest, patience = k + 1, 3
    for _ in range(10 * k):
        free[wrong] ^= True
        x, at = np.zeros(k), np.flatnonzero(free)
        x[at] = cho_solve(cho_factor(gram[np.ix_(at, at)]), goal[at]) if len(at) else 0.0
        slack = gram[:, at] @ x[at] - goal
        wrong = np.flatnonzero(np.where(free, x < -1e-12, slack < -tolerance))
        if not len(wrong):
            break
        if len(wrong) < fewest:
            fewest, patience = len(wrong), 3
        elif patience:
            patience -= 1
        else:
            wrong = wrong[-1:]
    return np.maximum(x, 0)


def constrained(a: Floats, b: Floats, bits: Floats, most: Floats) -> Floats:
    """Minimise |a x - b| over x >= 0 with sum(x) <= 1 and bits x <= most.

    Limits on bits come in as they are overstepped. The dual of least distance programming is solved
    by nonnegative least squares (Lawson and Hanson 1974, chapter 23).
    """
    k = a.shape[1]
    r = cholesky(a.T @ a)
    target = solve_triangular(r, a.T @ b, trans="T")
    limited = np.zeros(len(most), np.bool_)
    while True:
        g = np.vstack([np.eye(k), -np.ones((1, k)), -bits[limited]])
        h = np.concatenate([np.zeros(k), [-1.0], -most[limited]])
        turned = solve_triangular(r, g.T, trans="T").T
        dual = np.vstack([turned.T, h - turned @ target])
        unit = np.zeros(k + 1)
        unit[-1] = 1.0
        residual = dual @ nnls(dual, unit, maxiter=30 * dual.shape[1])[0] - unit
        x = np.maximum(solve_triangular(r, target - residual[:-1] / residual[-1]), 0)
        x = np.where(x < 1e-12, 0.0, x)
        over = (bits @ x > most + 1e-9) & ~limited
        if not over.any():
            return np.asarray(x)
        limited |= over


def ours(counts: Counts) -> tuple[Estimate, Answer]:
    """Estimate with the library's defaults; shown are the strings detected at error rate 0.05."""
    found = mm.estimate(counts)
    return found, answer(found)


def answer(found: Estimate) -> Answer:
    """Return what an estimate says about the strings."""
    both = found.interval(0.95).T
    shown = found.detected(LEVEL).present
    return Answer(found.shares[:-1], both[:-1, 0], both[:-1, 1], shown[:-1])


def question(cell: dict[str, Any], salt: int) -> mm.Rappor:
    """Return the mechanism of a cell; another salt gives other hash functions."""
    shape = {name: cell[name] for name in ("width", "hashes", "cohorts", "p", "q", "f")}
    return mm.Rappor(**shape, salt=salt)


@dataclass(frozen=True)
class People:
    """Who holds what: strings, their shares (the last for unique strings), and the list."""

    held: list[str]
    law: Floats
    listed: list[str]


def people_of(cell: dict[str, Any]) -> People:
    """Return the strings of a cell: v1 to v100 by a distribution, perhaps with unlisted ones."""
    held = [f"v{i}" for i in range(1, cell["values"] + 1)]
    law = law_of(cell["law"], cell["values"])
    if "unlisted" not in cell:
        listed = [text for text in held if not (cell["missing"] and text.endswith("9"))]
        return People(held, np.append(law, 0.0), listed)
    few, lost = cell["unlisted"], cell["lost"]
    strange = np.full(few, lost / max(few, 1))
    whole = np.concatenate([(1 - lost) * law, strange, [0.0 if few else lost]])
    return People(held + [f"u{i}" for i in range(few)], whole, held)


def run_cell(cell: dict[str, Any], known: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return a cell with the figures of each repetition: ours, and theirs if they are compared.

    Theirs are taken from an earlier run of the same cell where the counts are the same.
    """
    rng = np.random.default_rng(zlib.crc32(json.dumps(cell, sort_keys=True).encode()))
    people = people_of(cell)
    extra = [f"v{cell['values'] + i}" for i in range(1, cell["extra"] + 1)]
    candidates = people.listed + extra
    at = np.array([people.held.index(text) for text in people.listed])
    rows: list[dict[str, Any]] = []
    others: list[dict[str, Any]] = []
    for repetition in range(cell["repeat"]):
        mechanism = question(cell, repetition * cell["cohorts"] * cell["hashes"])
        histogram = rng.multinomial(cell["n"], people.law)
        drawn = mechanism.over(people.held).simulate(histogram, rng)
        counts = Counts(mechanism.over(candidates), drawn.n, drawn.cells)
        share, chance = np.zeros(len(candidates)), np.zeros(len(candidates))
        share[: len(at)], chance[: len(at)] = histogram[at] / cell["n"], people.law[at]
        rows.append(_ours(counts, share, chance))
        if not cell["compare"]:
            continue
        digest = zlib.crc32(drawn.cells.tobytes())
        old = known["theirs"][repetition] if known and repetition < len(known["theirs"]) else None
        if old is None or old["digest"] != digest:
            start = time.perf_counter()
            again = np.random.default_rng(digest)
            other = theirs(counts, float(mechanism.one), float(mechanism.zero), again)
            seconds = time.perf_counter() - start
            old = {"digest": digest, **figures(other, share), "seconds": seconds}
        others.append(old)
    return {**cell, "ours": rows, "theirs": others}


def _ours(counts: Counts, share: Floats, chance: Floats) -> dict[str, Any]:
    start = time.perf_counter()
    found, own = ours(counts)
    seconds = time.perf_counter() - start
    sampled, near = found.interval(0.95, "population").T, share < found.standard_errors()[:-1]
    other, lost = found.interval(0.95).T[-1:], np.array([1 - share.sum()])
    return {
        **figures(own, share),
        "method": found.estimator,
        "population": _covered(chance, sampled[:-1, 0], sampled[:-1, 1]),
        "near zero": _covered(share[near], own.low[near], own.high[near]),
        "other": _covered(lost, other[:, 0], other[:, 1]),
        "other, population": _covered(
            np.array([1 - chance.sum()]), sampled[-1:, 0], sampled[-1:, 1]
        ),
        "other, width": float(other[0, 1] - other[0, 0]),
        "seconds": seconds,
    }


def figures(answer: Answer, share: Floats) -> dict[str, Any]:
    """Return the figures of an answer, given the true shares of the candidates.

    A false positive is a reported string that nobody in the sample holds, a false negative one that
    somebody holds and that is not reported. Total variation is theirs: half the sum over all
    strings of the distance between true and reported share, which is 0 for strings not reported and
    for those in no list; "rest" counts what is left to others as one more answer, as it should be.
    """
    reported, lost = np.where(answer.shown, answer.shares, 0), max(1 - float(share.sum()), 0.0)
    shown = answer.shown

    def variation(shares: Floats, rest: bool) -> float:
        last = abs(1 - float(shares.sum()) - lost) if rest else lost
        return 0.5 * (float(np.abs(shares - share).sum()) + last)

    return {
        "all": variation(answer.shares, False),
        "shown": variation(reported, False),
        "all, rest": variation(answer.shares, True),
        "shown, rest": variation(reported, True),
        "false positives": int((shown & (share == 0)).sum()),
        "false negatives": int((~shown & (share > 0)).sum()),
        "coverage": _covered(share, answer.low, answer.high),
        "coverage, shown": _covered(share[shown], answer.low[shown], answer.high[shown]),
        "interval": float((answer.high - answer.low).mean()),
    }


def _covered(share: Floats, low: Floats, high: Floats) -> float | None:
    if not len(share):
        return None
    return float(((low <= share + 1e-12) & (share <= high + 1e-12)).mean())


def matrix(tiny: int, small: int, crowded: int) -> list[dict[str, Any]]:
    """Return the cells of google/rappor's matrix, of its two smaller sizes.

    ``crowded`` are the most repetitions of over_x10, where their fit takes a second.
    """
    return [
        {
            "law": law,
            "size": size,
            "config": config,
            "values": VALUES,
            "n": n,
            "width": 8,
            "cohorts": 128,
            "hashes": 2,
            **privacy,
            "extra": extra,
            "missing": missing,
            "repeat": min(
                tiny if size == "tiny" else small, crowded if config == "over_x10" else tiny + small
            ),
            "compare": True,
        }
        for size, n in SIZES.items()
        for config, (privacy, extra, missing) in CONFIGS.items()
        for law in LAWS
    ]


def elsewhere(repeat: int) -> list[dict[str, Any]]:
    """Return cells that are not in the matrix: 300 candidates, and 0.3 of the people elsewhere."""
    return [
        {
            "law": "zipf1",
            "values": 300,
            "n": n,
            "width": 16,
            "cohorts": 64,
            "hashes": hashes,
            **privacy,
            "extra": 0,
            "lost": 0.3,
            "unlisted": few,
            "repeat": repeat,
            "compare": False,
        }
        for n in (10**4, 10**6)
        for hashes in (1, 3)
        for privacy in (STRICT, LOOSE)
        for few in (0, 30, 3)
    ]


def large() -> list[dict[str, Any]]:
    """Return questions with very many candidates, of which a thousand are held."""
    shape = {"width": 128, "hashes": 2, "cohorts": 64, "n": 10**6, **LOOSE}
    return [{**shape, "candidates": k} for k in (10**4, 10**5, 10**6)]


def run_large(cell: dict[str, Any]) -> dict[str, Any]:
    """Return the processor's time to decode, and the memory of this process: start a new one."""
    rng = np.random.default_rng(1)
    held = [f"v{i}" for i in range(1, 1001)]
    candidates = [f"v{i}" for i in range(1, cell["candidates"] + 1)]
    mechanism = question(cell, 0)
    people = np.append(rng.multinomial(cell["n"], law_of("zipf1", len(held))), 0)
    drawn = mechanism.over(held).simulate(people, rng)
    ours(Counts(mechanism.over(candidates[:100]), drawn.n, drawn.cells))  # what is compiled, is
    start = time.process_time()
    counts = Counts(mechanism.over(candidates), drawn.n, drawn.cells)
    found, own = ours(counts)
    seconds = time.process_time() - start
    share = np.zeros(cell["candidates"])
    share[: len(held)] = people[:-1] / cell["n"]
    gib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    measured = {"method": found.estimator, "seconds": seconds, "GiB": gib}
    return {**cell, **measured, **figures(own, share)}


def run_apart(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Run each of the large cells in a process of its own."""
    context = multiprocessing.get_context("spawn")
    out = []
    for cell in cells:
        with context.Pool(1) as pool:
            out += pool.map(run_large, [cell])
    return out


def run_all(
    cells: list[dict[str, Any]], known: list[dict[str, Any]], what: str
) -> list[dict[str, Any]]:
    """Run cells one after another; ``known`` are those of an earlier run."""
    out = []
    for cell in cells:
        same = [row for row in known if all(row.get(k) == v for k, v in cell.items())]
        out.append(run_cell(cell, same[0] if same else None))
        print(f"\r{what}: {len(out)} of {len(cells)} cells", end="", file=sys.stderr)
    print(file=sys.stderr)
    return out


def mean(rows: list[dict[str, Any]], figure: str) -> float:
    """Return the mean of a figure over repetitions that have it."""
    seen = [row[figure] for row in rows if row[figure] is not None]
    return float(np.mean(seen)) if seen else float("nan")


def behind(row: dict[str, Any], own: str, other: str) -> float:
    """Return by how many standard errors our figure is larger than theirs, in pairs."""
    pairs = zip(row["ours"], row["theirs"], strict=True)
    difference = np.array([a[own] - b[other] for a, b in pairs])
    error = float(difference.std(ddof=1)) / np.sqrt(len(difference))
    return float(difference.mean() / error) if error > 0 else float(np.sign(difference.mean()))


def page(rows: dict[str, list[dict[str, Any]]]) -> str:
    """Return docs/results/rappor_matrix.md."""
    cells = rows["matrix"]
    lines = [
        "# google/rappor's regression matrix",
        "",
        "Written by `benchmarks.rappor_matrix`. The settings are those of google/rappor's "
        "regression test: Bloom filters of 8 bits with 2 hashes in 128 cohorts, values v1 to v100, "
        "1,000 clients (*tiny*) and 1,000,000 clients (*small*), and five distributions: equal "
        "shares, exponential with rate 5/100, normal with mean 50 and a deviation of 100/6, and "
        "Zipf with exponents 1 and 1.5. The configurations:",
        "",
        "| name | p, q, f | candidates |",
        "|---|---|---|",
    ]
    for name, (privacy, extra, missing) in CONFIGS.items():
        held = "90 of the 100 values (v9, v19, ... are in no list)" if missing else "the 100 values"
        more = f", and {extra} strings that nobody holds" if extra else ""
        numbers = ", ".join(f"{privacy[letter]:g}" for letter in "pqf")
        lines.append(f"| {name} | {numbers} | {held}{more} |")
    lines += [
        "",
        "Both decoders see the same counts, drawn from their exact law; hash functions differ "
        "between repetitions. *Theirs* is google/rappor's rule rewritten in Python from its "
        "description, not its R program: it makes five constrained fits, computes their mean and "
        "deviation, and reports strings above two deviations. *Ours* is `murmurs.estimate` with "
        "its defaults: all shares, and the strings `detected` at an error rate of 0.05 over all "
        "candidates together. A false positive is a reported string that nobody in the sample "
        "holds; a string with a single client does not count as one.",
        "",
        "In their definition, total variation is half the sum over all strings of the distance "
        "between true and reported share, where the reported share is 0 for strings that are not "
        "reported or in no list. Mass that is not reported at all costs half as much as misplaced "
        "mass: an empty report has 0.5, whatever the truth. *with rest* is the total variation "
        "between distributions: what is not reported counts as the share of other strings, and is "
        "compared with the share of the strings that are in no list.",
        "",
        "![total variation and coverage of every cell](rappor_matrix.png)",
        "",
        "In the picture, our shares and intervals cover all candidates, theirs only the strings "
        "they report; the tables show both.",
        "",
        *verdict(cells),
    ]
    for size in SIZES:
        part = [row for row in cells if row["size"] == size]
        if part:
            lines += ["", f"## {size}: {part[0]['n']:,} clients, {_repeats(part)} repetitions"]
            lines += ["", "### Total variation, false positives, false negatives", ""]
            lines += _errors(part)
            lines += ["", "### Coverage of nominal 95 % intervals, and seconds (wall clock)", ""]
            lines += _coverage(part)
    return "\n".join([*lines, *_elsewhere(rows["elsewhere"]), *_large(rows["large"])]) + "\n"


def verdict(cells: list[dict[str, Any]]) -> list[str]:
    """Return how the two compare; paired differences count from two standard errors on."""

    def count(own: str, other: str) -> str:
        gaps = [behind(row, own, other) for row in cells]
        lower, higher = sum(gap < -2 for gap in gaps), sum(gap > 2 for gap in gaps)
        return f"lower in {lower}, higher in {higher}, equal within two standard errors in the rest"

    more = [row for row in cells if behind(row, "false positives", "false positives") > 2]
    whole = [mean(row["ours"], "coverage") for row in cells]
    sampled = [mean(row["ours"], "population") for row in cells]
    named = ", ".join(f"{row['size']} {row['config']} {row['law']}" for row in more)
    false_ours, false_theirs = (
        float(np.mean([mean(row[side], "false positives") for row in cells]))
        for side in ("ours", "theirs")
    )
    return [
        f"Our total variation compared with theirs, in {len(cells)} cells:",
        "",
        f"- with rest, all shares: {count('all, rest', 'shown, rest')};",
        f"- their definition, all shares: {count('all', 'shown')};",
        f"- their definition, detected strings only: {count('shown', 'shown')}.",
        "",
        f"We have more false positives than they do in {len(more)} cells"
        + (f" ({named})" if more else "")
        + f". On average we have {false_ours:.2f} per decoding, they {false_theirs:.2f}.",
        "",
        f"On average our intervals contain {100 * float(np.mean(whole)):.1f} % of the sample's "
        f"shares ({100 * min(whole):.1f} to {100 * max(whole):.1f} % in single cells), and "
        f"{100 * float(np.mean(sampled)):.1f} % of the population's. Their intervals, for the "
        f"strings they report, contain {' and '.join(_held_by_theirs(cells))}.",
    ]


def _held_by_theirs(cells: list[dict[str, Any]]) -> list[str]:
    out = []
    for size in SIZES:
        part = [row for row in cells if row["size"] == size]
        seen = np.array([mean(row["theirs"], "coverage, shown") for row in part])
        if np.isfinite(seen).any():
            out.append(f"{100 * float(np.nanmean(seen)):.1f} % ({size})")
    return out


def _table(heads: list[str], body: list[list[str]], words: int) -> list[str]:
    rule = "|" + "---|" * words + "---:|" * (len(heads) - words)
    return ["| " + " | ".join(heads) + " |", rule, *("| " + " | ".join(b) + " |" for b in body)]


def _repeats(cells: list[dict[str, Any]]) -> str:
    every = sorted({row["repeat"] for row in cells})
    return " to ".join(map(str, every[:1] + every[1:][-1:]))


def _errors(cells: list[dict[str, Any]]) -> list[str]:
    heads = ["config", "distribution", "ours, with rest", "theirs, with rest", "ours, all shares"]
    heads += ["ours, detected", "theirs", "false positives, ours", "theirs"]
    heads += ["false negatives, ours", "theirs"]
    body = []
    for row in cells:
        own, other = row["ours"], row["theirs"]
        numbers = [mean(own, "all, rest"), mean(other, "shown, rest"), mean(own, "all")]
        numbers += [mean(own, "shown"), mean(other, "shown")]
        line = [row["config"], row["law"], *(f"{x:.3f}" for x in numbers)]
        line += [f"{mean(part, 'false positives'):.2f}" for part in (own, other)]
        line += [f"{mean(part, 'false negatives'):.1f}" for part in (own, other)]
        body.append(line)
    return _table(heads, body, 2)


def _coverage(cells: list[dict[str, Any]]) -> list[str]:
    heads = ["config", "distribution", "estimator", "ours", "population", "near zero", "(other)"]
    heads += ["theirs, reported", "theirs, all", "seconds, ours", "theirs"]
    body = []
    for row in cells:
        own, other = row["ours"], row["theirs"]
        line = [row["config"], row["law"], own[0]["method"]]
        line += [
            _percent(mean(own, name)) for name in ("coverage", "population", "near zero", "other")
        ]
        line += [_percent(mean(other, name)) for name in ("coverage, shown", "coverage")]
        line += [f"{mean(part, 'seconds'):.2f}" for part in (own, other)]
        body.append(line)
    return _table(heads, body, 3)


def _percent(part: float) -> str:
    return "–" if np.isnan(part) else f"{100 * part:.1f} %"


def _elsewhere(cells: list[dict[str, Any]]) -> list[str]:
    if not cells:
        return []
    heads = ["clients", "hashes", "p, q, f", "unlisted strings", "estimator", "candidates"]
    heads += ["population", "near zero", "(other)", "its width", "false positives"]
    body = []
    for row in cells:
        own = row["ours"]
        line = [f"{row['n']:,}", str(row["hashes"])]
        line += [", ".join(f"{row[letter]:g}" for letter in "pqf")]
        line += [str(row["unlisted"]) if row["unlisted"] else "all different", own[0]["method"]]
        line += [_percent(mean(own, name)) for name in ("coverage", "population", "near zero")]
        line += [_percent(mean(own, "other")), f"{mean(own, 'other, width'):.3f}"]
        line += [f"{mean(own, 'false positives'):.2f}"]
        body.append(line)
    return [
        "",
        "## Where the matrix does not look",
        "",
        "Coverage of nominal 95 % intervals for 16 bits in 64 cohorts and 300 candidates with Zipf "
        "shares that add up to 0.7. The other 0.3 of the people hold strings in no list: either "
        "each a different one, or all of them one of 30 or of 3 strings. There are "
        f"{cells[0]['repeat']} repetitions.",
        "",
        *_table(heads, body, 5),
    ]


def _large(cells: list[dict[str, Any]]) -> list[str]:
    if not cells:
        return []
    heads = ["candidates", "seconds", "GiB", "false positives", "false negatives", "coverage"]
    body = [
        [
            f"{row['candidates']:,}",
            f"{row['seconds']:.1f}",
            f"{row['GiB']:.2f}",
            str(row["false positives"]),
            str(row["false negatives"]),
            _percent(row["coverage"]),
        ]
        for row in cells
    ]
    return [
        "",
        "## Very many candidates",
        "",
        "128 bits in 64 cohorts, 2 hashes, p = 0.225, q = 0.775, and a million clients who hold a "
        "thousand of the candidates with Zipf shares. The table shows the CPU time of hashing the "
        "candidates, estimate, intervals and detection together, and the peak memory of the "
        "process. The bars: 10 s and 2 GB for 100,000 candidates.",
        "",
        *_table(heads, body, 0),
    ]


def picture(cells: list[dict[str, Any]], path: Path) -> None:
    """Draw total variation and coverage of both decoders, one row per cell."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 8.6), layout="constrained")
    columns = figure.subplots(1, 4, sharey=True)
    panels = {
        "total variation, with rest": ("all, rest", "shown, rest"),
        "their total variation": ("all", "shown"),
        "false positives": ("false positives", "false positives"),
        "coverage, %": ("coverage", "coverage, shown"),
    }
    places = np.arange(len(cells)) + 0.8 * (np.arange(len(cells)) // len(LAWS))
    for ax, (title, (own, other)) in zip(columns, panels.items(), strict=True):
        scale = 100 if title.startswith("coverage") else 1
        ours_at = [scale * mean(row["ours"], own) for row in cells]
        theirs_at = [scale * mean(row["theirs"], other) for row in cells]
        ax.hlines(places, ours_at, theirs_at, color="#bbb", linewidth=1, zorder=1)
        ax.plot(theirs_at, places, "s", markersize=4, color="#ee6677", label="google/rappor's rule")
        ax.plot(ours_at, places, "o", markersize=4.5, color="#4477aa", label="murmurs")
        ax.set_title(title, loc="left", fontsize=10)
        ax.spines[["top", "right"]].set_visible(False)
    columns[0].set_xlim(left=0)
    columns[1].set_xlim(left=0)
    columns[3].axvline(95, color="#222", linewidth=0.8)
    columns[3].set_xlim(right=101)
    names = [f"{row['size']} {row['config']} {row['law']}" for row in cells]
    columns[0].set_yticks(places, names, fontsize=7)
    columns[0].invert_yaxis()
    figure.legend(*columns[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    figure.savefig(path, dpi=150)


def main() -> None:
    """Run the matrix and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiny", type=int, default=50, help="repetitions with 1,000 clients")
    parser.add_argument("--small", type=int, default=20, help="repetitions with 1,000,000 clients")
    parser.add_argument("--crowded", type=int, default=50, help="most repetitions of over_x10")
    parser.add_argument("--output", type=Path, default=Path("docs/results"))
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    path = options.output / "rappor_matrix.json"
    known = json.loads(path.read_text()) if path.exists() else {"matrix": []}
    wanted = matrix(options.tiny, options.small, options.crowded)
    rows = {
        "matrix": run_all(wanted, known["matrix"], "matrix"),
        "elsewhere": run_all(elsewhere(options.small), [], "elsewhere"),
        "large": run_apart(large()),
    }
    write(rows, path)
    (options.output / "rappor_matrix.md").write_text(page(rows))
    picture(rows["matrix"], options.output / "rappor_matrix.png")
    print(page(rows))


def write(rows: dict[str, list[dict[str, Any]]], path: Path) -> None:
    """Write the figures, one line per cell."""
    lines = [
        f'"{name}": [\n' + ",\n".join(json.dumps(_rounded(row)) for row in part) + "\n]"
        for name, part in rows.items()
    ]
    path.write_text("{" + ",\n".join(lines) + "}\n")


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _rounded(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_rounded(v) for v in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value


if __name__ == "__main__":
    main()
