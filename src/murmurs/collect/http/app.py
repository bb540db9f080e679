"""The application: all routes with their declarations, CORS, and what they share."""

from __future__ import annotations

import functools
from typing import Any

from starlette.applications import Starlette
from starlette.convertors import Convertor, register_url_convertor
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from murmurs.collect.http.collector import Collector
from murmurs.collect.http.openapi import describe
from murmurs.collect.http.operations import Call, Endpoint, Operation, ReplyKind
from murmurs.collect.http.replies import JSON, STRICT, Reply, json_reply, refused
from murmurs.collect.http.routes import administration, monitoring, results, submissions, surveys
from murmurs.collect.refusals import RefusedError

OPERATIONS: tuple[Operation, ...] = (
    submissions.SUBMIT,
    *surveys.OPERATIONS,
    *monitoring.OPERATIONS,
    *results.OPERATIONS,
    *administration.OPERATIONS,
)
"""All operations; the OpenAPI document is made from them."""


@functools.cache
def _document() -> Reply:
    """Return the OpenAPI document; making it takes time, and it is always the same."""
    return json_reply(describe((*OPERATIONS, OPENAPI)))


async def _openapi(collector: Collector, call: Call) -> Reply:
    return _document()


OPENAPI = Operation(
    "GET",
    "/openapi.json",
    "openapi",
    "Return this document.",
    _openapi,
    {200: ReplyKind("The OpenAPI document.", {JSON: dict[str, Any]})},
)


class VersionPart(Convertor[int]):
    """The part of a path that is a version: with more digits, there is nothing at the address."""

    regex = "[0-9]{1,16}"

    def convert(self, value: str) -> int:
        """Return the number."""
        return int(value)

    def to_string(self, value: int) -> str:
        """Return the part of a path."""
        return str(value)


register_url_convertor("version", VersionPart())


class StrictCORS(CORSMiddleware):
    """CORS whose own answers have the same headers as all others."""

    def preflight_response(self, request_headers: Headers) -> Response:
        """ReplyKind the question of a browser whether it may send a request."""
        response = super().preflight_response(request_headers)
        for name, value in STRICT:
            response.headers[name.decode()] = value.decode()
        return response


class Path:
    """One path: hands a request to the operation of its method."""

    def __init__(self, endpoints: dict[str, Endpoint]) -> None:
        self._endpoints = endpoints
        self._allowed = ", ".join(endpoints)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ReplyKind the request, or say which methods there are."""
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        endpoint = self._endpoints.get(method)
        if endpoint is not None:
            await endpoint(scope, receive, send)
            return
        refusal = RefusedError(
            405,
            "method",
            f"this address takes {self._allowed}",
            headers={"Allow": self._allowed},
        )
        await refused(refusal).send(send)


def make_app(collector: Collector) -> Starlette:
    """Return the application that answers for a collector."""
    paths: dict[str, dict[str, Endpoint]] = {}
    for operation in (*OPERATIONS, OPENAPI):
        endpoint = Endpoint(operation, collector)
        if operation is submissions.SUBMIT:
            endpoint = submissions.SubmitEndpoint(collector)
        paths.setdefault(operation.path, {})[operation.method] = endpoint
    routes = [Route(path, Path(endpoints)) for path, endpoints in paths.items()]
    app = Starlette(routes=routes, middleware=_middleware(collector))
    app.router.redirect_slashes = False
    app.add_exception_handler(HTTPException, _not_found)
    return app


def _middleware(collector: Collector) -> list[Middleware]:
    origins = collector.settings.origins
    if not origins:
        return []
    return [
        Middleware(
            StrictCORS,
            allow_origins=origins,
            allow_methods=("GET", "POST", "DELETE"),
            allow_headers=("Authorization", "Content-Type", "If-None-Match"),
            expose_headers=("ETag", "Retry-After"),
            max_age=86_400,
        )
    ]


async def _not_found(request: Request, error: Exception) -> Response:
    reason = "there is nothing at this address: /openapi.json lists what there is"
    document = {"error": "address", "reason": reason}
    reply = json_reply(document, 404)
    headers = {name.decode(): value.decode() for name, value in STRICT}
    assert isinstance(reply.body, bytes)
    return Response(reply.body, 404, {**headers, "cache-control": "no-store"}, JSON)
