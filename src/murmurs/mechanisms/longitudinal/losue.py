"""L-OSUE: permanent bits as in OUE, flipped at random for each report."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

from murmurs.mechanisms.longitudinal.two_rounds import check_permanent
from murmurs.mechanisms.longitudinal.unary import LongitudinalUnary
from murmurs.mechanisms.settling import LEFT_OPEN, settled
from murmurs.privacy import SCALE, check_promise, exp_below, flip_numerator, flip_ratio, log_above
from murmurs.randomness.verbs import Randomness


@dataclass(frozen=True)
class LOSUE(LongitudinalUnary):
    """L-OSUE, optimised then symmetric unary encoding: for answers that are collected repeatedly.

    Use it with a `Device` when the same question is asked again and again, k is up to some
    thousands, and values seldom change. One report has the law of `OUE` at `epsilon`, so in a
    single collection `epsilon_permanent` costs nothing.

    Law: the permanent bits are drawn first, then the bits of the report, each from the first to
    the last. The permanent bit of the answer is 1 with probability 1/2, every other with
    probability u = permanent_flip / 2**53, the smallest that keeps (1 - u) / u <=
    e^epsilon_permanent. Each bit of a report is the permanent bit, flipped with probability
    v = flip / 2**53, the smallest that keeps epsilon for one report: p* = 1/2 and q* =
    u (1 - v) + (1 - u) v. Arcolezi et al. (2022).

    >>> losue = LOSUE(k=20, epsilon=1.0, epsilon_permanent=2.0)
    >>> losue.epsilon_realised, losue.epsilon_permanent_realised
    (1.0, 2.0)
    """

    k: int
    epsilon: float
    epsilon_permanent: float
    permanent_flip: int = field(default=LEFT_OPEN, repr=False)
    flip: int = field(default=LEFT_OPEN, repr=False)

    def __post_init__(self) -> None:
        self._settle()
        self._set(epsilon_permanent=check_permanent(self.epsilon, self.epsilon_permanent))
        half = SCALE // 2
        lasting = settled(
            self.permanent_flip,
            "permanent_flip",
            1,
            half - 1,
            lambda: flip_numerator(self.epsilon_permanent),
        )
        self._set(permanent_flip=lasting)
        self._set(flip=settled(self.flip, "flip", 1, half - 1, self._smallest_flip))
        check_promise(
            flip_ratio(self.permanent_flip),
            self.epsilon_permanent,
            f"the permanent response of {self}",
        )
        check_promise(self.ratio, self.epsilon, self)

    def _smallest_flip(self) -> int:
        """Return the smallest probability that makes q* at least 1 / (e^epsilon + 1)."""
        lasting = Fraction(self.permanent_flip, SCALE)
        wanted = 1 / (1 + exp_below(self.epsilon))
        return max(1, math.ceil(SCALE * (wanted - lasting) / (1 - 2 * lasting)))

    @property
    def epsilon_permanent_realised(self) -> float:
        """The epsilon of the permanent response, for any number of reports made from it."""
        return log_above(flip_ratio(self.permanent_flip))

    @property
    def one(self) -> Fraction:
        """One half: a fair coin, flipped or not."""
        return Fraction(1, 2)

    @property
    def zero(self) -> Fraction:
        """The probability of a false permanent bit that is kept, or a true one that is flipped."""
        lasting, turned = self.permanent_flip, self.flip
        return Fraction(lasting * (SCALE - turned) + (SCALE - lasting) * turned, SCALE**2)

    @property
    def permanent_law(self) -> tuple[int, ...]:
        """The number of bits, and the probability of a false permanent bit."""
        return self.k, self.permanent_flip

    @property
    def first_round(self) -> tuple[Fraction, Fraction]:
        """A fair coin for the answer's bit, and the probability of a false one."""
        return Fraction(1, 2), Fraction(self.permanent_flip, SCALE)

    @property
    def second_round(self) -> tuple[Fraction, Fraction]:
        """The probabilities that a permanent bit is kept and that it is flipped."""
        turned = Fraction(self.flip, SCALE)
        return 1 - turned, turned

    def _permanent_bit(self, own: bool, random: Randomness) -> bool:
        return random.chance(SCALE // 2 if own else self.permanent_flip)

    def _bit(self, own: bool, random: Randomness) -> bool:
        return own != random.chance(self.flip)
