"""Files of reports and of counts; read in bounded memory, written whole or not at all.

A file of reports is one line of JSON (what the reports are of) and then the reports' bytes, one
after another. A file of counts is one JSON document.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from murmurs import strings
from murmurs.checks import Integers
from murmurs.counts import Counts
from murmurs.survey import Question, Survey, question_from_document
from murmurs.wire import Reports

_BLOCK = 2**16
_LONGEST_HEADER = 2**16


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file that takes the place of ``path`` when all went well."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise OSError(f"cannot write {path}: {error.strerror}") from None
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        umask = os.umask(0)
        os.umask(umask)
        Path(name).chmod(0o666 & ~umask)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_reports(path: Path, survey: Survey, question: Question, parts: Iterable[Reports]) -> int:
    """Write arrays of reports to a question one after another; return how many reports."""
    header = {"murmurs": "reports", "survey": survey.fingerprint, "question": question.name}
    n = 0
    with replacing(path) as file:
        file.write(json.dumps(header).encode() + b"\n")
        for part in parts:
            file.write(np.ascontiguousarray(part).data)
            n += len(part)
    return n


def read_reports(path: Path, survey: Survey) -> tuple[Question, Iterator[Reports]]:
    """Return the question that a file of reports answers, and its reports part by part."""
    with path.open("rb") as file:
        line = file.readline(_LONGEST_HEADER)
    header = _header(line, path)
    if header.get("survey") != survey.fingerprint:
        raise ValueError(
            f"{path} holds reports for survey {header.get('survey')}, "
            f"but {survey.name!r} version {survey.version} is {survey.fingerprint}"
        )
    question = survey.question(str(header.get("question")))
    return question, _report_parts(path, len(line), question)


def _header(line: bytes, path: Path) -> dict[str, Any]:
    try:
        header = json.loads(line)
    except ValueError:
        header = None
    if not isinstance(header, dict) or header.get("murmurs") != "reports":
        raise ValueError(f"{path} is not a file of reports: it does not begin with their header")
    return header


def _report_parts(path: Path, start: int, question: Question) -> Iterator[Reports]:
    shape = question.mechanism.shape
    done = 0
    with path.open("rb") as file:
        file.seek(start)
        while block := file.read(shape.size * _BLOCK):
            try:
                part = shape.from_bytes(block)
            except ValueError as error:
                raise ValueError(f"{path}, after {done} reports: {error}") from None
            done += len(part)
            yield part


def read_candidates(path: Path) -> tuple[tuple[str, ...], list[str]]:
    """Return a list of candidates, one a line, and notes on lines that were normalised.

    Lines that are empty, not UTF-8 or there twice are refused together, nothing is left out.
    """
    lines = path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if lines[-1] in (b"", b"\r"):
        lines.pop()
    texts: list[str] = []
    wrong: list[str] = []
    notes: list[str] = []
    for number, line in enumerate(lines, 1):
        try:
            text = line.removesuffix(b"\r").decode()
        except UnicodeDecodeError as error:
            wrong.append(f"line {number}: it is not UTF-8 ({error.reason} at byte {error.start})")
            text = f"line {number}"
        texts.append(text)
        if text and strings.normal(text) != text:
            notes.append(f"line {number}: {text!r} is taken in its normal form (NFC)")
    if wrong:
        more = f"; and {len(wrong) - 5} more" if len(wrong) > 5 else ""
        raise ValueError(f"{path}: {'; '.join(wrong[:5])}{more}")
    if not texts:
        raise ValueError(f"{path} has no candidates: it should have one a line")
    try:
        return strings.candidates(texts), notes
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def write_counts(path: Path, survey: Survey, question: Question, counts: Counts) -> None:
    """Write counts with the question they answer, so that the file can be read on its own."""
    document = {
        "murmurs": "counts",
        "survey": survey.fingerprint,
        "question": question.to_document(),
        "n": counts.n,
        "cells": counts.cells.tolist(),
        **({"times": counts.times} if counts.times > 1 else {}),
    }
    with replacing(path) as file:
        file.write(json.dumps(document, ensure_ascii=False).encode() + b"\n")


def read_counts(path: Path) -> tuple[Question, Counts]:
    """Return the question of a file of counts, and the counts, checked against its mechanism."""
    try:
        document = json.loads(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {error}") from None
    if not isinstance(document, dict) or document.get("murmurs") != "counts":
        raise ValueError(f"{path} is not a file of counts")
    try:
        question = question_from_document(document.get("question"))
        cells = _whole_numbers(document.get("cells"))
        times = document.get("times", 1)
        return question, Counts(question.mechanism, document.get("n"), cells, times)  # type: ignore[arg-type]
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from None


def _whole_numbers(cells: object) -> Integers:
    try:
        array = np.array(cells)
    except ValueError:
        raise ValueError("cells are not a table: its rows differ in length") from None
    if array.dtype.kind not in "iu":
        raise ValueError("cells are not all whole numbers below 2**63")
    return array.astype(np.int64)
