"""The known answers of ``vectors/`` are reproduced, and its bad inputs refused with a reason."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
import pytest
import xxhash

from murmurs import Given, Subset
from murmurs.hashing import bucket, buckets, hash_key, hash_keys
from murmurs.mechanism import Truthful
from murmurs.mechanisms import BY_NAME, from_document
from tests import make_vectors
from tests.make_vectors import FOLDER, Vector, in_json


def read(name: str) -> list[Vector]:
    vectors: list[Vector] = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    return vectors


HASHES, REPORTS, BAD = (read(name) for name in ("hash.json", "reports.json", "bad_reports.json"))


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
    for name in BY_NAME:
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
        mechanism = from_document(vector["mechanism"])
        random = Recorded(bytes.fromhex(vector["random"]))
        mechanism.encode(vector["answer"], random)
        said.setdefault(type(mechanism), set()).update(random.said)
        takes.update(random.takes_of_draws)
    assert set(said) == set(BY_NAME.values())
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

    assert max(numbers(HASHES + REPORTS + BAD)) <= 2**53


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


@pytest.mark.parametrize("vector", REPORTS, ids=lambda v: v["label"].removeprefix("murmurs "))
def test_a_report_is_reproduced(vector: Vector) -> None:
    mechanism = from_document(vector["mechanism"])
    data = bytes.fromhex(vector["random"])
    assert data == hashlib.shake_128(vector["label"].encode()).digest(len(data))
    random = Given(data)
    report = mechanism.encode(vector["answer"], random)
    assert random.left == vector["left"] == 0
    assert in_json(report) == vector["report"]
    assert mechanism.shape.pack(report).hex() == vector["wire"]
    assert mechanism.shape.unpack(bytes.fromhex(vector["wire"])) == report
    assert mechanism.to_document() == vector["mechanism"]


@pytest.mark.parametrize(
    "vector", BAD, ids=lambda v: f"{v['mechanism']['name']}-{v['wire'] or 'empty'}"
)
def test_a_bad_report_is_refused_with_its_reason(vector: Vector) -> None:
    shape = from_document(vector["mechanism"]).shape
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the reason is looked for below
        shape.unpack(bytes.fromhex(vector["wire"]))
    assert vector["error"] in str(error.value)
