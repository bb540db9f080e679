"""Tables of two questions for the terminal and for notebooks: rows, columns and margins.

A cell shows its share, how it compares with the largest one (a shade), and whether it surely
differs from what its row and column give by themselves, if the two were independent (a mark).
"""

from __future__ import annotations

import html
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from murmurs.numerics.arrays import Floats, Integers
from murmurs.present.layout import WIDTH, shortened, width
from murmurs.present.palette import HEAT, INK
from murmurs.present.text import left_out, printable, table

_SHADES = " ░▒▓"
MARKS = {1: "▲", -1: "▼", 0: " "}
_ROW, _COLUMN, _NAME = 30, 12, 14
"""The most characters of a label of a row, of one of a column, and of the name of a question."""
_NEAR, _FAR = 1.25, 2.0
"""Ratios to independence, or their inverses, up to which a cell is grey, and from which dark."""
EXPLANATION = (
    "Shares of all answers in %; the darker the shade, the larger.\n"
    "▲ above, ▼ below independent answers, by more than noise explains."
)


@dataclass(frozen=True)
class Crosstab:
    """The shares of two questions with all that is drawn.

    ``names`` and ``labels`` have two entries each, for rows and columns; ``low`` and ``high`` are
    the limits of the shares, ``digits`` the decimals of a percentage worth showing, and ``marks``
    those of `marks_of`.
    """

    names: tuple[str, str]
    labels: tuple[tuple[str, ...], tuple[str, ...]]
    shares: Floats
    low: Floats
    high: Floats
    marks: NDArray[np.int64]
    digits: int

    @property
    def colours(self) -> list[list[str]]:
        """The colour of each cell: how it compares with independence, and how surely."""
        expected = independent(self.shares)
        safe = np.where(expected > 0, expected, 1.0)
        ratios = np.where(expected > 0, self.shares / safe, 1.0)
        return [
            [colour_of(float(ratio), int(mark)) for ratio, mark in zip(*row, strict=True)]
            for row in zip(ratios, self.marks, strict=True)
        ]

    def number(self, share: float) -> str:
        """Return a share in percent, without the sign."""
        text = f"{100 * share:.{self.digits}f}"
        return text.removeprefix("-") if float(text) == 0 else text


def independent(shares: Floats) -> Floats:
    """Return the shares that the margins give by themselves."""
    return np.outer(shares.sum(axis=1), shares.sum(axis=0))


def marks_of(shares: Floats, low: Floats, high: Floats) -> NDArray[np.int64]:
    """Return 1 where the limits of a cell are above independence, -1 where below, else 0.

    >>> shares = np.array([[0.4, 0.1], [0.1, 0.4]])
    >>> marks_of(shares, shares - 0.1, shares + 0.2).tolist()
    [[1, 0], [0, 1]]
    """
    expected = independent(shares)
    return (low > expected).astype(np.int64) - (high < expected)


def crosstab_text(found: Crosstab, limit: int = 40, room: int = WIDTH) -> str:
    """Return the table with at most ``limit`` rows, in at most so many columns of text.

    If not all answers fit, those with the largest margins are shown.
    """
    rows = _largest(found.shares.sum(axis=1), limit)
    head = [shortened(printable(label), _COLUMN) for label in found.labels[1]]
    numbers = [[found.number(float(x)) for x in row] for row in found.shares]
    widest = max(len(text) for row in numbers for text in row)
    left = max(width(shortened(printable(found.labels[0][i]), _ROW)) for i in rows)
    left = max(left, width(_corner(found)), 3)
    sizes = np.array([2 + max(width(text) + 1, widest + 2) for text in head])
    cols = _fitting(found.shares.sum(axis=0), sizes, room - left - 9)
    largest, marks = float(found.shares.max()), found.marks

    def cell(i: int, j: int) -> str:
        level = int(min(3, 4 * max(found.shares[i, j], 0) / largest)) if largest > 0 else 0
        return f"{_SHADES[level]}{numbers[i][j]:>{widest}}{MARKS[int(marks[i, j])]}"

    down, across = found.shares.sum(axis=1), found.shares.sum(axis=0)
    lines = [
        [
            shortened(printable(found.labels[0][i]), _ROW),
            *(cell(int(i), int(j)) for j in cols),
            found.number(float(down[i])),
        ]
        for i in rows
    ]
    lines.append(
        ["all", *(f"{found.number(float(across[j]))} " for j in cols), found.number(down.sum())]
    )
    text = table([_corner(found), *(f"{head[j]} " for j in cols), "all"], lines, size=room)
    return (
        text + left_out(len(down) - len(rows), "row") + left_out(len(across) - len(cols), "column")
    )


def _corner(found: Crosstab) -> str:
    return " ╲ ".join(shortened(printable(name), _NAME) for name in found.names)


def _largest(margin: Floats, most: int) -> Integers:
    """Return the answers with the largest shares, in the order in which they are listed."""
    return np.sort((-margin).argsort(kind="stable")[:most])


def _fitting(margin: Floats, sizes: Integers, room: int) -> Integers:
    """Return the columns with the largest margins that fit side by side, at least one."""
    for most in range(len(sizes), 1, -1):
        kept = _largest(margin, most)
        if int(sizes[kept].sum()) <= room:
            return kept
    return _largest(margin, 1)


def crosstab_html(found: Crosstab, caption: str, limit: int = 40) -> str:
    """Return the table for a notebook; colours compare each cell with independence."""
    rows, cols = (_largest(found.shares.sum(axis=side), limit) for side in (1, 0))
    colours, marks = found.colours, found.marks

    def cell(i: int, j: int) -> str:
        told = " to ".join(found.number(float(x[i, j])) for x in (found.low, found.high))
        return (
            f'<td style="text-align:right;background:{colours[i][j]};color:{INK}" '
            f'title="{told} %">{found.number(float(found.shares[i, j]))}'
            f"{MARKS[int(marks[i, j])].strip()}</td>"
        )

    down, across = found.shares.sum(axis=1), found.shares.sum(axis=0)
    lines = [
        f"<tr>{_heading(found.labels[0][i])}"
        + "".join(cell(int(i), int(j)) for j in cols)
        + f"{_margin(found, float(down[i]))}</tr>"
        for i in rows
    ]
    margins = "".join(_margin(found, float(across[j])) for j in cols)
    lines.append(f"<tr>{_heading('all')}{margins}{_margin(found, float(down.sum()))}</tr>")
    for number, what in ((len(down) - len(rows), "row"), (len(across) - len(cols), "column")):
        if more := left_out(number, what).strip():
            lines.append(f'<tr><td colspan="{len(cols) + 2}">{more}</td></tr>')
    corner = " ╲ ".join(found.names)
    head = "".join(_heading(text) for text in (corner, *(found.labels[1][j] for j in cols), "all"))
    title = html.escape(printable(f"{caption} {EXPLANATION}", keep="\n"))
    return (
        f"<table><caption>{title}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table>"
    )


def _heading(text: str) -> str:
    return f'<th style="text-align:left">{html.escape(printable(text))}</th>'


def _margin(found: Crosstab, share: float) -> str:
    return f'<td style="text-align:right">{found.number(share)}</td>'


def colour_of(ratio: float, mark: int) -> str:
    """Return the colour of a cell; only cells with a mark have strong ones.

    >>> colour_of(3.0, 0) == colour_of(1.5, 0), colour_of(3.0, 1) == colour_of(1.5, 1)
    (True, False)
    """
    if mark:
        return HEAT[0] if mark < 0 else HEAT[5] if ratio >= _FAR else HEAT[4]
    return HEAT[1] if ratio < 1 / _NEAR else HEAT[2] if ratio <= _NEAR else HEAT[3]
