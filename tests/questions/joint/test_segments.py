"""Tables of segments, compared in Python."""

from __future__ import annotations

import numpy as np
import pytest

import murmurs as mm
from murmurs import Joint, JointEstimate, Question, compare_tables
from murmurs.inference.trend import trend

DRINK = Question("drink", ["tea", "mate"], epsilon=3.0)
SUGAR = Question("sugar", ["yes", "no"], epsilon=3.0)
MILK = Question("milk", ["yes", "no"], epsilon=3.0)


def found(joint: Joint, people: list[int], seed: int) -> JointEstimate:
    table = np.reshape(people, joint.sizes)
    return joint.estimate(joint.simulate(table, np.random.default_rng(seed)))


def test_the_tables_are_those_of_the_segments_and_the_tests_those_of_their_kind() -> None:
    both = Joint(DRINK, SUGAR)
    tables = {"a": found(both, [400, 100, 100, 400], 1), "b": found(both, [100, 400, 400, 100], 2)}
    compared = compare_tables(tables)
    assert compared.tests == tuple(table.association() for table in tables.values())
    assert compared.p_value == trend(list(tables.values()), list(tables)).p_value
    assert compared.homogeneity is not None
    assert compared.homogeneity.p_value < 1e-6  # odds ratios 16 and 1/16
    assert compared.homogeneity.freedom == 1
    assert "differs between the segments" in str(compared)
    frame = compared.to_pandas()
    assert list(frame["segment"]) == ["a"] * 4 + ["b"] * 4
    assert frame["share"][:4].to_numpy() == pytest.approx(tables["a"].shares)
    for other in (compared.to_arrow(), compared.to_polars()):
        assert other.to_pandas()["share"].tolist() == frame["share"].tolist()
    assert len(compared.to_csv().splitlines()) == 1 + len(frame)


def test_three_questions_are_screened_in_each_segment() -> None:
    three = Joint(DRINK, SUGAR, MILK)
    people = [400, 400, 100, 100, 100, 100, 400, 400]
    tables = {name: found(three, people, seed) for seed, name in enumerate("xy")}
    compared = compare_tables(tables)
    assert compared.homogeneity is None
    assert "1 of 3" in compared.table()
    assert "The tables" in compared.conclusion
    assert compared.to_document()["stands_out"] is None


def test_what_cannot_be_compared_is_refused() -> None:
    both, other = Joint(DRINK, SUGAR), Joint(DRINK, MILK)
    one = found(both, [10, 20, 30, 40], 1)
    with pytest.raises(TypeError, match="a mapping from names to estimates"):
        compare_tables([one])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="'b' must be a table of a joint"):
        compare_tables({"a": one, "b": one.margin("drink")})  # type: ignore[dict-item]
    with pytest.raises(ValueError, match="'b' has other questions or answers"):
        compare_tables({"a": one, "b": found(other, [10, 20, 30, 40], 1)})
    with pytest.raises(ValueError, match="target must be"):
        compare_tables({"a": one}, target="people")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"level must be from 0.5 to 0.999999999, not 2"):
        compare_tables({"a": one, "b": one}, level=2)
    with pytest.raises(ValueError, match="two segments have the name '1': names must differ"):
        compare_tables({"1": one, 1: one})  # type: ignore[dict-item]


def test_a_column_called_segment_keeps_its_name() -> None:
    both = Joint(Question("segment", ["a", "b"], epsilon=3.0), mm.KRR(k=2, epsilon=1.0))
    columns = compare_tables({"x": found(both, [10, 20, 30, 40], 1)}).columns()
    assert list(columns)[:2] == ["segment_name", "segment"]


def test_a_test_that_cannot_be_made_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("murmurs.inference.homogeneity.MOST_WORK", 1)
    both = Joint(DRINK, SUGAR)
    tables = {name: found(both, [400, 100, 100, 400], seed) for seed, name in enumerate("ab")}
    compared = compare_tables(tables)
    assert compared.homogeneity is None
    assert compared.p_value is not None
    assert "Note: it is not tested whether odds ratios differ: 4 combinations" in str(compared)
