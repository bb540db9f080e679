"""What a survey promises the people who answer a question, in plain sentences."""

from __future__ import annotations

import math
from typing import Any

from murmurs.questions.asked import Asked
from murmurs.survey.survey import Survey, keeps_response
from murmurs.survey.terms import in_words


def promise(survey: Survey, asked: Asked) -> str:
    """Return what reports to a question or joint can reveal about a person, a line each.

    >>> survey = Survey.from_toml('''
    ... name = "weather"
    ... lifetime_epsilon = 20
    ... [[questions]]
    ... name = "hot"
    ... labels = ["yes", "no"]
    ... epsilon = 1.0
    ... ''')
    >>> print(promise(survey, survey.question("hot")))
    Devices randomise each answer before they send it. Whatever a person answers,
    no report is more than 2.72 times as likely as with any other answer (epsilon 1).
    Over all questions and days, a device spends at most epsilon 20.
    """
    mechanism: Any = asked.mechanism
    lines = ["Devices randomise each answer before they send it. Whatever a person answers,"]
    if math.isinf(mechanism.epsilon_realised):
        lines[0] = "People randomise each answer before it is sent."
        lines.append("Some reports rule out some answers: no epsilon bounds what they reveal.")
        return "\n".join(lines + _draw(survey))
    lines.append(
        f"no report is more than {_times(mechanism.epsilon_realised)} as likely as with "
        f"{asked.others} (epsilon {mechanism.epsilon:g})."
    )
    lines += [
        f"Of a number, no report says more than in which of {question.scale.k} buckets it is."
        for question in asked.questions
        if question.has_numbers and question.scale is not None
    ]
    if keeps_response(asked):
        bound = mechanism.epsilon_permanent_realised
        lines.append(
            "For all reports from one permanent response together, it is "
            f"{_times(bound)} (epsilon {mechanism.epsilon_permanent:g})."
        )
    lines += [
        f"For answers within one {word}, to all questions, a device spends at most epsilon "
        f"{most:g}."
        for word, most in survey.terms.budgets
    ]
    if survey.terms.lifetime_epsilon is not None:
        budget = f"{survey.terms.lifetime_epsilon:g}"
        lines.append(f"Over all questions and days, a device spends at most epsilon {budget}.")
    elif survey.terms.every != "once":
        lines.append("What several reports of one person reveal adds up.")
    return "\n".join(lines + _draw(survey))


def _draw(survey: Survey) -> list[str]:
    """Return whose reports these are, if each device answers only some of the questions."""
    each, every, most = survey.terms.questions_each, survey.terms.every, len(survey.reported)
    if each is None or every is None:
        return []
    often = in_words(every).capitalize()
    return [
        f"{often}, each device draws {each} of {most} questions at random and answers only",
        "these, whatever its answers are: these reports are of the devices that drew this one.",
    ]


def _times(epsilon: float) -> str:
    """Return e^epsilon, rounded up.

    >>> [_times(epsilon) for epsilon in (0.5, 1.0, 4.0, 20.0)]
    ['1.65 times', '2.72 times', '55 times', 'e^20 times']
    """
    if epsilon > 10:
        return f"e^{math.ceil(epsilon * 100) / 100:g} times"
    factor = math.exp(epsilon)
    return (
        f"{math.ceil(factor * 100) / 100:.2f} times"
        if factor < 10
        else f"{math.ceil(factor):,} times"
    )
