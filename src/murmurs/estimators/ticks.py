"""TicksEstimate: the share of each label of which people may tick several."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from murmurs.boundary.checks import real, shown
from murmurs.channels.sets import SetSupport
from murmurs.counts import Counts
from murmurs.estimators.empirical_bayes import Stratum, Support, learn
from murmurs.estimators.estimation import ASKED, Estimate
from murmurs.inference.fit import Target, check_target
from murmurs.inference.fitting import fitted
from murmurs.inference.intervals import Scale as NoiseScale
from murmurs.inference.intervals import limits
from murmurs.inference.sets import SetFit
from murmurs.inference.statistic import Statistic
from murmurs.numerics.arrays import Floats
from murmurs.numerics.special import normal_quantile, normal_tail
from murmurs.present import frames
from murmurs.present.text import p_text, percent, table
from murmurs.scales.scale import Scale

DEFAULT = "it keeps what stands out from the noise, and draws the rest to what is usual"
"""Why the default estimator is used."""

FEW_LABELS = 5
"""Labels at which their distribution and the cut unbiased shares have equal weight."""

SEVERAL = "people may tick several answers, so that shares do not add up to 100 %"
"""The note that every estimate of ticks has."""


@dataclass(frozen=True, eq=False)
class TickNumbers(frames.Tabular):
    """How many people tick 0, 1, 2, ... labels, and their mean number."""

    shares: Floats
    low: Floats
    high: Floats
    mean: Statistic

    def columns(self) -> dict[str, Any]:
        """Return the columns ticks, share, low and high."""
        ticks = list(range(len(self.shares)))
        return {"ticks": ticks, "share": self.shares, "low": self.low, "high": self.high}

    def __str__(self) -> str:
        rows = [
            [str(s), percent(share), f"{percent(low)} … {percent(high)}"]
            for s, (share, low, high) in enumerate(
                zip(self.shares.tolist(), self.low.tolist(), self.high.tolist(), strict=True)
            )
        ]
        heading = f"{100 * self.mean.level:g} % interval"
        return f"{table(['ticks', 'estimate', heading], rows)}\n\n{self.mean}"


@dataclass(frozen=True, eq=False)
class TickPairs(frames.Tabular):
    """Which labels go together: the share of people who ticked both, pair by pair.

    ``expected`` is the share if the two were ticked independently, ``p_values`` are of that
    hypothesis. The surest are first.
    """

    names: tuple[tuple[str, str], ...]
    shares: Floats
    low: Floats
    high: Floats
    expected: Floats
    p_values: Floats
    level: float

    def columns(self) -> dict[str, Any]:
        """Return the columns first, second, share, low, high, expected and p_value."""
        return {
            "first": [first for first, _ in self.names],
            "second": [second for _, second in self.names],
            "share": self.shares,
            "low": self.low,
            "high": self.high,
            "expected": self.expected,
            "p_value": self.p_values,
        }

    def table(self, limit: int = 20) -> str:
        """Return the table for the terminal: the surest pairs, up to a limit."""
        heading = f"{100 * self.level:g} % interval"
        rows = [
            [
                f"{first} + {second}",
                percent(float(self.shares[i])),
                f"{percent(float(self.low[i]))} … {percent(float(self.high[i]))}",
                percent(float(self.expected[i])),
                p_text(float(self.p_values[i])),
            ]
            for i, (first, second) in enumerate(self.names[:limit])
        ]
        return table(["both", "estimate", heading, "if independent", "p-value"], rows)

    def __str__(self) -> str:
        return self.table()


@dataclass(frozen=True, eq=False)
class TicksEstimate(Estimate):
    """The share of each label, each between zero and one, and how many labels people tick.

    >>> import murmurs as mm
    >>> owns = mm.Question("owns", ["car", "bike", "boat"], several=True, most=2, epsilon=2.0)
    >>> people = {("car", "bike"): 4000, ("bike",): 3000, (): 3000}
    >>> est = owns.estimate(owns.simulate(people, np.random.default_rng(1)))
    >>> print(est.ticks().mean)
    mean 1.10 ticks (95 % interval 1.07 to 1.13)
    """

    @property
    def plausible(self) -> Floats:
        """The estimated shares, between zero and one: the noise is computed there."""
        return np.clip(self.shares, 0.0, 1.0)

    @property
    def _sets(self) -> SetFit:
        return cast(SetFit, self.fit)

    def _scale(self, target: Target, shares: Floats | None = None) -> NoiseScale:
        usual = super()._scale("respondents", shares)
        check_target(target)
        drawn = self._sets.sampled(target)
        return NoiseScale(usual.constant, usual.slope + drawn, drawn)

    def ticks(self, level: float = 0.95, target: Target = "population") -> TickNumbers:
        """Return how many people tick 0, 1, ... labels; it costs no privacy beyond the reports.

        The dummies in the reports of `murmurs.PrivSet` show it. `murmurs.OneLabel` shows only the
        mean number: see `mean_ticks`.
        """
        level = real(level, "level", 0.5, 1 - 1e-9)
        channel = self.counts.channel
        if not isinstance(channel, SetSupport):
            raise ValueError(
                f"reports of {self.counts.mechanism} are about one label each and show only the "
                "mean number of ticks: use mean_ticks()"
            )
        few = np.concatenate([[0.0], channel.few(self.counts.cells, self.n), [1.0]])
        covariance = self._covariance_of_few(channel, few[1:-1], target)
        steps = np.diff(np.eye(channel.most), axis=0, prepend=0, append=0)
        errors = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", steps, covariance, steps), 0))
        shares = np.diff(few)
        low, high = _limits(shares, errors, level)
        return TickNumbers(np.clip(shares, 0, 1), low, high, self.mean_ticks(level, target))

    def _covariance_of_few(self, channel: SetSupport, few: Floats, target: Target) -> Floats:
        """Return the covariance of the shares of people with at most 0, 1, ... ticks.

        Who has at most one tick also has at most two: the share with both is the smaller one.
        """
        check_target(target)
        few = np.clip(np.maximum.accumulate(np.clip(few, 0, 1)), 0, 1)
        hit, miss, n = float(channel.hit), float(channel.miss), self.n
        none, one, two = (float(chance) for chance in channel.together)
        both, either = np.minimum.outer(few, few), np.add.outer(few, few)
        together = none + (one - none) * either + (two - 2 * one + none) * both
        own = miss + (hit - miss) * few
        np.fill_diagonal(together, own)
        found = (together - np.multiply.outer(own, own)) / (hit - miss) ** 2
        people = both - np.multiply.outer(few, few)
        if target == "respondents":
            return np.asarray((found - people) / n)
        return np.asarray((found + (self.counts.again - 1) * people) / n)

    def mean_ticks(self, level: float = 0.95, target: Target = "population") -> Statistic:
        """Return the mean number of labels that people tick, which is the sum of the shares."""
        level = real(level, "level", 0.5, 1 - 1e-9)
        channel, unbiased = self.counts.channel, float(self.unbiased.sum())
        if isinstance(channel, SetSupport):
            few = channel.few(self.counts.cells, self.n)
            variance = float(self._covariance_of_few(channel, few, target).sum())
            most = channel.most
        else:
            variance, most = float((self.standard_errors(target) ** 2).sum()), channel.k
        error = float(np.sqrt(max(variance, 0.0)))
        value, low, high = (
            float(np.clip(unbiased + side * normal_quantile(0.5 + level / 2) * error, 0, most))
            for side in (0, -1, 1)
        )
        scale = Scale((0.0, most / 2, float(most)), unit="ticks")
        return Statistic(
            "mean", value, low, high, level, target, error, scale=scale, unbiased=unbiased
        )

    def pairs(self, level: float = 0.95) -> TickPairs:
        """Return which labels go together, where counts keep pairs: ``pairs=True``."""
        level = real(level, "level", 0.5, 1 - 1e-9)
        counted, channel = self._sets.pair_table, self.counts.channel
        if counted is None or not isinstance(channel, SetSupport):
            raise ValueError(
                f"counts of {self.counts.mechanism} do not say which labels go together: ask with "
                "pairs=True"
            )
        i, j = np.triu_indices(channel.k, 1)
        n, own = self.n, self.unbiased
        gap = float(channel.hit - channel.miss)
        none, one, two = (float(chance) for chance in channel.together)
        bend = two - 2 * one + none
        expected = own[i] * own[j]
        found = self._sets.both()[i, j]
        # The noise is that of shares which can be: few reports would seem to have too little.
        near = np.clip(own, 0, 1)
        least, most = np.maximum(near[i] + near[j] - 1, 0), np.minimum(near[i], near[j])
        together = none + (one - none) * (near[i] + near[j]) + bend * np.clip(found, least, most)
        first, second = (float(channel.miss) + gap * near[place] for place in (i, j))
        # A sum of the indicators of both, of the first and of the second, over the reports.
        moments = np.array(
            [
                [together * (1 - together), together * (1 - first), together * (1 - second)],
                [together * (1 - first), first * (1 - first), together - first * second],
                [together * (1 - second), together - first * second, second * (1 - second)],
            ]
        )
        share = np.array([1 / bend, -(one - none) / (bend * gap), -(one - none) / (bend * gap)])
        shared = np.broadcast_to(share[:, None], (3, len(i)))
        apart = shared - np.stack([np.zeros(len(i)), own[j] / gap, own[i] / gap])
        error, apart_error = (
            np.sqrt(np.maximum(np.einsum("ap,abp,bp->p", own, moments, own), 1e-30) / n)
            for own in (shared, apart)
        )
        p_values = np.minimum(2 * normal_tail(np.abs(found - expected) / apart_error), 1.0)
        order = np.lexsort((-found, np.round(p_values, 12)))
        low, high = _limits(found, error, level)
        names = self.labels or tuple(map(str, range(channel.k)))
        return TickPairs(
            tuple((names[i[p]], names[j[p]]) for p in order),
            np.clip(found, 0, 1)[order],
            low[order],
            high[order],
            np.clip(expected, 0, 1)[order],
            p_values[order],
            level,
        )

    @cached_property
    def _told(self) -> str:
        """How many labels people tick, in a sentence."""
        mean = self.mean_ticks()
        said = f"People tick {mean.value:.2f} answers on average ({mean.low:.2f} to {mean.high:.2f}"
        if not isinstance(self.counts.channel, SetSupport):
            return f"{said})."
        none = self.ticks()
        return (
            f"{said}), and {percent(float(none.shares[0]))} tick none "
            f"({percent(float(none.low[0]))} to {percent(float(none.high[0]))})."
        )

    @property
    def explanation(self) -> str:
        """The number of ticks, the estimator and the notes."""
        return f"{self._told}\n{super().explanation}"

    def to_document(self, level: float = 0.95, target: Target = "population") -> dict[str, Any]:
        """Return the estimate as plain values for JSON, with the number of ticks."""
        mean = self.mean_ticks(level, target)
        ticks: dict[str, Any] = {"mean": mean.to_document()}
        if isinstance(self.counts.channel, SetSupport):
            found = self.ticks(level, target)
            ticks |= {name: getattr(found, name).tolist() for name in ("shares", "low", "high")}
        return super().to_document(level, target) | {"several": True, "ticks": ticks}


def _limits(shares: Floats, errors: Floats, level: float) -> tuple[Floats, Floats]:
    """Return limits of shares from their standard errors, which hold for shares near zero, too."""
    noise = NoiseScale(np.maximum(errors**2, 1e-24), np.zeros(len(shares)), 0.0)
    low, high = limits(shares, noise, level).T
    return low, high


def _shrunk(counts: Counts, why: str) -> TicksEstimate:
    """Return the means of the shares given the counts, by a distribution learnt from all labels."""
    fit = cast(SetFit, fitted(counts))
    found = fit.unbiased
    constant, slope = fit.noise(np.clip(found, 0, 1))
    mean = float(np.clip(found.mean(), 0.0, 1.0))
    turned = mean > 0.5  # then those who did not tick are the fewer
    law, n = fit.law, float(counts.n)
    support = None
    hit, miss = float(law.hit), float(law.miss)
    if not fit.is_drawn and hit < 1 and miss > 0:
        own = law.supporting(counts.cells)
        support = Support(own, hit, miss)
        if turned:
            support = Support(counts.n - own, 1 - miss, 1 - hit)
    if turned:
        found, mean, constant, slope = 1 - found, 1 - mean, constant + slope, -slope
    least = max(1 / (2 * counts.n), 1e-6)
    noise = np.maximum(constant, 1e-6 / n**2)
    if float(noise.max()) * n * n < 1e-3:
        shares = np.clip(found, 0, 1)
    else:
        stratum = Stratum(found, noise, slope, max(mean, least), n, False, support)
        posterior = learn(stratum)
        rows = posterior.rows
        shares = np.clip(posterior.means[rows.bin_of], 0, 1)
        shares = np.where(rows.alone, np.clip(found, 0, 1), shares)
    shares = 1 - shares if turned else shares
    alone = 1 / (1 + (len(shares) / FEW_LABELS) ** 3)
    shares = (1 - alone) * shares + alone * np.clip(fit.unbiased, 0, 1)
    return TicksEstimate(counts, shares, "shrinkage", why, fit=fit)


def _unbiased(counts: Counts, why: str) -> TicksEstimate:
    return TicksEstimate(counts, fitted(counts).unbiased, "unbiased", why)


def _clipped(counts: Counts, why: str) -> TicksEstimate:
    return TicksEstimate(counts, np.clip(fitted(counts).unbiased, 0, 1), "clipped", why)


OF_TICKS: dict[str, Callable[[Counts, str], TicksEstimate]] = {
    "shrinkage": _shrunk,
    "unbiased": _unbiased,
    "clipped": _clipped,
}
"""The estimators for several ticks, by name."""


def estimate_ticks(counts: Counts, estimator: Any, labels: tuple[str, ...]) -> TicksEstimate:
    """Estimate the share of each label, with the default estimator or the one that is named."""
    if counts.n == 0:
        raise ValueError("there are no reports to estimate from")
    why = DEFAULT if estimator is None else ASKED
    name = "shrinkage" if estimator is None else estimator
    if callable(name):
        found = name(counts)
    elif isinstance(name, str) and name in OF_TICKS:
        found = OF_TICKS[name](counts, why)
    else:
        raise ValueError(
            f"there is no estimator {shown(name)} for questions with several answers; choose one "
            f"of {', '.join(OF_TICKS)}"
        )
    notes = tuple(dict.fromkeys([SEVERAL, *found.notes]))
    named = found.with_labels(labels) if labels else found
    return cast(TicksEstimate, replace(named, notes=notes))
