"""``murmurs count``: add up files of reports."""

from __future__ import annotations

from pathlib import Path

import click

from murmurs.boundary.reading import named
from murmurs.cli.output import (
    Command,
    as_json,
    existing_file,
    new_file,
    people_option,
    piped_file,
    read_survey,
    say,
    tell,
)
from murmurs.counts import People
from murmurs.files.counts import write_counts
from murmurs.files.reports import count_reports


@click.command("count", cls=Command)
@click.argument("survey", type=existing_file)
@click.argument("reports", type=piped_file, nargs=-1, required=True)
@click.option("-o", "--output", type=new_file, required=True, help="The file of counts to write.")
@people_option
@click.option(
    "--salvage",
    is_flag=True,
    help="If a file is cut off or damaged, count the reports before the damage.",
)
@as_json
def command(
    survey: Path,
    reports: tuple[Path, ...],
    output: Path,
    people: People | None,
    salvage: bool,
    as_json: bool,
) -> None:
    """Count the REPORTS to one question of SURVEY.

    REPORTS are one or more files of reports (- for standard input).

    Several files of a longitudinal mechanism (a mechanism for repeated reports) need --people: the
    permanent noise of the same people does not average out.

    \b
    Example:
      murmurs count coffee.json reports.bin -o counts.json
    """
    contract = read_survey(survey)
    notes: list[str] = []
    question, counts = count_reports(
        reports, contract, notes.append if salvage else None, people=people
    )
    if notes and counts.n == 0:
        names = ", ".join(named(path) for path in reports)
        raise ValueError(
            f"nothing can be salvaged from {names}: no block of reports is intact; copy or encode "
            "it again"
        )
    write_counts(output, contract, question, counts)
    for note in notes:
        say(note, err=True)
    document = {"question": question.name, "n": counts.n, **({"notes": notes} if salvage else {})}
    what = f"{counts.n} reports to {question.name!r} counted; written to"
    tell(what, output, document, as_json=as_json)
