"""Suspects: hashes that several rows have, found fast; all other rows have an id of their own.

Equal ids have equal hashes, of 64 bits, and different ids hardly ever. So most jobs are done when
they have seen that no hash occurs twice, and the others compare the few ids whose hashes do
(`murmurs.engines.repeats`). Hashes are sorted into shards, by files of a folder that all workers
see, and each shard is looked through by itself: memory is bounded, whatever the number of rows.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from murmurs import kernels
from murmurs.engines.scratch import Scratch
from murmurs.engines.sources import AnyPart
from murmurs.kernels import U64

if TYPE_CHECKING:
    from murmurs.engines.running import Total

PER_SHARD = 2**22
"""The number of hashes in a shard, about: looking through it takes 100 MB."""

MOST = 2**20
"""The most suspects that are told to the workers: with more, all rows are compared."""

_CHUNK = 2**20  # hashes that are in one file
_SHARDS = 2**14  # the most of them
_USUAL = 2**12  # hashes by which a shard of a file may exceed the others
_WORD = 8


@dataclass(frozen=True)
class Hashing:
    """How ids are hashed, and into how many shards of a folder; ``seed`` is nobody's business."""

    scratch: Scratch
    count: int
    seed: int = field(default_factory=lambda: secrets.randbits(64), repr=False)

    def hashes(self, column: Any) -> U64:
        """Return the hashes of a column without nulls; whole numbers have different ones.

        An id is the same in whatever type a file has it: bytes or texts of fixed or variable
        length, numbers of any width.
        """
        from pyarrow import types

        kind = column.type
        if types.is_integer(kind):
            words = column.to_numpy(zero_copy_only=False)
            return self._mixed(words.astype(np.int64 if words.dtype.kind == "i" else np.uint64))
        lengths, starts, data = _bytes_of(column)
        found = self._mixed(lengths)
        longest = int(lengths.max(initial=0))
        # Eight bytes from any place; those behind the id are cut off.
        words = np.ndarray(len(data) - _WORD + 1, "<u8", data, strides=(1,))
        for at in range(0, longest, _WORD):
            left = lengths - at
            some = np.flatnonzero(left > 0) if at else slice(None)
            own = words[starts[some] + at]
            cut = np.clip(_WORD - left[some], 0, _WORD - 1).astype(np.uint64) * np.uint64(8)
            own = np.where(left[some] > 0, own << cut, 0)
            found[some] = self._mixed(found[some] ^ own)
        return found

    def _mixed(self, words: Any) -> U64:
        """Return a permutation of the words of 64 bits that only the seed tells."""
        found: U64 = words.view(np.uint64) ^ np.uint64(self.seed)
        found *= np.uint64(0x9E3779B97F4A7C15)
        found ^= found >> np.uint64(32)
        found *= np.uint64(self.seed | 1)
        found ^= found >> np.uint64(29)
        found *= np.uint64(0xD6E8FEB86659FD93)
        return found


def hashing_for(rows: int, scratch: Scratch) -> Hashing:
    """Return as many shards as so many rows need."""
    needed = max(1, -(-rows // PER_SHARD))
    return Hashing(scratch, min(1 << (needed - 1).bit_length(), _SHARDS))


def _bytes_of(column: Any) -> tuple[Any, Any, Any]:
    """Return the length and the first byte of each value of a column, and all bytes."""
    import pyarrow
    from pyarrow import types

    if types.is_fixed_size_binary(column.type):
        width = column.type.byte_width
        lengths = np.full(len(column), width, np.int64)
        ends = (column.offset + np.arange(len(column) + 1)) * width
        data = column.buffers()[1]
    else:
        column = column.cast(pyarrow.large_binary())
        _, places, data = column.buffers()
        ends = np.frombuffer(places, np.int64)[column.offset : column.offset + len(column) + 1]
        lengths = np.diff(ends)
    own = memoryview(data or b"")[ends[0] : ends[-1]]
    # Eight bytes are read at the place of any byte.
    return lengths, ends[:-1] - ends[0], b"".join([own, bytes(_WORD)])


class Writer:
    """Writes the hashes of the ids of a part, a bounded number at a time."""

    def __init__(self, hashing: Hashing, part: AnyPart) -> None:
        self._hashing, self._part = hashing, part
        self._waiting = np.empty(0, np.uint64)
        self._size = self._files = 0

    def put(self, column: Any) -> None:
        """Add the ids of some rows; a row without one has no hash."""
        if hasattr(column, "dictionary_decode"):
            column = column.dictionary_decode()
        hashes = self._hashing.hashes(column.drop_null() if column.null_count else column)
        if self._size + len(hashes) > len(self._waiting):
            if self._size:
                self._write()
            if len(hashes) > len(self._waiting):
                self._waiting = np.empty(max(_CHUNK, len(hashes)), np.uint64)
        self._waiting[self._size : self._size + len(hashes)] = hashes
        self._size += len(hashes)

    def close(self) -> Hashes:
        """Write what waits; return where all of them are."""
        if self._size:
            self._write()
        return Hashes(((self._part.number, self._files),))

    def _write(self) -> None:
        ordered, ends = kernels.load().sharded(self._waiting[: self._size], self._hashing.count)
        ordered, ends = _twice_at_most(ordered, ends)
        name = f"hashes-{self._part.number}-{self._files}"
        self._hashing.scratch.write(name, ends.astype("<i8"), ordered.astype("<u8", copy=False))
        self._size, self._files = 0, self._files + 1


def _twice_at_most(hashes: U64, ends: Any) -> tuple[U64, Any]:
    """Return hashes sorted into shards, each at most twice where a shard is far too large.

    So many rows may share an id, such as an empty one, that its shard would not fit in memory.
    """
    sizes = np.diff(ends)
    large = np.flatnonzero(sizes > 4 * (len(hashes) // len(sizes)) + _USUAL)
    if not len(large):
        return hashes, ends
    pieces = np.split(hashes, ends[1:-1])
    for shard in large.tolist():
        own = np.sort(pieces[shard])
        pieces[shard] = own[np.append([True, True], own[2:] != own[:-2])]
    return np.concatenate(pieces), np.cumsum([0, *map(len, pieces)])


@dataclass(frozen=True)
class Hashes:
    """Where hashes are: numbers of parts, and how many files each has."""

    parts: tuple[tuple[int, int], ...] = ()

    def __add__(self, other: Hashes) -> Hashes:
        """Return where the hashes of both are."""
        return Hashes(self.parts + other.parts)


@dataclass(frozen=True)
class Suspects:
    """Hashes that several rows have, sorted; None if they are too many to tell."""

    hashes: U64 | None

    def __add__(self, other: Suspects) -> Suspects:
        """Return all of them."""
        if self.hashes is None or other.hashes is None:
            return Suspects(None)
        if len(self.hashes) + len(other.hashes) > MOST:
            return Suspects(None)
        return Suspects(np.sort(np.concatenate([self.hashes, other.hashes])))

    def __bool__(self) -> bool:
        return self.hashes is None or len(self.hashes) > 0

    def among(self, hashes: U64) -> Any:
        """Return which of some hashes are among them."""
        if self.hashes is None:
            return np.ones(len(hashes), np.bool_)
        places = np.searchsorted(self.hashes, hashes)
        return self.hashes[np.minimum(places, len(self.hashes) - 1)] == hashes


def find_suspects(total: Total, hashing: Hashing, written: Hashes) -> Suspects:
    """Look through all shards for hashes that several rows have."""
    start = Suspects(np.zeros(0, np.uint64))
    return total(partial(_look_through, hashing, written.parts), range(hashing.count), start)


def _look_through(hashing: Hashing, parts: Sequence[tuple[int, int]], shard: int) -> Suspects:
    """Return the suspects of a shard; on a worker."""
    found = [np.zeros(0, np.uint64)]
    for part, files in parts:
        for number in range(files):
            name = f"hashes-{part}-{number}"
            ends = np.frombuffer(hashing.scratch.read(name, _WORD * shard, 2 * _WORD), "<i8")
            first, last = ((hashing.count + 1 + end) * _WORD for end in ends.tolist())
            found.append(np.frombuffer(hashing.scratch.read(name, first, last - first), "<u8"))
    hashes = kernels.load().repeated(np.concatenate(found))
    return Suspects(hashes if len(hashes) <= MOST else None)
