"""``murmurs count``: add up files of reports, columns of reports, or answers randomised already."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from murmurs.boundary.reading import named
from murmurs.boundary.texts import numbered
from murmurs.cli.columns import Columns, Outputs, column_options, for_each
from murmurs.cli.inputs import expanded, input_files
from murmurs.cli.output import (
    Command,
    as_json,
    chosen_question,
    existing_file,
    new_file,
    people_option,
    read_survey,
    say,
    tell,
    tell_segments,
)
from murmurs.cli.reported import counted_column
from murmurs.counts import People
from murmurs.files.counts import write_counts
from murmurs.files.pooled import pooled
from murmurs.files.reports import count_reports
from murmurs.files.segments import segment_name
from murmurs.survey.survey import Survey


@click.command("count", cls=Command)
@click.argument("survey", type=existing_file)
@click.argument("reports", type=input_files, nargs=-1, required=True, callback=expanded)
@click.option("-o", "--output", type=new_file, required=True, help="The file of counts to write.")
@people_option
@click.option(
    "--salvage",
    is_flag=True,
    help="If a file is cut off or damaged, count the reports before the damage.",
)
@click.option(
    "--question", "name", help="The question that a column answers, if the survey has several."
)
@column_options
@click.option(
    "--reported",
    is_flag=True,
    help="The values are labels that were randomised already, on paper or by telephone.",
)
@click.option("--drop-missing", is_flag=True, help="With --reported: leave missing answers out.")
@click.option(
    "--unknown",
    metavar="LABEL",
    multiple=True,
    help="With --reported: the label for answers that are not labels; NAME=LABEL if several "
    "questions are asked.",
)
@as_json
def command(
    survey: Path,
    reports: tuple[Path, ...],
    output: Path,
    people: People | None,
    salvage: bool,
    name: str | None,
    column: str | None,
    by: tuple[str, ...],
    file_format: Any,
    delimiter: str | None,
    no_header: bool,
    reported: bool,
    drop_missing: bool,
    unknown: tuple[str, ...],
    as_json: bool,
) -> None:
    """Count the REPORTS to one question of SURVEY.

    REPORTS are one or more files of reports (- for standard input), or CSV, TSV, Parquet or JSON
    lines files, of which --column has the reports: numbers, base64 text, binary, or their JSON
    form. A folder stands for all files in it, and 'day*.bin' for all that match. With --reported,
    the values are labels that were randomised already, one per line or in --column, and nothing is
    randomised; for questions asked together, in columns with their names.

    With --by REGION and -o counts.json, the counts of each region are written to a file of their
    own, such as counts-north.json; --by WEEK --by REGION writes counts-40-north.json.

    Several files of a longitudinal mechanism (a mechanism for repeated reports) need --people: the
    permanent noise of the same people does not average out.

    \b
    Example:
      murmurs count coffee.json reports.bin -o counts.json
    """
    contract = read_survey(survey)
    if not reported and (drop_missing or unknown):
        option = "--drop-missing" if drop_missing else "--unknown"
        raise ValueError(
            f"{option} is for labels that were randomised already: add --reported, or leave it out"
        )
    options = None
    if reported:
        label = for_each(chosen_question(contract, name), "--unknown", unknown)
        options = {"drop_missing": drop_missing, "unknown": label}
    columns = Columns(column, by, file_format, delimiter, no_header)
    if columns.asked or reported or any(columns.kind(path) != "text" for path in reports):
        if salvage:
            raise ValueError("--salvage is for files of reports that murmurs wrote: leave it out")
        outputs = Outputs(output, [survey, *reports], by)
        _count_columns(
            contract,
            reports,
            output,
            outputs,
            people,
            name,
            columns,
            reported=options,
            as_json=as_json,
        )
        return
    notes: list[str] = []
    question, counts = count_reports(
        reports, contract, notes.append if salvage else None, people=people
    )
    if name is not None and contract.asked(name) != question:
        raise ValueError(f"{named(reports[0])} answers {question.name!r}, not {name!r}")
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
    what = f"{numbered(counts.n, 'report')} to {question.name!r} counted; written to"
    tell(what, output, document, as_json=as_json)


def _count_columns(
    contract: Survey,
    files: tuple[Path, ...],
    output: Path,
    outputs: Outputs,
    people: People | None,
    name: str | None,
    columns: Columns,
    *,
    reported: dict[str, Any] | None,
    as_json: bool,
) -> None:
    """Count columns, in one file or by segment, and write one file of counts for each."""
    question = chosen_question(contract, name)
    found: dict[Any, list[Any]] = {}
    for path in files:
        for segment, counts in counted_column(path, question, columns, reported).items():
            found.setdefault(segment, []).append(counts)
    if not found:
        raise ValueError(f"there are no rows in {', '.join(named(path) for path in files)}")
    totals = {segment: pooled(parts, people) for segment, parts in found.items()}
    paths = {segment: outputs.path(segment) for segment in totals}
    for segment, total in totals.items():
        write_counts(paths[segment], contract, question, total)
    n = sum(total.n for total in totals.values())
    document = {"question": question.name, "n": n}
    what = f"{numbered(n, 'report')} to {question.name!r} counted; written to"
    if not columns.by:
        tell(what, output, document, as_json=as_json)
    else:
        numbers = {segment_name(segment): total.n for segment, total in totals.items()}
        tell_segments(what, output, numbers, document, as_json=as_json)
