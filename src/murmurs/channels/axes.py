"""One axis of a table of reports to several questions: what one of the questions contributes.

A report adds a vector x to its axis: one at the cell it counts in or, if reports of the question
count in several cells, one at each of them and one more at position 0, which counts the report
itself. `q` is the linear map with which the axis enters the shares of its answers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from murmurs.channels.channel import Channel
from murmurs.channels.symmetric import Symmetric
from murmurs.channels.tables import Tables
from murmurs.numerics.arrays import Floats


def axis_of(channel: Channel, in_cohorts: bool) -> Axis:
    """Return the axis of a question; in cohorts if it shares them with other questions."""
    if in_cohorts:
        assert isinstance(channel, Tables)
        return CohortAxis(channel)
    return PlainAxis(channel)


class Axis(ABC):
    """The law of x given the answer, and the map from x to estimates."""

    channel: Channel

    @property
    def k(self) -> int:
        """The number of answers."""
        return self.channel.k

    @property
    @abstractmethod
    def is_histogram(self) -> bool:
        """Whether a report counts in exactly one cell of the axis."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of cells."""

    @abstractmethod
    def exact(self, cohort: int, answer: int) -> list[Fraction]:
        """Return the mean of x given an answer, exactly."""

    @abstractmethod
    def law(self, cohort: int) -> Floats:
        """Return the means of x in a cohort, one row per answer."""

    @abstractmethod
    def moment(self, cohort: int, answer: int) -> Floats:
        """Return the mean of x x' given an answer."""

    @abstractmethod
    def q(self, cohort: int) -> Floats:
        """Return the map from x to the answers, one row per answer."""

    @abstractmethod
    def gram(self, cohort: int) -> Floats:
        """Return what `q` makes of the means of the answers, one column per answer."""

    def squares(self, cohort: int) -> Floats:
        """Return the mean of (q x)^2, one row per answer and one column per true answer."""
        q = self.q(cohort)
        if self.is_histogram:
            return np.asarray(q**2 @ self.law(cohort).T)
        return np.stack(
            [((q @ self.moment(cohort, a)) * q).sum(axis=1) for a in range(self.k)], axis=1
        )

    def second_moment(self, cohort: int, shares: Floats) -> Floats:
        """Return the mean of (q x) (q x)' if answers have these shares."""
        q = self.q(cohort)
        if self.is_histogram:
            return np.asarray((q * (shares @ self.law(cohort))) @ q.T)
        out = np.zeros((self.size, self.size))
        for answer, share in enumerate(shares.tolist()):
            out += share * self.moment(cohort, answer)
        return np.asarray(q @ out @ q.T)

    def moments(self, cohort: int) -> Floats:
        """Return the mean of (q x) (q x)' given each answer, which is the first index."""
        q = self.q(cohort)
        if self.is_histogram:
            return np.stack([(q * law) @ q.T for law in self.law(cohort)])
        return np.stack([q @ self.moment(cohort, a) @ q.T for a in range(self.k)])


class PlainAxis(Axis):
    """The axis of a question by itself; its shares come from its own inverse, or least squares."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel

    @property
    def is_histogram(self) -> bool:
        """Whether the channel is a histogram of reports."""
        return self.channel.is_histogram

    @property
    def size(self) -> int:
        """The cells of the channel and, if it is no histogram, the report itself."""
        return int(np.prod(self.channel.cells)) + (not self.is_histogram)

    def exact(self, cohort: int, answer: int) -> list[Fraction]:
        """Return the law of the channel."""
        return [*([] if self.is_histogram else [Fraction(1)]), *self.channel.law_of(answer)]

    @cached_property
    def _law(self) -> Floats:
        law = self.channel.matrix()
        return law if self.is_histogram else np.insert(law, 0, 1.0, axis=1)

    def law(self, cohort: int) -> Floats:
        """Return the matrix of the channel."""
        return self._law

    def moment(self, cohort: int, answer: int) -> Floats:
        """Return the second moments, from the covariance of the channel."""
        law = self._law[answer]
        if self.is_histogram:
            return np.diag(law)
        out = np.outer(law, law)
        if isinstance(self.channel, Symmetric):
            out[1:, 1:] = _pairs(self.channel, answer)
        else:
            out[1:, 1:] += self.channel.covariance(np.eye(self.k)[answer])
        return out

    @cached_property
    def _inverse(self) -> Floats:
        channel, law = self.channel, self._law
        if isinstance(channel, Symmetric):
            own = np.eye(self.k) / float(channel.hit - channel.miss)
            constant = np.full((self.k, 1), -float(channel.miss / (channel.hit - channel.miss)))
            found = own + constant if self.is_histogram else np.hstack([constant, own])
            return np.asarray(found)
        zero = channel.invert(np.zeros(channel.cells), 1)
        units = np.eye(int(np.prod(channel.cells))).reshape(-1, *channel.cells)
        linear = np.stack([channel.invert(unit, 1) - zero for unit in units], axis=1)
        found = linear + zero[:, None] if self.is_histogram else np.insert(linear, 0, zero, axis=1)
        if np.allclose(found @ law.T, np.eye(self.k), atol=1e-6):
            return np.asarray(found)
        if np.linalg.matrix_rank(law) < self.k:  # averages over hash functions, too few of them
            raise ValueError(
                f"the {self.k} answers of a question cannot all be told apart by its reports: "
                "use more rows or buckets, or another mechanism"
            )
        return np.asarray(np.linalg.pinv(law.T), np.float64)

    def q(self, cohort: int) -> Floats:
        """Return the inverse of the channel."""
        return self._inverse

    def gram(self, cohort: int) -> Floats:
        """Return the identity: the inverse recovers the answers."""
        return np.eye(self.k)

    def squares(self, cohort: int) -> Floats:
        """Return the second moments; in closed form where support is symmetric."""
        channel = self.channel
        if not isinstance(channel, Symmetric):
            return super().squares(cohort)
        scale = float(channel.hit - channel.miss) ** 2
        hit, miss = float(channel.hit), float(channel.miss)
        out = np.full((self.k, self.k), miss * (1 - miss) / scale)
        np.fill_diagonal(out, hit * (1 - hit) / scale + 1)
        return out

    def second_moment(self, cohort: int, shares: Floats) -> Floats:
        """Return the mean products; in closed form where support is symmetric."""
        channel = self.channel
        if not isinstance(channel, Symmetric) or self.is_histogram:
            return super().second_moment(cohort, shares)
        miss, difference = float(channel.miss), float(channel.hit - channel.miss)
        either, mean = shares[:, None] + shares, miss + difference * shares
        out = float(channel.miss_pair) + float(channel.hit_pair - channel.miss_pair) * either
        np.fill_diagonal(out, mean)
        centred = out - miss * (mean[:, None] + mean) + miss**2
        return np.asarray(centred / difference**2)


def _pairs(channel: Symmetric, answer: int) -> Floats:
    """Return how often a report of the answer supports each pair of answers."""
    out = np.full((channel.k, channel.k), float(channel.miss_pair))
    out[answer, :] = out[:, answer] = float(channel.hit_pair)
    np.fill_diagonal(out, float(channel.miss))
    out[answer, answer] = float(channel.hit)
    return out


class CohortAxis(Axis):
    """The axis of hashed answers within a cohort that several questions share."""

    def __init__(self, channel: Tables) -> None:
        self.channel: Tables = channel
        self._places: dict[int, Floats] = {}

    @property
    def is_histogram(self) -> bool:
        """Whether a report counts in one bucket only."""
        return self.channel.exclusive

    @property
    def size(self) -> int:
        """The buckets of a cohort and, if a report sets several bits, the report itself."""
        return self.channel.width + (not self.is_histogram)

    def held(self, cohort: int) -> Floats:
        """Return the probability that each answer is in each bucket: one row per answer."""
        found = self._places.get(cohort)
        if found is None:
            channel = self.channel
            listed = channel.layout.k
            found = np.zeros((listed, channel.width + 1))
            for at in channel.layout.places_in(cohort):
                found[np.arange(listed), at] = 1.0
            found = found[:, :-1]
            if channel.is_open:
                found = np.vstack([found, np.full(channel.width, float(channel.filled))])
            self._places[cohort] = found
        return found

    @cached_property
    def dependence(self) -> float:
        """The covariance of two bits of an unlisted string, whose buckets are random."""
        pair = float(self.channel.filled_pair - self.channel.filled**2)
        return self.channel.difference**2 * pair

    def exact(self, cohort: int, answer: int) -> list[Fraction]:
        """Return the law of the buckets of a cohort."""
        channel = self.channel
        own = channel.on_places(cohort, answer)
        law = [channel.miss + (channel.hit - channel.miss) * part for part in own]
        return law if self.is_histogram else [Fraction(1), *law]

    def law(self, cohort: int) -> Floats:
        """Return the means of the buckets, and of the report itself."""
        law = float(self.channel.miss) + self.channel.difference * self.held(cohort)
        return law if self.is_histogram else np.insert(law, 0, 1.0, axis=1)

    def moment(self, cohort: int, answer: int) -> Floats:
        """Return the second moments; bits are independent given the buckets of the answer."""
        law = self.law(cohort)[answer]
        if self.is_histogram:
            return np.diag(law)
        out = np.outer(law, law)
        if answer == self.channel.other:  # its buckets are random, and two of them dependent
            out[1:, 1:] += self.dependence
        np.fill_diagonal(out, law)
        return out

    def moments(self, cohort: int) -> Floats:
        """Return the mean of (q x) (q x)' given each answer, of all answers at once."""
        if self.is_histogram:
            return super().moments(cohort)
        q, law = self.q(cohort), self.law(cohort)
        means = law @ q.T
        out = means[:, :, None] * means[:, None, :]
        out += np.stack([(q * spread) @ q.T for spread in law * (1 - law)])
        other = self.channel.other
        if other is not None:  # its buckets are random, and two of them dependent
            total = q[:, 1:].sum(axis=1)
            both = np.outer(total, total) - q[:, 1:] @ q[:, 1:].T
            out[other] += self.dependence * both
        return np.asarray(out)

    @property
    def _reduction(self) -> Floats:
        """The map from x to unbiased masses of the buckets."""
        width, gain, miss = self.channel.width, self.channel.difference, float(self.channel.miss)
        own = np.eye(width) / gain
        if self.is_histogram:
            return np.asarray(own - miss / gain)
        return np.hstack([np.full((width, 1), -miss / gain), own])

    def q(self, cohort: int) -> Floats:
        """Return the sum of the masses in the buckets of each answer."""
        return self.held(cohort) @ self._reduction

    def gram(self, cohort: int) -> Floats:
        """Return how much of each answer is in the buckets of each other one."""
        held = self.held(cohort)
        return np.asarray(held @ held.T)


def along(table: Any, matrices: list[Floats]) -> Floats:
    """Apply a matrix along each axis of a table: out[i, j] = sum A[i, x] B[j, y] table[x, y]."""
    out = np.asarray(table, np.float64)
    for axis, matrix in enumerate(matrices):
        out = np.moveaxis(np.tensordot(out, matrix, axes=(axis, 1)), -1, axis)
    return out
