"""Maximum likelihood: in closed form for k-ary randomised response, by EM for other histograms."""

from __future__ import annotations

import numpy as np

from murmurs.boundary.checks import real
from murmurs.channels.symmetric import Symmetric
from murmurs.counts import Counts
from murmurs.estimators.estimation import ASKED, Estimate
from murmurs.estimators.methods.em import Progress, em, noise_notes
from murmurs.estimators.precondition import usable
from murmurs.numerics.arrays import Floats


def water_filling(frequencies: Floats, odds: float) -> Floats:
    """Return the shares that make reported frequencies most likely; ``odds`` is (p* - q*) / q*.

    The largest r frequencies get a share of c f - 1 / odds, with one c for all, and the others get
    none; r is the largest number for which the smallest share stays positive. Proposition 6 of
    Kairouz et al. (2016), which is MLE* of Pinzón et al. (2026).

    >>> water_filling(np.array([0.5, 0.3, 0.2]), odds=2.0)
    array([0.75, 0.25, 0.  ])
    """
    ordered = np.sort(frequencies)[::-1]
    sums = np.cumsum(ordered)
    r = np.arange(1, len(ordered) + 1)
    kept = int(np.flatnonzero(ordered * (odds + r) > sums)[-1])
    level = sums[kept] * odds / (odds + kept + 1)
    return np.asarray(np.maximum(frequencies / level - 1 / odds, 0))


def likelihood(
    counts: Counts,
    *,
    tolerance: float = 1e-3,
    progress: Progress | None = None,
    why: str = ASKED,
) -> Estimate:
    """Return the maximum likelihood estimate.

    `KRR`: closed form in O(k log k) (water filling, MLE*). `Hadamard`, `ProjectiveGeometry` and
    `HadamardSketch`: accelerated EM through their fast transforms, certified to ``tolerance`` units
    of log-likelihood. For unary encodings, `Subset` and `LocalHashing`, counts are not sufficient:
    see `composite` and `report_likelihood`.

    Wins if the signal is strong; if noise dominates, it fits the noise and adds a note.
    """
    tolerance = real(tolerance, "tolerance", 0.0, 1e9)
    channel = usable(counts).channel
    if not (isinstance(channel, Symmetric) and channel.is_histogram):
        found = em(counts, tolerance=tolerance, progress=progress, why=why)
        return Estimate(
            counts,
            found.shares,
            "likelihood",
            why,
            iterations=found.iterations,
            gap=found.gap,
            converged=found.converged,
            notes=found.notes,
        )
    odds = float(channel.hit / channel.miss - 1)
    shares = water_filling(counts.cells / counts.n, odds)
    return Estimate(counts, shares, "likelihood", why, notes=noise_notes(counts, shares))
