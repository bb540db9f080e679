"""``murmurs add``: add up files of counts."""

from __future__ import annotations

from pathlib import Path

import click

from murmurs.boundary.texts import numbered
from murmurs.cli.options import (
    Command,
    as_json,
    asked_option,
    counts_output,
    existing_file,
    people_option,
)
from murmurs.cli.output import Form
from murmurs.counts import People
from murmurs.files.counts import add_counts, write_counts


@click.command("add", cls=Command)
@click.argument("counts", type=existing_file, nargs=-1, required=True)
@counts_output
@people_option
@asked_option
@as_json
def command(
    counts: tuple[Path, ...], output: Path, people: People | None, asked: str | None, form: Form
) -> None:
    """Add up files of COUNTS of one question.

    Each file counts different people unless --people says otherwise. Several files of a
    longitudinal mechanism (a mechanism for repeated reports) need --people different or --people
    same: the permanent noise of the same people does not average out. --people same is right only
    if all reports of a person were made from one permanent response, so not for two periods.

    \b
    Example:
      murmurs add monday.json tuesday.json -o week.json
    """
    survey, question, total = add_counts(counts, people=people, asked=asked)
    write_counts(output, survey, question, total)
    what = f"{numbered(total.n, 'report')} to {question.name!r} added up; written to"
    form.written(what, output, {"question": question.name, "n": total.n})
