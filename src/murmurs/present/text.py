"""Tables and bars for the terminal."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from murmurs.numerics.arrays import Floats, Integers
from murmurs.present.layout import BETWEEN, WIDTH, laid_out, taken, width

Order = Literal["share", "listed"]
"""Whether the largest share comes first, or answers come as they are listed."""

_EIGHTHS = " ▏▎▍▌▋▊▉"
Cell = str | tuple[str, ...]
"""What stands in a table: a line, or several."""

_LONGEST_BAR, _SHORTEST_BAR = 30, 10
"""Characters of the bar of the largest share; long labels leave less room."""

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


def table(
    header: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    *,
    left: int = 1,
    size: int = WIDTH,
) -> str:
    """Return rows under a header; the first ``left`` columns and bars are left-aligned.

    A table that is wider than ``size`` is made narrower: first the headings of numbers are broken,
    then the texts of the first columns, which have at most four lines. If that is not enough, the
    columns are in several tables, one below another.

    >>> print(table(["answer", "share"], [["tea", "40 %"], ["nothing", "5 %"]]))
    answer   share
    ───────  ─────
    tea       40 %
    nothing    5 %
    """
    found = [[_lines(cell) for cell in row] for row in rows]
    return laid_out(list(header), found, left, size)


def _lines(cell: Cell) -> list[str]:
    return [printable(cell)] if isinstance(cell, str) else [printable(line) for line in cell]


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
    order_shown = in_order(shares, order)
    header = ["answer", "estimate", heading]
    rows = [
        [
            columns["answer"][j],
            percent(float(shares[j]), digits),
            f"{percent(float(low[j]), digits)} … {percent(float(high[j]), digits)}",
        ]
        for j in order_shown[:limit]
    ]
    if truth is not None:
        header.insert(1, "truth")
        for row, j in zip(rows, order_shown, strict=False):
            row.insert(1, percent(float(truth[j]), digits))
    if marks is not None:
        header.insert(1, "")
        for row, j in zip(rows, order_shown, strict=False):
            row.insert(1, MARK if marks[j] else "")
    wide = taken([max(map(width, column)) for column in zip(header, *rows, strict=True)])
    size = min(_LONGEST_BAR, max(_SHORTEST_BAR, WIDTH - wide - len(BETWEEN)))
    for row, j in zip(rows, order_shown, strict=False):
        row.append(bar(float(shares[j]), largest, size))
    return table([*header, ""], rows) + left_out(len(shares) - limit)


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
    return table(["answer", what, heading, "p-value"], rows) + left_out(len(order) - limit)


def periods_table(
    answers: Sequence[str],
    periods: Sequence[str],
    values: tuple[Floats, Floats, Floats],
    p_values: Floats,
    standard_errors: Floats,
    slopes: tuple[Floats, Floats, Floats, Floats] | None = None,
) -> str:
    """Return shares of answers (rows) in periods (columns), with the p-value of each answer.

    ``values`` are the shares and their limits, which stand below them. ``slopes`` are changes per
    period, their limits and p-values.
    """
    digits = shown_digits(standard_errors)
    finer = 0 if slopes is None else shown_digits((slopes[2] - slopes[1]) / 4)
    rows: list[list[Cell]] = [
        [
            answer,
            *(
                (percent(float(share), digits), f"{_number(low, digits)} … {_number(high, digits)}")
                for share, low, high in zip(*limits, strict=True)
            ),
            p_text(float(p_value)),
        ]
        for answer, p_value, *limits in zip(answers, p_values, *values, strict=True)
    ]
    header = ["answer", *map(printable, periods), "p-value"]
    if slopes is not None:
        header += ["slope", "p of slope"]
        for row, (slope, low, high, p_value) in zip(rows, zip(*slopes, strict=True), strict=True):
            both = f"{points(low, finer)} … {points(high, finer)}"
            row += [(points(slope, finer), both), p_text(float(p_value))]
    return table(header, rows)


def _number(share: float, digits: int) -> str:
    return percent(float(share), digits).removesuffix(" %")


def left_out(number: int, what: str = "") -> str:
    r"""Return the line that says how many rows are not shown, if any are not.

    >>> left_out(2), left_out(1, "row"), left_out(3, "row"), left_out(0)
    ('\n… and 2 more', '\n… and 1 more row', '\n… and 3 more rows', '')
    """
    name = f" {what}{'' if number == 1 else 's'}" if what else ""
    return f"\n… and {number:,} more{name}" if number > 0 else ""


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
