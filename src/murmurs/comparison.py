"""Is an answer there at all? Have shares changed? Tests on the unbiased shares of counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from murmurs.checks import Floats, real
from murmurs.inference.fit import Fit, Target, plausible
from murmurs.special import binomial_tail, chi_square_tail, normal_quantile, normal_tail

Control = Literal["bonferroni", "fdr"]
_LARGEST_COVARIANCE, _MOST_CELLS = 1000, 4096


class Side(Protocol):
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
class Detection:
    """Which answers somebody holds, with the p-values of the hypothesis that nobody does.

    With Bonferroni's control no absent answer is among the present ones with probability
    1 - level; with "fdr" (Benjamini and Yekutieli 2001, valid under any dependence) the expected
    part of absent answers among them is at most the level.
    """

    present: NDArray[np.bool_]
    p_values: Floats
    level: float
    control: Control


def detect(fit: Fit, level: float = 0.05, control: Control = "bonferroni") -> Detection:
    """Test for each answer that nobody holds it.

    If so, the reports that support it are binomial with the chance of false support, exactly;
    where the shares are not made of such counts, or people report again, the law of their noise
    stands in.
    """
    level = real(level, "level", 1e-12, 0.5)
    if fit.n == 0:
        raise ValueError("there are no reports to test")
    if not fit.tells_absence:
        raise ValueError(
            f"absent answers of {fit.counts.mechanism} cannot be told from those that share places "
            "with common ones: test selection(counts)"
        )
    if fit.support is not None:
        support, _, miss = fit.support
        p_values = binomial_tail(support, fit.n, float(miss))
    else:
        constant, _ = fit.noise(plausible(fit.unbiased))
        scores, people = fit.unbiased / np.sqrt(constant), fit.counts.people
        p_values = _tail(scores, people, fit.channel.false_support)
    for group in fit.confounded:  # each of them may be absent, whatever is counted
        p_values[group] = 1.0
    return Detection(_rejected(p_values, level, control), p_values, level, control)


def _tail(scores: Floats, n: int, chance: float | None) -> Floats:
    """Return the probability of larger scores: normal, or with the skewness of counts of support.

    A score is then that of a binomial number, of as many people as would support an absent answer.
    """
    if chance is None:
        return normal_tail(scores)
    counts = n * chance + scores * math.sqrt(n * chance * (1 - chance))
    return binomial_tail(np.minimum(counts, n), n, chance)


def _rejected(p_values: Floats, level: float, control: Control) -> NDArray[np.bool_]:
    k = len(p_values)
    if control == "bonferroni":
        return np.asarray(p_values <= level / k)
    if control != "fdr":
        raise ValueError(f"control must be 'bonferroni' or 'fdr', not {control!r}")
    harmonic = float((1 / np.arange(1, k + 1)).sum())
    ordered = np.sort(p_values)
    below = np.flatnonzero(ordered <= level * np.arange(1, k + 1) / (k * harmonic))
    return np.asarray(p_values <= (ordered[below[-1]] if len(below) else -1.0))


@dataclass(frozen=True, eq=False)
class Difference:
    """Shares of one estimate less those of another, on their unbiased shares.

    The two must come from different people. For the population both samplings count; for the
    respondents only the privacy noise does.
    """

    this: Side
    other: Side
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
