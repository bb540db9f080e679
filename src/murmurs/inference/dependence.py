"""Cramér's V: how strongly the answers to two questions go together, from 0 to 1.

The noise of private reports makes the squared distances of a table from independence larger, so
V computed from estimated shares is too large. Here the expected part of the noise is subtracted
from the squared distance, and the limits come from its distribution.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from murmurs.boundary.checks import real
from murmurs.counts import Counts
from murmurs.inference.fit import Target
from murmurs.inference.joint_table import JointTable, joint_table
from murmurs.numerics.arrays import Floats
from murmurs.numerics.simplex import plausible
from murmurs.numerics.special import noncentrality, normal_quantile


@dataclass(frozen=True)
class Strength:
    """Cramér's V with its limits: 0 is independence, 1 means that one answer tells the other."""

    value: float
    low: float
    high: float
    level: float
    notes: tuple[str, ...] = ()

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
        """Return the numbers as plain values for JSON."""
        names = ("value", "low", "high", "level")
        return {**{name: getattr(self, name) for name in names}, "notes": list(self.notes)}

    def __str__(self) -> str:
        return "\n".join([self.sentence, *(f"Note: {note}." for note in self.notes)])


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
    half of all samples if the answers are independent; V is then 0. If an answer is so rare that it
    cannot be told apart from an absent one, the limits are 0 and 1, with a note.

    >>> import murmurs as mm
    >>> both = mm.Product([mm.KRR(k=2, epsilon=2.0), mm.KRR(k=2, epsilon=2.0)])
    >>> counts = both.simulate([30_000, 10_000, 10_000, 50_000], np.random.default_rng(1))
    >>> print(cramers_v(counts))
    Cramér's V is 0.59 (95 % interval 0.58 to 0.60); 0 is independence, 1 the strongest association.
    """
    level = real(level, "level", 0.5, 1 - 1e-9)
    found = joint_table(counts, questions, target)
    r, c = plausible(found.row_sums), plausible(found.column_sums)
    kept = r > 0, c > 0
    most = min(int(kept[0].sum()), int(kept[1].sum())) - 1
    if most < 1:
        told = "one of the questions has a single answer with a positive share"
        return Strength(math.nan, 0.0, 1.0, level, (told,))
    square, noise, spread, slope = _square(found, r, c, kept)
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
    rare = _rare(found, normal_quantile(0.5 + level / 2))
    if rare:
        told = "these answers cannot be told apart from absent ones, so V may have any value"
        return Strength(value, 0.0, 1.0, level, (f"{told}: {', '.join(rare)}",))
    return Strength(value, min(low, value), max(high, value), level)


def _rare(found: JointTable, z: float) -> list[str]:
    """Return the answers whose share is less than z standard errors above zero."""
    out = []
    for names, sums, within in (
        (found.rows, found.row_sums, found.with_rows.sum(axis=1)),
        (found.columns, found.column_sums, found.with_columns.sum(axis=0)),
    ):
        weak = sums <= z * np.sqrt(np.diag(within))
        out += [name for name, is_weak in zip(names, weak, strict=True) if is_weak]
    return out


def _square(
    found: JointTable, r: Floats, c: Floats, kept: tuple[Any, Any]
) -> tuple[float, float, float, float]:
    """Return phi^2 of the noisy table, and how noise changes it.

    That is: the mean that noise adds; half of the variance it adds at independence; and the slope
    with which the variance grows, which is 4 slope phi^2 beyond that.
    """
    cells = np.ix_(*kept)
    m, n = int(kept[0].sum()), int(kept[1].sum())
    shares = found.shares[cells]
    r, c = r[kept[0]], c[kept[1]]
    covariance = found.covariance[np.ix_(*kept, *kept)].reshape(m * n, m * n)
    expected = np.outer(r, c)
    distance = shares - expected
    # d(distance) of each combination when the table changes: rows and columns change with it.
    change = np.eye(m * n).reshape(m, n, m, n)
    change = change - np.einsum("ik,j->ijk", np.eye(m), c)[..., None]
    change = change - np.einsum("i,jl->ijl", r, np.eye(n))[:, :, None, :]
    scaled = change.reshape(m * n, m * n) / np.sqrt(expected).ravel()[:, None]
    own = scaled @ covariance @ scaled.T
    z = (distance / np.sqrt(expected)).ravel()
    square, noise, spread = float(z @ z), float(np.trace(own)), float((own * own).sum())
    by_margin = distance**2 / expected
    gradient = (
        2 * scaled.T @ z
        - ((by_margin.sum(axis=1) / r)[:, None] + (by_margin.sum(axis=0) / c)[None, :]).ravel()
    )
    at_null = spread / noise
    slope = float(gradient @ covariance @ gradient) / max(4 * square, 1e-300)
    return square, noise, spread, max(slope, 1e-3 * at_null)
