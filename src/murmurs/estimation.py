"""Estimate: the shares of the answers, how sure they are, and how they were obtained."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from murmurs.checks import Floats, real


@dataclass(frozen=True, eq=False)
class Estimate:
    """Shares of the answers among the ``n`` people who answered, with their standard errors.

    ``method`` names the estimator and ``why`` says why it was taken.
    """

    shares: Floats
    standard_errors: Floats
    n: int
    method: str
    why: str

    def interval(self, level: float = 0.95) -> Floats:
        """Return lower and upper limits, one row an answer.

        Each share of the people who answered lies within its limits with this probability, as far
        as the sums of many independent reports are normal; limits are not clipped to 0..1.
        """
        z = NormalDist().inv_cdf(0.5 + real(level, "level", 0.01, 0.999999) / 2)
        reach = z * self.standard_errors
        return np.stack([self.shares - reach, self.shares + reach], axis=1)

    def to_document(self) -> dict[str, Any]:
        """Return the estimate as plain values for JSON."""
        return {
            "n": self.n,
            "method": self.method,
            "why": self.why,
            "shares": self.shares.tolist(),
            "standard_errors": self.standard_errors.tolist(),
        }
