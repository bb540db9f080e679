"""The walks of the library take no step twice: how often is counted, not how long it takes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import murmurs as mm
from murmurs.client import Reply
from murmurs.client.state import InFile
from murmurs.hashing import strings


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, str], list[Any]]:
    """Return what lists the first arguments of the calls of a function from now on."""

    def counted(home: Any, name: str) -> list[Any]:
        seen: list[Any] = []
        plain = getattr(home, name)

        def count(*arguments: Any, **options: Any) -> Any:
            seen.append(arguments[0] if arguments else None)
            return plain(*arguments, **options)

        monkeypatch.setattr(home, name, count)
        return seen

    return counted


Calls = Callable[[Any, str], list[Any]]
ORR = mm.ORR(epsilon=2.0, width=8, cohorts=16)


@pytest.mark.parametrize("text", ["Luna", "Zürich", "Zu\u0308rich"])
def test_a_string_is_brought_to_normal_form_once(text: str, calls: Calls) -> None:
    found = calls(strings, "normal")
    ORR.encode(text, mm.Seeded(np.random.default_rng(1)))
    assert found == [text]


def test_candidates_are_checked_once_each(calls: Calls) -> None:
    counts = ORR.count([ORR.encode("Luna", mm.Seeded(np.random.default_rng(1)))])
    forms, lists = calls(strings, "normal"), calls(strings, "candidates")
    question = mm.Question("cat", mechanism=ORR)
    question.estimate(counts, candidates=["Leo", "Zoë"]).interval()
    assert (forms, lists) == (["Leo", "Zoë"], [("Leo", "Zoë")])


def test_a_search_does_not_check_the_prefixes_that_it_made(calls: Calls) -> None:
    asked = mm.Dictionary(epsilon=8.0, longest=4, alphabet="abcdefghijklé")
    counts = asked.simulate({"abcd": 4000, "café": 3000}, np.random.default_rng(1))
    forms = calls(strings, "normal")
    found = asked.discover(counts)
    assert set(found.labels) >= {"abcd", "café"}
    assert len(forms) < 20 < found.tried  # the alphabet, and the strings that stand out


SURVEY = mm.Survey("cafe", (mm.Question("hot", ["yes", "no"], epsilon=1.0),))


def test_a_label_is_looked_up_once_for_an_answer(tmp_path: Path, calls: Calls) -> None:
    client = mm.Client(SURVEY, tmp_path / "me.json")
    found = calls(type(SURVEY.questions[0]), "answer")
    client.answer({"hot": "yes"})
    assert len(found) == 1


def test_a_submission_is_sent_with_two_looks_at_the_state(tmp_path: Path, calls: Calls) -> None:
    client = mm.Client(SURVEY, tmp_path / "me.json", delay=0)
    client.answer({"hot": "yes"})
    found = {name: calls(InFile, name) for name in ("locked", "read", "write")}
    sent = client.send(lambda data: Reply(200, b'{"accepted": 1, "duplicates": 0}'))
    assert (sent.taken, sent.waiting) == (1, 0)
    assert {name: len(seen) for name, seen in found.items()} == {"locked": 2, "read": 2, "write": 2}
