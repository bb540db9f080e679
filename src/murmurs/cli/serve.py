"""``murmurs serve``: take submissions over HTTP, and answer with estimates."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from murmurs.cli.options import Command, as_json, existing_file, flag
from murmurs.cli.output import Form, say
from murmurs.cli.suggestions import Choice
from murmurs.files.surveys import read_survey

if TYPE_CHECKING:
    from murmurs.collect.catalogue import Catalogue


@click.command("serve", cls=Command)
@click.argument("surveys", type=existing_file, nargs=-1, metavar="[SURVEYS]...")
@click.option(
    "--store",
    "place",
    required=True,
    metavar="DIR|URL",
    help="Where everything is kept: a directory, or postgresql://... for several collectors.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8080,
    show_default=True,
    help="The port to listen on; 0 takes a free one.",
)
@click.option("--certfile", type=existing_file, help="A certificate for TLS, with its chain.")
@click.option("--keyfile", type=existing_file, help="The private key of the certificate.")
@flag("--keys", "Take submissions only with a token to submit.")
@click.option(
    "--origin",
    "origins",
    multiple=True,
    metavar="URL",
    help="A web page that may send submissions and read results (CORS); * for all pages.",
)
@click.option(
    "--rate",
    type=click.FloatRange(min=0, min_open=True),
    help="The most people per second of one key, or of all clients without a key.",
)
@click.option(
    "--limit",
    "limits",
    multiple=True,
    metavar="NAME=N",
    help="Another limit, such as people=1000 or body=64KiB; docs/collector.md lists them all.",
)
@click.option(
    "--quota",
    type=click.IntRange(min=1),
    metavar="MB",
    help="The most megabytes that the store may take.",
)
@click.option(
    "--connections",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    help="The most connections at the same time.",
)
@click.option(
    "--complete-days/--live",
    default=None,
    help="Whether results leave the present day out. By default they do where a survey has a "
    "minimum and anybody may submit.",
)
@click.option(
    "--keep-ids",
    type=click.IntRange(min=1),
    default=30,
    show_default=True,
    metavar="DAYS",
    help="How long ids are kept, to know submissions that are sent again.",
)
@click.option(
    "--keep-reports",
    type=click.IntRange(min=1),
    metavar="DAYS",
    help="How long counts and reports are kept; by default for ever.",
)
@flag("--damaged", "Start although the store is damaged, without results of what is.")
@click.option(
    "--log",
    type=Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How problems are logged: a line for people, or a JSON document for programs.",
)
@click.option(
    "--clock",
    type=existing_file,
    metavar="FILE",
    help="For a rehearsal: a file with the date, such as 2027-01-04, in place of today's.",
)
@as_json
def command(
    surveys: tuple[Path, ...],
    place: str,
    host: str,
    port: int,
    certfile: Path | None,
    keyfile: Path | None,
    keys: bool,
    origins: tuple[str, ...],
    rate: float | None,
    limits: tuple[str, ...],
    quota: int | None,
    connections: int,
    complete_days: bool | None,
    keep_ids: int,
    keep_reports: int | None,
    damaged: bool,
    log: Literal["text", "json"],
    clock: Path | None,
    form: Form,
) -> None:
    """Collect submissions to SURVEYS, and answer with estimates.

    SURVEYS are published surveys. They are added to the store; those that are in it are served
    too. A new store in a directory gets a token for administration, in the file admin-token.
    The collector stops on Ctrl-C or SIGTERM, after it has finished what it has begun.

    \b
    Example:
      murmurs serve coffee.json --store collected
    """
    if (certfile is None) != (keyfile is None):
        raise click.UsageError("--certfile and --keyfile go together: give both, or none")
    try:
        from murmurs.collect.http.collector import Settings
        from murmurs.collect.http.limits import MIB, Limits, limits_from
        from murmurs.collect.http.server import Address
        from murmurs.collect.logs import log_to_stderr
        from murmurs.collect.service import Plan, started
        from murmurs.collect.stores import without_password
        from murmurs.collect.stores.store import StoreError
        from murmurs.collect.upkeep import Schedule
    except ImportError as error:
        raise ImportError(
            f"the collector needs {error.name}: install it with pip install 'murmurs[server]'"
        ) from None
    log_to_stderr(log)
    chosen = limits_from(limits, Limits(rate=rate, connections=connections))
    plan = Plan(
        place,
        tuple(read_survey(path) for path in surveys),
        Address(host, port, certfile, keyfile),
        Settings(chosen, keys, origins, complete_days),
        Schedule(keep_ids_days=keep_ids, keep_reports_days=keep_reports),
        None if quota is None else quota * MIB,
        damaged,
        clock,
    )
    try:
        with started(plan) as running:
            shown = without_password(place)
            if clock is not None:
                say(f"Note: a rehearsal, in which the date is the one in {clock}.", err=True)
            file = running.token_file
            told = None if file is None else str(file)
            token = [] if file is None else [f"a token for administration and results is in {file}"]
            missing = _missing(running.server.collector.catalogue, shown)
            start = f"collecting at {running.url} into {shown}"
            form.show(
                json=lambda: {"url": running.url, "store": shown, "new_token_file": told},
                text=lambda: "\n".join([start, *token, *missing, "stop with Ctrl-C"]),
                most=None,
            )
            running.run()
        if form.kind == "text":
            say("stopped")
    except StoreError as error:
        raise ValueError(str(error)) from None


def _missing(catalogue: Catalogue, place: str) -> list[str]:
    """Return what a store needs before anybody can submit, or read results."""
    lines = []
    if not catalogue.by_fingerprint:
        lines.append(
            "there is no survey yet: give one to murmurs serve, or POST it to /admin/surveys"
        )
    if not any(token.scope == "admin" for token in catalogue.tokens):
        lines.append(
            "there is no token for administration yet: make one with "
            f"murmurs token create NAME --scope admin --store {shlex.quote(place)}"
        )
    return lines
