"""What every engine promises of encoding and of likelihoods."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from murmurs import KRR, ORR, SUE, Joint, Keyed, Question, Survey, estimators
from murmurs.engines import Encoded, SourceError, local
from murmurs.estimators import Estimate
from tests.engines.made import DRINK, HOT, LABELS, written

Encode = Callable[..., Encoded]
Likely = Callable[..., Estimate]

CITY = Question("city", mechanism=ORR(2.0, width=8, cohorts=16))
BOTH = Joint(DRINK, HOT)
MINUTES = Question("minutes", range=[0, 1440], buckets=12, epsilon=1.0)
ASKED = Survey("asked", (DRINK, HOT, CITY, MINUTES), joints=(BOTH,))
SECRET = bytes(range(32))
MANY = 600


def people(n: int = MANY) -> pa.Table:
    rng = np.random.default_rng(3)
    return pa.table(
        {
            "drink": pa.array(rng.choice(LABELS, n)).dictionary_encode(),
            "hot": rng.choice(["yes", "no"], n),
            "city": rng.choice(["Bern", "Köln", "Oslo"], n),
            "minutes": rng.integers(0, 1441, n),
            "person": np.arange(n) * 7,
            "day": rng.choice(["Monday", "Tuesday"], n),
        }
    )


def in_order(folder: Path) -> pa.Table:
    return pq.read_table(folder).sort_by("person").replace_schema_metadata(None)


def test_reports_are_those_of_the_keys_in_whatever_files(encode: Encode, tmp_path: Path) -> None:
    table = people()
    whole = written(tmp_path / "whole" / "0.parquet", table, group=100)
    for number, start in enumerate(range(0, MANY, 200)):
        shuffled = table.slice(start, 200).take(np.random.default_rng(number).permutation(200))
        written(tmp_path / "parts" / f"{number}.parquet", shuffled, group=33)
    given: dict[str, Any] = {"key": "person", "secret": SECRET, "keep": ["person", "day"]}
    done = encode(whole, tmp_path / "one", ASKED, **given)
    assert (done.rows, done.missing) == (MANY, {})
    encode(tmp_path / "parts", tmp_path / "two", ASKED, **given)
    one = in_order(tmp_path / "one")
    assert one.equals(in_order(tmp_path / "two"))
    assert one.column_names == ["city", "minutes", "drink+hot", "person", "day"]
    keyed = Keyed(SECRET, (ASKED.fingerprint,), table["person"])
    cities = CITY.encode_many(table["city"], keyed)
    assert one["city"].to_pylist() == CITY.mechanism.shape.column(cities)
    minutes = MINUTES.encode_many(table["minutes"], keyed)
    assert one["minutes"].to_pylist() == MINUTES.encode_column(table["minutes"], keyed)
    pairs = BOTH.encode_many((table["drink"], table["hot"]), keyed)
    assert one["drink+hot"].to_pylist() == BOTH.mechanism.shape.column(pairs)
    counted = local.count(tmp_path / "one", ASKED)
    assert counted["city"] == CITY.count(cities)
    assert counted["minutes"] == MINUTES.count(minutes)
    assert counted["drink+hot"] == BOTH.count(pairs)


def test_rows_are_in_another_order(encode: Encode, tmp_path: Path) -> None:
    """All of 600 rows stay in order with probability 1 / 600!."""
    source = written(tmp_path / "0.parquet", people())
    encode(source, tmp_path / "out", ASKED, key="person", keep="person")
    kept = pq.read_table(tmp_path / "out")["person"].to_numpy()
    assert sorted(kept) == people()["person"].to_pylist()
    assert kept.tolist() != sorted(kept)


def test_another_survey_has_another_order(encode: Encode, tmp_path: Path) -> None:
    """Else places would tell whose reports belong together; two orders are one with 1 / 600!."""
    source = written(tmp_path / "0.parquet", people())
    given: dict[str, Any] = {"key": "person", "keep": "person", "secret": SECRET}
    for name, asked in (("one", DRINK), ("two", HOT)):
        encode(source, tmp_path / name, Survey(name, (asked,)), **given)
    one, two = (pq.read_table(tmp_path / name)["person"] for name in ("one", "two"))
    assert not one.equals(two)


def test_another_job_has_another_secret(encode: Encode, tmp_path: Path) -> None:
    """Of 600 reports of one answer, all are the same twice with probability below 1e-90."""
    source = written(tmp_path / "0.parquet", people())
    for name in ("one", "two"):
        encode(source, tmp_path / name, ASKED, key="person", keep="person", columns={"city": None})
    assert not in_order(tmp_path / "one").equals(in_order(tmp_path / "two"))


def test_missing_answers_give_no_report_or_that_of_a_label(encode: Encode, tmp_path: Path) -> None:
    survey = Survey("one", (DRINK,))
    drinks = [None if i % 3 == 0 else "tea" for i in range(30)]
    source = written(tmp_path / "0.parquet", {"drink": pa.array(drinks), "id": np.arange(30)})
    with pytest.raises(SourceError, match="rows 1 to 30: 10 of 30 answers are missing"):
        encode(source, tmp_path / "none", survey, key="id")
    assert not (tmp_path / "none").exists()
    done = encode(source, tmp_path / "some", survey, key="id", drop_missing=True)
    assert done.missing == {"drink": 10}
    assert pq.read_table(tmp_path / "some")["drink"].null_count == 10
    encode(source, tmp_path / "all", survey, key="id", missing={"drink": "nothing"})
    assert local.count(tmp_path / "all", survey)["drink"].n == 30
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.parquet", "all", "some"]


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no key": ({}, "key must name a column that tells rows apart and never changes"),
    "shared key": ({"key": "day"}, "598 rows have a key in 'day' that another row has"),
    "no such key": ({"key": "persn"}, "has no column called 'persn'.*did you mean 'person'"),
    "kept answer": ({"key": "person", "keep": "city"}, '`keep="city"`: that column is encoded'),
    "kept key that is an answer": (
        {"key": "city", "keep": "city"},
        '`keep="city"`: that column is encoded',
    ),
    "empty secret": ({"key": "person", "secret": b""}, "a secret has at least 16 bytes, not 0"),
    "no such question": ({"key": "person", "columns": {"x": None}}, "has no question 'x'"),
    "bad label": ({"key": "person", "missing": {"drink": "gin"}}, "`missing=`: .*"),
    "short secret": ({"key": "person", "secret": b"x"}, "a secret has at least 16 bytes, not 1"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_encoded_is_refused_and_nothing_written(
    encode: Encode, name: str, tmp_path: Path
) -> None:
    given, said = BAD[name]
    source = written(tmp_path / "0.parquet", people())
    with pytest.raises((ValueError, SourceError), match=said):
        encode(source, tmp_path / "out", ASKED, **given)
    assert [path.name for path in tmp_path.iterdir()] == ["0.parquet"]


def test_keys_are_numbers_in_all_files_or_in_none(encode: Encode, tmp_path: Path) -> None:
    """The person 7 would have one report as 7 and another as "7"."""
    for name, key in (("a", 7), ("b", "7")):
        written(tmp_path / "in" / f"{name}.parquet", {"drink": ["tea"], "person": [key]})
    with pytest.raises(SourceError, match=r"'person' are whole numbers in one of .*not in the oth"):
        encode(tmp_path / "in", tmp_path / "out", Survey("one", (DRINK,)), key="person")


def test_a_file_without_rows_gives_one_that_is_read(encode: Encode, tmp_path: Path) -> None:
    table = people(4)
    written(tmp_path / "in" / "a.parquet", table.slice(0, 0))
    written(tmp_path / "in" / "b.parquet", table)
    done = encode(tmp_path / "in", tmp_path / "out", ASKED, key="person", keep=["day", "day"])
    assert done.rows == local.count(tmp_path / "out", ASKED, by="day").rows == 4


def test_errors_do_not_quote_answers(encode: Encode, tmp_path: Path) -> None:
    table = {"drink": ["tea", "mate", "SECRET GIN"], "id": [1, 2, 3]}
    source = written(tmp_path / "0.parquet", table)
    with pytest.raises(SourceError) as caught:
        encode(source, tmp_path / "out", Survey("one", (DRINK,)), key="id")
    assert "0.parquet, rows 1 to 3" in str(caught.value)
    assert "GIN" not in str(caught.value)


def test_no_folder_is_overwritten(encode: Encode, tmp_path: Path) -> None:
    source = written(tmp_path / "0.parquet", people())
    (tmp_path / "out").mkdir()
    with pytest.raises(FileExistsError, match="out exists: give a new folder"):
        encode(source, tmp_path / "out", ASKED, key="person")
    assert list((tmp_path / "out").iterdir()) == []


def test_the_likelihood_is_that_of_all_reports_together(likely: Likely, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    bits = Question("bits", LABELS, SUE(4, 3.0))
    answers = rng.choice(4, 900, p=[0.5, 0.3, 0.2, 0.0])
    reports = bits.mechanism.encode_many(answers, rng)
    for number in range(3):
        column = pa.array(bits.mechanism.shape.column(reports[number::3]))
        written(tmp_path / f"{number}.parquet", {"bits": column}, group=100)
    found = likely(tmp_path, Survey("one", (bits,)), "bits")
    mechanism: Any = bits.mechanism
    expected = estimators.report_likelihood(mechanism, reports)
    np.testing.assert_allclose(found.shares, expected.shares, atol=1e-3)
    assert found.converged
    assert found.estimator == "report_likelihood"


def test_the_likelihood_of_a_joint_with_an_open_question(likely: Likely, tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    names = ["Bern", "Köln", "Oslo"]
    city = Question("city", mechanism=ORR(4.0, width=16, cohorts=8))
    joint = Joint(Question("hot", ("yes", "no"), KRR(2, 3.0)), city)
    answers = (rng.choice(["yes", "no"], 900).tolist(), rng.choice(names, 900).tolist())
    reports = np.asarray(joint.encode_many(answers, rng))
    survey = Survey("two", joint.questions, joints=(joint,))
    for number in range(2):
        column = pa.array(joint.mechanism.shape.column(reports[number::2]))
        written(tmp_path / f"{number}.parquet", {joint.name: column})
    found = likely(tmp_path, survey, joint.name, candidates={"city": names})

    def together(over: Any) -> Estimate:
        return estimators.report_likelihood(over.mechanism, reports)

    expected = joint.estimate(joint.count(reports), together, candidates={"city": names})
    np.testing.assert_allclose(found.shares, expected.shares, atol=1e-3)


def test_what_a_likelihood_cannot_take(likely: Likely, tmp_path: Path) -> None:
    source = written(tmp_path / "0.parquet", {"drink": [0, 1]})
    for option in ({"id": "id"}, {"by": "day"}, {"memory": tmp_path / "memory"}):
        with pytest.raises(ValueError, match="is for counts: leave it out for the likelihood"):
            likely(source, Survey("one", (DRINK,)), "drink", **option)
