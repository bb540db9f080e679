"""Repeated reports of one person: a permanent response, found again for every report.

A longitudinal mechanism randomises twice. The permanent response to a value is drawn once; each
report is a fresh randomisation of it, so that no number of reports tells more about the value than
the permanent response does. A `Device` keeps no table: it derives the response from its secret.
"""

from __future__ import annotations

import math
import struct
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Generic

import numpy as np

from murmurs.checks import real, whole
from murmurs.mechanism import Reporting
from murmurs.privacy import LARGEST_EPSILON, SMALLEST_EPSILON
from murmurs.randomness import Derived, Randomness, Secure, as_randomness
from murmurs.wire import Report

Derive = Callable[..., Randomness]
"""Hands out randomness by context: the same context, the same randomness."""


class Longitudinal(Reporting[Report]):
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
    def epsilon_forever(self) -> float:
        """Epsilon of the permanent response to a value, for any number of reports; rounded up."""

    @abstractmethod
    def _permanent(self, answer: Any, derive: Derive) -> Report:
        """Return the permanent response to a checked answer."""

    @abstractmethod
    def _instant(self, permanent: Report, random: Randomness) -> Report:
        """Return a report made from a permanent response."""

    @property
    @abstractmethod
    def states(self) -> int:
        """How many permanent responses a device may come to have."""

    def _report(self, answer: Any, random: Randomness) -> Report:
        """Return a report from a permanent response that is not kept."""
        return self._instant(self._permanent(answer, lambda *_: random), random)


@dataclass(frozen=True)
class Device(Generic[Report]):
    """One person's side of a question that is asked again and again.

    ``secret`` is at least 16 random bytes that never leave the device. The permanent response
    follows from the secret, the question, the mechanism with all its parameters, and the value: it
    is the same whenever the value is the same, and independent when any of them is another. So
    ``question`` is a name that no other question has that is answered with this secret.

    >>> import murmurs as mm
    >>> mechanism = mm.LOSUE(k=8, epsilon=1.0, forever=2.0)
    >>> device = Device(mechanism, bytes(range(32)), "coffee")  # secrets.token_bytes(32) is better
    >>> len(device.report(3))
    1
    >>> [device.epsilon_spent(values) for values in (1, 2)]
    [2.0, 4.0]
    >>> device
    Device(mechanism=LOSUE(k=8, epsilon=1.0, forever=2.0), question='coffee')
    """

    mechanism: Longitudinal[Report]
    secret: bytes = field(repr=False)
    question: str

    def __post_init__(self) -> None:
        if not isinstance(self.mechanism, Longitudinal):
            raise TypeError(
                f"{self.mechanism!r} has no permanent response to keep: "
                "take BasicRappor, Rappor, LOSUE or LOLOHA"
            )
        if not isinstance(self.question, str):
            raise TypeError(f"question must be text, not {self.question!r}")
        self._derive()  # refuses a bad secret now, not at the first report

    def report(self, answer: Any, random: Randomness | np.random.Generator | None = None) -> Report:
        """Return a report of the answer, from its permanent response and fresh chance.

        ``random`` is `Secure` (the default) on a device; a study may hand in a NumPy generator.
        """
        fresh = Secure() if random is None else as_randomness(random)
        permanent = self.mechanism._permanent(self.mechanism.check(answer), self._derive)
        return self.mechanism._instant(permanent, fresh)

    def epsilon_spent(self, values: int) -> float:
        """Return the epsilon for ever of a person who goes through so many different values.

        It is `epsilon_forever` for each permanent response that comes into use, rounded up. It
        compares courses of values that change at the same reports: that a value changed, and when,
        is not covered.
        """
        responses = min(whole(values, "values", 0, 2**53), self.mechanism.states)
        each = self.mechanism.epsilon_forever
        if responses == 0 or math.isinf(each):
            return each if responses else 0.0
        exact = responses * Fraction(each)
        nearest = float(exact)
        return nearest if nearest >= exact else math.nextafter(nearest, math.inf)

    def _derive(self, *context: str | bytes | int) -> Derived:
        document = self.mechanism.to_document()
        parameters = [part for name in sorted(document) for part in (name, _part(document[name]))]
        return Derived(self.secret, self.question, len(parameters), *parameters, *context)


def check_forever(epsilon: float, forever: object) -> float:
    """Return the epsilon of a permanent response if it leaves room for a second round."""
    checked = real(forever, "forever", SMALLEST_EPSILON, LARGEST_EPSILON)
    if checked <= epsilon:
        raise ValueError(
            f"forever must be above epsilon = {epsilon:g}, not {checked:g}: one report tells less "
            "than the permanent response it is made from"
        )
    return checked


def _part(value: object) -> Any:
    """Return a parameter as a part of a context: a real number as its eight bytes."""
    return struct.pack("<d", value) if isinstance(value, float) else value
