"""``murmurs estimate``: from counts to shares with intervals."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import click
import numpy as np

from murmurs import estimators
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
    piped_file,
    print_csv,
    print_json,
    read_survey,
    say,
    target_option,
)
from murmurs.cli.pictures import picture_kind, plot_option, save_plot
from murmurs.cli.suggestions import Choice
from murmurs.counts import Counts
from murmurs.estimators.estimation import Estimate
from murmurs.files.candidates import read_candidates
from murmurs.files.counts import read_counts
from murmurs.files.exported import assumption, is_exported, read_exported
from murmurs.inference.detection import Detection
from murmurs.inference.fit import Target
from murmurs.present.text import MARK
from murmurs.questions.asked import Asked


@click.command("estimate", cls=Command)
@click.argument("counts", type=piped_file)
@click.option("--survey", type=existing_file, help="Check that the counts belong to this survey.")
@click.option(
    "--method",
    type=Choice(sorted(estimators.BY_NAME)),
    help="The estimator; default: shrinkage, with exceptions for hashed answers.",
)
@level_option
@target_option
@asked_option
@candidates_option
@complete_option
@as_csv
@plot_option
@as_json
def command(
    counts: Path,
    survey: Path | None,
    asked: str | None,
    method: str | None,
    level: float,
    target: Target,
    candidates: Path | None,
    complete: bool,
    as_csv: bool,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Estimate the shares of the answers from COUNTS.

    COUNTS is a file of counts (- for standard input). For questions asked together, `murmurs joint`
    also tests whether their answers go together.

    \b
    Example:
      murmurs estimate counts.json
    """
    one_form(as_csv, as_json)
    if plot is not None:
        picture_kind(plot)
    contract = None if survey is None else read_survey(survey)
    question, counted = read_counts(counts, contract, asked)
    if is_exported(counts):
        say(f"Note: {assumption([read_exported(counts, asked).counts()])}.", err=True)
    wanted = candidates_of(question, candidates, complete)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", estimators.NoiseDominates)  # the notes show it
        estimate = question.estimate(
            counted, method_named(method), candidates=wanted, complete=complete
        )
    detected, why_not = _detected(estimate)
    marks = None
    if detected is not None and question.is_open:
        marks = detected.present & (np.arange(len(detected.present)) != estimate.other)
    table = estimate.table(level=level, target=target, marks=marks)
    if plot is not None:
        size = estimate.plot_size
        save_plot(lambda axes: estimate.plot(axes, level, target), plot, size=size)
    if as_json:
        document = estimate.to_document(level, target)
        found = None if detected is None else detected.to_document()
        print_json({"question": question.name, **document, "detected": found})
        return
    if as_csv:
        print_csv(estimate.to_csv(level, target))
        return
    say(f"{question.text or question.name}\n{numbered(estimate.n, 'report')}\n\n{table}")
    say(f"\n{estimate.explanation}")
    if question.is_open and (detected is not None or why_not):
        say(why_not if detected is None else _found(estimate, detected, complete))


def candidates_of(question: Asked, path: Path | None, complete: bool) -> Any:
    """Return the strings to look for if the question is open; None are the question's own."""
    several = len(question.names) > 1
    if several and question.is_open and path is not None:
        raise ValueError(
            f"{question.name!r} asks several questions: murmurs joint takes a list for each, as "
            "--candidates NAME=FILE"
        )
    if not question.is_open:
        for given, name in ((path is not None, "--candidates"), (complete, "--complete")):
            if given:
                raise ValueError(f"question {question.name!r} has labels: it takes no {name}")
        return None
    if path is None:
        if question.labels or several:
            return None
        way = "add --candidates, a file of the strings to look for, one per line"
        if question.searches:
            raise ValueError(
                f"question {question.name!r} was asked so that its strings can be found: run "
                f"murmurs discover; to look for strings of your own, {way}"
            )
        raise ValueError(f"question {question.name!r} is open: {way}")
    return read_with_notes(path)


def read_with_notes(path: Path) -> list[str]:
    """Return the candidates of a file; notes on them go to standard error."""
    candidates, notes = read_candidates(path)
    for note in notes[:5]:
        say(f"{path}, {note}", err=True, most=None)
    if len(notes) > 5:
        say(f"{path}: {len(notes) - 5} more lines have such notes", err=True)
    return list(candidates)


def _detected(estimate: Estimate) -> tuple[Detection | None, str]:
    """Return which answers were detected; if they were not tested, perhaps why."""
    if estimate.n == 0 or not estimate.fit.tells_absence:
        return None, ""
    try:
        return estimate.detected(0.05), ""
    except ImportError as error:
        return None, f"Candidates were not tested: {error}."


def _found(estimate: Estimate, detected: Detection, complete: bool) -> str:
    """Return a sentence that says how many candidates were detected, and explains the marks."""
    present = detected.present
    if estimate.other is not None:
        present = np.delete(present, estimate.other)
    found, all_of = int(present.sum()), len(present)
    if not found:
        return f"None of the {all_of} candidates was detected."
    return (
        f"{MARK} {found} of {all_of} candidates detected; at most a 5 % chance of any false "
        f"detection (Bonferroni){', if the list is complete' if complete else ''}."
    )


def method_named(name: str | None) -> estimators.Estimator | None:
    """Return the estimator of that name; those that may take long show progress on a terminal."""
    if name not in (None, "selection", "em", "likelihood") or not sys.stderr.isatty():
        return name

    def with_progress(counts: Counts) -> Estimate:
        if name in ("em", "likelihood"):
            iterative = estimators.em if name == "em" else estimators.likelihood
            found = iterative(counts, progress=_show_progress)
        elif name == "selection":
            found = estimators.selection(counts, progress=_show_chosen)
        elif counts.channel.factors:
            return estimators.estimate(counts)
        else:
            found = estimators.single(counts, progress=_show_chosen)
        click.echo("\r\033[K", nl=False, err=True)
        return found

    return with_progress


def _show_chosen(chosen: int, candidates: int) -> None:
    text = f"{chosen:,} of {candidates:,} candidates stand out so far"
    click.echo(f"\r\033[K{text}", nl=False, err=True)


def _show_progress(evaluations: int, gap: float) -> None:
    if evaluations % 20 < 3:
        text = f"{evaluations} evaluations, log-likelihood within {gap:.3g} of the maximum"
        click.echo(f"\r\033[K{text}", nl=False, err=True)
