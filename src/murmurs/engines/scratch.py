"""Scratch: a folder for files that tasks hand to other tasks, which all workers must see."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from murmurs.engines.sources import SourceError


@dataclass(frozen=True)
class Scratch:
    """A folder of a file system; files appear in it whole, under names that tasks agree on."""

    folder: str
    filesystem: Any = field(compare=False, repr=False)

    def write(self, name: str, data: bytes) -> None:
        """Write a file; if it is there already, it is replaced by the same."""
        target = f"{self.folder}/{name}"
        temporary = f"{self.folder}/.{name}-{secrets.token_hex(8)}"
        with self._seen(), self.filesystem.open_output_stream(temporary) as file:
            file.write(data)
        self.filesystem.move(temporary, target)

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
    from pyarrow.fs import FileSystem, LocalFileSystem

    if where is None:
        with TemporaryDirectory(prefix="murmurs-") as folder:
            yield Scratch(folder, LocalFileSystem())
        return
    text = str(where)
    try:
        if "://" in text:
            filesystem, path = FileSystem.from_uri(text)
        else:
            filesystem, path = LocalFileSystem(), str(Path(text).absolute())
        folder = f"{path.rstrip('/')}/murmurs-{secrets.token_hex(8)}"
        filesystem.create_dir(folder)
    except (OSError, ValueError) as error:
        raise SourceError(f"no folder can be made in {text}: {error}") from None
    try:
        yield Scratch(folder, filesystem)
    finally:
        filesystem.delete_dir(folder)
