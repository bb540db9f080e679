"""What `encode` and `count` share: options for columns, and errors with the place in the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

from murmurs.boundary.answers import is_missing
from murmurs.boundary.checks import shown
from murmurs.boundary.reading import named
from murmurs.boundary.texts import listed
from murmurs.cli.output import same_file
from murmurs.files.columns import FORMATS, MOST_ROWS, Chunk, Format, format_of, read_column
from murmurs.files.segments import Segments
from murmurs.mechanism import OpenMechanism
from murmurs.question import Question

Run = TypeVar("Run", bound=Callable[..., Any])

_OPTIONS = [
    click.option("--column", help="The column to read: its name, or its number from 1."),
    click.option(
        "--by",
        multiple=True,
        help="A second column: one file is written for each of its values. Give it several times "
        "for one file for each combination.",
    ),
    click.option(
        "--format",
        "file_format",
        type=click.Choice(FORMATS),
        help="The format of the file, if its name does not tell.",
    ),
    click.option("--delimiter", help="What separates the cells of a CSV file: , by default."),
    click.option(
        "--no-header", is_flag=True, help="The first line of a CSV file has no names of columns."
    ),
]


def column_options(run: Run) -> Run:
    """Add the options that say which column of a file is read."""
    for option in reversed(_OPTIONS):
        run = option(run)
    return run


class Columns(NamedTuple):
    """Which column of a file is read, and how."""

    column: str | None
    by: tuple[str, ...]
    format: Format | None
    delimiter: str | None
    no_header: bool

    @property
    def asked(self) -> bool:
        """Whether any option was given."""
        return any(self)

    def kind(self, path: Path) -> Format:
        """Return the format of a file."""
        return self.format or format_of(path)

    def chunks(
        self, path: Path, most: int = MOST_ROWS, *, is_value: Callable[[str], bool] | None = None
    ) -> Iterator[Chunk]:
        """Return the column of a file; errors name options."""
        kind = self.kind(path)
        if kind == "text" and (self.column or self.by):
            raise ValueError(
                f"{named(path)} is read as text, one value per line, and has no columns: add "
                "--format csv, tsv, parquet or jsonl"
            )
        if kind not in ("text", "jsonl") and self.column is None:
            text = "" if kind == "parquet" else ", or --format text if it has one value per line"
            raise ValueError(
                f"{named(path)} has columns: add --column with a name or a number{text}"
            )
        if self.by and self.column is None:
            raise ValueError("--by needs --column: say which column is counted")
        for name in self.by:
            if self.by.count(name) > 1:
                raise ValueError(f"--by {name} is given twice: name each column once")
        return read_column(
            path,
            self.column,
            self.by,
            format=kind,
            delimiter=self.delimiter,
            header=not self.no_header,
            is_value=is_value,
            most=most,
        )


class Outputs:
    """Where the parts of an output go: one file, or one for each segment."""

    def __init__(self, output: Path, sources: list[Path], by: tuple[str, ...]) -> None:
        self._output, self._sources = output, sources
        self._segments = Segments(output) if by else None

    def path(self, segment: Any) -> Path:
        """Return the file of a segment; none that is read is overwritten."""
        if self._segments is None:
            return self._output
        path = self._segments.path(segment)
        for source in self._sources:
            if same_file(source, path):
                raise ValueError(f"cannot write {path}: it is a file that this command reads")
        return path


def refuse_answer(
    path: Path,
    chunk: Chunk,
    question: Question,
    *,
    names: tuple[str, ...],
    options: dict[str, Any],
    is_text: bool,
    wrong: Callable[[Any], bool],
) -> None:
    """Refuse the first value of a chunk that is missing or none of the names, without quoting."""
    for position, value in enumerate(chunk.listed()):
        if is_missing(value):
            if options.get("missing") is None and not options.get("drop_missing"):
                what = "the answer is missing: leave such answers out with --drop-missing"
                if "missing" in options:
                    what += ", or name a label for them with --missing"
                chunk.refuse(path, position, what)
        elif isinstance(question.mechanism, OpenMechanism):
            try:
                question.mechanism.check(value)
            except (TypeError, ValueError) as error:
                chunk.refuse(path, position, str(error))
        elif wrong(value):
            what = f"this is not an answer to {shown(question.name)}; answers are {listed(names)}"
            what += ": correct it, or name a label for such answers with --unknown"
            if is_text and chunk.places[position] == 1:
                what += "; if it is a header, add --format csv and --column"
            chunk.refuse(path, position, what)
