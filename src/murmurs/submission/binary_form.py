"""Submissions in bytes: the layout of a header, and those that differ in ids and reports only."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from murmurs.submission.submission import ID_BYTES, NO_SUBMISSION, BadSubmissionError

MAGIC = b"MRMS"
FORMAT = 1

HEADER = struct.Struct("<4sB32s16sHHI")
"""Magic, format, fingerprint, id, segment (0 for none, else its number + 1), columns, people."""

ID = slice(37, 37 + ID_BYTES)
"""Where in a header the id is."""

ENDS_IN_REPORTS = f"{NO_SUBMISSION}: it ends in its reports"

COLUMN = struct.Struct("<H")
"""The number of a question; there is one for each column, after the header."""


def fingerprint_at(data: bytes, place: int) -> str:
    """Return the fingerprint that the header at a place names."""
    if len(data) - place < HEADER.size:
        raise BadSubmissionError("form", f"{NO_SUBMISSION}: it ends in its header")
    magic, version, digest, *_ = HEADER.unpack_from(data, place)
    if magic != MAGIC or version != FORMAT:
        raise BadSubmissionError(
            "form", f"{NO_SUBMISSION}: it does not begin with {MAGIC!r} and {FORMAT}"
        )
    return str(digest.hex())


@dataclass(slots=True)
class Kind:
    """Submissions that differ in ids and reports only, and where in some bytes they are."""

    before: bytes
    after: bytes
    """What each has before and after its id, up to its reports."""
    length: int
    spans: dict[str, slice]
    """Where in each the reports to the questions are."""
    segment: str | None
    numbers: list[int] = field(default_factory=list)
    places: list[int] = field(default_factory=list)

    def cutter(self, data: bytes) -> Callable[[slice], bytes]:
        """Return what cuts the same part out of all of them, one after another."""
        places, length = self.places, self.length
        first, count = places[0], len(places)
        if count == 1:
            return lambda span: data[first + span.start : first + span.stop]
        if places[-1] - first == (count - 1) * length:  # they follow each other
            rows = np.frombuffer(data, np.uint8, count * length, first).reshape(count, length)
            return lambda span: rows[:, span].tobytes()
        return lambda span: b"".join([data[p + span.start : p + span.stop] for p in places])


def key_at(data: bytes, place: int) -> bytes:
    """Return what submissions of one kind have in common: all but ids and reports."""
    columns = int.from_bytes(data[place + 55 : place + 57], "little")
    end = place + HEADER.size + columns * COLUMN.size
    return data[place : place + ID.start] + data[place + ID.stop : end]
