"""The route that takes submissions: the one that must be quick.

A submission is acknowledged after the store has made it durable, together with all others that
arrived meanwhile.
"""

from __future__ import annotations

from itertools import islice
from typing import Annotated

import msgspec
from starlette.types import Receive, Scope

from murmurs.collect import tokens
from murmurs.collect.http.bodies import announced, read_body
from murmurs.collect.http.collector import Collector
from murmurs.collect.http.limits import JSON_WEIGHT, KIB, Room
from murmurs.collect.http.operations import Endpoint, Operation, ReplyKind, media_type
from murmurs.collect.http.replies import Reply, json_reply
from murmurs.collect.refusals import RefusedError, busy
from murmurs.collect.stores.store import Token, UnknownSurveyError
from murmurs.collect.stores.writer import BusyError
from murmurs.submission import BINARY_TYPE as BINARY
from murmurs.submission import JSON_TYPE as JSON
from murmurs.submission import Batch

ASIDE = 8 * KIB
"""Bytes of a body from which it is read by another thread, so that others need not wait."""


Number = Annotated[int, msgspec.Meta(ge=0, lt=2**32)]
_BASE64 = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$"
Base64 = Annotated[str, msgspec.Meta(extra_json_schema={"pattern": _BASE64})]
"""Text with a pattern, in the document alone: a pattern beside a list makes msgspec 0.22 crash."""
Part = Number | Base64
Report = Number | Base64 | Annotated[list[Part | list[Part]], msgspec.Meta(min_length=1)]
"""All forms that reports have in JSON; which of them a question takes depends on its mechanism."""


class SubmissionBody(msgspec.Struct, forbid_unknown_fields=True):
    """Reports that are sent together under one id; either all of them are counted, or none."""

    survey: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$", description="The fingerprint.")]
    id: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32}$", description="16 random bytes.")]
    reports: Annotated[
        dict[str, Annotated[list[Report], msgspec.Meta(min_length=1)] | Base64],
        msgspec.Meta(
            min_length=1,
            description="Reports by question: a list of reports, or base64 of their bytes.",
        ),
    ]
    segment: str | None = None


class Taken(msgspec.Struct):
    """How many submissions were new, and how many had been counted before."""

    accepted: Annotated[int, msgspec.Meta(ge=0)]
    duplicates: Annotated[int, msgspec.Meta(ge=0)]


SUBMIT = Operation(
    "POST",
    "/submissions",
    "submit",
    "Send one or several submissions.",
    None,
    {200: ReplyKind("All of them are durable.", {JSON: Taken})},
    body=SubmissionBody | Annotated[list[SubmissionBody], msgspec.Meta(min_length=1)],
    media=(JSON, BINARY),
    refusals={
        404: "No survey here has this fingerprint.",
        409: "The survey is closed, or not open yet.",
        429: "There were too many people with this key, for now.",
    },
    details=(
        "All submissions of a request are taken, or none. An id that was counted before is not "
        "counted again: after a lost answer, send the same bytes again."
    ),
)


class SubmitEndpoint(Endpoint):
    """Answers the requests that send submissions."""

    def __init__(self, collector: Collector) -> None:
        super().__init__(SUBMIT, collector)

    async def answer(self, scope: Scope, receive: Receive) -> Reply:
        """Read the submissions, and acknowledge them when they are durable."""
        collector, headers = self.collector, scope["headers"]
        if scope["query_string"]:
            raise RefusedError(400, "query", "this request takes no parameters")
        key = self._key(headers)
        name = "" if key is None else key.name
        collector.rates.take(name)
        media = media_type(headers)
        if media not in (JSON, BINARY):
            raise RefusedError(415, "media", f"Content-Type must be {JSON} or {BINARY}")
        sizes = collector.limits.of(has_token=key is not None)
        most = sizes.json if media == JSON else sizes.body
        seconds = collector.limits.body_seconds
        with Room(collector.memory) as room:
            body = await read_body(receive, announced(headers), most, seconds, room)
            if media == JSON:
                room.take(len(body) * (JSON_WEIGHT - 1))
            submissions = await self._read(body, media, key)
            del body
            collector.rates.take_people(name, sum(s.people * s.count for s in submissions))
            return await self._keep(submissions)

    def _key(self, headers: list[tuple[bytes, bytes]]) -> Token | None:
        """Return the key of a request; refuse one that is not known, and none if one is needed."""
        key = self.collector.holder(headers)
        if key is None and self.collector.settings.keys:
            raise tokens.unknown()
        if key is not None and not tokens.allows(key, "submit"):
            raise tokens.not_allowed("submit")
        return key

    async def _read(self, body: bytes, media: str, key: Token | None) -> list[Batch]:
        read, day = self.collector.intake.read, self.collector.today
        if len(body) < ASIDE:
            return read(body, media, day, key)
        name = "" if key is None else key.name
        return await self.collector.long_bodies.run(name, lambda: read(body, media, day, key))

    async def _keep(self, submissions: list[Batch]) -> Reply:
        """Hand the submissions to the writer, and wait until they are durable."""
        collector = self.collector
        try:
            new = await collector.writer.added(submissions)
        except BusyError as error:
            raise busy(str(error)) from None
        except UnknownSurveyError as error:  # deleted a moment ago
            raise RefusedError(404, "survey", str(error)) from None
        accepted = sum(new)
        metrics = collector.metrics
        metrics.count("murmurs_submissions_total", accepted, outcome="accepted")
        if accepted < len(new):
            metrics.count("murmurs_submissions_total", len(new) - accepted, outcome="duplicate")
        told = iter(new)
        people = sum(s.people * sum(islice(told, s.count)) for s in submissions)
        metrics.count("murmurs_people_total", people)
        return json_reply(Taken(accepted, len(new) - accepted))
