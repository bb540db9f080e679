"""The page of results of `benchmarks.stalling`, written from the measured numbers."""

from __future__ import annotations

from typing import Any

INTRODUCTION = """\
# What strangers can do to a collector

Written by `python -m benchmarks.stalling`. {cores} cores; the collector, the attackers and those who feel it on one machine, which
other programs share. The store has a year of reports in 50 segments, with a minimum of 100. During each attack somebody asks `/ready` and
`/health` and sends submissions of one person, one after another, each on a new connection. An answer other than 200 counts as
failed, and as endless for the median. Bodies of 4 MiB without a token are refused when their heads announce them, and are not sent. Bytes are what all attackers together send in a second; processors are what the collector takes.

The bar is a median below 50 ms for `/ready` and for a submission.

"""  # noqa: E501

TABLE = """\
| attack | clients | sent, MB/s | processors | `/ready`: median, 95 %, most, ms | a submission: median, 95 %, most, ms | `/health`: most, ms | failed |
|---|---:|---:|---:|---:|---:|---:|---:|
"""  # noqa: E501

BEFORE = """
## Before

The same attacks on the collector as it was before bodies had a thread of their own, limits counted people, and connections
without a request made room.

"""  # noqa: E501


def page(found: dict[str, Any]) -> str:
    """Return the page."""
    parts = [INTRODUCTION.format(**found), TABLE, *map(_row, found["now"]), _reading(found["now"])]
    if found["before"]:
        parts += [BEFORE, TABLE, *map(_row, found["before"])]
    return "".join(parts)


def _row(row: dict[str, Any]) -> str:
    felt = [
        ", ".join(_ms(row[name][which]) for which in ("median_ms", "p95_ms", "most_ms"))
        for name in ("ready", "submission")
    ]
    names = ("ready", "submission", "health")
    failed = sum(row[name]["failed"] for name in names)
    asked = sum(row[name]["asked"] for name in names)
    return (
        f"| {row['attack']} | {row['clients']} | {row['bytes_a_second'] / 1e6:.1f} | "
        f"{row['processors']:.2f} | {' | '.join(felt)} | {_ms(row['health']['most_ms'])} | "
        f"{failed} of {asked} |\n"
    )


def _ms(value: float | None) -> str:
    """Return milliseconds; there are none if an answer did not come."""
    return "–" if value is None else f"{value:,.0f}"


def _reading(rows: list[dict[str, Any]]) -> str:
    """Say in how many attacks the bar was reached."""
    good = sum(
        all((row[name]["median_ms"] or 50) < 50 for name in ("ready", "submission")) for row in rows
    )
    loads = [row["load_average"] for row in rows]
    return (
        f"\nThe bar was reached in {good} of {len(rows)} rows, at a load average of "
        f"{min(loads):.1f} to {max(loads):.1f} of all programs on the machine.\n"
    )
