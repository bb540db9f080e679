"""Submissions in bytes: the layout of a header, and how many of them follow each other alike."""

from __future__ import annotations

import struct

from murmurs.submission.submission import ID_BYTES, NO_SUBMISSION, BadSubmissionError

MAGIC = b"MRMS"
FORMAT = 1

HEADER = struct.Struct("<4sB32s16sHHI")
"""Magic, format, fingerprint, id, segment (0 for none, else its number + 1), columns, people."""

ID = slice(37, 37 + ID_BYTES)
"""Where in a header the id is."""

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


def alike(data: bytes, place: int, head: int, length: int, most: int | None) -> int:
    """Return how many submissions from a place on differ in ids and reports only; at most ``most``.

    The first has ``length`` bytes, of which ``head`` say what it consists of.
    """
    before = data[place : place + ID.start]
    after = data[place + ID.stop : place + head]
    count, at, last = 1, place + length, len(data) - length
    while (
        count != most
        and at <= last
        and data.startswith(before, at)
        and data.startswith(after, at + ID.stop)
    ):
        count, at = count + 1, at + length
    return count
