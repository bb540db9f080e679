"""Ratios of the shares in a joint table, with intervals: lift, odds ratios, conditional shares.

Limits are those of Fieller (1954): a ratio a / b is between them if a - ratio * b is less than z
standard errors from zero. They cover for noisy denominators too, where a standard error of the
ratio would not. Negative shares count as zero, so that limits respect the range of the ratio. If
the denominator cannot be told apart from zero, the ratio has no upper limit.

The noise of a share is estimated at the share itself. Of a combination that no report shows, and
without privacy noise, it would be zero: limits would say that nobody holds it. So z^2 people are
added to the variance of the number of people in each combination. Wilson's limit (1927) for an
answer that none of n people gave, z^2 / n, is where this variance leads to. Where privacy noise
prevails, it makes no difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from murmurs.boundary.checks import index, real, shown
from murmurs.counts import Counts
from murmurs.inference.fit import Target
from murmurs.inference.joint_table import JointTable, joint_table
from murmurs.numerics.arrays import Floats
from murmurs.numerics.special import normal_quantile
from murmurs.present import frames
from murmurs.present.layout import fold
from murmurs.present.text import left_out, percent, printable, table

_HARDLY_EVER = 20.0
"""If fewer changed reports than 1 / (20 z^2) are expected in a combination, less noise is added."""


@dataclass(frozen=True, eq=False)
class Ratios:
    """A number for each combination of answers, with limits; rows are those to the first question.

    A value is nan if the shares it is divided by are zero or below. An upper limit is infinite, or
    1 for conditional shares, if these shares cannot be told apart from zero.
    """

    what: str
    values: Floats
    low: Floats
    high: Floats
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    level: float
    notes: tuple[str, ...] = ()
    reference: tuple[int, int] | None = None
    """The combination with which odds ratios compare; those in its row and column are 1."""
    names: tuple[str, str] = ("row", "column")
    """What the rows and the columns are answers to, as the table is headed."""

    def to_columns(self) -> dict[str, Any]:
        """Return the columns of a long table: row, column, the value, low, high."""
        shape = self.values.shape
        return {
            "row": [self.rows[i] for i, _ in np.ndindex(shape)],
            "column": [self.columns[j] for _, j in np.ndindex(shape)],
            self.what: self.values.ravel(),
            "low": self.low.ravel(),
            "high": self.high.ravel(),
        }

    def to_csv(self) -> str:
        """Return the long table as CSV, with a header."""
        return frames.to_csv(self.to_columns())

    def to_arrow(self) -> Any:
        """Return the long table as a pyarrow.Table."""
        return frames.to_arrow(self.to_columns())

    def to_pandas(self) -> Any:
        """Return the long table as a pandas.DataFrame."""
        return frames.to_pandas(self.to_columns())

    def to_polars(self) -> Any:
        """Return the long table as a polars.DataFrame."""
        return frames.to_polars(self.to_columns())

    def to_document(self) -> dict[str, Any]:
        """Return the numbers as plain values for JSON, with None for nan and infinite ones."""
        tables = {"values": self.values, "low": self.low, "high": self.high}
        return {
            "what": self.what,
            "level": self.level,
            "rows": list(self.rows),
            "columns": list(self.columns),
            **{name: [[_plain(x) for x in row] for row in own] for name, own in tables.items()},
            "notes": list(self.notes),
        }

    def table(self, *, limit: int = 40) -> str:
        """Return the table for the terminal, one line per combination."""
        form = percent if self.what == "share" else _number
        a, b = self.reference or (-1, -1)
        cells = [(i, j) for i, j in np.ndindex(self.values.shape) if i != a and j != b]
        lines = [
            [
                self.rows[i],
                self.columns[j],
                form(float(self.values[i, j])),
                f"{form(float(self.low[i, j]))} … {form(float(self.high[i, j]))}",
            ]
            for i, j in cells[:limit]
        ]
        names = [printable(name) for name in self.names]
        text = table([*names, self.what, f"{100 * self.level:g} % interval"], lines, left=2)
        return text + left_out(len(cells) - limit)

    def __str__(self) -> str:
        notes = "".join(f"\nNote: {note}." for note in self.notes)
        return self.table() + fold("\n" + notes if notes else "")


def conditional_shares(
    counts: Counts | JointTable,
    *,
    of: int = 0,
    given: int = 1,
    level: float = 0.95,
    target: Target = "population",
) -> Ratios:
    """Return how the answers to one question are distributed among those with each other answer.

    Row i, column j is the share of answer i to question ``of`` among the people whose answer to
    question ``given`` is j: columns add up to one.

    >>> import murmurs as mm
    >>> both = mm.Product([mm.KRR(k=2, epsilon=2.0), mm.KRR(k=2, epsilon=2.0)])
    >>> counts = both.simulate([30_000, 10_000, 10_000, 50_000], np.random.default_rng(1))
    >>> print(conditional_shares(counts))
    question 0  question 1   share    95 % interval
    ──────────  ──────────  ──────  ───────────────
    0           0           75.2 %  74.4 % … 76.0 %
    0           1           16.3 %  15.8 % … 16.9 %
    1           0           24.8 %  24.0 % … 25.6 %
    1           1           83.7 %  83.1 % … 84.2 %
    """
    z = _reach(level)
    found = _with_few(joint_table(counts, (of, given), target), z)
    totals = np.maximum(found.column_sums, 0)
    above = np.clip(found.shares, 0, totals)
    own = np.einsum("ijj->ij", found.with_columns)
    variance = np.diag(found.with_columns.sum(axis=0))
    below = np.broadcast_to(totals, above.shape)
    low, high = fieller(above, below, found.variances, own, variance, z)
    values = np.divide(above, below, out=np.full_like(above, np.nan), where=below > 0)
    notes = _weak(np.isinf(high), found, columns=True)
    high = np.minimum(high, 1.0)
    labels = found.rows, found.columns
    low = np.minimum(low, 1.0)
    return Ratios("share", values, low, high, *labels, level, notes, names=found.names)


def lift(
    counts: Counts | JointTable,
    *,
    questions: Sequence[int] = (0, 1),
    level: float = 0.95,
    target: Target = "population",
) -> Ratios:
    """Return how many times as common each combination is as if the answers were independent.

    1 is independence; 2 means that twice as many people hold both answers.

    >>> import murmurs as mm
    >>> both = mm.Product([mm.KRR(k=2, epsilon=2.0), mm.KRR(k=2, epsilon=2.0)])
    >>> counts = both.simulate([30_000, 10_000, 10_000, 50_000], np.random.default_rng(1))
    >>> lift(counts).values.round(2)
    array([[1.89, 0.41],
           [0.41, 1.39]])
    """
    z = _reach(level)
    found = _with_few(joint_table(counts, questions, target), z)
    r, c = np.maximum(found.row_sums, 0), np.maximum(found.column_sums, 0)
    above, below = np.maximum(found.shares, 0), np.outer(r, c)
    in_rows, in_columns = found.with_rows.sum(axis=1), found.with_columns.sum(axis=0)
    across = found.with_columns.sum(axis=1)
    own = (
        np.einsum("iji->ij", found.with_rows) * c
        + np.einsum("ijj->ij", found.with_columns) * r[:, None]
    )
    variance = (
        np.outer(np.diag(in_rows), c**2) + np.outer(r**2, np.diag(in_columns)) + 2 * below * across
    )
    low, high = fieller(above, below, found.variances, own, variance, z)
    values = np.divide(above, below, out=np.full_like(above, np.nan), where=below > 0)
    notes = _weak(np.isinf(high), found)
    labels = found.rows, found.columns
    return Ratios("lift", values, low, high, *labels, level, notes, names=found.names)


def odds_ratios(
    counts: Counts | JointTable,
    *,
    questions: Sequence[int] = (0, 1),
    reference: tuple[int, int] = (0, 0),
    level: float = 0.95,
    target: Target = "population",
) -> Ratios:
    """Return the odds ratios of all combinations against a reference combination.

    Row i, column j is P(i, j) P(a, b) / (P(i, b) P(a, j)) for the reference (a, b): by what factor
    the odds of answer j against b are larger for people with answer i than for those with a. It is
    1 in the row and column of the reference, and everywhere if the answers are independent.

    >>> import murmurs as mm
    >>> both = mm.Product([mm.KRR(k=2, epsilon=2.0), mm.KRR(k=2, epsilon=2.0)])
    >>> counts = both.simulate([30_000, 10_000, 10_000, 50_000], np.random.default_rng(1))
    >>> found = odds_ratios(counts)
    >>> print(f"{found.low[1, 1]:.1f} < {found.values[1, 1]:.1f} < {found.high[1, 1]:.1f}")
    14.6 < 15.5 < 16.6
    """
    z = _reach(level)
    found = _with_few(joint_table(counts, questions, target), z)
    a, b = _combination(reference, found.shares.shape)
    shares, covariance = np.maximum(found.shares, 0), found.covariance
    values, low, high = (np.ones(shares.shape) for _ in range(3))
    for i, j in np.ndindex(shares.shape):
        if i == a or j == b:
            continue
        four = ((i, j), (a, b), (i, b), (a, j))
        x = np.array([shares[cell] for cell in four])
        own = np.array([[covariance[one + other] for other in four] for one in four])
        above, below, noise = _products(x, own)
        first, second = fieller(above, below, noise[0, 0], noise[0, 1], noise[1, 1], z)
        values[i, j] = above / below if below > 0 else np.nan
        low[i, j], high[i, j] = float(first), float(second)
    notes = _weak(np.isinf(high), found)
    labels = found.rows, found.columns
    return Ratios("odds ratio", values, low, high, *labels, level, notes, (a, b), found.names)


def fieller(
    above: Any, below: Any, variance_above: Any, covariance: Any, variance_below: Any, z: float
) -> tuple[Floats, Floats]:
    """Return the least and largest ratio >= 0 that are compatible with numerator and denominator.

    The set of compatible ratios, a (ratio)^2 - 2 b (ratio) + c <= 0, is an interval if the
    denominator is more than z standard errors from zero, and otherwise has no upper end.

    >>> low, high = fieller(0.2, 0.4, 0.0001, 0.0, 0.0001, 2.0)
    >>> print(f"{low:.3f} {high:.3f}")
    0.445 0.557
    """
    z2 = z * z
    a = np.asarray(below**2 - z2 * variance_below, np.float64)
    b = np.asarray(above * below - z2 * covariance)
    c = np.asarray(above**2 - z2 * variance_above)
    root = np.sqrt(np.maximum(b * b - a * c, 0))
    bounded = a > 0
    divisor = np.where(bounded, a, np.where(a < 0, a, -1e-300))
    one, two = (b - root) / divisor, (b + root) / divisor
    # Without an upper end: all ratios, or those beyond the larger root if the other is negative.
    smaller, larger = np.minimum(one, two), np.maximum(one, two)
    beyond = (b * b > a * c) & (smaller < 0)
    low = np.where(bounded, smaller, np.where(beyond, larger, 0.0))
    return np.maximum(low, 0.0), np.where(bounded, np.maximum(larger, 0.0), np.inf)


def _products(x: Floats, own: Floats) -> tuple[float, float, Floats]:
    """Return x0 x1 and x2 x3 with their covariance, to second order in the noise."""
    gradients = np.array([[x[1], x[0], 0, 0], [0, 0, x[3], x[2]]])
    noise = gradients @ own @ gradients.T
    noise[0, 0] += own[0, 0] * own[1, 1] + own[0, 1] ** 2
    noise[1, 1] += own[2, 2] * own[3, 3] + own[2, 3] ** 2
    noise[0, 1] += own[0, 2] * own[1, 3] + own[0, 3] * own[1, 2]
    return float(x[0] * x[1]), float(x[2] * x[3]), np.asarray(noise)


def _with_few(found: JointTable, z: float) -> JointTable:
    """Return the table with the noise that combinations held by z^2 more people would have.

    Among the respondents only reports that noise changed count. If about one is, its law is not
    normal: z standard errors are to reach one report, unless that hardly ever happens.
    """
    size, few = found.shares.size, z**2
    if not found.sampled:
        changed = float(found.variances.mean()) / max(found.person, 1e-300) ** 2
        few = min(1 / z**2, _HARDLY_EVER * changed)
    added = few * found.person**2 * np.eye(size)
    return replace(found, covariance=found.covariance + added.reshape(found.covariance.shape))


def _combination(reference: object, shape: tuple[int, ...]) -> tuple[int, int]:
    """Return a combination of answers that the table has."""
    given = tuple(reference) if isinstance(reference, Sequence) else ()
    found = [index(x) for x in given]
    if len(found) == 2 and all(
        x is not None and 0 <= x < k for x, k in zip(found, shape, strict=True)
    ):
        return int(given[0]), int(given[1])
    raise ValueError(
        f"reference is an answer to each question, such as (0, 0), with answers 0..{shape[0] - 1} "
        f"and 0..{shape[1] - 1}, not {shown(reference)}"
    )


def _reach(level: float) -> float:
    """Return how many standard errors an interval of this level reaches."""
    return normal_quantile(0.5 + real(level, "level", 0.5, 1 - 1e-9) / 2)


def _weak(unbounded: Any, found: JointTable, *, columns: bool = False) -> tuple[str, ...]:
    """Return a note if denominators cannot be told apart from zero."""
    if not unbounded.any():
        return ()
    if columns:
        names = ", ".join(
            n for n, any_ in zip(found.columns, unbounded.any(axis=0), strict=True) if any_
        )
        return (f"too few people hold these answers to say how others go with them: {names}",)
    return (
        f"{int(unbounded.sum())} of {unbounded.size} have no upper limit, as the shares they are "
        "divided by cannot be told apart from zero",
    )


def _number(value: float) -> str:
    return f"{value:.2f}" if value < 1000 else f"{value:.3g}"


def _plain(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
