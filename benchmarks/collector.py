"""What a collector takes and gives: submissions a second, memory, results; a full disk.

Run with ``python -m benchmarks.collector``; it writes docs/results/collector.json and .md. The
server, the load and the store are on one machine. Every submission is on the disk before it is
answered.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import platform
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from benchmarks.collector_page import page

from murmurs import Survey
from murmurs.collect.http.limits import Limits
from murmurs.collect.stores import open_store
from murmurs.submission import BINARY_TYPE, JSON_TYPE, SubmissionForm

RESULTS = Path(__file__).parent.parent / "docs" / "results"
TICKS = os.sysconf("SC_CLK_TCK")

SURVEY = Survey.from_toml(f"""
name = "bench"
[[questions]]
name = "drink"
labels = {json.dumps([f"drink {i}" for i in range(16)])}
mechanism = {{name = "KRR", epsilon = 1.0}}
""")
"""One question with sixteen answers: a report is one byte."""

LARGE = Survey.from_toml(f"""
name = "large"
[[questions]]
name = "drink"
labels = {json.dumps([f"drink {i}" for i in range(16)])}
mechanism = {{name = "KRR", epsilon = 1.0}}
[[questions]]
name = "site"
labels = {json.dumps([f"site {i}" for i in range(100)])}
mechanism = {{name = "OUE", epsilon = 2.0}}
[[questions]]
name = "cat"
mechanism = {{name = "ORR", epsilon = 2.0, width = 16, cohorts = 128}}
""")

LOADS = {
    "one person, JSON": ("json", 1, 1, 512, 4_000, "requests/s"),
    "a relay: 100 submissions of one person, JSON": ("json", 1, 100, 64, 100_000, "reports/s"),
    "a relay: 100 submissions of one person, binary": ("binary", 1, 100, 64, 100_000, "reports/s"),
    "one submission of 100 people, JSON": ("json", 100, 1, 256, 300_000, "reports/s"),
    "one submission of 10,000 people, binary": ("binary", 10_000, 1, 32, 5_000_000, "reports/s"),
}
"""Form, people in a submission, submissions in a request, connections, bar and its unit."""


@dataclass(frozen=True)
class Served:
    """A collector in a process of its own."""

    pid: int
    port: int
    token: str

    def cpu(self) -> float:
        """Return the processor seconds that it has taken."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def memory(self) -> int:
        """Return the bytes of memory that it takes."""
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * 4096

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        media: str = "",
        token: bool = False,
    ) -> tuple[int, bytes]:
        """Send one request; return the status and the body of the answer."""
        headers = {"Content-Type": media} if media else {}
        if token or not media:
            headers["Authorization"] = f"Bearer {self.token}"
        with contextlib.closing(
            http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        ) as client:
            client.request(method, path, body, headers)
            reply = client.getresponse()
            return reply.status, reply.read()


@contextlib.contextmanager
def served(place: Path, survey: Survey, *options: str) -> Iterator[Served]:
    """Run ``murmurs serve`` until the end of the block."""
    published = place.with_suffix(".json")
    published.write_text(survey.to_json())
    command = [sys.executable, "-m", "murmurs", "serve", str(published), "--store", str(place)]
    with subprocess.Popen(
        [*command, "--port", "0", "--json", *options], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        token = (place / "admin-token").read_text().strip()
        try:
            yield Served(process.pid, int(told["url"].rpartition(":")[2]), token)
        finally:
            process.terminate()
            process.wait(600)  # on a busy machine, what is folded at the end takes a while


def sync_seconds(folder: Path) -> float:
    """Return how long it takes to make a small write durable, in the median of 50."""
    times = []
    with (folder / "sync").open("wb") as file:
        for _ in range(50):
            file.write(b"x" * 4096)
            file.flush()
            began = time.perf_counter()
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - began)
    return statistics.median(times)


def load_command(
    path: Path,
    server: Served,
    form: str,
    people: int,
    connections: int,
    seconds: float,
    together: int = 1,
) -> list[str]:
    """Return the command that runs the load generator."""
    given = {"port": server.port, "form": form, "people": people, "together": together}
    given |= {"connections": connections, "seconds": seconds}
    if together > 1 or people > Limits().people:
        given["token"] = server.token
    options = [text for name, value in given.items() for text in (f"--{name}", str(value))]
    return [sys.executable, "-m", "benchmarks.collector_load", str(path), *options]


def ingest(folder: Path, seconds: float) -> list[dict[str, Any]]:
    """Return how many submissions a second are taken, of each kind."""
    found = []
    for number, (name, load_of) in enumerate(LOADS.items()):
        form, people, together, connections, bar, unit = load_of
        with served(folder / f"ingest-{number}", SURVEY) as server:
            path = folder / f"ingest-{number}.json"
            before = server.cpu()
            printed = subprocess.run(
                load_command(path, server, form, people, connections, seconds, together),
                stdout=subprocess.PIPE,
                check=True,
                text=True,
            ).stdout
            load: dict[str, float] = json.loads(printed)
            cpu = server.cpu() - before
            _, body = server.ask("GET", "/results/bench")
            counted = json.loads(body)["questions"]["drink"]
        assert load["refused"] == 0
        assert counted == load["accepted"] * people * together, (counted, load)
        per = people * together if unit == "reports/s" else 1
        found.append(
            {
                "what": name,
                "unit": unit,
                "bar": bar,
                "measured": load["accepted"] * per / load["seconds"],
                "per_server_cpu_second": load["accepted"] * per / cpu,
                "server_cpu_us_per_request": 1e6 * cpu / load["accepted"],
                "load_cpu_us_per_request": 1e6 * load["cpu"] / load["accepted"],
                "processors_of_server": cpu / load["seconds"],
                "processors_of_load": load["cpu"] / load["seconds"],
                "p50_ms": 1e3 * load["p50"],
                "p99_ms": 1e3 * load["p99"],
                "load_average": os.getloadavg()[0],
            }
        )
        print(found[-1])
    return found


def memory(folder: Path, minutes: float) -> dict[str, Any]:
    """Return the memory of a collector under load, sampled while it runs."""
    samples: list[tuple[float, float]] = []
    looks = 0
    path = folder / "memory.json"
    with served(folder / "memory", SURVEY) as server:
        loads = [
            subprocess.Popen(
                load_command(path, server, form, people, 16, 60 * minutes),
                stdout=subprocess.PIPE,
                text=True,
            )
            for form, people in (("json", 1), ("json", 100), ("binary", 10_000))
        ]
        began = time.monotonic()
        while any(load.poll() is None for load in loads):
            time.sleep(2)
            samples.append((time.monotonic() - began, server.memory() / 2**20))
            if len(samples) % 10 == 0:  # and somebody who looks at another result each time
                level = 0.5 + 0.4 * len(samples) / (len(samples) + 100)
                status, _ = server.ask("GET", f"/results/bench/drink?level={level:.6f}")
                assert status == 200
                looks += 1
        submissions = sum(json.loads(load.communicate()[0])["accepted"] for load in loads)
    third = [m for t, m in samples if 30 * minutes < t <= 45 * minutes]
    fourth = [m for t, m in samples if t > 45 * minutes]
    return {
        "minutes": minutes,
        "submissions": submissions,
        "looks": looks,
        "start_mb": samples[0][1],
        "largest_mb": max(m for _, m in samples),
        "third_quarter_mb": [min(third), statistics.median(third), max(third)],
        "fourth_quarter_mb": [min(fourth), statistics.median(fourth), max(fourth)],
        "samples": [(round(t), round(m, 1)) for t, m in samples[:: max(1, len(samples) // 40)]],
    }


def results(folder: Path, people: int) -> list[dict[str, Any]]:
    """Return how long results of many reports take, over HTTP, when they are computed anew."""
    place, rng = folder / "results", np.random.default_rng(1)
    form = SubmissionForm(LARGE)
    answers = {
        "drink": rng.choice(LARGE.question("drink").labels, people // 10),
        "site": rng.choice(LARGE.question("site").labels, people // 10),
        "cat": rng.choice(["Luna", "Leo", "Oscar"], people // 10),
    }
    with contextlib.closing(open_store(place)) as store:
        store.publish(LARGE, 20_000)
        reports = {q.name: q.encode_many(answers[q.name], rng) for q in LARGE.questions}
        for day in range(10):  # the same reports every day, which costs as much to add up
            store.add([form.make(reports)], 20_000 + day)
        store.fold()
    cats = "&".join(f"candidates=cat%20{i}" for i in range(47)) + "&candidates=Luna&candidates=Leo"
    asked = {
        "16 answers": "/results/large/drink?",
        "100 answers, unary": "/results/large/site?",
        "an open question, 49 candidates": f"/results/large/cat?{cats}&",
        "a trend of 10 days, 16 answers": "/results/large/drink/trend?by=day&",
    }
    found = []
    with served(place, LARGE) as server:
        for name, path in asked.items():
            times, cpus = [], []
            for level in (0.9, 0.95, 0.99, 0.8, 0.85):  # each is another result
                began, before = time.perf_counter(), server.cpu()
                status, _ = server.ask("GET", f"{path}level={level}")
                times.append(time.perf_counter() - began)
                cpus.append(server.cpu() - before)
                assert status == 200
            began = time.perf_counter()
            server.ask("GET", f"{path}level=0.9")
            kept = time.perf_counter() - began
            found.append(
                {
                    "what": name,
                    "reports": people,
                    "ms": 1e3 * statistics.median(times),
                    "cpu_ms": 1e3 * statistics.median(cpus),
                    "kept_ms": 1e3 * kept,
                }
            )
            print(found[-1])
    return found


def full_disk(folder: Path) -> dict[str, Any]:
    """Fill a small disk until submissions are refused, make room, and compare the counts."""
    disk = folder / "disk"
    disk.mkdir()
    size = 80
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}m", "tmpfs", str(disk)], check=False
    )
    if mounted.returncode:
        return {"skipped": "a small disk could not be mounted"}
    form = SubmissionForm(SURVEY)
    rng = np.random.default_rng(1)
    reports = rng.integers(0, 16, 500_000).astype(np.uint8)
    acknowledged, statuses, reasons = 0, list[int](), set[str]()
    try:
        with served(disk / "store", SURVEY) as server:
            ballast = disk / "ballast"
            ballast.write_bytes(bytes(20 * 2**20))

            def send() -> int:
                nonlocal acknowledged
                body = form.to_bytes(form.make({"drink": reports}))
                status, answer = server.ask("POST", "/submissions", body, BINARY_TYPE, token=True)
                acknowledged += len(reports) * (status == 200)
                if status != 200:
                    reasons.add(json.loads(answer)["error"])
                return status

            while 503 not in statuses and len(statuses) < 400:
                statuses.append(send())
            alive, _ = server.ask("GET", "/health")
            ready, _ = server.ask("GET", "/ready")
            ballast.unlink()
            again = send()
            _, body = server.ask("GET", "/results/bench")
            counted = json.loads(body)["questions"]["drink"]
        return {
            "size_mb": size,
            "accepted_before": statuses.count(200),
            "status_when_full": statuses[-1],
            "reason": sorted(reasons),
            "health_when_full": alive,
            "ready_when_full": ready,
            "status_after_room": again,
            "acknowledged": acknowledged,
            "counted": counted,
        }
    finally:
        subprocess.run(["umount", str(disk)], check=False)


def slow_clients(folder: Path, crowd: int) -> dict[str, Any]:
    """Return what good clients notice of many that never finish their requests."""
    form = SubmissionForm(SURVEY)

    def latency(server: Served) -> float:
        times = []
        for _ in range(40):
            body = form.to_json(form.make({"drink": [3]}))
            began = time.perf_counter()
            status, _ = server.ask("POST", "/submissions", body, JSON_TYPE)
            times.append(time.perf_counter() - began)
            assert status == 200
        return 1e3 * statistics.median(times)

    resource.setrlimit(
        resource.RLIMIT_NOFILE, (4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    )
    with served(folder / "slow", SURVEY) as server, contextlib.ExitStack() as stack:
        alone, before = latency(server), server.memory()
        slow = []
        for number in range(crowd):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            head = b"POST /submissions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
            client.sendall(head if number % 2 else head + b"Content-Length: 1000000\r\n\r\n{")
            slow.append(client)
        opened = time.monotonic()
        among, more = latency(server), server.memory() - before
        left, gone_after = set(slow), {}
        while left and time.monotonic() - opened < 60:
            for client in list(left):
                client.settimeout(0.001)
                try:
                    client.sendall(b"x")
                    gone = client.recv(1000) == b""
                except TimeoutError:
                    continue
                except OSError:
                    gone = True
                if gone:
                    left.discard(client)
                    gone_after[client] = time.monotonic() - opened
            time.sleep(0.2)
    return {
        "slow_clients": crowd,
        "alone_ms": alone,
        "among_slow_clients_ms": among,
        "memory_per_slow_client_kb": more / crowd / 1024,
        "left_after_60_s": len(left),
        "last_cut_off_after_s": max(gone_after.values(), default=0.0),
    }


def main() -> None:
    """Measure everything, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each load")
    parser.add_argument("--minutes", type=float, default=5.0, help="of the run for memory")
    parser.add_argument("--people", type=int, default=10_000_000, help="reports for results")
    parser.add_argument("--only", help="measure this part anew, and keep the others")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="murmurs-bench-") as name:
        folder = Path(name)
        parts: dict[str, Callable[[], Any]] = {
            "ingest": lambda: ingest(folder, given.seconds),
            "results": lambda: results(folder, given.people),
            "full_disk": lambda: full_disk(folder),
            "slow_clients": lambda: slow_clients(folder, 500),
            "memory": lambda: memory(folder, given.minutes),
        }
        machine = {
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "sync_ms": 1e3 * sync_seconds(folder),
            "disk_free_gb": shutil.disk_usage(folder).free / 1e9,
        }
        found: dict[str, Any] = {"machine": machine}
        if given.only:
            found = json.loads((RESULTS / "collector.json").read_text())
        for name in [given.only] if given.only else parts:
            found[name] = parts[name]()
    (RESULTS / "collector.json").write_text(json.dumps(found, indent=1) + "\n")
    (RESULTS / "collector.md").write_text(page(found))


if __name__ == "__main__":
    main()
