"""Load for a collector: many connections that each send a prepared request after the other.

Run by `benchmarks.collector` as a process of its own, so that its processor time is known. Prints
one JSON document: requests, seconds, processor seconds, latencies.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import cast

import numpy as np
import uvloop

from murmurs import Survey
from murmurs.submission import BINARY_TYPE, JSON_TYPE, SubmissionForm

VARIANTS = 16
"""Different sets of reports; every request has an id of its own."""


def requests_of(survey: Survey, people: int, form: str) -> Callable[[], bytes]:
    """Return a function that makes the bytes of a new request, quickly."""
    rng = np.random.default_rng(1)
    shapes = SubmissionForm(survey)
    parts = []
    for _ in range(VARIANTS):
        reports = {
            q.name: q.encode_many(
                [q.labels[i] for i in rng.integers(len(q.labels), size=people)], rng
            )
            for q in survey.questions
        }
        marker = rng.bytes(16)
        made = shapes.make(reports, id=marker)
        if form == "json":
            body, found, media = shapes.to_json(made), marker.hex().encode(), JSON_TYPE
        else:
            body, found, media = shapes.to_bytes(made), marker, BINARY_TYPE
        before, _, after = body.partition(found)
        head = (
            f"POST /submissions HTTP/1.1\r\nHost: localhost\r\nContent-Type: {media}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        ).encode()
        parts.append((head + before, after))
    number, start = 0, os.urandom(8)

    def make() -> bytes:
        nonlocal number
        number += 1
        before, after = parts[number % VARIANTS]
        identity = start + number.to_bytes(8, "little")
        return b"".join((before, identity.hex().encode() if form == "json" else identity, after))

    return make


class Client(asyncio.Protocol):
    """One connection: the next request goes out when the answer to the last one is there."""

    def __init__(self, make: Callable[[], bytes], until: float, seen: list[float]) -> None:
        self.make, self.until, self.seen = make, until, seen
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.accepted = self.refused = 0
        self.buffer = b""
        self.sent = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self.transport = cast(asyncio.Transport, transport)
        self._send()

    def _send(self) -> None:
        self.sent = time.perf_counter()
        self.transport.write(self.make())

    def data_received(self, data: bytes) -> None:
        """Count an answer, and send the next request."""
        self.buffer += data
        if b"}" not in self.buffer:
            return
        if b'"accepted":1,' in self.buffer:
            self.accepted += 1
        else:
            self.refused += 1
        self.buffer = b""
        now = time.perf_counter()
        self.seen.append(now - self.sent)
        if now < self.until:
            self._send()
        else:
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self.done.set_result(None)


async def load(
    port: int, make: Callable[[], bytes], connections: int, seconds: float
) -> dict[str, float]:
    """Send requests for some seconds; return what came of it."""
    loop, seen = asyncio.get_running_loop(), list[float]()
    began, cpu = time.perf_counter(), time.process_time()
    until = began + seconds
    clients = [
        (await loop.create_connection(lambda: Client(make, until, seen), "127.0.0.1", port))[1]
        for _ in range(connections)
    ]
    await asyncio.gather(*(client.done for client in clients))
    latencies = np.sort(seen)
    return {
        "accepted": sum(client.accepted for client in clients),
        "refused": sum(client.refused for client in clients),
        "seconds": time.perf_counter() - began,
        "cpu": time.process_time() - cpu,
        "p50": float(latencies[len(latencies) // 2]),
        "p99": float(latencies[int(0.99 * len(latencies))]),
    }


def main() -> None:
    """Read the arguments, and send."""
    parser = argparse.ArgumentParser()
    parser.add_argument("survey", type=Path)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--people", type=int, required=True)
    parser.add_argument("--form", choices=["json", "binary"], required=True)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=5.0)
    given = parser.parse_args()
    make = requests_of(Survey.from_json(given.survey.read_text()), given.people, given.form)
    found = uvloop.run(load(given.port, make, given.connections, given.seconds))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
