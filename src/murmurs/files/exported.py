"""Counts of a whole survey: ``counts.parquet``, a row for each question, day and segment.

`murmurs store export` and `murmurs count --engine` write it, with the survey in its metadata. The
commands that read files of counts read it too: all rows of a question together, or the rows of each
period or segment. Where nobody knows the days, no row has one.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, get_args

import numpy as np

from murmurs.boundary.reading import named
from murmurs.boundary.texts import listed
from murmurs.counts import Counts, People
from murmurs.files.columns import format_of
from murmurs.files.schema import SURVEY, counts_schema
from murmurs.numerics.arrays import Integers
from murmurs.present.frames import needed
from murmurs.questions.asked import Asked
from murmurs.survey.rounds import (
    Rounds,
    assumption_of,
    drawn_part,
    people_of,
    repeatable,
    round_of,
    rounds_of,
)
from murmurs.survey.survey import Survey
from murmurs.survey.terms import Period, period_number

COLUMNS = ("fingerprint", "question", "day", "segment", "n", "cells")

By = Literal["day", "week", "month", "segment"]
PARTS: tuple[By, ...] = get_args(By)

_CELLS = 2**20
"""The number of cells in a group of rows, about: a reader holds one group at a time."""

_NO_DAY = datetime.date(1970, 1, 1)
"""The day of all rows, if they have none: reports of one round."""


class Row(NamedTuple):
    """What was collected on a day from a segment."""

    day: datetime.date | None
    segment: str | None
    n: int
    cells: Integers


class Counted(NamedTuple):
    """Counts, what is assumed about their people, and the day of the only round that was taken."""

    counts: Counts
    rounds: Rounds
    only: str | None


@dataclass(frozen=True)
class Exported:
    """The rows of one question of a survey."""

    survey: Survey
    asked: Asked
    rows: tuple[Row, ...]

    def parts(self, by: By) -> dict[str, list[Row]]:
        """Return the rows of each period, in order and named by its first day, or segment."""
        if by != "segment" and not self.has_days:
            raise ValueError(
                f"the counts of {self.asked.name!r} have no days: show `by=segment`, or count the "
                "reports again by their day"
            )
        found: dict[Any, list[Row]] = {}
        for row in sorted(self.rows, key=_day):
            key = row.segment if by == "segment" else period_number(by, _day(row))
            found.setdefault(key, []).append(row)
        if by == "segment":
            return {"(none)" if key is None else key: rows for key, rows in found.items()}
        return {_first_day(by, _day(rows[0])): rows for rows in found.values()}

    @property
    def has_days(self) -> bool:
        """Whether the rows have days: all of them, or none."""
        return all(row.day is not None for row in self.rows)

    def counts(self, rows: Sequence[Row] | None = None, people: People | None = None) -> Counted:
        """Return the counts of some rows, or of all, and what is assumed about the people.

        Whether the same people reported on several days is taken from the survey, unless ``people``
        says so. Where the rounds of the same people cannot be estimated together, the largest is
        taken alone. Reports without days are taken for those of one round.
        """
        chosen, terms = list(self.rows if rows is None else rows), self.survey.terms
        mechanism, only = self.asked.mechanism, None
        whose = people or people_of(terms, mechanism)
        together = self.asked.is_joint or not repeatable(mechanism)
        if whose == "same" and together:  # a table is about one report of each person
            kept = _largest_round(chosen, round_of(terms))
            only = str(min(map(_day, kept))) if len(kept) < len(chosen) else None
            chosen = kept
        rounds = rounds_of(_by_day(chosen), terms, whose, drawn_part(self.survey))
        zeros = np.zeros(mechanism.channel.cells, np.int64)
        cells = sum((row.cells for row in chosen), zeros)
        counts = Counts(mechanism, sum(row.n for row in chosen), cells)
        return Counted(rounds.apply(counts), rounds, only)


def assumption(several: Sequence[Counted]) -> str:
    """Return what is assumed about the people of several counts, as a part of a sentence."""
    return assumption_of([own.rounds for own in several], [own.only for own in several])


def is_exported(path: Path) -> bool:
    """Whether a file of counts is Parquet, as `murmurs store export` writes it."""
    return format_of(path) == "parquet"


def write_exported(
    file: IO[bytes] | Path,
    survey: Survey,
    rows: Iterable[tuple[Asked, datetime.date | None, str | None, Counts]],
) -> int:
    """Write rows of question, day, segment and counts; return the number of their reports."""
    pyarrow = needed("pyarrow", "frames")
    schema, total, size = counts_schema(survey), 0, 0
    waiting: list[dict[str, Any]] = []
    with needed("pyarrow.parquet", "frames").ParquetWriter(file, schema) as writer:
        for asked, day, segment, counts in rows:
            waiting.append(
                {
                    "survey": survey.name,
                    "version": survey.version,
                    "fingerprint": survey.fingerprint,
                    "question": asked.name,
                    "day": day,
                    "segment": segment,
                    "n": counts.n,
                    "cells": counts.cells.ravel(),
                }
            )
            total += counts.n
            size += counts.cells.size
            if size >= _CELLS:
                writer.write_table(pyarrow.Table.from_pylist(waiting, schema))
                waiting, size = [], 0
        if waiting:
            writer.write_table(pyarrow.Table.from_pylist(waiting, schema))
    return total


def read_exported(path: Path, question: str | None = None, *, joint: bool = False) -> Exported:
    """Return the rows of a question; without a name, of the only one that has reports.

    With ``joint``, it is the only one of several that asks questions together.
    """
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise ImportError("Parquet is read with pyarrow: pip install 'murmurs[frames]'") from error
    try:
        file = ParquetFile(path)
        names, about = file.schema_arrow.names, file.schema_arrow.metadata or {}
        if SURVEY not in about or not set(COLUMNS) <= set(names):
            raise ValueError(
                f"{named(path)} is not a counts.parquet that murmurs store export wrote; if it has "
                "reports or answers, run murmurs count first"
            )
        survey = Survey.from_json(about[SURVEY].decode())
        table = file.read(columns=list(COLUMNS)).to_pylist()
    except FileNotFoundError:
        raise
    except (ArrowException, OSError, OverflowError, UnicodeDecodeError):
        raise ValueError(
            f"{named(path)} is not a whole Parquet file: it is cut off, damaged or of another kind"
        ) from None
    there = tuple(dict.fromkeys(str(row["question"]) for row in table))
    joints = tuple(joint.name for joint in survey.joints if joint.name in there)
    if question is None and joint and len(joints) == 1:
        there = joints
    if question is None and len(there) != 1:
        found = f"counts of {listed(there)}: add --question" if there else "no counts"
        raise ValueError(f"{named(path)} has {found}")
    asked = survey.asked(there[0] if question is None else question)
    return Exported(survey, asked, _rows(path, survey, asked, table))


def _rows(path: Path, survey: Survey, asked: Asked, table: list[dict[str, Any]]) -> tuple[Row, ...]:
    """Return the rows of a question, each of which must be counts of its mechanism."""
    shape = asked.mechanism.channel.cells
    found: list[Row] = []
    seen: set[tuple[datetime.date | None, str | None]] = set()
    dated = any(row["day"] is not None for row in table)
    for number, row in enumerate(table, 1):
        if row["question"] != asked.name:
            continue
        try:
            if row["fingerprint"] != survey.fingerprint:
                raise ValueError("it is of another survey")
            day, segment, given = row["day"], row["segment"], np.array(row["cells"])
            is_day = type(day) is datetime.date if dated else day is None
            if not is_day or not isinstance(segment, str | None):
                raise ValueError("its day is not a date, or its segment not a name")
            if (day, segment) in seen:
                raise ValueError("another row is of the same day and segment")
            if given.dtype.kind != "i":
                raise ValueError("its cells are not whole numbers")
            cells = given.astype(np.int64).reshape(shape)
            Counts(asked.mechanism, row["n"], cells)
        except (ValueError, TypeError, OverflowError) as error:
            raise ValueError(f"{named(path)}, row {number}: {error}") from None
        seen.add((day, segment))
        found.append(Row(day, segment, row["n"], cells))
    if not found:
        raise ValueError(f"{named(path)} has no counts of {asked.name!r}")
    return tuple(found)


def _by_day(rows: Sequence[Row]) -> dict[datetime.date, int]:
    found: dict[datetime.date, int] = {}
    for row in rows:
        found[_day(row)] = found.get(_day(row), 0) + row.n
    return found


def _day(row: Row) -> datetime.date:
    return row.day or _NO_DAY


def _largest_round(rows: Sequence[Row], each: Period) -> list[Row]:
    """Return the rows of the round with the most reports, of equal ones the latest."""
    found: dict[int, list[Row]] = {}
    for row in rows:
        found.setdefault(period_number(each, _day(row)), []).append(row)
    return max(found.items(), key=lambda item: (sum(row.n for row in item[1]), item[0]))[1]


def _first_day(by: By, day: datetime.date) -> str:
    """Return the name of a period: its first day, or its month."""
    if by == "month":
        return day.strftime("%Y-%m")
    return str(day - datetime.timedelta(day.weekday() if by == "week" else 0))
