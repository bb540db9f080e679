"""``murmurs study``: compare mechanisms and estimators on a column of your own."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import click
import numpy as np

from murmurs import estimators
from murmurs.cli.options import (
    Command,
    column_options,
    flag,
    piped_file,
    plot_option,
    printed,
    seed_option,
)
from murmurs.cli.output import Form, note
from murmurs.cli.pictures import save_plot
from murmurs.cli.progress import progress_bar
from murmurs.cli.suggestions import Choice
from murmurs.files.selection import Columns
from murmurs.files.values import count_values
from murmurs.mechanisms import BY_NAME
from murmurs.mechanisms.longitudinal.two_rounds import Longitudinal
from murmurs.numerics.arrays import Integers
from murmurs.planning.choice import choose
from murmurs.present.errors import size_for
from murmurs.studies.compared import DEFAULT
from murmurs.studies.study import ErrorStudy, Row, study

MECHANISMS = ("KRR", "SUE", "OUE", "Subset", "Hadamard", "ProjectiveGeometry", "LocalHashing")
ESTIMATORS = (DEFAULT, "simplex", "normalized", "unbiased")
COMPARABLE = [name for name, kind in BY_NAME.items() if not issubclass(kind, Longitudinal)]
"""The mechanisms that the number of answers and an epsilon describe."""

OF_SEVERAL = ("joint", "independence")
"""The estimators of several questions; a column is one."""

_NAMED = 4
"""Pairs that are named because they cannot be told from the best one."""


@click.command("study", cls=Command)
@click.argument("data", type=piped_file)
@column_options(by=None)
@flag("--drop-missing", "Leave out people whose value is missing.")
@click.option(
    "--counts",
    help="A column with the number of people who hold the value of --column, if each has one row.",
)
@click.option(
    "--top",
    type=click.IntRange(min=1),
    help="Keep the N most common values, and merge the rest into one answer.",
)
@click.option(
    "--epsilon",
    "epsilons",
    type=float,
    multiple=True,
    required=True,
    help="Epsilon of one report. Give it several times to compare at several.",
)
@click.option(
    "--mechanism",
    "mechanisms",
    type=Choice(COMPARABLE),
    multiple=True,
    default=MECHANISMS,
    help="A mechanism to compare. Give it several times; by default, seven are compared.",
)
@click.option(
    "--estimator",
    "solvers",
    type=Choice([DEFAULT, *(n for n in estimators.BY_NAME if n not in OF_SEVERAL)]),
    multiple=True,
    default=ESTIMATORS,
    help="An estimator to compare. Give it several times; by default, four are compared.",
)
@click.option(
    "--repetitions",
    type=click.IntRange(2, 10**6),
    default=50,
    show_default=True,
    help="How many collections are simulated for each mechanism.",
)
@plot_option
@click.option(
    "--processes",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Number of processes.",
)
@seed_option
@printed("csv", "latex", "json")
def command(
    data: Path,
    columns: Columns,
    drop_missing: bool,
    counts: str | None,
    top: int | None,
    epsilons: tuple[float, ...],
    mechanisms: tuple[str, ...],
    solvers: tuple[str, ...],
    repetitions: int,
    plot: Path | None,
    processes: int,
    seed: int | None,
    form: Form,
) -> None:
    """Compare mechanisms and estimators on a column of DATA.

    Every value of the column is an answer, and the people who hold it are simulated many times
    with each mechanism at the same epsilon. Each row is a person, or with --counts as many people
    as another column says. The errors are those of the estimated shares, the
    smallest first. Nothing of DATA leaves this computer. A terminal shows how many mechanisms are
    done.

    \b
    Example:
      murmurs study data.csv --column drink --epsilon 1 --repetitions 10 --seed 1
    """
    column = columns.column if isinstance(columns.column, str) else None
    held = count_values(
        data,
        column,
        counts=counts,
        drop_missing=drop_missing,
        top=top,
        note=note,
        **columns.reading,
    )
    people = np.array(list(held.values()), np.int64)
    with progress_bar("study") as progress:
        found = study(
            list(dict.fromkeys(mechanisms)),
            answers=len(people),
            people=int(people.sum()),
            epsilons=list(dict.fromkeys(epsilons)),
            laws={data.name if column is None else column: people / people.sum()},
            estimators=list(dict.fromkeys(solvers)),
            repetitions=repetitions,
            random=seed,
            processes=processes,
            progress=progress,
        )
    lines = len({(row.mechanism, row.estimator) for row in found.rows})
    groups = len({row.mechanism for row in found.rows})
    save_plot(found.plot, plot, size=size_for(lines, len(set(epsilons)), groups))
    # Where nothing is cut, several estimators are the same, and the last digits must not decide.
    ranked = sorted(found.rows, key=lambda row: (row.epsilon, float(f"{row.l1:.9g}")))
    shown = dataclasses.replace(found, rows=tuple(ranked))
    each = dict.fromkeys(row.epsilon for row in ranked)
    figure = [] if plot is None else [f"\nFigure: {plot}"]
    form.show(
        json=lambda: _document(shown, people),
        csv=shown.to_csv,
        latex=shown.to_latex,
        text=lambda: "\n".join(
            [f"{shown}\n", *(_winner(shown, e) + _chosen(shown, e) for e in each), *figure]
        ),
    )


def _winner(found: ErrorStudy, epsilon: float) -> str:
    """Say which pair has the smallest error, and which cannot be told from it."""
    rows = [row for row in found.rows if row.epsilon == epsilon]
    first = rows[0]
    if len(rows) == 1:
        return (
            f"At epsilon {epsilon:g}, only {first.mechanism} with {first.estimator} was measured."
        )
    near = [f"{row.mechanism} with {row.estimator}" for row in rows[1:] if _alike(row, first)]
    text = f"At epsilon {epsilon:g}, {first.mechanism} with {first.estimator} has the smallest l1"
    if not near:
        return f"{text}, by more than two standard errors."
    if len(near) > _NAMED:
        near = [*near[:_NAMED], f"and {len(near) - _NAMED} more"]
    return f"{text}; within two standard errors of it: {', '.join(near)}."


def _chosen(found: ErrorStudy, epsilon: float) -> str:
    """Say how the pair does that is taken if none is named; nothing if it was not measured."""
    rows = [row for row in found.rows if row.epsilon == epsilon]
    first = rows[0]
    name = type(choose(first.answers, epsilon).mechanism).__name__
    own = next((row for row in rows if (row.mechanism, row.estimator) == (name, DEFAULT)), None)
    if own is None or len(rows) == 1:
        return ""
    if own is first:
        return "\nIt is also the default, if you name no mechanism and no estimator."
    if _alike(own, first):
        how = "within two standard errors of it"
    else:
        how = "not within two standard errors of it; more --repetitions show whether this is chance"
    times = f"{own.l1 / first.l1:.2f} times the smallest l1" if first.l1 else f"l1 {own.l1:.3g}"
    return (
        f"\nIf you name no mechanism and no estimator, murmurs takes {name} with {DEFAULT}: "
        f"{times}, {how}."
    )


def _alike(row: Row, first: Row) -> bool:
    """Whether an error is within two standard errors of the smallest."""
    return row.l1 - first.l1 <= 2 * float(np.hypot(row.l1_se, first.l1_se))


def _document(found: ErrorStudy, people: Integers) -> dict[str, Any]:
    chosen = {row.epsilon: choose(row.answers, row.epsilon) for row in found.rows}
    return {
        "answers": len(people),
        "people": int(people.sum()),
        "repetitions": found.repetitions,
        "seed": found.seed,
        "rows": [dataclasses.asdict(row) for row in found.rows],
        "chosen": [
            {"epsilon": epsilon, "mechanism": type(c.mechanism).__name__, "why": c.why}
            for epsilon, c in chosen.items()
        ],
        "notes": list(found.notes),
    }
