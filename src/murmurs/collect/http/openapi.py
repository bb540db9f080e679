"""The OpenAPI document, made from the declarations of the operations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from murmurs.collect.http.operations import Operation
from murmurs.collect.http.replies import JSON
from murmurs.submission import BINARY_TYPE

_TEMPLATE = "#/components/schemas/{name}"

_PATH_PART = {
    "survey": "The name of a survey.",
    "question": "The name of a question, or of a joint of questions.",
    "name": "The name of a token.",
    "version": "The version of a survey.",
}


class Problem(msgspec.Struct, omit_defaults=True):
    """Why a request was refused: a word for programs, and a sentence for people."""

    error: str
    reason: str
    submission: int | None = None


COMMON = {
    400: "The request is not written as it should be.",
    401: "There is no valid token.",
    403: "The token does not allow this.",
    408: "The body did not arrive in time.",
    413: "The request is too large.",
    415: "The media type of the body is another one.",
    500: "The collector failed.",
    503: "The collector is busy, or its store takes nothing at the moment.",
}


def describe(operations: Sequence[Operation]) -> dict[str, Any]:
    """Return the document that describes these operations."""
    schemas, components = _schemas(operations)
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        entry = _operation(operation, schemas)
        paths.setdefault(_plain(operation.path), {})[operation.method.lower()] = entry
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "murmurs collector",
            "version": "1",
            "description": "Takes private reports, and answers with estimates.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _plain(path: str) -> str:
    """Return a path without the types of its parts.

    >>> _plain("/admin/surveys/{survey}/{version:version}")
    '/admin/surveys/{survey}/{version}'
    """
    return re.sub(r":\w+}", "}", path)


def _types(operation: Operation) -> list[Any]:
    found = [kind for answer in operation.answers.values() for kind in answer.media.values()]
    if operation.body is not None:
        found.append(operation.shown_as or operation.body)
    return [*found, operation.query, Problem]


def _schemas(operations: Sequence[Operation]) -> tuple[dict[Any, Any], dict[str, Any]]:
    """Return the schema of each type, and the schemas that these refer to."""
    kinds: list[Any] = []
    for operation in operations:
        kinds += [kind for kind in _types(operation) if kind not in kinds]
    found, components = msgspec.json.schema_components(kinds, ref_template=_TEMPLATE)
    return {str(kind): schema for kind, schema in zip(kinds, found, strict=True)}, components


def _operation(operation: Operation, schemas: dict[Any, Any]) -> dict[str, Any]:
    document: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": [*_path_parameters(operation), *_query_parameters(operation)],
        "responses": _responses(operation, schemas),
    }
    if operation.details:
        document["description"] = operation.details
    if operation.needs is not None:
        document["security"] = [{"token": []}]
        document["x-scope"] = operation.needs
    if operation.body is not None:
        content = {}
        for media in operation.media:
            shown = schemas[str(operation.shown_as or operation.body)]
            content[media] = {} if media == BINARY_TYPE else {"schema": shown}
        document["requestBody"] = {"required": True, "content": content}
    return document


def _path_parameters(operation: Operation) -> list[dict[str, Any]]:
    found = []
    for name, kind in re.findall(r"{(\w+)(?::(\w+))?}", operation.path):
        schema: dict[str, Any] = {"type": "string", "pattern": "^[^/]+$"}
        if kind == "version":
            schema = {"type": "integer", "minimum": 1, "maximum": 2**53 - 1}
        found.append(
            {
                "name": name,
                "in": "path",
                "required": True,
                "description": _PATH_PART[name],
                "schema": schema,
            }
        )
    return found


def _query_parameters(operation: Operation) -> list[dict[str, Any]]:
    _, components = msgspec.json.schema_components([operation.query], ref_template=_TEMPLATE)
    schema = components[operation.query.__name__]
    found = []
    for name, own in schema["properties"].items():
        plain = _without_null(own)
        parameter = {"name": name, "in": "query", "required": name in schema.get("required", [])}
        parameter["description"] = plain.pop("description")
        found.append({**parameter, "schema": plain})
    return found


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a parameter that may be left out, which is then not null but absent."""
    kept = {key: value for key, value in schema.items() if key not in ("default", "anyOf")}
    if "anyOf" not in schema:
        return kept
    [only] = [option for option in schema["anyOf"] if option != {"type": "null"}]
    return {**only, **kept}


def _responses(operation: Operation, schemas: dict[Any, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for status, answer in operation.answers.items():
        entry: dict[str, Any] = {"description": answer.meaning}
        if answer.media:
            entry["content"] = {
                media: {} if kind is None else {"schema": schemas[str(kind)]}
                for media, kind in answer.media.items()
            }
        if answer.headers:
            entry["headers"] = {
                name: {"description": meaning, "schema": {"type": "string"}}
                for name, meaning in answer.headers.items()
            }
        found[str(status)] = entry
    problem = {"content": {JSON: {"schema": schemas[str(Problem)]}}}
    for status, meaning in sorted({**_usual(operation), **operation.refusals}.items()):
        found[str(status)] = {"description": meaning, **problem}
    return found


def _usual(operation: Operation) -> dict[int, str]:
    """Return the refusals that follow from what an operation takes."""
    statuses = [400, 503]
    if operation.needs is not None or operation.path == "/submissions":
        statuses += [401, 403]
    if operation.body is not None:
        statuses += [408, 413, 415]
    return {status: COMMON[status] for status in statuses}
