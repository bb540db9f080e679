"""Mechanisms that report truthfully with some probability, and otherwise at random."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction

from murmurs.mechanisms.mechanism import Mechanism
from murmurs.mechanisms.settling import settle_truth
from murmurs.privacy import SCALE, check_promise, truth_ratio
from murmurs.wire import Report


class OftenTrue(ABC):
    """The law of being truthful with some probability, and drawing from all reports otherwise.

    With probability ``truth`` / 2**53 the report is drawn uniformly from those that support the
    answer, otherwise uniformly from all reports, which may also support the answer.
    """

    epsilon: float
    truth: int

    @property
    @abstractmethod
    def reports_per_supporting(self) -> Fraction:
        """The number of possible reports per report that supports a given answer."""

    @property
    def truth_probability(self) -> Fraction:
        """The exact probability of a truthful report."""
        return Fraction(self.truth, SCALE)

    @property
    def ratio(self) -> Fraction:
        """1 + reports_per_supporting * truth / (1 - truth)."""
        return truth_ratio(self.truth, self.reports_per_supporting)

    def _settle_truth(self) -> None:
        """Compute the probability of truth from epsilon, or check a given one against it."""
        truth = settle_truth(self.truth, self.epsilon, self.reports_per_supporting)
        object.__setattr__(self, "truth", truth)
        check_promise(self.ratio, self.epsilon, self)


class Truthful(OftenTrue, Mechanism[Report]):
    """A mechanism with a list of answers that has this law."""
