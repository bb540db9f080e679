"""Write what was counted: as a counts.parquet, and where refused rows are.

The rows of a counts.parquet have a day and a segment. The column called ``day`` gives the day, and
all others give the segment, with - between their texts.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from pathlib import Path

from murmurs.boundary.writing import writing
from murmurs.counts import Counts
from murmurs.engines.running import Counted
from murmurs.files.exported import write_exported
from murmurs.files.schema import DAY
from murmurs.files.segments import Segment
from murmurs.questions.asked import Asked

Row = tuple[Asked, datetime.date | None, str | None, Counts]


def write(counted: Counted, path: str | Path) -> None:
    """Write counts as a counts.parquet, which `murmurs estimate`, `trend` and others read.

    The column ``day`` of ``by`` becomes the day of a row, which must be a date, and all others its
    segment. The file appears when it is complete.

    >>> from tempfile import TemporaryDirectory
    >>> import pyarrow
    >>> from murmurs import Question, Survey, read_counts
    >>> from murmurs.engines import local
    >>> survey = Survey("coffee", (Question("drink", ["tea", "mate"], epsilon=1.0),))
    >>> found = local.count(pyarrow.table({"drink": [0, 1, 1]}), survey)
    >>> with TemporaryDirectory() as folder:
    ...     write(found, Path(folder, "counts.parquet"))
    ...     question, counts = read_counts(Path(folder, "counts.parquet"), survey)
    >>> counts.cells
    array([1, 2])
    """
    rows = list(rows_of(counted))
    with writing(Path(path)) as file:
        write_exported(file, counted.survey, rows)


def write_refused(counted: Counted, path: str | Path) -> None:
    """Write where refused rows are, and why, as JSON lines: the first ones of each reason."""
    with writing(Path(path)) as file:
        for one in counted.samples:
            line = {"file": one.source, "row": one.row, "reason": one.reason}
            file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")


def rows_of(counted: Counted) -> Iterator[Row]:
    """Return the rows of a counts.parquet: the column day is their day, all others their segment.

    Several columns are one segment, with - between their texts.
    """
    names: dict[tuple[datetime.date | None, str | None], Segment] = {}
    for segment, by_question in counted.segments.items():
        texts = dict(zip(counted.by, segment, strict=True))
        day = _day(texts.pop(DAY)) if DAY in texts else None
        name = "-".join(texts.values()) if texts else None
        before = names.setdefault((day, name), segment)
        if before != segment:
            raise ValueError(
                f"the segments {before} and {segment} would have the same name, {name!r}: rename "
                "one of them"
            )
        for question, counts in by_question.items():
            yield counted.survey.asked(question), day, name, counts


def _day(text: str) -> datetime.date:
    try:
        found = datetime.date.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or str(found) != text:
        raise ValueError(
            f"the column 'day' has {text!r}, which is no date such as 2027-03-31: give "
            "it another name, and it is a segment"
        )
    return found
