"""What the rows of a table read: tags, from their keys and answers, and blocks of AES of these."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from murmurs.kernels import U64
from murmurs.randomness.derived import Derived
from murmurs.randomness.keyed import Keyed

Texts = Sequence[str] | None
"""What the numbers of answers stand for, or None if they are the answers."""

Positions = int | NDArray[np.int64]
"""A byte of what rows read: the same for all rows, or one for each."""

Cipher = Callable[[U64], U64]

BLOCK = 16
"""Bytes in a block of AES."""


def room(blocks: int) -> U64:
    """Return space for some blocks, two numbers each, and one more, which the cipher asks for."""
    return np.empty((blocks + 1, 2), "<u8")[:blocks]


def cipher(key: bytes) -> Cipher:
    """Return AES-256 of single blocks: a function that replaces those in a `room`."""
    try:
        from cryptography.hazmat.primitives.ciphers import Cipher as OfMode
        from cryptography.hazmat.primitives.ciphers import algorithms, modes
    except ImportError:
        raise ImportError(
            "Keyed chance needs AES of the package cryptography: pip install 'murmurs[fast]'"
        ) from None
    encryptor = OfMode(algorithms.AES(key), modes.ECB()).encryptor()

    def encrypt(blocks: U64) -> U64:
        data = memoryview(cast(Any, blocks.base).reshape(-1).view(np.uint8))
        encryptor.update_into(data[: BLOCK * len(blocks)], data)
        return blocks

    return encrypt


class Tags:
    """The tags of rows, from their keys and answers; `Keyed` says how."""

    def __init__(self, keyed: Keyed, mechanism: str, texts: Sequence[Texts]) -> None:
        letters = "".join("n" if own is None else "t" for own in texts)
        parts = ("keyed rows 1", keyed.keys.kind, letters, mechanism, *keyed.context)
        made = Derived(keyed.secret, *parts).take(96)
        self._encrypt, self.drawing = cipher(made[:32]), cipher(made[32:64])
        self._hashing = hashlib.blake2b(digest_size=BLOCK, key=made[64:])
        self._one_block = keyed.keys.kind == "integer" and letters == "n"
        self._texts = [
            None if own is None else self._hashed([text.encode() for text in own]) for own in texts
        ]

    def _hashed(self, values: Sequence[bytes]) -> U64:
        """Return 16 bytes for each value, by a keyed hash."""
        digests = []
        for value in values:
            own = self._hashing.copy()
            own.update(value)
            digests.append(own.digest())
        return np.frombuffer(b"".join(digests), "<u8").reshape(-1, 2)

    def write(
        self, out: U64, keys: NDArray[Any] | list[bytes], answers: Sequence[NDArray[Any]]
    ) -> U64:
        """Write the tags of rows, given their keys and their answers to each question."""
        if isinstance(keys, list):
            out[:] = self._hashed(keys)
        elif keys.ndim == 2:
            out[:] = np.ascontiguousarray(keys).view("<u8")
        else:
            out[:, 0] = keys
            out[:, 1] = answers[0] if self._one_block else 0
            if keys.dtype.kind == "i" and len(keys) and int(keys.min()) < 0:
                negative = (keys < 0).astype(np.uint64)
                out[:, 1] |= negative << np.uint64(63 if self._one_block else 0)
        self._encrypt(out)
        if self._one_block:
            return out
        for own, texts in zip(answers, self._texts, strict=True):
            if texts is None:
                out[:, 0] ^= own.astype(np.uint64)
            else:
                out ^= texts[own]
            self._encrypt(out)
        return out


class Streams:
    """What the rows of a part read: their tags, and at which byte each of them is."""

    def __init__(self, tags: U64, rooms: tuple[U64, U64], encrypt: Cipher) -> None:
        self._tags: U64 | None = tags
        self._rooms, self._encrypt = rooms, encrypt
        self._kept: int | None = None  # the number of the block that is in the second room
        self.at: Positions = 0

    @property
    def tags(self) -> U64:
        """The tags of all rows of the part."""
        if self._tags is None:
            raise ValueError("these rows are over: the chance of later ones was taken")
        return self._tags

    def closed(self) -> tuple[U64, U64]:
        """Return the memory for later rows; these read nothing any more."""
        self._tags = None
        return self._rooms

    def encrypt(self, blocks: U64) -> U64:
        """Replace blocks by what rows read there."""
        return self._encrypt(blocks)

    def block(self, number: int) -> U64:
        """Return the block with this number of all rows; that of the last call is kept."""
        tags = self.tags
        out = self._rooms[1][: len(tags)]
        if self._kept != number:
            np.bitwise_xor(tags, np.uint64(number), out=out)
            self.encrypt(out)
            self._kept = number
        return out
