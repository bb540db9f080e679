"""Batches: submissions that are alike are read together, and mean what each of them means alone."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from murmurs import Survey
from murmurs.submission import (
    BadSubmissionError,
    Batch,
    Submission,
    SubmissionForm,
    batches_in_bytes,
    batches_in_json,
    batches_of,
    read_bytes,
    read_json,
)
from murmurs.submission.submission import ID_BYTES

SURVEYS = [
    Survey.from_toml("""
    name = "cafe"
    segments = ["stable", "beta"]
    [[questions]]
    name = "drink"
    labels = ["tea", "mate", "milk", "gin"]
    epsilon = 1.0
    [[questions]]
    name = "site"
    labels = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]
    mechanism = {name = "OUE", epsilon = 1.0}
    """),
    Survey.from_toml("""
    name = "plain"
    [[questions]]
    name = "hot"
    labels = ["yes", "no"]
    epsilon = 1.0
    """),
]
FORMS = [SubmissionForm(survey) for survey in SURVEYS]
KNOWN = {form.fingerprint: form for form in FORMS}.__getitem__

kinds = st.tuples(st.integers(0, 1), st.integers(1, 3), st.integers(1, 3), st.integers(0, 1))
"""Which survey, which of its questions as bits, how many people, and which segment."""


def made(kind: tuple[int, int, int, int], seed: int) -> Submission:
    survey, chosen, people, segment = kind
    rng = np.random.default_rng(seed)
    asked = [q for i, q in enumerate(SURVEYS[survey].questions) if chosen >> i & 1]
    reports = {
        question.name: question.encode_many(rng.choice(question.labels, people), rng)
        for question in asked or SURVEYS[survey].questions[:1]
    }
    named = SURVEYS[survey].segments[segment] if SURVEYS[survey].segments else None
    return FORMS[survey].make(reports, segment=named, id=rng.bytes(ID_BYTES))


def document(one: Submission, *, packed: bool = False) -> dict[str, Any]:
    """Return a submission as a JSON object, with reports as values or as base64 of their bytes."""
    found: dict[str, Any] = json.loads(KNOWN(one.survey).to_json(one))
    if packed:
        found["reports"] = {n: base64.b64encode(d).decode() for n, d in one.reports.items()}
    return found


def by_id(batches: list[Batch]) -> list[Submission]:
    return sorted((one for batch in batches for one in batch.each()), key=lambda one: one.id)


@settings(deadline=None, max_examples=80)
@given(st.lists(st.tuples(kinds, st.booleans()), min_size=1, max_size=12))
def test_submissions_of_any_kinds_are_read_together_as_each_is_alone(
    given: list[tuple[tuple[int, int, int, int], bool]],
) -> None:
    several = [made(kind, seed) for seed, (kind, _) in enumerate(given)]
    documents = [
        document(one, packed=packed) for one, (_, packed) in zip(several, given, strict=True)
    ]
    text = json.dumps(documents).encode()
    data = b"".join(KNOWN(one.survey).to_bytes(one) for one in several)
    assert read_json(text, KNOWN) == read_bytes(data, KNOWN) == several
    wanted = sorted(several, key=lambda one: one.id)
    assert by_id(batches_in_json(text, KNOWN)) == by_id(batches_in_bytes(data, KNOWN)) == wanted


def test_submissions_that_are_alike_are_one_batch_in_both_forms() -> None:
    several = [made((0, 3, 2, 1), seed) for seed in range(100)]
    text = b"[" + b",".join(map(FORMS[0].to_json, several)) + b"]"
    data = b"".join(map(FORMS[0].to_bytes, several))
    for batches in (batches_in_json(text, KNOWN), batches_in_bytes(data, KNOWN)):
        (batch,) = batches
        assert (batch.count, batch.people, batch.segment) == (100, 2, "beta")
        assert list(batch.each()) == several
    mixed = [made((0, 3, 2, seed % 2), seed) for seed in range(100)]  # in two segments
    text = b"[" + b",".join(map(FORMS[0].to_json, mixed)) + b"]"
    data = b"".join(map(FORMS[0].to_bytes, mixed))
    for batches in (batches_in_json(text, KNOWN), batches_in_bytes(data, KNOWN)):
        assert [list(batch.each()) for batch in batches] == [mixed[::2], mixed[1::2]]
    assert batches_of([batch, several[0]])[0] is batch


@settings(deadline=None, max_examples=80)
@given(st.lists(kinds, min_size=2, max_size=8), st.data())
def test_a_bad_submission_among_others_is_refused_as_it_is_alone_and_with_its_number(
    given: list[tuple[int, int, int, int]], data: st.DataObject
) -> None:
    documents = [document(made((0, *kind[1:]), seed)) for seed, kind in enumerate(given)]
    bad = data.draw(st.integers(0, len(documents) - 1))
    one = documents[bad]
    name = next(iter(one["reports"]))
    change = data.draw(
        st.sampled_from(["id", "long id", "segment", "name", "value", "few", "none"])
    )
    if change == "id":
        one["id"] = one["id"][:-2] + " 1"  # which bytes.fromhex would read
    elif change == "long id":  # and the one before it as short, so that together they have as many
        one["id"] = one["id"] + "00"
        documents[bad - 1]["id"] = documents[bad - 1]["id"][2:]
        bad = min(bad, (bad - 1) % len(documents))
    elif change == "segment":
        one["segment"] = "gamma"
    elif change == "name":
        one["reports"]["sugar"] = one["reports"][name]
    elif change == "value":
        one["reports"][name][-1] = data.draw(st.sampled_from([-1, 99, None, True, {}, [], 0.5]))
    elif change == "few":
        one["reports"][name] = []
    else:
        one["reports"] = {}
    alone = json.dumps(documents[bad]).encode()
    with pytest.raises(BadSubmissionError) as by_itself:
        FORMS[0].from_json(alone)
    with pytest.raises(BadSubmissionError) as among_others:
        batches_in_json(json.dumps(documents).encode(), KNOWN)
    assert among_others.value.number == bad
    assert (among_others.value.reason, among_others.value.rule) == (
        by_itself.value.reason,
        by_itself.value.rule,
    )


def test_the_first_of_alike_submissions_whose_bytes_are_bad_is_named() -> None:
    several = [bytearray(FORMS[1].to_bytes(made((1, 1, 1, 0), seed))) for seed in range(9)]
    several[4][-1] = several[7][-1] = 2
    with pytest.raises(BadSubmissionError, match=r"^submission 4: question 'hot': report 0 is"):
        batches_in_bytes(b"".join(several), KNOWN)
    several[4][-1] = 0
    several[7] = several[7][:-1]  # now what follows is no header
    with pytest.raises(BadSubmissionError, match=r"^submission 8: .* does not begin with b'MRMS'"):
        batches_in_bytes(b"".join(several), KNOWN)
    with pytest.raises(BadSubmissionError, match=r"^submission 6: .* ends in its reports"):
        batches_in_bytes(b"".join(several[:7])[:-1], KNOWN)
    with pytest.raises(BadSubmissionError, match=r"^submission 8: .* ends in its header"):
        batches_in_bytes(b"".join(several[:7]) + several[0] + several[1][:20], KNOWN)


def test_the_limit_of_submissions_holds_in_the_middle_of_a_batch() -> None:
    data = b"".join(FORMS[1].to_bytes(made((1, 1, 1, 0), seed)) for seed in range(5))
    assert batches_in_bytes(data, KNOWN, most=5)[0].count == 5
    for rest in (b"", b"what is not looked at"):
        with pytest.raises(BadSubmissionError, match="more than 4 submissions"):
            batches_in_bytes(data + rest, KNOWN, most=4)
    with pytest.raises(BadSubmissionError, match="more than 4 people"):
        batches_in_bytes(data, KNOWN, people=4)
