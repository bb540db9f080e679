"""The expected loss of hashed answers in cohorts, before anyone is asked."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from murmurs.channels.solving import MOST_SOLVED, WELL_POSED
from murmurs.channels.tables import Tables
from murmurs.hashing.layout import Keyed
from murmurs.mechanisms.hashed.cohorts import ClosedCohorts, Cohorts
from murmurs.mechanisms.hashed.orappor import ORappor, PermutedRappor
from murmurs.mechanisms.hashed.orr import ORR, PermutedRR
from murmurs.mechanisms.mechanism import OpenMechanism
from murmurs.numerics.arrays import Floats

KINDS: dict[str, Any] = {kind.__name__: kind for kind in (ORR, ORappor, PermutedRR, PermutedRappor)}
MOST_COHORTS = 2**16

MOST_WORK = 4e10
"""The most multiplications for the exact covariance of one choice; above, the mean is kept."""

CRAMPED = (1 - math.sqrt(WELL_POSED)) ** 2
"""Unknowns per equation from which on least squares are not relied on.

(1 - sqrt(y))^2 is the smallest eigenvalue of the scaled normal equations of large random layouts.
"""

_FEWEST = 4
"""Cohorts below which some answers can nearly never be separated, however wide the tables."""

_GROUPS = 200
_NODES = 96


@dataclass(frozen=True)
class Parameters:
    """Parameters with their expected loss, relative to the shares of the respondents.

    ``estimator`` says whether shares come from least squares through the known hash functions or
    from averages over them. ``exact`` says whether the loss is that of one drawn layout, from its
    covariance, or the mean over hash functions. ``bits`` is the size of a report.
    """

    width: int
    cohorts: int
    hashes: int
    bits: float
    loss: float
    estimator: str
    exact: bool = False

    @property
    def cells(self) -> int:
        """The number of counts that the server keeps."""
        return self.width * self.cohorts


def is_open_kind(kind: str) -> bool:
    """Return whether mechanisms of this kind take any string."""
    return issubclass(KINDS[kind], OpenMechanism)


def is_exclusive(kind: str) -> bool:
    """Return whether a report counts in one bucket only."""
    return issubclass(KINDS[kind], ORR | PermutedRR)


def mechanism_of(kind: str, epsilon: float, size: int, choice: Parameters) -> Any:
    """Return the mechanism of a kind with the parameters of a choice."""
    parameters = {"epsilon": epsilon, "width": choice.width, "cohorts": choice.cohorts}
    if kind == "ORappor":
        parameters["hashes"] = choice.hashes
    if not is_open_kind(kind):
        parameters["k"] = size
    return KINDS[kind](**parameters)


@dataclass(frozen=True, eq=False)
class LossModel:
    """The losses of one kind of mechanism for one distribution and number of respondents."""

    kind: str
    epsilon: float
    n: int
    loss: str
    law: Floats

    @property
    def is_open(self) -> bool:
        """Whether answers are any strings."""
        return is_open_kind(self.kind)

    @property
    def size(self) -> int:
        """The number of candidates."""
        return len(self.law)

    @cached_property
    def rest(self) -> float:
        """The share of strings that are not listed."""
        return max(1 - float(self.law.sum()), 0.0) if self.is_open else 0.0

    @cached_property
    def groups(self) -> tuple[Floats, Floats]:
        """Shares, and how many candidates have each; the tail of a long list is grouped by rank."""
        ordered = np.sort(self.law)[::-1]
        if self.size <= 2 * _GROUPS:
            return ordered, np.ones(self.size)
        edges = np.unique(np.geomspace(_GROUPS, self.size, _GROUPS + 1).astype(np.int64))
        starts = np.concatenate([np.arange(_GROUPS), edges[:-1]])
        times = np.diff(np.append(starts, self.size)).astype(np.float64)
        return np.add.reduceat(ordered, starts) / times, times

    def expected(self, width: int, cohorts: int, hashes: int) -> Parameters:
        """Return the mean loss over hash functions: the better of least squares and averages."""
        bits = math.log2(cohorts) + (math.log2(width) if is_exclusive(self.kind) else width)
        choice = Parameters(width, cohorts, hashes, bits, math.inf, "averages")
        shares, times = self.groups
        private = shares * (1 - shares) / self.n
        solved = self._solved(choice, shares, times) - private
        averaged = self._averaged(choice, shares)
        losses = [self._sum(variance, times) for variance in (solved, averaged)]
        if losses[0] <= losses[1] or (self.size <= MOST_SOLVED and math.isfinite(losses[0])):
            return replace(choice, loss=losses[0], estimator="least squares")
        return replace(choice, loss=losses[1])

    def checked(self, choice: Parameters) -> Parameters:
        """Return the choice with the loss from the exact covariance, if that is feasible.

        If least squares work only for lucky hash functions, the mean over them is kept.
        """
        if self.is_open and choice.estimator == "averages":
            return choice
        work = float(self.size) ** 2 * choice.cohorts * choice.width * choice.hashes
        if self.size > MOST_SOLVED or work > MOST_WORK:
            return choice
        channel = self._channel(choice)
        shares = np.append(self.law, self.rest) if self.is_open else self.law
        constant, slope = channel.noise(shares, self.n)
        variance = (constant + slope * shares)[: self.size]
        estimator = "least squares" if channel.is_solved else "averages"
        found = self._sum(variance, np.ones(self.size))
        return replace(choice, loss=found, estimator=estimator, exact=True)

    def _sum(self, variance: Floats, times: Floats) -> float:
        variance = np.maximum(variance, 0)
        if self.loss == "l2":
            return float(times @ variance)
        return float(times @ np.sqrt(variance * 2 / np.pi))

    def _table(self, choice: Parameters) -> Cohorts[Any]:
        mechanism = mechanism_of(self.kind, self.epsilon, self.size, choice)
        return mechanism.randomiser if isinstance(mechanism, ClosedCohorts) else mechanism

    def _channel(self, choice: Parameters) -> Tables:
        mechanism = mechanism_of(self.kind, self.epsilon, self.size, choice)
        if isinstance(mechanism, ClosedCohorts):
            return mechanism.channel
        keys = np.arange(self.size, dtype=np.uint64)[None, :]
        layout = Keyed(keys, choice.cohorts, choice.width, 0, choice.hashes)
        table: Tables = mechanism.channel_for(layout, True)
        return table

    @cached_property
    def _chances(self) -> dict[tuple[int, int], tuple[float, float]]:
        return {}

    def _hit_and_miss(self, choice: Parameters) -> tuple[float, float]:
        """Return the probabilities that a bucket of the answer, and another one, is counted."""
        key = (choice.width, choice.hashes)
        if key not in self._chances:
            table = self._table(replace(choice, cohorts=1))
            channel = table.channel_for(Keyed(np.zeros((1, 0), np.uint64), 1, choice.width), False)
            self._chances[key] = (float(channel.hit), float(channel.miss))
        return self._chances[key]

    def _averaged(self, choice: Parameters, shares: Floats) -> Floats:
        """Return the variance of averages over hash functions, including collisions.

        It is that of `murmurs.channels.hashed`; the sum of squared shares is exact, not that of the
        groups.
        """
        hit, miss = self._hit_and_miss(choice)
        filled = 1 - (1 - 1 / choice.width) ** choice.hashes
        own = filled * choice.width
        scale, gain = (own - own * filled) ** -2, hit - miss
        crowded = miss + gain * filled
        noise = shares * hit * (1 - hit) + (1 - shares) * crowded * (1 - crowded)
        pair = own * filled * (1 - filled) / choice.cohorts
        squares = float((self.law * np.maximum(self.law - 1 / self.n, 0)).sum())
        together = squares - shares * np.maximum(shares - 1 / self.n, 0)
        return np.asarray(scale * (own * noise / (gain**2 * self.n) + together * pair))

    def _solved(self, choice: Parameters, shares: Floats, times: Floats) -> Floats:
        """Return the variance of least squares for n people of a population, over hash functions.

        The information on a single share is the sum over buckets of gain^2 / (variance of a cell),
        times the squared deviation of the answer's presence there from its mean. Other answers
        use up part of the equations, which divides the information by the inflation.
        """
        width, rows = choice.width, choice.cohorts
        hit, miss = self._hit_and_miss(choice)
        gain = hit - miss
        filled = 1 - (1 - 1 / width) ** choice.hashes
        inflation = self._inflation(width, rows, choice.hashes)
        if not math.isfinite(inflation):
            return np.full(len(shares), math.inf)
        aside = gain * filled * self.rest
        t = np.geomspace(1e-5 / (miss + aside + gain), 60 / (miss + aside), _NODES)
        crowd = self._crowd_of(choice, gain * t)
        own = _mean_inverse(miss + aside, gain, t, crowd, shares)
        other = _mean_inverse(miss + aside, gain, t, crowd, 0 * shares)
        if not is_exclusive(self.kind):  # 1 / (l (1 - l)) = 1 / l + 1 / (1 - l), 1 - l being large
            mean = miss + gain * filled * (1 - shares)
            own, other = own + 1 / (1 - mean - gain * shares), other + 1 / (1 - mean)
        on = (1 - filled) ** 2 * filled * width * own
        off = filled**2 * (1 - filled) * width * other
        information = gain**2 * (on + off)
        if not self.is_open:  # permuted answers meet less often than hashed ones
            apart = 1 - (self.size / width - 1) / (self.size - 1)
            information *= apart / (1 - filled) / (1 - 1 / self.size)
        return np.asarray(inflation / (information * self.n))

    def _crowd_of(self, choice: Parameters, t: Floats) -> Floats:
        """Return the log of E[exp(-t m)], where m is the mass that others add to a bucket.

        Hashed answers are there independently of each other. Permuted, every bucket has the same
        number of answers, up to one.
        """
        shares, times = self.groups
        if self.is_open:
            filled = 1 - (1 - 1 / choice.width) ** choice.hashes
            logs = np.log1p(filled * np.expm1(-np.outer(t, shares)))
            return np.asarray((logs @ times)[:, None] - logs)
        one = np.exp(-np.outer(t, shares)) @ times / self.size
        fewest, larger = divmod(self.size, choice.width)
        on_larger = larger * (fewest + 1) / self.size
        both = (1 - on_larger) * one ** (fewest - 1) + on_larger * one**fewest
        return np.asarray(np.log(np.maximum(both, 1e-300))[:, None])

    def _inflation(self, width: int, rows: int, hashes: int) -> float:
        """Return the factor by which solving for all other answers raises the variance.

        Hashed: columns of independent rows, for which Marchenko and Pastur give 1 / (1 - y) with y
        unknowns per equation. Permuted: a sum of ``rows`` projections to a part of all dimensions,
        which are free of each other; with part 1 nothing is lost.
        """
        if rows < _FEWEST and not (width == self.size and not self.is_open):
            return math.inf
        if self.is_open:
            crowding = self.size / (rows * (width - (hashes == 1)))
            return 1 / (1 - crowding) if crowding < CRAMPED else math.inf
        part = (width - 1) / (self.size - 1)
        if part == 1:
            return 1.0
        return part * (rows - 1) / (part * rows - 1) if CRAMPED * part * rows > 1 else math.inf


def _mean_inverse(low: float, gain: float, t: Floats, crowd: Floats, extra: Floats) -> Floats:
    """Return E[1 / (low + gain (extra + m))] for each answer, m the mass of others in its bucket.

    1 / x is the integral of exp(-t x) over t, computed in steps of the logarithm of t.
    """
    exponent = crowd - gain * np.outer(t, extra) - t[:, None] * low
    step = math.log(float(t[1] / t[0]))
    inside = np.exp(exponent) * t[:, None]
    # Below the first node the exponential is one.
    return np.asarray((inside.sum(axis=0) - inside[0] / 2) * step + t[0])
