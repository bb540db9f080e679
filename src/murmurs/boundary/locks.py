"""Locks of files, which end with the process that has them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

if os.name == "nt":  # pragma: no cover

    def _lock(file: IO[bytes]) -> None:
        import msvcrt

        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError as error:
            raise BlockingIOError("another process has a lock on the file") from error

else:

    def _lock(file: IO[bytes]) -> None:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # closing the file unlocks it


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Lock a file, which is made if it is not there; BlockingIOError if another process has.

    It is open for writing, since network file systems lock no other files, nor folders.
    """
    with path.open("ab") as file:
        _lock(file)
        yield
