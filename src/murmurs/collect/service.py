"""Service: a collector from its start to its end, as `murmurs serve` runs it."""

from __future__ import annotations

import contextlib
import os
import resource
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from murmurs.boundary.checks import shown
from murmurs.collect.catalogue import why_unfit
from murmurs.collect.http.collector import Collector, Settings
from murmurs.collect.http.server import Address, Server
from murmurs.collect.rehearsal import FileClock, check_rehearsal, mark
from murmurs.collect.stores import copying, open_store
from murmurs.collect.stores.store import DamagedError, Store
from murmurs.collect.stores.writer import SECONDS_PER_DAY, Writer
from murmurs.collect.tokens import new_token
from murmurs.collect.upkeep import Schedule, Upkeep
from murmurs.survey.survey import Survey

FIRST_TOKEN = "first"
"""The name of the token that a new store gets, perhaps with a number."""

TOKEN_FILE = "admin-token"

SWITCH = 0.001
"""Seconds for which a thread keeps the interpreter while another waits for it: requests are
answered by one thread, and should not wait long for those that compute."""

VERIFIED_AT_START = 2**28
"""Bytes of a store up to which all of it is read before it is served: a second or two."""


@dataclass(frozen=True)
class Plan:
    """What is served, and how."""

    place: str
    """A directory, or postgresql://..."""
    surveys: tuple[Survey, ...] = ()
    address: Address = field(default_factory=Address)
    settings: Settings = field(default_factory=Settings)
    schedule: Schedule = field(default_factory=Schedule)
    quota: int | None = None
    damaged: bool = False
    """Whether to go on although the store is damaged."""
    clock: Path | None = None
    """For a rehearsal: a file with the date."""


@dataclass(frozen=True)
class Running:
    """A service that is ready to run: its server, its address, and where a first token is."""

    server: Server
    opened: socket.socket
    url: str
    token_file: Path | None

    def run(self) -> None:
        """Serve until SIGTERM, SIGINT or `Server.stop`; then finish what is under way."""
        self.server.run([self.opened])


@contextlib.contextmanager
def started(plan: Plan) -> Iterator[Running]:
    """Listen, open the store and publish the surveys; afterwards close everything in order.

    First the server stops taking requests, then the writer writes what is waiting, then the store
    is closed: nothing that was acknowledged, or will be, is lost.
    """
    with contextlib.ExitStack() as stack:
        check_rehearsal(plan.place, plan.address.host, rehearsed=plan.clock is not None)
        clock: Callable[[], float] = time.time if plan.clock is None else FileClock(plan.clock)
        opened = plan.address.listen()
        stack.callback(opened.close)
        _allow_many_files()
        sys.setswitchinterval(SWITCH)
        if plan.clock is not None:
            mark(plan.place)
        with _naming_the_way_out():
            store = open_store(plan.place, quota=plan.quota, damaged=plan.damaged)
            stack.callback(store.close)
            if not plan.damaged and store.size() <= VERIFIED_AT_START:
                store.verify(sums_only=True)  # a larger one later, while it collects
        _sweep(plan.place)
        publish(store, plan.surveys, int(clock() // SECONDS_PER_DAY))
        token_file = _first_token(store, plan.place)
        writer = Writer(
            store,
            day=lambda: int(clock() // SECONDS_PER_DAY),
            most_waiting=plan.settings.limits.waiting,
        )
        stack.callback(writer.close)
        collector = Collector(store, writer, plan.settings, clock)
        stack.callback(collector.close)
        upkeep = Upkeep(collector, plan.schedule)
        upkeep.start()
        stack.callback(upkeep.stop)
        server = Server(collector, plan.address)
        yield Running(server, opened, plan.address.url(opened), token_file)


@contextlib.contextmanager
def _naming_the_way_out() -> Iterator[None]:
    """Say how to start although the store is damaged."""
    try:
        yield
    except DamagedError as error:
        raise DamagedError(
            f"{error}. With --damaged the collector starts, and shows no result of what is damaged"
        ) from None


def _sweep(place: str) -> None:
    """Delete copies that a process left when it was killed."""
    copying.sweep(Path(tempfile.gettempdir()))
    if "://" not in place:
        copying.sweep(Path(place))


def publish(store: Store, surveys: Sequence[Survey], day: int) -> None:
    """Add surveys to a store on a day; refuse one that changed without a new version."""
    known = {(c.survey.name, c.survey.version): c.survey for c in store.collections()}
    for survey in surveys:
        unfit = why_unfit(survey)
        if unfit is not None:
            raise ValueError(f"survey {shown(survey.name)} cannot be served: {unfit}")
        there = known.get((survey.name, survey.version))
        if there is not None and there.fingerprint != survey.fingerprint:
            raise ValueError(
                f"survey {shown(survey.name)} has changed, but is still version {survey.version}: "
                f"the store has it with fingerprint {there.short_fingerprint}, and this one has "
                f"{survey.short_fingerprint}. Give it a new version; `murmurs diff` says what "
                "the change means"
            )
        known[survey.name, survey.version] = survey
    for survey in surveys:
        store.publish(survey, day)


def _first_token(store: Store, place: str) -> Path | None:
    """Make a token for administration if a store in a directory has none, and write it there."""
    directory = Path(place)
    if "://" in place or any(token.scope == "admin" for token in store.tokens()):
        return None
    path = directory / TOKEN_FILE
    taken = {token.name for token in store.tokens()}
    names = (f"{FIRST_TOKEN}{number}" for number in ("", *range(2, len(taken) + 3)))
    text, token = new_token(next(name for name in names if name not in taken), "admin")
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        os.fchmod(descriptor, 0o600)
        file.write(text + "\n")
    store.add_token(token)
    return path


def _allow_many_files() -> None:
    """Let the process open as many connections as the system allows it to."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
