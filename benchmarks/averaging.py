"""What an attacker learns who collects a thousand reports of each person.

``python -m benchmarks.averaging`` writes docs/results/averaging.json, .md and .png: how often the
most likely guess is right after t reports, for devices that keep their permanent response and for
devices that draw it anew, for people whose value stays and for people who go to and fro between
two values, beside what the two epsilons allow.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray

import murmurs as mm
from murmurs.hashing import buckets
from murmurs.privacy import SCALE

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Row = dict[str, Any]
Kind = mm.BasicRappor | mm.LOSUE | mm.LOLOHA
K = 10
SETTINGS = ((1.0, 2.0), (2.0, 4.0))
TIMES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
ATTACKS = {
    "value": "Which value? The value stays the same",
    "change": "Did it change? Half of the values go to and fro",
    "values": "Which two values? They take turns",
}


def mechanisms(epsilon: float, forever: float) -> list[Kind]:
    """Return the three, with the same two promises."""
    f = 2 / (1 + math.exp(forever / 2))
    p = (1 / (1 + math.exp(epsilon / 2)) - f / 2) / (1 - f)
    rappor = mm.BasicRappor(K, f=f, p=p, q=1 - p)
    return [rappor, mm.LOSUE(K, epsilon, forever), mm.LOLOHA(K, epsilon, forever)]


def bound(epsilon: float, cases: int) -> float:
    """Return how often a guess among equally likely cases can be right, at most."""
    return 1 / (1 + (cases - 1) * math.exp(-epsilon))


# A crowd draws permanent responses and reports; an attacker sees how the reports add up


@dataclass(frozen=True)
class Rows:
    """People with unary encodings: each bit is seen a number of times."""

    mechanism: mm.BasicRappor | mm.LOSUE
    n: int

    def responses(self, values: Integers, rng: np.random.Generator) -> NDArray[Any]:
        """Return a permanent bit for each person and answer."""
        random = mm.Study(rng)
        rows = [self.mechanism._permanent(int(x), lambda *_: random) for x in values]
        packed = np.frombuffer(b"".join(rows), np.uint8).reshape(self.n, -1)
        return np.unpackbits(packed, axis=1, count=K, bitorder="little")

    def chances(self) -> tuple[float, float, float, float]:
        """Return those of a permanent bit, own and other, and of a bit made from one and zero."""
        m = self.mechanism
        if isinstance(m, mm.LOSUE):
            return 0.5, m.permanent / SCALE, 1 - m.flip / SCALE, m.flip / SCALE
        return 1 - m.f / 2, m.f / 2, m.q, m.p

    def seen(self, responses: NDArray[Any], t: int, rng: np.random.Generator) -> Integers:
        """Return how often each bit is set in t reports."""
        _, _, busy, idle = self.chances()
        return rng.binomial(t, np.where(responses == 1, busy, idle))

    def support(self, seen: Integers) -> Integers:
        """Return how many reports support each answer."""
        return seen

    def pairs(self, odd: Integers, even: Integers, t: int) -> tuple[Floats, Floats]:
        """Return log-likelihoods of each single value, and of each pair of different ones."""
        own, other, busy, idle = self.chances()

        def log(*seen: Integers) -> tuple[Floats, Floats]:
            """Return those of the own bit and of another, all seen from one permanent bit."""
            one = sum(x * math.log(busy) + (t - x) * math.log1p(-busy) for x in seen)
            zero = sum(x * math.log(idle) + (t - x) * math.log1p(-idle) for x in seen)
            true, false = (
                np.logaddexp(math.log(c) + one, math.log1p(-c) + zero) for c in (own, other)
            )
            return true - false, false.sum(axis=1)

        gain, base = log(odd, even)
        (first, base_odd), (second, base_even) = log(odd), log(even)
        both = (base_odd + base_even)[:, None, None] + first[:, :, None] + second[:, None, :]
        return gain + base[:, None], without_diagonal(both)


@dataclass(frozen=True)
class Functions:
    """People with local hashing: each bucket of a person's function is seen a number of times."""

    mechanism: mm.LOLOHA
    seeds: NDArray[np.uint32]

    @property
    def own(self) -> Integers:
        """The bucket of each answer under each person's function."""
        keys = np.arange(K, dtype=np.uint64)[None, :]
        return buckets(keys, self.seeds[:, None], self.mechanism.g).astype(np.int64)

    def responses(self, values: Integers, rng: np.random.Generator) -> Integers:
        """Return the permanent bucket of each person."""
        m = self.mechanism
        honest = mm.Study(rng)
        own = self.own[np.arange(len(values)), values]
        return np.array([m._round(int(x), m.permanent, honest) for x in own])

    def law(self, truth: int) -> Floats:
        """Return the chances of one round."""
        t, g = truth / SCALE, self.mechanism.g
        return np.full((g, g), (1 - t) / g) + t * np.eye(g)

    def seen(self, responses: Integers, t: int, rng: np.random.Generator) -> Integers:
        """Return how often each bucket is the value of one of t reports."""
        return rng.multinomial(t, self.law(self.mechanism.truth)[responses])

    def support(self, seen: Integers) -> Integers:
        """Return how many reports support each answer."""
        return np.take_along_axis(seen, self.own, axis=1)

    def pairs(self, odd: Integers, even: Integers, t: int) -> tuple[Floats, Floats]:
        """Return log-likelihoods of each single value, and of each pair of different ones."""
        instant, lasting = (
            np.log(self.law(self.mechanism.truth)),
            self.law(self.mechanism.permanent),
        )
        logs = [
            np.asarray(seen @ instant.T, np.float64) for seen in (odd, even)
        ]  # by permanent value

        def mixed(by_state: Floats) -> Floats:
            """Return the log-likelihood of each bucket: the mean over permanent values."""
            top = by_state.max(axis=1, keepdims=True)
            return np.asarray(top + np.log(np.exp(by_state - top) @ lasting))

        one, first, second = mixed(logs[0] + logs[1]), mixed(logs[0]), mixed(logs[1])
        own = self.own
        single = np.take_along_axis(one, own, axis=1)
        apart = np.take_along_axis(first, own, axis=1)[:, :, None]
        apart = apart + np.take_along_axis(second, own, axis=1)[:, None, :]
        shared = own[:, :, None] == own[:, None, :]  # one bucket has one permanent response
        return single, without_diagonal(np.where(shared, single[:, :, None], apart))


def without_diagonal(pairs: Floats) -> Floats:
    """Return the pairs with those of a value with itself made impossible."""
    return np.where(np.eye(K, dtype=bool), -np.inf, pairs)


def log_mean(logs: Floats, cases: int) -> Floats:
    """Return the logarithm of the mean likelihood of so many cases."""
    flat = logs.reshape(len(logs), -1)
    top = flat.max(axis=1)
    return np.asarray(top + np.log(np.exp(flat - top[:, None]).sum(axis=1) / cases))


def crowd(mechanism: Kind, n: int, rng: np.random.Generator) -> Rows | Functions:
    """Return n people with devices that keep their permanent responses."""
    if isinstance(mechanism, mm.LOLOHA):
        return Functions(mechanism, rng.integers(0, 2**32, n, np.uint32))
    return Rows(mechanism, n)


def right(score: NDArray[Any], truth: Integers, rng: np.random.Generator) -> float:
    """Return how often the highest score is the truth; ties are broken at random."""
    flat = score.reshape(len(score), -1)
    top = flat >= flat.max(axis=1, keepdims=True) - 1e-9
    guess = np.argmax(top * rng.random(flat.shape), axis=1)
    return float((guess == truth).mean())


# The three attacks


def guess_value(
    mechanism: Kind, n: int, times: tuple[int, ...], rng: np.random.Generator
) -> list[float]:
    """Return how often the value that most reports support is the true one, after each t."""
    values = rng.integers(0, K, n)
    people = crowd(mechanism, n, rng)
    responses = people.responses(values, rng)
    seen: Any = 0
    found = []
    for step in np.diff((0, *times)):
        seen = seen + people.seen(responses, int(step), rng)
        found.append(right(people.support(seen), values, rng))
    return found


def guess_fresh(
    mechanism: Kind, n: int, times: tuple[int, ...], rng: np.random.Generator
) -> list[float]:
    """Return the same for devices that draw their permanent response anew for every report."""
    values = rng.integers(0, K, n)
    support = np.zeros((n, K), np.int64)
    found = []
    for step in np.diff((0, *times)):
        for part in np.array_split(np.arange(n), -(-n * int(step) // 10**6)):
            reports = mechanism.encode_many(np.repeat(values[part], step), rng)
            bits = np.unpackbits(mechanism.supports(reports), axis=1, count=K, bitorder="little")
            support[part] += bits.reshape(len(part), step, K).sum(axis=1, dtype=np.int64)
        found.append(right(support, values, rng))
    return found


def guess_change(
    mechanism: Kind, n: int, times: tuple[int, ...], rng: np.random.Generator
) -> tuple[list[float], list[float]]:
    """Return how often a change is told from none, and how often both values are guessed.

    Half of the people keep their value; the others take another for every second report. Who knows
    when a value would change needs only the reports of either half.
    """
    values = rng.integers(0, K, n)
    others = (values + rng.integers(1, K, n)) % K
    people = crowd(mechanism, n, rng)
    first = people.responses(values, rng)
    second = people.responses(others, rng)
    if isinstance(people, Functions):
        own = people.own
        same = own[np.arange(n), values] == own[np.arange(n), others]
        second = np.where(same, first, second)
    changed = np.arange(n) % 2 == 1
    still = changed[:, None] if second.ndim == 2 else changed
    second = np.where(still, second, first)
    odd: Any = 0
    even: Any = 0
    told, both = [], []
    for before, t in zip((0, *times), times, strict=False):
        odd = odd + people.seen(first, t - before, rng)
        even = even + people.seen(second, t - before, rng)
        single, pairs = people.pairs(odd, even, t)
        score = np.stack([log_mean(single, K), log_mean(pairs, K * (K - 1))], axis=1)
        told.append(right(score, changed.astype(np.int64), rng))
        truth = values * K + others
        both.append(right(pairs[changed], truth[changed], rng))
    return told, both


def study(n: int, times: tuple[int, ...], seed: int = 1) -> list[Row]:
    """Return the rates of all attacks."""
    rows: list[Row] = []
    for epsilon, forever in SETTINGS:
        for mechanism in mechanisms(epsilon, forever):
            rng = np.random.default_rng(seed)
            told, both = guess_change(mechanism, n, times, rng)
            twice = [2 * t for t in times]
            found: list[tuple[str, bool, list[int], list[float]]] = [
                ("value", True, list(times), guess_value(mechanism, n, times, rng)),
                ("value", False, list(times), guess_fresh(mechanism, n, times, rng)),
                ("change", True, twice, told),
                ("values", True, twice, both),
            ]
            for attack, kept, ts, rates in found:
                rows.append(
                    {
                        "epsilon": epsilon,
                        "forever": forever,
                        "mechanism": type(mechanism).__name__,
                        "attack": attack,
                        "kept": kept,
                        "t": ts,
                        "rate": rates,
                    }
                )
    return rows


def bounds(attack: str, epsilon: float, forever: float) -> dict[str, float]:
    """Return what the promises allow."""
    if attack == "value":
        return {"one report": bound(epsilon, K), "for ever": bound(forever, K)}
    if attack == "values":
        return {"for ever": bound(2 * forever, K * (K - 1))}
    return {}


# Results


def page(rows: list[Row], n: int) -> str:
    """Return docs/results/averaging.md."""
    lines = [
        "# Averaging",
        "",
        f"Written by `benchmarks.averaging`: {n} people a line hold one of {K} values, all equally "
        "likely, and an attacker who knows everything but the devices' secrets makes the likeliest "
        "guess from t reports of each. *kept*: the device keeps its permanent response; *anew*: it "
        "draws one for every report. What [memoisation](../longitudinal.md) does and does not do.",
        "",
        "![how often guesses are right](averaging.png)",
        "",
        "Lines are kept permanent responses, dashed ones responses drawn anew; what the promises "
        "allow is grey, what is guessed without any report dotted. In the middle nothing is "
        "promised. Whoever knows when a value would change needs only the sums of either half of "
        "the reports, so it makes no difference how often it goes to and fro.",
    ]
    for epsilon, forever in SETTINGS:
        lines += ["", f"## ε = {epsilon:g} for one report, {forever:g} for ever"]
        for attack, title in ATTACKS.items():
            group = [r for r in rows if (r["epsilon"], r["attack"]) == (epsilon, attack)]
            heads = [f"t = {t}" for t in group[0]["t"]]
            lines += ["", f"{title}:", "", "| | " + " | ".join(heads) + " |"]
            lines += ["|---|" + "---:|" * len(heads)]
            for r in group:
                name = f"`{r['mechanism']}`, {'kept' if r['kept'] else 'anew'}"
                shown = [f"{100 * rate:.1f} %" for rate in r["rate"]]
                lines.append(f"| {name} | " + " | ".join(shown) + " |")
            for name, limit in bounds(attack, epsilon, forever).items():
                first = f"{100 * limit:.1f} %"
                cells = [first if name == "for ever" or i == 0 else "" for i in range(len(heads))]
                lines.append(f"| *at most, {name}* | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


BLIND = {"value": 1 / K, "change": 1 / 2, "values": 1 / (K * (K - 1))}
"""How often a guess without reports is right."""

COLOURS = {"BasicRappor": "#ee7733", "LOSUE": "#0077bb", "LOLOHA": "#009988"}
MARKS = {"BasicRappor": "s", "LOSUE": "o", "LOLOHA": "^"}


def picture(rows: list[Row], path: Path) -> None:
    """Draw the rates of the first setting against the number of reports, one panel an attack."""
    from matplotlib.figure import Figure

    epsilon, forever = SETTINGS[0]
    figure = Figure(figsize=(10.5, 3.8), layout="constrained")
    axes = figure.subplots(1, len(ATTACKS), sharey=True)
    for ax, (attack, title) in zip(axes, ATTACKS.items(), strict=True):
        question, _, rest = title.partition("? ")
        grey: dict[str, Any] = {"color": "#777777", "linewidth": 1}
        level(ax, BLIND[attack], "without reports", linestyle=":", **grey)
        if attack in ("value", "values"):
            level(ax, bounds(attack, epsilon, forever)["for ever"], "at most, for ever", **grey)
        for r in rows:
            if (r["epsilon"], r["attack"]) != (epsilon, attack):
                continue
            ax.semilogx(
                r["t"],
                [100 * rate for rate in r["rate"]],
                color=COLOURS[r["mechanism"]],
                marker=MARKS[r["mechanism"]],
                markersize=4,
                linewidth=1.4,
                linestyle="-" if r["kept"] else (0, (3, 2)),
                markerfacecolor=COLOURS[r["mechanism"]] if r["kept"] else "white",
                label=r["mechanism"] + (", kept" if r["kept"] else ", anew"),
            )
        ax.set_title(f"{question}?\n{rest}", loc="left", fontsize=10)
        ax.set_xlabel("reports t of each person")
        ax.set_xlim(0.8, 2500)
        ax.set_ylim(0, 103)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("guesses that are right, %")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False, fontsize=9)
    figure.suptitle(
        f"ε = {epsilon:g} for one report, {forever:g} for ever; {K} values", fontsize=10
    )
    figure.savefig(path, dpi=150)


def level(ax: Any, rate: float, name: str, **style: Any) -> None:
    """Draw a rate as a line across a panel, with its name at the right."""
    ax.axhline(100 * rate, **style)
    if rate > 0.05:
        ax.text(2300, 100 * rate + 1, name, color="#555555", fontsize=8, ha="right")


def main() -> None:
    """Run the study and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=20_000)
    parser.add_argument("--output", type=Path, default=Path("docs/results"))
    options = parser.parse_args()
    rows = study(options.people, TIMES)
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "averaging.json").write_text(json.dumps(rows, indent=0), encoding="utf-8")
    text = page(rows, options.people)
    (options.output / "averaging.md").write_text(text, encoding="utf-8")
    picture(rows, options.output / "averaging.png")
    print(text)


if __name__ == "__main__":
    main()
