"""How many candidates hash functions can tell apart at all, even without noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

from murmurs.boundary.checks import real, whole
from murmurs.planning.loss_model import MOST_COHORTS


@dataclass(frozen=True)
class Identifiability:
    """What hash functions can tell apart, even without noise.

    ``equations`` is the most equations that C cohorts of k buckets give for S shares: the buckets
    of each cohort add up to all people, so it is C (k - 1) + 1 and not C k. ``sharing`` is the
    expected number of candidates that share their bucket with another one in every cohort.
    """

    width: int
    cohorts: int
    candidate_count: int
    equations: int
    sharing: float

    @property
    def enough(self) -> bool:
        """Whether there are as many equations as shares."""
        return self.equations >= self.candidate_count

    @property
    def distinguishable(self) -> float:
        """The expected number of candidates with their own pattern of buckets."""
        return self.candidate_count - self.sharing

    @property
    def advice(self) -> str:
        """What is missing, if anything is."""
        if not self.enough:
            more = -(-(self.candidate_count - 1) // (self.width - 1)) - self.cohorts
            wider = -(-(self.candidate_count - 1) // self.cohorts) + 1
            return (
                f"{self.cohorts} cohorts of {self.width} buckets give at most {self.equations} "
                f"equations for {self.candidate_count} shares: add {more} cohorts, or use a width "
                f"of {wider}; twice as many make the estimates precise"
            )
        if self.sharing >= 0.01:
            wanted = cohorts_needed(self.width, self.candidate_count, 0.99, every=True)
            return (
                f"{self.sharing:.3g} of {self.candidate_count} candidates share all their buckets "
                f"with another: {wanted} cohorts tell all of them apart with probability 0.99"
            )
        return f"{self.candidate_count} candidates can be told apart"


def identifiable(width: int, cohorts: int, candidate_count: int) -> Identifiability:
    """Return whether hashing into this many buckets can tell this many candidates apart.

    Kairouz, Bonawitz and Ramage (2016), supplement G: eq. 34, and the number of equations, which
    is C (k - 1) + 1 and not C k.

    >>> identifiable(width=16, cohorts=8, candidate_count=256).equations
    121
    """
    k = whole(width, "width", 2, 2**16)
    rows = whole(cohorts, "cohorts", 1, MOST_COHORTS)
    size = whole(candidate_count, "candidate_count", 1, 2**62)
    alone = (size - 1) * math.log1p(-math.exp(-rows * math.log(k)))
    return Identifiability(k, rows, size, rows * (k - 1) + 1, -size * math.expm1(alone))


def cohorts_needed(
    width: int, candidate_count: int, probability: float = 0.99, *, every: bool = False
) -> int:
    """Return the fewest cohorts that give a candidate its own pattern of buckets.

    It has one with at least this probability: k^C >= 1 / (1 - P^(1 / (S - 1))), where the paper
    prints P^(S - 1). With ``every``, the probability is for all candidates at once.

    >>> cohorts_needed(width=2, candidate_count=256, probability=0.9)
    12
    >>> cohorts_needed(width=2, candidate_count=256, probability=0.9, every=True)
    19
    """
    k = whole(width, "width", 2, 2**16)
    size = whole(candidate_count, "candidate_count", 1, 2**62)
    wanted = math.log(real(probability, "probability", 1e-300, 1 - 1e-15))
    found = 1
    while _log_alone(k**found, size, every) < wanted:
        found += 1
    return found


def _log_alone(patterns: int, size: int, every: bool) -> float:
    """Return the log of the probability that random patterns are not shared."""
    if size == 1:
        return 0.0
    if not every:
        return (size - 1) * math.log1p(-1 / patterns)
    if size > patterns:
        return -math.inf
    if patterns < 2**20 or 2 * size > patterns:
        falling = math.lgamma(patterns + 1) - math.lgamma(patterns - size + 1)
        return falling - size * math.log(patterns)
    # Stirling's formula, which does not lose small differences of large logarithms.
    return -(patterns - size + 0.5) * math.log1p(-size / patterns) - size
