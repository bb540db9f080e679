"""Ids in SQLite count once, wherever they are, and whatever happens while they are filed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from murmurs.collect.stores import sqlite_ids
from murmurs.collect.stores.sqlite import DATABASE, SQLiteStore
from murmurs.collect.stores.store import Part, StoreError, UnknownSurveyError
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
        assert store._recent.count < 100 + 2 * 60
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
