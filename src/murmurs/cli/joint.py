"""``murmurs joint``: the table of questions asked together, and whether answers go together."""

from __future__ import annotations

import warnings
from pathlib import Path

import click

from murmurs import estimators
from murmurs.boundary.reading import named
from murmurs.boundary.texts import listed
from murmurs.boundary.writing import is_standard_output
from murmurs.cli.estimate import method_named, read_with_notes
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
    read_survey,
    refuse_overwriting,
    say,
    target_option,
)
from murmurs.cli.pictures import picture_kind, plot_option, save_plot
from murmurs.counts import Counts
from murmurs.files.counts import read_counts, write_counts
from murmurs.files.reports import read_reports
from murmurs.inference.fit import Target
from murmurs.joint import Joint, JointEstimate
from murmurs.joint.tested import tested_document
from murmurs.question import Question
from murmurs.survey import Survey


@click.command("joint", cls=Command)
@click.argument("files", type=piped_file, nargs=-1, required=True, metavar="FILES...")
@click.option(
    "-o", "--output", type=new_file, help="Also write the counts of files of reports to a file."
)
@click.option(
    "--question",
    "names",
    multiple=True,
    metavar="NAME",
    help="Show only the table of these questions: give it at least twice.",
)
@click.option(
    "--method",
    type=click.Choice(sorted(estimators.BY_NAME)),
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
    as_csv: bool,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Show the table of questions that the same people answered.

    FILES are a file of counts of questions asked together (- for standard input), or a survey and
    a file of reports for each of two or more single questions. Such files have aligned rows: row 7
    of each is the same submission. They are never joined by a person.

    The table has a row for each answer to the first question and a column for each answer to the
    second. A sentence says whether the answers go together. If three or more questions were asked,
    their combinations are listed, and all pairs are tested; --question age --question drink shows
    the table of two, and --plot draws it.

    \b
    Example:
      murmurs joint drink-sugar.json
    """
    one_form(as_csv, as_json)
    if plot is not None:
        picture_kind(plot)
    if len(names) == 1:
        raise ValueError("--question needs two or more questions: give it again with another name")
    asked, counts, survey = _counted(files)
    if names and method is not None and not asked.once:
        raise ValueError("--method is for the table of all questions: leave it or --question out")
    if output is not None and survey is None:
        raise ValueError("-o is for counts of files of reports: leave it out")
    lists = _lists(asked, candidates)
    refuse_overwriting(list(lists.values()), [path for path in (output, plot) if path is not None])
    wanted = {name: read_with_notes(path) for name, path in lists.items()} or None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", estimators.NoiseDominates)  # the notes show it
        found = asked.estimate(counts, method_named(method), candidates=wanted, complete=complete)
        shown = found.margin(*names) if names else found
    assert isinstance(shown, JointEstimate)  # of at least two questions
    if output is not None and survey is not None:
        write_counts(output, survey, asked, counts)
    if plot is not None:
        save_plot(lambda axes: shown.plot(axes, level, target), plot, size=shown.plot_size)
    beside = output is not None and is_standard_output(output)
    if as_json:
        print_json({"question": asked.name, **tested_document(shown, level, target)}, err=beside)
        return
    if as_csv:
        print_csv(shown.to_csv(level, target), err=beside)
        return
    title = shown.title if names else asked.text
    table = shown.table(level=level, target=target)
    say(f"{title}: {shown.n} reports\n\n{table}\n", err=beside)
    say(f"{shown.conclusion}\n{shown.explanation}", err=beside)


def _counted(files: tuple[Path, ...]) -> tuple[Joint, Counts, Survey | None]:
    """Return the joint and its counts: from a file of counts, or a survey and files of reports."""
    start, *reports = files
    if not reports:
        asked, counts = read_counts(start)
        if not isinstance(asked, Joint):
            raise ValueError(
                f"{named(start)} has counts of one question, {asked.name!r}: murmurs estimate "
                "shows its shares"
            )
        return asked, counts, None
    survey = read_survey(start)
    if len(reports) == 1:
        raise ValueError(
            f"{named(reports[0])} alone is not enough: give a file of reports for each question, "
            "or count the reports of a joint with murmurs count"
        )
    read = [read_reports(path, survey) for path in reports]
    questions: list[Question] = []
    for path, (question, _) in zip(reports, read, strict=True):
        if isinstance(question, Joint):
            raise ValueError(
                f"{named(path)} answers {listed(question.names)} together: run murmurs count, and "
                "murmurs joint on the counts"
            )
        questions.append(question)
    joint = Joint(*questions)
    return joint, joint.count_aligned([parts for _, parts in read]), survey


def _lists(asked: Joint, given: tuple[str, ...]) -> dict[str, Path]:
    """Return the files of candidates by question."""
    found: dict[str, Path] = {}
    for text in given:
        name = next((n for n in asked.names if text.startswith(f"{n}=")), None)
        if name is None or name in found:
            raise ValueError(
                f"--candidates {text}: give it as NAME=FILE, once for each open question of "
                f"{listed(asked.names)}"
            )
        found[name] = Path(text.removeprefix(f"{name}="))
    for question in asked.questions:
        if question.is_open and not question.labels and question.name not in found:
            raise ValueError(
                f"question {question.name!r} is open: add --candidates {question.name}=FILE, a "
                "file of the strings to look for, one per line"
            )
    return found
