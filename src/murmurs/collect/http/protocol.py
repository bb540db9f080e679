"""Protocol: HTTP connections with limits of time, of number and of size.

uvicorn waits for ever for the head of a request, for the rest of a body that was refused, for a
client that does not read its answer, and for one that sends something after it which begins no
request. Here each of them has a time limit, and a client beyond it is cut off. It also keeps any
number of requests that wait for the first, with their bodies, and of fields after a body; here all
are limited. Addresses of clients are not kept.

It loses the body of a request that offers to go on with another protocol, as some clients do with
every request. Here the offer is passed over, as RFC 9110 allows, and the request answered.
"""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from murmurs.collect.http.limits import Limits
from murmurs.collect.http.replies import STRICT
from murmurs.collect.http.waiting_connections import WaitingConnections
from murmurs.collect.metrics import Metrics

PATIENCE = 5.0
"""Seconds in which the rest of a refused body must arrive, so that the client sees the answer."""

MOST_WAITING = 16
"""Requests that a connection may send before the first of them is answered."""

MOST_WAITING_BYTES = 64 * 1024
"""Bytes of the bodies of those requests; that of the first is counted elsewhere."""

RESERVE, RESERVE_SECONDS = 50, 1.0
"""Connections beyond the limit, for so long, and only for those that ask whether it is alive."""

LOOKS = (b"/health", b"/ready")
"""The addresses that ask so."""

_OF_BODIES = (b"content-length", b"transfer-encoding")
_HOST = re.compile(rb"[A-Za-z0-9._~!$&'()*+;=%:\[\]-]*")


class RefusedHeadError(Exception):
    """A request is refused before the application sees it: a status, a word and a sentence."""

    def __init__(self, status: int, error: str, reason: str) -> None:
        super().__init__(reason)
        self.status, self.error, self.reason = status, error, reason


class Guarded(HttpToolsProtocol):
    """A connection of uvicorn with limits; ``waiting`` are all connections of a server."""

    def __init__(
        self, *, limits: Limits, metrics: Metrics, waiting: WaitingConnections, **given: Any
    ) -> None:
        super().__init__(**given)
        self._limits, self._metrics, self._waiting = limits, metrics, waiting
        self._cut: asyncio.TimerHandle | None = None
        self._stuck: asyncio.TimerHandle | None = None
        self._in_head = self._in_body = self._resuming = self.in_reserve = False
        self._beside = 0  # bytes since a request began, its head ended, or a part of its body came
        self._head = 0  # bytes of the fields of the head, and of those after the body
        self._refusal: RefusedHeadError | None = None
        self._answered: RequestResponseCycle | None = None  # the request that is being answered

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, unless there are too many; its first request must come soon.

        If there are too many, the one that has kept the server waiting for longest has to go. Some
        more are taken for a moment, only to ask whether the process is alive.
        """
        super().connection_made(transport)
        self.client = None  # nobody behind this line learns where a request came from
        if len(self.connections) > self._limits.connections:
            gone = self._waiting.make_room()
            self.in_reserve = gone is None or gone.in_reserve
            if gone is None and len(self.connections) > self._limits.connections + RESERVE:
                self._refuse_connection()
                return
        self._waiting.waits(self)
        self._cut_after(RESERVE_SECONDS if self.in_reserve else self._limits.header_seconds)

    def _refuse_connection(self) -> None:
        self._metrics.count("murmurs_refusals_total", reason="busy")
        self._say(503, "busy", "there are too many connections: try again later")

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection, its timers, and the requests that nobody waits for any longer."""
        self._let_go()
        self._abandon()
        self._waiting.gone(self)
        if self._stuck is not None:
            self._stuck.cancel()
            self._stuck = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on; what comes beside bodies must not take too long, nor be too long."""
        if self.transport.is_closing():
            return
        self._beside += len(data)
        self._unset_keepalive_if_required()
        try:
            self._feed(data)
        except httptools.HttpParserError:
            self.send_400_response("")
        if self.transport.is_closing():
            return
        if self._beside > self._limits.head:
            self._refuse(self._long_head())
        elif self._in_head and self._cut is None:
            self._cut_after(self._limits.header_seconds)
        elif self._cut is None and self._is_idle:
            self._cut_after(self._limits.idle_seconds)

    def _feed(self, data: bytes) -> None:
        """Let the parser read; pass over each offer of another protocol."""
        while data:
            try:
                self.parser.feed_data(data)
                return
            except httptools.HttpParserUpgrade as offer:
                data = data[offer.args[0] :]
                if self._in_body:
                    self._resume_body()

    def _resume_body(self) -> None:
        """Begin to read a body that the parser has given up, with a new parser."""
        self._resuming = True
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        fields = [
            b"%s: %s\r\n" % (name, value) for name, value in self.headers if name in _OF_BODIES
        ]
        self.parser.feed_data(b"POST / HTTP/1.1\r\n" + b"".join(fields) + b"\r\n")
        self._resuming = False

    @property
    def _is_idle(self) -> bool:
        """Whether no request is under way; uvicorn no longer waits for one if data have come."""
        if self._in_head or self._in_body or self.pipeline:
            return False
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and cycle.response_complete

    def on_body(self, body: bytes) -> None:
        """Note that the body goes on: what comes beside it is counted from here."""
        self._beside = 0
        if self.pipeline:
            waiting = sum(len(cycle.body) for cycle, _ in self.pipeline)
            if waiting + len(body) > MOST_WAITING_BYTES:
                raise self._too_many()
        super().on_body(body)

    def on_message_begin(self) -> None:
        """Note that a request begins."""
        if self._resuming:
            return
        self._in_head = True
        self._beside = self._head = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Take a part of the address."""
        if not self._resuming:
            self._measure(len(url))
            super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a field of the head; one after the body is only measured."""
        if self._resuming:
            return
        self._measure(len(name) + len(value) + 4)
        if self._in_head:
            super().on_header(name, value)

    def _measure(self, size: int) -> None:
        self._head += size
        if self._head > self._limits.head:
            raise self._long_head()

    def on_headers_complete(self) -> None:
        """Note that the head is complete; refuse to keep too many requests that wait."""
        if self._resuming:
            return
        self._in_head, self._in_body = False, True
        self._beside = 0
        self._let_go()
        self._check_host()
        if self.in_reserve and not self._is_look():
            raise self._kept(RefusedHeadError(503, "busy", "there are too many connections"))
        if len(self.pipeline) >= MOST_WAITING:
            raise self._too_many()
        super().on_headers_complete()
        self._waiting.sends(self)
        if not self.pipeline:
            self._answered = self.cycle

    def _check_host(self) -> None:
        """Refuse a request that does not say, once, which host it is for."""
        hosts = [value for name, value in self.headers if name == b"host"]
        old = self.parser.get_http_version() == "1.0"
        if len(hosts) > 1 or not (hosts or old) or not all(map(_HOST.fullmatch, hosts)):
            raise self._kept(
                RefusedHeadError(400, "http", "a request of HTTP/1.1 has one valid field Host")
            )

    def _is_look(self) -> bool:
        """Whether a request only asks if the process is alive, or takes submissions."""
        return self.parser.get_method() in (b"GET", b"HEAD") and self.url in LOOKS

    def on_message_complete(self) -> None:
        """Note that the body is complete."""
        if self.parser.should_upgrade() and any(name in _OF_BODIES for name, _ in self.headers):
            return  # it is not: the parser only gives it up
        self._in_body, self._beside = False, 0
        self._let_go()
        if self._stuck is None:
            self._waiting.gone(self)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Wait only a short while for the rest of a body that nobody reads."""
        unread = not self.pipeline and self.cycle.more_body
        self._answered = self.pipeline[-1][0] if self.pipeline else None
        if self.in_reserve:
            self.transport.close()
        super().on_response_complete()
        if not self.transport.is_closing():
            if unread:
                self._cut_after(PATIENCE)
            if not self.pipeline:
                self._waiting.waits(self)

    def pause_writing(self) -> None:
        """Cut the client off if it does not read its answer, earlier if others need its place."""
        super().pause_writing()
        self._waiting.sends(self)
        self._stuck = self.loop.call_later(self._limits.write_seconds, self._cut_off)

    def resume_writing(self) -> None:
        """Note that the client reads on."""
        if self._stuck is not None:
            self._stuck.cancel()
            self._stuck = None
            if not self._in_body:
                self._waiting.reads(self)
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP, as JSON, and requests that the parser was told to give up."""
        self._refuse(
            self._refusal or RefusedHeadError(400, "http", "this is not a request of HTTP/1.1")
        )

    def _refuse(self, refusal: RefusedHeadError) -> None:
        self._metrics.count("murmurs_refusals_total", reason=refusal.error)
        self._say(refusal.status, refusal.error, refusal.reason)

    def _kept(self, refusal: RefusedHeadError) -> RefusedHeadError:
        """Remember why the parser is told to give up: it only says that it was."""
        self._refusal = refusal
        return refusal

    def _long_head(self) -> RefusedHeadError:
        most = self._limits.head
        return self._kept(
            RefusedHeadError(431, "head", f"the head of a request has at most {most} bytes")
        )

    def _too_many(self) -> RefusedHeadError:
        return self._kept(
            RefusedHeadError(
                503,
                "busy",
                f"at most {MOST_WAITING} requests of a connection wait for their answers, with "
                f"{MOST_WAITING_BYTES} bytes of bodies: send one after another",
            )
        )

    def _cut_after(self, seconds: float) -> None:
        self._let_go()
        self._cut = self.loop.call_later(seconds, self._cut_off)

    def _let_go(self) -> None:
        if self._cut is not None:
            self._cut.cancel()
            self._cut = None

    def make_room(self) -> None:
        """End this connection, as others need its place."""
        self._cut_off()

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
