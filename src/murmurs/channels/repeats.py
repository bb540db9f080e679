"""How several reports of one person depend on each other."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from murmurs.numerics.arrays import Floats

Chance = TypeVar("Chance", Fraction, Floats)


@dataclass(frozen=True)
class Repeats:
    """How often each person reports, and how reports follow from what stays the same in them.

    A person's permanent response speaks for an answer or does not; a report then speaks for it with
    probability ``if_kept`` or ``if_not``. Where each person reports once that makes no difference.
    """

    times: int = 1
    if_kept: Fraction = Fraction(1)
    if_not: Fraction = Fraction(0)

    def fresh(self, law: Chance) -> Chance:
        """Return the variance of a report given the permanent response, on average.

        ``law`` is the probability that a report supports the answer. With q and p for ``if_kept``
        and ``if_not``, it is a q + (1 - a) p if the permanent response supports it with probability
        a, and the variance is a q (1 - q) + (1 - a) p (1 - p). That is linear in the law, as
        written here.
        """
        base, slope = self.if_kept * self.if_not, 1 - self.if_kept - self.if_not
        if isinstance(law, Fraction):
            return base + slope * law
        return float(base) + float(slope) * law

    def variance_per_report(self, law: Chance) -> Chance:
        """Return what each of a person's reports adds to the variance of their sum.

        Let v be the variance of one report, made of a part given the permanent response, `fresh`,
        and a part that is kept. Of T reports the sum has T fresh + T^2 kept (law of total
        variance), and each has fresh + T kept = T v - (T - 1) fresh.
        """
        return self.times * law * (1 - law) - (self.times - 1) * self.fresh(law)

    def skewed_chance(self, law: Fraction) -> float:
        """Return the chance of a yes that makes it as skewed as the sum of a person's reports."""
        if self.times == 1:
            return float(law)
        a = float((law - self.if_not) / (self.if_kept - self.if_not))
        b, gap = (float(self.if_kept), float(self.if_not)), float(self.if_kept - self.if_not)
        means = self.times * gap
        variances = [self.times * x * (1 - x) for x in b]
        # The third cumulant: that given the response, the response's own, and how both go together.
        third = a * variances[0] * (1 - 2 * b[0]) + (1 - a) * variances[1] * (1 - 2 * b[1])
        third += a * (1 - a) * means * ((1 - 2 * a) * means**2 + 3 * (variances[0] - variances[1]))
        skewness = third / math.pow(self.times * float(self.variance_per_report(law)), 1.5)
        return 0.5 - 0.5 * skewness / math.hypot(skewness, 2)


ONCE = Repeats()
"""One report of each person."""
