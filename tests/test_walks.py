"""The walks of the library take no step twice: how often is counted, not how long it takes."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import murmurs as mm
from murmurs.client import Reply
from murmurs.client.state import InFile
from murmurs.collect.results.compute import Counted, Task, compute
from murmurs.hashing import strings
from murmurs.inference.fit import Fit
from murmurs.survey import rounds_of


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


def test_a_joint_table_and_its_picture_share_cells_limits_and_margins(calls: Calls) -> None:
    table = mm.Product([mm.KRR(k=3, epsilon=2.0), mm.KRR(k=2, epsilon=2.0)])
    drink = mm.Question("drink", ["tea", "mate", "milk"], table.parts[0])
    joint = mm.Joint(drink, mm.Question("old", ["no", "yes"], table.parts[1]))
    people = {("tea", "no"): 5000, ("mate", "yes"): 4000, ("milk", "no"): 1000}
    counts = joint.simulate(people, np.random.default_rng(1))
    made, limits = calls(mm.Counts, "__post_init__"), calls(Fit, "limits")
    drawn = calls(mm.JointEstimate, "_new_crosstab")
    estimate = joint.estimate(counts)
    assert "mate" in str(estimate)
    estimate.plot()
    assert len(drawn) == 1
    assert len(limits) == 2  # of each share, and of all together for the marks
    assert sorted(own.cells.shape for own in made) == [(2,), (3,)]


def test_an_interval_is_computed_once_and_can_be_written_to(calls: Calls) -> None:
    estimate = mm.estimate(mm.KRR(k=3, epsilon=1.0).count([0, 0, 1, 2]))
    found = calls(Fit, "limits")
    first = estimate.interval(0.9)
    kept = first.copy()
    first[:] = 7.0
    np.testing.assert_array_equal(estimate.interval(0.9), kept)
    estimate.columns(0.9), estimate.to_document(0.9), estimate.table(level=0.9)
    assert len(found) == 1
    assert not np.array_equal(estimate.interval(0.8), kept)


@pytest.mark.parametrize(("as_text", "tables"), [(False, 0), (True, 1)])
def test_a_result_is_rendered_in_the_form_that_was_asked_for(
    as_text: bool, tables: int, calls: Calls
) -> None:
    counts = SURVEY.questions[0].count([0, 0, 1])
    rounds = rounds_of({datetime.date(2027, 1, 4): 3}, SURVEY.terms, "different")
    own = (Counted("all", counts.n, counts.cells, rounds),)
    task = Task(SURVEY.to_json(), "hot", "estimate", own, as_text=as_text)
    limits, drawn = calls(Fit, "limits"), calls(mm.Estimate, "table")
    found = compute(task, lambda _: None)
    assert (found.text is not None) == as_text
    assert (len(limits), len(drawn)) == (1, tables)
    parsed = calls(mm.Survey, "from_json")
    again = compute(replace(task, as_text=True), lambda _: None)
    assert parsed == []
    assert again.document == found.document
