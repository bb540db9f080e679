"""Reports have one form in Parquet and Arrow, whatever their mechanism."""

from __future__ import annotations

import datetime
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from murmurs import KRR, Question, Survey
from murmurs.engines import local
from murmurs.files import encode_table
from murmurs.files.schema import (
    folder_of,
    report_column,
    report_type,
    reports_schema,
    reports_table,
)
from murmurs.wire import Category
from tests.collect.made import EVERY_KIND, answers

COFFEE = Survey("coffee", (Question("drink", ["tea", "mate"], epsilon=1.0),))
DAY = datetime.date(2027, 3, 31)


def made(n: int) -> dict[str, Any]:
    """Reports to every kind of question."""
    rng = np.random.default_rng(n)
    return {
        asked.name: asked.encode_many(answers(asked, n, rng), rng) for asked in EVERY_KIND.reported
    }


def test_a_table_has_the_schema_and_an_engine_counts_every_kind_of_question_in_it(
    tmp_path: Path,
) -> None:
    reports = made(50)
    ids = [bytes([number]) * 16 for number in range(50)]
    table = reports_table(EVERY_KIND, reports, ids=ids, day=DAY, segment=["north", None] * 25)
    assert table.schema.equals(reports_schema(EVERY_KIND), check_metadata=True)
    pq.write_table(table, tmp_path / "reports.parquet")
    assert pq.read_table(tmp_path / "reports.parquet").schema.equals(
        reports_schema(EVERY_KIND), check_metadata=True
    )
    found = local.count(tmp_path, EVERY_KIND, by="day", id="id")
    for asked in EVERY_KIND.reported:
        assert found.segments["2027-03-31",][asked.name] == asked.count(reports[asked.name])


@pytest.mark.parametrize(
    ("count", "name"), [(2, "uint8"), (256, "uint8"), (257, "uint16"), (2**16 + 1, "uint32")]
)
def test_a_category_is_the_smallest_whole_number(count: int, name: str) -> None:
    assert str(report_type(Category(count))) == name


@pytest.mark.parametrize("asked", EVERY_KIND.reported, ids=lambda asked: str(asked.name))
def test_a_report_is_a_number_or_bytes_of_one_size(asked: Any) -> None:
    shape = asked.mechanism.shape
    column = report_column(shape, made(7)[asked.name])
    if isinstance(shape, Category):
        assert pa.types.is_unsigned_integer(column.type)
    else:
        assert column.type == pa.binary(shape.size)
    assert column.to_pylist() == shape.column(made(7)[asked.name])


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ({"ids": [b"1" * 16]}, "id has 1 values for 2 reports"),
        ({"segment": ["north"] * 3}, "segment has 3 values for 2 reports"),
    ],
)
def test_columns_of_other_lengths_are_refused(given: dict[str, Any], rule: str) -> None:
    reports = COFFEE["drink"].encode_many(["tea", "mate"], np.random.default_rng(1))
    with pytest.raises(ValueError, match=rule):
        reports_table(COFFEE, {"drink": reports}, **given)


def test_questions_with_unequal_numbers_of_reports_are_refused() -> None:
    reports = {**made(3), "category": made(4)["category"]}
    with pytest.raises(ValueError, match="each question needs as many reports as the others"):
        reports_table(EVERY_KIND, reports)


@pytest.mark.parametrize("name", ["id", "day", "segment"])
def test_a_question_with_the_name_of_another_column_is_refused(name: str) -> None:
    survey = Survey("s", (Question(name, ["a", "b"], KRR(2, 1.0)),))
    with pytest.raises(ValueError, match=f"a question is called {name!r}"):
        reports_schema(survey)


@pytest.mark.parametrize("name", ["a/b", "50 %", "x=y", "..", "tea: or 'mate'?", "Käse", "a\\b"])
def test_a_folder_is_named_after_any_question_and_read_back(name: str, tmp_path: Path) -> None:
    survey = Survey("s", (Question(name, ["a", "b"], KRR(2, 1.0)),))
    folder = tmp_path / folder_of("question", name)
    assert not re.search(r"[/\\:*?\"<>|]", folder.name)
    folder.mkdir()
    pq.write_table(pa.table({"report": pa.array([0, 1, 1], pa.uint8())}), folder / "part.parquet")
    assert local.count(tmp_path, survey)[name].n == 3


def test_a_private_table_has_the_schema_and_names_its_survey(tmp_path: Path) -> None:
    source = tmp_path / "people.csv"
    columns = {
        name: np.atleast_1d(answers(EVERY_KIND[name], 20, np.random.default_rng(1)))
        for name in ("category", "unary", "hashed")
    }
    lines = [",".join(columns), *(",".join(row) for row in zip(*columns.values(), strict=True))]
    source.write_text("\n".join(lines) + "\n")
    private = tmp_path / "private.parquet"
    encode_table(source, private, EVERY_KIND, dict.fromkeys(columns))
    found = pq.ParquetFile(private).schema_arrow
    whole = reports_schema(EVERY_KIND)
    assert list(found) == [whole.field(name) for name in columns]
    assert found.metadata == whole.metadata
    assert local.count(private, EVERY_KIND, columns=list(columns))["unary"].n == 20
    with pytest.raises(ValueError, match="use the survey these were encoded with"):
        local.count(private, COFFEE, columns={"drink": "category"})
