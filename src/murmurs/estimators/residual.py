"""What a joint table says beyond its margins: the unbiased rest, and its noise.

The margins of a table are known much better than its cells, from the counts of fewer questions. So
a table is seen as a base, which has the estimated margins, plus a rest, of which the counts give an
unbiased estimate. The rest has no margins, and taking that into account makes its noise smaller
than that of the cells.

For questions without shared cohorts, the rest is the central moment of the reports' estimates, and
its covariance under independence is the product of the questions' own. With shared cohorts it comes
from the least squares of all combinations, whose covariance is a single matrix.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from murmurs.channels.axes import Axis, along
from murmurs.channels.product import ProductChannel
from murmurs.counts import Counts
from murmurs.inference.fitting import fitted
from murmurs.numerics.arrays import TINY, Floats
from murmurs.numerics.tables import Axes, margin, outer, spread, subsets

LEAST_PART = 0.02
"""The least variance of a cell, as a part of that at the base, where approximations fall below."""

NO_VARIANCE = 1e-12
"""The variance, of what one report says, below which a direction is certain: nobody differs."""


@dataclass(frozen=True)
class Side:
    """One question of a table: its estimated shares, and the estimates from one report.

    ``squares[i, x]`` is the mean square of the estimate of share i, less the share, from a report
    of answer x. ``covariance`` is that of the estimates given that they sum to one, and
    ``projection`` brings deviations to the sum zero with the least noise.
    """

    shares: Floats
    unbiased: Floats
    squares: Floats
    covariance: Floats
    projection: Floats

    @property
    def kept(self) -> Floats:
        """The part of the variance of each estimate that is left after the projection."""
        part = np.diag(self.covariance) / np.maximum(self.squares @ self.shares, TINY)
        return np.clip(part, 0, 1)

    @cached_property
    def whitening(self) -> tuple[Floats, Floats]:
        """The maps to coordinates in which the covariance is the identity, and back."""
        values, vectors = np.linalg.eigh(self.covariance)
        some = values > max(1e-9 * values[-1], NO_VARIANCE)
        roots = np.sqrt(values[some])
        return (vectors[:, some] / roots).T, vectors[:, some] * roots


def side_of(axis: Axis, shares: Floats, unbiased: Floats) -> Side:
    """Return the side of a table, from the axis of its question."""
    squares = axis.squares(0) + (shares**2)[:, None]
    np.fill_diagonal(squares, np.diag(squares) - 2 * shares)
    covariance = axis.second_moment(0, shares) - np.outer(shares, shares)
    projection = np.eye(axis.k)
    total = float(covariance.sum())
    if total > 1e-9 * float(np.trace(covariance)):
        lever = covariance.sum(axis=1) / total
        projection -= lever[:, None]
        covariance = covariance - np.outer(lever, lever) * total
    return Side(shares, unbiased, squares, covariance, projection)


@dataclass(frozen=True)
class Residual:
    """A base with known margins, unbiased estimates of the cells given these, and their noise.

    A cell that differs from the base by d has the variance constant + slope * d - bend * d^2 around
    the population; among the respondents, less what the sampling of people contributes. ``order``
    is the number of questions in the margins that are taken as known. ``statistic`` is the sum of
    squares of the rest in units of its noise: chi-square with ``freedom`` degrees of freedom if
    there is nothing beyond the margins and the questions are independent.
    """

    base: Floats
    estimates: Floats
    order: int
    constant: Floats
    slope: Floats
    bend: Floats
    sampled: Floats
    sampled_slope: Floats
    people: int
    statistic: float
    freedom: int

    def noise(self, ratio: Floats | float) -> tuple[Floats, Floats]:
        """Return the noise and the sampling variance of cells that are so many times the base."""
        d = self.base * ratio - self.base
        total = self.constant + self.slope * d - self.bend * d**2
        total = np.maximum(total, LEAST_PART * self.constant)
        sampling = np.maximum(self.sampled + self.sampled_slope * d - d**2, 0) / self.people
        noise = np.maximum(total - sampling, LEAST_PART * total)
        return np.maximum(noise, 1e-6 / self.people**2), sampling

    @property
    def is_noiseless(self) -> bool:
        """Whether all noise is below 0.03 people, so that the estimates are the respondents'."""
        noise = self.constant * self.people - self.sampled
        return float(noise.max()) * self.people < 1e-3

    @property
    def free_part(self) -> float:
        """The number of cells that the margins leave free, as a part of all."""
        return free_cells(self.base.shape, self.order) / self.base.size


def free_cells(shape: tuple[int, ...], order: int) -> int:
    """Return how many cells of a table its margins of so many questions leave free.

    >>> free_cells((4, 3), 1)
    6
    """
    kept = subsets(len(shape), order + 1)
    return sum(math.prod(shape[i] - 1 for i in some) for some in kept)


def residual(counts: Counts, base: Floats, order: int, sides: Sequence[Side]) -> Residual:
    """Return what the counts say beyond the margins of the base; for unshared cohorts."""
    count, people = base.ndim, counts.people
    rest, constant, sampled = np.zeros((3, *base.shape))
    own = [side.shares for side in sides]
    found: dict[Axes, Floats] = {(i,): side.unbiased for i, side in enumerate(sides)}
    people_squares = [(np.eye(len(a)) - a[:, None]) ** 2 for a in own]
    statistic, freedom = 0.0, 0
    for kept in subsets(count, order + 1):
        part = central(counts, kept, [side.unbiased for side in sides], found)
        part = along(part, [sides[i].projection for i in kept])
        white = along(part, [sides[i].whitening[0] for i in kept])
        statistic, freedom = statistic + counts.n * float((white**2).sum()), freedom + white.size
        rest += spread(part, kept, own)
        rest -= spread(central_of(base, kept, own), kept, own)
        flat = [np.outer(a**2, np.ones(len(a))) for a in own]
        constant += along(base, [sides[i].squares if i in kept else flat[i] for i in range(count)])
        sampled += along(base, [people_squares[i] if i in kept else flat[i] for i in range(count)])
    left = outer([side.kept for side in sides])
    slope = outer([_own_less_others(side.squares, side.shares) for side in sides])
    sampled_slope = outer([1 - 2 * a for a in own])
    scale = left / counts.n
    return Residual(
        base,
        base + rest,
        order,
        constant * scale,
        slope * scale,
        scale,
        sampled,
        sampled_slope,
        people,
        statistic,
        freedom,
    )


def _own_less_others(squares: Floats, shares: Floats) -> Floats:
    """Return by how much a report of an answer adds to the squares more than one of others."""
    own = np.diag(squares)
    others = (squares @ shares - own * shares) / np.maximum(1 - shares, 1e-9)
    return np.asarray(own - others)


def central(
    counts: Counts, kept: Axes, means: Sequence[Floats], found: dict[Axes, Floats]
) -> Floats:
    """Return the mean product of deviations of the reports' estimates from their means.

    It is unbiased for the same product of deviations of the answers. ``found`` holds the unbiased
    tables of fewer questions, and is filled.
    """
    channel = counts.channel
    assert isinstance(channel, ProductChannel)
    out = np.zeros([len(means[i]) for i in kept])
    for size in range(len(kept) + 1):
        for among in itertools.combinations(kept, size):
            if among and among not in found:
                shape = [len(means[i]) for i in among]
                part = counts if len(among) == len(means) else counts.margin(*among)
                found[among] = fitted(part).unbiased.reshape(shape)
            table = found[among] if among else np.ones(())
            places = tuple(kept.index(i) for i in among)
            sign = (-1.0) ** (len(kept) - size)
            out += sign * spread(table, places, [means[i] for i in kept])
    return out


def central_of(table: Floats, kept: Axes, means: Sequence[Floats]) -> Floats:
    """Return the mean product of deviations of the answers if their joint shares are a table."""
    out = margin(table, kept)
    for place, i in enumerate(kept):
        out = out - np.expand_dims(means[i], tuple(j for j in range(len(kept)) if j != place)) * (
            out.sum(axis=place, keepdims=True)
        )
    return out


def residual_in_cohorts(counts: Counts, base: Floats, order: int) -> Residual:
    """Return the same for questions that share cohorts.

    Least squares with the covariance at the base bring the unbiased table to the known margins.
    """
    channel = counts.channel
    assert isinstance(channel, ProductChannel)
    flat, people = base.ravel(), counts.people
    covariance = channel.second_moments(flat) - np.outer(flat, flat)
    margins = _margin_matrix(base.shape, order)
    cross = covariance @ margins.T
    lever = np.linalg.lstsq(margins @ cross, cross.T, rcond=1e-9)[0].T
    rest = fitted(counts).unbiased - flat
    rest = rest - lever @ (margins @ rest)
    left = covariance - lever @ cross.T
    values, vectors = np.linalg.eigh((left + left.T) / 2)
    some = values > max(1e-9 * values[-1], NO_VARIANCE)
    statistic = counts.n * float(((vectors[:, some].T @ rest) ** 2 / values[some]).sum())
    constant = np.maximum(np.diag(left), 1e-12).reshape(base.shape)
    kept = constant / np.maximum(np.diag(covariance), TINY).reshape(base.shape)
    slope = (counts.n * channel.noise(flat, counts.n)[1] + 1 - 2 * flat).reshape(base.shape)
    own = [margin(base, (i,)) for i in range(base.ndim)]
    people_squares = [(np.eye(len(a)) - a[:, None]) ** 2 for a in own]
    return Residual(
        base,
        base + rest.reshape(base.shape),
        order,
        constant / counts.n,
        slope * kept / counts.n,
        kept / counts.n,
        along(base, people_squares),
        outer([1 - 2 * a for a in own]),
        people,
        statistic,
        int(some.sum()),
    )


def _margin_matrix(shape: tuple[int, ...], order: int) -> Floats:
    """Return the matrix whose rows add up a flat table to its margins of so many questions."""
    units = np.eye(int(np.prod(shape))).reshape(*shape, -1)
    rows = []
    for kept in itertools.combinations(range(len(shape)), order):
        rest = tuple(i for i in range(len(shape)) if i not in kept)
        rows.append(units.sum(axis=rest).reshape(-1, units.shape[-1]))
    return np.concatenate(rows)
