"""Running a study: cell after cell, on several processors, with rows that survive an interruption.

The numbers of a cell depend on the seed and on the cell, and on nothing else: neither on the other
cells, nor on their order, nor on the number of processes.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import pickle
import signal
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

import numpy as np

from murmurs.studies.measured import Label, Series, Table
from murmurs.studies.rows import Rows

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_KEEP_EVERY = 10.0
"""Seconds after which measured cells are written, at the latest."""


@dataclass(frozen=True)
class Cell:
    """What is simulated together: its parameters, and how often.

    ``details`` is what else decides which series there are, such as the estimators that are
    compared. It does not change what is drawn.

    >>> Cell({"mechanism": "KRR", "answers": 16}, repetitions=10)["answers"]
    16
    """

    labels: Mapping[str, Label]
    repetitions: int
    details: str = ""

    def __getitem__(self, label: str) -> Label:
        return self.labels[label]

    def text(self, label: str) -> str:
        """Return a parameter that is a name."""
        return str(self.labels[label])

    def whole(self, label: str) -> int:
        """Return a parameter that is a whole number."""
        return int(self.labels[label])

    def real(self, label: str) -> float:
        """Return a parameter that is a number."""
        return float(self.labels[label])

    def generator(self, seed: int) -> np.random.Generator:
        """Return the source of chance of this cell."""
        key = repr(tuple(self.labels.values()))
        return np.random.default_rng([seed, zlib.crc32(key.encode())])

    def identity(self, seed: int) -> str:
        """Return what tells the rows of this cell from all others."""
        return json.dumps([dict(self.labels), self.repetitions, self.details, seed])


Measure = Callable[[Cell, np.random.Generator], list[Series]]
"""Simulates a cell; each series has a number for each repetition, or a single one."""

Progress = Callable[[int, int], None]
"""Called with the number of finished cells and of all, at the start and after each cell."""


def run(
    measure: Measure,
    cells: Sequence[Cell],
    seed: int,
    *,
    rows: Rows | None = None,
    processes: int = 1,
    progress: Progress | None = None,
) -> Table:
    """Measure all cells; return their series, in the order of the cells.

    Cells whose ``rows`` are there already are not measured again. New rows are added every few
    seconds and when the run ends, also if it is interrupted.
    """
    names = [cell.identity(seed) for cell in cells]
    found = rows.read(names) if rows is not None else {}
    left = {name: cell for name, cell in zip(names, cells, strict=True) if name not in found}
    total = len(set(names))
    if rows is not None and left:
        rows.prepare()
    fresh: dict[str, list[Series]] = {}
    since = time.monotonic()
    if progress is not None:
        progress(total - len(left), total)
    try:
        for name, series in _measured(measure, left, seed, processes):
            found[name] = fresh[name] = series
            if progress is not None:
                progress(len(found), total)
            if rows is not None and time.monotonic() - since > _KEEP_EVERY:
                rows.add(fresh)
                fresh, since = {}, time.monotonic()
    finally:
        if rows is not None and fresh:
            rows.add(fresh)
    return Table(series for name in dict.fromkeys(names) for series in found[name])


def _measured(
    measure: Measure, cells: Mapping[str, Cell], seed: int, processes: int
) -> Iterator[tuple[str, list[Series]]]:
    """Measure cells, here or in other processes; each comes with its name as it is finished."""
    if processes == 1 or len(cells) < 2:
        for name, cell in cells.items():
            yield name, _labelled(measure, cell, seed)
        return
    try:
        pickle.dumps(measure)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ValueError(
            "several processes need functions that other processes can import, at the top level "
            f"of a module, or processes=1: {error}"
        ) from None
    context = multiprocessing.get_context("spawn")
    with _one_thread_each():
        pool = ProcessPoolExecutor(min(processes, len(cells)), context, _start, (measure, seed))
        waiting = list(cells.items())[::-1]
        running: dict[Future[list[Series]], str] = {}
        try:
            while waiting or running:
                while waiting and len(running) < 4 * processes:
                    name, cell = waiting.pop()
                    running[pool.submit(_in_worker, cell)] = name
                for ready in wait(running, return_when=FIRST_COMPLETED).done:
                    yield running.pop(ready), ready.result()
        except BrokenProcessPool:
            raise ChildProcessError(
                "a process that measured cells was ended from outside, perhaps for lack of memory: "
                "run the same again with fewer processes; rows that were kept are not measured "
                "again"
            ) from None
        finally:
            pool.shutdown(cancel_futures=True)


def _labelled(measure: Measure, cell: Cell, seed: int) -> list[Series]:
    """Return the series of a cell, with its parameters among their labels."""
    return [
        Series({**cell.labels, **series.labels}, series.values)
        for series in measure(cell, cell.generator(seed))
    ]


@contextlib.contextmanager
def _one_thread_each() -> Iterator[None]:
    """Let processes that are started meanwhile use one processor each."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


_work: tuple[Measure, int] | None = None


def _start(measure: Measure, seed: int) -> None:
    """Prepare a worker; an interruption is the business of the process that started it."""
    global _work
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _work = measure, seed


def _end_with_parent() -> None:
    """End this worker when the process that started it has been killed and cannot say so."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _in_worker(cell: Cell) -> list[Series]:
    assert _work is not None
    return _labelled(_work[0], cell, _work[1])
