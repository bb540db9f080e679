"""Fits of hashed answers in cohorts: shares from the masses in the buckets of known hash functions.

All answers are solved for together if possible (`LeastSquares`). If there are too many, some are
solved for together, and each of the others is estimated one at a time (`Selected`); otherwise the
share of an answer is an average over its buckets (`Averages`). All three are linear in the
estimated masses.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self, cast

import numpy as np

from murmurs.channels.bit_sketch import MeanSketch
from murmurs.channels.ngrams import NGramsChannel
from murmurs.channels.solving import Solver
from murmurs.channels.tables import Tables, private_noise
from murmurs.counts import Counts
from murmurs.hashing.layout import Layout
from murmurs.inference.collisions import MeanFit
from murmurs.inference.fit import Fit, Target
from murmurs.numerics.arrays import Floats, Integers
from murmurs.numerics.simplex import plausible

NOTED = 1.2
"""Variance inflation above which a note is added."""

NOTED_OF_FEW = 3.0
"""The same where inflation is not tested first, as few equations can inflate by chance."""


@dataclass(frozen=True, eq=False)
class Places(Fit):
    """What fits of hashed answers share: estimated masses, and a linear map from them to shares.

    ``law`` is given if the fit covers only some of the answers: it is the law of these. ``table``
    are the cells it is about, if there are others.
    """

    law: Tables | None = field(default=None, kw_only=True)
    table: Integers | None = field(default=None, kw_only=True)

    @property
    def channel(self) -> Tables:
        """The law of the tables."""
        return cast(Tables, self.counts.channel) if self.law is None else self.law

    @cached_property
    def masses(self) -> Floats:
        """The unbiased estimate of the mass in each bucket of each cohort."""
        return self.channel.masses_of(self.counts.cells if self.table is None else self.table)

    @property
    def inflation(self) -> float:
        """The factor by which the variance exceeds that of the law."""
        return 1.0

    @abstractmethod
    def shares_of(self, masses: Floats) -> Floats:
        """Return the shares of a table of masses."""

    @cached_property
    def unbiased(self) -> Floats:
        """The shares of the estimated masses."""
        return self.shares_of(self.masses)

    def covariance(self, shares: Floats, target: Target) -> Floats:
        """Return the covariance of the shares, through the map and the law of each cohort."""
        channel, n = self.channel, self.n
        table = (channel.rows, channel.width)
        zero = self.shares_of(np.zeros(table))
        units = np.eye(channel.rows * channel.width).reshape(-1, *table)
        lever = np.array([self.shares_of(unit) - zero for unit in units])
        out = np.zeros((len(zero), len(zero)))
        for row, own in enumerate(lever.reshape(*table, -1)):
            people = n * float(channel.row_parts[row, 0]) * channel.difference**2
            out += own.T @ channel.row_covariance(shares, row) @ own / people
        out *= self.inflation
        if target == "population":
            return out
        sampling = (np.diag(shares) - np.outer(shares, shares)) / self.counts.people
        return np.asarray(out - sampling)

    def chi_square(self, solver: Solver) -> tuple[float, int]:
        """Return the weighted squares of the residuals, and their degrees of freedom."""
        channel = self.channel
        left = self.masses - solver.fitted(solver.solve(self.masses))
        reported = channel.row_parts[:, 0] > 0.5 / self.n
        freedom = int(reported.sum()) * (channel.width - channel.exclusive) - solver.layout.k
        return self.n * float((solver.weights * left**2)[reported].sum()), freedom


@dataclass(frozen=True, eq=False)
class Averages(Places):
    """The mean over hash functions: other answers in the same buckets add to a share."""

    @property
    def has_covariance(self) -> bool:
        """False: what other answers add is far from normal."""
        return False

    def without_collisions(self) -> None:
        """Return None: unlisted strings have unknown buckets."""
        return

    def shares_of(self, masses: Floats) -> Floats:
        """Return the average over the buckets of an answer, minus what others add on average."""
        return self.channel.unhash(self.channel.row_parts * masses)


@dataclass(frozen=True, eq=False)
class LeastSquares(Places):
    """All answers solved for together, with cells weighted by a first solution."""

    @cached_property
    def solver(self) -> Solver:
        """The normal equations, weighted at the solution with equal weights."""
        channel = self.channel
        first = channel.with_rest(channel.equal_solver.solve(self.masses))
        return channel.solver_at(plausible(first))

    def shares_of(self, masses: Floats) -> Floats:
        """Return the solution."""
        return self.channel.with_rest(self.solver.solve(masses))

    def noise(self, shares: Floats) -> tuple[Floats, Floats]:
        """Return the noise of the solution weighted at these shares."""
        solver = self.channel.solver_at(shares)
        return self.channel.solved_noise(solver, shares, self.n, self.inflation)

    @cached_property
    def inflation(self) -> float:
        """The mean square of the residuals, if it is significantly above one.

        It is one, unless many people hold unlisted strings that fall into few buckets.
        """
        if self.channel.other is None:
            return 1.0
        square, freedom = self.chi_square(self.solver)
        surely = square > freedom + 1.5 * np.sqrt(2 * max(freedom, 1))
        return square / freedom if freedom > 0 and surely else 1.0

    @property
    def notes(self) -> tuple[str, ...]:
        """A note if a common string seems to be missing from the list."""
        if self.inflation <= NOTED:
            return super().notes
        return (
            *super().notes,
            "the counts fit the candidates poorly, as if a common string were missing from the "
            f"list; intervals are {self.inflation**0.5:.2g} times as wide to allow for it",
        )


@dataclass(frozen=True, eq=False)
class Added:
    """What residuals say about answers, each as if it was added to those that are solved for.

    ``on`` are the weights on an answer's buckets, added up; ``weight`` is that of its evidence.
    """

    on: Floats
    weight: Floats
    shares: Floats

    def scores(self, n: int) -> Floats:
        """Return how many standard errors each share is above zero."""
        return np.asarray(self.shares * np.sqrt(n * self.weight))


@dataclass(frozen=True, eq=False)
class Selected(Places):
    """Some answers solved for together, and each of the others added one at a time.

    Cells are weighted at the shares ``weighed_at``.
    """

    chosen: Integers
    weighed_at: Floats

    def choose(self, chosen: Integers, weighed_at: Floats) -> Self:
        """Return the same fit with another choice of answers."""
        return replace(self, chosen=chosen, weighed_at=weighed_at)

    def alongside(self, fits: Sequence[Fit]) -> Fit:
        """Return a fit with the choice of all ``fits``; one without a choice if hashes differ.

        Answers that are not chosen add to the shares of those in the same buckets. With one choice,
        one weighting and the same hash functions they add as much on each side. Otherwise a
        difference would be that of the choices, or of the hash functions.
        """
        mechanism, own = self.counts.mechanism, [fit for fit in fits if isinstance(fit, Selected)]
        if len(own) < len(fits) or any(fit.counts.mechanism != mechanism for fit in own):
            return hashed_fit(self.counts)
        weighed_at = np.mean([fit.weighed_at for fit in own], axis=0)
        chosen = np.unique(np.concatenate([fit.chosen for fit in own]))
        if own[0].choose(chosen, weighed_at).equal_solver.inverse is None:
            chosen = max(own, key=lambda fit: fit.n).chosen
        return self.choose(chosen, weighed_at)

    @cached_property
    def inflation(self) -> float:
        """The chi-square of the residuals over its degrees of freedom, if above one.

        Answers that are not chosen fall into some buckets more than into others. Answers that were
        chosen as the largest of many take more than one degree of freedom each.
        """
        square, freedom = self.chi_square(self.solver)
        k, chosen = self.channel.layout.k, len(self.chosen)
        searched = chosen * math.log(max(k / max(chosen, 1), 1.0))
        return max(1.0, square / max(freedom - searched, 0.5 * freedom, 1.0))

    @cached_property
    def layout(self) -> Layout:
        """The layout of the chosen answers."""
        return self.channel.layout.select(self.chosen)

    @cached_property
    def equal_solver(self) -> Solver:
        """The normal equations of the chosen answers, with all buckets taken as equally full."""
        table = (self.channel.rows, self.channel.width)
        return self.channel.solver_for(np.full(table, float(self.channel.filled)), self.layout)

    @cached_property
    def solver(self) -> Solver:
        """The normal equations of the chosen answers, weighted at the shares of the choice."""
        solver = self.channel.solver(self.weighed_at, self.layout)
        return self.equal_solver if solver.inverse is None else solver

    @cached_property
    def solved(self) -> Floats:
        """The shares of the chosen answers."""
        return self.solver.solve(self.masses)

    @cached_property
    def explained(self) -> float:
        """What part of an answer's evidence the chosen answers imitate."""
        return self.solver.explained()

    def added(self, layout: Layout) -> Added:
        """Return what the residuals say about each answer of a layout, in one pass over it."""
        solver = self.solver
        left = solver.weights * (self.masses - solver.fitted(self.solved))
        on, against = layout.all_totals(solver.weights, left)
        weight = solver.own_weights(on) * (1 - self.explained)
        return Added(on, weight, (against - solver.filled * left.sum()) / weight)

    @cached_property
    def alone(self) -> Added:
        """The same for all answers."""
        return self.added(self.channel.layout)

    @property
    def notes(self) -> tuple[str, ...]:
        """A note if answers that were not chosen hold a large share."""
        if self.inflation <= NOTED_OF_FEW:
            return super().notes
        return (
            *super().notes,
            "strings that were not chosen or not listed have a large share, which adds noise: "
            f"intervals are {self.inflation**0.5:.2g} times as wide to allow for it, and tests of "
            "a change find little; ask with more cohorts or buckets",
        )

    @cached_property
    def unbiased(self) -> Floats:
        """The solution, and the share of each other answer if it is added to the chosen."""
        return self._with_solved(self.solved, self.alone.shares)

    def shares_of(self, masses: Floats) -> Floats:
        """Return what the unbiased shares are with these masses."""
        solver, shares = self.solver, self.solver.solve(masses)
        every = replace(solver, layout=self.channel.layout)
        others = every.against(masses - solver.fitted(shares)) / self.alone.weight
        return self._with_solved(shares, others)

    def _with_solved(self, solved: Floats, others: Floats) -> Floats:
        out = others.copy()
        out[self.chosen] = solved
        rest = [1 - solved.sum()] if self.channel.other is not None else []
        return np.append(out, rest)

    def scores(self, among: Integers | None = None) -> Floats:
        """Return how many standard errors the share of each listed answer is above zero.

        If only the scores ``among`` some answers are wanted, those of the others are not computed:
        they are minus infinity.
        """
        if among is None:
            out = self.alone.scores(self.n)
        else:
            out = np.full(self.channel.layout.k, -np.inf)
            out[among] = self.added(self.channel.layout.select(among)).scores(self.n)
        out[self.chosen] = self.solved * np.sqrt(self.n / np.diag(self.solver.solution))
        return out

    def noise(self, shares: Floats) -> tuple[Floats, Floats]:
        """Return the noise of the solution, and of each of the other answers."""
        channel, solver = self.channel, self.solver
        hit, miss = channel.place_variance(channel.hit), channel.place_variance(channel.miss)
        solved = self.inflation * solver.variances(shares[self.chosen], self.n, hit, miss)
        variance = self.inflation / (self.n * self.alone.weight)
        variance[self.chosen] = solved[:-1]
        slope = solver.slopes(channel.layout, self.alone.on, variance, hit - miss)
        if channel.other is not None:
            variance, slope = np.append(variance, solved[-1]), np.append(slope, 0.0)
        return private_noise(variance, slope, shares, self.counts.people)

    @property
    def tells_absence(self) -> bool:
        """Strong answers are solved for, so they leave nothing in the buckets of others."""
        return True

    def widen(self, limits: Floats) -> Floats:
        """Let the lower limit of "(other)" be zero: rare candidates are mixed with it."""
        if self.channel.other is not None:
            limits[-1, 0] = 0.0
        return limits


@dataclass(frozen=True, eq=False)
class SharedOut(Fit):
    """A fit where each group of answers that nothing tells apart divides its share equally.

    ``first`` is the fit of the ``kept`` answers: all except the later ones of each group.
    """

    first: Selected
    kept: Integers
    groups: Sequence[Integers]

    def alongside(self, fits: Sequence[Fit]) -> Fit:
        """Return a fit with the choice of all ``fits``; one without a choice if hashes differ."""
        first = self.first.alongside([getattr(fit, "first", fit) for fit in fits])
        return (
            replace(self, first=first) if isinstance(first, Selected) else hashed_fit(self.counts)
        )

    @property
    def chosen(self) -> Integers:
        """The answers that are solved for together, one of each group."""
        return self.kept[self.first.chosen]

    @property
    def weighed_at(self) -> Floats:
        """The shares at which cells are weighted."""
        return self.share_out(self.first.weighed_at, 1)

    @cached_property
    def unbiased(self) -> Floats:
        """The shares of the kept answers, divided within groups."""
        return self.share_out(self.first.unbiased, 1)

    def share_out(self, values: Floats, power: int) -> Floats:
        """Return values of all answers; those of a group are divided by its size ** power."""
        listed = len(self.kept) + sum(len(group) - 1 for group in self.groups)
        out = np.zeros(listed)
        out[self.kept] = values[: len(self.kept)]
        for group in self.groups:
            out[group] = out[group[0]] / len(group) ** power
        return np.append(out, values[len(self.kept) :])

    def joined(self, shares: Floats) -> Floats:
        """Return the shares of the kept answers, each summed over its group."""
        out = shares.copy()
        for group in self.groups:
            out[group[0]] = shares[group].sum()
        listed = len(self.kept) + sum(len(group) - 1 for group in self.groups)
        return np.append(out[self.kept], shares[listed:])

    def noise(self, shares: Floats) -> tuple[Floats, Floats]:
        """Return the noise of the kept answers, divided within groups."""
        constant, slope = self.first.noise(self.joined(shares))
        return self.share_out(constant, 2), self.share_out(slope, 1)

    def covariance(self, shares: Floats, target: Target) -> Floats:
        """Return the covariance of the kept answers, divided within groups."""
        both = self.first.covariance(self.joined(shares), target)
        once = np.array([self.share_out(line, 1) for line in both])
        return np.array([self.share_out(line, 1) for line in once.T])

    @property
    def tells_absence(self) -> bool:
        """Whether the first fit can tell absent answers."""
        return self.first.tells_absence

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes of the first fit."""
        return self.first.notes

    @property
    def confounded(self) -> Sequence[Integers]:
        """The groups."""
        return self.groups

    def widen(self, limits: Floats) -> Floats:
        """Let each answer of a group have between nothing and the whole share of the group."""
        limits = self.first.widen(limits)
        for group in self.groups:
            limits[group] = 0.0, min(1.0, float(limits[group, 1].sum()))
        return limits


def hashed_fit(counts: Counts) -> Fit:
    """Return the fit of counts in buckets of hashed answers."""
    channel = counts.channel
    if isinstance(channel, NGramsChannel):  # shares come from the reports of whole strings
        table, _ = channel.split(counts.cells)
        kind = LeastSquares if channel.whole.is_solved else Averages
        return kind(counts, law=channel.whole, table=table)
    if not isinstance(channel, Tables) or isinstance(channel, MeanSketch):
        return MeanFit(counts)
    if channel.is_solved:
        return LeastSquares(counts)
    has_others = channel.is_open or channel.layout.hashes > 1
    return Averages(counts) if has_others else MeanFit(counts)
