"""What answers cost a device, exactly, and whether the budgets of a survey hold them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from murmurs.boundary.texts import listed, numbered
from murmurs.questions.asked import Asked
from murmurs.survey.survey import Survey, keeps_response
from murmurs.survey.terms import Period, in_words

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
    return _dearest(list(survey.reported), survey.terms.questions_each)


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
            f"lifetime_epsilon = {terms.lifetime_epsilon:g} does not cover one answer to "
            f"{_each(survey)}, which costs {float(everything):.4g}: devices will refuse some "
            "answers."
        )
    found += [
        f"epsilon_per = {{{word} = {budget:g}}} does not cover one answer to {_each(survey)}, "
        f"which costs {float(everything):.4g}: devices will refuse some answers until the next "
        f"{word}."
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


@dataclass(frozen=True)
class _Rhythm:
    """What answering again and again costs, if values stay the same."""

    fresh: Cost
    """What reports without a permanent response cost each time."""
    kept: Cost
    """What permanent responses cost together."""
    dearest: Cost
    """The most that one time may cost."""
    days: int
    """The days from one time to the next."""
    lasting: int | None
    """The days for which a permanent response is kept; None for ever."""

    def total(self, times: int) -> Cost:
        """Return what so many answers to all that is asked cost, at most."""
        drawn = 1 if self.lasting is None else (times - 1) * self.days // self.lasting + 1
        return min(times * self.fresh + min(times, drawn) * self.kept, times * self.dearest)

    def held(self, budget: float) -> int:
        """Return the largest number of answers that a budget holds."""
        low, high = 0, 10**6
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.total(middle) <= budget else (low, middle - 1)
        return low


def _repeated(survey: Survey, every: Period) -> list[str]:
    """Return what answering everything again and again costs, if it ever ends or never stops."""
    terms, budget, drawn = survey.terms, survey.terms.lifetime_epsilon, survey.terms.questions_each
    bounded = [asked for asked in survey.reported if price(asked) != math.inf]
    fresh = [asked for asked in bounded if not keeps_response(asked)]
    if not fresh and terms.memory != "period":
        return []
    rhythm = _Rhythm(
        _dearest(fresh, drawn),
        _dearest([asked for asked in bounded if keeps_response(asked)], None),
        _dearest(bounded, drawn),
        _days_in(every),
        None if terms.period is None else _days_in(terms.period),
    )
    most = "" if drawn is None else "at most "
    said = []
    if fresh:
        names = listed(tuple(asked.name for asked in fresh))
        cost = f"{most}{float(rhythm.fresh):.4g}"
        said.append(f"reports to {names} keep no permanent response and cost {cost} each time")
    if rhythm.lasting:
        said.append(f"permanent responses cost {most}{float(rhythm.kept):.4g} in each period")
    all_of_it = "everything is" if drawn is None else f"{drawn} of {len(survey.reported)} are"
    start = f"if {all_of_it} answered {in_words(every)}: {', and '.join(said)}"
    noted, apart = _scarce(survey, rhythm)
    if budget is None:
        yearly = [Fraction(least) * _IN_A_YEAR[word] for word, least in terms.budgets]
        total = min([rhythm.total(365 // rhythm.days), *yearly])
        return [
            *noted,
            f"{start}, which is {float(total):.4g} in a year. Ask once, give lifetime_epsilon, or "
            "take a mechanism with a permanent response, such as LOSUE.",
        ]
    times = rhythm.held(budget)
    return [
        *noted,
        f"{start}, so lifetime_epsilon = {budget:g} is spent after {numbered(times, 'answer')}, "
        f"in about {numbered(int(times * apart), 'day')}.",
    ]


def _scarce(survey: Survey, rhythm: _Rhythm) -> tuple[list[str], Fraction]:
    """Return which budgets of periods hold fewer answers than devices may give.

    And how many days then lie between two answers.
    """
    said, apart = [], Fraction(rhythm.days)
    for word, budget in survey.terms.budgets:
        asked, held = _days_in(word) // rhythm.days, rhythm.held(budget)
        if 0 < held < asked:
            said.append(
                f"epsilon_per = {{{word} = {budget:g}}} holds about {held:,} of the {asked:,} "
                f"times that a device may answer in a {word}."
            )
            apart = max(apart, Fraction(_days_in(word), held))
    return said, apart


def _dearest(asked: list[Asked], number: int | None) -> Cost:
    """Return what so many questions cost together, those that cost most."""
    return sum(sorted(map(price, asked), reverse=True)[:number], Fraction(0))


_IN_A_YEAR = {"day": 366, "week": 53, "month": 12, "year": 1}


def _days_in(period: Period) -> int:
    """Return the days in a period; those of all time are more than there are."""
    days = {"day": 1, "week": 7, "month": 30, "year": 365, "once": 10**9}
    return period if isinstance(period, int) else days[period]
