"""Values of a column, and how many people hold each: the data of a study."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Unpack

from murmurs.boundary.checks import index
from murmurs.boundary.frames import MISSING, is_missing
from murmurs.boundary.reading import is_digits, named
from murmurs.files.columns import Chunk
from murmurs.files.headers import AnyPath
from murmurs.files.histograms import MOST_PEOPLE
from murmurs.files.selection import Reading, columns_of

MOST_ANSWERS = 5000
"""Answers that are compared without being asked for; with more, Subset takes minutes."""

_MOST_DISTINCT = 10**6
"""Values that are counted, so that a column of names does not fill the memory."""

_FEW = 100
"""Values up to which nothing is said about how few people hold each."""

_LIKE_MISSING = frozenset({"na", "n/a", "nan", "null", "none", "missing", "-", ".", "?"})
"""Values of a text, in small letters, that often stand for no answer."""


def count_values(
    path: AnyPath,
    column: str | None = None,
    *,
    counts: str | None = None,
    drop_missing: bool = False,
    top: int | None = None,
    note: Callable[[str], object] | None = None,
    **reading: Unpack[Reading],
) -> dict[str | None, int]:
    r"""Return how many people hold each value of a column, the commonest first.

    ``counts`` is a second column, with the number of people of each row. ``top`` is how many values
    are kept; all others are one answer, under None. ``note`` is called with what may surprise.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "people.csv")
    ...     done = path.write_text("name,drink\nAnn,tea\nBob,mate\nCy,tea\n")
    ...     count_values(path, "drink")
    {'tea': 2, 'mate': 1}
    """
    path, columns = Path(path), columns_of(column, (), reading)
    if counts is not None:
        if counts == columns.column:
            raise ValueError("`counts=` must be another column than `column=`")
        columns = columns._replace(by=(counts,))
    counted: Counter[str] = Counter()
    for chunk in columns.chunks(path):
        values = chunk.listed()
        missing = [position for position, value in enumerate(values) if is_missing(value)]
        if missing and not drop_missing:
            chunk.refuse(
                path,
                missing[0],
                "the value is missing: leave such people out with `drop_missing=True`",
            )
        numbers = [1] * len(values) if counts is None else _numbers(path, chunk)
        for value, number in zip(values, numbers, strict=True):
            if not is_missing(value):
                counted[str(value)] += number
        if len(counted) > _MOST_DISTINCT:
            raise ValueError(
                f"{named(path)}: there are more than {_MOST_DISTINCT:,} different values, too many "
                "for a study: take another column, or join values"
            )
    if counts is None and columns.format is None and columns.kind(path) == "text":
        _refuse_histogram(path, counted)
    if counted.total() > MOST_PEOPLE:
        raise ValueError(f"{named(path)}: there are more than 2**62 people, too many for a study")
    notes = list(_what_looks_missing(counted))
    people: dict[str | None, int] = {
        value: number for value, number in counted.most_common() if number
    }
    if len(people) < 2:
        found = "one value only" if people else "no value"
        raise ValueError(f"{named(path)}: there is {found}, and a study needs at least two")
    notes += _what_looks_odd(path, people, top, alone=counts is None)
    if note is not None:
        for text in notes:
            note(text)
    if top is None or top >= len(people):
        return people
    kept = dict(list(people.items())[:top])
    return {**kept, None: counted.total() - sum(kept.values())}


def _numbers(path: Path, chunk: Chunk) -> list[int]:
    """Return how many people each row stands for."""
    assert chunk.segments is not None
    codes, values = chunk.segments
    people = [int(v) if isinstance(v, str) and is_digits(v) else index(v) for v in values]
    found: list[int] = []
    for position, code in enumerate(codes.tolist()):
        number = None if code == MISSING else people[code]
        if number is None or not 0 <= number <= MOST_PEOPLE:
            what = "missing, or not a whole number from 0 on"
            chunk.refuse(path, position, f"the number of people under `counts=` is {what}")
        found.append(number)
    return found


def _refuse_histogram(path: Path, counted: Counter[str]) -> None:
    """Refuse lines that all differ and end with a number: so a histogram looks as a text."""
    for delimiter in (",", ";", "\t"):
        ends = (value.rpartition(delimiter)[1:] for value in counted)
        if len(counted) == counted.total() > 1 and all(d and is_digits(n.strip()) for d, n in ends):
            given = '`delimiter=";"` ' if delimiter == ";" else ""
            kind = "tsv" if delimiter == "\t" else "csv"
            raise ValueError(
                f"{named(path)}: every line is another value and a number. If the number says how "
                f'many people hold the value, add `format="{kind}"` {given}`header=False` '
                '`column="1"` `counts="2"`; if the line is the value, add `format="text"`'
            )


def _what_looks_missing(counted: Counter[str]) -> Iterator[str]:
    """Return notes on values that may stand for no answer: in a text they count as answers."""
    for value in sorted(value for value in counted if value.casefold() in _LIKE_MISSING):
        n = counted[value]
        yield (
            f"{'1 person holds' if n == 1 else f'{n:,} people hold'} the value {value!r}, "
            "which counts as an answer. If it stands for none, leave these cells empty, "
            "and add `drop_missing=True`."
        )


def _what_looks_odd(
    path: Path, people: Mapping[str | None, int], top: int | None, *, alone: bool
) -> Iterator[str]:
    """Return notes on values that nearly all differ.

    Very many values are refused if ``top`` does not say how many of them are wanted. ``alone`` says
    that each row is one person.
    """
    many, everybody = len(people), sum(people.values())
    if top is None and many > MOST_ANSWERS:
        raise ValueError(
            f"{named(path)}: there are {many:,} different values among {everybody:,} people, and "
            f"no more than {MOST_ANSWERS:,} are compared by default: merge the rare ones with "
            f"`top=100`, or compare all of them with `top={many}` (slow)"
        )
    if alone and many == everybody:
        yield (
            f"every one of {many:,} people holds another value. If each row is a value, and "
            "another column says how many people hold it, name that column with `counts=`."
        )
    elif 2 * many > everybody and many > _FEW:
        yield (
            f"{everybody:,} people hold {many:,} different values, most of them alone. If "
            "these are names or numbers of people, their shares tell nothing."
        )
