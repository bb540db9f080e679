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
from murmurs.boundary.writing import is_standard_output
from murmurs.cli.columns import Columns, Outputs, by_name, options_of_columns
from murmurs.cli.estimate import method_named, read_with_notes
from murmurs.cli.joint_files import Segment, called, counted
from murmurs.cli.output import (
    Command,
    as_csv,
    as_json,
    complete_option,
    level_option,
    new_file,
    one_form,
    piped_file,
    print_csv,
    print_json,
    refuse_overwriting,
    say,
    target_option,
    terminal_width,
)
from murmurs.cli.pictures import picture_kind, plot_option, save_plot
from murmurs.cli.suggestions import Choice
from murmurs.files.counts import write_counts
from murmurs.inference.fit import Target
from murmurs.questions.joint import Joint, JointEstimate, TableComparison, compare_tables
from murmurs.questions.joint.tested import tested_document


@click.command("joint", cls=Command)
@click.argument("files", type=piped_file, nargs=-1, required=True, metavar="FILES...")
@click.option(
    "-o",
    "--output",
    type=new_file,
    help="Also write the counts of reports to a file; with --by, to one for each segment.",
)
@click.option(
    "--question",
    "names",
    multiple=True,
    metavar="NAME",
    help="Show only the table of these questions: give it at least twice, in their order.",
)
@click.option(
    "--method",
    type=Choice(sorted(estimators.BY_NAME)),
    help="The estimator; default: joint, or shrinkage if the combination was reported once.",
)
@level_option
@target_option
@click.option(
    "--candidates",
    multiple=True,
    metavar="NAME=FILE",
    help="For each open question: a file of the strings to look for, one per line.",
)
@complete_option
@options_of_columns(
    "The column that has the reports to all questions together, if there is not one column for "
    "each question.",
    "A column of segments: a table is shown for each of its values, and the tables are compared. "
    "Give it several times for one table for each combination.",
)
@as_csv
@plot_option
@as_json
def command(
    files: tuple[Path, ...],
    output: Path | None,
    names: tuple[str, ...],
    method: str | None,
    level: float,
    target: Target,
    candidates: tuple[str, ...],
    complete: bool,
    column: str | None,
    by: tuple[str, ...],
    file_format: Any,
    delimiter: str | None,
    no_header: bool,
    as_csv: bool,
    plot: Path | None,
    as_json: bool,
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
    one_form(as_csv, as_json)
    if plot is not None:
        picture_kind(plot)
    if len(names) == 1:
        raise ValueError("--question needs two or more questions: give it again with another name")
    found = counted(files, Columns(column, by, file_format, delimiter, no_header), names)
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
    called_so = called(segments)
    is_split = segments != [()]
    lists = _lists(asked, candidates)
    sources = [*files, *lists.values()]
    written = [None if path is None else _paths(path, sources, segments) for path in (output, plot)]
    refuse_overwriting(sources, [path for own in written if own for path in own])
    wanted = {name: read_with_notes(path) for name, path in lists.items()} or None
    shown: dict[str, JointEstimate] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", estimators.NoiseDominates)  # the notes show it
        for number, (name, counts) in enumerate(zip(called_so, found.counts.values(), strict=True)):
            own = found.joint_of(number).estimate(
                counts, method_named(method), candidates=wanted, complete=complete
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
    beside = output is not None and is_standard_output(output)
    if not is_split:
        table = shown[called_so[0]]
        title = table.title if names else asked.text
        _tell_table(asked, table, title, level, target, beside, as_csv=as_csv, as_json=as_json)
        return
    comparison = compare_tables(shown, level=level, target=target)
    _tell_segments(asked, shown, comparison, beside, as_csv=as_csv, as_json=as_json)


def _paths(output: Path, sources: list[Path], segments: list[Segment]) -> list[Path]:
    """Return the file of each segment; of a single table the output itself."""
    if segments == [()]:
        return [output]
    outputs = Outputs(output, sources, ("segments",))
    return [outputs.path(segment) for segment in segments]


def _drawing(table: JointEstimate, level: float, target: Target) -> Callable[[Any], Any]:
    return lambda axes: table.plot(axes, level, target)


def _tell_table(
    asked: Joint,
    table: JointEstimate,
    title: str,
    level: float,
    target: Target,
    beside: bool,
    *,
    as_csv: bool,
    as_json: bool,
) -> None:
    """Print one table."""
    if as_json:
        print_json({"question": asked.name, **tested_document(table, level, target)}, err=beside)
        return
    if as_csv:
        print_csv(table.to_csv(level, target), err=beside)
        return
    text = table.table(level=level, target=target, width=terminal_width())
    say(f"{title}\n{numbered(table.n, 'report')}\n\n{text}\n", err=beside, most=terminal_width())
    say(f"{table.conclusion}\n{table.explanation}", err=beside)


def _tell_segments(
    asked: Joint,
    tables: dict[str, JointEstimate],
    comparison: TableComparison,
    beside: bool,
    *,
    as_csv: bool,
    as_json: bool,
) -> None:
    """Print the table of each segment, and the comparison."""
    level, target = comparison.level, comparison.target
    if as_json:
        documents = [
            {"segment": name, **tested_document(table, level, target)}
            for name, table in tables.items()
        ]
        found = {"question": asked.name, "segments": documents}
        print_json({**found, "comparison": comparison.to_document()}, err=beside)
        return
    if as_csv:
        print_csv(comparison.to_csv(), err=beside)
        return
    for name, table in tables.items():
        text = table.table(level=level, target=target, width=terminal_width())
        notes = "".join(f"\nNote: {note}." for note in table.notes)
        told = f"{table.title} in {name}\n{numbered(table.n, 'report')}"
        say(f"{told}\n\n{text}\n", err=beside, most=terminal_width())
        say(f"{table.conclusion}{notes}\n", err=beside)
    methods = dict.fromkeys(table.estimator for table in tables.values())
    say(f"All segments\n\n{comparison}\nEstimator: {', '.join(methods)}.", err=beside)


def _lists(asked: Joint, given: tuple[str, ...]) -> dict[str, Path]:
    """Return the files of candidates by question."""
    rule = f"give it as NAME=FILE, once for each open question of {listed(asked.names)}"
    texts = by_name(asked.names, "--candidates", given, rule)
    found = {name: Path(text) for name, text in texts.items()}
    for question in asked.questions:
        if question.is_open and not question.labels and question.name not in found:
            raise ValueError(
                f"question {question.name!r} is open: add --candidates {question.name}=FILE, a "
                "file of the strings to look for, one per line"
            )
    return found
