"""Unary encodings in two rounds: permanent bits, and reports made from them."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction

from murmurs.mechanisms.closed.unary import Unary
from murmurs.mechanisms.longitudinal.two_rounds import Longitudinal, second_bits
from murmurs.numerics.arrays import Integers
from murmurs.randomness.bulk import Bulk
from murmurs.randomness.verbs import Randomness
from murmurs.wire import Reports


class LongitudinalUnary(Longitudinal[bytes], Unary):
    """What unary encodings with two rounds share: permanent bits, and reports made from them."""

    @property
    @abstractmethod
    def first_round(self) -> tuple[Fraction, Fraction]:
        """Probabilities that a permanent bit is set, of the answer and of any other answer."""

    @abstractmethod
    def _permanent_bit(self, own: bool, random: Randomness) -> bool:
        """Return one permanent bit."""

    @abstractmethod
    def _bit(self, own: bool, random: Randomness) -> bool:
        """Return one bit of a report, given the permanent one."""

    def _permanent(self, answer: int, device: Randomness, response: Randomness) -> bytes:
        return self.shape.of(self._permanent_bit(j == answer, response) for j in range(self.k))

    def _instant(self, permanent: bytes, random: Randomness) -> bytes:
        return self.shape.of(self._bit(bit, random) for bit in self.shape.flags(permanent))

    def _own_many(self, n: int, random: Bulk) -> None:
        return None

    def _permanent_many(self, answers: Integers, own: None, random: Bulk) -> Reports:
        return self._set_bits(answers, *self.first_round, random)

    def _instant_many(self, permanent: Reports, random: Bulk) -> Reports:
        return second_bits(permanent, *self.second_round, self.k, random)
