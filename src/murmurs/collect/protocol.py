"""Protocol: HTTP connections with limits of time, of number and of size.

uvicorn waits for ever for the head of a request, for the rest of a body that was refused, for a
client that does not read its answer, and for one that sends something after it which begins no
request. Here each of them has a time limit, and a client beyond it is cut off. It also keeps any
number of requests that wait for the first, with their bodies, and of fields after a body; here all
are limited. Addresses of clients are not kept.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from murmurs.collect.limits import Limits
from murmurs.collect.metrics import Metrics
from murmurs.collect.replies import STRICT

PATIENCE = 5.0
"""Seconds in which the rest of a refused body must arrive, so that the client sees the answer."""

MOST_WAITING = 16
"""Requests that a connection may send before the first of them is answered."""

MOST_WAITING_BYTES = 64 * 1024
"""Bytes of the bodies of those requests; that of the first is counted elsewhere."""


class TooManyError(Exception):
    """A connection sent too many requests before the first of them was answered."""


class Guarded(HttpToolsProtocol):
    """A connection of uvicorn with limits."""

    def __init__(self, *, limits: Limits, metrics: Metrics, **given: Any) -> None:
        super().__init__(**given)
        self._limits, self._metrics = limits, metrics
        self._cut: asyncio.TimerHandle | None = None
        self._stuck: asyncio.TimerHandle | None = None
        self._in_head = self._in_body = self._too_many = False
        self._beside = 0  # bytes since a request began, its head ended, or a part of its body came
        self._answered: RequestResponseCycle | None = None  # the request that is being answered

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, unless there are too many; its first request must come soon."""
        super().connection_made(transport)
        self.client = None  # nobody behind this line learns where a request came from
        if len(self.connections) > self._limits.connections:
            self._metrics.count("murmurs_refusals_total", reason="busy")
            self._say(503, "busy", "there are too many connections: try again later")
            return
        self._cut_after(self._limits.header_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection, its timers, and the requests that nobody waits for any longer."""
        self._let_go()
        self._abandon()
        if self._stuck is not None:
            self._stuck.cancel()
            self._stuck = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on; what comes beside bodies must not take too long, nor be too long."""
        if self.transport.is_closing():
            return
        self._beside += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._beside > self._limits.head:
            self._metrics.count("murmurs_refusals_total", reason="head")
            self._say(431, "head", f"the head of a request has at most {self._limits.head} bytes")
        elif self._in_head and self._cut is None:
            self._cut_after(self._limits.header_seconds)
        elif self._cut is None and self._is_idle:
            self._cut_after(self._limits.idle_seconds)

    @property
    def _is_idle(self) -> bool:
        """Whether no request is under way; uvicorn no longer waits for one if data have come."""
        if self._in_head or self._in_body or self.pipeline:
            return False
        return self.cycle.response_complete

    def on_body(self, body: bytes) -> None:
        """Note that the body goes on: what comes beside it is counted from here."""
        self._beside = 0
        if self.pipeline:
            waiting = sum(len(cycle.body) for cycle, _ in self.pipeline)
            if waiting + len(body) > MOST_WAITING_BYTES:
                self._too_many = True
                raise TooManyError
        super().on_body(body)

    def on_message_begin(self) -> None:
        """Note that a request begins."""
        self._in_head = True
        self._beside = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Note that the head is complete; refuse to keep too many requests that wait."""
        self._in_head, self._in_body = False, True
        self._beside = 0
        self._let_go()
        if len(self.pipeline) >= MOST_WAITING:
            self._too_many = True
            raise TooManyError
        super().on_headers_complete()
        if not self.pipeline:
            self._answered = self.cycle

    def on_message_complete(self) -> None:
        """Note that the body is complete."""
        self._in_body, self._beside = False, 0
        self._let_go()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Wait only a short while for the rest of a body that nobody reads."""
        unread = not self.pipeline and self.cycle.more_body
        self._answered = self.pipeline[-1][0] if self.pipeline else None
        super().on_response_complete()
        if unread and not self.transport.is_closing():
            self._cut_after(PATIENCE)

    def pause_writing(self) -> None:
        """Cut the client off if it does not read its answer."""
        super().pause_writing()
        self._stuck = self.loop.call_later(self._limits.write_seconds, self._cut_off)

    def resume_writing(self) -> None:
        """Note that the client reads on."""
        if self._stuck is not None:
            self._stuck.cancel()
            self._stuck = None
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP, as JSON, and requests that the parser was told to give up."""
        if self._too_many:
            self._metrics.count("murmurs_refusals_total", reason="busy")
            reason = (
                f"at most {MOST_WAITING} requests of a connection wait for their answers, with "
                f"{MOST_WAITING_BYTES} bytes of bodies: send one after another"
            )
            self._say(503, "busy", reason)
            return
        self._metrics.count("murmurs_refusals_total", reason="http")
        self._say(400, "http", "this is not a request of HTTP/1.1")

    def _cut_after(self, seconds: float) -> None:
        self._let_go()
        self._cut = self.loop.call_later(seconds, self._cut_off)

    def _let_go(self) -> None:
        if self._cut is not None:
            self._cut.cancel()
            self._cut = None

    def _cut_off(self) -> None:
        if not self.transport.is_closing():
            self._metrics.count("murmurs_cut_off_total")
        self._abandon()
        self.transport.abort()

    def _abandon(self) -> None:
        """Let the requests of a connection that ends write nothing more, and forget their bodies.

        uvicorn tells only the newest request; an older one would write to a connection that is
        closed, and the log would have an error for each.
        """
        cycles = [cycle for cycle, _ in self.pipeline]
        self.pipeline.clear()
        if self._answered is not None:
            cycles.append(self._answered)
        for cycle in cycles:
            if not cycle.response_complete:
                cycle.disconnected = True
            cycle.message_event.set()

    def _say(self, status: int, error: str, reason: str) -> None:
        """Answer without the application, and close the connection."""
        self._let_go()
        body = json.dumps({"error": error, "reason": reason}).encode()
        head = (
            b"content-type: application/json\r\ncache-control: no-store\r\n"
            b"retry-after: 1\r\nconnection: close\r\ncontent-length: %d\r\n" % len(body)
        )
        strict = b"".join(b"%s: %s\r\n" % field for field in STRICT)
        self.transport.write(STATUS_LINE[status] + head + strict + b"\r\n" + body)
        self._abandon()
        self.transport.close()
