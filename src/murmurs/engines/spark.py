"""Count on Spark: tasks that read parts and run the kernels on the executors, added up in a tree.

Files are read by the executors themselves, without a hop through the JVM. The rows of a data frame
come as batches of Arrow; where a report is one number, Spark's own aggregation counts them.
"""

from __future__ import annotations

import math
import os
import pickle
import secrets
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial, reduce
from operator import add
from pathlib import Path
from typing import Any, TypeVar, Unpack

import numpy as np

from murmurs.boundary.texts import numbered
from murmurs.engines.counting import count_part, listed_by, no_report, nothing
from murmurs.engines.encoding import Encoded, Encoder, Encoding, encoder_of, shared_keys
from murmurs.engines.encoding import encode as encode_with
from murmurs.engines.job import Job
from murmurs.engines.likelihood import Ascending, estimate
from murmurs.engines.local import Progress
from murmurs.engines.running import (
    Counted,
    Options,
    Total,
    check_people,
    concluded,
    job_of,
    named,
    tried,
)
from murmurs.engines.running import count as count_with
from murmurs.engines.sources import Found, SourceError, Streamed
from murmurs.engines.tally import Tally
from murmurs.estimators.estimation import Estimate
from murmurs.files.segments import Segment, segment_texts
from murmurs.survey.survey import Survey
from murmurs.wire import Category

__all__ = ["count"]

R = TypeVar("R")

_FEW = 64
"""The most sums that come to the driver; more are added on the executors first."""

_MANY = 10**4
"""Partitions of a data frame, of which the number is not asked for."""

_PATIENCE = 10
"""Seconds in which a master answers."""

_LOOKS = 0.2
"""Seconds between two looks at how far Spark is."""

_RESULT = "result binary, failure string"


def count(
    sources: object,
    survey: Survey,
    *,
    session: Any = None,
    master: str | None = None,
    progress: Progress | None = None,
    **options: Unpack[Options],
) -> Counted:
    """Return the counts of every question of a survey, counted on Spark.

    ``session`` is a `SparkSession`; ``master`` is the address of a cluster, such as
    ``"spark://10.0.0.1:7077"``; without either, Spark runs on this machine. ``sources`` may also be
    a DataFrame of Spark. See `murmurs.engines.Options` for the rest.
    """
    frame = sources if hasattr(sources, "sparkSession") else None
    if frame is not None and session is None and master is None:
        session = frame.sparkSession
    with connected(session, master) as there:
        if frame is not None:
            return _count_frame(frame, survey, **options)
        return count_with(totals(there, progress), sources, survey, **options)


def likelihood(
    sources: object,
    survey: Survey,
    question: str,
    *,
    session: Any = None,
    master: str | None = None,
    **options: Unpack[Ascending],
) -> Estimate:
    """Return the shares with the largest likelihood of the reports in files, found on Spark.

    The cluster is as in `count`, the rest as in `murmurs.engines.local.likelihood`.
    """
    with connected(session, master) as there:
        return estimate(totals(there, None), sources, survey, question, **options)


def encode(
    sources: object,
    target: str | Path,
    survey: Survey,
    *,
    session: Any = None,
    master: str | None = None,
    progress: Progress | None = None,
    **options: Unpack[Encoding],
) -> Encoded:
    """Encode columns of files on Spark, and write a new folder of Parquet files.

    The cluster is as in `count`, the rest as in `murmurs.engines.local.encode`. Use `encode_frame`
    for a data frame.
    """
    with connected(session, master) as there:
        return encode_with(totals(there, progress), sources, target, survey, **options)


def encode_frame(frame: Any, survey: Survey, **options: Unpack[Encoding]) -> Any:
    """Return a data frame of reports, a column for each question, from one of answers.

    It is computed when it is used, and gives the same reports each time, in every order of rows:
    the chance of a row comes from a secret of this call, the key and the answer. Keys are compared
    now, since no two rows may share one. The columns in ``keep`` are copied as they are.
    """
    found = _found(frame)
    encoder = encoder_of(survey, found, **options)
    rows = frame.select(*map(_quoted, encoder.reads))
    key = _quoted(encoder.key)
    several = rows.groupBy(key).count().filter(f"count > 1 and {key} is not null")
    shared = several.selectExpr("sum(count - 1) as shared").collect()[0]["shared"]
    if shared:
        raise shared_keys(encoder.key, shared)
    from pyspark.sql.pandas.types import from_arrow_schema

    (given,) = found.schemas.values()
    schema = _known_to_spark(encoder.schema(given))
    return rows.mapInArrow(partial(_encoded, encoder, schema), from_arrow_schema(schema))


def _known_to_spark(schema: Any) -> Any:
    """Return a schema in types that Spark has: signed numbers, and bytes of any length."""
    import pyarrow
    from pyarrow import types

    wider = {
        pyarrow.uint8(): pyarrow.int16(),
        pyarrow.uint16(): pyarrow.int32(),
        pyarrow.uint32(): pyarrow.int64(),
    }
    return pyarrow.schema(
        [
            (own.name, pyarrow.binary())
            if types.is_fixed_size_binary(own.type)
            else (own.name, wider.get(own.type, own.type))
            for own in schema
        ]
    )


def _encoded(encoder: Encoder, schema: Any, batches: Iterator[Any]) -> Iterator[Any]:
    """Encode a partition of a data frame; on an executor."""
    from pyspark import TaskContext

    number = TaskContext.get().partitionId()
    part = Streamed(number, f"partition {number} of the data frame", ())
    first = 0
    for batch in batches:
        yield encoder.encoded(part, first, batch, Tally()).cast(schema)
        first += batch.num_rows


@contextmanager
def connected(session: Any, master: str | None) -> Iterator[Any]:
    """Return a session; one that was started for the job is stopped afterwards.

    A process has only one context of Spark: one that is there is used, and stays.
    """
    try:
        from pyspark import SparkContext
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise ImportError(
            "the engine 'spark' needs Spark on this machine: pip install 'murmurs[spark]'"
        ) from error
    if (master or "").startswith("sc://") or "connect" in type(session).__module__.split("."):
        raise ValueError(
            "Spark Connect is not supported: use spark-submit or a notebook on it, or give "
            "the address of the master, such as spark://10.0.0.1:7077"
        )
    if session is not None:
        if master is not None:
            raise ValueError("session is a cluster already: leave master out")
        yield session
        return
    before = SparkContext._active_spark_context
    if before is not None:
        if master not in (None, before.master):
            raise ValueError(
                f"this process uses Spark at {before.master} already: stop that session before you "
                f"count at {master}"
            )
        yield SparkSession.builder.getOrCreate()
        return
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    where = master or "local[*]"
    _check_reachable(where)
    builder = SparkSession.builder.master(where).appName("murmurs")
    if where.startswith("local"):  # nothing but this machine takes part
        builder = builder.config("spark.driver.host", "127.0.0.1")
        builder = builder.config("spark.driver.bindAddress", "127.0.0.1")
    try:
        there = builder.config("spark.ui.enabled", "false").getOrCreate()
    except Exception as error:
        raise ConnectionError(
            f"Spark does not start at {where}: check the address, and that Java 17 "
            f"or newer is there ({_first_line(error)})"
        ) from error
    try:
        yield there
    finally:
        there.stop()


def _check_reachable(master: str) -> None:
    """Refuse the address of a master where nothing answers; Spark would try for a minute."""
    if not master.startswith("spark://"):
        return
    for one in master.removeprefix("spark://").split(","):
        host, _, port = one.rpartition(":")
        try:
            with socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE):
                return
        except (OSError, ValueError):
            continue
    raise ConnectionError(
        f"no Spark master answers at {master}: start one with `sbin/start-master.sh`, or correct "
        "the address, such as spark://10.0.0.1:7077"
    )


def totals(session: Any, progress: Progress | None) -> Total:
    """Return the engine: tasks of a Spark session."""

    def total(task: Callable[[Any], R], items: Sequence[Any], start: R) -> R:
        if not items:
            return start
        rows = [(pickle.dumps(item),) for item in items]
        frame = session.createDataFrame(rows, "item binary").coalesce(1).repartition(len(rows))
        with _shown(session, len(rows), progress):
            return _added(frame.mapInArrow(partial(_each, task), _RESULT), len(rows), start)

    return total


@contextmanager
def _shown(session: Any, tasks: int, progress: Progress | None) -> Iterator[None]:
    """Tell from time to time how many of the tasks are done, as Spark knows it."""
    if progress is None:
        yield
        return
    context, group = session.sparkContext, f"murmurs {secrets.token_hex(8)}"
    over = threading.Event()

    def watch() -> None:
        tracker = context.statusTracker()
        while not over.wait(_LOOKS):
            jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
            stages = [tracker.getStageInfo(one) for job in jobs if job for one in job.stageIds]
            done = [own.numCompletedTasks for own in stages if own and own.numTasks == tasks]
            if done:
                progress(max(done), tasks)

    context.setJobGroup(group, "murmurs")
    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    try:
        yield
        progress(tasks, tasks)
    finally:
        over.set()
        watching.join()
        context.setLocalProperty("spark.jobGroup.id", None)
        context.setLocalProperty("spark.job.description", None)


def _added(frame: Any, tasks: int, start: R) -> R:
    """Return the sum of pickled results; if they are many, the executors add most of them."""
    if tasks > _FEW:
        frame = frame.repartition(math.isqrt(tasks)).mapInArrow(_merged, _RESULT)
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        rows = frame.collect()
    except (PySparkException, Py4JError) as error:
        raise SourceError(
            "Spark gave up on a task after several tries: an executor may have too little memory, "
            f"or lack murmurs with the same version ({_first_line(error)})"
        ) from error
    found = start
    for row in rows:
        if row["failure"] is not None:
            raise SourceError(row["failure"])
        found = found + pickle.loads(bytes(row["result"]))
    return found


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:200]


def _each(task: Callable[[Any], Any], batches: Iterator[Any]) -> Iterator[Any]:
    """Run a task on each item of a partition; on an executor."""
    for batch in batches:
        for item in batch.column("item"):
            yield _packed(partial(_run, task, item.as_py()))


def _run(task: Callable[[Any], R], item: bytes) -> R:
    return tried(task, pickle.loads(item))


def _packed(work: Callable[[], Any]) -> Any:
    """Return a result as a batch; a refusal is one too, which no second try would change."""
    import pyarrow

    failure, result = None, None
    try:
        result = pickle.dumps(work())
    except SourceError as error:
        failure = str(error)
    return pyarrow.record_batch(
        {
            "result": pyarrow.array([result], pyarrow.binary()),
            "failure": pyarrow.array([failure], pyarrow.string()),
        }
    )


def _merged(batches: Iterator[Any]) -> Iterator[Any]:
    """Add the results of a partition; on an executor."""
    results, failed = [], None
    for batch in batches:
        for row in batch.to_pylist():
            failed = failed or row["failure"]
            if row["result"] is not None:
                results.append(pickle.loads(row["result"]))
    if failed is not None or results:
        yield _packed(lambda: _sum(results, failed))


def _sum(results: list[Any], failed: str | None) -> Any:
    if failed is not None:
        raise SourceError(failed)
    return reduce(add, results)


def _count_frame(frame: Any, survey: Survey, **given: Unpack[Options]) -> Counted:
    """Count the rows of a data frame of Spark."""
    for name in ("memory", "scratch", "filesystem"):
        if given.get(name) is not None:
            raise ValueError(f"{name} is for files: leave it out for a data frame")
    found = _found(frame)
    job = job_of(survey, found, given)
    check_people(job, found.parts, given.get("people"))
    wanted = job.reads(found.parts[0])
    rows = frame.select(*[frame[_quoted(column)] for column in wanted])
    repeated = 0
    if job.identity is not None:
        own = rows[_quoted(job.identity)]
        there = rows.filter(own.isNotNull())
        once = there.dropDuplicates([job.identity])
        repeated = there.count() - once.count()
        rows = once.unionByName(rows.filter(own.isNull()))
    if _is_plain(job, found):
        tally = _grouped(rows, job)
    else:
        plain = rows.toDF(*[f"c{i}" for i in range(len(wanted))])  # Spark takes no dots here
        tally = _added(plain.mapInArrow(partial(_part, job, wanted), _RESULT), _MANY, Tally())
    tally = nothing(job, found.parts) + tally
    tally.rows += repeated
    tally.repeated += repeated
    return concluded(job, tally, Tally())


def _found(frame: Any) -> Found:
    """Return a data frame as a source, whose rows come later."""
    from pyspark.sql.pandas.types import to_arrow_schema

    name = "the data frame"
    return Found((Streamed(0, name, ()),), {name: to_arrow_schema(frame.schema)})


def _quoted(column: str) -> str:
    """Return the name of a column as Spark takes it, whatever it has in it."""
    return "`" + column.replace("`", "``") + "`"


def _part(job: Job, columns: list[str], batches: Iterator[Any]) -> Iterator[Any]:
    """Count a partition of a data frame; on an executor."""
    from pyspark import TaskContext

    number = TaskContext.get().partitionId()
    named = (batch.rename_columns(columns) for batch in batches)
    part = Streamed(number, f"partition {number} of the data frame", named)
    yield _packed(partial(_counted, job, part))


def _counted(job: Job, part: Streamed) -> Tally:
    with named(part):
        return count_part(job, part)


def _is_plain(job: Job, found: Found) -> bool:
    """Whether Spark can count by itself: one question, whose reports are whole numbers."""
    from pyarrow import types

    (schema,) = found.schemas.values()
    (asked, column), *others = job.asked(found.parts[0])
    plain = isinstance(asked.mechanism.shape, Category)
    return plain and not (others or job.reported) and types.is_integer(schema.field(column).type)


def _grouped(rows: Any, job: Job) -> Tally:
    """Count how often each report came in each segment by Spark's own aggregation."""
    [(asked, column)] = job.asked(Streamed(0, "", ()))
    keys = [_quoted(name) for name in (*job.by, column)]
    tally, found = Tally(), dict[Segment, list[tuple[int, int]]]()
    shape: Any = asked.mechanism.shape
    for *segment, report, number in rows.groupBy(*keys).count().collect():
        tally.rows += number
        if None in segment:
            _refuse(job, tally, number, f"the segment {listed_by(job)} is missing")
        elif report is None:
            tally.missing[asked.name] = tally.missing.get(asked.name, 0) + number
        elif not 0 <= report < shape.count:
            _refuse(job, tally, number, no_report(job, asked, column))
        else:
            found.setdefault(segment_texts(tuple(segment)), []).append((report, number))
    for segment, pairs in found.items():
        reports, numbers = (np.array(own, np.int64) for own in zip(*pairs, strict=True))
        cells = np.zeros(asked.mechanism.channel.cells, np.int64)
        for bit in range(int(numbers.max()).bit_length()):
            some = shape.check(reports[numbers >> bit & 1 == 1])
            own = np.zeros_like(cells)
            asked.mechanism.add(some, own)
            cells += own << bit
        tally.put(segment, asked.name, int(numbers.sum()), cells)
    return tally


def _refuse(job: Job, tally: Tally, number: int, reason: str) -> None:
    if job.bad == "stop":
        raise SourceError(
            f"{numbered(number, 'row')} of the data frame: {reason}; correct it, or leave such "
            "rows out with `bad='skip'`"
        )
    tally.refused[reason] = tally.refused.get(reason, 0) + number
