"""``murmurs store``: back up, restore, export, tidy and check what a collector has collected."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from murmurs.boundary.texts import numbered
from murmurs.cli.options import Command, as_json
from murmurs.cli.output import Form
from murmurs.cli.suggestions import Group
from murmurs.cli.token import opened, store_option
from murmurs.collect.stores import naming_the_extra, without_password

if TYPE_CHECKING:
    from murmurs.collect.stores.store import Store

new_path = click.Path(path_type=Path)


@click.group("store", cls=Group)
def command() -> None:
    """Back up, restore, export or check a collection.

    All but `restore` work while the collector runs.

    \b
    Example:
      murmurs store check --store collected
    """


@command.command("check", cls=Command)
@store_option
@as_json
def check(place: str, form: Form) -> None:
    """Read everything in a store, find damage, and say what is there.

    \b
    Example:
      murmurs store check --store collected
    """
    with opened(place) as store:
        store.verify()
        surveys: list[dict[str, Any]] = [
            {
                "survey": collection.survey.name,
                "version": collection.survey.version,
                "fingerprint": collection.survey.fingerprint,
                "state": collection.state,
                "reports": {
                    asked.name: _reports(store, collection.survey.fingerprint, asked.name)
                    for asked in collection.survey.reported
                },
            }
            for collection in store.collections()
        ]
        size = store.size()
    lines = [f"{without_password(place)}: no damage found, {size:,} bytes"]
    for survey in surveys:
        lines.append(f"{survey['survey']} version {survey['version']}, {survey['state']}")
        lines += [f"  {name}: {numbered(n, 'report')}" for name, n in survey["reports"].items()]
    form.show(
        json=lambda: {"damaged": False, "bytes": size, "surveys": surveys},
        text=lambda: "\n".join(lines),
    )


def _reports(store: Store, fingerprint: str, question: str) -> int:
    return sum(store.days(fingerprint, question).values())


@command.command("backup", cls=Command)
@click.argument("file", type=new_path)
@store_option
@as_json
def backup(file: Path, place: str, form: Form) -> None:
    """Write a complete copy of a store to a new FILE.

    \b
    Example:
      murmurs store backup monday.sqlite --store collected
    """
    with opened(place) as store:
        store.backup(file)
    form.show(
        json=lambda: {"bytes": file.stat().st_size},
        text=lambda: f"backup of {without_password(place)} written to {file}",
    )


@command.command("restore", cls=Command)
@click.argument("file", type=new_path)
@store_option
@as_json
def restore(file: Path, place: str, form: Form) -> None:
    """Make a new store from the backup FILE. It is a new directory, or an empty database.

    A backup of either kind of store can be restored to the other kind.

    \b
    Example:
      murmurs store restore monday.sqlite --store restored
    """
    from murmurs.collect.stores.store import StoreError

    with naming_the_extra("server"):
        from murmurs.collect.stores.restore import restore as restored

    try:
        with contextlib.closing(restored(file, place)) as store:
            document = {"surveys": len(store.collections()), "bytes": store.size()}
    except StoreError as error:
        raise ValueError(str(error)) from None
    what = f"{file} restored to {without_password(place)}; the tokens are those of the backup"
    form.show(json=lambda: document, text=lambda: what)


@command.command("export", cls=Command)
@click.argument("folder", type=new_path)
@store_option
@as_json
def export(folder: Path, place: str, form: Form) -> None:
    """Export counts and kept reports as Parquet. The files go into a new FOLDER.

    \b
    Example:
      murmurs store export parquet --store collected
    """
    from murmurs.collect.stores.export import export as exported

    with opened(place) as store:
        found = exported(store, folder)
    lines = [f"exported {without_password(place)} to {folder}"]
    lines += [f"  {name}: {numbered(n, 'report')}" for name, n in found.items()]
    form.show(json=lambda: {"reports": found}, text=lambda: "\n".join(lines))


@command.command("vacuum", cls=Command)
@store_option
@as_json
def vacuum(place: str, form: Form) -> None:
    """Add recent reports up, and free unused room on the disk.

    \b
    Example:
      murmurs store vacuum --store collected
    """
    with opened(place) as store:
        before = store.size()
        store.fold()
        store.vacuum()
        after = store.size()
    what = f"{without_password(place)} takes {after:,} bytes, and took {before:,} before"
    form.show(json=lambda: {"bytes": after, "before": before}, text=lambda: what)
