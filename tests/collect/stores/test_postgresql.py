"""What only the store in PostgreSQL promises: several collectors, and servers that go away."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

import psycopg
import pytest

from murmurs.collect.stores import open_store, postgresql, postgresql_session
from murmurs.collect.stores.postgresql import PostgreSQLStore
from murmurs.collect.stores.session import Session
from murmurs.collect.stores.store import Part, Store, StoreError, StoreFullError
from tests.collect.conftest import new_schema
from tests.collect.made import EVERY_KIND, PLAIN, submission
from tests.collect.postgresql_server import Server

P = PLAIN.fingerprint
HOT = Part(P, "hot")


@pytest.fixture
def url(server: Server) -> str:
    return new_schema(server)


@pytest.fixture
def stores(url: str) -> Iterator[tuple[Store, Store]]:
    with (
        contextlib.closing(open_store(url)) as one,
        contextlib.closing(open_store(url)) as two,
    ):
        yield one, two


def test_collectors_see_each_others_surveys_states_and_counts(stores: tuple[Store, Store]) -> None:
    one, two = stores
    one.publish(PLAIN, 1)
    two.publish(PLAIN, 1)
    assert [c.survey for c in two.collections()] == [PLAIN]
    before = two.changes(P)
    assert one.add([submission(PLAIN, 1)], 1) == [True]
    assert two.add([submission(PLAIN, 1), submission(PLAIN, 2)], 1) == [False, True]
    assert one.changes(P) == two.changes(P) > before
    two.fold()
    assert one.counts(HOT) == two.counts(HOT)
    assert one.counts(HOT).n == 6
    two.delete(P)
    with pytest.raises(LookupError, match="add it first"):
        one.add([submission(PLAIN, 3)], 1)
    two.publish(PLAIN, 2)
    assert one.add([submission(PLAIN, 1)], 1) == [True]
    assert two.counts(HOT).n == 3


def test_collectors_that_start_together_make_the_tables_once(url: str) -> None:
    opened: list[Store] = []
    threads = [threading.Thread(target=lambda: opened.append(open_store(url))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == 4
    barrier = threading.Barrier(4)

    def publish(store: Store) -> None:
        barrier.wait()
        store.publish(EVERY_KIND, 1)

    threads = [threading.Thread(target=publish, args=(store,)) for store in opened]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened[0].collections()) == 1
    for store in opened:
        store.close()


@pytest.mark.parametrize("aborts", [True, False])
def test_an_id_that_another_collector_is_adding_is_waited_for(
    stores: tuple[Store, Store], aborts: bool
) -> None:
    one, two = stores
    one.publish(PLAIN, 1)
    assert isinstance(one, PostgreSQLStore)
    sent = submission(PLAIN, 1)
    result: list[list[bool]] = []
    other = threading.Thread(target=lambda: result.append(two.add([sent], 1)))

    def work(session: Session) -> None:
        ((number,),) = session.run("select number from surveys")
        assert session.insert_ids(number, sent.id, 1) is None
        other.start()
        other.join(0.3)
        assert other.is_alive()
        if aborts:
            raise ZeroDivisionError

    with contextlib.suppress(ZeroDivisionError):
        one._write(work)
    other.join()
    assert result == [[aborts]]


def test_only_one_collector_folds_at_a_time(stores: tuple[Store, Store]) -> None:
    one, two = stores
    one.publish(PLAIN, 1)
    one.add([submission(PLAIN, 1)], 1)
    assert isinstance(one, PostgreSQLStore)
    assert isinstance(two, PostgreSQLStore)

    def waiting() -> int:
        with one._read() as session:
            return len(session.run("select 1 from recent"))

    with one._alone_folding() as alone:
        assert alone
        two.fold()
        assert waiting() == 1
    two.fold()
    assert waiting() == 0
    assert one.counts(HOT).n == 3


def test_folds_that_meet_all_the_same_count_once(stores: tuple[Store, Store]) -> None:
    one, two = stores
    one.publish(PLAIN, 1)
    assert isinstance(one, PostgreSQLStore)
    assert isinstance(two, PostgreSQLStore)
    for seed in range(30):
        one.add([submission(PLAIN, seed)], 1)
    threads = [threading.Thread(target=store._fold_some, args=(10**6,)) for store in (one, two)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert one.counts(HOT).n == 90
    one.verify()


def test_a_server_that_restarts_is_waited_for(
    server: Server, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgresql, "PAUSES", (0.1,) * 600)  # also on a busy machine
    with contextlib.closing(open_store(url)) as store:
        store.publish(PLAIN, 1)
        store.add([submission(PLAIN, 1)], 1)
        server.stop()
        starting = threading.Timer(0.3, server.start)
        starting.start()
        assert store.add([submission(PLAIN, 1), submission(PLAIN, 2)], 1) == [False, True]
        starting.join()
        server.stop()
        server.start()
        assert store.counts(HOT).n == 6
        store.fold()


def test_a_server_that_stays_away_is_reported(
    server: Server, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgresql, "PAUSES", (0.01, 0.02))
    with contextlib.closing(open_store(url)) as store:
        store.publish(PLAIN, 1)
        server.stop()
        try:
            for call in (
                lambda: store.add([submission(PLAIN, 1)], 1),
                lambda: store.counts(HOT),
                store.fold,
                store.check,
                lambda: open_store(url),
            ):
                with pytest.raises(StoreError, match="cannot reach the PostgreSQL database"):
                    call()
        finally:
            server.start()
        assert store.add([submission(PLAIN, 1)], 1) == [True]


@pytest.mark.parametrize("reads_on", [True, False])
def test_a_connection_that_is_lost_while_reading_is_reported(url: str, reads_on: bool) -> None:
    def read(store: PostgreSQLStore) -> None:
        with store._read() as session:
            ((process,),) = session.run("select pg_backend_pid()")
            with contextlib.closing(psycopg.connect(url, autocommit=True)) as other:
                other.execute("select pg_terminate_backend(%s, 5000)", (process,))
            if reads_on:
                session.run("select 1")

    with contextlib.closing(open_store(url)) as store:
        assert isinstance(store, PostgreSQLStore)
        with pytest.raises(StoreError, match="cannot reach the PostgreSQL database"):
            read(store)
        assert store.collections() == ()


@pytest.mark.parametrize("lost", [psycopg.OperationalError, psycopg.errors.DeadlockDetected])
def test_a_commit_of_unknown_outcome_counts_once(
    stores: tuple[Store, Store], monkeypatch: pytest.MonkeyPatch, lost: type[psycopg.Error]
) -> None:
    one, two = stores
    one.publish(PLAIN, 1)
    using = PostgreSQLStore._using
    failures = [1]

    @contextlib.contextmanager
    def committed_and_lost(self: PostgreSQLStore, begin: str) -> Iterator[Session]:
        with using(self, begin) as session:
            yield session
        if "read committed" in begin and failures:
            failures.pop()
            raise lost("the connection broke")

    monkeypatch.setattr(PostgreSQLStore, "_using", committed_and_lost)
    one.add([submission(PLAIN, 1)], 1)
    assert not failures
    assert two.counts(HOT).n == 3
    failures.append(1)
    one.fold()
    assert not failures
    assert two.counts(HOT).n == 3


def test_a_lock_that_is_held_for_long_ends_the_wait_with_a_reason(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = postgresql_session.SETTINGS.replace("'20s'", "'100ms'")
    monkeypatch.setattr(postgresql_session, "SETTINGS", short)
    with contextlib.closing(open_store(url)) as store:
        store.publish(PLAIN, 1)
        with contextlib.closing(psycopg.connect(url)) as other:
            other.execute("update surveys set state = 'closed'")
            with pytest.raises(StoreError, match="lock timeout"):
                store.add([submission(PLAIN, 1)], 1)
        assert store.add([submission(PLAIN, 1)], 1) == [True]


def test_a_full_disk_is_reported_as_such(
    stores: tuple[Store, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = stores
    one.publish(PLAIN, 1)

    def full(self: Session, *arguments: object) -> None:
        raise psycopg.errors.DiskFull("No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(postgresql_session.PostgreSQLSession, "changed", full)
        with pytest.raises(StoreFullError, match="is full: No space left on device"):
            one.add([submission(PLAIN, 1)], 1)
    assert one.counts(HOT).n == 0
    assert one.add([submission(PLAIN, 1)], 1) == [True]


def test_a_server_that_only_reads_is_reported(url: str) -> None:
    with contextlib.closing(open_store(url)) as store:
        store.publish(PLAIN, 1)
        store.add([submission(PLAIN, 1)], 1)
    only = url.replace("options=", "options=-cdefault_transaction_read_only%3Don%20")
    with contextlib.closing(psycopg.connect(only)) as db:
        assert db.execute("show transaction_read_only").fetchone() == ("on",)
    with contextlib.closing(open_store(only)) as store:
        assert store.counts(HOT).n == 3
        with pytest.raises(StoreError, match="read-only transaction"):
            store.add([submission(PLAIN, 2)], 1)


def test_commits_are_durable_even_if_the_server_would_not_wait(url: str) -> None:
    lazy = url.replace("options=", "options=-csynchronous_commit%3Doff%20")
    with contextlib.closing(open_store(lazy)) as store:
        assert isinstance(store, PostgreSQLStore)
        with store._read() as session:
            assert session.run("show synchronous_commit") == [("on",)]


def test_addresses_that_lead_nowhere_are_refused(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgresql, "PAUSES", ())
    with pytest.raises(StoreError, match="this is no address of a PostgreSQL database"):
        open_store("postgresql://host/name?colour=blue")
    with pytest.raises(StoreError, match="cannot reach the PostgreSQL database name on /nowhere"):
        open_store("postgresql:///name?host=/nowhere&password=secret")
    with pytest.raises(StoreError, match="has no schema of its search_path"):
        open_store(server.url("nowhere"))


def test_a_wrong_address_does_not_show_its_password() -> None:
    with pytest.raises(StoreError, match="no address of a PostgreSQL") as refused:
        PostgreSQLStore("postgresql://ann:se%cret@db.example/surveys")
    assert "cret" not in str(refused.value)
