"""The page of results of `benchmarks.dictionary`, with its figure.

``python -m benchmarks.dictionary_page rows.jsonl [peers.jsonl]`` writes docs/results/dictionary.md,
.json and .png from the rows of the runs and from those of the peers. What has no rows is kept from
the last page, with an asterisk; the picture is only drawn from rows of all settings.
"""

from __future__ import annotations

import argparse
import json
import math
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from benchmarks.dictionary import ALL, FRESH, POPULATIONS, SETTINGS, asked_in

mpl.use("Agg")
from matplotlib import pyplot as plt

RESULTS = Path(__file__).parent.parent / "docs" / "results"

BARS = {
    "paper": 68,
    "paper, with a corpus": 72,
    "20,000 people": 17,
    "epsilon 1": 13,
    "baby names": 100,
}
"""How many strings were to be found, where that was decided beforehand."""

Row = dict[str, Any]


@cache
def floor_at(setting: str, length: int) -> float:
    """Return the noise floor for strings of a length in a setting."""
    return asked_in(setting).floor_at(length)


def above_floor(rows: list[Row]) -> tuple[int, int]:
    """Return how many strings above the floor of their length were found, and of how many."""
    found = [
        len(string) == 4
        for row in rows
        for string in row["strings"]
        if string[0] > floor_at(row["setting"], int(string[1]))
    ]
    return sum(found), len(found)


def covered(rows: list[Row]) -> tuple[float, float, int]:
    """Return the part of intervals that contain the share, its error, and their number.

    The error comes from the differences between runs, whose strings share their noise; it is at
    least that of as many independent intervals.
    """
    inside = [
        [string[2] <= string[0] <= string[3] for string in row["strings"] if len(string) == 4]
        for row in rows
    ]
    many = sum(map(len, inside))
    part = sum(map(sum, inside)) / max(many, 1)
    away = [sum(own) - part * len(own) for own in inside]
    squares = max(sum(x * x for x in away), many * part * (1 - part))
    return part, math.sqrt(squares) / max(many, 1), many


def with_error(values: list[float]) -> str:
    """Return the mean and its standard error."""
    error = np.std(values, ddof=1) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return f"{np.mean(values):.1f} ± {error:.1f}"


def summary(rows: list[Row], others: list[Row]) -> list[dict[str, Any]]:
    """Return one row of results for each setting, with what the other rules found."""
    out = []
    for name in ALL:
        own = [row for row in rows if row["setting"] == name]
        if not own:
            continue
        part, error, many = covered(own)
        found, above = above_floor(own)
        asked = asked_in(name)
        out.append(
            {
                "setting": name,
                "version": "now",
                "epsilon": round(asked.epsilon, 4),
                "people": asked.people,
                "longest": asked.longest,
                "letters": len(asked.alphabet),
                "runs": len(own),
                "true": [row["true"] for row in own],
                "false": [row["false"] for row in own],
                **{rule: found_by(rule, name, others) for rule in ("known", "earlier")},
                "floor": float(f"{asked.floor:.4g}"),
                "above_floor": above,
                "above_floor_found": found,
                "found": many,
                "covered": round(part, 4),
                "covered_error": round(error, 4),
                "seconds": round(float(np.mean([row["seconds"] for row in own])), 2),
                "peak_mb": max(row["peak_mb"] for row in own),
            }
        )
    return out


def found_by(rule: str, name: str, others: list[Row]) -> float | None:
    """Return how many strings of a setting another rule found on average, if it has rows."""
    found = [row["true"] for row in others if (row["rule"], row["setting"]) == (rule, name)]
    return round(float(np.mean(found)), 1) if found else None


def mark(own: dict[str, Any]) -> str:
    """Return an asterisk if the rows of a setting are kept from an earlier page."""
    return "" if own["version"] == "now" else "*"


def main_table(results: list[dict[str, Any]]) -> list[str]:
    """Return the table of the settings that have bars."""
    lines = [
        "| setting | runs | true | to beat | false | above the floor found | covered | seconds "
        "| MB |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    return lines + [
        f"| {own['setting']}{mark(own)} | {own['runs']} | {with_error(own['true'])} "
        f"| {BARS.get(own['setting'], '–')} | {np.mean(own['false']):.2f} "
        f"| {share_of(own)} "
        f"| {100 * own['covered']:.1f} ± {100 * own['covered_error']:.1f} % "
        f"| {own['seconds']:.1f} | {own['peak_mb']} |"
        for own in results
        if own["setting"] in SETTINGS
    ]


def share_of(own: dict[str, Any]) -> str:
    """Return how many strings above the floor were found, and in per cent."""
    found, above = own["above_floor_found"], own["above_floor"]
    return f"{found} of {above}, {100 * found / above:.1f} %" if above else "–"


def fresh_table(results: list[dict[str, Any]]) -> list[str]:
    """Return the table of the settings that check the floor."""
    lines = [
        "| setting | letters | longest | ε | people | floor | runs | above the floor found | true "
        "| false | covered |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    return lines + [
        f"| {own['setting'].split(', ')[0]}{mark(own)} | {own['letters']} | {own['longest']} "
        f"| {own['epsilon']:g} | {own['people']:,} | {100 * own['floor']:.2g} % "
        f"| {own['runs']} | {share_of(own)} | {sum(own['true'])} | {sum(own['false'])} "
        f"| {100 * own['covered']:.0f} % |"
        for own in results
        if own["setting"] in FRESH
    ]


def kinds_table(results: list[dict[str, Any]]) -> list[str]:
    """Return the table of kinds of strings, beside the known list and the earlier rule."""
    lines = [
        "| strings | ε | people | runs | known list | earlier | true | false | covered | seconds |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for own in results:
        if own["setting"] in POPULATIONS:
            known, earlier = (
                "–" if own[rule] is None else own[rule] for rule in ("known", "earlier")
            )
            lines.append(
                f"| {own['setting'].split(', eps')[0]}{mark(own)} | {own['epsilon']:g} "
                f"| {own['people']:,} | {own['runs']} | {known} | {earlier} "
                f"| {with_error(own['true'])} | {np.mean(own['false']):.2f} "
                f"| {covers(own)} | {own['seconds']:.1f} |"
            )
    return lines


def covers(own: dict[str, Any]) -> str:
    """Return the part of the intervals that cover, if any string was found."""
    return f"{100 * own['covered']:.0f} %" if own["found"] else "–"


def rates_of(others: list[Row]) -> list[dict[str, Any]]:
    """Return what is found in a setting, and what of it is false, if a part may be."""
    out = []
    asked = [rule for rule in dict.fromkeys(row["rule"] for row in others) if "fdr" in rule]
    for name in ALL:
        for rule in asked:
            own = [row for row in others if (row["rule"], row["setting"]) == (rule, name)]
            if own:
                parts = [row["false"] / max(row["true"] + row["false"], 1) for row in own]
                out.append(
                    {
                        "setting": name,
                        "rate": float(rule.split()[1]),
                        "runs": len(own),
                        "true": with_error([row["true"] for row in own]),
                        "false": round(float(np.mean(parts)), 4),
                    }
                )
    return out


def rates_table(rates: list[dict[str, Any]]) -> list[str]:
    """Return the table of what is found, and what of it is false, if a part may be."""
    lines = [
        "| strings | part that may be false | runs | true | false |",
        "|---|---:|---:|---:|---:|",
    ]
    return lines + [
        f"| {own['setting']} | {100 * own['rate']:g} % | {own['runs']} | {own['true']} "
        f"| {100 * own['false']:.0f} % |"
        for own in rates
    ]


def peers_table(rows: list[Row], results: list[dict[str, Any]]) -> list[str]:
    """Return the table of the peers, with our own setting beside them."""
    lines = [
        "| method | runs | true | false | true above the first false | seconds to search | MB |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| murmurs | {own['runs']} | {np.mean(own['true']):.1f} "
        f"| {np.mean(own['false']):.2f} | – | {own['seconds']:.1f} | {own['peak_mb']} |"
        for own in results
        if own["setting"] == "paper"
    ]
    for name in dict.fromkeys((row["method"], row["step"]) for row in rows):
        own_rows = [row for row in rows if (row["method"], row["step"]) == name]
        lines.append(
            f"| pure-ldp {name[0]} | {len(own_rows)} "
            f"| {np.mean([r['true'] for r in own_rows]):.1f} "
            f"| {np.mean([r['false'] for r in own_rows]):,.0f} "
            f"| {np.mean([r['before_false'] for r in own_rows]):.1f} "
            f"| {np.mean([r['seconds_to_search'] for r in own_rows]):.1f} "
            f"| {max(r['peak_mb'] for r in own_rows):.0f} |"
        )
    return lines


def draw(rows: list[Row], path: Path) -> None:
    """Draw the part of the strings that is found against their share, in units of the floor."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), sharey=True)
    edges = np.geomspace(0.25, 4, 13)
    for axes, names, title in (
        (left, list(SETTINGS), "settings with real strings"),
        (right, list(FRESH), "other alphabets, lengths, ε and people"),
    ):
        shown = [name for name in names if any(row["setting"] == name for row in rows)]
        colours = mpl.colormaps["tab20"](np.linspace(0, 1, max(len(shown), 2)))
        pooled: list[tuple[float, bool]] = []
        for name, colour in zip(shown, colours, strict=False):
            points = [
                (string[0] / floor_at(name, int(string[1])), len(string) == 4)
                for row in rows
                if row["setting"] == name
                for string in row["strings"]
                if string[0] > 0
            ]
            pooled += points
            if axes is left:
                axes.plot(*binned(points, edges), ".-", color=colour, label=name, lw=1)
        axes.plot(*binned(pooled, edges), "k.-", lw=2.5, label="all together")
        axes.axvline(1, color="0.4", ls="--", lw=1)
        axes.axhline(0.95, color="0.4", ls=":", lw=1)
        axes.set_xscale("log")
        axes.set_xticks([0.25, 0.5, 1, 2, 4], ["¼", "½", "floor", "2", "4"])
        axes.minorticks_off()
        axes.set_xlabel("share of the string, in floors for its length")
        axes.set_title(title, fontsize=11)
        axes.legend(fontsize=8, frameon=False, loc="lower right")
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    left.set_ylabel("part of the strings that is found")
    left.set_ylim(-0.02, 1.04)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def binned(points: list[tuple[float, bool]], edges: np.ndarray) -> tuple[list[float], list[float]]:
    """Return the middle of each range of shares with at least five strings, and the part found."""
    middles, parts = [], []
    for low, high in pairwise(edges.tolist()):
        found = [is_found for share, is_found in points if low <= share < high]
        if len(found) >= 5:
            middles.append(math.sqrt(low * high))
            parts.append(float(np.mean(found)))
    return middles, parts


def main() -> None:
    """Write the page, the figures as JSON, and the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=Path)
    parser.add_argument("peers", type=Path, nargs="?")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    rows = [json.loads(line) for line in given.rows.read_text().splitlines()]
    peers = (
        [json.loads(line) for line in given.peers.read_text().splitlines()] if given.peers else []
    )
    others = [row for row in rows if row["rule"] != "now"]
    rows = [row for row in rows if row["rule"] == "now"]
    last = json.loads((given.out / "dictionary.json").read_text())
    found = {own["setting"]: {**own, "version": "before"} for own in last["settings"]}
    for own in summary(rows, others):
        before = found.get(own["setting"], {})
        beside = {rule: before.get(rule) for rule in ("known", "earlier") if own[rule] is None}
        found[own["setting"]] = {**own, **beside}
    results = [found[name] for name in ALL if name in found]
    rates, peers = rates_of(others) or last["rates"], peers or last["peers"]
    document = {"settings": results, "rates": rates, "peers": peers}
    (given.out / "dictionary.json").write_text(json.dumps(document, indent=1) + "\n")
    if {row["setting"] for row in rows} == set(ALL):
        draw(rows, given.out / "dictionary.png")
    page = (Path(__file__).parent / "dictionary_page.md").read_text(encoding="utf-8")
    for mark, lines in (
        ("main", main_table(results)),
        ("kinds", kinds_table(results)),
        ("rates", rates_table(rates)),
        ("fresh", fresh_table(results)),
        ("peers", peers_table(peers, results)),
    ):
        page = page.replace(f"<{mark}>", "\n".join(lines))
    (given.out / "dictionary.md").write_text(page)


if __name__ == "__main__":
    main()
