"""Sketches that count places themselves, and solve for collisions where they can.

The mass on each place is estimated without bias; shares come from the masses in one of three ways.
Where there are not too many answers and enough places, least squares solve for all of them, and
shares are unbiased given the hash functions. Where there are more, some are chosen and solved for
together, each other one beside them. Otherwise they are averages over hash functions, as in
`murmurs.channels.sketch`.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self, TypeVar

import numpy as np

from murmurs.channel import Channel
from murmurs.channels.sketch import Sketch
from murmurs.channels.solving import MOST_SOLVED, Solver
from murmurs.checks import Floats, Integers, exact_sum
from murmurs.layout import Layout

Kept = TypeVar("Kept")

FEW = 50
"""Candidates up to which all are solved for, if they can be, be the equations ever so few."""


@dataclass(frozen=True, eq=False)
class Tables(Sketch):
    """Sketches that count places themselves: a true place with probability hit, others with miss.

    Cells of a row that nobody reported to tell nothing; ``parts`` are the rows' parts of the
    reports, once they are known, and are taken as equal before; ``seen`` are the counts, which tell
    whether the noise is larger than the law has it. ``chosen`` are the answers that are
    solved for together, where all are too many; see `choose`.
    """

    hit: Fraction
    miss: Fraction
    _: dataclasses.KW_ONLY
    parts: Floats | None = None
    solves: bool = True
    seen: Integers | None = None
    chosen: Integers | None = None
    weighed_at: Floats | None = None
    inflation: float | None = None

    @property
    @abstractmethod
    def exclusive(self) -> bool:
        """Whether a report counts on one place only."""

    @abstractmethod
    def reports_of(self, cells: Integers | Floats) -> Integers | Floats:
        """Return the number of reports to each row."""

    @abstractmethod
    def placed(self, cells: Integers | Floats) -> Integers | Floats:
        """Return the counts on the places of each row."""

    def given(self, cells: Integers) -> Self:
        """Return the channel among as many people in each row as there are."""
        reports = np.asarray(self.reports_of(cells), np.float64)
        # A row without reports keeps nearly nothing as its part: nothing is divided by zero.
        parts = np.maximum(reports, 1e-9) / max(float(reports.sum()), 1e-9)
        return dataclasses.replace(self, parts=parts, seen=cells)

    @property
    def row_parts(self) -> Floats:
        """The rows' parts of the reports, one line a row."""
        parts = np.full(self.rows, 1 / self.rows) if self.parts is None else self.parts
        return parts[:, None]

    @property
    def difference(self) -> float:
        """By how much a true place is counted more often than another."""
        return float(self.hit - self.miss)

    def masses_of(self, cells: Integers | Floats) -> Floats:
        """Return the unbiased estimate of the mass on each place of each row."""
        reports = np.maximum(np.asarray(self.reports_of(cells), np.float64), 1e-9)[:, None]
        masses = (self.placed(cells) / reports - float(self.miss)) / self.difference
        empty = reports < 0.5
        return np.where(empty, 1 / self.width, masses)

    def solver(self, shares: Floats) -> Solver:
        """Return the normal equations of the chosen answers, weighted as the shares demand."""
        masses = self.masses(shares)
        filled = float(self.filled) if self.has_rest else 0.0
        if self.has_rest and not self.is_open:
            masses = masses + filled * (1 - shares.sum())
        law = float(self.miss) + self.difference * masses
        pair = float(self.filled_pair)
        return Solver(
            self.chosen_layout, filled, pair, self.row_parts, law, self.difference, self.exclusive
        )

    @property
    def has_rest(self) -> bool:
        """Whether some mass is spread over all places: of unlisted answers, or not chosen ones."""
        return self.is_open or self.chosen is not None

    @cached_property
    def chosen_layout(self) -> Layout:
        """The layout of the answers that are solved for together."""
        return self.layout if self.chosen is None else self.layout.select(self.chosen)

    @cached_property
    def first_solver(self) -> Solver:
        """The normal equations with the weights of equal shares."""
        return self.solver(np.full(self.k, 1 / self.k))

    @property
    def is_crowded(self) -> bool:
        """Whether answers are too many to solve for together, but can be chosen among."""
        k, equations = self.layout.k, self.rows * (self.width - 1)
        tight = self.is_open and k > FEW and 5 * k > equations
        return self.solves and (tight or not self.is_solved)

    @cached_property
    def is_solved(self) -> bool:
        """Whether shares come from least squares, which needs enough places for the answers."""
        if self.chosen is not None:
            return True
        if not self.solves or not 0 < self.layout.k <= MOST_SOLVED:
            return False
        if self.layout.k > self.rows * self.width:
            return False
        return self.first_solver.inverse is not None

    @cached_property
    def excess(self) -> float:
        """By how much the noise is larger than the law has it, as the counts tell.

        It is one, unless much of what nobody listed falls on few places: then the residuals' mean
        square is.
        """
        if self.inflation is not None or self.seen is None or not self.is_open:
            return self.inflation or 1.0
        masses = self.masses_of(self.seen)
        n = int(np.sum(self.reports_of(self.seen)))
        solver = self.solver(_plausible(self._solved(self.first_solver, masses)))
        if solver.inverse is None:
            solver = self.first_solver
        square, freedom = self.chi_square(solver, masses, n)
        surely = square > freedom + 1.5 * np.sqrt(2 * max(freedom, 1))
        return square / freedom if freedom > 0 and surely else 1.0

    def chi_square(self, solver: Solver, masses: Floats, n: int) -> tuple[float, int]:
        """Return the sum of the weighted squares of what is left, and its degrees of freedom."""
        left = masses - solver.fitted(solver.solve(masses))
        reported = self.row_parts[:, 0] > 0.5 / n
        freedom = int(reported.sum()) * (self.width - self.exclusive) - solver.layout.k
        return n * float((solver.weights * left**2)[reported].sum()), freedom

    def choose(self, chosen: Integers, shares: Floats, inflation: float) -> Self:
        """Return the channel that solves for some answers together, and for each other beside them.

        The weights are made for the shares; ``inflation`` is by how much the noise is larger than
        the law tells, as what is not chosen falls on some places more than on others.
        """
        return dataclasses.replace(self, chosen=chosen, weighed_at=shares, inflation=inflation)

    def invert(self, cells: Integers | Floats, n: int) -> Floats:
        """Return least squares, weighted a second time by what the first gave, or averages."""
        masses = self.masses_of(cells)
        if not self.is_solved:
            return self.unhash(self.row_parts * masses)
        if self.weighed_at is not None:
            return self._solved(self.weighted_at(self.weighed_at), masses)
        first = self._solved(self.first_solver, masses)
        return self._solved(self.weighted_at(_plausible(first)), masses)

    def _solved(self, solver: Solver, masses: Floats) -> Floats:
        shares = solver.solve(masses)
        rest = [1 - shares.sum()] if self.is_open else []
        if self.chosen is None:
            return np.append(shares, rest)
        every = dataclasses.replace(solver, layout=self.layout)
        out = every.against(masses - solver.fitted(shares)) / self._alone(solver)
        out[self.chosen] = shares
        return np.append(out, rest)

    def scores(self, masses: Floats, n: int) -> tuple[Floats, Floats]:
        """Return the shares, and how many standard errors each candidate's is above zero."""
        assert self.weighed_at is not None
        assert self.chosen is not None
        solver = self.weighted_at(self.weighed_at)
        shares, alone = self._solved(solver, masses), self._alone(solver).copy()
        alone[self.chosen] = 1 / np.diag(solver.solution)
        return shares, shares[: len(alone)] * np.sqrt(n * alone)

    def _alone(self, solver: Solver) -> Floats:
        """Return the weight of each answer's own evidence, if it is added to the chosen ones."""
        every = dataclasses.replace(solver, layout=self.layout)
        return self._keep(
            "alone", solver.law.tobytes(), lambda: every.own_weights * (1 - solver.explained())
        )

    @cached_property
    def _kept(self) -> dict[str, tuple[bytes, Any]]:
        return {}

    def _keep(self, name: str, key: bytes, compute: Callable[[], Kept]) -> Kept:
        """Return what was computed last under this name, if it was from the same."""
        found = self._kept.get(name)
        if found is None or found[0] != key:
            found = self._kept[name] = (key, compute())
        result: Kept = found[1]
        return result

    def weighted_at(self, shares: Floats) -> Solver:
        """Return the solver at these shares, or at those of the choice.

        Where such weights leave too little to tell some answers apart, those of equal shares stay.
        """
        at = shares if self.weighed_at is None else self.weighed_at
        solver = self._keep("solver", at.tobytes(), lambda: self.solver(at))
        return self.first_solver if solver.inverse is None else solver

    def noise(self, shares: Floats, n: float) -> tuple[Floats, Floats]:
        """Return the noise of least squares given the hash functions, or the mean over them."""
        if self.is_solved:
            return self._solved_noise(self.weighted_at(shares), shares, n)
        own, _ = self._crowd
        crowded = float(self.miss + (self.hit - self.miss) * self.filled)
        square = self.difference**2
        return self.spread_noise(
            shares,
            n,
            own * float(self.hit * (1 - self.hit)) / square,
            own * crowded * (1 - crowded) / square,
        )

    def _solved_noise(self, solver: Solver, shares: Floats, n: float) -> tuple[Floats, Floats]:
        hit, miss = float(self.hit), float(self.miss)
        at = shares if self.chosen is None else shares[self.chosen]
        at = at[: solver.layout.k]
        both = self._keep(
            "variances",
            np.append(at, n).tobytes() + solver.law.tobytes(),
            lambda: self.excess * solver.variances(at, n, hit, miss),
        )
        variance, alone = both[:-1], np.diag(solver.solution) / n
        if self.chosen is not None:
            every = self.excess / (n * self._alone(solver))
            every[self.chosen], variance = variance, every
            alone = variance
        every_solver = dataclasses.replace(solver, layout=self.layout)
        slope = every_solver.slopes(alone, hit, miss)
        if self.is_open:
            variance, slope = np.append(variance, both[-1]), np.append(slope, 0.0)
        # What is left without the sampling of the people themselves, and without the own share.
        private = variance - shares * (1 - shares) / n
        return np.maximum(private - slope * shares, 1e-3 * variance + 1e-30), slope

    @property
    def false_support(self) -> float:
        """The chance of a place of a random string."""
        return float(self.miss + (self.hit - self.miss) * self.filled)

    @property
    def tells_absence(self) -> bool:
        """Averages do not: they take up what others have on the same places."""
        return self.is_solved or not self.solves

    def loosened(self, limits: Floats) -> Floats:
        """Let the unlisted mass be as small as zero, where rare candidates are mixed with it."""
        if self.chosen is not None and self.is_open:
            limits[-1, 0] = 0.0
        return limits

    def variance_sampled(self, shares: Floats, n: int) -> Floats:
        """Add sampling; least squares know the collisions, so that nothing more is to add."""
        if self.is_solved:
            return Channel.variance_sampled(self, shares, n)
        return super().variance_sampled(shares, n)

    def collision_part(self, shares: Floats, n: int) -> float:
        """Return which part of the variance comes from collisions; none if they are solved for."""
        return 0.0 if self.is_solved else super().collision_part(shares, n)


def _plausible(shares: Floats) -> Floats:
    positive = np.maximum(shares, 0)
    return np.asarray(positive / max(float(positive.sum()), 1e-300))


@dataclass(frozen=True, eq=False)
class CategorySketch(Tables):
    """Cell (r, b) counts the reports of place b in row r.

    The own place of an answer is reported with probability ``hit``, each other with ``miss``.
    """

    @property
    def cells(self) -> tuple[int, ...]:
        """Rows by places."""
        return (self.rows, self.width)

    @property
    def is_histogram(self) -> bool:
        """A report is one row and place."""
        return True

    @property
    def exclusive(self) -> bool:
        """A report counts on one place."""
        return True

    def reports_of(self, cells: Integers | Floats) -> Integers | Floats:
        """Return the sums of the rows."""
        return np.asarray(cells.sum(axis=1))

    def placed(self, cells: Integers | Floats) -> Integers | Floats:
        """Return the cells themselves."""
        return cells

    def row(self, answer: int) -> list[Fraction]:
        """Return the law of the report of one answer."""
        out: list[Fraction] = []
        for row in range(self.rows):
            own = self.on_places(row, answer)
            out += [(self.miss + (self.hit - self.miss) * part) / self.rows for part in own]
        return out

    @property
    def base(self) -> Floats:
        """Places are reported falsely."""
        return np.asarray(self.row_parts * float(self.miss))

    def gain(self, shares: Floats) -> Floats:
        """Return (hit - miss) times the share on each place, times the row's part."""
        return np.asarray(self.difference * self.row_parts * self.masses(shares))

    def collect(self, weights: Floats) -> Floats:
        """Return the summed weights of the places of each answer, times (hit - miss)."""
        return self.difference * self.totals(self.row_parts * weights)


@dataclass(frozen=True, eq=False)
class BitSketch(Tables):
    """Cell (r, 0) counts the reports of row r, cell (r, 1 + b) those of them with bit b set.

    Bits of the answer's own places are set with probability ``hit``, each other with ``miss``.
    """

    @property
    def cells(self) -> tuple[int, ...]:
        """Rows by one count of reports and ``width`` counts of bits."""
        return (self.rows, 1 + self.width)

    @property
    def is_histogram(self) -> bool:
        """A report sets many bits."""
        return False

    @property
    def exclusive(self) -> bool:
        """Bits are set independently."""
        return False

    def complaint(self, cells: Integers, n: int) -> str | None:
        """Rows must add up to the reports, and no bit be set more often than its row is sent."""
        total = exact_sum(cells[:, 0])
        if total != n:
            return f"rows add up to {total} reports, but there are {n} reports"
        above = np.argwhere(cells[:, 1:] > cells[:, :1])
        if len(above):
            row, bit = (int(x) for x in above[0])
            times, reports = cells[row, 1 + bit], cells[row, 0]
            return f"bit {bit} of row {row} is set {times} times in {reports} reports"
        return None

    def reports_of(self, cells: Integers | Floats) -> Integers | Floats:
        """Return the first column."""
        return cells[:, 0]

    def placed(self, cells: Integers | Floats) -> Integers | Floats:
        """Return the other columns."""
        return cells[:, 1:]

    def row(self, answer: int) -> list[Fraction]:
        """Return the mean of every cell for one answer."""
        out: list[Fraction] = []
        for row in range(self.rows):
            own = self.on_places(row, answer)
            bits = [self.miss + (self.hit - self.miss) * part for part in own]
            out += [x / self.rows for x in [Fraction(1), *bits]]
        return out

    @property
    def base(self) -> Floats:
        """A report counts in its row, and its bits are set falsely."""
        return np.asarray(self.row_parts * ([1.0] + [float(self.miss)] * self.width))

    def gain(self, shares: Floats) -> Floats:
        """Return (hit - miss) times the share on each place, times the row's part."""
        out = np.zeros(self.cells)
        out[:, 1:] = self.difference * self.row_parts * self.masses(shares)
        return out

    def collect(self, weights: Floats) -> Floats:
        """Return the summed weights of the places of each answer, times (hit - miss)."""
        return self.difference * self.totals(self.row_parts * weights[:, 1:])

    def covariance(self, histogram: Integers | Floats) -> Floats:
        """Return the covariance of the cells: bits of one row are independent given the row."""
        size = 1 + self.width
        out = np.zeros((self.rows * size, self.rows * size))
        histogram = np.asarray(histogram, np.float64)
        for answer, (people, mean) in enumerate(zip(histogram, self.matrix(), strict=True)):
            second = np.zeros_like(out)
            for row in range(self.rows):
                part = slice(row * size, (row + 1) * size)
                given_row = mean[part] * self.rows
                block = np.outer(given_row, given_row)
                if answer == self.layout.k:  # both of two places are on together less often
                    block[1:, 1:] += self.difference**2 * float(self.filled_pair - self.filled**2)
                np.fill_diagonal(block, given_row)
                second[part, part] = block / self.rows
            out += people * (second - np.outer(mean, mean))
        return out
