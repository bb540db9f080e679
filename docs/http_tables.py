"""The tables of the pages on the collector, made from its own declarations."""

from __future__ import annotations

import dataclasses
import inspect
import re
from typing import Any

from murmurs.collect.http.app import OPENAPI, OPERATIONS
from murmurs.collect.http.limits import Limits
from murmurs.collect.http.openapi import describe
from murmurs.collect.metrics import COUNTERS, GAUGES, SECONDS
from murmurs.collect.refusals import REASONS
from murmurs.estimators import BY_NAME


def operations() -> str:
    """Return all operations: what they do, and the scope of the token that they need."""
    document = describe((*OPERATIONS, OPENAPI))
    rows = []
    for path, methods in document["paths"].items():
        entries = list(methods.items())
        if "get" in methods and "post" in methods and path.startswith("/results/"):
            entries = [("get, post", methods["get"])]  # the same, with candidates in a body
        for method, entry in entries:
            needs = f"`{entry['x-scope']}`" if "x-scope" in entry else "–"
            rows.append([f"`{method.upper()} {path}`", entry["summary"], needs])
    return _table(["request", "what it does", "token"], rows)


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
        rows.append([name, meaning, values, "" if everywhere else where])
    return _table(["parameter", "meaning", "values", "only of"], rows)


def _values(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in sorted(schema["enum"]))
    if "pattern" in schema:
        named = schema["pattern"].strip("^$()").split("|")
        assert set(BY_NAME) <= set(named), named
        return "an [estimator](estimators/index.md)"
    if schema.get("format") == "date":
        return "a date: `2027-03-31`"
    if schema["type"] in ("number", "integer") and "maximum" in schema:
        return f"{schema['minimum']:g} to {schema['maximum']:g}"
    kinds = {"string": "text", "integer": "a whole number", "boolean": "`true`, `false`"}
    return kinds.get(schema["type"], "texts")


def reasons() -> str:
    """Return the words of refusals."""
    return _table(["`error`", "meaning"], [[f"`{word}`", told] for word, told in REASONS.items()])


def metrics() -> str:
    """Return the metrics."""
    rows = [[f"`{name}`", told] for name, told in (COUNTERS | GAUGES).items()]
    rows.append([f"`{SECONDS}`", "A histogram of the seconds that requests took, by route."])
    return _table(["metric", "meaning"], rows)


def limits() -> str:
    """Return the limits with their defaults."""
    source = inspect.getsource(Limits)
    rows = []
    for field in dataclasses.fields(Limits):
        told = re.search(rf'    {field.name}: [^\n]*\n    """(.*?)"""', source, re.DOTALL)
        assert told is not None, field.name
        value: Any = field.default
        if isinstance(value, int) and value >= 2**20 and value % 2**20 == 0:
            shown = f"{value // 2**20} MiB"
        else:
            shown = "none" if value is None else f"{value:,}".removesuffix(".0")
        rows.append([f"`{field.name}`", shown, " ".join(told[1].split())])
    return _table(["limit", "default", "of what"], rows)


def _table(heads: list[str], rows: list[list[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


TABLES = {
    "operations": operations,
    "parameters": parameters,
    "reasons": reasons,
    "metrics": metrics,
    "limits": limits,
}
