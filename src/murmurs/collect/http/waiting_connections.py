"""Waiting connections: which of them keep a server waiting, and since when.

When there are as many connections as there may be, the one that has kept the server waiting for
longest makes room for a new one: first one without a request, then one whose body does not come or
that does not read its answer.
Whoever sends its request at once is served, however many others only hold their places.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

PATIENCE = 2.0
"""Seconds that a body, or the reading of an answer, may take before others need the place."""


class Connection(Protocol):
    """What makes room when it is told to, unless it has no place of its own."""

    in_reserve: bool

    def make_room(self) -> None:
        """End."""


class WaitingConnections:
    """The connections of a server that have not sent a whole request, the oldest first."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._waiting: dict[Connection, None] = {}
        self._sending: dict[Connection, float] = {}

    def waits(self, connection: Connection) -> None:
        """Note that a connection has no request yet, or none any longer."""
        self._sending.pop(connection, None)
        self._waiting[connection] = None

    def sends(self, connection: Connection) -> None:
        """Note that a body is on its way, or an answer that is not read; the first time counts."""
        self._waiting.pop(connection, None)
        self._sending.setdefault(connection, self._clock())

    def reads(self, connection: Connection) -> None:
        """Note that a connection reads its answer."""
        self._sending.pop(connection, None)

    def gone(self, connection: Connection) -> None:
        """Note that a connection waits for an answer, or is closed."""
        self._waiting.pop(connection, None)
        self._sending.pop(connection, None)

    def make_room(self) -> Connection | None:
        """End the connection that has kept the server waiting for longest, and return it."""
        oldest = next(iter(self._waiting), None)
        if oldest is None:
            oldest, since = next(iter(self._sending.items()), (None, 0.0))
            if self._clock() - since < PATIENCE:
                return None
        if oldest is not None:
            self.gone(oldest)
            oldest.make_room()
        return oldest
