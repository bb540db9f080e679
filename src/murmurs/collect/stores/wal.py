"""The write-ahead log of SQLite: whether opening it would lose transactions that were kept.

After a crash SQLite reads its log up to the first frame whose checksum is wrong, and takes the rest
for what the crash left unfinished. If a byte in the middle is damaged, all later transactions are
gone without a word, and so is the log. A transaction begins only after the one before it is on the
disk: where two of them end after the first wrong frame, that frame is damaged, not unfinished.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurs.collect.stores.store import DamagedError

_MAGIC = 0x377F0682
"""How a log begins; with 1 added, its checksums are of numbers with the most significant first."""

_HEADER, _FRAME, _PAGE = 32, 24, 4096
_AT_ONCE = 1000

Words = NDArray[np.uint32]


def check_log(path: Path) -> None:
    """Refuse a log in which whole transactions follow a damaged part."""
    lost = lost_transactions(path)
    if lost > 1:
        raise DamagedError(
            f"{path} is damaged: at least {lost - 1} transactions with submissions or changes that "
            "were acknowledged follow the damage, and would be lost. Look at the disk, and restore "
            "a backup"
        )


def lost_transactions(path: Path) -> int:
    """Return how many transactions end in a log after the first frame that is not as written.

    One of them may be a transaction that a crash interrupted.
    """
    if not path.exists() or path.stat().st_size < _HEADER:
        return 0
    with path.open("rb") as file:
        head = file.read(_HEADER)
        magic, _, size, _, *salts = struct.unpack(">6I", head[:24])
        if size not in {2**power for power in range(9, 17)}:
            size = _PAGE
        order = ">" if magic == _MAGIC + 1 else "<"
        before = np.frombuffer(head[24:], ">u4").astype(np.uint32)
        start = np.frombuffer(head[:24], f"{order}u4").astype(np.uint32)
        intact = magic & ~1 == _MAGIC and bool((_sums(start[None], [[0, 0]]) == before).all())
        known, lost = intact, 0
        while frames := file.read((_FRAME + size) * _AT_ONCE):
            table = np.frombuffer(frames[: len(frames) // (_FRAME + size) * (_FRAME + size)], "u1")
            rows = table.reshape(-1, _FRAME + size)
            if not len(rows):
                break
            fields = rows[:, :_FRAME].copy().view(">u4").astype(np.uint32)
            summed = np.hstack([rows[:, :8], rows[:, _FRAME:]]).view(f"{order}u4").astype(np.uint32)
            written = fields[:, 4:]
            right = (_sums(summed, np.vstack([before, written[:-1]])) == written).all(axis=1)
            if not known:  # the head is damaged
                salts, known = list(fields[np.argmax(right), 2:4]), True
            right &= (fields[:, 2:4] == np.array(salts, np.uint32)).all(axis=1)
            first = 0 if not intact else int(np.argmin(right)) if not right.all() else len(right)
            intact = intact and bool(right.all())
            lost += int((right & (fields[:, 1] > 0))[first:].sum())
            before = written[-1]
    return lost


def _sums(words: Words, before: Any) -> Words:
    """Return SQLite's two checksums of each row, continued from those before it.

    Each pair of words x, y turns sums s, t into s + t + x and s + 2 t + x + y, modulo 2^32. So the
    sums are linear in the words, with coefficients that are the same for all rows.
    """
    steps = words.shape[1] // 2
    factors = np.zeros((2 * steps, 2), np.uint32)
    power = np.eye(2, dtype=np.uint32)  # of [[1, 1], [1, 2]]
    for step in reversed(range(steps)):
        factors[2 * step], factors[2 * step + 1] = power.sum(axis=1, dtype=np.uint32), power[:, 1]
        power = power @ np.array([[1, 1], [1, 2]], np.uint32)
    found: Words = words @ factors + np.asarray(before, np.uint32) @ power.T
    return found
