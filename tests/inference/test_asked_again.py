"""Limits of shares from people who were asked again, summed over all counts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

import murmurs as mm
from murmurs.numerics.arrays import Floats


def limits_of(mechanism: mm.KRR, people: int, times: int) -> Floats:
    """The limits of an answer, for every number of reports that support it."""
    n = people * times
    out = np.empty((n + 1, 2))
    for count in range(n // 2 + 1):
        counts = mm.Counts(mechanism, n, np.array([count, n - count]), again=float(times))
        out[[count, n - count]] = mm.estimators.unbiased(counts).interval().T
    return out


@pytest.mark.parametrize(("epsilon", "people", "times"), [(1.0, 5, 12), (2.0, 20, 5), (8.0, 2, 20)])
def test_limits_rise_with_the_count_and_cover(epsilon: float, people: int, times: int) -> None:
    """Rounded to whole people, limits fell by up to 4 points where one more report supported it."""
    mechanism = mm.KRR(2, epsilon)
    low, high = limits_of(mechanism, people, times).T
    assert min(np.diff(low).min(), np.diff(high).min()) > -1e-9
    hit, miss = float(mechanism.channel.hit), float(mechanism.channel.miss)
    own = np.arange(people + 1)
    reports = np.arange(people * times + 1)
    law = np.array(
        [
            np.convolve(
                binom.pmf(reports[: times * held + 1], times * held, hit),
                binom.pmf(reports[: times * (people - held) + 1], times * (people - held), miss),
            )
            for held in own
        ]
    )
    for share in np.linspace(0, 1, 41):
        chances = binom.pmf(own, people, share) @ law
        assert chances[(low <= share + 1e-12) & (share <= high + 1e-12)].sum() > 0.93, share
