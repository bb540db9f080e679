"""Files that appear complete, and only once they are on the disk."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

PREFIX = ".murmurs-copy-"
"""How the name begins of what is being written."""


@contextlib.contextmanager
def new_file(target: Path) -> Iterator[Path]:
    """Return where to write a file that appears at ``target``, complete, once it is on the disk.

    An empty file is there already, which only its owner can read. What a process that was killed
    has left in the same folder is deleted.
    """
    if target.exists():
        raise FileExistsError(f"{target} exists: a backup is written to a new file")
    if not target.absolute().parent.is_dir():
        raise FileNotFoundError(f"cannot write {target}: there is no such directory")
    sweep(target.absolute().parent)
    temporary = target.with_name(f"{PREFIX}{secrets.token_hex(8)}")
    try:
        make_private(temporary)
        with held(temporary):
            yield temporary
            sync(temporary)
            temporary.rename(target)
        sync(target.absolute().parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold a lock on a file or folder that others see, until the block or the process ends."""
    handle = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


def sweep(folder: Path) -> None:
    """Delete what processes that were killed have left in a folder: what nobody holds."""
    for path in folder.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):  # of somebody else, or being written
            if path.stat().st_uid == os.geteuid():
                with held(path):
                    if path.is_dir():
                        shutil.rmtree(path)
                    else:
                        path.unlink()


def make_private(path: Path) -> None:
    """Make an empty file that only its owner can read, unless it is there.

    One that is there is not opened: closing it would end the locks that this process has on it.
    """
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def sync(path: Path) -> None:
    """Make sure that a file, or the names in a directory, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
