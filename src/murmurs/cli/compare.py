"""``murmurs compare``: whether shares differ between two files of counts."""

from __future__ import annotations

from pathlib import Path

import click

from murmurs.boundary.texts import numbered
from murmurs.cli.output import (
    Command,
    as_csv,
    as_json,
    asked_option,
    candidates_option,
    complete_option,
    existing_file,
    level_option,
    one_form,
    print_csv,
    print_json,
    say,
    target_option,
)
from murmurs.cli.pictures import picture_kind, plot_option, save_plot
from murmurs.cli.several import estimates_of
from murmurs.inference.fit import Target


@click.command("compare", cls=Command)
@click.argument("this", type=existing_file)
@click.argument("other", type=existing_file)
@click.option(
    "--names",
    nargs=2,
    metavar="A B",
    help="Names of the two, such as law arts: the differences are then called law minus arts.",
)
@target_option
@level_option
@asked_option
@candidates_option
@complete_option
@as_csv
@plot_option
@as_json
def command(
    this: Path,
    other: Path,
    asked: str | None,
    names: tuple[str, str] | None,
    target: Target,
    level: float,
    candidates: Path | None,
    complete: bool,
    as_csv: bool,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Compare the shares in THIS file of counts with those in OTHER.

    A change is the share in THIS minus the share in OTHER, in percentage points. The two files
    count different people: other weeks, groups or versions. For more than two files, use trend.

    \b
    Example:
      murmurs compare tuesday.json monday.json
    """
    one_form(as_csv, as_json)
    if plot is not None:
        picture_kind(plot)
    question, (first, second) = estimates_of([this, other], candidates, complete, asked)
    found = first.difference(second, target, names=names)
    table = found.table(level=level)
    if plot is not None:
        save_plot(lambda axes: found.plot(axes, level), plot)
    if as_json:
        numbers = {"this": first.n, "other": second.n}
        print_json({"question": question.name, "n": numbers, **found.to_document(level)})
        return
    if as_csv:
        print_csv(found.to_csv(level))
        return
    title = question.text or question.name
    one, two = (this, other) if names is None else names
    many = [numbered(estimate.n, "report") for estimate in (first, second)]
    say(f"{title}\n{one} ({many[0]}) minus {two} ({many[1]})\n\n{table}")
    say(f"\n{found.conclusion}")
    for note in found.notes:
        say(f"Note: {note}.")
