"""Tables with given margins, as chance makes them when rows and columns are independent."""

from __future__ import annotations

import numpy as np

from murmurs.numerics.arrays import Floats, Integers

MOST_IN_A_TABLE = 10**9 - 1
"""The largest sum of a table that NumPy can draw."""


def random_tables(rows: Integers, columns: Integers, size: int, rng: np.random.Generator) -> Floats:
    """Draw tables with these sums of rows and columns.

    They have the law of the table of two lists of labels if one of the lists is permuted. If there
    are more cells than labels, that is how they are drawn; otherwise cell by cell, as each is
    hypergeometric given those before it.

    >>> tables = random_tables(np.array([3, 2]), np.array([1, 4]), 10, np.random.default_rng(1))
    >>> tables.sum(axis=2)[0], tables.sum(axis=1)[0]
    (array([3., 2.]), array([1., 4.]))
    """
    if np.sum(rows) < len(rows) * len(columns):
        return _permuted(rows, columns, size, rng)
    left = np.tile(np.asarray(columns, np.int64), (size, 1))
    out = np.zeros((size, len(rows), len(columns)))
    for i, total in enumerate(np.asarray(rows, np.int64)[:-1].tolist()):
        need, beyond = np.full(size, total), left.sum(axis=1)
        drawn = np.zeros_like(left)
        for j in range(len(columns) - 1):
            beyond -= left[:, j]
            drawn[:, j] = rng.hypergeometric(left[:, j], beyond, need)
            need -= drawn[:, j]
        drawn[:, -1] = need
        left -= drawn
        out[:, i] = drawn
    out[:, -1] = left
    return out


def _permuted(rows: Integers, columns: Integers, size: int, rng: np.random.Generator) -> Floats:
    """Draw tables by permuting the list of columns, one entry for each label."""
    cells = len(rows) * len(columns)
    of_rows, of_columns = (np.repeat(np.arange(len(sums)), sums) for sums in (rows, columns))
    turned = rng.permuted(np.tile(of_columns, (size, 1)), axis=1)
    place = of_rows * len(columns) + turned + cells * np.arange(size)[:, None]
    drawn = np.bincount(place.ravel(), minlength=size * cells)
    return drawn.reshape(size, len(rows), len(columns)).astype(np.float64)


def two_by_two(rows: Integers, columns: Integers) -> tuple[Floats, Floats]:
    """Return all tables of two rows and two columns with these sums, and their probabilities.

    >>> tables, chances = two_by_two(np.array([1, 1]), np.array([1, 1]))
    >>> tables.tolist(), chances.tolist()
    ([[[0.0, 1.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]], [0.5, 0.5])
    """
    (row, other), (column, _) = rows.tolist(), columns.tolist()
    first = np.arange(max(0, column - other), min(row, column) + 1, dtype=np.float64)
    ratios = (row - first) * (column - first) / ((first + 1) * (other - column + first + 1))
    heights = np.concatenate([[0.0], np.cumsum(np.log(ratios[:-1]))])
    chances = np.exp(heights - heights.max())
    upper = np.stack([first, row - first], axis=1)
    tables = np.stack([upper, columns - upper], axis=1)
    return tables, chances / chances.sum()
