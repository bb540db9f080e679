"""How our default stands beside the others, of which no paper says anything."""

from __future__ import annotations

import math
from collections.abc import Sequence

from murmurs.numerics.arrays import Floats
from murmurs_papers.findings import SIGMAS, Finding, Standing

MOST = 100.0
"""The largest ratio in a mean: one setting in which nothing was found must not decide alone."""


def ours(
    what: str,
    beside: str,
    measured: str,
    ratios: Sequence[tuple[float, float]],
    *,
    why: str = "",
) -> Finding:
    """Say how our default stands beside the best of others.

    ``ratios`` are its errors over theirs with their standard errors, one for each setting. ``why``
    is kept where it is not ahead.

    >>> ours("Occ", "k-subset, 0.0151", "0.0157", [(0.0157 / 0.0151, 0.03)]).verdict
    'close'
    """
    verdict = standing(ratios)
    return Finding(what, beside, measured, verdict, None, "" if verdict == "ahead" else why)


def standing(ratios: Sequence[tuple[float, float]]) -> Standing:
    """Return how errors stand beside others, given their ratios with standard errors.

    >>> standing([(0.5, 0.1), (1.0, 0.1)]), standing([(0.5, 0.1), (1.2, 0.1)])
    ('ahead', 'close')
    >>> standing([(0.5, 0.01), (1.2, 0.01)]), standing([(1.2, 0.01)])
    ('mixed', 'behind')
    """
    if all(ratio <= 1 for ratio, _ in ratios):
        return "ahead"
    if not clearly_above(ratios):
        return "close"
    return "mixed" if mean_ratio(ratios) < 1 else "behind"


def clearly_above(ratios: Sequence[tuple[float, float]]) -> int:
    """Return in how many settings a ratio is above 1 by more than three standard errors.

    >>> clearly_above([(0.5, 0.1), (1.2, 0.1), (1.2, 0.01)])
    1
    """
    return sum(ratio - 1 > SIGMAS * error for ratio, error in ratios)


def mean_ratio(ratios: Sequence[tuple[float, float]]) -> float:
    """Return the geometric mean of ratios; one that is above 100 or below 1/100 counts as that.

    >>> mean_ratio([(0.5, 0.1), (2.0, 0.1)])
    1.0
    >>> round(mean_ratio([(math.inf, 0.0), (0.0, 0.0)]), 12)
    1.0
    """
    logs = [math.log(min(max(ratio, 1 / MOST), MOST)) for ratio, _ in ratios]
    return math.exp(sum(logs) / len(logs))


def described(ratios: Sequence[tuple[float, float]], of: str = "its error") -> str:
    """Return in words how our default compares in several settings.

    >>> described([(0.5, 0.1), (1.2, 0.01)])
    'its error is 0.77 times theirs in geometric mean, 0.50 to 1.20 times; above it in 1 of 2 settings, by more than three standard errors in 1'
    """  # noqa: E501
    numbers = [ratio for ratio, _ in ratios]
    text = (
        f"{of} is {mean_ratio(ratios):.2f} times theirs in geometric mean, {min(numbers):.2f} to "
        f"{max(numbers):.2f} times"
    )
    above = sum(ratio > 1 for ratio in numbers)
    if not above:
        return f"{text}; nowhere above it in {len(ratios)} settings"
    return (
        f"{text}; above it in {above} of {len(ratios)} settings, by more than three standard "
        f"errors in {clearly_above(ratios)}"
    )


def quotient(own: float, error: float, other: float, its_error: float) -> tuple[float, float]:
    """Return the ratio of two numbers that do not depend on each other, and its standard error.

    >>> quotient(2.0, 0.0, 4.0, 0.4)
    (0.5, 0.05)
    >>> quotient(0.0, 0.0, 0.0, 0.0), quotient(1.0, 0.0, 0.0, 0.0)
    ((1.0, 0.0), (inf, 0.0))
    """
    if other == 0:
        return (1.0 if own == 0 else math.inf), 0.0
    ratio = own / other
    return ratio, math.hypot(error, ratio * its_error) / abs(other)


def paired(own: Floats, other: Floats) -> tuple[float, float]:
    """Return the ratio of two means over the same repetitions, and its standard error.

    >>> import numpy as np
    >>> paired(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0]))
    (0.5, 0.0)
    """
    mean = float(other.mean())
    if mean == 0 or len(own) < 2:
        return quotient(float(own.mean()), 0.0, mean, 0.0)
    ratio = float(own.mean()) / mean
    spread = float((own - ratio * other).std(ddof=1))
    return ratio, spread / math.sqrt(len(own)) / abs(mean)
