"""Chance of rows: it depends on the row alone, has its law exactly, and can be written again.

Exact where possible. Statistical tests have a false-alarm rate of `FALSE_ALARM` (1e-7) each, fixed
secrets, and show a wrong law that they reject.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import pickle
import sys
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pyarrow
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import murmurs as mm
from murmurs import Keyed, kernels
from murmurs.boundary.keys import row_keys
from murmurs.kernels import U64, compiled, reference
from murmurs.privacy import SCALE
from murmurs.randomness.bulk import bulk
from murmurs.randomness.deciding import biased, less, more_digits
from murmurs.randomness.keyed_bulk import KeyedBulk, KeyedTable
from murmurs.randomness.row_streams import Streams, room
from tests import laws
from tests.goodness import FALSE_ALARM, p_value

SECRET = bytes(range(32))
KRR = mm.KRR(k=5, epsilon=1.0)


def table(keys: Any, context: Any = ("q",), secret: bytes = SECRET, law: str = "m") -> KeyedTable:
    return KeyedTable(Keyed(secret, context, keys), len(keys), law, (None,))


def part(keys: Any, answers: Any, **options: Any) -> KeyedBulk:
    return table(keys, **options).part(slice(None), np.asarray(answers))


# The law of a row, written again with nothing but primitives


def written(part: str | bytes | int) -> bytes:
    if isinstance(part, bytes):
        letter, text = b"b", part
    else:
        letter, text = (b"s" if isinstance(part, str) else b"i"), str(part).encode()
    return letter + len(text).to_bytes(8, "little") + text


def aes(key: bytes, block: bytes) -> bytes:
    return Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(block)


def xor(a: bytes, b: bytes) -> bytes:
    return bytes(x ^ y for x, y in zip(a, b, strict=True))


def two(a: int, b: int) -> bytes:
    return a.to_bytes(8, "little") + b.to_bytes(8, "little")


class Row:
    """What one row reads, by the page of `Keyed`."""

    def __init__(
        self, key: Any, answers: list[int | str], law: str, context: tuple[Any, ...] = ("q",)
    ) -> None:
        kinds = {int: "integer", uuid.UUID: "uuid", str: "text", bytes: "bytes"}
        letters = "".join("t" if isinstance(answer, str) else "n" for answer in answers)
        parts = ("keyed rows 1", kinds[type(key)], letters, law, *context)
        message = b"murmurs derived 1" + b"".join(map(written, parts))
        made = b"".join(
            hmac.new(SECRET, message + i.to_bytes(8, "little"), hashlib.sha256).digest()
            for i in range(3)
        )
        self.k1, self.k2, self.k3 = made[:32], made[32:64], made[64:]
        self.tag = self._tag(key, answers, letters)

    def _hash(self, value: bytes) -> bytes:
        return hashlib.blake2b(value, digest_size=16, key=self.k3).digest()

    def _tag(self, key: Any, answers: list[int | str], letters: str) -> bytes:
        if isinstance(key, int) and letters == "n":
            [number] = answers
            return aes(self.k1, two(key % 2**64, int(number) + (2**63 if key < 0 else 0)))
        if isinstance(key, int):
            block = two(key % 2**64, int(key < 0))
        elif isinstance(key, uuid.UUID):
            block = key.bytes
        else:
            block = self._hash(key.encode() if isinstance(key, str) else key)
        tag = aes(self.k1, block)
        for answer in answers:
            own = self._hash(answer.encode()) if isinstance(answer, str) else two(answer, 0)
            tag = aes(self.k1, xor(tag, own))
        return tag

    def read(self, start: int, size: int) -> bytes:
        blocks = range(start // 16, (start + size + 15) // 16)
        joined = b"".join(aes(self.k2, xor(self.tag, two(b, b))) for b in blocks)
        return joined[start % 16 : start % 16 + size]

    def number(self, start: int, size: int) -> int:
        return int.from_bytes(self.read(start, size), "little")

    def further(self, start: int, number: int) -> bytes:
        return aes(self.k2, xor(self.tag, two(start, 2**63 + number)))


KEYS: dict[str, list[Any]] = {
    "integer": [5, -5, 0, 2**62, -(2**63)],
    "unsigned": [5, 2**64 - 5, 2**63],
    "text": ["5", "Zürich", "a" * 1000],
    "bytes": [b"5", b"\0", bytes(16)],
    "uuid": [uuid.UUID(int=5), uuid.UUID(int=2**127 + 1)],
}


@pytest.mark.parametrize("keys", KEYS.values(), ids=list(KEYS))
def test_tags_and_first_draws_are_as_the_page_says(keys: list[Any]) -> None:
    answers = np.arange(len(keys)) * 1000
    bulk_ = part(keys, answers)
    tags = bulk_._tags.tobytes()
    words, chances = bulk_.words(len(keys)), bulk_.chance(SCALE // 3, len(keys))
    numbers, wide = bulk_.below(1000, len(keys)), bulk_.wide(2**40, len(keys))
    for i, key in enumerate(keys):
        row = Row(key, [1000 * i], "m")
        assert tags[16 * i : 16 * i + 16] == row.tag
        assert words[i] == row.number(0, 4)
        assert chances[i] == (row.number(8, 8) >> 11 < SCALE // 3)  # from a multiple of eight
        assert numbers[i] == row.number(16, 4) * 1000 >> 32
        assert wide[i] == row.number(24, 8) >> 24


def test_fixed_vectors_for_other_languages() -> None:
    """The tag of key 5 with answer 3, and of "5" with "tea", under the secret 00 01 ... 1f."""
    assert Row(5, [3], "m").tag == part([5], [3])._tags.tobytes()
    assert Row(5, [3], "m").tag.hex() == "e03f75e1fc6958f222ec2891c68b0cad"
    assert Row("5", ["tea"], "m").tag.hex() == "9a696081e1c21bddf80486175dc214ac"
    assert Row(5, [3], "m").read(0, 16).hex() == "4812c0f743ac92ef974b021fe6335938"


def test_a_report_of_krr_can_be_written_again() -> None:
    law = KRR.to_document()
    canonical = json.dumps(law, sort_keys=True, separators=(",", ":")).replace("1.0", "1")
    keys, answers = list(range(200)), [i % 5 for i in range(200)]
    reports = KRR.encode_many(answers, Keyed(SECRET, ("q", 7), keys))
    for key, answer, report in zip(keys, answers, reports.tolist(), strict=True):
        row = Row(key, [answer], canonical, ("q", 7))
        word = row.number(0, 4)
        assert word * 5 % 2**32 >= 2**32 % 5  # no other draw, which happens once in 2**32
        honest = row.number(8, 8) >> 11 < KRR.truth
        assert report == (answer if honest else word * 5 >> 32)


def test_a_report_of_a_string_can_be_written_again() -> None:
    orr = mm.ORR(epsilon=2.0, width=8, cohorts=64)
    law = json.dumps(orr.to_document(), sort_keys=True, separators=(",", ":")).replace("2.0", "2")
    texts = ["tea", "mate", "tea"]
    for key, text, report in zip(
        [b"x", b"y", b"z"],
        texts,
        orr.encode_many(texts, Keyed(SECRET, (), [b"x", b"y", b"z"])).tolist(),
        strict=True,
    ):
        row = Row(key, [text], law, ())
        cohort, other = row.number(0, 4) * 64 >> 32, row.number(4, 4) * 8 >> 32
        honest = row.number(8, 8) >> 11 < orr.truth
        assert report == cohort * 8 + (orr.places(text, cohort)[0] if honest else other)


def test_packed_bits_can_be_written_again() -> None:
    """Rows of 3 bytes are thrown in fours, of 20 bytes in 32; some bits need further blocks."""
    numerator = SCALE // 3
    digits = [numerator >> (52 - j) & 1 for j in range(53)]
    for size, unit in ((1, 1), (3, 4), (8, 8), (16, 16), (20, 32), (24, 32)):
        keys, throws = list(range(40)), 16 if size == 1 else 8
        out = part(keys, [0] * 40).packed(numerator, 40 * size).reshape(40, size)
        for key in keys:
            row = Row(key, [0], "m")
            planes = [row.number(unit * j, unit) for j in range(throws)]
            for bit in range(8 * size):
                zero = next((j for j, plane in enumerate(planes) if not plane >> bit & 1), None)
                if zero is None:
                    rest = (numerator << throws) % SCALE
                    block = row.further(0, 2**32 * bit + 1)
                    wanted = int.from_bytes(block[:8], "little") >> 11 < rest
                else:
                    wanted = digits[zero] == 1
                assert out[key, bit // 8] >> bit % 8 & 1 == wanted


# A draw depends on the row alone

PROGRAMS = st.lists(
    st.tuples(
        st.sampled_from(["words", "below", "chance", "wide", "packed", "subsets", "of", "each"]),
        st.integers(0, 2**16),
    ),
    max_size=8,
)


def run(source: KeyedBulk, rows: NDArray[Any], program: list[tuple[str, int]]) -> list[list[Any]]:
    """Make some draws; return what each row drew. Which rows draw is a property of the row."""
    n = len(rows)
    out: list[list[Any]] = [[] for _ in range(n)]
    for verb, x in program:
        if verb == "of":
            some = (rows * 40503 + x) % 7 < 3
            inner = run(source.of(some), rows[some], [("below", x), ("chance", x), ("packed", x)])
            for row, drawn in zip(np.flatnonzero(some).tolist(), inner, strict=True):
                out[row] += drawn
            continue
        verbs: dict[str, Callable[[], Any]] = {
            "words": lambda: source.words(n),
            "below": lambda x=x: source.below(2**31 + 1 + x, 2 * n).reshape(2, n).T,  # type: ignore[misc]
            "chance": lambda x=x: source.chance(x, n, 2**16),  # type: ignore[misc]
            "wide": lambda x=x: source.wide(2**61 + 1 + x, n),  # type: ignore[misc]
            "packed": lambda x=x: source.packed(x + 1, n * (x % 40), 2**70).reshape(n, x % 40),  # type: ignore[misc]
            "subsets": lambda x=x: source.subsets(rows % 9 - 1, 10 + x % 200, 1 + x % 9),  # type: ignore[misc]
            "each": lambda: [[one.below(1000), one.chance(2**50)] for one in source.each(n)],
        }
        drawn_by_row = verbs[verb]()
        for row in range(n):
            out[row].append(np.asarray(drawn_by_row[row]).tolist())
    return out


@settings(deadline=None, max_examples=60)
@given(PROGRAMS)
def test_what_a_row_draws_does_not_depend_on_the_others(program: list[tuple[str, int]]) -> None:
    rows = np.arange(24)
    together = run(part(rows + 100, rows % 3), rows, program)
    for row in rows.tolist():
        alone = run(part([row + 100], [row % 3]), np.array([row]), program)
        assert together[row] == alone[0]
    backwards = run(part(rows[::-1] + 100, rows[::-1] % 3), rows[::-1], program)
    assert backwards[::-1] == together


def test_no_row_reads_a_byte_for_two_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    read: dict[int, list[range]] = {0: [], 1: [], 2: []}
    further: list[bytes] = []
    reserve, more = KeyedBulk._reserve, KeyedBulk._further

    def reserved(self: KeyedBulk, size: int, multiple: int) -> Any:
        start = reserve(self, size, multiple)
        rows = range(3) if self._rows is None else self._rows.tolist()
        for row, at in zip(rows, np.broadcast_to(start, len(rows)).tolist(), strict=True):
            read[row].append(range(at, at + size))
        return start

    def asked(self: KeyedBulk, *arguments: Any) -> U64:
        found = more(self, *arguments)
        further.extend(block.tobytes() for block in found.reshape(-1, 2))
        return found

    monkeypatch.setattr(KeyedBulk, "_reserve", reserved)
    monkeypatch.setattr(KeyedBulk, "_further", asked)
    source = part([1, 2, 3], [0, 0, 0])
    source.packed(1, 3 * 400)
    source.subsets(np.array([-1, 0, 1]), 50, 9)
    source.of(np.array([0, 2])).wide(2**50 + 1, 2)
    for one in source.each(3):
        for _ in range(20):
            one.below(2**60)
    source.below(2**31 + 1, 30)
    source.packed(1, 3)
    source.of(np.array([True, False, False])).packed(1, 17)
    for ranges in read.values():
        taken = [byte for own in ranges for byte in own]
        assert len(taken) == len(set(taken)) > 3000
    assert len(further) == len(set(further)) > 60


def test_kernels_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = []
    for form in (compiled, reference):
        monkeypatch.setattr(kernels, "load", lambda form=form: form)
        source = part(np.arange(3000), np.zeros(3000, int))
        drawn.append(
            [
                source.below(2**31 + 1, 3000).tolist(),
                source.packed(SCALE // 7, 3000 * 5).tolist(),
                source.subsets(np.arange(3000) % 300 - 1, 300, 4).tolist(),
            ]
        )
    assert drawn[0] == drawn[1]


def test_a_part_is_over_when_the_next_is_taken() -> None:
    rows = table(np.arange(10))
    first = rows.part(slice(0, 5), np.zeros(5, int))
    words = first.words(5)
    rows.part(slice(5, 10), np.zeros(5, int))
    with pytest.raises(ValueError, match="these rows are over"):
        first.words(5)
    again = rows.part(slice(0, 5), np.zeros(5, int)).words(5)
    assert np.array_equal(words, again)


def test_draws_that_belong_to_nobody_are_refused() -> None:
    source = part([1, 2, 3], [0, 0, 0])
    with pytest.raises(ValueError, match=r"4 draws are not as many for each of 3 rows"):
        source.below(5, 4)
    with pytest.raises(TypeError, match="belongs to a row"):
        source.take(5)
    with pytest.raises(TypeError, match="rows of one part"):
        source.part(slice(0, 1), np.zeros(1, int))
    nobody = source.of(np.zeros(3, bool))
    assert list(nobody.each(0)) == []
    for drawn in (nobody.words(0), nobody.chance(5, 0), nobody.wide(2**40, 0), nobody.packed(5, 0)):
        assert len(drawn) == 0
    with pytest.raises(ValueError, match="for each of 0 rows"):
        nobody.below(5, 1)


def test_the_ordinary_source_is_the_same_for_all() -> None:
    source = bulk(np.random.default_rng(1))
    assert source.of(np.array([True])) is source is source.part(slice(0, 1), np.zeros(1, int))


# Other keys, answers, secrets and contexts: other chance


def test_whatever_differs_gives_other_draws() -> None:
    """Numbers below 2**62 of 500 rows: two are equal by chance with probability below 1e-15."""
    answers = np.zeros(500, int)
    five = np.arange(5, 505)

    def draws(keys: Any, answers: Any = answers, **options: Any) -> list[int]:
        return list(part(keys, answers, **options).wide(2**62, 500).tolist())

    fixed = np.zeros((500, 16), np.uint8)
    fixed[:, 0], fixed[:, 1] = five % 256, five // 256
    texts = [str(key) for key in five]
    sixteen = [row.tobytes() for row in fixed]
    different = [
        draws(five),
        draws(five + 1000),
        draws(-five),
        draws(2**64 - five.astype(object)),
        draws(five, answers + 1),
        draws(five, secret=SECRET[::-1]),
        draws(five, context=("q", "")),
        draws(five, context=("p",)),
        draws(five, context=(b"q",)),
        draws(five, law="n"),
        draws(texts),
        draws([text.encode() for text in texts]),
        draws(fixed),
        draws(sixteen),
    ]
    for i, one in enumerate(different):
        assert len(set(one)) == 500
        for other in different[:i]:
            assert not set(one) & set(other)


def test_the_same_keys_in_any_form_give_the_same_draws() -> None:
    five = np.arange(-5, 5)

    def draws(keys: Any) -> list[int]:
        return list(part(keys, np.zeros(10, int)).wide(2**62, 10).tolist())

    forms: list[Callable[[], Any]] = [
        lambda: five.tolist(),
        lambda: tuple(five.tolist()),
        lambda: five.astype(np.int8),
        lambda: five.astype(">i4"),
        lambda: np.repeat(five, 2)[::2],
        lambda: five.astype(object),
        lambda: pyarrow.array(five),
        lambda: pyarrow.chunked_array([five[:3], five[3:]]),
    ]
    assert len({str(draws(form())) for form in forms}) == 1
    assert draws(five + 5) == draws((five + 5).astype(np.uint64)) == draws((five + 5).tolist())
    texts = [f"k{i}" for i in range(10)]
    for same in (np.array(texts), pyarrow.array(texts), pyarrow.array(texts).dictionary_encode()):
        assert draws(same) == draws(texts)
    as_bytes = [text.encode() for text in texts]
    assert draws(pyarrow.array(as_bytes)) == draws(as_bytes)
    ids = [uuid.UUID(int=i) for i in range(10)]
    packed = [own.bytes for own in ids]
    rows = np.frombuffer(b"".join(packed), np.uint8).reshape(10, 16)
    for same in (rows, rows.view("V16").ravel(), pyarrow.array(packed, pyarrow.binary(16))):
        assert draws(same) == draws(ids)


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_columns_of_data_frames_are_keys(package: str) -> None:
    frames = pytest.importorskip(package)
    assert row_keys(frames.Series([5, 6])).kind == "integer"
    assert row_keys(frames.Series(["a", "b"])).values == [b"a", b"b"]
    with pytest.raises(ValueError, match="key number 1 is missing"):
        row_keys(frames.Series(["a", None]))
    with pytest.raises((TypeError, ValueError), match=r"float|missing"):
        row_keys(frames.Series([5, None]))
    assert row_keys(frames.Series([], dtype=object if package == "pandas" else frames.Int64)).kind


# The law of results


def test_the_digits_of_a_chance_are_compared_exactly() -> None:
    """Words of four bits and probabilities of eight digits: all 256 pairs of words."""
    words = np.arange(16, dtype=np.uint64)
    for numerator in range(256):
        below, top = less(words, numerator, 256, bits=4)
        again, _ = less(words, more_digits(numerator, 256, bits=4), 256, bits=4)
        true = sum(16 * int(b) for b in below)
        true += sum(int(again.sum()) for word in words.tolist() if word == top)
        assert true == numerator


@pytest.mark.parametrize("bits", [4, 8])
def test_words_that_fit_give_every_number_equally_often(bits: int) -> None:
    words = np.arange(2**bits, dtype=np.uint32)
    for bound in range(1, 2**bits + 1):
        kept = words[~biased(words, bound, bits)].astype(np.int64)
        seen = np.bincount(kept * bound >> bits, minlength=bound)
        assert set(seen.tolist()) == {2**bits // bound}


class Fake:
    """A cipher whose blocks are known: row, number of the block, and whether it is a further one.

    The tag of row r is r * 2**56 in both halves, so that it does not mix with the numbers.
    """

    def __init__(self, n: int, main: Callable[[int, int], tuple[int, int]], more: Any) -> None:
        self.main, self.more = main, more
        tags = room(n)
        tags[:] = (np.arange(n, dtype=np.uint64) << np.uint64(56))[:, None]
        self.bulk = KeyedBulk(Streams(tags, (room(n), room(n)), self.encrypt))

    def encrypt(self, blocks: U64) -> U64:
        for block in blocks:
            low, high = (int(x) for x in block)
            row, at, number = low >> 56, low % 2**56, high % 2**56
            is_further = high >> 56 != row
            block[:] = self.more(row, at, number) if is_further else self.main(row, at)
        return blocks


def test_a_chance_that_its_word_leaves_open_is_decided_by_further_blocks() -> None:
    """Of 107 digits, the first 64 are ``top``; a word that equals it needs 43 more digits."""
    numerator, scale = 3**67, 2**107
    top, rest = numerator >> 43, (numerator % 2**43) << 21
    firsts = [top - 1, top + 1, top, top, top, 0]
    further = [None, None, rest - 1, rest, rest + 1, None]
    fake = Fake(6, lambda row, at: (firsts[row], 0), lambda row, at, number: (further[row], 0))
    assert fake.bulk.chance(numerator, 6, scale).tolist() == [True, False, True, False, False, True]


def test_words_that_do_not_fit_are_replaced_by_those_of_the_same_draw() -> None:
    """With 2**31 + 1 numbers, word 0 is refused; the third attempt of row 1 is taken."""
    asked: list[tuple[int, int, int]] = []

    def more(row: int, at: int, number: int) -> tuple[int, int]:
        asked.append((row, at, number))
        return (2**32 - 1 if number == 3 else 0), 0

    fake = Fake(3, lambda row, at: (0 if row == 1 else 2**32 - 1, 2**64 - 1), more)
    bound = 2**31 + 1
    assert fake.bulk.below(bound, 3).tolist() == [2**31] * 3
    assert asked == [(1, 0, 1), (1, 0, 2), (1, 0, 3)]


def test_numbers_with_many_bits_are_drawn_again_until_they_are_below() -> None:
    bound = 2**40 + 1
    firsts = [2**41 - 1, 2**40, 2**40 + 1]
    fake = Fake(
        3,
        lambda row, at: (firsts[row] << 23, 0),
        lambda row, at, number: ((7 if number == 2 else 2**41 - 1) << 23, 0),
    )
    assert fake.bulk.wide(bound, 3).tolist() == [7, 2**40, 7]


def test_members_that_do_not_fit_are_drawn_again() -> None:
    """A word of zero is refused for every bound that is no power of two; the next one is taken."""
    taken = [2**32 - 1, 2**31 + 12345]  # for the words at bytes 0 and 4

    def more(row: int, at: int, number: int) -> tuple[int, int]:
        assert number == 1
        return taken[at // 4], 0

    own = np.array([-1, 3, 0])
    for k, w in ((7, 1), (13, 1), (7, 2), (1001, 2)):
        fake = Fake(3, lambda row, at: (0, 0), more)
        plain = Fake(3, lambda row, at: (taken[0] | taken[1] << 32, 0), None)
        assert np.array_equal(fake.bulk.subsets(own, k, w), plain.bulk.subsets(own, k, w))


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8, 9, 16, 17, 24, 32, 40])
def test_bits_whose_throws_are_all_one_are_decided_by_the_digits_that_are_left(size: int) -> None:
    """Every throw is one, so that all bits are open; every third one of a row is then below."""
    throws = 16 if size == 1 else 8
    scale = 2**24
    numerator = 2**23 + 20
    rest = (numerator << throws) % scale << 40

    def more(row: int, at: int, number: int) -> tuple[int, int]:
        assert (at, number % 2**32) == (0, 1)
        return (rest - 1 if (number >> 32) % 3 == row else rest), 0

    fake = Fake(3, lambda row, at: (2**64 - 1, 2**64 - 1), more)
    out = np.unpackbits(
        fake.bulk.packed(numerator, 3 * size, scale).reshape(3, size), axis=1, bitorder="little"
    )
    wanted = np.arange(8 * size) % 3 == np.arange(3)[:, None]
    assert np.array_equal(out, wanted)


def test_probabilities_of_zero_and_one_are_certain_and_read_nothing() -> None:
    source = part([1, 2], [0, 0])
    assert source.chance(0, 2).tolist() == [False, False]
    assert source.chance(SCALE, 2).tolist() == [True, True]
    assert source.packed(0, 4).tolist() == [0] * 4
    assert source.packed(8, 4, 8).tolist() == [255] * 4
    assert source._streams.at == 0


N = 40_000


def drawn(verb: Callable[[KeyedBulk], Any]) -> list[Any]:
    found = verb(part(np.arange(N), np.zeros(N, int)))
    return [tuple(x) if isinstance(x, list) else x for x in found.tolist()]


def test_all_draws_have_their_law() -> None:
    """Chi-square tests at 1e-7; moving a quarter of one outcome to another is rejected."""
    third = Fraction(SCALE // 3, SCALE)
    bits = {
        a | b << 1: (third if a else 1 - third) * (third if b else 1 - third)
        for a, b in product((0, 1), repeat=2)
    }
    cases: list[tuple[Callable[[KeyedBulk], Any], dict[Any, Any]]] = [
        (lambda s: s.words(N) >> 28, dict.fromkeys(range(16), Fraction(1, 16))),
        (lambda s: s.below(6, N), dict.fromkeys(range(6), Fraction(1, 6))),
        (
            lambda s: s.below(3 * 2**30, N) >> 28,  # a quarter of the words is drawn again
            dict.fromkeys(range(12), Fraction(1, 12)),
        ),
        (lambda s: s.wide(5 * 2**40, N) >> 40, dict.fromkeys(range(5), Fraction(1, 5))),
        (
            lambda s: s.chance(third.numerator, N, third.denominator),
            {True: third, False: 1 - third},
        ),
        (lambda s: s.chance(3, N, 16), {True: Fraction(3, 16), False: Fraction(13, 16)}),
        (lambda s: s.packed(SCALE // 3, N) & 3, bits),
        (lambda s: s.packed(SCALE // 3, 20 * N).reshape(N, 20)[:, 19] >> 6, bits),
        (
            lambda s: s.subsets(np.full(N, -1), 5, 2).ravel(),
            {1 << a | 1 << b: Fraction(1, 10) for a in range(5) for b in range(a)},
        ),
        (
            lambda s: s.subsets(np.full(N, 2), 5, 2).ravel(),
            {4 | 1 << a: Fraction(1, 4) for a in (0, 1, 3, 4)},
        ),
    ]
    for verb, law in cases:
        draws = drawn(verb)
        assert p_value(draws, law) > FALSE_ALARM
        first, last = min(law), max(law)
        moved = {**law, first: law[first] * 3 / 4, last: law[last] + law[first] / 4}
        assert p_value(draws, moved) < FALSE_ALARM


def test_successive_draws_of_a_row_are_independent() -> None:
    """The pairs of two draws, chi-square at 1e-7; draws that are the same twice are rejected."""
    source = part(np.arange(N), np.zeros(N, int))
    one, two_ = source.below(4, N), source.below(4, N)
    law = dict.fromkeys(product(range(4), repeat=2), Fraction(1, 16))
    assert p_value(zip(one.tolist(), two_.tolist(), strict=True), law) > FALSE_ALARM
    assert p_value(zip(one.tolist(), one.tolist(), strict=True), law) < FALSE_ALARM


# Why the answer is part of it


def two_reports(first: int, second: int, by_key_alone: bool) -> list[tuple[int, int]]:
    """The reports of 20,000 keys that have one answer and then another."""
    n = 20_000
    out = []
    for answer in (first, second):
        rows = KeyedTable(Keyed(SECRET, ("q",), np.arange(n)), n, "KRR", (None,))
        own = np.full(n, answer)
        coins = rows.part(slice(None), np.zeros(n, int) if by_key_alone else own)
        out.append(KRR._encode_many(own, coins).tolist())
    return list(zip(*out, strict=True))


def test_with_coins_of_the_key_alone_two_reports_of_a_key_reveal_both_answers() -> None:
    different = {pair for pair in two_reports(3, 1, by_key_alone=True) if pair[0] != pair[1]}
    assert different == {(3, 1)}


def test_two_answers_of_a_key_have_independent_reports() -> None:
    """Chi-square at 1e-7 against the product of both laws, which rejects coins of the key alone."""
    law = {
        (a, b): p * q
        for (a, p), (b, q) in product(
            laws.BY_KIND[mm.KRR](KRR, 3).items(), laws.BY_KIND[mm.KRR](KRR, 1).items()
        )
    }
    pairs = two_reports(3, 1, by_key_alone=False)
    assert p_value(pairs, law) > FALSE_ALARM
    assert len({pair for pair in pairs if pair[0] != pair[1]}) == 20
    assert p_value(two_reports(3, 1, by_key_alone=True), law) < FALSE_ALARM


def test_reports_at_two_epsilons_have_different_coins() -> None:
    """With the same coins they would differ only if the second is truthful."""
    keyed, answers = Keyed(SECRET, ("q",), np.arange(5000)), np.full(5000, 3)
    one = mm.KRR(k=5, epsilon=1.0).encode_many(answers, keyed)
    two_ = mm.KRR(k=5, epsilon=2.0).encode_many(answers, keyed)
    assert set(two_[one != two_].tolist()) == set(range(5))


# Where it goes


def test_it_goes_to_workers_and_shows_nothing() -> None:
    keys = ["secret-key-1", "secret-key-2"]
    keyed = Keyed(b"secret-of-the-job", ("q",), keys)
    assert repr(keyed) == str(keyed) == "Keyed(2 keys)"
    assert "secret" not in repr([keyed, keyed.keys])
    assert len(keyed) == 2
    sent = pickle.loads(pickle.dumps(keyed))
    assert np.array_equal(KRR.encode_many([1, 2], sent), KRR.encode_many([1, 2], keyed))
    with pytest.raises(AttributeError):
        keyed.secret = b"other"  # type: ignore[misc]


def test_threads_share_it_and_no_state() -> None:
    rng = np.random.default_rng(1)
    keyed = Keyed(SECRET, ("q",), rng.integers(0, 2**60, 20_000))
    answers = rng.integers(0, 5, 20_000)
    wanted = KRR.encode_many(answers, keyed)
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: KRR.encode_many(answers, keyed), range(24)))
    assert all(np.array_equal(wanted, one) for one in made)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_makes_the_same_reports() -> None:
    keyed, answers = Keyed(SECRET, ("q",), np.arange(3000)), np.arange(3000) % 5
    before = KRR.encode_many(answers, keyed)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, hashlib.sha256(KRR.encode_many(answers, keyed).tobytes()).digest())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 32) == hashlib.sha256(before.tobytes()).digest()
    assert np.array_equal(KRR.encode_many(answers, keyed), before)
    os.close(reader)
    os.close(writer)


# Bad input


@pytest.mark.parametrize(
    ("keys", "error", "told"),
    [
        ([5, None], ValueError, "key number 1 is missing"),
        ([float("nan"), 5], ValueError, "key number 0 is missing"),
        (["a", float("nan")], ValueError, "key number 1 is missing"),
        ([5.0, 6.0], TypeError, "number 0 is of type float"),
        (np.array([5.0, np.nan]), TypeError, "not float64.*where some are missing"),
        ([True, False], TypeError, "number 0 is of type bool"),
        (np.array([True, False]), TypeError, "not bool"),
        (["a", 5], TypeError, "number 1 is of type int after str"),
        ([5, "a"], TypeError, "number 1 is of type str after int"),
        (["a", b"a"], TypeError, "number 1 is of type bytes after str"),
        (["a", ""], ValueError, "key number 1 is empty"),
        ([b"a", b""], ValueError, "key number 1 is empty"),
        (["a", "\ud800"], ValueError, "key number 1 has half of a surrogate pair"),
        ([2**64, 1], ValueError, "fit into 64 bits"),
        ([2**63, -1], ValueError, "fit into 64 bits"),
        (np.zeros((2, 15), np.uint8), TypeError, "rows of 16 bytes"),
        (np.array([b"a", b"b"]), TypeError, "drops zeros at their end"),
        (np.array(["2026", "2027"], "M8[Y]"), TypeError, "not datetime64"),
        ("ab", TypeError, "a list or a column, not str"),
        (5, TypeError, "a list or a column, not int"),
        ({5: 1, 6: 2}, TypeError, "not dict"),
        (pyarrow.array([5, None]), ValueError, "key number 1 is missing"),
        (pyarrow.array(["a", None]), ValueError, "key number 1 is missing"),
        (pyarrow.array([0.5, 1.5]), TypeError, "not a column of double"),
        (pyarrow.array(["a", ""]), ValueError, "key number 1 is empty"),
    ],
)
def test_keys_that_are_none_are_refused_by_position(keys: Any, error: Any, told: str) -> None:
    with pytest.raises(error, match=told) as refused:
        Keyed(SECRET, ("q",), keys)
    assert "ab" not in str(refused.value).replace("a table", "")


def test_a_short_secret_and_a_strange_context_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 16 bytes, not 4"):
        Keyed(b"abcd", ("q",), [1])
    with pytest.raises(TypeError, match="a secret is bytes"):
        Keyed("a secret of some length", ("q",), [1])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a context is a tuple"):
        Keyed(SECRET, "question", [1])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="text, bytes and whole numbers, not float"):
        Keyed(SECRET, (1.5,), [1])  # type: ignore[arg-type]


@pytest.mark.parametrize("n", [0, 1, 3])
def test_another_number_of_keys_than_of_answers_is_refused(n: int) -> None:
    with pytest.raises(ValueError, match=f"there are {n} keys and 2 answers"):
        KRR.encode_many([1, 2], Keyed(SECRET, ("q",), list(range(n))))


def test_wrong_answers_are_refused_by_position_and_not_told() -> None:
    with pytest.raises(ValueError, match="answer number 1 is not one of") as refused:
        KRR.encode_many([1, 777], Keyed(SECRET, ("q",), [1, 2]))
    assert "777" not in str(refused.value)


def test_what_is_no_row_refuses_it() -> None:
    keyed = Keyed(SECRET, ("q",), [1, 2])
    with pytest.raises(TypeError, match="Keyed is the chance of rows that are encoded"):
        KRR.simulate([1, 1, 1, 1, 1], keyed)
    with pytest.raises(TypeError, match="random must be"):
        KRR.encode(1, keyed)  # type: ignore[arg-type]


def test_without_the_package_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers", None)
    with pytest.raises(ImportError, match=r"pip install 'murmurs\[fast\]'"):
        KRR.encode_many([1], Keyed(SECRET, ("q",), [1]))


def test_no_rows_are_no_reports() -> None:
    assert len(KRR.encode_many([], Keyed(SECRET, ("q",), []))) == 0
