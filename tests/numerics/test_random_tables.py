"""Tables with given margins have the law of permuted lists."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from murmurs.numerics import random_tables as tables
from murmurs.numerics.arrays import Integers


def exact(rows: Integers, columns: Integers) -> dict[tuple[int, ...], float]:
    """Return the probability of each table, by going through all permutations of a list."""
    left, right = (np.repeat(np.arange(len(sums)), sums).tolist() for sums in (rows, columns))
    found: Counter[tuple[int, ...]] = Counter()
    for order in itertools.permutations(right):
        table = np.zeros((len(rows), len(columns)), np.int64)
        for i, j in zip(left, order, strict=True):
            table[i, j] += 1
        found[tuple(table.ravel().tolist())] += 1
    total = sum(found.values())
    return {table: count / total for table, count in found.items()}


@pytest.mark.parametrize(
    ("rows", "columns"), [((4, 2), (3, 2, 1)), ((2, 2, 1), (2, 2, 1)), ((3, 0, 4), (1, 6))]
)
def test_tables_have_the_law_of_permuted_lists(
    rows: tuple[int, ...], columns: tuple[int, ...]
) -> None:
    """Chi-square of 20,000 tables, false alarm 1e-6; equally likely tables are rejected."""
    law = exact(np.array(rows), np.array(columns))
    rng = np.random.default_rng(1)
    drawn = tables.random_tables(np.array(rows), np.array(columns), 20_000, rng)
    seen = Counter(tuple(map(int, table.ravel())) for table in drawn)
    assert set(seen) <= set(law)
    counts = [seen[table] for table in law]
    assert stats.chisquare(counts, [20_000 * p for p in law.values()]).pvalue > 1e-6
    assert stats.chisquare(counts).pvalue < 1e-6


def test_all_tables_of_two_by_two_have_hypergeometric_probabilities() -> None:
    found, chances = tables.two_by_two(np.array([4, 3]), np.array([2, 5]))
    law = exact(np.array([4, 3]), np.array([2, 5]))
    assert len(found) == len(law)
    for table, chance in zip(found, chances, strict=True):
        assert chance == pytest.approx(law[tuple(map(int, table.ravel()))])
    large, one = tables.two_by_two(np.array([10**5, 10**5]), np.array([10**5, 10**5]))
    assert one.sum() == pytest.approx(1)
    assert large.sum(axis=(1, 2)) == pytest.approx(2e5)
