"""``murmurs discover``: find the strings that nobody listed."""

from __future__ import annotations

from pathlib import Path

import click

from murmurs.boundary.texts import numbered
from murmurs.boundary.writing import is_standard_output, writing
from murmurs.cli.output import (
    Command,
    as_csv,
    as_json,
    existing_file,
    level_option,
    new_file,
    one_form,
    piped_file,
    print_csv,
    print_json,
    read_survey,
    say,
    target_option,
)
from murmurs.cli.pictures import picture_kind, plot_option, save_plot
from murmurs.cli.progress import progress_bar
from murmurs.cli.suggestions import Choice
from murmurs.files.candidates import read_candidates
from murmurs.files.counts import read_counts
from murmurs.inference.detection import Control
from murmurs.inference.fit import Target
from murmurs.present.discoveries import PLOT_SIZE
from murmurs.questions.dictionary.finding import discover
from murmurs.questions.dictionary.letters import ALPHABET
from murmurs.survey.survey import Survey


@click.command("discover", cls=Command)
@click.argument("counts", type=piped_file)
@click.option("--survey", type=existing_file, help="Check that the counts belong to this survey.")
@click.option(
    "--alphabet",
    default=ALPHABET,
    help="The letters that strings may consist of, each written out, as one text. "
    "Default: lower-case letters, digits, and . - _ ' and blank; no capital letters.",
)
@click.option(
    "--corpus",
    type=existing_file,
    help="A file of similar strings, one per line, from which likely letters are learnt; "
    "for prefixes only.",
)
@click.option(
    "--error-rate",
    type=click.FloatRange(1e-12, 0.5),
    default=0.05,
    show_default=True,
    help="The probability of any false string or, with --control fdr, the expected part of them.",
)
@click.option(
    "--control",
    type=Choice(["bonferroni", "fdr"]),
    default="bonferroni",
    show_default=True,
    help="What the error rate limits.",
)
@click.option(
    "--next",
    "next_survey",
    type=new_file,
    help="Write a survey that asks again, with the strings found, and (other), as its labels.",
)
@click.option("--epsilon", type=float, help="Epsilon of the question in the next survey.")
@level_option
@target_option
@as_csv
@plot_option
@as_json
def command(
    counts: Path,
    survey: Path | None,
    alphabet: str,
    corpus: Path | None,
    error_rate: float,
    control: Control,
    next_survey: Path | None,
    epsilon: float | None,
    level: float,
    target: Target,
    as_csv: bool,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Find strings that nobody listed, in COUNTS.

    COUNTS is a file of counts (- for standard input). The question's mechanism is a Dictionary:
    each person reported one prefix of the string or, with the method ngrams, the string and two
    n-grams of it. No list of candidates is needed.

    \b
    Example:
      murmurs discover pets.json
    """
    one_form(as_csv, as_json)
    if plot is not None:
        picture_kind(plot)
    if (next_survey is None) != (epsilon is None):
        raise click.UsageError("--next and --epsilon go together: a next survey needs an epsilon")
    contract = None if survey is None else read_survey(survey)
    question, counted = read_counts(counts, contract)
    similar = () if corpus is None else read_candidates(corpus)[0]
    with progress_bar("searching") as progress:
        found = discover(
            counted,
            alphabet=alphabet,
            corpus=similar,
            error_rate=error_rate,
            control=control,
            progress=progress,
        )
    again = None
    if epsilon is not None:
        closed = found.question(question.name, epsilon, text=question.text)
        again = Survey(question.name, (closed,))
    if plot is not None:
        titled = found.titled(question.text or question.name)
        save_plot(lambda axes: titled.plot(axes, level, target), plot, size=PLOT_SIZE)
    if next_survey is not None and again is not None:
        with writing(next_survey) as file:
            file.write(again.to_json().encode())
    beside = next_survey is not None and is_standard_output(next_survey)
    if as_json:
        print_json({"question": question.name, **found.to_document(level, target)}, err=beside)
        return
    if as_csv:
        print_csv(
            "" if found.estimate is None else found.estimate.to_csv(level, target), err=beside
        )
        return
    say(f"{question.text or question.name}\n{numbered(counted.n, 'report')}\n", err=beside)
    if found.estimate is not None:
        say(found.estimate.table(level=level, target=target, limit=100), err=beside)
        say(f"\n{found.estimate.explanation}", err=beside)
    say(found.summary, err=beside)
    if next_survey is not None:
        say(
            f"\nA survey of these strings is in {next_survey}: run murmurs encode with --unknown "
            "'(other)', so that all other strings have a label.",
            err=beside,
        )
