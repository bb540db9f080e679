"""Jobs: results that were computed, are being computed, or wait for their turn.

A result is kept until new reports arrive. One that took long is also kept for a while after that,
so that somebody who asks again and again gets it, even while reports arrive all the time. The key
of a result must differ once some of its reports are deleted.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from murmurs.collect.compute import Result, Task
from murmurs.collect.refusals import RefusedError, busy
from murmurs.collect.wording import in_a_request
from murmurs.collect.worker import Worker, WorkerGoneError

log = logging.getLogger("murmurs.collect")

MOST_KEPT = 200
"""Results that are kept; the one that was used least recently goes first."""

MOST_ROWS = 100_000
"""Rows of all results that are kept."""

MOST_WAITING = 20
"""Computations that wait for the worker."""

FRESH = 60.0
"""Seconds for which a result that took long is kept in any case."""

SECONDS = 900.0
"""How long one computation may take."""


@dataclass
class Kept:
    """A result, or the refusal that took its place, and what it was computed from."""

    outcome: Result | RefusedError
    changes: int
    until: float

    @property
    def rows(self) -> int:
        """How many rows it has, at least one."""
        columns = self.outcome.columns if isinstance(self.outcome, Result) else {}
        return max((len(column) for column in columns.values()), default=1)


@dataclass
class Job:
    """A computation under way: which part is done, and an event at its end."""

    task: Callable[[], Task]
    changes: int
    progress: float = 0.0
    done: threading.Event = field(default_factory=threading.Event)
    outcome: Result | RefusedError | None = None


class Jobs:
    """The results of one collector."""

    def __init__(
        self, seconds: float = SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._worker, self._clock = Worker(seconds), clock
        self._kept: OrderedDict[Hashable, Kept] = OrderedDict()
        self._running: dict[Hashable, Job] = {}
        self._queue: queue.Queue[Hashable | None] = queue.Queue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False

    def __len__(self) -> int:
        """Return how many computations wait or run."""
        return len(self._running)

    def find(self, key: Hashable, changes: int) -> Result | None:
        """Return a result that still holds; raise the refusal if there is one in its place."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is None or (kept.changes != changes and self._clock() > kept.until):
                return None
            self._kept.move_to_end(key)
        if isinstance(kept.outcome, RefusedError):
            raise kept.outcome.again()
        return kept.outcome

    def keep(
        self, key: Hashable, changes: int, outcome: Result | RefusedError, seconds: float = 0.0
    ) -> None:
        """Keep a result until the number of changes differs, and at least for these seconds."""
        with self._lock:
            self._kept[key] = Kept(outcome, changes, self._clock() + seconds)
            self._kept.move_to_end(key)
            rows = sum(kept.rows for kept in self._kept.values())
            while len(self._kept) > MOST_KEPT or (rows > MOST_ROWS and len(self._kept) > 1):
                _, gone = self._kept.popitem(last=False)
                rows -= gone.rows

    def start(self, key: Hashable, changes: int, task: Callable[[], Task]) -> Job:
        """Return the computation of a result, which begins when the worker is free."""
        with self._lock:
            job = self._running.get(key)
            if job is not None:
                return job
            if self._closed or len(self._running) >= MOST_WAITING:
                raise busy("too many results are being computed: ask again later", 10)
            job = self._running[key] = Job(task, changes)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="murmurs-jobs", daemon=True)
                self._thread.start()
        self._queue.put(key)
        return job

    def close(self) -> None:
        """Give up what is under way; calling it twice is fine."""
        with self._lock:
            self._closed = True
            thread = self._thread
        self._queue.put(None)
        self._worker.close()
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        while True:
            key = self._queue.get()
            if key is None or self._closed:
                self._worker.close()
                return
            self._compute(key, self._running[key])

    def _compute(self, key: Hashable, job: Job) -> None:
        began = self._clock()

        def note(done: float) -> None:
            job.progress = done

        try:
            job.outcome = self._worker.run(job.task(), note)
        except RefusedError as refusal:
            job.outcome = refusal
        except ValueError as error:
            job.outcome = RefusedError(400, "query", in_a_request(error))
        except WorkerGoneError as error:
            job.outcome = RefusedError(503, "given-up", str(error))
        except Exception:
            log.exception("a result could not be computed")
            job.outcome = RefusedError(503, "store", "the reports could not be read: ask again")
        failed = isinstance(job.outcome, RefusedError) and job.outcome.status == 503
        took = self._clock() - began
        self.keep(key, -1 if failed else job.changes, job.outcome, max(FRESH, 10 * took))
        with self._lock:
            del self._running[key]
        job.done.set()
