"""How many people hold each combination of answers, in the forms that people have such tables.

A combination is found by its labels: in a crosstab of pandas, in the counts of its rows
(``frame.value_counts()`` of pandas, ``frame.group_by(...).len()`` of polars) or in a mapping.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from murmurs.boundary.checks import shown
from murmurs.boundary.frames import has_rows, is_labelled, labelled_cells
from murmurs.questions.single import Single

Combinations = list[tuple[tuple[Any, ...], Any]]
"""Tuples of labels, each with its number of people."""


def combinations_of(people: Any, names: Sequence[str]) -> Combinations | None:
    """Return combinations with their numbers of people, or None for a table without labels.

    >>> combinations_of({("tea", "yes"): 5, ("mate", "no"): 7}, ["drink", "sugar"])
    [(('tea', 'yes'), 5), (('mate', 'no'), 7)]
    """
    if isinstance(people, Mapping):
        pairs = list(people.items())
        return _checked(pairs, names)
    if has_rows(people):
        return _of_rows(people, names)
    if is_labelled(people):
        return _of_cells(people, names)
    return None


def _of_rows(people: Any, names: Sequence[str]) -> Combinations:
    numbers = [column for column in people.columns if column not in names]
    if len(numbers) != 1 or len(people.columns) != len(names) + 1:
        raise ValueError(
            f"people has the columns {shown(list(people.columns))}: it should have one for each "
            f"question, {shown(list(names))}, and one with the number of people"
        )
    ordered = people.select([*names, *numbers])
    return _checked([(row[:-1], row[-1]) for row in ordered.iter_rows()], names)


def _of_cells(people: Any, names: Sequence[str]) -> Combinations:
    given, pairs = labelled_cells(people)
    order = _order(given, names)
    if order is not None:
        pairs = [(tuple(labels[place] for place in order), n) for labels, n in pairs]
    return _checked(pairs, names)


def _order(given: list[Any], names: Sequence[str]) -> list[int] | None:
    """Return where each question stands, if all sides of a table have questions' names."""
    if sorted(map(str, given)) != sorted(names):
        return None
    return [given.index(name) for name in names]


def _checked(pairs: list[tuple[Any, Any]], names: Sequence[str]) -> Combinations:
    for labels, _ in pairs:
        if not isinstance(labels, tuple) or len(labels) != len(names):
            raise ValueError(
                f"people has {shown(labels)} for a combination: it should be a tuple of "
                f"{len(names)} labels, one for each of {shown(list(names))}"
            )
    return pairs


def histogram(
    pairs: Combinations, questions: Sequence[Single], labels: Sequence[Sequence[str]]
) -> list[int]:
    """Return the number of people of each combination, in order."""
    sizes = [len(own) for own in labels]
    numbers: list[Any] = [0] * math.prod(sizes)
    seen: set[int] = set()
    places = [{label: i for i, label in enumerate(own)} for own in labels]
    for given, n in pairs:
        found = []
        for question, own, label in zip(questions, places, given, strict=True):
            place = own.get(label) if question.is_open else question.place_of(label)
            if place is None:
                raise ValueError(
                    f"people has the label {shown(label)}, which is not an answer to "
                    f"{shown(question.name)}"
                )
            found.append(place)
        number = int(np.ravel_multi_index(found, sizes))
        if number in seen:
            raise ValueError(f"people has the combination {shown(given)} twice")
        seen.add(number)
        numbers[number] = n
    return numbers
