"""Empirical Bayes: learn the distribution of the shares from noisy estimates of them.

The cells of one stratum are treated as draws from one unknown distribution G of shares, whose mean
is known. `learn` estimates G and returns the posterior distribution of the share of each cell.

1. Grid. G is defined on a grid with steps of a quarter of the noise, on the scale where the noise
   is one, and only near the data: each cell uses a band of it, so the cost is cells times band.
   Below the first step are points in powers of two, down to an eighth of the mean: the noise may be
   many times the mean, and typical shares must still be distinguished from zero.
2. Likelihood. Counts of support are sums of two binomial numbers. They get the saddlepoint
   approximation, whose equation is quadratic, and which holds down to counts of 0 and 1. Other
   estimates get the normal likelihood. If the counts have a fixed sum, k of them say as much as
   k - 1.
3. Base distribution: a mixture, weighted by marginal likelihood, of distributions with the known
   mean. They are what a uniform population gives (prior weight 0.3 for few answers, up to 0.93 for
   very many, of which some always stand out by chance); distributions in which a part of the
   answers has everything, or all but shares near the noise (five sevenths of the rest, less for few
   answers); and for what is left the margins Beta(a, a (1/mean - 1)) of symmetric Dirichlet
   distributions and log-normal ones. The steps of log a go from a density that is flat at a share
   of one to a = 1, or to where the spread is lost in the noise. Their weight is the square root of
   spread / (spread + noise), a compromise: it prefers distributions that would show where there is
   signal, and treats all alike where nothing can be seen.
   For counts of support with a noise below half a person, the mass between nobody and one person
   is divided between these two: the respondents are whole people.
4. G by EM, with pseudo-observations from the base distribution: 300, and one for each cell up to
   5000. With few cells, G is close to the base distribution; with very many it tends to the
   nonparametric maximum likelihood (Kiefer and Wolfowitz 1956).
5. The posterior of a cell uses G without the contribution of that cell. A lone large cell then
   depends only on the smooth base distribution, and stays at its unbiased estimate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from murmurs.estimators.priors import plausible_laws
from murmurs.numerics.arrays import TINY, Floats, Integers

STEP = 0.25
"""Step of the grid, in standard errors."""

REACH = 5.5
"""Standard errors that the band of the grid covers on either side of an estimate."""

HALVINGS = 3
"""Grid points below the mean share: a half, a quarter, ... of it."""

PSEUDO, MOST_PSEUDO = 300.0, 5000
"""Pseudo-observations from the base distribution: so many, and one per cell up to a limit."""

ROUNDS = 60
"""EM steps."""

SQUARES = 10.0
"""Weight of the squared error relative to the absolute error in the loss of a decision."""

BIN = 0.1
"""Width of the bins that join nearly equal estimates, in standard errors."""

WHOLE = 0.75
"""People from which on the grid has whole people only."""

SEEN = 0.25
"""Noise variance, in people squared, at which half of the mass below one person is moved."""

MOST_VALUES, MOST_BINS = 1500, 20_000
"""Distinct values above which cells are joined in bins, and bins above which they are thinned."""


@dataclass(frozen=True)
class Support:
    """Counts of support, and the probabilities of true and of false support."""

    counts: Integers
    hit: float
    miss: float


@dataclass(frozen=True, eq=False)
class Stratum:
    """Cells whose shares have one distribution: estimates with variance constant + slope * share.

    ``mean`` is the mean share and ``n`` the number of people; ``fixed_sum`` says that the estimates
    always have the same sum.
    """

    estimates: Floats
    constant: Floats
    slope: Floats
    mean: float
    n: float
    fixed_sum: bool
    support: Support | None = None

    @property
    def smallest(self) -> float:
        """The smallest noise variance of a share of 0: the unit of the scale."""
        return float(self.constant.min())

    @cached_property
    def steepness(self) -> float:
        """The mean slope, which defines the scale: one grid serves all cells."""
        return float(self.slope.mean())

    def scaled(self, shares: Floats) -> Floats:
        """Return shares on the scale where the smallest noise is one."""
        slope = self.steepness
        top = 1.0 if slope >= 0 else min(1.0, -0.999999 * self.smallest / slope)
        shares = np.minimum(shares, top)
        variance = np.maximum(self.smallest + slope * shares, 1e-12 * self.smallest)
        return np.asarray(2 * shares / (np.sqrt(variance) + math.sqrt(self.smallest)))

    def unscaled(self, places: Floats) -> Floats:
        """Return the shares at positions on the scale."""
        root = math.sqrt(self.smallest)
        return np.clip(places * root + 0.25 * self.steepness * places**2, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Bins:
    """Cells with nearly equal estimates, joined; a row stands for ``times`` cells."""

    times: Floats
    estimates: Floats
    constant: Floats
    slope: Floats
    places: Floats
    counts: Floats
    bin_of: Integers
    alone: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Posterior:
    """The posterior of each cell's share: for each row, weights on a band of the grid.

    ``disagreement`` is the variance of a row's mean between plausible distributions of the shares.
    """

    stratum: Stratum
    rows: Bins
    shares: Floats
    weights: Floats
    disagreement: Floats

    @property
    def means(self) -> Floats:
        """The mean of each row."""
        return np.asarray(np.einsum("ij,ij->i", self.weights, self.shares))

    @property
    def variances(self) -> Floats:
        """The variance of each row."""
        return np.asarray(
            np.einsum("ij,ij->i", self.weights, (self.shares - self.means[:, None]) ** 2)
        )

    @cached_property
    def derivatives(self) -> Floats:
        """The derivative of the expected loss |x - share| + SQUARES (x - share)^2 at the shares.

        The first part, twice the distribution function minus one, leads to quantiles; the second
        leads to the mean and matters only for large shares.
        """
        below = np.cumsum(self.weights, axis=1) - 0.5 * self.weights
        away = self.shares - self.means[:, None]
        return np.asarray(2 * below - 1 + 2 * SQUARES * away)

    def decisions(self, level: float) -> Floats:
        """Return where the derivative of each row reaches the level, interpolated on the grid."""
        place = (self.derivatives < level).sum(axis=1)
        every = np.arange(len(place))
        low, high = np.maximum(place - 1, 0), np.minimum(place, self.shares.shape[1] - 1)
        below, above = self.derivatives[every, low], self.derivatives[every, high]
        part = np.where(high > low, (level - below) / np.maximum(above - below, TINY), 0.0)
        start = self.shares[every, low]
        return np.asarray(start + np.clip(part, 0, 1) * (self.shares[every, high] - start))


def learn(stratum: Stratum) -> Posterior:
    """Learn the distribution of the shares of a stratum; return the posterior of each cell."""
    rows = join(stratum)
    grid, left, right, first, band = make_grid(stratum, rows)
    index = first[:, None] + np.arange(band)
    shares = grid[index]
    likelihood = _likelihood(stratum, rows, shares)
    base, disagreement = _base_law(stratum, rows, likelihood, index, (grid, left, right))
    law = base.copy()
    pseudo = PSEUDO + min(len(stratum.estimates), MOST_PSEUDO)
    total = len(stratum.estimates) + pseudo
    flat = index.ravel()
    for _ in range(ROUNDS):
        seen = law[index]
        evidence = np.einsum("ij,ij->i", likelihood, seen) + TINY
        share_of = (likelihood * (rows.times / evidence)[:, None]).ravel()
        law = (law * np.bincount(flat, share_of, minlength=len(law)) + pseudo * base) / total
    seen = law[index]
    own = _normalised(likelihood * seen)
    without = np.maximum(total * seen - own, pseudo * base[index])
    return Posterior(stratum, rows, shares, _normalised(likelihood * without), disagreement)


def _normalised(weights: Floats) -> Floats:
    return np.asarray(weights / (weights.sum(axis=1, keepdims=True) + TINY))


def join(stratum: Stratum) -> Bins:
    """Join equal cells; if many are distinct, use bins of a tenth of the noise, or thin them."""
    places = stratum.scaled(stratum.estimates)
    ratio = np.sqrt(stratum.constant / stratum.smallest)
    k = len(places)
    if stratum.support is not None:
        values, bin_of = np.unique(stratum.support.counts, return_inverse=True)
        distinct = len(values)
    else:
        bin_of, distinct = np.arange(k), k
    if distinct > MOST_VALUES:
        by_noise = np.round(4 * np.log(ratio)).astype(np.int64)
        by_place = np.round(np.clip(places / (BIN * ratio), -1e11, 1e11)).astype(np.int64)
        _, bin_of = np.unique(by_noise * (1 << 40) + by_place, return_inverse=True)
    size = int(bin_of.max()) + 1
    times = np.bincount(bin_of, minlength=size).astype(np.float64)

    def mean(values: Floats) -> Floats:
        return np.asarray(np.bincount(bin_of, values, minlength=size) / times)

    counts = stratum.support.counts if stratum.support is not None else stratum.estimates
    columns = [mean(places), times, mean(stratum.estimates), mean(stratum.constant)]
    columns += [mean(stratum.slope), mean(counts.astype(np.float64))]
    order = np.argsort(columns[0], kind="stable")
    rank = np.empty(size, np.int64)
    rank[order] = np.arange(size)
    bin_of = rank[bin_of]
    columns = [column[order] for column in columns]
    alone = np.zeros(k, np.bool_)
    if size > MOST_BINS:
        keep = np.unique(np.linspace(0, size - 1, MOST_BINS).astype(np.int64))
        kept_of = np.searchsorted(keep, np.arange(size), side="right") - 1
        far = np.diff(columns[0][keep], append=columns[0][keep[-1]]) > 2.0
        alone = (far[kept_of] & (keep[kept_of] != np.arange(size)))[bin_of]
        weight = np.bincount(kept_of, columns[1], minlength=len(keep)).astype(np.float64)
        columns = [column[keep] for column in columns]
        columns[1] = weight
        bin_of = kept_of[bin_of]
    at, times, estimates, constant, slope, mean_counts = columns
    return Bins(times, estimates, constant, slope, at, mean_counts, bin_of, alone)


def make_grid(stratum: Stratum, rows: Bins) -> tuple[Floats, Floats, Floats, Integers, int]:
    """Return the shares of the grid, its cell limits, the first point of each row, and the band."""
    end = float(stratum.scaled(np.array(1.0)))
    step = min(STEP, end / 40)
    reach = REACH * np.sqrt(rows.constant / stratum.smallest)
    low = np.floor(np.clip(rows.places - reach, 0, end) / step).astype(np.int64)
    high = np.ceil(np.clip(np.maximum(rows.places, 0) + reach, 0, end) / step).astype(np.int64)
    order = np.argsort(low, kind="stable")
    starts, ends = low[order], np.maximum.accumulate(high[order])
    new = np.concatenate([[True], starts[1:] > ends[:-1] + 1])
    last_of_run = np.concatenate([np.flatnonzero(new)[1:] - 1, [len(starts) - 1]])
    starts, ends = starts[new], ends[last_of_run]
    if starts[0] > 0:  # a share of 0 is always possible
        starts, ends = np.concatenate([[0], starts]), np.concatenate([[0], ends])
    length = ends - starts + 1
    number = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length - starts, length)
    first, last = np.searchsorted(number, low), np.searchsorted(number, high)
    small = float(stratum.scaled(np.array(stratum.mean))) * 2.0 ** np.arange(-HALVINGS, 64)
    small = small[small < 0.75 * step]
    points = np.concatenate([[0.0], small, number[1:] * step])
    first, last = first + (first > 0) * len(small), last + (last > 0) * len(small)
    far = np.diff(points) > 1.5 * step  # there are no data in between
    middles = 0.5 * (points[1:] + points[:-1])
    right = np.append(np.where(far, points[:-1] + 0.5 * step, middles), points[-1] + 0.5 * step)
    left = np.insert(np.where(far, points[1:] - 0.5 * step, middles), 0, 0.0)
    right = np.where(points >= end, 1.0, stratum.unscaled(right))
    grid, left = stratum.unscaled(points), stratum.unscaled(left)
    if stratum.support is not None:  # above one person, steps of whole people
        people = grid * stratum.n
        people, at, joined = np.unique(
            np.where(people < WHOLE, people, np.round(people)),
            return_index=True,
            return_inverse=True,
        )
        if len(people) < len(grid):
            ends_at = np.concatenate([at[1:] - 1, [len(grid) - 1]])
            grid, left, right = people / stratum.n, left[at], right[ends_at]
            first, last = joined[first], joined[last]
    band = int(min((last - first).max() + 1, len(grid)))
    return grid, left, right, np.minimum(first, len(grid) - band), band


def _likelihood(stratum: Stratum, rows: Bins, shares: Floats) -> Floats:
    """Return the likelihood of each row at the shares of its band, with maximum one."""
    support = stratum.support
    if support is not None and stratum.n * support.miss * (1 - support.miss) < 1e6:
        logs = saddlepoint(rows.counts[:, None], shares, stratum.n, support.hit, support.miss)
    else:
        constant = rows.constant[:, None]
        variance = np.maximum(constant + rows.slope[:, None] * shares, 1e-3 * constant)
        away = rows.estimates[:, None] - shares
        logs = -0.5 * away**2 / variance - 0.5 * np.log(variance)
    k = len(stratum.estimates)
    if stratum.fixed_sum and k > 1:
        logs = logs * ((k - 1) / k)
    return np.asarray(np.exp(logs - logs.max(axis=1, keepdims=True)))


def saddlepoint(counts: Floats, shares: Floats, n: float, hit: float, miss: float) -> Floats:
    """Return log P(Bin(n share, hit) + Bin(n (1 - share), miss) = count), up to a term in count.

    With x the exponential of the saddlepoint, the tilted mean equals the count where
    a x^2 + b x - c = 0 with the a, b and c below (Daniels 1954 for the approximation).
    """
    t, share = np.broadcast_arrays(counts, shares)
    own = n * share
    others = n - own
    a = hit * miss * np.maximum(n - t, 1e-3)
    b = own * (hit * (1 - miss)) + others * (miss * (1 - hit))
    b = b - t * (hit * (1 - miss) + miss * (1 - hit))
    c = t * ((1 - hit) * (1 - miss))
    root = np.maximum(np.sqrt(b * b + 4 * a * c) + np.abs(b), 1e-270)
    x = np.where(b >= 0, 2 * c / root, root / np.maximum(2 * a, 1e-270))
    x = np.clip(x, 1e-280, 1e280)
    tilted_hit = hit * x / (1 - hit + hit * x)
    tilted_miss = miss * x / (1 - miss + miss * x)
    curvature = own * tilted_hit * (1 - tilted_hit) + others * tilted_miss * (1 - tilted_miss)
    logs = own * np.log1p(hit * (x - 1)) + others * np.log1p(miss * (x - 1)) - t * np.log(x)
    logs = logs - 0.5 * np.log(np.maximum(curvature, TINY))
    logs = np.where(t <= 0, own * math.log1p(-hit) + others * math.log1p(-miss), logs)
    return np.asarray(np.where(t >= n, own * math.log(hit) + others * math.log(miss), logs))


def _base_law(
    stratum: Stratum,
    rows: Bins,
    likelihood: Floats,
    index: Integers,
    places: tuple[Floats, Floats, Floats],
) -> tuple[Floats, Floats]:
    """Return the mixture of plausible distributions, and by how much they disagree on each row.

    Each is weighted by its evidence. ``places`` are the shares of the grid and the limits of its
    cells.
    """
    grid, left, right = places
    noise = float(rows.times @ rows.constant) / len(stratum.estimates)
    prior, masses = plausible_laws(stratum.mean, stratum.n, noise, left, right)
    if stratum.support is not None:
        masses = in_whole_people(masses, grid * stratum.n, noise * stratum.n**2)
    evidence, weighted = np.log(prior), likelihood * grid[index]
    means = np.empty((len(masses), len(rows.times)))
    for i, mass in enumerate(masses):
        seen = mass[index]
        marginal = np.einsum("ij,ij->i", likelihood, seen) + TINY
        means[i] = np.einsum("ij,ij->i", weighted, seen) / marginal
        evidence[i] += float(rows.times @ np.log(marginal))
    weights = np.exp(evidence - evidence.max())
    weights /= weights.sum()
    disagreement = np.asarray(weights @ (means - weights @ means) ** 2)
    return np.asarray(weights @ masses + 1e-12 / len(left)), disagreement


def in_whole_people(masses: Floats, people: Floats, noise: float) -> Floats:
    """Move the masses between nobody and one person to these two, where noise is small.

    The respondents are whole people. Where noise is large, a part of a person stands for the chance
    that there is one. Where its variance, in people squared, is well below a quarter, a single
    person can be seen, and an answer that nobody gave must not keep a part of one. The means stay
    as they are.

    >>> in_whole_people(np.array([[0.5, 0.4, 0.1]]), np.array([0.0, 0.25, 1.0]), 1e-6).round(9)
    array([[0.8, 0. , 0.2]])
    """
    parts = np.flatnonzero((people > 0) & (people < WHOLE))
    if parts.size == 0 or parts[-1] + 1 == len(people):
        return masses
    one = int(parts[-1]) + 1
    moved = masses[:, parts] / (1 + (noise / SEEN) ** 2)
    above = moved @ (people[parts] / people[one])
    out = masses.copy()
    out[:, parts] -= moved
    out[:, 0] += moved.sum(axis=1) - above
    out[:, one] += above
    return out
