"""A bar on the terminal while a search runs; nothing where standard error is no terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click


@contextmanager
def progress_bar(label: str) -> Iterator[Callable[[int, int], None] | None]:
    """Return what shows the number of steps done and of all steps, or None without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    with click.progressbar(length=1, label=label, file=sys.stderr) as bar:

        def show(done: int, steps: int) -> None:
            bar.length = steps
            bar.update(done - bar.pos)

        yield show
