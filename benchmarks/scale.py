"""Counting and encoding of many reports in files, on one machine, Dask and Spark.

``python -m benchmarks.scale`` makes files of reports in a temporary folder, counts them with every
engine beside what DuckDB, Spark SQL and pyarrow do with the same files, and writes
docs/results/scale.json and .md. ``--only`` measures some parts anew and keeps the others. Each time
is the best of several, by the clock and in processor time of this process and its children.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")

import numpy as np
import pyarrow as pa
from benchmarks.scale_page import page
from pyarrow.parquet import ParquetFile, ParquetWriter

import murmurs as mm
from murmurs.engines import dask, local, spark

RESULTS = Path(__file__).parent.parent / "docs" / "results"
CORES = os.cpu_count() or 1
FILES = 8
GROUP = 2**20


def survey_of(*questions: mm.Question) -> mm.Survey:
    """Return a survey of these questions."""
    return mm.Survey("scale", questions)


LABELS = [f"answer {i}" for i in range(128)]
KRR = survey_of(mm.Question("y", LABELS, mm.KRR(128, 2.0)))
BITS = survey_of(mm.Question("y", LABELS, mm.OUE(128, 2.0)))
MANY = survey_of(*(mm.Question(f"q{i}", LABELS[:16], mm.KRR(16, 1.0)) for i in range(50)))


def write(folder: Path, survey: mm.Survey, n: int, files: int = FILES) -> Path:
    """Write n random reports to each question, in some files; every report is a possible one."""
    folder.mkdir()
    rng = np.random.default_rng(1)
    shapes = {asked.name: asked.mechanism.shape for asked in survey.reported}
    for number in range(files):
        left = n // files + (number < n % files)
        writer = None
        while left:
            size = min(left, GROUP)
            columns = {name: _random(shape, size, rng) for name, shape in shapes.items()}
            batch = pa.record_batch(columns)
            writer = writer or ParquetWriter(folder / f"{number}.parquet", batch.schema)
            writer.write_batch(batch)
            left -= size
        assert writer is not None
        writer.close()
    return folder


def _random(shape: Any, n: int, rng: np.random.Generator) -> Any:
    if shape.columns is None:
        return pa.array(rng.integers(0, shape.count, n).astype(shape.dtype))
    data = pa.py_buffer(rng.bytes(n * shape.size))
    return pa.Array.from_buffers(pa.binary(shape.size), n, [None, data])


def cpu() -> float:
    """Return the processor seconds of this process and of its children that have ended."""
    parts = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(part.ru_utime + part.ru_stime for part in parts)


def timed(what: Callable[[], Any], times: int = 3) -> dict[str, float]:
    """Return the seconds of the best of several runs, by the clock and of the processor."""
    walls, cpus = [], []
    for _ in range(times):
        began, used = time.perf_counter(), cpu()
        what()
        walls.append(time.perf_counter() - began)
        cpus.append(cpu() - used)
    return {"wall": round(min(walls), 3), "cpu": round(min(cpus), 3)}


def decode(folder: Path) -> None:
    """Decode the column of all files, with as many threads as cores, and nothing else."""

    def one(path: Path) -> None:
        for _ in ParquetFile(path, memory_map=True).iter_batches(2**17, use_threads=False):
            pass

    with ThreadPoolExecutor(CORES) as pool:
        list(pool.map(one, sorted(folder.iterdir())))


def duckdb_counts(folder: Path) -> None:
    """Count with DuckDB's own group-by."""
    import duckdb

    with duckdb.connect() as there:
        there.execute(f"set threads = {CORES}")
        query = "select y, count(*) from read_parquet(?) group by y"
        there.execute(query, [f"{folder}/*.parquet"]).fetchall()


@contextmanager
def as_dask() -> Iterator[Any]:
    """Start a cluster of as many worker processes as cores."""
    began = time.perf_counter()
    with dask.connected(None, None, CORES) as client:
        yield client, time.perf_counter() - began


@contextmanager
def as_spark() -> Iterator[Any]:
    """Start Spark with as many threads as cores."""
    began = time.perf_counter()
    with spark.connected(None, f"local[{CORES}]") as session:
        session.sparkContext.setLogLevel("ERROR")
        yield session, time.perf_counter() - began


def krr(folder: Path, n: int) -> dict[str, Any]:
    """Count k-RR reports with every engine, beside DuckDB and Spark SQL."""
    files = write(folder / "krr", KRR, n)
    local.count(files, KRR)  # kernels are loaded
    found: dict[str, Any] = {
        "n": n,
        "local": timed(lambda: local.count(files, KRR)),
        "DuckDB": timed(lambda: duckdb_counts(files)),
        "decoding alone": timed(lambda: decode(files)),
    }
    with as_dask() as (client, seconds):
        dask.count(files, KRR, client=client)
        found["dask"] = timed(lambda: dask.count(files, KRR, client=client))
        found["dask_start"] = round(seconds, 2)
    with as_spark() as (session, seconds):
        frame = session.read.parquet(str(files))
        spark.count(files, KRR, session=session)
        found["spark"] = timed(lambda: spark.count(files, KRR, session=session))
        found["spark, data frame"] = timed(lambda: spark.count(frame, KRR))
        found["Spark SQL"] = timed(lambda: frame.groupBy("y").count().collect())
        found["spark_start"] = round(seconds, 2)
    return found


def bits(folder: Path, n: int) -> dict[str, Any]:
    """Count packed reports of 128 bits, beside decoding the column alone."""
    files = write(folder / "bits", BITS, n)
    local.count(files, BITS)
    found: dict[str, Any] = {
        "n": n,
        "local": timed(lambda: local.count(files, BITS)),
        "decoding alone": timed(lambda: decode(files)),
    }
    with as_spark() as (session, _):
        spark.count(files, BITS, session=session)
        found["spark"] = timed(lambda: spark.count(files, BITS, session=session))
    return found


def many(folder: Path, n: int) -> dict[str, Any]:
    """Count 50 questions in one pass, beside each of them alone."""
    files = write(folder / "many", MANY, n)
    local.count(files, MANY)
    alone = [timed(partial(local.count, files, MANY, columns=[name])) for name in _names()]
    return {
        "n": n,
        "together": timed(lambda: local.count(files, MANY)),
        "alone": {key: round(sum(own[key] for own in alone), 3) for key in ("wall", "cpu")},
    }


def _names() -> list[str]:
    return [asked.name for asked in MANY.reported]


def encoding(folder: Path, n: int) -> dict[str, Any]:
    """Encode answers by keys from files to files, beside `encode_many` in memory on one core."""
    answers = folder / "answers"
    answers.mkdir()
    rng = np.random.default_rng(2)
    for number in range(FILES):
        size = n // FILES
        codes = pa.array(rng.integers(0, 128, size).astype(np.int8))
        labels = pa.DictionaryArray.from_arrays(codes, pa.array(LABELS))
        keys = np.arange(number * size, (number + 1) * size)
        table = pa.table({"y": labels, "id": keys})
        with ParquetWriter(answers / f"{number}.parquet", table.schema) as writer:
            writer.write_table(table, GROUP)
    found: dict[str, Any] = {"n": n, "reading alone": timed(lambda: decode(answers), 2)}
    numbers = rng.integers(0, 128, n // FILES)
    for name, survey, files in (("KRR", KRR, answers), ("OUE", BITS, answers / "0.parquet")):
        mechanism: Any = survey.reported[0].mechanism
        rows = n if name == "KRR" else n // FILES
        given = numbers if name == "KRR" else numbers[: 10**6]
        once = timed(partial(mechanism.encode_many, given))
        target = folder / f"private {name}"

        def run(files: Path = files, target: Path = target, survey: mm.Survey = survey) -> None:
            shutil.rmtree(target, ignore_errors=True)
            local.encode(files, target, survey, key="id")

        found[name] = {
            "n": rows,
            "local": timed(run, 2),
            "encode_many": {k: round(own * rows / len(given), 3) for k, own in once.items()},
        }
    return found


def linear(folder: Path, largest: int) -> list[dict[str, Any]]:
    """Count 10^6 to many reports in processes of their own, with the most memory each takes."""
    found = []
    n = 10**6
    while n <= largest:
        files = write(folder / f"linear{n}", KRR, n, max(1, n // 12_500_000))
        code = (
            "import resource, sys, time\n"
            "from benchmarks.scale import KRR, local\n"
            "local.count(sys.argv[1], KRR)\n"
            "began = time.perf_counter()\n"
            "local.count(sys.argv[1], KRR)\n"
            "print(time.perf_counter() - began)\n"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, str(files)], capture_output=True, text=True, check=True
        )
        seconds, kilobytes = map(float, done.stdout.split())
        size = sum(path.stat().st_size for path in files.iterdir())
        row = {"n": n, "seconds": round(seconds, 3), "mb": round(kilobytes / 1000), "bytes": size}
        found.append(row)
        for path in files.iterdir():
            path.unlink()
        n *= 10
    return found


def main() -> None:
    """Measure, and write the page."""
    parts: dict[str, Callable[[Path, int], Any]] = {
        "krr": krr,
        "bits": bits,
        "many": many,
        "encoding": encoding,
        "linear": linear,
    }
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=list(parts), default=list(parts))
    parser.add_argument("-n", type=int, default=10**8, help="reports of one question")
    parser.add_argument("--largest", type=int, default=10**9, help="reports of the longest run")
    parser.add_argument("--folder", type=Path, help="where files are made, by default a temporary")
    given = parser.parse_args()
    store = RESULTS / "scale.json"
    found = json.loads(store.read_text()) if store.exists() else {}
    found["machine"] = {"cores": CORES, "python": platform.python_version()}
    sizes = {"many": given.n // 50, "linear": given.largest}
    for name in given.only:
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            found[name] = parts[name](Path(folder), sizes.get(name, given.n))
        print(name, found[name], flush=True)
        store.write_text(json.dumps(found, indent=1) + "\n")
    (RESULTS / "scale.md").write_text(page(found))


if __name__ == "__main__":
    main()
