"""What products of closed and of open mechanisms share: reports, cells and epsilon."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from murmurs.boundary.checks import index, shown
from murmurs.boundary.texts import as_tuple
from murmurs.channels.channel import Channel
from murmurs.channels.evidence import Evidence
from murmurs.channels.product import ProductChannel
from murmurs.mechanisms.mechanism import AnyMechanism, Mechanism, OpenMechanism
from murmurs.mechanisms.settling import check_cells
from murmurs.numerics.arrays import Integers
from murmurs.numerics.crossing import cross
from murmurs.randomness.bulk import CHUNK
from murmurs.randomness.verbs import Randomness
from murmurs.wire import Reports, Together, forms

Part = Mechanism[Any] | OpenMechanism[Any]


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

    def repeated(self, times: float) -> Channel:
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
        return self._of(kept)

    @abstractmethod
    def _of(self, parts: list[Part]) -> AnyMechanism[Any]:
        """Return the product of some of the parts."""

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
