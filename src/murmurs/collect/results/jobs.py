"""Jobs: results that were computed, are being computed, or wait for their turn.

A result is kept until new reports arrive. One that took long is also kept for a while after that,
so that somebody who asks again and again gets it, even while reports arrive all the time. The key
of a result must differ once some of its reports are deleted.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from murmurs.collect.refusals import RefusedError, busy
from murmurs.collect.results.compute import Result, Task
from murmurs.collect.results.wording import in_a_request
from murmurs.collect.results.worker import Worker, WorkerGoneError

log = logging.getLogger("murmurs.collect")

MOST_KEPT = 200
"""Results that are kept; the one that was used least recently goes first."""

MOST_ROWS = 100_000
"""Rows of all results that are kept."""

MOST_WAITING = 40
"""Computations that wait for a worker or run."""

MOST_EACH = 4
"""Computations of one reader among them."""

WORKERS = 2
"""Workers, so that one reader's computation does not keep another's waiting."""

PATIENCE = 30.0
"""Seconds for which somebody who was told to come back is waited for."""

FRESH = 60.0
"""Seconds for which a result that took long is kept in any case."""

SECONDS = 900.0
"""How long one computation may take."""


class AbandonedError(Exception):
    """Nobody waits for the result any longer."""


@dataclass
class KeptResult:
    """A result, or the refusal that took its place, and what it was computed from."""

    outcome: Result | RefusedError
    changes: int
    until: float

    @property
    def rows(self) -> int:
        """How many rows it has, at least one."""
        columns = self.outcome.columns if isinstance(self.outcome, Result) else {}
        return max((len(column) for column in columns.values()), default=1)


@dataclass(eq=False)
class Job:
    """A computation that waits or runs: who wants it, which part is done, an event at its end."""

    task: Callable[[Callable[[], None]], Task]
    changes: int
    readers: set[str]
    progress: float = 0.0
    done: threading.Event = field(default_factory=threading.Event)
    outcome: Result | RefusedError | None = None
    listening: int = 0
    """Requests that wait for it now."""
    expected: float = -math.inf
    """Until when somebody who was told to come back is waited for."""
    worker: Worker | None = None
    """What computes it."""
    abandoned: bool = False

    def going_on(self) -> None:
        """Raise an error if nobody wants the result any longer."""
        if self.abandoned:
            raise AbandonedError


class Jobs:
    """The results of one collector, and two workers that compute those that take long.

    A reader has one worker at a time and a few computations that wait, so that others get theirs. A
    computation that nobody waits for, and nobody was told to come back for, is given up.
    """

    def __init__(
        self, seconds: float = SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._seconds, self._clock = seconds, clock
        self._kept: OrderedDict[Hashable, KeptResult] = OrderedDict()
        self._jobs: OrderedDict[Hashable, Job] = OrderedDict()
        self._served: dict[str, float] = {}
        self._having: set[str] = set()
        self._changed = threading.Condition()
        self._threads: list[threading.Thread] = []
        self._workers: list[Worker] = []
        self._closed = False

    def __len__(self) -> int:
        """Return how many computations wait or run."""
        return len(self._jobs)

    def find(self, key: Hashable, changes: int) -> Result | None:
        """Return a result that still holds; raise the refusal if there is one in its place."""
        with self._changed:
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
        with self._changed:
            self._kept[key] = KeptResult(outcome, changes, self._clock() + seconds)
            self._kept.move_to_end(key)
            rows = sum(kept.rows for kept in self._kept.values())
            while len(self._kept) > MOST_KEPT or (rows > MOST_ROWS and len(self._kept) > 1):
                _, gone = self._kept.popitem(last=False)
                rows -= gone.rows

    def start(
        self,
        key: Hashable,
        changes: int,
        task: Callable[[Callable[[], None]], Task],
        reader: str = "",
    ) -> Job:
        """Return the computation of a result, which begins when it is the reader's turn.

        The caller listens to it until it calls `leave`.
        """
        with self._changed:
            job = self._jobs.get(key)
            if job is None:
                own = sum(reader in other.readers for other in self._jobs.values())
                if own >= MOST_EACH:
                    raise busy(
                        f"{own} results are being computed for this token: wait for those", 5
                    )
                if self._closed or len(self._jobs) >= MOST_WAITING:
                    raise busy("too many results are being computed: ask again later", 10)
                job = self._jobs[key] = Job(task, changes, {reader})
                if len(self._threads) < min(WORKERS, len(self._jobs)):
                    self._hire()
            job.readers.add(reader)
            job.listening += 1
            self._changed.notify()
            return job

    def leave(self, key: Hashable, job: Job, *, coming_back: bool) -> None:
        """Stop listening to a computation; it goes on if others do, or somebody comes back."""
        with self._changed:
            job.listening -= 1
            if coming_back:
                job.expected = self._clock() + PATIENCE
        self.give_up(key, job)

    def give_up(self, key: Hashable, job: Job) -> None:
        """Stop a computation that nobody wants any longer."""
        with self._changed:
            if job.done.is_set() or job.listening or self._clock() < job.expected:
                return
            job.abandoned = True
            if self._jobs.get(key) is job:
                del self._jobs[key]
            if job.worker is not None:
                job.worker.stop()

    def close(self) -> None:
        """Give up what is under way; calling it twice is fine."""
        with self._changed:
            self._closed = True
            for job in self._jobs.values():
                job.abandoned = True
            for worker in self._workers:
                worker.stop()
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _hire(self) -> None:
        worker = Worker(self._seconds)
        self._workers.append(worker)
        name = f"murmurs-jobs-{len(self._threads)}"
        thread = threading.Thread(target=self._run, args=(worker,), name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _run(self, worker: Worker) -> None:
        while True:
            with self._changed:
                while (found := self._next()) is None and not self._closed:
                    self._changed.wait()
                if found is None or self._closed:
                    break
                key, job, reader = found
                job.worker = worker
                self._having.add(reader)
            try:
                self._compute(key, job, worker)
            finally:
                with self._changed:
                    self._having.discard(reader)
                    self._served[reader] = self._clock()
                    self._changed.notify_all()
        worker.close()

    def _next(self) -> tuple[Hashable, Job, str] | None:
        """Return what is computed next: of the reader without a worker who waited longest."""
        waiting = [
            (self._served.get(reader, -math.inf), number, key, job, reader)
            for number, (key, job) in enumerate(self._jobs.items())
            for reader in job.readers - self._having
            if job.worker is None
        ]
        if not waiting:
            return None
        _, _, key, job, reader = min(waiting, key=lambda found: found[:2])
        return key, job, reader

    def _compute(self, key: Hashable, job: Job, worker: Worker) -> None:
        began = self._clock()

        def note(done: float) -> None:
            job.progress = done

        try:
            task = job.task(job.going_on)
            job.outcome = worker.run(task, note, lambda: job.abandoned)
        except RefusedError as refusal:
            job.outcome = refusal
        except ValueError as error:
            job.outcome = RefusedError(400, "query", in_a_request(error))
        except (WorkerGoneError, AbandonedError) as error:
            job.outcome = RefusedError(
                503, "given-up", str(error) or "nobody waited for the result"
            )
        except Exception:
            log.exception("a result could not be computed")
            job.outcome = RefusedError(503, "store", "the reports could not be read: ask again")
        failed = isinstance(job.outcome, RefusedError) and job.outcome.status == 503
        took = self._clock() - began
        if not job.abandoned:
            self.keep(key, -1 if failed else job.changes, job.outcome, max(FRESH, 10 * took))
        with self._changed:
            if self._jobs.get(key) is job:
                del self._jobs[key]
            job.done.set()
