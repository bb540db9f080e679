"""Counts that no reports could have given are refused; the others add up and stay as they are."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest

from murmurs import (
    KRR,
    OUE,
    CountMeanSketch,
    Counts,
    Hadamard,
    HadamardSketch,
    Product,
    Question,
    Subset,
)

RR = KRR(k=3, epsilon=1.0)
UNARY = OUE(k=3, epsilon=1.0)
BLOCKS = Hadamard(k=5, epsilon=1.0, blocks=2)
SUM, SETS = KRR(k=5, epsilon=1.0), Subset(k=5, epsilon=1.0, w=2)
ROWS = CountMeanSketch(k=3, epsilon=1.0, rows=2, width=2)


@pytest.mark.parametrize(
    ("mechanism", "n", "cells", "message"),
    [
        (RR, 3, [4, -1, 0], "cell 0 is 4, outside 0..3 of 3 reports"),
        (RR, 3, [0, -1, 4], "cell 1 is -1, outside 0..3 of 3 reports"),
        (UNARY, 3, [0, 0, 4], "cell 2 is 4, outside 0..3 of 3 reports"),
        (BLOCKS, 3, [[0, 0, 0, 0], [0, 5, 0, 0]], "cell (1, 1) is 5, outside 0..3 of 3 reports"),
        (RR, 3, [1, 1], "cells of KRR(k=3, epsilon=1.0) have shape (3,), not (2,)"),
        (RR, 3, [[1, 1, 1]], "cells of KRR(k=3, epsilon=1.0) have shape (3,), not (1, 3)"),
        (BLOCKS, 0, [0] * 8, "have shape (2, 4), not (8,)"),
        (RR, 3, [1, 1, 0], "cells add up to 2, not 3: each report counts in exactly one of KRR"),
        (RR, 3, [3, 1, 0], "cells add up to 4, not 3: each report counts in exactly one of KRR"),
        (BLOCKS, 3, [[1, 0, 0, 0], [0, 1, 0, 0]], "cells add up to 2, not 3: each report"),
        (ROWS, 3, [[1, 0, 0], [1, 0, 0]], "rows add up to 2 reports, not 3"),
        (ROWS, 3, [[1, 0, 2], [2, 0, 0]], "bit 1 of row 0 is set 2 times in 1 report of "),
        (RR, -1, [0, 0, 0], "n must be from 0 to 4611686018427387904, not -1"),
        (RR, 2**63, [0, 0, 0], "n must be from 0 to 4611686018427387904, not 9223372036854775808"),
        (RR, 3, np.array([2**64 - 1, 0, 0], np.uint64), "cell 0 is 18446744073709551615, outside"),
        (RR, 3, np.array([2**70, 0, 0]), "cells must fit into 64 bits, number 0 does not"),
        (RR, 10**400, [0, 0, 0], "n must be from 0 to 4611686018427387904, not about 10**400"),
        (SUM, 2**62, [2**62] * 5, "cells add up to 23058430092136939520, not 4611686018427387904"),
        (SETS, 3, [2, 2, 1, 1, 1], "cells add up to 7, not 6: each report counts in 2 answers"),
    ],
)
def test_counts_that_cannot_be_are_refused_with_the_value(
    mechanism: Any, n: int, cells: Any, message: str
) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the message is looked for below
        Counts(mechanism, n, np.asarray(cells))
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("n", "cells", "message"),
    [
        (True, [1, 0, 0], "n must be a whole number, not True"),
        (3.0, [1, 1, 1], "n must be a whole number, not 3.0"),
        ("3", [1, 1, 1], "n must be a whole number, not '3'"),
        (3, np.array([1.0, 1.0, 1.0]), "cells must be whole numbers, not float64"),
        (1, np.array([True, False, False]), "cells must be whole numbers, not bool"),
        (3, np.array(["1", "1", "1"]), "cells must be whole numbers, not text"),
        (3, [1.0, 1, 1], "cells must be whole numbers, number 0 is of type float"),
        (3, [True, 1, 1], "cells must be whole numbers, number 0 is of type bool"),
        (3, [[1, True], [1]], "cells must be whole numbers, number 0, 1 is of type bool"),
        (3, [1, "1", 1], "cells must be whole numbers, number 1 is of type str"),
        (3, None, "cells must be a list or an array, not NoneType"),
    ],
)
def test_counts_that_are_no_whole_numbers_are_refused(n: Any, cells: Any, message: str) -> None:
    with pytest.raises(TypeError) as error:
        Counts(RR, n, cells)
    assert str(error.value).startswith(message)


def test_unary_counts_need_not_add_up_to_n() -> None:
    assert Counts(UNARY, 3, np.array([3, 3, 3])).n == 3
    assert Counts(UNARY, 3, np.array([0, 0, 0])).n == 3


def test_no_reports_are_counts_too() -> None:
    for mechanism in (RR, UNARY, BLOCKS):
        empty = mechanism.count([])
        assert empty.n == 0
        assert empty.cells.shape == mechanism.channel.cells
        assert not empty.cells.any()


# They stay as they are


def test_cells_cannot_be_written() -> None:
    counts = RR.count([0, 1, 1])
    with pytest.raises(ValueError, match="read-only"):
        counts.cells[0] = 5
    with pytest.raises(dataclasses.FrozenInstanceError):
        counts.n = 4  # type: ignore[misc]


def test_cells_do_not_follow_the_array_they_came_from() -> None:
    cells = np.array([1, 2, 0])
    counts = Counts(RR, 3, cells)
    cells[:] = 7
    assert counts.cells.tolist() == [1, 2, 0]


@pytest.mark.parametrize("kind", [np.uint8, np.int32, np.uint64])
def test_cells_of_any_integer_type_become_int64(kind: type[np.integer[Any]]) -> None:
    counts = Counts(RR, np.int64(3), np.array([1, 2, 0], kind))  # type: ignore[arg-type]
    assert counts.cells.dtype == np.int64
    assert type(counts.n) is int


# They add up


def test_counts_of_the_same_reports_are_equal() -> None:
    one = RR.count([0, 1, 1])
    assert one == RR.count([1, 0, 1])
    assert one != RR.count([0, 0, 1])
    assert one != RR.count([0, 1, 1, 1])
    assert one != KRR(k=3, epsilon=2.0).count([0, 1, 1])
    assert one != "counts"
    assert UNARY.count([b"\x01"]) != UNARY.count([b"\x01", b"\x00"])  # the cells are the same
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


def test_counts_add_cell_by_cell_and_leave_their_terms_alone() -> None:
    one, other = RR.count([0, 1, 1]), RR.count([2])
    both = one + other
    assert (both.n, both.cells.tolist()) == (4, [1, 2, 1])
    assert one.cells.tolist() == [1, 2, 0]
    assert both == other + one == sum([one, other])
    assert sum([one]) == one


def test_counts_of_other_parameters_are_not_added() -> None:
    message = r"^cannot add counts of KRR\(k=3, epsilon=2.0\) to counts of KRR\(k=3, epsilon=1.0\)$"
    with pytest.raises(ValueError, match=message):
        _ = RR.count([0]) + KRR(k=3, epsilon=2.0).count([0])


@pytest.mark.parametrize("other", [1, "counts", None, [0, 0, 0]])
def test_counts_are_not_added_to_anything_else(other: Any) -> None:
    with pytest.raises(TypeError, match="unsupported operand"):
        _ = RR.count([0]) + other
    with pytest.raises(TypeError):
        _ = other + RR.count([0])


def test_counts_too_many_to_add_are_refused() -> None:
    most = Counts(RR, 2**62, np.array([2**62, 0, 0]))
    with pytest.raises(ValueError, match="n must be from 0 to 4611686018427387904, not"):
        _ = most + most


def test_a_document_holds_what_the_counts_are() -> None:
    for mechanism in (
        RR,
        UNARY,
        BLOCKS,
        CountMeanSketch(k=4, epsilon=1.0, rows=2, width=3),
        HadamardSketch(k=4, epsilon=1.0, rows=2, width=4),
    ):
        counts: Counts = mechanism.simulate([1] * mechanism.k, np.random.default_rng(1))
        document = json.loads(json.dumps(counts.to_document()))
        assert document["mechanism"] == mechanism.to_document()
        assert Counts(mechanism, document["n"], np.array(document["cells"])) == counts


def test_counts_of_a_question_are_refused_with_the_way_out() -> None:
    question = Question("q", ["a", "b"], epsilon=1.0)
    with pytest.raises(TypeError, match=r"pass that of a question as question\.mechanism$"):
        Counts(question, 3, np.array([1, 2]))  # type: ignore[arg-type]


def test_the_margin_of_all_questions_is_the_table_in_their_order() -> None:
    both = Product([KRR(k=2, epsilon=1.0)] * 2)
    counts = both.count([(0, 1), (0, 1), (1, 1)])
    assert counts.margin(0, 1) == counts
    assert counts.margin(0).cells.tolist() == counts.margin(0).cells.tolist() == [2, 1]
    with pytest.raises(ValueError, match="in the order of the table, not 1, 0: say 0, 1"):
        counts.margin(1, 0)  # not the same table, though both questions have the same mechanism
