"""Bytes are a report or are refused with a reason; a report has exactly one form in bytes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from murmurs.wire import (
    BadReportError,
    Bits,
    BitsByCohort,
    Category,
    CohortBits,
    Hash,
    Hashed,
    Members,
    Shape,
    Together,
    smallest_unsigned,
)

AnyShape = Shape[Any]
SHAPES: list[AnyShape] = [
    Category(2),
    Category(5),
    Category(256),
    Category(257),
    Category(70_000),
    Category(2**32),
    Bits(1),
    Bits(8),
    Bits(13),
    Members(5, 2),
    Members(8, 1),
    Members(16, 4),
    Members(17, 2),
    Members(300, 2),
    Members(70_000, 3),
    Hashed(3),
    Hashed(300),
    BitsByCohort(1, 3),
    BitsByCohort(2, 8),
    BitsByCohort(300, 13),
]
every = pytest.mark.parametrize("shape", SHAPES, ids=repr)
patient = settings(deadline=None, max_examples=60)


def valid_bytes(shape: AnyShape) -> st.SearchStrategy[bytes]:
    """Bytes of reports, made without the library."""
    if isinstance(shape, Category):
        return st.integers(0, shape.count - 1).map(lambda x: x.to_bytes(shape.size, "little"))
    if isinstance(shape, Bits):
        return st.integers(0, 2**shape.count - 1).map(lambda x: x.to_bytes(shape.size, "little"))
    if isinstance(shape, Members):
        sets = st.sets(st.integers(0, shape.k - 1), min_size=shape.w, max_size=shape.w)
        if shape.as_bits:
            return sets.map(lambda s: sum(1 << x for x in s).to_bytes(shape.size, "little"))
        each = shape.size // shape.w
        return sets.map(lambda s: b"".join(x.to_bytes(each, "little") for x in sorted(s)))
    if isinstance(shape, Hashed):
        seed, value = st.binary(min_size=4, max_size=4), st.integers(0, shape.count - 1)
        width = shape.size - 4
        return st.builds(lambda s, v: s + v.to_bytes(width, "little"), seed, value)
    assert isinstance(shape, BitsByCohort)
    width = -(-shape.count // 8)
    row, bits = st.integers(0, shape.cohorts - 1), st.integers(0, 2**shape.count - 1)
    head = shape.size - width
    return st.builds(
        lambda r, b: r.to_bytes(head, "little") + b.to_bytes(width, "little"), row, bits
    )


@every
@patient
@given(data=st.data())
def test_random_bytes_are_refused_or_survive(shape: AnyShape, data: st.DataObject) -> None:
    given_bytes = data.draw(
        st.binary(min_size=shape.size, max_size=shape.size)
        | st.binary(max_size=2 * shape.size + 1)
        | valid_bytes(shape)
    )
    try:
        report = shape.unpack(given_bytes)
    except ValueError as error:
        reason = str(error)
        length = f"{len(given_bytes)} bytes are not reports of {shape.size} bytes each: {shape}"
        assert reason == length or reason.startswith("report 0 is not a ")
        assert (reason == length) == (len(given_bytes) != shape.size)
    else:
        assert shape.pack(report) == given_bytes
        assert type(report) in (int, bytes, tuple, Hash, CohortBits)


@every
@patient
@given(data=st.data())
def test_bytes_of_reports_are_never_refused(shape: AnyShape, data: st.DataObject) -> None:
    one = data.draw(valid_bytes(shape))
    assert shape.pack(shape.unpack(one)) == one


@every
@patient
@given(data=st.data())
def test_a_batch_is_the_concatenation_of_its_reports(shape: AnyShape, data: st.DataObject) -> None:
    parts = data.draw(st.lists(valid_bytes(shape), max_size=6))
    array = shape.from_bytes(b"".join(parts))
    assert len(array) == len(parts)
    reports = shape.unstack(array)
    assert reports == [shape.unpack(part) for part in parts]
    assert shape.stack(reports).tobytes() == array.tobytes() == b"".join(parts)
    for holder in (bytearray, memoryview):
        assert np.array_equal(shape.from_bytes(holder(b"".join(parts))), array)
    many = shape.many_from_json([shape.to_json(report) for report in reports])
    assert many.tobytes() == array.tobytes()


@pytest.mark.parametrize(
    "values",
    [[True], [1, True], [1.0], ["AQ=="], [None], [[1]], [2**70], [-1], [2], [{}], [0, "AA=="]],
    ids=str,
)
def test_json_values_of_another_kind_are_refused_among_many(values: list[Any]) -> None:
    """A truth value and a number are told apart, and text that is not one report is refused."""
    for shape in (Category(2), Together((Category(2), Bits(9)))):
        rows = values if isinstance(shape, Category) else [[value, "AAA="] for value in values]
        with pytest.raises(BadReportError) as error:
            shape.many_from_json(rows)
        assert error.value.position == len(values) - 1


def test_texts_of_unequal_length_do_not_pass_for_reports_of_their_mean_length() -> None:
    with pytest.raises(BadReportError, match="report 0 is refused: 1 bytes are not reports of 2"):
        Bits(16).many_from_json(["AA==", "AAAA"])


@every
def test_an_array_for_n_reports_has_their_shape(shape: AnyShape) -> None:
    assert shape.empty(7).nbytes == 7 * shape.size
    assert len(shape.check(shape.empty(0))) == 0
    assert len(shape.from_bytes(b"")) == 0


@every
def test_bits_of_information_fit_the_bytes(shape: AnyShape) -> None:
    assert 0 < shape.bits <= 8 * shape.size


def test_bits_of_information_are_the_logarithm_of_how_many_reports_there_are() -> None:
    assert Category(70_000).bits == math.log2(70_000)
    assert Bits(13).bits == 13
    assert Members(16, 4).bits == pytest.approx(math.log2(math.comb(16, 4)))
    assert Hashed(3).bits == 32 + math.log2(3)
    assert BitsByCohort(300, 13).bits == 13 + math.log2(300)


@pytest.mark.parametrize(
    ("k", "w", "as_bits", "size"),
    [
        (8, 1, True, 1),  # one byte either way: bits
        (9, 1, False, 1),
        (16, 2, True, 2),
        (17, 2, False, 2),
        (300, 19, True, 38),
        (300, 18, False, 36),
        (70_000, 3, False, 12),
    ],
)
def test_a_set_takes_the_shorter_of_its_two_forms(k: int, w: int, as_bits: bool, size: int) -> None:
    shape = Members(k, w)
    assert (shape.as_bits, shape.size) == (as_bits, size)


@pytest.mark.parametrize(("k", "w"), [(16, 4), (17, 2), (300, 2)])
def test_rows_of_bits_become_sets(k: int, w: int) -> None:
    shape = Members(k, w)
    flags = np.zeros((2, k), np.uint8)
    flags[0, :w], flags[1, -w:] = 1, 1
    rows = shape.from_packed_bits(np.packbits(flags, axis=1, bitorder="little"))
    assert shape.unstack(rows) == [tuple(range(w)), tuple(range(k - w, k))]


# One report that is none


REFUSED_REPORTS: list[tuple[AnyShape, Any, type[Exception], str]] = [
    (Category(5), 5, ValueError, "report must be from 0 to 4, not 5"),
    (Category(5), -1, ValueError, "report must be from 0 to 4, not -1"),
    (Category(5), True, TypeError, "report must be a whole number, not True"),
    (Category(5), 1.0, TypeError, "report must be a whole number, not 1.0"),
    (Category(5), "1", TypeError, "report must be a whole number, not '1'"),
    (Bits(13), b"\x00", ValueError, "1 bytes are not reports of 2 bytes each: Bits(count=13)"),
    (Bits(13), b"\x00\x20", ValueError, "a bit after the first 13 is set"),
    (Bits(13), [0, 1], TypeError, "a report with 13 bits is bytes, 2 of them, not [0, 1]"),
    (Members(12, 3), 1, TypeError, "a report with 3 of 12 members is a tuple of 3 rising numbers"),
    (Members(5, 2), (1,), ValueError, "is 2 rising numbers, not (1,)"),
    (Members(5, 2), (1, 1), ValueError, "is 2 rising numbers, not (1, 1)"),
    (Members(5, 2), (2, 1), ValueError, "is 2 rising numbers, not (2, 1)"),
    (Members(5, 2), (0, 1, 2), ValueError, "is 2 rising numbers, not (0, 1, 2)"),
    (Members(5, 2), (1, 5), ValueError, "member must be from 0 to 4, not 5"),
    (Members(5, 2), (1, 2.0), TypeError, "member must be a whole number, not 2.0"),
    (Members(17, 2), (2, 1), ValueError, "is 2 rising numbers, not (2, 1)"),
    (Members(17, 2), (2, 17), ValueError, "member must be from 0 to 16, not 17"),
    (Hashed(3), (7, 3), ValueError, "value must be from 0 to 2, not 3"),
    (Hashed(3), (2**32, 0), ValueError, "seed must be from 0 to 4294967295, not 4294967296"),
    (Hashed(3), (1, 2, 3), TypeError, "a tuple of a seed and a bucket, not (1, 2, 3)"),
    (Hashed(3), 7, TypeError, "a report is a tuple of a seed and a bucket, not 7"),
    (BitsByCohort(2, 3), (2, b"\x00"), ValueError, "cohort must be from 0 to 1, not 2"),
    (BitsByCohort(2, 3), (1, b"\x08"), ValueError, "a bit after the first 3 is set"),
    (BitsByCohort(2, 3), (1, b""), ValueError, "0 bytes are not reports of 1 bytes each"),
    (BitsByCohort(2, 3), (1, 0), TypeError, "a report with 3 bits is bytes, 1 of them, not 0"),
    (BitsByCohort(2, 3), [1, b"\x00"], TypeError, "tuple of a cohort and bits, not [1, b'\\x00']"),
]


@pytest.mark.parametrize(("shape", "report", "kind", "reason"), REFUSED_REPORTS)
def test_a_report_of_another_shape_is_refused_with_its_value(
    shape: AnyShape, report: Any, kind: type[Exception], reason: str
) -> None:
    with pytest.raises(kind) as error:
        shape.pack(report)
    assert reason in str(error.value)


# Many reports, one of them none


REFUSED_BATCHES: list[tuple[AnyShape, str, str]] = [
    (Category(5), "000105", "report 2 is not a Category(count=5): 5 is outside 0..4"),
    (Bits(5), "1f20", "report 1 is not a Bits(count=5): a bit after the first 5 is set"),
    (Members(5, 2), "0305070b", "report 2 is not a Members(k=5, w=2): it does not have 2 rising"),
    (Members(17, 2), "00010200", "report 1 is not a Members(k=17, w=2): it does not have 2 rising"),
    (Members(17, 2), "00010011", "report 1 is not a Members(k=17, w=2): it does not have 2 rising"),
    (Hashed(3), "00000000020000000003", "report 1 is not a Hashed(count=3): value 3 is outside"),
    (
        BitsByCohort(2, 3),
        "00070207",
        "report 1 is not a BitsByCohort(cohorts=2, count=3): cohort 2 is outside",
    ),
    (Category(300), "000000", "3 bytes are not reports of 2 bytes each: Category(count=300)"),
]


@pytest.mark.parametrize(("shape", "data", "reason"), REFUSED_BATCHES)
def test_a_bad_report_among_many_is_refused_with_its_position(
    shape: AnyShape, data: str, reason: str
) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the reason is looked for below
        shape.from_bytes(bytes.fromhex(data))
    assert str(error.value).startswith(reason)


def test_a_set_bit_after_the_last_is_refused_under_the_name_of_the_whole_report() -> None:
    for shape, data in ((Members(5, 2), "21"), (BitsByCohort(2, 3), "0108")):
        with pytest.raises(ValueError) as error:  # noqa: PT011 - the reason is compared below
            shape.from_bytes(bytes.fromhex(data))
        bits = 5 if isinstance(shape, Members) else 3
        reason = f"report 0 is not a {shape}: a bit after the first {bits} is set"
        assert str(error.value) == reason


@pytest.mark.parametrize(
    ("shape", "array", "reason"),
    [
        (Bits(13), np.zeros((2, 3), np.uint8), "are arrays of uint8 of shape (n, 2), not of uint8"),
        (Bits(13), np.zeros((2, 2), np.int64), "of shape (n, 2), not of int64 of shape (2, 2)"),
        (
            Category(5),
            np.zeros(3),
            "arrays of uint8 of shape (n), not of float64 of shape (3,)",
        ),
        (Category(5), np.zeros((3, 1), np.uint8), "not of uint8 of shape (3, 1)"),
        (Category(5), np.uint8(3), "not of uint8 of shape ()"),
        (Hashed(3), np.zeros(3, np.uint8), "not of uint8 of shape (3,)"),
    ],
)
def test_an_array_of_another_type_is_refused(shape: AnyShape, array: Any, reason: str) -> None:
    with pytest.raises(TypeError) as error:
        shape.check(array)
    assert reason in str(error.value)


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.uint64, np.uint16])
def test_categories_may_come_in_any_integer_type(kind: type[np.integer[Any]]) -> None:
    checked = Category(5).check(np.array([0, 4], kind))
    assert checked.dtype == np.uint8
    with pytest.raises(ValueError, match=r"report 1 is not a .*: 5 is outside 0\.\.4$"):
        Category(5).check(np.array([0, 5], kind))


def test_a_category_does_not_wrap_round_into_range() -> None:
    with pytest.raises(ValueError, match=r"256 is outside 0\.\.4$"):
        Category(5).check(np.array([256]))
    with pytest.raises(ValueError, match=r"-1 is outside 0\.\.255$"):
        Category(256).check(np.array([-1]))


@pytest.mark.parametrize(
    ("count", "size"), [(1, 1), (256, 1), (257, 2), (2**16, 2), (2**16 + 1, 4), (2**32, 4)]
)
def test_the_smallest_type_is_taken(count: int, size: int) -> None:
    assert smallest_unsigned(count).itemsize == size


def test_more_than_four_bytes_are_refused() -> None:
    message = r"^4294967297 kinds of report need more than four bytes each$"
    with pytest.raises(ValueError, match=message):
        smallest_unsigned(2**32 + 1)
