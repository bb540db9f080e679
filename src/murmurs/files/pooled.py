"""Counts of several files as one, once it is said whose reports they are."""

from __future__ import annotations

from collections.abc import Sequence

from murmurs.counts import Counts, People, pool


class PeopleError(ValueError):
    """Whose the counts are must be said, or cannot be; ``on_command_line`` says it in options."""

    def __init__(self, message: str, on_command_line: str) -> None:
        super().__init__(message)
        self.on_command_line = on_command_line


def pooled(counted: Sequence[Counts], people: People | None) -> Counts:
    """Return the counts of several files as one, if it is said whose they are where it matters."""
    mechanism = counted[0].mechanism
    if len(counted) > 1 and people is None and mechanism.is_longitudinal:
        rule = f"{len(counted)} files of {mechanism} may be of the same people"
        way = "{} if each is of other people, {} if all are of the same people"
        raise PeopleError(
            f"{rule}: say " + way.format('people="other"', 'people="same"'),
            f"{rule}: say " + way.format("--people other", "--people same"),
        )
    if people == "same" and not mechanism.is_longitudinal:
        rule = f"{mechanism} keeps no permanent response, and noise is fresh in every report"
        raise PeopleError(f"{rule}: leave people out", f"{rule}: leave --people out")
    return pool(counted, people=people or "other")
