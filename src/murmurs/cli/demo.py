"""``murmurs demo``: survey simulated devices, from their answers to a table of shares."""

from __future__ import annotations

import click
import numpy as np

from murmurs import Secure, Survey, estimate
from murmurs.cli.output import Command, as_json, print_json, say
from murmurs.present.text import table

SURVEY = """
name = "morning"
[[questions]]
name = "drink"
text = "What do you drink in the morning?"
labels = ["coffee", "tea", "water", "juice", "milk", "mate", "beer", "nothing"]
mechanism = {name = "Subset", epsilon = 1.0}
"""
TRUE_SHARES = np.array([0.44, 0.21, 0.12, 0.08, 0.06, 0.03, 0.01, 0.05])


@click.command("demo", cls=Command)
@click.option(
    "--people",
    type=click.IntRange(100, 10**7),
    default=20_000,
    show_default=True,
    help="Number of simulated people.",
)
@as_json
def command(people: int, as_json: bool) -> None:
    """Ask simulated devices one question and estimate the shares.

    \b
    Example:
      murmurs demo --people 20000
    """
    survey = Survey.from_toml(SURVEY)
    question = survey.questions[0]
    mechanism = question.closed
    # The people are the same in every run; the noise of their devices is not.
    rng = np.random.default_rng(7)
    answers = rng.choice(len(TRUE_SHARES), people, p=TRUE_SHARES)
    truth = np.bincount(answers, minlength=len(TRUE_SHARES)) / people

    random = Secure()
    shown = [(int(answer), mechanism.encode(int(answer), random)) for answer in answers[:5]]
    first = mechanism.count([report for _, report in shown])
    counts = first + mechanism.count(mechanism.encode_many(answers[5:], random))
    result = estimate(counts).with_labels(question.labels)
    if as_json:
        document = {"truth": truth.tolist(), **result.to_document()}
        print_json({"survey": survey.fingerprint, **document})
        return
    say(f"{question.text}  ({survey.name}, fingerprint {survey.short_fingerprint})\n")
    say(f"{mechanism}: any answer can lead to any report, and no answer makes a report")
    say(f"more than e^{mechanism.epsilon:g} times as likely as another would. Five devices:\n")
    rows = [
        [question.labels[answer], ", ".join(question.labels[x] for x in report)]
        for answer, report in shown
    ]
    say(table(["true answer", "report that leaves the device"], rows, left=2))
    say(f"\nEstimated from all {counts.n} reports:\n")
    say(result.table(truth))
    say(f"\n{result.explanation}")
