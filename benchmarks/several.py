"""Measure whether the mechanism for several answers is the best, and whether intervals cover.

``python -m benchmarks.several`` writes docs/results/several.json and .md:

- errors: the variance of a share of most / (2 k), for the chosen mechanism and for all sizes of
  PrivSet, one label, some labels drawn with sets of these, items drawn one by one (KRR), arcs of a
  wheel, and unary encodings with epsilon for all bits; from formulas, and for the chosen mechanism
  also measured over simulated collections;
- coverage of 95 % intervals: shares, pairs, numbers of ticks, their mean, differences;
- the default estimator next to the unbiased shares, cut at 0 and 1.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import murmurs as mm
from murmurs.mechanisms.sets.sizes import set_variances
from murmurs.planning.ticks import choose_for_sets, one_label_variance

KS, MOSTS, EPSILONS = (4, 6, 10, 20, 30, 60, 100, 200), (1, 2, 3, 5, 10), (0.5, 1.0, 2.0, 4.0)
FAMILIES = ("sets", "one label", "one item", "wheel", "unary", "some labels")
RESULTS = Path(__file__).parent.parent / "docs" / "results"
Floats = Any


def variance_of(p: float, q: float, share: float) -> float:
    """Return the variance of a share from counts of support, times n."""
    if p - q < 1e-12:
        return math.inf
    return (share * p * (1 - p) + (1 - share) * q * (1 - q)) / (p - q) ** 2


def every(k: int, most: int, epsilon: float) -> dict[str, float]:
    """Return the variance of each family at its best parameters, times n."""
    share, a = most / (2 * k), math.exp(epsilon)
    sets = set_variances(k, most, epsilon, np.arange(1, k + 1))
    found = {
        "sets": float(sets[0].min()),
        "sets, any overlap": float(sets.min()),
        "one label": one_label_variance(k, epsilon, share) if k > 1 else math.inf,
    }
    inner = 1 + most * (a - 1)
    items = inner + k + most - 1
    found["one item"] = most**2 * variance_in(inner / items, 1 / items, share, most)
    wheel = [
        variance_of(u * a / (1 + most * u * (a - 1)), u, share)
        for u in 1 / np.arange(most + 1, 60 * most + 200)
    ]
    found["wheel"] = float(min(wheel))
    flips = math.exp(epsilon / min(2 * most, k))
    found["unary"] = flips / (flips - 1) ** 2
    groups = []
    for g in range(2, min(k, 40)):
        within = min(most, g)
        best = float(set_variances(g, within, epsilon, np.arange(1, g + 1), share).min())
        groups.append(k / g * best + (k / g - 1) * share * (1 - share))
    found["some labels"] = min(groups, default=math.inf)
    return found


def variance_in(p: float, q: float, share: float, most: int) -> float:
    """Return the variance if one of ``most`` items is drawn and reported with p and q."""
    rate = q + share * (p - q) / most
    return rate * (1 - rate) / (p - q) ** 2


def population(k: int, most: int, n: int, seed: int) -> dict[tuple[int, ...], int]:
    """Return people with 0 to ``most`` ticks, labels by Zipf's law, the first two together."""
    rng = np.random.default_rng(seed)
    weights = np.arange(1, k + 1) ** -0.7
    ticks = rng.integers(0, most + 1, 400)
    people: Counter[tuple[int, ...]] = Counter()
    for size in ticks.tolist():
        order = np.argsort(-(rng.gumbel(size=k) + np.log(weights)))[:size].tolist()
        own = set(order)
        if 0 in own and len(own) < most:
            own.add(1)
        people[tuple(sorted(own))] += n // 400
    return dict(people)


def shares_of(people: dict[tuple[int, ...], int], k: int) -> Floats:
    """Return the share of each label."""
    out = np.zeros(k)
    for ticks, number in people.items():
        out[list(ticks)] += number
    return out / sum(people.values())


def sampled(people: dict[tuple[int, ...], int], n: int, rng: np.random.Generator) -> Any:
    """Return n people from this population."""
    law = np.array(list(people.values()), float)
    return list(zip(people, rng.multinomial(n, law / law.sum()).tolist(), strict=True))


def errors() -> list[dict[str, Any]]:
    """Compare the chosen mechanism with all families."""
    rows = []
    for k in KS:
        for most in (m for m in MOSTS if m <= k):
            for epsilon in EPSILONS:
                chosen = choose_for_sets(k, most, epsilon).mechanism
                share = most / (2 * k)
                families = every(k, most, epsilon)
                if isinstance(chosen, mm.PrivSet):
                    law = chosen.channel
                    own = variance_of(float(law.hit), float(law.miss), share)
                else:
                    own = families["one label"]
                best = min(families, key=lambda name: families[name])
                rows.append(
                    {
                        "k": k,
                        "most": most,
                        "epsilon": epsilon,
                        "chosen": repr(chosen),
                        "variance": own,
                        "best": best,
                        "ratio": own / families[best],
                        "families": families,
                    }
                )
    return rows


CELLS = [
    (4, 2, 1.0, False),
    (4, 3, 0.5, False),
    (10, 3, 1.0, False),
    (10, 3, 4.0, True),
    (30, 3, 1.0, True),
    (100, 5, 2.0, False),
    (200, 10, 4.0, False),
]


def coverage(runs: int) -> list[dict[str, Any]]:
    """Simulate collections, and count how often intervals contain the truth."""
    rows = []
    for number, (k, most, epsilon, pairs) in enumerate(CELLS):
        mechanism = choose_for_sets(k, most, epsilon, pairs=pairs).mechanism
        for n in (400, 4000, 40_000):
            if n > 4000 and (pairs or k > 10):
                continue
            people = population(k, most, 400_000, number)
            rng = np.random.default_rng((number, n))
            truth = shares_of(people, k)
            lengths = [len(ticks) for ticks in people]
            ticks = np.bincount(lengths, list(people.values()), most + 1) / 400_000
            both = sum(n for ticks, n in people.items() if {0, 1} <= {*ticks}) / 400_000
            hits: dict[str, list[float]] = {}
            squares, clipped, shrunk = [], [], []
            before = None
            for _ in range(runs):
                counts = mechanism.simulate(sampled(people, n, rng), rng)
                est = mm.estimate(counts, labels=[str(j) for j in range(k)])
                assert isinstance(est, mm.TicksEstimate)
                low, high = est.interval()
                hits.setdefault("shares", []).append(
                    float(((low <= truth) & (truth <= high)).mean())
                )
                mean = est.mean_ticks()
                hits.setdefault("mean number of ticks", []).append(
                    float(mean.low <= truth.sum() <= mean.high)
                )
                if isinstance(mechanism, mm.PrivSet):
                    found = est.ticks()
                    inside = (found.low <= ticks) & (ticks <= found.high)
                    hits.setdefault("numbers of ticks", []).append(float(inside.mean()))
                if pairs:
                    listed = est.pairs()
                    at = listed.names.index(("0", "1"))
                    hits.setdefault("the pair that goes together", []).append(
                        float(listed.low[at] <= both <= listed.high[at])
                    )
                if before is not None:
                    change = est.difference(before)
                    limits = change.interval()
                    hits.setdefault("differences", []).append(
                        float(((limits[0] <= 0) & (limits[1] >= 0)).mean())
                    )
                    hits.setdefault("no false change", []).append(float(change.p_value > 0.05))
                    before = None
                else:
                    before = est
                squares.append((est.unbiased - truth) ** 2)
                clipped.append(np.abs(np.clip(est.unbiased, 0, 1) - truth).sum())
                shrunk.append(np.abs(est.shares - truth).sum())
            constant, slope = mechanism.channel.noise(truth, n)
            if isinstance(mechanism, mm.OneLabel):
                wanted = constant + k * truth * (1 - truth) / n
            else:
                wanted = constant + slope * truth + truth * (1 - truth) / n
            rows.append(
                {
                    "mechanism": repr(mechanism),
                    "n": n,
                    "covered": {name: float(np.mean(found)) for name, found in hits.items()},
                    "variance": float((np.mean(squares, axis=0) / wanted).mean()),
                    "shrinkage": float(np.mean(shrunk) / np.mean(clipped)),
                }
            )
            print(rows[-1], flush=True)
    return rows


def page(found: dict[str, Any]) -> str:
    """Return the page."""
    rows, covered = found["errors"], found["coverage"]
    ratios = np.array([row["ratio"] for row in rows])
    worse = [row for row in rows if row["ratio"] > 1.03]
    near = ratios[ratios <= 1.03]
    out = [
        "# Several answers",
        "",
        "`python -m benchmarks.several` writes this page.",
        "",
        "## The mechanism that is chosen",
        "",
        f"{len(rows)} settings: k {KS[0]} to {KS[-1]}, at most 1 to 10 ticks, ε from 0.5 to 4.",
        f"In {len(near)} of them, the variance of a share of most / (2 k) with the chosen",
        f"mechanism is at most {near.max():.3f} times the smallest of all families.",
    ]
    if worse:
        out.append(f"In the other {len(worse)}:\n" if len(worse) > 1 else "The exception:\n")
        out += [
            f"- k = {row['k']}, most = {row['most']}, ε = {row['epsilon']:g}: "
            f"{row['ratio']:.2f} times that of {row['best']}"
            for row in worse
        ]
    out += [
        "",
        "Families: sets (`PrivSet` with an overlap of 1; the chosen one may have any), one label",
        "(`OneLabel`), some labels drawn and sets of these, one item drawn and reported by k-ary",
        "randomised response, arcs of a wheel, unary encodings.",
        "",
        f"| k | most | ε | chosen | n · variance | {' | '.join(FAMILIES)} |",
        "|---:|---:|---:|---|---:|" + "---:|" * len(FAMILIES),
    ]
    for row in rows:
        if row["k"] in (4, 10, 30, 200) and row["most"] in (1, 3, 10):
            cells = " | ".join(f"{row['families'][name]:.3g}" for name in FAMILIES)
            kind = row["chosen"].partition("(")[0]
            start = f"| {row['k']} | {row['most']} | {row['epsilon']:g} | `{kind}`"
            out.append(f"{start} | {row['variance']:.3g} | {cells} |")
    out += [
        "",
        "## Intervals",
        "",
        f"Covered by 95 % intervals, in % over {found['runs']} collections each;",
        '"no false change" is how often two collections from one population have p > 0.05.',
        "Also the variance of the unbiased shares as a multiple of its formula, and the l1 error",
        "of the default estimator as a multiple of that of the unbiased shares cut at 0 and 1.",
        "",
    ]
    kinds = list(dict.fromkeys(name for row in covered for name in row["covered"]))
    out += [
        "| mechanism | n | " + " | ".join(kinds) + " | variance | default |",
        "|---|---:|" + "---:|" * (len(kinds) + 2),
    ]
    for row in covered:
        cells = " | ".join(
            f"{100 * row['covered'][name]:.1f}" if name in row["covered"] else "–" for name in kinds
        )
        ends = f"{row['variance']:.2f} | {row['shrinkage']:.2f} |"
        out.append(f"| `{row['mechanism']}` | {row['n']:,} | {cells} | {ends}")
    return "\n".join(out) + "\n"


def main() -> None:
    """Measure, and write both files."""
    runs = 150
    found = {"runs": runs, "errors": errors(), "coverage": coverage(runs)}
    (RESULTS / "several.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (RESULTS / "several.md").write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    main()
