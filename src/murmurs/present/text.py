"""Tables and bars for the terminal and for notebooks."""

from __future__ import annotations

import html
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from murmurs.numerics.arrays import Floats, Integers

Order = Literal["share", "listed"]
"""Whether the largest share comes first, or answers come as they are listed."""

_EIGHTHS = " ▏▎▍▌▋▊▉"

MARK = "*"
"""What marks detected answers in a table."""

UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters (C0, DEL, C1), line ends, changes of text direction, lone surrogates."""


def printable(text: str, keep: str = "") -> str:
    r"""Return a text with control characters written out, except those to keep.

    Labels and file names come from outside. Printed unchanged, escape codes could rewrite what a
    terminal shows, and changes of text direction could make it read differently. Lone surrogates
    could not be printed at all.

    >>> print(printable("tea\x1b[2J\u202eaet"))
    tea\x1b[2J\u202eaet
    """
    return UNPRINTABLE.sub(lambda found: _written_out(found[0], keep), text)


def _written_out(character: str, keep: str) -> str:
    return character if character in keep else ascii(character)[1:-1]


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """Return rows under a header; the first ``left`` columns and bars are left-aligned.

    >>> print(table(["answer", "share"], [["tea", "40 %"], ["nothing", "5 %"]]))
    answer   share
    ───────  ─────
    tea       40 %
    nothing    5 %
    """
    rows = [[printable(cell) for cell in row] for row in rows]
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
    """Return a bar for a value, in steps of an eighth; ``full`` has ``size`` characters.

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


def shares_table(
    columns: Mapping[str, Any],
    heading: str,
    truth: Floats | None = None,
    limit: int = 40,
    order: Order = "share",
    marks: NDArray[np.bool_] | None = None,
) -> str:
    """Return shares with bars and intervals, the largest first, and the truth if it is known.

    ``columns`` are answer, share, low, high and unbiased_error; ``heading`` names the interval.
    ``marks`` say which answers have a mark behind them.
    """
    shares, low, high = columns["share"], columns["low"], columns["high"]
    digits = shown_digits(columns["unbiased_error"])
    largest = max(float(shares.max()), 1e-12)
    rows_shown = in_order(shares, order)
    header = ["answer", "estimate", heading, ""]
    rows = [
        [
            columns["answer"][j],
            percent(float(shares[j]), digits),
            f"{percent(float(low[j]), digits)} … {percent(float(high[j]), digits)}",
            bar(float(shares[j]), largest, 30),
        ]
        for j in rows_shown[:limit]
    ]
    if truth is not None:
        header.insert(1, "truth")
        for row, j in zip(rows, rows_shown, strict=False):
            row.insert(1, percent(float(truth[j]), digits))
    if marks is not None:
        header.insert(1, "")
        for row, j in zip(rows, rows_shown, strict=False):
            row.insert(1, MARK if marks[j] else "")
    text = table(header, rows)
    if len(shares) > limit:
        text += f"\n… and {len(shares) - limit} more"
    return text


def changes_table(
    columns: Mapping[str, Any],
    heading: str,
    limit: int = 40,
    *,
    ordered: bool = False,
    what: str = "change",
) -> str:
    """Return changes of shares with intervals and p-values, the smallest p-value first.

    Ordered answers keep their order. ``columns`` are answer, change, low, high and p_value;
    ``heading`` names the interval, and ``what`` the change.
    """
    change, low, high = columns["change"], columns["low"], columns["high"]
    digits = shown_digits((high - low) / 4)
    order = np.arange(len(change)) if ordered else columns["p_value"].argsort(kind="stable")
    rows = [
        [
            columns["answer"][j],
            points(float(change[j]), digits),
            f"{points(float(low[j]), digits)} … {points(float(high[j]), digits)}",
            p_text(float(columns["p_value"][j])),
        ]
        for j in order[:limit]
    ]
    text = table(["answer", what, heading, "p-value"], rows)
    return text + (f"\n… and {len(order) - limit} more" if len(order) > limit else "")


def periods_table(
    answers: Sequence[str],
    periods: Sequence[str],
    shares: Floats,
    p_values: Floats,
    standard_errors: Floats,
) -> str:
    """Return shares of answers (rows) in periods (columns), with the p-value of each answer."""
    digits = shown_digits(standard_errors)
    rows = [
        [answer, *(percent(float(share), digits) for share in row), p_text(float(p_value))]
        for answer, row, p_value in zip(answers, shares, p_values, strict=True)
    ]
    return table(["answer", *map(printable, periods), "p-value"], rows)


def points(change: float, digits: int = 1) -> str:
    """Return a change of a share in percentage points, with its sign.

    >>> points(0.021), points(-0.3), points(0.0)
    ('+2.1', '-30.0', '0.0')
    """
    text = f"{100 * change:+.{digits}f}"
    return text[1:] if float(text) == 0 else text


def p_text(p_value: float) -> str:
    """Return a p-value with two digits.

    >>> p_text(0.0312), p_text(1e-9), p_text(0.8)
    ('0.031', '< 1e-6', '0.80')
    """
    return (
        "< 1e-6" if p_value < 1e-6 else f"{p_value:#.2g}" if p_value >= 1e-3 else f"{p_value:.1e}"
    )


def shares_html(
    columns: Mapping[str, Any],
    heading: str,
    caption: str,
    limit: int = 40,
    order: Order = "share",
) -> str:
    """Return the same as an HTML table, with the intervals drawn over the bars."""
    shares, low, high = columns["share"], columns["low"], columns["high"]
    digits = shown_digits(columns["unbiased_error"])
    full = max(float(high.max()), 1e-12)
    lines = []
    for j in in_order(shares, order)[:limit]:
        share, below, above = (max(float(x[j]), 0.0) / full for x in (shares, low, high))
        drawing = (
            '<svg width="200" height="14" viewBox="0 0 200 14" role="img">'
            f'<rect x="0" y="3" width="{200 * share:.1f}" height="8" fill="#4477aa"/>'
            f'<line x1="{200 * below:.1f}" x2="{200 * above:.1f}" y1="7" y2="7" '
            'stroke="#222" stroke-width="1.5"/></svg>'
        )
        cells = [
            percent(float(shares[j]), digits),
            f"{percent(float(low[j]), digits)} … {percent(float(high[j]), digits)}",
        ]
        numbers = "".join(f'<td style="text-align:right">{cell}</td>' for cell in cells)
        answer = html.escape(printable(str(columns["answer"][j]), keep="\n"))
        left = f'<td style="text-align:left">{answer}</td>'
        lines.append(f'<tr>{left}{numbers}<td style="text-align:left">{drawing}</td></tr>')
    if len(shares) > limit:
        lines.append(f'<tr><td colspan="4">… and {len(shares) - limit} more</td></tr>')
    head = "".join(f"<th>{x}</th>" for x in ("answer", "estimate", heading, ""))
    title = html.escape(printable(caption, keep="\n"))
    return (
        f"<table><caption>{title}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table>"
    )


def in_order(shares: Floats, order: Order) -> Integers:
    """Return the numbers of the answers in the order in which they are shown."""
    if order not in get_args(Order):
        raise ValueError(f"order must be 'share' or 'listed', not {order!r}")
    if order == "listed":
        return np.arange(len(shares))
    return (-shares).argsort(kind="stable")


def shown_digits(standard_errors: Floats) -> int:
    """Return how many decimals of a percentage are worth showing, given the standard errors.

    >>> import numpy as np
    >>> shown_digits(np.array([0.02])), shown_digits(np.array([0.00003]))
    (1, 3)
    """
    smallest = 100 * float(standard_errors.min())
    return min(max(1, -math.floor(math.log10(smallest))), 8) if smallest > 0 else 1


def width(text: str) -> int:
    """Return how many columns a text takes in a terminal; wide characters take two."""
    return sum(
        0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF")
        for c in text
    )


def _pad(cell: str, size: int, *, to_left: bool) -> str:
    space = " " * (size - width(cell))
    return cell + space if to_left else space + cell
