"""Ids in SQLite: recent ones as they came, all others in order.

Ids are random, so that each of them changes another page of a large table, and to write a page
takes far longer than to insert an id. Many ids that come together are therefore kept together, as
one row of ``recent_ids``, after a look into the table ``ids``. With every fold, and whenever there
are many of them, they are filed: inserted into ``ids`` in order, where many then share a page. Few
ids that come together are inserted at once.

A crash while ids are filed leaves some of them in both tables, and does no harm.
"""

from __future__ import annotations

from collections.abc import Iterable

import apsw
import numpy as np

from murmurs.collect.stores.folding import in_order
from murmurs.collect.stores.session import Row, Session
from murmurs.submission import ID_BYTES

MOST_RECENT = 2**18
"""How many ids are recent, and in memory, before they are filed, while others come."""

FILED_AT_ONCE = 2**14
"""About how many ids are filed in one transaction, so that others wait only for a moment."""

FEW = 64
"""Fewer ids that come together are inserted at once."""

RECENT = "select number, survey, day, ids from recent_ids order by number"
"""The rows that can be filed now."""

Fields = dict[str, int | bytes]
"""The parameters of a statement."""

Filed = tuple[int, int, bytes]
"""Ids of a survey and a day, in order."""

_PLACES = f"""
with recursive place (at) as (
    select 1 union all select at + {ID_BYTES} from place where at + {ID_BYTES} < length(:ids)
)
"""
_INSERT = f"""{_PLACES}
insert or ignore into ids (survey, id, day)
select :survey, substr(:ids, at, {ID_BYTES}), :day from place
"""
_FOUND = f"""{_PLACES}
select id from place cross join ids on survey = :survey and id = substr(:ids, at, {ID_BYTES})
"""
DAMAGED = f"select day from recent_ids where length(ids) = 0 or length(ids) % {ID_BYTES} <> 0"
"""The days of rows that do not hold whole ids."""

_KEEP = "insert into recent_ids (survey, day, ids) values (:survey, :day, :ids)"
_LEFT = "select count(*) from recent_ids where number <= :last"
_DELETE = "delete from recent_ids where number <= :last"
_LATER = "select number, survey, ids from recent_ids where number > ? order by number"


class RecentIds:
    """The ids in ``recent_ids``, in memory, by survey: at most about `MOST_RECENT` of them."""

    def __init__(self) -> None:
        self._ids: dict[int, set[bytes]] = {}
        self._last = 0
        self._version: object = None
        self._is_behind = True
        self.count = 0

    def catch_up(self, db: apsw.Connection) -> None:
        """Read what was added, in a transaction that has added nothing yet.

        Only this process adds some. If another one has changed the store, it may have deleted
        some: read all of them again.
        """
        if not self.count and not self._is_behind:
            return
        version = db.execute("pragma data_version").fetchall()
        if version != self._version:
            self.clear()
            self._version = version
        if not self._is_behind:
            return
        rows: list[Row] = db.execute(_LATER, (self._last,)).fetchall()
        for number, survey, ids in rows:
            some = apart(ids)
            self._ids.setdefault(survey, set()).update(some)
            self._last = number
            self.count += len(some)
        self._is_behind = False

    def keep(self, db: apsw.Connection, fields: Fields) -> None:
        """Add a row; its ids are read by the next transaction, if this one is kept."""
        db.execute(_KEEP, fields)
        self._is_behind = True

    def of(self, survey: int) -> set[bytes]:
        """Return the recent ids of a survey."""
        return self._ids.get(survey, set())

    def clear(self) -> None:
        """Forget them; those that are still recent are read again."""
        self._ids, self._last, self._is_behind, self.count = {}, 0, True, 0


def insert(
    db: apsw.Connection, recent: RecentIds, survey: int, ids: bytes, day: int
) -> set[bytes] | None:
    """Insert ids that are in order, but for those that are there; return which, or None if all."""
    given = apart(ids)
    new = set(given)
    if not new.isdisjoint(recent.of(survey)):
        new -= recent.of(survey)
    fields: Fields = {"survey": survey, "day": day, "ids": ids}
    if len(new) < len(given):
        fields["ids"] = b"".join(sorted(new))
    if 0 < len(new) < FEW:
        new = _inserted(db, new, fields)
    elif new:
        found = {identity for (identity,) in db.execute(_FOUND, fields)}
        if found:
            new -= found
            fields["ids"] = b"".join(sorted(new))
        if new:
            recent.keep(db, fields)
    return None if len(new) == len(given) else new


def _inserted(db: apsw.Connection, new: set[bytes], fields: Fields) -> set[bytes]:
    """Insert ids into ``ids``; return those that were not there.

    To count them is quicker than to return them, and nearly always enough.
    """
    db.execute("savepoint ids")
    before = db.total_changes()
    db.execute(_INSERT, fields)
    if db.total_changes() - before == len(new):
        db.execute("release ids")
        return new
    db.execute("rollback to ids")
    db.execute("release ids")
    return {identity for (identity,) in db.execute(f"{_INSERT} returning id", fields)}


def parts_of(rows: Iterable[Row]) -> list[list[Filed]]:
    """Return the ids in rows of ``recent_ids``, in order, in parts for one transaction each."""
    together: dict[tuple[int, int], list[bytes]] = {}
    for _, survey, day, ids in rows:
        whole = len(ids) // ID_BYTES * ID_BYTES  # all of them, unless the row is damaged
        together.setdefault((survey, day), []).append(ids[:whole])
    parts, size, most = list[list[Filed]](), 0, FILED_AT_ONCE * ID_BYTES
    for (survey, day), blobs in sorted(together.items()):
        ids = in_order(b"".join(blobs), ID_BYTES)
        for start in range(0, len(ids), most):
            some = ids[start : start + most]
            if not parts or size + len(some) > most:
                parts.append([])
                size = 0
            parts[-1].append((survey, day, some))
            size += len(some)
    return parts


def file(session: Session, rows: list[Row], part: list[Filed], *, all_filed: bool) -> int:
    """File a part of the ids in these rows, and delete the rows with the last; return how many.

    If some of the rows are gone, change nothing, and return 0: somebody else has filed them, and
    may have forgotten their ids since.
    """
    last = rows[-1][0]
    if session.run(_LEFT, last=last) != [(len(rows),)]:
        return 0
    for survey, day, ids in part:
        session.run(_INSERT, survey=survey, day=day, ids=ids)
    if all_filed:
        session.run(_DELETE, last=last)
    return sum(len(ids) for _, _, ids in part) // ID_BYTES


def apart(ids: bytes) -> list[bytes]:
    """Return ids that are one after another as a list.

    >>> apart(b"one of 16 bytes.another, as long")
    [b'one of 16 bytes.', b'another, as long']
    """
    found: list[bytes] = np.frombuffer(ids, f"V{ID_BYTES}", len(ids) // ID_BYTES).tolist()
    return found
