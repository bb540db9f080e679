"""Mechanisms of two rounds, whose first round is drawn once and kept.

A longitudinal mechanism randomises twice. The permanent response to a value is drawn once; each
report is a fresh randomisation of it, so that no number of reports tells more about the value than
the permanent response does. Which reports share a permanent response is for `murmurs.device`.
"""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from murmurs.boundary.checks import real
from murmurs.mechanism import AnyMechanism
from murmurs.privacy import LARGEST_EPSILON, SMALLEST_EPSILON
from murmurs.randomness.verbs import Randomness
from murmurs.wire import Report


class Longitudinal(AnyMechanism[Report]):
    """A mechanism of two rounds, whose first round a device can keep; a base beside another one.

    A permanent response has the form of a report. `encode` draws both rounds, so one report of a
    device that keeps its permanent response has the law of `encode`. Whether answers are numbers
    or strings is for the other base to say.
    """

    if TYPE_CHECKING:

        def check(self, answer: object) -> Any:
            """Return the answer if it is one."""

    @property
    @abstractmethod
    def epsilon_permanent_realised(self) -> float:
        """Epsilon of a permanent response, for any number of reports made from it; rounded up."""

    @property
    @abstractmethod
    def permanent_law(self) -> tuple[int | str, ...]:
        """The parameters of the first round, and no others: what permanent noise is derived from.

        As it does not depend on the second round, another `epsilon` with the same first round finds
        the permanent responses again that were drawn before.
        """

    @property
    @abstractmethod
    def second_round(self) -> tuple[Fraction, Fraction]:
        """Chances that a report speaks for an answer, if the permanent response does, and if not.

        That a permanent response speaks for an answer has one chance for the own answer and one for
        any other; over both rounds they are p* and q*.
        """

    @abstractmethod
    def _permanent(self, answer: Any, device: Randomness, response: Randomness) -> Report:
        """Return a permanent response to a checked answer.

        ``device`` draws what is one person's whatever the answer, ``response`` all the rest.
        """

    @abstractmethod
    def _instant(self, permanent: Report, random: Randomness) -> Report:
        """Return a report made from a permanent response."""

    def _encode_one(self, answer: Any, random: Randomness) -> Report:
        """Return a report from a permanent response that is not kept."""
        return self._instant(self._permanent(answer, random, random), random)


def check_permanent(epsilon: float, epsilon_permanent: object) -> float:
    """Return the epsilon of a permanent response if it leaves room for a second round."""
    checked = real(epsilon_permanent, "epsilon_permanent", SMALLEST_EPSILON, LARGEST_EPSILON)
    if checked <= epsilon:
        raise ValueError(
            f"epsilon_permanent must be above epsilon = {epsilon:g}, not {checked:g}: one report "
            "tells less than the permanent response it is made from"
        )
    return checked
