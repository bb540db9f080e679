"""What stores cost: submissions added per second, room on the disk, counts, ids, and memory.

Adds submissions of 1, 100 and 10,000 people to two questions (128 answers, and 64 bits) in groups,
to SQLite in a directory and to PostgreSQL on the same machine, durable before each group returns;
times the counts of 10^7 reports, with all of them folded and with none; and forgets ids while
submissions arrive. Writes docs/results/stores.{json,md}: ``python -m benchmarks.stores``.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import resource
import secrets
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

for _name in ("NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[_name] = "1"

import apsw
import numpy as np
import psycopg
from tests.collect.postgresql_server import running

from murmurs.collect.stores import open_store
from murmurs.collect.stores.store import Part, Store
from murmurs.submission import Submission
from murmurs.survey.survey import Survey

RESULTS = Path(__file__).parent.parent / "docs" / "results"
SURVEY = Survey.from_toml(f"""
name = "benchmark"
[[questions]]
name = "category"
labels = {[str(i) for i in range(128)]}
mechanism = {{name = "KRR", epsilon = 1.0}}
[[questions]]
name = "bits"
labels = {[str(i) for i in range(64)]}
mechanism = {{name = "OUE", epsilon = 1.0}}
""")
F = SURVEY.fingerprint
SIZES = ((1, 1), (1, 200), (100, 100), (10_000, 10))
"""People in a submission, and submissions in a group."""


def submissions(people: int, group: int) -> list[Submission]:
    """Return a group of new submissions."""
    rng = np.random.default_rng(1)
    category = rng.integers(0, 128, people).astype(np.uint8).tobytes()
    reports = {"category": category, "bits": rng.bytes(8 * people)}
    return [Submission(F, secrets.token_bytes(16), people, reports) for _ in range(group)]


def timed(work: Any, times: int = 1) -> float:
    """Return the median of the seconds that a call takes."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return float(np.median(found))


def adding(store: Store, people: int, group: int, seconds: float) -> dict[str, Any]:
    """Add groups for some seconds; return the speed and the room that reports take."""
    waits: list[float] = []
    processor, started = 0.0, time.perf_counter()
    while time.perf_counter() - started < seconds:
        sent = submissions(people, group)
        before = time.process_time(), time.perf_counter()
        store.add(sent, 1)
        waits.append(time.perf_counter() - before[1])
        processor += time.process_time() - before[0]
    n = 2 * people * group * len(waits)
    return {
        "people": people,
        "group": group,
        "submissions_per_second": group * len(waits) / sum(waits),
        "reports_per_second": n / sum(waits),
        "median_milliseconds": 1e3 * float(np.median(waits)),
        "processor_microseconds_per_submission": 1e6 * processor / (group * len(waits)),
    }


def counting(store: Store, n: int) -> dict[str, Any]:
    """Add n people, and time the counts of a question before and after folding."""
    people, before = 10_000, store.size()
    for _ in range(n // (10 * people)):
        store.add(submissions(people, 10), 2)
    found: dict[str, Any] = {"n": n, "bytes_before": store.size() - before}
    for name in ("category", "bits"):
        part = Part(F, name, None, 2, 2)
        assert store.counts(part).n == n
        found[f"{name}_recent"] = timed(lambda part=part: store.counts(part), 3)
    found["fold"] = timed(store.fold)
    for name in ("category", "bits"):
        part = Part(F, name, None, 2, 2)
        assert store.counts(part).n == n
        found[f"{name}_folded"] = timed(lambda part=part: store.counts(part), 20)
    store.vacuum()
    found["bytes_after"] = store.size() - before
    return found


def forgetting(store: Store, n: int) -> dict[str, Any]:
    """Add n ids of an old day, and forget them while single submissions arrive."""
    before = store.size()
    reports = {"category": b"\x01"}
    for _ in range(n // 20_000):
        ids = (secrets.token_bytes(16) for _ in range(20_000))
        store.add([Submission(F, identity, 1, reports) for identity in ids], 3)
    store.fold()
    size = (store.size() - before) / n
    result: list[int] = []
    thread = threading.Thread(target=lambda: result.append(store.forget_ids(4)))
    waits: list[float] = []
    started = time.perf_counter()
    thread.start()
    while thread.is_alive():
        waits.append(timed(lambda: store.add(submissions(1, 1), 5)))
    return {
        "ids": result[0],
        "bytes_per_id": size,
        "seconds": time.perf_counter() - started,
        "added_meanwhile": len(waits),
        "median_milliseconds": 1e3 * float(np.median(waits)),
        "longest_milliseconds": 1e3 * max(waits),
    }


def memory(store: Store, rounds: int) -> list[float]:
    """Return the resident megabytes after each of some rounds of adding, folding and forgetting."""
    found = []
    for number in range(rounds):
        for _ in range(50):
            store.add(submissions(100, 100), 10 + number)
        store.fold()
        store.counts(Part(F, "bits"))
        store.forget_ids(10 + number)
        found.append(_resident())
    return found


def _resident() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def syncing(folder: Path) -> float:
    """Return the median milliseconds of writing 4096 bytes and waiting for the disk."""
    with (folder / "probe").open("wb") as file:

        def write() -> None:
            file.write(bytes(4096))
            file.flush()
            os.fdatasync(file.fileno())

        return 1e3 * timed(write, 100)


@contextlib.contextmanager
def places(folder: Path) -> Iterator[dict[str, str]]:
    """Return where a store of each kind can be opened."""
    with running(durable=True) as server:
        with contextlib.closing(psycopg.connect(server.url(), autocommit=True)) as db:
            db.execute("create schema benchmark")
        yield {"SQLite": str(folder / "store"), "PostgreSQL": server.url("benchmark")}


def measured(seconds: float, n: int, ids: int, rounds: int) -> dict[str, Any]:
    """Measure everything."""
    found: dict[str, Any] = {"machine": _machine(), "stores": {}}
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, places(Path(folder)) as opened:
        found["sync_milliseconds"] = syncing(Path(folder))
        for kind, place in opened.items():
            print(kind)
            with contextlib.closing(open_store(place)) as store:
                store.publish(SURVEY, 1)
                rows = [adding(store, *size, seconds) for size in SIZES]
                store.forget_reports(F, 2)
                store.vacuum()
                found["stores"][kind] = {
                    "adding": rows,
                    "counting": counting(store, n),
                    "forgetting": forgetting(store, ids),
                    "memory": memory(store, rounds),
                }
    return found


def _machine() -> str:
    names = Path("/proc/cpuinfo").read_text().splitlines()
    (model, *_) = [line.partition(":")[2].strip() for line in names if "model name" in line]
    return (
        f"{model}, {os.cpu_count()} cores, shared; Python {platform.python_version()}, SQLite "
        f"{apsw.sqlite_lib_version()}, psycopg {psycopg.__version__}, PostgreSQL 15"
    )


def page(found: dict[str, Any], seconds: float) -> str:
    """Return the results as a page."""
    stores = found["stores"].items()
    adding_rows = [
        [
            kind,
            f"{row['people']:,}",
            f"{row['group']:,}",
            f"{row['submissions_per_second']:,.0f}",
            f"{row['reports_per_second']:,.0f}",
            f"{row['median_milliseconds']:.1f}",
            f"{row['processor_microseconds_per_submission']:,.0f}",
        ]
        for kind, one in stores
        for row in one["adding"]
    ]
    counted = [
        [
            kind,
            *(
                f"{1e3 * one['counting'][f'{name}_{when}']:,.1f} ms"
                for when in ("recent", "folded")
                for name in ("category", "bits")
            ),
            f"{one['counting']['fold']:.1f} s",
            f"{one['counting']['bytes_before'] / one['counting']['n']:.1f}",
        ]
        for kind, one in stores
    ]
    forgotten = [
        [
            kind,
            f"{row['ids']:,}",
            f"{row['seconds']:.1f}",
            f"{row['bytes_per_id']:.0f}",
            f"{row['added_meanwhile']:,}",
            f"{row['median_milliseconds']:.1f} ms",
            f"{row['longest_milliseconds']:.0f} ms",
        ]
        for kind, row in ((kind, one["forgetting"]) for kind, one in stores)
    ]
    memories = [
        f"- {kind}: " + ", ".join(f"{value:.0f}" for value in one["memory"]) for kind, one in stores
    ]
    n = next(iter(found["stores"].values()))["counting"]["n"]
    return f"""# Stores

Written by `python -m benchmarks.stores` in one run. {found["machine"]}. Everything is on one disk
that other programs used at the same time: writing 4096 bytes and waiting for the disk took
{found["sync_milliseconds"]:.2f} ms (median of 100). Each person reports to two questions, one of
128 answers (`KRR`, 1 byte) and one of 64 bits (`OUE`, 8 bytes). How stores work is on
[their page](../stores.md).

## Adding

One thread adds one group after another, and each group is on the disk before the next begins;
{seconds:g} seconds for each row. Processor time is that of the collector's process; PostgreSQL's
own comes on top.

{
        table(
            "store,people in a submission,submissions in a group,submissions/s,reports/s,"
            "median ms for a group,processor µs per submission",
            adding_rows,
        )
    }
## Counts

`counts` of one question with {n:,} reports of one day, with all reports still recent, and with all
of them folded. Bytes are those of two reports of a person (9 bytes) while they are recent.

{
        table(
            "store,recent 128 answers,recent 64 bits,folded 128 answers,folded 64 bits,"
            "folding both,bytes per person",
            counted,
        )
    }
## Ids

Ids of an old day are forgotten in small transactions while another thread adds single submissions,
one by one.

{
        table(
            "store,ids forgotten,seconds,bytes per id,submissions meanwhile,median wait,"
            "longest wait",
            forgotten,
        )
    }
## Memory

Resident megabytes of the process after each round of adding 500,000 people, folding, counting and
forgetting ids:

{chr(10).join(memories)}
"""


def table(header: str, rows: list[list[str]]) -> str:
    """Return a table; the header's names are separated by commas."""
    names = header.split(",")
    lines = [names, ["---", *["---:"] * (len(names) - 1)], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--n", type=int, default=10**7)
    parser.add_argument("--ids", type=int, default=10**6)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--quick", action="store_true", help="small, and write nothing")
    options = parser.parse_args()
    if options.quick:
        found = measured(0.3, 10**5, 40_000, 2)
        print(page(found, 0.3))
        return
    found = measured(options.seconds, options.n, options.ids, options.rounds)
    (RESULTS / "stores.json").write_text(json.dumps(found, indent=1) + "\n")
    (RESULTS / "stores.md").write_text(page(found, options.seconds))


if __name__ == "__main__":
    main()
