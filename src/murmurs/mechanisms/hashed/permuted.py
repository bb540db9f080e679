"""Cohorts for a fixed list: each cohort permutes the answers and takes them modulo width."""

from __future__ import annotations

from functools import cached_property

from murmurs.hashing.layout import Layout, Ranked
from murmurs.mechanisms.hashed.cohorts import ClosedCohorts
from murmurs.mechanisms.settling import settled
from murmurs.wire import Report

MOST_PERMUTED = 2**24
"""The most buckets, of all answers in all cohorts, that a mechanism may keep: 64 MiB."""

_KEPT = 2**22


class Permuted(ClosedCohorts[Report]):
    """What mechanisms with permuted answers share: they are permuted, then taken modulo width."""

    width: int
    cohorts: int
    salt: int

    def _settle_permuted(self, widest: int) -> None:
        """Check the parameters, and choose the best width and enough cohorts if not given.

        The mechanism that randomises buckets fixes the probabilities.
        """
        self._settle()
        best = widest if 1.5 * widest < self.k else self.k
        width = settled(self.width, "width", 2, self.k, lambda: min(best, 2**16))
        enough = -(-3 * self.k // (width - 1)) if width < self.k else 1
        affordable = max(2, _KEPT // self.k)
        cohorts = settled(self.cohorts, "cohorts", 1, 2**16, lambda: min(enough, affordable))
        self._set(width=width, cohorts=cohorts)
        if self.k * self.cohorts > MOST_PERMUTED:
            raise ValueError(
                f"k * cohorts must be at most 2**24, not {self.k * self.cohorts}: permutations of "
                "all answers are kept; take fewer cohorts"
            )
        self._set(
            **{
                name: getattr(self.randomiser, name)
                for name in ("epsilon", "salt", "truth", "flip")
                if hasattr(self, name)
            }
        )

    @cached_property
    def layout(self) -> Layout:
        """A permutation of the answers for each cohort."""
        return Ranked(self.k, self.cohorts, self.width, self.salt)
