"""What answers cost a device, exactly, and whether the budgets of a survey hold them."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from murmurs.boundary.texts import listed
from murmurs.joint import Asked
from murmurs.survey import Survey, keeps_response
from murmurs.terms import Period, in_words

Cost = Fraction | float
"""An exact epsilon, or `math.inf` where no epsilon bounds what is revealed."""


def price(asked: Asked) -> Cost:
    """Return the epsilon of a new report; reports from one permanent response cost it together.

    It is the realised epsilon of one report or, where devices keep a permanent response, that of
    the response. Both are rounded up, so sums of prices are never below the truth.

    >>> from murmurs import LOSUE, Question
    >>> float(price(Question("hot", ["yes", "no"], epsilon=1.0)))
    1.0
    >>> float(price(Question("hot", ["yes", "no"], LOSUE(2, epsilon=1.0, epsilon_permanent=2.0))))
    2.0
    """
    mechanism: Any = asked.mechanism
    kept = keeps_response(asked)
    each: float = mechanism.epsilon_permanent_realised if kept else mechanism.epsilon_realised
    return Fraction(each) if math.isfinite(each) else math.inf


def rounded_up(exact: Cost) -> float:
    """Return the smallest float that is not below an exact epsilon."""
    nearest = float(exact)
    return nearest if nearest >= exact else math.nextafter(nearest, math.inf)


def most_in_a_period(survey: Survey) -> Cost:
    """Return the most that one answer to all that a device is asked in a period may cost.

    If devices draw some of the questions, it is the price of those that cost most.
    """
    dearest = sorted(map(price, survey.reported), reverse=True)
    return sum(dearest[: survey.terms.questions_each], Fraction(0))


def check_budgets(survey: Survey) -> None:
    """Refuse a survey with a budget and a question that no budget can hold."""
    terms, without = survey.terms, _unbounded(survey)
    if without and (terms.lifetime_epsilon is not None or terms.budgets):
        named = "lifetime_epsilon" if terms.lifetime_epsilon is not None else "epsilon_per"
        raise ValueError(
            f"survey {survey.name!r} has {named}, but no epsilon bounds what a report to "
            f"{listed(without)} reveals, so that devices could never answer: take another "
            f"mechanism, or leave {named} out"
        )


def _unbounded(survey: Survey) -> tuple[str, ...]:
    return tuple(asked.name for asked in survey.reported if price(asked) == math.inf)


def concerns(survey: Survey) -> list[str]:
    """Return what its authors should know about the budget of a survey, a sentence each."""
    found = []
    terms, everything = survey.terms, most_in_a_period(survey)
    if without := _unbounded(survey):
        found.append(
            f"no epsilon bounds what reports to {listed(without)} reveal: some of them rule out "
            "some answers for certain."
        )
    if terms.lifetime_epsilon is not None and everything > terms.lifetime_epsilon:
        found.append(
            f"lifetime_epsilon = {terms.lifetime_epsilon:g} does not hold one answer to "
            f"{_each(survey)}, which costs {float(everything):.4g}: devices will refuse some "
            "answers."
        )
    found += [
        f"epsilon_per = {{{word} = {budget:g}}} does not hold one answer to {_each(survey)}, which "
        f"costs {float(everything):.4g}: devices will refuse some answers until the next {word}."
        for word, budget in terms.budgets
        if everything > budget
    ]
    if terms.every is not None and terms.every != "once":
        found += _repeated(survey, terms.every)
    return found


def _each(survey: Survey) -> str:
    """Return what a device answers in a period, in words."""
    drawn = survey.terms.questions_each
    if drawn is None:
        return "each question"
    return "the question that costs most" if drawn == 1 else f"the {drawn} that cost most"


def _repeated(survey: Survey, every: Period) -> list[str]:
    """Return what answering everything again and again costs, if it ever ends or never stops."""
    terms, budget = survey.terms, survey.terms.lifetime_epsilon
    bounded = [asked for asked in survey.reported if price(asked) != math.inf]
    fresh = [asked for asked in bounded if not keeps_response(asked)]
    if not fresh and terms.memory != "period":
        return []
    drawn = terms.questions_each
    each = sum(sorted(map(price, fresh), reverse=True)[:drawn], Fraction(0))
    kept = sum((price(asked) for asked in bounded if keeps_response(asked)), Fraction(0))
    lasting = _days_in(terms.period) if terms.period is not None else None
    most = "" if drawn is None else "at most "
    names = listed(tuple(asked.name for asked in fresh))
    said = [
        f"reports to {names} keep no permanent response and cost {most}{float(each):.4g} each time"
    ]
    said = said if fresh else []
    said += [f"permanent responses cost {most}{float(kept):.4g} in each period"] if lasting else []
    all_of_it = "everything is" if drawn is None else f"{drawn} of {len(survey.reported)} are"
    start = f"if {all_of_it} answered {in_words(every)}: {', and '.join(said)}"
    if budget is None:
        total = _total(365 // _days_in(every), each, kept, _days_in(every), lasting)
        total = min([total, *(Fraction(most) * _IN_A_YEAR[word] for word, most in terms.budgets)])
        return [
            f"{start}, which is {float(total):.4g} in a year. Ask once, give lifetime_epsilon, or "
            "take a mechanism with a permanent response, such as LOSUE."
        ]
    low, high = 0, 10**6
    while low < high:  # the largest number of answers that the budget holds
        middle = (low + high + 1) // 2
        total = _total(middle, each, kept, _days_in(every), lasting)
        low, high = (middle, high) if total <= budget else (low, middle - 1)
    return [
        f"{start}, so lifetime_epsilon = {budget:g} is spent after {low:,} answers, in about "
        f"{low * _days_in(every):,} days."
    ]


_IN_A_YEAR = {"day": 366, "week": 53, "month": 12, "year": 1}


def _days_in(period: Period) -> int:
    """Return the days in a period; those of all time are more than there are."""
    days = {"day": 1, "week": 7, "month": 30, "year": 365, "once": 10**9}
    return period if isinstance(period, int) else days[period]


def _total(times: int, fresh: Cost, kept: Cost, days: int, lasting: int | None) -> Cost:
    """Return what so many answers cost, one every so many days, of values that stay the same."""
    periods = 0 if times == 0 else 1 if lasting is None else (times - 1) * days // lasting + 1
    return times * fresh + periods * kept
