"""Count on Dask: futures that count parts on the workers, added up in a tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any, TypeVar, Unpack

from murmurs.engines.encoding import Encoded, Encoding
from murmurs.engines.encoding import encode as encode_with
from murmurs.engines.likelihood import Ascending, estimate
from murmurs.engines.local import Progress
from murmurs.engines.running import Counted, Options, Total, tried
from murmurs.engines.running import count as count_with
from murmurs.engines.sources import Found, InMemory, SourceError
from murmurs.estimators.estimation import Estimate
from murmurs.survey.survey import Survey

__all__ = ["count"]

R = TypeVar("R")

_TOGETHER = 16
"""How many sums a task of the tree adds."""

_PATIENCE = 10
"""Seconds in which a scheduler answers."""


def count(
    sources: object,
    survey: Survey,
    *,
    client: Any = None,
    scheduler: str | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    **options: Unpack[Options],
) -> Counted:
    """Return the counts of every question of a survey, counted on a Dask cluster.

    ``client`` is a `distributed.Client`; ``scheduler`` is an address, such as
    ``"tcp://10.0.0.1:8786"``; without either, a cluster of ``workers`` processes is started on this
    machine for the job. ``sources`` may also be a Dask bag, or futures, of tables of Arrow. See
    `murmurs.engines.Options` for the rest.
    """
    with connected(client, scheduler, workers) as there:
        total = totals(there, progress)
        return count_with(total, _tables(sources, there), survey, **options)


def likelihood(
    sources: object,
    survey: Survey,
    question: str,
    *,
    client: Any = None,
    scheduler: str | None = None,
    workers: int | None = None,
    **options: Unpack[Ascending],
) -> Estimate:
    """Return the shares with the largest likelihood of the reports, found on a Dask cluster.

    The cluster is as in `count`, the rest as in `murmurs.engines.local.likelihood`.
    """
    with connected(client, scheduler, workers) as there:
        total = totals(there, None)
        return estimate(total, _tables(sources, there), survey, question, **options)


def encode(
    sources: object,
    target: str | Path,
    survey: Survey,
    *,
    client: Any = None,
    scheduler: str | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    **options: Unpack[Encoding],
) -> Encoded:
    """Encode columns of files on a Dask cluster, and write a new folder of Parquet files.

    The cluster is as in `count`, the rest as in `murmurs.engines.local.encode`.
    """
    with connected(client, scheduler, workers) as there:
        total = totals(there, progress)
        return encode_with(total, _tables(sources, there), target, survey, **options)


@contextmanager
def connected(client: Any, scheduler: str | None, workers: int | None) -> Iterator[Any]:
    """Return a client of the cluster; what was started for the job is stopped afterwards."""
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise ImportError(
            "the engine 'dask' needs Dask on this machine: pip install 'murmurs[dask]'"
        ) from error
    if client is not None:
        if scheduler is not None or workers is not None:
            raise ValueError("client is a cluster already: leave scheduler and workers out")
        yield client
        return
    if scheduler is not None:
        try:
            there = Client(scheduler, timeout=_PATIENCE, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise ConnectionError(
                f"no Dask scheduler answers at {scheduler}: start one with `dask scheduler`, or "
                "correct the address"
            ) from error
        with there:
            yield there
        return
    with (
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",  # any port: another cluster may have the usual one
            silence_logs=40,
        ) as cluster,
        Client(cluster, set_as_default=False) as there,
    ):
        yield there


def totals(client: Any, progress: Progress | None) -> Total:
    """Return the engine: futures of a cluster."""

    def total(task: Callable[[Any], R], items: Sequence[Any], start: R) -> R:
        from distributed import as_completed

        running = [
            client.submit(_on_table, task, one.number, one.name, one.future, pure=False)
            if isinstance(one, Held)
            else client.submit(tried, task, one, pure=False)
            for one in items
        ]
        level = running
        while len(level) > _TOGETHER:
            groups = [level[i : i + _TOGETHER] for i in range(0, len(level), _TOGETHER)]
            level = [client.submit(_added, group, pure=False) for group in groups]
        try:
            for done, one in enumerate(as_completed(running, loop=client.loop), 1):
                if one.status == "error":
                    raise one.exception()
                if progress is not None:
                    progress(done, len(running))
            return reduce(add, client.gather(level), start)
        except BaseException as error:
            client.cancel(running + level, force=True)
            names = {
                own.key: one.name
                for own, one in zip(running, items, strict=True)
                if hasattr(one, "name")
            }
            said = _said(error, names)
            if said is error:
                raise
            raise said from error

    return total


def _added(several: list[Any]) -> Any:
    return reduce(add, several)


def _said(error: BaseException, names: Mapping[str, str]) -> BaseException:
    """Return an error of a task as it is; say of a lost worker what may have happened."""
    from distributed import KilledWorker

    if isinstance(error, KilledWorker):
        what = names.get(str(error.task), "a task")
        return SourceError(
            f"{what} ended its worker several times: the worker may have too little memory, or "
            "lack murmurs with the same version"
        )
    return error


@dataclass(frozen=True)
class Held:
    """A table that a worker holds: only its schema and its number of rows come here."""

    number: int
    name: str
    rows: int
    future: Any = field(compare=False, repr=False)
    partition: tuple[tuple[str, str | None], ...] = ()


def _tables(sources: object, client: Any) -> object:
    """Return a bag, or futures, of tables of Arrow as parts; other sources as they are."""
    if hasattr(sources, "to_delayed"):
        sources = client.compute(sources.to_delayed())
    if not (isinstance(sources, list) and sources and hasattr(sources[0], "add_done_callback")):
        return sources
    tables = client.map(_table, sources, pure=False)
    parts: list[Any] = []
    schemas = {}
    abouts = client.gather(client.map(_about, tables, pure=False))
    for number, (future, about) in enumerate(zip(tables, abouts, strict=True)):
        if about is not None:
            rows, schema = about
            parts.append(Held(number, f"table {number + 1}", rows, future))
            schemas[parts[-1].name] = schema
    if not parts:
        raise ValueError("there is no table in the bag: its partitions are empty")
    return Found(tuple(parts), schemas)


def _table(value: Any) -> Any:
    """Return a table, or several of a partition as one; None of an empty partition."""
    import pyarrow

    tables = list(value) if isinstance(value, list | tuple) else [value]
    if any(not isinstance(table, pyarrow.Table) for table in tables):
        raise TypeError("a bag, or futures, must be of tables of Arrow")
    if not tables:
        return None
    return tables[0] if len(tables) == 1 else pyarrow.concat_tables(tables)


def _about(table: Any) -> tuple[int, Any] | None:
    return None if table is None else (table.num_rows, table.schema)


def _on_table(task: Callable[[Any], R], number: int, name: str, table: Any) -> R:
    return tried(task, InMemory(number, name, table))
