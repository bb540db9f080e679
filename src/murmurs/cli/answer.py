"""``murmurs answer``: answer a published survey as one device, and send what was sealed."""

from __future__ import annotations

import math
import sys
import time
from pathlib import Path
from typing import Any

import click

from murmurs.boundary.texts import listed
from murmurs.cli.options import Command, as_json, existing_file, flag
from murmurs.cli.output import Form
from murmurs.cli.suggestions import Choice
from murmurs.client import HTTP, AnswerRefusedError, Client, Sent
from murmurs.files.surveys import read_survey
from murmurs.present.text import table
from murmurs.submission import Submission

NOT_TAKEN = 1
"""The status if something that is due was not taken by the collector."""


@click.command("answer", cls=Command)
@click.argument("survey", type=existing_file)
@click.argument("answers", nargs=-1, metavar="[QUESTION=ANSWER]...")
@click.option(
    "--state",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    help="The device's own file: its secret, what it has spent, and what waits to be sent.",
)
@click.option("--to", "address", help="Send to the collector at this address.")
@flag("--plain", "Allow an address without https, in a network that you trust.")
@click.option("--key", help="The survey's key, if submissions need one.")
@click.option("--segment", help="The device's segment, if the survey has segments.")
@click.option(
    "--memory",
    type=Choice(["value", "change", "period"]),
    help="Which reports share a permanent response, where the survey leaves it open.",
)
@click.option(
    "--delay",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Seconds of the intervals that hide when a person answers; apps use 3600.",
)
@as_json
def command(
    survey: Path,
    answers: tuple[str, ...],
    state: Path,
    address: str | None,
    plain: bool,
    key: str | None,
    form: Form,
    **options: Any,
) -> None:
    """Answer SURVEY as one device, show what leaves it, and send it.

    It is for trying a survey: an app uses murmurs.client. Answers are randomised before they are
    written anywhere, but a shell keeps its history. Without answers, it sends queued submissions.
    The status is 1 if the collector refused, or could not be reached: then they stay queued.

    \b
    Example:
      murmurs answer coffee.json drink=tea --state me.json
    """
    published = read_survey(survey)
    given = dict(_pair(text) for text in answers)
    if len(given) < len(answers):
        raise ValueError("a question has two answers: give one")
    transport = None if address is None else _transport(address, key, plain)
    if published.segments and options["segment"] is None:
        names = listed(published.segments)
        raise ValueError(
            f"this survey needs the segment of the device: add --segment, one of {names}"
        )
    client = Client(published, state, **options)
    if not given and transport is None:
        drawn = listed(client.askable()) if published.terms.questions_each else ""
        now = (
            f"; this device is now asked {drawn or 'nothing'}"
            if published.terms.questions_each
            else ""
        )
        raise click.UsageError(f"give answers, or --to to send what waits{now}")
    sealed = None
    if given:
        try:
            sealed = client.answer(given)
        except AnswerRefusedError as error:
            raise ValueError(str(error)) from None
    sent = None if transport is None else client.send(transport)
    form.show(
        json=lambda: _document(client, sealed, sent), text=lambda: _text(client, sealed, sent)
    )
    if sent is not None and (sent.problem is not None or sent.refused):
        sys.exit(NOT_TAKEN)


def _transport(address: str, key: str | None, plain: bool) -> HTTP:
    try:
        return HTTP(address, key=key, plain=plain)
    except ValueError as error:
        raise ValueError(str(error).replace("plain=True", "--plain")) from None


def _pair(text: str) -> tuple[str, str]:
    name, sign, answer = text.partition("=")
    if not sign:
        raise ValueError("answers are written QUESTION=ANSWER, as drink=tea")
    return name, answer


def _table(client: Client, sealed: Submission) -> str:
    """Return what leaves the device as a table."""
    rows = []
    for name, data in sealed.reports.items():
        asked = client.survey.asked(name)
        shape = asked.mechanism.shape
        report = str(shape.to_json(shape.unpack(data)))
        rows.append([name, report if len(report) <= 60 else f"{report[:57]}...", str(len(data))])
    head = f"Submission {sealed.id.hex()} to {client.survey.name!r}\nleaves this device:\n\n"
    return head + table(["question", "report", "bytes"], rows, left=2)


def _text(client: Client, sealed: Submission | None, sent: Sent | None) -> str:
    """Return what leaves the device, what was spent, and what was sent."""
    table = "" if sealed is None else f"{_table(client, sealed)}\n\n"
    budget = client.survey.terms.lifetime_epsilon
    limit = "" if budget is None else f" of {budget:g}"
    told = f"epsilon {client.spent:.4g}{limit}"
    spent = "more than any epsilon" if math.isinf(client.spent) else told
    return f"{table}Spent so far: {spent}.\n{_told(client, sent)}"


def _told(client: Client, sent: Sent | None) -> str:
    if sent is None:
        return f"Waiting to be sent: {client.queued}."
    lines = [f"Sent: {sent.taken}. Waiting: {sent.waiting}."]
    lines += [f"Refused: {refusal.id}: {refusal.reason}" for refusal in sent.refused]
    if sent.problem is not None:
        lines.append(f"Not sent: {sent.problem}. It is kept.")
    if sent.next_send_after is not None:
        seconds = max(1, math.ceil(sent.next_send_after - time.time()))
        lines.append(f"What waits can be sent in {seconds} s: then run this again without answers.")
    return "\n".join(lines)


def _document(client: Client, sealed: Submission | None, sent: Sent | None) -> dict[str, Any]:
    spent = client.spent if math.isfinite(client.spent) else None  # JSON has no infinity
    document: dict[str, Any] = {"survey": client.survey.name, "spent": spent}
    if sealed is not None:
        document["submission"] = {
            "id": sealed.id.hex(),
            "reports": {name: data.hex() for name, data in sealed.reports.items()},
        }
    if sent is not None:
        document["sent"] = sent.taken
        document["refused"] = [refusal.reason for refusal in sent.refused]
        document["problem"] = sent.problem
    return document | {"waiting": client.queued}
