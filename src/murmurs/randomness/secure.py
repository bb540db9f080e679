"""Randomness from the operating system, for devices and for real data."""

from __future__ import annotations

import os
import threading
import weakref

from murmurs.randomness.verbs import FromBytes, check_size


class Secure(FromBytes):
    """Randomness from the operating system, read in blocks; for devices and for real data.

    A process never shares bytes with a child it forks, which starts with an empty buffer. Threads
    may share one `Secure`.

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
        """Return the next ``size`` bytes of system entropy; no byte is returned twice."""
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
