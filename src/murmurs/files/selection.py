"""Columns: which columns of a file are read, and how.

Ways out of an error are written as keywords, such as `by=`; the command line writes them as
options.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypedDict

from murmurs.boundary.checks import shown
from murmurs.boundary.reading import named
from murmurs.boundary.texts import listed, meant, numbered
from murmurs.files.columns import MOST_ROWS, Chunk, Format, format_of, read_column
from murmurs.questions.asked import Asked

_FORMATS = '`format="csv"`, tsv, parquet or jsonl'


class Reading(TypedDict, total=False):
    """How a file with columns is read, as keywords.

    ``format`` is "text", "csv", "tsv", "parquet" or "jsonl", by default from the file name;
    ``delimiter`` and ``header=False`` are for CSV.
    """

    format: Format | None
    delimiter: str | None
    header: bool


class Columns(NamedTuple):
    """Which column of a file is read, by which segments, and how."""

    column: str | tuple[str, ...] | None = None
    by: tuple[str, ...] = ()
    format: Format | None = None
    delimiter: str | None = None
    header: bool = True

    @property
    def asked(self) -> bool:
        """Whether anything was asked for."""
        return self != Columns()

    @property
    def reading(self) -> Reading:
        """How a file is read, as keywords."""
        return {"format": self.format, "delimiter": self.delimiter, "header": self.header}

    def of(self, asked: Asked) -> Columns:
        """Return the columns that answers are read from: those of a joint have its names."""
        if not asked.is_joint:
            return self
        if self.column is not None or not self.header:
            option = "`column=`" if self.column is not None else "`header=False`"
            raise ValueError(
                f"the answers to {asked.name!r} are in columns with the names of its questions, "
                f"{listed(asked.names)}: leave {option} out, and name the columns so"
            )
        return self._replace(column=asked.names)

    def kind(self, path: Path) -> Format:
        """Return the format of a file."""
        return self.format or format_of(path)

    def chunks(
        self, path: Path, most: int = MOST_ROWS, *, is_value: Callable[[str], bool] | None = None
    ) -> Iterator[Chunk]:
        """Return the column of a file, in chunks; what cannot be read so is refused at once."""
        kind = self.kind(path)
        if kind == "text" and isinstance(self.column, tuple):
            raise ValueError(
                f"{named(path)} is read as text, one value per line, and answers to "
                f"{numbered(len(self.column), 'question')} are a column each: give a file of "
                f"another kind, or add {_FORMATS}"
            )
        if kind == "text" and (self.column or self.by):
            raise ValueError(
                f"{named(path)} is read as text, one value per line, and has no columns: add "
                f"{_FORMATS}"
            )
        if kind not in ("text", "jsonl") and self.column is None:
            text = "" if kind == "parquet" else ', or `format="text"` if it has one value per line'
            raise ValueError(
                f"{named(path)} has columns: add `column=` with a name or a number{text}"
            )
        if self.by and self.column is None:
            raise ValueError("`by=` needs `column=`: say which column is counted")
        for name in self.by:
            if self.by.count(name) > 1:
                raise ValueError(f'`by="{name}"` is given twice: name each column once')
        return read_column(
            path,
            self.column,
            self.by,
            format=kind,
            delimiter=self.delimiter,
            header=self.header,
            is_value=is_value,
            most=most,
        )


def columns_of(column: str | None, by: str | Sequence[str], how: Reading) -> Columns:
    """Return the columns that a caller names."""
    for name in how:
        if name not in Reading.__annotations__:
            raise TypeError(
                f"there is no keyword {shown(name)}{meant(name, Reading.__annotations__)}"
            )
    return Columns(column, (by,) if isinstance(by, str) else tuple(by), **how)
