"""Files of candidates: one string per line."""

from __future__ import annotations

from pathlib import Path

from murmurs.boundary.checks import shown
from murmurs.boundary.reading import lines, named
from murmurs.files.headers import AnyPath
from murmurs.hashing import strings


def read_candidates(path: AnyPath) -> tuple[tuple[str, ...], list[str]]:
    """Return the candidates of a file, one per line, and notes on lines that may surprise.

    These are lines that were normalised, and lines that begin or end with a blank.

    Lines that are empty, not UTF-8 or repeated are refused; no line is skipped.
    """
    file = Path(path)
    texts = [text for _, text in lines(file)]
    if not texts:
        raise ValueError(f"{named(file)} has no strings: it should have one per line")
    try:
        forms = strings.candidates(texts)
    except ValueError as error:
        raise ValueError(f"{named(file)}: {error}") from None
    notes = [
        f"line {number}: {shown(text)} is used in its normal form (NFC)"
        for number, (text, form) in enumerate(zip(texts, forms, strict=True), 1)
        if text != form
    ]
    notes += [
        f"line {number}: {shown(form)} begins or ends with a blank, which is part of the string"
        for number, form in enumerate(forms, 1)
        if form != form.strip()
    ]
    return forms, notes
