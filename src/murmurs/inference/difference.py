"""Have shares changed? Differences of two estimates, with intervals and tests."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, get_args

import numpy as np

from murmurs.boundary.checks import real
from murmurs.inference.fit import Fit, Target
from murmurs.numerics.arrays import Floats
from murmurs.numerics.special import chi_square_tail, normal_quantile, normal_tail

_LARGEST_COVARIANCE, _MOST_CELLS = 1000, 4096


class Comparable(Protocol):
    """What a comparison needs of an estimate."""

    @property
    def fit(self) -> Fit:
        """The unbiased shares with their noise."""
        ...

    @property
    def labels(self) -> tuple[str, ...]:
        """The answers' labels, if it has any."""
        ...

    @property
    def plausible(self) -> Floats:
        """Shares on the simplex, to compute the noise with."""
        ...

    def standard_errors(self, target: Target) -> Floats:
        """Return the standard errors of the unbiased shares."""
        ...


@dataclass(frozen=True, eq=False)
class Difference:
    """Shares of one estimate less those of another, on their unbiased shares.

    The two must come from different people. For the population both samplings count; for the
    respondents only the privacy noise does.
    """

    this: Comparable
    other: Comparable
    target: Target = "population"

    def __post_init__(self) -> None:
        if self.target not in get_args(Target):
            raise ValueError(f"target must be 'respondents' or 'population', not {self.target!r}")
        k, other = len(self.this.fit.unbiased), len(self.other.fit.unbiased)
        if k != other:
            raise ValueError(f"cannot compare {k} answers with {other}")
        if self.this.labels and self.other.labels and self.this.labels != self.other.labels:
            raise ValueError("cannot compare estimates whose labels differ")

    @cached_property
    def shares(self) -> Floats:
        """The unbiased shares of this less those of the other."""
        return self.this.fit.unbiased - self.other.fit.unbiased

    @cached_property
    def standard_errors(self) -> Floats:
        """Standard errors of the differences."""
        squares = [e.standard_errors(self.target) ** 2 for e in (self.this, self.other)]
        return np.sqrt(squares[0] + squares[1])

    def interval(self, level: float = 0.95, *, simultaneous: bool = False) -> Floats:
        """Return lower and upper limits of each difference, one row an answer."""
        level = real(level, "level", 0.5, 1 - 1e-9)
        each = 1 - (1 - level) / len(self.shares) if simultaneous else level
        reach = normal_quantile(0.5 + each / 2) * self.standard_errors
        return np.stack([self.shares - reach, self.shares + reach], axis=1)

    @cached_property
    def p_values(self) -> Floats:
        """Of each share's not having changed, two-sided."""
        return 2 * normal_tail(np.abs(self.shares) / self.standard_errors)

    @cached_property
    def p_value(self) -> float:
        """Of no share's having changed.

        A chi-square test on all differences with their whole covariance, as long as answers and
        cells are at most some thousands; for larger ones the smallest p-value with Bonferroni's
        factor.
        """
        k = len(self.shares)
        cells = max(math.prod(side.fit.channel.cells) for side in (self.this, self.other))
        if k > _LARGEST_COVARIANCE or cells > _MOST_CELLS:
            return float(min(1.0, k * self.p_values.min()))
        covariance = sum(
            side.fit.covariance(side.plausible, self.target) for side in (self.this, self.other)
        )
        values, vectors = np.linalg.eigh(covariance)
        kept = values > 1e-9 * values[-1]
        turned = vectors[:, kept].T @ self.shares
        statistic = float((turned**2 / values[kept]).sum())
        return chi_square_tail(statistic, int(kept.sum()))
