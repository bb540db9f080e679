"""The points of a projective space over the integers modulo a prime q, and their numbering.

A point is a non-zero vector of t digits modulo q, up to a common factor, scaled so that its first
non-zero digit is 1. If m digits follow that 1, and they read as the number r in base q, the point
has the number (q**m - 1) / (q - 1) + r: first (0, ..., 0, 1), then (0, ..., 1, 0), and so on.
"""

from __future__ import annotations

import numpy as np

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

    Each weight w(y) is copied to all multiples s y of its point. The Fourier transform at x is then
    the sum over y of w(y) times the sum over s of exp(2 pi i s <x, y> / q), which is q - 1 for
    orthogonal points and -1 for others.

    >>> incidence(np.array([1.0, 0, 0, 0, 0, 0, 0]), 2, 3).round(9)  # (0,0,1): last digit 0
    array([0., 1., 0., 1., 0., 1., 0.])
    """
    spread = np.zeros(q**t)
    first = [*_first_of(q, t).tolist(), point_count(q, t)]
    digits = np.arange(q)
    for m in range(t):
        block = weights[first[m] : first[m + 1]].reshape((q,) * m)
        for factor in range(1, q):
            back = digits * pow(factor, -1, q) % q
            scaled = block[np.ix_(*[back] * m)] if m and factor > 1 else block
            spread[factor * q**m : (factor + 1) * q**m] = scaled.ravel()
    fourier = np.fft.fftn(spread.reshape((q,) * t)).real.ravel()
    at_points = np.concatenate([fourier[q**m : 2 * q**m] for m in range(t)])
    return np.asarray((at_points + weights.sum()) / q)


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
