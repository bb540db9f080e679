"""Kendall's tau-b: whether people with larger numbers in one question have larger ones in another.

It is the probability that two people are in the same order in both questions, minus that of the
opposite order, divided by the geometric mean of the probabilities that they differ in one and in
the other. All three are quadratic in the shares. Noise makes squares of unbiased shares too large:
its expected part is subtracted, and the variance has a part for products of noise with noise.
"""

from __future__ import annotations

import math

import numpy as np

from murmurs.inference.fit import Target
from murmurs.inference.joint_table import JointTable
from murmurs.inference.numbers import checked_level
from murmurs.inference.statistic import Statistic
from murmurs.numerics.arrays import Floats
from murmurs.numerics.special import normal_quantile, normal_tail
from murmurs.scales.scale import Scale

NAME = "Kendall's tau-b"

TIED = "nearly all people may have one answer to a question, as far as the noise tells"
"""The note where the order of people cannot be seen."""

_NUMBERS = Scale((-1.0, 0.0, 1.0))
"""How a correlation is shown."""


def kendall(found: JointTable, level: float) -> Statistic:
    """Return Kendall's tau-b of the rows and columns of a table, with the test that it is zero."""
    level, own = checked_level(level), found.adding_up
    shares, noise, sizes = own.shares, own.covariance, own.shares.shape
    target: Target = "population" if own.sampled else "respondents"
    down, across = (np.sign(np.subtract.outer(np.arange(k), np.arange(k))) for k in sizes)
    order = down @ shares @ across.T  # of each combination: people before minus people after
    turned = np.einsum("ik,jl,klmn->ijmn", down, across, noise, optimize=True)
    whole = turned.reshape(shares.size, shares.size)
    both = float((shares * order).sum()) - float(np.trace(whole))
    margins = ((own.row_sums, (1, 3)), (own.column_sums, (0, 2)))
    tied = [
        1 - float(sums @ sums) + float(np.trace(noise.sum(axis=axes))) for sums, axes in margins
    ]
    if min(tied) <= 0:
        whole_range = (0.0, -1.0, 1.0)
        return Statistic(
            NAME, *whole_range, level, target, p_value=1.0, scale=_NUMBERS, notes=(TIED,)
        )
    size = math.sqrt(tied[0] * tied[1])
    value = both / size
    products = 2 * float((whole * whole.T).sum()) / size**2
    plain = 2 * order / size
    leaning = value * np.add.outer(own.row_sums / tied[0], own.column_sums / tied[1])
    error, error_if_zero = (
        math.sqrt(max(_variance(slope, noise) - products, products, 1e-24))
        for slope in (plain + leaning, plain)
    )
    reach = normal_quantile(0.5 + level / 2) * error
    p_value = float(2 * normal_tail(np.array([abs(value) / error_if_zero]))[0])
    middle, low, high = np.clip([value, value - reach, value + reach], -1.0, 1.0).tolist()
    return Statistic(
        NAME, middle, low, high, level, target, error, p_value, scale=_NUMBERS, unbiased=value
    )


def _variance(slope: Floats, noise: Floats) -> float:
    return float(np.einsum("ij,ijkl,kl", slope, noise, slope, optimize=True))
