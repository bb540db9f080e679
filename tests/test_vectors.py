"""The known answers of ``vectors/`` are reproduced, and its bad inputs refused with a reason."""

from __future__ import annotations

import datetime
import hashlib
import json
import unicodedata
from typing import Any

import numpy as np
import pytest
import xxhash

from murmurs import ORR, Given, ORappor, Product, Rappor, Subset, Survey
from murmurs.boundary.documents import canonical
from murmurs.client.limits import chance_of_draw, draw
from murmurs.hashing import strings
from murmurs.hashing.layout import Keyed, Ranked
from murmurs.kernels import compiled, reference
from murmurs.mechanisms import BY_NAME, SETS, Design, NGrams, OpenProduct, Prefixes, from_document
from murmurs.mechanisms.closed.truthful import Truthful
from murmurs.numerics.xxh32 import bucket, buckets, hash_key, hash_keys
from murmurs.questions.kinds import asked_from_document
from murmurs.survey.terms import FIELDS, period_number
from murmurs.wire import BadReportError
from tests import make_vectors
from tests.make_vectors import FOLDER, Vector, in_json


def read(name: str) -> list[Vector]:
    vectors: list[Vector] = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    return vectors


HASHES, REPORTS, BAD = (read(name) for name in ("hash.json", "reports.json", "bad_reports.json"))
STRINGS, BAD_JSON = read("strings.json"), read("bad_json.json")
WITH_VECTORS: dict[str, type[Any]] = {
    **BY_NAME,
    **SETS,
    "ORR": ORR,
    "ORappor": ORappor,
    "Product": Product,
}


def answer_of(vector: Vector) -> Any:
    """The answer as `encode` takes it: a list of answers is a tuple."""
    answer = vector["answer"]
    return tuple(answer) if isinstance(answer, list) else answer


def of_kind(kind: str) -> list[Vector]:
    return [vector for vector in STRINGS if vector["kind"] == kind]


class Recorded(Given):
    """Given bytes that remember what chance said and how often a draw was taken anew."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.said: list[bool] = []
        self.takes_of_draws: list[int] = []
        self._takes = 0

    def take(self, size: int) -> bytes:
        self._takes += size > 0
        return super().take(size)

    def chance(self, numerator: int) -> bool:
        self.said.append(super().chance(numerator))
        return self.said[-1]

    def below(self, n: int) -> int:
        before = self._takes
        value = super().below(n)
        self.takes_of_draws.append(self._takes - before)
        return value


# The files themselves


@pytest.mark.parametrize("name", make_vectors.FILES)
def test_the_script_writes_the_committed_file(name: str) -> None:
    written = (FOLDER / name).read_text(encoding="utf-8")
    assert make_vectors.text(make_vectors.FILES[name]()) == written


def test_every_mechanism_has_vectors_with_two_parameter_sets() -> None:
    for name in WITH_VECTORS:
        documents = [json.dumps(v["mechanism"]) for v in REPORTS if v["mechanism"]["name"] == name]
        assert len(set(documents)) >= 2, name
        assert any(v["mechanism"]["name"] == name for v in BAD), name


def test_subsets_have_vectors_in_both_layouts() -> None:
    sets = [from_document(v["mechanism"]) for v in REPORTS if v["mechanism"]["name"] == "Subset"]
    assert {m.shape.as_bits for m in sets if isinstance(m, Subset)} == {True, False}


def test_vectors_take_both_branches_and_draw_anew() -> None:
    said: dict[type, set[bool]] = {}
    takes: set[int] = set()
    for vector in REPORTS:
        mechanism: Any = from_document(vector["mechanism"])
        random = Recorded(bytes.fromhex(vector["random"]))
        mechanism.encode(answer_of(vector), random)
        said.setdefault(type(mechanism), set()).update(random.said)
        takes.update(random.takes_of_draws)
    assert set(said) == {*WITH_VECTORS.values(), OpenProduct, Rappor, Prefixes, NGrams, Design}
    assert said.pop(Design) == set()  # it draws one number below a denominator
    assert all(outcomes == {True, False} for outcomes in said.values())
    assert any(issubclass(kind, Truthful) for kind in said)
    assert takes >= {0, 1, 2, 3}  # no byte for n = 1, one reading, and several


def test_numbers_are_exact_in_javascript() -> None:
    def numbers(value: Any) -> list[int]:
        if isinstance(value, dict):
            return [x for part in value.values() for x in numbers(part)]
        if isinstance(value, list):
            return [x for part in value for x in numbers(part)]
        return [value] if isinstance(value, int) else []

    assert max(numbers(HASHES + STRINGS + REPORTS + BAD + BAD_JSON)) <= 2**53


# What they say


def test_the_hashes_known_from_elsewhere_are_first() -> None:
    known = [(0x0102030405060708, 0, 0x048E9240), (2**64 - 1, 0xDEADBEEF, 0x21EFBFFD)]
    assert [(int(v["key"], 16), v["seed"], v["hash"]) for v in HASHES[:2]] == known


@pytest.mark.parametrize("vector", HASHES, ids=lambda v: f"{v['key']}-{v['seed']:x}")
def test_a_hash_is_reproduced(vector: Vector) -> None:
    key, seed = int(vector["key"], 16), vector["seed"]
    keys, seeds = np.array([key], np.uint64), np.array([seed], np.uint32)
    assert xxhash.xxh32_intdigest(key.to_bytes(8, "little"), seed) == vector["hash"]
    assert hash_key(key, seed) == vector["hash"]
    assert hash_keys(keys, seeds).tolist() == [vector["hash"]]
    for g, value in vector["buckets"]:
        assert bucket(key, seed, g) == value
        assert buckets(keys, seeds, g).tolist() == [value]


def xxh32(key: int, seed: int) -> int:
    value: int = xxhash.xxh32_intdigest(key.to_bytes(8, "little"), seed)
    return value


@pytest.mark.parametrize("vector", of_kind("key"), ids=lambda v: ascii(v["text"][:20]))
def test_the_key_of_a_string_is_reproduced(vector: Vector) -> None:
    text, keys = vector["text"], [int(key, 16) for key in vector["keys"]]
    assert strings.normal(text) == unicodedata.normalize("NFC", text) == vector["normal"]
    digest = hashlib.sha256(vector["normal"].encode()).digest()
    assert [int.from_bytes(digest[at : at + 8], "little") for at in range(0, 32, 8)] == keys
    assert [strings.key(text, number) for number in (0, 1, 2, 3, 4)] == [*keys, keys[0]]
    other = [strings.key("a", number) for number in range(4)]
    assert strings.keys([text, "a", text]).T.tolist() == [keys, other, keys]


def test_equal_strings_and_only_those_have_equal_keys() -> None:
    pairs = {(v["normal"], tuple(v["keys"])) for v in of_kind("key")}
    forms, keys = {form for form, _ in pairs}, {key for _, key in pairs}
    assert len(forms) == len(keys) == len(pairs) < len(of_kind("key"))


@pytest.mark.parametrize(
    "vector", of_kind("places"), ids=lambda v: f"{v['text']!a}-{v['width']}-{v['salt']}"
)
def test_the_places_of_a_string_are_reproduced(vector: Vector) -> None:
    """By one device, for many answers at once, and by both forms of the kernels."""
    text, width, hashes, salt = (vector[name] for name in ("text", "width", "hashes", "salt"))
    cohorts = vector["cohorts"]
    mechanism = ORappor(epsilon=8.0, width=width, cohorts=cohorts, hashes=hashes, salt=salt)
    layout = Keyed(strings.keys(["other", text]), cohorts, width, salt, hashes)
    for cohort, places in vector["places"]:
        numbers = range(cohort * hashes, (cohort + 1) * hashes)
        seeded = [(strings.key(text, j), (salt + j) % 2**32) for j in numbers]
        assert list(dict.fromkeys(xxh32(*one) * width >> 32 for one in seeded)) == places
        assert list(dict.fromkeys(bucket(*one, width) for one in seeded)) == places
        assert mechanism.places(text, cohort) == places
        many = layout.look_up(np.array([1]), np.array([cohort]))
        forms = [
            form.places(
                np.array([[key] for key, _ in seeded], np.uint64), seeded[0][1], 1, width, hashes
            )
            for form in (reference, compiled)
        ]
        for row in (many, layout.places_in(cohort)[:, 1:], *forms):
            assert [place for place in row.ravel().tolist() if place < width] == places


def test_some_places_of_a_string_are_the_same_and_told_once() -> None:
    assert {
        len(places) < vector["hashes"]
        for vector in of_kind("places")
        for _, places in vector["places"]
    } == {True, False}


@pytest.mark.parametrize("vector", of_kind("permuted"), ids=lambda v: f"{v['k']}-{v['width']}")
def test_permuted_places_are_reproduced(vector: Vector) -> None:
    k, cohorts, width, salt = (vector[name] for name in ("k", "cohorts", "width", "salt"))
    layout = Ranked(k, cohorts, width, salt)
    for cohort, places in enumerate(vector["places"]):
        order = sorted(range(k), key=lambda x: (xxh32(x, (salt + cohort) % 2**32), x))
        assert [order.index(x) % width for x in range(k)] == places
        assert layout.places_in(cohort).tolist() == [places]


@pytest.mark.parametrize("vector", of_kind("bad"), ids=lambda v: ascii(v["text"]))
def test_a_bad_string_is_refused_with_its_reason(vector: Vector) -> None:
    rr = ORR(epsilon=1.0, width=3, cohorts=2)
    for refuse in (strings.normal, strings.key, rr.check):
        with pytest.raises(ValueError) as error:  # noqa: PT011 - the reason is looked for below
            refuse(vector["text"])
        assert vector["error"] in str(error.value)


@pytest.mark.parametrize("vector", REPORTS, ids=lambda v: v["label"].removeprefix("murmurs "))
def test_a_report_is_reproduced(vector: Vector) -> None:
    mechanism: Any = from_document(vector["mechanism"])
    data = bytes.fromhex(vector["random"])
    assert data == hashlib.shake_128(vector["label"].encode()).digest(len(data))
    random = Given(data)
    report = mechanism.encode(answer_of(vector), random)
    assert random.left == vector["left"] == 0
    assert in_json(report) == vector["report"]
    assert mechanism.shape.pack(report).hex() == vector["wire"]
    assert mechanism.shape.unpack(bytes.fromhex(vector["wire"])) == report
    assert mechanism.shape.to_json(report) == vector["json"]
    assert mechanism.shape.from_json(vector["json"]) == report
    assert mechanism.count([vector["json"]]) == mechanism.count(bytes.fromhex(vector["wire"]))
    assert mechanism.to_document() == vector["mechanism"]


@pytest.mark.parametrize(
    "vector", BAD, ids=lambda v: f"{v['mechanism']['name']}-{v['wire'] or 'empty'}"
)
def test_a_bad_report_is_refused_with_its_reason(vector: Vector) -> None:
    shape = from_document(vector["mechanism"]).shape
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the reason is looked for below
        shape.unpack(bytes.fromhex(vector["wire"]))
    assert vector["error"] in str(error.value)


@pytest.mark.parametrize(
    "vector", BAD_JSON, ids=lambda v: f"{v['mechanism']['name']}-{json.dumps(v['json'])}"
)
def test_a_bad_json_form_is_refused_with_its_reason(vector: Vector) -> None:
    mechanism = from_document(vector["mechanism"])
    with pytest.raises((TypeError, ValueError)) as error:
        mechanism.shape.from_json(vector["json"])
    assert vector["error"] in str(error.value)
    goods = [v["json"] for v in REPORTS if v["mechanism"] == vector["mechanism"]][:1]
    with pytest.raises(BadReportError) as among:
        mechanism.shape.many_from_json([*goods, vector["json"]])
    assert among.value.position == len(goods)
    if not isinstance(vector["json"], str):  # to count, text is also base64 of the packed bytes
        with pytest.raises(ValueError, match=r"^report 0 is "):
            mechanism.count([vector["json"]])


@pytest.mark.parametrize("vector", read("surveys.json"), ids=lambda v: v.get("error", "good"))
def test_a_survey_is_read_or_refused_and_has_its_fingerprint(vector: Vector) -> None:
    text = json.dumps(vector["survey"])
    if vector["kind"] == "bad":
        with pytest.raises(ValueError) as error:  # noqa: PT011 - the reason is looked for below
            Survey.from_json(text)
        assert vector["error"] in str(error.value)
        return
    survey = Survey.from_json(text)
    assert survey.to_document() == vector["survey"]
    assert canonical(survey.to_document()) == vector["canonical"]
    assert survey.fingerprint == vector["fingerprint"]
    assert hashlib.sha256(vector["canonical"].encode()).hexdigest() == vector["fingerprint"]


def test_every_term_has_a_vector() -> None:
    named = {name for v in read("surveys.json") if v["kind"] == "good" for name in v["survey"]}
    assert named >= {*FIELDS, "segments", "joint"}


@pytest.mark.parametrize("vector", read("draws.json"), ids=lambda v: f"{v['every']}-{v['day']}")
def test_a_draw_is_reproduced(vector: Vector) -> None:
    names, every = tuple(vector["reported"]), vector["every"]
    day = datetime.date.fromisoformat(vector["day"])
    assert period_number(every, day) == vector["period"]
    secret = bytes.fromhex(vector["secret"])
    random = chance_of_draw(secret, vector["survey"], every, vector["period"], names)
    assert list(draw(names, vector["questions_each"], random)) == vector["drawn"]


@pytest.mark.parametrize("vector", read("numbers.json"), ids=lambda v: f"{v['answer']}")
def test_a_number_is_put_into_its_bucket_and_reported(vector: Vector) -> None:
    question: Any = asked_from_document(vector["question"])
    if vector["bucket"] is None:
        with pytest.raises(ValueError, match="this is not an answer to"):
            question.answer(vector["answer"])
        return
    random = Given(bytes.fromhex(vector["random"]))
    report = question.encode(vector["answer"], random)
    assert random.left == 0
    assert question.answer(vector["answer"]) == vector["bucket"]
    assert (report, question.mechanism.shape.pack(report).hex()) == (
        vector["report"],
        vector["wire"],
    )


def test_numbers_have_vectors_inside_outside_and_on_every_edge() -> None:
    for question in {
        json.dumps(v["question"]): v["question"] for v in read("numbers.json")
    }.values():
        own = [v for v in read("numbers.json") if v["question"] == question]
        buckets = {v["bucket"] for v in own}
        assert buckets >= set(range(len(question["edges"]) - 1))
        assert None in buckets or question.get("outside") == "clamp"
        inner = [edge for edge in question["edges"] if edge is not None]
        assert sum(v["answer"] in inner for v in own) >= 2
