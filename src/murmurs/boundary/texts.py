"""Checks of names, labels and other texts that people read."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Set
from typing import Any

from murmurs.boundary.checks import shown

BOOLEANS = {True: ("yes", "true"), False: ("no", "false")}
"""The labels, in small letters, that truth values stand for."""


def as_tuple(values: Any, what: str) -> tuple[Any, ...]:
    """Return an iterable as a tuple; refuse a single string, a set or a mapping.

    The values of an array or a column are Python's own, such as str instead of np.str_.
    """
    if hasattr(values, "tolist"):
        values = values.tolist()
    no_order = isinstance(values, Set | Mapping)
    if isinstance(values, str | bytes) or no_order or not isinstance(values, Iterable):
        raise TypeError(f"{what} are a list, not {shown(values)}")
    return tuple(values)


def check_name(name: object, what: str) -> None:
    """Refuse a name that is empty or not printable text."""
    check_text(name, f"the name of {what}")
    if not str(name).strip():
        raise ValueError(f"{what} must have a name")


def check_text(text: object, what: str, allowed: str = "") -> None:
    """Refuse what is not text, and text that does more on a screen than show itself.

    Refused are control characters, line and paragraph separators, halves of surrogate pairs, and
    characters that change the direction of the text after them.
    """
    if not isinstance(text, str):
        raise TypeError(f"{what} must be text, not {shown(text)}")
    if text.isprintable():
        return
    for place, character in enumerate(text):
        control = unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")
        if (control or character in _TURNING) and character not in allowed:
            raise ValueError(
                f"{what} has the control character U+{ord(character):04X} at place {place}: "
                "take it out"
            )


_TURNING = frozenset(map(chr, [*range(0x202A, 0x202F), *range(0x2066, 0x206A)]))


def listed(names: tuple[str, ...]) -> str:
    """Return names as an error lists them: the first eight, and how many more."""
    first = ", ".join(shown(name) for name in names[:8])
    return first + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def meant(name: object, known: Iterable[str]) -> str:
    """Return how an error about an unknown name ends, if it looks like one of the known names.

    >>> meant("Drnk", ["drink", "cups"]), meant("food", ["drink", "cups"])
    (": did you mean 'drink'?", '')
    """
    from difflib import get_close_matches  # only errors need it

    by_small_letters = {other.casefold(): other for other in known}
    near = get_close_matches(str(name)[:100].casefold(), by_small_letters, 1)
    return f": did you mean {shown(by_small_letters[near[0]])}?" if near else ""


def numbered(n: int, what: str) -> str:
    """Return a number of things.

    >>> numbered(1, "report"), numbered(2000, "report"), numbered(2, "person")
    ('1 report', '2,000 reports', '2 people')
    """
    several = "people" if what == "person" else f"{what}s"
    return f"{n:,} {what if n == 1 else several}"
