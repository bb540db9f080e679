"""``murmurs encode``: turn answers, one label per line, into private reports.

An error about a line names its number and the rule, never its contents.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np

from murmurs.boundary.checks import shown
from murmurs.boundary.reading import blocks_of_lines, refuse
from murmurs.cli.output import (
    Command,
    as_json,
    chosen_question,
    existing_file,
    new_file,
    piped_file,
    read_survey,
    say,
    seed_option,
    tell,
)
from murmurs.files.reports import write_reports
from murmurs.mechanism import OpenMechanism
from murmurs.mechanisms.longitudinal import Longitudinal
from murmurs.question import Question
from murmurs.randomness.secure import Secure
from murmurs.randomness.sources import ChanceInBulk
from murmurs.wire import Reports

_LINES, _BYTES = 2**16, 2**24


@click.command("encode", cls=Command)
@click.argument("survey", type=existing_file)
@click.argument("answers", type=piped_file)
@click.option(
    "--question", "name", help="The question that is answered, if the survey has several."
)
@click.option("-o", "--output", type=new_file, required=True, help="The file of reports to write.")
@seed_option
@as_json
def command(
    survey: Path, answers: Path, name: str | None, output: Path, seed: int | None, as_json: bool
) -> None:
    """Encode ANSWERS as reports to SURVEY.

    ANSWERS is a file with one label per line (- for standard input).

    For an open question, any line that is not empty is an answer. For a longitudinal mechanism,
    each run draws new permanent responses: people who report again need murmurs.Device.

    \b
    Example:
      murmurs encode coffee.json answers.txt -o reports.bin
    """
    contract = read_survey(survey)
    question = chosen_question(contract, name)
    random = Secure() if seed is None else np.random.default_rng(seed)
    n = write_reports(output, contract, question, _encoded(answers, question, random))
    mechanism = question.mechanism
    if isinstance(mechanism, Longitudinal) and math.isfinite(mechanism.epsilon_permanent_realised):
        say(
            "Note: each answer got a new permanent response, which is not kept. For people who "
            "report again, use murmurs.Device: see docs/longitudinal.md.",
            err=True,
        )
    size = mechanism.shape.size
    unit = "byte" if size == 1 else "bytes"
    what = f"{n} reports of {size} {unit} to {question.name!r} written to"
    document = {"question": question.name, "reports": n, "bytes": size}
    tell(what, output, document, as_json=as_json)


def _encoded(path: Path, question: Question, random: ChanceInBulk) -> Iterator[Reports]:
    mechanism = question.mechanism
    most = max(1, min(_LINES, _BYTES // mechanism.shape.size))
    if isinstance(mechanism, OpenMechanism):
        for first, texts in _batches(path, most):
            try:
                yield mechanism.encode_many(texts, random)
            except ValueError:
                for line, text in enumerate(texts, first):
                    _check(path, line, text, mechanism)
                raise
        return
    numbers = {label: j for j, label in enumerate(question.labels)}
    for first, texts in _batches(path, most):
        answers = [numbers.get(text, -1) for text in texts]
        if -1 in answers:
            listed = ", ".join(shown(label) for label in question.labels[:8])
            more = f" and {len(question.labels) - 8} more" if len(question.labels) > 8 else ""
            what = f"this is not an answer to {shown(question.name)}; answers are {listed}{more}"
            refuse(path, first + answers.index(-1), what)
        yield mechanism.encode_many(answers, random)


def _check(path: Path, line: int, text: str, mechanism: OpenMechanism[object]) -> None:
    """Refuse a line that is not an answer; called only when a batch was refused."""
    try:
        mechanism.check(text)
    except ValueError as error:
        refuse(path, line, str(error))


def _batches(path: Path, most: int) -> Iterator[tuple[int, list[str]]]:
    """Return lines in batches, each with the number of its first line.

    Where a batch ends depends only on the lines, not on how they are delivered: a seed gives the
    same result for a pipe as for a file.
    """
    batch: list[str] = []
    size, first = 0, 1
    for _, texts in blocks_of_lines(path):
        for text in texts:
            batch.append(text)
            size += len(text)
            if size >= _BYTES or len(batch) == most:
                yield first, batch
                first, size, batch = first + len(batch), 0, []
    if batch:
        yield first, batch
