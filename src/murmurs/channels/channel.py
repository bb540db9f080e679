"""The distribution of the count cells given the answer: mean, inverse, variance, covariance.

A report adds to some cells; the channel describes the mean and the variance of what it adds.
Estimators know the channel of a mechanism and nothing else about it. There are two kinds of noise:
*conditional* on the true counts of the respondents, only the privacy noise is left; for a *sampled*
population, the respondents themselves are a random sample.
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Self

import numpy as np

from murmurs.boundary.checks import whole
from murmurs.channels.repeats import ONCE, Repeats
from murmurs.numerics.arrays import Floats, Integers, exact_sum

MOST_PEOPLE = 2**62
"""The most reports in counts; sums of a few such numbers fit in 64 bits."""


class Channel(ABC):
    """What each of ``k`` answers adds to the cells, and how to get from cells back to shares.

    Each person may have sent several of the n reports: ``repeats`` says how many.
    """

    k: int
    repeats: Repeats = ONCE
    factors: tuple[Channel, ...] = ()
    """The channels of the single questions, if an answer combines answers to several."""

    @property
    @abstractmethod
    def cells(self) -> tuple[int, ...]:
        """The shape of the array of cells."""

    @property
    @abstractmethod
    def is_histogram(self) -> bool:
        """Whether each report adds one to exactly one cell, so that no information is lost."""

    @abstractmethod
    def law_of(self, answer: int) -> list[Fraction]:
        """Return what one report of this answer adds to each cell on average, exactly."""

    @property
    @abstractmethod
    def base(self) -> Floats:
        """What a report adds to the cells on average, whatever the answer; may be broadcast."""

    @abstractmethod
    def gain(self, shares: Floats) -> Floats:
        """Return what the answers add to the cells on average beyond the base, linearly."""

    @abstractmethod
    def adjoint(self, weights: Floats) -> Floats:
        """Return the adjoint of `gain`: for each answer, the weight of the cells it adds to."""

    @abstractmethod
    def invert(self, cells: Integers | Floats, n: int) -> Floats:
        """Return the unbiased linear estimate of the shares; shares may be negative."""

    @abstractmethod
    def noise(self, shares: Floats, n: float) -> tuple[Floats, Floats]:
        """Return c and s: each inverted share has variance c + s * share, for n reports.

        c may depend on the other answers, whose shares are in ``shares``.
        """

    @property
    def times(self) -> float:
        """The number of reports from each person."""
        return self.repeats.times

    def repeating(self, repeats: Repeats) -> Self:
        """Return the channel among people who report several times each."""
        return dataclasses.replace(self, repeats=repeats)  # type: ignore[type-var]

    def groups(self, cells: Integers) -> Integers:
        """Return the number of reports of each fixed group of people, such as a cohort."""
        return cells[:0]

    def conditioned_on(self, cells: Integers) -> Self:
        """Return the channel given what the cells say about anything except the answers.

        If people are split at random, as into cohorts, that is how many there are in each.
        """
        return self

    def margin(self, cells: Integers, questions: tuple[int, ...]) -> Integers:
        """Return the cells of some of the questions, if answers are combinations."""
        raise TypeError(f"{type(self).__name__} is the channel of one question: it has no margins")

    @property
    def other(self) -> int | None:
        """The answer for all unlisted strings in an open alphabet, otherwise None."""
        return None

    @property
    def is_crowded(self) -> bool:
        """Whether there are too many answers to estimate together, but some can be selected."""
        return False

    def collision_part(self, shares: Floats, n: int) -> float:
        """Return the part of the variance due to collisions that could be solved for."""
        return 0.0

    @property
    def false_support(self) -> float | None:
        """The probability that a report supports an answer that nobody holds, if that is counted.

        If it is small, estimates from few reports are skewed. If each person reports several times,
        it is the probability of a single yes or no that is as skewed as the sum of their reports.
        """
        return None

    @property
    def tells_absence(self) -> bool:
        """Whether an answer that nobody holds is estimated as zero, up to known noise."""
        return True

    def why_impossible(self, cells: Integers, n: int) -> str | None:
        """Return why these cells, each within 0..n, cannot come from n reports, or None."""
        if not self.is_histogram:
            return None
        total = exact_sum(cells)
        if total == n:
            return None
        return f"cells add up to {total}, not {n}: each report counts in exactly one"

    def support(self, cells: Integers) -> tuple[Integers, Fraction, Fraction] | None:
        """Return how many reports support each answer, and the probabilities hit and miss.

        Given the true counts, each number is then a sum of two binomial numbers. None if the
        inverse is not based on such numbers.
        """
        return None

    def mean(self, shares: Floats) -> Floats:
        """Return what one report adds to the cells on average if answers have these shares."""
        return np.asarray(self.base + self.gain(shares))

    def variance(self, histogram: Integers | Floats) -> Floats:
        """Return the variance of each inverted share, conditional on the true counts."""
        n = float(np.sum(histogram))
        shares = np.asarray(histogram, np.float64) / n
        constant, slope = self.noise(shares, n)
        return np.asarray(constant + slope * shares)

    def variance_sampled(self, shares: Floats, n: int) -> Floats:
        """Return the variance of each inverted share if people are sampled from a population.

        As everywhere, n is the number of reports.
        """
        return self.variance(shares * n) + shares * (1 - shares) * self.times / n

    def matrix(self) -> Floats:
        """Return the means of the cells, one row per answer; for small alphabets."""
        base = np.broadcast_to(self.base, self.cells)
        return np.array([(base + self.gain(unit)).ravel() for unit in np.eye(self.k)])

    def lever(self, n: int) -> Floats:
        """Return what each (flattened) cell adds to each inverted share, one row per cell."""
        zero = self.invert(np.zeros(self.cells), n)
        units = np.eye(math.prod(self.cells)).reshape(-1, *self.cells)
        return np.array([self.invert(unit, n) - zero for unit in units])

    def functional(self, weights: Floats, n: int) -> Floats:
        """Return what a report in each (flattened) cell adds to weighted sums of shares, times n.

        There is a row for each row of ``weights``. The sum over the cells, times their counts and
        over n, is the weighted sum of the inverted shares, apart from a constant.
        """
        return np.asarray(weights @ self.lever(n).T * n)

    def functional_covariance(self, functional: Floats, shares: Floats, n: int) -> Floats:
        """Return the covariance of such sums over n reports, conditional on the true counts."""
        if self.is_histogram and self.times == 1:
            flat = functional.reshape(-1, *self.cells)
            each = np.array([self.adjoint(row) + (self.base * row).sum() for row in flat])
            law = self.mean(shares).ravel()
            return np.asarray(((functional * law) @ functional.T - (each * shares) @ each.T) / n)
        return np.asarray(functional @ self.covariance(n * shares) @ functional.T / n**2)

    def covariance(self, histogram: Integers | Floats) -> Floats:
        """Return the covariance of the (flattened) cells, conditional on the true counts."""
        if not self.is_histogram:
            raise TypeError(f"{type(self).__name__} must say how its cells vary together")
        rows = self.matrix()
        return np.diag(histogram @ rows) - rows.T @ (rows * np.asarray(histogram)[:, None])

    def covariance_sampled(self, shares: Floats, n: int) -> Floats:
        """Return the covariance of the cells if people are sampled from a population."""
        if self.is_histogram and self.times == 1:
            law = self.mean(shares).ravel()
            return np.asarray(n * (np.diag(law) - np.outer(law, law)))
        rows = self.matrix()
        people = np.diag(shares) - np.outer(shares, shares)
        return self.covariance(n * shares) + n * self.times * rows.T @ people @ rows

    def expected_l2(self, n: int, shares: Floats | None = None, *, sampled: bool = False) -> float:
        """Return the expected squared l2 distance of the inverted shares from the truth.

        The truth is the shares among the respondents or, with ``sampled``, in the population they
        come from. Without ``shares``, answers are taken as uniform.
        """
        return float(self._variances(n, shares, sampled).sum())

    def expected_l1(self, n: int, shares: Floats | None = None, *, sampled: bool = False) -> float:
        """Return the expected l1 distance, sum sqrt(2 var / pi), taking each error as normal."""
        return float(np.sqrt(self._variances(n, shares, sampled) * 2 / np.pi).sum())

    def _variances(self, n: int, shares: Floats | None, sampled: bool) -> Floats:
        n = whole(n, "n", 1, MOST_PEOPLE)
        law = np.full(self.k, 1 / self.k) if shares is None else np.asarray(shares, np.float64)
        return self.variance_sampled(law, n) if sampled else self.variance(law * n)
