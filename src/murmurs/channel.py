"""The law of the count cells given an answer: mean, inverse, variance, covariance.

A report adds something to some cells; the channel says what, on average and around it. Estimators
know channels and nothing else of a mechanism. Two noises are told apart by name: *conditional* on
the true counts of the people who answered only the privacy noise is left; for a *sampled*
population the people themselves are a draw from it.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Self

import numpy as np

from murmurs.boundary.checks import whole
from murmurs.channels.repeats import ONCE, Repeats
from murmurs.numerics.arrays import Floats, Integers, exact_sum

MOST_PEOPLE = 2**62
"""Reports of the largest counts; sums of a few such numbers stay within 64 bits."""


class Channel(ABC):
    """What an answer among ``k`` adds to the cells, and how to get back from cells to shares.

    Among n reports there may be several of each person: ``repeats`` says how many.
    """

    k: int
    repeats: Repeats = ONCE

    @property
    @abstractmethod
    def cells(self) -> tuple[int, ...]:
        """The shape of the array of cells."""

    @property
    @abstractmethod
    def is_histogram(self) -> bool:
        """Whether each report adds one to exactly one cell, so that the cells tell all it says."""

    @abstractmethod
    def law_of(self, answer: int) -> list[Fraction]:
        """Return exactly what one report of this answer adds to each cell on average."""

    @property
    @abstractmethod
    def base(self) -> Floats:
        """What a report adds to the cells on average, whatever the answer; it broadcasts."""

    @abstractmethod
    def gain(self, shares: Floats) -> Floats:
        """Return what the answers add to the cells on average beyond the base; it is linear."""

    @abstractmethod
    def adjoint(self, weights: Floats) -> Floats:
        """Return the adjoint of `gain`: for each answer, the weights of the cells it adds to."""

    @abstractmethod
    def invert(self, cells: Integers | Floats, n: int) -> Floats:
        """Return the unbiased linear estimate of the shares; it may be negative."""

    @abstractmethod
    def noise(self, shares: Floats, n: float) -> tuple[Floats, Floats]:
        """Return c and s: each inverted share has variance c + s * (that share) among n people.

        ``shares`` says what the other answers are, where c depends on them.
        """

    @property
    def times(self) -> int:
        """How many of the reports come from each person."""
        return self.repeats.times

    def repeating(self, repeats: Repeats) -> Self:
        """Return the channel among people who report several times each."""
        return dataclasses.replace(self, repeats=repeats)  # type: ignore[type-var]

    def groups(self, cells: Integers) -> Integers:
        """Return the reports of each group that nobody leaves, as are cohorts."""
        return cells[:0]

    def conditioned_on(self, cells: Integers) -> Self:
        """Return the channel given what the cells say about anything but the answers.

        Where people are split by chance, as into cohorts, that is how many there are in each.
        """
        return self

    @property
    def other(self) -> int | None:
        """The answer that stands for everything in no list, in an open alphabet."""
        return None

    @property
    def is_crowded(self) -> bool:
        """Whether there are too many answers to estimate together, but some can be chosen."""
        return False

    def collision_part(self, shares: Floats, n: int) -> float:
        """Return which part of the variance comes from collisions that could be solved for."""
        return 0.0

    @property
    def false_support(self) -> float | None:
        """The chance that a report speaks for an answer that nobody holds, if that is what counts.

        Where it is small, the inverse of few reports is skewed. Of several reports of each person
        it is that of one person's yes or no that is as skewed as their sum.
        """
        return None

    @property
    def tells_absence(self) -> bool:
        """Whether the inverse of an answer that nobody holds is zero but for known noise."""
        return True

    def why_impossible(self, cells: Integers, n: int) -> str | None:
        """Return why these cells cannot come from n reports, or None; each is within 0..n."""
        if not self.is_histogram:
            return None
        total = exact_sum(cells)
        if total == n:
            return None
        return f"cells add up to {total}, but each of {n} reports counts in exactly one"

    def support(self, cells: Integers) -> tuple[Integers, Fraction, Fraction] | None:
        """Return how many reports support each answer, and the chances that a true and a false do.

        Given the true counts, each is then a sum of two binomial numbers. None where the inverse
        is not made of such counts.
        """
        return None

    def mean(self, shares: Floats) -> Floats:
        """Return what one report adds to the cells on average, when answers have these shares."""
        return np.asarray(self.base + self.gain(shares))

    def variance(self, histogram: Integers | Floats) -> Floats:
        """Return the variance of each inverted share, conditional on the true counts."""
        n = float(np.sum(histogram))
        shares = np.asarray(histogram, np.float64) / n
        constant, slope = self.noise(shares, n)
        return np.asarray(constant + slope * shares)

    def variance_sampled(self, shares: Floats, n: int) -> Floats:
        """Return the variance of each inverted share when people are drawn from a population.

        Here as elsewhere n counts reports.
        """
        return self.variance(shares * n) + shares * (1 - shares) * self.times / n

    def matrix(self) -> Floats:
        """Return the means of the cells, one row an answer; for small alphabets."""
        base = np.broadcast_to(self.base, self.cells)
        return np.array([(base + self.gain(unit)).ravel() for unit in np.eye(self.k)])

    def covariance(self, histogram: Integers | Floats) -> Floats:
        """Return the covariance of the (flattened) cells, conditional on the true counts."""
        if not self.is_histogram:
            raise TypeError(f"{type(self).__name__} must say how its cells vary together")
        rows = self.matrix()
        return np.diag(histogram @ rows) - rows.T @ (rows * np.asarray(histogram)[:, None])

    def covariance_sampled(self, shares: Floats, n: int) -> Floats:
        """Return the covariance of the cells when people are drawn from a population."""
        rows = self.matrix()
        people = np.diag(shares) - np.outer(shares, shares)
        return self.covariance(n * shares) + n * self.times * rows.T @ people @ rows

    def expected_l2(self, n: int, shares: Floats | None = None, *, sampled: bool = False) -> float:
        """Return the expected squared l2 distance of the inverted shares from the truth.

        The truth is the shares of the people who answered, or with ``sampled`` those of the
        population they come from. Without shares the answers are taken as uniform.
        """
        return float(self._variances(n, shares, sampled).sum())

    def expected_l1(self, n: int, shares: Floats | None = None, *, sampled: bool = False) -> float:
        """Return the expected l1 distance, each error being nearly normal: sum sqrt(2 var / pi)."""
        return float(np.sqrt(self._variances(n, shares, sampled) * 2 / np.pi).sum())

    def _variances(self, n: int, shares: Floats | None, sampled: bool) -> Floats:
        n = whole(n, "n", 1, MOST_PEOPLE)
        law = np.full(self.k, 1 / self.k) if shares is None else np.asarray(shares, np.float64)
        return self.variance_sampled(law, n) if sampled else self.variance(law * n)
