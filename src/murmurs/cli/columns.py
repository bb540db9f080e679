"""What `encode` and `count` share: options for columns, and errors with the place in the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

from murmurs.boundary.checks import shown
from murmurs.boundary.frames import is_missing
from murmurs.boundary.reading import named
from murmurs.boundary.texts import listed
from murmurs.cli.output import same_file
from murmurs.cli.suggestions import Choice
from murmurs.files.columns import FORMATS, MOST_ROWS, Chunk, Format, format_of, read_column
from murmurs.files.segments import Segments
from murmurs.mechanisms.mechanism import OpenMechanism
from murmurs.questions.asked import Asked
from murmurs.questions.single import Single

Run = TypeVar("Run", bound=Callable[..., Any])

_BY = (
    "A second column: one file is written for each of its values. Give it several times for one "
    "file for each combination."
)
_OPTIONS = [
    click.option(
        "--format",
        "file_format",
        type=Choice(FORMATS),
        help="The format of the file [default: from the file name].",
    ),
    click.option("--delimiter", help="CSV delimiter [default: ,]."),
    click.option("--no-header", is_flag=True, help="The CSV file has no header row."),
]


def options_of_columns(column: str, by: str) -> Callable[[Run], Run]:
    """Return what adds options that say which columns of a file are read, with these helps."""
    first = [click.option("--column", help=column), click.option("--by", multiple=True, help=by)]

    def added(run: Run) -> Run:
        for option in reversed([*first, *_OPTIONS]):
            run = option(run)
        return run

    return added


column_options = options_of_columns("The column to read: its name, or its number from 1.", _BY)
"""Adds the options that say which column of a file is read."""


class Columns(NamedTuple):
    """Which column of a file is read, and how."""

    column: str | tuple[str, ...] | None
    by: tuple[str, ...]
    format: Format | None
    delimiter: str | None
    no_header: bool

    @property
    def asked(self) -> bool:
        """Whether any option was given."""
        return any(self)

    def of(self, asked: Asked) -> Columns:
        """Return the columns that answers are read from: those of a joint have its names."""
        if len(asked.names) == 1:
            return self
        if self.column is not None or self.no_header:
            option = "--column" if self.column is not None else "--no-header"
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
        """Return the column of a file; errors name options."""
        kind = self.kind(path)
        if kind == "text" and isinstance(self.column, tuple):
            raise ValueError(
                f"{named(path)} is read as text, one value per line, and answers to "
                f"{len(self.column)} questions are a column each: give a file of another kind, or "
                "add --format csv, tsv, parquet or jsonl"
            )
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


class Answers(NamedTuple):
    """Answers to one question, as they stand in a file; ``one_of_several`` in a row, or alone."""

    path: Path
    chunk: Chunk
    question: Single
    is_text: bool
    one_of_several: bool


def answers_in(
    path: Path, chunk: Chunk, asked: Asked, options: dict[str, Any], *, is_text: bool
) -> Iterator[tuple[Answers, dict[str, Any]]]:
    """Return the answers to each question, with the options that apply to it."""
    columns = by_question(asked, chunk)
    for question, own in each_question(asked, options):
        part = chunk._replace(values=columns[question.name])
        yield Answers(path, part, question, is_text, len(columns) > 1), own


def refuse_answer(
    answers: Answers,
    *,
    names: tuple[str, ...],
    options: dict[str, Any],
    wrong: Callable[[Any], bool],
) -> None:
    """Refuse the first answer that is missing or none of the names, without quoting it."""
    path, chunk, question, is_text, one_of_several = answers
    to = f" to {shown(question.name)}" if one_of_several else ""
    for position, value in enumerate(chunk.listed()):
        if is_missing(value):
            if options.get("missing") is None and not options.get("drop_missing"):
                what = f"the answer{to} is missing: leave such answers out with --drop-missing"
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


def by_question(asked: Asked, chunk: Chunk) -> dict[str, Any]:
    """Return the rows of a chunk as a column for each question; that of one question as it is."""
    if len(asked.names) == 1:
        return {asked.name: chunk.values}
    columns = zip(*chunk.values, strict=True) if chunk.values else ((),) * len(asked.names)
    return {name: list(column) for name, column in zip(asked.names, columns, strict=True)}


def for_each(asked: Asked, option: str, given: tuple[str, ...]) -> Any:
    """Return what an option gives: a label or, for a joint, a label for each question it names.

    For one question it is given once, as LABEL; for a joint as NAME=LABEL, once for each question.
    """
    if not given:
        return None
    if len(asked.names) == 1:
        if len(given) > 1:
            raise ValueError(f"{option} is given twice: {asked.name!r} takes one")
        return given[0]
    rule = (
        f"for several questions give it as NAME=LABEL, once for each of {listed(asked.names)} that "
        "needs it"
    )
    return by_name(asked.names, option, given, rule)


def by_name(
    names: tuple[str, ...], option: str, given: tuple[str, ...], rule: str
) -> dict[str, str]:
    """Return what an option gives, as NAME=TEXT, for some of the questions."""
    found: dict[str, str] = {}
    for text in given:
        name = next((n for n in names if text.startswith(f"{n}=")), None)
        if name is None or name in found:
            raise ValueError(f"{option} {text}: {rule}")
        found[name] = text.removeprefix(f"{name}=")
    return found


def each_question(asked: Asked, options: dict[str, Any]) -> Iterator[tuple[Single, dict[str, Any]]]:
    """Return each question with the options that apply to it."""
    if len(asked.names) == 1:
        yield asked.questions[0], options
        return
    for question in asked.questions:
        own = {
            option: (given or {}).get(question.name) if option != "drop_missing" else given
            for option, given in options.items()
        }
        if own.get("missing") is not None:
            own["drop_missing"] = False
        yield question, own


def check_options(question: Single, options: dict[str, Any]) -> None:
    """Refuse options that do not fit the question, before anything is read."""
    if options["missing"] is not None and options["drop_missing"]:
        raise ValueError(
            "--missing names a label for missing answers, and --drop-missing leaves them out: "
            "choose one of the two"
        )
    if question.is_open:
        if options["unknown"] is not None:
            raise ValueError("an open question takes any string: leave --unknown out")
        return
    for option in ("missing", "unknown"):
        if options[option] is not None:
            try:
                question.answer(options[option])
            except ValueError as error:
                raise ValueError(f"--{option}: {error}") from None


def refuse_bad(answers: Answers, options: dict[str, Any]) -> None:
    """Refuse the first answer that cannot be encoded, if there is one."""
    question = answers.question
    good: set[Any] = set()

    def wrong(value: Any) -> bool:
        key = (type(value), str(value))
        if key not in good:
            try:
                question.numbers([value], unknown=options["unknown"])
            except (TypeError, ValueError, OverflowError):
                return True
            good.add(key)
        return False

    refuse_answer(answers, names=question.labels, options=options, wrong=wrong)
