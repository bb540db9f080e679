"""Every engine, in one list: a test that asks for `engine` runs on each.

Clusters start with the first test of a file that needs them, and end with the file: with
pytest-xdist a file is tested by one process.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from murmurs.engines import NAMES, dask, local, spark
from tests.engines.clusters import dask_client, spark_session
from tests.engines.made import Engine


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """A Dask cluster of two processes on this machine."""
    with dask_client() as found:
        yield found


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    """A Spark session on this machine, with two cores."""
    with spark_session("local[2]") as found:
        yield found


@pytest.fixture(params=NAMES)
def engine(request: pytest.FixtureRequest) -> Engine:
    """The function `count` of an engine, whose cluster is there."""
    if request.param == "dask":
        return partial(dask.count, client=request.getfixturevalue("client"))
    if request.param == "spark":
        return partial(spark.count, session=request.getfixturevalue("session"))
    return partial(local.count, workers=2)
