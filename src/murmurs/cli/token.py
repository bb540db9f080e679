"""``murmurs token``: make, list and revoke the tokens of a collector."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from murmurs.cli.options import Command, as_json
from murmurs.cli.output import Form, note
from murmurs.cli.suggestions import Choice, Group

if TYPE_CHECKING:
    from murmurs.collect.stores.store import Store
    from murmurs.collect.tokens import Scope

store_option = click.option(
    "--store",
    "place",
    required=True,
    metavar="DIR|URL",
    help="The store of the collector: a directory, or postgresql://...",
)


@contextlib.contextmanager
def opened(place: str) -> Iterator[Store]:
    """Open a store beside its collector, which may be running."""
    from murmurs.collect.stores import open_store
    from murmurs.collect.stores.store import StoreError

    try:
        with contextlib.closing(open_store(place, collecting=False)) as store:
            yield store
    except StoreError as error:
        raise ValueError(str(error)) from None


@click.group("token", cls=Group)
def command() -> None:
    """Manage access tokens.

    A running collector knows about changes within seconds.

    \b
    Example:
      murmurs token create dashboard --scope read --store collected
    """


@command.command("create", cls=Command)
@click.argument("name")
@click.option(
    "--scope",
    type=Choice(["read", "metrics", "admin", "submit"]),
    required=True,
    help="What it allows: to read results, to read metrics, to submit, or to administer, which "
    "includes the others.",
)
@click.option(
    "--survey",
    "surveys",
    multiple=True,
    metavar="NAME",
    help="Only for this survey; may be given several times. By default for all.",
)
@store_option
@as_json
def create(name: str, scope: Scope, surveys: tuple[str, ...], place: str, form: Form) -> None:
    """Make a token called NAME, and print it. It is not kept, and cannot be shown again.

    \b
    Example:
      murmurs token create dashboard --scope read --store collected
    """
    with opened(place) as store:
        from murmurs.collect.tokens import new_token, warnings_of

        text, token = new_token(name, scope, surveys)
        store.add_token(token)
        warnings = warnings_of(surveys, [c.survey.name for c in store.collections()])
    for warning in warnings:
        note(warning)
    document = {"name": name, "scope": scope, "surveys": list(surveys), "token": text}
    form.show(json=lambda: document, text=lambda: text)


@command.command("list", cls=Command)
@store_option
@as_json
def list_tokens(place: str, form: Form) -> None:
    """List names and scopes of all tokens. The tokens themselves are not kept.

    \b
    Example:
      murmurs token list --store collected
    """
    with opened(place) as store:
        tokens = store.tokens()
    rows = [{"name": t.name, "scope": t.scope, "surveys": list(t.surveys)} for t in tokens]
    lines = [f"{t.name}: {t.scope}, {', '.join(t.surveys) or 'all surveys'}" for t in tokens]
    form.show(json=lambda: {"tokens": rows}, text=lambda: "\n".join(lines) or None)


@command.command("revoke", cls=Command)
@click.argument("name")
@store_option
@as_json
def revoke(name: str, place: str, form: Form) -> None:
    """Revoke the token called NAME.

    \b
    Example:
      murmurs token revoke dashboard --store collected
    """
    with opened(place) as store:
        if name not in {token.name for token in store.tokens()}:
            raise ValueError(f"there is no token {name!r}: see `murmurs token list`")
        store.revoke(name)
    form.show(json=lambda: {"revoked": name}, text=lambda: f"revoked {name}")
