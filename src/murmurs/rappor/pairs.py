"""Reports of two variables in one file: a line is a person, with a cohort and a column for each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurs.boundary.checks import shown
from murmurs.boundary.reading import refuse, rows
from murmurs.mechanisms.longitudinal.boolean_rappor import BooleanRappor
from murmurs.mechanisms.longitudinal.mapped import Mapped
from murmurs.mechanisms.products.closed import Product
from murmurs.wire import Reports


def read_pairs(
    path: Path, names: tuple[str, str], product: Product, *, remove_bad_rows: bool = False
) -> tuple[Reports, int]:
    """Return the reports of everybody to both variables, and how many lines were left out.

    A line with an empty value is refused; with ``remove_bad_rows`` it is left out. Other columns
    are ignored. Bits are written as zeros and ones, the highest first.
    """
    found = rows(path)
    _, header = next(found, (1, []))
    wanted = ["cohort", *names]
    missing = [name for name in wanted if name not in header]
    if missing or any(header.count(name) > 1 for name in wanted):
        refuse(
            path,
            1,
            f"the header must have the columns {', '.join(wanted)}, each once, not "
            f"{shown(','.join(header))}",
        )
    at = [header.index(name) for name in wanted]
    lines: list[int] = []
    columns: tuple[list[str], list[str], list[str]] = ([], [], [])
    left_out = 0
    for line, cells in found:
        if len(cells) != len(header):
            refuse(path, line, f"there are {len(cells)} values under {len(header)} columns")
        values = [cells[i] for i in at]
        empty = [name for name, value in zip(wanted, values, strict=True) if not value]
        if empty and not remove_bad_rows:
            refuse(
                path,
                line,
                f"{empty[0]} is empty: complete the line, or leave out such lines with "
                "--remove-bad-rows",
            )
        if empty:
            left_out += 1
            continue
        lines.append(line)
        for column, value in zip(columns, values, strict=True):
            column.append(value)
    out = product.shape.empty(len(lines))
    for number, (name, part) in enumerate(zip(names, product.parts, strict=True)):
        width = part.mechanism.width if isinstance(part, Mapped) else 1
        flags = _flags(path, lines, name, columns[1 + number], width)
        if isinstance(part, BooleanRappor):
            out[f"q{number}"] = flags[:, 0]
            continue
        assert isinstance(part, Mapped)
        own = out[f"q{number}"]
        own["cohort"] = _cohorts(path, lines, columns[0], part.mechanism.cohorts)
        own["bits"] = np.packbits(flags[:, ::-1], axis=1, bitorder="little")
    return out, left_out


def _flags(
    path: Path, lines: list[int], name: str, column: list[str], width: int
) -> NDArray[np.uint8]:
    """Return the bits of a column, in the order in which they are written."""
    for line, value in zip(lines, column, strict=True):
        if len(value) != width:
            refuse(path, line, f"{name} has {len(value)} bits, but a report has {width}")
        if value.strip("01"):
            refuse(path, line, f"{name} is not made of zeros and ones")
    data = "".join(column).encode()
    return np.frombuffer(data, np.uint8).reshape(-1, width) & np.uint8(1)


def _cohorts(path: Path, lines: list[int], column: list[str], count: int) -> list[int]:
    known: dict[str, Any] = {str(cohort): cohort for cohort in range(count)}
    for line, text in zip(lines, column, strict=True):
        if text not in known:
            refuse(path, line, f"cohort {shown(text)} is not a whole number from 0 to {count - 1}")
    return [known[text] for text in column]
