"""The law of reports to several questions of the same people: a product of laws.

Given a person's answers, the reports to the questions are independent. So the mean of the table of
cells is the product of the means of its axes (`murmurs.channels.axes`), and the same holds for
second moments. Questions with hashed answers may share their cohorts: then there is one such table
for each cohort, and the shares solve the normal equations summed over cohorts.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from murmurs.boundary.texts import numbered
from murmurs.channels.axes import Axis, along, axis_of
from murmurs.channels.channel import Channel
from murmurs.channels.solving import WELL_POSED
from murmurs.channels.symmetric import Symmetric
from murmurs.numerics.arrays import Floats, Integers, exact_sum

MOST_JOINT = 1200
"""The most combinations of answers that are solved for together if cohorts are shared."""


@dataclass(frozen=True, eq=False)
class ProductChannel(Channel):
    """Cells of combinations: the answers of all ``factors``, in the order of a nested loop.

    ``in_cohorts`` marks the factors that share ``cohorts``; the first axis of the cells is then the
    cohort. ``parts`` are the parts of the people in each cohort.
    """

    factors: tuple[Channel, ...]
    in_cohorts: tuple[bool, ...] = ()
    cohorts: int | None = None
    parts: Floats | None = None

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """The axes, one for each factor."""
        marks = self.in_cohorts or (False,) * len(self.factors)
        return tuple(axis_of(f, mark) for f, mark in zip(self.factors, marks, strict=True))

    @property
    def answers(self) -> tuple[int, ...]:
        """The number of answers of each factor: the shape of a table of shares."""
        return tuple(factor.k for factor in self.factors)

    @property
    def k(self) -> int:  # type: ignore[override]
        """The number of combinations of answers."""
        return math.prod(self.answers)

    @property
    def cells(self) -> tuple[int, ...]:
        """The cohorts, if there are any, by the sizes of the axes."""
        sizes = tuple(axis.size for axis in self.axes)
        return sizes if self.cohorts is None else (self.cohorts, *sizes)

    @property
    def is_histogram(self) -> bool:
        """Whether every axis is a histogram, so that a combination of reports is one cell."""
        return all(axis.is_histogram for axis in self.axes)

    @property
    def other(self) -> int | None:
        """0 if there is an open question without any candidate, otherwise None."""
        return 0 if any(factor.other == 0 for factor in self.factors) else None

    def groups(self, cells: Integers) -> Integers:
        """Return the number of reports in each cohort."""
        return cells[:0] if self.cohorts is None else np.asarray(self._reports(cells), np.int64)

    def _reports(self, cells: Integers | Floats) -> Integers | Floats:
        """Return the number of reports, separately for each cohort if there are any."""
        return self._without(cells, ())

    def _without(self, cells: Integers | Floats, kept: tuple[int, ...]) -> NDArray[Any]:
        """Return the cells without the axes of all questions but the kept ones."""
        first = len(self.cells) - len(self.axes)
        out: NDArray[Any] = np.asarray(cells)
        for i in reversed(range(len(self.axes))):
            if i in kept:
                continue
            is_histogram = self.axes[i].is_histogram
            out = np.asarray(out.sum(axis=first + i) if is_histogram else out.take(0, first + i))
        return out

    def margin(self, cells: Integers, questions: tuple[int, ...]) -> Integers:
        """Return the cells of some of the questions, in their own order."""
        kept = tuple(sorted(questions))
        out = self._without(cells, kept)
        in_cohorts = self.in_cohorts or (False,) * len(self.factors)
        if self.cohorts is not None and not any(in_cohorts[i] for i in kept):
            out = out.sum(axis=0)
        if len(kept) > 1:
            return np.asarray(out, np.int64)
        (only,) = kept
        axis = self.axes[only]
        if not in_cohorts[only] and not axis.is_histogram:
            out = out[1:]
        return np.asarray(out.reshape(axis.channel.cells), np.int64)

    def conditioned_on(self, cells: Integers) -> Self:
        """Return the channel given the number of people in each cohort.

        If a cohort is empty, the others may not tell all combinations apart: then the channel stays
        as it is, and how people fell into cohorts is part of the noise.
        """
        if self.cohorts is None:
            return self
        reports = self._reports(cells).astype(np.float64)
        if not reports.all():
            return self
        return dataclasses.replace(self, parts=reports / reports.sum())

    def _cohorts(self) -> list[tuple[int, float]]:
        """Return the cohorts with the part of the people in each; without cohorts, all in one."""
        count = self.cohorts or 1
        parts = np.full(count, 1 / count) if self.parts is None else self.parts
        return list(enumerate(parts.tolist()))

    def _table(self, cells: Integers | Floats) -> Integers | Floats:
        """Return the cells with an axis of cohorts, even if there is only one."""
        return cells if self.cohorts is not None else cells[None]

    def why_impossible(self, cells: Integers, n: int) -> str | None:
        """Return why the cells are not those of n reports: they do not add up, or exceed them."""
        total = exact_sum(np.asarray(self._reports(cells), np.int64))
        if total != n:
            return f"cells add up to {numbered(total, 'report')}, not {n}"
        first = len(self.cells) - len(self.axes)
        for i, axis in enumerate(self.axes):
            if axis.is_histogram:
                continue
            lines = np.moveaxis(cells, first + i, 0)
            if (lines[1:] > lines[0]).any():
                at = int(np.argmax((lines[1:] > lines[0]).reshape(axis.size - 1, -1).any(axis=1)))
                return f"cell {at} of question {i} is counted more often than there are reports"
            each = axis.channel.supported if isinstance(axis.channel, Symmetric) else None
            if each is not None and not np.array_equal(lines[1:].sum(axis=0), lines[0] * int(each)):
                return f"cells of question {i} do not add up to {each} for each report"
        return None

    def law_of(self, answer: int) -> list[Fraction]:
        """Return the products of the laws of the factors."""
        own = [int(i) for i in np.unravel_index(answer, self.answers)]
        out: list[Fraction] = []
        for cohort in range(self.cohorts or 1):
            law = [Fraction(1, self.cohorts or 1)]
            for axis, part in zip(self.axes, own, strict=True):
                exact = axis.exact(cohort, part)
                law = [a * b for a in law for b in exact]
            out += law
        return out

    @property
    def base(self) -> Floats:
        """Nothing is added whatever the answer: `gain` holds all."""
        return np.zeros(1)

    def gain(self, shares: Floats) -> Floats:
        """Return the mean of the cells, with one factor's law along each axis."""
        table = shares.reshape(self.answers)
        out = [
            part * along(table, [axis.law(cohort).T for axis in self.axes])
            for cohort, part in self._cohorts()
        ]
        return np.stack(out).reshape(self.cells)

    def adjoint(self, weights: Floats) -> Floats:
        """Return for each combination the mean weight of its cells."""
        out = np.zeros(self.answers)
        table = self._table(weights)
        for cohort, part in self._cohorts():
            out += part * along(table[cohort], [axis.law(cohort) for axis in self.axes])
        return out.ravel()

    @cached_property
    def _solution(self) -> Floats | None:
        """The inverse of the normal equations of all cohorts; None if there are no cohorts."""
        if self.cohorts is None:
            return None
        if self.k > MOST_JOINT:
            raise ValueError(
                f"{self.k} combinations of answers are too many to solve for together with hashed "
                f"answers: list fewer candidates, for at most {MOST_JOINT} combinations"
            )
        gram = np.zeros((self.k, self.k))
        for cohort, part in self._cohorts():
            own: Floats = np.ones((1, 1))
            for axis in self.axes:
                own = np.asarray(np.kron(own, axis.gram(cohort)), np.float64)
            gram += part * own
        diagonal = np.sqrt(np.maximum(np.diag(gram), 1e-300))
        scale = np.outer(diagonal, diagonal)
        try:  # the factor exists if no eigenvalue is below the limit
            np.linalg.cholesky(gram / scale - WELL_POSED * np.eye(self.k))
        except np.linalg.LinAlgError:
            raise ValueError(
                f"the {self.k} combinations of answers cannot all be told apart in {self.cohorts} "
                "cohorts: list fewer candidates, or ask with more cohorts or buckets"
            ) from None
        return np.asarray(np.linalg.inv(gram / scale) / scale)

    def _solved(self, table: Floats) -> Floats:
        """Return the shares of sums over the buckets of each combination."""
        flat = table.ravel()
        return flat if self._solution is None else np.asarray(self._solution @ flat)

    def invert(self, cells: Integers | Floats, n: int) -> Floats:
        """Return the factors' inverses, applied along the axes; with cohorts, least squares."""
        out = np.zeros(self.answers)
        table = self._table(cells)
        for cohort, _ in self._cohorts():
            out += along(table[cohort], [axis.q(cohort) for axis in self.axes])
        return self._solved(out) / n

    def noise(self, shares: Floats, n: float) -> tuple[Floats, Floats]:
        """Return c and s, in which all other combinations have the variance of their average."""
        total, own = self._squares(shares)
        total, own = total - shares, own - 1
        others = 1 - shares
        average = (total - own * shares) / np.where(others > 1e-9, others, 1.0)
        average = np.where(others > 1e-9, average, own)
        floor = 1e-9 * np.abs(own) + 1e-15
        average = np.maximum(average, floor)
        return average / n, (own - average) / n

    def _squares(self, shares: Floats) -> tuple[Floats, Floats]:
        """Return the mean squares of a report's estimates: of all people, and of own answers."""
        if self._solution is None:
            squares = [axis.squares(0) for axis in self.axes]
            total = along(shares.reshape(self.answers), squares).ravel()
            own = np.ones(1)
            for square in squares:
                own = np.outer(own, np.diag(square)).ravel()
            return total, own
        solution = self._solution
        total = ((solution @ self.sums_of_squares(shares)) * solution).sum(axis=1)
        own = np.zeros(self.k)
        for cohort, part in self._cohorts():
            levers = solution.reshape(*self.answers, *self.answers)
            both, count = levers, len(self.axes)
            for i, axis in enumerate(self.axes):  # each answer has its own second moment
                turned = np.moveaxis(both, (i, count + i), (0, -1))
                flat = turned.reshape(axis.k, -1, axis.k) @ axis.moments(cohort)
                both = np.moveaxis(flat.reshape(turned.shape), (0, -1), (i, count + i))
            own += part * (both * levers).reshape(self.k, self.k).sum(axis=1)
        return total, own

    def sums_of_squares(self, shares: Floats) -> Floats:
        """Return the mean of z z', where z are a report's sums over the buckets of combinations.

        Without cohorts, z are the estimates from a report, so this is their second moment.
        """
        count = len(self.axes)
        out = np.zeros((self.k, self.k))
        order = [*range(0, 2 * count, 2), *range(1, 2 * count, 2)]
        for cohort, part in self._cohorts():
            table = shares.reshape(self.answers)
            for axis in self.axes:
                table = np.tensordot(table, axis.moments(cohort), axes=(0, 0))
            out += part * table.transpose(order).reshape(self.k, self.k)
        return out

    def second_moments(self, shares: Floats) -> Floats:
        """Return the mean of the product of two estimates from one report, for all pairs."""
        squares = self.sums_of_squares(shares)
        if self._solution is None:
            return squares
        return np.asarray(self._solution @ squares @ self._solution)

    def covariance(self, histogram: Integers | Floats) -> Floats:
        """Return the covariance of the flattened cells; for small tables."""
        size = math.prod(axis.size for axis in self.axes)
        count = self.cohorts or 1
        out = np.zeros((count * size, count * size))
        means = self.matrix()
        for answer, index in enumerate(np.ndindex(*self.answers)):
            people = float(np.asarray(histogram)[answer])
            out -= people * np.outer(means[answer], means[answer])
            for cohort, part in self._cohorts():
                moment: Floats = np.ones((1, 1))
                for axis, own in zip(self.axes, index, strict=True):
                    moment = np.asarray(np.kron(moment, axis.moment(cohort, own)), np.float64)
                at = slice(cohort * size, (cohort + 1) * size)
                out[at, at] += people * part * moment
        return out
