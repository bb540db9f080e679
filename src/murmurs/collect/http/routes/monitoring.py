"""The routes for whoever keeps the collector running: health, readiness, metrics."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Literal

import msgspec

from murmurs.collect.http.collector import Collector
from murmurs.collect.http.operations import Call, Operation, ReplyKind
from murmurs.collect.http.replies import JSON, Reply, json_reply
from murmurs.collect.stores.store import StoreError

TEXT = "text/plain; version=0.0.4; charset=utf-8"

_STATM = Path("/proc/self/statm")
_PAGE = 4096


class Health(msgspec.Struct):
    """The process answers."""

    status: Literal["alive"]


class Readiness(msgspec.Struct):
    """The store takes submissions."""

    status: Literal["ready"]


async def _health(collector: Collector, call: Call) -> Reply:
    return json_reply(Health("alive"))


async def _ready(collector: Collector, call: Call) -> Reply:
    problem = await collector.why_not_ready()
    if problem is not None:
        raise collector.trouble(problem)
    return json_reply(Readiness("ready"))


async def _metrics(collector: Collector, call: Call) -> Reply:
    ready = await collector.why_not_ready() is None
    gauges = await collector.pools.run("ready", _gauges, collector, ready)
    return Reply(collector.metrics.text(gauges).encode(), media=TEXT)


def _gauges(collector: Collector, ready: bool) -> dict[str, float]:
    found: dict[str, float] = {"murmurs_ready": ready}
    with contextlib.suppress(StoreError):
        found["murmurs_store_bytes"] = collector.store.size()
    found["murmurs_damaged"] = collector.damage is not None
    found["murmurs_waiting_bytes"] = collector.writer.waiting
    found["murmurs_connections"] = collector.connections()
    found["murmurs_jobs"] = len(collector.jobs)
    found["murmurs_body_bytes"] = collector.memory.used
    if _STATM.exists():
        found["process_resident_memory_bytes"] = int(_STATM.read_text().split()[1]) * _PAGE
    return found


OPERATIONS = (
    Operation(
        "GET",
        "/health",
        "health",
        "Say that the process is alive.",
        _health,
        {200: ReplyKind("It is.", {JSON: Health})},
    ),
    Operation(
        "GET",
        "/ready",
        "ready",
        "Say whether submissions can be kept.",
        _ready,
        {200: ReplyKind("The store takes submissions.", {JSON: Readiness})},
    ),
    Operation(
        "GET",
        "/metrics",
        "metrics",
        "Return counters and gauges in the text format of Prometheus.",
        _metrics,
        {200: ReplyKind("The metrics.", {TEXT: str})},
        needs="metrics",
        everything=True,
    ),
)
