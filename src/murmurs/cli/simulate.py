"""``murmurs simulate``: draw the counts that the reports of a whole population would give."""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np

from murmurs.boundary.texts import numbered
from murmurs.cli.options import (
    Command,
    as_json,
    chosen_question,
    counts_output,
    existing_file,
    name_option,
    piped_file,
    seed_option,
)
from murmurs.cli.output import Form
from murmurs.files.counts import write_counts
from murmurs.files.histograms import read_people
from murmurs.files.surveys import read_survey


@click.command("simulate", cls=Command)
@click.argument("survey", type=existing_file)
@click.argument("people", type=piped_file)
@name_option
@counts_output
@seed_option
@as_json
def command(
    survey: Path, people: Path, name: str | None, output: Path, seed: int | None, form: Form
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
    counts = question.simulate(read_people(people, question), random)
    write_counts(output, contract, question, counts)
    what = f"{numbered(counts.n, 'report')} to {question.name!r} simulated; counts written to"
    form.written(what, output, {"question": question.name, "n": counts.n})
