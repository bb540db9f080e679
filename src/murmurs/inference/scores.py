"""Scores of two questions: how the reports to one vary together with the reports to the other.

The answers are independent exactly if the reports are. The scores are the cross-covariances of the
reports, reduced to contrasts between the answers in the way that has the least noise: with B the
means of the reports along the contrasts and S their covariance, the lever of a question is
B' (pseudo-inverse of S), and scores are (lever) (cross-covariance) (lever of the other)'. For two
`KRR` questions the squared distance of the scores is Pearson's chi-square of the table of reports.

Within a cohort, reports are compared with the means of that cohort, and scores add up over cohorts
as in the test of Cochran (1954) and of Mantel and Haenszel (1959).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np

from murmurs.channels.axes import Axis, CohortAxis
from murmurs.channels.product import MOST_JOINT, ProductChannel
from murmurs.counts import Counts
from murmurs.inference.fitting import fitted
from murmurs.numerics.arrays import Floats, Integers
from murmurs.numerics.simplex import plausible

_RANK = 1e-9
"""Variances below this part of the largest, on a scale of equal variances, are rounding errors."""


_ROUNDING = 1e-12
"""Standard errors below this part of the largest number they come from are rounding errors."""


def whitening(covariance: Floats) -> Floats:
    """Return the map to independent scores with variance one; directions without noise vanish."""
    scale = np.sqrt(np.maximum(np.diag(covariance), 0))
    inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 1e-150)
    noise, directions = np.linalg.eigh(covariance * np.outer(inverse, inverse))
    kept = noise > _RANK * float(noise.max(initial=1e-300))
    return np.asarray((directions[:, kept] / np.sqrt(noise[kept])).T * inverse)


def contrasts(k: int) -> Floats:
    """Return k - 1 orthonormal columns that each sum to zero (Helmert's)."""
    out = np.triu(np.ones((k, k - 1)), 0)
    steps = np.arange(1.0, k)
    out[1:, :][np.arange(k - 1), np.arange(k - 1)] = -steps
    out[:, :] *= 1 / np.sqrt(steps * (steps + 1))
    return out


@dataclass(frozen=True, eq=False)
class ScoreSide:
    """One question within a cohort: the lever, and the noise of the reports it is applied to."""

    lever: Floats
    sums: Floats
    noise: Floats


@dataclass(frozen=True, eq=False)
class ScoreStratum:
    """The people of one cohort, or all people: the table of their reports and its two sides."""

    n: int
    table: Integers
    left: ScoreSide
    right: ScoreSide


@dataclass(frozen=True, eq=False)
class Scores:
    """The scores of counts of exactly two questions, with what their squared distance needs."""

    counts: Counts

    @property
    def channel(self) -> ProductChannel:
        """The law of the table."""
        return cast(ProductChannel, self.counts.channel)

    @cached_property
    def strata(self) -> tuple[ScoreStratum, ...]:
        """The cohorts with at least two people; without cohorts, everybody."""
        channel = self.channel
        shares = [plausible(fitted(self.counts.margin(i)).unbiased) for i in (0, 1)]
        tables = self.counts.cells if channel.cohorts else self.counts.cells[None]
        found = []
        for cohort, table in enumerate(tables):
            n, sums, inner = split(table, channel.axes)
            if n > 1 or channel.cohorts is None:
                left, right = (
                    _side(axis, cohort, own, margin, n if channel.cohorts is None else n - 1)
                    for axis, own, margin in zip(channel.axes, shares, sums, strict=True)
                )
                found.append(ScoreStratum(n, inner, left, right))
        return tuple(found)

    def of(self, tables: list[Floats]) -> Floats:
        """Return the scores of tables of reports, one for each stratum.

        A table may have further axes in front, such as one for each permutation.
        """
        parts = [
            s.left.lever @ (table - np.outer(s.left.sums, s.right.sums) / s.n) @ s.right.lever.T
            for s, table in zip(self.strata, tables, strict=True)
        ]
        return np.asarray(sum(parts, start=np.zeros([k - 1 for k in self.channel.answers])))

    @cached_property
    def _whitenings(self) -> tuple[Floats, Floats | None]:
        """The maps of `whitening`: one for each side or, with cohorts, one for all scores."""
        if self.channel.cohorts is None:
            (only,) = self.strata
            left, right = (whitening(side.noise) for side in (only.left, only.right))
            return left / np.sqrt(only.n), right
        freedom = (self.channel.answers[0] - 1) * (self.channel.answers[1] - 1)
        if freedom > MOST_JOINT:
            raise ValueError(
                f"{freedom} contrasts between combinations are too many to test together with "
                f"hashed answers: list fewer candidates, for at most {MOST_JOINT}"
            )
        covariance = np.zeros((freedom, freedom))
        for s in self.strata:
            covariance += (s.n - 1) * np.kron(s.left.noise, s.right.noise)
        return whitening(covariance), None

    @property
    def freedom(self) -> int:
        """The degrees of freedom: how many independent scores have noise."""
        left, right = self._whitenings
        return len(left) if right is None else len(left) * len(right)

    def distances(self, scores: Floats) -> Floats:
        """Return the squared distance of scores from zero, in units of their noise."""
        left, right = self._whitenings
        if right is None:
            flat = scores.reshape(*scores.shape[:-2], -1)
            return np.asarray(((flat @ left.T) ** 2).sum(axis=-1))
        return np.asarray(((left @ scores @ right.T) ** 2).sum(axis=(-2, -1)))

    @property
    def statistic(self) -> float:
        """The squared distance of the observed scores."""
        return float(self.distances(self.of([s.table.astype(np.float64) for s in self.strata])))

    def distances_of(self, tables: list[Floats]) -> Floats:
        """Return the distances of many tables with the observed sums, in the shortest way.

        If every answer has a cell of its own, as with `KRR`, that is Pearson's chi-square.
        """
        if self.channel.cohorts is not None or any(
            not axis.is_histogram or axis.size != axis.k for axis in self.channel.axes
        ):
            return self.distances(self.of(tables))
        expected = self.expected
        inverse = np.divide(1.0, expected, out=np.zeros_like(expected), where=expected > 0)
        return np.asarray(np.einsum("...ij,ij->...", (tables[0] - expected) ** 2, inverse))

    @property
    def expected(self) -> Floats:
        """The table of reports that independence leads to expect, summed over cohorts."""
        sizes = [axis.size - (not axis.is_histogram) for axis in self.channel.axes]
        parts = [np.outer(s.left.sums, s.right.sums) / s.n for s in self.strata]
        return np.asarray(sum(parts, start=np.zeros(sizes)))


def split(table: Integers, axes: tuple[Axis, ...]) -> tuple[int, list[Floats], Integers]:
    """Return the number of reports, the sums along each axis, and the table without either."""
    sums: list[Floats] = []
    for i, axis in enumerate(axes):
        other = axes[1 - i]
        own = np.asarray(table.sum(axis=1 - i) if other.is_histogram else table.take(0, 1 - i))
        sums.append(np.asarray(own if axis.is_histogram else own[1:], np.float64))
    first: Integers = np.asarray(table.sum(axis=0) if axes[0].is_histogram else table[0])
    n = int(first.sum() if axes[1].is_histogram else first[0])
    inner = table[0 if axes[0].is_histogram else 1 :, 0 if axes[1].is_histogram else 1 :]
    return n, sums, inner


def _side(axis: Axis, cohort: int, shares: Floats, sums: Floats, divisor: int) -> ScoreSide:
    """Return a question's side: the lever at plausible shares, the noise as it was observed.

    Reports in one cell each show their covariance: sums of squares over ``divisor``. For reports in
    several cells, of which only sums are counted, the noise is that of the plausible shares.
    """
    law = axis.law(cohort) if axis.is_histogram else axis.law(cohort)[:, 1:]
    model = _covariance(axis, cohort, shares, law)
    along = contrasts(axis.k).T @ law
    lever = along @ np.linalg.pinv(model, rcond=1e-11, hermitian=True)
    if not axis.is_histogram:
        return ScoreSide(lever, sums, np.asarray(lever @ model @ lever.T))
    # What is the same in all cells that reports are in does not matter, and would hide the rest.
    rounding = _ROUNDING * np.abs(lever).max(axis=1)
    lever = lever - (lever @ sums / sums.sum())[:, None]
    noise = (lever * sums) @ lever.T / divisor
    alive = np.diag(noise) > rounding**2
    return ScoreSide(lever, sums, np.asarray(noise * np.outer(alive, alive)))


def _covariance(axis: Axis, cohort: int, shares: Floats, law: Floats) -> Floats:
    """Return the covariance of what a report adds to its cells, if these are the shares."""
    if not isinstance(axis, CohortAxis):
        return axis.channel.covariance_sampled(shares, 1)
    means = shares @ law
    if axis.is_histogram:
        return np.asarray(np.diag(means) - np.outer(means, means))
    second = sum(share * axis.moment(cohort, a)[1:, 1:] for a, share in enumerate(shares))
    return np.asarray(second - np.outer(means, means))
