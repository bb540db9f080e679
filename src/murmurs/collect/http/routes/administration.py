"""The routes of administration: surveys, tokens, retention and backup."""

from __future__ import annotations

import datetime
import logging
import secrets
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal

import msgspec

from murmurs.boundary.checks import shown
from murmurs.collect import tokens
from murmurs.collect.catalogue import Entry, date_of, day_of, why_unfit
from murmurs.collect.http.collector import Collector
from murmurs.collect.http.operations import Call, Operation, ReplyKind
from murmurs.collect.http.pools import Kind
from murmurs.collect.http.replies import JSON, Reply, json_reply
from murmurs.collect.http.routes.surveys import no_survey
from murmurs.collect.refusals import RefusedError, unavailable
from murmurs.collect.results.queries import Version
from murmurs.collect.results.wording import shown_sentence
from murmurs.collect.stores.store import StoreFullError, UnknownSurveyError
from murmurs.survey.survey import Survey

log = logging.getLogger("murmurs.collect")

BYTES = "application/octet-stream"

_PART = 2**20

CONTROL = r"\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069"
"""Characters that names do not have, beside those of which only halves are there."""

_PRINTED = {"pattern": rf"^[^{CONTROL}]*[^{CONTROL}\s][^{CONTROL}]*$"}
_IN_ADDRESSES = {"pattern": rf"^(?!\.{{1,2}}$)[^/{CONTROL}]*[^/{CONTROL}\s][^/{CONTROL}]*$"}

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200, extra_json_schema=_PRINTED)]
TokenName = Annotated[
    str, msgspec.Meta(min_length=1, max_length=200, extra_json_schema=_IN_ADDRESSES)
]


class Kept(msgspec.Struct):
    """One survey in the store."""

    name: str
    version: Version
    fingerprint: str
    state: Literal["open", "closed"]
    added: datetime.date
    reports: dict[str, int]
    """The number of reports to each question or joint."""


class AllKept(msgspec.Struct):
    """All surveys in the store."""

    surveys: list[Kept]


class Forgetting(msgspec.Struct, forbid_unknown_fields=True):
    """Which reports are deleted: those from before a day."""

    before: datetime.date


class Forgotten(msgspec.Struct):
    """How many reports were deleted."""

    forgotten: int


class NewToken(msgspec.Struct, forbid_unknown_fields=True):
    """The token that is wanted."""

    name: TokenName
    scope: Literal["read", "metrics", "admin", "submit"]
    surveys: Annotated[list[Name], msgspec.Meta(max_length=1000)] = []


class PublishedSurvey(msgspec.Struct):
    """A survey as `murmurs publish` writes it; here are the fields that each has."""

    name: TokenName
    version: Annotated[int, msgspec.Meta(ge=1, lt=2**53)]
    questions: Annotated[list[dict[str, Any]], msgspec.Meta(min_length=1)]


class TokenShown(msgspec.Struct):
    """A token, without the token itself."""

    name: str
    scope: Literal["read", "metrics", "admin", "submit"]
    surveys: list[str]


class MadeToken(TokenShown):
    """A token that was made, and its text, which is not kept."""

    token: str
    warnings: list[str]
    """What may be a mistake: surveys that the store does not have."""


class AllTokens(msgspec.Struct):
    """All tokens."""

    tokens: list[TokenShown]


def _entry(collector: Collector, call: Call) -> Entry:
    """Return the survey of an address, if it is there and the token is for it."""
    name, version = call.path["survey"], call.path["version"]
    entry = collector.catalogue.find(name, version)
    if entry is None or not tokens.covers(call.holder, name):
        raise no_survey(name)
    return entry


async def _refreshed(collector: Collector, kind: Kind, work: Any, *arguments: Any) -> Any:
    """Change the store in a thread of this kind, and read surveys and tokens again."""
    found = await collector.pools.run(kind, work, *arguments)
    await collector.pools.run("catalogue", collector.catalogue.refresh, collector.store)
    return found


def _kept(collector: Collector, entry: Entry) -> Kept:
    survey, fingerprint = entry.survey, entry.fingerprint
    reports = {
        asked.name: sum(collector.store.days(fingerprint, asked.name).values())
        for asked in survey.reported
    }
    state, added = entry.collection.state, date_of(entry.collection.first_day)
    return Kept(survey.name, survey.version, fingerprint, state, added, reports)


async def _list(collector: Collector, call: Call) -> Reply:
    entries = [
        entry
        for entry in collector.catalogue.by_fingerprint.values()
        if tokens.covers(call.holder, entry.survey.name)
    ]
    found = await collector.pools.run(
        "administration", lambda: [_kept(collector, entry) for entry in entries]
    )
    return json_reply(AllKept(found))


async def _create(collector: Collector, call: Call) -> Reply:
    try:
        survey = await collector.pools.run("administration", Survey.from_json, call.body)
    except (ValueError, TypeError, ArithmeticError, RecursionError) as error:
        raise RefusedError(400, "form", shown_sentence(str(error))) from None
    unfit = why_unfit(survey)
    if unfit is not None:
        raise RefusedError(400, "form", f"this survey cannot be served: {unfit}")
    there = collector.catalogue.find(survey.name, survey.version)
    if there is not None and there.fingerprint != survey.fingerprint:
        raise RefusedError(
            409,
            "version",
            f"survey {shown(survey.name)} has another version {survey.version} here already: give "
            "the changed survey a new version",
        )
    await _refreshed(collector, "administration", collector.store.publish, survey, collector.today)
    return await _shown(collector, survey.fingerprint, 200 if there else 201)


async def _close(collector: Collector, call: Call) -> Reply:
    return await _set_state(collector, call, "closed")


async def _reopen(collector: Collector, call: Call) -> Reply:
    return await _set_state(collector, call, "open")


async def _set_state(collector: Collector, call: Call, state: Literal["open", "closed"]) -> Reply:
    fingerprint = _entry(collector, call).fingerprint
    await _refreshed(collector, "administration", collector.store.set_state, fingerprint, state)
    return await _shown(collector, fingerprint)


async def _shown(collector: Collector, fingerprint: str, status: int = 200) -> Reply:
    entry = collector.catalogue.by_fingerprint.get(fingerprint)
    if entry is None:  # deleted a moment ago
        raise UnknownSurveyError(fingerprint)
    return json_reply(await collector.pools.run("administration", _kept, collector, entry), status)


async def _delete(collector: Collector, call: Call) -> Reply:
    await _refreshed(
        collector, "administration", collector.store.delete, _entry(collector, call).fingerprint
    )
    return Reply(status=204)


async def _forget(collector: Collector, call: Call) -> Reply:
    fingerprint = _entry(collector, call).fingerprint
    day = day_of(call.body.before)
    number = await collector.pools.run(
        "administration", collector.store.forget_reports, fingerprint, day
    )
    return json_reply(Forgotten(number))


async def _list_tokens(collector: Collector, call: Call) -> Reply:
    found = [TokenShown(t.name, t.scope, list(t.surveys)) for t in collector.catalogue.tokens]
    return json_reply(AllTokens(found))


async def _make_token(collector: Collector, call: Call) -> Reply:
    wanted: NewToken = call.body
    try:
        text, token = tokens.new_token(wanted.name, wanted.scope, tuple(wanted.surveys))
    except (ValueError, TypeError) as error:
        raise RefusedError(400, "form", shown_sentence(str(error))) from None
    try:
        await _refreshed(collector, "catalogue", collector.store.add_token, token)
    except ValueError as error:
        raise RefusedError(409, "name", shown_sentence(str(error))) from None
    known = [entry.survey.name for entry in collector.catalogue.by_fingerprint.values()]
    warnings = tokens.warnings_of(token.surveys, known)
    made = MadeToken(token.name, token.scope, list(token.surveys), text, warnings)
    return json_reply(made, 201)


async def _revoke(collector: Collector, call: Call) -> Reply:
    name = call.path["name"]
    if name not in {token.name for token in collector.catalogue.tokens}:
        raise RefusedError(404, "name", f"there is no token {shown(name)}")
    try:
        await _refreshed(collector, "catalogue", collector.store.revoke, name)
    except ValueError:  # revoked by somebody else a moment ago
        raise RefusedError(404, "name", f"there is no token {shown(name)}") from None
    return Reply(status=204)


async def _backup(collector: Collector, call: Call) -> Reply:
    path = Path(tempfile.gettempdir()) / f".murmurs-backup-{secrets.token_hex(8)}"
    try:
        await collector.pools.run("administration", collector.store.backup, path)
        file = path.open("rb")
    except (OSError, StoreFullError) as error:
        log.error("a backup could not be written: %s", error)
        reason = "there is no room for a copy among the temporary files of the collector"
        raise unavailable("full", reason) from None
    finally:
        path.unlink(missing_ok=True)  # it is read all the same, and ends with the process
    name = f"murmurs-{date_of(collector.today)}.backup"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Reply(_parts(file), media=BYTES, headers=headers)


def _parts(file: BinaryIO) -> Iterator[bytes]:
    """Return the parts of a file, and close it in the end."""
    with file:
        while part := file.read(_PART):
            yield part


_ONE = "/admin/surveys/{survey}/{version:version}"
_NO_SURVEY = {404: "There is no such survey, or the token is not for it."}

OPERATIONS = (
    Operation(
        "GET",
        "/admin/surveys",
        "listKeptSurveys",
        "List all surveys with their states and numbers of reports.",
        _list,
        {200: ReplyKind("The surveys that the token is for.", {JSON: AllKept})},
        needs="admin",
    ),
    Operation(
        "POST",
        "/admin/surveys",
        "createSurvey",
        "Add a published survey, open for submissions.",
        _create,
        {
            200: ReplyKind("It was there already.", {JSON: Kept}),
            201: ReplyKind("It was added.", {JSON: Kept}),
        },
        needs="admin",
        everything=True,
        body=bytes,
        shown_as=PublishedSurvey,
        refusals={409: "Another survey has this name and version."},
    ),
    Operation(
        "POST",
        f"{_ONE}/close",
        "closeSurvey",
        "Take no more submissions to a survey.",
        _close,
        {200: ReplyKind("It is closed.", {JSON: Kept})},
        needs="admin",
        refusals=_NO_SURVEY,
    ),
    Operation(
        "POST",
        f"{_ONE}/reopen",
        "reopenSurvey",
        "Take submissions to a survey again.",
        _reopen,
        {200: ReplyKind("It is open.", {JSON: Kept})},
        needs="admin",
        refusals=_NO_SURVEY,
    ),
    Operation(
        "DELETE",
        _ONE,
        "deleteSurvey",
        "Delete a survey and everything that was collected for it.",
        _delete,
        {204: ReplyKind("It is deleted.")},
        needs="admin",
        refusals=_NO_SURVEY,
    ),
    Operation(
        "POST",
        f"{_ONE}/forget",
        "forgetReports",
        "Delete the reports of a survey from before a day.",
        _forget,
        {200: ReplyKind("They are deleted.", {JSON: Forgotten})},
        needs="admin",
        body=Forgetting,
        refusals=_NO_SURVEY,
    ),
    Operation(
        "GET",
        "/admin/tokens",
        "listTokens",
        "List the tokens, without the tokens themselves.",
        _list_tokens,
        {200: ReplyKind("The tokens.", {JSON: AllTokens})},
        needs="admin",
        everything=True,
    ),
    Operation(
        "POST",
        "/admin/tokens",
        "createToken",
        "Make a token. It is in the answer, and nowhere else.",
        _make_token,
        {201: ReplyKind("The token was made; `warnings` name unknown surveys.", {JSON: MadeToken})},
        needs="admin",
        everything=True,
        body=NewToken,
        refusals={409: "There is a token of this name."},
    ),
    Operation(
        "DELETE",
        "/admin/tokens/{name}",
        "revokeToken",
        "Revoke a token.",
        _revoke,
        {204: ReplyKind("It is revoked.")},
        needs="admin",
        everything=True,
        refusals={404: "There is no such token."},
    ),
    Operation(
        "GET",
        "/admin/backup",
        "backup",
        "Return a complete copy of the store, as of this moment.",
        _backup,
        {200: ReplyKind("The file that `murmurs store restore` takes.", {BYTES: None})},
        needs="admin",
        everything=True,
    ),
)
