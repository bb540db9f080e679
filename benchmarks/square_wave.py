"""Numbers by the square wave, next to other ways to ask for them at the same epsilon.

``python -m benchmarks.square_wave`` writes docs/results/square_wave.json and .md:

- shapes: errors of the distribution function, mean and 90 % quantile of the square wave, of
  k-subset and of a tree of intervals (HIO), which is written here from the papers, over simulated
  collections of the smooth laws of `benchmarks.ordered`;
- means: exact standard errors next to the mechanisms of Duchi et al. (2018) and the piecewise and
  hybrid mechanisms of Wang et al. (2019), from the variances that the papers prove;
- windows: exact standard errors with wider and narrower windows than the default.

All lengths are parts of the range.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from benchmarks.ordered import Floats, smooth_laws
from benchmarks.square_wave_page import SHOWN, page

import murmurs as mm
from murmurs.estimators import BY_NAME
from murmurs.mechanisms.closed.square_wave import window
from murmurs.numerics.simplex import project

KS = (7, 11, 15, 20, 24, 60, 150)
SETTINGS = ((0.5, 10_000), (1.0, 10_000), (2.0, 10_000), (3.0, 10_000), (4.0, 10_000), (1.0, 10**5))
SEED = 20_262
RESULTS = Path(__file__).parent.parent / "docs" / "results"
FAN_OUT = 4
"""Children of a node of the tree, as in Li et al. (2020)."""

EPSILONS = (0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0)
"""Of the exact errors."""

TIMES = (0.25, 0.5, 0.7, 1.0, 1.4, 2.0)
"""Windows as multiples of the default."""


def tree(people: Any, epsilon: float, rng: np.random.Generator) -> Floats:
    """Return the shares that a tree of intervals estimates: HIO of Wang et al. (2019).

    Each person draws one level, and reports the interval that contains the answer by OUE, or by
    k-ary randomised response where its variance is smaller. The estimate is the law with the least
    squares from what the levels say, weighted by their noise: what Li et al. (2020) look for by
    ADMM, found here by accelerated projected gradients.
    """
    k = len(people)
    heights = [FAN_OUT**h for h in range(math.ceil(math.log(k) / math.log(FAN_OUT) - 1e-9))]
    levels = rng.multinomial(people, np.full(len(heights), 1 / len(heights))).T
    square, linear = np.zeros((k, k)), np.zeros(k)
    for height, drawn in zip(heights, levels, strict=True):
        node = np.arange(k) // height
        inside = (node == np.arange(node[-1] + 1)[:, None]).astype(float)
        made = (mm.OUE(k=len(inside), epsilon=epsilon), mm.KRR(k=len(inside), epsilon=epsilon))
        noise = [each.channel.expected_l2(1) / len(inside) for each in made]
        counts = made[int(noise[1] < noise[0])].simulate((inside @ drawn).astype(np.int64), rng)
        weight = drawn.sum() / min(noise)
        square += weight * inside.T @ inside
        linear += weight * inside.T @ BY_NAME["unbiased"](counts).shares
    step = 1 / np.linalg.eigvalsh(square)[-1]
    shares = ahead = np.full(k, 1 / k)
    pace = 1.0
    for _ in range(3000):
        before, shares = shares, project(ahead - step * (square @ ahead - linear))
        if np.abs(shares - before).max() < 1e-9:
            break
        faster = (1 + math.sqrt(1 + 4 * pace**2)) / 2
        ahead = shares + (pace - 1) / faster * (shares - before)
        pace = faster
    return shares


def asked(kind: Any, estimator: str) -> Callable[[Any, float, np.random.Generator], Floats]:
    """Return what simulates a mechanism and estimates by name."""

    def run(people: Any, epsilon: float, rng: np.random.Generator) -> Floats:
        counts = kind(k=len(people), epsilon=epsilon).simulate(people, rng)
        return BY_NAME[estimator](counts).shares

    return run


WAYS = {
    "SquareWave, `smooth`": asked(mm.SquareWave, "smooth"),
    "SquareWave, `ems`": asked(mm.SquareWave, "ems"),
    "Subset, `smooth`": asked(mm.Subset, "smooth"),
    "Subset, `shrinkage`": asked(mm.Subset, "shrinkage"),
    "tree": tree,
}


def quantile(shares: Floats, at: float) -> float:
    """Return a quantile, as if answers were spread evenly within a bucket."""
    below = np.append(0, np.cumsum(shares))
    return float(np.interp(at, below / below[-1], np.linspace(0, 1, len(below))))


def errors(shares: Floats, truth: Floats) -> list[float]:
    """Return the errors: W1, KS, that of the mean and that of the 90 % quantile."""
    below = np.abs(np.cumsum(shares - truth))
    middles = (np.arange(len(truth)) + 0.5) / len(truth)
    mean = abs(float(middles @ (shares - truth)))
    return [below.mean(), below.max(), mean, abs(quantile(shares, 0.9) - quantile(truth, 0.9))]


def shapes(repetitions: int) -> list[dict[str, Any]]:
    """Return the mean errors of each way in each cell: a law, an epsilon and a number of people."""
    rng = np.random.default_rng(SEED)
    rows = []
    for k in KS:
        for law, shares in smooth_laws(k).items():
            for epsilon, n in SETTINGS:
                found: dict[str, list[list[float]]] = {name: [] for name in WAYS}
                for _ in range(repetitions):
                    people = rng.multinomial(n, shares / shares.sum())
                    for name, way in WAYS.items():
                        found[name].append(errors(way(people, epsilon, rng), people / n))
                mean = {name: np.mean(own, axis=0).tolist() for name, own in found.items()}
                rows.append({"k": k, "law": law, "epsilon": epsilon, "n": n, "errors": mean})
        print(f"{k} buckets", flush=True)
    return rows


def duchi(t: Floats, epsilon: float) -> Floats:
    """Return the variance for answers t from -1 to 1; Duchi et al. (2018)."""
    return np.asarray(1 / np.tanh(epsilon / 2) ** 2 - t**2)


def piecewise(t: Floats, epsilon: float) -> Floats:
    """Return the variance; Wang et al. (2019), lemma 1."""
    half = math.exp(epsilon / 2)
    return np.asarray(t**2 / (half - 1) + (half + 3) / (3 * (half - 1) ** 2))


def hybrid(t: Floats, epsilon: float) -> Floats:
    """Return the variance; Wang et al. (2019), equation 7: one of the two, drawn at random."""
    part = 1 - math.exp(-epsilon / 2) if epsilon > 0.61 else 0.0
    return np.asarray(part * piecewise(t, epsilon) + (1 - part) * duchi(t, epsilon))


FOR_MEANS = {"Duchi": duchi, "piecewise": piecewise, "hybrid": hybrid}


def exact(mechanism: Any, rows: Floats, shares: Floats) -> Floats:
    """Return the standard errors of sums of unbiased shares, times the root of n."""
    functional = mechanism.channel.functional(rows, 1)
    noise = mechanism.channel.functional_covariance(functional, shares, 1)
    return np.asarray(np.sqrt(np.diag(noise)))


def means() -> list[dict[str, Any]]:
    """Return standard errors times the root of n, averaged over the laws.

    Those of the mean, and of the distribution function as the ratio of the square wave to k-subset.
    """
    rows = []
    for k in SHOWN:
        middles = (np.arange(k) + 0.5) / k
        sums = np.vstack([middles, np.tri(k - 1, k)])
        for epsilon in EPSILONS:
            found: dict[str, list[float]] = {}
            below: dict[str, list[float]] = {}
            for law in smooth_laws(k).values():
                shares = law / law.sum()
                for kind in (mm.SquareWave, mm.Subset):
                    noise = exact(kind(k=k, epsilon=epsilon), sums, shares)
                    found.setdefault(kind.__name__, []).append(float(noise[0]))
                    below.setdefault(kind.__name__, []).append(float(noise[1:].mean()))
                for name, variance in FOR_MEANS.items():
                    own = math.sqrt(variance(2 * middles - 1, epsilon) @ shares) / 2
                    found.setdefault(name, []).append(own)
            best = np.min([found[name] for name in FOR_MEANS], axis=0)
            rows.append(
                {
                    "k": k,
                    "epsilon": epsilon,
                    "errors": {name: float(np.mean(own)) for name, own in found.items()},
                    "worst": float((found["SquareWave"] / best).max()),
                    "below": float(np.mean(below["SquareWave"]) / np.mean(below["Subset"])),
                }
            )
    return rows


def windows(k: int) -> list[dict[str, Any]]:
    """Return errors relative to those of the default window: of the mean, and of the CDF."""
    sums = np.vstack([(np.arange(k) + 0.5) / k, np.tri(k - 1, k)])
    rows = []
    for epsilon in EPSILONS:
        best = window(k, epsilon, circular=False)
        found = []
        for times in TIMES:
            wave = mm.SquareWave(k=k, epsilon=epsilon, b=min(k, round(times * best)))
            laws = [law / law.sum() for law in smooth_laws(k).values()]
            noise = np.array([exact(wave, sums, shares) for shares in laws])
            found.append([float(noise[:, 0].mean()), float(noise[:, 1:].mean())])
        default = found[TIMES.index(1.0)]
        ratios = (np.array(found) / default).tolist()
        rows.append({"epsilon": epsilon, "b": best, "ratios": ratios})
    return rows


def main() -> None:
    """Measure and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=3)
    repetitions, buckets = parser.parse_args().repetitions, 60
    found = {
        "seed": SEED,
        "repetitions": repetitions,
        "buckets": buckets,
        "times": TIMES,
        "means": means(),
        "windows": windows(buckets),
        "shapes": shapes(repetitions),
    }
    text = json.dumps(found, ensure_ascii=False).replace('{"k"', '\n{"k"')
    (RESULTS / "square_wave.json").write_text(text + "\n", encoding="utf-8")
    (RESULTS / "square_wave.md").write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    main()
