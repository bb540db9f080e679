"""The format of a store: the version of its tables, and how an older one becomes the present one.

`FORMAT` grows by one with every change of the tables. ``MIGRATIONS[n]`` turns format n into n + 1;
it runs in the transaction that opens the store, all or none.

Format 2 has a sum in every row with reports or counts; see `murmurs.collect.stores.sums`.
Format 3 has recent ids in SQLite in a table of their own; see `murmurs.collect.stores.sqlite_ids`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from murmurs.boundary.checks import shown
from murmurs.collect.stores.session import Session
from murmurs.collect.stores.store import StoreError
from murmurs.collect.stores.sums import sum_of

FORMAT = 3
"""The format that this release writes; it reads all formats up to this one."""

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "surveys": ("number", "fingerprint", "document", "state", "first_day"),
    "series": ("number", "survey", "question", "segment"),
    "ids": ("survey", "id", "day"),
    "recent": ("number", "series", "day", "n", "reports", "crc"),
    "counts": ("series", "day", "n", "cells", "crc"),
    "kept": ("number", "series", "day", "n", "reports", "crc"),
    "tokens": ("name", "digest", "scope", "surveys"),
}
"""The tables with what was collected, and the columns that all stores have."""


def check_format(found: object, place: str, *, migrating: bool) -> int:
    """Return the format that a store states; refuse a later one, and what is none."""
    try:
        written = int(str(found))
    except ValueError:
        written = 0
    if written > FORMAT:
        raise StoreError(
            f"{place} has format {written}, this release reads up to {FORMAT}: upgrade murmurs"
        )
    if written < 1:
        raise StoreError(f"{place} is not a store: its format is {shown(found)}")
    if written < FORMAT and not migrating:
        raise StoreError(
            f"{place} has format {written}, and this release has format {FORMAT}: open it once "
            "with `murmurs serve`, which converts it"
        )
    return written


def migrate(session: Session, written: int) -> None:
    """Turn the tables of an older format into those of the present one."""
    for step in range(written, FORMAT):
        MIGRATIONS[step](session)
    session.run("update meta set value = :value where key = 'format'", value=str(FORMAT))


def _add_sums(session: Session) -> None:
    """Add a sum to every row, of what is written there now."""
    tables = (
        ("recent", "reports", ("number",)),
        ("counts", "cells", ("series", "day")),
        ("kept", "reports", ("number",)),
    )
    for table, data, key in tables:
        session.run(f"alter table {table} add column crc integer not null default 0")
        this = " and ".join(f"{name} = :{name}" for name in key)
        for found in session.run(f"select {', '.join(key)} from {table}"):
            where = dict(zip(key, found, strict=True))
            (row,) = session.run(
                f"select series, day, n, {data} from {table} where {this}", **where
            )
            session.run(f"update {table} set crc = :crc where {this}", crc=sum_of(*row), **where)


MIGRATIONS: Mapping[int, Callable[[Session], None]] = {
    1: _add_sums,
    2: lambda session: session.add_recent_ids(),
}
