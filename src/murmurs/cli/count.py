"""``murmurs count``: add up files of reports, columns of reports, or answers randomised already."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from murmurs.boundary.reading import named
from murmurs.boundary.texts import numbered
from murmurs.cli.counting import Engine, count_with_engine, engine_options
from murmurs.cli.options import (
    Command,
    as_json,
    chosen_question,
    column_options,
    counts_output,
    existing_file,
    flag,
    for_each,
    input_sources,
    people_option,
)
from murmurs.cli.output import Form, say
from murmurs.counts import People
from murmurs.files.counts import write_counts
from murmurs.files.outputs import Outputs
from murmurs.files.reported import count_files, options_reported
from murmurs.files.reports import count_reports
from murmurs.files.selection import Columns
from murmurs.files.surveys import read_survey


@click.command("count", cls=Command)
@click.argument("survey", type=existing_file)
@input_sources("reports", required=True)
@counts_output
@engine_options
@people_option
@flag("--salvage", "If a file is cut off or damaged, count the reports before the damage.")
@click.option(
    "--question",
    "names",
    metavar="NAME",
    multiple=True,
    help="The question, if the survey has several; with --engine, one or several of them.",
)
@column_options()
@flag("--reported", "The values are labels that were randomised already, on paper or by telephone.")
@flag("--drop-missing", "With --reported: leave missing answers out.")
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
    reports: tuple[Any, ...],
    output: Path,
    engine: Engine | None,
    people: People | None,
    salvage: bool,
    names: tuple[str, ...],
    columns: Columns,
    reported: bool,
    drop_missing: bool,
    unknown: tuple[str, ...],
    form: Form,
) -> None:
    """Count the REPORTS to one question of SURVEY, or to all.

    REPORTS are one or more files of reports (- for standard input), or CSV, TSV, Parquet or JSON
    lines files, of which --column has the reports: numbers, base64 text, binary, or their JSON
    form. A folder stands for all files in it, and 'day*.bin' for all that match. With --reported,
    the values are labels that were randomised already, one per line or in --column, and nothing is
    randomised; for questions asked together, in columns with their names.

    With --by REGION and -o counts.json, the counts of each region are written to a file of their
    own, such as counts-north.json; --by WEEK --by REGION writes counts-40-north.json.

    Several files of a longitudinal mechanism (a mechanism for repeated reports) need --people: the
    permanent noise of the same people does not average out.

    With --engine and -o counts.parquet, every question is counted in one pass, from columns of
    Parquet or Arrow files that have the names of the questions. With --by, the column day gives the
    day of each row of counts.parquet, and all others give its segment, with - between several.

    \b
    Example:
      murmurs count coffee.json reports.bin -o counts.json
    """
    contract = read_survey(survey)
    if engine is not None:
        count_with_engine(
            engine,
            contract,
            reports,
            output,
            form,
            names=names,
            columns=columns,
            people=people,
            reported=reported,
            others={"--salvage": salvage, "--drop-missing": drop_missing, "--unknown": unknown},
        )
        return
    if len(names) > 1:
        raise ValueError("--question is given twice: several need --engine, which counts columns")
    name = names[0] if names else None
    label = for_each(chosen_question(contract, name), "--unknown", unknown) if reported else unknown
    labels = options_reported(reported, drop_missing, label)
    notes: list[str] = []
    if columns.asked or reported or any(columns.kind(path) != "text" for path in reports):
        if salvage:
            raise ValueError("--salvage is for files of reports that murmurs wrote: leave it out")
        question = chosen_question(contract, name)
        found = count_files(reports, question, columns, labels, people)
    else:
        question, counts = count_reports(
            reports, contract, notes.append if salvage else None, people=people
        )
        found = {(): counts}
        if name is not None and contract.asked(name) != question:
            raise ValueError(f"{named(reports[0])} answers {question.name!r}, not {name!r}")
        if notes and counts.n == 0:
            raise ValueError(
                f"nothing can be salvaged from {', '.join(map(named, reports))}: no block of "
                "reports is intact; copy or encode it again"
            )
    outputs = Outputs(output, [survey, *reports], split=bool(columns.by))
    paths = [outputs.path(segment) for segment in found]
    for path, counts in zip(paths, found.values(), strict=True):
        write_counts(path, contract, question, counts)
    for text in notes:
        say(text, err=True)
    numbers = {segment: counts.n for segment, counts in found.items()}
    n = sum(numbers.values())
    what = f"{numbered(n, 'report')} to {question.name!r} counted; written to"
    document = {"question": question.name, "n": n, **({"notes": notes} if salvage else {})}
    form.written_by_segment(what, output, numbers, document)
