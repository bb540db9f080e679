"""The few loops that are worth compiling, each in two forms with the same results.

`reference` is NumPy and always available; `compiled` is numba, from the extra ``fast``. Given the
same random words, both return the same arrays to the last bit, so a seed gives the same results
with and without numba; only the two likelihoods, for an estimator, may differ by rounding.
If numba is installed, `adaptive` chooses for each call; ``MURMURS_KERNELS=reference`` and
``MURMURS_KERNELS=compiled`` choose for all calls.
"""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

U8 = NDArray[np.uint8]
U32 = NDArray[np.uint32]
U64 = NDArray[np.uint64]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
F64 = NDArray[np.float64]
Shares = NDArray[np.floating[Any]]

FIRST = 8
"""Random words that each group of 64 bits reads first; undecided lanes then read spare words."""


class Kernels(Protocol):
    """The functions of both forms. Callers pass random words, and ``spare`` words for redraws.

    Kernels that use spare words return how many. If that is more than there are, the result is
    invalid and the kernel must be called again with more.
    """

    def bits(self, words: U64, threshold: U8, spare: U64, out: U64) -> int:
        """Set each of the 64 bits of each ``out`` with probability 0.threshold (binary digits).

        ``words`` has min(FIRST, len(threshold)) words for each group. The bits of a lane in
        successive words form a binary number; the lane is one if that is below the threshold.
        """
        ...

    def lanes(self, planes: U64, digits: U8, ones: U64, places: I64) -> int:
        """Set each bit of ``ones`` with probability 0.digits (binary), and list the undecided ones.

        Bit b of word i in line j of ``planes`` is the j-th throw of lane 64 i + b. The first throw
        that is zero makes the lane digit j. Lanes whose throws are all one are not set. Returns how
        many these are, and lists as many as there are ``places`` for, in rising order.
        """
        ...

    def below(self, words: U32, bound: int, spare: U32, out: U32) -> int:
        """Reduce words to 0..bound-1, exactly uniform: biased words are redrawn from spare."""
        ...

    def subsets(self, own: I64, k: int, w: int, words: U32, spare: U32, out: U8) -> int:
        """Write uniform w-subsets of 0..k-1 as packed bits, each with ``own`` if own >= 0."""
        ...

    def histogram(self, values: NDArray[np.unsignedinteger[Any]], size: int) -> I64:
        """Count how often each of 0..size-1 occurs; the caller has checked the range."""
        ...

    def sharded(self, hashes: U64, count: int) -> tuple[U64, I64]:
        """Return the numbers ordered by their first bits, and where each shard begins and ends.

        ``count`` is a power of two up to 2**16; within a shard, numbers stay in their order.
        """
        ...

    def repeated(self, hashes: U64) -> U64:
        """Return the numbers that occur more than once, each once, in rising order.

        It is fast if the first bits tell most of them apart, as those of hashes do.
        """
        ...

    def bit_totals(self, packed: U8, k: int) -> I64:
        """Count, for each of k columns, the rows of packed bits in which it is set."""
        ...

    def support_totals(self, seeds: U32, low: U32, width: U32, k: int) -> I64:
        """Count, for each key 0..k-1, the rows with hash(key, seed) - low < width (mod 2**32)."""
        ...

    def text_keys(self, letters: I32, sizes: I64, table: U8, widths: I64) -> U64:
        """Return the four 64-bit numbers of the SHA-256 of each text, one line for each number.

        Row i of ``letters`` has the numbers of the first ``sizes[i]`` letters of text i. Letter j
        is the first ``widths[j]`` bytes of row j of the table.
        """
        ...

    def places(self, keys: U64, salt: int, rows: int, width: int, hashes: int) -> U32:
        """Hash every answer into every row, one line of the result for each hash of each row.

        Hash i of row r is number j = r * hashes + i. It has the seed salt + j and takes line
        j mod (the number of lines) of the keys. An entry is r * width + bucket, or rows * width if
        an earlier hash of the row already has that bucket.
        """
        ...

    def gather(self, places: U32, table: F64) -> F64:
        """Add up, for each key, the entries of the table at its buckets."""
        ...

    def hashed_totals(
        self, keys: U64, salt: int, rows: int, width: int, hashes: int, tables: F64
    ) -> F64:
        """Add up the entries of each table at the buckets of each key, which are not kept.

        It is `gather` after `places`, in the same order; a table has one line for each row.
        """
        ...

    def scatter(self, places: U32, values: F64, size: int) -> F64:
        """Add the value of each key to a new table at all its buckets; the adjoint of `gather`."""
        ...

    def gram(self, places: U32, table: F64, hashes: int) -> F64:
        """Add up, for each pair of keys, the entries of the table at the buckets they share."""
        ...

    def support_likelihood(self, rows: U8, shares: F64, excess: float) -> tuple[float, F64, float]:
        """Evaluate the sum of log L, L = 1 + excess * (share of the answers set in a row of bits).

        Returns the sum of 1 / L, for each bit the sum of 1 / L over the rows that have it set, and
        the sum of log L.
        """
        ...

    def pair_likelihood(
        self, one: U8, two: U8, table: Shares, excess: tuple[float, float]
    ) -> tuple[F64, float]:
        """Evaluate the sum of log L, L = sum of table[a, b] (1 + e a-bit) (1 + e' b-bit).

        Row i of ``one`` and of ``two`` are the bits of a person's two reports; the table has one
        line per bit of the first and one column per bit of the second, and decides the precision,
        single or double. Returns the derivative by each entry of the table, and the sum of log L.
        """
        ...


@cache
def load() -> Kernels:
    """Return the kernels: with numba, compiled ones where that pays; without it, those of NumPy."""
    wanted = os.environ.get("MURMURS_KERNELS", "")
    if wanted not in ("", "reference", "compiled"):
        raise ValueError(f"MURMURS_KERNELS must be reference or compiled, not {wanted!r}")
    name = wanted or ("adaptive" if find_spec("numba") else "reference")
    module = import_module(f"murmurs.kernels.{name}")
    return cast(Kernels, module.Adaptive() if name == "adaptive" else module)
