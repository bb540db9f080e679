"""Rehearsal: a collection whose date a file sets, so that weeks pass in minutes.

A rehearsal is for one computer, and its store is marked: what was collected on made-up days never
mixes with what people sent.
"""

from __future__ import annotations

import contextlib
import datetime
from pathlib import Path

from murmurs.boundary.checks import shown

MARK = "rehearsal"
"""The file in the directory of a store that says so."""

_NOON = 12 * 3600
_HERE = ("127.0.0.1", "::1", "localhost")


class FileClock:
    """Tells noon in UTC of the date in a file, such as 2027-01-04, in seconds since 1970.

    The file is read every time. While somebody writes it, and it has no date, the last one stays.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._date: datetime.date | None = None
        self()

    def __call__(self) -> float:
        """Return the time."""
        with contextlib.suppress(OSError, ValueError):
            text = self._path.read_text(encoding="utf-8").strip()
            self._date = datetime.date.fromisoformat(text)
        if self._date is None:
            raise ValueError(
                f"--clock {self._path} is a file with one date, such as 2027-01-04: write one there"
            )
        return (self._date - datetime.date(1970, 1, 1)).days * 86400.0 + _NOON


def check_rehearsal(place: str, host: str, *, rehearsed: bool) -> None:
    """Refuse a rehearsal that others could reach or that would mix with a real collection."""
    marked = Path(place, MARK)
    if "://" not in place and marked.exists() and not rehearsed:
        raise ValueError(
            f"{place} is the store of a rehearsal, whose days are made up: collect into another "
            "directory, or go on rehearsing with --clock"
        )
    if not rehearsed:
        return
    if host not in _HERE:
        raise ValueError(
            f"a rehearsal is for this computer alone, not for {shown(host)}: leave --host out, or "
            "--clock if people answer"
        )
    if "://" in place:
        raise ValueError("a rehearsal is kept in a directory: give --store a new one")
    if Path(place).exists() and any(Path(place).iterdir()) and not marked.exists():
        raise ValueError(
            f"{place} is not the store of a rehearsal: made-up days would mix with what was "
            "collected there; give --store a new directory"
        )


def mark(place: str) -> None:
    """Say in a store that it is one of a rehearsal."""
    Path(place).mkdir(mode=0o700, parents=True, exist_ok=True)
    Path(place, MARK).write_text("The days in this store were made up with --clock.\n")
