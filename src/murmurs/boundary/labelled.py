"""Put labelled numbers, such as ``value_counts()``, into the order of their labels.

``value_counts()`` of pandas and polars lists the most common answer first, a `collections.Counter`
the first one seen. Read by position, such numbers would silently go to the wrong answers.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from murmurs.boundary.checks import index, shown
from murmurs.boundary.frames import has_rows, is_labelled


def in_order(
    values: Any,
    size: int,
    labels: Sequence[str],
    name: str,
    owner: object,
    find: Callable[[object], int | None] | None = None,
) -> Any:
    """Return labelled values as a list in the order of their labels, and other values unchanged.

    A label is one of ``labels`` if there are any, which ``find`` may look up in its own way, or one
    of the numbers 0..size-1, unless labels are numbers themselves. An answer that is missing gets
    0. Any other label is refused, and so is a label that occurs twice.

    >>> in_order({2: 50, 0: 7}, 3, (), "histogram", "KRR(k=3, epsilon=1.0)")
    [7, 0, 50]
    >>> in_order({"tea": 50, "mate": 7}, 2, ("mate", "tea"), "histogram", "ORR")
    [7, 50]
    >>> in_order({2: 50, 1: 7}, 3, ("1", "2", "3"), "histogram", "ORR")
    [7, 50, 0]
    """
    pairs = pairs_of(values, name)
    if pairs is None:
        return values
    numbers = {label: number for number, label in enumerate(labels)}
    by_position = not any(map(_is_number, labels))
    out: list[Any] = [0] * size
    seen: set[int] = set()
    for label, value in pairs:
        number = None if find is None else find(label)
        if number is None:
            number = _number(label, numbers, by_position)
        if number is None or not 0 <= number < size:
            raise ValueError(_refusal(label, size, bool(labels), name, owner))
        if number in seen:
            raise ValueError(f"{name} has the label {shown(label)} twice")
        seen.add(number)
        out[number] = value
    return out


def in_table(values: Any, name: str, owner: object) -> Any:
    """Return a table unchanged if it has no labels, or only 0, 1, 2, ...; refuse any other."""
    if not (isinstance(values, Mapping) or is_labelled(values) or has_rows(values)):
        return values
    sides = [getattr(values, side, None) for side in ("index", "columns")]
    if all(side is not None and list(side) == list(range(len(side))) for side in sides):
        return values
    raise ValueError(
        f"{name} of {owner} must be a table without labels: pass an array with its rows and "
        "columns in order"
    )


def pairs_of(values: Any, name: str) -> list[tuple[Any, Any]] | None:
    """Return labels with their values, or None if there are no labels."""
    if isinstance(values, Mapping):
        return list(values.items())
    if has_rows(values) or (is_labelled(values) and values.ndim == 2):
        if has_rows(values) and len(values.columns) == 2:
            return list(values.iter_rows())
        raise ValueError(
            f"{name} has the columns {shown(list(values.columns))}: pass one column, with the "
            "answers' numbers as its index"
        )
    if is_labelled(values):
        return list(zip(values.index.tolist(), values.tolist(), strict=True))
    return None


def _is_number(label: str) -> bool:
    """Whether a label is a whole number: a number then stands for it, and not for a position."""
    return label.removeprefix("-").isdecimal()


def _number(label: object, numbers: dict[str, int], by_position: bool) -> int | None:
    if not isinstance(label, str):
        number = index(label)
        return number if by_position or number is None else numbers.get(str(number))
    return numbers.get(label, numbers.get(unicodedata.normalize("NFC", label)))


def _refusal(label: object, size: int, has_labels: bool, name: str, owner: object) -> str:
    told = f"{name} has the label {shown(label)}, "
    if has_labels:
        return told + f"which is not an answer of {owner}"
    if isinstance(label, str):
        return (
            f"{told}but {owner} has the numbers 0..{size - 1}: put the values in their order, as "
            "with series.reindex(question.labels, fill_value=0).to_numpy()"
        )
    return told + f"which is not one of 0..{size - 1} of {owner}"
