"""SQLite: the tables of a store, a connection that is durable, and one transaction on it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw

from murmurs.collect.stores import copying, formats
from murmurs.collect.stores.session import Row, Session
from murmurs.collect.stores.sqlite_ids import RecentIds, insert
from murmurs.collect.stores.store import StoreError

_RECENT_IDS = """create table recent_ids (
    number integer primary key autoincrement,
    survey integer not null,
    day integer not null,
    ids blob not null
) strict"""

SCHEMA = f"""
create table meta (key text primary key, value text not null) strict;
create table surveys (
    number integer primary key autoincrement,
    fingerprint text not null unique,
    document text not null,
    state text not null,
    first_day integer not null,
    changes integer not null default 0
) strict;
create table series (
    number integer primary key autoincrement,
    survey integer not null,
    question text not null,
    segment text
) strict;
create index series_of_survey on series (survey, question);
create table ids (
    survey integer not null,
    id blob not null,
    day integer not null,
    primary key (survey, id)
) strict, without rowid;
{_RECENT_IDS};
create table recent (
    number integer primary key autoincrement,
    series integer not null,
    day integer not null,
    n integer not null,
    reports blob not null,
    crc integer not null
) strict;
create index recent_of_series on recent (series, day);
create table counts (
    series integer not null,
    day integer not null,
    n integer not null,
    cells blob not null,
    crc integer not null,
    primary key (series, day)
) strict;
create table kept (
    number integer primary key autoincrement,
    series integer not null,
    day integer not null,
    n integer not null,
    reports blob not null,
    crc integer not null
) strict;
create index kept_of_series on kept (series, day);
create table tokens (
    name text primary key,
    digest blob not null,
    scope text not null,
    surveys text not null
) strict;
"""
_TAKE = """
delete from recent where number in (select value from json_each(:numbers)) returning number
"""
_CHANGED = "update surveys set changes = changes + 1 where number = :number"

WAIT = 10_000
"""How many milliseconds to wait for another process that is writing."""

_SETTINGS = """
pragma auto_vacuum = incremental;
pragma journal_mode = wal;
pragma synchronous = full;
pragma secure_delete = fast;
pragma journal_size_limit = 67108864;
pragma wal_autocheckpoint = 4000;
pragma temp_store = memory;
"""


class SQLiteSession:
    """One transaction on one connection; ``recent`` are the ids that the connection remembers."""

    def __init__(self, db: apsw.Connection, recent: RecentIds | None = None) -> None:
        self._db, self._recent = db, RecentIds() if recent is None else recent
        self._caught_up = False

    def run(self, sql: str, **parameters: Any) -> list[Row]:
        """Run one statement; return its rows."""
        return list(self._db.execute(sql, parameters))

    def stream(self, sql: str, *, at_once: int = 10, **parameters: Any) -> Iterator[Row]:
        """Run one query; return its rows one by one."""
        yield from self._db.execute(sql, parameters)

    def insert_ids(self, survey: int, ids: bytes, day: int) -> set[bytes] | None:
        """Insert ids of a survey, one after another, in order; leave out those that are there."""
        if not self._caught_up:  # what this transaction inserts is recent only when it is kept
            self._recent.catch_up(self._db)
            self._caught_up = True
        return insert(self._db, self._recent, survey, ids, day)

    def hold_counts(self) -> None:
        """Do nothing: there is only one transaction at a time that writes."""

    def take_recent(self, numbers: list[int]) -> int:
        """Delete recent reports by their numbers; return how many of them were still there."""
        return len(self.run(_TAKE, numbers=str(numbers)))

    def changed(self, survey: int) -> None:
        """Note that reports to a survey were added or deleted."""
        self.run(_CHANGED, number=survey)

    def add_recent_ids(self) -> None:
        """Make the table of recent ids, which a store of format 2 does not have."""
        self.run(_RECENT_IDS)


def connected(path: Path, vfs: str | None = None) -> apsw.Connection:
    """Return a connection on which a transaction is on the disk once it is committed."""
    db = apsw.Connection(str(path), vfs=vfs)
    try:
        db.set_busy_timeout(WAIT)
        db.execute(_SETTINGS).fetchall()  # else it would stop at the first row of an answer
    except BaseException:
        db.close()
        raise
    return db


def refuse_others(path: Path) -> None:
    """Refuse a database that is no store, before it is changed in any way."""
    if path.exists() and path.stat().st_size:
        with contextlib.closing(apsw.Connection(str(path))) as db:
            if not db.execute("select 1 from sqlite_schema where name = 'meta'").fetchall():
                raise StoreError(f"{path} is not a store")


def locked(directory: Path) -> apsw.Connection:
    """Return a connection that holds the directory until it is closed, or the process ends."""
    try:
        copying.make_private(directory / "lock")
    except OSError as error:
        raise StoreError(f"cannot write to {directory}: {error.strerror}") from None
    lock = apsw.Connection(str(directory / "lock"))
    try:
        lock.execute("pragma journal_mode = memory; begin exclusive").fetchall()
    except apsw.BusyError:
        lock.close()
        raise StoreError(
            f"another collector is using {directory}: stop it first, or give this one a directory "
            "of its own; several collectors can share a PostgreSQL store"
        ) from None
    return lock


def write_copy(source: Session, path: Path) -> None:
    """Write everything in a store of any kind to a new database."""
    with contextlib.closing(apsw.Connection(str(path))) as db:
        db.execute("pragma auto_vacuum = incremental")
        db.execute("begin")
        db.execute(SCHEMA)
        db.execute("insert into meta values ('format', ?)", (str(formats.FORMAT),))
        for table, columns in formats.COLUMNS.items():
            names, marks = ", ".join(columns), ", ".join("?" * len(columns))
            rows = source.stream(f"select {names} from {table}", at_once=_COPIED.get(table, 10))
            db.executemany(f"insert into {table} ({names}) values ({marks})", rows)
        db.execute("commit")


_COPIED = {"ids": 10_000}
"""How many rows of a table are held while it is copied, if they are small."""
