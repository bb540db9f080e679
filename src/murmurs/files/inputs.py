"""Files that are given one by one, as folders, or as patterns such as 'day*.bin'."""

from __future__ import annotations

import glob
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from murmurs.boundary.writing import STANDARD
from murmurs.files.headers import AnyPath
from murmurs.files.segments import segments_of


def find_files(*given: AnyPath) -> tuple[Path, ...]:
    """Return the files that are meant: of a folder all below it, of a pattern all that match.

    They are in the order in which they are given, and those of a folder or a pattern in the order
    of their names, day9 before day10. A file that is not there is refused.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for name in ("day9.bin", "day10.bin", "notes.txt"):
    ...         Path(folder, name).touch()
    ...     [path.name for path in find_files(Path(folder, "day*.bin"))]
    ['day9.bin', 'day10.bin']
    """
    return tuple(path for one in given for path in _files(Path(one)))


def _files(given: Path) -> list[Path]:
    if given == STANDARD or given.is_dir():
        return [given] if given == STANDARD else _in_folder(given)
    if given.exists():
        return [given]
    if not glob.has_magic(str(given)):
        raise FileNotFoundError(f"File {str(given)!r} does not exist.")
    found = [Path(name) for name in glob.glob(str(given), recursive=True)]  # noqa: PTH207
    files = _in_order([path for path in found if path.is_file()])
    if not files:
        raise FileNotFoundError(f"No file matches {str(given)!r}.")
    return files


def _in_folder(folder: Path) -> list[Path]:
    """Return the files below a folder; names that begin with . or _ are other programs' notes."""
    files = [
        path
        for path in folder.rglob("*")
        if path.is_file()
        and not any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)
    ]
    if not files:
        raise FileNotFoundError(f"There is no file in the folder {str(folder)!r}.")
    return _in_order(files)


def _in_order(files: list[Path]) -> list[Path]:
    return sorted(files, key=lambda path: [with_numbers(part) for part in path.parts])


def with_numbers(name: str) -> list[Any]:
    """Return what to sort a name by: its texts, and its numbers as numbers (9 before 10).

    >>> sorted(["week10", "week9"], key=with_numbers)
    ['week9', 'week10']
    """
    parts: list[Any] = re.split(r"([0-9]+)", name)
    return [int(part) if place % 2 else part.casefold() for place, part in enumerate(parts)]


def names_of_files(paths: Sequence[Path]) -> list[str]:
    """Return what files are called: their segments, if their names are alike apart from these.

    >>> names_of_files([Path("counts-north.json"), Path("counts-south.json")])
    ['north', 'south']
    """
    stems = [path.stem for path in paths]
    if len(set(stems)) < len(stems):
        return [str(path) for path in paths]
    return segments_of(stems)
