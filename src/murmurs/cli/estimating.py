"""What commands that estimate share: the estimator, the candidates, several files of counts."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from murmurs import estimators
from murmurs.cli.options import Run
from murmurs.cli.output import say
from murmurs.cli.suggestions import Choice
from murmurs.counts import Counts
from murmurs.estimators.estimation import Estimate
from murmurs.files.candidates import read_candidates
from murmurs.files.several import read_together
from murmurs.questions.asked import Asked


def estimator_option(default: str) -> Callable[[Run], Run]:
    """Return the option of the estimator, with what is taken by default."""
    names = Choice(sorted(estimators.BY_NAME))
    return click.option("--estimator", type=names, help=f"The estimator; default: {default}.")


def estimates_of(
    paths: Sequence[Path], candidates: Path | None, complete: bool, asked: str | None = None
) -> tuple[Asked, list[Estimate]]:
    """Return the question of the first file, and an estimate for each file.

    The files must be about one question. Another survey or mechanism is noted on standard error, as
    shares can be compared if the answers are the same.
    """
    question, read = read_together(paths, asked, note=lambda text: say(text, err=True))
    return question, estimated(question, read, candidates, complete)


def estimated(
    question: Asked,
    read: Sequence[tuple[Asked, Counts]],
    candidates: Path | None,
    complete: bool,
    estimator: str | None = None,
) -> list[Estimate]:
    """Return an estimate of each of several counts that answer one question."""
    wanted = candidates_of(question, candidates, complete)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", estimators.NoiseDominates)  # the notes show it
        return [
            asked.estimate(
                counts, estimator_named(estimator, asked), candidates=wanted, complete=complete
            )
            for asked, counts in read
        ]


def candidates_of(question: Asked, path: Path | None, complete: bool) -> Any:
    """Return the strings to look for if the question is open; None are the question's own."""
    if question.is_joint and question.is_open and path is not None:
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
        if question.labels or question.is_joint:
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


def estimator_named(name: str | None, asked: Asked) -> estimators.Estimator | None:
    """Return the estimator of that name; those that may take long show progress on a terminal."""
    may_be_long = name in ("selection", "em", "likelihood") or (name is None and asked.is_open)
    if not may_be_long or not sys.stderr.isatty():
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
