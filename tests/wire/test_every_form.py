"""Reports give the same counts in every form of `tests.input_forms`, for every mechanism."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from murmurs import KRR, ORR, OUE, Counts, Joint, LocalHashing, Product, Question, Subset
from murmurs.mechanisms import OpenProduct
from murmurs.mechanisms.mechanism import AnyMechanism
from murmurs.wire import BadReportError, Category, Reports
from murmurs.wire.forms import arrays
from tests.input_forms import REPORTS as FORMS
from tests.input_forms import N, chunked, rows, texts
from tests.laws import SMALL

WIDER: list[AnyMechanism[Any]] = [
    KRR(k=300, epsilon=1.0),
    KRR(k=70_000, epsilon=9.0),
    OUE(k=20, epsilon=1.0),
    Subset(k=1000, epsilon=4.0, w=3),
    LocalHashing(k=50, epsilon=6.0, g=300),
    ORR(epsilon=3.0, width=21, cohorts=5000),
    Product((KRR(k=2, epsilon=1.0), KRR(k=300, epsilon=1.0), OUE(k=20, epsilon=1.0))),
    OpenProduct((KRR(k=2, epsilon=1.0), ORR(epsilon=3.0, width=21, cohorts=5000))),
]
"""Reports of several bytes, whose parts may be unaligned."""


@cache
def made(mechanism: Any) -> Reports:
    rng = np.random.default_rng(1)
    if isinstance(mechanism, ORR):
        return mechanism.encode_many(["tea"] * N, rng)
    if isinstance(mechanism, OpenProduct):
        return mechanism.encode_many([rng.integers(0, 2, N), ["tea"] * N], rng)
    reports: Reports = mechanism.encode_many(rng.integers(0, mechanism.k, N), rng)
    return reports


@cache
def counted(mechanism: Any) -> Counts:
    counts: Counts = mechanism.count(made(mechanism))
    return counts


@pytest.mark.parametrize("name", FORMS)
def test_every_form_gives_the_same_counts(name: str) -> None:
    used = 0
    for mechanism in [*SMALL, *WIDER]:
        reports = made(mechanism)
        form = FORMS[name](mechanism.shape, reports)
        if form is not None:
            used += 1
            assert mechanism.count(form) == counted(mechanism), mechanism
    assert used >= 3


@pytest.mark.parametrize("mechanism", [*SMALL, *WIDER], ids=repr)
def test_a_report_goes_through_json_and_back(mechanism: AnyMechanism[Any]) -> None:
    shape = mechanism.shape
    for report in shape.unstack(made(mechanism)):
        value = json.loads(json.dumps(shape.to_json(report)))
        again = shape.from_json(value)
        assert again == report
        assert type(again) is type(report)


NO_REPORTS: list[Any] = [
    *(None, True, 1.0, -1, 2**70, "", "t", "AA", "tea", {}, b"\0", (0, 1), [], [0]),
    *([0, 0, 0, 0, 0], [True, 1], [0, "tea"], [2**40, 0], ["0", 0], [[0], 1]),
    *([0, None], [0.0, 1.0]),
]


@pytest.mark.parametrize("mechanism", [*SMALL, *WIDER], ids=repr)
def test_no_other_value_is_a_report_in_json(mechanism: AnyMechanism[Any]) -> None:
    for value in NO_REPORTS:
        with pytest.raises((TypeError, ValueError)):
            pytest.fail(f"{value!r} was read as {mechanism.shape.from_json(value)!r}")


@pytest.mark.parametrize(
    ("mechanism", "value", "rule"),
    [
        (KRR(k=4, epsilon=1.0), "tea", "is a whole number, not text"),
        (KRR(k=4, epsilon=1.0), True, "is a whole number, not bool"),
        (KRR(k=4, epsilon=1.0), 4, "report must be from 0 to 3, not 4"),
        (OUE(k=4, epsilon=1.0), 3, "is base64 text, not int"),
        (OUE(k=4, epsilon=1.0), "AA", "this text is not base64 with padding"),
        (OUE(k=4, epsilon=1.0), "AB==", "this text is not base64 with padding"),
        (OUE(k=4, epsilon=1.0), "A_==", "this text is not base64 with padding"),
        (OUE(k=4, epsilon=1.0), "名", "this text is not base64 with padding"),
        (OUE(k=4, epsilon=1.0), "AAA=", "2 bytes are not reports of 1 bytes each"),
        (OUE(k=4, epsilon=1.0), "EA==", "a bit after the first 4 is set"),
        (Subset(k=5, epsilon=1.0, w=2), [2, 1], "is 2 rising numbers"),
        (Subset(k=5, epsilon=1.0, w=2), None, "is a list of 2 rising numbers, not null"),
        (LocalHashing(k=4, epsilon=1.0, g=3), [1, 3], "value must be from 0 to 2"),
        (LocalHashing(k=4, epsilon=1.0, g=3), [1], "is a list of seed and value, not this list"),
    ],
)
def test_a_bad_json_value_is_refused_with_the_rule(mechanism: Any, value: Any, rule: str) -> None:
    with pytest.raises((TypeError, ValueError), match=rule):
        mechanism.shape.from_json(value)


# Bad forms


RR, BITS, HASHED = KRR(k=300, epsilon=1.0), OUE(k=4, epsilon=1.0), LocalHashing(4, 1.0, g=3)
GOOD = [b"\0\0"] * 5
NO_BASE64 = "is refused: this text is not base64 with padding (RFC 4648, section 4)"

BAD: dict[str, tuple[AnyMechanism[Any], Any, str]] = {
    "list of numbers": (RR, [0] * 5 + [300], "report 5 is not a Category(count=300): 300 is out"),
    "large number": (RR, [0] * 5 + [2**70], "report 5 is refused: report must be from 0 to 299"),
    "truth value": (
        RR,
        [0] * 5 + [True],
        "report 5 is refused: a report of Category(count=300) is not of type bool",
    ),
    "fraction": (
        RR,
        [0] * 5 + [1.0],
        "report 5 is refused: a report of Category(count=300) is not of type float",
    ),
    "none": (RR, [0] * 5 + [None], "report 5 is missing: leave it out"),
    "label": (RR, [0] * 5 + ["coffee"], f"report 5 {NO_BASE64}; labels that were randomised"),
    "label of four letters": (RR, [0, "mate"], "report 1 is refused: 3 bytes are not one report"),
    "short bytes": (RR, [*GOOD, b"\0"], "report 5 is refused: 1 bytes are not one report of 2"),
    "list for a number": (RR, [0] * 5 + [[1]], "report 5 is refused: in JSON a report of"),
    "mapping": (RR, [0] * 5 + [{"report": 1}], "Category(count=300) is not of type dict"),
    "later array": (RR, [np.zeros(5, int), np.array([0, 300])], "report 6 is not a Category"),
    "after a column": (RR, [pa.array(GOOD), 0, 300], "report 6 is not a Category(count=300)"),
    "generator": (RR, iter([0] * 70_000 + [-1]), "report 70000 is not a Category(count=300): -1"),
    "long list": (RR, ["AAA="] * 70_000 + ["x"], f"report 70000 {NO_BASE64}"),
    "pandas": (RR, pd.Series([0] * 5 + [300]), "report 5 is not a Category(count=300)"),
    "pandas NaN": (RR, pd.Series([0, 1, None]), "report 2 is missing: leave it out"),
    "pandas NA": (RR, pd.Series([0, 1, None], dtype="Int64"), "report 2 is missing"),
    "pandas None": (RR, pd.Series([b"\0\0", None]), "report 1 is missing"),
    "pandas of Arrow": (RR, pd.Series([0, None], dtype="int32[pyarrow]"), "report 1 is missing"),
    "pandas floats": (RR, pd.Series([0.0, 1.0]), "are arrays of uint16 of shape (n), not of float"),
    "polars null": (RR, pl.Series([0, 1, None]), "report 2 is missing: leave it out"),
    "polars": (RR, pl.Series([0] * 5 + [300]), "report 5 is not a Category(count=300)"),
    "polars floats": (RR, pl.Series([0.5]), "a column of double does not contain reports"),
    "masked": (RR, np.ma.masked_array([1, 2], [False, True]), "report 1 is missing"),
    "Arrow null": (RR, chunked([0] * 300 + [None], pa.int64()), "report 300 is missing"),
    "Arrow nulls": (RR, pa.nulls(3), "report 0 is missing"),
    "Arrow number": (RR, chunked([0] * 300 + [300], pa.int64()), "report 300 is not a Category"),
    "Arrow widths": (RR, pa.array(GOOD, pa.binary(2)).cast(pa.binary()), ""),
    "Arrow width": (RR, pa.array([b"\0"], pa.binary(1)), "report 0 is refused: 1 bytes are not"),
    "Arrow binary": (RR, chunked([*GOOD * 60, b"\0"], pa.binary()), "report 300 is refused: 1 by"),
    "Arrow text": (RR, chunked(["AAA="] * 300 + ["tea"], pa.string()), f"report 300 {NO_BASE64}"),
    "a list with a null": (
        BITS,
        pa.array([[1], [None], [1]], pa.list_(pa.uint8(), 1)),
        "report 1 has a missing byte",
    ),
    "Arrow floats": (RR, pa.array([0.5]), "a column of double does not contain reports"),
    "Arrow booleans": (RR, pa.array([True]), "a column of bool does not contain reports"),
    "Arrow records": (HASHED, pa.array([{"seed": 1, "value": 2}]), "report 0 is refused: a report"),
    "Arrow table": (RR, pa.table({"a": [1]}), "not Table: if they are counted already, use Count"),
    "batches": (RR, [pa.record_batch({"a": [1]})], "not of RecordBatch: select the column"),
    "frame": (RR, pd.DataFrame({"a": [1]}), "not DataFrame: if they are counted already"),
    "counts": (RR, {0: 5}, "not dict: if they are counted already, use Counts"),
    "set": (RR, {1, 2}, "not a set, which has each report only once"),
    "nothing": (RR, None, "reports are an array or a column, bytes, base64 text, or a list of"),
    "number": (RR, 7, "reports are an array or a column, bytes, base64 text, or a list of report"),
    "text": (RR, "coffee", "this text is not base64 with padding (RFC 4648, section 4): texts of"),
    "lines of texts": (BITS, "AQ==\nAQ==\n", "texts of one report each are given as a list"),
    "odd bytes": (RR, bytes(5), "5 bytes are not reports of 2 bytes each"),
    "odd text": (RR, "AAAA", "3 bytes are not reports of 2 bytes each"),
    "padding bit": (BITS, ["AQ==", "EA=="], "report 1 is not a Bits(count=4): a bit after"),
    "integers for bits": (BITS, pa.array([1, 2]), "reports of Bits(count=4) are arrays of uint8"),
    "NumPy's short bytes": (RR, np.array([b"a", b"b"]), "are arrays of uint16 of shape (n), not"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_form_is_refused_with_its_position(name: str) -> None:
    mechanism, reports, said = BAD[name]
    if not said:
        assert mechanism.count(reports).n == len(reports)
        return
    with pytest.raises((TypeError, ValueError)) as error:
        mechanism.count(reports)
    assert said in str(error.value)


@pytest.mark.parametrize("mechanism", [*SMALL, *WIDER], ids=repr)
def test_labels_in_place_of_reports_are_not_quoted(mechanism: AnyMechanism[Any]) -> None:
    for labels in (
        *("cocoa!", ["cocoa"], [["cocoa"]], [["cocoa", "cocoa"]], [[0, "cocoa"]]),
        *([{"drink": "cocoa"}], pd.Series(["cocoa"]), pa.array(["cocoa"]), np.array(["cocoa"])),
        *(pa.array([["cocoa", "cocoa"]]), pa.array([{"drink": "cocoa"}]), pl.Series(["cocoa"])),
    ):
        with pytest.raises((TypeError, ValueError)) as error:
            mechanism.count(labels)
        assert "cocoa" not in str(error.value)


def test_a_question_counts_what_its_mechanism_counts() -> None:
    question = Question("drink", ("tea", "mate"), epsilon=1.0)
    assert question.count(pa.array([0, 1, 1])).cells.tolist() == [1, 2]
    joint = Joint(question, Question("hot", ("yes", "no"), epsilon=1.0))
    for form in (
        [(0, 1), (1, 1)],
        [[0, 1], [1, 1]],
        b"\x00\x01\x01\x01",
        pa.array(["AAE=", "AQE="]),
    ):
        assert joint.count(form).cells.tolist() == [[0, 1], [0, 1]]


@pytest.mark.parametrize(
    "column",
    [
        pa.array(rows(RR.shape, made(RR)), pa.binary(2)),
        pa.array(rows(RR.shape, made(RR)), pa.binary()),
        pa.array(made(RR)),
        pl.Series(made(RR)),
        pd.Series(made(RR)),
        made(RR),
        made(RR).tobytes(),
    ],
    ids=lambda column: type(column).__name__,
)
def test_what_is_laid_out_as_reports_is_not_copied(column: Any) -> None:
    (first,), (second,) = arrays(column, RR.shape), arrays(column, RR.shape)
    assert first.dtype == RR.shape.dtype
    assert np.shares_memory(first, second)


def test_a_stream_of_single_reports_is_counted_in_parts() -> None:
    sizes = [len(part) for part in arrays((i % 4 for i in range(200_000)), Category(4))]
    assert max(sizes) <= 2**16
    assert sum(sizes) == 200_000


def test_the_error_of_a_report_can_be_moved() -> None:
    error = BadReportError(3, "is missing")
    assert str(error.after(10)) == "report 13 is missing"
    assert error.after(10).position == 13


def test_polars_is_read_without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any, **__: Any) -> None:
        raise ModuleNotFoundError("pyarrow")

    column = pl.Series(texts(RR.shape, made(RR)))
    monkeypatch.setattr(pl.Series, "to_arrow", missing)
    assert RR.count(column) == RR.count(made(RR))


def test_answers_by_code_are_those_of_the_table() -> None:
    """With the table's last entry for -1, and codes of any type; others are refused."""
    mechanism, table = KRR(k=5, epsilon=40.0), np.array([3, 1, 4, 0])
    for dtype in (np.int8, np.int32, np.int64):
        reports = mechanism.encode_coded(np.array([0, 2, -1, 1], dtype), table)
        assert reports.tolist() == [3, 4, 0, 1]
    for code in (4, -5):
        with pytest.raises(IndexError, match="codes must be numbers of the 4 entries of the table"):
            mechanism.encode_coded(np.array([0, code]), table)
    with pytest.raises(ValueError, match=r"answer number 1 is not one of 0\.\.4"):
        mechanism.encode_coded(np.array([0, 1]), np.array([0, 5]))
