"""Count on this machine, with all its cores: threads that read parts and run the kernels."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, TypeVar, Unpack

from murmurs.engines.encoding import Encoded, Encoding
from murmurs.engines.encoding import encode as encode_with
from murmurs.engines.likelihood import Ascending, estimate
from murmurs.engines.running import Counted, Options, Total, tried
from murmurs.engines.running import count as count_with
from murmurs.estimators.estimation import Estimate
from murmurs.survey.survey import Survey

__all__ = ["count"]

R = TypeVar("R")
Progress = Callable[[int, int], object]
"""Called with the number of tasks that are done, and of all tasks."""


def count(
    sources: object,
    survey: Survey,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
    **options: Unpack[Options],
) -> Counted:
    """Return the counts of every question of a survey, from files or tables of Arrow.

    ``sources`` are Parquet or Arrow IPC files, folders, patterns or URIs, or tables of Arrow;
    ``workers`` is the number of threads, by default that of the cores. See
    `murmurs.engines.Options` for the rest.

    >>> import pyarrow
    >>> from murmurs import Question, Survey
    >>> drink = Question("drink", ["tea", "mate"], epsilon=1.0)
    >>> table = pyarrow.table({"drink": [0, 1, 1], "region": ["north", "south", "north"]})
    >>> count(table, Survey("s", (drink,)))["drink"].cells
    array([1, 2])
    >>> found = count(table, Survey("s", (drink,)), by="region")
    >>> {segment: own["drink"].cells.tolist() for segment, own in found.segments.items()}
    {('north',): [1, 1], ('south',): [0, 1]}
    """
    return count_with(totals(workers, progress), sources, survey, **options)


def likelihood(
    sources: object,
    survey: Survey,
    question: str,
    *,
    workers: int | None = None,
    **options: Unpack[Ascending],
) -> Estimate:
    r"""Return the shares with the largest likelihood of the reports to a question, or to a joint.

    For reports that do not fit in memory; see `murmurs.engines.Ascending`. Workers add up
    derivatives, and only these are brought together.

    >>> import pyarrow
    >>> from murmurs import Question, SUE, Survey
    >>> drink = Question("drink", ["tea", "mate"], SUE(2, epsilon=3.0))
    >>> table = pyarrow.table({"drink": [b"\x01", b"\x01", b"\x02", b"\x01"]})
    >>> likelihood(table, Survey("s", (drink,)), "drink").shares.round(2)
    array([0.77, 0.23])
    """
    return estimate(totals(workers, None), sources, survey, question, **options)


def encode(
    sources: object,
    target: str | Path,
    survey: Survey,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
    **options: Unpack[Encoding],
) -> Encoded:
    """Encode columns of files, and write a new folder of Parquet files with the reports.

    The folder has a file for each part of the sources, with a column of reports for each question;
    `count` reads it. Rows are in another order within their file. A key must be a column that
    tells rows apart; see `murmurs.engines.Encoding`.
    """
    return encode_with(totals(workers, progress), sources, target, survey, **options)


def totals(workers: int | None, progress: Progress | None) -> Total:
    """Return the engine: threads of this process."""

    def total(task: Callable[[Any], R], items: Sequence[Any], start: R) -> R:
        found = start
        with ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
            running = {pool.submit(tried, task, item) for item in items}
            try:
                for done, one in enumerate(as_completed(running), 1):
                    running.remove(one)  # what it returned is not needed any more
                    found = found + one.result()  # type: ignore[operator]
                    if progress is not None:
                        progress(done, len(items))
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        return found

    return total
