"""CSV as google/rappor writes it, with errors that name file, line and rule."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from murmurs.boundary.checks import shown
from murmurs.boundary.reading import is_digits, refuse
from murmurs.boundary.writing import writing

LARGEST = 2**62


def write_csv(path: Path, records: Iterable[Iterable[object]]) -> None:
    """Write rows to a CSV file."""
    with writing(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        try:
            write_rows(text, records)
        finally:
            text.detach()


def write_rows(file: IO[str], records: Iterable[Iterable[object]]) -> None:
    """Write rows as CSV."""
    csv.writer(file, lineterminator="\n").writerows(records)


def csv_text(records: Iterable[Iterable[object]]) -> str:
    """Return rows as the text of a CSV file."""
    out = io.StringIO()
    write_rows(out, records)
    return out.getvalue()


def whole_cell(path: Path, line: int, name: str, text: str) -> int:
    """Return the whole number in a cell, or refuse its line."""
    if not is_digits(text):
        refuse(path, line, f"{name} must be a whole number, not {shown(text)}")
    if len(text) > 19 or int(text) > LARGEST:
        refuse(path, line, f"{name} must be at most 2**62, not {shown(text)}")
    return int(text)


def real_cell(path: Path, line: int, name: str, text: str) -> float:
    """Return the number in a cell, or refuse its line."""
    try:
        return float(text)
    except ValueError:
        refuse(path, line, f"{name} must be a number, not {shown(text)}")
