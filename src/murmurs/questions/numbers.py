"""Numbers as answers: which bucket each falls into; errors give positions, never an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurs.boundary.checks import shown, whole
from murmurs.boundary.frames import MISSING
from murmurs.boundary.labels import OR_NAMED, Labels, refuse_missing
from murmurs.channels.channel import MOST_PEOPLE
from murmurs.numerics.arrays import Integers
from murmurs.scales.scale import NOWHERE, Scale
from murmurs.scales.values import number_of, numbers_in


def place_of_number(value: Any, scale: Scale, labels: Labels, called: str) -> int:
    """Return the bucket that a number, or the label of a bucket, stands for."""
    number = number_of(value, scale.kind)
    if number is None:
        place = labels.find(value) if isinstance(value, str) else None
        if place is not None:
            return place
        raise TypeError(f"an answer to {called} is {scale.rule()}, not of type {_type(value)}")
    place = scale.place(number)
    if place == NOWHERE:
        raise ValueError(f"an answer to {called} is {scale.rule()}, and this one is not")
    return place


def _type(value: object) -> str:
    return "text that says something else" if isinstance(value, str) else type(value).__name__


def coded_numbers(
    answers: object,
    scale: Scale,
    labels: Labels,
    missing: str | None,
    drop_missing: bool,
    unknown: str | None,
) -> tuple[NDArray[np.integer[Any]], Integers]:
    """Return the bucket of each number of a column as its code, and the table of these codes.

    A column that holds the labels of buckets is taken, too.
    """
    column = numbers_in(answers, scale.kind)
    places = scale.places(column.numbers)
    if column.strange.any():
        places = _of_labels(answers, places, column.strange, labels)
    codes = np.where(column.missing, MISSING, places)
    if missing is None and not drop_missing:
        refuse_missing(codes)
    gone = labels.table([], missing=missing)[-1]
    bad = codes == NOWHERE
    if bad.any():
        if unknown is None:
            many = int(bad.sum())
            raise ValueError(
                f"{many} of {len(bad):,} answers to {labels.owner} {'is' if many == 1 else 'are'} "
                f"not {scale.rule()}, first answer number {int(bad.argmax())} (from 0): correct "
                f"them{OR_NAMED}"
            )
        codes = np.where(bad, labels.table([], missing=unknown)[-1], codes)
    return codes, np.append(np.arange(scale.k), gone)


def _of_labels(
    answers: object, places: Integers, strange: NDArray[np.bool_], labels: Labels
) -> Integers:
    """Return places with those of labels filled in where an answer is no number."""
    from murmurs.boundary.answers import coded

    column = coded(answers)
    table = labels.table([v if isinstance(v, str) else None for v in column.values])
    return np.where(strange, table[column.codes], places)


def people_in_buckets(
    pairs: Iterable[tuple[Any, Any]], k: int, place: Callable[[object], int | None], called: str
) -> list[int]:
    """Return how many people are in each bucket, from how many hold each number or label."""
    totals = [0] * k
    for value, people in pairs:
        found = place(value)
        if found is None:
            raise ValueError(f"people has {shown(value)}, which is not an answer to {called}")
        totals[found] += whole(people, f"the number of people at {shown(value)}", 0, MOST_PEOPLE)
    return totals
