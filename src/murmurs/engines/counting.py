"""Count the rows of one part: what every engine does on its workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from murmurs.boundary.checks import shown
from murmurs.boundary.frames import MISSING, Coded
from murmurs.engines.batches import batches
from murmurs.engines.job import Job
from murmurs.engines.sources import AnyPart, SourceError
from murmurs.engines.tally import Refusal, Tally
from murmurs.files.columns import coded_segments, joined_segments
from murmurs.files.segments import Segment, segment_texts
from murmurs.numerics.arrays import Integers
from murmurs.questions.asked import Asked
from murmurs.questions.reported import as_reports
from murmurs.wire import Reports
from murmurs.wire.forms import arrays

Places = range | Integers
"""The numbers of rows in their file."""

_WAITING = 2**21
"""Rows of all segments that are gathered before they are counted: few calls for many segments."""


Take = Callable[[Segment, Asked, Reports], None]
"""Called with the checked reports of a segment to a question."""


def count_part(job: Job, part: AnyPart, without: Integers | None = None) -> Tally:
    """Return the tally of a part; ``without`` are rows whose ids were counted elsewhere, sorted."""
    tally = Tally()

    def add(segment: Segment, asked: Asked, reports: Reports) -> None:
        cells = tally.sum_of(segment, asked, len(reports))
        asked.mechanism.add(reports, cells)

    read_part(job, part, without, tally, add)
    return tally


def read_part(job: Job, part: AnyPart, without: Integers | None, tally: Tally, take: Take) -> None:
    """Hand out the reports of a part, and count in the tally what is left out."""
    gathered = _Gathered(job, part, tally, take)
    for first, batch in batches(part, job.reads(part), job.identity):
        tally.rows += batch.num_rows
        rows = _rows(job, part, tally, first, batch, without)
        gathered.put(batch, first, rows)
    gathered.flush()


def nothing(job: Job, parts: Sequence[AnyPart]) -> Tally:
    """Return the tally of no rows: without segments, every question has counts of no reports."""
    tally = Tally()
    if not job.by:
        for part in parts:
            for asked, _ in job.asked(part):
                tally.sum_of((), asked, 0)
    return tally


def _rows(
    job: Job, part: AnyPart, tally: Tally, first: int, batch: Any, without: Integers | None
) -> Integers | None:
    """Return the rows of a batch that have an id which was not counted yet, None for all."""
    if job.identity is None:
        return None
    ids = batch.column(job.identity)
    if hasattr(ids, "dictionary_decode"):
        ids = ids.dictionary_decode()
    kept = np.ones(batch.num_rows, np.bool_)
    if ids.null_count:
        missing = ids.is_null().to_numpy(zero_copy_only=False)
        _refuse(job, part, tally, first + np.flatnonzero(missing), "the id is missing")
        kept &= ~missing
    if without is not None:
        start, end = np.searchsorted(without, [first, first + batch.num_rows])
        again = without[start:end] - first
        tally.repeated += int(kept[again].sum())
        kept[again] = False
    return None if kept.all() else np.flatnonzero(kept)


def _refuse(job: Job, part: AnyPart, tally: Tally, rows: Integers, reason: str) -> None:
    """Count rows as refused, or stop at the first."""
    for row in rows.tolist():
        if job.bad == "stop":
            raise SourceError(
                f"{part.name}, row {row + 1}: {reason}; correct it, or leave such rows out with "
                "`bad='skip'`"
            )
        tally.refuse(Refusal(part.number, part.name, row + 1, reason))


class _Gathered:
    """Rows of a part; those of segments wait until there are enough to count many at once."""

    def __init__(self, job: Job, part: AnyPart, tally: Tally, take: Take) -> None:
        self._job, self._part, self._tally, self._take = job, part, tally, take
        self._asked = job.asked(part)
        self._numbers: dict[Segment, int] = {}
        self._waiting: list[tuple[Any, Integers, Integers]] = []
        self._size = 0
        nobody = np.zeros(0, np.int64)
        self._ordered: tuple[Integers, Integers, list[int]] = (nobody, nobody, [])

    def put(self, batch: Any, first: int, rows: Integers | None) -> None:
        """Count the rows of a batch, or keep them until there are enough."""
        if not self._job.by:
            places: Places = range(first, first + batch.num_rows)
            if rows is not None:
                batch, places = batch.take(rows), first + rows
            self._count(batch, places, None)
            return
        rows, segments = self._segments_of(batch, first, rows)
        own = batch.select([column for _, column in self._asked])
        self._waiting.append((own.take(rows), first + rows, segments))
        self._size += len(rows)
        if self._size >= _WAITING:
            self.flush()

    def flush(self) -> None:
        """Count what waits."""
        from pyarrow import Table

        if self._waiting:
            tables, places, segments = zip(*self._waiting, strict=True)
            table = Table.from_batches(tables).combine_chunks()
            self._count(table, np.concatenate(places), np.concatenate(segments))
            self._waiting, self._size = [], 0

    def _segments_of(
        self, batch: Any, first: int, rows: Integers | None
    ) -> tuple[Integers, Integers]:
        """Return the rows that have a segment, and the numbers of their segments."""
        codes, values = self._coded(batch)
        chosen = np.arange(batch.num_rows) if rows is None else rows
        missing = codes[chosen] == MISSING
        if missing.any():
            reason = f"the segment {listed_by(self._job)} is missing"
            _refuse(self._job, self._part, self._tally, first + chosen[missing], reason)
            chosen = chosen[~missing]
        known = self._numbers
        numbers = [known.setdefault(segment_texts(value), len(known)) for value in values]
        return chosen, np.array(numbers, np.int64)[codes[chosen]]

    def _coded(self, batch: Any) -> Coded:
        """Return the segments of the rows of a batch, coded."""
        folders = dict(self._part.partition)
        columns = []
        for name in self._job.by:
            if name not in folders:
                columns.append(coded_segments(self._part.name, name, batch.column(name)))
            elif folders[name] is None:
                columns.append(Coded(np.full(batch.num_rows, MISSING), []))
            else:
                columns.append(Coded(np.zeros(batch.num_rows, np.int64), [folders[name]]))
        found = joined_segments(columns)
        assert found is not None
        return found

    def _count(self, table: Any, places: Places, segments: Integers | None) -> None:
        """Count the reports to each question; ``segments`` are the numbers of their segments."""
        for asked, column in self._asked:
            values, own_places, own_segments = table.column(column), places, segments
            if values.null_count:
                there = values.is_valid().to_numpy(zero_copy_only=False)
                self._miss(asked, len(there) - int(there.sum()))
                values, own_places = values.drop_null(), np.asarray(places)[there]
                own_segments = None if segments is None else segments[there]
            for start, reports in _runs(asked, values, self._job.reported):
                if reports is None:
                    reason = no_report(self._job, asked, column)
                    row = np.array([own_places[start]])
                    _refuse(self._job, self._part, self._tally, row, reason)
                elif own_segments is None:
                    self._take((), asked, reports)
                else:
                    whole = len(reports) == len(own_segments)
                    own = own_segments if whole else own_segments[start : start + len(reports)]
                    self._add_segments(asked, reports, own)

    def _miss(self, asked: Asked, number: int) -> None:
        missing = self._tally.missing
        missing[asked.name] = missing.get(asked.name, 0) + number

    def _add_segments(self, asked: Asked, reports: Reports, segments: Integers) -> None:
        """Count the reports of each segment, after they were put in order."""
        names = list(self._numbers)
        if segments is not self._ordered[0]:  # most questions have an answer in each row
            small = len(names) < 2**15  # small numbers are sorted several times as fast
            order = np.argsort(segments.astype(np.int16) if small else segments, kind="stable")
            ends = np.cumsum(np.bincount(segments, minlength=len(names))).tolist()
            self._ordered = (segments, order, ends)
        _, order, ends = self._ordered
        ordered = reports[order]
        for name, start, end in zip(names, [0, *ends[:-1]], ends, strict=True):
            if end > start:
                self._take(name, asked, ordered[start:end])


def no_report(job: Job, asked: Asked, column: str) -> str:
    """Return why a row is refused that has something else where a report should be."""
    what = "label" if job.reported else "report"
    return f"the column {shown(column)} has no {what} to {asked.name!r}"


def listed_by(job: Job) -> str:
    """Return the columns of segments for a message."""
    return " or ".join(map(shown, job.by))


def _runs(
    asked: Asked, values: Any, reported: bool, start: int = 0
) -> Iterator[tuple[int, Reports | None]]:
    """Return runs of reports with their first positions, and None at the positions of bad values.

    Bad values are found by halving, so that a few of them cost little.
    """
    if len(values) == 0:
        return
    reports = _reports(asked, values, reported)
    if reports is not None or len(values) == 1:
        yield start, reports
        return
    half = len(values) // 2
    yield from _runs(asked, values.slice(0, half), reported, start)
    yield from _runs(asked, values.slice(half), reported, start + half)


def _reports(asked: Asked, values: Any, reported: bool) -> Reports | None:
    """Return a column as an array of checked reports, None if one of them is bad."""
    try:
        if reported:
            return as_reports(asked.questions[0], values, False, None)[0]
        parts = list(arrays(values, asked.mechanism.shape))
    except (TypeError, ValueError, OverflowError):
        return None
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
