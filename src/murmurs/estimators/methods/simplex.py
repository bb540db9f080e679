"""The unbiased shares, projected onto the simplex."""

from __future__ import annotations

from murmurs.counts import Counts
from murmurs.estimators.estimation import ASKED, Estimate
from murmurs.estimators.methods.unbiased import invert
from murmurs.numerics.simplex import project


def simplex(counts: Counts, *, why: str = ASKED) -> Estimate:
    """Return the Euclidean projection of the unbiased shares to the simplex ("InvP", "Norm-Sub").

    Wins on sparse and strongly skewed distributions, where the shares it sets to zero are only
    noise; loses on flat ones, where they are not. O(k log k). Kairouz et al. (2016), Wang et al.
    (2020).
    """
    return Estimate(counts, project(invert(counts)), "simplex", why)
