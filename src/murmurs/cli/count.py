"""``murmurs count``: add files of reports up."""

from __future__ import annotations

from pathlib import Path

import click

from murmurs.cli.output import as_json, existing_file, new_file, print_json, read_survey
from murmurs.files import read_reports, write_counts


@click.command("count")
@click.argument("survey", type=existing_file)
@click.argument("reports", type=existing_file, nargs=-1, required=True)
@click.option("-o", "--output", type=new_file, required=True, help="The file of counts to write.")
@as_json
def command(survey: Path, reports: tuple[Path, ...], output: Path, as_json: bool) -> None:
    """Add up one or more files of REPORTS to one question of SURVEY.

    \b
    Example:
      murmurs count coffee.json reports.bin -o counts.json
    """
    contract = read_survey(survey)
    question, _ = read_reports(reports[0], contract)
    counts = question.mechanism.count([])
    for path in reports:
        of, parts = read_reports(path, contract)
        if of.name != question.name:
            raise ValueError(
                f"{path} answers {of.name!r} and {reports[0]} {question.name!r}: count them apart"
            )
        counts += of.mechanism.count(parts)
    write_counts(output, contract, question, counts)
    if as_json:
        print_json({"question": question.name, "n": counts.n})
    else:
        click.echo(f"{counts.n} reports to {question.name!r} counted in {output}")
