"""Files of reports: a header, blocks with chained checksums, and a total at the end."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from murmurs.boundary.checks import shown
from murmurs.boundary.documents import document
from murmurs.boundary.reading import named, opened
from murmurs.boundary.writing import writing
from murmurs.counts import Counts, People
from murmurs.files.headers import (
    FORMAT,
    LONGEST_HEADER,
    AnyPath,
    as_paths,
    check_asked,
    check_kind,
    check_survey,
)
from murmurs.files.pooled import pooled
from murmurs.questions.asked import Asked
from murmurs.survey.survey import Survey
from murmurs.wire import BadReportError, Reports, Shape

BLOCK = 2**12
"""The most bytes of reports in a block; a longer report has its own block."""

_PART = 2**20  # bytes of reports that are passed on at a time
_CHECK = hashlib.sha256().digest_size
_HEADER = ("murmurs", "format", "survey", "question")

Salvage = Callable[[str], object]
"""Called with a message when only the beginning of a file can be read."""


def write_reports(path: AnyPath, survey: Survey, question: Asked, parts: Iterable[Reports]) -> int:
    """Write arrays of reports to a question, one after another; return the number of reports."""
    with writing_reports(path, survey, question) as writer:
        for part in parts:
            writer.put(part)
    return writer.n


class ReportWriter:
    """A file of reports that is being written; ``n`` is the number of reports so far."""

    def __init__(self, file: IO[bytes], header: bytes, shape: Shape[Any]) -> None:
        self.n = 0
        self._file, self._shape, self._left = file, shape, b""
        self._check = hashlib.sha256(header).digest()
        file.write(header)

    def put(self, reports: Reports) -> None:
        """Write an array of reports, in full blocks; what is left over waits for the next."""
        size = max(1, BLOCK // self._shape.size) * self._shape.size
        try:
            checked = self._shape.check(reports)
        except TypeError as error:
            way = "give a list of arrays: [mechanism.shape.stack(reports)]"
            raise TypeError(f"{error}: {way}") from None
        data = self._left + np.ascontiguousarray(checked).tobytes()
        end = len(data) - len(data) % size
        for start in range(0, end, size):
            self._block(data[start : start + size])
        self._left = data[end:]

    def end(self) -> None:
        """Write what is left over, and the total."""
        if self._left:
            self._block(self._left)
        self._write(bytes(4) + self.n.to_bytes(8, "little"))

    def _block(self, data: bytes) -> None:
        count = len(data) // self._shape.size
        self._write(count.to_bytes(4, "little") + data)
        self.n += count

    def _write(self, data: bytes) -> None:
        """Write bytes and their checksum, which covers the previous one."""
        self._check = hashlib.sha256(self._check + data).digest()
        self._file.write(data + self._check)


@contextlib.contextmanager
def writing_reports(path: AnyPath, survey: Survey, question: Asked) -> Iterator[ReportWriter]:
    """Open a file of reports to a question, to which arrays are written as they come."""
    check_asked(survey, question)
    header = {
        "murmurs": "reports",
        "format": FORMAT,
        "survey": survey.fingerprint,
        "question": question.name,
    }
    line = json.dumps(header).encode() + b"\n"
    if len(line) > LONGEST_HEADER:
        raise ValueError(
            f"the name of question {shown(question.name)} is too long: a header has at most "
            f"{LONGEST_HEADER} bytes"
        )
    with writing(Path(path)) as file:
        writer = ReportWriter(file, line, question.mechanism.shape)
        yield writer
        writer.end()


def read_reports(
    path: AnyPath, survey: Survey, salvage: Salvage | None = None
) -> tuple[Asked, Iterator[Reports]]:
    """Return the question that a file of reports answers, and its reports part by part.

    A file that is cut off, altered or followed by something else is refused when reading reaches
    that point. With ``salvage`` the reports end there instead, and it is called with the problem.
    A block is passed on only after its checksum was verified.
    """
    stream = _read_file(Path(path), survey, salvage)
    return next(stream).question, (part.reports for part in stream)


def count_reports(
    paths: AnyPath | Sequence[AnyPath],
    survey: Survey,
    salvage: Salvage | None = None,
    *,
    people: People | None = None,
) -> tuple[Asked, Counts]:
    """Return the question that one or more files of reports answer, and the counts of them all.

    For a longitudinal mechanism, ``people`` says whose reports the files hold; see `pool`.
    """
    start, *rest = as_paths(paths)
    question, first = read_reports(start, survey, salvage)
    counted = [question.mechanism.count_checked(first)]
    for path in rest:
        asked, more = read_reports(path, survey, salvage)
        if asked != question:
            raise ValueError(
                f"{named(path)} answers {shown(asked.name)} and {named(start)} "
                f"{shown(question.name)}: count them separately"
            )
        counted.append(question.mechanism.count_checked(more))
    return question, pooled(counted, people)


class _Part(NamedTuple):
    question: Asked
    reports: Reports


def _read_file(path: Path, survey: Survey, salvage: Salvage | None) -> Iterator[_Part]:
    """Return the question without reports, then with each part; the file stays open meanwhile."""
    with opened(path) as file:
        line = file.readline(LONGEST_HEADER + 1)
        question = _asked(path, line, survey)
        shape = question.mechanism.shape
        yield _Part(question, shape.empty(0))
        done = 0
        for data in _gathered(_read_blocks(path, file, line, shape.size, salvage)):
            try:
                part = shape.from_bytes(data)
            except BadReportError as error:
                raise ValueError(f"{named(path)}: {error.after(done)}") from None
            done += len(part)
            yield _Part(question, part)


def _asked(path: Path, line: bytes, survey: Survey) -> Asked:
    """Return the question that a header names; refuse a header of another survey."""
    if not line.startswith(b"{"):
        raise ValueError(
            f"{named(path)} is not a file of reports: it does not begin with a header; murmurs "
            "count --reported takes labels that were randomised already, and --column or --format "
            "reports from other files"
        )
    if not line.endswith(b"\n"):
        rule = (
            f"its header is longer than the maximum of {LONGEST_HEADER} bytes"
            if len(line) > LONGEST_HEADER
            else "its header has no end"
        )
        raise ValueError(f"{named(path)} is not a file of reports: {rule}")
    try:
        header = check_kind("reports", document(line), _HEADER)
    except ValueError as error:
        raise ValueError(f"{named(path)} is not a file of reports: {error}") from None
    check_survey(path, "reports", header["survey"], survey)
    try:
        return survey.asked(header["question"])
    except ValueError as error:
        raise ValueError(f"{named(path)}: {error}") from None


def _read_blocks(
    path: Path, file: IO[bytes], line: bytes, size: int, salvage: Salvage | None
) -> Iterator[bytes]:
    """Return the reports block by block, each after its checksum was verified."""
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
            problem = "does not have the number of reports that it states"
        elif file.read(1):
            problem = "does not end where its reports end"
        else:
            return
    first = "first report" if n == 1 else f"first {n} reports"
    if salvage is None:
        rest = f", or count its {first} with `murmurs count --salvage`" if n else ""
        raise ValueError(f"{named(path)} {problem}: copy or encode it again{rest}")
    salvage(f"{named(path)} {problem}: its {first} {'is' if n == 1 else 'are'} counted")


def _gathered(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Join blocks into parts that are large enough to count at once."""
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
