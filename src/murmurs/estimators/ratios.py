"""Empirical Bayes for joint tables: shrink the ratio of each cell to its base.

The base is what the margins give by themselves, as independence does for two questions. The ratios
of the cells to it are treated as draws from one unknown distribution with the mean one, learned
from all cells. It starts from a mixture of the distributions in `ratio_laws`, weighted by their
likelihood, which counts as much as 30 cells plus half of the cells of the table, and EM moves it
towards the data. Each cell then has a posterior distribution. The result mixes posterior means with
posterior quantiles at the common level at which they add up to one, the more of the latter the more
cells there are: with few cells means are safer, with many quantiles have a lower l1 error.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from murmurs.estimators.ratio_laws import edges, ratio_laws
from murmurs.estimators.residual import LEAST_PART, Residual
from murmurs.numerics import normal
from murmurs.numerics.arrays import TINY, Booleans, Floats, Integers

PSEUDO, PSEUDO_PART = 30.0, 0.5
"""The first guess counts as many cells as this, plus this part of all cells."""

STEPS = 40
"""Steps of EM; the first guess makes it converge quickly, and its end is no optimum to reach."""

MEANS_HALFWAY = 10.0
"""Number of cells at which posterior means and quantiles have equal weight."""

BLOCK = 20_000
"""Cells that are worked on together, to bound the memory of what is not kept."""


@dataclass(frozen=True)
class Cells:
    """Cells with a base above zero: estimates, and their noise as far as it depends on the share.

    The variance is ``empty`` at the share zero and ``even`` at the base, and grows beyond the base
    by ``slope``. ``sampling`` is what the sampling of people adds under independence.
    """

    base: Floats
    estimates: Floats
    empty: Floats
    even: Floats
    slope: Floats
    sampling: Floats

    def part(self, at: slice) -> Cells:
        """Return some of the cells, as columns."""
        return Cells(*(getattr(self, field.name)[at, None] for field in fields(self)))

    @property
    def pull(self) -> Floats:
        """How far an estimate moves a cell that differs from its base by sampling only."""
        return self.sampling / (self.sampling + self.even)

    @property
    def as_base(self) -> Floats:
        """The means of such cells given the estimates."""
        return np.maximum(self.base + self.pull * (self.estimates - self.base), 0)

    @property
    def as_base_deviation(self) -> Floats:
        """The deviations of such cells given the estimates."""
        return np.sqrt(self.pull * self.even) + TINY

    def deviations(self, low: Floats, high: Floats) -> Floats:
        """Return the noise between two ratios, where they are nearest to the estimates."""
        share = np.clip(self.estimates / self.base, low, high) * self.base
        variance = np.where(
            share < self.base,
            self.empty + (self.even - self.empty) / self.base * share,
            self.even + self.slope * (share - self.base),
        )
        return np.sqrt(np.maximum(variance, LEAST_PART * self.even))


@dataclass(frozen=True)
class Between:
    """The normal distributions around the estimates, cut off outside two ratios.

    Probabilities are taken from the tail that is nearer; ``turned`` says which.
    """

    low: Floats
    high: Floats
    deviations: Floats
    turned: Booleans
    below: Floats
    mass: Floats

    @classmethod
    def of(cls, cells: Cells, low: Floats, high: Floats) -> Between:
        """Return the distributions between the ratios ``low`` and ``high``."""
        s = cells.deviations(low, high)
        start, end = ((x * cells.base - cells.estimates) / s for x in (low, high))
        turned = start > 0
        below = normal.below(np.where(turned, -end, start))
        mass = np.maximum(normal.below(np.where(turned, -start, end)) - below, TINY)
        return cls(low * cells.base, high * cells.base, s, turned, below, mass)

    def moments(self, cells: Cells) -> tuple[Floats, Floats]:
        """Return means and variances."""
        z, s = cells.estimates, self.deviations
        ends = [np.clip((x - z) / s, -40, 40) for x in (self.low, self.high)]
        start, end = (np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi) for x in ends)
        shift = (start - end) / self.mass
        spread = 1 + (ends[0] * start - ends[1] * end) / self.mass - shift**2
        most = np.minimum(s * s, (self.high - self.low) ** 2 / 4)
        return np.clip(z + s * shift, self.low, self.high), np.clip(s * s * spread, 0, most)

    def quantiles(self, cells: Cells, level: Floats) -> Floats:
        """Return the shares below which this part of the mass is."""
        at = self.below + np.where(self.turned, 1 - level, level) * self.mass
        x = normal.quantiles(np.clip(at, TINY, 1 - 1e-16))
        share = cells.estimates + self.deviations * np.where(self.turned, -x, x)
        return np.clip(share, self.low, self.high)


class Shrunk(NamedTuple):
    """Shrunk cells, not yet raked; degrees of freedom they spent; how likely association is."""

    cells: Floats
    spent: float
    association: float


def shrink_ratios(rest: Residual) -> Shrunk:
    """Return the shrunk cells of a table."""
    used = rest.base > 1e-12
    cells = _cells(rest, used)
    ratios = cells.estimates / cells.base
    seen = ratios - 6 * np.sqrt(cells.even) / cells.base  # surely exceeded by the cell's ratio
    limits = edges(1.5 * float(np.where(seen > 0, ratios, 0).max(initial=0)))
    likelihoods = np.concatenate([_likelihoods(cells.part(at), limits) for at in _blocks(cells)])
    law, independent = _learn(likelihoods, limits, rest.free_part)
    posteriors = likelihoods  # in its place
    posteriors *= law
    posteriors /= posteriors.sum(axis=1, keepdims=True)
    means, variances = _moments(cells, posteriors, limits)
    common = _common_quantiles(cells, posteriors, limits)
    weight = len(means) / (len(means) + MEANS_HALFWAY)
    out = np.zeros(rest.base.shape)
    out[used] = (1 - weight) * means + weight * common
    spent = rest.free_part * float(np.clip(variances / cells.even, 0, 1.5).sum())
    return Shrunk(out, spent, 1 - independent)


def _cells(rest: Residual, used: Booleans) -> Cells:
    even, sampling = (part[used] for part in rest.noise(1.0))
    four = np.minimum(4.0, 1 / np.maximum(rest.base, 1e-12))
    beyond = rest.noise(four)[0][used]
    base = rest.base[used]
    slope = (beyond - even) / np.maximum(four[used] * base - base, TINY)
    empty = rest.noise(0.0)[0][used]
    return Cells(base, rest.estimates[used], empty, even, slope, sampling)


def _blocks(cells: Cells) -> Iterator[slice]:
    for start in range(0, len(cells.base), BLOCK):
        yield slice(start, start + BLOCK)


def _likelihoods(cells: Cells, limits: Floats) -> Floats:
    """Return for each cell the likelihoods of: empty, as the base, and between all limits."""
    between = Between.of(cells, limits[:-1], limits[1:])
    z, together = cells.estimates, cells.sampling + cells.even
    out = np.hstack(
        [
            np.exp(-0.5 * z * z / cells.empty) / np.sqrt(cells.empty),
            np.exp(-0.5 * (z - cells.base) ** 2 / together) / np.sqrt(together),
            math.sqrt(2 * math.pi) * between.mass / (between.high - between.low),
        ]
    )
    out += 1e-290
    return np.asarray(out / out.max(axis=1, keepdims=True))


def _learn(likelihoods: Floats, limits: Floats, free_part: float) -> tuple[Floats, float]:
    """Return the distribution of the ratios, and the probability that all of them are one.

    Cells count as many as the margins leave free.
    """
    prior, laws = ratio_laws(limits)
    evidence = free_part * np.log(likelihoods @ laws.T + TINY).sum(axis=0) + np.log(prior)
    weights = np.exp(evidence - evidence.max())
    weights /= weights.sum()
    guess = weights @ laws + 1e-9
    count = len(likelihoods)
    pseudo = PSEUDO + PSEUDO_PART * count
    law = guess
    for _ in range(STEPS):
        data = free_part * law * ((1 / (likelihoods @ law)) @ likelihoods)
        law = (data + pseudo * guess) / (free_part * count + pseudo)
    return np.asarray(law), float(weights[0])


def _moments(cells: Cells, posteriors: Floats, limits: Floats) -> tuple[Floats, Floats]:
    """Return the posterior means and variances."""
    means, squares = np.zeros((2, len(posteriors)))
    for at in _blocks(cells):
        some, own = cells.part(at), posteriors[at]
        mean, variance = Between.of(some, limits[:-1], limits[1:]).moments(some)
        base, spread = some.as_base[:, 0], some.as_base_deviation[:, 0] ** 2
        means[at] = own[:, 1] * base + (own[:, 2:] * mean).sum(axis=1)
        squares[at] = own[:, 1] * (base**2 + spread)
        squares[at] += (own[:, 2:] * (mean**2 + variance)).sum(axis=1)
    return means, squares - means**2


def _common_quantiles(cells: Cells, posteriors: Floats, limits: Floats) -> Floats:
    """Return the posterior quantiles at the level at which they add up to one."""
    base = posteriors[:, 1].copy()
    below = posteriors[:, 1:]  # in its place: the mass up to each limit
    below[:, 0] = posteriors[:, 0]
    for at in _blocks(cells):
        some = cells.part(at)
        below[at, 1:] += base[at, None] * np.diff(_as_base_below(some, limits), axis=1)
    np.cumsum(below, axis=1, out=below)

    def quantiles(level: float) -> Floats:
        place = np.clip((below < level).sum(axis=1) - 1, 0, len(limits) - 2)
        return _quantiles_in(cells, base, below, limits, place, level)

    low, high = 0.0, 1.0
    for _ in range(50):
        level = (low + high) / 2
        low, high = (low, level) if float(quantiles(level).sum()) > 1 else (level, high)
    return quantiles(low)


def _as_base_below(cells: Cells, limits: Floats) -> Floats:
    """Return the mass below each limit of cells that differ from the base by sampling only."""
    out = normal.below((cells.base * limits - cells.as_base) / cells.as_base_deviation)
    out[:, 0], out[:, -1] = 0.0, 1.0
    return np.asarray(out)


def _quantiles_in(
    cells: Cells, base: Floats, below: Floats, limits: Floats, place: Integers, level: float
) -> Floats:
    """Return the quantiles, given the bin of each; zero where empty cells reach the level."""
    rows = np.arange(len(place))
    start = below[rows, place]
    mass = below[rows, place + 1] - start
    part = np.clip((level - start) / (mass + TINY), 0, 1)
    low, high = limits[place], limits[place + 1]
    mean, deviation = cells.as_base, cells.as_base_deviation
    ends = [normal.below((cells.base * x - mean) / deviation) for x in (low, high)]
    ends[0] = np.where(place == 0, 0, ends[0])
    ends[1] = np.where(place == len(limits) - 2, 1, ends[1])
    from_base = normal.quantiles(np.clip(ends[0] + part * (ends[1] - ends[0]), 1e-12, 1 - 1e-12))
    from_base = np.clip(mean + deviation * from_base, low * cells.base, high * cells.base)
    from_bin = Between.of(cells, low, high).quantiles(cells, part)
    mostly = 2 * base * (ends[1] - ends[0]) > mass
    return np.where(below[:, 0] >= level, 0.0, np.where(mostly, from_base, from_bin))
