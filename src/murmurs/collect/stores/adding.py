"""Adding submissions: their ids, so that each is counted once, and their reports with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from murmurs.collect.stores.folding import in_order
from murmurs.collect.stores.session import Session
from murmurs.collect.stores.sums import sum_of
from murmurs.submission import ID_BYTES, Batch, Submission, batches_of

Series = Mapping[tuple[str, str | None], int]
"""The numbers of the series of a survey, by question and segment."""

_RECENT = """
insert into recent (series, day, n, reports, crc) values (:series, :day, :n, :reports, :crc)
"""


def add(
    session: Session, survey: int, series: Series, placed: list[tuple[int, Batch]], day: int
) -> list[int]:
    """Add submissions to a survey; return the places of those that were there already.

    Each batch has the place of its first submission. Of one id that occurs several times, the first
    submission is added.
    """
    ids = in_order(b"".join([batch.ids for _, batch in placed]), ID_BYTES)
    new = session.insert_ids(survey, ids, day)
    if new is None:
        _add_reports(session, survey, series, (batch for _, batch in placed), day)
        return []
    fresh, seen = list[Submission](), list[int]()
    for start, batch in placed:
        for place, one in enumerate(batch.each(), start):
            if one.id in new:
                new.remove(one.id)
                fresh.append(one)
            else:
                seen.append(place)
    if fresh:
        _add_reports(session, survey, series, batches_of(fresh), day)
    return seen


def _add_reports(
    session: Session, survey: int, series: Series, batches: Iterable[Batch], day: int
) -> None:
    parts: dict[int, list[bytes]] = {}
    people: dict[int, int] = {}
    for batch in batches:
        for name, reports in batch.reports.items():
            at = series[name, batch.segment]
            parts.setdefault(at, []).append(reports)
            people[at] = people.get(at, 0) + batch.people * batch.count
    for at, blobs in parts.items():
        row = (at, day, people[at], b"".join(blobs))
        fields = dict(zip(("series", "day", "n", "reports"), row, strict=True))
        session.run(_RECENT, **fields, crc=sum_of(*row))
    session.changed(survey)
