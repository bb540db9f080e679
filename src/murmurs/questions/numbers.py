"""Numbers as answers: which bucket each falls into; errors give positions, never an answer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurs.boundary.answers import coded
from murmurs.boundary.checks import shown, whole
from murmurs.boundary.frames import MISSING, numeric_column
from murmurs.boundary.labels import Labels, how_many, refuse_missing
from murmurs.channels.channel import MOST_PEOPLE
from murmurs.numerics.arrays import Integers
from murmurs.scales.scale import NOWHERE, Scale
from murmurs.scales.values import number_of


class Buckets(Labels):
    """The labels of buckets; a number stands for the bucket that it falls into."""

    def __init__(self, labels: tuple[str, ...], owner: str, scale: Scale) -> None:
        super().__init__(labels, owner)
        self.scale = scale

    @property
    def rule(self) -> str:
        """What an answer is, as errors say it."""
        return f"an answer is {self.scale.rule()}"

    def check(self) -> None:
        """Also refuse labels that do not fit the buckets, or that are numbers of another one."""
        if len(self.labels) != self.scale.k:
            raise ValueError(
                f"{self.owner} has {len(self.labels)} labels for {self.scale.k} buckets: give one "
                "for each, or none to have them made"
            )
        super().check()
        for place, label in enumerate(self.labels):
            if (found := self.number_of(label)) != place and found != NOWHERE:
                raise ValueError(
                    f"label {place} of {self.owner} is {shown(label)}, which is a number of the "
                    f"bucket {shown(self.scale.labels[found])}: choose another text"
                )

    def number_of(self, value: Any) -> int:
        """Return the number of the bucket that a value or a label stands for, or `UNKNOWN`."""
        number = number_of(value, self.scale.kind)
        if number is not None:
            return self.scale.place(number)  # `NOWHERE` is `UNKNOWN`
        return super().number_of(value) if isinstance(value, str) else NOWHERE

    def coded(
        self, answers: object, missing: str | None, drop_missing: bool, unknown: str | None
    ) -> tuple[NDArray[np.integer[Any]], Integers]:
        """Return the bucket of each number of a column as its code, and the table of these codes.

        A column may also have the labels of buckets.
        """
        numeric = numeric_column(answers, self.scale.kind)
        if numeric is not None:
            numbers, gone = numeric
            codes = np.where(gone, MISSING, self.scale.places(numbers))
        else:
            column = coded(answers)
            codes = np.append(self._places(column.values), MISSING)[column.codes]
        if unknown is not None:
            codes = np.where(codes == NOWHERE, self.table([], unknown)[-1], codes)
        table = np.append(np.arange(self.scale.k), self.table([], missing)[-1])
        if missing is None and not drop_missing:
            refuse_missing(codes)
        self.refuse(codes == NOWHERE)
        return codes, table

    def _places(self, values: Sequence[Any]) -> Integers:
        """Return the bucket of each of many values, or `NOWHERE`."""
        read = [number_of(value, self.scale.kind) for value in values]
        numbers = np.array([math.nan if number is None else number for number in read], np.float64)
        places = self.scale.places(numbers)
        for position in [place for place, number in enumerate(read) if number is None]:
            places[position] = self.number_of(values[position])
        return places

    def told(self, bad: NDArray[np.bool_]) -> str:
        """Return how many answers are bad, as in "1 of 600 answers to question 'age' is not …"."""
        return how_many(bad, f"answers to {self.owner}", f"not {self.scale.rule()}")

    def added_up(self, pairs: Iterable[tuple[Any, Any]]) -> list[int]:
        """Return how many people are in each bucket, from how many hold each number or label."""
        totals = [0] * self.scale.k
        for value, people in pairs:
            place = self.number_of(value)
            if place == NOWHERE:
                raise ValueError(
                    f"people has {shown(value)}, which is no answer to {self.owner}: {self.rule}"
                )
            told = f"the number of people at {shown(value)}"
            totals[place] += whole(people, told, 0, MOST_PEOPLE)
        return totals
