"""Files of counts: one JSON document with the question and a digest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from murmurs.boundary.checks import shown
from murmurs.boundary.documents import canonical, document
from murmurs.boundary.reading import LONGEST_DOCUMENT, contents, named
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
from murmurs.numerics.arrays import Integers
from murmurs.question import Question, question_from_document
from murmurs.survey import Survey

_COUNTS = ("murmurs", "format", "survey", "question", "n", "times", "cells", "digest")


def write_counts(path: AnyPath, survey: Survey | str, question: Question, counts: Counts) -> None:
    """Write counts with the question they answer, so that the file can be read on its own.

    ``survey`` is the survey that has the question, or its fingerprint.
    """
    if isinstance(survey, Survey):
        check_asked(survey, question)
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
        check_survey(file, "counts", fingerprint, survey)
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
    start, *rest = as_paths(paths)
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
    return fingerprint, question, pooled(counted, people)


def _read_counts(path: Path) -> tuple[str, Question, Counts]:
    data = contents(path)
    if _is_header_of_reports(data):
        raise ValueError(f"{named(path)} is a file of reports: run murmurs count first")
    try:
        found = check_kind("counts", document(data), _COUNTS)
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
