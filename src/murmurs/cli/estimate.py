"""``murmurs estimate``: from counts to shares with intervals."""

from __future__ import annotations

from pathlib import Path

import click

from murmurs import estimators
from murmurs.cli.output import as_json, existing_file, print_json
from murmurs.files import read_counts
from murmurs.present.text import estimate_table, explanation


@click.command("estimate")
@click.argument("counts", type=existing_file)
@click.option(
    "--method", type=click.Choice(sorted(estimators.BY_NAME)), help="The default is chosen for you."
)
@as_json
def command(counts: Path, method: str | None, as_json: bool) -> None:
    """Estimate the shares of the answers from a file of COUNTS.

    \b
    Example:
      murmurs estimate counts.json
    """
    question, counted = read_counts(counts)
    estimator = estimators.estimate if method is None else estimators.BY_NAME[method]
    estimate = estimator(counted).with_labels(question.labels)
    if as_json:
        print_json({"question": question.name, **estimate.to_document()})
        return
    click.echo(f"{question.text or question.name}: {estimate.n} reports\n")
    click.echo(estimate_table(estimate))
    click.echo(explanation(estimate))
