"""Several files of counts that answer one question."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from murmurs.boundary.checks import shown
from murmurs.boundary.reading import named
from murmurs.counts import Counts
from murmurs.files.counts import read_stamped
from murmurs.files.headers import AnyPath, as_paths
from murmurs.questions.asked import Asked


def read_together(
    paths: AnyPath | Sequence[AnyPath],
    asked: str | None = None,
    *,
    note: Callable[[str], object] | None = None,
) -> tuple[Asked, list[tuple[Asked, Counts]]]:
    """Return the question of the first file of counts, and the question and counts of each file.

    The files must be about one question with one list of answers. Files of another survey may be
    compared too; ``note`` is called with a sentence that says so.

    >>> from tempfile import TemporaryDirectory
    >>> from murmurs import Question, write_counts
    >>> drink = Question("drink", ["tea", "mate"], epsilon=1.0)
    >>> with TemporaryDirectory() as folder:
    ...     files = [Path(folder, "monday.json"), Path(folder, "tuesday.json")]
    ...     for file, people in zip(files, ([3, 4], [5, 6])):
    ...         write_counts(file, "0" * 64, drink, drink.simulate(people))
    ...     question, read = read_together(files)
    >>> question.name, [counts.n for _, counts in read]
    ('drink', [7, 11])
    """
    start, *rest = files = as_paths(paths)
    read = [read_stamped(path, asked) for path in files]
    survey, question, _ = read[0]
    for path, (other, own, _) in zip(rest, read[1:], strict=True):
        _check_asked(start, question, path, own)
        if other != survey and note is not None:
            note(
                f"{named(path)} belongs to another survey than {named(start)}: they are compared, "
                "as the question has the same name and the same answers"
            )
    return question, [(own, counts) for _, own, counts in read]


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
    return [(one.name, one.is_open, one.labels) for one in asked.questions]
