"""The tables of the pages on the collector, made from its own declarations."""

from __future__ import annotations

import dataclasses
import inspect
import re
from typing import Any

from murmurs.collect.http.app import OPENAPI, OPERATIONS
from murmurs.collect.http.limits import Limits
from murmurs.collect.http.openapi import describe
from murmurs.collect.refusals import REASONS
from murmurs.estimators import BY_NAME

SCOPES = {"results": "read", "metrics": "metrics", "admin": "admin"}
"""The scope of the token that addresses which begin so need, as the page says in a sentence."""


def operations() -> str:
    """Return all operations and what they do."""
    document = describe((*OPERATIONS, OPENAPI))
    rows = []
    for path, methods in document["paths"].items():
        entries = list(methods.items())
        if "get" in methods and "post" in methods and path.startswith("/results/"):
            entries = [("get, post", methods["get"])]  # the same, with candidates in a body
        for method, entry in entries:
            first = path.removeprefix("/").partition("/")[0]
            assert entry.get("x-scope") == SCOPES.get(first), path
            rows.append([f"`{method.upper()} {path}`", entry["summary"]])
    return _table(["request", "what it does"], rows)


def parameters() -> str:
    """Return the parameters of the queries for results."""
    document = describe(OPERATIONS)
    found: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        if not path.startswith("/results/{survey}/{question}") or "get" not in methods:
            continue
        short = path.removeprefix("/results/{survey}/{question}") or "the shares"
        for parameter in methods["get"]["parameters"]:
            if parameter["in"] == "query":
                name = parameter["name"]
                values = _values(parameter["schema"])
                found.setdefault(name, [f"`{name}`", parameter["description"], values, ""])
                found[name][3] += f"{', ' if found[name][3] else ''}{short}"
    rows = []
    for name, meaning, values, where in found.values():
        everywhere = where == "the shares, /trend, /compare"
        told = f"{meaning.removesuffix('.')}: {values}." if values else meaning
        rows.append([name, told if everywhere else f"Of {where}: {told[0].lower()}{told[1:]}"])
    return _table(["parameter", "meaning"], rows)


def _values(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in sorted(schema["enum"]))
    if "pattern" in schema:
        named = schema["pattern"].strip("^$()").split("|")
        assert set(BY_NAME) <= set(named), named
        return "see [estimators](estimators/index.md)"
    if schema.get("format") == "date":
        return "`2027-03-31`"
    if schema["type"] in ("number", "integer") and "maximum" in schema:
        return f"{schema['minimum']:g} to {schema['maximum']:g}"
    return "`true`, `false`" if schema["type"] == "boolean" else ""


def reasons() -> str:
    """Return the words of refusals."""
    return _table(["`error`", "meaning"], [[f"`{word}`", told] for word, told in REASONS.items()])


def limits() -> str:
    """Return the limits with their defaults, and those of requests with a token."""
    source = inspect.getsource(Limits)
    defaults = {field.name: _shown(field.default) for field in dataclasses.fields(Limits)}
    rows = []
    for name, shown in defaults.items():
        if name.startswith("token_"):
            continue
        told = re.search(rf'    {name}: [^\n]*\n    """(.*?)"""', source, re.DOTALL)
        assert told is not None, name
        larger = defaults.get(f"token_{name}")
        default = f"{shown}; `token_{name}` {larger}" if larger else shown
        rows.append([f"`{name}`", default, " ".join(told[1].split())])
    return _table(["limit", "default", "of what"], rows)


def _shown(value: Any) -> str:
    if isinstance(value, int) and value >= 2**20 and value % 2**20 == 0:
        return f"{value // 2**20} MiB"
    return "none" if value is None else f"{value:,}".removesuffix(".0")


def _table(heads: list[str], rows: list[list[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


TABLES = {
    "operations": operations,
    "parameters": parameters,
    "reasons": reasons,
    "limits": limits,
}
