"""A store in PostgreSQL, which several collectors may use at once.

Every method is one or more transactions of its own connection. An id is inserted in the transaction
that adds its reports, so that the database decides who of two collectors counts a submission that
both received. A transaction that met another one, or lost its connection, is done again.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict

from murmurs.collect.stores import copying, formats
from murmurs.collect.stores.postgresql_session import SCHEMA, PostgreSQLSession, connected
from murmurs.collect.stores.relational import Relational
from murmurs.collect.stores.session import Row, Session
from murmurs.collect.stores.sqlite_session import write_copy
from murmurs.collect.stores.store import ERA, StoreError, StoreFullError, UnknownSurveyError

Result = TypeVar("Result")

_CHANGES = """
select number, (select coalesce(sum(number), 0) from changes where survey = surveys.number)
from surveys where fingerprint = :fingerprint and state <> 'deleting'
"""
_SIZE = """
select coalesce(sum(pg_total_relation_size(c.oid)), 0) from pg_class c
where c.relnamespace = current_schema()::regnamespace and c.relname = any(cast(:names as text[]))
"""

_BLOCKS = "select pg_relation_size('ids') / cast(current_setting('block_size') as bigint)"
_FORGET_IDS = """
with gone as (
    delete from ids where ctid >= cast(:first as tid) and ctid < cast(:last as tid)
    and day < :before and (cast(:survey as bigint) is null or survey = :survey) returning 1
) select count(*) from gone
"""

BLOCKS_AT_ONCE = 64
"""How many blocks of ids are looked at in one transaction, about 100 ids each."""

SLOTS = 16
"""Collectors note changes in one of so many rows, so that they seldom wait for each other."""

PAUSES = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
"""Seconds to wait before each further attempt; a server that restarts is back by then."""

_SIZE_SECONDS = 5.0
"""For how long the size is taken to be the same."""

_AGAIN = ("40001", "40P01", "23505")
"""Serialization failure, deadlock, and a row that another transaction inserted first."""

_FULL = "53100"


class PostgreSQLStore(Relational):
    """A store in the first schema of the ``search_path`` of a database, ``postgresql://...``.

    Tables are made if they are not there. ``quota`` is the most bytes that they may take. With
    ``collecting=False`` it is opened for reading and upkeep only.
    """

    FOR_ADDING = Relational.FOR_ADDING + " for share"

    def __init__(self, url: str, *, quota: int | None = None, collecting: bool = True) -> None:
        super().__init__()
        self._url, self._quota, self._collecting = url, quota, collecting
        try:
            parts = conninfo_to_dict(url)
        except psycopg.Error:  # its reason may quote the password
            raise StoreError(
                "this is no address of a PostgreSQL database: write postgresql://user@host/name, "
                "with special characters as in %23"
            ) from None
        host, name = parts.get("host", "the local server"), parts.get("dbname", "its database")
        self.place = f"PostgreSQL database {name} on {host}"
        self._slot = secrets.randbelow(SLOTS)
        self._idle: list[psycopg.Connection[Row]] = []
        self._measured = (0.0, 0)
        self._measuring = threading.Lock()
        self._closed = False
        try:
            self._write(self._prepare)
            if collecting:
                self._sweep()
        except BaseException:
            self.close()
            raise

    def _prepare(self, session: Session) -> None:
        """Make the tables of a new store, or bring those of an older one up to date."""
        assert isinstance(session, PostgreSQLSession)
        ((schema,),) = session.run("select quote_ident(current_schema())")
        if schema is None:
            raise StoreError(f"the {self.place} has no schema of its search_path: create it first")
        session.take_time()
        session.hold("format")
        ((there,),) = session.run("select to_regclass(:name)::text", name=f"{schema}.meta")
        if there is None:
            if not self._collecting:
                raise StoreError(f"there is no store in the {self.place}")
            for statement in SCHEMA.split(";\n"):
                if statement.strip():
                    session.run(statement)
            session.run("insert into meta values ('format', :value)", value=str(formats.FORMAT))
            return
        written = session.run("select value from meta where key = 'format'")
        found = formats.check_format(
            written[0][0] if written else None, f"the {self.place}", migrating=self._collecting
        )
        if found < formats.FORMAT:
            formats.migrate(session, found)

    # Transactions

    def _connected(self) -> psycopg.Connection[Row]:
        """Return a connection that is open, as far as anybody knows."""
        if self._closed:
            raise StoreError(f"the store in the {self.place} was closed")
        with contextlib.suppress(IndexError):
            return self._idle.pop()
        return connected(self._url)

    @contextlib.contextmanager
    def _using(self, begin: str) -> Iterator[PostgreSQLSession]:
        """Return a transaction on a connection, which is used again unless it broke."""
        db = self._connected()
        try:
            db.execute(begin.encode())
            yield PostgreSQLSession(db, self._slot)
            db.execute(b"commit")
        except BaseException:
            with contextlib.suppress(psycopg.Error):
                db.execute(b"rollback")
            raise
        finally:
            self._put_back(db)

    def _put_back(self, db: psycopg.Connection[Row]) -> None:
        """Let others use a connection, unless it broke or the store was closed."""
        if db.closed or db.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            db.close()
        else:
            self._idle.append(db)
        if self._closed:
            self._close_idle()

    def _write(self, work: Callable[[Session], Result]) -> Result:
        def attempt() -> Result:
            with self._using("begin isolation level read committed") as session:
                return work(session)

        return self._repeated(attempt)

    @contextlib.contextmanager
    def _read(self) -> Iterator[Session]:
        using = "begin isolation level repeatable read read only"
        try:
            with contextlib.ExitStack() as stack:
                yield self._repeated(lambda: stack.enter_context(self._using(using)))
        except psycopg.Error as error:  # also at its end
            raise self._as_store_error(error) from None

    def _repeated(self, attempt: Callable[[], Result]) -> Result:
        """Make attempts until one succeeds, or fails for a reason that waiting does not mend."""
        for pause in (*PAUSES, None):
            try:
                return attempt()
            except psycopg.Error as error:
                lost = _is_lost(error)
                if lost:
                    self._close_idle()
                if pause is None or not (lost or error.sqlstate in _AGAIN):
                    raise self._as_store_error(error) from None
            time.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    def _as_store_error(self, error: psycopg.Error) -> StoreError:
        reason = str(error).strip().split("\n")[0]
        if error.sqlstate == _FULL:
            return StoreFullError(f"the {self.place} is full: {reason}")
        if _is_lost(error):
            return StoreError(f"cannot reach the {self.place}: {reason}")
        return StoreError(f"the {self.place}: {reason}")

    def _check_collecting(self) -> None:
        if not self._collecting:
            raise StoreError(f"the {self.place} was opened for reading and upkeep only")

    # What differs from other databases

    def changes(self, survey: str) -> int:
        """Return a number that grows whenever reports to a survey are added or deleted."""
        with self._read() as session:
            for number, changes in session.run(_CHANGES, fingerprint=survey):
                return int(number) * ERA + int(changes)
        raise UnknownSurveyError(survey)

    @contextlib.contextmanager
    def _alone_folding(self) -> Iterator[bool]:
        """Hold a lock that ends with its connection; the counts do not depend on it."""
        db = self._repeated(self._lock_folding)
        try:
            yield db is not None
        finally:
            if db is not None:
                with contextlib.suppress(psycopg.Error):
                    PostgreSQLSession(db).unlock("fold")
                self._put_back(db)

    def _lock_folding(self) -> psycopg.Connection[Row] | None:
        """Return a connection with the lock on folding, if nobody else has it."""
        db = self._connected()
        try:
            mine = PostgreSQLSession(db).try_lock("fold")
        except BaseException:
            db.close()
            raise
        if not mine:
            self._put_back(db)
            return None
        return db

    def _forget_ids(self, survey: int | None, before_day: int) -> int:
        """Delete old ids block by block, as they lie on the disk."""
        with self._read() as session:
            ((blocks,),) = session.run(_BLOCKS)
        total = 0
        for start in range(0, int(blocks), BLOCKS_AT_ONCE):
            part = {"first": f"({start},0)", "last": f"({start + BLOCKS_AT_ONCE},0)"}
            ((gone,),) = self._run(_FORGET_IDS, survey=survey, before=before_day, **part)
            total += gone
        return total

    def backup(self, target: Path) -> None:
        """Write a complete copy to a new file, as of this moment, while submissions arrive."""
        with copying.new_file(target) as temporary, self._read() as session:
            write_copy(session, temporary)

    def load(self, source: Session) -> None:
        """Take over everything from a copy; refuse if there is something here already."""

        def fill(session: Session) -> None:
            assert isinstance(session, PostgreSQLSession)
            session.take_time()
            session.hold("format")
            if session.run("select 1 from surveys union all select 1 from tokens"):
                raise StoreError(f"the {self.place} has surveys or tokens: restore to a new one")
            for table, columns in formats.COLUMNS.items():
                session.copy_in(table, columns, source)

        self._write(fill)

    def vacuum(self) -> None:
        """Give room that is no longer used to later submissions, while others go on."""

        def attempt() -> None:
            with contextlib.closing(psycopg.connect(self._url, autocommit=True)) as db:
                for table in (*formats.COLUMNS, "changes"):
                    db.execute(f"vacuum (analyze) {table}".encode())

        self._repeated(attempt)

    def size(self) -> int:
        """Return the number of bytes that the tables take."""
        with self._read() as session:
            ((size,),) = session.run(_SIZE, names=[*formats.COLUMNS, "changes", "meta"])
        return int(size)

    def _check_room(self) -> None:
        if self._quota is None:
            return
        with self._measuring:
            when, size = self._measured
            if not when or time.monotonic() - when > _SIZE_SECONDS:
                self._measured = (time.monotonic(), size := self.size())
        if size >= self._quota:
            raise StoreFullError(
                f"the store in the {self.place} takes {size:,} bytes, and its quota is "
                f"{self._quota:,}: raise the quota, or delete old reports or ids"
            )

    def close(self) -> None:
        """Let go of all connections; calling it twice is fine."""
        self._closed = True
        self._close_idle()

    def _close_idle(self) -> None:
        with contextlib.suppress(IndexError):
            while True:
                self._idle.pop().close()


def _is_lost(error: psycopg.Error) -> bool:
    """Whether the server could not be reached, or closed the connection."""
    state = error.sqlstate
    if state is None:
        return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    return state.startswith(("08", "57P"))
