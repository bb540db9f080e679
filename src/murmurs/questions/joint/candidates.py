"""Candidates of the open questions of a joint: a list for each, by the question's name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from murmurs.boundary.checks import shown
from murmurs.boundary.texts import listed
from murmurs.questions.asked import Asked


def candidate_lists(
    asked: Asked, candidates: Mapping[str, Iterable[str]] | None, complete: bool
) -> list[tuple[str, ...] | None]:
    """Return a list of candidates for each open question, None for the others."""
    if candidates is not None and not isinstance(candidates, Mapping):
        raise TypeError(
            "candidates of several questions are a mapping from a question's name to a list, "
            f"not {type(candidates).__name__}"
        )
    given = dict(candidates or {})
    check_known("candidates", given, asked.names)
    if not asked.is_open and (given or complete):
        raise ValueError(f"no question of {shown(asked.name)} is open: it takes no candidates")
    lists: list[tuple[str, ...] | None] = []
    for question in asked.questions:
        if not question.is_open:
            if question.name in given:
                raise ValueError(
                    f"question {shown(question.name)} has labels: it takes no candidates"
                )
            lists.append(None)
            continue
        texts = given.get(question.name, question.labels)
        if isinstance(texts, str):
            raise TypeError(
                f"candidates of {shown(question.name)} are a list of strings, not one string"
            )
        wanted = tuple(texts)
        if not wanted:
            raise ValueError(
                f"question {shown(question.name)} is open: say which strings to look for, with "
                f"candidates={{{question.name!r}: [...]}}"
            )
        lists.append(wanted)
    return lists


def check_known(what: str, given: Iterable[str], names: tuple[str, ...]) -> None:
    """Refuse names that are none of the questions'."""
    for name in given:
        if name not in names:
            raise ValueError(
                f"{what} names {shown(name)}, which is none of the questions {listed(names)}"
            )
