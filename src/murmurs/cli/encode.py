"""``murmurs encode``: turn answers, one label a line, into private reports."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO

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
from murmurs.randomness import Secure
from murmurs.survey import Question
from murmurs.wire import Reports

_LINES = 2**16


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
    number = {label: j for j, label in enumerate(question.labels)}
    batch: list[int] = []
    for position, line in enumerate(lines, 1):
        label = line.rstrip("\r\n")
        if label not in number:
            try:
                question.answer(label)
            except ValueError as error:
                raise ValueError(f"line {position}: {error}") from None
        batch.append(number[label])
        if len(batch) == _LINES:
            yield question.mechanism.encode_many(batch, random)
            batch = []
    yield question.mechanism.encode_many(batch, random)
