"""Mechanisms that report truthfully with one probability, and otherwise at random."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction

from murmurs.mechanism import Mechanism
from murmurs.mechanisms.settling import settle_truth
from murmurs.privacy import SCALE, check_promise, truth_ratio
from murmurs.wire import Report


class Truthful(Mechanism[Report]):
    """A mechanism that tells the truth with one chance, and else draws from all reports alike.

    With probability ``truth`` / 2**53 the report is drawn uniformly from those that support the
    answer, otherwise uniformly from all. The random one may happen to support the answer too.
    """

    truth: int

    @property
    @abstractmethod
    def reports_per_supporting(self) -> Fraction:
        """How many reports there are for each one that supports a given answer."""

    @property
    def truth_probability(self) -> Fraction:
        """The chance of telling the truth, exactly."""
        return Fraction(self.truth, SCALE)

    @property
    def ratio(self) -> Fraction:
        """1 + reports_per_supporting * truth / (1 - truth)."""
        return truth_ratio(self.truth, self.reports_per_supporting)

    def _settle_truth(self) -> None:
        """Derive the chance of truth from epsilon, or check the given one against it."""
        self._set(truth=settle_truth(self.truth, self.epsilon, self.reports_per_supporting))
        check_promise(self.ratio, self.epsilon, self)
