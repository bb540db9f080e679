"""Recent reports, and how they are folded: added up into counts, exactly once.

A fold reads recent reports, counts them outside of any transaction that others wait for, and then
in one transaction deletes what it read and adds its counts. If any of what it read is gone by then,
because somebody deleted it, the transaction changes nothing, and the next fold reads again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from murmurs.collect.stores.cells import pack_cells, unpack_cells
from murmurs.collect.stores.session import Session
from murmurs.collect.stores.store import keeps_reports
from murmurs.collect.stores.sums import check_sum, sum_of
from murmurs.numerics.arrays import Integers
from murmurs.questions.asked import Asked
from murmurs.wire import Reports, Shape

MOST_AT_ONCE = 2**24
"""About the number of bytes of recent reports that are folded in one transaction."""

_LARGE = 2**20
"""Kept reports of a day are put together until they have this many bytes."""

_WAITING = """
select number, series, day, n, reports, crc from recent
where number <= :last order by series, day, number
"""
_ADDED = "select n, cells, crc from counts where series = :series and day = :day"
_SET = """
insert into counts (series, day, n, cells, crc) values (:series, :day, :n, :cells, :crc)
on conflict (series, day) do update set n = excluded.n, cells = excluded.cells, crc = excluded.crc
"""
_LAST_KEPT = """
select number, n, reports, crc from kept where series = :series and day = :day
order by number desc limit 1
"""
_KEEP = """
insert into kept (series, day, n, reports, crc) values (:series, :day, :n, :reports, :crc)
"""


class GoneError(Exception):
    """Recent reports were deleted while they were being counted."""


@dataclass
class Fold:
    """Recent reports of one series and day: their numbers, and what they add up to."""

    series: int
    day: int
    asked: Asked
    numbers: list[int] = field(default_factory=list)
    n: int = 0
    blobs: list[bytes] = field(default_factory=list)

    @cached_property
    def cells(self) -> Integers:
        """The counts of the reports."""
        mechanism = self.asked.mechanism
        return mechanism.count_checked(joined(self.blobs, mechanism.shape)).cells

    @cached_property
    def kept(self) -> bytes:
        """The reports that are kept."""
        size = self.asked.mechanism.shape.size
        return in_order(b"".join(self.blobs), size) if keeps_reports(self.asked) else b""

    def prepare(self) -> None:
        """Count and sort now, before the transaction that others wait for."""
        _ = self.cells, self.kept
        self.blobs = []


def joined(blobs: Iterable[bytes], shape: Shape[Any]) -> Iterator[Reports]:
    """Return packed reports in few large arrays: counting also a small one takes all cells."""
    part: list[bytes] = []
    size = 0
    for blob in blobs:
        part.append(blob)
        size += len(blob)
        if size >= MOST_AT_ONCE:
            yield shape.view(b"".join(part))
            part, size = [], 0
    if part:
        yield shape.view(b"".join(part))


def newest_recent(session: Session) -> int:
    """Return the largest number of recent reports; a fold leaves later ones for the next."""
    ((last,),) = session.run("select coalesce(max(number), 0) from recent")
    return int(last)


def read_recent(session: Session, last: int, asked: Mapping[int, Asked]) -> list[Fold]:
    """Return some of the recent reports up to a number, by series and day."""
    folds: dict[tuple[int, int], Fold] = {}
    size = 0
    for number, series, day, n, blob, crc in session.stream(_WAITING, last=last):
        if series not in asked or sum_of(series, day, n, blob) != crc:
            continue  # of a survey that is being deleted; or damaged, and left as it is
        fold = folds.setdefault((series, day), Fold(series, day, asked[series]))
        fold.numbers.append(number)
        fold.n += n
        fold.blobs.append(blob)
        size += len(blob)
        if size >= MOST_AT_ONCE:
            break
    return list(folds.values())


def apply(session: Session, fold: Fold) -> None:
    """Replace recent reports by their counts; keep them elsewhere if counts do not suffice."""
    session.hold_counts()
    if session.take_recent(fold.numbers) != len(fold.numbers):
        raise GoneError
    where = {"series": fold.series, "day": fold.day}
    n, cells = fold.n, fold.cells
    for before, blob, crc in session.run(_ADDED, **where):
        check_sum(fold.series, fold.day, before, blob, crc)
        n += before
        cells = cells + unpack_cells(blob, cells.shape)
    packed = pack_cells(cells)
    session.run(_SET, **where, n=n, cells=packed, crc=sum_of(fold.series, fold.day, n, packed))
    if fold.kept:
        _keep(session, fold)


def _keep(session: Session, fold: Fold) -> None:
    """Keep reports, together with earlier ones of the same day if those are few."""
    where = {"series": fold.series, "day": fold.day}
    n, kept = fold.n, fold.kept
    for number, before, blob, crc in session.run(_LAST_KEPT, **where):
        if len(blob) + len(kept) <= _LARGE:
            check_sum(fold.series, fold.day, before, blob, crc)
            session.run("delete from kept where number = :number", number=number)
            n, kept = n + before, in_order(blob + kept, len(kept) // n)
    session.run(_KEEP, **where, n=n, reports=kept, crc=sum_of(fold.series, fold.day, n, kept))


def in_order(reports: bytes, size: int) -> bytes:
    """Return packed reports of ``size`` bytes sorted: in which order they came is not kept.

    >>> in_order(b"teaoat", 3)
    b'oattea'
    """
    return np.sort(np.frombuffer(reports, np.dtype(("S", size)))).tobytes()
