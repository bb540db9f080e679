"""Ids in SQLite count once, wherever they are, and whatever happens while they are filed."""

from __future__ import annotations

import contextlib
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from murmurs.collect.stores import sqlite_ids
from murmurs.collect.stores.folding import in_order
from murmurs.collect.stores.sqlite import DATABASE, SQLiteStore
from murmurs.collect.stores.store import DamagedError, Part, StoreError, UnknownSurveyError
from murmurs.submission import Batch
from murmurs.survey.survey import Survey
from tests.collect.made import PLAIN

F = PLAIN.fingerprint
OTHER = Survey.from_toml("""
name = "other"
[[questions]]
name = "hot"
labels = ["yes", "no"]
mechanism = {name = "KRR", epsilon = 1.0}
""")
UNKNOWN = "f" * 64
"""The fingerprint of no survey, after those of all others in order."""


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """File few ids at a time."""
    monkeypatch.setattr(sqlite_ids, "FEW", 8)
    monkeypatch.setattr(sqlite_ids, "MOST_RECENT", 100)
    monkeypatch.setattr(sqlite_ids, "FILED_AT_ONCE", 30)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    with contextlib.closing(SQLiteStore(tmp_path)) as store:
        store.publish(PLAIN, 1)
        yield store


def identity(number: int) -> bytes:
    return np.random.default_rng(number).bytes(16)


def batch(numbers: Any, survey: str = F) -> Batch:
    """Return submissions of one person each, with ids that follow from numbers."""
    ids = b"".join(map(identity, numbers))
    return Batch(survey, ids, 1, {"hot": bytes(len(ids) // 16)})


def tables(store: SQLiteStore) -> tuple[list[bytes], list[bytes]]:
    """Return the ids that are filed, and those that are recent."""
    with contextlib.closing(apsw.Connection(str(store.directory / DATABASE))) as db:
        filed = [found for (found,) in db.execute("select id from ids")]
        rows = [ids for (ids,) in db.execute("select ids from recent_ids")]
    return filed, [one for ids in rows for one in sqlite_ids.apart(ids)]


def test_each_id_counts_once_whatever_happens_in_between(tmp_path: Path) -> None:
    """Random groups, repeats, days, surveys, failures, forgetting, and processes that end."""
    rng, seen = np.random.default_rng(1), dict[tuple[str, int], int]()
    store, total = SQLiteStore(tmp_path), {F: 0, OTHER.fingerprint: 0}
    other_ways = 0
    for published in (PLAIN, OTHER):
        store.publish(published, 1)
    for day in range(1, 301):
        groups = []
        for survey in rng.permutation([F, OTHER.fingerprint])[: rng.integers(1, 3)].tolist():
            numbers = rng.integers(0, 20 * day, rng.choice([1, 3, 20, 60]))
            groups.append((survey, numbers.tolist()))
        expected = []
        kept = dict(seen)
        for survey, numbers in groups:
            for number in numbers:
                expected.append((survey, number) not in kept)
                kept.setdefault((survey, number), day)
        batches = [batch(numbers, survey) for survey, numbers in groups]
        if rng.random() < 0.1:
            with pytest.raises(UnknownSurveyError):
                store.add([*batches, batch([1], UNKNOWN)], day)
        assert store.add(batches, day) == expected
        for survey, number in kept.keys() - seen.keys():
            total[survey] += kept[survey, number] == day
        seen = kept
        assert store._recent.count < 1.5 * (100 + 120) + 120
        way = rng.random()
        if way < 0.05:
            store.fold()
        elif way < 0.1:
            store.close()
            store = SQLiteStore(tmp_path)
        elif way < 0.13:
            gone = {key for key, when in seen.items() if when < day - 5}
            assert store.forget_ids(day - 5) == len(gone)
            seen = {key: when for key, when in seen.items() if key not in gone}
            other_ways += len(gone)
    for survey, n in total.items():
        assert store.counts(Part(survey, "hot")).n == n
    filed, recent = tables(store)
    assert len(filed) + len(recent) == len(seen)
    assert other_ways > 100
    store.close()


def test_many_ids_are_kept_together_until_they_are_folded(store: SQLiteStore) -> None:
    assert all(store.add([batch(range(50))], 1))
    assert tables(store) == ([], sorted(map(identity, range(50))))
    assert all(store.add([batch(range(50, 57))], 1))
    assert len(tables(store)[0]) == 7
    store.fold()
    assert tables(store) == (sorted(map(identity, range(57))), [])
    assert store.add([batch(range(58))], 1) == [False] * 57 + [True]


def test_what_failed_is_not_remembered(store: SQLiteStore) -> None:
    """The ids of two surveys are written when a third is found to be unknown."""
    store.publish(OTHER, 1)
    known = [batch(range(50)), batch(range(50), OTHER.fingerprint)]
    for _ in range(2):
        with pytest.raises(UnknownSurveyError):
            store.add([*known, batch([1], UNKNOWN)], 1)
    assert store.add(known, 1) == [True] * 100
    assert store.counts(Part(F, "hot")).n == 50


@pytest.mark.parametrize("parts", [0, 1, 2, 3])
def test_filing_that_is_interrupted_loses_no_id_and_doubles_none(
    store: SQLiteStore, parts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.add([batch(range(90))], 1)
    write, done = store._write, list[int]()

    def failing(work: Callable[[Any], Any]) -> Any:
        if len(done) == parts:
            raise StoreError("the disk is gone")
        done.append(1)
        return write(work)

    with monkeypatch.context() as patch:
        patch.setattr(store, "_write", failing)
        with contextlib.suppress(StoreError):
            store._file_ids()
    filed, recent = tables(store)
    assert set(filed) | set(recent) == set(map(identity, range(90)))
    assert (len(filed), len(recent)) == (30 * parts, 90 if parts < 3 else 0)
    store.close()
    with contextlib.closing(SQLiteStore(store.directory)) as again:
        assert again.add([batch(range(95))], 2) == [False] * 90 + [True] * 5
        assert again.forget_ids(2) == 90
        assert again.add([batch(range(95))], 3) == [True] * 90 + [False] * 5


def test_ids_that_are_forgotten_while_they_are_filed_do_not_come_back(
    store: SQLiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.add([batch(range(90))], 1)
    write, done = store._write, list[int]()

    def meanwhile(work: Callable[[Any], Any]) -> Any:
        done.append(1)
        if len(done) == 2:
            with contextlib.closing(SQLiteStore(store.directory, collecting=False)) as other:
                assert other.forget_ids(2) == 90
        return write(work)

    with monkeypatch.context() as patch:
        patch.setattr(store, "_write", meanwhile)
        store._file_ids()
    assert tables(store) == ([], [])
    assert all(store.add([batch(range(90))], 2))


def test_a_collector_notices_what_another_process_forgets(store: SQLiteStore) -> None:
    store.add([batch(range(50))], 1)
    assert not any(store.add([batch(range(50))], 1))
    with contextlib.closing(SQLiteStore(store.directory, collecting=False)) as other:
        assert other.forget_ids(2) == 50
    assert all(store.add([batch(range(50))], 2))


def test_no_id_is_left_of_a_survey_that_is_deleted(store: SQLiteStore) -> None:
    store.publish(OTHER, 1)
    store.add([batch(range(50)), batch(range(60), OTHER.fingerprint)], 1)
    store.delete(F)
    filed, recent = tables(store)
    assert len(filed) + len(recent) == 60
    assert not any(store.add([batch(range(60), OTHER.fingerprint)], 1))


def test_a_backup_has_recent_ids(store: SQLiteStore, tmp_path: Path) -> None:
    store.add([batch(range(50))], 1)
    target = tmp_path / "copy" / DATABASE
    target.parent.mkdir()
    store.backup(target)
    with contextlib.closing(SQLiteStore(target.parent)) as copy:
        assert copy.add([batch(range(51))], 1) == [False] * 50 + [True]


@pytest.mark.parametrize("n", [1, 20], ids=["few", "many"])
def test_an_id_that_is_sent_twice_counts_once_before_and_after_it_is_filed(
    store: SQLiteStore, n: int
) -> None:
    """In one request, in the next, after a fold, and after a restart; few or many at a time."""
    sent = batch([*range(n), *range(n)])
    assert store.add([sent], 1) == [True] * n + [False] * n
    assert not any(store.add([sent, sent], 1))
    store.fold()
    assert not any(store.add([sent], 1))
    store.close()
    with contextlib.closing(SQLiteStore(store.directory)) as again:
        assert not any(again.add([sent], 1))
        assert again.counts(Part(F, "hot")).n == n


def test_recent_ids_are_forgotten_by_the_day_on_which_they_came(store: SQLiteStore) -> None:
    store.add([batch(range(20))], 1)
    store.add([batch(range(20, 40))], 2)
    assert len(tables(store)[1]) == 40
    assert store.forget_ids(2) == 20
    assert store.add([batch(range(40))], 27) == [True] * 20 + [False] * 20
    assert store.forget_ids(27) == 20
    assert store.add([batch(range(40))], 27) == [False] * 20 + [True] * 20


def test_a_submission_alone_runs_one_statement_more_while_others_are_recent(
    store: SQLiteStore,
) -> None:
    """It asks whether another process has changed the store, and reads no recent ids again."""
    ran: list[str] = []

    def note(_: object, sql: str, __: object) -> bool:
        ran.append(sql)
        return True

    store.add([batch([1000])], 1)
    store._db.exec_trace = note
    store.add([batch([1001])], 1)
    alone = list(ran)
    store.add([batch(range(50))], 1)
    store.add([batch([1002])], 1)  # reads these fifty
    ran.clear()
    store.add([batch([1003])], 1)
    assert len(ran) == len(alone) + 1
    assert sqlite_ids._LATER not in ran


def test_a_look_for_many_ids_reads_no_other_ids_of_their_survey(store: SQLiteStore) -> None:
    """So that what is sent again is refused as quickly from a large store as from a small one."""
    with contextlib.closing(apsw.Connection(str(store.directory / DATABASE))) as db:
        fields = {"survey": 1, "ids": bytes(160)}
        plan = [row[3] for row in db.execute(f"explain query plan {sqlite_ids._FOUND}", fields)]
    assert [step for step in plan if " ids" in step] == [
        "SEARCH ids USING PRIMARY KEY (survey=? AND id=?)"
    ]


@pytest.mark.parametrize("change", ["x''", "substr(ids, 1, 100)"])
def test_damaged_recent_ids_are_found_and_keep_no_others_from_being_filed(
    store: SQLiteStore, change: str
) -> None:
    store.add([batch(range(20))], 1)
    store.add([batch(range(20, 40))], 1)
    store.verify()
    with contextlib.closing(apsw.Connection(str(store.directory / DATABASE))) as db:
        db.execute(f"update recent_ids set ids = {change} where number = 1")
    with pytest.raises(DamagedError, match="recent ids of day 1 are damaged"):
        store.verify(sums_only=True)
    store.fold()
    store.verify()
    assert not any(store.add([batch(range(20, 40))], 1))


def test_a_backup_that_is_taken_while_ids_are_filed_has_each_of_them(
    store: SQLiteStore, tmp_path: Path
) -> None:
    store.add([batch(range(90))], 1)
    for number, _ in enumerate(store._filing()):
        target = tmp_path / f"copy{number}" / DATABASE
        target.parent.mkdir()
        store.backup(target)
        with contextlib.closing(SQLiteStore(target.parent)) as copy:
            copy.verify()
            assert copy.add([batch(range(92))], 1) == [False] * 90 + [True] * 2
            assert copy.forget_ids(2) == 92
    assert number == 2


def test_many_ids_are_filed_a_few_at_a_time_while_others_come(store: SQLiteStore) -> None:
    """Nobody who adds waits for all of them, and there are never many more than before."""
    most_filed = most_recent = 0
    for start in range(0, 3000, 20):
        before = len(tables(store)[0])
        store.add([batch(range(start, start + 20))], 1)
        filed, recent = tables(store)
        most_filed = max(most_filed, len(filed) - before)
        most_recent = max(most_recent, len(set(recent) - set(filed)))
    assert most_filed <= 2 * 20 + 30
    assert most_recent <= 1.5 * (100 + 20) + 20
    assert not any(store.add([batch(range(3000))], 1))


def test_a_large_group_files_as_many_ids_as_it_needs(store: SQLiteStore) -> None:
    for start in range(0, 5000, 500):
        store.add([batch(range(start, start + 500))], 1)
        assert store._recent.count <= 600
    assert not any(store.add([batch(range(5000))], 1))


def test_each_id_counts_once_when_threads_send_it_at_the_same_time(store: SQLiteStore) -> None:
    """Beside folds of this process and of another, which also forgets ids of earlier days."""
    old = list(range(10_000, 10_050))
    store.add([batch(old)], 1)
    groups = [list(range(start, start + 30)) for start in range(0, 600, 15)]  # most of them twice
    groups += [[number] for number in range(0, 600, 40)]
    done = threading.Event()

    def send(seed: int) -> Counter[int]:
        order = np.random.default_rng(seed).permutation(len(groups)).tolist()
        new = Counter[int]()
        for place in order:
            told = store.add([batch(groups[place])], 2)
            new.update(n for n, is_new in zip(groups[place], told, strict=True) if is_new)
        return new

    def look_after() -> int:
        forgotten = 0
        with contextlib.closing(SQLiteStore(store.directory, collecting=False)) as other:
            while not done.is_set():
                store.fold()
                other.fold()
                forgotten += other.forget_ids(2)
        return forgotten

    with ThreadPoolExecutor(5) as threads:
        upkeep = threads.submit(look_after)
        try:
            found = sum(threads.map(send, range(4)), Counter[int]())
        finally:
            done.set()
        assert upkeep.result() == len(old)
    assert found == Counter(range(615))
    assert store.counts(Part(F, "hot")).n == len(old) + 615
    assert all(store.add([batch(old)], 2))


def test_a_process_that_is_killed_between_two_statements_loses_no_id_and_doubles_none(
    store: SQLiteStore, tmp_path: Path
) -> None:
    """The files are copied before every statement: so a kill at this moment would leave them."""
    copies = list[tuple[Path, int]]()
    acknowledged = 0

    def copy(*_: Any) -> bool:
        folder = tmp_path / f"killed{len(copies)}"
        folder.mkdir()
        for end in ("", "-wal"):
            shutil.copyfile(store.directory / f"{DATABASE}{end}", folder / f"{DATABASE}{end}")
        copies.append((folder, acknowledged))
        return True

    store._db.exec_trace = copy
    for start in range(0, 180, 45):  # the third and the fourth file a part, the fold everything
        assert all(store.add([batch(range(start, start + 45))], 1))
        acknowledged = start + 45
    store.fold()
    store._db.exec_trace = None
    assert len(copies) > 50
    in_both = 0
    for folder, known in copies:
        with contextlib.closing(SQLiteStore(folder)) as again:
            filed, recent = tables(again)
            in_both += bool(set(filed) & set(recent))
            counted = again.counts(Part(F, "hot")).n
            assert counted in (known, known + 45)
            assert again.add([batch(range(200))], 1) == [n >= counted for n in range(200)]
            assert again.counts(Part(F, "hot")).n == 200
            assert again.forget_ids(2) == 200
    assert in_both > 5


def test_ids_are_put_in_order_whatever_bytes_they_have() -> None:
    rng = np.random.default_rng(1)
    ids = [bytes(rng.choice([0, 1, 127, 128, 255], 16).tolist()) for _ in range(500)]
    ids += [bytes(16), b"\1" + bytes(15), bytes(15) + b"\1", bytes(15) + b"\1", bytes([255] * 16)]
    assert sqlite_ids.apart(in_order(b"".join(ids), 16)) == sorted(ids)


def test_ids_with_zeros_count_once(store: SQLiteStore) -> None:
    ids = [bytes(k) + b"\1" * (16 - k) for k in range(17)] + [
        b"\1" * k + bytes(16 - k) for k in range(16)
    ]
    sent = Batch(F, b"".join(ids), 1, {"hot": bytes(len(ids))})
    first = [one not in ids[:place] for place, one in enumerate(ids)]
    assert store.add([sent], 1) == first
    assert not any(store.add([sent], 1))
    store.fold()
    assert not any(store.add([sent], 1))


def test_what_is_sent_again_is_refused_with_a_few_statements_however_many_there_are(
    store: SQLiteStore,
) -> None:
    ran: list[str] = []

    def note(_: object, sql: str, *__: Any) -> bool:
        ran.append(sql)
        return True

    store.add([batch(range(40))], 1)
    store.add([batch(range(1000, 1005))], 1)
    store.fold()
    store.add([batch(range(40, 80))], 1)
    numbers = []
    store._db.exec_trace = note
    for some in (range(20), range(40), range(40, 80), range(80), [*range(80)] * 20):
        assert not any(store.add([batch(some)], 1))
        numbers.append(len(ran))
        ran.clear()
    assert max(numbers) <= 6
