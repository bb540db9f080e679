"""Basic RAPPOR: one bit per answer, with a permanent and an instantaneous response."""

from __future__ import annotations

from dataclasses import dataclass, field

from murmurs.boundary.checks import whole
from murmurs.mechanisms.longitudinal.responses import Responses
from murmurs.mechanisms.longitudinal.unary import LongitudinalUnary
from murmurs.mechanisms.mechanism import LARGEST_K
from murmurs.mechanisms.settling import LEFT_OPEN


@dataclass(frozen=True)
class BasicRappor(Responses[bytes], LongitudinalUnary):
    """Basic RAPPOR, given by f, p and q: one bit per answer, randomised twice.

    Use it to work with systems that publish f, p and q. It has two epsilons: `epsilon` for one
    report, and `epsilon_permanent_realised` for any number of reports of one answer by a `Device`,
    which keeps its permanent response (infinite if f = 0). `encode` draws a new permanent response
    each time.

    Law: the permanent bits are drawn first, then the bits of the report, each from the first to
    the last. A permanent bit is 1 with probability f/2, 0 with f/2, and the true bit with
    1 - f; the report's bit is 1 with probability q if the permanent bit is 1, otherwise with p.
    So p* = (1 - f/2) q + (f/2) p and q* = (1 - f/2) p + (f/2) q. f, p and q are rounded to
    multiples of 2**-53. Erlingsson, Pihur and Korolova (2014); Fanti et al. (2016), section 2.

    >>> rappor = BasicRappor(k=8, f=0.5, p=0.5, q=0.75)
    >>> round(rappor.epsilon, 4), round(rappor.epsilon_permanent_realised, 4)
    (0.5371, 2.1972)
    """

    k: int
    f: float
    p: float
    q: float
    f_numerator: int = field(default=LEFT_OPEN, repr=False)
    p_numerator: int = field(default=LEFT_OPEN, repr=False)
    q_numerator: int = field(default=LEFT_OPEN, repr=False)
    epsilon: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._set(k=whole(self.k, "k", 2, LARGEST_K))
        self._settle_responses()

    @property
    def permanent_law(self) -> tuple[int, ...]:
        """The number of bits and f."""
        return self.k, self.f_numerator
