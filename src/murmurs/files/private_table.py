"""A table of private reports: a column for each question, made from columns of other files.

Rows are shuffled and other columns left out, unless the caller asks for them: a report is private
whatever stands beside it, but a name, a time or a place in the file says whose report it is.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from murmurs.boundary.checks import shown
from murmurs.boundary.frames import is_missing
from murmurs.boundary.texts import listed, numbered
from murmurs.files.answers import Answers, check_options, refuse_bad
from murmurs.files.columns import Chunk, format_of
from murmurs.files.copies import is_copy
from murmurs.files.headers import AnyPath, as_paths
from murmurs.files.labels import check_labels, labels_of
from murmurs.files.outputs import Outputs
from murmurs.files.schema import about
from murmurs.files.selection import Columns, Reading, columns_of
from murmurs.files.tables import codes_of, column_of, is_table, write_table
from murmurs.numerics.arrays import Integers
from murmurs.questions.asked import Asked
from murmurs.questions.single import Single
from murmurs.randomness.secure import Secure
from murmurs.randomness.sources import ChanceInBulk, as_generator
from murmurs.survey.budget import rounded_up
from murmurs.survey.survey import Survey
from murmurs.wire import Reports

Labels = Mapping[str, str]


@dataclass(frozen=True)
class Source:
    """What is asked, and the columns of the file that have the answers to its questions."""

    asked: Asked
    columns: tuple[str, ...]

    @property
    def questions(self) -> tuple[Single, ...]:
        """The questions that are asked."""
        return self.asked.questions


@dataclass(frozen=True)
class PrivateTable:
    """What was written: how many rows, from which questions, and what a row costs."""

    rows: int
    sources: tuple[Source, ...]
    labels: bool
    keep: tuple[str, ...]
    keep_order: bool

    @property
    def costs(self) -> dict[str, Fraction | None]:
        """The exact epsilon of one report of each column, None if nothing bounds it."""
        return {source.asked.name: _cost(source.asked) for source in self.sources}

    @property
    def epsilon(self) -> Fraction | None:
        """The exact epsilon of a row: its columns are reports about one person, and add up."""
        bounded = [cost for cost in self.costs.values() if cost is not None]
        return sum(bounded, Fraction(0)) if len(bounded) == len(self.costs) else None

    def __str__(self) -> str:
        return f"{numbered(self.rows, 'row')} of private {'labels' if self.labels else 'codes'}"

    @property
    def notes(self) -> list[str]:
        """Sentences: what a row costs, its place, and what is beside it."""
        costs, kept = self.costs, f"Copied as they were, and not private: {listed(self.keep)}."
        each = ", ".join(f"{name} {_said(cost)}" for name, cost in costs.items())
        return [
            f"A row costs epsilon {_said(self.epsilon)}{f': {each}' if len(costs) > 1 else ''}.",
            "The rows are in the order of the file."
            if self.keep_order
            else "The rows are shuffled; `keep_order=True` leaves them in the order of the file.",
            kept
            if self.keep
            else 'No other column was copied; `keep="NAME"` does it, and its values are not '
            "private.",
        ]

    def to_document(self) -> dict[str, Any]:
        """Return the same as plain values for JSON; each epsilon is rounded up."""
        total = self.epsilon
        return {
            "rows": self.rows,
            "epsilon": None if total is None else rounded_up(total),
            "columns": {
                name: None if cost is None else rounded_up(cost)
                for name, cost in self.costs.items()
            },
            "labels": self.labels,
            "shuffled": not self.keep_order,
            "kept": list(self.keep),
        }


def sources_of(survey: Survey, columns: Mapping[str, str | None] | None) -> tuple[Source, ...]:
    """Return what the columns of a table are made from: everything that is asked, if not named."""
    if columns is None:
        return tuple(_source(asked, None) for asked in survey.reported)
    if not isinstance(columns, Mapping):
        raise TypeError(
            "columns maps names of questions to columns, as {'drink': 'beverage'}, or to None for "
            f"one of the same name, not {shown(columns)}"
        )
    return tuple(_source(survey.asked(name), column) for name, column in columns.items())


def _source(asked: Asked, column: str | None) -> Source:
    if not asked.is_joint:
        return Source(asked, (asked.name if column is None else column,))
    if column is not None:
        raise ValueError(
            f"{asked.name!r} is read from the columns {listed(asked.names)}: name them so, and "
            "leave the column out"
        )
    return Source(asked, asked.names)


def encode_table(
    paths: AnyPath | Sequence[AnyPath],
    output: AnyPath,
    survey: Survey,
    columns: Mapping[str, str | None] | None = None,
    *,
    missing: Labels | None = None,
    drop_missing: bool = False,
    unknown: Labels | None = None,
    labels: bool = False,
    keep: str | Sequence[str] = (),
    keep_order: bool = False,
    random: ChanceInBulk = None,
    **reading: Unpack[Reading],
) -> PrivateTable:
    r"""Encode columns of files, and write a table with a column of private reports for each.

    ``columns`` maps the questions that are encoded to columns, None for one of the same name;
    without it, everything that the survey asks is encoded. ``missing`` and ``unknown`` map names of
    questions to labels. A column has codes or, with ``labels``, labels. Columns that are named in
    ``keep`` are copied as they are, and are not private. Rows are shuffled, unless ``keep_order``
    leaves them; for that they are held in memory. The suffix of ``output`` gives the format:
    .parquet, .csv, .tsv or .jsonl. No file that is read is overwritten.

    >>> from tempfile import TemporaryDirectory
    >>> from murmurs import Question
    >>> drink = Question("drink", ["tea", "mate"], epsilon=1.0)
    >>> with TemporaryDirectory() as folder:
    ...     source, private = Path(folder, "people.csv"), Path(folder, "private.csv")
    ...     done = source.write_text("name,beverage\nAnn,tea\nBob,mate\n")
    ...     print(encode_table(source, private, Survey("s", (drink,)), {"drink": "beverage"}))
    ...     private.read_text().split()[0]
    2 rows of private codes
    'drink'
    """
    files, kept_names = as_paths(paths), (keep,) if isinstance(keep, str) else tuple(keep)
    target = Outputs(Path(output), files, split=False).path(())
    if not is_table(target):
        raise ValueError(
            f"cannot write {target}: the name of a table ends in .parquet, .csv, .tsv or .jsonl"
        )
    as_generator(random)  # refuses what has one key for each row of a column
    chance: ChanceInBulk = Secure() if random is None else random
    sources = sources_of(survey, columns)
    questions = [question for source in sources for question in source.questions]
    check_kept(kept_names, sources, survey)
    if labels:
        for source in sources:
            check_labels(source.asked)
    options = {"missing": dict(missing or {}), "unknown": dict(unknown or {})}
    for question in questions:
        own = {option: found.get(question.name) for option, found in options.items()}
        drops = drop_missing and own["missing"] is None
        check_options(question, {**own, "drop_missing": drops})
    parts: list[list[Reports]] = [[] for _ in sources]
    kept: list[list[Any]] = [[] for _ in kept_names]
    copies = {(place, number) for place in range(len(questions)) for number in range(len(kept))}
    wanted = tuple(column for source in sources for column in source.columns) + kept_names
    closed = [question for question in questions if not question.is_open]

    def is_value(text: str) -> bool:
        return any(question.place_of(text) is not None for question in closed)

    named = columns_of(None, (), reading)
    alone = not any((columns or {}).values())
    for path, chunk in _rows(files, named, wanted, is_value, alone=alone):
        if drop_missing:
            chunk = _complete(chunk, questions, options["missing"])
        cells = [list(cells) for cells in zip(*chunk.values, strict=True)] or [[] for _ in wanted]
        of_questions = iter(cells)
        for source, own_parts in zip(sources, parts, strict=True):
            answers = [next(of_questions) for _ in source.questions]
            own_parts.append(_encoded(path, chunk, source, answers, options, chance))
        for own_kept, values in zip(kept, of_questions, strict=True):
            own_kept += values
        others = cells[len(questions) :]
        copies = {(i, j) for i, j in copies if is_copy(questions[i], cells[i], others[j])}
    found = [
        np.concatenate(own) if own else source.asked.mechanism.shape.empty(0)
        for source, own in zip(sources, parts, strict=True)
    ]
    n = len(found[0])
    for place, number in sorted(copies) if n else ():
        raise ValueError(
            f'`keep="{kept_names[number]}"`: that column has the answers to '
            f"{questions[place].name!r} as they are, and these do not go out"
        )
    order = np.arange(n) if keep_order else _shuffled(n, chance)
    table: dict[str, Any] = {}
    codes = column_of if format_of(target) == "parquet" else codes_of
    for source, reports in zip(sources, found, strict=True):
        shown_as = labels_of if labels else codes
        table[source.asked.name] = shown_as(source.asked, reports[order])
    for name, values in zip(kept_names, kept, strict=True):
        table[name] = [values[i] for i in order]
    write_table(target, table, None if labels else about(survey))
    return PrivateTable(n, sources, labels, kept_names, keep_order)


def check_kept(keep: Sequence[str], sources: Sequence[Source], survey: Survey) -> None:
    """Refuse to copy a column that is encoded, or that the survey asks with noise."""
    taken = [source.asked.name for source in sources]
    for name in keep:
        if name in taken or name in (column for source in sources for column in source.columns):
            raise ValueError(
                f'`keep="{name}"`: that column is encoded, and its answers do not go out'
            )
        if name in survey.names:
            raise ValueError(
                f'`keep="{name}"`: the survey asks that with noise, and its answers do not go out '
                "as they are: add it to `columns=`"
            )


def _rows(
    paths: Sequence[Path],
    columns: Columns,
    wanted: tuple[str, ...],
    is_value: Callable[[str], bool],
    *,
    alone: bool,
) -> Iterator[tuple[Path, Chunk]]:
    """Return the rows of files, as tuples; a text has one value in each, if no column is named.

    A first line that has a value in place of a name is refused: it is an answer.
    """
    for path in paths:
        if alone and len(wanted) == 1 and columns.kind(path) == "text":
            for chunk in columns.chunks(path):
                yield path, chunk._replace(values=[(value,) for value in chunk.values])
        else:
            own = columns._replace(column=wanted)
            for chunk in own.chunks(path, is_value=is_value):
                yield path, chunk


def _complete(chunk: Chunk, questions: Sequence[Single], labels: dict[str, str]) -> Chunk:
    """Return the rows that have an answer to each question that has no label for missing ones."""
    needed = [
        (place, question.is_open)
        for place, question in enumerate(questions)
        if question.name not in labels
    ]
    rows = [
        position
        for position, row in enumerate(chunk.values)
        if not any(is_missing(row[i]) or (is_open and row[i] == "") for i, is_open in needed)
    ]
    places = [chunk.places[position] for position in rows]
    return chunk._replace(values=[chunk.values[position] for position in rows], places=places)


def _encoded(
    path: Path,
    chunk: Chunk,
    source: Source,
    answers: list[list[Any]],
    options: dict[str, dict[str, str]],
    random: ChanceInBulk,
) -> Reports:
    asked = source.asked
    try:
        columns: Any = asked.pick(dict(zip(asked.names, answers, strict=True)))
        own: dict[str, Any] = options
        if not asked.is_joint:
            own = {option: found.get(asked.name) for option, found in options.items()}
        return asked.encode_many(columns, random, missing=own["missing"], unknown=own["unknown"])
    except (TypeError, ValueError, OverflowError):
        for question, values in zip(source.questions, answers, strict=True):
            part = Answers(path, chunk._replace(values=values), question, False, True)
            refuse_bad(
                part, {option: found.get(question.name) for option, found in options.items()}
            )
        raise


def _shuffled(n: int, random: ChanceInBulk) -> Integers:
    """Return the rows in a random order, which only a seed lets anybody draw again."""
    if isinstance(random, np.random.Generator):
        return random.permutation(n)
    return np.frombuffer(secrets.token_bytes(8 * n), np.uint64).argsort(kind="stable")


def _cost(asked: Asked) -> Fraction | None:
    """Return the exact epsilon of one report, None if nothing bounds it."""
    realised = asked.mechanism.epsilon_realised
    return Fraction(realised) if math.isfinite(realised) else None


def _said(cost: Fraction | None) -> str:
    """Return an epsilon with at most six digits, never below the exact one."""
    if cost is None:
        return "inf"
    shown = Fraction(f"{float(cost):.6g}")
    if shown < cost:
        shown += Fraction(10) ** (math.floor(math.log10(float(cost))) - 5)
    return f"{float(shown):.6g}"
