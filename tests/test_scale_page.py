"""What docs/scale.md says of other programs is so: SQL, Spark and Dask with a wheel of murmurs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

import murmurs as mm
from murmurs.collect.stores import open_store
from murmurs.collect.stores.export import export
from murmurs.files import read_counts, reports_table
from tests.collect.made import EVERY_KIND, submission
from tests.engines.clusters import QUICK
from tests.pages import DOCS, ROOT, blocks

PAGE = (DOCS / "scale.md").read_text(encoding="utf-8")
VIEW, SELECT = blocks(PAGE, "sql")
DRINK = mm.Question("drink", ["tea", "mate"], mm.KRR(2, 1.0))
SURVEY = mm.Survey("coffee", (DRINK,))
NAME = "open product"


def test_the_sql_of_the_page_reads_an_export_in_duckdb_and_in_polars(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import duckdb

    store = open_store(tmp_path / "store")
    store.publish(EVERY_KIND, 20_000)
    for seed in range(8):
        store.add([submission(EVERY_KIND, seed, people=3)], 20_000 + seed // 4)
    export(store, tmp_path / "out")
    store.close()
    folder = tmp_path / "out" / "every_kind-1"
    counted = pq.read_table(folder / "counts.parquet").to_pylist()
    wanted = [
        (NAME, str(row["day"]), row["segment"], row["n"])
        for row in counted
        if row["question"] == NAME
    ]
    monkeypatch.chdir(folder)
    with duckdb.connect() as connection:
        connection.execute(VIEW)
        found = connection.execute(SELECT).fetchall()
    assert [(name, str(day), *rest) for name, day, *rest in found] == sorted(wanted)
    lazy = pl.scan_parquet("reports", hive_partitioning=True)
    assert 'pl.scan_parquet("reports", hive_partitioning=True)' in PAGE
    table = pl.SQLContext(reports=lazy).execute(SELECT.strip().rstrip(";"), eager=True)
    assert [(name, str(day), *rest) for name, day, *rest in table.rows()] == sorted(wanted)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=120)
    [found] = folder.glob("*.whl")
    return found


def without_murmurs(folder: Path) -> Path:
    """Make an environment that has what this one has, except for murmurs; return its Python."""
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    [own] = folder.glob("lib/python*/site-packages")
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if "murmurs" not in path.name and path.suffix != ".pth" and not (own / path.name).exists():
            (own / path.name).symlink_to(path)
    done = subprocess.run([python, "-c", "import numpy, murmurs"], capture_output=True, text=True)
    assert "No module named 'murmurs'" in done.stderr
    return python


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A survey, and files of reports to it."""
    (tmp_path / "coffee.json").write_text(SURVEY.to_json())
    (tmp_path / "reports").mkdir()
    for number in range(3):
        made = DRINK.encode_many(["tea"] * 1000, np.random.default_rng(number))
        table = reports_table(SURVEY, {"drink": made})
        pq.write_table(table, tmp_path / "reports" / f"{number}.parquet")
    return tmp_path


def test_spark_submit_counts_with_a_wheel_that_is_called_zip_and_an_archive(
    wheel: Path, desk: Path
) -> None:
    import pyspark

    [program] = [block for block in blocks(PAGE, "python") if "sys.argv" in block]
    (desk / "count_drinks.py").write_text(program)
    [line] = [block for block in blocks(PAGE, "sh") if "spark-submit" in block]
    driver = without_murmurs(desk / "environment")
    with tarfile.open(desk / "environment.tar.gz", "w:gz") as file:
        file.add(desk / "environment", ".")
    shutil.copy(wheel, desk)
    line = line.replace("s3://bucket/reports", "reports")
    line = line.replace("murmurs-0.1.0-py3-none-any.whl", wheel.name)
    quick = "--master 'local-cluster[1,1,1024]' --conf spark.ui.enabled=false"
    quick += f" --driver-java-options '{QUICK}' --conf 'spark.executor.extraJavaOptions={QUICK}'"
    line = line.replace("spark-submit", f"spark-submit {quick}")
    line = line.replace("PYSPARK_DRIVER_PYTHON=python", f"PYSPARK_DRIVER_PYTHON={driver}")
    path = f"{Path(pyspark.__file__).parent / 'bin'}{os.pathsep}{os.environ['PATH']}"
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYSPARK", "PYTHON", "SPARK"))}
    env |= {"PATH": path, "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        ["sh", "-e", "-c", line], cwd=desk, env=env, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert read_counts(desk / "counts.parquet", SURVEY)[1].n == 3000


@contextmanager
def running(python: Path, folder: Path, role: str, *options: str) -> Iterator[None]:
    """Run the scheduler or a worker of a Dask cluster."""
    module, file = f"distributed.cli.dask_{role}", str(folder / "scheduler.json")
    line = [str(python), "-m", module, "--host", "127.0.0.1", "--no-dashboard"]
    line += ["--scheduler-file", file, *options]
    with (folder / f"{role}.log").open("wb") as log:
        process = subprocess.Popen(line, cwd=folder, stdout=log, stderr=log)
        try:
            yield
        finally:
            process.terminate()
            process.wait(timeout=30)


def test_dask_gets_murmurs_from_a_wheel(wheel: Path, desk: Path) -> None:
    """It is installed on the scheduler too, so that has an environment of its own here."""
    import distributed

    assert "client.register_plugin(PipInstall(packages=[" in PAGE
    python = without_murmurs(desk / "environment")
    file = str(desk / "scheduler.json")
    with (
        running(python, desk, "scheduler", "--port", "0"),
        running(python, desk, "worker", "--nthreads", "1"),
        distributed.Client(scheduler_file=file, set_as_default=False, timeout=60) as client,
    ):
        client.wait_for_workers(1, timeout=60)
        offline = ["--no-index", "--no-deps"]
        client.register_plugin(distributed.PipInstall([str(wheel)], pip_options=offline))
        found = mm.engines.dask.count(desk / "reports", SURVEY, client=client)
    assert found["drink"].n == 3000
