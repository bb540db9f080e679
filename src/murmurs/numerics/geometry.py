"""The points of a projective space over the integers modulo a prime q, and their numbering.

A point is a non-zero vector of t digits modulo q, up to a common factor, scaled so that its first
non-zero digit is 1. If m digits follow that 1, and they read as the number r in base q, the point
has the number (q**m - 1) / (q - 1) + r: first (0, ..., 0, 1), then (0, ..., 1, 0), and so on.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from murmurs.numerics import walsh
from murmurs.numerics.arrays import Floats, Integers


def point_count(q: int, t: int) -> int:
    """Return how many points there are: 1 + q + ... + q**(t - 1).

    >>> point_count(2, 3)
    7
    """
    return int((q**t - 1) // (q - 1))


def _first_of(q: int, t: int) -> Integers:
    """Return the number of the first point with m digits after its leading 1, for m = 0..t-1."""
    return np.array([point_count(q, m) if m else 0 for m in range(t)])


def vectors(points: Integers, q: int, t: int) -> Integers:
    """Return the digits of points, one row per point.

    >>> vectors(np.array([0, 1, 2, 3]), 2, 3)
    array([[0, 0, 1],
           [0, 1, 0],
           [0, 1, 1],
           [1, 0, 0]])
    """
    first = _first_of(q, t)
    m = np.searchsorted(first, points, side="right") - 1
    powers = q ** np.arange(t)
    code = points - first[m] + powers[m]
    return np.asarray(code[:, None] // powers[::-1] % q)


def points(vectors: Integers, q: int) -> Integers:
    """Return the numbers of the points that non-zero vectors represent."""
    t = vectors.shape[1]
    place = np.argmax(vectors != 0, axis=1)
    leading = vectors[np.arange(len(vectors)), place]
    digits = vectors * inverse(leading, q)[:, None] % q
    powers = q ** np.arange(t)
    m = t - 1 - place
    return np.asarray(digits @ powers[::-1] - powers[m] + _first_of(q, t)[m])


def inverse(numbers: Integers, q: int) -> Integers:
    """Return the inverses of non-zero numbers modulo the prime q: their powers q - 2."""
    result = np.ones_like(numbers)
    square, exponent = numbers % q, q - 2
    while exponent:
        if exponent & 1:
            result = result * square % q
        square, exponent = square * square % q, exponent >> 1
    return result


def on_hyperplane(normals: Integers, which: Integers, q: int, t: int) -> Integers:
    """Return point number ``which`` among the points orthogonal to ``normal``, row by row.

    The leading digit of the normal is 1, so all other digits of the point are free and the digit
    there follows from them: the hyperplane has the points of a space with one digit less.
    """
    normal = vectors(normals, q, t)
    place = np.argmax(normal != 0, axis=1)
    free = vectors(which, q, t - 1)
    at = np.arange(t)[None, :]
    source = np.minimum(at - (at > place[:, None]), t - 2)
    vector = np.take_along_axis(free, source, axis=1)
    rows = np.arange(len(vector))
    vector[rows, place] = 0
    vector[rows, place] = -(normal * vector).sum(axis=1) % q
    return points(vector, q)


def incidence(weights: Floats, q: int, t: int) -> Floats:
    """Return for each point the total weight of the points orthogonal to it, by FFT.

    A point is (1, y) or (0, y), where y has one digit less. The points (0, y) are a space of their
    own, with the same numbers. The points (1, y) that are orthogonal to (x0, x) have <x, y> = -x0.
    Their weight is a sum over a hyperplane, which follows from the Fourier transform of the
    weights at the multiples of x. So a transform of q**(t - 1) numbers is enough.

    >>> incidence(np.array([1.0, 0, 0, 0, 0, 0, 0]), 2, 3).round(9)  # (0,0,1): last digit 0
    array([0., 1., 0., 1., 0., 1., 0.])
    """
    if t == 1:
        return np.zeros(1)
    size = point_count(q, t - 1)
    within = incidence(weights[:size], q, t - 1)
    if q == 2:  # each vector but zero is a point, and has no other multiples
        signs = walsh.transform(weights[size:])
        even, odd = (signs[0] + signs[1:]) / 2, (signs[0] - signs[1:]) / 2
        return np.concatenate([even + within, [weights[:size].sum()], odd + within])
    lines = _lines(q, t - 1) if q ** (t - 1) <= _KEPT else _lines.__wrapped__(q, t - 1)
    fourier = np.fft.fftn(weights[size:].reshape((q,) * (t - 1))).ravel()
    planes = np.fft.irfft(fourier[lines.multiples], n=q, axis=1)
    others = planes[lines.point, lines.height] + within[lines.point]
    return np.concatenate([planes[:, 0] + within, [weights[:size].sum()], others])


@dataclass(frozen=True, eq=False)
class _Lines:
    """The vectors of t digits as multiples of points.

    ``multiples`` are the vectors s x of each point x, for s up to q / 2. Each other vector but zero
    is a multiple f x of the point number ``point``; its ``height`` is -1 / f.
    """

    multiples: NDArray[np.int32]
    point: NDArray[np.int32]
    height: NDArray[np.int32]


_KEPT = 2**20
"""The most vectors whose lines are kept: an iteration needs them again and again."""


@lru_cache(maxsize=8)
def _lines(q: int, t: int) -> _Lines:
    first = [*_first_of(q, t).tolist(), point_count(q, t)]
    multiples = np.empty((first[-1], q // 2 + 1), np.int32)
    point, height = np.empty((2, q**t - 1), np.int32)
    for m in range(t):
        for factor in range(q):
            scaled = _scaled(factor, q, m)
            if factor <= q // 2:
                multiples[first[m] : first[m + 1], factor] = factor * q**m + scaled
            if factor:  # the leading digit of factor * x, for a point x with m digits after its 1
                at = factor * q**m + scaled - 1
                point[at] = np.arange(first[m], first[m + 1])
                height[at] = -pow(factor, -1, q) % q
    return _Lines(multiples, point, height)


def _scaled(factor: int, q: int, m: int) -> Integers:
    """Return all numbers of m digits modulo q, with each digit multiplied by a factor."""
    out = np.zeros(1, np.int64)
    for place in range(m):
        out = (factor * np.arange(q) % q * q**place)[:, None] + out[None, :]
        out = out.ravel()
    return out


def is_prime(number: int) -> bool:
    """Return whether a number (up to about 10**12) is prime, by trial division."""
    if number < 4:
        return number > 1
    return all(number % d for d in range(2, min(number, int(number**0.5) + 2)))


def next_prime(number: int) -> int:
    """Return the smallest prime that is at least ``number``."""
    while not is_prime(number):
        number += 1
    return number
