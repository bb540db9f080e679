"""How a mechanism fixes its integer probabilities: as given, or the best that keep epsilon."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from murmurs.boundary.checks import whole
from murmurs.privacy import SCALE, flip_numerator, truth_numerator

MOST_CELLS = 2**24
"""Cells of a mechanism's counts, at most: 128 MiB, a few times of which a collector needs."""

LEFT_OPEN: Any = None
"""Default of a parameter that is chosen if it is not given; what is made has a number there."""


def settled(given: int | None, name: str, low: int, high: int, choose: Callable[[], int]) -> int:
    """Return a parameter as it was given, or chosen if it was left open; checked either way."""
    return whole(choose() if given is None else given, name, low, high)


def settle_truth(given: int | None, epsilon: float, reports_per_supporting: Fraction) -> int:
    """Return the chance of telling the truth, over 2**53: the given one, or the best that is."""
    return settled(
        given, "truth", 1, SCALE - 1, lambda: truth_numerator(epsilon, reports_per_supporting)
    )


def settle_flip(given: int | None, epsilon: float, bits: int = 1) -> int:
    """Return the chance of flipping a bit, over 2**53: the given one, or the best that is.

    It is below one half, at which a bit would tell nothing.
    """
    return settled(given, "flip", 1, SCALE // 2 - 1, lambda: flip_numerator(epsilon, bits))


def check_cells(cells: int, what: str) -> None:
    """Refuse counts that are larger than a collector can live with."""
    if cells > MOST_CELLS:
        raise ValueError(f"{what} must be at most 2**24, not {cells}: so many numbers are counted")
