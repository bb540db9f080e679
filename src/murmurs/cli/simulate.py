"""``murmurs simulate``: draw the counts that the reports of a whole population would give."""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np

from murmurs.boundary.checks import shown
from murmurs.boundary.reading import is_digits, named, refuse, rows
from murmurs.boundary.texts import numbered
from murmurs.cli.output import (
    MOST_PEOPLE,
    Command,
    as_json,
    chosen_question,
    existing_file,
    new_file,
    piped_file,
    read_survey,
    simulation_seed_option,
    tell,
)
from murmurs.counts import Counts
from murmurs.files.counts import write_counts
from murmurs.mechanisms.mechanism import OpenMechanism
from murmurs.questions.asked import Asked
from murmurs.questions.single import Single


@click.command("simulate", cls=Command)
@click.argument("survey", type=existing_file)
@click.argument("people", type=piped_file)
@click.option(
    "--question", "name", help="The question that is answered, if the survey has several."
)
@click.option("-o", "--output", type=new_file, required=True, help="The file of counts to write.")
@simulation_seed_option
@as_json
def command(
    survey: Path, people: Path, name: str | None, output: Path, seed: int | None, as_json: bool
) -> None:
    """Simulate the counts that PEOPLE would give in SURVEY.

    PEOPLE is a CSV file with label,number per line (- for standard input); for questions asked
    together a line has a label for each of them, and the number. The counts are
    distributed as if everybody had been encoded and counted, at a cost that does not grow with the
    number of people. For an open question, any label is an answer.

    \b
    Example:
      murmurs simulate coffee.json people.csv --seed 1 -o counts.json
    """
    contract = read_survey(survey)
    question = chosen_question(contract, name)
    random = None if seed is None else np.random.default_rng(seed)
    if len(question.names) > 1:
        counts = question.simulate(_read_combinations(people, question), random)
    else:
        [single] = question.questions
        counts = _simulated(single, _read_histogram(people, single), random)
    write_counts(output, contract, question, counts)
    what = f"{numbered(counts.n, 'report')} to {question.name!r} simulated; counts written to"
    tell(what, output, {"question": question.name, "n": counts.n}, as_json=as_json)


def _simulated(
    question: Single, histogram: dict[str, int], random: np.random.Generator | None
) -> Counts:
    mechanism = question.mechanism
    if isinstance(mechanism, OpenMechanism):
        drawn = mechanism.over(list(histogram)).simulate([*histogram.values(), 0], random)
        return Counts(mechanism, drawn.n, drawn.cells)
    return question.simulate(list(histogram.values()), random)


def _read_combinations(path: Path, joint: Asked) -> dict[tuple[str, ...], int]:
    """Return the number of people with each combination of labels."""
    people: dict[tuple[str, ...], int] = {}
    total, questions = 0, joint.questions
    for line, row in rows(path):
        number = row[-1].strip() if len(row) == len(questions) + 1 else ""
        if not is_digits(number):
            wanted = ",".join([*joint.names, "number"])
            refuse(path, line, f"{shown(','.join(row))} is not {wanted}")
        labels = []
        for question, text in zip(questions, row, strict=False):
            labels.append(_label(path, line, question, text))
        more = _number(number)
        total += more
        if total > MOST_PEOPLE:
            refuse(path, line, "there are more than 2**62 people in total")
        people[tuple(labels)] = people.get(tuple(labels), 0) + more
    _refuse_nobody(path, total)
    return people


def _label(path: Path, line: int, question: Single, text: str) -> str:
    """Return a label of a question, or any text in its normal form if the question is open."""
    if question.is_open:
        try:
            return str(question.answer(text))
        except ValueError as error:
            refuse(path, line, str(error))
    place = question.place_of(text)
    if place is None:
        refuse(path, line, f"{shown(text)} is not an answer to {shown(question.name)}")
    return question.labels[place]


def _number(digits: str) -> int:
    digits = digits.lstrip("0") or "0"
    return int(digits) if len(digits) < 20 else 2 * MOST_PEOPLE


def _refuse_nobody(path: Path, total: int) -> None:
    if not total:
        raise ValueError(f"{named(path)}: there is nobody to simulate: every number of people is 0")


def _read_histogram(path: Path, question: Single) -> dict[str, int]:
    """Return the number of people with each label; those of a closed question may have 0."""
    people = dict.fromkeys(question.labels, 0)
    total = 0
    for line, row in rows(path):
        number = row[1].strip() if len(row) == 2 else ""
        if not is_digits(number):
            refuse(path, line, f"{shown(','.join(row))} is not label,number")
        label = _label(path, line, question, row[0])
        more = _number(number)
        total += more
        if total > MOST_PEOPLE:
            refuse(path, line, "there are more than 2**62 people in total")
        people[label] = people.get(label, 0) + more
    _refuse_nobody(path, total)
    return people
