"""Stores that earlier releases wrote open in this one, and say what they said."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import apsw
import psycopg
import pytest

from murmurs.collect.stores import formats, open_store
from murmurs.collect.stores.restore import restore
from murmurs.collect.stores.sqlite import DATABASE
from murmurs.collect.stores.sums import sum_of
from tests.collect.conftest import NewPlace
from tests.collect.make_format import FOLDER, sent, told


def load(place: str, number: int) -> None:
    if place.startswith("postgresql"):
        text = (FOLDER / f"postgresql-{number}.sql").read_text()
        with contextlib.closing(psycopg.connect(place, autocommit=True)) as db:
            db.execute(text.encode())
        return
    Path(place).mkdir()
    with contextlib.closing(apsw.Connection(str(Path(place, DATABASE)))) as other:
        other.execute((FOLDER / f"sqlite-{number}.sql").read_text()).fetchall()


@pytest.mark.parametrize("number", range(1, formats.FORMAT + 1))
def test_a_backup_of_every_format_is_restored_to_both_kinds(
    new_place: NewPlace, number: int, tmp_path: Path
) -> None:
    old = tmp_path / "old"
    load(str(old), number)
    expected = json.loads((FOLDER / f"{number}.json").read_text())
    with contextlib.closing(restore(old / DATABASE, new_place())) as store:
        store.verify()
        assert told(store) == expected


def test_recent_ids_of_format_3_count_once_also_when_they_are_restored(
    new_place: NewPlace, tmp_path: Path
) -> None:
    for number, place in enumerate((new_place(), new_place())):
        old = tmp_path / f"old{number}"
        load(str(old), 3)
        if number:
            load(place, 3)
            store = open_store(place)
        else:
            store = restore(old / DATABASE, place)
        with contextlib.closing(store):
            many = [sent(number) for number in range(2, 80)]
            assert store.add(many, 20_009) == [number >= 68 for number in range(2, 80)]


@pytest.mark.parametrize("number", range(1, formats.FORMAT + 1))
def test_ids_that_a_store_of_any_format_has_count_once(new_place: NewPlace, number: int) -> None:
    """Also if they come among so many that SQLite keeps them together."""
    place = new_place()
    load(place, number)
    many = [sent(seed) for seed in range(200)]
    with contextlib.closing(open_store(place)) as store:
        known = len(many) - sum(store.add(many, 20_009))
        assert known >= 4
        store.fold()
        assert not any(store.add(many, 20_009))
        store.verify()


def test_what_is_converted_is_summed_as_it_was_written(tmp_path: Path) -> None:
    place = tmp_path / "store"
    load(str(place), 1)
    with contextlib.closing(open_store(place)) as store:
        store.verify(sums_only=True)
    with contextlib.closing(apsw.Connection(str(place / DATABASE))) as db:
        for table, data in (("recent", "reports"), ("counts", "cells"), ("kept", "reports")):
            rows = db.execute(f"select series, day, n, {data}, crc from {table}").fetchall()
            assert rows
            for *row, crc in rows:
                assert crc == sum_of(*row)  # type: ignore[arg-type]


@pytest.mark.parametrize("number", range(1, formats.FORMAT + 1))
def test_a_store_of_every_format_opens_and_says_what_it_said(
    new_place: NewPlace, number: int
) -> None:
    place = new_place()
    load(place, number)
    expected = json.loads((FOLDER / f"{number}.json").read_text())
    for _ in range(2):
        with contextlib.closing(open_store(place)) as store:
            assert told(store) == expected
            store.fold()
            store.verify()
            assert told(store) == expected
