"""Schemas: which variables a metric has, of which type, with which file of parameters."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from murmurs.boundary.checks import shown
from murmurs.boundary.reading import named, refuse, rows
from murmurs.boundary.texts import listed

COLUMNS = ("metric", "var", "var_type", "params")
TYPES = ("string", "boolean")


class Variable(NamedTuple):
    """A variable of a metric: a string in a Bloom filter, or a boolean as a single bit."""

    name: str
    kind: str
    params: Path


def read_schema(path: Path, metric: str | None, params_dir: Path) -> dict[str, Variable]:
    """Return the variables of a metric by their names; None is the only metric of the schema.

    A schema is CSV with the columns metric, var, var_type and params. The parameters are in the
    file of that name, with .csv, in the directory of parameters.
    """
    found = rows(path)
    _, header = next(found, (1, []))
    names = [name.strip() for name in header]
    if not set(COLUMNS) <= set(names) or len(set(names)) != len(names):
        refuse(path, 1, f"the header must have {', '.join(COLUMNS)}, not {shown(','.join(header))}")
    lines: list[tuple[int, dict[str, str]]] = []
    for line, cells in found:
        if len(cells) != len(names):
            refuse(path, line, f"there are {len(cells)} values under {len(names)} columns")
        lines.append((line, {n: cell.strip() for n, cell in zip(names, cells, strict=True)}))
    metrics = tuple(dict.fromkeys(values["metric"] for _, values in lines))
    if metric is None and len(metrics) > 1:
        raise ValueError(f"{named(path)} has several metrics, {listed(metrics)}: name one of them")
    if metric is not None and metric not in metrics:
        there = f"it has {listed(metrics)}" if metrics else "it is empty"
        raise ValueError(f"{named(path)} has no metric {shown(metric)}: {there}")
    variables: dict[str, Variable] = {}
    for line, values in lines:
        if metric not in (None, values["metric"]):
            continue
        name, kind = values["var"], values["var_type"]
        if kind not in TYPES:
            refuse(path, line, f"var_type must be string or boolean, not {shown(kind)}")
        if name in variables:
            refuse(path, line, f"the variable {shown(name)} of this metric is listed twice")
        if not values["params"] or Path(values["params"]).name != values["params"]:
            refuse(path, line, f"params must be the name of a file, not {shown(values['params'])}")
        variables[name] = Variable(name, kind, params_dir / f"{values['params']}.csv")
    return variables
