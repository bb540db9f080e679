"""Columns that come as Arrow streams, as relations of DuckDB do."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import murmurs as mm

DRINK = mm.Question("drink", ["tea", "mate", "gin"], mechanism=mm.KRR(3, 40.0))


class Relation:
    """What DuckDB hands out: it has names of columns, and a stream of batches."""

    def __init__(self, table: Any) -> None:
        self._table, self.columns = table, getattr(table, "column_names", [])

    def __len__(self) -> int:
        return len(self._table)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


def relation(**columns: list[Any]) -> Relation:
    """A relation of two batches."""
    whole = pa.table(columns)
    half = len(whole) // 2
    return Relation(pa.concat_tables([whole.slice(0, half), whole.slice(half)]))


def test_answers_of_a_relation_with_one_column_are_encoded() -> None:
    """At epsilon 40 a report is the answer: another law than the truth has a chance below 1e-15."""
    answers = ["tea", "mate", "gin", "tea"]
    found = DRINK.encode_many(relation(drink=answers), np.random.default_rng(1))
    assert found.tolist() == [0, 1, 2, 0]
    array = Relation(pa.chunked_array([["tea"], ["mate", "gin"]]))
    assert DRINK.encode_many(array, np.random.default_rng(1)).tolist() == [0, 1, 2]


def test_missing_answers_of_a_relation_are_missing() -> None:
    column = relation(drink=["tea", None, "gin"])
    assert len(DRINK.encode_many(column, np.random.default_rng(1), drop_missing=True)) == 2
    with pytest.raises(ValueError, match="1 of 3 answers is missing, first answer number 1"):
        DRINK.encode_many(column)


@pytest.mark.parametrize("reports", [[0, 1, 1, 2], [b"\x00", b"\x01", b"\x01", b"\x02"]])
def test_reports_of_a_relation_are_counted(reports: list[Any]) -> None:
    assert DRINK.count(relation(report=reports)).cells.tolist() == [1, 2, 1]


def test_labels_of_a_relation_are_counted_as_reported() -> None:
    assert DRINK.count_reported(relation(drink=["tea", "gin"])).cells.tolist() == [1, 0, 1]


def test_a_relation_of_several_columns_is_refused_without_its_contents() -> None:
    both = relation(secret=["tea", "gin"], n=[1, 2])
    for use in (DRINK.encode_many, DRINK.count):
        with pytest.raises(
            TypeError, match=r"^a Relation has 2 columns: select the one"
        ) as refused:
            use(both)
        assert "secret" not in str(refused.value)
        assert str(refused.value).endswith("as in relation['drink']")


def test_a_missing_report_in_integers_that_arrow_does_not_have_is_named() -> None:
    column = pl.Series([0, None, 1], dtype=pl.Int128)
    with pytest.raises(ValueError, match=r"^report 1 is missing: leave it out"):
        DRINK.count(column)


def test_an_empty_relation_is_an_empty_column() -> None:
    empty = Relation(pa.table({"drink": pa.array([], pa.string())}))
    assert len(DRINK.encode_many(empty)) == 0
    assert DRINK.count(Relation(pa.table({"report": pa.array([], pa.uint8())}))).n == 0
