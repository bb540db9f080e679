"""``murmurs estimate``: from counts to shares with intervals."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import click
import numpy as np

from murmurs import estimators
from murmurs.boundary.writing import writing
from murmurs.cli.output import (
    Command,
    as_json,
    existing_file,
    level_option,
    new_file,
    piped_file,
    print_csv,
    print_json,
    read_survey,
    say,
)
from murmurs.counts import Counts
from murmurs.estimation import Estimate
from murmurs.files.candidates import read_candidates
from murmurs.files.counts import read_counts
from murmurs.inference.fit import Target
from murmurs.question import Question

PICTURES = ("png", "svg", "pdf")


@click.command("estimate", cls=Command)
@click.argument("counts", type=piped_file)
@click.option("--survey", type=existing_file, help="Check that the counts belong to this survey.")
@click.option(
    "--method",
    type=click.Choice(sorted(estimators.BY_NAME)),
    help="The estimator; default: shrinkage, with exceptions for hashed answers.",
)
@level_option
@click.option(
    "--target",
    type=click.Choice(["respondents", "population"]),
    default="population",
    show_default=True,
    help="Whose shares: those of the respondents, or of the population they were sampled from.",
)
@click.option(
    "--candidates",
    type=existing_file,
    help="For an open question: a file of the strings to look for, one per line.",
)
@click.option(
    "--complete",
    is_flag=True,
    help="The list of candidates is complete: nobody holds another string.",
)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV for programs.")
@click.option(
    "--plot", type=new_file, help="Save a plot of the shares to a file (.png, .svg, .pdf)."
)
@as_json
def command(
    counts: Path,
    survey: Path | None,
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

    COUNTS is a file of counts (- for standard input).

    \b
    Example:
      murmurs estimate counts.json
    """
    if as_csv and as_json:
        raise click.UsageError("--csv and --json print the same in two ways: give one of them")
    if plot is not None:
        _kind(plot)
    contract = None if survey is None else read_survey(survey)
    question, counted = read_counts(counts, contract)
    counted = _with_candidates(question, counted, candidates, complete)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", estimators.NoiseDominates)  # the notes show it
        estimate = _estimate(counted, method)
        if not question.is_open:
            estimate = estimate.with_labels(question.labels)
    table = estimate.table(level=level, target=target)
    if plot is not None:
        _save_plot(estimate, plot, level, target)
    if as_json:
        print_json({"question": question.name, **estimate.to_document(level, target)})
        return
    if as_csv:
        print_csv(estimate.to_csv(level, target))
        return
    say(f"{question.text or question.name}: {estimate.n} reports\n\n{table}")
    say(f"\n{estimate.explanation}")
    if question.is_open and estimate.fit.tells_absence:
        say(_found(estimate, complete))


def _with_candidates(
    question: Question, counts: Counts, path: Path | None, complete: bool
) -> Counts:
    """Return the counts, viewed over the candidates if the question is open."""
    if not question.is_open:
        for given, name in ((path is not None, "--candidates"), (complete, "--complete")):
            if given:
                raise ValueError(f"question {question.name!r} has labels: it takes no {name}")
        return counts
    if path is None:
        raise ValueError(
            f"question {question.name!r} is open: add --candidates, a file of the strings to look "
            "for, one per line"
        )
    candidates, notes = read_candidates(path)
    for note in notes[:5]:
        say(f"{path}, {note}", err=True)
    if len(notes) > 5:
        say(f"{path}: {len(notes) - 5} more lines have such notes", err=True)
    return counts.over(candidates, complete=complete)


def _found(estimate: Estimate, complete: bool) -> str:
    """Return a sentence that says how many candidates were detected."""
    try:
        present = estimate.detected(0.05).present
    except ImportError as error:
        return f"Candidates were not tested: {error}."
    if estimate.other is not None:
        present = np.delete(present, estimate.other)
    found, all_of = int(present.sum()), len(present)
    if not found:
        return f"None of the {all_of} candidates was detected."
    return (
        f"{found} of {all_of} candidates detected; at most a 5 % chance of any false detection "
        f"(Bonferroni){', if the list is complete' if complete else ''}."
    )


def _estimate(counts: Counts, method: str | None) -> Estimate:
    """Estimate with the given method; iterative ones show their progress on a terminal."""
    if method is None:
        return estimators.estimate(counts)
    if method not in ("em", "likelihood") or not sys.stderr.isatty():
        return estimators.BY_NAME[method](counts)
    iterative = estimators.em if method == "em" else estimators.likelihood
    found = iterative(counts, progress=_show_progress)
    click.echo("\r\033[K", nl=False, err=True)
    return found


def _show_progress(evaluations: int, gap: float) -> None:
    if evaluations % 20 < 3:
        text = f"{evaluations} evaluations, log-likelihood within {gap:.3g} of the maximum"
        click.echo(f"\r\033[K{text}", nl=False, err=True)


def _kind(path: Path) -> str:
    """Return the format of a plot, from the ending of its file name."""
    ending = path.suffix.removeprefix(".").lower()
    if ending not in PICTURES:
        raise ValueError(
            f"--plot {path}: the name must end with .{', .'.join(PICTURES)}, which sets the format"
        )
    return ending


def _save_plot(estimate: Estimate, path: Path, level: float, target: Target) -> None:
    """Save a plot of the estimate; this needs no screen."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(
            "plots need matplotlib: install it with pip install 'murmurs[plot]'"
        ) from None
    figure = Figure(figsize=(7, 0.9 + 0.32 * min(len(estimate.shares), 30)), layout="constrained")
    estimate.plot(figure.add_subplot(), level, target)
    with writing(path) as file:
        figure.savefig(file, format=_kind(path), dpi=150)
