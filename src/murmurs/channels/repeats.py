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
    """How often each person reports, and how the reports depend on the permanent response.

    A person's permanent response supports an answer or does not; a report then supports it with
    probability ``if_kept`` or ``if_not``. If each person reports once, this makes no difference.
    ``times`` may be an average over the reports.
    """

    times: float = 1
    if_kept: Fraction = Fraction(1)
    if_not: Fraction = Fraction(0)

    def fresh(self, law: Chance) -> Chance:
        """Return the average variance of a report given the permanent response.

        ``law`` is the probability that a report supports the answer. Write q and p for ``if_kept``
        and ``if_not``, and a for the probability that the permanent response supports the answer.
        Then ``law`` is a q + (1 - a) p, and the variance is a q (1 - q) + (1 - a) p (1 - p). That
        is linear in ``law``, which is the form computed here.
        """
        base, slope = self.if_kept * self.if_not, 1 - self.if_kept - self.if_not
        if isinstance(law, Fraction):
            return base + slope * law
        return float(base) + float(slope) * law

    def variance_per_report(self, law: Chance) -> Chance:
        """Return what each of a person's reports adds to the variance of their sum.

        The variance v of one report has two parts: its variance given the permanent response,
        `fresh`, and the variance due to the permanent response, kept. The sum of T reports has
        variance T fresh + T^2 kept (law of total variance), so each adds
        fresh + T kept = T v - (T - 1) fresh.
        """
        if isinstance(law, Fraction):
            times = Fraction(self.times)
            return times * law * (1 - law) - (times - 1) * self.fresh(law)
        return self.times * law * (1 - law) - (self.times - 1) * self.fresh(law)

    def skewed_chance(self, law: Fraction) -> float:
        """Return the probability of a yes that is as skewed as the sum of a person's reports."""
        if self.times == 1:
            return float(law)
        a = float((law - self.if_not) / (self.if_kept - self.if_not))
        b, gap = (float(self.if_kept), float(self.if_not)), float(self.if_kept - self.if_not)
        means = self.times * gap
        variances = [self.times * x * (1 - x) for x in b]
        # Third cumulant: given the response, of the response itself, and of both together.
        third = a * variances[0] * (1 - 2 * b[0]) + (1 - a) * variances[1] * (1 - 2 * b[1])
        third += a * (1 - a) * means * ((1 - 2 * a) * means**2 + 3 * (variances[0] - variances[1]))
        skewness = third / math.pow(self.times * float(self.variance_per_report(law)), 1.5)
        return 0.5 - 0.5 * skewness / math.hypot(skewness, 2)


ONCE = Repeats()
"""One report from each person."""
