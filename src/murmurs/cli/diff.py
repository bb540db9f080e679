"""``murmurs diff``: say what the edits of a published survey do to reports and devices."""

from __future__ import annotations

from pathlib import Path

import click

from murmurs.boundary.texts import listed
from murmurs.cli.options import Command, as_json, existing_file
from murmurs.cli.output import Form
from murmurs.files.surveys import read_survey
from murmurs.present.text import table
from murmurs.survey.changes import Comparison, compare_surveys

_RANK = {"breaks": 0, "resets": 1, "harmless": 2}


@click.command("diff", cls=Command)
@click.argument("old", type=existing_file)
@click.argument("new", type=existing_file)
@as_json
@click.pass_context
def command(context: click.Context, old: Path, new: Path, form: Form) -> None:
    """Show what changed from OLD to NEW, and what that breaks.

    An edit is harmless, resets permanent responses of devices, or breaks the decoding of reports
    that were collected. Edits that break need a higher version: otherwise the status is 1.

    \b
    Example:
      murmurs diff coffee.json coffee.toml
    """
    found = compare_surveys(read_survey(old), read_survey(new))
    form.show(json=lambda: _document(found), text=lambda: _told(found))
    if found.refused:
        context.exit(1)


def _told(found: Comparison) -> str:
    if found.old.fingerprint == found.new.fingerprint:
        return f"Nothing differs: both have the fingerprint {found.old.short_fingerprint}."
    rows = [
        [change.kind, change.what, change.follows]
        for change in sorted(found.changes, key=lambda change: _RANK[change.kind])
    ]
    lines = [table(["edit", "of", "what follows"], rows, left=3), ""] if rows else []
    lines.append(
        f"Fingerprints: {found.old.short_fingerprint} (version {found.old.version}) and "
        f"{found.new.short_fingerprint} (version {found.new.version})."
    )
    lines.append(
        "Devices and collectors treat the two as separate collections: no report of one is decoded "
        "with the other."
    )
    names = found.addable
    lines.append(
        f"Counts of both may be added for {listed(names)}."
        if names
        else "Counts of both may not be added for any question."
    )
    if found.refused:
        lines.append(
            f"\nRefused: edits that break the decoding of reports need a version above "
            f"{found.old.version}."
        )
    elif found.old.name == found.new.name and not found.version_raised:
        lines.append(
            f"A collector that has version {found.old.version} takes the new survey only under a "
            f"version above {found.old.version}."
        )
    return "\n".join(lines)


def _document(found: Comparison) -> dict[str, object]:
    return {
        "old": {"fingerprint": found.old.fingerprint, "version": found.old.version},
        "new": {"fingerprint": found.new.fingerprint, "version": found.new.version},
        "changes": [
            {"kind": change.kind, "what": change.what, "follows": change.follows}
            for change in found.changes
        ],
        "addable": list(found.addable),
        "refused": found.refused,
    }
