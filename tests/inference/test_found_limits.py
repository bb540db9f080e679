"""Limits of shares that are reported only because they were found."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from murmurs.inference.found_limits import limits_of_found
from murmurs.inference.intervals import Scale

SMALL = 1e-3
"""One standard error of the shares below, so that none is near one."""


def limits(seen: np.ndarray, margins: np.ndarray, level: float = 0.95) -> np.ndarray:
    """Return limits in standard errors, for noise of one standard error at every share."""
    scale = Scale(np.full(len(seen), SMALL**2), np.zeros(len(seen)), 0.0)
    return limits_of_found(seen * SMALL, margins, scale, level) / SMALL


def test_far_above_the_threshold_limits_are_those_of_a_normal_estimate() -> None:
    low, high = limits(np.array([20.0]), np.array([10.0]))[0]
    reach = scipy.stats.norm.isf(0.045 / 0.995 / 2)  # a tenth of 5 % is spent on all strings
    assert (low, high) == (pytest.approx(20 - reach, abs=5e-3), pytest.approx(20 + reach, abs=5e-3))


def test_limits_are_nested_and_reach_lower_the_closer_the_threshold_is() -> None:
    margins = np.array([0.0, 0.1, 0.5, 1.0, 2.0, 4.0, np.inf])
    seen = np.full(len(margins), 7.0)
    narrow, wide = limits(seen, margins, 0.8), limits(seen, margins, 0.99)
    assert np.all(np.diff(narrow[:, 0]) > -1e-9)
    assert narrow[0, 0] < narrow[3, 0] < narrow[5, 0]
    assert np.all(wide[:, 0] < narrow[:, 0])
    assert np.all(narrow[:, 1] <= wide[:, 1])
    assert np.all((narrow[:, 0] <= 7) & (narrow[:, 1] >= 7))


def test_a_string_just_found_is_not_said_to_be_possibly_absent() -> None:
    """Without the bound over all strings, the lower limit at the threshold itself would be 0."""
    assert limits(np.array([6.0]), np.array([0.0]))[0, 0] > 1.5


@pytest.mark.parametrize("share", [3.5, 4.0, 5.0, 6.0, 8.0])
def test_limits_cover_given_that_the_string_was_found(share: float) -> None:
    """Of 5000 estimates above a threshold of 5, fewer than 328 intervals may miss the share.

    That many are missed with probability below 1e-6 if 5 % are missed. Limits that ignore the
    threshold miss 780 on average at a share of 4, and all at 3.
    """
    rng = np.random.default_rng(12)
    at_least = scipy.stats.norm.sf(5 - share)
    seen = share + scipy.stats.norm.isf(rng.uniform(0, at_least, 5000))
    low, high = limits(seen, seen - 5).T
    assert np.sum((share < low) | (share > high)) < 328
    assert scipy.stats.binom.sf(327, 5000, 0.05) < 1e-6
