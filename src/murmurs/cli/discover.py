"""``murmurs discover``: find the strings that nobody listed."""

from __future__ import annotations

from pathlib import Path

import click

from murmurs.boundary.texts import numbered
from murmurs.boundary.writing import writing
from murmurs.cli.options import (
    Command,
    asked_option,
    control_option,
    existing_file,
    new_file,
    piped_file,
    printed,
    shares,
    survey_option,
)
from murmurs.cli.output import Form
from murmurs.cli.pictures import save_plot
from murmurs.cli.progress import progress_bar
from murmurs.files.candidates import read_candidates
from murmurs.files.counts import read_counts
from murmurs.files.surveys import keep_published, read_survey
from murmurs.inference.detection import Control
from murmurs.inference.fit import Target
from murmurs.present.discoveries import PLOT_SIZE
from murmurs.questions.dictionary.finding import discover
from murmurs.questions.dictionary.letters import ALPHABET
from murmurs.survey.survey import Survey


@click.command("discover", cls=Command)
@click.argument("counts", type=piped_file)
@survey_option
@asked_option
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
    help="The probability of any false string or, with --control fdr, the expected fraction "
    "of false strings.",
)
@control_option
@click.option(
    "--next",
    "next_survey",
    type=new_file,
    help="Write a survey that asks again, with the strings found, and (other), as its labels.",
)
@click.option("--epsilon", type=float, help="Epsilon of the question in the next survey.")
@shares
@printed("csv", "json", plot=True)
def command(
    counts: Path,
    survey: Path | None,
    asked: str | None,
    alphabet: str,
    corpus: Path | None,
    error_rate: float,
    control: Control,
    next_survey: Path | None,
    epsilon: float | None,
    level: float,
    target: Target,
    plot: Path | None,
    form: Form,
) -> None:
    """Find strings that nobody listed, in COUNTS.

    COUNTS is a file of counts (- for standard input). The question's mechanism is a Dictionary:
    each person reported one prefix of the string or, with the method ngrams, the string and two
    n-grams of it. No list of candidates is needed.

    \b
    Example:
      murmurs discover pets.json
    """
    if (next_survey is None) != (epsilon is None):
        raise click.UsageError("--next and --epsilon go together: a next survey needs an epsilon")
    contract = None if survey is None else read_survey(survey)
    question, counted = read_counts(counts, contract, asked)
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
    title = question.text or question.name
    again = None
    if epsilon is not None:
        again = Survey(question.name, (found.question(question.name, epsilon, text=question.text),))
    if next_survey is not None and again is not None:
        keep_published(next_survey, again)
    titled = found.titled(title)
    save_plot(lambda axes: titled.plot(axes, level, target), plot, size=PLOT_SIZE)
    if next_survey is not None and again is not None:
        with writing(next_survey) as file:
            file.write(again.to_json().encode())
    shown = found.estimate

    def text() -> str:
        lines = [f"{title}\n{numbered(counted.n, 'report')}\n"]
        if shown is not None:
            lines.append(shown.table(level=level, target=target, limit=100))
            lines.append(f"\n{shown.explanation}")
        lines.append(found.summary)
        if next_survey is not None:
            lines.append(
                f"\nA survey of these strings is in {next_survey}: run murmurs encode with "
                "--unknown '(other)', so that all other strings have a label."
            )
            longest = found.mechanism.longest
            if any(len(label) == longest for label in found.labels):
                lines.append(
                    f"Its labels of {longest} letters may be only beginnings: whoever holds a "
                    "longer string then answers (other)."
                )
        return "\n".join(lines)

    form.show(
        json=lambda: {
            "question": question.name,
            "summary": found.summary,
            **found.to_document(level, target),
        },
        csv=lambda: "" if shown is None else shown.to_csv(level, target),
        text=text,
    )
