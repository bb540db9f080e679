"""Unary encodings in two rounds: permanent bits, and reports made from them."""

from __future__ import annotations

from abc import abstractmethod

from murmurs.mechanisms.longitudinal import Longitudinal
from murmurs.mechanisms.unary import Unary
from murmurs.randomness.verbs import Randomness


class LongitudinalUnary(Longitudinal[bytes], Unary):
    """What unary encodings with two rounds share: permanent bits, and reports made from them."""

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
