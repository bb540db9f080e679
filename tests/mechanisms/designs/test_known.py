"""Designs give the numbers that were printed for them elsewhere, from the same data.

The packages divide by n - 1 where the textbooks, and we, divide by n; the tests convert it. No
printed worked example of the triangular model and of Boruch (1971) was found with its data; the
formulas of both are tested in `test_design`, and rr's number below is of a forced response.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest

import murmurs as mm

NORMAL = NormalDist()


def _estimated(design: mm.Design, yes: int, people: int) -> mm.Estimate:
    return mm.estimate(mm.Counts(design, people, np.array([yes, people - yes])), "unbiased")


def _error(est: mm.Estimate) -> float:
    """Return the standard error of yes for the population, with n - 1 in place of n."""
    n = est.counts.n
    return float(est.standard_errors("population")[0]) * math.sqrt(n / (n - 1))


@pytest.mark.parametrize(
    ("p", "yes", "share", "error", "z"),
    [
        # Manual of 2018: 1000 people.
        (0.2, 640, 0.266667, 0.025311, None),
        # Vignette of version 0.7.5 (2022): 1000 people, and the z-value of its test.
        ("1/6", 633, 0.300500, 0.022874, 13.137),
    ],
)
def test_warner_gives_the_numbers_of_rrreg(
    p: float | str, yes: int, share: float, error: float, z: float | None
) -> None:
    """RRreg (Heck and Moshagen, 2018), `RRuni`; the number of yes follows from the estimate."""
    est = _estimated(mm.warner(p), yes, 1000)
    assert est.shares[0] == pytest.approx(share, abs=5e-7)
    assert _error(est) == pytest.approx(error, abs=5e-7)
    if z is not None:
        assert est.shares[0] / _error(est) == pytest.approx(z, abs=5e-4)


def test_warner_gives_the_share_of_the_encyclopaedia() -> None:
    """Wikipedia, "Randomized response": p = 1/6 and three quarters of yes mean a share of 1/8."""
    est = _estimated(mm.warner("1/6"), 750, 1000)
    assert est.shares[0] == pytest.approx(1 / 8, rel=1e-12)


def test_crosswise_gives_the_numbers_of_cwise() -> None:
    """The R package cWise (Atsusaka, 2020), data `cmdata`: 2000 people, p = 0.15.

    Its naive estimate is that of Yu, Tian and Tang (2008): 0.195, which means 1427 times "same",
    with the standard error 0.01444624 and the 95 % limits 0.16668537 and 0.2233146.
    """
    est = _estimated(mm.crosswise(0.15), 1427, 2000)
    assert est.shares[0] == pytest.approx(0.195, rel=1e-12)
    assert _error(est) == pytest.approx(0.01444624, abs=5e-9)
    reach = 1.96 * _error(est)
    assert est.shares[0] - reach == pytest.approx(0.16668537, abs=5e-9)
    assert est.shares[0] + reach == pytest.approx(0.2233146, abs=5e-8)


STUDENTS = 10777
"""All students of the university that was surveyed; 710 of them were asked."""

SURVEY = [
    # question, the share of yes to the other one, times yes, estimate, variance, limits
    ("copied", "1/12", 328, 0.8406103, 0.001389716, 0.767545, 0.9136756),
    ("fought", "1/10", 180, 0.4070423, 0.001045196, 0.3436776, 0.4704069),
    ("bullied", "2/3", 280, 0.1220657, 0.001337415, 0.05038851, 0.1937429),
    ("bullying", "1/10", 81, 0.128169, 0.0005597858, 0.08179667, 0.1745414),
    ("drug", "1/3", 164, 0.1286385, 0.000991658, 0.06691805, 0.1903589),
    ("sex", "1/12", 53, 0.06596244, 0.000383954, 0.02755745, 0.1043674),
]
"""Vignette of the R package RRTCS 0.0.4 (Cobo, Rueda and Arcos), data `HorvitzDataRealSurvey`."""


@pytest.mark.parametrize(
    ("known", "yes", "share", "variance", "low", "high"), [row[1:] for row in SURVEY]
)
def test_the_unrelated_question_gives_the_numbers_of_rrtcs(
    known: str, yes: int, share: float, variance: float, low: float, high: float
) -> None:
    """Greenberg et al. (1969) with a coin, drawn without replacement from 10,777 students.

    With f the sampled fraction, the variance is 1 - f times that of the population plus f times
    that of the respondents: with f = 1, everybody has answered and only the coin is noise. So both
    of our targets are in the number. Rejected: either of them alone.
    """
    est = _estimated(mm.unrelated_question("1/2", known), yes, 710)
    assert est.shares[0] == pytest.approx(share, abs=5e-8)
    fraction = 710 / STUDENTS
    ours = {target: est.standard_errors(target)[0] ** 2 for target in ("population", "respondents")}
    found = (1 - fraction) * ours["population"] * 710 / 709 + fraction * ours["respondents"]
    assert found == pytest.approx(variance, rel=1e-6)
    for alone in ours.values():
        assert alone != pytest.approx(variance, rel=1e-4)
    reach = NORMAL.inv_cdf(0.975) * math.sqrt(found)
    assert [share - reach, share + reach] == pytest.approx([low, high], abs=1e-6)


def test_forced_response_has_the_power_that_rr_computes() -> None:
    """The R package rr (Blair, Imai and Zhou, 2015), test of `power.rr.test`: power 0.9868872.

    200 people throw a die (1: say yes, 6: say no), a share of 0.2 is tested against none, one-sided
    at the level 0.01. The power needs the standard errors at both shares; that of no yes is
    taken from 600 people, who on average say yes 100 times.
    """
    design = mm.forced_response("1/6", "1/6")
    there = _estimated(design, 60, 200)
    none = _estimated(design, 100, 600)
    assert there.shares[0] == pytest.approx(0.2, rel=1e-12)
    assert none.shares[0] == pytest.approx(0, abs=1e-12)
    reach = NORMAL.inv_cdf(0.99) * none.standard_errors("population")[0] * math.sqrt(3)
    power = NORMAL.cdf((0.2 - reach) / there.standard_errors("population")[0])
    assert power == pytest.approx(0.9868872, abs=5e-8)
