"""``murmurs estimate``: from counts to shares with intervals."""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np

from murmurs.boundary.texts import numbered
from murmurs.cli.estimating import estimated, estimator_option
from murmurs.cli.numbers import wanted_options
from murmurs.cli.options import (
    Command,
    asked_option,
    candidates,
    piped_file,
    printed,
    shares,
    survey_option,
)
from murmurs.cli.output import Form, note
from murmurs.cli.pictures import save_plot
from murmurs.estimators.estimation import Estimate
from murmurs.files.counts import read_counts
from murmurs.files.exported import assumption, is_exported, read_exported
from murmurs.files.surveys import read_survey
from murmurs.inference.detection import Detection
from murmurs.inference.fit import Target
from murmurs.inference.wanted import Wanted, statistics_columns, statistics_table, usual
from murmurs.present import frames
from murmurs.present.text import MARK


@click.command("estimate", cls=Command)
@click.argument("counts", type=piped_file)
@survey_option
@estimator_option("shrinkage, with exceptions for hashed answers")
@shares
@asked_option
@candidates
@wanted_options(sums=True)
@printed("csv", "json", plot=True)
def command(
    counts: Path,
    survey: Path | None,
    asked: str | None,
    wanted: Wanted,
    estimator: str | None,
    level: float,
    target: Target,
    candidates: Path | None,
    complete: bool,
    plot: Path | None,
    form: Form,
) -> None:
    """Estimate the shares of the answers from COUNTS.

    COUNTS is a file of counts (- for standard input). For questions asked together, `murmurs joint`
    also tests whether their answers go together. Of numbers, the mean, the median and two quantiles
    are shown below the shares, or what is asked for instead; with --csv, only that is printed.

    \b
    Example:
      murmurs estimate counts.json
    """
    contract = None if survey is None else read_survey(survey)
    question, counted = read_counts(counts, contract, asked)
    [found] = estimated(question, [(question, counted)], candidates, complete, estimator)
    if is_exported(counts):
        assumed = assumption([read_exported(counts, asked).counts()])
        if form.kind != "text" or assumed not in found.notes:  # the text has the notes
            note(f"{assumed}.")
    said = (wanted or usual(found)).of(found, level=level, target=target)
    detected, why_not = _detected(found)
    save_plot(lambda axes: found.plot(axes, level, target), plot, size=found.plot_size)

    def text() -> str:
        marks = None
        if detected is not None and question.is_open:
            marks = detected.present & (np.arange(len(detected.present)) != found.other)
        table = found.table(level=level, target=target, marks=marks)
        title = f"{question.text or question.name}\n{numbered(found.n, 'report')}"
        last = why_not if detected is None else _found(found, detected, complete)
        last = f"\n{last}" if question.is_open and last else ""
        numbers = f"{statistics_table(said)}\n\n" if said else ""
        notes = "".join(
            f"\nNote: {note}." for note in dict.fromkeys(n for s in said for n in s.notes)
        )
        return f"{title}\n\n{table}\n\n{numbers}{found.explanation}{notes}{last}"

    form.show(
        json=lambda: {
            "question": question.name,
            **found.to_document(level, target),
            "detected": None if detected is None else detected.to_document(),
            **({"statistics": [one.to_document() for one in said]} if said else {}),
        },
        csv=lambda: (
            frames.to_csv(statistics_columns(said)) if wanted else found.to_csv(level, target)
        ),
        text=text,
    )


def _detected(estimate: Estimate) -> tuple[Detection | None, str]:
    """Return which answers were detected; if they were not tested, perhaps why."""
    if estimate.n == 0 or not estimate.fit.tells_absence:
        return None, ""
    try:
        return estimate.detected(0.05), ""
    except ImportError as error:
        return None, f"Candidates were not tested: {error}."


def _found(estimate: Estimate, detected: Detection, complete: bool) -> str:
    """Return a sentence that says how many candidates were detected, and explains the marks."""
    present = detected.present
    if estimate.other is not None:
        present = np.delete(present, estimate.other)
    found, all_of = int(present.sum()), len(present)
    if not found:
        return f"None of {numbered(all_of, 'candidate')} was detected."
    return (
        f"{MARK} {found} of {numbered(all_of, 'candidate')} detected; at most a 5 % chance of any "
        f"false detection (Bonferroni){', if the list is complete' if complete else ''}."
    )
