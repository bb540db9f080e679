"""Schema: the one form in which reports are Parquet or Arrow, for murmurs and for other tools.

A report is a whole number of the smallest unsigned type if it is one of several categories, and
else its bytes, all of one size. A table of submissions has the columns ``id``, ``day`` and
``segment``, as far as they are known, and a column for each question, with its name. A question by
itself has its reports in ``report``. The metadata name the survey.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from typing import Any

from murmurs.boundary.checks import shown
from murmurs.present import frames
from murmurs.survey.survey import Survey
from murmurs.wire import Category, Reports, Shape

SURVEY = b"murmurs_survey"
"""The metadata of a file that has the survey."""

FINGERPRINT = b"murmurs_fingerprint"
"""The metadata of a file that says for which survey its reports were made."""

ID, DAY, SEGMENT = "id", "day", "segment"
"""Columns of submissions that are no questions."""

QUESTION, REPORT = "question", "report"
"""Folders may be named after questions, each with a column of reports."""

ID_BYTES = 16

_NOT_IN_A_PATH = re.compile(r"""[\x00-\x1f\x7f"#%'*/:=?\\{\[\]^<>|]""")
"""What Hive writes as an escape in the name of a folder, and what Windows does not allow there."""


def about(survey: Survey) -> dict[bytes, bytes]:
    """Return the metadata of a file of reports: the survey, and its fingerprint."""
    return {FINGERPRINT: survey.fingerprint.encode(), SURVEY: survey.to_json().encode()}


def report_type(shape: Shape[Any]) -> Any:
    """Return the type of a column of reports.

    >>> from murmurs.wire import Bits
    >>> str(report_type(Category(300))), str(report_type(Bits(20)))
    ('uint16', 'fixed_size_binary[3]')
    """
    pyarrow = frames.needed("pyarrow", "frames")
    if isinstance(shape, Category):
        return pyarrow.from_numpy_dtype(shape.dtype)
    return pyarrow.binary(shape.size)


def report_column(shape: Shape[Any], reports: Reports) -> Any:
    """Return an array of reports as a column, without copying it if it is in one piece."""
    pyarrow = frames.needed("pyarrow", "frames")
    checked = shape.check(reports)
    if isinstance(shape, Category):
        return pyarrow.array(checked, report_type(shape))
    data = pyarrow.py_buffer(checked.tobytes())
    return pyarrow.Array.from_buffers(report_type(shape), len(checked), [None, data])


def reports_schema(survey: Survey) -> Any:
    """Return the Arrow schema of submissions to a survey: a row for each, a column per question.

    ``id`` has 16 random bytes, ``day`` a date, ``segment`` a text. A joint is one column, with its
    name.

    >>> from murmurs import Question
    >>> drink = Question("drink", ["tea", "mate"], epsilon=1.0)
    >>> for field in reports_schema(Survey("coffee", (drink,))):
    ...     print(field.name, field.type)
    id fixed_size_binary[16]
    day date32[day]
    segment string
    drink uint8
    """
    pyarrow = frames.needed("pyarrow", "frames")
    for asked in survey.reported:
        if asked.name in (ID, DAY, SEGMENT):
            raise ValueError(
                f"a question is called {shown(asked.name)}, as is another column of submissions: "
                "give it another name, in a new version of the survey"
            )
    fields = [
        (ID, pyarrow.binary(ID_BYTES)),
        (DAY, pyarrow.date32()),
        (SEGMENT, pyarrow.string()),
        *((asked.name, report_type(asked.mechanism.shape)) for asked in survey.reported),
    ]
    return pyarrow.schema(fields, about(survey))


def reports_table(
    survey: Survey,
    reports: Mapping[str, Reports],
    *,
    ids: Sequence[bytes] | None = None,
    day: datetime.date | Sequence[datetime.date] | None = None,
    segment: str | Sequence[str | None] | None = None,
) -> Any:
    """Return reports as a table of Arrow in the schema of `reports_schema`.

    ``reports`` are those to each question, as ``encode_many`` returns them, in the same order.
    ``day`` and ``segment`` are that of all rows, or one for each. Columns that are not given are
    left out.

    >>> from murmurs import Question
    >>> drink = Question("drink", ["tea", "mate"], epsilon=1.0)
    >>> made = drink.encode_many(["tea", "tea", "mate"])
    >>> table = reports_table(Survey("coffee", (drink,)), {"drink": made}, segment="north")
    >>> table.column_names, table.num_rows
    (['segment', 'drink'], 3)
    """
    pyarrow = frames.needed("pyarrow", "frames")
    schema = reports_schema(survey)
    columns: dict[str, Any] = {}
    for name, own in reports.items():
        columns[survey.asked(name).name] = report_column(survey.asked(name).mechanism.shape, own)
    sizes = {name: len(column) for name, column in columns.items()}
    if len(set(sizes.values())) != 1:
        raise ValueError(f"each question needs as many reports as the others, not {sizes}")
    [n] = set(sizes.values())
    for name, given in ((ID, ids), (DAY, day), (SEGMENT, segment)):
        if given is not None:
            kind = schema.field(name).type
            one = isinstance(given, str | datetime.date)
            found = pyarrow.scalar(given, kind) if one else pyarrow.array(given, kind)
            columns[name] = pyarrow.repeat(found, n) if one else found
            if len(columns[name]) != n:
                raise ValueError(f"{name} has {len(columns[name])} values for {n} reports")
    chosen = [field for field in schema if field.name in columns]
    own_schema = pyarrow.schema(chosen, schema.metadata)
    return pyarrow.table([columns[field.name] for field in chosen], own_schema)


def question_schema(survey: Survey, name: str) -> Any:
    """Return the schema of the reports to one question, in a folder named after it and the day."""
    pyarrow = frames.needed("pyarrow", "frames")
    kind = report_type(survey.asked(name).mechanism.shape)
    return pyarrow.schema([(SEGMENT, pyarrow.string()), (REPORT, kind)], about(survey))


def counts_schema(survey: Survey) -> Any:
    """Return the schema of counts: a row for each question, day and segment."""
    pyarrow = frames.needed("pyarrow", "frames")
    fields = [
        ("survey", pyarrow.string()),
        ("version", pyarrow.int64()),
        ("fingerprint", pyarrow.string()),
        (QUESTION, pyarrow.string()),
        (DAY, pyarrow.date32()),
        (SEGMENT, pyarrow.string()),
        ("n", pyarrow.int64()),
        ("cells", pyarrow.list_(pyarrow.int64())),
    ]
    return pyarrow.schema(fields, {SURVEY: survey.to_json()})


def folder_of(column: str, value: str) -> str:
    """Return the name of the folder of a value, as Hive, Spark and DuckDB read it.

    >>> folder_of("question", "age/sex"), folder_of("question", "Käse 50 %")
    ('question=age%2Fsex', 'question=Käse 50 %25')
    """
    safe = _NOT_IN_A_PATH.sub(lambda found: f"%{ord(found[0]):02X}", value)
    return f"{column}={safe}"
