"""Cramér's V: how strongly the answers to two questions go together, from 0 to 1.

The noise of private reports makes the squared distances of a table from independence larger, so
V computed from estimated shares is too large. Here the expected part of the noise is subtracted
from the squared distance, and the limits come from its distribution.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from murmurs.boundary.checks import real
from murmurs.counts import Counts
from murmurs.inference.fit import Target
from murmurs.inference.joint_table import JointTable, joint_table
from murmurs.numerics.special import noncentrality
from murmurs.present.layout import fold

TOLD_APART = 2.0
"""By how many standard errors the share of an answer that is not left out exceeds zero."""

RARE = 0.1
"""The largest share that an answer may have that is left out."""


@dataclass(frozen=True)
class Strength:
    """Cramér's V with its limits: 0 is independence, 1 means that one answer decides the other."""

    value: float
    low: float
    high: float
    level: float
    notes: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    """The answers to the two questions that V is about."""

    @property
    def sentence(self) -> str:
        """The value and its limits in one sentence."""
        if math.isnan(self.value):
            return "Cramér's V is not defined here."
        return (
            f"Cramér's V is {self.value:.2f} ({100 * self.level:g} % interval {self.low:.2f} to "
            f"{self.high:.2f}); 0 is independence, 1 the strongest association."
        )

    def to_document(self) -> dict[str, Any]:
        """Return the numbers as plain values for JSON, with None if V is not defined."""
        value = None if math.isnan(self.value) else self.value
        limits = {"low": self.low, "high": self.high, "level": self.level}
        return {"value": value, **limits, "notes": list(self.notes)}

    def __str__(self) -> str:
        return fold("\n".join([self.sentence, *(f"Note: {note}." for note in self.notes)]))


def cramers_v(
    counts: Counts | JointTable,
    *,
    questions: Sequence[int] = (0, 1),
    level: float = 0.95,
    target: Target = "population",
) -> Strength:
    """Return Cramér's V of two questions, corrected for the noise, with an interval.

    V is the square root of phi^2 / (the smaller number of answers - 1), where phi^2 is the sum of
    (share - product of margins)^2 / (product of margins). The estimated phi^2 is at most 0 in about
    half of all samples if the answers are independent; V is then 0. Answers so rare that they
    cannot be told apart from absent ones are left out, with a note: V is of people with others.

    >>> import murmurs as mm
    >>> both = mm.Product([mm.KRR(k=2, epsilon=2.0), mm.KRR(k=2, epsilon=2.0)])
    >>> counts = both.simulate([30_000, 10_000, 10_000, 50_000], np.random.default_rng(1))
    >>> print(cramers_v(counts))
    Cramér's V is 0.59 (95 % interval 0.58 to 0.60); 0 is independence, 1 the strongest association.
    """
    level = real(level, "level", 0.5, 1 - 1e-9)
    whole = joint_table(counts, questions, target)
    found, notes = _without_rare(_summing_to_one(whole))
    answers = found.rows, found.columns
    most = min(found.shares.shape) - 1
    if most < 1:
        told = "too few answers, or reports, can be told apart from noise"
        return Strength(math.nan, 0.0, 1.0, level, (told,), *answers)
    square, noise, spread, slope = _square(found)
    estimate = max(square - noise, 0.0)
    # The square is distributed as slope * (chi-square with this freedom), up to a constant.
    freedom = spread / slope**2
    seen = (square - noise) / slope + freedom
    ends = [
        noncentrality(seen, freedom, 0.5 + level / 2),
        noncentrality(seen, freedom, 0.5 - level / 2),
    ]
    squares = (estimate, slope * ends[0], slope * ends[1])
    value, low, high = (min(math.sqrt(square / most), 1.0) for square in squares)
    return Strength(value, min(low, value), max(high, value), level, notes, *answers)


def _summing_to_one(found: JointTable) -> JointTable:
    """Return the best table whose shares add up to one, as those of people do.

    Unbiased shares may not, as those of unary reports; then part of their noise is known.
    """
    m, n = found.shares.shape
    covariance = found.covariance.reshape(m * n, m * n)
    with_sum = covariance.sum(axis=1)
    variance = float(with_sum.sum())
    if variance <= 1e-9 * float(np.trace(covariance)):
        return found
    excess = float(found.shares.sum()) - 1
    shares = found.shares - (with_sum * (excess / variance)).reshape(m, n)
    covariance = covariance - np.outer(with_sum, with_sum / variance)
    return replace(found, shares=shares, covariance=covariance.reshape(m, n, m, n))


def _without_rare(found: JointTable) -> tuple[JointTable, tuple[str, ...]]:
    """Return the table without answers that may be absent, and a note that names them.

    The share of an answer is divided by: if it may be zero, phi^2 may have any value. Without an
    answer, others may be too rare among the people who are left. If an answer may be absent or
    common, there are too few reports for any table.
    """
    left_out: list[str] = []
    while min(found.shares.shape) > 0:
        parts = (
            (found.rows, found.row_sums, found.with_rows.sum(axis=1)),
            (found.columns, found.column_sums, found.with_columns.sum(axis=0)),
        )
        errors = [TOLD_APART * np.sqrt(np.maximum(np.diag(within), 0)) for *_, within in parts]
        weak = [sums <= error for (_, sums, _), error in zip(parts, errors, strict=True)]
        if not (weak[0].any() or weak[1].any()):
            break
        for (names, sums, _), own, error in zip(parts, weak, errors, strict=True):
            if (sums + error)[own].max(initial=0.0) > RARE:
                return found.part(np.arange(0), np.arange(0)), ()
            left_out += [name for name, is_weak in zip(names, own, strict=True) if is_weak]
        found = found.part(np.flatnonzero(~weak[0]), np.flatnonzero(~weak[1]))
    if not left_out:
        return found, ()
    told = "V leaves out answers too rare to be told apart from absent ones"
    return found, (f"{told}: {', '.join(left_out)}",)


def _square(found: JointTable) -> tuple[float, float, float, float]:
    """Return phi^2 of the noisy table, and how noise changes it.

    That is: the mean that noise adds; half of the variance it adds at independence; and the slope
    with which the variance grows, which is 4 slope phi^2 beyond that.
    """
    total = float(found.shares.sum())
    m, n = found.shares.shape
    shares, r, c = found.shares / total, found.row_sums / total, found.column_sums / total
    covariance = found.covariance.reshape(m * n, m * n) / total**2
    expected = np.outer(r, c)
    distance = shares - expected
    # d(distance) of each combination when the table changes: its margins and sum change with it.
    change = np.eye(m * n).reshape(m, n, m, n) + expected[:, :, None, None]
    change = change - np.einsum("ik,j->ijk", np.eye(m), c)[..., None]
    change = change - np.einsum("i,jl->ijl", r, np.eye(n))[:, :, None, :]
    scaled = change.reshape(m * n, m * n) / np.sqrt(expected).ravel()[:, None]
    own = scaled @ covariance @ scaled.T
    z = (distance / np.sqrt(expected)).ravel()
    square, noise, spread = float(z @ z), float(np.trace(own)), float((own * own).sum())
    by_margin = distance**2 / expected
    gradient = (
        2 * distance / expected
        - (by_margin.sum(axis=1) / r)[:, None]
        - (by_margin.sum(axis=0) / c)[None, :]
    ).ravel()
    at_null = spread / noise
    slope = float(gradient @ covariance @ gradient) / max(4 * square, 1e-300)
    return square, noise, spread, max(slope, 1e-3 * at_null)
