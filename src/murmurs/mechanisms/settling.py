"""How a mechanism fixes its integer probabilities: as given, or the best that keep epsilon."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from murmurs.boundary.checks import whole
from murmurs.privacy import SCALE, flip_numerator, truth_numerator

MOST_CELLS = 2**24
"""The most cells in a mechanism's counts: 128 MiB, of which a collector needs a few copies."""

LEFT_OPEN: Any = None
"""The default of a parameter that the mechanism chooses if it is not given."""


def settled(given: int | None, name: str, low: int, high: int, choose: Callable[[], int]) -> int:
    """Return a parameter as given, or chosen if it is not given; checked either way."""
    return whole(choose() if given is None else given, name, low, high)


def settle_truth(given: int | None, epsilon: float, reports_per_supporting: Fraction) -> int:
    """Return the probability of a truthful report, times 2**53: as given, or the best."""
    return settled(
        given, "truth", 1, SCALE - 1, lambda: truth_numerator(epsilon, reports_per_supporting)
    )


def settle_flip(given: int | None, epsilon: float, bits: int = 1) -> int:
    """Return the probability of flipping a bit, times 2**53: as given, or the best.

    It is below one half, where a bit would carry no information.
    """
    return settled(given, "flip", 1, SCALE // 2 - 1, lambda: flip_numerator(epsilon, bits))


def check_cells(cells: int, what: str) -> None:
    """Refuse counts that are too large for a collector."""
    if cells > MOST_CELLS:
        raise ValueError(f"{what} must be at most 2**24, not {cells}: counts have that many cells")
