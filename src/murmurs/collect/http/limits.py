"""Limits: how much one request, one key and all clients together may ask of a collector."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from murmurs.boundary.checks import shown
from murmurs.collect.refusals import RefusedError, busy

KIB, MIB = 2**10, 2**20


@dataclass(frozen=True)
class Sizes:
    """What one request with submissions may have."""

    body: int
    json: int
    submissions: int
    people: int


@dataclass(frozen=True)
class Limits:
    """The limits of a collector; the defaults suit one machine with two processors.

    Without a token, requests may be as large as those of devices; relays have a token.

    >>> Limits().of(has_token=False).people, Limits().of(has_token=True).people
    (100, 1000000)
    """

    body: int = MIB
    """Bytes of a body; longer ones are refused while they arrive."""
    json: int = 128 * KIB
    """Bytes of a JSON body: in memory it may take forty times its length."""
    submissions: int = 100
    """Submissions in one request."""
    people: int = 100
    """People in one request."""
    token_body: int = 16 * MIB
    """Bytes of a body with a token."""
    token_json: int = MIB
    """Bytes of a JSON body with a token."""
    token_submissions: int = 1000
    """Submissions in one request with a token."""
    token_people: int = 1_000_000
    """People in one request with a token."""
    document: int = 4 * MIB
    """Bytes of a survey, or of candidates."""
    memory: int = 768 * MIB
    """Bytes that the bodies of all requests together may take while they are read and kept."""
    waiting: int = 256 * MIB
    """Bytes of reports that wait for the store; further ones are refused for now."""
    connections: int = 1000
    """Connections that are open at the same time."""
    rate: float | None = None
    """People per second for each submit key; requests without a key share one."""
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

    def of(self, *, has_token: bool) -> Sizes:
        """Return what a request with submissions may have."""
        if has_token:
            return Sizes(
                self.token_body, self.token_json, self.token_submissions, self.token_people
            )
        return Sizes(self.body, self.json, self.submissions, self.people)


_UNITS = {"KiB": KIB, "MiB": MIB, "GiB": 2**30}


def limits_from(texts: Iterable[str], before: Limits | None = None) -> Limits:
    """Return limits as somebody writes them, ``name=number``; others stay as they are.

    >>> limits_from(["people=20", "body=64KiB", "idle_seconds=2.5"]).body
    65536
    >>> limits_from(["person=20"])
    Traceback (most recent call last):
    ValueError: there is no limit 'person'; there are body, json, submissions, people, ...
    """
    limits = Limits() if before is None else before
    for text in texts:
        name, _, value = text.partition("=")
        if name not in limits.__dataclass_fields__:
            known = ", ".join(limits.__dataclass_fields__)
            raise ValueError(f"there is no limit {shown(name)}; there are {known}")
        changed: dict[str, Any] = {name: _number(text, name, value)}
        limits = replace(limits, **changed)
    return limits


def _number(text: str, name: str, value: str) -> float:
    """Return the value of a limit: whole, unless it is a time or a rate."""
    fraction = name == "rate" or name.endswith("_seconds")
    unit = next((unit for unit in _UNITS if value.endswith(unit)), "")
    try:
        found = float(value) if fraction else int(value.removesuffix(unit)) * _UNITS.get(unit, 1)
    except ValueError:
        found = 0
    if not 0 < found < 2**40:
        kind = "a number" if fraction else "a whole number, perhaps with KiB, MiB or GiB,"
        raise ValueError(f"{shown(text)}: a limit is {kind} above 0, as in {name}=10")
    return found


JSON_WEIGHT = 40
"""How many times its length a JSON body may take: lists within lists take 32 times."""


class BodyMemory:
    """How many bytes the bodies of all requests take.

    >>> memory = BodyMemory(100)
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

    def __init__(self, memory: BodyMemory) -> None:
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
    """How many people each key may report for: so many a second on average, with some patience.

    Each key has a bucket that holds two seconds' worth of people (at least one) and refills at the
    rate. A request counts for at least one. One with more people than a bucket holds is taken when
    it is full, and the next one waits for as long as this takes to make good. ``clock`` tells the
    time in seconds.
    """

    def __init__(self, rate: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = rate, clock
        self._most = max(1.0, 2 * rate) if rate is not None else math.inf
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, key: str) -> None:
        """Count a request of a key before it is read; refuse it if there were too many."""
        self._take(key, 1, 1)

    def take_people(self, key: str, people: int) -> None:
        """Count the people in a request that was counted; refuse it if they are too many now."""
        if people > 1:
            self._take(key, people - 1, min(people - 1, self._most - 1))

    def _take(self, key: str, number: int, needed: float) -> None:
        if self._rate is None:
            return
        now = self._clock()
        left, before = self._left.get(key, (self._most, now))
        left = min(self._most, left + (now - before) * self._rate)
        if left < needed:
            seconds = math.ceil((needed - left) / self._rate)
            raise RefusedError(
                429,
                "rate",
                f"reports of at most {self._rate:g} people a second are taken from one key",
                headers={"Retry-After": str(seconds)},
            )
        self._left[key] = (left - number, now)
