"""Files are written completely or not at all; devices, pipes and links are written directly.

Every file that murmurs writes comes from `writing`. Output for a regular file goes to a temporary
file next to it, which replaces it once everything is on the disk. After an error, a full disk or a
signal that ends the program, the old file is still there and the temporary file is gone. Only a
program that is killed leaves it; `delete_leftovers` then removes that of a private file.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import secrets
import signal
import stat
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO

STANDARD = Path("-")
"""Standard input or output, in place of a file."""

_ENDING = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGXCPU") if hasattr(signal, name)
)


@contextlib.contextmanager
def writing(path: Path, *, private: bool = False) -> Iterator[IO[bytes]]:
    """Open a file that appears at ``path`` on success, with the permissions of the one it replaces.

    A ``private`` file can be read by its owner only, and survives a loss of power from then on. A
    symbolic link stays, and its target is written. A device, a pipe or standard output ("-") cannot
    be replaced and is written to directly.
    """
    if is_standard_output(path):
        if sys.stdout is None:
            raise OSError("cannot write to standard output: it is closed")
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    there = _status(path)
    if there is not None and stat.S_ISDIR(there.st_mode):
        raise IsADirectoryError(f"cannot write {path}: it is a folder")
    if there is not None and not stat.S_ISREG(there.st_mode):
        with _open(path, os.O_WRONLY, 0, path) as file:
            yield file
        return
    with ending_by_exception():
        yield from _replacing(path, there, private)


def _replacing(path: Path, there: os.stat_result | None, private: bool) -> Iterator[IO[bytes]]:
    if there is not None and not os.access(path, os.W_OK):
        raise PermissionError(f"cannot write {path}: it is read-only")
    target = Path(os.path.realpath(path))
    whose = _mark(target) if private else ""
    temporary = target.with_name(f".murmurs-{whose}{secrets.token_hex(8)}")
    mode = 0o600 if private else 0o666 if there is None else there.st_mode & 0o777
    try:
        with _open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode, path) as file:
            if there is not None:
                _take_over(temporary, there, mode)
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
        if private:
            _make_durable(target.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def delete_leftovers(path: Path) -> None:
    """Delete what processes that were killed left of a private file.

    The caller makes sure that nobody writes the file now.
    """
    target = Path(os.path.realpath(path))
    start = f".murmurs-{_mark(target)}"
    for found in os.scandir(target.parent):
        if found.name.startswith(start):
            Path(found.path).unlink(missing_ok=True)


def _mark(target: Path) -> str:
    """Return the part of the name of a temporary file that tells which file it is to replace."""
    return hashlib.sha256(os.fsencode(target.name)).hexdigest()[:16] + "-"


def _make_durable(folder: Path) -> None:
    """Have the new name of a file written to the disk; a system without that is as durable."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _take_over(temporary: Path, there: os.stat_result, mode: int) -> None:
    """Give a new file the permissions and, if allowed, the owner of the one it replaces."""
    with contextlib.suppress(OSError):
        os.chown(temporary, there.st_uid, there.st_gid)
    temporary.chmod(mode)


def _open(path: Path, flags: int, mode: int, shown: Path) -> IO[bytes]:
    try:
        return io.BufferedWriter(_Named(os.open(path, flags, mode), shown))
    except OSError as error:
        raise type(error)(f"cannot write {shown}: {error.strerror}") from None


class _Named(io.FileIO):
    """A file whose errors include its name."""

    def __init__(self, handle: int, shown: Path) -> None:
        super().__init__(handle, "wb")
        self._shown = shown

    def write(self, data: object) -> int:
        """Write some bytes; an error such as a full disk names the file."""
        try:
            return super().write(data)  # type: ignore[arg-type]
        except BrokenPipeError:  # the reader has seen enough
            raise
        except OSError as error:
            raise type(error)(f"cannot write {self._shown}: {error.strerror}") from None


@contextlib.contextmanager
def ending_by_exception() -> Iterator[None]:
    """Turn signals that would end the program at once into an exception, so that it cleans up.

    Signals that the program handles or ignores are left alone.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    caught = [number for number in _ENDING if signal.getsignal(number) is signal.SIG_DFL]

    def end(number: int, _frame: object) -> None:
        for other in caught:  # no second signal while the first is handled
            signal.signal(other, signal.SIG_IGN)
        raise SystemExit(128 + number)

    for number in caught:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in caught:
            signal.signal(number, signal.SIG_DFL)


def is_standard_output(path: Path) -> bool:
    """Return whether ``path`` is where the program prints to."""
    if path == STANDARD:
        return True
    there = _status(path)
    if there is None or sys.stdout is None:
        return False
    try:
        return os.path.samestat(there, os.fstat(sys.stdout.fileno()))
    except (OSError, ValueError):  # standard output is not a file
        return False


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise type(error)(f"cannot write {path}: {error.strerror}") from None
