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
from murmurs.files.columns import format_of
from murmurs.files.exported import is_exported, read_exported
from murmurs.files.headers import (
    FORMAT,
    AnyPath,
    as_paths,
    check_counted,
    check_kind,
    check_survey,
    is_header_of_reports,
)
from murmurs.files.pooled import pooled
from murmurs.numerics.arrays import Integers
from murmurs.questions.asked import Asked
from murmurs.questions.kinds import asked_from_document
from murmurs.survey.survey import Survey

_COUNTS = ("murmurs", "format", "survey", "question", "n", "times", "cells", "digest")


def write_counts(path: AnyPath, survey: Survey | str, question: Asked, counts: Counts) -> None:
    """Write counts with the question they answer, so that the file can be read on its own.

    ``survey`` is the survey that contains the question, or its fingerprint.
    """
    if isinstance(survey, Survey):
        check_counted(survey, question)
    if counts.again > 1 or isinstance(counts.times, float):
        raise ValueError(
            "a file of counts has reports of people who all reported equally often: write the "
            "counts of single rounds"
        )
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
            f"counts of {counts.mechanism} take {len(data)} bytes, but a file of counts has "
            f"at most {LONGEST_DOCUMENT}: use fewer cells"
        )
    with writing(Path(path)) as file:
        file.write(data)


def read_counts(
    path: AnyPath, survey: Survey | None = None, asked: str | None = None
) -> tuple[Asked, Counts]:
    """Return the question of a file of counts, and the counts, checked against its mechanism.

    A counts.parquet that a collector exported is read too; ``asked`` names one of its questions.

    The digest in the file shows that nothing was altered. If the survey is given, its fingerprint
    and its question are compared too.
    """
    file = Path(path)
    fingerprint, question, counts = read_stamped(file, asked)
    if survey is not None:
        check_survey(file, "counts", fingerprint, survey)
        if survey.like(question) != question:
            raise ValueError(
                f"{named(file)} has a question {shown(question.name)} that differs from the one in "
                f"survey {shown(survey.name)}"
            )
    return question, counts


def add_counts(
    paths: AnyPath | Sequence[AnyPath],
    *,
    people: People | None = None,
    asked: str | None = None,
) -> tuple[str, Asked, Counts]:
    """Add up files of counts; return the fingerprint of their survey, the question and the counts.

    For a longitudinal mechanism, ``people`` says whose counts the files hold; see `pool`. All files
    must belong to one question of one survey: counts of the same mechanism for another survey mean
    something else.
    """
    start, *rest = as_paths(paths)
    fingerprint, question, counts = read_stamped(start, asked, people)
    counted = [counts]
    for path in rest:
        other, own, more = read_stamped(path, asked, people)
        if other != fingerprint:
            raise ValueError(
                f"{named(path)} holds counts for the survey with fingerprint {shown(other[:12])}, "
                f"but {named(start)} for the one with {shown(fingerprint[:12])}: counts of two "
                "surveys do not add up"
            )
        if own != question:
            raise ValueError(
                f"{named(path)} answers {shown(own.name)} and {named(start)} "
                f"{shown(question.name)}: add them separately"
            )
        counted.append(more)
    return fingerprint, question, pooled(counted, people)


def read_stamped(
    path: Path, asked: str | None = None, people: People | None = None
) -> tuple[str, Asked, Counts]:
    """Return the fingerprint of the survey of a file of counts, its question and the counts.

    ``asked`` and ``people`` are for a counts.parquet that a collector exported: which question, and
    whose reports its days are, if the survey does not say.
    """
    if is_exported(path):
        exported = read_exported(path, asked)
        return exported.survey.fingerprint, exported.asked, exported.counts(people=people).counts
    data = contents(path)
    if is_header_of_reports(data):
        raise ValueError(f"{named(path)} is a file of reports: run murmurs count first")
    try:
        read = document(data)
    except ValueError as error:
        way = ""
        if path.suffix == ".toml":
            way = "; if it is a survey, run murmurs count with it first"
        elif format_of(path) != "text" or path.suffix == ".txt":
            way = "; if it has reports or answers, run murmurs count first"
        raise ValueError(f"{named(path)} is not a file of counts: {error}{way}") from None
    if isinstance(read, dict) and "questions" in read:
        raise ValueError(f"{named(path)} is a survey, not counts: run murmurs count first")
    try:
        found = check_kind("counts", read, _COUNTS)
        question = asked_from_document(found["question"])
        cells = _whole_numbers(found["cells"])
        counts = Counts(question.mechanism, found["n"], cells, found["times"])
        if found["digest"] != _digest(found, cells):
            raise ValueError("its digest does not match: it was altered after it was written")
    except (ValueError, TypeError, RecursionError, OverflowError) as error:
        raise ValueError(f"{named(path)} is not a file of counts: {error}") from None
    if asked is not None and asked != question.name:
        raise ValueError(f"{named(path)} answers {shown(question.name)}, not {shown(asked)}")
    return found["survey"], question, counts


def _digest(found: dict[str, Any], cells: Integers) -> str:
    """Return the SHA-256 of all other fields, in canonical form, followed by the cells.

    Each cell is eight bytes, little-endian, in the order of the file.
    """
    rest = {name: value for name, value in found.items() if name not in ("cells", "digest")}
    digest = hashlib.sha256(canonical(rest).encode())
    digest.update(np.ascontiguousarray(cells, "<i8").tobytes())
    return digest.hexdigest()


def _whole_numbers(cells: object) -> Integers:
    """Return nested lists of whole numbers as a table."""
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
