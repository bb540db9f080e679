"""Restore: a new store from a backup, of whichever kind the old one was.

A backup is one file, an SQLite database with the tables of `murmurs.collect.stores.sqlite`, also if
the store was in PostgreSQL. So it also moves a store from one kind to the other.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from pathlib import Path

from murmurs.collect.stores import copying, open_store
from murmurs.collect.stores.sqlite import DATABASE, SQLiteStore
from murmurs.collect.stores.store import Store, StoreError


def restore(backup: Path, place: str | Path) -> Store:
    """Make a new store from a backup, and open it; what is there already is not touched."""
    if not backup.is_file():
        raise FileNotFoundError(f"there is no backup {backup}")
    if not isinstance(place, str) or "://" not in place:
        return _restored(backup, Path(place))
    store = open_store(place)
    from murmurs.collect.stores.postgresql import PostgreSQLStore

    assert isinstance(store, PostgreSQLStore)
    try:
        with (
            tempfile.TemporaryDirectory(dir=backup.absolute().parent) as folder,
            contextlib.closing(_restored(backup, Path(folder, "store"))) as copy,
        ):
            copy.pour_into(store)
    except BaseException:
        store.close()
        raise
    return store


def _restored(backup: Path, directory: Path) -> SQLiteStore:
    """Copy a backup into a new directory, open it there and check it."""
    if directory.exists() and any(directory.iterdir()):
        raise StoreError(f"{directory} is not empty: restore to a new directory")
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    with copying.new_file(directory / DATABASE) as temporary:
        shutil.copyfile(backup, temporary)
    try:
        store = SQLiteStore(directory)
        try:
            store.verify()
        except BaseException:
            store.close()
            raise
    except BaseException:
        shutil.rmtree(directory)
        raise
    return store
