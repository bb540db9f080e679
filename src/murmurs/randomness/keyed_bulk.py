"""Chance for many rows at once that depends on each row alone: its key, its answer, the secret.

`Keyed` says what a row reads. A draw takes the row's next bytes, from a multiple of its own size:

- a 32-bit word (``words``, ``below``) takes four bytes, x. The number below a bound is x * bound
  >> 32, unless x * bound mod 2**32 is less than 2**32 mod bound: then x is the first four bytes of
  the further block a = 1, 2, ... of the draw, until one fits. ``subsets`` takes as many words as
  members, from a multiple of 16 bytes, for Floyd's method as in `murmurs.kernels`;
- ``chance`` takes eight bytes, v, and is true if v is less than the first 64 binary digits of the
  probability. If it equals them and there are more digits, the next 64 are compared with the
  first eight bytes of the further block 1, and so on;
- ``wide``, for bounds above 2**32, takes eight bytes and keeps as many of the highest bits as
  bound - 1 has; if they are not below the bound, it does so with those of the further blocks;
- ``packed`` takes whole blocks, from a multiple of 16 bytes. A row of bits is padded to 1, 2, 4, 8
  or a multiple of 16 bytes. So many bytes are a throw of all bits. There are eight throws, or
  sixteen of a single byte, or as many as the probability has binary digits if that is less. The
  first throw of a bit that is zero makes it the digit of that number. A bit whose throws are all
  one is decided by the digits that are left, as ``chance`` does, but with the further blocks
  a = 2**32 * (number of the bit) + 1, + 2, ...; p is the first byte of all throws;
- ``each`` takes eight bytes, which are not used. The person reads the further blocks of the draw.

A probability of 0 or 1 takes nothing. Draws of some rows move those rows on and no others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurs.kernels import I64, U8, U32, U64
from murmurs.privacy import SCALE
from murmurs.randomness.bulk import Bulk, binary_digits
from murmurs.randomness.deciding import (
    biased,
    bits_at,
    by_row,
    last_of_draws,
    less,
    more_digits,
    planes_of,
)
from murmurs.randomness.keyed import Keyed
from murmurs.randomness.row_streams import BLOCK, Positions, Streams, Tags, Texts, room
from murmurs.randomness.verbs import FromBytes, Randomness, check_size

PIECE = 2**18
"""Bytes that are encrypted at a time, which stay in the processor's cache."""

OPEN = 2**13
"""About how many bits that throws leave open are decided together."""

AHEAD = 4
"""Blocks that are read ahead for a person who draws one number after another."""

_FURTHER = np.uint64(2**63)
"""Marks further blocks of a draw, so that none is one of those that are read in order."""

_NONE = np.zeros(0, np.uint32)
"""No spare words: what they would replace is drawn again before."""


class KeyedTable:
    """The rows of a call with their keys, before they are encoded part by part."""

    def __init__(self, keyed: Keyed, n: int, mechanism: str, texts: Sequence[Texts]) -> None:
        keyed.check_people(n)
        self._keys, self._tags = keyed.keys, Tags(keyed, mechanism, texts)
        self._last: Streams | None = None

    def part(self, rows: slice, *answers: NDArray[np.integer[Any]]) -> KeyedBulk:
        """Return the chance of some rows with these answers, one array for each question.

        It can be used until the next part is taken, which has its memory: new memory costs more
        than the encryption.
        """
        keys = self._keys.only(rows).values
        last = self._last
        rooms = last.closed() if last else (room(0), room(0))
        if len(rooms[0]) < len(keys):
            rooms = room(len(keys)), room(len(keys))
        tags = self._tags.write(rooms[0][: len(keys)], keys, answers)
        self._last = Streams(tags, rooms, self._tags.drawing)
        return KeyedBulk(self._last)


class KeyedBulk(Bulk):
    """Exact probabilities and uniform numbers for many rows, each from what the row reads."""

    def __init__(self, streams: Streams, rows: I64 | None = None) -> None:
        super().__init__(_no_bytes)
        self._streams, self._rows = streams, rows
        self._some = None if rows is None else streams.tags[rows]
        self._n = len(self._tags)

    @property
    def _tags(self) -> U64:
        return self._streams.tags if self._some is None else self._some

    # Whose draws they are

    def part(self, rows: slice, *answers: NDArray[np.integer[Any]]) -> Bulk:
        """Refuse: a part has the answers of its rows already."""
        raise TypeError("these are the rows of one part: take of(rows) for some of them")

    def of(self, rows: NDArray[Any]) -> KeyedBulk:
        """Return the chance of some rows, each once, by number or with a boolean for each."""
        chosen = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
        own = chosen if self._rows is None else self._rows[chosen]
        return KeyedBulk(self._streams, own)

    def each(self, n: int) -> Iterator[Randomness]:
        """Return the chance of one row after another."""
        if not self._times(n):
            return
        start = self._reserve(8, 8)
        first = self._further(np.arange(n), start, np.arange(1, AHEAD + 1))
        for row in range(n):
            yield _OfOne(self, row, _of(start, np.array([row])), first[row].tobytes())

    def _times(self, n: int) -> int:
        """Return how many numbers each row gets if there are n: number i is of row i mod rows."""
        if self._n == 0 and n == 0:
            return 0
        if self._n == 0 or n % self._n:
            raise ValueError(
                f"{n} draws are not as many for each of {self._n} rows: draw for some of the rows "
                "with random.of(rows)"
            )
        return n // self._n

    def _repeated(self, n: int, draw: Callable[[], NDArray[Any]], dtype: Any) -> NDArray[Any]:
        times = self._times(n)
        if times == 0:
            return np.zeros(0, dtype)
        return draw() if times == 1 else np.concatenate([draw() for _ in range(times)])

    # What rows read

    def _reserve(self, size: int, multiple: int) -> Positions:
        """Return from which byte each row reads, and move the rows on."""
        streams, rows = self._streams, self._rows
        if rows is not None:
            at = streams.at
            if isinstance(at, int):
                at = streams.at = np.full(len(streams.tags), at)
            some = -(-at[rows] // multiple) * multiple
            at[rows] = some + size
            return some
        start = -(-streams.at // multiple) * multiple
        streams.at = start + size
        return start

    def _block(self, start: Positions) -> U64:
        """Return the block of each row in which its byte ``start`` is."""
        number = start // BLOCK
        if isinstance(number, int):
            return self._streams.block(number)
        return self._run(room(self._n), slice(None), start)[:, 0]

    def _next(self, size: int) -> tuple[Positions, NDArray[Any]]:
        """Return the next word of each row, of four or eight bytes, and where it begins."""
        start = self._reserve(size, size)
        words, place = self._block(start).view(f"<u{size}"), start % BLOCK // size
        found = words[:, place] if isinstance(place, int) else words[np.arange(self._n), place]
        return start, found

    def _run(self, out: U64, part: slice, start: Positions) -> U64:
        """Return as many successive blocks of some rows as there is room, one line for each row."""
        tags = self._tags[part]
        by_row = out.reshape(len(tags), -1, 2)
        numbers = (_column(_of(start, part)) // BLOCK + np.arange(by_row.shape[1])).astype("<u8")
        for half in (0, 1):
            np.bitwise_xor(tags[:, None, half], numbers, out=by_row[:, :, half])
        self._streams.encrypt(out)
        return by_row

    def _further(self, rows: I64, start: Positions, numbers: NDArray[Any]) -> U64:
        """Return further blocks of draws of some rows, one line for each; they begin at ``start``.

        ``numbers`` are those of the blocks, the same for all rows or one line for each.
        """
        out = room(len(rows) * numbers.shape[-1])
        by_row = out.reshape(len(rows), -1, 2)
        tags = self._tags[rows]
        by_row[:, :, 0] = tags[:, None, 0] ^ _column(start).astype(np.uint64)
        by_row[:, :, 1] = tags[:, None, 1] ^ (numbers.astype(np.uint64) | _FURTHER)
        self._streams.encrypt(out)
        return by_row

    def _again(self, rows: I64, start: Positions, attempt: int, bits: Positions = 0) -> U64:
        """Return eight bytes of a further block of a draw, for each of some rows."""
        numbers = (_column(bits) << 32) + attempt
        return self._further(rows, start, numbers)[:, 0, 0]

    # What they draw

    def words(self, n: int) -> U32:
        """Return n random 32-bit words; number i is one of row i mod (the number of rows)."""
        return self._repeated(n, lambda: self._next(4)[1].copy(), np.uint32)

    def below(self, bound: int, n: int) -> U32:
        """Return n exactly uniform numbers from 0 to bound - 1; bound is at most 2**32."""
        if bound == 2**32:
            return self.words(n)
        return self._repeated(n, lambda: self._below(bound), np.uint32)

    def _below(self, bound: int) -> U32:
        start, read = self._next(4)
        words, out = read.copy(), np.empty(self._n, np.uint32)
        if self.kernels.below(words, bound, _NONE, out):
            left = np.flatnonzero(biased(words, bound))
            self._redraw(words, left, left, _of(start, left), np.full(len(left), bound))
            self.kernels.below(words, bound, _NONE, out)
        return out

    def _redraw(self, words: U32, at: I64, rows: I64, start: Positions, bounds: I64) -> None:
        """Replace the words at some places, each of one of the rows, by those that fit."""
        attempt = 1
        while len(at):
            words[at] = self._again(rows, start, attempt).astype(np.uint32)
            bad = biased(words[at], bounds)
            at, rows, start, bounds = at[bad], rows[bad], _of(start, bad), bounds[bad]
            attempt += 1

    def chance(self, numerator: int, n: int, scale: int = SCALE) -> NDArray[np.bool_]:
        """Return n booleans, each true with probability numerator / scale, a power of two."""
        if numerator in (0, scale):
            self._times(n)
            return np.full(n, numerator == scale)
        return self._repeated(n, lambda: self._chance(numerator, scale), np.bool_)

    def _chance(self, numerator: int, scale: int) -> NDArray[np.bool_]:
        start, words = self._next(8)
        out, top = less(words, numerator, scale)
        rest = more_digits(numerator, scale)
        if rest:
            same = np.flatnonzero(words == np.uint64(top))
            out[same] = self._decided(same, _of(start, same), rest, scale)
        return out

    def _decided(
        self, rows: I64, start: Positions, numerator: int, scale: int, bits: Positions = 0
    ) -> NDArray[np.bool_]:
        """Return booleans of some rows, drawn from the further blocks of a draw."""
        out = np.zeros(len(rows), np.bool_)
        left, attempt = np.arange(len(rows)), 1
        while len(left) and numerator:
            words = self._again(rows[left], _of(start, left), attempt, _of(bits, left))
            out[left], top = less(words, numerator, scale)
            left = left[words == np.uint64(top)]
            numerator, attempt = more_digits(numerator, scale), attempt + 1
        return out

    def wide(self, bound: int, n: int) -> I64:
        """Return n exactly uniform numbers from 0 to bound - 1; bound is at most 2**62."""
        if bound <= 2**32:
            return self.below(bound, n).astype(np.int64)
        return self._repeated(n, lambda: self._wide(bound), np.int64)

    def _wide(self, bound: int) -> I64:
        start, words = self._next(8)
        shift = np.uint64(64 - (bound - 1).bit_length())
        out = (words >> shift).astype(np.int64)
        left, attempt = np.flatnonzero(out >= bound), 1
        while len(left):
            words = self._again(left, _of(start, left), attempt)
            out[left] = (words >> shift).astype(np.int64)
            left, attempt = left[out[left] >= bound], attempt + 1
        return out

    def packed(self, numerator: int, size: int, scale: int = SCALE) -> U8:
        """Return ``size`` bytes in which each bit is one with probability numerator / scale.

        The bytes of the rows follow one another. ``scale`` is a power of two.
        """
        own = self._times(size)  # bytes of a row
        digits = binary_digits(numerator, scale)
        if not len(digits) or not own:
            return np.full(size, 255 if numerator else 0, np.uint8)
        unit = BLOCK if own > 8 else 1 << (own - 1).bit_length()
        units = -(-own // BLOCK)
        digits = digits[: max(8, BLOCK // unit)]
        blocks = units * -(-len(digits) * unit // BLOCK)
        start = self._reserve(BLOCK * blocks, BLOCK)
        out = np.empty((self._n, own), np.uint8)
        step = max(1, PIECE // (BLOCK * blocks))
        space = room(min(step, self._n) * blocks)
        rest = more_digits(numerator, scale, len(digits))
        still: list[tuple[I64, I64]] = []
        for first in range(0, self._n, step):
            rows = out[first : first + step]
            throws = self._throws(space[: len(rows) * blocks], first, start, blocks)
            ones, listed = self._lanes(planes_of(throws, unit, len(digits)), digits)
            rows[:] = by_row(ones, len(rows), unit)[:, :own]
            still.append(bits_at(listed, first, len(rows), unit))
            is_last = first + step >= self._n
            if rest and (is_last or sum(len(own_rows) for own_rows, _ in still) > OPEN):
                self._set_open(out, still, start, rest, scale)
                still.clear()
        return out.reshape(-1)

    def _throws(self, out: U64, first: int, start: Positions, blocks: int) -> U64:
        """Return blocks of some rows from number ``first`` on, one line for each number."""
        by_number = out.reshape(blocks, -1, 2)
        part = slice(first, first + by_number.shape[1])
        numbers = _column(_of(start, part)) // BLOCK + np.arange(blocks)[:, None, None]
        np.bitwise_xor(self._tags[part], numbers.astype(np.uint64), out=by_number)
        self._streams.encrypt(out)
        return by_number

    def _lanes(self, planes: U64, digits: U8) -> tuple[U64, I64]:
        """Return the bits that throws decide, and the places of the others."""
        ones = np.empty(planes.shape[1], np.uint64)
        places = np.empty(2 * len(ones) + 64, np.int64)
        count = self.kernels.lanes(planes, digits, ones, places)
        if count > len(places):
            places = np.empty(count, np.int64)
            self.kernels.lanes(planes, digits, ones, places)
        return ones, places[:count]

    def _set_open(
        self, out: U8, still: list[tuple[I64, I64]], start: Positions, rest: int, scale: int
    ) -> None:
        """Decide the bits that are still open by the digits that are left."""
        rows, bits = (np.concatenate(both) for both in zip(*still, strict=True))
        used = bits < 8 * out.shape[1]  # the others only fill up their row
        rows, bits = rows[used], bits[used]
        true = self._decided(rows, _of(start, rows), rest, scale, bits)
        rows, bits = rows[true], bits[true]
        byte = rows * out.shape[1] + (bits >> 3)
        np.bitwise_or.at(out.reshape(-1), byte, np.uint8(1) << (bits & 7).astype(np.uint8))

    def subsets(self, own: I64, k: int, w: int) -> U8:
        """Return uniform w-subsets of 0..k-1 as packed bits, each with ``own`` if own >= 0."""
        self._times(len(own))
        blocks = -(-4 * w // BLOCK)
        start = self._reserve(4 * w, BLOCK)
        out = np.empty((self._n, -(-k // 8)), np.uint8)
        step = max(1, PIECE // (BLOCK * blocks))
        space = room(min(step, self._n) * blocks)
        for first in range(0, self._n, step):
            part = slice(first, first + step)
            mine, rows = own[part], out[part]
            read = self._run(space[: len(mine) * blocks], part, start)
            words = np.ascontiguousarray(read.view("<u4").reshape(len(mine), -1)[:, :w]).reshape(-1)
            if self.kernels.subsets(mine, k, w, words, _NONE, rows):
                self._redraw_members(words, first, start, mine, k, w)
                self.kernels.subsets(mine, k, w, words, _NONE, rows)
        return out

    def _redraw_members(
        self, words: U32, first: int, start: Positions, own: I64, k: int, w: int
    ) -> None:
        """Replace the words of members that do not fit, of rows from number ``first`` on."""
        bounds = last_of_draws(own, k, w) + 1
        bad = biased(words.reshape(-1, w), bounds)
        bad[own >= 0, 0] = False  # not used: the own answer is the first member
        at = np.flatnonzero(bad)
        rows = first + at // w
        places = _of(start, rows) + 4 * (at % w)
        self._redraw(words, at, rows, places, bounds.reshape(-1)[at])


def _of(start: Positions, rows: slice | NDArray[Any]) -> Positions:
    """Return the positions of some rows; one number is that of all."""
    return start if isinstance(start, int) else start[rows]


def _column(start: Positions) -> NDArray[np.int64]:
    """Return positions as a column, with one line or one for each row."""
    return np.asarray(start, np.int64).reshape(-1, 1)


class _OfOne(FromBytes):
    """The bytes of the further blocks of a draw, for one row."""

    def __init__(self, source: KeyedBulk, row: int, start: Positions, first: bytes) -> None:
        self._source, self._start = source, start
        self._row, self._buffer, self._used, self._read = np.array([row]), first, 0, AHEAD

    def take(self, size: int) -> bytes:
        """Return the next bytes of the row."""
        size = check_size(size)
        while self._used + size > len(self._buffer):
            numbers = np.arange(self._read + 1, self._read + AHEAD + 1)
            more = self._source._further(self._row, self._start, numbers).tobytes()
            self._buffer, self._used = self._buffer[self._used :] + more, 0
            self._read += AHEAD
        self._used += size
        return self._buffer[self._used - size : self._used]


def _no_bytes(_: int) -> bytearray:
    raise TypeError("with Keyed, all chance belongs to a row: draw with words, chance or below")
