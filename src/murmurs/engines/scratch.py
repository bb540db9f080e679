"""Scratch: a folder for files that tasks hand to other tasks, which all workers must see."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from murmurs.engines.sources import SourceError, without_password


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
        """Give the folder its name; where folders cannot be renamed, move its files."""
        from pyarrow.fs import FileSelector, LocalFileSystem

        if isinstance(self.filesystem, LocalFileSystem):
            self.filesystem.move(self.folder, path)
            return
        self.filesystem.create_dir(path)
        for entry in self.filesystem.get_file_info(FileSelector(self.folder)):
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

    On an object store, where folders cannot be renamed, its files appear one after another.
    """
    from pyarrow.fs import FileType

    filesystem, path = _located(target)
    if filesystem.get_file_info(path).type != FileType.NotFound:
        raise FileExistsError(f"{target} exists: give a new folder")
    before, _, name = path.rpartition("/")
    made = Scratch(f"{before}/.murmurs-{name}-{secrets.token_hex(8)}", filesystem)
    made.create()
    try:
        yield made
        made.rename(path)
    except BaseException:
        filesystem.delete_dir(made.folder)
        raise


def _located(where: str | Path) -> tuple[Any, str]:
    """Return the file system of a folder, and its path in it."""
    from pyarrow.fs import FileSystem, LocalFileSystem

    text = str(where)
    if "://" not in text:
        return LocalFileSystem(), str(Path(text).absolute())
    try:
        filesystem, path = FileSystem.from_uri(text)
    except (OSError, ValueError):
        raise SourceError(
            f"{without_password(text)} is not the address of a folder that can be reached"
        ) from None
    return filesystem, path.rstrip("/")
