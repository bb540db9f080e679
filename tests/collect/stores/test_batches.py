"""Stores count the submissions of a batch as they count each of them alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from murmurs.collect.stores.sqlite import SQLiteStore
from murmurs.collect.stores.store import Part, Store, UnknownSurveyError
from murmurs.submission import BINARY_TYPE, JSON_TYPE, Batch, Submission
from tests.collect.made import EVERY_KIND, FORMS, PLAIN, Model, check_same, submission
from tests.collect.running import running

PARTS = [Part(PLAIN.fingerprint, "hot"), Part(EVERY_KIND.fingerprint, "unary", "north")]


def batch(several: list[Submission]) -> Batch:
    """Return submissions that are alike as a batch."""
    first = several[0]
    assert {(s.survey, s.people, tuple(s.reports), s.segment) for s in several} == {
        (first.survey, first.people, tuple(first.reports), first.segment)
    }
    columns = {name: b"".join(s.reports[name] for s in several) for name in first.reports}
    ids = b"".join(s.id for s in several)
    return Batch(first.survey, ids, first.people, columns, first.segment)


def some(seeds: list[int]) -> list[Submission | Batch]:
    """Return batches of both surveys and a submission between them, all for these seeds."""
    return [
        batch([submission(PLAIN, seed) for seed in seeds]),
        submission(PLAIN, 1000 + seeds[0]),
        batch([submission(EVERY_KIND, seed, segment="north") for seed in seeds]),
    ]


def each(several: list[Submission | Batch]) -> list[Submission]:
    return [x for one in several for x in (one.each() if isinstance(one, Batch) else [one])]


def test_a_batch_is_counted_as_its_submissions_are(store: Store) -> None:
    model = Model()
    for survey in (PLAIN, EVERY_KIND):
        store.publish(survey, 1)
        model.states[survey.fingerprint] = "open"
    rng = np.random.default_rng(1)
    for call, seeds in enumerate(
        [
            [1, 2, 3],  # all are new
            [4, 5, 4, 6, 6],  # within the call
            [3, 7, 1],  # across calls
            [1, 2, 3],  # none is new
            rng.permutation(40).tolist(),
        ]
    ):
        group = some(seeds)
        assert store.add(group, call) == model.add(each(group), call)
        check_same(store, model, PARTS)


def test_a_batch_to_an_unknown_survey_leaves_nothing_of_the_others(store: Store) -> None:
    store.publish(PLAIN, 1)
    with pytest.raises(UnknownSurveyError):
        store.add(some([1, 2]), 1)
    assert store.add(some([1, 2])[:2], 1) == [True] * 3


def test_how_many_statements_a_store_runs_does_not_depend_on_the_number_of_submissions(
    tmp_path: Path,
) -> None:
    """Each statement lets other threads run, and then waits for its turn again."""
    store = SQLiteStore(tmp_path)
    store.publish(PLAIN, 1)
    store.add([submission(PLAIN, 0)], 1)
    ran: list[str] = []

    def note(_: apsw.Cursor, sql: str, *__: Any) -> bool:
        ran.append(sql)
        return True

    store._db.exec_trace = note
    numbers = []
    for start, n in ((1, 1), (10, 2), (100, 70), (1000, 100), (2000, 1000)):
        store.add([batch([submission(PLAIN, start + i) for i in range(n)])], 1)
        numbers.append(len(ran))
        ran.clear()
    one, two, _, many, more = numbers
    assert one == two
    assert many == more <= one + 2  # it reads what the one before has kept, and looks for each
    store.close()


@pytest.mark.parametrize("binary", [False, True])
def test_a_relay_is_told_how_many_of_a_batch_were_new(tmp_path: Path, binary: bool) -> None:
    form = FORMS[PLAIN.fingerprint]
    several = [submission(PLAIN, seed) for seed in (1, 2, 1, 3)]

    def body(some: list[Submission]) -> bytes:
        if binary:
            return b"".join(map(form.to_bytes, some))
        return b"[" + b",".join(map(form.to_json, some)) + b"]"

    with running(tmp_path, PLAIN) as served:
        media = BINARY_TYPE if binary else JSON_TYPE
        told = [served.submit(body(some), media).document for some in (several[:2], several)]
        assert told == [{"accepted": 2, "duplicates": 0}, {"accepted": 1, "duplicates": 3}]
        assert served.count("murmurs_submissions_total", outcome="duplicate") == 3
        assert served.count("murmurs_people_total") == 3 * several[0].people
        assert served.store.counts(PARTS[0]).n == 3 * several[0].people
