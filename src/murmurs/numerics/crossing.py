"""Count combinations: how often each cell of one axis goes together with each cell of the others.

An axis of n observations is an array of n cell numbers, or an n by size array of zeros and ones if
an observation may be in several cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurs.numerics.arrays import Integers

MOST_AT_ONCE = 2**23
"""The most observations whose sums are exact in single precision."""


def cross(axes: Sequence[NDArray[Any]], sizes: Sequence[int]) -> Integers:
    """Return the table of combinations of at most 2**23 observations.

    >>> numbers, flags = np.array([0, 1, 1]), np.array([[1, 1], [1, 0], [1, 1]])
    >>> cross([numbers, flags], [2, 2])
    array([[1, 1],
           [2, 1]])
    """
    n = len(axes[0])
    if n > MOST_AT_ONCE:
        raise ValueError(f"{n} observations are too many at once")
    singles = [i for i, axis in enumerate(axes) if axis.ndim == 1]
    several = [i for i, axis in enumerate(axes) if axis.ndim == 2]
    place = np.zeros(n, np.int64)
    for i in singles:
        place = place * sizes[i] + axes[i]
    count = int(np.prod([sizes[i] for i in singles], dtype=np.int64))
    inner = [sizes[i] for i in several]
    if not several:
        out = np.bincount(place, minlength=count)
    else:
        out = _grouped(place, count, [axes[i] for i in several])
    shaped = out.reshape([*(sizes[i] for i in singles), *inner])
    back = np.argsort([*singles, *several], kind="stable")
    return np.ascontiguousarray(shaped.transpose(back).astype(np.int64))


def _grouped(place: Integers, count: int, flags: list[NDArray[Any]]) -> NDArray[Any]:
    """Return the combinations of flags, separately for the observations of each place."""
    *first, last = flags
    width = int(np.prod([own.shape[1] for own in flags]))
    if not first and count > 1:
        return _sums(place, count, last)
    order = np.argsort(place, kind="stable")
    starts = np.searchsorted(place[order], np.arange(count + 1))
    out = np.zeros((count, width), np.int64)
    for group in np.flatnonzero(np.diff(starts)).tolist():
        rows = order[starts[group] : starts[group + 1]] if count > 1 else slice(None)
        right = last[rows].astype(np.float32)
        left = np.ones((len(right), 1), np.float32)
        for own in first:
            part = own[rows].astype(np.float32)
            left = (left[:, :, None] * part[:, None, :]).reshape(len(part), -1)
        out[group] = np.rint(left.T @ right).astype(np.int64).ravel()
    return out


def _sums(place: Integers, count: int, flags: NDArray[Any]) -> NDArray[Any]:
    """Return the sums of the rows of flags at each place."""
    order = np.argsort(place, kind="stable")
    here, starts = np.unique(place[order], return_index=True)
    out = np.zeros((count, flags.shape[1]), np.int64)
    if len(here):
        out[here] = np.add.reduceat(flags[order].astype(np.int32), starts, axis=0)
    return out
