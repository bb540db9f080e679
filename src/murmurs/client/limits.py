"""Limits: which answers the terms of a survey allow now, and what a device may still spend."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping

from murmurs.boundary.checks import real, shown
from murmurs.boundary.texts import listed
from murmurs.client.answers import AnswerRefusedError
from murmurs.client.state import State
from murmurs.randomness.derived import Derived
from murmurs.randomness.verbs import Randomness
from murmurs.survey.budget import Cost, rounded_up
from murmurs.survey.survey import Survey
from murmurs.survey.terms import (
    LARGEST_BUDGET,
    Calendar,
    Period,
    budgets_per,
    in_words,
    period_number,
)

_EPOCH = datetime.date(1970, 1, 1)


class Limits:
    """What the terms of a survey allow a device, and what the app's own limits leave of it."""

    def __init__(
        self, survey: Survey, limit: float | None, limit_per: Mapping[Calendar, float] | None
    ) -> None:
        self._survey = survey
        self._lifetime = survey.terms.lifetime_epsilon, limit
        if limit is not None:
            self._lifetime = self._lifetime[0], real(limit, "limit", 0, LARGEST_BUDGET)
        own = {} if limit_per is None else dict(budgets_per(limit_per, "limit_per"))
        told = dict(survey.terms.budgets)
        self._per = {word: (told.get(word), own.get(word)) for word in told | own}

    def check_open(self, day: datetime.date) -> None:
        """Refuse answers before the first day of the survey and after its last."""
        terms, name = self._survey.terms, shown(self._survey.name)
        if terms.opens is not None and day < terms.opens:
            raise AnswerRefusedError("closed", f"survey {name} opens on {terms.opens}")
        if terms.closes is not None and day > terms.closes:
            raise AnswerRefusedError("closed", f"survey {name} closed after {terms.closes}")

    def askable(self, state: State, day: datetime.date) -> tuple[str, ...]:
        """Return the questions and joints that may be answered in this period."""
        every = self._survey.terms.every
        names = tuple(asked.name for asked in self._survey.reported)
        if every is None:
            return names
        if self._survey.terms.questions_each is not None:
            if _number_of_last(state, every) > period_number(every, day):
                return ()
            left = self._survey.terms.questions_each - len(_answered_now(state, every, day))
            names = self.drawn(state, day) if left > 0 else ()
        return tuple(n for n in names if _may_be_asked(every, state.answered.get(n), day))

    def drawn(self, state: State, day: datetime.date) -> tuple[str, ...]:
        """Return the questions and joints that a device answers in the period of a day."""
        every, each = self._survey.terms.every, self._survey.terms.questions_each
        names = tuple(asked.name for asked in self._survey.reported)
        if every is None or each is None:
            return names
        number = period_number(every, day)
        secret = bytes.fromhex(state.secret)
        return draw(names, each, chance_of_draw(secret, self._survey.name, every, number, names))

    def check_period(self, state: State, names: tuple[str, ...], day: datetime.date) -> None:
        """Refuse what is not asked in this period; periods never go back, whatever the clock does.

        Otherwise note that it is answered.
        """
        every, each = self._survey.terms.every, self._survey.terms.questions_each
        for name in names:
            if every is not None and not _may_be_asked(every, state.answered.get(name), day):
                raise AnswerRefusedError(
                    "period",
                    f"{shown(name)} was answered already: it is asked {in_words(every)}",
                )
        if every is not None and each is not None:
            self._check_drawn(state, names, day, every, each)
        for name in names:
            state.answered[name] = max(period_number("day", day), state.answered.get(name, 0))

    def _check_drawn(
        self, state: State, names: tuple[str, ...], day: datetime.date, every: Period, each: int
    ) -> None:
        """Refuse what the device has not drawn, and more than it may answer in a period."""
        if _number_of_last(state, every) > period_number(every, day):
            raise AnswerRefusedError(
                "period", "a question was answered in a later period: the clock was set back"
            )
        drawn = self.drawn(state, day)
        for name in names:
            if name not in drawn:
                raise AnswerRefusedError(
                    "draw",
                    f"{shown(name)} is not asked in this period: {in_words(every)} a device "
                    f"answers {each} of {len(self._survey.reported)} questions, and this one drew "
                    f"{listed(drawn)}",
                )
        before = _answered_now(state, every, day)
        if len(before | set(names)) > each:
            raise AnswerRefusedError(
                "draw",
                f"{len(before)} questions of another version were answered in this period: "
                f"{in_words(every)} a device answers {each}",
            )

    def check_budgets(self, state: State, cost: Cost, day: datetime.date) -> None:
        """Refuse an answer that costs more than the lifetime, or a period, has left."""
        self._check(self._lifetime, state.exact, cost, "over its lifetime")
        for word, budgets in self._per.items():
            self._check(budgets, state.spent_within(word, day), cost, f"in a {word}")

    def _check(
        self, budgets: tuple[float | None, float | None], spent: Cost, cost: Cost, when: str
    ) -> None:
        """Refuse a cost that the smaller of the survey's and the app's budgets does not hold."""
        given = [budget for budget in budgets if budget is not None]
        if not given or spent + cost <= min(given):
            return
        budget = min(given)
        whose = f"survey {shown(self._survey.name)}" if budget == budgets[0] else "this app"
        more = f"this would cost {rounded_up(cost):.4g} more"
        if cost == math.inf:
            more = "no epsilon bounds what this would reveal"
        gone = f"{rounded_up(spent):.4g}" if spent != math.inf else "more than any epsilon"
        raise AnswerRefusedError(
            "budget",
            f"{whose} allows a device epsilon {budget:g} {when}: {gone} is spent, and {more}",
        )


def chance_of_draw(
    secret: bytes, survey: str, every: Period, number: int, names: tuple[str, ...]
) -> Randomness:
    """Return the chance with which a device draws its questions of one period.

    It depends on the secret and on what is public, and on no answer: the same device draws the same
    questions whenever it looks, and nobody else can foresee them.
    """
    return Derived(secret, "questions", survey, every, number, *names)


def draw(names: tuple[str, ...], each: int, random: Randomness) -> tuple[str, ...]:
    """Return that many of the names, each set with the same probability, in their own order.

    For i = 0, 1, ... the i-th place is exchanged with place i + below(len(names) - i); the first
    places are drawn.

    >>> from murmurs import Given
    >>> draw(("a", "b", "c", "d"), 2, Given(bytes([2, 2])))
    ('c', 'd')
    """
    places = list(range(len(names)))
    for i in range(each):
        j = i + random.below(len(places) - i)
        places[i], places[j] = places[j], places[i]
    return tuple(names[place] for place in sorted(places[:each]))


def _answered_now(state: State, every: Period, day: datetime.date) -> set[str]:
    """Return what was answered in the period of a day, to any version of the survey."""
    now = period_number(every, day)
    return {name for name, last in state.answered.items() if _number(every, last) == now}


def _number_of_last(state: State, every: Period) -> int:
    return max((_number(every, last) for last in state.answered.values()), default=0)


def _number(every: Period, day: int) -> int:
    """Return the number of the period of a day that is counted from 1970."""
    return period_number(every, _EPOCH + datetime.timedelta(day))


def _may_be_asked(every: Period, last: int | None, day: datetime.date) -> bool:
    """Whether the period of the last answer, on a day counted from 1970, is over."""
    return last is None or _number(every, last) < period_number(every, day)
