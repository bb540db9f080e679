"""What strangers can do to a collector: attacks, and what others feel meanwhile.

Run with ``python -m benchmarks.stalling``; it writes docs/results/stalling.json and .md. A
collector runs in a process of its own on the loopback, the attackers in a second one, and a third
one asks ``/ready`` and sends small submissions, as others do. Each attack has a number of clients
and ends by itself after some seconds. ``--before FOLDER`` measures the sources in another folder.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from benchmarks.collector import RESULTS, Served, served
from benchmarks.stalling_page import page

from murmurs import Survey
from murmurs.collect.stores import open_store
from murmurs.collect.stores.store import Token
from murmurs.collect.tokens import new_token
from murmurs.submission import JSON_TYPE, Submission, SubmissionForm

SEGMENTS = 50
DAYS = 365

SURVEY = Survey.from_toml(f"""
name = "attacked"
minimum_reports = 100
segments = {json.dumps([f"segment {i}" for i in range(SEGMENTS)])}
[[questions]]
name = "hot"
labels = ["yes", "no"]
mechanism = {{name = "KRR", epsilon = 1.0}}
""")
FORM = SubmissionForm(SURVEY)


@dataclass(frozen=True)
class Attack:
    """So many clients that send the same bytes again and again, each on a new connection."""

    name: str
    clients: int
    request: bytes = b""
    holds: bool = False
    """Whether the connections stay open, and nothing more is sent."""
    pause: float = 0.0
    """Seconds between two requests of a client."""


def post(body: bytes, token: str = "") -> bytes:
    """Return the bytes of a request with a submission."""
    key = f"Authorization: Bearer {token}\r\n" if token else ""
    return (
        f"POST /submissions HTTP/1.1\r\nHost: a\r\nContent-Type: {JSON_TYPE}\r\n{key}"
        f"Connection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body


def bad_last(size: int) -> bytes:
    """Return a body of so many bytes whose last report is none."""
    text = FORM.to_json(FORM.make({"hot": [0]}, segment="segment 1"))
    return text.replace(b"[0]", b"[" + b"0," * ((size - len(text)) // 2) + b"true]")


def unknown_names(size: int) -> bytes:
    """Return a body of so many bytes with reports to questions that nobody asks."""
    names: dict[str, list[int]] = {f"q{number}": [] for number in range(size // 13)}
    text = FORM.to_json(FORM.make({"hot": [0]}, segment="segment 1"))
    return text.replace(b'{"hot":[0]}', json.dumps(names, separators=(",", ":")).encode())


def attacks(relay: str, reader: str) -> list[Attack]:
    """Return all attacks."""
    head = b"POST /submissions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
    day = "GET /results/attacked/hot/trend?by=day&level=0.9{} HTTP/1.1\r\nHost: a\r\n"
    trend = f"{day}Authorization: Bearer {reader}\r\nConnection: close\r\n\r\n"
    return [
        Attack("nothing", 0),
        Attack("bodies of 4 MiB, the last report bad", 7, post(bad_last(2**22 - 100)), pause=6.0),
        Attack("bodies of 4 MiB, unknown names", 7, post(unknown_names(2**22 - 100)), pause=6.0),
        Attack("bodies of 128 KiB, the last report bad", 7, post(bad_last(2**17 - 100))),
        Attack("bodies of 128 KiB, unknown names", 7, post(unknown_names(2**17 - 100))),
        Attack("bodies of 7 KiB, the last report bad", 7, post(bad_last(7 * 2**10))),
        Attack("relays' bodies of 1 MiB, the last bad", 7, post(bad_last(2**20 - 100), relay)),
        Attack("trends by day, 365 days of 50 segments", 8, trend.format("").encode()),
        Attack("heads that never end", 500, head, holds=True),
        Attack("bodies that never end", 500, head + b"Content-Length: 99\r\n\r\n{", holds=True),
        Attack("connections beyond the limit", 1200, b"", holds=True),
    ]


def attack(port: int, one: Attack, seconds: float, told: Any) -> None:
    """Run an attack in this process; tell how many requests were answered, and bytes sent."""
    until = time.monotonic() + seconds
    answered, sent = [0] * one.clients, [0] * one.clients

    def client(number: int) -> None:
        request = one.request.replace(b"level=0.9", b"level=0.%d" % (900 + number))
        while time.monotonic() < until:
            began = time.monotonic()
            with (
                contextlib.suppress(OSError),
                socket.create_connection(("127.0.0.1", port), timeout=60) as opened,
            ):
                with contextlib.suppress(OSError):  # refused before all of it was sent
                    opened.sendall(request)
                    sent[number] += len(request)
                if one.holds:
                    opened.settimeout(max(0.01, until - time.monotonic()))
                answered[number] += bool(opened.recv(65536))
            time.sleep(max(0.0, one.pause - (time.monotonic() - began)))
            if one.holds:
                time.sleep(0.5)

    threads = [threading.Thread(target=client, args=[i], daemon=True) for i in range(one.clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, until + 1 - time.monotonic()))
    told.put({"answered": sum(answered), "sent": sum(sent)})
    told.close()
    told.join_thread()
    os._exit(0)  # without waiting for threads that wait for answers


def feel(server: Served, seconds: float) -> dict[str, list[float]]:
    """Ask for ``/ready`` and send small submissions; return how long each took, in seconds."""
    felt: dict[str, list[float]] = {"ready": [], "submission": [], "health": []}
    until = time.monotonic() + seconds

    def noted(name: str, ask: Callable[[], tuple[int, bytes]]) -> None:
        began = time.monotonic()
        try:
            status, _ = ask()
        except OSError:
            status = 0
        took = time.monotonic() - began
        felt[name].append(took if status == 200 else float("inf"))

    while time.monotonic() < until:
        noted("ready", lambda: server.ask("GET", "/ready"))
        noted("health", lambda: server.ask("GET", "/health"))
        body = FORM.to_json(FORM.make({"hot": [0]}, segment="segment 2"))
        noted("submission", lambda body=body: server.ask("POST", "/submissions", body, JSON_TYPE))  # type: ignore[misc]
        time.sleep(0.02)
    return felt


def measured(server: Served, one: Attack, seconds: float) -> dict[str, Any]:
    """Return what others feel during an attack, and what it costs both sides."""
    spawn = multiprocessing.get_context("spawn")
    told = spawn.Queue()
    process = spawn.Process(target=attack, args=(server.port, one, seconds + 1, told))
    process.start()
    time.sleep(2.0)
    before, began = server.cpu(), time.monotonic()
    felt = feel(server, seconds - 1)
    cpu, took = server.cpu() - before, time.monotonic() - began
    cost = told.get(timeout=60)
    process.join(10)
    if process.is_alive():
        process.kill()
    found = {"attack": one.name, "clients": one.clients, "processors": cpu / took, **cost}
    found["bytes_a_second"] = cost["sent"] / (seconds + 1)
    for name, times in felt.items():
        found[name] = {
            "asked": len(times),
            "failed": sum(t == float("inf") for t in times),
            "median_ms": _ms(statistics.median(times)),
            "p95_ms": _ms(sorted(times)[int(0.95 * len(times))]),
            "most_ms": _ms(max(times)),
        }
    found["load_average"] = os.getloadavg()[0]
    print(json.dumps(found))
    return found


def _ms(seconds: float) -> float | None:
    """Return milliseconds, or None for an answer that did not come."""
    return None if seconds == float("inf") else 1e3 * seconds


def fill(place: Path) -> tuple[str, str]:
    """Make a store with a year of reports; return a relay's token and a reader's."""
    rng = np.random.default_rng(1)
    tokens: list[tuple[str, Token]] = [new_token("relay", "submit"), new_token("reader", "read")]
    today = int(time.time() // 86_400)
    with contextlib.closing(open_store(place)) as store:
        store.publish(SURVEY, today - DAYS)
        for _, token in tokens:
            store.add_token(token)
        for day in range(DAYS):
            some = [
                Submission(
                    SURVEY.fingerprint,
                    rng.bytes(16),
                    120,
                    {"hot": rng.integers(0, 2, 120).astype(np.uint8).tobytes()},
                    segment,
                )
                for segment in SURVEY.segments
            ]
            store.add(some, today - DAYS + day)
        store.fold()
    return tokens[0][0], tokens[1][0]


def all_of(source: Path | None, seconds: float, only: str) -> list[dict[str, Any]]:
    """Measure all attacks on the collector in a folder of sources, each on a new process."""
    found = []
    with tempfile.TemporaryDirectory(prefix="murmurs-stalling-") as name:
        place = Path(name) / "store"
        before = os.environ.get("PYTHONPATH")
        if source is not None:
            os.environ["PYTHONPATH"] = str(source)
        try:
            made = subprocess.run(
                [sys.executable, "-m", "benchmarks.stalling", "--fill", str(place)],
                stdout=subprocess.PIPE,
                check=True,
                text=True,
            )
            for one in attacks(*made.stdout.split()):
                if only in one.name:
                    with served(place, SURVEY) as server:
                        found.append(measured(server, one, seconds))
        finally:
            if source is not None:
                os.environ["PYTHONPATH"] = before or ""
    return found


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=8.0, help="of each attack")
    parser.add_argument("--before", type=Path, help="sources to measure too, for comparison")
    parser.add_argument("--only", default="", help="attacks with this in their names; no page")
    parser.add_argument("--fill", type=Path, help="only make the store, and print its tokens")
    given = parser.parse_args()
    if given.fill is not None:
        print(*fill(given.fill))
        return
    path = RESULTS / "stalling.json"
    old: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    found: dict[str, Any] = {"cores": os.cpu_count(), "before": old.get("before", [])}
    found["now"] = all_of(None, given.seconds, given.only)
    if given.before is not None:
        found["before"] = all_of(given.before, given.seconds, given.only)
    if not given.only:
        path.write_text(json.dumps(found, indent=1) + "\n")
        path.with_suffix(".md").write_text(page(found))


if __name__ == "__main__":
    main()
