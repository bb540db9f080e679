"""Counts that no reports can give are refused, and all others are taken: by brute force.

Every report that a mechanism can send is packed and counted; what up to three of them add up to is
what can be. Local hashing has too many reports to list, and says nothing about its cells.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import murmurs as mm
from murmurs import (
    KRR,
    ORR,
    OUE,
    SUE,
    CountMeanSketch,
    Counts,
    Hadamard,
    HadamardSketch,
    ORappor,
    PermutedRappor,
    PermutedRR,
    ProjectiveGeometry,
    Rappor,
    SquareWave,
    Subset,
)
from murmurs.mechanisms import BY_NAME, OPEN, Prefixes
from murmurs.mechanisms.closed.local_hashing import Hashing
from tests import laws

LISTED: list[tuple[Any, int]] = [  # with how many reports
    (KRR(k=2, epsilon=1.0), 3),
    (KRR(k=4, epsilon=1.0), 3),
    (SUE(k=3, epsilon=1.0), 3),
    (OUE(k=4, epsilon=1.0), 2),
    (mm.BasicRappor(k=3, f=0.4, p=0.3, q=0.8), 2),
    (mm.LOSUE(k=3, epsilon=1.0, epsilon_permanent=2.0), 2),
    (Subset(k=2, epsilon=1.0, w=1), 3),
    (Subset(k=4, epsilon=1.0, w=1), 3),
    (Subset(k=4, epsilon=1.0, w=2), 3),
    (Subset(k=5, epsilon=1.0, w=2), 3),
    (Subset(k=5, epsilon=1.0, w=3), 3),
    (Subset(k=5, epsilon=1.0, w=4), 3),
    (SquareWave(k=3, epsilon=1.0, b=1), 3),
    (SquareWave(k=5, epsilon=1.0, b=1, circular=True), 3),
    (Hadamard(k=3, epsilon=1.0, blocks=1), 3),
    (Hadamard(k=5, epsilon=1.0, blocks=2), 2),
    (ProjectiveGeometry(k=6, epsilon=1.0, q=2, t=3), 2),
    (CountMeanSketch(k=3, epsilon=1.0, rows=2, width=2), 2),
    (HadamardSketch(k=3, epsilon=1.0, rows=2, width=2), 2),
    (PermutedRR(k=5, epsilon=1.0, width=3, cohorts=2), 3),
    (PermutedRappor(k=4, epsilon=1.0, width=2, cohorts=2), 2),
    (ORR(epsilon=1.0, width=3, cohorts=2), 3),
    (ORR(epsilon=1.0, width=3, cohorts=2).over(["tea", "mate"]), 3),
    (ORappor(epsilon=1.0, width=2, cohorts=2), 3),
    (Prefixes(epsilon=1.0, width=2, levels=((1, 1), (2, 1))), 3),
    (mm.Product([KRR(k=2, epsilon=1.0), KRR(k=3, epsilon=1.0)]), 3),
    (mm.Product([KRR(k=2, epsilon=1.0), OUE(k=2, epsilon=1.0)]), 2),
    (mm.Product([Subset(k=3, epsilon=1.0, w=1), SUE(k=2, epsilon=1.0)]), 2),
    (Rappor(width=2, hashes=2, cohorts=2, f=0.25, p=0.125, q=0.875), 2),
]
named = [pytest.param(mechanism, n, id=repr(mechanism)) for mechanism, n in LISTED]


def test_every_kind_is_listed() -> None:
    kinds = {type(mechanism) for mechanism, _ in LISTED}
    hashing = {kind for kind in BY_NAME.values() if issubclass(kind, Hashing)}
    assert hashing == {mm.LocalHashing, mm.LOLOHA}
    assert kinds | hashing >= {*BY_NAME.values(), *OPEN.values()}


def every_report(mechanism: Any) -> list[bytes]:
    """The bytes of every report, found by trying all; no byte of these shapes is above 31."""
    found = []
    for data in itertools.product(range(32), repeat=mechanism.shape.size):
        try:
            mechanism.shape.from_bytes(bytes(data))
        except ValueError:
            continue
        found.append(bytes(data))
    return found


def is_taken(mechanism: Any, n: int, table: Any) -> bool:
    try:
        Counts(mechanism, n, table)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(("mechanism", "n"), named)
def test_exactly_the_counts_that_can_be_are_taken(mechanism: Any, n: int) -> None:
    shape = mechanism.channel.cells
    size = int(np.prod(shape))
    single = {tuple(mechanism.count(r).cells.ravel().tolist()) for r in every_report(mechanism)}
    possible = {(0,) * size}
    for _ in range(n):
        possible = {
            tuple(a + b for a, b in zip(x, y, strict=True)) for x in possible for y in single
        }
    for cells in itertools.product(range(n + 1), repeat=size):
        table = np.array(cells).reshape(shape)
        assert is_taken(mechanism, n, table) == (cells in possible), cells


# Reports as bytes


@pytest.mark.parametrize("mechanism", [*laws.SMALL, KRR(k=300, epsilon=1.0)], ids=repr)
def test_bytes_are_reports_one_after_another(mechanism: Any) -> None:
    rng = np.random.default_rng(8)
    reports = mechanism.encode_many(rng.integers(0, mechanism.k, 500), rng)
    data = reports.tobytes()
    assert len(data) == 500 * mechanism.shape.size
    for form in (data, bytearray(data), memoryview(data), memoryview(reports)):
        assert mechanism.count(form) == mechanism.count(reports)
    assert mechanism.count(b"") == mechanism.count([])
    if mechanism.shape.size > 1:
        with pytest.raises(ValueError, match=r"bytes are not reports of \d+ bytes each"):
            mechanism.count(data[:-1])


def test_packed_reports_are_not_taken_for_one_a_byte() -> None:
    """KRR(k=300) has two bytes a report: three reports were counted as six."""
    rr = KRR(k=300, epsilon=1.0)
    counts = rr.count(rr.shape.stack([1, 258, 258]).tobytes())
    assert (counts.n, counts.cells[1], counts.cells[258]) == (3, 1, 2)


def test_open_mechanisms_take_bytes_too() -> None:
    for mechanism in (ORR(1.0, 300, 4), ORappor(1.0, 12, 300), ORR(1.0, 3, 3).over(["tea"])):
        answers: Any = [0, 1] if hasattr(mechanism, "k") else ["tea", "mate"]
        reports = mechanism.encode_many(answers)
        assert mechanism.count(reports.tobytes()) == mechanism.count(reports)
