"""Dictionaries in two rounds: whether asking again about the strings found beats one round.

``python -m benchmarks.dictionary_rounds [--data FOLDER]`` simulates the same people twice. In one
round, all are asked for a prefix (`murmurs.Dictionary`). In two rounds, a part of them is; the
strings found there, also the doubtful ones, become the labels of a closed question
(`Discovery.question`), which the others answer, and which tests them again. Everybody reports once,
with the same epsilon. The results are docs/results/dictionary_rounds.json and .md.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from benchmarks.dictionary import SETTINGS, asked_in, law_of

import murmurs as mm

RESULTS = Path(__file__).parent.parent / "docs" / "results"
ASKED = ("paper", "20,000 people", "baby names")
PARTS = (0.5, 0.7, 0.85)
"""The part of the people that the first of two rounds asks."""
DOUBTFUL = 0.5
"""The rate of false strings that the first of two rounds may have: the second one tests them."""
TOP = 30

Shares = dict[str, tuple[float, float]]
"""Strings with their unbiased shares and the standard errors of these."""


def shares_of(estimate: mm.Estimate | None) -> Shares:
    """Return the shares of an estimate, without those of all other strings."""
    if estimate is None:
        return {}
    columns = zip(estimate.unbiased.tolist(), estimate.standard_errors().tolist(), strict=True)
    return dict(zip(estimate.labels, columns, strict=True))


def combined(one: Shares, two: Shares) -> dict[str, float]:
    """Return the shares of two rounds, each weighted by its inverse variance."""
    out = {}
    for text, (share, error) in two.items():
        before, noise = one[text]
        weight = error**-2 / (error**-2 + noise**-2)
        out[text] = weight * share + (1 - weight) * before
    return out


def two_rounds(
    asked: mm.Dictionary, held: np.ndarray, law: dict[str, float], part: float, rng: Any
) -> tuple[set[str], dict[str, float], dict[str, float]]:
    """Return the strings found, and their shares from the second round and from both."""
    first = rng.multivariate_hypergeometric(held, round(part * held.sum()), method="marginals")
    later = dict(zip(law, (held - first).tolist(), strict=True))
    counts = asked.simulate(dict(zip(law, first.tolist(), strict=True)), rng)
    found = asked.discover(counts, error_rate=DOUBTFUL, control="fdr")
    if not found.labels:
        return set(), {}, {}
    question = found.question("again", asked.epsilon)
    people = {label: later.get(label, 0) for label in found.labels}
    people["(other)"] = sum(later.values()) - sum(people.values())
    estimate = question.estimate(question.simulate(people, rng), "unbiased")
    present = estimate.detected(0.05).present
    kept = {
        label
        for label, is_there in zip(question.labels, present.tolist(), strict=True)
        if is_there and label != "(other)"
    }
    here = {label: own for label, own in shares_of(estimate).items() if label in kept}
    return (
        kept,
        {label: own[0] for label, own in here.items()},
        combined(shares_of(found.estimate), here),
    )


def error(shares: dict[str, float], law: dict[str, float], texts: list[str]) -> float:
    """Return the root of the mean squared error of shares; those of strings not found are zero."""
    return float(np.sqrt(np.mean([(shares.get(text, 0.0) - law[text]) ** 2 for text in texts])))


def run(name: str, repetition: int, data: Path | None) -> list[dict[str, Any]]:
    """Ask the same people in one round and in two; return what was found."""
    law, asked = law_of(name, repetition, data), asked_in(name)
    people = asked.people or 10**6
    rng = np.random.default_rng([12, repetition])
    held = rng.multinomial(people, list(law.values()))
    found = asked.discover(asked.simulate(dict(zip(law, held.tolist(), strict=True)), rng))
    one = {label: own[0] for label, own in shares_of(found.estimate).items()}
    one.pop("(other)", None)
    top = sorted(law, key=lambda text: -law[text])[:TOP]
    rows = [_row(name, repetition, None, one, set(one), law, [*one], top)]
    for part in PARTS:
        kept, second, both = two_rounds(asked, held, law, part, rng)
        common = sorted(kept & set(one) & set(law))
        rows.append(_row(name, repetition, part, both, kept, law, common, top))
        rows[-1]["one_round_error"] = error(one, law, common) if common else None
        rows[-1]["second_only_error"] = error(second, law, common) if common else None
    return rows


def _row(
    name: str,
    repetition: int,
    part: float | None,
    shares: dict[str, float],
    found: set[str],
    law: dict[str, float],
    common: list[str],
    top: list[str],
) -> dict[str, Any]:
    true = [text for text in found if law.get(text, 0.0) > 0]
    there = [text for text in common if text in law]
    return {
        "setting": name,
        "repetition": repetition,
        "part": part,
        "true": len(true),
        "false": len(found) - len(true),
        "error": error(shares, law, there) if there else None,
        "top_error": error(shares, law, top),
    }


HEAD = f"""# Dictionaries in two rounds

*Does it help to publish a second survey from what the first one found? Written by
`python -m benchmarks.dictionary_rounds`.*

The same people, the same ε, and everybody reports once. In one round, all are asked for a prefix of
their string ([`murmurs.Dictionary`](../dictionary.md)). In two rounds, the given part of them is;
the strings found there become the labels of a closed question (`Discovery.question`), which the
others answer. The first round then passes on doubtful strings, too (a false discovery rate of
{100 * DOUBTFUL:.0f} %), and the second one keeps those that it detects, with at most a 5 % chance
of any false one. The settings are those of [dictionaries](dictionary.md).

*true* and *false* are the strings found that somebody could hold and that nobody could. *error* is
the root of the mean squared error of the shares, in percentage points, over the strings that both
designs found: in one round; from the second round alone; and from both rounds, each weighted by its
inverse variance. *{TOP} most common* is the same error over these strings, where the share of a
string that was not found counts as zero. All are means over the repetitions.
"""


def page(rows: list[dict[str, Any]]) -> str:
    """Return the page of results."""
    lines = [
        HEAD,
        f"| setting | first round | runs | true | false | error: one round | second alone | both "
        f"| {TOP} most common |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name in dict.fromkeys(row["setting"] for row in rows):
        for part in (None, *PARTS):
            own = [row for row in rows if row["setting"] == name and row["part"] == part]
            errors = ["–", "–", "–"]
            if part is not None:
                keys = ("one_round_error", "second_only_error", "error")
                errors = [_mean(own, key) for key in keys]
            first = "all people" if part is None else f"{100 * part:.0f} %"
            true, false = (np.mean([row[key] for row in own]) for key in ("true", "false"))
            lines.append(
                f"| {name} | {first} | {len(own)} | {true:.1f} | {false:.2f} | "
                f"{' | '.join(errors)} | {_mean(own, 'top_error')} |"
            )
    return "\n".join(lines) + "\n"


def _mean(rows: list[dict[str, Any]], key: str) -> str:
    return f"{100 * np.mean([row[key] for row in rows if row[key] is not None]):.3f}"


def main() -> None:
    """Measure, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of real strings")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--page", action="store_true", help="only write the page again")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    file = options.out / "dictionary_rounds.json"
    if options.page:
        rows = json.loads(file.read_text(encoding="utf-8"))
    else:
        rows = []
        for name in ASKED:
            if options.data is None and "file" in SETTINGS[name]:
                print(f"{name}: left out, needs --data", file=sys.stderr)
                continue
            for repetition in range(options.runs):
                rows += run(name, repetition, options.data)
                print(json.dumps(rows[-len(PARTS) - 1 :]), file=sys.stderr, flush=True)
        file.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    (options.out / "dictionary_rounds.md").write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
