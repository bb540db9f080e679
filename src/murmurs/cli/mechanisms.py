"""``murmurs mechanisms``: compare all mechanisms for one number of answers and one epsilon."""

from __future__ import annotations

import math

import click

from murmurs.boundary.checks import whole
from murmurs.boundary.texts import numbered
from murmurs.cli.options import Command, as_json, epsilon_help, respondents
from murmurs.cli.output import Form, rounded_up
from murmurs.mechanisms import BY_NAME
from murmurs.mechanisms.longitudinal.two_rounds import Longitudinal
from murmurs.mechanisms.mechanism import LARGEST_K
from murmurs.present.text import table


@click.command("mechanisms", cls=Command)
@click.option("--answers", "k", type=int, default=16, show_default=True, help="Number of answers.")
@click.option("--epsilon", type=float, default=1.0, show_default=True, help=epsilon_help)
@respondents("Number of people who answer.", default=10_000, show_default=True)
@as_json
def command(k: int, epsilon: float, respondents: int, form: Form) -> None:
    """Compare the error, privacy and report size of the mechanisms.

    Each person sends one report. The error is the root mean square error of an unbiased share when
    all answers are equally common. "epsilon realised" is that of the integer probabilities, rounded
    up, "bits" the information in a report (log2 of the number of possible reports), and "bytes" its
    size. Mechanisms for repeated reports, which have two epsilons, are left out, and
    so are those that do not take so many answers.

    \b
    Example:
      murmurs mechanisms --answers 128 --epsilon 1 --respondents 100000
    """
    k = whole(k, "k", 2, LARGEST_K)
    found = []
    for name, kind in BY_NAME.items():
        if issubclass(kind, Longitudinal):  # an epsilon alone does not describe them
            continue
        if k > kind.largest_k:
            continue
        mechanism = kind(k=k, epsilon=epsilon)  # type: ignore[call-arg]
        error = math.sqrt(mechanism.channel.expected_l2(respondents) / k)
        size = mechanism.shape.size
        found.append((error, name, mechanism.epsilon_realised, mechanism.bits, size))
    found.sort()
    keys = ("error", "mechanism", "epsilon_realised", "bits", "bytes")
    rows = [
        [name, f"{100 * error:.3f} %", rounded_up(realised), f"{bits:.1f}", str(size)]
        for error, name, realised, bits, size in found
    ]
    head = ["mechanism", "error of a share", "epsilon realised", "bits", "bytes"]
    asked = f"{k:,} answers, epsilon {epsilon:g}, {numbered(respondents, 'respondent')}"
    form.show(
        json=lambda: [dict(zip(keys, row, strict=True)) for row in found],
        text=lambda: f"{asked}\n\n{table(head, rows)}",
    )
