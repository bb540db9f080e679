"""Operations: the declarations of the routes, which answer requests and make the OpenAPI document.

An operation says what it takes and what it answers, as types of msgspec. The query and the body of
a request are read with these types, so that the document, which is made from them too, is true.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import re
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, get_args
from urllib.parse import parse_qsl

import msgspec
from starlette.types import Receive, Scope, Send

from murmurs.boundary.checks import shown
from murmurs.collect import tokens
from murmurs.collect.http.bodies import ClientGoneError, announced, header, read_body
from murmurs.collect.http.limits import JSON_WEIGHT, Room
from murmurs.collect.http.replies import JSON, Reply, refused
from murmurs.collect.refusals import RefusedError
from murmurs.collect.stores.store import StoreError, Token, UnknownSurveyError

if TYPE_CHECKING:
    from murmurs.collect.http.collector import Collector

log = logging.getLogger("murmurs.collect")

Done = TypeVar("Done")


class Nothing(msgspec.Struct, forbid_unknown_fields=True):
    """A query without parameters."""


@dataclass(frozen=True)
class ReplyKind:
    """One kind of answer: what it means, and its type by media type (None: any bytes)."""

    meaning: str
    media: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Call:
    """A request that was read: parts of the path, query, body, and whose token it had."""

    path: Mapping[str, Any]
    query: Any
    body: Any
    token: Token | None
    headers: list[tuple[bytes, bytes]]
    receive: Receive

    async def unless_gone(
        self, work: Coroutine[Any, Any, Done], stop: Callable[[], None] = lambda: None
    ) -> Done:
        """Do some work as long as the client is there; when it hangs up, call ``stop``.

        The work is not cut short: it is told to end, and ends where it can.
        """
        doing, gone = asyncio.create_task(work), asyncio.create_task(self._gone())
        await asyncio.wait({doing, gone}, return_when=asyncio.FIRST_COMPLETED)
        if doing.done():
            gone.cancel()
            return doing.result()
        stop()
        _ENDING.add(doing)
        doing.add_done_callback(_ended)
        raise ClientGoneError

    async def _gone(self) -> None:
        while (await self.receive())["type"] != "http.disconnect":
            pass

    @property
    def holder(self) -> Token:
        """The token, of an operation that needs one."""
        assert self.token is not None
        return self.token


_ENDING: set[asyncio.Task[Any]] = set()
"""Work that was told to end, as its client hung up."""


def _ended(work: asyncio.Task[Any]) -> None:
    _ENDING.discard(work)
    if not work.cancelled():
        work.exception()  # nobody is told of it


Handle = Callable[["Collector", Call], Awaitable[Reply]]


@dataclass(frozen=True)
class Operation:
    """One method of one path.

    ``needs`` is the scope of the token that it needs, if any. ``query`` and ``body`` are the types
    of what it takes. ``refusals`` are statuses and what they mean, besides those that follow from
    the rest: 400, 401, 403, 408, 413, 415 and 503.
    """

    method: str
    path: str
    name: str
    summary: str
    handle: Handle | None
    """What answers it; None if it has an endpoint of its own."""
    answers: Mapping[int, ReplyKind]
    needs: tokens.Scope | None = None
    everything: bool = False
    """Whether the token must be for all surveys."""
    query: type[msgspec.Struct] = Nothing
    body: Any = None
    media: tuple[str, ...] = (JSON,)
    shown_as: Any = None
    """The type that the document has for a body which is read as bytes."""
    refusals: Mapping[int, str] = field(default_factory=dict)
    details: str = ""


class Endpoint:
    """Answers the requests to one operation."""

    def __init__(self, operation: Operation, collector: Collector) -> None:
        self.operation, self.collector = operation, collector

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ReplyKind a request, or refuse it with the reason."""
        began = time.perf_counter()
        try:
            reply = await self.answer(scope, receive)
        except ClientGoneError:
            return
        except RefusedError as refusal:
            reply = self.refused(refusal)
        except StoreError as error:
            reply = self.refused(self.collector.trouble(error))
        except UnknownSurveyError:  # deleted a moment ago
            reply = self.refused(RefusedError(404, "survey", "there is no such survey here"))
        except Exception:
            log.exception("an error in %s", self.operation.name)
            reply = self.refused(
                RefusedError(500, "error", "the collector failed; its log says why")
            )
        await reply.send(send)
        self.finished(reply.status, began)

    def refused(self, refusal: RefusedError) -> Reply:
        """Count a refusal, and return the reply that tells it."""
        self.collector.metrics.count("murmurs_refusals_total", reason=refusal.error)
        return refused(refusal)

    def finished(self, status: int, began: float) -> None:
        """Note that a request was answered, and how long it took."""
        metrics, path = self.collector.metrics, self.operation.path
        metrics.count("murmurs_requests_total", route=path, status=str(status))
        metrics.observe(path, time.perf_counter() - began)

    async def answer(self, scope: Scope, receive: Receive) -> Reply:
        """Read the request, and let the operation answer it."""
        operation, headers = self.operation, scope["headers"]
        token = self.holder(headers)
        query = _query(scope["query_string"], operation.query)
        length, body = announced(headers), None
        with Room(self.collector.memory) as room:
            if operation.body is None:
                _refuse_body(headers, length)
            else:
                _check_media(headers, operation.media)
                limits = self.collector.limits
                raw = await read_body(receive, length, limits.document, limits.body_seconds, room)
                room.take(len(raw) * (JSON_WEIGHT - 1))
                body = raw if operation.body is bytes else _decoded(raw, operation.body)
            path = scope.get("path_params", {})
            assert operation.handle is not None
            return await operation.handle(
                self.collector, Call(path, query, body, token, headers, receive)
            )

    def holder(self, headers: list[tuple[bytes, bytes]]) -> Token | None:
        """Return the token of a request that needs one; refuse it without a valid one."""
        needs = self.operation.needs
        if needs is None:
            return None
        token = self.collector.holder(headers)
        if token is None:
            raise tokens.unknown()
        if not tokens.allows(token, needs):
            raise tokens.not_allowed(needs)
        if self.operation.everything and not tokens.covers(token, None):
            raise tokens.not_for_all()
        return token


def _refuse_body(headers: list[tuple[bytes, bytes]], length: int | None) -> None:
    if length or header(headers, b"transfer-encoding") is not None:
        raise RefusedError(400, "form", "this request takes no body")


def _check_media(headers: list[tuple[bytes, bytes]], known: tuple[str, ...]) -> str:
    """Return the media type of a body, if it is one of those that are known."""
    media = media_type(headers)
    if media not in known:
        raise RefusedError(
            415, "media", f"the body must be {' or '.join(known)}, and Content-Type must say so"
        )
    return media


def media_type(headers: list[tuple[bytes, bytes]]) -> str:
    """Return the media type of a body without its parameters; refuse compressed bodies."""
    encoding = header(headers, b"content-encoding")
    if encoding is not None and encoding.lower() != b"identity":
        raise RefusedError(415, "media", "the body must not be compressed")
    found = header(headers, b"content-type") or b""
    return found.partition(b";")[0].strip().lower().decode("latin-1")


_NO_DATE = "Invalid RFC3339 encoded date"
"""What msgspec says of a date that it cannot read."""

_UNLISTED = re.compile(r"Invalid enum value '(.*)' - at `\$\.(\w+)`", re.DOTALL)
"""What msgspec says of a value that is not in a field's list."""


def _choices(kind: Any) -> list[str]:
    """Return the texts that a field of a query may be.

    >>> from typing import Literal
    >>> _choices(Literal["day", "week"] | None)
    ['day', 'week']
    """
    if isinstance(kind, str):
        return [kind]
    return [choice for part in get_args(kind) for choice in _choices(part)]


def _query(text: bytes, kind: type[msgspec.Struct]) -> msgspec.Struct:
    """Return the query of a request as its type says; refuse what it does not know."""
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    found: dict[str, Any] = {}
    try:
        pairs = parse_qsl(
            text.decode("ascii"), keep_blank_values=True, strict_parsing=bool(text), errors="strict"
        )
    except ValueError:
        raise RefusedError(
            400, "query", "the query is not written as name=value&name=value"
        ) from None
    for name, value in pairs:
        if name not in fields:
            known = ", ".join(fields) or "none"
            raise RefusedError(
                400, "query", f"there is no parameter {shown(name)}; there are: {known}"
            )
        if name in MANY:
            found.setdefault(name, []).append(value)
        elif name in found:
            raise RefusedError(400, "query", f"the parameter {name!r} is there twice")
        else:
            found[name] = value
    try:
        return _given(msgspec.convert(found, kind, strict=False), found, fields)
    except (msgspec.ValidationError, ValueError) as error:
        said = str(error).replace(_NO_DATE, "a date is written as 2027-03-31")
        if unlisted := _UNLISTED.fullmatch(said):
            value, name = unlisted.groups()
            choices = ", ".join(_choices(fields[name].type))
            raise RefusedError(
                400, "query", f"{name} is {shown(value)}; it may be: {choices}"
            ) from None
        raise RefusedError(
            400, "query", f"the query is not accepted: {said}; /openapi.json has what is"
        ) from None


def _given(
    query: msgspec.Struct, found: Mapping[str, Any], fields: Mapping[str, Any]
) -> msgspec.Struct:
    """Return a query without a value that was read as none, as msgspec reads "null" in a text."""
    for name, value in found.items():
        field = fields[name]
        if getattr(query, field.name) is not None:
            continue
        if name in _texts(type(query)):
            setattr(query, field.name, value)  # a segment may be called so
            continue
        raise ValueError(
            f"{value!r} is no value of {name!r}: leave the parameter out for its default"
        )
    return query


@functools.cache
def _texts(kind: type[msgspec.Struct]) -> frozenset[str]:
    """Return the parameters that may be any text."""
    described: Any = msgspec.inspect.type_info(kind)
    return frozenset(field.encode_name for field in described.fields if _is_text(field.type))


def _is_text(found: Any) -> bool:
    if isinstance(found, msgspec.inspect.Metadata):
        return _is_text(found.type)
    if isinstance(found, msgspec.inspect.UnionType):
        return any(map(_is_text, found.types))
    return isinstance(found, msgspec.inspect.StrType) and found.pattern is None


MANY = frozenset({"candidates", "statistic"})
"""Parameters of a query that may be given several times."""


def _decoded(raw: bytes, kind: Any) -> Any:
    try:
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise RefusedError(400, "form", f"the body is not accepted: {error}") from None
