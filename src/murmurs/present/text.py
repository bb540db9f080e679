"""Tables and bars for the terminal."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence

from murmurs.checks import Floats
from murmurs.estimation import Estimate

_EIGHTHS = " ▏▎▍▌▋▊▉"


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """Return rows under a header; the first ``left`` columns and bars are set left, others right.

    >>> print(table(["answer", "share"], [["tea", "40 %"], ["nothing", "5 %"]]))
    answer   share
    ───────  ─────
    tea       40 %
    nothing    5 %
    """
    columns = list(zip(header, *rows, strict=True))
    widths = [max(width(cell) for cell in column) for column in columns]
    lines = [header, ["─" * w for w in widths], *rows]
    return "\n".join(
        "  ".join(
            _pad(cell, w, to_left=i < left or any(mark in cell for mark in "█▏▎▍▌▋▊▉"))
            for i, (cell, w) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def bar(value: float, full: float, size: int) -> str:
    """Return a bar of ``size`` characters for a value of ``full``, in steps of an eighth.

    >>> bar(0.3, 1.0, 10)
    '███'
    """
    eighths = round(8 * size * min(max(value / full, 0.0), 1.0)) if full > 0 else 0
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def percent(share: float, digits: int = 1) -> str:
    """Return a share as a percentage; a negative one keeps its sign.

    >>> percent(0.1234), percent(-0.00001)
    ('12.3 %', '0.0 %')
    """
    text = f"{100 * share:.{digits}f}"
    return f"{text.removeprefix('-') if float(text) == 0 else text} %"


def estimate_table(
    estimate: Estimate, truth: Floats | None = None, *, level: float = 0.95, limit: int = 40
) -> str:
    """Return shares with bars and intervals, the largest first; the truth beside, if known."""
    columns = estimate.columns(level)
    shares, low, high = columns["share"], columns["low"], columns["high"]
    digits = shown_digits(estimate)
    largest = max(float(shares.max()), 1e-12)
    order = (-shares).argsort(kind="stable")
    header = ["answer", "estimate", f"{100 * level:g} % interval", ""]
    rows = [
        [
            columns["answer"][j],
            percent(float(shares[j]), digits),
            f"{percent(float(low[j]), digits)} … {percent(float(high[j]), digits)}",
            bar(float(shares[j]), largest, 30),
        ]
        for j in order[:limit]
    ]
    if truth is not None:
        header.insert(1, "truth")
        for row, j in zip(rows, order, strict=False):
            row.insert(1, percent(float(truth[j]), digits))
    text = table(header, rows)
    if len(order) > limit:
        text += f"\n… and {len(order) - limit} more"
    return text


def shown_digits(estimate: Estimate) -> int:
    """Return how many decimals of a percentage are worth showing: to the size of the errors."""
    smallest = 100 * float(estimate.standard_errors().min())
    return min(max(1, -math.floor(math.log10(smallest))), 8) if smallest > 0 else 1


def explanation(estimate: Estimate) -> str:
    """Return the lines under a table: which estimator, why, and what to keep in mind."""
    lines = [f"\nEstimator: {estimate.method}, because {estimate.why}."]
    lines += [f"Note: {note}." for note in estimate.notes]
    return "\n".join(lines)


def width(text: str) -> int:
    """Return how many places a text takes in the terminal; wide characters take two."""
    return sum(
        0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF")
        for c in text
    )


def _pad(cell: str, size: int, *, to_left: bool) -> str:
    space = " " * (size - width(cell))
    return cell + space if to_left else space + cell
