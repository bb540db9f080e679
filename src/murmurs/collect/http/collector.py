"""Collector: a store with its writer, surveys, tokens, limits and metrics, as the routes use it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from murmurs.collect import tokens
from murmurs.collect.catalogue import Catalogue
from murmurs.collect.http.bodies import Headers, header
from murmurs.collect.http.intake import Intake
from murmurs.collect.http.limits import BodyMemory, Limits, Rates
from murmurs.collect.http.long_bodies import LongBodies
from murmurs.collect.http.pools import SIZES, Pools
from murmurs.collect.metrics import Metrics
from murmurs.collect.refusals import RefusedError, unavailable
from murmurs.collect.results.disclosure import Disclosure
from murmurs.collect.results.jobs import Jobs
from murmurs.collect.results.turns import Turns
from murmurs.collect.stores.store import Store, StoreError, StoreFullError, Token
from murmurs.collect.stores.writer import Writer

log = logging.getLogger("murmurs.collect")

DAY = 86_400

AFTER_MIDNIGHT = 300
"""Seconds after the end of a day until results take it to be complete."""

LOG_SECONDS = 10
"""How often trouble with the store is logged at most."""

READY_SECONDS = 1.0
"""How long the last look at the store holds: each writes something, and anybody may ask."""


@dataclass(frozen=True)
class Settings:
    """What an operator decides about a collector."""

    limits: Limits = field(default_factory=Limits)
    keys: bool = False
    """Whether a submission needs a key: a token with the scope "submit"."""
    origins: tuple[str, ...] = ()
    """Origins of web pages that may send submissions and read results; ("*",) for all."""
    complete_days: bool | None = None
    """Whether results leave the present day out; see
    `murmurs.collect.results.disclosure`. None: if a survey has a minimum and anybody may submit."""
    refresh_seconds: float = 2.0
    """How often surveys and tokens are read again, as other processes may have changed them."""

    def only_complete(self, minimum: int) -> bool:
        """Whether results of a survey with this minimum leave the present day out."""
        if self.complete_days is not None:
            return self.complete_days
        return minimum > 1 and not self.keys


class Collector:
    """Everything that the routes share. ``clock`` tells the time in seconds since 1970."""

    def __init__(
        self,
        store: Store,
        writer: Writer,
        settings: Settings | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.store, self.writer = store, writer
        self.settings = Settings() if settings is None else settings
        self.limits, self.metrics = self.settings.limits, Metrics()
        self.catalogue = Catalogue()
        self.disclosure = Disclosure(store, self.settings.only_complete)
        self.jobs, self.pools, self.turns = Jobs(), Pools(), Turns(SIZES["results"])
        self.long_bodies = LongBodies(self.pools)
        self.intake = Intake(self.catalogue, self.limits)
        self.memory, self.rates = BodyMemory(self.limits.memory), Rates(self.limits.rate)
        self._clock, self._logged = clock, 0.0
        self.connections: Callable[[], int] = lambda: 0
        """How many connections the server has; it fills this in."""
        self.damage: str | None = None
        """What is damaged in the store, as of the last time that all of it was read."""
        self._checking: asyncio.Task[StoreError | None] | None = None
        self._checked = 0.0
        self.catalogue.refresh(store)

    async def why_not_ready(self) -> StoreError | None:
        """Return why the store takes no submissions; None if it does, as of a second ago at most.

        All who ask within a second share one answer, from a thread that does nothing else.
        """
        task = self._checking
        if task is None or (task.done() and time.monotonic() - self._checked >= READY_SECONDS):
            task = self._checking = asyncio.create_task(self.pools.run("ready", self._check))
        return await asyncio.shield(task)

    def _check(self) -> StoreError | None:
        try:
            self.store.check()
        except StoreError as error:
            return error
        finally:
            self._checked = time.monotonic()
        return None

    def close(self) -> None:
        """Give up results that are being computed, and begin nothing more; twice is fine."""
        self.jobs.close()
        self.pools.close()

    def holder(self, headers: Headers) -> Token | None:
        """Return the token of a request, if it has one; refuse a request with a wrong one."""
        return tokens.holder(header(headers, b"authorization"), self.catalogue.tokens)

    def trouble(self, error: StoreError) -> RefusedError:
        """Log why the store refused, not too often, and return what a client is told of it.

        The log has the reason in full; clients need not know where the store is.
        """
        now = self._clock()
        if now - self._logged >= LOG_SECONDS:
            self._logged = now
            log.error("the store takes nothing: %s", error)
        if isinstance(error, StoreFullError):
            return unavailable("full", "the store is full, and takes nothing until there is room")
        return unavailable("store", "the store cannot be read or written at the moment")

    @property
    def unfinished_day(self) -> int:
        """The day that is not over for results: all before it have all their reports.

        Around midnight a report may still be on its way to the store, or come from a collector
        whose clock is late: a day is over five minutes after its end.
        """
        return (int(self._clock()) - AFTER_MIDNIGHT) // DAY

    @property
    def today(self) -> int:
        """The day in UTC, counted from 1970-01-01: all that is ever kept of the time."""
        return int(self._clock()) // DAY
