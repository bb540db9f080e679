"""The default estimator of joint tables: shrunk towards what the margins say by themselves."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np

from murmurs.channels.product import ProductChannel
from murmurs.counts import Counts
from murmurs.estimators.default import single
from murmurs.estimators.estimation import ASKED, Estimate
from murmurs.estimators.low_rank import LowRank
from murmurs.estimators.precondition import UnfitCountsError, usable
from murmurs.estimators.ratios import shrink_ratios
from murmurs.estimators.residual import (
    Residual,
    Side,
    free_cells,
    residual,
    residual_in_cohorts,
    side_of,
)
from murmurs.numerics.arrays import Floats
from murmurs.numerics.tables import Axes, beyond, margin, outer, rake

SURE_SCALE = 4.0
"""Estimates are mixed with weights exp(-risk / this), the risk in units of the noise."""

LOW_RANK_PRIOR = 0.3
"""The weight of the low-rank fit before its risk is known."""

LEAST_NOISE_PART = 0.05
"""The least part of the variance that is taken to be noise and not sampling."""

LEAST_WEIGHT = 0.005
"""Least squares are left out of large tables, in which they would have less weight than this.

There the degrees of freedom they spend are underestimated, as their noise is not exactly even.
"""

MOST_FREE = 1000
"""The same for tables without such risks, where their weight is 1 / (1 + free cells^2)."""

PROJECTIONS = 60
"""Rounds of projections onto tables with the margins and without negative cells."""

STANDS_OUT = 1.6449
"""Association stands out if its statistic is this many deviations above the mean by chance."""


def joint(counts: Counts, *, why: str = ASKED) -> Estimate:
    """Return the joint table of two or more questions, shrunk towards independence.

    The margins are estimated first, as single questions: they are known far better than the cells.
    Their product is the table of independent answers. Empirical Bayes learns from all cells how far
    their ratios to that table scatter, and shrinks each ratio accordingly. For two questions
    without shared cohorts, two others compete with it: a low-rank fit, and least squares among
    tables without negative cells, which is best where many combinations are impossible. They are
    mixed with weights exp(-risk / 4), where the risks are unbiased estimates of their squared
    errors in units of the noise (Stein 1981), times weights beforehand: that of least squares is 1
    / (1 + free cells), as large tables of least squares have many spikes that are noise. The
    mixture counts by the probability that the answers are associated at all, given the ratios; the
    shrunk ratios by themselves, which are nearly one where little stands out, count by the rest.
    The result is raked to the margins, so it agrees with the estimates of the single questions.

    Of three or more questions all pairs are estimated in this way first. The table with these pairs
    and nothing beyond takes the place of independence, and the result agrees with it on all pairs.

    Wins on most tables: its l1 error is about 0.8 of that of maximum likelihood. Loses where most
    combinations are impossible and noise is strong: see docs/results/joint.md. Its intervals are
    those of the counts. A note is added if no association stands out.

    >>> import murmurs as mm
    >>> both = mm.Product([mm.KRR(k=2, epsilon=1.0), mm.KRR(k=3, epsilon=1.0)])
    >>> people = np.array([[300, 200, 100], [50, 150, 200]]) * 100
    >>> counts = both.simulate(people.ravel(), np.random.default_rng(1))
    >>> joint(counts).shares.reshape(2, 3).round(2)
    array([[0.29, 0.2 , 0.11],
           [0.06, 0.15, 0.19]])
    """
    _joint_channel(usable(counts))
    table, notes = _table(counts)
    return Estimate(counts, table.ravel(), "joint", why, notes=notes)


def independence(counts: Counts, *, why: str = ASKED) -> Estimate:
    """Return the product of the estimates of the single questions: no association at all.

    Use it to compare with: what a joint table adds to its margins.
    """
    _joint_channel(usable(counts))
    singles = [single(counts.margin(i)) for i in range(len(counts.channel.factors))]
    shares = outer([found.shares for found in singles]).ravel()
    return Estimate(counts, shares / shares.sum(), "independence", why)


def _joint_channel(counts: Counts) -> ProductChannel:
    """Return the channel of several questions; refuse that of one."""
    channel = counts.channel
    if not isinstance(channel, ProductChannel):
        raise UnfitCountsError(
            f"counts of {counts.mechanism} are of one question, not of several", "shrinkage"
        )
    return channel


def _table(counts: Counts) -> tuple[Floats, tuple[str, ...]]:
    """Return the table of several questions, and what a reader should know about it."""
    count = len(counts.channel.factors)
    singles = [single(counts.margin(i)) for i in range(count)]
    notes = [
        f"question {i + 1}: {note}"
        for i, found in enumerate(singles)
        for note in found.notes
        if note not in found.fit.notes
    ]
    margins: list[tuple[Axes, Floats]] = [((i,), e.shares) for i, e in enumerate(singles)]
    base = outer([e.shares for e in singles])
    order = 1
    if count > 2:
        order = 2
        pairs = list(itertools.combinations(range(count), 2))
        found_pairs = [_table(counts.margin(*pair))[0] for pair in pairs]
        base = rake(base, list(zip(pairs, found_pairs, strict=True)))
        base = rake(base, margins)
        margins = [(pair, margin(base, pair)) for pair in pairs]
    if free_cells(base.shape, order) == 0:  # a question has one possible answer
        return base, tuple(notes)
    channel = _joint_channel(counts)
    if channel.cohorts is not None:
        rest = residual_in_cohorts(counts, base, order)
        sides: list[Side] = []
    else:
        sides = [
            side_of(axis, e.shares, e.unbiased)
            for axis, e in zip(channel.axes, singles, strict=True)
        ]
        rest = residual(counts, base, order, sides)
    if rest.freedom == 0:  # everybody gives the same answer to a question
        return base, tuple(notes)
    if rest.is_noiseless:
        return _raked(rest.estimates, base, margins), tuple(notes)
    if not stands_out(rest.statistic, rest.freedom):
        notes.append(_hidden(count))
    shrunk = shrink_ratios(rest)
    table = mixed = _raked(shrunk.cells, base, margins)
    free = free_cells(base.shape, order)
    if len(sides) == 2:
        low_rank = LowRank(rest.estimates - base, (sides[0], sides[1]), counts.n)
        mixed = _mixed(_Fit(table, shrunk.spent, 1 - LOW_RANK_PRIOR), rest, low_rank, margins)
    elif free <= MOST_FREE:
        few = 1 / (1 + free**2)
        mixed = (1 - few) * table + few * _raked(_least_squares(rest), base, margins)
    table = table + shrunk.association * (mixed - table)
    return table / table.sum(), tuple(notes)


def _raked(table: Floats, base: Floats, margins: list[tuple[Axes, Floats]]) -> Floats:
    """Return a table with the margins; a trace of the base keeps every cell reachable."""
    return rake(np.maximum(table, 0) + 1e-9 * base, margins)


class _Fit(NamedTuple):
    """A table, the degrees of freedom it spends, and its weight before its risk is known."""

    table: Floats
    spent: float
    prior: float


def _mixed(
    shrunk: _Fit, rest: Residual, low_rank: LowRank, margins: list[tuple[Axes, Floats]]
) -> Floats:
    """Return shrunk ratios, the low-rank fit and least squares, mixed by their estimated risks."""
    low, spent = low_rank.shrunk()
    fits = [shrunk, _Fit(_raked(rest.base + low, rest.base, margins), spent, LOW_RANK_PRIOR)]
    prior = 1 / (1 + free_cells(rest.base.shape, rest.order))
    if prior > LEAST_WEIGHT:
        fits = [fit._replace(prior=(1 - prior) * fit.prior) for fit in fits]
        nearest = _least_squares(rest)
        fits.append(_Fit(_raked(nearest, rest.base, margins), face_dimension(nearest), prior))
    noise, sampling = rest.noise(1.0)
    part = max(float(noise.sum() / (noise + sampling).sum()), LEAST_NOISE_PART)
    distances = np.array([low_rank.distance(fit.table - rest.base) for fit in fits])
    risks = distances / part + 2 * np.array([fit.spent for fit in fits])
    weights = np.exp((risks.min() - risks) / SURE_SCALE) * [fit.prior for fit in fits]
    mixed = np.average([fit.table for fit in fits], axis=0, weights=weights)
    return np.asarray(mixed)


def face_dimension(table: Floats) -> float:
    """Return the degrees of freedom that the nearest of all tables with given margins spends.

    That is the dimension of the face it lies on: its positive cells, less the margins (Meyer and
    Woodroofe 2000).
    """
    positive = table > 1e-12
    margins = int(positive.any(axis=1).sum() + positive.any(axis=0).sum()) - 1
    return float(max(int(positive.sum()) - margins, 0))


def _least_squares(rest: Residual) -> Floats:
    """Return the table nearest to the estimates among those with the margins and none negative.

    Projections onto both sets in turn, with Dykstra's correction (Boyle and Dykstra 1986).
    """
    table, excess = rest.estimates, np.zeros_like(rest.base)
    for _ in range(PROJECTIONS):
        kept = rest.base + beyond(table - rest.base, rest.order) + excess
        table = np.maximum(kept, 0)
        excess = kept - table
    return table


def stands_out(statistic: float, freedom: int) -> bool:
    """Return whether a chi-square statistic is above about 95 % of what chance gives.

    Its cube root is nearly normal (Wilson and Hilferty 1931).
    """
    scale = 2 / (9 * freedom)
    return (math.cbrt(statistic / freedom) - 1 + scale) / math.sqrt(scale) > STANDS_OUT


def _hidden(count: int) -> str:
    if count == 2:
        return (
            "no association stands out from the noise: the table is nearly that of independent "
            "answers because little is known about it, not because the answers are independent"
        )
    return (
        f"nothing stands out beyond the pairs of questions: the table of all {count} is nearly "
        "what the tables of two give"
    )
