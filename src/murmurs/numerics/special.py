"""Tails and quantiles of the few distributions that tests need, from SciPy, loaded on first use."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np

from murmurs.numerics.arrays import Floats, Integers


def _scipy_special() -> Any:
    try:
        import scipy.special
    except ImportError:
        raise ImportError(
            "tests of hypotheses need SciPy: install it with pip install 'murmurs[stats]'"
        ) from None
    return scipy.special


def normal_quantile(probability: float) -> float:
    """Return the standard normal quantile."""
    return NormalDist().inv_cdf(probability)


def normal_quantiles(probabilities: Floats) -> Floats:
    """Return the standard normal quantiles of many probabilities."""
    return np.asarray(_scipy_special().ndtri(probabilities))


def normal_quantiles_of_logs(logs: Floats) -> Floats:
    """Return the same from the logarithms of probabilities, also of those that underflow."""
    return np.asarray(_scipy_special().ndtri_exp(logs))


def normal_tail(values: Floats) -> Floats:
    """Return the probability that a standard normal variable exceeds each value."""
    return np.asarray(_scipy_special().ndtr(-values))


def log_normal_tail(values: Floats) -> Floats:
    """Return the logarithm of that probability, also where it underflows."""
    return np.asarray(_scipy_special().log_ndtr(-values))


def chi_square_tail(statistic: float, freedom: int) -> float:
    """Return the probability that a chi-square variable exceeds the statistic."""
    return float(_scipy_special().chdtrc(freedom, statistic))


def chi_square_tails(statistics: Floats, freedom: int) -> Floats:
    """Return the same for many statistics."""
    return np.asarray(_scipy_special().chdtrc(freedom, statistics))


def binomial_tail(counts: Integers | Floats, n: int | Integers, chance: float) -> Floats:
    """Return the probability of a binomial number at least this large; smooth between integers."""
    positive = np.maximum(counts, 1e-9)
    above = _scipy_special().betainc(positive, n - positive + 1, chance)
    return np.asarray(np.where(counts > 0, above, 1.0))


def noncentrality(statistic: float, freedom: float, chance: float) -> float:
    """Return the noncentrality at which chi-square is at most the statistic with this chance.

    It is 0 if even the central distribution is below the statistic less often.

    >>> round(noncentrality(20.0, 4.0, 0.025), 1)
    37.8
    """
    special = _scipy_special()
    if statistic <= 0 or float(special.gammainc(freedom / 2, statistic / 2)) <= chance:
        return 0.0
    if statistic + freedom > 1e4:  # nearly normal, with variance 2 freedom + 4 noncentrality
        z, excess = NormalDist().inv_cdf(chance), statistic - freedom
        root = math.sqrt(max(4 * z * z * (excess + z * z) + 2 * z * z * freedom, 0.0))
        return max(excess + 2 * z * z + (root if z < 0 else -root), 0.0)
    return float(special.chndtrinc(statistic, freedom, chance))
