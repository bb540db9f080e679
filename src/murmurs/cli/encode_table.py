"""``murmurs encode -o private.parquet``: a table of private reports, a column for each question.

Rows are shuffled and other columns left out, unless the user asks for them: a report is private
whatever stands beside it, but a name, a time or a place in the file says whose report it is.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from murmurs.boundary.frames import is_missing
from murmurs.boundary.texts import listed, numbered
from murmurs.cli.columns import Answers, Columns, by_name, check_options, refuse_bad
from murmurs.cli.copies import is_copy
from murmurs.cli.output import chosen_question
from murmurs.files.columns import Chunk
from murmurs.files.labels import check_labels, labels_of
from murmurs.files.tables import codes_of, write_table
from murmurs.numerics.arrays import Integers
from murmurs.questions.asked import Asked
from murmurs.questions.single import Single
from murmurs.randomness.sources import ChanceInBulk
from murmurs.survey.budget import rounded_up
from murmurs.survey.survey import Survey
from murmurs.wire import Reports


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
class Settings:
    """How a table is written: with ``labels`` or codes, which other columns, in which order.

    ``private`` are the names of questions, which no other column may have.
    """

    labels: bool
    keep: tuple[str, ...]
    keep_order: bool
    private: tuple[str, ...]


def sources_of(
    survey: Survey, given: tuple[str, ...], name: str | None, column: str | None
) -> list[Source]:
    """Return what the columns of a table are made from.

    ``given`` are questions, with commas between them, as NAME or NAME=COLUMN. Without them it is
    the question ``name`` with its ``column``, or everything that the survey asks.
    """
    if given and (name is not None or column is not None):
        raise ValueError("--columns names questions and columns: leave --question and --column out")
    if not given and (name is not None or column is not None):
        asked = chosen_question(survey, name)
        return [_source(asked, column)]
    if not given:
        return [_source(asked, None) for asked in survey.reported]
    known = {*survey.names, *(joint.name for joint in survey.joints)}
    texts = [
        text.strip() for part in given for text in ([part] if part in known else part.split(","))
    ]
    found: list[Source] = []
    for text in texts:
        own, _, other = (text, "", "") if text in known else text.partition("=")
        found.append(_source(survey.asked(own), other or None))
    names = [source.asked.name for source in found]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"--columns has {name!r} twice: each report about it costs again")
    return found


def _source(asked: Asked, column: str | None) -> Source:
    if len(asked.names) == 1:
        return Source(asked, (asked.name if column is None else column,))
    if column is not None:
        raise ValueError(
            f"{asked.name!r} is read from the columns {listed(asked.names)}: name them so, and "
            "leave the column out"
        )
    return Source(asked, asked.names)


def write_private_table(
    paths: Sequence[Path],
    output: Path,
    sources: Sequence[Source],
    columns: Columns,
    random: ChanceInBulk,
    settings: Settings,
    *,
    missing: tuple[str, ...],
    unknown: tuple[str, ...],
    drop_missing: bool,
) -> int:
    """Encode columns of files, and write them as a table; return the number of rows.

    The rows are held in memory, because they are shuffled.
    """
    questions = [question for source in sources for question in source.questions]
    names = tuple(question.name for question in questions)
    taken = [source.asked.name for source in sources]
    for name in settings.keep:
        if name in taken or name in (column for source in sources for column in source.columns):
            raise ValueError(
                f"--keep {name}: that column is encoded, and its answers do not go out"
            )
        if name in settings.private:
            raise ValueError(
                f"--keep {name}: the survey asks that with noise, and its answers do not go out as "
                "they are: add it to --columns"
            )
    if settings.labels:
        for source in sources:
            check_labels(source.asked)
    options = {
        "missing": _labels(names, "--missing", missing),
        "unknown": _labels(names, "--unknown", unknown),
    }
    for question in questions:
        own = {option: found.get(question.name) for option, found in options.items()}
        drops = drop_missing and own["missing"] is None
        check_options(question, {**own, "drop_missing": drops})
    parts: list[list[Reports]] = [[] for _ in sources]
    kept: list[list[Any]] = [[] for _ in settings.keep]
    copies = {(place, keep) for place in range(len(names)) for keep in range(len(settings.keep))}
    wanted = tuple(column for source in sources for column in source.columns) + settings.keep
    listed_ones = [question for question in questions if not question.is_open]

    def is_value(text: str) -> bool:
        return any(question.place_of(text) is not None for question in listed_ones)

    for path, chunk in _rows(paths, columns, wanted, is_value):
        if drop_missing:
            chunk = _complete(chunk, questions, options["missing"])
        cells = [list(cells) for cells in zip(*chunk.values, strict=True)] or [[] for _ in wanted]
        of_questions = iter(cells)
        for source, own_parts in zip(sources, parts, strict=True):
            answers = [next(of_questions) for _ in source.questions]
            own_parts.append(_encoded(path, chunk, source, answers, options, random))
        for own_kept, values in zip(kept, of_questions, strict=True):
            own_kept += values
        others = cells[len(questions) :]
        copies = {(i, j) for i, j in copies if is_copy(questions[i], cells[i], others[j])}
    found = [
        np.concatenate(own) if own else source.asked.mechanism.shape.empty(0)
        for source, own in zip(sources, parts, strict=True)
    ]
    n = len(found[0])
    for place, keep in sorted(copies) if n else ():
        raise ValueError(
            f"--keep {settings.keep[keep]}: that column has the answers to {names[place]!r} as "
            "they are, and these do not go out"
        )
    order = np.arange(n) if settings.keep_order else _shuffled(n, random)
    table: dict[str, list[Any]] = {}
    for source, reports in zip(sources, found, strict=True):
        table[source.asked.name] = _shown(source.asked, reports[order], labels=settings.labels)
    for name, values in zip(settings.keep, kept, strict=True):
        table[name] = [values[i] for i in order]
    write_table(output, table)
    return n


def _rows(
    paths: Sequence[Path],
    columns: Columns,
    wanted: tuple[str, ...],
    is_value: Callable[[str], bool],
) -> Iterator[tuple[Path, Chunk]]:
    """Return the rows of files, as tuples; a text has one value in each.

    A first line that has a value in place of a name is refused: it is an answer.
    """
    for path in paths:
        if len(wanted) == 1 and columns.kind(path) == "text" and columns.column is None:
            for chunk in columns.chunks(path):
                yield path, chunk._replace(values=[(value,) for value in chunk.values])
        else:
            own = columns._replace(column=wanted)
            for chunk in own.chunks(path, is_value=is_value):
                yield path, chunk


def _shown(asked: Asked, reports: Reports, *, labels: bool) -> list[Any]:
    return labels_of(asked, reports) if labels else codes_of(asked, reports)


def _labels(names: tuple[str, ...], option: str, given: tuple[str, ...]) -> dict[str, str]:
    """Return the label for each question that an option names."""
    if len(names) == 1 and len(given) == 1 and not given[0].startswith(f"{names[0]}="):
        return {names[0]: given[0]}
    return by_name(names, option, given, f"give it as NAME=LABEL, once for each of {listed(names)}")


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
        if len(asked.names) == 1:
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


def told(
    sources: Sequence[Source], n: int, settings: Settings
) -> tuple[str, list[str], dict[str, Any]]:
    """Return what is said about a table: its rows, the exact epsilon of a row, and what is beside.

    Columns of one row are reports about one person, so their epsilons add up.
    """
    costs = {source.asked.name: _cost(source.asked) for source in sources}
    bounded = [cost for cost in costs.values() if cost is not None]
    total = sum(bounded, Fraction(0)) if len(bounded) == len(costs) else None
    each = ", ".join(f"{name} {_said(cost)}" for name, cost in costs.items())
    what = f"{numbered(n, 'row')} of private {'labels' if settings.labels else 'codes'}"
    lines = [
        f"A row costs epsilon {_said(total)}{f': {each}' if len(costs) > 1 else ''}.",
        "The rows are in the order of the file."
        if settings.keep_order
        else "The rows are shuffled; --keep-order leaves them in the order of the file.",
        f"Copied as they were, and not private: {listed(settings.keep)}."
        if settings.keep
        else "No other column was copied; --keep NAME does it, and its values are not private.",
    ]
    document = {
        "rows": n,
        "epsilon": None if total is None else rounded_up(total),
        "columns": {
            name: None if cost is None else rounded_up(cost) for name, cost in costs.items()
        },
        "labels": settings.labels,
        "shuffled": not settings.keep_order,
        "kept": list(settings.keep),
    }
    return f"{what} written to", lines, document


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
