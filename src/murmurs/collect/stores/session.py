"""One transaction of a database, in the words that all databases share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

Row = tuple[Any, ...]


class Session(Protocol):
    """An open transaction. SQL has named parameters, ``:name``, and is the same for all stores."""

    def run(self, sql: str, **parameters: Any) -> list[Row]:
        """Run one statement; return its rows."""
        ...

    def stream(self, sql: str, *, at_once: int = 10, **parameters: Any) -> Iterator[Row]:
        """Run one query; return its rows one by one, holding at most ``at_once`` of them."""
        ...

    def insert_ids(self, survey: int, ids: bytes, day: int) -> set[bytes] | None:
        """Insert ids of a survey, one after another, in order; leave out those that are there.

        Return those that were inserted, or None if that is each of them, which it nearly always is.
        A transaction does so once for each survey.
        """
        ...

    def hold_counts(self) -> None:
        """Wait until no other transaction changes counts; then none does before this one ends."""
        ...

    def take_recent(self, numbers: list[int]) -> int:
        """Delete recent reports by their numbers; return how many of them were still there."""
        ...

    def changed(self, survey: int) -> None:
        """Note that reports to a survey were added or deleted."""
        ...

    def add_recent_ids(self) -> None:
        """Make what format 3 has for recent ids, in a store of format 2."""
        ...
