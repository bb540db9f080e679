"""Terms: what a survey says about its collection, such as who asks, how often and until when."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from murmurs.boundary.checks import index, real, shown, whole
from murmurs.boundary.texts import check_text, numbered
from murmurs.channels.channel import MOST_PEOPLE
from murmurs.devices.device import MEMORIES
from murmurs.privacy import SMALLEST_EPSILON

LARGEST_BUDGET = 10**6
"""The largest epsilon that a device may be allowed to spend, over its lifetime or in a period."""

LONGEST_PERIOD = 3660
"""The largest number of days in a period."""

LONGEST_TEXT = 2000
"""The largest number of characters in a title, a purpose or an owner."""

MOST_QUESTIONS = 65_535
"""The most questions of which a device may draw some: a submission numbers no more."""

Calendar = Literal["day", "week", "month", "year"]
Word = Calendar | Literal["once"]
Period = Word | int
"""A public period: a day, a week from Monday to Sunday, a month, a year, all time, or some days."""

CALENDAR: tuple[Calendar, ...] = get_args(Calendar)
"""The periods that may have a budget of their own."""

_WORDS: tuple[Word, ...] = (*CALENDAR, "once")
_EPOCH = datetime.date(1970, 1, 1)


@dataclass(frozen=True)
class Terms:
    """What a survey says about its collection; each field may be left out.

    ``title``, ``purpose`` and ``owner`` (a contact) are for people. A device answers a question at
    most once in each period ``every``, and spends at most ``lifetime_epsilon`` over all questions
    and days. ``epsilon_per`` is what it may spend in each day, week, month or year, as {"month":
    2}; it is kept as pairs. With ``questions_each``, a device answers that many questions in
    each period ``every``, drawn at random; a joint is drawn as one.

    ``memory`` says which of its reports share a permanent response (see `murmurs.Device`); with
    "period", a response lasts for one ``period``. Answers are taken from the day ``opens`` to the
    day ``closes``, both included, in UTC. Results are shown from ``minimum_reports`` on.

    >>> terms = Terms(every="week", closes=datetime.date(2027, 3, 31), epsilon_per={"month": 2})
    >>> terms.to_document()
    {'every': 'week', 'closes': '2027-03-31', 'epsilon_per': {'month': 2.0}}
    >>> Terms(every="hour")
    Traceback (most recent call last):
    ValueError: every must be 'day', 'week', 'month', 'year', 'once' or a number of days, not 'hour'
    """

    title: str = ""
    purpose: str = ""
    owner: str = ""
    every: Period | None = None
    lifetime_epsilon: float | None = None
    memory: Literal["value", "change", "period"] | None = None
    period: Period | None = None
    opens: datetime.date | None = None
    closes: datetime.date | None = None
    minimum_reports: int | None = None
    epsilon_per: Mapping[Calendar, float] | tuple[tuple[Calendar, float], ...] | None = None
    questions_each: int | None = None

    def __post_init__(self) -> None:
        for name in ("title", "purpose", "owner"):
            self._check_text(name, getattr(self, name))
        for name in ("every", "period"):
            if getattr(self, name) is not None:
                self._set(name, _checked_period(getattr(self, name), name))
        if self.lifetime_epsilon is not None:
            budget = real(
                self.lifetime_epsilon, "lifetime_epsilon", SMALLEST_EPSILON, LARGEST_BUDGET
            )
            self._set("lifetime_epsilon", budget)
        if self.epsilon_per is not None:
            self._set("epsilon_per", budgets_per(self.epsilon_per, "epsilon_per"))
        self._check_questions_each()
        if self.minimum_reports is not None:
            least = whole(self.minimum_reports, "minimum_reports", 1, MOST_PEOPLE)
            self._set("minimum_reports", least)
        self._check_memory()
        self._check_days()

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _check_questions_each(self) -> None:
        if self.questions_each is None:
            return
        most = whole(self.questions_each, "questions_each", 1, MOST_QUESTIONS)
        self._set("questions_each", most)
        if self.every is None:
            raise ValueError(
                f"questions_each = {most} is for each period in which a device answers: give "
                'every, such as every = "week"'
            )

    @staticmethod
    def _check_text(name: str, text: object) -> None:
        check_text(text, f"the {name} of a survey", allowed="\n\t")
        if len(str(text)) > LONGEST_TEXT:
            raise ValueError(
                f"the {name} of a survey has {len(str(text))} characters, more than {LONGEST_TEXT}"
            )

    def _check_memory(self) -> None:
        if self.memory is not None and self.memory not in MEMORIES:
            promises = "".join(f"\n  {name!r}: {m.promise}" for name, m in MEMORIES.items())
            raise ValueError(
                f"memory must be one of these, not {shown(self.memory)}. It decides what is "
                f"promised:{promises}"
            )
        if (self.memory == "period") != (self.period is not None):
            raise ValueError(
                'memory = "period" needs a period such as "month", for how long a permanent '
                "response is kept; other memories have none"
            )

    def _check_days(self) -> None:
        for name in ("opens", "closes"):
            day: object = getattr(self, name)
            is_date = isinstance(day, datetime.date) and not isinstance(day, datetime.datetime)
            if day is not None and not is_date:
                raise TypeError(f"{name} must be a date such as 2027-03-31, not {shown(day)}")
        if self.opens and self.closes and self.closes < self.opens:
            raise ValueError(f"the survey closes on {self.closes}, before it opens on {self.opens}")

    @property
    def budgets(self) -> tuple[tuple[Calendar, float], ...]:
        """What a device may spend in a day, a week, a month or a year, the shortest first."""
        return () if self.epsilon_per is None else tuple(self.epsilon_per)  # type: ignore[arg-type]

    def to_document(self) -> dict[str, Any]:
        """Return the fields that are given, as plain values for JSON."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        values["epsilon_per"] = dict(self.budgets) or None
        return {
            name: value.isoformat() if isinstance(value, datetime.date) else value
            for name, value in values.items()
            if value is not None and value != ""
        }


def period_number(period: Period, day: datetime.date) -> int:
    """Return the number of the period that a day is in; it grows by one with each period.

    Days are counted from 1970-01-01, weeks begin on Mondays, and "once" has the one period 0.

    >>> day = datetime.date(2027, 3, 31)
    >>> [period_number(p, day) for p in ("day", "week", "month", "year", "once", 90)]
    [20908, 2987, 686, 57, 0, 232]
    """
    days = (day - _EPOCH).days
    if period == "once":
        return 0
    if period == "year":
        return day.year - 1970
    if period == "month":
        return (day.year - 1970) * 12 + day.month - 1
    if period == "week":
        return (days + 3) // 7  # 1970-01-01 was a Thursday
    return days if period == "day" else days // int(period)


def in_words(period: Period) -> str:
    """Return how often something happens that happens once in each period.

    >>> in_words("week"), in_words("once"), in_words(90)
    ('once a week', 'once', 'once in 90 days')
    """
    if isinstance(period, int):
        return f"once in {numbered(period, 'day')}"
    return period if period == "once" else f"once a {period}"


def budgets_per(given: object, name: str) -> tuple[tuple[Calendar, float], ...]:
    """Return budgets of periods as pairs, the shortest period first.

    >>> budgets_per({"month": 2, "week": 1}, "epsilon_per")
    (('week', 1.0), ('month', 2.0))
    """
    if isinstance(given, tuple) and all(isinstance(p, tuple) and len(p) == 2 for p in given):
        named = [word for word, _ in given]
        if any(named.count(word) > 1 for word in named):
            raise ValueError(f"{name} has a period twice: give each one budget")
        given = dict(given)
    if not isinstance(given, Mapping):
        raise TypeError(
            f"{name} says what a device may spend in each period, as {{month = 2}}, not "
            f"{shown(given)}"
        )
    if not given:
        raise ValueError(f"{name} names no period: write {{month = 2}}, or leave it out")
    for word in given:
        if word not in CALENDAR:
            words = ", ".join(map(repr, CALENDAR))
            raise ValueError(f"{name} is for {words}, as {{month = 2}}, not for {shown(word)}")
    return tuple(
        (word, real(given[word], f"{name} of a {word}", SMALLEST_EPSILON, LARGEST_BUDGET))
        for word in CALENDAR
        if word in given
    )


def _checked_period(value: Any, name: str) -> Period:
    if isinstance(value, str) and value in _WORDS:
        return value
    if index(value) is None:
        words = ", ".join(repr(word) for word in _WORDS)
        raise ValueError(f"{name} must be {words} or a number of days, not {shown(value)}")
    return whole(value, f"{name}, a number of days,", 1, LONGEST_PERIOD)


NO_TERMS = Terms()
"""Those of a survey that says nothing about its collection."""

FIELDS = tuple(field.name for field in dataclasses.fields(Terms))
"""The names of all terms."""
