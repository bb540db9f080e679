"""Several questions answered by the same people: each has its own mechanism, reports go together.

Given the answers, the reports to the questions are drawn independently, so probabilities multiply
and the epsilons add up. What is counted is the table of combinations of reports, one axis for each
question (`murmurs.channels.axes`). Mechanisms with cohorts share them: a person has one cohort for
all questions, and the table is counted by cohort.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from murmurs.boundary.checks import index, integers
from murmurs.boundary.texts import as_tuple
from murmurs.mechanisms.mechanism import Mechanism, OpenMechanism
from murmurs.mechanisms.products.common import Combined, Part
from murmurs.numerics.arrays import Integers
from murmurs.randomness.bulk import CHUNK, Bulk, bulk
from murmurs.randomness.sources import ChanceInBulk
from murmurs.randomness.verbs import Randomness
from murmurs.wire import Reports

BETWEEN = " × "
"""Stands between the labels of a combination of answers."""


@dataclass(frozen=True, repr=False)
class Product(Combined, Mechanism[tuple[Any, ...]]):
    """Several mechanisms for the same people: an answer is a tuple of answers, one for each.

    Use it to learn joint tables: which answers to one question go with which to another. If the
    questions are known beforehand, a single mechanism whose answers are the combinations is far
    more accurate for the same epsilon; a product also estimates each question by itself.

    Law: the report is a tuple of independent reports, one of each part; parts with cohorts use one
    cohort, drawn uniformly once. Combination (i, j) of k1 x k2 answers has the number i * k2 + j.

    >>> from murmurs import KRR, SUE
    >>> both = Product([KRR(k=2, epsilon=1.0), SUE(k=3, epsilon=2.0)])
    >>> both.k, both.epsilon
    (6, 3.0)
    >>> drink, report = both.encode((1, 2))
    >>> both.count(both.encode_many([(0, 1), (1, 2)])).cells.shape
    (2, 4)
    """

    parts: tuple[Mechanism[Any], ...]

    if TYPE_CHECKING:

        def __init__(self, parts: Sequence[Mechanism[Any]]) -> None: ...

    def __post_init__(self) -> None:
        for number, part in enumerate(as_tuple(self.parts, "the parts of a product")):
            if isinstance(part, OpenMechanism):
                raise TypeError(
                    f"part {number} takes any string: use OpenProduct, or list its candidates, "
                    "mechanism.over(candidates)"
                )
        self._settle_parts()

    @property
    def k(self) -> int:  # type: ignore[override]
        """The number of combinations of answers."""
        return math.prod(self.answers)

    def _of(self, parts: list[Part]) -> Product:
        return Product(cast("list[Mechanism[Any]]", parts))

    @property
    def answers(self) -> tuple[int, ...]:
        """The number of answers to each question."""
        return tuple(part.k for part in self.parts)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The labels of the combinations, if all parts know those of their answers."""
        out: tuple[str, ...] = ("",)
        for part in self.parts:
            if not part.labels:
                return ()
            out = tuple(f"{a}{BETWEEN}{b}" if a else b for a in out for b in part.labels)
        return out

    def check(self, answer: object) -> int:
        """Return the number of a combination, given as such or as a tuple of answers."""
        if not isinstance(answer, tuple):
            return super().check(answer)
        if len(answer) != len(self.parts):
            raise ValueError(
                f"an answer to {len(self.parts)} questions is a tuple of as many answers, not of "
                f"{len(answer)}"
            )
        for number, (part, own) in enumerate(zip(self.parts, answer, strict=True)):
            if index(own) is None or not 0 <= int(own) < part.k:
                raise ValueError(
                    f"the answer to question {number} is not one of 0..{part.k - 1} of {part}"
                )
        return int(np.ravel_multi_index(tuple(int(x) for x in answer), self.answers))

    def encode_many(self, answers: object, random: ChanceInBulk = None) -> Reports:
        """Return the reports of many people as one compact array.

        Answers are numbers of combinations or rows of answers, one column for each question.
        ``random`` is `Secure` by default; for a reproducible study, pass a NumPy generator.
        """
        return super().encode_many(self.numbers(answers), random)

    def numbers(self, answers: object) -> object:
        """Return rows of answers as numbers of combinations; leave anything else as it is."""
        if isinstance(answers, list) and answers and isinstance(answers[0], tuple):
            if any(not isinstance(row, tuple) or len(row) != len(self.parts) for row in answers):
                raise ValueError(
                    f"answers to {len(self.parts)} questions are rows of {len(self.parts)} each"
                )
            answers = np.array(answers)
        if not (isinstance(answers, np.ndarray) and answers.ndim == 2 and len(self.parts) > 1):
            return answers
        if answers.shape[1] != len(self.parts):
            raise ValueError(
                f"answers to {len(self.parts)} questions are rows of {len(self.parts)} each, not "
                f"of {answers.shape[1]}"
            )
        out = np.zeros(len(answers), np.int64)
        for number, part in enumerate(self.parts):
            column = integers(answers[:, number], f"answers to question {number}")
            bad = (column < 0) | (column >= part.k)
            if bad.any():
                raise ValueError(
                    f"answer number {int(bad.argmax())} to question {number} is not one of "
                    f"0..{part.k - 1} of {part}"
                )
            out = out * part.k + column.astype(np.int64)
        return out

    def _encode_one(self, answer: int, random: Randomness) -> tuple[Any, ...]:
        own = tuple(int(i) for i in np.unravel_index(answer, self.answers))
        return self._encode_parts(own, random)

    def _encode_many(self, answers: Integers, random: Bulk) -> Reports:
        shared = self.cohort_count
        cohorts = None if shared is None else random.below(shared, len(answers)).astype(np.int64)
        columns = [
            part._encode_many(own.astype(np.int64), random)
            if part.cohort_count is None
            else cast(Any, part)._encode_many_in(cohorts, own.astype(np.int64), random)
            for part, own in zip(self.parts, np.unravel_index(answers, self.answers), strict=True)
        ]
        return self.joined(columns)

    def _simulate(self, histogram: Integers, rng: np.random.Generator) -> Integers:
        """Draw the cells, question by question, if they are a histogram; else encode everybody."""
        channel = self.channel
        if not channel.is_histogram:
            return self._simulate_people(histogram, rng)
        out = np.empty((self.cohort_count or 1, *(axis.size for axis in channel.axes)), np.int64)
        left = histogram
        for cohort in range(len(out)):
            here = rng.binomial(left, 1 / (len(out) - cohort))
            left = left - here
            table = here.reshape(self.answers)
            for number, axis in enumerate(channel.axes):
                table = _replaced(table, number, axis.law(cohort), rng)
            out[cohort] = table
        return out.reshape(channel.cells)

    def _simulate_people(self, histogram: Integers, rng: np.random.Generator) -> Integers:
        """Encode and count everybody, in chunks: the time grows with the people, not the memory."""
        out, source = np.zeros(self.channel.cells, np.int64), bulk(rng)
        ends = np.cumsum(histogram)
        for start in range(0, int(ends[-1]), CHUNK):
            people = np.arange(start, min(start + CHUNK, int(ends[-1])))
            answers = np.searchsorted(ends, people, side="right")
            out += self._count(self._encode_many(answers, source))
        return out


def _replaced(
    table: Integers, number: int, law: NDArray[np.float64], rng: np.random.Generator
) -> Integers:
    """Return how many people give each report to one question, instead of each answer."""
    first = np.moveaxis(table, number, 0)
    out = np.zeros((law.shape[1], *first.shape[1:]), np.int64)
    for answer, people in enumerate(first):
        chances = np.maximum(law[answer], 0)
        drawn = rng.multinomial(people.ravel(), chances / chances.sum())
        out += np.moveaxis(drawn.reshape(*people.shape, -1), -1, 0)
    return np.moveaxis(out, 0, number)
