"""The exact epsilon of integer probabilities, and the integers that keep a given epsilon.

Every probability in murmurs is a whole number over ``SCALE`` = 2**53. A ratio of probabilities is
then a fraction of whole numbers, and its logarithm is bounded from above with 60 digits. The
promise "at most the epsilon asked for" is a comparison of fractions, without floats.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import cache
from numbers import Rational

from murmurs.boundary.checks import real

__all__ = [
    "LARGEST_EPSILON",
    "SCALE",
    "SMALLEST_EPSILON",
    "check_epsilon",
    "check_promise",
    "exp_below",
    "flip_numerator",
    "flip_ratio",
    "log_above",
    "truth_numerator",
    "truth_ratio",
]

SCALE = 2**53
"""The denominator of every probability; numerators are exact in binary64, so also in JavaScript."""

SMALLEST_EPSILON = 1e-6
"""The smallest epsilon that a mechanism takes."""

LARGEST_EPSILON = 700.0
"""The largest epsilon that a mechanism takes."""

_DIGITS = Context(prec=60, Emin=-999999, Emax=999999)
_UPWARD = Context(prec=60, Emin=-999999, Emax=999999, rounding=ROUND_CEILING)


def check_epsilon(epsilon: object) -> float:
    """Return epsilon as a float from 1e-6 to 700; refuse anything else."""
    return real(epsilon, "epsilon", SMALLEST_EPSILON, LARGEST_EPSILON)


@cache
def exp_below(epsilon: float) -> Fraction:
    """Return a fraction of at most e**epsilon, within 1e-58 of its value.

    >>> float(exp_below(1.0))
    2.718281828459045
    """
    # Decimal.exp is correctly rounded, so one unit in the last place below it is a lower bound.
    return Fraction(Decimal(epsilon).exp(_DIGITS).next_minus(_DIGITS))


def log_above(ratio: Fraction) -> float:
    """Return a float that is at least ln(ratio), and at most one unit in the last place above it.

    >>> log_above(Fraction(3))
    1.0986122886681098
    """
    _check_exact(ratio)
    quotient = _UPWARD.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    bound = quotient.ln(_DIGITS).next_plus(_DIGITS)
    nearest = float(bound)
    return nearest if Decimal(nearest) >= bound else math.nextafter(nearest, math.inf)


def truth_numerator(epsilon: float, reports_per_supporting: Fraction) -> int:
    """Return the largest probability of a truthful report that keeps epsilon, times 2**53.

    It is for mechanisms that, with this probability t, draw uniformly from the s reports that
    support the answer, and otherwise uniformly from all K reports. With ``reports_per_supporting``
    = K / s, the largest ratio of the law is 1 + reports_per_supporting * t / (1 - t). The result is
    from 1 to 2**53 - 1: with probability one, some reports would be impossible and epsilon
    infinite.
    """
    gain = exp_below(epsilon) - 1
    numerator = math.floor(SCALE * gain / (reports_per_supporting + gain))
    if numerator < 1:
        raise ValueError(
            f"epsilon {epsilon:g} is too small for this many answers: the probability of a "
            "truthful report would be below 2**-53; take a larger epsilon or fewer answers"
        )
    return min(numerator, SCALE - 1)


def truth_ratio(numerator: int, reports_per_supporting: Fraction) -> Fraction:
    """Return the largest ratio of the law for a probability of truth; see `truth_numerator`."""
    return 1 + reports_per_supporting * Fraction(numerator, SCALE - numerator)


def flip_numerator(epsilon: float, bits: int = 1) -> int:
    """Return the smallest probability of a flip, times 2**53, that keeps epsilon for ``bits``.

    Each of ``bits`` bits is flipped; the ratio is ((2**53 - flip) / flip)^bits.

    >>> flip_numerator(700.0), flip_numerator(2.0, bits=2) == flip_numerator(1.0)
    (1, True)
    """
    most = exp_below(epsilon)
    root = _DIGITS.power(
        _DIGITS.divide(Decimal(most.numerator), Decimal(most.denominator)),
        _DIGITS.divide(Decimal(1), Decimal(bits)),
    )
    flip = max(1, math.ceil(SCALE / (1 + Fraction(root))))
    while flip_ratio(flip) ** bits > most:  # the root is rounded
        flip += 1
    return flip


def flip_ratio(numerator: int) -> Fraction:
    """Return the probability of a kept bit over that of a flipped bit; see `flip_numerator`."""
    return Fraction(SCALE - numerator, numerator)


def check_promise(ratio: Fraction, epsilon: float, what: object) -> None:
    """Refuse integer probabilities whose exact ratio exceeds e**epsilon."""
    _check_exact(ratio)
    if ratio > exp_below(epsilon):
        raise ValueError(
            f"the probabilities of {what} give epsilon {log_above(ratio)!r}, "
            f"more than the {epsilon!r} they promise"
        )


def _check_exact(ratio: Fraction) -> None:
    """Refuse a rounded ratio, which a mechanism of one's own may have."""
    if not isinstance(ratio, Rational):
        raise TypeError(
            f"the largest ratio of probabilities must be a Fraction, not {ratio!r}, so that "
            "epsilon is exact: divide probabilities that are fractions"
        )
