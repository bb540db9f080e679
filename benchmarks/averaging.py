"""What an attacker learns from a thousand reports of each person.

``python -m benchmarks.averaging`` writes docs/results/averaging.json, .md and .png: how often the
most likely guess is right after t reports, for devices that keep their permanent response and for
devices that draw a new one for every report; for people whose value stays the same, alternates
between two values, or returns to an earlier one; and for surveys that are published again. The
results also show what the promises allow.
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
from murmurs.devices.device import MEMORIES
from murmurs.numerics.xxh32 import buckets
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
    "change": "Did it change? Half of the values alternate",
    "values": "Which two values? They take turns",
}
COURSES = ((0, 1, 0, 2), (0, 1, 2, 0))
"""A, B, A, C and A, B, C, A: they change at the same reports and have the same values."""

COURSE_SETTING, COURSE_K = (0.1, 0.2), 64
COURSE_TIMES = (1, 2, 5, 10, 20, 40, 100)
SURVEYS = (1, 10, 100, 400, 1000)
REPUBLISHED = mm.BasicRappor(16, f=0.9, p=0.25, q=0.75)


def mechanisms(epsilon: float, epsilon_permanent: float, k: int = K) -> list[Kind]:
    """Return the three mechanisms, with the same two promises."""
    f = 2 / (1 + math.exp(epsilon_permanent / 2))
    p = (1 / (1 + math.exp(epsilon / 2)) - f / 2) / (1 - f)
    rappor = mm.BasicRappor(k, f=f, p=p, q=1 - p)
    return [
        rappor,
        mm.LOSUE(k, epsilon, epsilon_permanent),
        mm.LOLOHA(k, epsilon, epsilon_permanent),
    ]


def bound(epsilon: float, cases: int) -> float:
    """Return the largest probability of a right guess among equally likely cases."""
    return 1 / (1 + (cases - 1) * math.exp(-epsilon))


# A crowd draws permanent responses and reports; an attacker sees how the reports add up


@dataclass(frozen=True)
class Rows:
    """People with unary encodings: each bit is seen a number of times."""

    mechanism: mm.BasicRappor | mm.LOSUE
    n: int

    def responses(self, values: Integers, rng: np.random.Generator) -> NDArray[Any]:
        """Return a permanent bit for each person and answer."""
        own, other, _, _ = self.chances()
        bits = rng.random((self.n, self.mechanism.k)) < other
        bits[np.arange(self.n), values] = rng.random(self.n) < own
        return bits

    def chances(self) -> tuple[float, float, float, float]:
        """Return the probabilities of permanent bits, own and other, and of bits from 1 and 0."""
        m = self.mechanism
        if isinstance(m, mm.LOSUE):
            return 0.5, m.permanent_flip / SCALE, 1 - m.flip / SCALE, m.flip / SCALE
        return 1 - m.f / 2, m.f / 2, m.q, m.p

    def seen(self, responses: NDArray[Any], t: int, rng: np.random.Generator) -> Integers:
        """Return how often each bit is set in t reports."""
        _, _, busy, idle = self.chances()
        return rng.binomial(t, np.where(responses, busy, idle))

    def support(self, seen: Integers) -> Integers:
        """Return how many reports support each answer."""
        return seen

    def values(self, seen: Integers, t: int) -> Floats:
        """Return the log-likelihood of each value, if t reports come from one response to it."""
        own, other, busy, idle = self.chances()
        one = seen * math.log(busy) + (t - seen) * math.log1p(-busy)
        zero = seen * math.log(idle) + (t - seen) * math.log1p(-idle)
        true, false = (np.logaddexp(math.log(c) + one, math.log1p(-c) + zero) for c in (own, other))
        return np.asarray(true - false + false.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class Functions:
    """People with local hashing: each bucket of a person's function is seen a number of times."""

    mechanism: mm.LOLOHA
    seeds: NDArray[np.uint32]

    @property
    def own(self) -> Integers:
        """The bucket of each answer under each person's function."""
        keys = np.arange(self.mechanism.k, dtype=np.uint64)[None, :]
        return buckets(keys, self.seeds[:, None], self.mechanism.g).astype(np.int64)

    def responses(self, values: Integers, rng: np.random.Generator) -> Integers:
        """Return the permanent bucket of each person."""
        n, m = len(values), self.mechanism
        honest = rng.random(n) < m.permanent_truth / SCALE
        return np.where(honest, self.own[np.arange(n), values], rng.integers(0, m.g, n))

    def law(self, truth: int) -> Floats:
        """Return the probabilities of one round."""
        t, g = truth / SCALE, self.mechanism.g
        return np.full((g, g), (1 - t) / g) + t * np.eye(g)

    def seen(self, responses: Integers, t: int, rng: np.random.Generator) -> Integers:
        """Return how often each bucket is the value of one of t reports."""
        return rng.multinomial(t, self.law(self.mechanism.truth)[responses])

    def support(self, seen: Integers) -> Integers:
        """Return how many reports support each answer."""
        return np.take_along_axis(seen, self.own, axis=1)

    def values(self, seen: Integers, t: int) -> Floats:
        """Return the log-likelihood of each value, if t reports come from one response to it."""
        by_state = seen @ np.log(self.law(self.mechanism.truth)).T
        top = by_state.max(axis=1, keepdims=True)
        mixed = top + np.log(np.exp(by_state - top) @ self.law(self.mechanism.permanent_truth))
        return np.take_along_axis(mixed, self.own, axis=1)


def without_diagonal(pairs: Floats) -> Floats:
    """Return the pairs, with pairs of a value with itself made impossible."""
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


# The attacks


def guess_value(
    mechanism: Kind, n: int, times: tuple[int, ...], rng: np.random.Generator
) -> list[float]:
    """Return how often the value that most reports support is the true one, after each t."""
    values = rng.integers(0, mechanism.k, n)
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
    """Return the same for devices that draw a new permanent response for every report."""
    k = mechanism.k
    values = rng.integers(0, k, n)
    support = np.zeros((n, k), np.int64)
    found = []
    for step in np.diff((0, *times)):
        for part in np.array_split(np.arange(n), -(-n * int(step) // 10**6)):
            reports = mechanism.encode_many(np.repeat(values[part], step), rng)
            bits = np.unpackbits(mechanism.supports(reports), axis=1, count=k, bitorder="little")
            support[part] += bits.reshape(len(part), step, k).sum(axis=1, dtype=np.int64)
        found.append(right(support, values, rng))
    return found


def guess_change(
    mechanism: Kind, n: int, times: tuple[int, ...], rng: np.random.Generator
) -> tuple[list[float], list[float]]:
    """Return how often a change is recognised, and how often both values are guessed.

    Half of the people keep their value; the others give another for every second report. An
    attacker who knows when a value would change needs only the sums of the two halves.
    """
    values = rng.integers(0, K, n)
    others = (values + rng.integers(1, K, n)) % K
    people = crowd(mechanism, n, rng)
    first = people.responses(values, rng)
    second = people.responses(others, rng)
    changed = np.arange(n) % 2 == 1
    still = changed[:, None] if second.ndim == 2 else changed
    second = np.where(still, second, first)
    odd: Any = 0
    even: Any = 0
    told, both = [], []
    for before, t in zip((0, *times), times, strict=False):
        odd = odd + people.seen(first, t - before, rng)
        even = even + people.seen(second, t - before, rng)
        single, one, other = (
            people.values(odd + even, 2 * t),
            *(people.values(seen, t) for seen in (odd, even)),
        )
        pairs = without_diagonal(one[:, :, None] + other[:, None, :])
        score = np.stack([log_mean(single, K), log_mean(pairs, K * (K - 1))], axis=1)
        told.append(right(score, changed.astype(np.int64), rng))
        truth = values * K + others
        both.append(right(pairs[changed], truth[changed], rng))
    return told, both


def guess_course(mechanism: Kind, memory: str, n: int, t: int, rng: np.random.Generator) -> float:
    """Return how often the right one of two histories is guessed, from t reports per segment.

    Everything but the order is known: the three values, when they change, and what devices keep.
    """
    people = crowd(mechanism, n, rng)
    truth = rng.integers(0, 2, n)
    by_value = np.stack([people.responses(np.full(n, value), rng) for value in range(3)])
    reported = []
    for segment in range(4):
        values = np.array(COURSES)[truth, segment]
        if memory == "value":
            response = by_value[values, np.arange(n)]
        else:  # a fresh one; a period is as long as a segment
            response = people.responses(values, rng)
        reported.append(people.seen(response, t, rng))
    score = np.zeros((n, 2))
    for number, course in enumerate(COURSES):
        shared = course if memory == "value" else range(4)
        for label in set(shared):
            at = [segment for segment in range(4) if shared[segment] == label]
            together = np.sum([reported[segment] for segment in at], axis=0)
            score[:, number] += people.values(together, t * len(at))[:, course[at[0]]]
    return right(score, truth, rng)


def study(n: int, times: tuple[int, ...], seed: int = 1) -> list[Row]:
    """Return the rates of the attacks on values that stay or alternate."""
    rows: list[Row] = []
    for epsilon, epsilon_permanent in SETTINGS:
        for mechanism in mechanisms(epsilon, epsilon_permanent):
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
                row = {
                    "epsilon": epsilon,
                    "epsilon_permanent": epsilon_permanent,
                    "kept": kept,
                    "t": ts,
                    "rate": rates,
                }
                rows.append({"mechanism": type(mechanism).__name__, "attack": attack, **row})
    return rows


def study_courses(n: int, times: tuple[int, ...], seed: int = 1) -> list[Row]:
    """Return how often the order of three values is guessed, for each memory."""
    return [
        {
            "mechanism": type(mechanism).__name__,
            "attack": "course",
            "memory": memory,
            "t": list(times),
            "rate": [
                guess_course(mechanism, memory, n, t, np.random.default_rng(seed)) for t in times
            ],
        }
        for mechanism in mechanisms(*COURSE_SETTING, COURSE_K)
        for memory in MEMORIES
    ]


def study_surveys(n: int, surveys: tuple[int, ...], seed: int = 1) -> list[Row]:
    """Return how often the value is guessed from surveys that differ in the second round only."""
    rng = np.random.default_rng(seed)
    found = {
        True: guess_value(REPUBLISHED, n, surveys, rng),
        False: guess_fresh(REPUBLISHED, n, surveys, rng),
    }
    return [
        {"attack": "surveys", "kept": kept, "t": list(surveys), "rate": rates}
        for kept, rates in found.items()
    ]


def bounds(attack: str, epsilon: float, epsilon_permanent: float) -> dict[str, float]:
    """Return what the promises allow."""
    if attack == "value":
        return {"one report": bound(epsilon, K), "all reports": bound(epsilon_permanent, K)}
    if attack == "values":
        return {"all reports": bound(2 * epsilon_permanent, K * (K - 1))}
    return {}


# Results


def page(rows: list[Row], n: int) -> str:
    """Return docs/results/averaging.md."""
    lines = [
        "# Averaging",
        "",
        f"Written by `benchmarks.averaging`: what the [memory](../longitudinal.md) of a device "
        f"prevents, and what it does not. In each line {n} people hold one of {K} values, all "
        "equally likely. An attacker who knows everything except the devices' secrets makes the "
        "most likely guess from t reports of each person. *kept*: the device keeps a permanent "
        'response to each value (`memory="value"`); *fresh*: it draws a new one for every report.',
        "",
        "![how often guesses are right](averaging.png)",
        "",
        "Solid lines are kept permanent responses. Dashed lines are fresh ones, and in the last "
        "panel responses by change. Grey lines show what the promises allow, dotted ones how often "
        "a guess without any report is right. Nothing is promised in the second panel, nor for "
        "memory by value in the last. An attacker who knows when a value would change needs only "
        "the sums of the two halves of the reports, so it makes no difference how often the value "
        "alternates.",
    ]
    for epsilon, epsilon_permanent in SETTINGS:
        lines += ["", f"## {promises(epsilon, epsilon_permanent)}"]
        for attack, title in ATTACKS.items():
            group = [r for r in rows if (r.get("epsilon"), r["attack"]) == (epsilon, attack)]
            names = [f"`{r['mechanism']}`, {'kept' if r['kept'] else 'fresh'}" for r in group]
            lines += ["", f"{title}:", "", *table(names, group)]
            for name, limit in bounds(attack, epsilon, epsilon_permanent).items():
                first, every = f"{100 * limit:.1f} %", len(group[0]["t"])
                cells = [first if name == "all reports" or i == 0 else "" for i in range(every)]
                lines.append(f"| *at most, {name}* | " + " | ".join(cells) + " |")
    lines += ["", *course_lines([r for r in rows if r["attack"] == "course"])]
    lines += ["", *survey_lines([r for r in rows if r["attack"] == "surveys"])]
    return "\n".join(lines) + "\n"


def promises(epsilon: float, epsilon_permanent: float) -> str:
    """Return the two promises in words."""
    return f"ε = {epsilon:g} per report, {epsilon_permanent:g} per permanent response"


def table(names: list[str], group: list[Row], unit: str = "t") -> list[str]:
    """Return the lines of a table of rates."""
    heads = [f"{unit} = {t}" for t in group[0]["t"]]
    lines = ["| | " + " | ".join(heads) + " |", "|---|" + "---:|" * len(heads)]
    for name, r in zip(names, group, strict=True):
        shown = [f"{100 * rate:.1f} %" for rate in r["rate"]]
        lines.append(f"| {name} | " + " | ".join(shown) + " |")
    return lines


def course_lines(group: list[Row]) -> list[str]:
    """Return the section on values that come back."""
    epsilon, epsilon_permanent = COURSE_SETTING
    claimed, allowed = bound(3 * epsilon_permanent, 2), bound(4 * epsilon_permanent, 2)
    names = [f"`{r['mechanism']}`, by {r['memory']}" for r in group]
    return [
        f"## Values that come back: {promises(epsilon, epsilon_permanent)}",
        "",
        f"A, B, A, C or A, B, C, A? There are {COURSE_K} values; the attacker knows A, B, C and "
        "when they change, so a coin is right in 50 % of the cases. Both histories have three "
        f"different values. If three times {epsilon_permanent:g} were all that is spent, as is "
        "often said of responses by value, a guess would be right in at most "
        f"{100 * claimed:.1f} %. But that holds only between histories in which the same reports "
        "repeat the same value. In these two they do not: whoever sees that the first and the "
        "third segment share a response knows the history. By change and by period there are four "
        f"responses, and they allow {100 * allowed:.1f} %. With t reports in each segment:",
        "",
        *table(names, group),
    ]


def survey_lines(group: list[Row]) -> list[str]:
    """Return the section on surveys that are published again."""
    m = REPUBLISHED
    names = [f"permanent response {'kept' if r['kept'] else 'drawn anew'}" for r in group]
    return [
        "## Surveys that are published again",
        "",
        "The same question is asked in surveys that differ in q by 2^-53, with one report to each. "
        f"The mechanism is `{m}`, whose permanent response allows "
        f"{100 * bound(m.epsilon_permanent_realised, m.k):.1f} %. A device derives the same "
        "permanent response every time, because it depends only on the first round. A response "
        "that depended on all parameters would be drawn anew for every survey:",
        "",
        *table(names, group, "surveys"),
    ]


BLIND = {"value": 1 / K, "change": 1 / 2, "values": 1 / (K * (K - 1))}
"""How often a guess without reports is right."""

COLOURS = {"BasicRappor": "#ee7733", "LOSUE": "#0077bb", "LOLOHA": "#009988"}
MARKS = {"BasicRappor": "s", "LOSUE": "o", "LOLOHA": "^"}


def picture(rows: list[Row], path: Path) -> None:
    """Draw the rates of the first setting, and of values that come back, one panel per attack."""
    from matplotlib.figure import Figure

    epsilon, epsilon_permanent = SETTINGS[0]
    figure = Figure(figsize=(13.5, 3.8), layout="constrained")
    axes = figure.subplots(1, len(ATTACKS) + 1, sharey=True)
    grey: dict[str, Any] = {"color": "#777777", "linewidth": 1}
    for ax, (attack, title) in zip(axes[:-1], ATTACKS.items(), strict=True):
        level(ax, BLIND[attack], "without reports", linestyle=":", **grey)
        if attack in ("value", "values"):
            level(
                ax,
                bounds(attack, epsilon, epsilon_permanent)["all reports"],
                "at most, all reports",
                **grey,
            )
        for r in rows:
            if (r.get("epsilon"), r["attack"]) == (epsilon, attack):
                curve(ax, r, ", kept" if r["kept"] else ", fresh", r["kept"])
        panel(ax, title, "reports t of each person", 2500)
    axes[0].set_ylabel("guesses that are right, %")
    ax = axes[-1]
    level(ax, 1 / 2, "without reports", below=True, linestyle=":", **grey)
    level(ax, bound(4 * COURSE_SETTING[1], 2), "at most, by change", below=True, **grey)
    ax.text(1, 40, "solid: by value\ndashed: by change", color="#555555", fontsize=8, va="top")
    for r in rows:
        if r["attack"] == "course" and r["memory"] != "period":  # equal to "by change" here
            curve(ax, r, ", " + r["memory"], r["memory"] == "value")
    numbers = f"{COURSE_K} values, ε = {COURSE_SETTING[0]:g} and {COURSE_SETTING[1]:g}"
    panel(ax, f"A, B, A, C or A, B, C, A? {numbers}", "reports t in each segment", 250)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False, fontsize=9)
    figure.suptitle(f"{promises(epsilon, epsilon_permanent)}; {K} values", fontsize=10)
    figure.savefig(path, dpi=150)


def curve(ax: Any, row: Row, suffix: str, solid: bool) -> None:
    """Draw rates against the number of reports."""
    colour = COLOURS[row["mechanism"]]
    ax.semilogx(
        row["t"],
        [100 * rate for rate in row["rate"]],
        color=colour,
        marker=MARKS[row["mechanism"]],
        markersize=4,
        linewidth=1.4,
        linestyle="-" if solid else (0, (3, 2)),
        markerfacecolor=colour if solid else "white",
        label=row["mechanism"] + suffix,
    )


def panel(ax: Any, title: str, what: str, most: int) -> None:
    """Give a panel its title and its axes."""
    question, _, rest = title.partition("? ")
    ax.set_title(f"{question}?\n{rest}", loc="left", fontsize=10)
    ax.set_xlabel(what)
    ax.set_xlim(0.8, most)
    ax.set_ylim(0, 103)
    ax.spines[["top", "right"]].set_visible(False)


def level(ax: Any, rate: float, name: str, below: bool = False, **style: Any) -> None:
    """Draw a rate as a line across a panel, with its name at the right."""
    ax.axhline(100 * rate, **style)
    if rate > 0.05:
        at, place = 100 * rate + (-5 if below else 1), ax.get_yaxis_transform()
        ax.text(0.98, at, name, color="#555555", fontsize=8, ha="right", transform=place)


def main() -> None:
    """Run the study and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=20_000)
    parser.add_argument("--output", type=Path, default=Path("docs/results"))
    options = parser.parse_args()
    n = options.people
    rows = [*study(n, TIMES), *study_courses(n, COURSE_TIMES), *study_surveys(n, SURVEYS)]
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "averaging.json").write_text(json.dumps(rows, indent=0), encoding="utf-8")
    text = page(rows, n)
    (options.output / "averaging.md").write_text(text, encoding="utf-8")
    picture(rows, options.output / "averaging.png")
    print(text)


if __name__ == "__main__":
    main()
