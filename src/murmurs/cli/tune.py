"""``murmurs tune``: choose the width and the cohorts for strings before anyone is asked."""

from __future__ import annotations

import click

from murmurs.cli.options import Command, as_json, epsilon_help, respondents
from murmurs.cli.output import Form
from murmurs.cli.suggestions import Choice
from murmurs.planning.identifiability import identifiable
from murmurs.planning.loss_model import KINDS
from murmurs.planning.tuning import LOSSES, tune
from murmurs.present.text import table


@click.command("tune", cls=Command)
@click.option("--epsilon", type=float, required=True, help=epsilon_help)
@respondents("Number of people who will answer.", required=True)
@click.option(
    "--candidate-count",
    type=click.IntRange(min=2),
    required=True,
    help="Number of candidate strings to tell apart.",
)
@click.option(
    "--kind",
    type=Choice(list(KINDS)),
    default="ORR",
    show_default=True,
    help="The mechanism to tune.",
)
@click.option(
    "--loss",
    type=Choice(LOSSES),
    default="l1",
    show_default=True,
    help="The error to minimise: absolute (l1) or squared (l2), summed over all shares.",
)
@click.option(
    "--most-cohorts",
    type=int,
    default=4096,
    show_default=True,
    help="The largest number of cohorts to consider.",
)
@click.option(
    "--lines",
    type=click.IntRange(min=1),
    default=8,
    show_default=True,
    help="Number of choices to print, the recommended one first.",
)
@as_json
def command(
    epsilon: float,
    respondents: int,
    candidate_count: int,
    kind: str,
    loss: str,
    most_cohorts: int,
    lines: int,
    form: Form,
) -> None:
    """Find the best width and number of cohorts for strings.

    The best ones have the smallest expected error. The error is that of unbiased estimates, summed
    over all shares, relative to the shares of the respondents. The shares are assumed to fall off
    as 1 / rank.

    \b
    Example:
      murmurs tune --epsilon 2 --respondents 1000000 --candidate-count 256
    """
    found = tune(
        epsilon, respondents, candidate_count, kind=kind, loss=loss, most_cohorts=most_cohorts
    )
    choices = (found.best, *found.alternatives[: lines - 1])
    rows = [
        [
            str(c.width),
            str(c.cohorts),
            str(c.hashes),
            f"{c.bits:.1f}",
            f"{c.loss:.3g}",
            c.estimator,
            "one layout" if c.exact else "all layouts",
        ]
        for c in choices
    ]
    header = ["width", "cohorts", "hashes", "bits", f"expected {loss}", "estimator", "for"]
    advice = identifiable(found.best.width, found.best.cohorts, candidate_count).advice
    form.show(
        json=found.to_document,
        text=lambda: "\n\n".join(
            [
                f"{found.mechanism}: the expected error of a share is "
                f"{100 * found.error_of_a_share:.3g} %",
                table(header, rows, left=0),
                "one layout: computed for one drawn set of hash functions; all layouts: averaged "
                "over them",
                f"{advice}; {found.looked_at} combinations were compared",
            ]
        ),
    )
