"""Printed text compared as a reader would: words exactly, whole numbers exactly, floats nearly.

Processors differ in the last digits of logarithms, sums and products of matrices. What a page shows
may not depend on them, so a number with a point or an exponent may differ by a part in 10**9 of
itself. Everything else is compared letter by letter.
"""

from __future__ import annotations

import doctest
import math
import re
from collections.abc import Iterator

TOLERANCE = 1e-9
"""Relative difference of two floats that are taken for the same."""

_FLOAT = re.compile(
    r"(?<![\w.])[-+]?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][-+]?\d+)?(?!\w|\.\d|\.\.\.)"
)
"""A number with a point or an exponent, and not the beginning of something else."""

ANYTHING = "..."

Piece = list[str | float]
"""What must be found in one go: characters, and floats among them."""


def same(wanted: str, got: str, *, ellipsis: bool = False, spaces: bool = False) -> bool:
    """Say whether two printed texts are the same but for the last digits of floats.

    With ``ellipsis`` three dots stand for any text; with ``spaces`` all white space is alike, and
    there may be more or less of it beside a float, as NumPy pads its arrays to one width.
    """
    if spaces:
        wanted, got = " ".join(wanted.split()), " ".join(got.split())
    texts = wanted.split(ANYTHING) if ellipsis else [wanted]
    # Digits before three dots are the beginning of a number: they are compared as letters.
    follow = [ANYTHING] * (len(texts) - 1) + [""]
    pieces = [_piece(text, after, spaces) for text, after in zip(texts, follow, strict=True)]
    ends = _ends(pieces[0], got, 0, spaces)
    if len(pieces) == 1:
        return ends == len(got)
    if ends is None:
        return False
    for piece in pieces[1:-1]:
        # The first place where it is found leaves most of the text to the pieces that follow.
        ends = next(_places(piece, got, ends, spaces), None)
        if ends is None:
            return False
    return len(got) in _places(pieces[-1], got, ends, spaces)


def _piece(text: str, after: str, spaces: bool) -> Piece:
    piece: Piece = []
    at = 0
    for found in _FLOAT.finditer(text + after):
        piece += (_beside(text[at : found.start()], bool(piece), True, spaces), float(found[0]))
        at = found.end()
    return [*piece, _beside(text[at:], bool(piece), False, spaces)]


def _beside(text: str, after_float: bool, before_float: bool, spaces: bool) -> str:
    """Drop the space beside floats, where it does not matter."""
    text = text.lstrip() if spaces and after_float else text
    return text.rstrip() if spaces and before_float else text


def _places(piece: Piece, got: str, start: int, spaces: bool) -> Iterator[int]:
    """Return where the piece ends, for all places from ``start`` on where it is found."""
    found = (_ends(piece, got, at, spaces) for at in range(start, len(got) + 1))
    return (end for end in found if end is not None)


def _ends(piece: Piece, got: str, at: int, spaces: bool) -> int | None:
    """Return where the piece ends if it stands at a place, else None."""
    for part in piece:
        if isinstance(part, str):
            if not got.startswith(part, at):
                return None
            at += len(part)
            continue
        at = _after_spaces(got, at) if spaces else at
        found = _FLOAT.match(got, at)
        if not found or not math.isclose(float(found[0]), part, rel_tol=TOLERANCE):
            return None
        at = _after_spaces(got, found.end()) if spaces else found.end()
    return at


def _after_spaces(text: str, at: int) -> int:
    while text.startswith(" ", at):
        at += 1
    return at


exactly = doctest.OutputChecker.check_output
"""Python's own comparison of an example with its output."""


def check_output(self: doctest.OutputChecker, want: str, got: str, optionflags: int) -> bool:
    """Say whether an example printed what it shows, but for the last digits of floats."""
    if exactly(self, want, got, optionflags):
        return True
    if not optionflags & doctest.DONT_ACCEPT_BLANKLINE:
        want = re.sub(r"(?m)^<BLANKLINE>\s*?$", "", want)
        got = re.sub(r"(?m)^[^\S\n]+$", "", got)
    return same(
        want,
        got,
        ellipsis=bool(optionflags & doctest.ELLIPSIS),
        spaces=bool(optionflags & doctest.NORMALIZE_WHITESPACE),
    )
