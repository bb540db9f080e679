"""The collector: takes submissions over HTTP, keeps their counts, and answers with estimates.

``murmurs serve`` runs it. What it keeps can be read and moved in Python too.
"""

from __future__ import annotations

from pathlib import Path

from murmurs.collect.stores import naming_the_extra, open_store
from murmurs.collect.stores.store import (
    DamagedError,
    Part,
    Store,
    StoreError,
    StoreFullError,
    UnknownSurveyError,
)

__all__ = [
    "DamagedError",
    "Part",
    "Store",
    "StoreError",
    "StoreFullError",
    "UnknownSurveyError",
    "open_store",
    "restore",
]


def restore(backup: Path, place: str | Path) -> Store:
    """Make a new store from a backup, and open it; what is there already is not touched."""
    with naming_the_extra("server"):
        from murmurs.collect.stores.restore import restore as restored
    return restored(backup, place)
