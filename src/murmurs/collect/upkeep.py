"""Upkeep: what is done to a store again and again while submissions arrive."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from murmurs.collect.http.collector import Collector
from murmurs.collect.stores.store import DamagedError, StoreError

log = logging.getLogger("murmurs.collect")


@dataclass(frozen=True)
class Schedule:
    """How often a store is looked after, and for how long it keeps what."""

    fold_seconds: float = 30.0
    """How often recent reports are added up."""
    tidy_seconds: float = 3600.0
    """How often old ids and reports are deleted, and room is given back to the disk."""
    verify_seconds: float = 86_400.0
    """How often everything is read, to find damage of the disk."""
    keep_ids_days: int = 30
    """How long ids are kept: a submission that is sent again later would be counted again."""
    keep_reports_days: int | None = None
    """How long counts and reports are kept; None is for ever."""


class Upkeep:
    """A thread that looks after a store until it is stopped."""

    def __init__(
        self,
        collector: Collector,
        schedule: Schedule,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._collector, self._schedule, self._clock = collector, schedule, clock
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="murmurs-upkeep", daemon=True)
        self._tidied = -schedule.tidy_seconds
        self._verified = -schedule.verify_seconds

    def start(self) -> None:
        """Begin."""
        self._tidied += self._clock()
        self._verified += self._clock()
        self._thread.start()

    def stop(self) -> None:
        """Finish what is under way, then end."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(self._schedule.fold_seconds):
            self.once()

    def once(self) -> None:
        """Do what is due now; a failure is logged and counted, and tried again next time."""
        self._try(self._collector.store.fold)
        if self._clock() - self._tidied >= self._schedule.tidy_seconds and self._try(self.tidy):
            self._tidied = self._clock()
        if self._clock() - self._verified >= self._schedule.verify_seconds:
            self._verified = self._clock()
            self._try(self.verify)

    def _try(self, work: Callable[[], None]) -> bool:
        """Do some work; return whether it succeeded."""
        try:
            work()
        except Exception as error:
            self._collector.metrics.count("murmurs_upkeep_failures_total")
            if isinstance(error, StoreError):
                log.error("upkeep of the store failed, and is tried again: %s", error)
            else:
                log.exception("upkeep of the store failed, and is tried again")
            return False
        return True

    def verify(self) -> None:
        """Look for damage, and remember what was found."""
        try:
            self._collector.store.verify(sums_only=True)
        except DamagedError as error:
            self._collector.damage = str(error)
            raise
        self._collector.damage = None

    def tidy(self) -> None:
        """Delete what is older than it is kept, and give room back."""
        store, today, schedule = self._collector.store, self._collector.today, self._schedule
        store.forget_ids(today - schedule.keep_ids_days)
        if schedule.keep_reports_days is not None:
            for collection in store.collections():
                store.forget_reports(
                    collection.survey.fingerprint, today - schedule.keep_reports_days
                )
        store.vacuum()
