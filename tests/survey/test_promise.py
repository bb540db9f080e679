"""What people are promised in sentences agrees with the exact law of the mechanisms."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from murmurs import KRR, LOSUE, Question, Subset, Survey
from murmurs.mechanisms.mechanism import Mechanism
from murmurs.survey.promise import promise
from murmurs.survey.terms import Terms
from tests.walk import exact_law

LABELS = ("tea", "mate", "milk")


def promised(mechanism: Mechanism[Any], **terms: Any) -> str:
    survey = Survey("cafe", (Question("drink", LABELS, mechanism),), terms=Terms(**terms))
    return promise(survey, survey.questions[0])


@pytest.mark.parametrize("mechanism", [KRR(3, 1.0), KRR(3, 0.3), Subset(3, 2.0)])
def test_the_factor_that_is_told_bounds_the_exact_law_and_is_close(
    mechanism: Mechanism[Any],
) -> None:
    laws = [exact_law(mechanism.encode, answer) for answer in range(3)]
    worst = max(one[report] / other[report] for one in laws for other in laws for report in one)
    told = Fraction(promised(mechanism).partition(" times")[0].split()[-1])
    assert worst <= told < worst + Fraction(1, 50)


def test_repeated_reports_are_told() -> None:
    kept = promised(LOSUE(3, epsilon=1.0, epsilon_permanent=2.0), memory="value")
    assert "one permanent response together, it is 7.39 times (epsilon 2)." in kept
    assert "adds up" in kept
    assert "adds up" not in promised(KRR(3, 1.0), every="once")
    budget = promised(KRR(3, 1.0), lifetime_epsilon=12.5)
    assert budget.endswith("Over all questions and days, a device spends at most epsilon 12.5.")


def test_a_design_without_a_bound_promises_none() -> None:
    survey = Survey.from_toml(
        """
        name = "cafe"
        [[questions]]
        name = "drink"
        labels = ["yes", "no"]
        mechanism = {name = "Design", matrix = [["1", "1/2"], ["0", "1/2"]]}
        """
    )
    text = promise(survey, survey.questions[0])
    assert "no epsilon bounds what they reveal" in text
    assert "times" not in text
