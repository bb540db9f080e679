"""Randomness that a device derives from its secret and can therefore reproduce."""

from __future__ import annotations

import hashlib
import hmac

from murmurs.randomness.verbs import FromBytes, check_size

SHORTEST_SECRET = 16
"""The fewest bytes in a device's secret."""


class Derived(FromBytes):
    """Bytes derived from a secret and a context: reproducible with the secret, random without it.

    They are the blocks HMAC-SHA256(secret, context || i), with i = 0, 1, ... as eight bytes. A
    context consists of text, bytes and whole numbers. It is written as ``b"murmurs derived 1"``
    and, for each part, a letter (s, b or i), the length as eight bytes, and the part: text in
    UTF-8, bytes unchanged, numbers in decimal digits. So no two contexts are written the same way.
    Numbers of eight bytes are little-endian.

    >>> secret = bytes(range(32))
    >>> Derived(secret, "coffee", 2).below(1000), Derived(secret, "coffee", 2).below(1000)
    (675, 675)
    >>> Derived(secret, "coffee2").below(1000)
    174
    """

    def __init__(self, secret: bytes, *context: str | bytes | int) -> None:
        written = b"".join([b"murmurs derived 1", *map(_written, context)])
        self._mac = hmac.new(check_secret(secret), written, hashlib.sha256)
        self._next = 0
        self._buffer = b""

    def __repr__(self) -> str:
        return "Derived(...)"  # the context may contain an answer

    def take(self, size: int) -> bytes:
        """Return the next ``size`` bytes."""
        size = check_size(size)
        while len(self._buffer) < size:
            block = self._mac.copy()
            block.update(self._next.to_bytes(8, "little"))
            self._buffer += block.digest()
            self._next += 1
        taken, self._buffer = self._buffer[:size], self._buffer[size:]
        return taken


def check_secret(secret: object) -> bytes:
    """Return the secret if it is long enough; an error does not show it."""
    if not isinstance(secret, bytes):
        raise TypeError(
            f"a secret is bytes, for example secrets.token_bytes(32), not {type(secret).__name__}"
        )
    if len(secret) < SHORTEST_SECRET:
        raise ValueError(
            f"a secret has at least {SHORTEST_SECRET} bytes, not {len(secret)}: "
            "secrets.token_bytes(32) makes one"
        )
    return secret


def _written(part: object) -> bytes:
    if isinstance(part, str):
        letter, text = b"s", part.encode()
    elif isinstance(part, bytes):
        letter, text = b"b", part
    elif isinstance(part, int) and not isinstance(part, bool):
        letter, text = b"i", b"%d" % part
    else:
        raise TypeError(f"a context is text, bytes and whole numbers, not {type(part).__name__}")
    return letter + len(text).to_bytes(8, "little") + text
