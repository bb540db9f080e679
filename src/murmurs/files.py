"""Files of reports and of counts, which tell when they are incomplete or were altered.

A file of reports is one line of JSON (what the reports are of), then the reports in blocks, each
with its number of reports and a checksum, and at last how many there are in all. It is written and
read in one pass and in bounded memory, through pipes too. A file of counts is one JSON document
with the question, the fingerprint of its survey and a digest of everything. Every byte is described
in docs/wire.md.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from murmurs import strings
from murmurs.checks import Integers, shown
from murmurs.counts import Counts, People, pool
from murmurs.reading import (
    LONGEST_DOCUMENT,
    contents,
    document,
    fields,
    lines,
    named,
    opened,
)
from murmurs.survey import Question, Survey, canonical, question_from_document
from murmurs.wire import Reports, Shape
from murmurs.writing import writing

FORMAT = 1
"""Version of both kinds of file that this release writes and reads."""

BLOCK = 2**12
"""Bytes of reports in a block, at most; a longer report has a block for itself."""

LONGEST_HEADER = 2**16
_PART = 2**20  # bytes of reports that are handed on at a time
_CHECK = hashlib.sha256().digest_size
_HEADER = ("murmurs", "format", "survey", "question")
_COUNTS = ("murmurs", "format", "survey", "question", "n", "times", "cells", "digest")

AnyPath = str | Path
"""Where a file is; "-" is standard input or output."""

Salvage = Callable[[str], object]
"""What is told about the rest of a file, of which only the beginning can be read."""


# Reports


def write_reports(
    path: AnyPath, survey: Survey, question: Question, parts: Iterable[Reports]
) -> int:
    """Write arrays of reports to a question one after another; return how many reports."""
    _check_asked(survey, question)
    shape = question.mechanism.shape
    most = max(1, BLOCK // shape.size)
    header = {
        "murmurs": "reports",
        "format": FORMAT,
        "survey": survey.fingerprint,
        "question": question.name,
    }
    line = json.dumps(header).encode() + b"\n"
    if len(line) > LONGEST_HEADER:
        raise ValueError(
            f"question {shown(question.name)} has too long a name: a header has at most "
            f"{LONGEST_HEADER} bytes"
        )
    n, check = 0, hashlib.sha256(line).digest()
    with writing(Path(path)) as file:
        file.write(line)
        for block in _blocks(parts, shape, most * shape.size):
            count = len(block) // shape.size
            check = _put(file, check, count.to_bytes(4, "little") + block)
            n += count
        _put(file, check, bytes(4) + n.to_bytes(8, "little"))
    return n


def _blocks(parts: Iterable[Reports], shape: Shape[Any], size: int) -> Iterator[bytes]:
    """Cut reports into blocks of that many bytes, however they come; the last one may be short."""
    left = b""
    for part in parts:
        data = left + np.ascontiguousarray(shape.check(part)).tobytes()
        end = len(data) - len(data) % size
        yield from (data[start : start + size] for start in range(0, end, size))
        left = data[end:]
    if left:
        yield left


def _put(file: IO[bytes], before: bytes, data: bytes) -> bytes:
    """Write bytes and their checksum, which goes on from the one before; return it."""
    check = hashlib.sha256(before + data).digest()
    file.write(data + check)
    return check


def read_reports(
    path: AnyPath, survey: Survey, salvage: Salvage | None = None
) -> tuple[Question, Iterator[Reports]]:
    """Return the question that a file of reports answers, and its reports part by part.

    A file that is cut, altered or followed by something else is refused when its reports come to
    that place. With ``salvage`` they end there instead, and it is told what is wrong. A block is
    handed on only after its checksum was found right.
    """
    stream = _read_file(Path(path), survey, salvage)
    return next(stream).question, (part.reports for part in stream)


def count_reports(
    paths: AnyPath | Sequence[AnyPath],
    survey: Survey,
    salvage: Salvage | None = None,
    *,
    people: People | None = None,
) -> tuple[Question, Counts]:
    """Return the question that one or more files of reports answer, and all their reports added up.

    ``people`` says for a longitudinal mechanism whose reports the files hold; see `pool`.
    """
    start, *rest = _listed(paths)
    question, first = read_reports(start, survey, salvage)
    counted = [question.mechanism.count_checked(first)]
    for path in rest:
        asked, more = read_reports(path, survey, salvage)
        if asked != question:
            raise ValueError(
                f"{named(path)} answers {shown(asked.name)} and {named(start)} "
                f"{shown(question.name)}: count them apart"
            )
        counted.append(question.mechanism.count_checked(more))
    return question, _pooled(counted, people)


def _listed(paths: AnyPath | Sequence[AnyPath]) -> list[Path]:
    """Return one path or several as a list with at least one."""
    found = [Path(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]
    if not found:
        raise ValueError("there are no files: give at least one path")
    return found


class PeopleError(ValueError):
    """Whose the counts are must be said, or cannot be; ``on_command_line`` says it in options."""

    def __init__(self, message: str, on_command_line: str) -> None:
        super().__init__(message)
        self.on_command_line = on_command_line


def _pooled(counted: Sequence[Counts], people: People | None) -> Counts:
    """Return the counts of several files as one, if it is said whose they are where it matters."""
    mechanism = counted[0].mechanism
    if len(counted) > 1 and people is None and mechanism.is_longitudinal:
        rule = f"{len(counted)} files of {mechanism} may be of the same people"
        way = "{} if each is of other people, {} if all are of the same people"
        raise PeopleError(
            f"{rule}: say " + way.format('people="other"', 'people="same"'),
            f"{rule}: say " + way.format("--people other", "--people same"),
        )
    if people == "same" and not mechanism.is_longitudinal:
        rule = f"{mechanism} keeps no permanent response, and noise is fresh in every report"
        raise PeopleError(f"{rule}: leave people out", f"{rule}: leave --people out")
    return pool(counted, people=people or "other")


class _Part(NamedTuple):
    question: Question
    reports: Reports


def _read_file(path: Path, survey: Survey, salvage: Salvage | None) -> Iterator[_Part]:
    """Return the question with no reports, then with reports; the file is open in between."""
    with opened(path) as file:
        line = file.readline(LONGEST_HEADER + 1)
        question = _asked(path, line, survey)
        shape = question.mechanism.shape
        yield _Part(question, shape.empty(0))
        done = 0
        for data in _gathered(_read_blocks(path, file, line, shape.size, salvage)):
            try:
                part = shape.from_bytes(data)
            except ValueError as error:
                raise ValueError(f"{named(path)}: {_counted_on(str(error), done)}") from None
            done += len(part)
            yield _Part(question, part)


def _counted_on(message: str, done: int) -> str:
    """Return what is said about a report of a part, with its number in the whole file."""
    return re.sub(r"^report (\d+)", lambda found: f"report {done + int(found[1])}", message)


def _asked(path: Path, line: bytes, survey: Survey) -> Question:
    """Return the question that a header names, if it is one of reports to the survey."""
    if not line.startswith(b"{"):
        raise ValueError(
            f"{named(path)} is not a file of reports: it does not begin with their header"
        )
    if not line.endswith(b"\n"):
        rule = (
            f"its header is longer than {LONGEST_HEADER} bytes, which is the most"
            if len(line) > LONGEST_HEADER
            else "its header has no end"
        )
        raise ValueError(f"{named(path)} is not a file of reports: {rule}")
    try:
        header = _of_kind("reports", document(line), _HEADER)
    except ValueError as error:
        raise ValueError(f"{named(path)} is not a file of reports: {error}") from None
    _check_survey(path, "reports", header["survey"], survey)
    try:
        return survey.question(header["question"])
    except ValueError as error:
        raise ValueError(f"{named(path)}: {error}") from None


def _read_blocks(
    path: Path, file: IO[bytes], line: bytes, size: int, salvage: Salvage | None
) -> Iterator[bytes]:
    """Return the reports of block after block, each when its checksum was found right."""
    most, check, n = max(1, BLOCK // size), hashlib.sha256(line).digest(), 0
    problem = ""
    while not problem:
        head = file.read(4)
        count = int.from_bytes(head, "little") if len(head) == 4 else 0
        length = count * size if count else 8
        data = file.read(length + _CHECK) if count <= most else b""
        check = hashlib.sha256(check + head + data[:length]).digest()
        if count > most or (len(data) == length + _CHECK and data[length:] != check):
            problem = "is damaged"
        elif len(data) < length + _CHECK:
            problem = "is incomplete"
        elif count:
            n += count
            yield data[:length]
        elif n != int.from_bytes(data[:length], "little"):
            problem = "has another number of reports than it says"
        elif file.read(1):
            problem = "does not end where its reports end"
        else:
            return
    if salvage is None:
        rest = f", or count its first {n} reports with `murmurs count --salvage`" if n else ""
        raise ValueError(f"{named(path)} {problem}: copy or encode it again{rest}")
    salvage(f"{named(path)} {problem}: its first {n} reports are counted")


def _gathered(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Join blocks to parts that are worth counting."""
    part: list[bytes] = []
    size = 0
    for block in blocks:
        part.append(block)
        size += len(block)
        if size >= _PART:
            yield b"".join(part)
            part, size = [], 0
    if part:
        yield b"".join(part)


# Counts


def write_counts(path: AnyPath, survey: Survey | str, question: Question, counts: Counts) -> None:
    """Write counts with the question they answer, so that the file can be read on its own.

    ``survey`` is the survey that has the question, or its fingerprint.
    """
    if isinstance(survey, Survey):
        _check_asked(survey, question)
    if counts.mechanism != question.mechanism:
        raise ValueError(
            f"counts of {counts.mechanism} are not answers to {shown(question.name)}, "
            f"which has {question.mechanism}"
        )
    found = {
        "murmurs": "counts",
        "format": FORMAT,
        "survey": survey.fingerprint if isinstance(survey, Survey) else survey,
        "question": question.to_document(),
        "n": counts.n,
        "times": counts.times,
        "cells": counts.cells.tolist(),
    }
    found["digest"] = _digest(found, counts.cells)
    data = json.dumps(found, ensure_ascii=False).encode() + b"\n"
    if len(data) > LONGEST_DOCUMENT:
        raise ValueError(
            f"counts of {counts.mechanism} take {len(data)} bytes, and a file of counts is read up "
            f"to {LONGEST_DOCUMENT}: take fewer cells"
        )
    with writing(Path(path)) as file:
        file.write(data)


def read_counts(path: AnyPath, survey: Survey | None = None) -> tuple[Question, Counts]:
    """Return the question of a file of counts, and the counts, checked against its mechanism.

    The digest in the file says that nothing was altered. With the survey at hand its fingerprint
    and its question are compared too.
    """
    file = Path(path)
    fingerprint, question, counts = _read_counts(file)
    if survey is not None:
        _check_survey(file, "counts", fingerprint, survey)
        if survey.question(question.name) != question:
            raise ValueError(
                f"{named(file)} has another question {shown(question.name)} than survey "
                f"{shown(survey.name)}"
            )
    return question, counts


def add_counts(
    paths: AnyPath | Sequence[AnyPath], *, people: People | None = None
) -> tuple[str, Question, Counts]:
    """Add up files of counts; return their survey's fingerprint too.

    ``people`` says for a longitudinal mechanism whose counts the files hold; see `pool`. They must
    be of one question of one survey: what the same mechanism counted for another survey
    is another thing.
    """
    start, *rest = _listed(paths)
    fingerprint, question, counts = _read_counts(start)
    counted = [counts]
    for path in rest:
        other, asked, more = _read_counts(path)
        if other != fingerprint:
            raise ValueError(
                f"{named(path)} holds counts for survey {shown(other, 80)}, but "
                f"{named(start)} for survey {shown(fingerprint, 80)}: counts of two surveys do "
                "not add up"
            )
        if asked != question:
            raise ValueError(
                f"{named(path)} answers {shown(asked.name)} and {named(start)} "
                f"{shown(question.name)}: add them apart"
            )
        counted.append(more)
    return fingerprint, question, _pooled(counted, people)


def _read_counts(path: Path) -> tuple[str, Question, Counts]:
    data = contents(path)
    if _is_header_of_reports(data):
        raise ValueError(f"{named(path)} is a file of reports: run murmurs count first")
    try:
        found = _of_kind("counts", document(data), _COUNTS)
        question = question_from_document(found["question"])
        cells = _whole_numbers(found["cells"])
        counts = Counts(question.mechanism, found["n"], cells, found["times"])
        if found["digest"] != _digest(found, cells):
            raise ValueError("its digest is another one: it was altered after it was written")
    except (ValueError, TypeError, RecursionError, OverflowError) as error:
        raise ValueError(f"{named(path)} is not a file of counts: {error}") from None
    return found["survey"], question, counts


def _is_header_of_reports(data: bytes) -> bool:
    """Whether bytes begin as a file of reports does."""
    line, end, _ = data[:LONGEST_HEADER].partition(b"\n")
    try:
        header = document(line)
    except ValueError:
        return False
    return bool(end) and isinstance(header, dict) and header.get("murmurs") == "reports"


def _digest(found: dict[str, Any], cells: Integers) -> str:
    """Return the SHA-256 of all fields but cells and digest, in canonical form, then of the cells.

    Each cell is eight bytes, little-endian, in the order in which they are listed.
    """
    rest = {name: value for name, value in found.items() if name not in ("cells", "digest")}
    digest = hashlib.sha256(canonical(rest).encode())
    digest.update(np.ascontiguousarray(cells, "<i8").tobytes())
    return digest.hexdigest()


def _whole_numbers(cells: object) -> Integers:
    """Return nested lists as a table, if there are only whole numbers in it."""
    shape: list[int] = []
    rows: list[Any] = [cells]
    while rows and isinstance(rows[0], list):
        sizes = {len(row) if isinstance(row, list) else -1 for row in rows}
        if len(sizes) > 1:
            raise ValueError("cells are not a table: its rows differ in length")
        shape += sizes
        rows = list(chain.from_iterable(rows))
    if not shape or not all(type(cell) is int and -(2**63) <= cell < 2**63 for cell in rows):
        raise ValueError("cells are not all whole numbers below 2**63")
    return np.array(rows, np.int64).reshape(shape)


# What both have


def _of_kind(kind: str, found: object, wanted: tuple[str, ...]) -> dict[str, Any]:
    """Return the fields of a file's document, if it is one of that kind and format."""
    if not isinstance(found, dict) or found.get("murmurs") != kind:
        raise ValueError(f'it has no field "murmurs" with the value "{kind}"')
    written = found.get("format")
    if isinstance(written, int) and not isinstance(written, bool) and written > FORMAT:
        raise ValueError(
            f"it has format {shown(written)}, this release reads {FORMAT}: upgrade murmurs"
        )
    fields(found, wanted, "it")
    if type(written) is not int or written != FORMAT:
        raise ValueError(f"its format is {shown(written)}, and must be {FORMAT}")
    if not isinstance(found["survey"], str):
        raise ValueError(
            f"its field 'survey' must be a fingerprint in text, not {shown(found['survey'])}"
        )
    if kind == "reports" and not isinstance(found["question"], str):
        raise ValueError(f"its field 'question' must be a name, not {shown(found['question'])}")
    return found


def _check_asked(survey: Survey, question: Question) -> None:
    if survey.question(question.name) != question:
        raise ValueError(
            f"survey {shown(survey.name)} has another question {shown(question.name)} than this one"
        )


def _check_survey(path: Path, what: str, fingerprint: str, survey: Survey) -> None:
    if fingerprint != survey.fingerprint:
        raise ValueError(
            f"{named(path)} holds {what} for survey {shown(fingerprint, 80)}, but "
            f"{shown(survey.name)} version {survey.version} is {shown(survey.fingerprint, 80)}"
        )


# Candidates


def read_candidates(path: AnyPath) -> tuple[tuple[str, ...], list[str]]:
    """Return a list of candidates, one a line, and notes on lines that were normalised.

    Lines that are empty, not UTF-8 or there twice are refused, nothing is left out.
    """
    file = Path(path)
    texts = [text for _, text in lines(file)]
    if not texts:
        raise ValueError(f"{named(file)} has no candidates: it should have one a line")
    try:
        forms = strings.candidates(texts)
    except ValueError as error:
        raise ValueError(f"{named(file)}: {error}") from None
    notes = [
        f"line {number}: {shown(text)} is taken in its normal form (NFC)"
        for number, (text, form) in enumerate(zip(texts, forms, strict=True), 1)
        if text != form
    ]
    return forms, notes
