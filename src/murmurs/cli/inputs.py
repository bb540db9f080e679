"""Files that a command reads, given one by one, as folders, or as patterns such as 'day*.bin'."""

from __future__ import annotations

import glob
from pathlib import Path

import click

from murmurs.boundary.writing import STANDARD
from murmurs.cli.output import FilePath, with_numbers


def expanded(
    ctx: click.Context, param: click.Parameter, value: tuple[Path, ...]
) -> tuple[Path, ...]:
    """Return the files that are meant; each is there, and the files of a folder are in order."""
    try:
        return tuple(path for given in value for path in _files(given))
    except FileNotFoundError as error:
        raise click.BadParameter(str(error), ctx, param) from None


input_files = FilePath(allow_dash=True)
"""Files, folders and patterns, to be used with `expanded` as the callback."""


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
