"""The unbiased shares, projected on the simplex."""

from __future__ import annotations

from murmurs.counts import Counts
from murmurs.estimation import ASKED, Estimate
from murmurs.estimators.unbiased import invert
from murmurs.numerics.simplex import project


def simplex(counts: Counts, *, why: str = ASKED) -> Estimate:
    """Return the Euclidean projection of the unbiased shares on the simplex ("InvP", "Norm-Sub").

    Wins on sparse and strongly skewed laws, where it sets what is only noise to zero; loses on
    flat ones, where it does so too. O(k log k). Kairouz et al. (2016), Wang et al. (2020).
    """
    return Estimate(counts, project(invert(counts)), "simplex", why)
