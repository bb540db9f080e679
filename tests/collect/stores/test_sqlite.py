"""What only the store in a directory promises: one process, a full disk, and files that break."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

import apsw
import numpy as np
import pytest

from murmurs.collect.stores import open_store, sqlite, sqlite_session
from murmurs.collect.stores.restore import restore
from murmurs.collect.stores.sqlite import DATABASE, SQLiteStore
from murmurs.collect.stores.store import DamagedError, Part, Store, StoreError, StoreFullError
from murmurs.collect.stores.sums import sum_of
from murmurs.collect.stores.wal import check_log, lost_transactions
from murmurs.collect.tokens import new_token
from tests.collect.made import EVERY_KIND, PLAIN, submission

HOT = Part(PLAIN.fingerprint, "hot")

LOG = f"{DATABASE}-wal"


class Failing(apsw.VFS):
    """A disk on which writing, or making sure that it was written, fails when it is told to."""

    errors: ClassVar[dict[str, type[apsw.Error]]] = {}

    def __init__(self) -> None:
        super().__init__("failing", "")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        return FailingFile("", name, flags)

    @classmethod
    def perhaps(cls, call: str) -> None:
        if call in cls.errors:
            raise cls.errors[call](f"{call} failed")


class FailingFile(apsw.VFSFile):
    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        Failing.perhaps("write")
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802
        Failing.perhaps("sync")
        super().xSync(flags)


@pytest.fixture
def failing(tmp_path: Path) -> Iterator[SQLiteStore]:
    disk = Failing()
    with contextlib.closing(SQLiteStore(tmp_path / "store", vfs="failing")) as store:
        yield store
        Failing.errors.clear()
    disk.unregister()


@pytest.mark.parametrize("call", ["write", "sync"])
@pytest.mark.parametrize("error", [apsw.FullError, apsw.ReadOnlyError, apsw.IOError])
def test_a_disk_that_fails_loses_nothing_and_works_again_later(
    failing: SQLiteStore, call: str, error: type[apsw.Error]
) -> None:
    failing.publish(PLAIN, 1)
    failing.add([submission(PLAIN, 1)], 1)
    Failing.errors[call] = error
    kind = StoreFullError if error is apsw.FullError else StoreError
    reason = "is full: make room" if error is apsw.FullError else f"cannot write to .*: {call}"
    calls: list[Callable[[], object]] = [
        lambda: failing.add([submission(PLAIN, 2)], 1),
        failing.fold,
        failing.check,
        lambda: failing.forget_reports(PLAIN.fingerprint, 9),
        lambda: failing.publish(EVERY_KIND, 1),
    ]
    for refused in calls:
        with pytest.raises(kind, match=reason):
            refused()
        assert failing.counts(HOT).n == 3
    Failing.errors.clear()
    assert failing.add([submission(PLAIN, 1), submission(PLAIN, 2)], 1) == [False, True]
    failing.fold()
    failing.check()
    failing.verify()
    assert failing.counts(HOT).n == 6


def test_a_disk_that_is_nearly_full_takes_no_submissions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with contextlib.closing(SQLiteStore(tmp_path)) as store:
        store.publish(PLAIN, 1)
        store.add([submission(PLAIN, 1)], 1)
        with monkeypatch.context() as patch:
            patch.setattr(sqlite, "RESERVE", 2**60)
            with pytest.raises(StoreFullError, match=r"has only [0-9,]+ bytes left: make room"):
                store.add([submission(PLAIN, 2)], 1)
            store.fold()  # upkeep goes on
        assert store.add([submission(PLAIN, 2)], 1) == [True]


def test_a_database_that_cannot_grow_takes_submissions_again_when_it_can(tmp_path: Path) -> None:
    with contextlib.closing(SQLiteStore(tmp_path)) as store:
        store.publish(PLAIN, 1)
        pages = store._pragma("page_count")
        store._pragma(f"max_page_count = {pages}")
        large = submission(PLAIN, 1, people=100_000)
        with pytest.raises(StoreFullError, match="is full"):
            store.add([large], 1)
        assert store.counts(HOT).n == 0
        store._pragma("max_page_count = 1000000")
        assert store.add([large], 1) == [True]
        assert store.counts(HOT).n == 100_000


def test_every_connection_is_durable(tmp_path: Path) -> None:
    with contextlib.closing(SQLiteStore(tmp_path)) as store:
        wanted = {"journal_mode": "wal", "synchronous": 2, "secure_delete": 2, "auto_vacuum": 2}
        for name, value in wanted.items():
            assert store._db.execute(f"pragma {name}").fetchall() == [(value,)]
            with store._read() as session:
                assert session.run(f"pragma {name}") == [(value,)]


def test_only_one_process_collects_in_a_directory(tmp_path: Path) -> None:
    with contextlib.closing(SQLiteStore(tmp_path)) as store:
        with pytest.raises(StoreError, match=r"another collector is using .*: stop it first"):
            SQLiteStore(tmp_path)
        code = f"from murmurs.collect.stores import open_store; open_store({str(tmp_path)!r})"
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
        )
        assert "another collector is using" in done.stderr
        store.publish(PLAIN, 1)
    SQLiteStore(tmp_path).close()


def test_another_process_that_writes_for_long_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_session, "WAIT", 50)
    with contextlib.closing(SQLiteStore(tmp_path)) as store:
        store.publish(PLAIN, 1)
        with contextlib.closing(apsw.Connection(str(tmp_path / DATABASE))) as other:
            other.execute("begin immediate")
            with pytest.raises(StoreError, match="another process has been writing to"):
                store.add([submission(PLAIN, 1)], 1)
            other.execute("rollback")
        assert store.add([submission(PLAIN, 1)], 1) == [True]


def test_readers_do_not_keep_the_writer_waiting(tmp_path: Path) -> None:
    with contextlib.closing(SQLiteStore(tmp_path)) as store:
        store.publish(EVERY_KIND, 1)
        for seed in range(3):
            store.add([submission(EVERY_KIND, seed)], seed)
        reading = store.reports(Part(EVERY_KIND.fingerprint, "open product"))
        next(reading)
        assert store.add([submission(EVERY_KIND, 9)], 1) == [True]
        store.fold()
        assert len(list(reading)) == 2  # it still sees the moment at which it began


def test_the_writer_is_not_kept_waiting_by_the_forgetting_of_ids(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("murmurs.collect.stores.sqlite.IDS_AT_ONCE", 10)
    with contextlib.closing(SQLiteStore(tmp_path)) as store:
        store.publish(PLAIN, 1)
        store.add([submission(PLAIN, seed) for seed in range(100)], 1)
        store.fold()
        writes: list[str] = []
        write = store._write

        def noted(work):  # type: ignore[no-untyped-def]
            writes.append(threading.current_thread().name)
            return write(work)

        monkeypatch.setattr(store, "_write", noted)
        assert store.forget_ids(2) == 100
        assert len(writes) == 10  # the writer may come in between


def test_a_file_that_is_no_store_is_refused_and_left_alone(tmp_path: Path, backup: Path) -> None:
    for number, content in enumerate([b"hello" * 1000, _other_database(tmp_path)]):
        directory = tmp_path / f"store{number}"
        directory.mkdir()
        (directory / DATABASE).write_bytes(content)
        with pytest.raises(StoreError, match=r"is damaged|is not a store"):
            SQLiteStore(directory)
        assert (directory / DATABASE).read_bytes()[:100] == content[:100]
        backup.write_bytes(content)
        with pytest.raises(StoreError, match=r"is damaged|is not a store"):
            restore(backup, tmp_path / "restored")
        assert not (tmp_path / "restored").exists()
    with pytest.raises(FileNotFoundError, match="there is no backup"):
        restore(tmp_path / "nothing", tmp_path / "restored")


def _other_database(folder: Path) -> bytes:
    with contextlib.closing(apsw.Connection(str(folder / "other"))) as db:
        db.execute("create table recipes (name)")
    return (folder / "other").read_bytes()


def _sum_again(db: apsw.Connection) -> None:
    """Write the sums of what is there, as a mistake of ours would."""
    db.create_scalar_function("again", lambda *row: sum_of(*row))
    for table, data in (("recent", "reports"), ("counts", "cells"), ("kept", "reports")):
        db.execute(f"update {table} set crc = again(series, day, n, {data})")


def test_damage_is_found(tmp_path: Path) -> None:
    def spoil(sql: str, *, sum_again: bool = True) -> None:
        with contextlib.closing(apsw.Connection(str(tmp_path / DATABASE))) as db:
            db.execute(sql)
            if sum_again:
                _sum_again(db)

    with contextlib.closing(SQLiteStore(tmp_path)) as store:
        store.publish(EVERY_KIND, 1)
        store.publish(PLAIN, 1)
        store.add([submission(EVERY_KIND, 1), submission(PLAIN, 1)], 1)
        store.fold()
        store.add([submission(PLAIN, 2)], 1)
        store.verify()
        for change in ("kept set n = n + 1", "recent set day = 2", "counts set series = 1000"):
            table = change.split()[0]
            spoil(f"create table spare as select * from {table}", sum_again=False)
            one = f"rowid = (select min(rowid) from {table})"
            spoil(f"update {change} where {one}", sum_again=False)
            for sums_only in (True, False):
                with pytest.raises(DamagedError, match="it is not as it was written"):
                    store.verify(sums_only=sums_only)
            spoil(f"delete from {table}; insert into {table} select * from spare; drop table spare")
        store.verify()
        spoil("update kept set n = n + 1")
        with pytest.raises(StoreError, match="day 1 has 3 reports to 'open product', not 4"):
            store.verify()
        spoil("update kept set n = n - 1")
        spoil("update recent set reports = x'070707'")
        with pytest.raises(StoreError, match="reports to 'hot' of day 1: report 0"):
            store.verify()
        spoil("delete from recent")
        spoil("update counts set n = n - 1")
        with pytest.raises(StoreError, match="counts of 'category' of day 1"):
            store.verify()
        spoil("update counts set n = n + 1, cells = x'00'")
        with pytest.raises(StoreError, match="1 bytes are not counts of 4 cells"):
            store.verify()
        spoil("delete from kept")
        with pytest.raises(StoreError, match="counts of 'category'"):
            store.verify()
        store.verify(sums_only=True)
        for scope, surveys in (("rea`", "[]"), ("read", '["tea"}'), ("read", '{"tea"]'), ("", "")):
            spoil(f"insert into tokens values ('a', x'00', '{scope}', '{surveys}')")
            with pytest.raises(DamagedError, match="the token 'a' is damaged"):
                store.verify(sums_only=True)
            store.revoke("a")
        for column in ("question = 'hou'", "question = 'drink'", "segment = 'x'", "survey = 7"):
            spoil("create table spare as select * from series", sum_again=False)
            spoil(f"update series set {column} where question = 'hot'", sum_again=False)
            with pytest.raises(DamagedError, match="the questions of the survey 'plain'"):
                store.verify(sums_only=True)
            store.fold()
            spoil("delete from series; insert into series select * from spare; drop table spare")
        spoil("update surveys set state = 'opeo'")
        with pytest.raises(DamagedError, match="the state of the survey 'every kind'"):
            store.verify(sums_only=True)


def test_a_damaged_token_lets_nobody_in_and_keeps_no_other_from_being_read(tmp_path: Path) -> None:
    with contextlib.closing(SQLiteStore(tmp_path)) as store:
        _, good = new_token("good", "read")
        _, bad = new_token("bad", "read", ("tea",))
        store.add_token(good)
        store.add_token(bad)
        with contextlib.closing(apsw.Connection(str(tmp_path / DATABASE))) as db:
            db.execute("""update tokens set surveys = '["tea"}' where name = 'bad'""")
        assert store.tokens() == (good,)
        store.revoke("bad")
        store.verify()


def _flipped(path: Path, rng: np.random.Generator, number: int) -> bytes:
    """Return a file with so many bytes changed, none of them in the first page."""
    data = bytearray(path.read_bytes())
    for place in rng.integers(4096, len(data), number):
        data[place] ^= int(rng.integers(1, 256))
    return bytes(data)


def test_flipped_bytes_are_never_served(tmp_path: Path) -> None:
    """Everything that can be read from a store with 40 flipped bytes is as it was, or refused."""
    made, rng = tmp_path / "made", np.random.default_rng(1)
    parts = [Part(EVERY_KIND.fingerprint, asked.name) for asked in EVERY_KIND.reported]
    with contextlib.closing(SQLiteStore(made)) as store:
        store.publish(EVERY_KIND, 1)
        for seed in range(12):
            store.add([submission(EVERY_KIND, seed, people=300)], seed % 4)
            if seed == 8:
                store.fold()
        truth = {part: store.counts(part) for part in parts}
        store.vacuum()
    refused = 0
    for number in range(12):
        place = tmp_path / f"flipped{number}"
        place.mkdir()
        (place / DATABASE).write_bytes(_flipped(made / DATABASE, rng, 40))
        try:
            with contextlib.closing(SQLiteStore(place)) as store:
                damaged = False
                for part in parts:
                    try:
                        assert store.counts(part) == truth[part]
                    except StoreError:
                        damaged = True
                refused += damaged
                with pytest.raises(StoreError):
                    store.verify(sums_only=True)
        except StoreError:
            refused += 1
    assert refused >= 8


def test_damaged_reports_are_left_out_of_a_fold_and_refused_as_counts(tmp_path: Path) -> None:
    part = Part(PLAIN.fingerprint, "hot")
    with contextlib.closing(SQLiteStore(tmp_path)) as store:
        store.publish(PLAIN, 1)
        store.add([submission(PLAIN, 1)], 1)
        store.add([submission(PLAIN, 2)], 2)
        with contextlib.closing(apsw.Connection(str(tmp_path / DATABASE))) as db:
            db.execute("update recent set reports = x'010101' where day = 1")
        store.fold()
        assert store.counts(Part(PLAIN.fingerprint, "hot", first_day=2)).n == 3
        with pytest.raises(DamagedError, match="3 reports of series 1 on day 1 is damaged"):
            store.counts(part)


def test_a_survey_that_was_changed_in_the_store_is_refused(tmp_path: Path) -> None:
    with contextlib.closing(SQLiteStore(tmp_path)) as store:
        store.publish(PLAIN, 1)
    with contextlib.closing(apsw.Connection(str(tmp_path / DATABASE))) as db:
        db.execute("update surveys set document = replace(document, 'yes', 'yet')")
    with (
        contextlib.closing(SQLiteStore(tmp_path)) as store,
        pytest.raises(DamagedError, match="the survey with the fingerprint"),
    ):
        store.collections()


def test_a_damaged_page_is_found(tmp_path: Path) -> None:
    with contextlib.closing(SQLiteStore(tmp_path)) as store:
        store.publish(EVERY_KIND, 1)
    data = bytearray((tmp_path / DATABASE).read_bytes())
    data[4096 * 3 : 4096 * 12] = os.urandom(4096 * 9)
    (tmp_path / DATABASE).write_bytes(data)

    def use() -> None:
        with contextlib.closing(SQLiteStore(tmp_path)) as store:
            store.verify()

    with pytest.raises(StoreError, match="is damaged"):
        use()


def _log_of(place: Path, transactions: int) -> bytes:
    """Return the log that a process leaves which is killed after so many transactions."""
    with contextlib.closing(SQLiteStore(place)) as store:
        store.publish(PLAIN, 1)
        store.vacuum()
        for seed in range(transactions):
            store.add([submission(PLAIN, seed)], 1)
        return (place / LOG).read_bytes()


def test_a_damaged_log_is_refused_before_what_follows_it_is_lost(tmp_path: Path) -> None:
    made = tmp_path / "made"
    log, rng = _log_of(made, 12), np.random.default_rng(1)
    transaction = (len(log) - 32) // 12
    for number, at in enumerate([0, 9, 20, 30, *rng.integers(len(log) - 3 * transaction, size=12)]):
        place = tmp_path / str(number)
        place.mkdir()
        (place / DATABASE).write_bytes((made / DATABASE).read_bytes())
        damaged = bytearray(log)
        damaged[at] ^= 4
        (place / LOG).write_bytes(damaged)
        for collecting in (True, False):
            with pytest.raises(DamagedError, match=r"wal is damaged: at least \d+ transactions"):
                SQLiteStore(place, collecting=collecting)
        assert (place / LOG).read_bytes() == damaged
    with contextlib.closing(SQLiteStore(place, damaged=True)) as store:
        assert store.counts(Part(PLAIN.fingerprint, "hot")).n < 36


def test_what_a_crash_left_unfinished_is_no_damage(tmp_path: Path) -> None:
    log = _log_of(tmp_path, 5)
    with contextlib.closing(SQLiteStore(tmp_path)) as store:
        store.add([submission(PLAIN, 7)], 1)
        assert lost_transactions(tmp_path / LOG) == 0
    transaction = (len(log) - 32) // 5
    for end in (0, 31, 32, 33, len(log) - 1, len(log) - transaction - 5, len(log)):
        (tmp_path / "cut").write_bytes(log[:end])
        assert lost_transactions(tmp_path / "cut") == 0
    torn = bytearray(log)
    torn[-transaction : -transaction + 100] = bytes(100)  # its end is on the disk, not its begin
    (tmp_path / "torn").write_bytes(torn)
    assert lost_transactions(tmp_path / "torn") == 1
    check_log(tmp_path / "torn")


def test_a_log_that_begins_anew_over_an_older_one_is_no_damage(tmp_path: Path) -> None:
    with contextlib.closing(SQLiteStore(tmp_path)) as store:
        store.publish(PLAIN, 1)
        for seed in range(60):
            store.add([submission(PLAIN, seed)], 1)
            if seed == 40:
                with contextlib.closing(apsw.Connection(str(tmp_path / DATABASE))) as db:
                    db.execute("pragma wal_checkpoint(restart)").fetchall()
                size = (tmp_path / LOG).stat().st_size
        assert (tmp_path / LOG).stat().st_size == size
        assert lost_transactions(tmp_path / LOG) == 0


def test_room_goes_back_to_the_disk(tmp_path: Path) -> None:
    with contextlib.closing(SQLiteStore(tmp_path)) as store:
        store.publish(PLAIN, 1)
        for seed in range(20):
            store.add([submission(PLAIN, seed, people=50_000)], 1)
        full = store.size()
        store.fold()
        store.vacuum()
        assert store.size() < full / 4
        assert store.counts(HOT).n == 10**6


def test_a_directory_that_is_gone_is_reported_and_nothing_is_lost(tmp_path: Path) -> None:
    place, elsewhere = tmp_path / "store", tmp_path / "elsewhere"
    with contextlib.closing(SQLiteStore(place)) as store:
        store.publish(PLAIN, 1)
        assert store.add([submission(PLAIN, 1)], 1) == [True]
        place.rename(elsewhere)
        for call in (store.check, lambda: store.add([submission(PLAIN, 2)], 1)):
            with pytest.raises(StoreError, match="cannot reach"):
                call()
        elsewhere.rename(place)
        assert store.add([submission(PLAIN, 1), submission(PLAIN, 2)], 1) == [False, True]
        assert store.counts(HOT).n == 6


def test_others_cannot_read_the_directory(tmp_path: Path) -> None:
    SQLiteStore(tmp_path / "new" / "store").close()
    assert (tmp_path / "new" / "store").stat().st_mode & 0o777 == 0o700


def test_others_cannot_read_the_files_in_a_directory_that_was_there(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with contextlib.closing(SQLiteStore(tmp_path)) as store:
        store.publish(PLAIN, 1)
        store.add([submission(PLAIN, 1)], 1)
        modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    names = ("lock", "store.sqlite", "store.sqlite-wal", "store.sqlite-shm")
    assert modes == dict.fromkeys(names, 0o600)


def test_a_place_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot make a store in"):
        SQLiteStore(tmp_path / "file")


def test_open_store_takes_a_directory(tmp_path: Path) -> None:
    store: Store
    for place in (tmp_path, str(tmp_path)):
        with contextlib.closing(open_store(place)) as store:
            assert isinstance(store, SQLiteStore)
