"""Projective geometry response: the accuracy of k-subset with reports of log2 k bits."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, cached_property, lru_cache

import numpy as np

from murmurs import kernels
from murmurs.boundary.checks import whole
from murmurs.channels.projective import ProjectivePoints
from murmurs.mechanisms.closed.truthful import Truthful
from murmurs.mechanisms.settling import LEFT_OPEN, check_cells
from murmurs.numerics import geometry
from murmurs.numerics.arrays import Integers
from murmurs.numerics.sampling import split_uniformly
from murmurs.randomness.bulk import Bulk, bulk
from murmurs.randomness.verbs import Randomness
from murmurs.wire import Category, Reports

_LARGEST_SPACE = 2**25
"""The most vectors in a space; the decoder transforms the part with one digit less."""

_LARGEST_PRIME = 2**21


@dataclass(frozen=True)
class ProjectiveGeometry(Truthful[int]):
    """Projective geometry response: answers are points, reports favour orthogonal points.

    Use it for large fixed alphabets (k from some hundreds up) and epsilon up to about 4: the
    variance is within a few percent of `Subset`'s while a report is one number of about log2 k
    bits, and one FFT decodes all of them.

    Law: answer x is point x of the projective space of t digits modulo a prime q, numbered as in
    docs/wire.md; there are K = (q^t - 1) / (q - 1) >= k points, and s = (q^(t-1) -
    1) / (q - 1) of them are orthogonal to x. With probability t' = truth / 2**53 the report is one
    of those, uniformly; otherwise any point, uniformly. e^epsilon >= 1 + (K / s) t' / (1 - t'). By
    default q and t have the smallest error among all with q^t up to 2^25; q is near e^epsilon + 1.
    Feldman, Nelson, Nguyen and Talwar (2022).

    >>> from murmurs import Secure
    >>> pgr = ProjectiveGeometry(k=1000, epsilon=1.0)
    >>> pgr.q, pgr.t, pgr.points, pgr.encode(999, Secure()) < pgr.points
    (3, 7, 1093, True)
    """

    k: int
    epsilon: float
    q: int = LEFT_OPEN
    t: int = LEFT_OPEN
    truth: int = field(default=LEFT_OPEN, repr=False)

    def __post_init__(self) -> None:
        self._settle()
        q, t = _completed(self.q, self.t, self.k, self.epsilon)
        self._set(q=q, t=t)
        if not geometry.is_prime(self.q):
            raise ValueError(f"q must be a prime number, not {self.q}")
        if self.q**self.t > _LARGEST_SPACE:
            raise ValueError(f"q**t must be at most {_LARGEST_SPACE}, not {self.q}**{self.t}")
        if self.points < self.k:
            raise ValueError(
                f"q={self.q}, t={self.t} give {self.points} points for k={self.k} answers: "
                "take a larger q or t"
            )
        check_cells(self.points, "the number of points")
        self._settle_truth()

    @property
    def points(self) -> int:
        """The number of points."""
        return geometry.point_count(self.q, self.t)

    @property
    def orthogonal(self) -> int:
        """The number of points that are orthogonal to a given point."""
        return geometry.point_count(self.q, self.t - 1)

    @property
    def reports_per_supporting(self) -> Fraction:
        """The number of points per point that is orthogonal to an answer."""
        return Fraction(self.points, self.orthogonal)

    @property
    def shape(self) -> Category:
        """A report is a point."""
        return Category(self.points)

    @cached_property
    def channel(self) -> ProjectivePoints:
        """Cell y counts the reports of point y."""
        return ProjectivePoints(self.k, self.q, self.t, self.truth_probability)

    def _encode_one(self, answer: int, random: Randomness) -> int:
        """Return a point, orthogonal to the answer with the probability of truth."""
        if not random.chance(self.truth):
            return random.below(self.points)
        which = random.below(self.orthogonal)
        return int(self._orthogonal_points(np.array([answer]), np.array([which]))[0])

    def _encode_many(self, answers: Integers, random: Bulk) -> Reports:
        n = len(answers)
        honest = np.flatnonzero(random.chance(self.truth, n))
        out = random.below(self.points, n)
        which = random.of(honest).below(self.orthogonal, len(honest)).astype(np.int64)
        out[honest] = self._orthogonal_points(answers[honest], which)
        return out

    def _orthogonal_points(self, answers: Integers, which: Integers) -> Integers:
        return geometry.on_hyperplane(answers, which, self.q, self.t)

    def _count(self, reports: Reports) -> Integers:
        return kernels.load().histogram(reports, self.points)

    def _simulate(self, histogram: Integers, rng: np.random.Generator) -> Integers:
        """Spread each answer's truthful people over its hyperplane: O(k s), or O(n) if less.

        Hyperplanes overlap in all ways, so no sum of their cells has a simple law: ten million
        people and ten thousand answers take one or two seconds.
        """
        n, s = int(histogram.sum()), self.orthogonal
        if n <= self.k * s:
            return self._simulate_each(histogram, rng)
        honest = rng.binomial(histogram, float(self.truth_probability))
        cells = split_uniformly(n - honest.sum(), self.points, rng)
        rows = max(1, 2**20 // s)
        for start in range(0, self.k, rows):
            answers = np.arange(start, min(start + rows, self.k))
            landed = split_uniformly(honest[answers], s, rng).ravel()
            normals, which = np.repeat(answers, s), np.tile(np.arange(s), len(answers))
            np.add.at(cells, self._orthogonal_points(normals, which), landed)
        return cells

    def _simulate_each(self, histogram: Integers, rng: np.random.Generator) -> Integers:
        cells = np.zeros(self.points, np.int64)
        source = bulk(rng)
        people = np.repeat(np.arange(self.k), histogram)
        for start in range(0, len(people), 2**18):
            reports = self._encode_many(people[start : start + 2**18], source)
            cells += self._count(np.asarray(reports))
        return cells


def _completed(q: int | None, t: int | None, k: int, epsilon: float) -> tuple[int, int]:
    """Return q and t of a space, and choose whichever is not given."""
    if q is None and t is None:
        return best_space(k, epsilon)
    base = None if q is None else whole(q, "q", 2, _LARGEST_PRIME)
    digits = smallest_dimension(k, base) if base and t is None else whole(t, "t", 2, 25)
    return base or smallest_prime(k, digits), digits


def smallest_dimension(k: int, q: int) -> int:
    """Return the smallest t for which t digits modulo q give at least k points."""
    return next(t for t in range(2, 26) if geometry.point_count(q, t) >= k)


def smallest_prime(k: int, t: int) -> int:
    """Return the smallest prime q for which t digits modulo q give at least k points."""
    q = 2
    while geometry.point_count(q, t) < k:
        q = geometry.next_prime(q + 1)
    return q


@lru_cache(maxsize=1024)
def best_space(k: int, epsilon: float) -> tuple[int, int]:
    """Return the prime q and the number of digits t with the smallest error for k answers.

    >>> best_space(4096, 2.0)
    (7, 6)
    """
    return min(_spaces(k), key=lambda space: _error(space[0], space[1], k, epsilon))


def _spaces(k: int) -> Iterator[tuple[int, int]]:
    """Return every prime q and number of digits t that give k points in a small enough space."""
    for q in _primes():
        for t in range(2, 26):
            if q**t > _LARGEST_SPACE:
                break
            if geometry.point_count(q, t) >= k:
                yield q, t


@cache
def _primes() -> tuple[int, ...]:
    """Return the primes q for which t = 2 gives a small enough space."""
    return tuple(q for q in range(2, math.isqrt(_LARGEST_SPACE) + 1) if geometry.is_prime(q))


def _error(q: int, t: int, k: int, epsilon: float) -> float:
    """Return n times the summed variance over k answers, for real-valued probabilities."""
    e = math.exp(min(epsilon, 300))
    points, s = geometry.point_count(q, t), geometry.point_count(q, t - 1)
    both = geometry.point_count(q, t - 2) if t > 2 else 0
    total = s * e + points - s
    hit, miss = s * e / total, (both * e + s - both) / total
    return (hit * (points - s) / total + (k - 1) * miss * (1 - miss)) / (hit - miss) ** 2
