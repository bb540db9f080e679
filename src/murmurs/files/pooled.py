"""Combine the counts of several files, given whose reports they are."""

from __future__ import annotations

from collections.abc import Sequence

from murmurs.counts import Counts, People, pool


class PeopleError(ValueError):
    """``people`` is missing or does not apply; ``on_command_line`` is the message with options."""

    def __init__(self, message: str, on_command_line: str) -> None:
        super().__init__(message)
        self.on_command_line = on_command_line


def pooled(counted: Sequence[Counts], people: People | None) -> Counts:
    """Combine the counts of several files; ``people`` is required if it matters."""
    mechanism = counted[0].mechanism
    if len(counted) > 1 and people is None and mechanism.is_longitudinal:
        rule = f"{len(counted)} files of {mechanism} may come from the same people"
        way = "{} if each comes from different people, {} if all come from the same people"
        raise PeopleError(
            f"{rule}: give " + way.format('people="different"', 'people="same"'),
            f"{rule}: give " + way.format("--people different", "--people same"),
        )
    if people == "same" and not mechanism.is_longitudinal:
        rule = f"{mechanism} keeps no permanent response, and the noise is fresh in every report"
        raise PeopleError(f"{rule}: leave people out", f"{rule}: leave --people out")
    return pool(counted, people=people or "different")
