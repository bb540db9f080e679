"""Scratch: a folder for files that tasks hand to other tasks, which all workers must see."""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from murmurs.boundary.writing import ending_by_exception
from murmurs.engines.sources import SourceError, of_address, reached


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
            if entry.base_name.startswith("."):
                self.filesystem.delete_file(entry.path)
            else:
                whole.append(entry)
        if isinstance(self.filesystem, LocalFileSystem):
            self.filesystem.move(self.folder, path)
            return
        self.filesystem.create_dir(path)
        for entry in whole:
            self.filesystem.move(entry.path, f"{path}/{entry.base_name}")
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
    from pyarrow.fs import FileType, LocalFileSystem

    filesystem, path = _located(target)
    with reached(str(target)):
        there = filesystem.get_file_info(path).type != FileType.NotFound
    if there:
        raise FileExistsError(f"{target} exists: give a new folder")
    before, _, name = path.rpartition("/")
    made = Scratch(f"{before}/.murmurs-{name}-{secrets.token_hex(8)}", filesystem)
    is_local = isinstance(filesystem, LocalFileSystem)
    if is_local:
        _delete_abandoned(before, f".murmurs-{name}-")
    with ending_by_exception():
        made.create()
        try:
            with _locked(made.folder) if is_local else nullcontext():
                yield made
                made.rename(path)
        except BaseException:
            filesystem.delete_dir(made.folder)
            raise


def _delete_abandoned(folder: str, start: str) -> None:
    """Delete what jobs that were killed have left: reports of answers that are encoded again.

    A job that still runs has a lock on its folder.
    """
    if os.name == "nt":  # pragma: no cover - no folder can be locked there
        return
    with suppress(OSError):
        found = [entry.path for entry in os.scandir(folder) if entry.name.startswith(start)]
        for path in found:
            if re.fullmatch("[0-9a-f]{16}", path.rpartition(start)[2]):
                with suppress(OSError), _locked(path):
                    shutil.rmtree(path, ignore_errors=True)


@contextmanager
def _locked(folder: str) -> Iterator[None]:
    """Lock a folder, which fails if another job has."""
    if os.name == "nt":  # pragma: no cover
        yield
        return
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


def _located(where: str | Path) -> tuple[Any, str]:
    """Return the file system of a folder, and its path in it."""
    from pyarrow.fs import LocalFileSystem

    text = str(where)
    if "://" not in text:
        return LocalFileSystem(), str(Path(text).absolute())
    filesystem, _, path = of_address(text)
    return filesystem, path.rstrip("/")
