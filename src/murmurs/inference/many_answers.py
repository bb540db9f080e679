"""Whether anything differs among more answers than a covariance is computed for.

The smallest of thousands of p-values lies far out in the tail. There the noise of an answer with
few reports is not normal, and normal tails would find differences where there are none. If nothing
differs, then of all reports in a cell each is as likely to be in one group as any other report is.
So the number of them in a group is hypergeometric, whatever the law of the reports. The binomial
distribution, which is wider, gives its p-value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from murmurs.inference.fit import Fit
from murmurs.numerics.arrays import Floats
from murmurs.numerics.special import binomial_tail


def smallest_p_value(fits: Sequence[Fit], p_values: Floats) -> float:
    """Return the smallest p-value times the number of tests (Bonferroni), at most 1.

    Tests are of the cells where each answer has a cell of its own, or each combination of answers
    has cells of its own, and all reports have the same law: one mechanism, and one report from each
    person. Elsewhere an answer is spread over many cells, each answer rests on many reports, and
    ``p_values`` are those of the answers.
    """
    first = fits[0]
    has_own = math.prod(first.channel.cells) == len(first.unbiased) or first.channel.factors
    alike = all(
        fit.counts.mechanism == first.counts.mechanism and fit.counts.times == 1 for fit in fits
    )
    if not has_own or not alike:
        return float(min(1.0, len(p_values) * p_values.min()))
    cells = np.stack([fit.counts.cells.ravel() for fit in fits])
    people = np.array([fit.n for fit in fits])
    totals, everybody = cells.sum(axis=0), int(people.sum())
    is_tested = (totals > 0) & (totals < everybody)
    if not is_tested.any():
        return 1.0
    least, cells, totals = 1.0, cells[:, is_tested], totals[is_tested]
    for own, n in zip(cells, people.tolist(), strict=True):
        share = n / everybody
        above = binomial_tail(own, totals, share)
        below = binomial_tail(totals - own, totals, 1 - share)
        least = min(least, float(np.minimum(above, below).min()))
    groups = 1 if len(fits) == 2 else len(fits)
    return min(1.0, 2 * least * len(totals) * groups)
