"""What the writer promises: durable before it is told, each request by itself, and bounds."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from murmurs.collect.stores.sqlite import SQLiteStore
from murmurs.collect.stores.store import Part, StoreError, StoreFullError, UnknownSurveyError
from murmurs.collect.stores.writer import BusyError, Writer, today
from murmurs.submission import Submission
from tests.collect.made import EVERY_KIND, PLAIN, submission

HOT = Part(PLAIN.fingerprint, "hot")


class Gated:
    """A store whose `add` waits until the gate is open, and notes the groups that it is given."""

    def __init__(self, store: SQLiteStore) -> None:
        self.store, self.groups, self.gate = store, list[int](), threading.Event()
        self.entered = threading.Event()
        self.fails: BaseException | None = None

    def add(self, submissions: Sequence[Submission], day: int) -> list[bool]:
        self.entered.set()
        self.gate.wait(60)
        self.groups.append(len(submissions))
        if self.fails is not None:
            raise self.fails
        return self.store.add(submissions, day)


@pytest.fixture
def gated(tmp_path: Path) -> Iterator[Gated]:
    with contextlib.closing(SQLiteStore(tmp_path)) as store:
        store.publish(PLAIN, 1)
        found = Gated(store)
        yield found
        found.gate.set()


def writer(gated: Gated, **options: Any) -> contextlib.closing[Writer]:
    return contextlib.closing(Writer(gated, **options))  # type: ignore[arg-type]


def test_requests_that_wait_are_written_together(gated: Gated) -> None:
    with writer(gated, day=lambda: 7) as found:
        first = found.add([submission(PLAIN, 0)])
        assert gated.entered.wait(60)
        rest = [found.add([submission(PLAIN, n), submission(PLAIN, n + 1)]) for n in (1, 3, 1)]
        assert not first.done()
        gated.gate.set()
        assert first.result(60) == [True]
        assert [one.result(60) for one in rest] == [[True, True], [True, True], [False, False]]
    assert gated.groups == [1, 6]
    assert gated.store.days(PLAIN.fingerprint, "hot") == {(7, None): 15}
    assert found.waiting == 0


def test_groups_are_bounded(gated: Gated) -> None:
    with writer(gated, most_at_once=200) as found:
        sent = [found.add([submission(PLAIN, n)]) for n in range(7)]
        gated.gate.set()
        assert all(one.result(60) == [True] for one in sent)
    assert max(gated.groups) == 2  # each takes 67 bytes


def test_one_bad_request_does_not_fail_its_group(gated: Gated) -> None:
    with writer(gated) as found:
        first = found.add([submission(PLAIN, 0)])
        assert gated.entered.wait(60)
        good = found.add([submission(PLAIN, 1)])
        unknown = found.add([submission(PLAIN, 2), submission(EVERY_KIND, 1)])
        strange = Submission(PLAIN.fingerprint, bytes(16), 1, {"cold": b"\\x00"})
        odd = found.add([strange])
        last = found.add([submission(PLAIN, 3)])
        gated.gate.set()
        assert [first.result(60), good.result(60), last.result(60)] == [[True]] * 3
        assert isinstance(unknown.exception(60), UnknownSurveyError)
        assert isinstance(odd.exception(60), KeyError)
    assert gated.store.counts(HOT).n == 9


def test_a_store_that_is_full_fails_the_group_and_takes_the_next(gated: Gated) -> None:
    gated.gate.set()
    with writer(gated) as found:
        gated.fails = StoreFullError("no room")
        with pytest.raises(StoreFullError, match="no room"):
            found.add([submission(PLAIN, 1)]).result(60)
        gated.fails = None
        assert found.add([submission(PLAIN, 1)]).result(60) == [True]


def test_what_waits_is_bounded(gated: Gated) -> None:
    with writer(gated, most_waiting=200) as found:
        sent = [found.add([submission(PLAIN, n)]) for n in range(2)]
        with pytest.raises(BusyError, match="134 bytes of reports are waiting to be written: send"):
            found.add([submission(PLAIN, 2)])
        gated.gate.set()
        assert all(one.result(60) == [True] for one in sent)
        # A request that is larger than the bound is taken when nothing else waits.
        deadline = time.monotonic() + 60
        while found.waiting and time.monotonic() < deadline:
            time.sleep(0.001)
        assert found.add([submission(PLAIN, 3, people=300)]).result(60) == [True]


def test_closing_writes_what_waits_and_refuses_what_comes(gated: Gated) -> None:
    found = Writer(gated)  # type: ignore[arg-type]
    sent = [found.add([submission(PLAIN, n)]) for n in range(5)]
    closing = threading.Thread(target=found.close)
    closing.start()
    while found._open:
        time.sleep(0.001)
    with pytest.raises(StoreError, match="the collector is stopping: send it again later"):
        found.add([submission(PLAIN, 9)])
    gated.gate.set()
    closing.join(60)
    assert [one.result(0) for one in sent] == [[True]] * 5
    found.close()


def test_an_event_loop_waits_without_blocking(gated: Gated) -> None:
    async def run() -> list[Any]:
        with writer(gated) as found:
            tasks = [asyncio.create_task(found.added([submission(PLAIN, n)])) for n in range(20)]
            tasks.append(asyncio.create_task(found.added([submission(EVERY_KIND, 0)])))
            await asyncio.sleep(0.01)
            tasks[3].cancel()
            gated.gate.set()
            return await asyncio.gather(*tasks, return_exceptions=True)

    results = asyncio.run(run())
    assert isinstance(results.pop(), UnknownSurveyError)
    assert isinstance(results.pop(3), asyncio.CancelledError)
    assert results == [[True]] * 19
    assert gated.store.counts(HOT).n == 60  # also what nobody waited for any longer


def test_a_loop_that_ended_does_not_stop_the_writer(gated: Gated) -> None:
    with writer(gated) as found:

        async def leave() -> None:
            task = asyncio.create_task(found.added([submission(PLAIN, 1)]))
            await asyncio.sleep(0.01)
            task.cancel()

        asyncio.run(leave())
        cancelled = found.add([submission(PLAIN, 2)])
        assert cancelled.cancel()
        gated.gate.set()
        assert found.add([submission(PLAIN, 3)]).result(60) == [True]
    assert gated.store.counts(HOT).n == 9


def test_the_day_is_that_of_utc() -> None:
    assert 20_000 < today() < 100_000
    assert abs(today() - time.time() / 86_400) <= 1.01
