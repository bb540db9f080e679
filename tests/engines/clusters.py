"""Clusters for the tests: all their processes are on 127.0.0.1, and end with the context."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PATIENCE = 90
"""Seconds in which a process says where it listens."""

QUICK = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData "
    "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)
"""Java compiles and checks less: a test is over before more would pay."""


@contextmanager
def spark_session(master: str, home: Path) -> Iterator[Any]:
    """Return a Spark session; executors of their own keep their logs in ``home``."""
    import pyspark

    if not home.exists():
        home.mkdir()
        for path in Path(pyspark.__file__).parent.iterdir():
            (home / path.name).symlink_to(path)
    os.environ.update(SPARK_LOCAL_IP="127.0.0.1", PYSPARK_PYTHON=sys.executable)
    os.environ.setdefault("SPARK_HOME", str(home))
    os.environ.setdefault("PYSPARK_SUBMIT_ARGS", f"--driver-java-options '{QUICK}' pyspark-shell")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName("tests")
    for name, value in {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.log.level": "FATAL",
        "spark.executor.memory": "512m",
        "spark.executor.extraJavaOptions": QUICK,
        "spark.executorEnv.PYTHONPATH": str(ROOT),
        "spark.python.daemon.module": "tests.engines.spark_daemon",
        "spark.task.maxFailures": "2",
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()


@contextmanager
def process(log: Path, *command: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process with a group of its own, which ends with the context."""
    with log.open("wb") as output:
        started = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=os.environ | {"PYTHONPATH": str(ROOT), **environment},
            start_new_session=True,
        )
    try:
        yield started
    finally:
        for which in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(started.pid, which)
                started.wait(5)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue
        started.wait()


def said(log: Path, pattern: str, by: subprocess.Popen[bytes]) -> str:
    """Wait until a process has said something; return the first group of the pattern."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and by.poll() is None:
        found = re.search(pattern, log.read_text(errors="replace"))
        if found:
            return found[1]
        time.sleep(0.05)
    raise TimeoutError(f"it has not said {pattern!r}, but {log.read_text(errors='replace')!r}")


@contextmanager
def dask_processes() -> Iterator[str]:
    """Start a Dask scheduler and two workers; return the scheduler's address."""
    dask = (sys.executable, "-m", "dask")
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        log = Path(folder) / "scheduler.txt"
        options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show"]
        few = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1"}
        first = stack.enter_context(process(log, *dask, "scheduler", *options, **few))
        address = said(log, r"Scheduler at: *(tcp://127.0.0.1:[0-9]+)", first)
        options = ["--host", "127.0.0.1", "--nthreads", "1", "--no-dashboard"]
        logs = [Path(folder) / f"worker-{number}.txt" for number in range(2)]
        where = ["--local-directory", folder]
        for own, started in [
            (own, stack.enter_context(process(own, *dask, "worker", address, *options, *where)))
            for own in logs
        ]:
            said(own, r"(Registered to)", started)
        yield address


def parent_of(process: int) -> int:
    """Return the process that has started another one."""
    status = Path(f"/proc/{process}/stat").read_text()
    return int(status.rpartition(")")[2].split()[1])
