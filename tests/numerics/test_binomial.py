"""Binomial probabilities and tails, compared with those of SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from murmurs.numerics.binomial import masses, tails


@pytest.mark.parametrize("n", [1, 2, 17, 300, 10**4, 10**12, 2**60])
@pytest.mark.parametrize("mean", [1e-6, 0.3, 4.0, 90.0])
def test_probabilities_and_tails_are_those_of_scipy(n: int, mean: float) -> None:
    chance = min(mean, n / 3) / n
    x = np.arange(min(n, 250) + 1.0)
    below, at, above = tails(x, np.array(float(n)), np.array(chance), np.array(1 - chance))
    law = scipy.stats.binom(n, chance)
    np.testing.assert_allclose(at, law.pmf(x), rtol=1e-10, atol=1e-250)
    np.testing.assert_allclose(below, law.cdf(x - 1), rtol=1e-10, atol=1e-15)
    np.testing.assert_allclose(above, law.sf(x), rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize("n", [5, 400, 10**6])
def test_a_chance_near_one_is_that_of_the_others(n: int) -> None:
    x, rest = np.arange(6.0), 1.5 / n
    found = tails(n - x, np.array(float(n)), np.array(1 - rest), np.array(rest))
    turned = tails(x, np.array(float(n)), np.array(rest), np.array(1 - rest))
    for one, other in zip(found, turned[::-1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_sure_events_are_sure() -> None:
    x, n = np.array([0.0, 3.0, 7.0]), np.array(7.0)
    never, always = (masses(x, n, np.array(p), np.array(1 - p)) for p in (0.0, 1.0))
    assert never.tolist() == [1, 0, 0]
    assert always.tolist() == [0, 0, 1]
    assert masses(np.array([-1.0, 0.0, 1.0]), np.array(0.0), *np.array([0.3, 0.7])).tolist() == [
        0,
        1,
        0,
    ]
    below, at, above = tails(x, n, np.array(0.0), np.array(1.0))
    assert (below.tolist(), at.tolist(), above.tolist()) == ([0, 1, 1], [1, 0, 0], [0, 0, 0])
