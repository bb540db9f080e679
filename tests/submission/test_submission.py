"""Submissions: two forms that say the same, one way to write each, and everything else refused."""

from __future__ import annotations

import base64
import json
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from murmurs import Survey
from murmurs.submission import (
    ID_BYTES,
    BadSubmissionError,
    Submission,
    SubmissionForm,
    read_bytes,
    read_json,
)
from murmurs.submission import form as form_module
from tests.make_vectors import FOLDER, Vector

VECTORS: list[Vector] = json.loads((FOLDER / "submissions.json").read_text(encoding="utf-8"))
GOOD = [vector for vector in VECTORS if vector["kind"] == "good"]
BAD = [vector for vector in VECTORS if vector["kind"] == "bad"]
HEADER = 61
"""The bytes before the numbers of the questions."""


def form_of(vector: Vector) -> SubmissionForm:
    return SubmissionForm(Survey.from_json(json.dumps(vector["survey"])))


FORMS = {form.fingerprint: form for form in map(form_of, GOOD)}
CAFE = form_of(GOOD[-1])


def known(fingerprint: str) -> SubmissionForm:
    if fingerprint not in FORMS:
        raise BadSubmissionError("survey", "there is no such survey")
    return FORMS[fingerprint]


def cafe(n: int = 1, seed: int = 1) -> Submission:
    rng = np.random.default_rng(seed)
    reports = {
        "drink": rng.integers(0, 4, n),
        "size+hot": [tuple(map(int, row)) for row in rng.integers(0, 2, (n, 2))],
    }
    return CAFE.make(reports, segment="beta")


# Vectors


@pytest.mark.parametrize("vector", GOOD, ids=lambda v: v["survey"]["name"])
def test_a_submission_is_reproduced_in_both_forms(vector: Vector) -> None:
    form, document = form_of(vector), vector["json"]
    found = form.from_json(json.dumps(document).encode())
    assert found.people == vector["people"]
    assert form.to_bytes(found).hex() == vector["binary"]
    assert form.from_bytes(bytes.fromhex(vector["binary"])) == found
    assert json.loads(form.to_json(found)) == document
    made = form.make(
        document["reports"], segment=document.get("segment"), id=bytes.fromhex(document["id"])
    )
    assert made == found


@pytest.mark.parametrize("vector", BAD, ids=lambda v: v.get("text") or v.get("binary") or "empty")
def test_a_bad_submission_is_refused_with_its_reason(vector: Vector) -> None:
    form, is_text = form_of(vector), "text" in vector
    data = vector["text"].encode() if is_text else bytes.fromhex(vector["binary"])
    with pytest.raises(BadSubmissionError) as error:
        (form.from_json if is_text else form.from_bytes)(data)
    assert error.value.reason == vector["reason"]
    assert error.value.number is None


def test_a_column_may_be_base64_text_of_its_bytes() -> None:
    several = cafe(50)
    document = json.loads(CAFE.to_json(several))
    for name, data in several.reports.items():
        document["reports"][name] = base64.b64encode(data).decode()
    assert CAFE.from_json(json.dumps(document).encode()) == several


# Ids and sizes


def test_each_submission_gets_an_id_of_its_own() -> None:
    assert len({cafe().id for _ in range(100)}) == 100
    assert len(cafe().id) == ID_BYTES


def test_the_size_depends_only_on_questions_and_people() -> None:
    for n in (1, 7):
        sizes = {len(CAFE.to_bytes(cafe(n, seed))) for seed in range(50)}
        assert sizes == {HEADER + 2 * 2 + n * (1 + 2)}
    for vector in GOOD:
        form = form_of(vector)
        found = form.from_bytes(bytes.fromhex(vector["binary"]))
        each = sum(asked.mechanism.shape.size for asked in form.survey.reported)
        columns = len(found.reports)
        assert len(vector["binary"]) // 2 == HEADER + 2 * columns + found.people * each


def test_the_order_in_which_questions_are_given_does_not_matter() -> None:
    one = cafe(3)
    turned = CAFE.make(dict(reversed(list(one.reports.items()))), segment="beta", id=one.id)
    assert turned == one
    assert list(turned.reports) == ["drink", "size+hot"]
    document = json.loads(CAFE.to_json(one))
    document["reports"] = dict(reversed(document["reports"].items()))
    assert list(CAFE.from_json(json.dumps(document).encode()).reports) == ["drink", "size+hot"]


# Requests with several


def test_a_request_holds_several_submissions_also_to_several_surveys() -> None:
    some = [CAFE.from_bytes(CAFE.to_bytes(cafe(n + 1, n))) for n in range(5)]
    other = [form_of(v).from_bytes(bytes.fromhex(v["binary"])) for v in GOOD[:2]]
    mixed = [some[0], *other, *some[1:]]
    texts = [FORMS[one.survey].to_json(one) for one in mixed]
    assert read_json(b"[" + b", ".join(texts) + b"]", known) == mixed
    assert read_bytes(b"".join(FORMS[one.survey].to_bytes(one) for one in mixed), known) == mixed
    assert read_json(texts[0], known) == read_json(b" [" + texts[0] + b"]", known) == mixed[:1]


def test_a_request_is_taken_whole_or_refused_with_the_number_of_the_bad_one() -> None:
    some = [cafe(1, n) for n in range(4)]
    texts = [CAFE.to_json(one) for one in some]
    texts[2] = texts[2].replace(b'"beta"', b'"gamma"')
    with pytest.raises(BadSubmissionError, match=r"^submission 2: this survey has no segment") as e:
        read_json(b"[" + b",".join(texts) + b"]", known)
    assert (e.value.reason, e.value.number) == ("segment", 2)
    data = [CAFE.to_bytes(one) for one in some]
    data[3] = data[3][:-1] + b"\x07"
    with pytest.raises(BadSubmissionError, match=r"^submission 3: question 'size\+hot': re") as e:
        read_bytes(b"".join(data), known)
    assert (e.value.reason, e.value.number) == ("report", 3)


def test_a_request_with_too_many_submissions_is_refused() -> None:
    some = [cafe(1, n) for n in range(3)]
    text = b"[" + b",".join(map(CAFE.to_json, some)) + b"]"
    data = b"".join(map(CAFE.to_bytes, some))
    for read, body in ((read_json, text), (read_bytes, data)):
        assert read(body, known, most=3) == some
        with pytest.raises(BadSubmissionError, match="more than 2 submissions") as error:
            read(body, known, most=2)
        assert error.value.reason == "batch"
    with pytest.raises(BadSubmissionError, match="this list has no submission"):
        read_json(b"[]", known)
    for body in (b"[{", b"7", b"[[]]"):
        with pytest.raises(BadSubmissionError, match=r"^this is not a submission: "):
            read_json(body, known)


def test_too_many_people_are_refused_before_their_reports_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    some = [cafe(n, n) for n in (2, 3)]
    text = b"[" + b",".join(map(CAFE.to_json, some)) + b"]"
    data = b"".join(map(CAFE.to_bytes, some))
    for read, body in ((read_json, text), (read_bytes, data)):
        assert read(body, known, people=5) == some
        with pytest.raises(BadSubmissionError, match="more than 4 people") as error:
            read(body, known, people=4)
        assert error.value.reason == "batch"
    shape = type(CAFE.survey.question("drink").mechanism.shape)
    monkeypatch.setattr(shape, "_bulk", None)
    monkeypatch.setattr(shape, "check", None)
    with pytest.raises(BadSubmissionError, match="more than 1 people"):
        read_json(text, known, people=1)
    with pytest.raises(BadSubmissionError, match="more than 1 people"):
        read_bytes(data, known, people=1)


# A key that occurs twice


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("field", ["survey", "id", "reports", "segment"])
def test_a_field_that_occurs_twice_is_refused_in_any_submission(field: str, place: int) -> None:
    documents = [json.loads(CAFE.to_json(cafe(1, n))) for n in range(3)]
    texts = [json.dumps(document) for document in documents]
    again = json.dumps({field: documents[place][field]})[1:-1]
    texts[place] = "{" + again + "," + texts[place][1:]
    assert json.loads(texts[place]) == documents[place]  # a lax reader sees no difference
    with pytest.raises(BadSubmissionError, match=f"the key '{field}' occurs twice"):
        read_json(f"[{','.join(texts)}]".encode(), known)


def test_names_that_look_like_fields_or_punctuation_are_no_repetition() -> None:
    names = ["id", "survey", "reports", ",", ":", "\\", 'a"b', "Zürich", "], [", "segment"]
    questions = "".join(
        f"[[questions]]\nname = {json.dumps(name)}\nlabels = ['a', 'b']\nepsilon = 1.0\n"
        for name in names
    )
    form = SubmissionForm(Survey.from_toml(f'name = "odd"\nsegments = ["id"]\n{questions}'))
    one = form.make({name: [0, 1] for name in names}, segment="id")
    assert form.from_json(form.to_json(one)) == one
    assert form.from_json(json.dumps(json.loads(form.to_json(one))).encode()) == one  # escaped
    twice = form.to_json(one).replace(b'{"id":[0,1],', b'{"id":[0,0],"id":[0,1],')
    with pytest.raises(BadSubmissionError, match="the key 'id' occurs twice"):
        form.from_json(twice)


def test_many_unknown_names_do_not_take_long() -> None:
    names = {f"question {n}": [0] for n in range(20_000)}
    document = {"survey": CAFE.fingerprint, "id": "00" * 16, "reports": names, "segment": "beta"}
    with pytest.raises(BadSubmissionError, match="takes no reports to 'question 0'"):
        CAFE.from_json(json.dumps(document).encode())


def test_reports_to_an_unknown_question_are_never_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[object] = []
    monkeypatch.setattr(form_module, "column_in", read.append)
    reports = {"drink": [0], "size+hot": [[0, 0]], **{f"question {n}": [0] for n in range(50)}}
    document = {"survey": CAFE.fingerprint, "id": "00" * 16, "reports": reports}
    with pytest.raises(BadSubmissionError, match="takes no reports to 'question 0'"):
        CAFE.from_json(json.dumps(document).encode())
    assert read == []


@pytest.mark.parametrize("bad", ["-1", "true", "null", '"x"', "[]", "{}", "1.5", "9" * 40])
def test_only_reports_next_to_a_bad_one_are_read_one_by_one(
    bad: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the last report of a long body would cost as much as all reports, read slowly."""
    slow: list[object] = []
    shape = type(CAFE.survey.question("drink").mechanism.shape)
    from_json = shape.from_json

    def noted(self: Any, value: object) -> Any:
        slow.append(value)
        return from_json(self, value)

    monkeypatch.setattr(shape, "from_json", noted)
    n = 20_000
    text = CAFE.to_json(CAFE.make({"drink": [1] * n}, segment="beta")).decode()
    text = text.replace("1]", f"1,{bad}]")
    with pytest.raises(BadSubmissionError, match=f"question 'drink': report {n} is"):
        CAFE.from_json(text.encode())
    assert len(slow) <= 16


@pytest.mark.parametrize("escape", ["", "\\"])
def test_whatever_a_repeated_key_hides_is_refused_and_named(escape: str) -> None:
    text = CAFE.to_json(cafe()).decode()
    hidden = '{"reports":{"' + escape * 2 + 'x":[1.5,{"a":{}},":"]},' + text[1:]
    with pytest.raises(BadSubmissionError, match=r"submission: the key 'reports' occurs twice$"):
        CAFE.from_json(hidden.encode())
    null = text.replace('"segment":"beta"', '"segment":null')
    with pytest.raises(BadSubmissionError, match="this survey needs a segment"):
        CAFE.from_json(null.encode())


# Anything else


@pytest.mark.parametrize(
    "text",
    [
        b'{"' + b"a" * 100_000 + b'": 1}',
        b"[" * 100_000,
        b'{"survey": "' + b"s" * 100_000 + b'", "id": "", "reports": {}}',
        b'{"survey":"","id":"","reports":{"' + b"q" * 100_000 + b'":[0]}}',
        b"\xff" * 1000,
    ],
    ids=["field", "depth", "survey", "question", "no text"],
)
def test_a_refusal_quotes_little(text: bytes) -> None:
    text = text.replace(b'"survey":""', b'"survey":"%s"' % CAFE.fingerprint.encode())
    with pytest.raises(BadSubmissionError) as error:
        CAFE.from_json(text)
    assert len(str(error.value)) < 700


def test_a_huge_number_of_people_takes_no_memory() -> None:
    data = bytearray(CAFE.to_bytes(cafe()))
    data[57:61] = b"\xff\xff\xff\xff"
    tracemalloc.start()
    try:
        with pytest.raises(BadSubmissionError, match="it ends in its reports"):
            CAFE.from_bytes(bytes(data))
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


@st.composite
def nearly(draw: Any) -> bytes:
    """Bytes that are a submission, except perhaps in a few places."""
    people = draw(st.integers(0, 3))
    numbers = draw(st.lists(st.integers(0, 2), max_size=3))
    head = b"MRMS\x01" + bytes.fromhex(CAFE.fingerprint) + draw(st.binary(min_size=16, max_size=16))
    head += draw(st.integers(0, 3)).to_bytes(2, "little") + len(numbers).to_bytes(2, "little")
    head += people.to_bytes(4, "little") + b"".join(n.to_bytes(2, "little") for n in numbers)
    rest = draw(st.lists(st.integers(0, 4), max_size=10))
    data = bytearray(head + bytes(rest))
    for _ in range(draw(st.integers(0, 2))):
        data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    return bytes(data[: draw(st.integers(0, len(data)))]) if draw(st.booleans()) else bytes(data)


@settings(deadline=None, max_examples=400)
@given(st.one_of(st.binary(max_size=100), nearly()))
def test_any_bytes_are_refused_or_written_back_identically(data: bytes) -> None:
    try:
        found = CAFE.from_bytes(data)
    except BadSubmissionError:
        found = None
    if found is not None:
        assert CAFE.to_bytes(found) == data
        assert CAFE.from_json(CAFE.to_json(found)) == found


def test_every_cut_and_every_extension_is_refused() -> None:
    data = CAFE.to_bytes(cafe(3))
    for end in range(len(data)):
        with pytest.raises(BadSubmissionError):
            CAFE.from_bytes(data[:end])
    with pytest.raises(BadSubmissionError, match="something follows the last report"):
        CAFE.from_bytes(data + b"\0")
    with pytest.raises(BadSubmissionError, match="something follows the last report"):
        CAFE.from_bytes(data + data)


values = st.recursive(
    st.one_of(st.integers(-(2**70), 2**70), st.floats(), st.booleans(), st.none(), st.text()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=2)
    ),
    max_leaves=5,
)


@settings(deadline=None, max_examples=200)
@given(
    st.dictionaries(
        st.sampled_from(["survey", "id", "reports", "segment", "more"]), values, max_size=4
    ),
    st.one_of(values, st.lists(st.lists(st.integers(-1, 2), max_size=3), max_size=3)),
)
def test_any_json_is_refused_or_a_submission(change: dict[str, Any], column: Any) -> None:
    document = {**json.loads(CAFE.to_json(cafe())), **change}
    for reports in ({"size+hot": column}, {"drink": column}, document.get("reports")):
        text = json.dumps({**document, "reports": reports}).encode()
        try:
            found = CAFE.from_json(text)
        except BadSubmissionError:
            continue
        assert CAFE.from_json(CAFE.to_json(found)) == found
