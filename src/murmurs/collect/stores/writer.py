"""Writer: one thread that adds the submissions of many requests to a store, group by group.

While one group is being made durable, the next one gathers, so that a slow disk makes groups larger
and not requests slower. A request is answered after its submissions are on the disk.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field

from murmurs.collect.stores.store import Store, StoreError
from murmurs.submission import Batch, Submission, batches_of

SECONDS_PER_DAY = 86_400

MOST_WAITING = 2**28
"""The most bytes of reports that wait to be written."""

MOST_AT_ONCE = 2**24
"""About the most bytes of reports in one transaction."""

_ID = 64  # bytes that a submission is taken to need beside its reports


class BusyError(StoreError):
    """Too much is waiting to be written: send it again later."""


def today() -> int:
    """Return the number of the present day in UTC, counted from 1970-01-01."""
    return int(time.time() // SECONDS_PER_DAY)


@dataclass(eq=False)
class _Request:
    """The submissions of one request, and who is told what became of them."""

    submissions: list[Batch]
    count: int
    size: int
    loop: asyncio.AbstractEventLoop | None
    future: Future[list[bool]] | asyncio.Future[list[bool]]
    result: list[bool] = field(default_factory=list)
    error: BaseException | None = None

    def resolve(self) -> None:
        """Tell the result; a request that nobody waits for any longer is written all the same."""
        with contextlib.suppress(InvalidStateError, asyncio.InvalidStateError):  # cancelled
            if self.error is not None:
                self.future.set_exception(self.error)
            else:
                self.future.set_result(self.result)


class Writer:
    """Adds submissions to a store in a thread of its own, until it is closed.

    The submissions of a request are added together; those of different requests do not depend on
    each other: if one of them cannot be added, only its own request fails. ``day`` tells the
    present day, and ``most_waiting`` bounds what waits, in bytes.
    """

    def __init__(
        self,
        store: Store,
        *,
        day: Callable[[], int] = today,
        most_waiting: int = MOST_WAITING,
        most_at_once: int = MOST_AT_ONCE,
    ) -> None:
        self.store = store
        self._day, self._most_waiting, self._most_at_once = day, most_waiting, most_at_once
        self._waiting: deque[_Request] = deque()
        self._size = 0
        self._open = True
        self._condition = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="murmurs-writer", daemon=True)
        self._thread.start()

    def add(self, submissions: Sequence[Submission | Batch]) -> Future[list[bool]]:
        """Add the submissions of a request; the future tells for each whether it was new.

        Raise a `BusyError` if too much is waiting already.
        """
        future: Future[list[bool]] = Future()
        self._put(submissions, None, future)
        return future

    async def added(self, submissions: Sequence[Submission | Batch]) -> list[bool]:
        """Add the submissions of a request; return for each whether it was new, once durable."""
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        self._put(submissions, loop, future)
        result: list[bool] = await future
        return result

    @property
    def waiting(self) -> int:
        """The number of bytes that wait to be written."""
        return self._size

    def close(self) -> None:
        """Write what is waiting, then end; calling it twice is fine. The store stays open."""
        with self._condition:
            self._open = False
            self._condition.notify()
        self._thread.join()

    def _put(
        self,
        submissions: Sequence[Submission | Batch],
        loop: asyncio.AbstractEventLoop | None,
        future: Future[list[bool]] | asyncio.Future[list[bool]],
    ) -> None:
        batches = batches_of(submissions)
        count = sum(batch.count for batch in batches)
        size = _ID * count + sum(len(d) for batch in batches for d in batch.reports.values())
        with self._condition:
            if not self._open:
                raise StoreError("the collector is stopping: send it again later")
            if self._size and self._size + size > self._most_waiting:
                raise BusyError(
                    f"{self._size:,} bytes of reports are waiting to be written: send it again "
                    "later"
                )
            self._waiting.append(_Request(batches, count, size, loop, future))
            self._size += size
            self._condition.notify()

    def _run(self) -> None:
        while True:
            with self._condition:
                while self._open and not self._waiting:
                    self._condition.wait()
                group = self._next_group()
            if not group:
                return
            self._write(group)
            with self._condition:
                self._size -= sum(request.size for request in group)
            _resolve(group)

    def _next_group(self) -> list[_Request]:
        group: list[_Request] = []
        size = 0
        while self._waiting and (not group or size + self._waiting[0].size <= self._most_at_once):
            group.append(self._waiting.popleft())
            size += group[-1].size
        return group

    def _write(self, group: list[_Request]) -> None:
        """Add a group in one transaction; if that fails because of one, each by itself."""
        try:
            added = self.store.add([s for r in group for s in r.submissions], self._day())
        except BaseException as error:
            if len(group) > 1 and not isinstance(error, StoreError):
                for request in group:
                    self._write([request])
                return
            for request in group:
                request.error = error
            return
        start = 0
        for request in group:
            end = start + request.count
            request.result, start = added[start:end], end


def _resolve(group: list[_Request]) -> None:
    """Tell all requests of a group what became of them, each event loop once."""
    by_loop: dict[asyncio.AbstractEventLoop | None, list[_Request]] = {}
    for request in group:
        by_loop.setdefault(request.loop, []).append(request)
    for loop, requests in by_loop.items():
        if loop is None:
            _resolve_all(requests)
            continue
        try:
            loop.call_soon_threadsafe(_resolve_all, requests)
        except RuntimeError:  # the loop was closed, and nobody waits any longer
            continue


def _resolve_all(requests: list[_Request]) -> None:
    for request in requests:
        request.resolve()
