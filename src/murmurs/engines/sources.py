"""Sources: where the rows are, cut into parts that one task reads.

A source is a file, a folder or a pattern, here or on an object store (``s3://``, ``gs://``,
``abfs://``), of Parquet or Arrow IPC; or a table of Arrow. Folders named ``day=2027-03-31`` (Hive
partitions) are columns. Files are looked at before any work begins: those that are cut off or made
for another survey are refused then.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from murmurs.boundary.checks import shown
from murmurs.boundary.texts import listed
from murmurs.files.inputs import with_numbers

SUFFIXES = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
"""The endings of files that are read, and their formats."""

ROWS = 2**22
"""The number of rows of a part, about: whole groups of rows are read by one task."""

_PLANNERS = 16
"""Files that are looked at together: each takes a moment to answer on an object store."""

_URI = re.compile(r"[a-z][a-z0-9+.-]+://")
_HIVE = re.compile(r"([^=/]+)=([^/]*)")
_NOT_THERE = "__HIVE_DEFAULT_PARTITION__"
_NO_ACCESS = (
    "ACCESS_DENIED",
    "redentials",
    "INVALID_ACCESS_KEY",
    "HTTP response code: 403",
    "UNAUTHENTICATED",
    "PERMISSION_DENIED",
    "AuthenticationFailed",
    "AuthorizationFailure",
    "metadata.google.internal",
)
_OF_STORES = ("AWS Error", "google::cloud", "Azure Error")
"""What an error of a store says, and that of a damaged file does not."""

_SETTINGS = {
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
    "gcs": "GOOGLE_APPLICATION_CREDENTIALS",
    "abfs": "AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET",
    "abfss": "AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET",
}
"""The variables with which the tools of a store take credentials; others are those of S3."""


class SourceError(ValueError):
    """A file that cannot be read, or that changed while it was read; the message names it."""


class UnreachableError(SourceError, ConnectionError):
    """A store does not answer, or refuses the credentials; the message names it."""


@dataclass(frozen=True)
class Version:
    """What tells whether a file is still the one that was looked at."""

    size: int
    changed_ns: int | None


@dataclass(frozen=True)
class Part:
    """Some groups of rows of one file: what one task reads.

    ``number`` is its place among all parts, and ``first`` that of its first row in the file.
    ``path`` is its name for messages, and ``inside`` that within the file system. ``partition`` has
    the columns that the names of its folders give. A file without rows is one part of no groups.
    """

    number: int
    path: str
    inside: str
    format: str
    groups: tuple[int, ...]
    first: int
    rows: int
    version: Version
    partition: tuple[tuple[str, str | None], ...] = ()
    filesystem: Any = field(default=None, compare=False, repr=False)

    @property
    def name(self) -> str:
        """The name of the file for messages."""
        return self.path

    def version_now(self) -> Version:
        """Return the version of the file as it is now."""
        with reached(self.path):
            entry = self.filesystem.get_file_info(self.inside)
        return _version(entry, self.path)

    def check_unchanged(self) -> None:
        """Refuse a file that was replaced or written to since it was looked at."""
        if self.version_now() != self.version:
            raise SourceError(
                f"{self.path} changed while it was read: count again when nothing writes to it"
            )


@dataclass(frozen=True)
class InMemory:
    """A table of Arrow that is here already."""

    number: int
    name: str
    table: Any = field(compare=False, repr=False)
    partition: tuple[tuple[str, str | None], ...] = ()

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.table.num_rows)

    first = 0

    def check_unchanged(self) -> None:
        """Nothing can replace a table in memory."""


@dataclass(frozen=True)
class Streamed:
    """Batches that an engine hands in while they come, each once."""

    number: int
    name: str
    stream: Any = field(compare=False, repr=False)
    rows: int = 0
    partition: tuple[tuple[str, str | None], ...] = ()

    first = 0

    def check_unchanged(self) -> None:
        """Whatever hands them in knows whether they changed."""


AnyPart = Part | InMemory | Streamed


@dataclass(frozen=True)
class Found:
    """The parts of all sources, with the schema of each file by its name."""

    parts: tuple[AnyPart, ...]
    schemas: dict[str, Any]

    @property
    def rows(self) -> int:
        """The number of rows of all parts."""
        return sum(part.rows for part in self.parts)


def find(sources: object, *, filesystem: Any = None, rows: int = ROWS) -> Found:
    """Return the parts of the sources: paths, patterns, URIs, tables of Arrow, or a list of these.

    >>> import pyarrow
    >>> found = find(pyarrow.table({"drink": [0, 2]}))
    >>> found.rows, found.schemas["table 1"].names
    (2, ['drink'])
    """
    if isinstance(sources, Found):
        return sources
    _arrow()
    parts: list[AnyPart] = []
    schemas: dict[str, Any] = {}
    names: dict[object, str] = {}
    for number, one in enumerate(_each(sources), 1):
        if hasattr(one, "schema") and hasattr(one, "num_rows"):
            table = InMemory(len(parts), f"table {number}", _as_table(one))
            parts.append(table)
            schemas[table.name] = table.table.schema
            continue
        files = list(_files(one, filesystem))
        with ThreadPoolExecutor(_PLANNERS) as pool:
            looked = pool.map(lambda file: _cut(*file, rows=rows), files)
            for (within, path, entry, _), (own, schema) in zip(files, looked, strict=True):
                before = names.setdefault(_identity(within, path, entry), path)
                if before != path:
                    raise SourceError(f"{before} and {path} are one file, and would count twice")
                if path in schemas:
                    raise SourceError(f"{path} is given twice, and would be counted twice")
                schemas[path] = schema
                parts += [_numbered(part, len(parts) + i) for i, part in enumerate(own)]
    return Found(tuple(parts), schemas)


def _identity(filesystem: Any, path: str, entry: Any) -> object:
    """Return what tells a file from others: here a file may have several names, such as links."""
    from pyarrow.fs import LocalFileSystem

    if not isinstance(filesystem, LocalFileSystem):
        return path
    with contextlib.suppress(OSError):
        about = Path(entry.path).stat()
        return about.st_dev, about.st_ino
    return path


def _numbered(part: Part, number: int) -> Part:
    return replace(part, number=number)


def _each(sources: object) -> list[Any]:
    if isinstance(sources, str | Path) or hasattr(sources, "num_rows"):
        return [sources]
    if not isinstance(sources, Iterable):
        raise TypeError(
            "sources are paths, URIs or tables of Arrow, or a list of these, not of type "
            f"{type(sources).__name__}"
        )
    found = list(sources)
    if not found:
        raise ValueError("there are no sources: give at least one file, folder or table")
    for one in found:
        if not isinstance(one, str | Path) and not hasattr(one, "num_rows"):
            raise TypeError(
                f"a source is a path, a URI or a table of Arrow, not of type {type(one).__name__}"
            )
    return found


def _as_table(value: Any) -> Any:
    import pyarrow

    return pyarrow.Table.from_batches([value]) if isinstance(value, pyarrow.RecordBatch) else value


def _arrow() -> None:
    try:
        import pyarrow.fs  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "Parquet and Arrow are read with pyarrow: pip install 'murmurs[frames]'"
        ) from error


def of_address(address: str) -> tuple[Any, str, str]:
    """Return the file system of an address, its scheme, and the path within the file system.

    Only the first part of the path is read as the file system reads it, which drops a user and a
    password: a pattern may have characters that addresses have not, and names of folders have "%".
    """
    from pyarrow.fs import FileSystem

    plain, mark, options = address.partition("?")
    scheme, _, below = plain.partition("://")
    where, slash, path = below.partition("/")
    with reached(address):
        filesystem, start = FileSystem.from_uri(f"{scheme}://{where}{slash}{mark}{options}")
    return filesystem, f"{scheme}://", f"{start.rstrip('/')}{slash}{path}"


def _files(source: str | Path, filesystem: Any) -> Iterator[tuple[Any, str, Any, str]]:
    """Return the files that a source stands for: file system, name, its entry, folder of search."""
    from pyarrow.fs import FileSelector, FileType, LocalFileSystem

    scheme, inside = "", str(source)
    if _URI.match(inside):
        own, scheme, inside = of_address(inside)
        filesystem = own if filesystem is None else filesystem
    elif filesystem is None:
        filesystem, inside = LocalFileSystem(), str(Path(inside).absolute())
    inside = inside.rstrip("/") or "/"
    name = f"{scheme}{inside}"
    with reached(name):
        entry = filesystem.get_file_info(inside)
        there = entry.type != FileType.NotFound
        root = inside if there else _root(inside)  # a name may have the marks of a pattern
        if not there and root == inside:
            raise FileNotFoundError(f"There is no file or folder {name!r}.")
        if entry.type == FileType.File:
            below = [entry]
        else:
            selector = FileSelector(root or "/", recursive=True, allow_not_found=True)
            below = [e for e in filesystem.get_file_info(selector) if e.type == FileType.File]
            below = [e for e in below if _wanted(e.path, root, inside)]
    if not below:
        what = "in the folder" if root == inside else "that matches"
        raise FileNotFoundError(
            f"There is no file {what} {name!r} that ends in {listed(tuple(SUFFIXES))}."
        )
    for entry in sorted(below, key=lambda e: [with_numbers(p) for p in e.path.split("/")]):
        yield filesystem, f"{scheme}{entry.path}", entry, root


def _root(path: str) -> str:
    """Return the folder before the first pattern in a path."""
    parts = path.split("/")
    for place, part in enumerate(parts):
        if any(mark in part for mark in "*?["):
            return "/".join(parts[:place])
    return path


def _wanted(path: str, root: str, pattern: str) -> bool:
    """Whether a file below the folder is meant: a known ending, not hidden, matching the pattern.

    In a pattern, ** stands for any folders, * for a part of one name.
    """
    below = path[len(root) :].strip("/").split("/")
    if any(part.startswith((".", "_")) for part in below):
        return False
    if pattern == root:
        return Path(path).suffix.lower() in SUFFIXES
    return _matches(below, pattern[len(root) :].strip("/").split("/"))


def _matches(names: Sequence[str], patterns: Sequence[str]) -> bool:
    if not patterns:
        return not names
    if patterns[0] == "**":
        return any(_matches(names[i:], patterns[1:]) for i in range(len(names) + 1))
    return bool(names) and fnmatchcase(names[0], patterns[0]) and _matches(names[1:], patterns[1:])


def without_password(source: str) -> str:
    """Return an address for messages, without what may be a password."""
    scheme, mark, rest = source.partition("?")[0].rpartition("://")
    where, slash, path = rest.partition("/")
    return f"{scheme}{mark}{where.rpartition('@')[2] if mark else where}{slash}{path}"


@contextlib.contextmanager
def reached(source: str) -> Iterator[None]:
    """Turn what a file system says into one sentence that names the source."""
    name = without_password(source)
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        if error.errno is not None:
            raise UnreachableError(f"{name} cannot be read: {os.strerror(error.errno)}") from None
        if any(word in str(error) for word in _NO_ACCESS):
            settings = _SETTINGS.get(
                name.partition("://")[0], "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
            )
            raise UnreachableError(
                f"{name} cannot be read: the store refused the credentials, or there are none; set "
                f"them as the store's own tools do, such as {settings}"
            ) from None
        raise UnreachableError(
            f"{name} cannot be reached: check the address, and that this computer may reach it"
        ) from error
    except ValueError:  # of Arrow, which would quote a password
        raise SourceError(
            f"{name} is not an address that can be read, such as s3://bucket/folder"
        ) from None


def _version(entry: Any, path: str) -> Version:
    from pyarrow.fs import FileType

    if entry.type != FileType.File:
        raise SourceError(f"{path} is gone: count again when nothing removes files")
    return Version(int(entry.size), entry.mtime_ns)


def _cut(filesystem: Any, path: str, entry: Any, root: str, *, rows: int) -> tuple[list[Part], Any]:
    """Return the parts of a file, and its schema."""
    kind = SUFFIXES.get(Path(path).suffix.lower())
    if kind is None:
        raise SourceError(
            f"{path} is not read here: the name of a file ends in {listed(tuple(SUFFIXES))}"
        )
    partition = tuple(_partition(entry.path[len(root) :]))
    with damaged(path):
        sizes, schema = _groups(filesystem, entry.path, kind)
    for name, _ in partition:
        if name in schema.names:
            raise SourceError(
                f"{path} has a column {shown(name)}, and so has its folder: rename one of them"
            )
    version = _version(entry, path)
    whole = Part(0, path, entry.path, kind, (), 0, 0, version, partition, filesystem)
    parts = [
        replace(whole, groups=groups, first=sum(sizes[: groups[0]]), rows=own)
        for groups, own in _together(sizes, rows)
    ]
    return parts or [whole], schema


def _partition(path: str) -> Iterator[tuple[str, str | None]]:
    """Return the columns that the names of folders give."""
    for folder in path.split("/")[:-1]:
        found = _HIVE.fullmatch(folder)
        if found:
            value = unquote(found[2])
            yield unquote(found[1]), None if value == _NOT_THERE else value


def _groups(filesystem: Any, path: str, kind: str) -> tuple[list[int], Any]:
    """Return the number of rows in each group, and the schema."""
    if kind == "parquet":
        from pyarrow.parquet import ParquetFile

        with filesystem.open_input_file(path) as file:
            about = ParquetFile(file)
            meta = about.metadata
            sizes = [meta.row_group(i).num_rows for i in range(meta.num_row_groups)]
            return sizes, about.schema_arrow
    from pyarrow import ipc

    with filesystem.open_input_file(path) as file, ipc.open_file(file) as reader:
        sizes = [reader.get_batch(i).num_rows for i in range(reader.num_record_batches)]
        return sizes, reader.schema


def _together(sizes: Sequence[int], rows: int) -> list[tuple[tuple[int, ...], int]]:
    """Return neighbouring groups of together at least so many rows, where there are as many."""
    cuts, size = [0], 0
    for number, own in enumerate(sizes, 1):
        size += own
        if size >= rows:
            cuts.append(number)
            size = 0
    if cuts[-1] < len(sizes):
        cuts.append(len(sizes))
    return [(tuple(range(a, b)), sum(sizes[a:b])) for a, b in pairwise(cuts) if sum(sizes[a:b])]


@contextlib.contextmanager
def damaged(path: str) -> Iterator[None]:
    """Turn what a reader says of a bad file into one sentence that names it."""
    from pyarrow import ArrowException

    try:
        yield
    except SourceError:
        raise
    except FileNotFoundError:
        raise SourceError(f"{path} is gone: count again when nothing removes files") from None
    except (ArrowException, OSError) as error:
        if isinstance(error, OSError) and (
            error.errno is not None or any(word in str(error) for word in _OF_STORES)
        ):
            with reached(path):
                raise
        raise SourceError(
            f"{path} is not a whole Parquet or Arrow file: it is cut off, damaged or of another "
            "kind"
        ) from None
