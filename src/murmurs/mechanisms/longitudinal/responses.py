"""RAPPOR's permanent and instantaneous responses to one bit, given by f, p and q."""

from __future__ import annotations

from fractions import Fraction

from murmurs.boundary.checks import real, whole
from murmurs.mechanisms.longitudinal.two_rounds import Longitudinal
from murmurs.privacy import SCALE, log_above
from murmurs.randomness.verbs import Randomness
from murmurs.wire import Report


class Responses(Longitudinal[Report]):
    """RAPPOR's two responses to a bit, given by f, p and q as integers over 2**53.

    A permanent bit is 1 with probability f/2, 0 with f/2, and the true bit with 1 - f; a bit of the
    report is 1 with probability q if the permanent bit is 1, otherwise with p.
    """

    f: float
    p: float
    q: float
    f_numerator: int
    p_numerator: int
    q_numerator: int

    @property
    def differing(self) -> int:
        """The most bits in which two answers differ."""
        return 2

    def _settle_responses(self) -> None:
        for given, name in (("f_numerator", "f"), ("p_numerator", "p"), ("q_numerator", "q")):
            probability = real(getattr(self, name), name, 0.0, 1.0)
            numerator = round(probability * SCALE)
            stated = getattr(self, given)
            if stated is not None and whole(stated, given, 0, SCALE) != numerator:
                raise ValueError(
                    f"{given} must be {numerator}, which is {name} = {probability!r} over 2**53, "
                    f"not {stated}"
                )
            self._set(**{name: probability, given: numerator})
        if not self.zero < self.one:
            raise ValueError(
                f"{self} reveals nothing: f must be below 1 and p below q, "
                "so that a true bit is set more often than a false one"
            )
        if self.zero == 0 or self.one == 1:
            raise ValueError(f"{self} is not private: without f, p must be above 0 and q below 1")
        self._set(epsilon=self.epsilon_realised)

    @property
    def epsilon_permanent(self) -> float:
        """The same as `epsilon_permanent_realised`, since it follows from f."""
        return self.epsilon_permanent_realised

    @property
    def epsilon_permanent_realised(self) -> float:
        """The epsilon of the permanent response, for any number of reports made from it."""
        if self.f_numerator == 0:
            return float("inf")
        half = Fraction(self.f_numerator, 2 * SCALE)
        return log_above(((1 - half) / half) ** self.differing)

    @property
    def first_round(self) -> tuple[Fraction, Fraction]:
        """The probabilities 1 - f/2 and f/2 that a permanent bit is set, if it is true or not."""
        half = Fraction(self.f_numerator, 2 * SCALE)
        return 1 - half, half

    @property
    def second_round(self) -> tuple[Fraction, Fraction]:
        """The probabilities q and p that a bit of the report is set."""
        return Fraction(self.q_numerator, SCALE), Fraction(self.p_numerator, SCALE)

    @property
    def one(self) -> Fraction:
        """(1 - f/2) q + (f/2) p."""
        return self._mixed(self.q_numerator, self.p_numerator)

    @property
    def zero(self) -> Fraction:
        """(1 - f/2) p + (f/2) q."""
        return self._mixed(self.p_numerator, self.q_numerator)

    def _mixed(self, mostly: int, seldom: int) -> Fraction:
        seldom_part = self.f_numerator * seldom
        return Fraction((2 * SCALE - self.f_numerator) * mostly + seldom_part, 2 * SCALE**2)

    def _permanent_bit(self, own: bool, random: Randomness) -> bool:
        return random.below(2) == 1 if random.chance(self.f_numerator) else own

    def _bit(self, own: bool, random: Randomness) -> bool:
        return random.chance(self.q_numerator if own else self.p_numerator)
