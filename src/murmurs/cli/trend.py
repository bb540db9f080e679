"""``murmurs trend``: several files of counts side by side, and whether shares differ."""

from __future__ import annotations

from pathlib import Path

import click

from murmurs.boundary.texts import numbered
from murmurs.cli.estimating import estimated, estimates_of
from murmurs.cli.numbers import wanted_options
from murmurs.cli.options import (
    Command,
    asked_option,
    candidates,
    existing_file,
    flag,
    level_option,
    printed,
)
from murmurs.cli.output import Form, note
from murmurs.cli.pictures import save_plot
from murmurs.cli.suggestions import Choice
from murmurs.counts import People
from murmurs.files.exported import PARTS, By, assumption, is_exported, read_exported
from murmurs.files.inputs import names_of_files, with_numbers
from murmurs.inference.fit import Target
from murmurs.inference.trend import trend
from murmurs.inference.wanted import Wanted, courses_columns
from murmurs.present import frames
from murmurs.present.axes import WIDE
from murmurs.present.boxes import size_of
from murmurs.survey.rounds import people_of


@click.command("trend", cls=Command)
@click.argument("counts", type=existing_file, nargs=-1, required=True)
@click.option("--names", help="Names of the periods or groups, with commas between them.")
@click.option(
    "--people",
    type=Choice(["different", "same"]),
    help="Whether each file counts different people (the default), or all count the same people; "
    "of a counts.parquet, the survey says it.",
)
@click.option(
    "--by",
    type=Choice(PARTS),
    help="What the rows of one counts.parquet are divided into: week by default.",
)
@click.option(
    "--target",
    type=Choice(["respondents", "population"]),
    help="Whose shares: those of the respondents (the default for the same people), or of the "
    "population they were sampled from (the default for different people).",
)
@level_option
@flag("--boxes", "For numbers: --plot draws a box for each file, with its median.")
@flag("--groups", "The files are groups without an order: no slopes, and --plot draws marks.")
@asked_option
@candidates
@wanted_options()
@printed("csv", "json", plot=True)
def command(
    counts: tuple[Path, ...],
    names: str | None,
    asked: str | None,
    people: People | None,
    by: By | None,
    target: Target | None,
    level: float,
    groups: bool,
    boxes: bool,
    candidates: Path | None,
    complete: bool,
    wanted: Wanted,
    plot: Path | None,
    form: Form,
) -> None:
    """Show the shares in several files of COUNTS side by side.

    The files are periods (weeks) or groups, in the order in which they are given. The p-value of an
    answer, and the overall one, test whether shares are the same in all files. Of one
    counts.parquet, which `murmurs store export` writes, --by shows days, weeks, months or segments.

    If the answers are numbers or a scale, --mean, --median and the like are shown over the periods
    too, with a test and a slope; --plot then draws the first of them.

    \b
    Example:
      murmurs trend monday.json tuesday.json
    """
    if len(counts) == 1 and is_exported(counts[0]):
        exported = read_exported(counts[0], asked)
        whose = people or people_of(exported.survey.terms, exported.asked.mechanism)
        each = by or "week"
        parts = exported.parts(each)
        if len(parts) < 2:
            raise ValueError(f"{counts[0]} has one {each} only: run murmurs estimate")
        question, called, what = exported.asked, list(parts), f"{len(parts)} {each}s"
        if names is not None:
            called = _given(names, len(parts), f"{each}s")
        counted = [exported.counts(rows, whose) for rows in parts.values()]
        note(f"{assumption(counted)}.")
        read = [(question, own.counts) for own in counted]
        estimates = estimated(question, read, candidates, complete)
        between: People = "different" if by == "segment" else whose
    elif len(counts) == 1:
        raise ValueError(
            "a trend needs at least two files of counts: for one, run murmurs estimate"
        )
    else:
        if by is not None:
            raise ValueError("--by divides one counts.parquet: leave it out for several files")
        called, what, between = _names(counts, names), f"{len(counts)} files", people or "different"
        if names is None and not groups:
            _note_order(called)
        question, estimates = estimates_of(counts, candidates, complete, asked)
    unordered = groups or by == "segment"
    found = trend(estimates, called, people=between, target=target, groups=unordered)
    said = wanted.of(found, level=level) if wanted else []
    if boxes and plot is None:
        raise click.UsageError("--boxes is what --plot draws: add --plot FILE")
    if boxes:
        size = size_of(len(found.names))
        save_plot(lambda axes: found.plot_boxes(axes, level), plot, size=size)
    elif said:
        save_plot(said[0].plot, plot, size=WIDE)
    else:
        save_plot(lambda axes: found.plot(axes, level), plot, size=found.plot_size())
    reports = numbered(sum(estimate.n for estimate in estimates), "report")
    form.show(
        json=lambda: {
            "question": question.name,
            **found.to_document(level),
            **({"numbers": [course.to_document() for course in said]} if said else {}),
        },
        csv=lambda: frames.to_csv(courses_columns(said)) if said else found.to_csv(level),
        text=lambda: "\n".join(
            [
                f"{question.text or question.name}\n{reports} in {what}",
                f"\n{found.table(level=level)}",
                found.conclusion,
                *(f"\n{course.table()}\n{course.conclusion}" for course in said),
                *(f"Note: {text}." for text in found.notes),
            ]
        ),
    )


def _names(counts: tuple[Path, ...], names: str | None) -> list[str]:
    """Return the names that were given, or those of the files, of segments only the segment."""
    return names_of_files(counts) if names is None else _given(names, len(counts), "files")


def _given(names: str, number: int, what: str) -> list[str]:
    """Return the names that were given, one for each."""
    given = [name.strip() for name in names.split(",")]
    if len(given) != number:
        many = "1 name" if len(given) == 1 else f"{len(given)} names"
        raise ValueError(f"--names has {many} for {number} {what}")
    return given


def _note_order(called: list[str]) -> None:
    """Say it if files are in the order of a shell, in which week10 comes before week9."""
    in_time = sorted(called, key=with_numbers)
    if called == sorted(called) and called != in_time:
        note(
            f"the files are taken in the order in which they are given: {called[0]} first, "
            f"{called[-1]} last. If they are periods, give them in the order of time: "
            f"{in_time[0]} first, {in_time[-1]} last."
        )
