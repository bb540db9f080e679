"""A store in one directory, in SQLite: the default, for one collector and without a server.

The database is in WAL mode with ``synchronous = full``: a transaction is on the disk before it is
acknowledged. One connection writes, under a lock; every reader has its own connection and sees the
last transaction, without waiting for the writer or keeping it waiting.
"""

from __future__ import annotations

import contextlib
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import apsw

from murmurs.collect.stores import copying, formats, sqlite_ids
from murmurs.collect.stores.relational import Relational
from murmurs.collect.stores.session import Session
from murmurs.collect.stores.sqlite_session import (
    SCHEMA,
    WAIT,
    SQLiteSession,
    connected,
    locked,
    refuse_others,
)
from murmurs.collect.stores.store import (
    ERA,
    DamagedError,
    StoreError,
    StoreFullError,
    UnknownSurveyError,
)
from murmurs.collect.stores.wal import check_log
from murmurs.submission import Batch, Submission, batches_of

if TYPE_CHECKING:
    from murmurs.collect.stores.postgresql import PostgreSQLStore

Result = TypeVar("Result")

_FORMAT = "select value from meta where key = 'format'"

_CHANGES = """
select number, changes from surveys where fingerprint = :fingerprint and state <> 'deleting'
"""
_SOME_IDS = """
select survey, id, day from ids where (survey, id) > (:survey, :id)
and survey <= :most_survey order by survey, id limit :most
"""
_FORGET_IDS = """
delete from ids where (survey, id) > (:survey, :id)
and (survey, id) <= (:last_survey, :last_id) and day < :before
"""

DATABASE = "store.sqlite"

IDS_AT_ONCE = 5000
"""How many ids are looked at for one transaction, so that submissions wait only for a moment."""

RESERVE = 2**25
"""Bytes that submissions leave free on the disk, so that there is room for upkeep."""

_PAGES_AT_ONCE = 1000


class SQLiteStore(Relational):
    """A store in a directory, which is made if it is not there.

    ``quota`` is the most bytes that it may take. With ``collecting=False`` it is opened beside a
    collector that is running: for reading and upkeep, but not for new surveys and submissions. A
    log that is damaged is refused, unless ``damaged`` is given; see `murmurs.collect.stores.wal`.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, contextlib.closing(SQLiteStore(folder)) as store:
    ...     store.collections()
    ()
    """

    def __init__(
        self,
        directory: Path | str,
        *,
        quota: int | None = None,
        collecting: bool = True,
        damaged: bool = False,
        vfs: str | None = None,
    ) -> None:
        super().__init__()
        self.directory = Path(directory)
        self._path, self._quota, self._vfs = self.directory / DATABASE, quota, vfs
        self._collecting, self._damaged = collecting, damaged
        self._writing = threading.RLock()
        self._idle: list[apsw.Connection] = []
        self._closed = False
        self._recent = sqlite_ids.RecentIds()
        self._under_way: Iterator[int] = iter(())
        self._lock: apsw.Connection | None = None
        self._connection: apsw.Connection | None = None
        self._open()

    def _open(self) -> None:
        if not self._collecting and not self._path.exists():
            raise StoreError(f"there is no store in {self.directory}")
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"cannot make a store in {self.directory}: {error}") from None
        with self._translated():
            if self._collecting:
                self._lock = locked(self.directory)
            try:
                if not self._damaged:
                    self._check_log()
                refuse_others(self._path)
                if self._collecting:
                    copying.make_private(self._path)
                self._connection = self._connected()
                self._write(self._prepare)
            except BaseException:
                self.close()
                raise
        if self._collecting:
            copying.sync(self.directory)
            self._sweep()

    def _check_log(self) -> None:
        """Refuse a damaged log that nobody uses: to open it would delete it."""
        log = self._path.with_name(DATABASE + "-wal")
        if not log.exists():
            return
        if self._lock is not None:
            check_log(log)
            return
        try:
            lock = locked(self.directory)
        except StoreError:  # a collector is running, and has looked at it
            return
        with contextlib.closing(lock):
            check_log(log)

    def _connected(self) -> apsw.Connection:
        return connected(self._path, self._vfs)

    def _prepare(self, session: Session) -> None:
        """Make the tables of a new store, or bring those of an older one up to date."""
        if not session.run("select 1 from sqlite_schema where name = 'meta'"):
            self._db.execute(SCHEMA)
            session.run("insert into meta values ('format', :value)", value=str(formats.FORMAT))
            return
        written = [value for (value,) in session.run(_FORMAT)]
        found = formats.check_format(
            written[0] if written else None, str(self.directory), migrating=self._collecting
        )
        if found < formats.FORMAT:
            formats.migrate(session, found)

    # Transactions

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        """Turn errors of SQLite into those of a store, with the reason and the way out."""
        try:
            yield
        except apsw.FullError:
            raise StoreFullError(
                f"the disk with {self.directory} is full: make room, and nothing is lost"
            ) from None
        except apsw.BusyError:
            raise StoreError(
                f"another process has been writing to {self.directory} for more than "
                f"{WAIT // 1000} seconds: try again"
            ) from None
        except (
            apsw.ReadOnlyError,
            apsw.CantOpenError,
            apsw.PermissionsError,
            apsw.IOError,
        ) as error:
            raise StoreError(f"cannot write to {self.directory}: {error}") from None
        except (apsw.CorruptError, apsw.NotADBError) as error:
            raise DamagedError(
                f"{self._path} is damaged ({error}): restore a backup with `murmurs store restore`"
            ) from None
        except UnicodeDecodeError:  # text that is none
            raise DamagedError(
                f"{self._path} is damaged: restore a backup with `murmurs store restore`"
            ) from None
        except apsw.ConnectionClosedError:
            raise StoreError(f"the store in {self.directory} was closed") from None
        except apsw.Error as error:
            raise StoreError(f"{self.directory}: {error}") from None

    def _write(self, work: Callable[[Session], Result]) -> Result:
        with self._writing, self._translated():
            self._check_open()
            self._db.execute("begin immediate")
            try:
                result = work(SQLiteSession(self._db, self._recent))
                self._db.execute("commit")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("rollback")
                raise
            return result

    @contextlib.contextmanager
    def _read(self) -> Iterator[Session]:
        with self._translated():
            self._check_open()
            try:
                db = self._idle.pop()
            except IndexError:
                db = self._connected()
                db.execute("pragma query_only = on")
            try:
                db.execute("begin")
                yield SQLiteSession(db)
            finally:
                if db.in_transaction:
                    db.execute("rollback")
                self._idle.append(db)
                if self._closed:
                    self._close_idle()

    @property
    def _db(self) -> apsw.Connection:
        """The connection that writes."""
        self._check_open()
        assert self._connection is not None
        return self._connection

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError(f"the store in {self.directory} was closed")

    def _check_collecting(self) -> None:
        if not self._collecting:
            raise StoreError(
                f"{self.directory} was opened beside a collector, which alone adds to it"
            )

    # What differs from other databases

    def changes(self, survey: str) -> int:
        """Return a number that grows whenever reports to a survey are added or deleted."""
        with self._read() as session:
            for number, changes in session.run(_CHANGES, fingerprint=survey):
                return int(number) * ERA + int(changes)
        raise UnknownSurveyError(survey)

    def add(self, submissions: Sequence[Submission | Batch], day: int) -> list[bool]:
        """Add submissions in one durable transaction: all of them, or on an error none."""
        batches = batches_of(submissions)
        self._file_some(sum(batch.count for batch in batches))
        return super().add(batches, day)

    def fold(self) -> None:
        """Add recent reports up, and file recent ids."""
        super().fold()
        self._file_ids()

    def _file_some(self, coming: int) -> None:
        """If many ids are recent, file twice as many as are coming, or a few more.

        So nobody who adds waits until all are filed, and there are never many more.
        """
        left = 2 * coming
        while left > 0 and self._recent.count >= sqlite_ids.MOST_RECENT:
            self._check_room()
            with self._writing:
                filed = next(self._under_way, 0)
                if not filed:
                    self._under_way = self._filing()
                    filed = next(self._under_way, left)
            left -= filed

    def _file_ids(self) -> None:
        """File the ids that are recent now; begin again if somebody else files them, too."""
        while not all(self._filing()):
            pass

    def _filing(self) -> Iterator[int]:
        """File the ids that are recent now, part by part; yield how many, 0 if they are gone."""
        with self._read() as session:
            rows = session.run(sqlite_ids.RECENT)
        parts = sqlite_ids.parts_of(rows)
        for number, part in enumerate(parts, 1):

            def file(session: Session, part: list[sqlite_ids.Filed], *, is_last: bool) -> int:
                if is_last:
                    self._recent.clear()
                return sqlite_ids.file(session, rows, part, all_filed=is_last)

            yield self._write(partial(file, part=part, is_last=number == len(parts)))

    def _forget_ids(self, survey: int | None, before_day: int) -> int:
        """Delete old ids in the order of the table, which has no index of days."""
        self._file_ids()
        where: dict[str, Any] = {"survey": survey or 0, "id": b"", "before": before_day}
        last, total = survey or 2**62, 0
        while True:
            start = {"survey": where["survey"], "id": where["id"]}
            with self._read() as session:
                rows = session.run(_SOME_IDS, **start, most_survey=last, most=IDS_AT_ONCE)
            if not rows:
                return total
            where |= {"last_survey": rows[-1][0], "last_id": rows[-1][1]}
            old = sum(day < before_day for _, _, day in rows)
            if old:
                self._run(_FORGET_IDS, **where)
            total += old
            where |= {"survey": where["last_survey"], "id": where["last_id"]}

    def backup(self, target: Path) -> None:
        """Write a complete copy to a new file, as of this moment, while submissions arrive."""
        with copying.new_file(target) as temporary, self._translated():
            self._check_open()
            with contextlib.closing(self._connected()) as db:
                try:
                    db.execute("vacuum into ?", (str(temporary),))
                except apsw.FullError:
                    folder = target.absolute().parent
                    raise StoreFullError(f"the disk with {folder} has no room for a copy") from None

    def pour_into(self, other: PostgreSQLStore) -> None:
        """Copy everything to a new store of the other kind; nobody else uses this one."""
        self._file_ids()
        with self._read() as session:
            other.load(session)

    def vacuum(self) -> None:
        """Give room that is no longer used back to the disk, a little at a time."""
        left = None
        while left != 0:
            with self._writing, self._translated():
                self._check_open()
                before, left = left, self._pragma("freelist_count")
                if left == before:  # pages that cannot be given back now
                    break
                self._db.execute(f"pragma incremental_vacuum({_PAGES_AT_ONCE})").fetchall()
        with self._writing, self._translated():
            self._db.execute("pragma wal_checkpoint(truncate)").fetchall()

    def size(self) -> int:
        """Return the number of bytes that the files of the store take."""
        paths = [self._path.with_name(DATABASE + end) for end in ("", "-wal", "-shm")]
        sizes = 0
        for path in paths:
            with contextlib.suppress(FileNotFoundError):
                sizes += path.stat().st_size
        return sizes

    def _check_room(self) -> None:
        with self._translated():
            self._check_open()
            try:
                free = shutil.disk_usage(self.directory).free
            except OSError as error:  # a disk that is no longer mounted, for example
                raise StoreError(f"cannot reach {self.directory}: {error.strerror}") from None
            if free < RESERVE:
                raise StoreFullError(
                    f"the disk with {self.directory} has only {free:,} bytes left: make room, and "
                    "nothing is lost"
                )
            if self._quota is None:
                return
            with self._writing:
                pages = self._pragma("page_count") - self._pragma("freelist_count")
                used = pages * self._pragma("page_size")
            if used >= self._quota:
                raise StoreFullError(
                    f"the store in {self.directory} takes {used:,} bytes, and its quota is "
                    f"{self._quota:,}: raise the quota, or delete old reports or ids"
                )

    def _pragma(self, name: str) -> int:
        ((value,),) = self._db.execute(f"pragma {name}").fetchall()
        return int(str(value))

    def _verify_pages(self) -> None:
        with self._read() as session:
            problems = [text for (text,) in session.run("pragma integrity_check")]
            days = [day for (day,) in session.run(sqlite_ids.DAMAGED)]
        if problems != ["ok"]:
            raise DamagedError(f"{self._path} is damaged: {problems[0]}")
        if days:
            raise DamagedError(
                f"recent ids of day {days[0]} are damaged: they are not as they were written. Look "
                "at the disk, and restore a backup"
            )

    def close(self) -> None:
        """Finish what is under way and let go of all files; calling it twice is fine."""
        with self._writing:
            self._closed = True
            for db in (self._connection, self._lock):
                if db is not None:
                    db.close()
        self._close_idle()

    def _close_idle(self) -> None:
        with contextlib.suppress(IndexError):
            while True:
                self._idle.pop().close()
