"""What every cluster promises: workers are killed, files are replaced, tasks fail.

The files of tests of Dask and Spark import all of it.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmurs.engines import SourceError
from tests.engines.clusters import parent_of
from tests.engines.gates import Gates
from tests.engines.made import DRINK, ONE, Engine, drinks, of, plain, written


@pytest.fixture
def gates(tmp_path: Path) -> Iterator[Gates]:
    """A file system whose slow files wait until the test is over, if not earlier."""
    folder = tmp_path / "gates"
    folder.mkdir()
    found = Gates(folder)
    yield found
    found.open()


def filled(folder: Path, *names: str) -> dict[Any, Any]:
    """Write files of these names; return what they add up to."""
    for seed, name in enumerate(names):
        written(folder / f"{name}.parquet", {"drink": drinks(20, seed)}, group=7)
    expected = np.concatenate([drinks(20, seed) for seed in range(len(names))])
    return {(): {"drink": of(DRINK, expected)}}


def kill_worker(process: int) -> None:
    """Kill the worker that a task runs in: with Spark, the executor that has started Python."""
    above = parent_of(process)
    is_spark = b"pyspark" in Path(f"/proc/{process}/cmdline").read_bytes()
    os.kill(parent_of(above) if is_spark else process, signal.SIGKILL)


def test_a_killed_worker_changes_nothing(engine: Engine, gates: Gates, tmp_path: Path) -> None:
    data = tmp_path / "data"
    expected = filled(data, "slow", "a", "b", "c", "d")
    with ThreadPoolExecutor(1) as pool:
        job = pool.submit(engine, data, ONE, filesystem=gates.filesystem)
        kill_worker(gates.begun())
        gates.open()
        assert plain(job.result()) == expected


def test_two_jobs_at_once(engine: Engine, gates: Gates, tmp_path: Path) -> None:
    first = filled(tmp_path / "first", "slow", "a")
    second = filled(tmp_path / "second", "b", "c", "d")
    with ThreadPoolExecutor(1) as pool:
        job = pool.submit(engine, tmp_path / "first", ONE, filesystem=gates.filesystem)
        gates.begun()
        assert plain(engine(tmp_path / "second", ONE)) == second
        assert not job.done()
        gates.open()
        assert plain(job.result()) == first


def test_a_file_that_is_replaced_while_it_is_read_is_refused(
    engine: Engine, gates: Gates, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    filled(data, "slow", "a")
    with ThreadPoolExecutor(1) as pool:
        job = pool.submit(engine, data, ONE, filesystem=gates.filesystem)
        gates.begun()
        other = written(tmp_path / "other.parquet", {"drink": drinks(30)})
        other.replace(data / "slow.parquet")
        gates.open()
        with pytest.raises(SourceError) as caught:
            job.result()
    assert str(caught.value) == (
        f"{data}/slow.parquet changed while it was read: count again when nothing writes to it"
    )


def test_a_task_that_fails_each_time_names_its_file(
    engine: Engine, gates: Gates, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    filled(data, "failing", "a")
    with pytest.raises(SourceError) as caught:
        engine(data, ONE, filesystem=gates.filesystem)
    assert str(caught.value) == (
        f"{data}/failing.parquet could not be counted: the disk is on fire"
    )


def test_a_task_that_ends_its_worker_each_time_is_one_sentence(
    engine: Engine, gates: Gates, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    expected = filled(data, "deadly", "a")
    with pytest.raises(SourceError, match=r"the worker may have|an executor may have") as caught:
        engine(data, ONE, filesystem=gates.filesystem)
    assert len(str(caught.value)) < 500
    assert "\n" not in str(caught.value)
    assert plain(engine(data, ONE)) == expected  # the cluster is there as before
