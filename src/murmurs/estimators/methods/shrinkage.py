"""Shrinkage: the default estimator, nonparametric empirical Bayes on the cells."""

from __future__ import annotations

import math

import numpy as np

from murmurs.counts import Counts
from murmurs.estimators.empirical_bayes import SQUARES, Posterior, Stratum, Support, learn
from murmurs.estimators.estimation import ASKED, Estimate
from murmurs.estimators.precondition import usable
from murmurs.inference.fit import Fit
from murmurs.inference.fitting import fitted
from murmurs.numerics.arrays import TINY, Floats, Integers
from murmurs.numerics.simplex import normalised, plausible, weighted_projection

MEANS_HALFWAY = 10.0
"""Number of answers at which posterior means and the common level have equal weight."""

LEAST_SQUARES_ALONE, LEAST_SQUARES_HALFWAY = 3, 3.0
"""Number of answers, with little noise, up to which least squares decide alone, and at which
learning is expected to deserve the same weight, before its fit is looked at."""

EXPECTATION = 4.0
"""How much that expectation counts at least, in units of the squared distance between the two."""

HARDLY = 0.3
"""Weight of least squares that is halved; smaller ones are dismissed."""

RAMP = 0.5
"""Standard errors over which a share of least squares turns from zero to positive."""

LEARNED = 2.0
"""Degrees of freedom that learning the distribution of the shares takes, unless it is simple."""

LEARNING_ALONE = 30.0
"""Number of answers at which the weight of least squares is halved, whatever the fit; with many
answers, learning decides alone."""

STRATUM_RATIO = 3.0
"""Ratio of the noise variances of neighbouring strata."""


def shrinkage(counts: Counts, *, why: str = ASKED) -> Estimate:
    """Return shares shrunk towards the distribution of all shares, as far as the noise demands.

    The noise of each cell is known, so the distribution of the shares can be estimated from all
    cells, and then each share given its cell (empirical Bayes). If the signal is strong,
    the result tends to the unbiased shares; if noise dominates, it tends to equal shares.

    The result mixes two estimates on the simplex with weights 1 - w and w, where w = k / (k + 10).
    The first is the posterior means, whose excess over a sum of one is subtracted in proportion to
    the posterior variances. The second is the shares that sum to one and have the smallest expected
    loss, l1 plus ten times the squared l2 error: nearly posterior quantiles for small shares and
    nearly means for large ones, so that it does not bet everything on a single spike.

    A handful of cells say little about a distribution, and two or three say nothing. So least
    squares, the unbiased shares brought to the simplex, is mixed in: alone for up to three answers,
    otherwise with the weight at which the risk of the mixture, estimated from its fit, is smallest
    (see `least_squares_weight`). That weight fades above 30 answers, and where noise hides
    everything. A note is added if noise hides all shares.

    Wins on most distributions: its l1 error is about 0.6 of that of maximum likelihood over the
    grid of the benchmark, and about 0.9 over real histograms. Loses if one or two answers have
    nearly everything and noise is strong, if there are few answers, some of them tiny, and if most
    reports are true and there are few people for each answer, above all with `Hadamard`: see
    docs/estimators/shrinkage.md. Its intervals are those of the counts; ``posterior_deviations``
    are the standard deviations of the posterior.
    """
    return shrink(fitted(usable(counts)), why)


def shrink(fit: Fit, why: str) -> Estimate:
    """Return the shrunk shares of a fit."""
    if fit.support is not None:
        support, hit, miss = fit.support
        shares, deviations = from_support(support, fit.n, float(hit), float(miss))
    else:
        people = fit.counts.people
        shares, deviations = from_estimates(*fit.refined(), people)
        again = fit.reweighted(shares)
        if again is not None:
            shares, deviations = from_estimates(*again, people)
    constant, slope = fit.noise(plausible(fit.unbiased))
    return Estimate(
        fit.counts,
        shares,
        "shrinkage",
        why,
        notes=hidden_note(shares, np.maximum(constant + slope * shares, 0)),
        posterior_deviations=deviations,
        fit=fit,
    )


def hidden_note(shares: Floats, noise: Floats) -> tuple[str, ...]:
    """Return a note if noise of these variances hides all shares.

    It does if the standard error of a share is more than half of 1/k, and no share differs from 1/k
    by more than its standard error.
    """
    k, error = len(shares), math.sqrt(float(noise.mean()))
    if error <= 0.5 / k or (np.abs(shares - 1 / k) > np.sqrt(noise)).any():
        return ()
    return (
        f"noise hides the shares: their standard error is about {_per_cent(error)}, and equal "
        f"shares would be {_per_cent(1 / k)}; the estimates are alike because little is known, not "
        "because the shares are equal: ask more people, or use a larger epsilon",
    )


def _per_cent(share: float) -> str:
    """Return a share in per cent, with two digits, or all digits before the point."""
    return f"{100 * share:.2g} %" if share < 1 else f"{100 * share:.0f} %"


def from_support(counts: Integers, n: int, hit: float, miss: float) -> tuple[Floats, Floats]:
    """Return shares and posterior deviations from counts of support."""
    k = len(counts)
    estimates = (counts / n - miss) / (hit - miss)
    scale = n * (hit - miss) ** 2
    constant = miss * (1 - miss) / scale
    slope = (hit * (1 - hit) - miss * (1 - miss)) / scale
    if _is_noiseless(max(constant, constant + slope), n):
        return _as_they_are(estimates)
    expected = n * (hit + (k - 1) * miss)
    fixed_sum = abs(float(counts.sum()) - expected) < 1e-9 * expected + 1e-6
    hit, miss = min(hit, 1 - 1e-15), max(miss, 1e-18)
    constant = max(constant, 1e-4 * max(constant + slope, constant), 1e-6 / n**2)
    stratum = Stratum(
        estimates,
        np.full(k, constant),
        np.full(k, slope),
        1 / k,
        float(n),
        fixed_sum,
        Support(counts, hit, miss),
    )
    return decide([learn(stratum)], [np.arange(k)])


def from_estimates(
    estimates: Floats, constant: Floats, slope: Floats, n: int
) -> tuple[Floats, Floats]:
    """Return shares and posterior deviations from unbiased estimates with known noise.

    If the noise differs between cells, it may say something about the share (in Hadamard response
    it grows with the mass of the block): cells of similar noise form a stratum with its own
    distribution.
    """
    k = len(estimates)
    constant = np.maximum(constant, TINY)
    if _is_noiseless(float(constant.max()), n):
        return _as_they_are(estimates)
    ratio = np.log(constant / np.median(constant)) / math.log(STRATUM_RATIO)
    _, which = np.unique(np.floor(ratio + 0.5).astype(np.int64), return_inverse=True)
    members = [np.flatnonzero(which == i) for i in range(int(which.max()) + 1)]
    totals = np.array([1.0])
    if len(members) > 1:  # their noise keeps them above zero
        totals = np.array(
            [
                max(
                    float(estimates[j].sum()),
                    0.5 * math.sqrt(float(constant[j].sum())),
                    0.1 * len(j) / k,
                )
                for j in members
            ]
        )
        totals /= totals.sum()
    strata = [
        Stratum(estimates[j], constant[j], slope[j], min(total / len(j), 0.99), float(n), False)
        for j, total in zip(members, totals.tolist(), strict=True)
    ]
    return decide([learn(stratum) for stratum in strata], members)


def decide(posteriors: list[Posterior], members: list[Integers]) -> tuple[Floats, Floats]:
    """Return shares on the simplex from the posteriors of all cells, and posterior deviations."""
    level = _common_level(posteriors)
    k = sum(len(j) for j in members)
    plain, spread, mean, variance, common, disagreement = np.zeros((6, k))
    for posterior, j in zip(posteriors, members, strict=True):
        rows, stratum = posterior.rows, posterior.stratum
        noise = np.maximum(
            stratum.constant + stratum.slope * np.clip(stratum.estimates, 0, 1),
            1e-3 * stratum.constant,
        )
        plain[j], spread[j] = stratum.estimates, noise
        variance[j] = posterior.variances[rows.bin_of]
        disagreement[j] = posterior.disagreement[rows.bin_of]
        # Within a row, the mean moves with the estimate, by posterior variance over noise variance.
        pull = np.clip(variance[j] / noise, 0, 1.5)
        shift = pull * (stratum.estimates - rows.estimates[rows.bin_of])
        for target, values in ((mean, posterior.means), (common, posterior.decisions(level))):
            cell = values[rows.bin_of]
            cell = np.where(cell > 0, np.maximum(cell + shift, 0), 0)
            target[j] = np.where(rows.alone, np.clip(stratum.estimates, 0, 1), cell)
        variance[j] = np.where(rows.alone, noise, variance[j])
    if common.sum() > 0:
        common = weighted_projection(common, np.sqrt(variance))
    else:
        common = np.full(k, 1 / k)
    weight = k / (k + MEANS_HALFWAY)
    shares = (1 - weight) * weighted_projection(mean, variance) + weight * common
    squares = weighted_projection(plain, spread)
    freedom = float(np.clip(variance / spread, 0, 1.5).sum())
    apart = float((disagreement / spread).sum())
    weight = least_squares_weight(plain, spread, shares, squares, freedom, apart)
    shares = (1 - weight) * shares + weight * squares
    return shares / shares.sum(), np.sqrt(variance)


def least_squares_weight(
    plain: Floats, noise: Floats, learned: Floats, squares: Floats, freedom: float, apart: float
) -> float:
    """Return the weight of least squares in the mixture with the shares that were learned.

    The risk of a mixture is estimated by its squared distance from the unbiased shares, each in
    units of its noise variance, plus twice its degrees of freedom (Stein 1981). Least squares has
    one for each positive share but one. Learning has ``freedom``, the sum of the posterior
    variances over the noise variances, and as much again for the distribution, at most two.

    With few answers this estimate is itself noisy, so the weight w is drawn towards
    1 / (1 + (k / 3)^3): the more, the better the plausible distributions agree on the shares.
    ``apart`` is the variance between them in the same units as the squared distance between the two
    estimates. Where it is small compared with that, nothing else could have been learned, and least
    squares has nothing to insure against; unless the fit is worse than chance explains: the squared
    distance is also the variance of the estimated gain.

    The result is multiplied by w^2 / (w^2 + 0.3^2), as a small weight insures against little and
    costs most where learning is nearly exact; by 1 / (1 + (k / 30)^8), as the distribution of many
    shares is learned well; and by m / (m + noise), where m = (1 - 1/k) / k is the variance of the
    shares when one answer has everything: no fit shows which estimate is better if the noise is
    larger than that.
    """
    k = len(plain)
    most = (1 - 1 / k) / k
    limit = most / (most + float(noise.mean()) + TINY)
    if k <= LEAST_SQUARES_ALONE:
        return limit
    away = squares - learned
    distance = float((away**2 / noise).sum())
    taken = max(_positive(plain, noise, squares) - 1, 0.0) - (freedom + min(freedom, LEARNED))
    gain = float(((plain - learned) * away / noise).sum()) - taken
    expected = 1 / (1 + (k / LEAST_SQUARES_HALFWAY) ** 3)
    surprise = max(gain - expected * distance, 0.0) ** 2 / (distance + TINY)
    agreed = min(distance / (2 * apart + TINY), 1e6) ** 2
    sure = EXPECTATION + agreed * math.exp(-0.5 * surprise)
    weight = min(max((gain + sure * expected) / (distance + sure), 0.0), 1.0)
    weight *= weight**2 / (weight**2 + HARDLY**2)
    return limit * weight / (1 + (k / LEARNING_ALONE) ** 8)


def _positive(plain: Floats, noise: Floats, squares: Floats) -> float:
    """Return how many shares of least squares are positive; one near zero counts in part.

    A share counts as a half where it reaches zero, so that nothing jumps there.
    """
    largest = int(np.argmax(squares))
    amount = (plain[largest] - squares[largest]) / noise[largest]
    errors = (plain - amount * noise) / np.sqrt(noise)
    return float(np.clip(errors / RAMP + 0.5, 0, 1).sum())


def _common_level(posteriors: list[Posterior]) -> float:
    """Return the level at which the decisions on all cells add up to one."""
    low, high = -1 - 2 * SQUARES, 1 + 2 * SQUARES
    for _ in range(42):
        level = (low + high) / 2
        total = sum(float(p.rows.times @ p.decisions(level)) for p in posteriors)
        low, high = (low, level) if total > 1 else (level, high)
    return (low + high) / 2


def _is_noiseless(variance: float, n: int) -> bool:
    """Return whether the noise is below 0.03 people."""
    return variance * n * float(n) < 1e-3


def _as_they_are(estimates: Floats) -> tuple[Floats, Floats]:
    return normalised(estimates), np.zeros(len(estimates))
