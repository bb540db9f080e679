"""Export: everything that was collected, as Parquet files for other tools.

Each survey has a folder with its document, ``survey.json``; the counts of each question, day and
segment, ``counts.parquet``; and for each question whose reports are kept these, in the form that
`murmurs count` reads, ``reports-NAME.parquet``.
"""

from __future__ import annotations

import datetime
import re
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from murmurs.collect.stores import copying
from murmurs.collect.stores.store import Part, Store, keeps_reports
from murmurs.files.exported import SURVEY
from murmurs.questions.asked import Asked
from murmurs.survey.survey import Survey

_ROWS = 2**18
"""The most reports in one group of rows: a reader holds one group at a time."""


def export(store: Store, target: Path) -> dict[str, int]:
    """Write everything in a store to a new folder; return the number of reports by survey.

    Submissions may arrive meanwhile: days that are over are complete, and of the present day each
    row is exact at the moment at which it was read.
    """
    if target.exists():
        raise FileExistsError(f"{target} exists: an export is written to a new folder")
    temporary = target.with_name(f"{copying.PREFIX}{secrets.token_hex(8)}")
    temporary.mkdir(mode=0o700, parents=True)
    with copying.held(temporary):
        copying.sweep(temporary.parent)
        return _exported(store, temporary, target)


def _exported(store: Store, temporary: Path, target: Path) -> dict[str, int]:
    """Write to a folder that appears under its name when it is complete."""
    try:
        found = {}
        for collection in store.collections():
            survey = collection.survey
            folder = temporary / folder_name(survey, {path.name for path in temporary.iterdir()})
            folder.mkdir()
            found[folder.name] = _export_survey(store, survey, folder)
        temporary.rename(target)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    return found


def folder_name(survey: Survey, taken: set[str]) -> str:
    """Return the name of the folder of a survey: its name and version, in safe letters."""
    name = f"{_safe(survey.name)}-{survey.version}"
    return f"{name}-{survey.short_fingerprint}" if name in taken else name


def _file_name(asked: Asked, folder: Path) -> str:
    """Return the name of the file of a question's reports, in safe letters and not yet taken."""
    name, number = f"reports-{_safe(asked.name)}", 1
    while (folder / f"{name}.parquet").exists():
        number += 1
        name = f"reports-{_safe(asked.name)}-{number}"
    return f"{name}.parquet"


def _safe(name: str) -> str:
    return re.sub(r"[^\w+-]+", "_", name)[:100]


def _export_survey(store: Store, survey: Survey, folder: Path) -> int:
    pyarrow, parquet = _arrow()
    (folder / "survey.json").write_text(survey.to_json(), encoding="utf-8")
    schema = pyarrow.schema(
        [
            ("survey", pyarrow.string()),
            ("version", pyarrow.int64()),
            ("fingerprint", pyarrow.string()),
            ("question", pyarrow.string()),
            ("day", pyarrow.date32()),
            ("segment", pyarrow.string()),
            ("n", pyarrow.int64()),
            ("cells", pyarrow.list_(pyarrow.int64())),
        ],
        {SURVEY: survey.to_json()},
    )
    total = 0
    with parquet.ParquetWriter(folder / "counts.parquet", schema) as writer:
        for asked in survey.reported:
            for part, day in _parts(store, survey, asked):
                counts = store.counts(part)
                row = {
                    "survey": survey.name,
                    "version": survey.version,
                    "fingerprint": survey.fingerprint,
                    "question": asked.name,
                    "day": day,
                    "segment": part.segment,
                    "n": counts.n,
                    "cells": counts.cells.ravel(),
                }
                writer.write_table(pyarrow.Table.from_pylist([row], schema))
                total += counts.n
    for asked in filter(keeps_reports, survey.reported):
        _export_reports(store, survey, asked, folder / _file_name(asked, folder))
    return total


def _export_reports(store: Store, survey: Survey, asked: Asked, path: Path) -> None:
    pyarrow, parquet = _arrow()
    shape = asked.mechanism.shape
    plain = shape.columns is None and shape.dtype.fields is None
    kind = pyarrow.from_numpy_dtype(shape.dtype) if plain else pyarrow.binary(shape.size)
    schema = pyarrow.schema(
        [("day", pyarrow.date32()), ("segment", pyarrow.string()), ("report", kind)]
    )
    with parquet.ParquetWriter(path, schema) as writer:
        for part, day in _parts(store, survey, asked):
            for batch in store.reports(part):
                for start in range(0, len(batch), _ROWS * shape.size):
                    column = shape.column(
                        shape.from_bytes(batch[start : start + _ROWS * shape.size])
                    )
                    columns = {
                        "day": [day] * len(column),
                        "segment": [part.segment] * len(column),
                        "report": column,
                    }
                    writer.write_table(pyarrow.table(columns, schema))


def _parts(store: Store, survey: Survey, asked: Asked) -> Iterator[tuple[Part, datetime.date]]:
    """Return the part of every day and segment that has reports, with the date."""
    first = datetime.date(1970, 1, 1)
    for day, segment in store.days(survey.fingerprint, asked.name):
        part = Part(survey.fingerprint, asked.name, segment, day, day)
        yield part, first + datetime.timedelta(days=day)


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ImportError(
            "Parquet is written with pyarrow: pip install 'murmurs[frames]'"
        ) from None
    return pyarrow, parquet
