"""``murmurs encode``: turn answers, one label a line, into private reports."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TypeVar

import click
import numpy as np

from murmurs.bulk import Source
from murmurs.cli.output import (
    as_json,
    chosen_question,
    existing_file,
    new_file,
    print_json,
    read_survey,
    seed_option,
)
from murmurs.files import write_reports
from murmurs.mechanism import OpenMechanism
from murmurs.randomness import Secure
from murmurs.survey import Question
from murmurs.wire import Reports

_LINES = 2**16

Answer = TypeVar("Answer", int, str)


@click.command("encode")
@click.argument("survey", type=existing_file)
@click.argument("answers", type=click.File("r", encoding="utf-8"))
@click.option("--question", "name", help="Which question is answered, if there are several.")
@click.option("-o", "--output", type=new_file, required=True, help="The file of reports to write.")
@seed_option
@as_json
def command(
    survey: Path, answers: IO[str], name: str | None, output: Path, seed: int | None, as_json: bool
) -> None:
    """Encode ANSWERS, one label a line (- for standard input), as reports to SURVEY.

    To an open question any line that is not empty is an answer.

    \b
    Example:
      murmurs encode coffee.json answers.txt -o reports.bin
    """
    contract = read_survey(survey)
    question = chosen_question(contract, name)
    random = Secure() if seed is None else np.random.default_rng(seed)
    n = write_reports(output, contract, question, _encoded(answers, question, random))
    if as_json:
        print_json(
            {"question": question.name, "reports": n, "bytes": question.mechanism.shape.size}
        )
    else:
        size = question.mechanism.shape.size
        click.echo(f"{n} reports of {size} bytes to {question.name!r} written to {output}")


def _encoded(lines: IO[str], question: Question, random: Source) -> Iterator[Reports]:
    mechanism = question.mechanism
    if isinstance(mechanism, OpenMechanism):
        check = mechanism.check
        return (mechanism.encode_many(batch, random) for batch in _batches(lines, check))
    number = {label: j for j, label in enumerate(question.labels)}

    def answer(label: str) -> int:
        return number[label] if label in number else question.answer(label)

    closed = mechanism
    return (closed.encode_many(batch, random) for batch in _batches(lines, answer))


def _batches(lines: IO[str], check: Callable[[str], Answer]) -> Iterator[list[Answer]]:
    """Return checked answers by batches; a bad one is told by its line."""
    batch: list[Answer] = []
    for position, line in enumerate(lines, 1):
        try:
            batch.append(check(line.rstrip("\r\n")))
        except ValueError as error:
            raise ValueError(f"line {position}: {error}") from None
        if len(batch) == _LINES:
            yield batch
            batch = []
    yield batch
