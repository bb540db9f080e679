"""The stores: SQLite in a directory, and PostgreSQL for several collectors."""

from __future__ import annotations

from pathlib import Path

from murmurs.collect.store import Store

_SERVERS = ("postgresql://", "postgres://")


def open_store(place: str | Path, *, quota: int | None = None, collecting: bool = True) -> Store:
    """Open the store in a directory, or on a server, ``postgresql://...``; make it if it is new.

    ``quota`` is the most bytes that it may take. With ``collecting=False`` it is opened beside a
    collector: for reading and upkeep, but not for new surveys and submissions.
    """
    if isinstance(place, str) and place.startswith(_SERVERS):
        from murmurs.collect.stores.postgresql import PostgreSQLStore

        return PostgreSQLStore(place, quota=quota, collecting=collecting)
    from murmurs.collect.stores.sqlite import SQLiteStore

    return SQLiteStore(place, quota=quota, collecting=collecting)
