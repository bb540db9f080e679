"""Load for a collector: many connections that each send a prepared request after the other.

Run by `benchmarks.collector` as a process of its own, so that its processor time is known. Prints
one JSON document: requests, seconds, processor seconds, latencies.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
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

HOST = "127.0.0.1"

VARIANTS = 16
"""Different sets of reports; every request has an id of its own."""


def requests_of(
    survey: Survey, people: int, form: str, together: int = 1, token: str = ""
) -> Callable[[], bytes]:
    """Return a function that makes the bytes of a new request, quickly.

    A request has ``together`` submissions of so many people each.
    """
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
            one, found, media = shapes.to_json(made), marker.hex().encode(), JSON_TYPE
            body = b"[" + b",".join([one] * together) + b"]" if together > 1 else one
        else:
            one, found, media = shapes.to_bytes(made), marker, BINARY_TYPE
            body = one * together
        first, *rest = body.split(found)
        key = f"Authorization: Bearer {token}\r\n" if token else ""
        head = (
            f"POST /submissions HTTP/1.1\r\nHost: localhost\r\nContent-Type: {media}\r\n{key}"
            f"Content-Length: {len(body)}\r\n\r\n"
        ).encode()
        parts.append([head + first, *(text for part in rest for text in (b"", part))])
    number, start, secret = 0, os.urandom(8), hashlib.blake2b  # ids are random, as on devices

    def make() -> bytes:
        nonlocal number
        texts = parts[number % VARIANTS]
        for place in range(1, len(texts), 2):
            number += 1
            identity = secret(number.to_bytes(8, "little"), key=start, digest_size=16)
            text = identity.hexdigest().encode() if form == "json" else identity.digest()
            texts[place] = text
        return b"".join(texts)

    return make


class Client(asyncio.Protocol):
    """One connection: the next request goes out when the answer to the last one is there."""

    def __init__(
        self, make: Callable[[], bytes], until: float, seen: list[float], together: int
    ) -> None:
        self.make, self.until, self.seen = make, until, seen
        self.good = b'"accepted":%d,' % together
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
        if self.good in self.buffer:
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
    port: int, make: Callable[[], bytes], connections: int, seconds: float, together: int
) -> dict[str, float]:
    """Send requests for some seconds; return what came of it."""
    loop, seen = asyncio.get_running_loop(), list[float]()
    began, cpu = time.perf_counter(), time.process_time()
    until = began + seconds
    clients = [
        (await loop.create_connection(lambda: Client(make, until, seen, together), HOST, port))[1]
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
    parser.add_argument("--together", type=int, default=1, help="submissions in a request")
    parser.add_argument("--token", default="", help="of a relay")
    parser.add_argument("--form", choices=["json", "binary"], required=True)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=5.0)
    given = parser.parse_args()
    survey = Survey.from_json(given.survey.read_text())
    make = requests_of(survey, given.people, given.form, given.together, given.token)
    found = uvloop.run(load(given.port, make, given.connections, given.seconds, given.together))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
