"""The kernels in NumPy, which the compiled ones are tested against."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurs.kernels import F64, FIRST, I32, I64, U8, U32, U64, Shares
from murmurs.numerics.xxh32 import buckets, hash_keys

_ROWS = 255
"""The most rows whose bits can be added in single bytes."""

_PAIRS = 2**18
"""About how many pairs of keys are listed at a time."""

_HASHED = 2**22
"""About how many buckets are hashed at a time."""


def bits(words: U64, threshold: U8, spare: U64, out: U64) -> int:
    """Compare 64 binary numbers with the threshold at once, from the highest digit down."""
    out[:] = 0
    undecided = np.full(len(out), np.uint64(2**64 - 1))
    first = min(FIRST, len(threshold))
    by_digit = words.reshape(len(out), first)
    for digit in range(first):
        _compare(by_digit[:, digit], threshold[digit], undecided, out)
    used = 0
    open_groups = np.flatnonzero(undecided)
    for digit in range(first, len(threshold)):
        if not len(open_groups):
            break
        end = used + len(open_groups)
        if end > len(spare):
            return end
        part, decided = undecided[open_groups], out[open_groups]
        _compare(spare[used:end], threshold[digit], part, decided)
        undecided[open_groups], out[open_groups] = part, decided
        open_groups = open_groups[part != 0]
        used = end
    return used


def _compare(words: U64, digit: np.uint8, undecided: U64, out: U64) -> None:
    if digit:
        out |= undecided & ~words
        undecided &= words
    else:
        undecided &= ~words


def lanes(planes: U64, digits: U8, ones: U64, places: I64) -> int:
    """Keep the lanes whose throws were all one so far; the others have their digit."""
    still = planes[0].copy()
    ones[:] = np.uint64(2**64 - 1) if digits[0] else 0
    # Between equal digits nothing changes: only where they differ are lanes turned.
    for plane, before, digit in zip(planes[1:], digits, digits[1:], strict=False):
        if before != digit:
            ones ^= still
        still &= plane
    if digits[-1]:
        ones ^= still
    found: list[I64] = []
    at = np.flatnonzero(still)
    left = still[at]
    while len(at):
        low = left & (~left + np.uint64(1))
        found.append(at * 64 + np.bitwise_count(low - np.uint64(1)))
        left ^= low
        some = left != 0
        at, left = at[some], left[some]
    listed = np.sort(np.concatenate(found)) if found else np.zeros(0, np.int64)
    places[: len(listed)] = listed[: len(places)]
    return len(listed)


def below(words: U32, bound: int, spare: U32, out: U32) -> int:
    """Multiply by the bound and keep the upper half; redraw if the lower half shows a bias."""
    product = words.astype(np.uint64) * np.uint64(bound)
    out[:] = product >> np.uint64(32)
    biased = product & np.uint64(2**32 - 1) < np.uint64(2**32 % bound)
    used = 0
    for position in np.flatnonzero(biased):
        value, used = _redraw(bound, spare, used)
        out[position] = value
    return used


def _redraw(bound: int, spare: U32, used: int) -> tuple[int, int]:
    """Draw one number from spare words; past the end, only count the words needed."""
    while used < len(spare):
        product = int(spare[used]) * bound
        used += 1
        if product % 2**32 >= 2**32 % bound:
            return product >> 32, used
    return 0, used + 1


def subsets(own: I64, k: int, w: int, words: U32, spare: U32, out: U8) -> int:
    """Sample distinct numbers by Floyd's method: draw from 0..j, or take j if that is taken."""
    n = len(own)
    forced = own >= 0
    draws = np.empty((n, w), np.int64)
    # The largest number that each draw may give; the first one of a forced row is not used.
    last = np.maximum(k - w + np.arange(w) - forced[:, None], 0)
    used = 0
    product = words.reshape(n, w).astype(np.uint64) * (last + 1).astype(np.uint64)
    draws[:] = product >> np.uint64(32)
    biased = product & np.uint64(2**32 - 1) < np.uint64(2**32) % (last + 1).astype(np.uint64)
    biased[forced, 0] = False
    for row, column in np.argwhere(biased):
        draws[row, column], used = _redraw(int(last[row, column]) + 1, spare, used)
    taken = np.zeros((n, k), bool)
    every = np.arange(n)
    for d in range(w):
        rows = every if d else every[~forced]  # a forced own answer replaces the first draw
        draw = draws[rows, d]
        draw = np.where(taken[rows, draw], last[rows, d], draw)
        taken[rows, draw] = True
    # A forced row chose among the k - 1 others, numbered without its own answer: make room for it.
    for row in np.flatnonzero(forced):
        x = int(own[row])
        taken[row, x + 1 :] = taken[row, x:-1].copy()
        taken[row, x] = True
    out[:] = np.packbits(taken, axis=1, bitorder="little")
    return used


def histogram(values: NDArray[np.unsignedinteger[Any]], size: int) -> I64:
    """Count how often each of 0..size-1 occurs."""
    total = np.zeros(size, np.int64)
    for start in range(0, len(values), 2**20):  # bincount copies, eight bytes per value
        total += np.bincount(values[start : start + 2**20].astype(np.int64), minlength=size)
    return total


def sharded(hashes: U64, count: int) -> tuple[U64, I64]:
    """Sort the numbers of the shards, which NumPy does digit by digit."""
    shift = np.uint64(65 - count.bit_length())
    shards = (hashes >> shift if count > 1 else np.zeros_like(hashes)).astype(np.uint16)
    sizes = np.bincount(shards, minlength=count)
    return hashes[np.argsort(shards, kind="stable")], np.append(0, np.cumsum(sizes))


def repeated(hashes: U64) -> U64:
    """Sort the numbers, and compare neighbours."""
    ordered = np.sort(hashes)
    return np.unique(ordered[1:][ordered[1:] == ordered[:-1]])


def bit_totals(packed: U8, k: int) -> I64:
    """Count the set bits of each column, in blocks whose sums fit in a byte."""
    total = np.zeros(packed.shape[1] * 8, np.int64)
    rows = max(1, min(_ROWS, 2**21 // packed.shape[1]))  # unpacked, 16 MiB or one report
    for start in range(0, len(packed), rows):
        block = np.unpackbits(packed[start : start + rows], axis=1, bitorder="little")
        total += block.sum(axis=0, dtype=np.uint8)
    return total[:k]


def support_totals(seeds: U32, low: U32, width: U32, k: int) -> I64:
    """Hash every key with every seed, about a million hashes at a time."""
    total = np.zeros(k, np.int64)
    keys = np.arange(k, dtype=np.uint64)
    rows = max(1, 2**20 // k)
    for start in range(0, len(seeds), rows):
        part = slice(start, start + rows)
        hashes = hash_keys(keys[None, :], seeds[part, None])
        total += (hashes - low[part, None] < width[part, None]).sum(axis=0)
    return total


def text_keys(letters: I32, sizes: I64, table: U8, widths: I64) -> U64:
    """Hash one text after another."""
    listed = [row[:width].tobytes() for row, width in zip(table, widths.tolist(), strict=True)]
    digests = [
        hashlib.sha256(b"".join([listed[letter] for letter in row[:size]])).digest()
        for row, size in zip(letters.tolist(), sizes.tolist(), strict=True)
    ]
    by_text = np.frombuffer(b"".join(digests), "<u8").reshape(-1, 4)
    return np.ascontiguousarray(by_text.T, np.uint64)


def places(keys: U64, salt: int, rows: int, width: int, hashes: int) -> U32:
    """Hash all keys at once, one hash of one row after another."""
    out = np.empty((rows * hashes, keys.shape[1]), np.uint32)
    for place in range(rows * hashes):
        row, i = divmod(place, hashes)
        seed = np.array([(salt + place) % 2**32], np.uint32)
        out[place] = row * width + buckets(keys[place % len(keys)], seed, width)
        for earlier in range(place - i, place):
            out[place][out[place] == out[earlier]] = rows * width
    return out


def gather(places: U32, table: F64) -> F64:
    """Look up all keys, one hash of one row after another."""
    total = np.zeros(places.shape[1])
    for at in places:
        total += table[at]
    return total


def hashed_totals(keys: U64, salt: int, rows: int, width: int, hashes: int, tables: F64) -> F64:
    """Hash and look up some keys after others."""
    flat = [np.append(table.ravel(), 0.0) for table in tables]
    out = np.empty((len(tables), keys.shape[1]))
    size = max(1, _HASHED // (rows * hashes))
    for start in range(0, keys.shape[1], size):
        part = slice(start, start + size)
        found = places(keys[:, part], salt, rows, width, hashes)
        for line, table in zip(out, flat, strict=True):
            line[part] = gather(found, table)
    return out


def scatter(places: U32, values: F64, size: int) -> F64:
    """Add all values, one hash of one row after another."""
    out = np.zeros(size)
    for at in places:
        np.add.at(out, at, values)  # in the order of the keys, like the compiled form
    return out


def gram(places: U32, table: F64, hashes: int) -> F64:
    """List the keys of each bucket, and add its entry to all their pairs; some rows at a time."""
    m, k = places.shape
    out = np.zeros(k * k)
    size = len(table) - 1
    pairs = max(1, k * hashes * (1 + k * m // max(size, 1)))  # in a row, about
    step = hashes * max(1, _PAIRS // pairs)
    for start in range(0, m, step):
        part = places[start : start + step]
        keys, flat = np.tile(np.arange(k), len(part)), part.ravel()
        order = np.argsort(flat, kind="stable")[: np.count_nonzero(flat < size)]
        at, keys = flat[order], keys[order]
        first = np.flatnonzero(np.diff(at, prepend=np.uint32(size)))
        together = np.diff(np.append(first, len(at)))  # how many keys each bucket has
        first, together = np.repeat(first, together), np.repeat(together, together)
        one = np.repeat(np.arange(len(at)), together)
        within = np.arange(len(one)) - np.repeat(np.cumsum(together) - together, together)
        other = np.repeat(first, together) + within
        # In the order of the buckets, like the compiled form.
        np.add.at(out, keys[one] * k + keys[other], table[at[one]])
    return out.reshape(k, k)


def support_likelihood(rows: U8, shares: F64, excess: float) -> tuple[float, F64, float]:
    """Look up shares in tables of 256 entries, one for each byte of bits, and add up likewise."""
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
    tables = bits @ shares.reshape(-1, 8).T  # the share of every byte value, for every byte
    total, height = 0.0, 0.0
    back = np.zeros((rows.shape[1], 256))
    for start in range(0, len(rows), 2**16):
        part = rows[start : start + 2**16]
        likelihood = 1 + excess * sum(tables[part[:, b], b] for b in range(rows.shape[1]))
        inverse = 1 / likelihood
        total += float(inverse.sum())
        height += float(np.log(likelihood).sum())
        for b in range(rows.shape[1]):
            back[b] += np.bincount(part[:, b], weights=inverse, minlength=256)
    return total, (back @ bits).ravel(), height


def pair_likelihood(
    one: U8, two: U8, table: Shares, excess: tuple[float, float]
) -> tuple[F64, float]:
    """Multiply matrices of likelihoods, some people at a time."""
    out, height = np.zeros(table.shape), 0.0
    for start in range(0, len(one), 2**12):
        left, right = (
            1
            + np.unpackbits(rows[start : start + 2**12], axis=1, bitorder="little").astype(
                table.dtype
            )
            * table.dtype.type(e)
            for rows, e in zip((one, two), excess, strict=True)
        )
        likelihood = np.einsum("ij,ij->i", left @ table, right)
        height += float(np.log(likelihood).sum(dtype=np.float64))
        right /= likelihood[:, None]
        out += left.T @ right
    return out, height
