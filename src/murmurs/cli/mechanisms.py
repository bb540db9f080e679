"""``murmurs mechanisms``: compare all mechanisms for one number of answers and one epsilon."""

from __future__ import annotations

import math

import click

from murmurs.cli.output import MOST_PEOPLE, Command, as_json, print_json, rounded_up, say
from murmurs.mechanisms import BY_NAME
from murmurs.mechanisms.longitudinal.two_rounds import Longitudinal
from murmurs.present.text import table


@click.command("mechanisms", cls=Command)
@click.option("--answers", "k", type=int, default=16, show_default=True, help="Number of answers.")
@click.option(
    "--epsilon",
    type=float,
    default=1.0,
    show_default=True,
    help="Epsilon of one report, which bounds its privacy loss.",
)
@click.option(
    "--respondents",
    "n",
    type=click.IntRange(1, MOST_PEOPLE),
    default=10_000,
    show_default=True,
    help="Number of people who answer.",
)
@as_json
def command(k: int, epsilon: float, n: int, as_json: bool) -> None:
    """Compare the error, privacy and report size of the mechanisms.

    Each person sends one report. The error is the root mean square error of an unbiased share when
    all answers are equally common. "epsilon realised" is that of the integer probabilities, rounded
    up, "bits" the information in a report (log2 of the number of possible reports), and "bytes" its
    size. Mechanisms for repeated reports, which have two epsilons, are left out.

    \b
    Example:
      murmurs mechanisms --answers 128 --epsilon 1 --respondents 100000
    """
    found = []
    for name, kind in BY_NAME.items():
        if issubclass(kind, Longitudinal):  # an epsilon alone does not describe them
            continue
        mechanism = kind(k=k, epsilon=epsilon)  # type: ignore[call-arg]
        error = math.sqrt(mechanism.channel.expected_l2(n) / k)
        size = mechanism.shape.size
        found.append((error, name, mechanism.epsilon_realised, mechanism.bits, size))
    found.sort()
    if as_json:
        keys = ("error", "mechanism", "epsilon_realised", "bits", "bytes")
        print_json([dict(zip(keys, row, strict=True)) for row in found])
        return
    rows = [
        [name, f"{100 * error:.3f} %", rounded_up(realised), f"{bits:.1f}", str(size)]
        for error, name, realised, bits, size in found
    ]
    say(f"{k:,} answers, epsilon {epsilon:g}, {n:,} respondents\n")
    say(table(["mechanism", "error of a share", "epsilon realised", "bits", "bytes"], rows))
