"""The engine "dask", on a scheduler with two workers: processes of their own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from murmurs.engines import dask
from tests.engines.clusters import dask_processes
from tests.engines.every_cluster import *  # noqa: F403
from tests.engines.every_encoding import *  # noqa: F403
from tests.engines.every_encoding import Encode, Likely
from tests.engines.every_engine import *  # noqa: F403
from tests.engines.made import DRINK, ONE, Engine, drinks, of, plain


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """A Dask scheduler with two workers."""
    with dask_processes() as address:
        yield address


@pytest.fixture(scope="module")
def client(scheduler: str) -> Iterator[Any]:
    """A client of it."""
    from distributed import Client

    with Client(scheduler, set_as_default=False) as found:
        yield found


@pytest.fixture
def engine(client: Any) -> Engine:
    """All of it."""
    return partial(dask.count, client=client)


@pytest.fixture
def encode(client: Any) -> Encode:
    """The same for encoding."""
    return partial(dask.encode, client=client)


@pytest.fixture
def likely(client: Any) -> Likely:
    """The same for likelihoods."""
    return partial(dask.likelihood, client=client)


def table(seed: int, n: int = 10) -> pa.Table:
    ids = [f"person {i}" for i in range(seed, seed + n)]
    return pa.table({"drink": drinks(n, seed), "id": ids, "region": ["x", "y"] * (n // 2)})


def test_a_bag_and_futures_of_tables(client: Any) -> None:
    from dask import bag, delayed

    tables = [table(seed) for seed in range(4)]
    expected = {(): {"drink": of(DRINK, np.concatenate([drinks(10, i) for i in range(4)]))}}
    empty = [*map(delayed, ([tables[0], tables[1]], [], [tables[2]], [tables[3]]))]
    for source in (bag.from_delayed(empty), client.scatter(tables)):
        assert plain(dask.count(source, ONE, client=client)) == expected
    once = dask.count(client.scatter(tables), ONE, client=client, id="id")
    firsts = [drinks(10, 0), *(drinks(10, seed)[-1:] for seed in range(1, 4))]
    assert plain(once) == {(): {"drink": of(DRINK, np.concatenate(firsts))}}
    with pytest.raises(ValueError, match="there is no table in the bag: its partitions are empty"):
        dask.count(bag.from_delayed([delayed([])]), ONE, client=client)
    with pytest.raises(TypeError, match="a bag, or futures, must be of tables of Arrow"):
        dask.count(client.scatter([{"drink": 1}]), ONE, client=client)


def test_progress_and_an_address(scheduler: str) -> None:
    steps: list[tuple[int, int]] = []
    tables = [table(seed) for seed in range(20)]
    counted = dask.count(
        tables, ONE, scheduler=scheduler, progress=lambda *step: steps.append(step)
    )
    assert counted["drink"].n == 200
    assert steps == [(i + 1, 20) for i in range(20)]


def test_a_client_is_a_cluster_already(client: Any) -> None:
    with pytest.raises(ValueError, match="client is a cluster already: leave scheduler and"):
        dask.count(table(1), ONE, client=client, workers=2)


def test_no_scheduler_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask, "_PATIENCE", 0.3)
    with pytest.raises(ConnectionError) as caught:
        dask.count(table(1), ONE, scheduler="tcp://127.0.0.1:9")
    assert str(caught.value) == (
        "no Dask scheduler answers at tcp://127.0.0.1:9: start one with `dask scheduler`, or "
        "correct the address"
    )


def test_without_dask_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(
        ImportError, match=r"needs Dask on this machine: pip install 'murmurs\[dask\]'$"
    ):
        dask.count(table(1), ONE)


def test_a_cluster_of_this_machine_ends_with_the_job() -> None:
    assert dask.count(table(1), ONE, workers=1)["drink"].n == 10
