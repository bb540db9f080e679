"""``murmurs simulate``: the counts that a whole population's reports would give."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import click
import numpy as np

from murmurs.cli.output import (
    as_json,
    chosen_question,
    existing_file,
    new_file,
    print_json,
    read_survey,
    seed_option,
)
from murmurs.counts import Counts
from murmurs.files import write_counts
from murmurs.mechanism import OpenMechanism
from murmurs.strings import normal
from murmurs.survey import Question


@click.command("simulate")
@click.argument("survey", type=existing_file)
@click.argument("people", type=click.File("r", encoding="utf-8"))
@click.option("--question", "name", help="Which question is answered, if there are several.")
@click.option("-o", "--output", type=new_file, required=True, help="The file of counts to write.")
@seed_option
@as_json
def command(
    survey: Path, people: IO[str], name: str | None, output: Path, seed: int | None, as_json: bool
) -> None:
    """Draw the counts of reports to SURVEY by PEOPLE, a CSV file of label,number.

    The draw has the law of encoding and counting everybody, at a cost that does not grow with them.
    To an open question any label is an answer.

    \b
    Example:
      murmurs simulate coffee.json people.csv --seed 1 -o counts.json
    """
    contract = read_survey(survey)
    question = chosen_question(contract, name)
    histogram = _read_histogram(people, question)
    random = None if seed is None else np.random.default_rng(seed)
    mechanism = question.mechanism
    if isinstance(mechanism, OpenMechanism):
        drawn = mechanism.over(list(histogram)).simulate([*histogram.values(), 0], random)
        counts = Counts(mechanism, drawn.n, drawn.cells)
    else:
        counts = mechanism.simulate(list(histogram.values()), random)
    write_counts(output, contract, question, counts)
    if as_json:
        print_json({"question": question.name, "n": counts.n})
    else:
        click.echo(f"counts of {counts.n} people's reports to {question.name!r} drawn in {output}")


def _read_histogram(lines: IO[str], question: Question) -> dict[str, int]:
    """Return the number of people with each label; every label of a closed question has one."""
    people = dict.fromkeys(question.labels, 0)
    for position, row in enumerate(_csv_rows(lines), 1):
        if len(row) != 2 or not row[1].strip().isdecimal():
            raise ValueError(f"line {position}: {','.join(row)!r} is not label,number")
        try:
            label = normal(row[0]) if question.is_open else row[0]
            if not question.is_open:
                question.answer(label)
        except ValueError as error:
            raise ValueError(f"line {position}: {error}") from None
        people[label] = people.get(label, 0) + int(row[1])
    if not any(people.values()):
        raise ValueError("there is nobody to simulate: every number of people is 0")
    if sum(people.values()) > 2**62:
        raise ValueError("histogram has more than 2**62 people")
    return people


def _csv_rows(lines: IO[str]) -> Iterator[list[str]]:
    reader = csv.reader(lines)
    try:
        yield from reader
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num}: this is not CSV: {error}") from None
