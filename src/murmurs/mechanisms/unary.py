"""Unary encodings: one bit for each answer, each bit randomised by itself."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from murmurs import kernels
from murmurs.bulk import Bulk
from murmurs.channels.symmetric import Symmetric
from murmurs.checks import Integers, real, whole
from murmurs.longitudinal import Longitudinal
from murmurs.mechanism import LARGEST_K, LEFT_OPEN, Mechanism, settle_flip
from murmurs.privacy import SCALE, check_promise, log_above
from murmurs.randomness import Randomness
from murmurs.wire import Bits, Report, Reports


class Unary(Mechanism[bytes]):
    """What unary encodings share: the answer's bit is set with one chance, others with another.

    A report is k bits, packed; bit j is bit j % 8 of byte j // 8.
    """

    @property
    @abstractmethod
    def one(self) -> Fraction:
        """Chance that the bit of the answer is set (p*)."""

    @property
    @abstractmethod
    def zero(self) -> Fraction:
        """Chance that any other bit is set (q*)."""

    @abstractmethod
    def _bit(self, own: bool, random: Randomness) -> bool:
        """Return one randomised bit."""

    @property
    def ratio(self) -> Fraction:
        """Two bits differ between two answers: p*(1 - q*) / (q*(1 - p*))."""
        return self.one * (1 - self.zero) / (self.zero * (1 - self.one))

    @property
    def shape(self) -> Bits:
        """A report is k bits."""
        return Bits(self.k)

    @property
    def channel(self) -> Symmetric:
        """Cell j counts the reports with bit j set."""
        return Symmetric.independent(self.k, self.one, self.zero)

    def _report(self, answer: int, random: Randomness) -> bytes:
        """Return the bits, drawn from the first to the last."""
        return self.shape.of(self._bit(j == answer, random) for j in range(self.k))

    def _encode(self, answers: Integers, random: Bulk) -> Reports:
        n, size = len(answers), self.shape.size
        # Denominators are powers of two: a fraction in lowest terms is a threshold as it is.
        out = random.packed(self.zero.numerator, n * size, self.zero.denominator)
        own = random.chance(self.one.numerator, n, self.one.denominator)
        at = np.arange(n) * size + (answers >> 3)
        place = (answers & 7).astype(np.uint8)
        out[at] = out[at] & ~(np.uint8(1) << place) | own.view(np.uint8) << place
        rows = out.reshape(n, size)
        if self.k % 8:
            rows[:, -1] &= (1 << self.k % 8) - 1
        return rows

    def supports(self, reports: Reports) -> NDArray[np.uint8]:
        """Return which answers each report supports, as packed bits: the report itself."""
        return self.shape.check(reports)

    def _tally(self, reports: Reports) -> Integers:
        return kernels.load().bit_totals(np.ascontiguousarray(reports), self.k)

    def _draw(self, histogram: Integers, rng: np.random.Generator) -> Integers:
        true = rng.binomial(histogram, float(self.one))
        return np.asarray(true + rng.binomial(histogram.sum() - histogram, float(self.zero)))


@dataclass(frozen=True)
class SUE(Unary):
    """Symmetric unary encoding, the same as k-RAPPOR and Basic one-time RAPPOR.

    Use it to compare with the literature; `OUE` has the smaller variance for most alphabets and
    `Subset` for all.

    Law: bit j is (j == answer), and each bit is turned round with probability flip / 2**53, the
    smallest that keeps ((1 - flip) / flip)^2 <= e^epsilon. Kairouz et al. (2016), eq. 10.

    >>> from murmurs import Secure
    >>> len(SUE(k=20, epsilon=1.0).encode(3, Secure()))
    3
    """

    k: int
    epsilon: float
    flip: int = field(default=LEFT_OPEN, repr=False)

    def __post_init__(self) -> None:
        self._settle()
        self._set(flip=settle_flip(self.flip, self.epsilon / 2))
        check_promise(self.ratio, self.epsilon, self)

    @property
    def one(self) -> Fraction:
        """1 - flip."""
        return 1 - self.zero

    @property
    def zero(self) -> Fraction:
        """The chance of a flip."""
        return Fraction(self.flip, SCALE)

    def _bit(self, own: bool, random: Randomness) -> bool:
        return own != random.chance(self.flip)


@dataclass(frozen=True)
class OUE(Unary):
    """Optimised unary encoding: the bit of the answer is a fair coin, others are rarely set.

    Use it for alphabets up to some thousands when reports may be k bits long and the client must
    be as plain as can be. Its variance comes within 3 % of the best from k = 100 on at epsilon 1,
    and from k = 1000 on at epsilon 4.

    Law: bit j == answer is set with probability 1/2, every other with probability flip / 2**53,
    the smallest that keeps (1 - flip) / flip <= e^epsilon. Wang et al. (2017).

    >>> OUE(k=20, epsilon=1.0).channel.hit
    Fraction(1, 2)
    """

    k: int
    epsilon: float
    flip: int = field(default=LEFT_OPEN, repr=False)

    def __post_init__(self) -> None:
        self._settle()
        self._set(flip=settle_flip(self.flip, self.epsilon))
        check_promise(self.ratio, self.epsilon, self)

    @property
    def one(self) -> Fraction:
        """A fair coin."""
        return Fraction(1, 2)

    @property
    def zero(self) -> Fraction:
        """The chance of a false bit."""
        return Fraction(self.flip, SCALE)

    def _bit(self, own: bool, random: Randomness) -> bool:
        return random.chance(SCALE // 2 if own else self.flip)


class Responses(Longitudinal[Report]):
    """RAPPOR's two responses to a bit, with its own three numbers f, p and q over 2**53.

    A permanent bit is 1 with probability f/2, 0 with f/2, and the true bit with 1 - f; a bit of the
    report is 1 with probability q if the permanent bit is 1, else with p.
    """

    f: float
    p: float
    q: float
    permanent: int
    idle: int
    busy: int

    @property
    def differing(self) -> int:
        """In how many bits two answers differ at most."""
        return 2

    def _settle_responses(self) -> None:
        for given, name in (("permanent", "f"), ("idle", "p"), ("busy", "q")):
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
                f"{self} tells nothing: f must be below 1 and p below q, "
                "so that a true bit is set more often than a false one"
            )
        if self.zero == 0 or self.one == 1:
            raise ValueError(f"{self} is not private: without f, p must be above 0 and q below 1")
        self._set(epsilon=self.epsilon_realised)

    @property
    def epsilon_forever(self) -> float:
        """Epsilon of the permanent response, whatever number of reports is made from it."""
        if self.permanent == 0:
            return float("inf")
        half = Fraction(self.permanent, 2 * SCALE)
        return log_above(((1 - half) / half) ** self.differing)

    @property
    def second_round(self) -> tuple[Fraction, Fraction]:
        """The chances q and p of a bit."""
        return Fraction(self.busy, SCALE), Fraction(self.idle, SCALE)

    @property
    def one(self) -> Fraction:
        """(1 - f/2) q + (f/2) p."""
        return self._mixed(self.busy, self.idle)

    @property
    def zero(self) -> Fraction:
        """(1 - f/2) p + (f/2) q."""
        return self._mixed(self.idle, self.busy)

    def _mixed(self, mostly: int, seldom: int) -> Fraction:
        seldom_part = self.permanent * seldom
        return Fraction((2 * SCALE - self.permanent) * mostly + seldom_part, 2 * SCALE**2)

    def _permanent_bit(self, own: bool, random: Randomness) -> bool:
        return random.below(2) == 1 if random.chance(self.permanent) else own

    def _bit(self, own: bool, random: Randomness) -> bool:
        return random.chance(self.busy if own else self.idle)


class LongitudinalUnary(Longitudinal[bytes], Unary):
    """What unary encodings of two rounds share: permanent bits, and bits made from them."""

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


@dataclass(frozen=True)
class BasicRappor(Responses[bytes], LongitudinalUnary):
    """Basic RAPPOR with its own three numbers, one-hot: a permanent and an instantaneous response.

    Use it to speak with systems that publish f, p and q. It has two epsilons: `epsilon` for one
    report, and `epsilon_forever` for any number of reports of one answer by a `Device`, which
    keeps its permanent response (infinite if f = 0). `encode` draws the permanent response anew.

    Law: the permanent bits are drawn first, then the bits of the report, each from the first to
    the last. A permanent bit is 1 with probability f/2, 0 with f/2, and the true bit with
    1 - f; the report's bit is 1 with probability q if the permanent bit is 1, else with p.
    So p* = (1 - f/2) q + (f/2) p and q* = (1 - f/2) p + (f/2) q. f, p and q are rounded to
    multiples of 2**-53. Erlingsson, Pihur and Korolova (2014); Fanti et al. (2016), section 2.

    >>> rappor = BasicRappor(k=8, f=0.5, p=0.5, q=0.75)
    >>> round(rappor.epsilon, 4), round(rappor.epsilon_forever, 4)
    (0.5371, 2.1972)
    """

    k: int
    f: float
    p: float
    q: float
    permanent: int = field(default=LEFT_OPEN, repr=False)
    idle: int = field(default=LEFT_OPEN, repr=False)
    busy: int = field(default=LEFT_OPEN, repr=False)
    epsilon: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._set(k=whole(self.k, "k", 2, LARGEST_K))
        self._settle_responses()

    @property
    def permanent_law(self) -> tuple[int, ...]:
        """The number of bits, and f."""
        return self.k, self.permanent
