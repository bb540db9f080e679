"""Text from outside: UTF-8 with or without a byte order mark, as lines, CSV or JSON.

Files are read in bounded memory, and errors give the file, the line and the rule. They never quote
a line, since it may contain somebody's answer. A file that ends in .gz is unpacked as it is read.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NoReturn

from murmurs.boundary.writing import STANDARD

LONGEST_LINE = 2**20
"""The most bytes in a line, by default."""

LONGEST_DOCUMENT = 2**30
"""The most bytes in a survey or a file of counts."""

_MARK = b"\xef\xbb\xbf"
_BLOCK = 2**18


@contextlib.contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading bytes, unpacked if it ends in .gz; "-" is standard input."""
    if path == STANDARD:
        if sys.stdin is None:
            raise OSError("cannot read standard input: it is closed")
        yield sys.stdin.buffer
        return
    if path.suffix == ".gz":
        try:
            with gzip.open(path, "rb") as unpacked:
                yield unpacked  # type: ignore[misc]
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise ValueError(
                f"{named(path)} is not a whole gzip file: it is cut off or damaged, copy it again"
            ) from None
        return
    with path.open("rb") as file:
        yield file


def named(path: Path) -> str:
    """Return the name of a file for messages."""
    return "standard input" if path == STANDARD else str(path)


def refuse(path: Path, line: int, what: str) -> NoReturn:
    """Raise the error for one line of a file."""
    raise ValueError(f"{named(path)}, line {line}: {what}")


def contents(path: Path, longest: int = LONGEST_DOCUMENT) -> bytes:
    """Return all bytes of a file, without a byte order mark; refuse a longer file."""
    with opened(path) as file:
        data = file.read(longest + 1)
    if len(data) > longest:
        raise ValueError(f"{named(path)} is longer than the limit of {longest} bytes")
    return data.removeprefix(_MARK)


def lines(
    path: Path, longest: int = LONGEST_LINE, *, as_they_are: bool = False
) -> Iterator[tuple[int, str]]:
    """Return the lines of a file, without line ends, and their numbers, from 1."""
    for first, texts in blocks_of_lines(path, longest, as_they_are=as_they_are):
        yield from enumerate(texts, first)


def blocks_of_lines(
    path: Path, longest: int = LONGEST_LINE, *, as_they_are: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """Return the lines of a file in blocks, each with the number of its first line.

    A line ends with a line feed, or a carriage return and a line feed; both are removed. With
    ``as_they_are`` lines keep their carriage returns. The size of a block depends on how much data
    arrives at a time.
    """
    first = 1
    with opened(path) as file:
        for block in _whole_lines(file, longest):
            data = block.removeprefix(_MARK) if first == 1 else block
            if len(data) > longest or _not_utf8(data):
                _refuse_first(path, first, data, longest)
            text = data.removesuffix(b"\n").decode()
            if not as_they_are:
                text = text.replace("\r\n", "\n").removesuffix("\r")
            texts = text.split("\n")
            yield first, texts
            first += len(texts)


def _not_utf8(data: bytes) -> str | None:
    """Return why bytes are not UTF-8, or None; Python's own error would contain all of them."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return f"it is not UTF-8 ({error.reason} at byte {error.start + 1})"
    return None


def _whole_lines(file: IO[bytes], longest: int) -> Iterator[bytes]:
    """Cut a file into blocks of whole lines; only the last block may end within a line."""
    left = b""
    while data := file.read1(_BLOCK):  # type: ignore[attr-defined]  # does not wait for more
        whole, end, left = (left + data).rpartition(b"\n")
        if end:
            yield whole + end
        if len(left) > longest:
            break
    if left:
        yield left


def _refuse_first(path: Path, first: int, block: bytes, longest: int) -> None:
    """Refuse the first line of a block that is too long or not UTF-8, if any."""
    for number, data in enumerate(block.split(b"\n"), first):
        if len(data) > longest:
            refuse(path, number, f"it is longer than the limit of {longest} bytes")
        wrong = _not_utf8(data)
        if wrong is not None:
            refuse(path, number, wrong)


def rows(
    path: Path, longest: int = LONGEST_LINE, *, delimiter: str = ",", with_empty: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """Return the rows of a CSV file with the lines where they begin.

    Empty lines are rows without cells, and are left out unless ``with_empty`` asks for them.
    """
    texts = lines(path, longest, as_they_are=True)  # a quoted cell may contain line breaks
    reader = csv.reader((f"{text}\n" for _, text in texts), strict=True, delimiter=delimiter)
    line = 1
    try:
        for row in reader:
            if row or with_empty:
                yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        refuse(path, line, f"this is not CSV: {error}")


def is_digits(text: str) -> bool:
    """Return whether a text is a whole number in the digits 0 to 9, without a sign."""
    return text.isascii() and text.isdigit()
