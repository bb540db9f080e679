"""The README's comparison with other software, read from the pages of results."""

from __future__ import annotations

import re
from pathlib import Path

RESULTS = Path(__file__).parent / "results"

SPEED = ("KRR privatise", "OUE privatise", "LocalHashing privatise", "LocalHashing count")


def peers() -> str:
    """Return what was measured, one row for each page."""
    lines = ["| what | `murmurs` | others |", "|---|---:|---:|"]
    return "\n".join(
        lines + [row for part in (_speed, _errors, _strings, _rappor) for row in part()]
    )


def _page(name: str) -> str:
    return (RESULTS / f"{name}.md").read_text(encoding="utf-8")


def _found(pattern: str, text: str) -> tuple[str, ...]:
    found = re.search(pattern, text, re.MULTILINE)
    assert found, pattern
    return found.groups()


def _speed() -> list[str]:
    text, link = _page("speed"), "[second](docs/results/speed.md)"
    rows = []
    for task in SPEED:
        ours, theirs, peer, ratio = _found(
            rf"^\| {task} \| (\S+) \| (\S+) \| (\S+) \| (\S+) \|", text
        )
        name, _, verb = task.partition(" ")
        done = {"privatise": "randomised", "count": "counted"}[verb]
        rows.append(
            f"| `{name}` reports {done} in a {link} | {_digits(ours)} (×{float(ratio):,.0f}) |"
            f" {_digits(theirs)}, {peer} |"
        )
    return rows


def _digits(number: str) -> str:
    return f"{float(number):,.0f}"


def _errors() -> list[str]:
    cells, mle, oracle = _found(
        r"^## The grid$[\s\S]*?^\| all \| (\d+) \| (\S+) \| (\S+) \|", _page("accuracy")
    )
    where = f"l1 error in {int(cells):,} [settings](docs/results/accuracy.md), relative to"
    return [
        f"| {where} maximum likelihood | {float(mle):.2f} | 1 |",
        f"| {where} the best of three published estimators | {float(oracle):.2f} | 1 |",
    ]


def _strings() -> list[str]:
    true, false = _found(
        r"^\| paper\*? \| \d+ \| (\S+) ± \S+ \| \S+ \| (\S+) \|", _page("dictionary")
    )
    theirs = _found(r"found (\d+) strings and a false one", _page("dictionary"))
    what = "unlisted strings [found](docs/results/dictionary.md) among 100, and false ones"
    return [f"| {what} | {float(true):.0f}, {float(false):g} | {theirs[0]}, 1 |"]


def _rappor() -> list[str]:
    text = _page("rappor_matrix")
    false = _found(r"On average we have (\S+) per decoding, they (\d+\.\d+)\.", text)
    covered = _found(r"our intervals contain (\S+) % of the sample", text)
    theirs = _found(r"contain (\S+) % \(tiny\) and (\S+) % \(small\)", text)
    where = "[google/rappor's matrix](docs/results/rappor_matrix.md)"
    return [
        f"| false strings in a decoding of {where} | {false[0]} | {false[1]} |",
        f"| shares in 95 % intervals, in the same matrix | {covered[0]} % |"
        f" {theirs[0]} % (1,000 people), {theirs[1]} % (1,000,000) |",
    ]
