"""The law of tables that count the buckets of hashed answers in all cohorts.

The mass in each bucket is estimated without bias; shares come from the masses in one of two ways.
With not too many answers and enough buckets, least squares solves for all of them, and the shares
are unbiased given the hash functions. Otherwise they are averages over hash functions, as in
`murmurs.channels.hashed`. How the data select answers and weight cells is up to the fit
(`murmurs.inference.least_squares`).
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from murmurs.channels.channel import Channel
from murmurs.channels.hashed import Sketch
from murmurs.channels.repeats import ONCE, Repeats
from murmurs.channels.solving import MOST_SOLVED, Solver
from murmurs.hashing.layout import Layout
from murmurs.numerics.arrays import Floats, Integers

ALWAYS_SOLVED = 50
"""The most candidates that are solved for together if possible, however few the equations."""

AMPLE = 5
"""Equations per candidate from which longer lists are solved for together, too."""


@dataclass(frozen=True, eq=False)
class Tables(Sketch):
    """Sketches that count buckets: an answer's own with probability hit, others with miss.

    ``parts`` are the parts of the reports that each row gets; until they are known, they are taken
    as equal. The cells of a row without reports carry no information.
    """

    solvable: ClassVar[bool] = True
    """Whether collisions may be solved for; the rows of a mean sketch are averaged instead."""

    hit: Fraction
    miss: Fraction
    _: dataclasses.KW_ONLY
    parts: Floats | None = None
    repeats: Repeats = ONCE

    @property
    @abstractmethod
    def exclusive(self) -> bool:
        """Whether a report counts in only one bucket."""

    @abstractmethod
    def reports_of(self, cells: Integers | Floats) -> Integers | Floats:
        """Return the number of reports to each row."""

    @abstractmethod
    def placed(self, cells: Integers | Floats) -> Integers | Floats:
        """Return the counts in the buckets of each row."""

    def groups(self, cells: Integers) -> Integers:
        """Return the reports to each row."""
        return np.asarray(self.reports_of(cells), np.int64)

    def conditioned_on(self, cells: Integers) -> Self:
        """Return the channel given the number of people in each row."""
        reports = np.asarray(self.reports_of(cells), np.float64)
        # A row without reports gets a tiny part, so that nothing is divided by zero.
        parts = np.maximum(reports, 1e-9) / max(float(reports.sum()), 1e-9)
        return dataclasses.replace(self, parts=parts)

    @property
    def row_parts(self) -> Floats:
        """The parts of the reports that each row gets, one line per row."""
        parts = np.full(self.rows, 1 / self.rows) if self.parts is None else self.parts
        return parts[:, None]

    @property
    def difference(self) -> float:
        """How much more often a true bucket is counted than another: hit - miss."""
        return float(self.hit - self.miss)

    def masses_of(self, cells: Integers | Floats) -> Floats:
        """Return the unbiased estimate of the mass in each bucket of each row."""
        reports = np.maximum(np.asarray(self.reports_of(cells), np.float64), 1e-9)[:, None]
        masses = (self.placed(cells) / reports - float(self.miss)) / self.difference
        empty = reports < 0.5
        return np.where(empty, 1 / self.width, masses)

    @property
    def equations(self) -> int:
        """The number of independent equations of the cells, as each row has a fixed sum."""
        return self.rows * (self.width - 1) + 1

    def solver(self, shares: Floats, layout: Layout | None = None) -> Solver:
        """Return the normal equations of all answers, with cells weighted for these shares.

        With a ``layout`` they are only for some of the answers; the others are then part of the
        mass that is spread over all buckets.
        """
        masses = self.masses(shares)
        if layout is not None and not self.is_open:
            masses = masses + float(self.filled) * (1 - shares.sum())
        return self.solver_for(masses, layout)

    def solver_for(self, masses: Floats, layout: Layout | None = None) -> Solver:
        """Return the normal equations with cells weighted for these masses, as `solver` does."""
        with_rest = self.is_open or layout is not None
        return Solver(
            self.layout if layout is None else layout,
            float(self.filled) if with_rest else 0.0,
            float(self.filled_pair),
            self.row_parts,
            float(self.miss) + self.difference * masses,
            self.difference,
            self.exclusive,
            self.repeats,
        )

    @cached_property
    def equal_solver(self) -> Solver:
        """The normal equations, weighted for equal shares."""
        return self.solver(np.full(self.k, 1 / self.k))

    def solver_at(self, shares: Floats) -> Solver:
        """Return the solver weighted for these shares.

        If these weights cannot separate all answers, the weights for equal shares are used.
        """
        solver = self.solver(shares)
        return self.equal_solver if solver.inverse is None else solver

    @cached_property
    def is_solved(self) -> bool:
        """Whether shares come from least squares, which needs enough buckets for the answers."""
        k = self.layout.k
        if not self.solvable or not 0 < k <= min(MOST_SOLVED, self.rows * self.width):
            return False
        return self.equal_solver.inverse is not None

    @property
    def is_crowded(self) -> bool:
        """Whether there are too many answers to solve for together, but some can be selected."""
        k = self.layout.k
        tight = self.is_open and k > ALWAYS_SOLVED and AMPLE * k > self.equations - 1
        return self.solvable and (tight or not self.is_solved)

    def invert(self, cells: Integers | Floats, n: int) -> Floats:
        """Return least squares weighted for equal shares, or averages."""
        masses = self.masses_of(cells)
        if not self.is_solved:
            return self.unhash(self.row_parts * masses)
        return self.with_rest(self.equal_solver.solve(masses))

    def with_rest(self, shares: Floats) -> Floats:
        """Return the shares of listed answers, plus that of all others in an open alphabet."""
        return np.append(shares, 1 - shares.sum()) if self.is_open else shares

    def noise(self, shares: Floats, n: float) -> tuple[Floats, Floats]:
        """Return the noise of least squares weighted for the shares, or of averages."""
        if self.is_solved:
            solver = self.solver_at(shares)
            return self.solved_noise(solver, shares, n)
        own, _ = self._crowd
        each = own / self.difference**2
        return self.spread_noise(
            shares,
            n,
            each * self.place_variance(self.hit),
            each * self.place_variance(self._crowded),
        )

    @property
    def _crowded(self) -> Fraction:
        """The probability that a report counts in a given bucket, for a random string."""
        return self.miss + (self.hit - self.miss) * self.filled

    def place_variance(self, law: Fraction) -> float:
        """Return the variance that a report adds to a bucket's count, given its probability."""
        return float(self.repeats.variance_per_report(law))

    def solved_noise(
        self, solver: Solver, shares: Floats, n: float, inflation: float = 1.0
    ) -> tuple[Floats, Floats]:
        """Return c and s of `noise` for a solver of all answers, given the hash functions."""
        hit, miss = self.place_variance(self.hit), self.place_variance(self.miss)
        variance = inflation * solver.variances(shares[: solver.layout.k], n, hit, miss)
        own = np.diag(solver.solution) / n
        slope = solver.slopes(solver.layout, solver.on, own, hit - miss)
        if self.is_open:
            return private_noise(variance, np.append(slope, 0.0), shares, n / self.times)
        return private_noise(variance[:-1], slope, shares, n / self.times)

    def row_covariance(self, shares: Floats, row: int) -> Floats:
        """Return the covariance of the buckets of one row in a report to it, for a population.

        Two buckets are counted together for people who have both; never if a report has only one.
        """
        mass = self.masses(shares)[row]
        law = float(self.miss) + self.difference * mass
        if self.exclusive:
            out = -np.outer(law, law)
        else:
            held = np.zeros((self.layout.k, self.width + 1))
            for at in self.layout.places_in(row):
                held[np.arange(self.layout.k), at] = 1.0
            both = held[:, :-1].T @ (shares[: self.layout.k, None] * held[:, :-1])
            if self.is_open:
                both += float(self.filled_pair) * shares[-1]
            out = self.times * self.difference**2 * (both - np.outer(mass, mass))
        np.fill_diagonal(out, self.repeats.variance_per_report(law))
        return np.asarray(out)

    @property
    def false_support(self) -> float:
        """The probability for a bucket of a random string."""
        return self.repeats.skewed_chance(self._crowded)

    @property
    def tells_absence(self) -> bool:
        """False for averages of solvable tables: they include other answers in the same buckets."""
        return self.is_solved or not self.solvable

    def variance_sampled(self, shares: Floats, n: int) -> Floats:
        """Add sampling; least squares solves for collisions, so they add nothing more."""
        if self.is_solved:
            return Channel.variance_sampled(self, shares, n)
        return super().variance_sampled(shares, n)

    def collision_part(self, shares: Floats, n: int) -> float:
        """Return the part of the variance due to collisions; zero if they are solved for."""
        return 0.0 if self.is_solved else super().collision_part(shares, n)


def private_noise(
    variance: Floats, slope: Floats, shares: Floats, people: float
) -> tuple[Floats, Floats]:
    """Return c and s of `Channel.noise` for shares with these variances in a sampled population.

    The sampling of the people and the part that grows with the share are taken out of c.
    """
    private = variance - shares * (1 - shares) / people
    return np.maximum(private - slope * shares, 1e-3 * variance + 1e-30), slope
