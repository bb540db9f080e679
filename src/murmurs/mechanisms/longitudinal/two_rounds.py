"""Mechanisms with two rounds, of which the first is drawn once and kept.

A longitudinal mechanism randomises twice. The permanent response to a value is drawn once; each
report randomises it afresh, so no number of reports reveals more about the value than the permanent
response does. `murmurs.devices.device` decides which reports share a permanent response.
"""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from murmurs.boundary.checks import real
from murmurs.mechanisms.mechanism import AnyMechanism
from murmurs.privacy import LARGEST_EPSILON, SMALLEST_EPSILON
from murmurs.randomness.bulk import Bulk
from murmurs.randomness.verbs import Randomness
from murmurs.wire import Report, Reports


class Longitudinal(AnyMechanism[Report]):
    """A mechanism with two rounds, of which a device can keep the first; a mixin class.

    A permanent response has the form of a report. `encode` draws both rounds, so one report of a
    device that keeps its permanent response has the law of `encode`. The other base class decides
    whether answers are numbers or strings.
    """

    if TYPE_CHECKING:

        def check(self, answer: object) -> Any:
            """Return the answer if it is valid."""

    @property
    @abstractmethod
    def epsilon_permanent_realised(self) -> float:
        """The epsilon of a permanent response, for any number of reports; rounded up."""

    @property
    @abstractmethod
    def permanent_law(self) -> tuple[int | str, ...]:
        """The parameters of the first round, from which permanent noise is derived.

        They do not include the second round, so a mechanism with another `epsilon` and the same
        first round finds the same permanent responses.
        """

    @property
    @abstractmethod
    def second_round(self) -> tuple[Fraction, Fraction]:
        """Probabilities of supporting an answer if the permanent response does, and if it does not.

        A permanent response supports its own answer with one probability and any other answer with
        another; over both rounds the probabilities are p* and q*.
        """

    @abstractmethod
    def _permanent(self, answer: Any, device: Randomness, response: Randomness) -> Report:
        """Return a permanent response to a checked answer.

        ``device`` draws what a person keeps whatever the answer, ``response`` everything else.
        """

    @abstractmethod
    def _instant(self, permanent: Report, random: Randomness) -> Report:
        """Return a report made from a permanent response."""

    @abstractmethod
    def _own_many(self, n: int, random: Bulk) -> Any:
        """Draw what each of n devices keeps whatever the answer, or None if that is nothing."""

    @abstractmethod
    def _permanent_many(self, answers: Any, own: Any, random: Bulk) -> Reports:
        """Return permanent responses of many devices, each with its ``own``, as an array.

        Answers are numbers; for strings they are a layout and numbers of its strings.
        """

    @abstractmethod
    def _instant_many(self, permanent: Reports, random: Bulk) -> Reports:
        """Return a report of each device, made from its permanent response."""

    def _encode_one(self, answer: Any, random: Randomness) -> Report:
        """Return a report from a new permanent response, which is not kept."""
        return self._instant(self._permanent(answer, random, random), random)


def check_permanent(epsilon: float, epsilon_permanent: object) -> float:
    """Return the epsilon of a permanent response if it leaves room for a second round."""
    checked = real(epsilon_permanent, "epsilon_permanent", SMALLEST_EPSILON, LARGEST_EPSILON)
    if checked <= epsilon:
        raise ValueError(
            f"epsilon_permanent must be above epsilon = {epsilon:g}, not {checked:g}: one report "
            "reveals less than the permanent response it is made from"
        )
    return checked


def second_bits(
    permanent: NDArray[np.uint8], kept: Fraction, turned: Fraction, count: int, random: Bulk
) -> NDArray[np.uint8]:
    """Return new bits made from packed permanent ones: one with ``kept`` or ``turned``.

    A bit of the result is one with probability ``kept`` where the permanent bit is one, and with
    ``turned`` where it is zero; denominators are powers of two. Only ``count`` bits of a row count.
    """
    ones = random.packed(kept.numerator, permanent.size, kept.denominator)
    zeros = random.packed(turned.numerator, permanent.size, turned.denominator)
    flat = permanent.reshape(-1)
    out = ((flat & ones) | (~flat & zeros)).reshape(permanent.shape)
    if count % 8:
        out[:, -1] &= (1 << count % 8) - 1
    return np.asarray(out)
