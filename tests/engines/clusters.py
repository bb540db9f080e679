"""Clusters for the tests: all their processes are on 127.0.0.1, and end with the context."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData -Xshare:auto"
"""Java compiles less: a test is over before more would pay."""


@contextmanager
def dask_client() -> Iterator[Any]:
    """Return a client of a Dask cluster of two processes."""
    from distributed import Client, LocalCluster

    options: dict[str, Any] = {"host": "127.0.0.1", "dashboard_address": None, "silence_logs": 50}
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, **options) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@contextmanager
def spark_session(master: str, **settings: str) -> Iterator[Any]:
    """Return a Spark session."""
    os.environ.update(SPARK_LOCAL_IP="127.0.0.1", PYSPARK_PYTHON=sys.executable)
    os.environ.setdefault("PYSPARK_SUBMIT_ARGS", f"--driver-java-options '{QUICK}' pyspark-shell")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName("tests")
    for name, value in {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.log.level": "FATAL",
        **settings,
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()
