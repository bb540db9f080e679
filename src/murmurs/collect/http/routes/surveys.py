"""The routes that hand out published surveys."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from murmurs.boundary.checks import shown
from murmurs.collect import tokens
from murmurs.collect.catalogue import Entry
from murmurs.collect.http.bodies import header
from murmurs.collect.http.collector import Collector
from murmurs.collect.http.operations import Call, Operation, ReplyKind
from murmurs.collect.http.replies import JSON, Reply, json_reply
from murmurs.collect.refusals import RefusedError
from murmurs.collect.results.queries import Version


class Listed(msgspec.Struct):
    """One survey that can be answered now."""

    name: str
    version: Version
    fingerprint: str


class SurveyQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which version is meant."""

    version: Annotated[
        Version | None, msgspec.Meta(description="The version; by default the newest that is open.")
    ] = None


def no_survey(name: str) -> RefusedError:
    """Return the refusal of a survey that is not there, or not for this token."""
    return RefusedError(404, "survey", f"there is no survey {shown(name)} here")


def _visible(collector: Collector, call: Call) -> list[Entry]:
    """Return the surveys that a caller may see: where keys are needed, those of its token."""
    entries = list(collector.catalogue.by_fingerprint.values())
    if not collector.settings.keys:
        return entries
    token = collector.holder(call.headers)
    if token is None:
        raise tokens.unknown()
    return [entry for entry in entries if tokens.covers(token, entry.survey.name)]


async def _list(collector: Collector, call: Call) -> Reply:
    day = collector.today
    found = [
        Listed(entry.survey.name, entry.survey.version, entry.fingerprint)
        for entry in _visible(collector, call)
        if entry.why_not(day) is None
    ]
    return json_reply({"surveys": found})


async def _show(collector: Collector, call: Call) -> Reply:
    name, version = call.path["survey"], call.query.version
    named = [entry for entry in _visible(collector, call) if entry.survey.name == name]
    named.sort(key=lambda entry: -entry.survey.version)
    if version is not None:
        named = [entry for entry in named if entry.survey.version == version]
    else:
        named = [e for e in named if e.why_not(collector.today) is None] or named
    if not named:
        raise no_survey(name)
    entry = named[0]
    tag = f'"{entry.fingerprint}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if header(call.headers, b"if-none-match") == tag.encode():
        return Reply(status=304, headers=headers)
    return Reply(entry.published, headers=headers)


class Surveys(msgspec.Struct):
    """All surveys that can be answered now."""

    surveys: list[Listed]


OPERATIONS = (
    Operation(
        "GET",
        "/surveys",
        "listSurveys",
        "List the surveys that can be answered now.",
        _list,
        {200: ReplyKind("The surveys, the first published first.", {JSON: Surveys})},
        refusals={401: "A key is needed, and this is none."},
    ),
    Operation(
        "GET",
        "/surveys/{survey}",
        "showSurvey",
        "Return a published survey.",
        _show,
        {
            200: ReplyKind(
                "The survey, as it was published.",
                {JSON: dict[str, Any]},
                {"ETag": "The fingerprint, in quotation marks."},
            ),
            304: ReplyKind("The client has this survey already."),
        },
        query=SurveyQuery,
        refusals={401: "A key is needed, and this is none.", 404: "There is no such survey."},
        details="With If-None-Match, an unchanged survey is not sent again.",
    ),
)
