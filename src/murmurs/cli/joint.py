"""``murmurs joint``: the table of questions asked together, and whether answers go together."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from murmurs import estimators
from murmurs.boundary.texts import listed, numbered
from murmurs.cli.estimating import estimator_named, estimator_option, read_with_notes
from murmurs.cli.options import (
    Command,
    by_name,
    column_options,
    complete,
    output,
    piped_file,
    printed,
    shares,
)
from murmurs.cli.output import Form, say, terminal_width
from murmurs.cli.pictures import save_plot
from murmurs.files.counts import write_counts
from murmurs.files.joint_counts import read_joint
from murmurs.files.outputs import Outputs, refuse_overwriting
from murmurs.files.segments import Segment
from murmurs.files.selection import Columns
from murmurs.inference.fit import Target
from murmurs.questions.joint import Joint, JointEstimate, TableComparison, compare_tables
from murmurs.questions.joint.tested import tested_document


@click.command("joint", cls=Command)
@click.argument("files", type=piped_file, nargs=-1, required=True, metavar="FILES...")
@output(
    "Also write the counts of reports to a file; with --by, to one for each segment.",
    required=False,
)
@click.option(
    "--question",
    "names",
    multiple=True,
    metavar="NAME",
    help="Show only the table of these questions: give it at least twice, in their order.",
)
@estimator_option("joint, or shrinkage if the combination was reported once")
@shares
@click.option(
    "--candidates",
    multiple=True,
    metavar="NAME=FILE",
    help="For each open question: a file of the strings to look for, one per line.",
)
@complete
@column_options(
    "The column that has the reports to all questions together, if there is not one column for "
    "each question.",
    "A column of segments: a table is shown for each of its values, and the tables are compared. "
    "Give it several times for one table for each combination.",
)
@printed("csv", "json", plot=True)
def command(
    files: tuple[Path, ...],
    output: Path | None,
    names: tuple[str, ...],
    estimator: str | None,
    level: float,
    target: Target,
    candidates: tuple[str, ...],
    complete: bool,
    columns: Columns,
    plot: Path | None,
    form: Form,
) -> None:
    """Show the table of questions that the same people answered.

    FILES are a file of counts of questions asked together (- for standard input), or a survey and
    a file of reports for each of two or more single questions. Such files have aligned rows: row 7
    of each is the same submission. They are never joined by a person. Instead of files of reports,
    give CSV, TSV, Parquet or JSON lines files: the columns with the questions' names have reports.

    The table has a row for each answer to the first question and a column for each answer to the
    second. A sentence says whether the answers go together. If three or more questions were asked,
    their combinations are listed, and all pairs are tested; --question age --question drink shows
    the table of two, and --plot draws it.

    With --by REGION, each region has a table, and the tables are compared. The column is in the
    file that has the reports, or in one more file whose rows are those of the files of reports.
    Several files of counts, as count --by writes them, are segments too.

    \b
    Example:
      murmurs joint drink-sugar.json
    """
    if len(names) == 1:
        raise ValueError("--question needs two or more questions: give it again with another name")
    found = read_joint(
        files,
        questions=names,
        column=columns.column if isinstance(columns.column, str) else None,
        by=columns.by,
        note=lambda text: say(text, err=True),
        **columns.reading,
    )
    asked = found.asked
    in_order = tuple(name for name in asked.names if name in names)
    if sorted(names) == sorted(in_order) and names != in_order:
        raise ValueError(
            "a table has the questions in the order in which they were asked: give "
            + " ".join(f"--question {name}" for name in in_order)
        )
    if output is not None and found.survey is None:
        raise ValueError("-o is for counts of reports: leave it out")
    segments = list(found.counts)
    is_split = segments != [()]
    lists = _lists(asked, candidates)
    sources = [*files, *lists.values()]
    written = [None if path is None else _paths(path, sources, segments) for path in (output, plot)]
    refuse_overwriting(sources, [path for own in written if own for path in own])
    wanted = {name: read_with_notes(path) for name, path in lists.items()} or None
    shown: dict[str, JointEstimate] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", estimators.NoiseDominates)  # the notes show it
        for number, (name, counts) in enumerate(
            zip(found.names, found.counts.values(), strict=True)
        ):
            joint = found.joint_of(number)
            own = joint.estimate(
                counts, estimator_named(estimator, joint), candidates=wanted, complete=complete
            )
            table = own.margin(*names) if names else own
            assert isinstance(table, JointEstimate)  # of at least two questions
            shown[name] = table
    for path, counts in zip(written[0] or (), found.counts.values(), strict=False):
        assert found.survey is not None
        write_counts(path, found.survey, asked, counts)
    for path, (name, table) in zip(written[1] or (), shown.items(), strict=False):
        titled = replace(table, title=f"{table.title} in {name}") if is_split else table
        save_plot(_drawing(titled, level, target), path, size=table.plot_size)
    if is_split:
        comparison = compare_tables(shown, level=level, target=target)
        _show_segments(asked, shown, comparison, form)
        return
    [table] = shown.values()
    title = table.title if names else asked.text
    form.show(
        json=lambda: {"question": asked.name, **tested_document(table, level, target)},
        csv=lambda: table.to_csv(level, target),
        text=lambda: _say_table(
            table, title, level, target, f"{table.conclusion}\n{table.explanation}", form.err
        ),
    )


def _paths(output: Path, sources: list[Path], segments: list[Segment]) -> list[Path]:
    """Return the file of each segment; of a single table the output itself."""
    outputs = Outputs(output, sources, split=segments != [()])
    return [outputs.path(segment) for segment in segments]


def _drawing(table: JointEstimate, level: float, target: Target) -> Callable[[Any], Any]:
    return lambda axes: table.plot(axes, level, target)


def _say_table(
    table: JointEstimate, title: str, level: float, target: Target, below: str, err: bool
) -> None:
    """Print a table as wide as the terminal, and what stands below it."""
    width = terminal_width()
    text = table.table(level=level, target=target, width=width)
    say(f"{title}\n{numbered(table.n, 'report')}\n\n{text}\n", err=err, most=width)
    say(below, err=err)


def _show_segments(
    asked: Joint, tables: dict[str, JointEstimate], comparison: TableComparison, form: Form
) -> None:
    """Print the table of each segment, and the comparison."""
    level, target = comparison.level, comparison.target

    def text() -> str:
        for name, table in tables.items():
            notes = "".join(f"\nNote: {note}." for note in table.notes)
            below = f"{table.conclusion}{notes}\n"
            _say_table(table, f"{table.title} in {name}", level, target, below, form.err)
        methods = dict.fromkeys(table.estimator for table in tables.values())
        return f"All segments\n\n{comparison}\nEstimator: {', '.join(methods)}."

    form.show(
        json=lambda: {
            "question": asked.name,
            "segments": [
                {"segment": name, **tested_document(table, level, target)}
                for name, table in tables.items()
            ],
            "comparison": comparison.to_document(),
        },
        csv=comparison.to_csv,
        text=text,
    )


def _lists(asked: Joint, given: tuple[str, ...]) -> dict[str, Path]:
    """Return the files of candidates by question."""
    rule = f"give it as NAME=FILE, once for each open question of {listed(asked.names)}"
    texts = by_name(asked.names, "--candidates", given, rule)
    found = {name: Path(text) for name, text in texts.items()}
    for name in asked.needs_candidates:
        if name not in found:
            raise ValueError(
                f"question {name!r} is open: add --candidates {name}=FILE, a "
                "file of the strings to look for, one per line"
            )
    return found
