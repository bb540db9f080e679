"""``murmurs count``: add files of reports up."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from murmurs.cli.output import as_json, existing_file, new_file, print_json, read_survey
from murmurs.counts import Counts, pool
from murmurs.files import read_reports, write_counts


@click.command("count")
@click.argument("survey", type=existing_file)
@click.argument("reports", type=existing_file, nargs=-1, required=True)
@click.option("-o", "--output", type=new_file, required=True, help="The file of counts to write.")
@click.option(
    "--people",
    type=click.Choice(["other", "same"]),
    help="Whether each file has reports of other people, or of the same people again.",
)
@as_json
def command(
    survey: Path,
    reports: tuple[Path, ...],
    output: Path,
    people: Literal["other", "same"] | None,
    as_json: bool,
) -> None:
    """Add up one or more files of REPORTS to one question of SURVEY.

    Several files of a longitudinal mechanism need --people: permanent noise of the same people
    does not average out.

    \b
    Example:
      murmurs count coffee.json reports.bin -o counts.json
    """
    contract = read_survey(survey)
    question, _ = read_reports(reports[0], contract)
    counted: list[Counts] = []
    for path in reports:
        of, parts = read_reports(path, contract)
        if of.name != question.name:
            raise ValueError(
                f"{path} answers {of.name!r} and {reports[0]} {question.name!r}: count them apart"
            )
        counted.append(of.mechanism.count(parts))
    if len(counted) > 1 and people is None and question.mechanism.is_longitudinal:
        raise ValueError(
            f"{len(reports)} files of {question.mechanism} may be of the same people: add --people "
            "other if each has other people's reports, --people same if those of the same people"
        )
    counts = pool(counted, people=people or "other")
    write_counts(output, contract, question, counts)
    if as_json:
        print_json({"question": question.name, "n": counts.n})
    else:
        click.echo(f"{counts.n} reports to {question.name!r} counted in {output}")
