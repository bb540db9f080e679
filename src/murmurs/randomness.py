"""Chance is handed in, through two verbs: ``chance(numerator)`` and ``below(n)``.

Both verbs read whole bytes, so that the same bytes give the same report in every language:

- ``chance(numerator)`` reads 8 bytes, takes them as a little-endian integer, drops the lowest
  11 bits, and says yes if the remaining 53-bit integer is smaller than ``numerator``.
- ``below(n)`` reads as many bytes as n - 1 needs, takes them as a little-endian integer, keeps
  as many low bits as n - 1 has, and tries again if the result is not smaller than ``n``.

`Secure` is for devices, `Derived` for what a device draws once and must find again, `Study` for
reproducible studies, `Given` for known-answer vectors.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import threading
import weakref
from abc import ABC, abstractmethod
from typing import Protocol, cast

import numpy as np

from murmurs.checks import shown, whole

MOST_BYTES = 2**40
"""Random bytes that can be asked for at once."""


def check_size(size: int) -> int:
    """Return how many bytes are asked for; a negative number would hand some out a second time."""
    return (
        size if type(size) is int and 0 <= size < MOST_BYTES else whole(size, "size", 0, MOST_BYTES)
    )


class Randomness(Protocol):
    """The two verbs that a mechanism may ask for."""

    def chance(self, numerator: int) -> bool:
        """Say yes with probability ``numerator`` / 2**53, exactly."""
        ...

    def below(self, n: int) -> int:
        """Return one of 0, 1, ..., n - 1, each with probability 1 / n, exactly."""
        ...


class FromBytes(ABC):
    """The two verbs made of bytes; a kind of randomness only says where bytes come from."""

    @abstractmethod
    def take(self, size: int) -> bytes:
        """Return the next ``size`` bytes."""

    def chance(self, numerator: int) -> bool:
        """Say yes with probability ``numerator`` / 2**53, exactly."""
        return int.from_bytes(self.take(8), "little") >> 11 < numerator

    def below(self, n: int) -> int:
        """Return one of 0, 1, ..., n - 1, each with probability 1 / n, exactly."""
        if n < 1:
            raise ValueError(f"below({n}) has no outcome: n must be at least 1")
        bits = (n - 1).bit_length()
        mask = (1 << bits) - 1
        size = (bits + 7) // 8
        while True:
            value = int.from_bytes(self.take(size), "little") & mask
            if value < n:
                return value


class Secure(FromBytes):
    """Randomness of the operating system, read in blocks; for devices and for real data.

    A process that forks never shares bytes with its child: the child starts with an empty buffer.
    Threads may share one `Secure`.

    >>> Secure().below(6) in range(6)
    True
    """

    BLOCK = 4096

    def __init__(self) -> None:
        self._empty()
        _alive.add(self)

    def _empty(self) -> None:
        self._lock = threading.Lock()  # a lock held at the fork would never be released
        self._buffer = b""
        self._used = 0

    def __copy__(self) -> Secure:
        return Secure()  # a copy of the buffer would hand out the same bytes again

    def __deepcopy__(self, memo: object) -> Secure:
        return Secure()

    def __reduce__(self) -> tuple[type[Secure], tuple[()]]:
        return Secure, ()

    def take(self, size: int) -> bytes:
        """Return the next ``size`` bytes of system entropy; no byte is given out twice."""
        size = check_size(size)
        with self._lock:
            end = self._used + size
            if end > len(self._buffer):
                self._buffer = os.urandom(max(self.BLOCK, size))
                self._used, end = 0, size
            taken = self._buffer[self._used : end]
            self._used = end
            return taken


_alive: weakref.WeakSet[Secure] = weakref.WeakSet()


def _empty_all() -> None:
    for secure in list(_alive):
        secure._empty()


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing forks
    os.register_at_fork(after_in_child=_empty_all)


class Study(FromBytes):
    """A NumPy generator with the two verbs: reproducible, and not for devices.

    >>> Study(np.random.default_rng(7)).below(6)
    3
    """

    def __init__(self, generator: np.random.Generator) -> None:
        self.generator = generator

    def take(self, size: int) -> bytes:
        """Return the generator's next ``size`` bytes."""
        return self.generator.bytes(check_size(size))


class Given(FromBytes):
    """Bytes known beforehand, for known-answer vectors and tests.

    >>> Given(bytes([200, 3])).below(6)  # the low three bits of 200 are 0
    0
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._used = 0

    @property
    def left(self) -> int:
        """How many bytes have not been used."""
        return len(self._data) - self._used

    def take(self, size: int) -> bytes:
        """Return the next ``size`` of the given bytes, or fail if there are not enough."""
        size = check_size(size)
        if size > self.left:
            raise ValueError(f"{size} random bytes were asked for, {self.left} are left")
        taken = self._data[self._used : self._used + size]
        self._used += size
        return taken


SHORTEST_SECRET = 16
"""Bytes of a device's secret, at least."""


class Derived(FromBytes):
    """Bytes that follow from a secret and a context: found again at will, and chance to others.

    They are the blocks HMAC-SHA256(secret, context || i), i = 0, 1, ... as eight bytes. A context
    is text, bytes and whole numbers, written as ``b"murmurs derived 1"`` and for each part a letter
    (s, b, i), its length as eight bytes, and itself: as UTF-8, as it is, in decimal digits. So no
    two contexts are written alike. Numbers of eight bytes are little-endian.

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
        return "Derived(...)"  # the context may hold an answer

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
    """Return the secret if it is enough bytes; an error does not show it."""
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


def not_called(random: object) -> str:
    """Return what was handed in as chance, as an error tells it; a class lacks its brackets."""
    if isinstance(random, type):
        return f"the class {random.__name__}: write {random.__name__}() with brackets"
    return shown(random)


def as_randomness(random: object) -> Randomness:
    """Return what can say ``chance`` and ``below``; a NumPy generator is made to."""
    if isinstance(random, np.random.Generator):
        return Study(random)
    if isinstance(random, type) or not (hasattr(random, "chance") and hasattr(random, "below")):
        raise TypeError(
            "chance comes from Secure(), or in a study from numpy.random.default_rng(seed), "
            f"not from {not_called(random)}"
        )
    return cast(Randomness, random)
