"""Tables of private reports: a column for each question, in CSV, TSV, Parquet or JSON lines.

A column has codes, which `murmurs count` reads: the number of the report where a report is one,
else its bytes, as binary in Parquet and as base64 text elsewhere. Or it has labels, where reports
consist of answers (`murmurs.files.labels`).
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from murmurs.boundary import base64s
from murmurs.boundary.checks import shown
from murmurs.boundary.reading import is_digits
from murmurs.boundary.writing import writing
from murmurs.files.columns import format_of
from murmurs.files.labels import report_names
from murmurs.files.schema import report_column
from murmurs.present import frames
from murmurs.questions.asked import Asked
from murmurs.wire import Category, Reports


def is_table(path: Path) -> bool:
    """Whether the name of a file promises a table."""
    return format_of(path) != "text" and path.suffix != ".gz"


def codes_of(asked: Asked, reports: Reports) -> list[Any]:
    """Return reports as numbers, or as bytes where numbers would be taken for something else."""
    shape = asked.mechanism.shape
    if isinstance(shape, Category) and not numbers_are_labels(asked):
        return shape.column(reports)
    data, size = reports.tobytes(), shape.size
    return [data[i : i + size] for i in range(0, len(data), size)]


def column_of(asked: Asked, reports: Reports) -> Any:
    """Return the same as a column of Arrow, with the type of `murmurs.files.schema`."""
    shape = asked.mechanism.shape
    if isinstance(shape, Category) and numbers_are_labels(asked):
        pyarrow = frames.needed("pyarrow", "frames")
        return pyarrow.array(codes_of(asked, reports), pyarrow.binary(shape.size))
    return report_column(shape, reports)


def numbers_are_labels(asked: Asked) -> bool:
    """Whether the number of a report could be taken for a label that is another number."""
    names = report_names(asked)
    return any(map(is_digits, names)) and names != tuple(map(str, range(len(names))))


def write_table(
    path: Path, columns: Mapping[str, Any], about: Mapping[bytes, bytes] | None = None
) -> None:
    """Write columns of the same length; the suffix of the file gives the format.

    They are lists or, for Parquet, columns of Arrow. ``about`` is the metadata of Parquet.
    """
    kind = format_of(path)
    if kind == "parquet":
        pyarrow = frames.needed("pyarrow", "frames")
        table = pyarrow.table({name: _arrow(pyarrow, name, own) for name, own in columns.items()})
        table = table.replace_schema_metadata(about)
        with writing(path) as file:
            frames.needed("pyarrow.parquet", "frames").write_table(table, file)
        return
    with writing(path) as file:
        for text in _texts(columns, kind):
            file.write(text.encode())


def _arrow(pyarrow: Any, name: str, values: Any) -> Any:
    """Return a column of Arrow."""
    if isinstance(values, pyarrow.Array):
        return values
    with contextlib.suppress(pyarrow.ArrowException, OverflowError):
        return pyarrow.array(values)
    raise ValueError(  # Arrow's own error would quote a cell
        f"column {shown(name)} has values of several types, or too large ones, which Parquet does "
        "not hold: write .jsonl or .csv, or leave the column out"
    )


def _texts(columns: Mapping[str, list[Any]], kind: str) -> Iterator[str]:
    """Return the lines of a table."""
    rows = zip(*columns.values(), strict=True)
    if kind == "jsonl":
        for row in rows:
            found = dict(zip(columns, map(_in_json, row), strict=True))
            yield json.dumps(found, ensure_ascii=False, default=str) + "\n"
        return
    out = io.StringIO()
    mark = "\t" if kind == "tsv" else ","
    writer = csv.writer(out, delimiter=mark, lineterminator="\n")
    quoting = csv.writer(out, csv.unix_dialect, delimiter=mark)  # for "\r", which ends a line too
    for row in chain([tuple(columns)], rows):
        if out.tell() > 2**16:
            yield _taken(out)
        cells = [_cell(value) for value in row]
        returns = any(isinstance(cell, str) and "\r" in cell for cell in cells)
        (quoting if returns else writer).writerow(cells)
    yield _taken(out)


def _taken(out: io.StringIO) -> str:
    text = out.getvalue()
    out.seek(0)
    out.truncate()
    return text


def _plain(value: Any) -> Any:
    return base64s.to_text(value) if isinstance(value, bytes) else value


def _in_json(value: Any) -> Any:
    """Return a value as JSON has it: a number that is not finite is null."""
    return None if isinstance(value, float) and not math.isfinite(value) else _plain(value)


def _cell(value: Any) -> Any:
    """Return a value as CSV has it: sets of labels as JSON."""
    if isinstance(value, list):
        return json.dumps(value, ensure_ascii=False)
    return _plain(value)
