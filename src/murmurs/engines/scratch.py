"""Scratch: a folder for files that tasks hand to other tasks, which all workers must see."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from murmurs.boundary.locks import locked
from murmurs.boundary.writing import ending_by_exception
from murmurs.engines.sources import SourceError, of_address, reached

_LOCK = ".lock"  # in a new folder, as long as its job runs
_TRIES = 3


@dataclass(frozen=True)
class Scratch:
    """A folder of a file system; files appear in it whole, under names that tasks agree on."""

    folder: str
    filesystem: Any = field(compare=False, repr=False)

    def create(self) -> None:
        """Make the folder."""
        try:
            self.filesystem.create_dir(self.folder)
        except OSError:
            raise SourceError(
                f"the folder {self.folder} cannot be made: check that it is below a folder, and "
                "that this job may write there"
            ) from None

    def rename(self, path: str) -> None:
        """Give the folder its name; where folders cannot be renamed, move its files.

        What tasks that were killed have left unfinished in it is deleted.
        """
        from pyarrow.fs import FileSelector, LocalFileSystem

        whole = []
        for entry in self.filesystem.get_file_info(FileSelector(self.folder)):
            if not entry.base_name.startswith("."):
                whole.append(entry)
            elif entry.base_name != _LOCK:
                self.filesystem.delete_file(entry.path)
        if isinstance(self.filesystem, LocalFileSystem):
            self.filesystem.move(self.folder, path)
            Path(path, _LOCK).unlink(missing_ok=True)
            return
        self.filesystem.create_dir(path)
        try:
            for entry in whole:
                self.filesystem.move(entry.path, f"{path}/{entry.base_name}")
        except BaseException:
            _delete(self.filesystem, path)
            raise
        self.filesystem.delete_dir(self.folder)

    def write(self, name: str, *data: Any) -> None:
        """Write arrays to a file; if it is there already, it is replaced by the same."""
        with self.writing(name) as file:
            for own in data:
                file.write(own)

    @contextmanager
    def writing(self, name: str) -> Iterator[Any]:
        """Open a file to write; it appears when it is whole, and not at all after an error."""
        temporary = f"{self.folder}/.{name}-{secrets.token_hex(8)}"
        with self._seen():
            file = self.filesystem.open_output_stream(temporary)
        try:
            with file:
                yield file
        except BaseException:
            self.filesystem.delete_file(temporary)
            raise
        self.filesystem.move(temporary, f"{self.folder}/{name}")

    def read(self, name: str, start: int = 0, size: int | None = None) -> bytes:
        """Return a file, or some bytes of it."""
        with self._seen(), self.filesystem.open_input_file(f"{self.folder}/{name}") as file:
            file.seek(start)
            found: bytes = file.read(size) if size is not None else file.read()
            return found

    @contextmanager
    def _seen(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise SourceError(
                f"a worker does not see the files of the others in {self.folder}: give scratch= a "
                "folder that all workers see"
            ) from None


@contextmanager
def scratch(where: str | Path | None) -> Iterator[Scratch]:
    """Return a new folder below the given one, or a temporary one; it is gone afterwards."""
    from pyarrow.fs import LocalFileSystem

    if where is None:
        with TemporaryDirectory(prefix="murmurs-") as folder:
            yield Scratch(folder, LocalFileSystem())
        return
    filesystem, path = _located(where)
    made = Scratch(f"{path}/murmurs-{secrets.token_hex(8)}", filesystem)
    made.create()
    try:
        yield made
    finally:
        filesystem.delete_dir(made.folder)


@contextmanager
def new_folder(target: str | Path) -> Iterator[Scratch]:
    """Return a folder that appears under its name when everything in it is written.

    On an object store, where folders cannot be renamed, its files appear one after another. A job
    that is killed leaves its folder under a hidden name; here, the next job deletes it.
    """
    from pyarrow.fs import LocalFileSystem

    filesystem, path = _located(target)
    _check_new(filesystem, path, target)
    before, _, name = path.rpartition("/")
    start = f"{before}/.murmurs-{name}-"
    made = Scratch(start + secrets.token_hex(8), filesystem)
    is_local = isinstance(filesystem, LocalFileSystem) and os.name != "nt"
    with ending_by_exception():
        made.create()
        try:
            with locked(Path(made.folder, _LOCK)) if is_local else nullcontext():
                if is_local:
                    _delete_abandoned(start, made.folder, target)
                    _check_new(filesystem, path, target)  # another job may have been done by now
                yield made
                made.rename(path)
        except BaseException:
            _delete(filesystem, made.folder)
            raise


def _check_new(filesystem: Any, path: str, target: str | Path) -> None:
    from pyarrow.fs import FileType

    with reached(str(target)):
        there = filesystem.get_file_info(path).type != FileType.NotFound
    if there:
        raise FileExistsError(f"{target} exists: give a new folder")


def _delete_abandoned(start: str, own: str, target: str | Path) -> None:
    """Delete what jobs that were killed have left: reports of answers that are encoded again.

    A job that still runs has a lock on its folder. The caller has one already, so of two jobs that
    start together at least one is refused here.
    """
    from pyarrow.fs import LocalFileSystem

    for path in map(str, Path(start).parent.iterdir()):
        if path == own or not re.fullmatch(re.escape(start) + "[0-9a-f]{16}", path):
            continue
        try:
            with locked(Path(path, _LOCK)):
                _delete(LocalFileSystem(), path)
        except FileNotFoundError:  # its job is done
            continue
        except BlockingIOError:
            raise FileExistsError(
                f"another job writes {target}: wait until it is done, or give another folder"
            ) from None
        except PermissionError:
            raise _left(path) from None


def _delete(filesystem: Any, folder: str) -> None:
    """Delete a folder, into which tasks that still run may write meanwhile."""
    from pyarrow.fs import FileType

    for _ in range(_TRIES):
        with suppress(OSError):
            filesystem.delete_dir(folder)
        with suppress(OSError):
            if filesystem.get_file_info(folder).type == FileType.NotFound:
                return
    raise _left(folder)


def _left(folder: str) -> SourceError:
    return SourceError(
        f"{folder} has reports of a job that did not end, and could not be deleted: delete it, "
        "since whoever sees them beside those of another job sees epsilon twice"
    )


def _located(where: str | Path) -> tuple[Any, str]:
    """Return the file system of a folder, and its path in it."""
    from pyarrow.fs import LocalFileSystem

    text = str(where)
    if "://" not in text:
        return LocalFileSystem(), str(Path(text).absolute())
    filesystem, _, path = of_address(text)
    return filesystem, path.rstrip("/")
