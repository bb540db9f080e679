"""Several files of counts that answer one question, for `compare`, `trend` and `joint`."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

from murmurs import estimators
from murmurs.boundary.checks import shown
from murmurs.boundary.reading import named
from murmurs.cli.estimate import candidates_of
from murmurs.cli.output import say
from murmurs.counts import Counts
from murmurs.estimators.estimation import Estimate
from murmurs.files.counts import read_stamped
from murmurs.files.segments import segments_of
from murmurs.questions.asked import Asked


def estimates_of(
    paths: Sequence[Path], candidates: Path | None, complete: bool, asked: str | None = None
) -> tuple[Asked, list[Estimate]]:
    """Return the question of the first file, and an estimate for each file.

    The files must be about one question. Another survey or mechanism is noted on standard error, as
    shares can be compared if the answers are the same.
    """
    question, read = read_together(paths, asked)
    return question, estimated(question, read, candidates, complete)


def estimated(
    question: Asked,
    read: Sequence[tuple[Asked, Counts]],
    candidates: Path | None,
    complete: bool,
) -> list[Estimate]:
    """Return an estimate of each of several counts that answer one question."""
    wanted = candidates_of(question, candidates, complete)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", estimators.NoiseDominates)
        return [
            asked.estimate(counts, candidates=wanted, complete=complete) for asked, counts in read
        ]


def read_together(
    paths: Sequence[Path], asked: str | None = None
) -> tuple[Asked, list[tuple[Asked, Counts]]]:
    """Return the question of the first file, and the question and the counts of each file."""
    start = paths[0]
    read = [read_stamped(path, asked) for path in paths]
    survey, question, _ = read[0]
    for path, (other, own, _) in zip(paths[1:], read[1:], strict=True):
        _check_asked(start, question, path, own)
        if other != survey:
            say(
                f"{named(path)} belongs to another survey than {named(start)}: they are compared, "
                "as the question has the same name and the same answers",
                err=True,
            )
    return question, [(own, counts) for _, own, counts in read]


def names_of_files(paths: Sequence[Path]) -> list[str]:
    """Return what files are called: their segments, if their names are alike apart from these."""
    stems = [path.stem for path in paths]
    if len(set(stems)) < len(stems):
        return [str(path) for path in paths]
    return segments_of(stems)


def _check_asked(start: Path, question: Asked, path: Path, asked: Asked) -> None:
    """Refuse a file that is about another question."""
    if asked.name != question.name:
        raise ValueError(
            f"{named(path)} answers {shown(asked.name)} and {named(start)} "
            f"{shown(question.name)}: give files of one question"
        )
    if _answers(asked) != _answers(question):
        raise ValueError(
            f"{named(path)} and {named(start)} have different lists of answers to "
            f"{shown(question.name)}: they cannot be compared"
        )


def _answers(asked: Asked) -> list[tuple[str, bool, tuple[str, ...]]]:
    """Return what must be the same for shares to be compared, for each question."""
    return [(question.name, question.is_open, question.labels) for question in asked.questions]
