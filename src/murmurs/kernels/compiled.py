"""The kernels compiled by numba, with the results of `murmurs.kernels.reference`."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from murmurs.kernels import F64, FIRST, I32, I64, U8, U32, U64, Shares
from murmurs.numerics import sha256
from murmurs.numerics.xxh32 import P2, P3, P4, P5

_P2, _P3, _P4 = np.uint32(P2), np.uint32(P3), np.uint32(P4)
_START = np.uint32((P5 + 8) % 2**32)
_EVERY_EIGHTH = np.uint64(0x0101010101010101)
_LANES = np.uint64(2**64 - 1)
_TILE = 2048
_SHA_START = np.array(sha256.START, np.uint32)
_SHA_ROUNDS = np.array(sha256.ROUNDS, np.uint32)

_TABLE = 2**13
"""Numbers in a table, about: it is twice as large, and stays in the processor's cache."""

_PEOPLE = 2**14
"""People in a block: its sums in single precision are exact to about 3e-8."""


@njit(nogil=True, cache=True)
def bits(words: U64, threshold: U8, spare: U64, out: U64) -> int:
    """Compare 64 binary numbers with the threshold at once, from the highest digit down."""
    n = len(out)
    first = min(FIRST, len(threshold))
    open_groups = np.empty(n, np.int64)
    lanes = np.empty(n, np.uint64)
    count = 0
    for i in range(n):
        undecided = _LANES
        ones = np.uint64(0)
        at = i * first
        for digit in range(first):
            word = words[at + digit]
            if threshold[digit]:
                ones |= undecided & ~word
                undecided &= word
            else:
                undecided &= ~word
        out[i] = ones
        if undecided != 0:
            open_groups[count] = i
            lanes[count] = undecided
            count += 1
    used = 0
    for digit in range(first, len(threshold)):
        if count == 0:
            break
        if used + count > len(spare):
            return used + count
        left = 0
        for j in range(count):
            word = spare[used + j]
            i, undecided = open_groups[j], lanes[j]
            if threshold[digit]:
                out[i] |= undecided & ~word
                undecided &= word
            else:
                undecided &= ~word
            if undecided != 0:
                open_groups[left] = i
                lanes[left] = undecided
                left += 1
        used += count
        count = left
    return used


@njit(nogil=True, cache=True)
def _lowest(word: np.uint64) -> int:
    """Return the number of the lowest bit that is set, by halves."""
    place = 0
    for half in (32, 16, 8, 4, 2, 1):
        if word & ((np.uint64(1) << np.uint64(half)) - np.uint64(1)) == 0:
            word >>= np.uint64(half)
            place += half
    return place


@njit(nogil=True, cache=True)
def lanes(planes: U64, digits: U8, ones: U64, places: I64) -> int:
    """Keep the lanes whose throws were all one so far; the others have their digit."""
    n = planes.shape[1]
    still = np.full(n, _LANES)
    ones[:] = np.uint64(0)
    for digit in range(len(digits)):
        plane = planes[digit]
        if digits[digit]:
            for i in range(n):
                ones[i] |= still[i] & ~plane[i]
                still[i] &= plane[i]
        else:
            for i in range(n):
                still[i] &= plane[i]
    count = 0
    for i in range(n):
        left = still[i]
        while left != 0:
            if count < len(places):
                places[count] = i * 64 + _lowest(left)
            count += 1
            left &= left - np.uint64(1)
    return count


@njit(nogil=True, cache=True)
def below(words: U32, bound: int, spare: U32, out: U32) -> int:
    """Multiply by the bound and keep the upper half; redraw if the lower half shows a bias."""
    wide = np.uint64(bound)
    limit = np.uint32(2**32 % bound)
    used = 0
    for i in range(len(words)):
        product = np.uint64(words[i]) * wide
        while np.uint32(product) < limit:
            if used >= len(spare):
                return used + 1
            product = np.uint64(spare[used]) * wide
            used += 1
        out[i] = np.uint32(product >> np.uint64(32))
    return used


@njit(nogil=True, cache=True)
def _small_subsets(own: I64, k: int, w: int, words: U32, spare: U32, out: U8) -> int:
    """Do what `subsets` does for k up to 128, twice as fast: the bits stay in two registers."""
    used = 0
    limits = np.empty(w + 1, np.uint32)
    for d in range(1, w + 1):
        limits[d] = np.uint32(2**32 % (k - w + d))
    one, half, low_bits = np.uint64(1), np.uint64(6), np.uint64(63)
    for i in range(len(own)):
        forced = 1 if own[i] >= 0 else 0
        skip = np.uint64(own[i]) if forced else np.uint64(k)
        at = np.uint64(i * w)
        low, high = np.uint64(0), np.uint64(0)
        for d in range(forced, w):
            bound = np.uint64(k - w + d - forced + 1)
            limit = limits[np.uint64(d + 1 - forced)]
            product = np.uint64(words[at + np.uint64(d)]) * bound
            while np.uint32(product) < limit:
                if used >= len(spare):
                    return used + 1
                product = np.uint64(spare[used]) * bound
                used += 1
            draw = product >> np.uint64(32)
            place = draw + np.uint64(draw >= skip)
            last = bound - one
            last += np.uint64(last >= skip)
            word = high if place >> half else low
            place = last if word >> (place & low_bits) & one else place
            upper = place >> half
            high |= upper << (place & low_bits)
            low |= (one - upper) << (place & low_bits)
        if forced:
            upper = skip >> half
            high |= upper << (skip & low_bits)
            low |= (one - upper) << (skip & low_bits)
        for j in range(out.shape[1]):
            word = low if j < 8 else high
            out[i, j] = np.uint8(word >> np.uint64(8 * (j & 7)))
    return used


@njit(nogil=True, cache=True)
def subsets(own: I64, k: int, w: int, words: U32, spare: U32, out: U8) -> int:
    """Sample distinct numbers by Floyd's method: draw from 0..j, or take j if that is taken."""
    if k <= 128:
        return int(_small_subsets(own, k, w, words, spare, out))
    # Indices are unsigned: numba would test signed ones for being negative at every access.
    used = 0
    limits = np.empty(w + 1, np.uint32)
    for d in range(1, w + 1):
        limits[d] = np.uint32(2**32 % (k - w + d))
    flat = out.reshape(-1)
    flat[:] = 0
    for i in range(len(own)):
        forced = 1 if own[i] >= 0 else 0
        # A forced row chooses among the k - 1 others: its own answer is skipped in the numbering.
        skip = np.uint64(own[i]) if forced else np.uint64(k)
        start, at = np.uint64(i * out.shape[1]), np.uint64(i * w)
        for d in range(forced, w):
            bound = np.uint64(k - w + d - forced + 1)
            limit = limits[np.uint64(d + 1 - forced)]
            product = np.uint64(words[at + np.uint64(d)]) * bound
            while np.uint32(product) < limit:
                if used >= len(spare):
                    return used + 1
                product = np.uint64(spare[used]) * bound
                used += 1
            draw = product >> np.uint64(32)
            place = draw + np.uint64(draw >= skip)
            last = bound - np.uint64(1)
            last += np.uint64(last >= skip)
            byte = flat[start + (place >> np.uint64(3))]
            taken = np.uint64(byte >> np.uint8(place & np.uint64(7))) & np.uint64(1)
            place = last if taken else place
            flat[start + (place >> np.uint64(3))] |= np.uint8(1) << np.uint8(place & np.uint64(7))
        if forced:
            flat[start + (skip >> np.uint64(3))] |= np.uint8(1) << np.uint8(skip & np.uint64(7))
    return used


@njit(nogil=True, cache=True)
def histogram(values: NDArray[np.unsignedinteger[Any]], size: int) -> I64:
    """Count how often each of 0..size-1 occurs; two tables, so equal neighbours need not wait."""
    even = np.zeros(size, np.int64)
    odd = np.zeros(size, np.int64)
    for i in range(0, len(values) - 1, 2):
        even[values[i]] += 1
        odd[values[i + 1]] += 1
    if len(values) % 2:
        even[values[len(values) - 1]] += 1
    return even + odd


@njit(nogil=True, cache=True)
def sharded(hashes: U64, count: int) -> tuple[U64, I64]:
    """Count the numbers of each shard, then put each number where its shard is."""
    shift = np.uint64(64)
    while np.uint64(count) >> (np.uint64(64) - shift) > np.uint64(1):
        shift -= np.uint64(1)
    ends = np.zeros(count + 1, np.int64)
    if count == 1:  # a shift by 64 does nothing
        ends[1] = len(hashes)
        return hashes.copy(), ends
    for value in hashes:
        ends[np.int64(value >> shift) + 1] += 1
    for shard in range(count):
        ends[shard + 1] += ends[shard]
    at = ends[:-1].copy()
    out = np.empty_like(hashes)
    for value in hashes:
        own = np.int64(value >> shift)
        out[at[own]] = value
        at[own] += 1
    return out, ends


def repeated(hashes: U64) -> U64:
    """Put the numbers in tables that fit in the processor's cache, one for each shard."""
    return np.unique(_repeated(hashes))


@njit(nogil=True, cache=True)
def _repeated(hashes: U64) -> U64:
    """Return the numbers that another one came before, in any order."""
    bits = 0
    while len(hashes) >> bits > _TABLE and bits < 16:
        bits += 1
    ordered, ends = sharded(hashes, 1 << bits)
    most = np.max(ends[1:] - ends[:-1])
    size, unused = 2, np.uint64(63)
    while size < 2 * most:
        size, unused = 2 * size, unused - np.uint64(1)
    table, is_taken = np.empty(size, np.uint64), np.empty(size, np.bool_)
    found, count = np.empty_like(hashes), 0
    for shard in range(len(ends) - 1):
        is_taken[:] = False
        for i in range(ends[shard], ends[shard + 1]):
            value = ordered[i]
            place = np.int64((value << np.uint64(bits)) >> unused)
            while is_taken[place] and table[place] != value:
                place = (place + 1) & (size - 1)
            if is_taken[place]:
                found[count] = value
                count += 1
            table[place], is_taken[place] = value, True
    return found[:count]


@njit(nogil=True, cache=True)
def _add_bits(words: U64, sums: U64) -> None:
    """Add at most 255 rows of words into byte-wide sums, one plane for each bit of a byte."""
    for i in range(words.shape[0]):
        for j in range(words.shape[1]):
            word = words[i, j]
            for place in range(8):
                sums[place, j] += word >> np.uint64(place) & _EVERY_EIGHTH


@njit(nogil=True, cache=True)
def bit_totals(packed: U8, k: int) -> I64:
    """Count the set bits of each column, in blocks whose sums fit in a byte."""
    n, size = packed.shape
    total = np.zeros(size * 8, np.int64)
    if size % 8 == 0:
        words = packed.view(np.uint64)
        sums = np.zeros((8, size // 8), np.uint64)
        for start in range(0, n, 255):
            sums[:] = 0
            _add_bits(words[start : start + 255], sums)
            for place in range(8):
                for j in range(size):
                    byte = sums[place, j >> 3] >> np.uint64(8 * (j & 7)) & np.uint64(255)
                    total[8 * j + place] += np.int64(byte)
        return total[:k]
    spread = np.zeros(256, np.uint64)
    for byte in range(256):
        for place in range(8):
            if byte >> place & 1:
                spread[byte] |= np.uint64(1) << np.uint64(8 * place)
    bytewise = np.zeros(size, np.uint64)
    for start in range(0, n, 255):
        bytewise[:] = 0
        for i in range(start, min(start + 255, n)):
            for j in range(size):
                bytewise[j] += spread[packed[i, j]]
        for j in range(size):
            for place in range(8):
                total[8 * j + place] += np.int64(
                    bytewise[j] >> np.uint64(8 * place) & np.uint64(255)
                )
    return total[:k]


@njit(nogil=True, cache=True)
def _finish(h: np.uint32) -> np.uint32:
    """Return XXH32 of a key, given its state after adding the upper half."""
    h = np.uint32((h << np.uint32(17) | h >> np.uint32(15)) * _P4)
    h = np.uint32((h ^ h >> np.uint32(15)) * _P2)
    h = np.uint32((h ^ h >> np.uint32(13)) * _P3)
    return h ^ h >> np.uint32(16)


@njit(nogil=True, cache=True)
def support_totals(seeds: U32, low: U32, width: U32, k: int) -> I64:
    """Hash every key with every seed, in tiles of keys that stay in the nearest cache."""
    total = np.zeros(k, np.int64)
    sums = np.zeros(_TILE, np.uint32)
    products = np.empty(_TILE, np.uint32)
    n = len(seeds)
    for first in range(0, k, _TILE):
        size = min(_TILE, k - first)
        for j in range(size):
            products[j] = np.uint32(first + j) * _P3
        for start in range(0, n, 2**31):
            sums[:] = 0
            for i in range(start, min(start + 2**31, n)):
                seed = np.uint32(seeds[i] + _START)
                lo, wide = low[i], width[i]
                for j in range(size):
                    h = np.uint32(seed + products[j])
                    h = np.uint32((h << np.uint32(17) | h >> np.uint32(15)) * _P4)
                    h = _finish(h)  # the upper half of these keys is zero
                    sums[j] += np.uint32(np.uint32(h - lo) < wide)
            for j in range(size):
                total[first + j] += sums[j]
    return total


@njit(nogil=True, cache=True)
def _add_block(state: U32, block: U8, words: U32) -> None:
    """Add a block of 64 bytes to the state of SHA-256 (FIPS 180-4, section 6.2.2)."""
    for t in range(16):
        words[t] = (
            np.uint32(block[4 * t]) << np.uint32(24)
            | np.uint32(block[4 * t + 1]) << np.uint32(16)
            | np.uint32(block[4 * t + 2]) << np.uint32(8)
            | np.uint32(block[4 * t + 3])
        )
    for t in range(16, 64):
        x, y = words[t - 15], words[t - 2]
        small = _turned(x, 7) ^ _turned(x, 18) ^ x >> np.uint32(3)
        large = _turned(y, 17) ^ _turned(y, 19) ^ y >> np.uint32(10)
        words[t] = np.uint32(words[t - 16] + small + words[t - 7] + large)
    a, b, c, d = state[0], state[1], state[2], state[3]
    e, f, g, h = state[4], state[5], state[6], state[7]
    for t in range(64):
        large = _turned(e, 6) ^ _turned(e, 11) ^ _turned(e, 25)
        first = np.uint32(h + large + (e & f ^ ~e & g) + _SHA_ROUNDS[t] + words[t])
        small = _turned(a, 2) ^ _turned(a, 13) ^ _turned(a, 22)
        second = np.uint32(small + (a & b ^ a & c ^ b & c))
        h, g, f, e = g, f, e, np.uint32(d + first)
        d, c, b, a = c, b, a, np.uint32(first + second)
    for i, x in enumerate((a, b, c, d, e, f, g, h)):
        state[i] = np.uint32(state[i] + x)


@njit(nogil=True, cache=True)
def _turned(x: np.uint32, by: int) -> np.uint32:
    """Return a word rotated to the right."""
    return np.uint32(x >> np.uint32(by) | x << np.uint32(32 - by))


@njit(nogil=True, cache=True)
def text_keys(letters: I32, sizes: I64, table: U8, widths: I64) -> U64:
    """Hash one text after another, without leaving compiled code."""
    out = np.empty((4, len(sizes)), np.uint64)
    state, block, words = np.empty(8, np.uint32), np.empty(64, np.uint8), np.empty(64, np.uint32)
    for i in range(len(sizes)):
        state[:] = _SHA_START
        filled, total = 0, 0
        for j in range(sizes[i]):
            letter = letters[i, j]
            for k in range(widths[letter]):
                block[filled] = table[letter, k]
                filled, total = filled + 1, total + 1
                if filled == 64:
                    _add_block(state, block, words)
                    filled = 0
        block[filled] = 0x80
        block[filled + 1 :] = 0
        if filled >= 56:  # the length no longer fits
            _add_block(state, block, words)
            block[:] = 0
        for k in range(8):
            block[63 - k] = 8 * total >> 8 * k & 255
        _add_block(state, block, words)
        for k in range(4):
            number = np.uint64(0)
            for half in range(2):  # bytes of the digest, the lowest first
                word = state[2 * k + half]
                for byte in range(4):
                    at = np.uint64(8 * (4 * half + byte))
                    number |= np.uint64(word >> np.uint32(24 - 8 * byte) & np.uint32(255)) << at
            out[k, i] = number
    return out


@njit(nogil=True, cache=True)
def places(keys: U64, salt: int, rows: int, width: int, hashes: int) -> U32:
    """Hash all keys, one hash of one row after another."""
    lines, k = keys.shape
    out = np.empty((rows * hashes, k), np.uint32)
    nowhere = np.uint32(rows * width)
    for place in range(rows * hashes):
        row = place // hashes
        seed = np.uint32(np.uint32(salt + place) + _START)
        line = place % lines
        for j in range(k):
            lower = np.uint32(keys[line, j] & np.uint64(0xFFFFFFFF))
            upper = np.uint32(keys[line, j] >> np.uint64(32))
            h = np.uint32(seed + lower * _P3)
            h = np.uint32((h << np.uint32(17) | h >> np.uint32(15)) * _P4)
            h = _finish(np.uint32(h + upper * _P3))
            bucket = np.uint32(np.uint64(h) * np.uint64(width) >> np.uint64(32))
            at = np.uint32(np.uint32(row * width) + bucket)
            for earlier in range(row * hashes, place):
                if out[earlier, j] == at:
                    at = nowhere
                    break
            out[place, j] = at
    return out


@njit(nogil=True, cache=True)
def gather(places: U32, table: F64) -> F64:
    """Look up all keys, in tiles of keys that stay in the nearest cache."""
    m, k = places.shape
    total = np.zeros(k)
    for first in range(0, k, _TILE):
        last = min(first + _TILE, k)
        for row in range(m):
            for j in range(first, last):
                total[j] += table[places[row, j]]
    return total


@njit(nogil=True, cache=True)
def hashed_totals(keys: U64, salt: int, rows: int, width: int, hashes: int, tables: F64) -> F64:
    """Hash and look up the keys of a tile row by row, so that nothing leaves the nearest cache."""
    lines, k = keys.shape
    out = np.zeros((len(tables), k))
    lower, upper = np.empty((lines, _TILE), np.uint32), np.empty((lines, _TILE), np.uint32)
    found = np.empty((hashes, _TILE), np.uint32)
    entries = np.zeros(width + 1)  # the last one is for keys that have the bucket already
    for first in range(0, k, _TILE):
        size = min(_TILE, k - first)
        for line in range(lines):
            for j in range(size):
                key = keys[line, first + j]
                lower[line, j] = np.uint32(key & np.uint64(0xFFFFFFFF)) * _P3
                upper[line, j] = np.uint32(key >> np.uint64(32)) * _P3
        for place in range(rows * hashes):
            row, i = place // hashes, place % hashes
            seed = np.uint32(np.uint32(salt + place) + _START)
            low, high, at = lower[place % lines], upper[place % lines], found[i]
            for j in range(size):
                h = np.uint32(seed + low[j])
                h = np.uint32((h << np.uint32(17) | h >> np.uint32(15)) * _P4)
                h = _finish(np.uint32(h + high[j]))
                at[j] = np.uint32(np.uint64(h) * np.uint64(width) >> np.uint64(32))
            for earlier in range(i):
                for j in range(size):
                    if at[j] == found[earlier, j]:
                        at[j] = np.uint32(width)
            for t in range(len(tables)):
                entries[:width] = tables[t, row]
                for j in range(size):
                    out[t, first + j] += entries[at[j]]
    return out


@njit(nogil=True, cache=True)
def scatter(places: U32, values: F64, size: int) -> F64:
    """Add all values, one hash of one row after another."""
    m, k = places.shape
    out = np.zeros(size)
    for row in range(m):
        for j in range(k):
            out[places[row, j]] += values[j]
    return out


@njit(nogil=True, cache=True)
def gram(places: U32, table: F64, hashes: int) -> F64:
    """List the keys of each bucket of a row, and add its entry to all their pairs."""
    m, k = places.shape
    out = np.zeros((k, k))
    size = len(table) - 1
    if m == 0 or k == 0:
        return out
    width = size * hashes // m
    first = np.empty(width + 2, np.int64)
    keys = np.empty(k * hashes, np.int64)
    for row in range(m // hashes):
        first[:] = 0
        low = row * width
        for i in range(row * hashes, (row + 1) * hashes):
            for j in range(k):
                if places[i, j] < size:
                    first[places[i, j] - low + 2] += 1
        for place in range(2, width + 2):
            first[place] += first[place - 1]
        for i in range(row * hashes, (row + 1) * hashes):
            for j in range(k):
                if places[i, j] < size:
                    place = places[i, j] - low + 1
                    keys[first[place]] = j
                    first[place] += 1
        for place in range(width):
            entry = table[low + place]
            for a in range(first[place], first[place + 1]):
                for b in range(first[place], first[place + 1]):
                    out[keys[a], keys[b]] += entry
    return out


@njit(nogil=True, cache=True)
def support_likelihood(rows: U8, shares: F64, excess: float) -> tuple[float, F64, float]:
    """Look up shares in tables of 256 entries, one for each byte of bits, and add up likewise."""
    n, size = rows.shape
    tables = np.zeros((size, 256))
    for b in range(size):
        for byte in range(1, 256):
            low = byte & -byte
            place = 0
            while low >> place != 1:
                place += 1
            tables[b, byte] = tables[b, byte ^ low] + shares[8 * b + place]
    back = np.zeros((size, 256))
    total, height, product = 0.0, 0.0, 1.0
    for i in range(n):
        share = 0.0
        for b in range(size):
            share += tables[b, rows[i, b]]
        likelihood = 1 + excess * share
        inverse = 1 / likelihood
        total += inverse
        product *= likelihood
        if not 1e-200 < product < 1e200:  # one logarithm for many factors
            height += np.log(product)
            product = 1.0
        for b in range(size):
            back[b, rows[i, b]] += inverse
    height += np.log(product)
    by_answer = np.zeros(8 * size)
    for b in range(size):
        for byte in range(256):
            for place in range(8):
                if byte >> place & 1:
                    by_answer[8 * b + place] += back[b, byte]
    return total, by_answer, height


def pair_likelihood(
    one: U8, two: U8, table: Shares, excess: tuple[float, float]
) -> tuple[F64, float]:
    """Compute blocks of people on all processors, and add them up in their order."""
    blocks = [slice(start, start + _PEOPLE) for start in range(0, len(one), _PEOPLE)]

    def part(which: slice) -> tuple[F64, float]:
        found: tuple[F64, float] = _pair_block(one[which], two[which], table, excess)
        return found

    out, height = np.zeros(table.shape), 0.0
    with ThreadPoolExecutor(min(os.cpu_count() or 1, max(1, len(blocks)))) as pool:
        for slopes, here in pool.map(part, blocks):
            out += slopes
            height += here
    return out, height


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"})
def _pair_block(one: U8, two: U8, table: Shares, excess: tuple[float, float]) -> tuple[F64, float]:
    """Look up sums of lines of the table, one for each byte of bits, and add up likewise."""
    (n, size), k = one.shape, table.shape[1]
    unit = table.dtype.type(1)
    more, far = table.dtype.type(excess[0]), table.dtype.type(1 + excess[1])
    base = np.zeros(k, table.dtype)
    for a in range(8 * size):
        for j in range(k):
            base[j] += table[a, j]
    lines = np.zeros((size, 256, k), table.dtype)
    for b in range(size):
        for byte in range(1, 256):
            low = byte & -byte
            place = 0
            while low >> place != 1:
                place += 1
            for j in range(k):
                lines[b, byte, j] = lines[b, byte ^ low, j] + more * table[8 * b + place, j]
    spread = np.ones((256, 8), table.dtype)  # the likelihoods of eight bits of the second report
    for byte in range(256):
        for place in range(8):
            if byte >> place & 1:
                spread[byte, place] = far
    back = np.zeros((size, 256, k), table.dtype)
    total = np.zeros(k)
    left, right = np.empty(k, table.dtype), np.empty(k, table.dtype)
    height, product = 0.0, 1.0
    for i in range(n):
        for b in range(k // 8):
            for place in range(8):
                right[8 * b + place] = spread[two[i, b], place]
        left[:] = base
        for b in range(size):
            line = lines[b, one[i, b]]
            for j in range(k):
                left[j] += line[j]
        likelihood: Any = 0 * unit
        for j in range(k):
            likelihood += left[j] * right[j]
        product *= likelihood
        if not 1e-200 < product < 1e200:  # one logarithm for many factors
            height += np.log(product)
            product = 1.0
        inverse = unit / likelihood
        for j in range(k):
            right[j] *= inverse
            total[j] += right[j]
        for b in range(size):
            line = back[b, one[i, b]]
            for j in range(k):
                line[j] += right[j]
    height += np.log(product)
    out = np.zeros((8 * size, k))
    for b in range(size):
        for byte in range(256):
            for place in range(8):
                if byte >> place & 1:
                    for j in range(k):
                        out[8 * b + place, j] += back[b, byte, j]
    for a in range(8 * size):
        for j in range(k):
            out[a, j] = total[j] + excess[0] * out[a, j]
    return out, height
