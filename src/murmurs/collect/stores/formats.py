"""The format of a store: the version of its tables, and how an older one becomes the present one.

`FORMAT` grows by one with every change of the tables. ``MIGRATIONS[n]`` has the statements that
turn format n into n + 1; they run in the transaction that opens the store, all or none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from murmurs.boundary.checks import shown
from murmurs.collect.store import StoreError
from murmurs.collect.stores.session import Session

FORMAT = 1
"""The format that this release writes; it reads all formats up to this one."""

MIGRATIONS: Mapping[int, Sequence[str]] = {}

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "surveys": ("number", "fingerprint", "document", "state", "first_day"),
    "series": ("number", "survey", "question", "segment"),
    "ids": ("survey", "id", "day"),
    "recent": ("number", "series", "day", "n", "reports"),
    "counts": ("series", "day", "n", "cells"),
    "kept": ("number", "series", "day", "n", "reports"),
    "tokens": ("name", "digest", "scope", "surveys"),
}
"""The tables with what was collected, and the columns that all stores have."""


def check_format(found: object, place: str, *, migrating: bool) -> int:
    """Return the format that a store states; refuse a later one, and what is none."""
    try:
        written = int(str(found))
    except ValueError:
        written = 0
    if written > FORMAT:
        raise StoreError(
            f"{place} has format {written}, this release reads up to {FORMAT}: upgrade murmurs"
        )
    if written < 1:
        raise StoreError(f"{place} is not a store: its format is {shown(found)}")
    if written < FORMAT and not migrating:
        raise StoreError(
            f"{place} has format {written}, and this release has format {FORMAT}: open it once "
            "with `murmurs serve`, which converts it"
        )
    return written


def migrate(session: Session, written: int) -> None:
    """Turn the tables of an older format into those of the present one."""
    for step in range(written, FORMAT):
        for statement in MIGRATIONS[step]:
            session.run(statement)
    session.run("update meta set value = :value where key = 'format'", value=str(FORMAT))
