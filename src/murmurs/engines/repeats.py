"""Repeats: rows whose id another row had before, found exactly and in bounded memory.

Each part writes its ids, sorted by a hash, to a folder that all workers see; each range of hashes
(a shard) is then looked through by itself. Of several rows with one id the first counts, in the
order of the sources and of the rows in them. Files have names that do not depend on the run, and
appear whole, so that a task that runs twice does no harm.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from murmurs.engines.batches import batches
from murmurs.engines.scratch import Scratch
from murmurs.engines.sources import AnyPart
from murmurs.engines.suspects import Hashing, Suspects
from murmurs.numerics.arrays import Integers

PER_SHARD = 2**21
"""The number of ids in a shard, about: looking through it takes 300 MB."""

_CHUNK = 2**20  # rows whose ids are in one file
_BUCKETS = 2**14  # a file says where each of so many ranges of hashes begins
_HEAD = 8 * (_BUCKETS + 1)
_ENTRY = np.dtype([("high", "<u8"), ("low", "<u8"), ("part", "<u4"), ("row", "<u8")])
_BYTES = 16


class Ids(NamedTuple):
    """The ids of a part: its number, and how many files they are in."""

    part: int
    files: int


def ids_of(part: AnyPart) -> Ids:
    """Return where the ids of a part are."""
    return Ids(part.number, -(-part.rows // _CHUNK))


@dataclass(frozen=True)
class Shards:
    """How ids are sorted into files of a folder; ``key`` hashes them, and is nobody's business.

    ``only`` are the suspects among which equal ids are, if somebody has looked before.
    """

    scratch: Scratch
    identity: str
    count: int
    key: int = field(repr=False)
    only: tuple[Hashing, Suspects] | None = None

    def hashed(self, high: Any, low: Any) -> Any:
        """Return a hash of each id: whoever chooses ids cannot choose their shard."""
        mixed = (high ^ np.uint64(self.key)) * np.uint64(0x9E3779B97F4A7C15)
        mixed = ((mixed ^ mixed >> np.uint64(32)) ^ low) * np.uint64(self.key | 1)
        return (mixed ^ mixed >> np.uint64(29)) * np.uint64(0xD6E8FEB86659FD93)


def shards_for(
    rows: int,
    scratch: Scratch,
    identity: str,
    key: int | None = None,
    only: tuple[Hashing, Suspects] | None = None,
) -> Shards:
    """Return as many shards as so many rows need."""
    count = min(1 << max(0, (-(-rows // PER_SHARD) - 1).bit_length()), _BUCKETS)
    return Shards(scratch, identity, count, secrets.randbits(64) if key is None else key, only)


def write_ids(shards: Shards, part: AnyPart) -> int:
    """Write the ids of a part; return how many of them came just before, in the same file."""
    waiting: list[Any] = []
    size = written = total = 0
    for first, batch in batches(part, [shards.identity], shards.identity):
        entries = _entries(shards, part, first, batch.column(shards.identity))
        start = 0
        while start < batch.num_rows:
            room = _CHUNK - size
            end = min(batch.num_rows, start + room)
            rows = entries["row"] - np.uint64(first)
            waiting.append(entries[(rows >= start) & (rows < end)])
            size += end - start
            start = end
            if size == _CHUNK:
                total += _write(shards, f"{part.number}-{written}", waiting)
                waiting, size, written = [], 0, written + 1
    if size:
        total += _write(shards, f"{part.number}-{written}", waiting)
    return total


def _entries(shards: Shards, part: AnyPart, first: int, column: Any) -> Any:
    """Return the ids of some rows with their places; a row without an id has none."""
    rows = np.uint64(first) + np.arange(len(column), dtype=np.uint64)
    if hasattr(column, "dictionary_decode"):
        column = column.dictionary_decode()
    if column.null_count:
        rows = rows[column.is_valid().to_numpy(zero_copy_only=False)]
        column = column.drop_null()
    if shards.only is not None:
        hashing, suspects = shards.only
        some = np.flatnonzero(suspects.among(hashing.hashes(column)))
        rows, column = rows[some], column.take(some)
    keys = _keys(column)
    entries = np.empty(len(rows), _ENTRY)
    entries["high"], entries["low"] = keys[:, 0], keys[:, 1]
    entries["part"], entries["row"] = part.number, rows
    return entries


def _write(shards: Shards, name: str, waiting: list[Any]) -> int:
    """Write ids, each once, and the rows that have one again: many rows may share an id."""
    entries = np.concatenate(waiting)
    hashes = shards.hashed(entries["high"], entries["low"])
    order = np.argsort(hashes, kind="stable")
    entries, hashes = entries[order], hashes[order]
    again = _again(entries)
    shards.scratch.write(f"again-{name}", entries["row"][again])
    entries, hashes = entries[~again], hashes[~again]
    width = 64 - (_BUCKETS - 1).bit_length()
    starts = np.arange(_BUCKETS, dtype=np.uint64) << np.uint64(width)
    ends = [*np.searchsorted(hashes, starts).tolist(), len(entries)]
    shards.scratch.write(f"ids-{name}", np.array(ends, "<u8"), entries)
    return int(again.sum())


def _again(entries: Any) -> Any:
    """Return which of some sorted entries have the id of the one before."""
    again = np.zeros(len(entries), np.bool_)
    high, low = entries["high"], entries["low"]
    again[1:] = (high[1:] == high[:-1]) & (low[1:] == low[:-1])
    return again


def _keys(column: Any) -> Any:
    """Return ids as two words each: 16 bytes as they are, others by a hash of 128 bits.

    An id is the same in whatever type a file has it: bytes of fixed or variable length, numbers of
    any width.
    """
    from pyarrow import types

    kind = column.type
    if types.is_fixed_size_binary(kind) and kind.byte_width == _BYTES:
        start = column.offset * _BYTES
        data = memoryview(column.buffers()[1])[start : start + len(column) * _BYTES]
        return np.frombuffer(data, "<u8").reshape(-1, 2)
    if types.is_integer(kind):
        numbers = column.to_numpy(zero_copy_only=False)
        keys = np.zeros((len(numbers), 2), np.uint64)
        keys[:, 0] = numbers.astype(np.uint64)
        keys[:, 1] = numbers < 0
        return keys
    return np.frombuffer(b"".join(map(_digest, column.to_pylist())), "<u8").reshape(-1, 2)


def _digest(own: str | bytes) -> bytes:
    data = own.encode() if isinstance(own, str) else own
    if data is own and len(own) == _BYTES:
        return data
    return hashlib.blake2b(data, digest_size=_BYTES).digest()


def find_repeats(shards: Shards, ids: tuple[Ids, ...], shard: int) -> int:
    """Look through a shard of all parts; write the rows to leave out, and return their number."""
    found = [np.zeros(0, _ENTRY)]
    for own in ids:
        found += [_shard(shards, f"ids-{own.part}-{number}", shard) for number in range(own.files)]
    entries = np.concatenate(found)
    order = np.lexsort((entries["row"], entries["part"], entries["low"], entries["high"]))
    entries = entries[order]
    lost = entries[_again(entries)]
    lost = lost[np.argsort(lost["part"], kind="stable")]
    shards.scratch.write(f"repeats-{shard}", lost)
    return len(lost)


def _shard(shards: Shards, name: str, shard: int) -> Any:
    """Return the ids of one file in one shard."""
    each = _BUCKETS // shards.count
    first = shards.scratch.read(name, 8 * shard * each, 8)
    last = shards.scratch.read(name, 8 * (shard + 1) * each, 8)
    start, end = (int.from_bytes(own, "little") * _ENTRY.itemsize for own in (first, last))
    return np.frombuffer(shards.scratch.read(name, _HEAD + start, end - start), _ENTRY)


def repeats_of(shards: Shards, part: Ids) -> Integers:
    """Return the rows of a part to leave out, sorted."""
    names = [f"again-{part.part}-{number}" for number in range(part.files)]
    found = [np.frombuffer(shards.scratch.read(name), "<u8") for name in names]
    for shard in range(shards.count):
        lost = np.frombuffer(shards.scratch.read(f"repeats-{shard}"), _ENTRY)
        start, end = np.searchsorted(lost["part"], [part.part, part.part + 1])
        found.append(lost["row"][start:end])
    return np.sort(np.concatenate([np.zeros(0, np.uint64), *found])).astype(np.int64)
