"""``murmurs compare``: whether shares differ between two files of counts."""

from __future__ import annotations

from pathlib import Path

import click

from murmurs.boundary.texts import numbered
from murmurs.cli.estimating import estimates_of
from murmurs.cli.numbers import wanted_options
from murmurs.cli.options import (
    Command,
    asked_option,
    candidates,
    existing_file,
    level_option,
    printed,
    target_option,
)
from murmurs.cli.output import Form
from murmurs.cli.pictures import save_plot
from murmurs.files.inputs import names_of_files
from murmurs.inference.fit import Target
from murmurs.inference.wanted import Wanted, statistics_columns, statistics_table
from murmurs.present import frames
from murmurs.present.text import printable


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
@candidates
@wanted_options()
@printed("csv", "json", plot=True)
def command(
    this: Path,
    other: Path,
    asked: str | None,
    names: tuple[str, str] | None,
    target: Target,
    level: float,
    candidates: Path | None,
    complete: bool,
    wanted: Wanted,
    plot: Path | None,
    form: Form,
) -> None:
    """Compare the shares in THIS file of counts with those in OTHER.

    A change is the share in THIS minus the share in OTHER, in percentage points. The two files
    count different people: other weeks, groups or versions. For more than two files, use trend. If
    the answers are numbers or a scale, --mean, --median and the like are compared as well.

    \b
    Example:
      murmurs compare tuesday.json monday.json
    """
    question, (first, second) = estimates_of([this, other], candidates, complete, asked)
    found = first.difference(second, target, names=names)
    said = wanted.of(found, level=level) if wanted else []
    one, two = (this, other) if names is None else names
    called = map(printable, names_of_files([this, other]))
    minus = None if names else f"change, {' minus '.join(called)}"
    save_plot(lambda axes: found.plot(axes, level, what=minus), plot)
    many = [numbered(estimate.n, "report") for estimate in (first, second)]
    form.show(
        json=lambda: {
            "question": question.name,
            "n": {"this": first.n, "other": second.n},
            **found.to_document(level),
            **({"statistics": [change.to_document() for change in said]} if said else {}),
        },
        csv=lambda: frames.to_csv(statistics_columns(said)) if said else found.to_csv(level),
        text=lambda: "\n".join(
            [
                f"{question.text or question.name}",
                f"{one} ({many[0]}) minus {two} ({many[1]})",
                f"\n{found.table(level=level)}",
                *([f"\n{statistics_table(said)}"] if said else []),
                f"\n{found.conclusion}",
                *(f"Note: {note}." for note in found.notes),
            ]
        ),
    )
