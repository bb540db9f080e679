"""``python -m murmurs.kernels``: compile all kernels and keep the result for later processes."""

from __future__ import annotations

import numpy as np


def main() -> None:
    """Call every kernel once with each type of argument, if numba is installed."""
    try:
        from murmurs.kernels import compiled as kernels
    except ImportError:
        return
    words = np.zeros(16, np.uint32)
    wide = np.zeros(16, np.uint64)
    kernels.bits(wide, np.ones(8, np.uint8), wide, np.empty(2, np.uint64))
    kernels.lanes(
        wide.reshape(8, 2), np.ones(8, np.uint8), np.empty(2, np.uint64), np.empty(4, int)
    )
    kernels.below(words, 3, words, np.empty(16, np.uint32))
    kernels.subsets(np.full(8, -1), 9, 2, words, words, np.empty((8, 2), np.uint8))
    for writeable in (True, False):  # reports read from a file are not writeable
        for size in (1, 2, 4):
            values = np.zeros(4, np.dtype(f"u{size}"))
            values.flags.writeable = writeable
            kernels.histogram(values, 2)
        rows = np.zeros((4, 8), np.uint8)
        rows.flags.writeable = writeable
        kernels.bit_totals(rows, 64)
    kernels.sharded(wide, 2)
    kernels.repeated(wide)
    kernels.support_totals(words, words, words, 4)
    some = np.zeros((2, 1), np.uint8)
    kernels.support_likelihood(some, np.zeros(8), 1.0)
    for precision in (np.float32, np.float64):
        kernels.pair_likelihood(some, some, np.ones((8, 8), precision), (1.0, 1.0))
    one = np.zeros(1, np.int64)
    kernels.text_keys(np.zeros((1, 1), np.int32), one, np.zeros((1, 4), np.uint8), one)
    places = kernels.places(wide.reshape(1, 16), 0, 2, 2, 1)
    kernels.gather(places, np.zeros(5))
    kernels.hashed_totals(wide.reshape(1, 16), 0, 2, 2, 1, np.zeros((1, 2, 2)))
    kernels.scatter(places, np.zeros(16), 5)
    kernels.gram(places, np.zeros(5), 1)


if __name__ == "__main__":
    main()
