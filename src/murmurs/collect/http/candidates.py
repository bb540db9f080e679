"""Candidates: the strings that a request for results looks for, in its query or its body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from murmurs.boundary.checks import shown
from murmurs.boundary.texts import listed
from murmurs.collect.refusals import RefusedError
from murmurs.collect.results.wording import HOW_TO_LIST
from murmurs.questions.asked import Asked


def candidates_of(asked: Asked, queried: Sequence[str], body: Any, most: int) -> Any:
    """Return the candidates of a request: a list, or lists by the names of a joint's questions.

    None if there are none, and the question needs none.
    """
    given = body if body is not None else (queried or None)
    if given is None:
        _refuse_without(asked)
        return None
    if body is not None and queried:
        raise RefusedError(400, "query", "give candidates in the query or in the body")
    lists = given.values() if isinstance(given, Mapping) else [given]
    if sum(map(len, lists)) > most:
        raise RefusedError(413, "candidates", f"at most {most} candidates are looked for")
    several = asked.is_joint
    if isinstance(given, Mapping):
        if not several:
            raise RefusedError(400, "query", "candidates of one question are a list")
        return {name: tuple(texts) for name, texts in given.items()}
    if several:
        raise RefusedError(
            400, "query", "candidates of several questions are lists by name: use POST"
        )
    return tuple(given)


def _refuse_without(asked: Asked) -> None:
    needed = asked.needs_candidates
    if needed and asked.is_joint:
        raise RefusedError(
            400,
            "query",
            f"{shown(asked.name)} has open questions: POST the strings to look for, as "
            f'{{"{needed[0]}": ["Luna", "Leo"]}}, for {listed(needed)}',
        )
    if needed:
        raise RefusedError(
            400,
            "query",
            f"question {shown(asked.name)} is open: say which strings to look for, {HOW_TO_LIST}",
        )
