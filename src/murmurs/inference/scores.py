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

from collections.abc import Iterator
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

_AT_ONCE = 2**20
"""How many entries the covariance matrices that are inverted together have at most."""


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

    @cached_property
    def channel(self) -> ProductChannel:
        """The law of the table."""
        return cast(ProductChannel, self.counts.channel)

    @cached_property
    def strata(self) -> tuple[ScoreStratum, ...]:
        """The cohorts with at least two people; without cohorts, everybody."""
        channel = self.channel
        shares = [plausible(fitted(self.counts.margin(i)).unbiased) for i in (0, 1)]
        tables = self.counts.cells if channel.cohorts else self.counts.cells[None]
        people, sums, inner = split(tables, channel.axes)
        kept = np.flatnonzero(people > 1) if channel.cohorts else np.arange(1)
        divisors = people[kept] - (1 if channel.cohorts else 0)
        left, right = (
            _sides(axis, kept, own, margins[kept], divisors)
            for axis, own, margins in zip(channel.axes, shares, sums, strict=True)
        )
        return tuple(map(ScoreStratum, people[kept].tolist(), inner[kept], left, right))

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
        a, b = (k - 1 for k in self.channel.answers)
        left = np.array([(s.n - 1) * s.left.noise for s in self.strata]).reshape(-1, a * a)
        right = np.array([s.right.noise for s in self.strata]).reshape(-1, b * b)
        products = (left.T @ right).reshape(a, a, b, b)  # Kronecker's, summed
        return whitening(products.transpose(0, 2, 1, 3).reshape(freedom, freedom)), None

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


def split(tables: Integers, axes: tuple[Axis, ...]) -> tuple[Integers, list[Floats], Integers]:
    """Return the number of reports, the sums along each axis, and the table without either.

    There is one table for each cohort, and the first index of all results is the cohort.
    """
    first, second = (0 if axis.is_histogram else 1 for axis in axes)
    rows = np.asarray(tables[:, :, 0] if second else tables.sum(axis=2))
    columns = np.asarray(tables[:, 0] if first else tables.sum(axis=1))
    people = np.asarray(rows[:, 0] if first else rows.sum(axis=1))
    sums = [rows[:, first:].astype(np.float64), columns[:, second:].astype(np.float64)]
    return people, sums, tables[:, first:, second:]


def _sides(
    axis: Axis, cohorts: Integers, shares: Floats, sums: Floats, divisors: Integers
) -> list[ScoreSide]:
    """Return a question's side in each cohort."""
    step = max(1, _AT_ONCE // axis.size**2)
    parts = [slice(start, start + step) for start in range(0, len(cohorts), step)]
    return [
        side
        for part in parts
        for side in _sides_together(axis, cohorts[part], shares, sums[part], divisors[part])
    ]


def _sides_together(
    axis: Axis, cohorts: Integers, shares: Floats, sums: Floats, divisors: Integers
) -> Iterator[ScoreSide]:
    """Yield a question's sides: the levers at plausible shares, the noise as it was observed.

    Reports in one cell each show their covariance: sums of squares over the divisor. For reports in
    several cells, of which only sums are counted, the noise is that of the plausible shares.
    """
    different = cohorts.tolist() if isinstance(axis, CohortAxis) else [0]  # others are all alike
    laws = np.stack([axis.law(cohort) for cohort in different])
    if not axis.is_histogram:
        laws = laws[:, :, 1:]
        models = _covariances(axis, laws, shares)
        levers = _levers(axis, laws, models)
        noise = levers @ models @ levers.transpose(0, 2, 1)
    else:
        levers = _levers_of_histograms(axis, laws, shares)
        # What is the same in all cells that reports are in does not matter, and would hide the
        # rest.
        rounding = _ROUNDING * np.abs(levers).max(axis=2)
        levers = levers - levers @ sums[:, :, None] / sums.sum(axis=1)[:, None, None]
        noise = (levers * sums[:, None, :]) @ levers.transpose(0, 2, 1) / divisors[:, None, None]
        alive = np.diagonal(noise, axis1=1, axis2=2) > rounding**2
        noise = noise * (alive[:, :, None] & alive[:, None, :])
    for number, own in enumerate(sums):
        at = number if len(levers) > 1 else 0
        yield ScoreSide(levers[at], own, noise[at])


def _levers(axis: Axis, laws: Floats, models: Floats) -> Floats:
    """Return the levers that have the least noise: one for each law and model of the noise."""
    along = contrasts(axis.k).T @ laws
    return np.asarray(along @ np.linalg.pinv(models, rcond=1e-11, hermitian=True))


def _levers_of_histograms(axis: Axis, laws: Floats, shares: Floats) -> Floats:
    """Return the levers of reports in one cell each.

    The pseudo-inverse of their covariance, diag(m) - m m', divides by the means m of the cells and
    subtracts what is the same in all cells, where no mean is zero.
    """
    means = shares @ laws
    if axis.channel.times != 1 or means.min() < _RANK * means.max():
        return _levers(axis, laws, _covariances(axis, laws, shares))
    levers = contrasts(axis.k).T @ laws / means[:, None, :]
    return np.asarray(levers - levers.mean(axis=2, keepdims=True))


def _covariances(axis: Axis, laws: Floats, shares: Floats) -> Floats:
    """Return the covariances of what a report adds to its cells, if these are the shares."""
    if not isinstance(axis, CohortAxis):
        return axis.channel.covariance_sampled(shares, 1)[None]
    means = shares @ laws
    second = np.zeros((*means.shape, means.shape[-1]))
    if not axis.is_histogram:
        second += laws.transpose(0, 2, 1) @ (shares[:, None] * laws)
        if axis.channel.other is not None:
            second += shares[axis.channel.other] * axis.dependence
    at = np.arange(means.shape[-1])
    second[:, at, at] = means
    return np.asarray(second - means[:, :, None] * means[:, None, :])
