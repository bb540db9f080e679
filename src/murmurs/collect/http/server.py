"""Server: uvicorn with the application, on a socket that is open before anything is promised."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import socket
import ssl
import threading
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn
import uvloop

from murmurs.collect.http.app import make_app
from murmurs.collect.http.certificate import Certificate
from murmurs.collect.http.collector import Collector
from murmurs.collect.http.protocol import Guarded
from murmurs.collect.http.waiting_connections import WaitingConnections
from murmurs.collect.stores.store import StoreError

log = logging.getLogger("murmurs.collect")

GRACE = 20
"""Seconds that requests may take to finish when the server is told to stop."""

BACKLOG = 2048


@dataclass(frozen=True)
class Address:
    """Where the server listens, and with which certificate."""

    host: str = "127.0.0.1"
    port: int = 8080
    certificate: Path | None = None
    key: Path | None = None

    def listen(self) -> socket.socket:
        """Return an open socket; an address that is taken is refused with a sentence."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        opened = socket.socket(family, socket.SOCK_STREAM)
        try:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            opened.bind((self.host, self.port))
            opened.listen(BACKLOG)
        except (OSError, OverflowError) as error:
            opened.close()
            reason = getattr(error, "strerror", None) or str(error)
            raise ValueError(
                f"cannot listen on {self.host}:{self.port}: {reason}; choose another --port or "
                "--host"
            ) from None
        opened.setblocking(False)
        return opened

    def url(self, opened: socket.socket) -> str:
        """Return the address of an open socket, for people."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http{'s' if self.certificate else ''}://{host}:{opened.getsockname()[1]}"


GOODBYE = 2.0
"""Seconds in which a client may answer the end of TLS."""


class _Loop(uvloop.Loop):
    """A loop whose servers give a client less time to begin TLS than 60 seconds, to end it than 30.

    A client that keeps its connection and does not answer would keep a server from ending.
    """

    handshake_seconds: float

    async def create_server(self, *arguments: Any, **given: Any) -> asyncio.Server:
        """Return a server."""
        if given.get("ssl") is not None:
            given["ssl_handshake_timeout"] = self.handshake_seconds
            given["ssl_shutdown_timeout"] = GOODBYE
        made: asyncio.Server = await super().create_server(*arguments, **given)  # type: ignore[assignment]
        return made


class _Config(uvicorn.Config):
    """A configuration whose loop has a time limit for the beginning of TLS."""

    handshake_seconds: float

    def get_loop_factory(self) -> Callable[[], asyncio.AbstractEventLoop]:
        """Return what makes the loop."""

        def made() -> _Loop:
            loop = _Loop()
            loop.handshake_seconds = self.handshake_seconds
            return loop

        return made


class Server(uvicorn.Server):
    """A server for one collector, which also keeps its catalogue fresh.

    ``stop`` may be called from any thread. When the server has stopped, every request that it
    took has been answered, and the writer is idle.
    """

    def __init__(self, collector: Collector, address: Address) -> None:
        limits = collector.limits
        protocol = functools.partial(
            Guarded, limits=limits, metrics=collector.metrics, waiting=WaitingConnections()
        )
        config = _Config(
            make_app(collector),
            http=protocol,  # type: ignore[arg-type]  # a class with some arguments given
            ws="none",
            lifespan="off",
            access_log=False,
            log_config=None,
            log_level="error",  # clients must not be able to fill the log
            server_header=False,
            timeout_keep_alive=limits.idle_seconds,  # type: ignore[arg-type]  # any number
            timeout_graceful_shutdown=GRACE,
            backlog=BACKLOG,
            ssl_certfile=None if address.certificate is None else str(address.certificate),
            ssl_keyfile=None if address.key is None else str(address.key),
        )
        config.handshake_seconds = limits.header_seconds
        super().__init__(config)
        self.collector = collector
        self._certificate: Certificate | None = None
        if address.certificate is not None and address.key is not None:
            self._certificate = Certificate(address.certificate, address.key)
        collector.connections = lambda: len(self.server_state.connections)

    async def main_loop(self) -> None:
        """Run until told to stop, and meanwhile read surveys and tokens again and again."""
        refreshing = asyncio.create_task(self._refresh())
        try:
            await super().main_loop()
        finally:
            refreshing.cancel()
            await asyncio.gather(refreshing, return_exceptions=True)

    async def _refresh(self) -> None:
        collector = self.collector
        while True:
            await asyncio.sleep(collector.settings.refresh_seconds)
            if self._certificate is not None and isinstance(self.config.ssl, ssl.SSLContext):
                self._certificate.renew(self.config.ssl)
            try:
                await collector.pools.run("catalogue", collector.catalogue.refresh, collector.store)
            except StoreError as error:
                log.error("surveys and tokens could not be read again: %s", error)
            except Exception:
                log.exception("surveys and tokens could not be read again")

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Stop at the first signal, and let the caller close everything else afterwards."""
        with super().capture_signals():
            yield
            self._captured_signals.clear()  # or uvicorn would end the process here

    def stop(self) -> None:
        """Finish the requests under way, then end."""
        self.should_exit = True


def in_thread(server: Server, opened: socket.socket) -> threading.Thread:
    """Run a server in a thread of its own; return the thread when the server takes requests."""
    thread = threading.Thread(target=server.run, args=([opened],), daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        thread.join(0.005)
    return thread
