"""How wide text may be, and how lines and cells that are wider are folded."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

WIDTH = 80
"""The columns that all text fits, in any terminal and in a file."""

_TOGETHER = re.compile(r"(?<=\bp) (?=[=<])|(?<=[=<]) (?=[\d.])|(?<=\d) (?=%)|(?<=[*▲▼]) (?=\S)")
"""Blanks at which no line ends: "p = 0.03" and "95 %" stay together."""

BETWEEN = "  "
"""What stands between two columns of a table."""

_NARROWEST, _MOST_LINES = 16, 4
"""The columns that a text in a table keeps at least, and the lines that it takes at most."""

_BARS = "▏▎▍▌▋▊▉█"
_KEPT = "\N{NO-BREAK SPACE}"


def width(text: str) -> int:
    """Return how many columns a text takes in a terminal; wide characters take two."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF")
        for c in text
    )


def fold(text: str, size: int = WIDTH) -> str:
    r"""Return a text whose lines are at most so wide, broken at blanks; long words stay whole.

    Lines that fit are left as they are. The parts of others are indented like their beginning.

    >>> print(fold("  Overall test that nothing changed: p = 0.04.", 40))
      Overall test that nothing changed:
      p = 0.04.
    """
    return "\n".join(part for line in text.split("\n") for part in (_parts(line, size) or [line]))


def _parts(line: str, size: int) -> list[str]:
    """Return the parts of a line that is too wide; none of one that fits."""
    if width(line) <= size:
        return []
    indent = " " * (len(line) - len(line.lstrip(" ")))
    return [indent + part for part in split(line.strip(" "), size - len(indent), whole=True)]


def split(text: str, size: int, *, whole: bool = False) -> list[str]:
    """Return a text on lines of at most this width; ``whole`` words are never cut.

    >>> split("I would rather come by car", 14)
    ['I would rather', 'come by car']
    >>> split("Donaudampfschiff", 10)
    ['Donaudampf', 'schiff']
    """
    lines: list[str] = []
    for word in _TOGETHER.sub(_KEPT, text).split(" "):
        word = word.replace(_KEPT, " ")
        if lines and width(lines[-1]) + 1 + width(word) <= size:
            lines[-1] += f" {word}"
            continue
        while not whole and width(word) > size:
            end = _fitting(word, size)
            lines.append(word[:end])
            word = word[end:]
        lines.append(word)
    return lines


def _fitting(word: str, size: int) -> int:
    """Return how many characters of a word fit, at least one."""
    taken = 0
    for place, character in enumerate(word):
        taken += width(character)
        if taken > size:
            return max(place, 1)
    return len(word)


def shortened(text: str, most: int) -> str:
    """Return a text on one line of at most this width, with three dots where it is cut.

    >>> shortened("Donaudampfschiff", 8)
    'Donauda…'
    """
    return text if width(text) <= most else text[: _fitting(text, most - 1)].rstrip() + "…"


def cut(lines: list[str], most: int) -> list[str]:
    """Return the first lines, with three dots where more are left out.

    >>> cut(["one", "two", "three"], 2)
    ['one', 'two…']
    """
    return lines if len(lines) <= most else [*lines[: most - 1], lines[most - 1] + "…"]


def laid_out(header: list[str], body: list[list[list[str]]], left: int, most: int) -> str:
    """Return the lines of all cells under a header, at most so wide; see `text.table`."""
    head = [[cell] for cell in header]
    widths = [max(map(width, _all(lines))) for lines in zip(head, *body, strict=True)]
    if taken(widths) > most:
        for i in range(left, len(head)):
            longest = max(map(width, header[i].split(" ")))
            widths[i] = max([longest, *(width(line) for row in body for line in row[i])])
            head[i] = split(header[i], widths[i])
        _narrow(widths, left, most)
        for i in range(left):
            head[i] = split(header[i], widths[i])
            for row in body:
                row[i] = cut([p for line in row[i] for p in split(line, widths[i])], _MOST_LINES)
            widths[i] = max(map(width, _all([head[i], *(row[i] for row in body)])))
    return "\n\n".join(
        _block(head, body, widths, columns, left) for columns in _blocks(widths, left, most)
    )


def _all(cells: Iterable[Sequence[str]]) -> list[str]:
    return [line for lines in cells for line in lines]


def taken(widths: Sequence[int]) -> int:
    """Return how many columns a table takes whose columns have these widths."""
    return sum(widths) + len(BETWEEN) * (len(widths) - 1)


def _narrow(widths: list[int], left: int, most: int) -> None:
    """Take columns from the widest texts until the table fits, or they are narrow enough."""
    least = max(_NARROWEST, most // 3 // left)
    spare = taken(widths) - most
    if spare > sum(max(w - _NARROWEST, 0) for w in widths[:left]):  # it will be several tables
        widths[:left] = [min(w, least) for w in widths[:left]]
        return
    for _ in range(spare):
        widths[max(range(left), key=lambda i: widths[i])] -= 1


def _blocks(widths: Sequence[int], left: int, most: int) -> list[list[int]]:
    """Return which columns stand side by side; the first ``left`` do so every time."""
    texts = list(range(left))
    found = [list(texts)]
    for column in range(left, len(widths)):
        wider = [widths[i] for i in [*found[-1], column]]
        if len(found[-1]) > left and taken(wider) > most:
            found.append(list(texts))
        found[-1].append(column)
    numbers = range(left, len(widths))
    if not numbers:
        return found
    each = -(-len(numbers) // len(found))
    even = [[*texts, *numbers[start : start + each]] for start in range(0, len(numbers), each)]
    fits = all(taken([widths[i] for i in own]) <= most for own in even)
    return even if fits else found


def _block(
    head: list[list[str]],
    body: list[list[list[str]]],
    widths: Sequence[int],
    columns: Sequence[int],
    left: int,
) -> str:
    """Return some columns of a table, with their headings at the rule."""
    high = max(len(head[i]) for i in columns)
    top = [[""] * (high - len(cell)) + cell for cell in head]
    rule = [["─" * w] for w in widths]
    lines = []
    for row in (top, rule, *body):
        for number in range(max(len(row[i]) for i in columns)):
            cells = [row[i][number] if number < len(row[i]) else "" for i in columns]
            padded = [
                _pad(cell, widths[i], to_left=i < left or any(mark in cell for mark in _BARS))
                for cell, i in zip(cells, columns, strict=True)
            ]
            lines.append(BETWEEN.join(padded).rstrip())
    return "\n".join(lines)


def _pad(cell: str, size: int, *, to_left: bool) -> str:
    space = " " * (size - width(cell))
    return cell + space if to_left else space + cell
