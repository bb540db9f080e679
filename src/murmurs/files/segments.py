"""Segments: the values of a second column, or of several, each with a file of its own."""

from __future__ import annotations

import datetime
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from murmurs.boundary.checks import shown, utf8
from murmurs.boundary.reading import named
from murmurs.boundary.writing import STANDARD

MOST_SEGMENTS = 200
"""The most segments of a file: each has a file that is open at the same time."""

Segment = tuple[str, ...]
"""The texts of a segment, one for each column; without segments, there is one, ()."""

_LONGEST = 100
_RULE = "a segment is a part of a file's name:"
_UNSAFE = frozenset('/\\:*?"<>|')


class Segments:
    """The files of the segments of one output: ``counts.json`` becomes ``counts-north.json``.

    A segment is part of the name of its file. One that would lead elsewhere, or that some file
    system does not tell apart from an earlier one, is refused.

    >>> north = Segments(Path("out/counts.json")).path("north")
    >>> north == Path("out/counts-north.json")
    True
    """

    def __init__(self, output: Path) -> None:
        if output == STANDARD:
            raise ValueError("segments are written to one file each, not to standard output")
        self._output = output
        self._names: dict[str, tuple[str, ...]] = {}

    def path(self, segment: Any) -> Path:
        """Return the file of a segment."""
        parts, name = segment_parts(segment), segment_name(segment)
        folded = unicodedata.normalize("NFC", name).casefold()
        before = self._names.setdefault(folded, parts)
        if before != parts:
            texts = [", ".join(map(shown, both)) for both in (before, parts)]
            where = "" if "-".join(before) == name else " on some computers"
            raise ValueError(
                f"the segments {' and '.join(f'({t})' if len(parts) > 1 else t for t in texts)} "
                f"would have the same file{where}: rename one of them"
            )
        if len(self._names) > MOST_SEGMENTS:
            raise ValueError(
                f"there are more than {MOST_SEGMENTS} segments: is this the column you meant?"
            )
        output = self._output
        return output.with_name(f"{output.stem}-{name}{output.suffix}")


def segment_name(segment: Any) -> str:
    """Return the text of a segment, if it is safe as a part of the name of a file.

    >>> segment_name("north"), segment_name(7), segment_name(True), segment_name((7, "north"))
    ('north', '7', 'true', '7-north')
    >>> segment_name("../north")
    Traceback (most recent call last):
    ValueError: a segment is a part of a file's name: '../north' has '/' in it
    """
    name = "-".join(segment_parts(segment))
    if len(name.encode()) > _LONGEST:
        raise ValueError(f"{_RULE} {shown(name)} is longer than {_LONGEST} bytes")
    return name


def segment_parts(segment: Any) -> tuple[str, ...]:
    """Return the texts of a segment, one for each column: what tells segments apart.

    >>> segment_parts("north"), segment_parts((7, "north"))
    (('north',), ('7', 'north'))
    """
    return tuple(map(_safe, segment_texts(segment)))


def segment_texts(segment: Any) -> tuple[str, ...]:
    """Return the same for segments that are only shown, which may have any characters.

    >>> segment_texts(("north/south", True))
    ('north/south', 'true')
    """
    return tuple(map(_text, segment if isinstance(segment, tuple) else (segment,)))


def checked_texts(path: Path, segment: Any) -> Segment:
    """Return the texts of a segment of a file, or () for None; an error names the file."""
    try:
        return () if segment is None else segment_texts(segment)
    except TypeError as error:
        raise ValueError(f"{named(path)}: {error}") from None


def _text(segment: Any) -> str:
    if isinstance(segment, bool):
        return str(segment).lower()
    if isinstance(segment, int):
        return str(segment)
    if isinstance(segment, datetime.date) and not isinstance(segment, datetime.datetime):
        return segment.isoformat()
    if not isinstance(segment, str):
        raise TypeError(
            f"a segment must be text, a whole number or a date, not {type(segment).__name__}"
        )
    return segment


def _safe(segment: str) -> str:
    data = utf8(segment)
    if not segment.isprintable() or isinstance(data, int):
        raise ValueError(f"{_RULE} {shown(segment)} has a control character in it")
    bad = next((character for character in segment if character in _UNSAFE), None)
    if bad is not None:
        raise ValueError(f"{_RULE} {shown(segment)} has {bad!r} in it")
    if segment != segment.strip(" .") or not segment:
        raise ValueError(f"{_RULE} {shown(segment)} begins or ends with a blank or a dot")
    return segment


def segments_of(stems: Sequence[str]) -> list[str]:
    """Return the segments in names of files that differ: without what is the same in all of them.

    Numbers that are the same stay, as the year of a date does.

    >>> segments_of(["counts-40-EU", "counts-41-EU"]), segments_of(["week1", "week2"])
    (['40', '41'], ['week1', 'week2'])
    >>> segments_of(["counts-2026-05", "counts-2026-06"])
    ['2026-05', '2026-06']
    """
    several = [stem.split("-") for stem in stems]
    most = min(map(len, several)) - 1
    start = _same([parts[:most] for parts in several])
    end = _same([parts[start:][::-1][: most - start] for parts in several])
    found = ["-".join(parts[start : len(parts) - end]) for parts in several]
    return found if all(found) else list(stems)


def _same(several: Sequence[Sequence[str]]) -> int:
    """Return how many first parts all have in common, without numbers at the end of these."""
    found = 0
    for parts in zip(*several, strict=False):
        if len(set(parts)) > 1:
            break
        found += 1
    while found and several[0][found - 1].isdigit():
        found -= 1
    return found
