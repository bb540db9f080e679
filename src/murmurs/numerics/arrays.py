"""The array types that all modules share, and exact arithmetic on them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]

TINY = 1e-300
"""Added to denominators that may be zero."""

ROUNDING = 1e-9
"""Relative difference up to which two numbers count as equal."""


def exact_sum(values: Integers) -> int:
    """Return the sum of whole numbers, even where it needs more than 64 bits.

    >>> exact_sum(np.array([2**62] * 5)) == 5 * 2**62
    True
    """
    largest = max(abs(int(values.min())), abs(int(values.max()))) if values.size else 0
    if largest * values.size < 2**63:
        return int(values.sum())
    low = np.bitwise_and(values, 2**32 - 1).sum()
    return (int(np.right_shift(values, 32).sum()) << 32) + int(low)


def first_outside(values: NDArray[Any], low: int, high: int) -> tuple[int, int] | None:
    """Return position and value of the first number outside ``low``..``high``, or None."""
    if values.size == 0 or (int(values.min()) >= low and int(values.max()) <= high):
        return None
    where = int(np.argmax((values < low) | (values > high)))
    return where, int(values[where])
