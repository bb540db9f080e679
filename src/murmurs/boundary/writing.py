"""Files are written whole or not at all; devices, pipes and links are written through.

Every file that murmurs writes comes from `writing`. What goes to a regular file is gathered in a
temporary file beside it, which takes its place when all of it is on the disk: an error, a full disk
or a signal that ends the program leaves what was there before, and no temporary file.
"""

from __future__ import annotations

import contextlib
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
"""Standard input or output, where a file is asked for."""

_ENDING = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGXCPU") if hasattr(signal, name)
)


@contextlib.contextmanager
def writing(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that is at ``path`` when all went well, with the rights of what it replaces.

    A symbolic link stays, and what it leads to is written. A device, a pipe or standard output
    ("-") is written to directly, since there is nothing to put in its place.
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
    with _ending_by_exception():
        yield from _replacing(path, there)


def _replacing(path: Path, there: os.stat_result | None) -> Iterator[IO[bytes]]:
    if there is not None and not os.access(path, os.W_OK):
        raise PermissionError(f"cannot write {path}: it may only be read")
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".murmurs-{secrets.token_hex(8)}")
    mode = 0o666 if there is None else there.st_mode & 0o777
    try:
        with _open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode, path) as file:
            if there is not None:
                _take_over(temporary, there, mode)
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _take_over(temporary: Path, there: os.stat_result, mode: int) -> None:
    """Give a new file the owner, if that is allowed, and the rights of the one it replaces."""
    with contextlib.suppress(OSError):
        os.chown(temporary, there.st_uid, there.st_gid)
    temporary.chmod(mode)


def _open(path: Path, flags: int, mode: int, shown: Path) -> IO[bytes]:
    try:
        return io.BufferedWriter(_Named(os.open(path, flags, mode), shown))
    except OSError as error:
        raise type(error)(f"cannot write {shown}: {error.strerror}") from None


class _Named(io.FileIO):
    """A file whose errors say which it is."""

    def __init__(self, handle: int, shown: Path) -> None:
        super().__init__(handle, "wb")
        self._shown = shown

    def write(self, data: object) -> int:
        """Write some bytes; a full disk is told with the file's name."""
        try:
            return super().write(data)  # type: ignore[arg-type]
        except BrokenPipeError:  # the reader has seen enough
            raise
        except OSError as error:
            raise type(error)(f"cannot write {self._shown}: {error.strerror}") from None


@contextlib.contextmanager
def _ending_by_exception() -> Iterator[None]:
    """Let signals that would end the program at once end it by an exception, which tidies up.

    Handlers that a program has set, and signals that it ignores, stay as they are.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    caught = [number for number in _ENDING if signal.getsignal(number) is signal.SIG_DFL]

    def end(number: int, _frame: object) -> None:
        for other in caught:  # no second one while the first is obeyed
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
    """Whether what is written to ``path`` goes where the program prints to."""
    if path == STANDARD:
        return True
    there = _status(path)
    if there is None or sys.stdout is None:
        return False
    try:
        return os.path.samestat(there, os.fstat(sys.stdout.fileno()))
    except (OSError, ValueError):  # what is printed goes to no file
        return False


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise type(error)(f"cannot write {path}: {error.strerror}") from None
