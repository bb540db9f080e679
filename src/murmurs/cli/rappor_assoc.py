"""``murmurs rappor assoc``: how two variables of google/rappor's reports go together."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import click

from murmurs.boundary.checks import shown
from murmurs.boundary.texts import listed, numbered
from murmurs.cli.options import (
    Command,
    FilePath,
    as_json,
    existing_file,
    flag,
    level_option,
    output,
    piped_file,
)
from murmurs.cli.output import Form
from murmurs.cli.suggestions import Choice
from murmurs.files.outputs import refuse_overwriting
from murmurs.mechanisms.longitudinal.rappor import Rappor
from murmurs.mechanisms.mechanism import Mechanism
from murmurs.mechanisms.products.closed import Product
from murmurs.mechanisms.settling import LEFT_OPEN
from murmurs.present.text import shares_table
from murmurs.rappor.association import AssociationTable, association_table, write_association
from murmurs.rappor.clients import CLIENTS, effective_f
from murmurs.rappor.maps import read_map
from murmurs.rappor.pairs import read_pairs
from murmurs.rappor.params import read_boolean_params, read_params
from murmurs.rappor.schema import Variable, read_schema

client_option = click.option(
    "--client",
    type=Choice(CLIENTS),
    help="Use f as this client rounds it, not as in the parameters.",
)


def as_client_rounds(rappor: Rappor, client: str | None) -> Rappor:
    """Return the parameters with f as a client really has it."""
    if client is None:
        return rappor
    return dataclasses.replace(rappor, f=effective_f(rappor.f, client), f_numerator=LEFT_OPEN)


@click.command("assoc", cls=Command)
@click.option("--metric-name", "metric", help="The metric, if the schema has several.")
@click.option(
    "--schema",
    type=existing_file,
    required=True,
    help="CSV with the columns metric, var, var_type (string or boolean) and params.",
)
@click.option(
    "--params-dir",
    type=FilePath(exists=True, file_okay=False),
    help="The directory of the files of parameters that the schema names, if it is another one.",
)
@click.option(
    "--reports",
    type=piped_file,
    required=True,
    help="CSV with the column cohort and a column of bits for each variable.",
)
@click.option("--var1", required=True, help="The name of the first variable.")
@click.option("--var2", required=True, help="The name of the second variable.")
@click.option(
    "--map1", type=existing_file, help="The map of the first variable, if it is a string."
)
@click.option("--map2", type=existing_file, help="The map of the second one, if it is a string.")
@flag(
    "--remove-bad-rows",
    "Leave out lines in which a value is empty, instead of refusing the file.",
)
@output("The CSV file of the table to write.", required=False)
@level_option
@client_option
@as_json
def assoc(
    metric: str | None,
    schema: Path,
    params_dir: Path | None,
    reports: Path,
    var1: str,
    var2: str,
    map1: Path | None,
    map2: Path | None,
    remove_bad_rows: bool,
    output: Path | None,
    level: float,
    client: str | None,
    form: Form,
) -> None:
    """Estimate the table of two variables from reports of both.

    A variable is a string, with a map of the strings to look for, or a boolean of one bit. Strings
    that are not detected are counted with all others. See docs/google-rappor.md.

    \b
    Example:
      murmurs rappor assoc --schema vars.csv --reports two.csv --var1 food --map1 map.csv --var2 raw
    """
    variables = read_schema(schema, metric, params_dir or schema.parent)
    if output is not None:
        named = [_variable(variables, name, schema).params for name in (var1, var2)]
        refuse_overwriting(named, [output])
    parts = [
        _mechanism(_variable(variables, name, schema), given, f"--map{number}", client)
        for number, name, given in ((1, var1, map1), (2, var2, map2))
    ]
    if var1 == var2:
        raise ValueError(f"--var1 and --var2 are both {shown(var1)}: name two variables")
    product = Product(tuple(parts))
    rows, left_out = read_pairs(reports, (var1, var2), product, remove_bad_rows=remove_bad_rows)
    found = association_table((var1, var2), product, rows, level)
    if output is not None:
        write_association(output, found, level)

    def text() -> str:
        estimate = found.estimate
        dropped = f", {numbered(left_out, 'line')} left out" if left_out else ""
        title = f"{numbered(estimate.n, 'report')} of {var1} and {var2}{dropped}"
        columns = {**estimate.columns(level), "answer": list(estimate.counts.mechanism.labels)}
        table = shares_table(columns, f"{100 * level:g} % interval")
        return f"{title}\n\n{table}\n\n{found.tested().sentence}\n{estimate.explanation}"

    form.show(json=lambda: _document(found, level, left_out), text=text)


def _variable(variables: dict[str, Variable], name: str, schema: Path) -> Variable:
    if name not in variables:
        raise ValueError(
            f"{schema} has no variable {shown(name)} of this metric: there are "
            f"{listed(tuple(variables))}"
        )
    return variables[name]


def _mechanism(
    variable: Variable, given: Path | None, option: str, client: str | None
) -> Mechanism[Any]:
    """Return the mechanism of a variable, over the strings of its map."""
    if not variable.params.is_file():
        raise ValueError(
            f"the parameters of {shown(variable.name)} are not there: {variable.params}"
        )
    if variable.kind == "boolean":
        if given is not None:
            raise ValueError(f"{option} is for strings, and {shown(variable.name)} is a boolean")
        flag = read_boolean_params(variable.params)
        return flag if client is None else dataclasses.replace(flag, f=effective_f(flag.f, client))
    if given is None:
        raise ValueError(f"{shown(variable.name)} is a string: give its map with {option}")
    return read_map(given, as_client_rounds(read_params(variable.params), client))


def _document(found: AssociationTable, level: float, left_out: int) -> dict[str, Any]:
    estimate = found.estimate
    names = [*reversed(found.names), "proportion", "low", "high"]
    return {
        "n": estimate.n,
        "left_out": left_out,
        "variables": list(found.names),
        "answers": [list(labels) for labels in found.labels],
        "candidates": list(found.candidates),
        "method": estimate.estimator,
        "iterations": estimate.iterations,
        "gap": estimate.gap,
        "converged": estimate.converged,
        "notes": list(estimate.notes),
        "test": found.tested().to_document(),
        "level": level,
        "table": [dict(zip(names, row, strict=True)) for row in found.rows(level)],
    }
