"""The routes of results: estimates, trends and comparisons, with intervals."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Annotated, Any, Literal

import msgspec

from murmurs.collect.http.asking import Asking, entry_of
from murmurs.collect.http.collector import Collector
from murmurs.collect.http.headings import with_heading
from murmurs.collect.http.operations import Call, Operation, ReplyKind
from murmurs.collect.http.rendering import ARROW, CSV, TEXT, rendered
from murmurs.collect.http.replies import JSON, Reply, json_reply
from murmurs.collect.refusals import RefusedError
from murmurs.collect.results.compute import Kind, Result, compute
from murmurs.collect.results.jobs import PATIENCE, AbandonedError, Job, Jobs
from murmurs.collect.results.queries import (
    CompareQuery,
    Given,
    ResultQuery,
    SummaryQuery,
    TrendQuery,
    Version,
)
from murmurs.collect.results.wording import in_a_request
from murmurs.collect.stores.store import Part
from murmurs.collect.tokens import unknown
from murmurs.counts import People
from murmurs.survey.rounds import people_of

WAIT = 1.0
"""Seconds for which a request waits for the worker before it is told to come back."""

STEP = 0.02
"""Seconds between two looks at whether the worker is done."""


class Waiting(msgspec.Struct):
    """The result is being computed: ask again."""

    status: Literal["computing"]
    progress: Annotated[float, msgspec.Meta(ge=0, le=1)]


class Summary(msgspec.Struct):
    """What was collected for a survey."""

    survey: str
    version: Version
    fingerprint: str
    state: Literal["open", "closed"]
    minimum_reports: int
    segments: list[str]
    questions: dict[str, int | None]
    """The number of reports to each question; null if they are too few to be shown."""
    people: dict[str, People]
    """Whether the same people report in every round, as results assume unless told otherwise."""


async def _summary(collector: Collector, call: Call) -> Reply:
    entry = entry_of(collector, call)
    survey, today = entry.survey, collector.unfinished_day

    def numbers() -> dict[str, int | None]:
        found: dict[str, int | None] = {}
        for asked in survey.reported:
            part = Part(entry.fingerprint, asked.name)
            found[asked.name] = collector.disclosure.number(survey, part, today)
        return found

    async with collector.turns.of(call.holder.name):
        found = await collector.pools.run("results", numbers)
    return json_reply(
        Summary(
            survey.name,
            survey.version,
            entry.fingerprint,
            entry.collection.state,
            survey.terms.minimum_reports or 1,
            list(survey.segments),
            found,
            {asked.name: people_of(survey.terms, asked.mechanism) for asked in survey.reported},
        )
    )


async def _answer(collector: Collector, call: Call, kind: Kind) -> Reply:
    asking = Asking(collector, call, kind)
    asking.parts()  # refuses what makes no sense before anything is read
    reader, jobs = call.holder.name, collector.jobs
    stopped = threading.Event()

    async def quickly() -> tuple[Hashable, int, Result | None]:
        """Look at the store, and compute what takes no more than a moment."""
        async with collector.turns.of(reader):
            return await collector.pools.run("results", _now, asking, jobs, stopped)

    key, changes, found = await call.unless_gone(quickly(), stopped.set)
    if found is None:
        job = jobs.start(key, changes, asking.task, reader)
        outcome = await _outcome(jobs, key, job, call)
        if outcome is None:
            return _wait(job.progress)
        if isinstance(outcome, RefusedError):
            raise outcome.again()
        found = outcome
    if call.holder not in collector.catalogue.tokens:  # revoked meanwhile
        raise unknown()
    async with collector.turns.of(reader):
        return await collector.pools.run(
            "results", lambda: rendered(with_heading(asking, found), call.query.format)
        )


def _now(
    asking: Asking, jobs: Jobs, stopped: threading.Event
) -> tuple[Hashable, int, Result | None]:
    """Return the key of a result, the number of changes, and the result if it is there soon."""

    def going_on(*_: object) -> None:
        if stopped.is_set():
            raise AbandonedError

    going_on()
    changes = asking.collector.store.changes(asking.entry.fingerprint)
    key: Hashable = (asking.key, None)
    found = asking.in_form(jobs.find(key, changes))  # one that took a moment, of the same reports
    if found is not None:
        return key, changes, found
    key = (asking.key, asking.look(changes))
    if asking.only_complete:
        changes = 0  # what arrives today changes nothing
    found = asking.in_form(jobs.find(key, changes))
    if found is not None or asking.is_long:
        return key, changes, found
    try:
        task = replace(asking.task(going_on), as_text=asking.query.format == "text")
        found = compute(task, going_on)
    except (ValueError, TypeError, ArithmeticError, ImportError) as error:
        raise RefusedError(400, "query", in_a_request(error)) from None
    jobs.keep(key, changes, found)
    return key, changes, found


async def _outcome(jobs: Jobs, key: Hashable, job: Job, call: Call) -> Result | RefusedError | None:
    """Wait for a computation for a while; None if it takes longer.

    A client that hangs up leaves it. One that is told to come back is waited for.
    """
    coming_back = False
    try:
        await call.unless_gone(_until_done(job))
        coming_back = not job.done.is_set()
        return job.outcome if job.done.is_set() else None
    finally:
        jobs.leave(key, job, coming_back=coming_back)
        if coming_back:
            asyncio.get_running_loop().call_later(PATIENCE + 0.1, jobs.give_up, key, job)


async def _until_done(job: Job) -> None:
    """Wait for a computation for a while, without a thread, of which there are few."""
    began = time.monotonic()
    while not job.done.is_set() and time.monotonic() - began < WAIT:
        await asyncio.sleep(STEP)


def _wait(progress: float) -> Reply:
    return json_reply(Waiting("computing", round(progress, 3)), 202, {"Retry-After": "2"})


def _of(kind: Kind) -> Callable[[Collector, Call], Any]:
    async def handle(collector: Collector, call: Call) -> Reply:
        return await _answer(collector, call, kind)

    return handle


_ONE = "/results/{survey}/{question}"
_REFUSALS = {
    404: "There is no such survey or question for this token, or there are too few reports.",
    413: "There are too many candidates.",
}
_ANSWERS = {
    200: ReplyKind("The result.", {JSON: dict[str, Any], CSV: None, TEXT: None, ARROW: None}),
    202: ReplyKind(
        "The result is being computed: ask again.",
        {JSON: Waiting},
        {"Retry-After": "Seconds after which to ask again."},
    ),
}


def _two(
    path: str, name: str, summary: str, kind: Kind, query: type[msgspec.Struct]
) -> tuple[Operation, Operation]:
    """Return the same operation twice: as GET, and as POST with candidates in the body."""
    handle = _of(kind)
    return (
        Operation(
            "GET",
            path,
            name,
            summary,
            handle,
            _ANSWERS,
            needs="read",
            query=query,
            refusals=_REFUSALS,
        ),
        Operation(
            "POST",
            path,
            f"{name}Of",
            f"{summary[:-1]}, for candidates in the body.",
            handle,
            _ANSWERS,
            needs="read",
            query=query,
            body=Given,
            refusals=_REFUSALS,
        ),
    )


OPERATIONS = (
    Operation(
        "GET",
        "/results/{survey}",
        "summary",
        "Say how many reports there are to each question of a survey.",
        _summary,
        {200: ReplyKind("The numbers, where they are large enough to be shown.", {JSON: Summary})},
        needs="read",
        query=SummaryQuery,
        refusals={404: "There is no such survey, or the token is not for it."},
    ),
    *_two(_ONE, "estimate", "Return the shares of the answers.", "estimate", ResultQuery),
    *_two(f"{_ONE}/trend", "trend", "Return the shares in each period.", "trend", TrendQuery),
    *_two(
        f"{_ONE}/compare",
        "compare",
        "Return the differences between two segments or periods.",
        "compare",
        CompareQuery,
    ),
)
