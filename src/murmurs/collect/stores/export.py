"""Export: everything that was collected, as Parquet files for other tools.

Each survey has a folder with its document, ``survey.json``; the counts of each question, day and
segment, ``counts.parquet``; and the reports to each question whose reports are kept, in the form of
`murmurs.files.schema`, ``reports/question=NAME/day=YYYY-MM-DD/part-0.parquet``.
"""

from __future__ import annotations

import datetime
import re
import secrets
import shutil
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from murmurs.collect.stores import copying
from murmurs.collect.stores.store import Part, Store, keeps_reports
from murmurs.counts import Counts
from murmurs.files.exported import write_exported
from murmurs.files.schema import DAY, QUESTION, folder_of, question_schema, report_column
from murmurs.present.frames import needed
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


def _safe(name: str) -> str:
    return re.sub(r"[^\w+-]+", "_", name)[:100]


def _export_survey(store: Store, survey: Survey, folder: Path) -> int:
    (folder / "survey.json").write_text(survey.to_json(), encoding="utf-8")
    total = write_exported(folder / "counts.parquet", survey, _counts(store, survey))
    for asked in filter(keeps_reports, survey.reported):
        _export_reports(store, survey, asked, folder / "reports")
    return total


def _counts(
    store: Store, survey: Survey
) -> Iterator[tuple[Asked, datetime.date, str | None, Counts]]:
    for asked in survey.reported:
        for part in _parts(store, survey, asked):
            yield asked, _date(part), part.segment, store.counts(part)


def _export_reports(store: Store, survey: Survey, asked: Asked, folder: Path) -> None:
    """Write the reports to a question, those of each day to a folder of their own."""
    parquet = needed("pyarrow.parquet", "frames")
    schema = question_schema(survey, asked.name)
    of_question = folder / folder_of(QUESTION, asked.name)
    for day, parts in groupby(_parts(store, survey, asked), _date):
        of_day = of_question / folder_of(DAY, day.isoformat())
        of_day.mkdir(parents=True)
        with parquet.ParquetWriter(of_day / "part-0.parquet", schema) as writer:
            for part in parts:
                for table in _tables(store, asked, part, schema):
                    writer.write_table(table)


def _tables(store: Store, asked: Asked, part: Part, schema: Any) -> Iterator[Any]:
    """Return the reports of a day and a segment, a bounded number at a time."""
    pyarrow, shape = needed("pyarrow", "frames"), asked.mechanism.shape
    for batch in store.reports(part):
        for start in range(0, len(batch), _ROWS * shape.size):
            reports = shape.from_bytes(batch[start : start + _ROWS * shape.size])
            segment = pyarrow.scalar(part.segment, pyarrow.string())
            columns = [pyarrow.repeat(segment, len(reports)), report_column(shape, reports)]
            yield pyarrow.table(columns, schema)


def _parts(store: Store, survey: Survey, asked: Asked) -> list[Part]:
    """Return the part of every day and segment that has reports, in order."""
    days = store.days(survey.fingerprint, asked.name)
    return [
        Part(survey.fingerprint, asked.name, segment, day, day)
        for day, segment in sorted(days, key=lambda own: (own[0], own[1] or ""))
    ]


def _date(part: Part) -> datetime.date:
    assert part.first_day is not None
    return datetime.date(1970, 1, 1) + datetime.timedelta(days=part.first_day)
