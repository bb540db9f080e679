"""The Walsh-Hadamard transform, and its random counterpart for whole populations.

Entry (x, y) of the matrix is +1 if x and y have an even number of one-bits in common, otherwise -1.
"""

from __future__ import annotations

import numpy as np

from murmurs.numerics.arrays import Floats, Integers


def transform(values: Floats) -> Floats:
    """Return the transform along the last axis, whose length K is a power of two: O(K log K).

    >>> transform(np.array([1.0, 2.0, 3.0, 4.0]))
    array([10., -2., -4.,  0.])
    """
    out = np.array(values, np.float64)
    size = out.shape[-1]
    half = 1
    while half < size:
        pairs = out.reshape(*out.shape[:-1], size // (2 * half), 2, half)
        left = pairs[..., 0, :].copy()
        pairs[..., 0, :] += pairs[..., 1, :]
        np.subtract(left, pairs[..., 1, :], out=pairs[..., 1, :])
        half *= 2
    return out


def parity(values: Integers) -> Integers:
    """Return for each number whether it has an odd number of one-bits."""
    return np.bitwise_count(values).astype(np.int64) & 1


def scatter(people: Integers, rng: np.random.Generator) -> Integers:
    """Draw the y of every person at once, each uniform among the y that fit.

    ``people[m, r, x]`` counts the people of group m who hold x and pick y with
    parity(x & y) == r. The result counts them by [m, y]. People are split by the highest bit of y,
    then by the next. A bit is a fair coin, except at the last one-bit of x, where the parity
    decides it. This takes O(K log K) binomial draws, however many people there are.

    >>> state = np.zeros((1, 2, 8), np.int64)
    >>> state[0, 0, 5] = 10**12  # x is 101: bits 0 and 2 of y must agree
    >>> (scatter(state, np.random.default_rng(1)) / 10**12).round(4).tolist()
    [[0.25, 0.0, 0.25, 0.0, 0.0, 0.25, 0.0, 0.25]]
    """
    groups, _, size = people.shape
    state = people
    half = size
    while half > 1:
        half //= 2
        zero, one = state[:, :, :half], state[:, :, half:]
        chance = np.full(one.shape, 0.5)
        chance[:, 0, 0], chance[:, 1, 0] = 0.0, 1.0
        zero_up = rng.binomial(zero, 0.5)
        one_up = rng.binomial(one, chance)
        split = np.empty((len(state), 2, 2, half), np.int64)  # group, bit of y, parity left, rest
        split[:, 0] = zero - zero_up + one - one_up
        split[:, 1] = zero_up + one_up[:, ::-1]
        state = split.reshape(-1, 2, half)
    return state[:, 0, 0].reshape(groups, size)
