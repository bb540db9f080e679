"""One transaction of a database, in the words that all databases share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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

    def insert_ids(self, survey: int, ids: Iterable[bytes], day: int) -> set[bytes]:
        """Insert ids of a survey that are not there yet; return those."""
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
