"""Every kind of store, in one list: a test that asks for `place` or `store` runs on each."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from murmurs.collect.stores import open_store
from murmurs.collect.stores.store import Store
from tests.collect.postgresql_server import Server, running

KINDS = ("sqlite", "postgresql")

NewPlace = Callable[[], str]
"""Returns where a new store can be opened, another one with every call."""

_numbers = itertools.count()


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A PostgreSQL server that this session of tests has to itself."""
    with running() as found:
        yield found


@pytest.fixture(params=KINDS)
def new_place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> NewPlace:
    if request.param == "sqlite":
        return lambda: str(tmp_path_factory.mktemp("store") / "directory")
    server: Server = request.getfixturevalue("server")
    return lambda: new_schema(server)


def new_schema(server: Server) -> str:
    name = f"place{next(_numbers)}"
    with contextlib.closing(psycopg.connect(server.url(), autocommit=True)) as db:
        db.execute(f"create schema {name}".encode())
    return server.url(name)


@pytest.fixture
def place(new_place: NewPlace) -> str:
    return new_place()


@pytest.fixture
def store(place: str) -> Iterator[Store]:
    with contextlib.closing(open_store(place)) as found:
        yield found


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    return tmp_path / "backup.sqlite"
