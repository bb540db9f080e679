"""The stores: SQLite in a directory, and PostgreSQL for several collectors."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlencode

from murmurs.collect.stores.store import Store

_SERVERS = ("postgresql://", "postgres://")
_SECRETS = ("password", "sslpassword")


def open_store(
    place: str | Path,
    *,
    quota: int | None = None,
    collecting: bool = True,
    damaged: bool = False,
) -> Store:
    """Open the store in a directory, or on a server, ``postgresql://...``; make it if it is new.

    ``quota`` is the most bytes that it may take. With ``collecting=False`` it is opened beside a
    collector: for reading and upkeep, but not for new surveys and submissions. ``damaged`` opens it
    also if that loses what follows damage in the log of SQLite.
    """
    if isinstance(place, str) and place.startswith(_SERVERS):
        with naming_the_extra("server,postgres"):
            from murmurs.collect.stores.postgresql import PostgreSQLStore
        return PostgreSQLStore(place, quota=quota, collecting=collecting)
    with naming_the_extra("server"):
        from murmurs.collect.stores.sqlite import SQLiteStore
    return SQLiteStore(place, quota=quota, collecting=collecting, damaged=damaged)


@contextlib.contextmanager
def naming_the_extra(extra: str) -> Iterator[None]:
    """Say how to install what an import misses."""
    try:
        yield
    except ImportError as error:
        raise ImportError(
            f"the store needs {error.name}: install it with pip install 'murmurs[{extra}]'",
            name=error.name,
        ) from None


def without_password(place: str | Path) -> str:
    """Return where a store is, as it may be shown.

    >>> without_password("postgresql://ann:secret@db.example/surveys?password=secret")
    'postgresql://ann@db.example/surveys'
    >>> without_password("postgresql://ann:se#cr?et@db.example/surveys?sslmode=require")
    'postgresql://ann@db.example/surveys?sslmode=require'
    """
    text = str(place)
    if not text.startswith(_SERVERS):
        return text
    scheme, _, rest = text.partition("://")
    before, at, rest = rest.rpartition("@")  # libpq takes '#' and '?' in a password as they are
    user = re.split("[:/?#]", before)[0]
    rest, _, query = rest.partition("?")
    shown = [(name, value) for name, value in parse_qsl(query) if name not in _SECRETS]
    after = f"?{urlencode(shown, quote_via=quote)}" if shown else ""
    return f"{scheme}://{user}{at}{rest}{after}"
