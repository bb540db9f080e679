"""Log-splines: shares of ordered answers whose logarithm bends as little as the data allow.

The logarithm of the density is a spline over the scale, f = offset + columns @ b. Of its
coefficients b, a few have a normal prior of their own (a slope, a curve, the height of an
open-ended bucket); all others have the variance 1 / strength, so that their squares add up to the
squared differences of the spline. How strong that penalty is, and of which order, is decided by the
evidence: the marginal likelihood, by Laplace's method.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

import numpy as np

from murmurs.numerics.arrays import TINY, Floats

ORDERS = (2, 3)
"""Of the differences that are penalised: without them the log density is a line, or a parabola."""

MOST_COLUMNS = 64
"""The most coefficients of a spline; with more buckets it has fewer knots than there are."""

SLOPE, CURVE, OPEN = 4.0, 20.0, 2.0
"""Prior standard deviations: of the rise of the log density from one end to the other, of its rise
from the middle to the ends, and of what an open-ended bucket has beyond its neighbours."""

HALF_DECADES = 2
"""Strengths are tried in steps of the square root of ten."""

STIFF = 20.0
"""The first strength is so large that no coefficient has more than a twentieth of its freedom."""

WEAKEST = -2
"""The decimal logarithm of the smallest strength, which allows any shape."""

DROP = 8.0
"""Strengths whose evidence is so many nats below the best add nothing to the average."""

FARTHEST = 3.0
"""How far one step moves the logarithm of a share at most."""

MOST_STEPS = 200
"""Steps of Newton's method for one strength; a handful are enough."""


class Seen(Protocol):
    """What the counts say about shares."""

    def at(self, shares: Floats) -> tuple[float, Floats]:
        """Return the log-likelihood of these shares, and its derivatives."""

    def information(self, shares: Floats, directions: Floats) -> Floats:
        """Return Fisher's information at these shares along each column of ``directions``."""


@dataclass(frozen=True, eq=False)
class Basis:
    """The columns of a spline, what is added to it, and which coefficients are penalised."""

    columns: Floats
    offset: Floats
    penalised: Floats

    def precision(self, strength: float) -> Floats:
        """Return the prior precision of each coefficient."""
        return np.asarray(np.where(self.penalised, strength, 1.0))

    def shares(self, coefficients: Floats) -> Floats:
        """Return the shares of all buckets, which add up to one."""
        height = self.offset + self.columns @ coefficients
        shares = np.exp(height - height.max())
        return np.asarray(shares / shares.sum())

    def directions(self, shares: Floats) -> Floats:
        """Return how the shares change with each coefficient."""
        return np.asarray(shares[:, None] * (self.columns - shares @ self.columns))


@lru_cache(maxsize=16)
def bases(widths: tuple[float, ...], circular: bool) -> tuple[Basis, ...]:
    """Return the splines to choose from, for buckets of these widths.

    A width of infinity is that of an open-ended bucket. If widths differ, splines may be smooth
    along the numbers or along the buckets, such as for edges 1, 2, 5, 10, ...
    """
    k = len(widths)
    wide = np.array(widths)
    is_open = np.isinf(wide)
    ends = np.flatnonzero(is_open)
    wide[ends] = wide[np.where(ends == 0, min(1, k - 1), ends - 1)]
    wide[np.isinf(wide)] = 1.0
    wide = wide / wide.mean()
    offset = np.log(wide)
    if circular:
        return tuple(_circle(k, order, offset) for order in ORDERS)
    middles = np.cumsum(wide) - wide / 2
    along = [np.arange(k, dtype=np.float64)]
    if np.abs(wide - 1).max() > 1e-9:
        along.append((middles - middles[0]) / (middles[-1] - middles[0]) * (k - 1))
    free = OPEN * np.eye(k)[:, ends]
    return tuple(
        _line(places, order, offset, free) for places in along for order in ORDERS if order < k
    )


def rough(basis: Basis) -> Basis:
    """Return a spline of the same columns that nothing makes smooth."""
    left, values, _ = np.linalg.svd(basis.columns, full_matrices=False)
    kept = values > 1e-9 * values[0]
    return Basis(left[:, kept], basis.offset, np.ones(int(kept.sum())))


def equal(k: int) -> Basis:
    """Return a spline that cannot bend at all, whose shares are equal."""
    return Basis(np.zeros((k, 0)), np.zeros(k), np.zeros(0))


def _line(places: Floats, order: int, offset: Floats, free: Floats) -> Basis:
    """Return the basis of a spline over a line, with its columns from smooth to rough."""
    k = len(places)
    values, at = _b_splines(k)
    # Knots at equal steps of buckets; beyond the ends at the last distance.
    own = np.interp(at, np.arange(k), places)
    own = np.where(at < 0, places[0] + at * (places[1] - places[0]), own)
    own = np.where(at > k - 1, places[-1] + (at - k + 1) * (places[-1] - places[-2]), own)
    differences = _divided_differences(own / (at[1] - at[0]), order)
    roughness, shapes = np.linalg.eigh(differences.T @ differences)
    penalised = values @ (shapes[:, order:] / np.sqrt(roughness[order:]))
    x = 2 * (places - places[0]) / (places[-1] - places[0]) - 1
    powers = np.stack([SLOPE / 2 * x, CURVE * x**2][: order - 1], axis=1)
    fixed = powers.shape[1] + free.shape[1]
    columns = np.hstack([powers, free, penalised])
    columns = columns - columns.mean(axis=0)
    return Basis(columns, offset, np.arange(columns.shape[1]) >= fixed)


def _b_splines(k: int) -> tuple[Floats, Floats]:
    """Return uniform cubic B-splines at k buckets, and where each has its middle, in buckets.

    Up to `MOST_COLUMNS` buckets there is a coefficient for each.
    """
    if k <= MOST_COLUMNS:
        return np.eye(k), np.arange(k, dtype=np.float64)
    step = (k - 1) / (MOST_COLUMNS - 3)
    place = np.arange(k) / step
    first = np.minimum(place.astype(np.int64), MOST_COLUMNS - 4)
    x = place - first
    pieces = ((1 - x) ** 3, 3 * x**3 - 6 * x**2 + 4, -3 * x**3 + 3 * x**2 + 3 * x + 1, x**3)
    out = np.zeros((k, MOST_COLUMNS))
    for i, piece in enumerate(pieces):
        out[np.arange(k), first + i] = piece / 6
    return out, step * np.arange(-1.0, MOST_COLUMNS - 1)


def _divided_differences(places: Floats, order: int) -> Floats:
    """Return the matrix of derivatives of this order, whose squares add up to their integral."""
    out = np.eye(len(places))
    for i in range(1, order + 1):
        out = i * np.diff(out, axis=0) / (places[i:] - places[:-i])[:, None]
    spans = (places[order:] - places[:-order]) / order
    return np.asarray(out * np.sqrt(spans)[:, None])


def _circle(k: int, order: int, offset: Floats) -> Basis:
    """Return the basis of a spline over a circle: waves, which are alike from every bucket."""
    place = 2 * np.pi * np.arange(k) / k
    columns = []
    for wave in range(1, min(k, MOST_COLUMNS) // 2 + 1):
        size = math.sqrt(2 / k) / (2 * math.sin(math.pi * wave / k)) ** order
        columns += [size * np.cos(wave * place), size * np.sin(wave * place)]
    if k <= MOST_COLUMNS and k % 2 == 0:  # of the fastest wave there is one
        columns.pop()
        columns[-1] = columns[-1] / math.sqrt(2)
    return Basis(np.stack(columns, axis=1), offset, np.ones(len(columns)))


@dataclass(frozen=True, eq=False)
class Spline:
    """A fitted spline: its evidence, what of it is not likelihood, and how far it may be off."""

    shares: Floats
    evidence: float
    occam: float
    gap: float


@dataclass(eq=False)
class Splines:
    """Fits splines of several bases; each fit starts from the last one of the same strength.

    A ``rough`` spline starts from the best of the others, and is averaged with them.
    """

    bases: Sequence[Basis]
    tolerance: float
    rough: Basis | None = None
    steps: int = 0
    _known: dict[tuple[int, int], Floats] = field(default_factory=dict)

    def fit(self, seen: Seen) -> Spline:
        """Return the average over all bases and strengths, weighted by evidence."""
        every = [
            spline
            for number, basis in enumerate(self.bases)
            for spline in self._path(number, basis, seen, _strengths(basis, seen))
        ]
        if self.rough is not None:  # from the loosest on: it is far from stiff
            shape = np.log(max(every, key=lambda one: one.evidence).shares + TINY)
            start = self.rough.columns.T @ (shape - self.rough.offset)
            loosest = _strengths(self.rough, seen)[::-1]
            every += self._path(len(self.bases), self.rough, seen, loosest, start)
        evidence = np.array([spline.evidence for spline in every])
        weights = np.exp(evidence - evidence.max())
        weights /= weights.sum()
        shares = weights @ np.array([spline.shares for spline in every])
        occam = float(weights @ np.array([spline.occam for spline in every]))
        gap = float(weights @ np.array([spline.gap for spline in every]))
        return Spline(shares, float(weights @ evidence), occam, gap)

    def _path(
        self, number: int, basis: Basis, seen: Seen, strengths: range, start: Floats | None = None
    ) -> Iterator[Spline]:
        """Yield the splines of a basis for each strength in turn, until the evidence is lost."""
        coefficients = np.zeros(basis.columns.shape[1]) if start is None else start
        best = -math.inf
        for step in strengths:
            begin = self._known.get((number, step), coefficients)
            strength = 10.0 ** (step / HALF_DECADES)
            coefficients, spline = self._climb(basis, seen, strength, begin)
            self._known[number, step] = coefficients
            best = max(best, spline.evidence)
            yield spline
            if spline.evidence < best - DROP:
                return

    def _climb(
        self, basis: Basis, seen: Seen, strength: float, start: Floats
    ) -> tuple[Floats, Spline]:
        """Maximise the penalised likelihood by Fisher scoring, until little can be gained.

        What can be gained is told by the Newton decrement, to second order.
        """
        precision = basis.precision(strength)

        def height(coefficients: Floats) -> tuple[float, float, Floats, Floats]:
            shares = basis.shares(coefficients)
            log, slope = seen.at(shares)
            return log - float(precision @ coefficients**2) / 2, log, slope, shares

        here, now = start, height(start)
        for _ in range(MOST_STEPS):
            self.steps += 1
            _, log, slope, shares = now
            directions = basis.directions(shares)
            curvature = seen.information(shares, directions)
            curvature[np.diag_indices_from(curvature)] += precision
            uphill = directions.T @ slope - precision * here
            step = np.linalg.solve(curvature, uphill)
            gap = float(step @ uphill) / 2
            if gap <= self.tolerance:
                break
            length = min(1.0, FARTHEST / (float(np.abs(basis.columns @ step).max()) + 1e-300))
            further = height(here + length * step)
            while further[0] <= now[0] and length > 1e-9:
                length /= 2
                further = height(here + length * step)
            if further[0] <= now[0]:
                break
            here, now = here + length * step, further
        spread = float(np.linalg.slogdet(curvature)[1])
        occam = (float(np.log(precision).sum()) - spread - float(precision @ here**2)) / 2
        return here, Spline(shares, log + occam, occam, max(gap, 0.0))


def _strengths(basis: Basis, seen: Seen) -> range:
    """Return the strengths to try, as logarithms in steps, from the stiffest on."""
    flat = basis.shares(np.zeros(basis.columns.shape[1]))
    free = seen.information(flat, basis.directions(flat)).diagonal()[basis.penalised > 0]
    largest = max(STIFF * float(free.max(initial=0.0)), 1e-300)
    weakest = WEAKEST * HALF_DECADES
    return range(max(math.ceil(HALF_DECADES * math.log10(largest)), weakest), weakest - 1, -1)
