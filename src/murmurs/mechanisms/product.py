"""Several questions answered by the same people: each has its own mechanism, reports go together.

Given the answers, the reports to the questions are drawn independently, so probabilities multiply
and the epsilons add up. What is counted is the table of combinations of reports, one axis for each
question (`murmurs.channels.axes`). Mechanisms with cohorts share them: a person has one cohort for
all questions, and the table is counted by cohort.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from murmurs import forms
from murmurs.boundary.checks import index, integers, shown
from murmurs.boundary.texts import as_tuple
from murmurs.channel import Channel
from murmurs.channels.product import ProductChannel
from murmurs.evidence import Evidence
from murmurs.hashing.layout import Layout
from murmurs.mechanism import AnyMechanism, Mechanism, OpenMechanism
from murmurs.mechanisms.settling import check_cells
from murmurs.numerics.arrays import Integers
from murmurs.numerics.crossing import cross
from murmurs.randomness.bulk import CHUNK, Bulk, bulk
from murmurs.randomness.sources import Chance, ChanceInBulk, as_randomness
from murmurs.randomness.verbs import Randomness
from murmurs.wire import Reports, Together

Part = Mechanism[Any] | OpenMechanism[Any]

BETWEEN = " × "
"""Stands between the labels of a combination of answers."""


class Combined(AnyMechanism[tuple[Any, ...]]):
    """What a product shares with one that has open questions: reports, cells and epsilon."""

    parts: tuple[Part, ...]

    def _settle_parts(self) -> None:
        parts = as_tuple(self.parts, "the parts of a product")
        if len(parts) < 2:
            raise ValueError(f"a product has at least two mechanisms, not {len(parts)}")
        for number, part in enumerate(parts):
            if isinstance(part, Combined):
                raise TypeError(f"part {number} is itself a product: list all mechanisms in one")
            if not isinstance(part, Mechanism | OpenMechanism):
                raise TypeError(f"part {number} is not a mechanism but {type(part).__name__}")
            if isinstance(part.shape, Together):
                raise TypeError(
                    f"part {number} sends several reports itself, {part}: it cannot be asked "
                    "together with others"
                )
        self._set(parts=parts)
        counts = sorted({part.cohort_count for part in parts if part.cohort_count is not None})
        if len(counts) > 1:
            raise ValueError(
                f"mechanisms with {counts[0]} and with {counts[-1]} cohorts cannot be asked "
                "together, as a person has one cohort: give all of them the same number"
            )
        check_cells(math.prod(self.channel.cells), "the number of combinations of reports")
        check_cells(self.channel.k, "the number of combinations of answers")

    @property
    def epsilon(self) -> float:  # type: ignore[override]
        """The sum of the parts' epsilons: what all reports of a person reveal together."""
        promised = math.fsum(part.epsilon for part in self.parts)
        return max(promised, self.epsilon_realised)

    @property
    def ratio(self) -> Fraction:
        """The product of the parts' ratios."""
        return math.prod((part.ratio for part in self.parts), start=Fraction(1))

    @property
    def epsilon_realised(self) -> float:
        """The logarithm of the ratio, rounded up; infinite if that of a part is."""
        if any(math.isinf(part.epsilon_realised) for part in self.parts):
            return math.inf
        return super().epsilon_realised

    @property
    def in_cohorts(self) -> tuple[bool, ...]:
        """Which parts are asked in cohorts."""
        return tuple(part.cohort_count is not None for part in self.parts)

    @property
    def cohort_count(self) -> int | None:
        """The number of cohorts that the parts share, if any are asked in cohorts."""
        return next((part.cohort_count for part in self.parts if part.cohort_count), None)

    @cached_property
    def shape(self) -> Together:
        """The reports of the parts, one after another."""
        shapes = tuple(part.shape for part in self.parts)
        return Together(shapes, self.cohort_count, self.in_cohorts)

    @cached_property
    def channel(self) -> ProductChannel:
        """The product of the laws of the parts."""
        factors = tuple(part.channel for part in self.parts)
        return ProductChannel(factors, self.in_cohorts, self.cohort_count)

    @property
    def is_longitudinal(self) -> bool:
        """Whether the reports of one person to any of the questions share a permanent response."""
        return any(part.is_longitudinal for part in self.parts)

    def repeated(self, times: int) -> Channel:
        """Return the law of the cells of one report per person; more are refused."""
        if times == 1:
            return self.channel
        raise ValueError(
            f"{self} asks several questions together, and these are estimated from one report of "
            f"each person, not from {times}: use the counts of one round"
        )

    def select(self, questions: tuple[int, ...]) -> AnyMechanism[Any]:
        """Return the mechanism of some of the questions: a part, or a product of fewer parts."""
        if (
            not questions
            or len(set(questions)) < len(questions)
            or any(index(q) is None or not 0 <= q < len(self.parts) for q in questions)
        ):
            raise ValueError(
                f"questions are different numbers from 0 to {len(self.parts) - 1}, not "
                f"{shown(questions)}"
            )
        kept = [self.parts[q] for q in sorted(questions)]
        if len(kept) == 1:
            return kept[0]
        return product_of(kept)

    def _encode_parts(self, answers: tuple[Any, ...], random: Randomness) -> tuple[Any, ...]:
        """Return a report of each part, with one cohort for all that have cohorts."""
        shared = self.cohort_count
        cohort = None if shared is None else random.below(shared)
        return tuple(
            cast(Any, part)._encode_one(own, random)
            if part.cohort_count is None
            else cast(Any, part)._encode_in(cohort, own, random)
            for part, own in zip(self.parts, answers, strict=True)
        )

    def _count(self, reports: Reports) -> Integers:
        out = np.zeros(self.channel.cells, np.int64)
        for start in range(0, len(reports), CHUNK):
            cohorts, axes = self._placed(reports[start : start + CHUNK])
            out += cross(axes if cohorts is None else [cohorts, *axes], self.channel.cells)
        return out

    def _evidence(self, reports: Reports) -> tuple[Evidence, ...]:
        """Return the likelihoods of the reports to each question, which multiply."""
        columns = self.shape.split(reports)
        found = (part._evidence(own) for part, own in zip(self.parts, columns, strict=True))
        return tuple(piece for pieces in found for piece in pieces)

    def _placed(self, reports: Reports) -> tuple[Integers | None, list[NDArray[Any]]]:
        shape = self.shape
        axes: list[NDArray[Any]] = [
            part._cells_of(own) for part, own in zip(self.parts, shape.split(reports), strict=True)
        ]
        if self.cohort_count is None:
            return None, axes
        return np.asarray(shape.cohorts_of(reports), np.int64), axes

    def placed(self, reports: object) -> tuple[Integers | None, list[NDArray[Any]]]:
        """Return the cohort of each report, if there are any, and its place along each axis.

        A place is the number of a cell, or a row of zeros and ones if reports are in several cells;
        the first of these counts the report itself. Reports may have any form that `count` takes.
        """
        given = list(forms.arrays(reports, self.shape)) or [self.shape.empty(0)]
        return self._placed(np.concatenate(given))

    def joined(self, columns: Sequence[Reports]) -> Reports:
        """Return reports to each question as reports to all of them."""
        out = self.shape.empty(len(columns[0]))
        for number, (part, column) in enumerate(zip(self.parts, columns, strict=True)):
            out[f"q{number}"] = column.astype(part.shape.dtype, copy=False)
        return out

    def to_document(self) -> dict[str, Any]:
        """Return the parts as plain values for JSON."""
        return {"name": "Product", "parts": [part.to_document() for part in self.parts]}

    def __repr__(self) -> str:
        return f"Product({', '.join(repr(part) for part in self.parts)})"


@dataclass(frozen=True, repr=False)
class Product(Combined, Mechanism[tuple[Any, ...]]):
    """Several mechanisms for the same people: an answer is a tuple of answers, one for each.

    Use it to learn joint tables: which answers to one question go with which to another. If the
    questions are known beforehand, a single mechanism whose answers are the combinations is far
    more accurate for the same epsilon; a product also tells each question by itself.

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


@dataclass(frozen=True, repr=False)
class OpenProduct(Combined):
    """Several mechanisms for the same people, at least one of which takes any string.

    An answer is a tuple: a string for each open part, a number for each of the others. `over` takes
    a list of candidates for each open part, and returns the `Product` whose table is estimated.

    >>> from murmurs import KRR, ORR
    >>> both = OpenProduct([ORR(epsilon=2.0, width=8, cohorts=64), KRR(k=2, epsilon=1.0)])
    >>> counts = both.count(both.encode_many([["tea", "mate", "tea"], [0, 1, 0]]))
    >>> counts.over([["tea", "milk"], None]).mechanism.answers
    (3, 2)
    """

    parts: tuple[Part, ...]

    if TYPE_CHECKING:

        def __init__(self, parts: Sequence[Part]) -> None: ...

    def __post_init__(self) -> None:
        self._settle_parts()
        if not any(self.is_open):
            raise TypeError("no part takes any string: use Product")

    @property
    def is_open(self) -> tuple[bool, ...]:
        """Which parts take any string."""
        return tuple(isinstance(part, OpenMechanism) for part in self.parts)

    def over(self, candidates: Sequence[Any], *, complete: bool = False) -> Product:
        """Return the product over candidates: a list for each open part, None for the others.

        With ``complete`` nobody holds a string that is not listed.
        """
        lists = as_tuple(candidates, "candidates of a product")
        if len(lists) != len(self.parts):
            raise ValueError(
                f"candidates of {len(self.parts)} questions are as many lists, with None for a "
                f"question that is not open; here are {len(lists)}"
            )
        parts: list[Mechanism[Any]] = []
        for number, (part, own) in enumerate(zip(self.parts, lists, strict=True)):
            if isinstance(part, OpenMechanism):
                if own is None:
                    raise ValueError(f"question {number} is open: list its candidates")
                parts.append(part.over(own, complete=complete))
            elif own is not None:
                raise ValueError(f"question {number} has a fixed list of answers: give it None")
            else:
                parts.append(part)
        return Product(tuple(parts))

    def encode(self, answer: tuple[Any, ...], random: Chance = None) -> tuple[Any, ...]:
        """Return a private report of one person's answers."""
        if type(answer) is not tuple or len(answer) != len(self.parts):
            raise TypeError(
                f"an answer to {len(self.parts)} questions is a tuple of as many answers"
            )
        checked = []
        for number, (part, own) in enumerate(zip(self.parts, answer, strict=True)):
            try:
                checked.append(part.check(own))
            except (TypeError, ValueError) as error:
                raise type(error)(f"question {number}: {error}") from None
        return self._encode_parts(tuple(checked), as_randomness(random))

    def encode_many(self, columns: Sequence[Any], random: ChanceInBulk = None) -> Reports:
        """Return the reports of many people; ``columns`` has the answers to each question.

        ``random`` is `Secure` by default; for a reproducible study, pass a NumPy generator.
        """
        given = list(columns)
        if len(given) != len(self.parts):
            raise ValueError(
                f"answers to {len(self.parts)} questions are as many columns, not {len(given)}"
            )
        tables: list[Any] = []
        codes: list[Integers] = []
        for number, (part, column) in enumerate(zip(self.parts, given, strict=True)):
            try:
                own, table = _coded(part, column)
            except (TypeError, ValueError) as error:
                raise type(error)(f"question {number}: {error}") from None
            codes.append(own)
            tables.append(table)
        return self.encode_coded(codes, tables, random)

    def encode_coded(
        self, codes: Sequence[Integers], tables: Sequence[Any], random: ChanceInBulk = None
    ) -> Reports:
        """Return the reports of people whose answers are ``tables[i][codes[i]]``.

        The tables are checked strings of open questions, and None for the others.
        """
        lengths = {len(own) for own in codes}
        if len(lengths) != 1:
            raise ValueError(
                "one person is one row, so all questions need equally many answers, not "
                + " and ".join(str(length) for length in sorted(lengths))
            )
        layouts = [
            part.layout_of(table) if isinstance(part, OpenMechanism) else None
            for part, table in zip(self.parts, tables, strict=True)
        ]
        source, (n,) = bulk(random), lengths
        out = self.shape.empty(n)
        for rows in self._chunks(n):
            out[rows] = self._encode_rows([own[rows] for own in codes], layouts, source)
        return out

    def _encode_rows(
        self, codes: list[Integers], layouts: list[Layout | None], random: Bulk
    ) -> Reports:
        shared = self.cohort_count
        n = len(codes[0])
        cohorts = np.zeros(n, np.int64)
        if shared is not None:
            cohorts = random.below(shared, n).astype(np.int64)
        columns = []
        for part, own, layout in zip(self.parts, codes, layouts, strict=True):
            if layout is not None:
                places = layout.look_up(own, cohorts)
                columns.append(cast(Any, part)._randomise_many(cohorts, places, random))
            elif part.cohort_count is not None:
                columns.append(cast(Any, part)._encode_many_in(cohorts, own, random))
            else:
                columns.append(cast(Any, part)._encode_many(own, random))
        return self.joined(columns)


def _coded(part: Part, column: Any) -> tuple[Integers, Any]:
    """Return a column as numbers, with the strings they stand for if the part takes any string."""
    if isinstance(part, OpenMechanism):
        if isinstance(column, str | bytes):
            raise TypeError("answers are a list of strings, not one string")
        numbers: dict[str, int] = {}
        forms: dict[str, str] = {}
        codes: Iterator[int] = (
            part._number(text, i, numbers, forms) for i, text in enumerate(column)
        )
        found = np.fromiter(codes, np.int64)
        return found, list(numbers)
    array = integers(column, "answers")
    return part._check_part(array, 0), None


def product_of(parts: Sequence[Part]) -> Product | OpenProduct:
    """Return the product of mechanisms for the same people; an open one if a part is open."""
    closed = [part for part in parts if isinstance(part, Mechanism)]
    return Product(tuple(closed)) if len(closed) == len(parts) else OpenProduct(tuple(parts))
