"""A progress bar on a terminal, for commands that take their time."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

import click

from murmurs.studies.running import Progress


@contextlib.contextmanager
def progress_bar(name: str) -> Iterator[Progress | None]:
    """Return what shows on a terminal how many steps are done of how many; elsewhere None.

    Work that goes on with other steps gets a new bar.
    """
    if not sys.stderr.isatty():
        yield None
        return
    shown: list[Any] = []

    def finish() -> None:
        while shown:
            shown.pop().render_finish()

    def progress(done: int, total: int) -> None:
        if not shown or shown[-1].length != total or shown[-1].pos > done:
            finish()
            shown.append(click.progressbar(length=total, label=name, file=sys.stderr))
            shown[-1].render_progress()
        shown[-1].update(done - shown[-1].pos)

    try:
        yield progress
    finally:
        finish()
