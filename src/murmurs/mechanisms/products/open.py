"""Several questions answered by the same people, at least one of which takes any string."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from murmurs.boundary.checks import integers
from murmurs.boundary.texts import as_tuple
from murmurs.hashing.layout import Layout
from murmurs.mechanisms.mechanism import Mechanism, OpenMechanism
from murmurs.mechanisms.products.closed import Product
from murmurs.mechanisms.products.common import Combined, Part
from murmurs.numerics.arrays import Integers
from murmurs.randomness.bulk import Bulk
from murmurs.randomness.sources import Chance, ChanceInBulk, as_randomness
from murmurs.wire import Reports


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

    def _of(self, parts: list[Part]) -> Product | OpenProduct:
        return product_of(parts)

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
        (n,) = lengths
        texts = [
            table if isinstance(part, OpenMechanism) else None
            for part, table in zip(self.parts, tables, strict=True)
        ]
        source, out = self._people(random, n, texts), self.shape.empty(n)
        for rows in self._chunks(n):
            own = [column[rows] for column in codes]
            out[rows] = self._encode_rows(own, layouts, source.part(rows, *own))
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
