"""Collectors that are killed at random moments under load: what was acknowledged counts once.

Sends numbered submissions over HTTP to `murmurs serve`, in binary and in JSON, kills the collector
with SIGKILL at random moments, starts it again on the same store, and sends again what was not
acknowledged, and some of what was. A report is the number of its submission, so the counts say of
each submission how often it was counted. Then two collectors on one PostgreSQL are sent the same
submissions, and one of them is killed again and again.
Writes docs/results/durability.{json,md}: ``python -m benchmarks.kill``.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
from tests.collect.postgresql_server import running

from murmurs.collect.http.server import Address
from murmurs.collect.service import Plan, started
from murmurs.collect.stores import open_store, sqlite_ids
from murmurs.collect.stores.store import Part
from murmurs.collect.upkeep import Schedule
from murmurs.submission import Submission, SubmissionForm
from murmurs.survey.survey import Survey

RESULTS = Path(__file__).parent.parent / "docs" / "results"
SURVEY = Survey.from_toml("""
name = "numbered"
[[questions]]
name = "which"
mechanism = {name = "ORR", epsilon = 2.0, width = 256, cohorts = 2048}
""")
FORM = SubmissionForm(SURVEY)
PEOPLE = 5
"""Reports of one submission: the numbers PEOPLE * j and the next ones."""

MOST = 256 * 2048 // PEOPLE
THREADS = 8
RESENT = 0.05
"""The share of acknowledged submissions that are sent again."""


def numbered(number: int) -> Submission:
    """Return the submission with a number."""
    identity = hashlib.sha256(number.to_bytes(8, "little")).digest()[:16]
    reports = np.arange(PEOPLE * number, PEOPLE * (number + 1), dtype="<u4").tobytes()
    return Submission(FORM.fingerprint, identity, PEOPLE, {"which": reports})


def request(numbers: list[int]) -> tuple[bytes, str]:
    """Return a body: one submission in binary, or several in JSON."""
    if len(numbers) == 1:
        return FORM.to_bytes(numbered(numbers[0])), "application/vnd.murmurs.submission"
    bodies = [FORM.to_json(numbered(number)) for number in numbers]
    return b"[" + b",".join(bodies) + b"]", "application/json"


def serve(place: str) -> None:
    """Run a collector that adds recent reports up all the time, until it is killed.

    Eight ids or more that come together are kept together, and filed a few at a time.
    """
    sqlite_ids.FEW, sqlite_ids.MOST_RECENT, sqlite_ids.FILED_AT_ONCE = 8, 50, 20
    schedule = Schedule(fold_seconds=0.02)
    with started(Plan(place, (SURVEY,), Address("127.0.0.1", 0), schedule=schedule)) as found:
        print(found.url, flush=True)
        found.run()


class Collector:
    """A process that collects, and is killed."""

    def __init__(self, place: str) -> None:
        begun = time.perf_counter()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.kill", "--serve", place],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline().strip()
        if not line:
            raise RuntimeError(f"the collector did not start on {place}")
        self.address = line.removeprefix("http://").rstrip("/")
        self.opened = time.perf_counter() - begun

    @staticmethod
    def killed_while_starting(place: str, seconds: float) -> None:
        """Start a collector, and kill it before it is known to be ready."""
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.kill", "--serve", place],
            stdout=subprocess.DEVNULL,
        )
        time.sleep(seconds)
        process.kill()
        process.wait()

    def kill(self) -> None:
        """End it at once, without a chance to finish anything."""
        self.process.kill()
        self.process.communicate()


class Load:
    """Threads that send submissions and note which were acknowledged, until they are stopped."""

    def __init__(self, seed: int) -> None:
        self.acknowledged: set[int] = set()
        self.duplicates = self.refused = self.broken = 0
        self._rng = np.random.default_rng(seed)
        self._again: list[list[int]] = []
        self._next = 0
        self._lock = threading.Lock()
        self._stop = threading.Event()

    def _take(self) -> list[int]:
        with self._lock:
            if self._again:
                return self._again.pop()
            if self._rng.random() < RESENT and self.acknowledged:
                return [int(self._rng.integers(self._next))]
            many = 1 if self._rng.random() < 0.5 else 4
            self._next += many
            return list(range(self._next - many, self._next))

    def _send(self, addresses: list[str]) -> None:
        rng = np.random.default_rng(threading.get_ident() % 2**32)
        connections: dict[str, http.client.HTTPConnection] = {}
        while not self._stop.is_set() and self._next < MOST - 100:
            numbers = self._take()
            body, kind = request(numbers)
            address = addresses[int(rng.integers(len(addresses)))]
            try:
                link = connections.setdefault(
                    address, http.client.HTTPConnection(address, timeout=30)
                )
                link.request("POST", "/submissions", body, {"Content-Type": kind})
                answer = link.getresponse()
                told = json.loads(answer.read())
            except (OSError, http.client.HTTPException, ValueError):
                connections.pop(address).close()
                with self._lock:
                    self.broken += 1
                    self._again.append(numbers)
                time.sleep(0.01)
                continue
            with self._lock:
                if answer.status == 200:
                    self.acknowledged.update(numbers)
                    self.duplicates += told["duplicates"]
                else:
                    self.refused += 1
                    self._again.append(numbers)
        for link in connections.values():
            link.close()

    def wait_for_more(self) -> None:
        """Wait until something is acknowledged that was not before."""
        before = len(self.acknowledged)
        while len(self.acknowledged) == before:
            time.sleep(0.001)

    @contextlib.contextmanager
    def on(self, addresses: list[str]) -> Iterator[None]:
        """Send to collectors, each time to one of them at random, for as long as the context."""
        self._stop.clear()
        threads = [threading.Thread(target=self._send, args=(addresses,)) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._stop.set()
            for thread in threads:
                thread.join()


def wrong(place: str, load: Load) -> dict[str, int]:
    """Return how many submissions were acknowledged and not counted, and counted twice."""
    with contextlib.closing(open_store(place, collecting=False)) as store:
        cells = store.counts(Part(FORM.fingerprint, "which")).cells.ravel()
    by_number = cells[: PEOPLE * MOST].reshape(MOST, PEOPLE)
    acknowledged = np.fromiter(load.acknowledged, np.int64, len(load.acknowledged))
    return {
        "lost": int((by_number[acknowledged].min(axis=1) < 1).sum()),
        "twice": int((by_number.max(axis=1) > 1).sum()),
        "in_part": int((by_number.max(axis=1) != by_number.min(axis=1)).sum()),
    }


def killed(place: str, kills: int, seed: int) -> dict[str, Any]:
    """Kill a single collector again and again."""
    rng, load = np.random.default_rng(seed), Load(seed)
    faults = {"lost": 0, "twice": 0, "in_part": 0}
    opened = []
    for number in range(kills):
        if number % 10 == 9:
            Collector.killed_while_starting(place, rng.uniform(0.3, 2.0))
        else:
            collector = Collector(place)
            opened.append(collector.opened)
            with load.on([collector.address]):
                load.wait_for_more()
                time.sleep(rng.uniform(0.0, 1.5))
                collector.kill()
        for name, found in wrong(place, load).items():
            faults[name] += found
        print(number + 1, len(load.acknowledged), faults, file=sys.stderr, flush=True)
    return _told(load, faults, kills) | {"median_start": float(np.median(opened))}


def shared(place: str, kills: int, seed: int) -> dict[str, Any]:
    """Send the same to two collectors on one store, and kill one of them again and again."""
    rng, load = np.random.default_rng(seed), Load(seed)
    stays, other = Collector(place), Collector(place)
    with load.on([stays.address, other.address]):
        time.sleep(3)
    for _ in range(kills):
        with load.on([stays.address, other.address]):
            load.wait_for_more()
            time.sleep(rng.uniform(0.0, 1.5))
            other.kill()
        other = Collector(place)
    with load.on([other.address]):
        time.sleep(1)
    again = sorted(load.acknowledged)  # everything once more, to the other one
    link = http.client.HTTPConnection(other.address, timeout=60)
    for start in range(0, len(again), 20):
        body, kind = request(again[start : start + 20])
        link.request("POST", "/submissions", body, {"Content-Type": kind})
        told = json.loads(link.getresponse().read())
        load.duplicates += told["duplicates"]
    stays.kill()
    other.kill()
    return _told(load, wrong(place, load), kills)


def _told(load: Load, faults: dict[str, int], kills: int) -> dict[str, Any]:
    return faults | {
        "kills": kills,
        "acknowledged": len(load.acknowledged),
        "reports": PEOPLE * len(load.acknowledged),
        "duplicates": load.duplicates,
        "broken_requests": load.broken,
        "refused_requests": load.refused,
    }


def page(found: dict[str, Any]) -> str:
    """Return the results as a page."""
    rows = []
    for name, one in found["runs"].items():
        numbers = ("kills", "acknowledged", "duplicates", "broken_requests")
        faults = ("lost", "in_part", "twice")
        rows.append([name, *(f"{one[key]:,}" for key in (*numbers, *faults))])
    header = [
        "collectors",
        "kills",
        "submissions acknowledged",
        "recognised as sent before",
        "requests broken by a kill",
        "acknowledged but not counted",
        "counted in part",
        "counted twice",
    ]
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    start = found["runs"]["one, on SQLite"]["median_start"]
    return f"""# Durability

Written by `python -m benchmarks.kill` in one run, on {os.cpu_count()} cores that other programs
used too. {THREADS} clients send submissions of {PEOPLE} people to `murmurs serve`, half of the
requests with one of them in binary, half with four in JSON, while the collector folds recent
reports 50 times per second. It is killed with SIGKILL up to 1.5 seconds after the first
acknowledgement (every tenth time while it starts), and started again on the same store, which
needs nothing but to be opened; the process takes new requests after {start:.1f} s (median). What
was not acknowledged is sent again with the same id, and so is {RESENT:.0%} of what was. A report
is the number of its submission, so that the counts say of each submission how often it was
counted; they are compared after every kill. With two collectors, each request goes to either of
them, one is killed again and again, and at the end everything is sent once more.

{text}

A short version runs with the tests (`tests/collect/stores/test_killed.py`).
"""


def measured(kills: int, folder: Path) -> dict[str, Any]:
    """Return the results for each kind of store."""
    runs = {"one, on SQLite": killed(str(folder / "store"), kills, 1)}
    print(runs, flush=True)
    with running(durable=True) as server:
        with contextlib.closing(psycopg.connect(server.url(), autocommit=True)) as db:
            db.execute("create schema one")
            db.execute("create schema two")
        runs["one, on PostgreSQL"] = killed(server.url("one"), max(1, kills // 5), 2)
        print(runs, flush=True)
        runs["two, on one PostgreSQL"] = shared(server.url("two"), max(1, kills // 5), 3)
        print(runs, flush=True)
    return {"runs": runs}


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--serve", metavar="PLACE", help="run a collector, as this program does")
    parser.add_argument("--quick", action="store_true", help="few kills, and write nothing")
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    if options.serve:
        serve(options.serve)
        return
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        found = measured(4 if options.quick else options.kills, Path(folder))
    if options.quick:
        print(page(found))
        return
    (RESULTS / "durability.json").write_text(json.dumps(found, indent=1) + "\n")
    (RESULTS / "durability.md").write_text(page(found))


if __name__ == "__main__":
    main()
