"""What answers cost a device, exactly, and whether the lifetime budget of a survey holds them."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from murmurs.boundary.texts import listed
from murmurs.joint import Asked
from murmurs.survey import Survey, keeps_response
from murmurs.terms import Period, in_words


def price(asked: Asked) -> Fraction:
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
    if keeps_response(asked):
        return Fraction(mechanism.epsilon_permanent_realised)
    return Fraction(mechanism.epsilon_realised)


def rounded_up(exact: Fraction) -> float:
    """Return the smallest float that is not below a fraction."""
    nearest = float(exact)
    return nearest if nearest >= exact else math.nextafter(nearest, math.inf)


def concerns(survey: Survey) -> list[str]:
    """Return what its authors should know about the budget of a survey, a sentence each."""
    found = []
    terms, everything = survey.terms, sum(map(price, survey.reported), Fraction(0))
    if terms.lifetime_epsilon is not None and everything > Fraction(terms.lifetime_epsilon):
        found.append(
            f"lifetime_epsilon = {terms.lifetime_epsilon:g} does not hold one answer to each "
            f"question, which costs {float(everything):.4g}: devices will refuse some answers."
        )
    if terms.every is not None and terms.every != "once":
        found += _repeated(survey, terms.every)
    return found


def _repeated(survey: Survey, every: Period) -> list[str]:
    """Return what answering everything again and again costs, if it ever ends or never stops."""
    terms, budget = survey.terms, survey.terms.lifetime_epsilon
    fresh = [asked for asked in survey.reported if not keeps_response(asked)]
    if not fresh and terms.memory != "period":
        return []
    each = sum(map(price, fresh), Fraction(0))
    kept = sum(map(price, survey.reported), Fraction(0)) - each
    lasting = _days_in(terms.period) if terms.period is not None else None
    names = listed(tuple(asked.name for asked in fresh))
    said = [f"reports to {names} keep no permanent response and cost {float(each):.4g} each time"]
    said = said if fresh else []
    said += [f"permanent responses cost {float(kept):.4g} in each period"] if lasting else []
    start = f"if everything is answered {in_words(every)}: {', and '.join(said)}"
    if budget is None:
        total = _total(365 // _days_in(every), each, kept, _days_in(every), lasting)
        return [
            f"{start}, which is {float(total):.4g} in a year. Ask once, give lifetime_epsilon, or "
            "take a mechanism with a permanent response, such as LOSUE."
        ]
    low, high = 0, 10**6
    while low < high:  # the largest number of answers that the budget holds
        middle = (low + high + 1) // 2
        total = _total(middle, each, kept, _days_in(every), lasting)
        low, high = (middle, high) if total <= Fraction(budget) else (low, middle - 1)
    return [
        f"{start}, so lifetime_epsilon = {budget:g} is spent after {low:,} answers, in about "
        f"{low * _days_in(every):,} days."
    ]


def _days_in(period: Period) -> int:
    """Return the days in a period; those of all time are more than there are."""
    days = {"day": 1, "week": 7, "month": 30, "once": 10**9}
    return period if isinstance(period, int) else days[period]


def _total(times: int, fresh: Fraction, kept: Fraction, days: int, lasting: int | None) -> Fraction:
    """Return what so many answers cost, one every so many days, of values that stay the same."""
    periods = 0 if times == 0 else 1 if lasting is None else (times - 1) * days // lasting + 1
    return times * fresh + periods * kept
