"""What must answer answers, whatever results and administration take."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import murmurs as mm
from murmurs.collect.catalogue import date_of
from murmurs.collect.http.asking import Asking
from murmurs.collect.http.collector import Settings
from murmurs.collect.http.pools import SIZES, Kind
from murmurs.collect.http.routes import results
from murmurs.collect.refusals import RefusedError
from murmurs.collect.results import jobs
from murmurs.collect.results.compute import Result, Task
from murmurs.collect.results.disclosure import Disclosure
from murmurs.collect.results.jobs import MOST_EACH, Jobs
from murmurs.collect.results.turns import Turns
from murmurs.collect.results.worker import Worker, WorkerGoneError
from murmurs.collect.stores.store import ERA, Entry, Part
from murmurs.submission import SubmissionForm
from murmurs.survey.survey import Survey
from murmurs.survey.terms import Terms
from tests.collect.made import EVERY_KIND, PLAIN, submission
from tests.collect.running import DAY, Running, running

QUICK = Settings(refresh_seconds=0.05)


@contextlib.contextmanager
def occupied(served: Running) -> Iterator[None]:
    """Let every thread of results and administration wait, with more work behind it."""
    go_on = threading.Event()
    kinds: tuple[Kind, ...] = ("results", "administration")
    for kind in kinds:
        for _ in range(2 * SIZES[kind]):
            served.collector.pools._pools[kind].submit(go_on.wait, 20)
    try:
        yield
    finally:
        go_on.set()


def within(seconds: float, status: int, served: Running, path: str, token: str) -> bool:
    """Whether an address answers with this status, before so many seconds are over."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if served.get(path, token).status == status:
            return True
    return False


def test_revocation_readiness_and_submissions_wait_for_nobody(tmp_path: Path) -> None:
    """With one pool for everything, a revoked token was accepted 75 seconds later."""
    with running(tmp_path, PLAIN, settings=QUICK) as served, occupied(served):
        admin, here, elsewhere = (served.token("admin") for _ in range(3))
        assert served.get("/ready").status == 200
        assert served.get("/metrics", admin).status == 200
        form = SubmissionForm(PLAIN)
        assert served.send(form.make({"hot": [1, 0]}), PLAIN).status == 200
        assert served.ask("DELETE", "/admin/tokens/admin%201", token=admin).status == 204
        assert served.get("/admin/tokens", here).status == 401  # at once
        served.store.revoke("admin 2")  # as `murmurs token revoke` does, in another process
        assert within(5, 401, served, "/admin/tokens", elsewhere)
        made = served.post("/admin/tokens", {"name": "new", "scope": "read"}, admin)
        assert made.status == 201


WORDS = Survey.from_toml("""
name = "words"
[[questions]]
name = "word"
mechanism = {name = "Dictionary", epsilon = 6.0, longest = 4}
[[questions]]
name = "hot"
labels = ["yes", "no"]
epsilon = 1.0
""")


class Blocked:
    """Workers that compute nothing until they are told to, and what they were given."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.go_on, self.begun = threading.Event(), 0
        self.stopped = 0
        blocked = self

        def run(worker: Worker, task: Task, progress: Any, stopped: Callable[[], bool]) -> Result:
            blocked.begun += 1
            while not blocked.go_on.wait(0.01):
                if stopped():
                    blocked.stopped += 1
                    raise WorkerGoneError("stopped")
            return Result({"reports": 1, "notes": []}, {}, "")

        monkeypatch.setattr(Worker, "run", run)

    def until(self, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + 10
        while not condition():
            assert time.monotonic() < end
            time.sleep(0.01)


@pytest.fixture
def words(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path, WORDS) as served:
        form, word = SubmissionForm(WORDS), WORDS.question("word")
        made = {"word": word.encode_many(["moka"] * 50), "hot": np.zeros(50, np.uint8)}
        assert served.send(form.make(made), WORDS, binary=True).status == 200
        yield served


def test_one_reader_does_not_occupy_the_workers(
    words: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The requests of another reader were refused, 33 of 33, while one had filled the queue."""
    monkeypatch.setattr(results, "WAIT", 0.05)
    blocked = Blocked(monkeypatch)
    greedy, other = words.token("read"), words.token("read")
    answers = [
        words.get(f"/results/words/word?error_rate=0.0{number + 1}", greedy)
        for number in range(MOST_EACH + 3)
    ]
    assert [a.status for a in answers] == [202] * MOST_EACH + [503] * 3
    assert answers[-1].error == "busy"
    assert "for this token" in answers[-1].document["reason"]
    blocked.until(lambda: blocked.begun == 1)
    assert words.get("/results/words/word?error_rate=0.2", other).status == 202
    blocked.until(lambda: blocked.begun == 2)  # beside the one of the greedy reader
    time.sleep(0.1)
    assert blocked.begun == 2  # who has one worker, and no more
    blocked.go_on.set()
    blocked.until(lambda: len(words.collector.jobs) == 0)
    assert words.get("/results/words/word?error_rate=0.2", other).status == 200


def test_work_that_nobody_waits_for_is_given_up(
    words: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that hangs up was computed for to the end; one that comes back still finds it."""
    monkeypatch.setattr(results, "WAIT", 5.0)
    blocked, token = Blocked(monkeypatch), words.token("read")
    line = f"GET /results/words/word HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", words.port)) as client:
        client.sendall(line.encode())
        blocked.until(lambda: blocked.begun == 1)
    blocked.until(lambda: blocked.stopped == 1)
    assert len(words.collector.jobs) == 0
    monkeypatch.setattr(results, "WAIT", 0.05)
    monkeypatch.setattr(jobs, "PATIENCE", 0.5)
    monkeypatch.setattr(results, "PATIENCE", 0.5)
    for _ in range(3):
        assert words.get("/results/words/word", token).status == 202
        time.sleep(0.2)
    assert (blocked.begun, blocked.stopped) == (2, 1)  # somebody came back each time
    blocked.until(lambda: blocked.stopped == 2)  # and then no more


def test_the_process_of_a_worker_ends_when_the_client_hangs_up(words: Running) -> None:
    token, workers = words.token("read"), words.collector.jobs._workers
    head = f"Host: x\r\nAuthorization: Bearer {token}\r\n\r\n"
    end = time.monotonic() + 10
    with socket.create_connection(("127.0.0.1", words.port)) as client:
        client.sendall(f"GET /results/words/word HTTP/1.1\r\n{head}".encode())
        while not (workers and workers[0]._process) and time.monotonic() < end:
            time.sleep(0.005)
        process = workers[0]._process
        assert process is not None
    assert process.wait(10) < 0


def test_results_in_threads_stop_when_the_client_hangs_up(
    words: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, ended = threading.Event(), []

    def task(asking: Asking, going_on: Callable[[], None]) -> Task:
        began.set()
        end = time.monotonic() + 10
        try:
            while time.monotonic() < end:
                going_on()
                time.sleep(0.005)
        finally:
            ended.append(time.monotonic() < end)
        raise RefusedError(400, "query", "nobody stopped it")

    monkeypatch.setattr(Asking, "task", task)
    head = f"Host: x\r\nAuthorization: Bearer {words.token('read')}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", words.port)) as client:
        client.sendall(f"GET /results/words/hot HTTP/1.1\r\n{head}".encode())
        assert began.wait(10)
    end = time.monotonic() + 10
    while not ended and time.monotonic() < end:
        time.sleep(0.01)
    assert ended == [True]
    assert words.get("/health").status == 200


def test_a_token_that_is_revoked_while_it_waits_gets_no_result(
    words: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "WAIT", 10.0)
    blocked, token, found = Blocked(monkeypatch), words.token("read"), []
    ask = threading.Thread(target=lambda: found.append(words.get("/results/words/word", token)))
    ask.start()
    blocked.until(lambda: blocked.begun == 1)
    words.store.revoke(words.store.tokens()[0].name)
    words.collector.catalogue.refresh(words.store)
    blocked.go_on.set()
    ask.join()
    assert found[0].status == 401


def test_readers_take_turns() -> None:
    """Requests of one reader came first; those of others are answered between them."""

    async def main() -> list[str]:
        turns, order, go_on = Turns(1), list[str](), asyncio.Event()

        async def one(reader: str) -> None:
            async with turns.of(reader):
                order.append(reader)
                await go_on.wait()

        tasks = []
        for reader in ("a", "a", "a", "a", "b", "c"):
            tasks.append(asyncio.create_task(one(reader)))
            await asyncio.sleep(0)
        tasks[2].cancel()
        go_on.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        async with turns.of("d"):  # no place was lost
            return order

    assert asyncio.run(main()) == ["a", "a", "b", "c", "a"]


def test_a_reader_with_too_many_requests_is_told_to_wait() -> None:
    async def main() -> str:
        turns = Turns(1, most_each=1)
        async with turns.of("a"):
            waits = asyncio.create_task(turns.of("a").__aenter__())
            await asyncio.sleep(0)
            with pytest.raises(RefusedError) as refusal:
                await turns.of("a").__aenter__()
            waits.cancel()
            return refusal.value.error

    assert asyncio.run(main()) == "busy"


class Days:
    """A store with a year of days and fifty segments, which counts what is read of it."""

    def __init__(self) -> None:
        self.segments = tuple(f"segment {number}" for number in range(50))
        self.read = self.asked = 0

    def days(self, survey: str, question: str) -> dict[tuple[int, str | None], int]:
        self.asked += 1
        return {(day, s): 40 for day in range(DAY - 365, DAY) for s in self.segments}

    def by_day(self, part: Part) -> Iterator[Entry]:
        self.asked += 1
        cells = np.array([20, 20])
        for day in range(
            max(DAY - 365, part.first_day or 0), min(DAY - 1, part.last_day or DAY) + 1
        ):
            for segment in self.segments:
                self.read += 1
                yield Entry(day, segment, 40, cells)

    def changes(self, survey: str) -> int:
        return ERA


def test_a_trend_by_day_reads_every_entry_once() -> None:
    """365 days and 50 segments: periods times segments times entries took 26.8 seconds."""
    made = Days()
    question = mm.Question("hot", ["yes", "no"], epsilon=1.0)
    terms = Terms(minimum_reports=100)
    survey = Survey("year", (question,), segments=made.segments, terms=terms)
    disclosure = Disclosure(made, lambda minimum: True)  # type: ignore[arg-type]
    parts = {day: Part("", "hot", None, day, day + 6) for day in range(DAY - 365, DAY, 7)}
    found = disclosure.shown(survey, parts, DAY)
    assert len(found) >= 52
    assert made.read == 365 * 50
    assert made.asked == 2
    assert sum(shown.n for shown in found.values()) <= 365 * 50 * 40


def test_the_largest_of_many_rounds_is_found_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of a year's rounds read the numbers of all days and segments again."""
    settings = Settings(complete_days=True)
    with running(tmp_path, EVERY_KIND, settings=settings) as served:
        for day in range(20):
            sent = submission(EVERY_KIND, day, people=40 + (day == 7), names=["open product"])
            served.store.add([sent], DAY - 30 + day)
        asked: list[str] = []
        days = served.store.days

        def counted(survey: str, question: str) -> dict[tuple[int, str | None], int]:
            asked.append(question)
            return days(survey, question)

        monkeypatch.setattr(served.store, "days", counted)
        path = "/results/every%20kind/open%20product?method=report_likelihood&people=same"
        token, deadline = served.token("read"), time.monotonic() + 20
        while (reply := served.post(path, {"pet": ["tea", "Luna"]}, token)).status == 202:
            assert time.monotonic() < deadline
            asked.pop()  # each request looks once
        assert reply.document["reports"] == 41
        assert str(date_of(DAY - 23)) in reply.document["assumption"]
        assert len(asked) <= 3


def test_jobs_of_a_reader_who_never_comes_back_leave_the_queue() -> None:
    clock = [0.0]
    found = Jobs(clock=lambda: clock[0])
    found._closed = False
    started = threading.Event()

    def task(going_on: Callable[[], None]) -> Task:
        started.set()
        while True:
            going_on()
            time.sleep(0.002)

    one = found.start("one", 1, task, "a")
    two = found.start("two", 1, task, "a")
    assert started.wait(5)
    found.leave("two", two, coming_back=True)
    assert len(found) == 2
    clock[0] += 31
    found.give_up("two", two)
    assert len(found) == 1  # it had not begun
    found.leave("one", one, coming_back=False)
    assert one.done.wait(5)
    assert len(found) == 0
    found.close()
