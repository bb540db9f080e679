"""Limits: how much one request, one key and all clients together may ask of a collector."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from murmurs.collect.refusals import RefusedError, busy

MIB = 2**20


@dataclass(frozen=True)
class Limits:
    """The limits of a collector; the defaults suit one machine with two processors."""

    body: int = 16 * MIB
    """Bytes of a body; longer ones are refused while they arrive."""
    json: int = 4 * MIB
    """Bytes of a JSON body: in memory it may take forty times its length."""
    submissions: int = 1000
    """Submissions in one request."""
    people: int = 1_000_000
    """People in one request."""
    memory: int = 768 * MIB
    """Bytes that the bodies of all requests together may take while they are read and kept."""
    waiting: int = 256 * MIB
    """Bytes of reports that wait for the store; further ones are told to come back."""
    connections: int = 1000
    """Connections that are open at the same time."""
    rate: float | None = None
    """Requests per second for each submit key; requests without a key share one."""
    header_seconds: float = 10.0
    """The time in which the head of a request must arrive, and before it the handshake of TLS."""
    body_seconds: float = 30.0
    """The time in which the body must arrive."""
    write_seconds: float = 30.0
    """The time that a client may take before it reads more of an answer."""
    idle_seconds: float = 15.0
    """How long a connection may stay open without a request."""
    head: int = 32 * 1024
    """Bytes of the head of a request."""
    candidates: int = 20_000
    """Strings that one request for results may look for."""
    reports: int = 2_000_000
    """Reports that one result may be computed from one by one; most need only their counts."""


JSON_WEIGHT = 40
"""How many times its length a JSON body may take: lists within lists take 32 times."""


class Memory:
    """How many bytes the bodies of all requests take.

    >>> memory = Memory(100)
    >>> with Room(memory) as one, Room(memory) as other:
    ...     one.take(80)
    ...     other.take(30)
    Traceback (most recent call last):
    murmurs.collect.refusals.RefusedError: too many requests are being read: ...
    >>> memory.used
    0
    """

    def __init__(self, most: int) -> None:
        self.most, self.used = most, 0


class Room:
    """What one request takes of the memory: as much as has arrived, until it is answered.

    What a client only announces takes nothing, so that those who do not send cannot fill it.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory, self._taken = memory, 0

    def take(self, size: int) -> None:
        """Take room, or refuse the request if there is not enough."""
        if self._memory.used + size > self._memory.most:
            raise busy("too many requests are being read: send this one again later")
        self._memory.used += size
        self._taken += size

    def __enter__(self) -> Room:
        return self

    def __exit__(self, *error: object) -> None:
        self._memory.used -= self._taken


class Rates:
    """How often each key may ask: so many times a second on average, with some patience.

    Each key has a bucket that holds two seconds' worth of requests (at least one) and refills at
    the rate. ``clock`` tells the time in seconds.
    """

    def __init__(self, rate: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = rate, clock
        self._most = max(1.0, 2 * rate) if rate is not None else math.inf
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, key: str) -> None:
        """Count one request of a key; refuse it if there were too many."""
        if self._rate is None:
            return
        now = self._clock()
        left, before = self._left.get(key, (self._most, now))
        left = min(self._most, left + (now - before) * self._rate)
        if left < 1:
            seconds = math.ceil((1 - left) / self._rate)
            raise RefusedError(
                429,
                "rate",
                f"at most {self._rate:g} requests a second are taken from one key",
                headers={"Retry-After": str(seconds)},
            )
        self._left[key] = (left - 1, now)
