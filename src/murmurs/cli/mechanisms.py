"""``murmurs mechanisms``: every mechanism beside the others, for one alphabet and epsilon."""

from __future__ import annotations

import math

import click

from murmurs.cli.output import MOST_PEOPLE, Command, as_json, print_json, say
from murmurs.mechanisms import BY_NAME
from murmurs.mechanisms.longitudinal import Longitudinal
from murmurs.present.text import table


@click.command("mechanisms", cls=Command)
@click.option("--answers", "k", type=int, default=16, show_default=True, help="How many answers.")
@click.option("--epsilon", type=float, default=1.0, show_default=True)
@click.option(
    "--respondents",
    "n",
    type=click.IntRange(1, MOST_PEOPLE),
    default=10_000,
    show_default=True,
)
@as_json
def command(k: int, epsilon: float, n: int, as_json: bool) -> None:
    """Compare the mechanisms for one report: error, privacy, size of a report.

    The error is that of a single share, root mean square over uniform answers, unbiased estimate.

    \b
    Example:
      murmurs mechanisms --answers 128 --epsilon 1 --respondents 100000
    """
    found = []
    for name, kind in BY_NAME.items():
        if issubclass(kind, Longitudinal):  # they are told more than an epsilon
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
        [name, f"{100 * error:.3f} %", f"{realised!r}", f"{bits:.1f}", str(size)]
        for error, name, realised, bits, size in found
    ]
    say(f"{k} answers, epsilon {epsilon:g}, {n} respondents\n")
    say(table(["mechanism", "error of a share", "epsilon realised", "bits", "bytes"], rows))
