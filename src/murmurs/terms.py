"""Terms: what a survey says about its collection, such as who asks, how often and until when."""

from __future__ import annotations

import dataclasses
import datetime
from dataclasses import dataclass
from typing import Any, Literal, get_args

from murmurs.boundary.checks import index, real, shown, whole
from murmurs.boundary.texts import check_text
from murmurs.channel import MOST_PEOPLE
from murmurs.device import MEMORIES
from murmurs.privacy import SMALLEST_EPSILON

LARGEST_BUDGET = 10**6
"""The largest epsilon that a device may be allowed to spend over its lifetime."""

LONGEST_PERIOD = 3660
"""The largest number of days in a period."""

LONGEST_TEXT = 2000
"""The largest number of characters in a title, a purpose or an owner."""

Word = Literal["day", "week", "month", "once"]
Period = Word | int
"""A public period: a day, a week from Monday to Sunday, a month, all time, or a number of days."""

_WORDS: tuple[Word, ...] = get_args(Word)
_EPOCH = datetime.date(1970, 1, 1)


@dataclass(frozen=True)
class Terms:
    """What a survey says about its collection; each field may be left out.

    ``title``, ``purpose`` and ``owner`` (a contact) are for people. A device answers a question at
    most once in each period ``every``, and spends at most ``lifetime_epsilon`` over all questions
    and days. ``memory`` says which of its reports share a permanent response (see
    `murmurs.Device`); with "period", a response lasts for one ``period``. Answers are taken from
    the day ``opens`` to the day ``closes``, both included, in UTC. Results are shown from
    ``minimum_reports`` on.

    >>> terms = Terms(every="week", closes=datetime.date(2027, 3, 31))
    >>> terms.to_document()
    {'every': 'week', 'closes': '2027-03-31'}
    >>> Terms(every="hour")
    Traceback (most recent call last):
    ValueError: every must be 'day', 'week', 'month', 'once' or a number of days, not 'hour'
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
        if self.minimum_reports is not None:
            least = whole(self.minimum_reports, "minimum_reports", 1, MOST_PEOPLE)
            self._set("minimum_reports", least)
        self._check_memory()
        self._check_days()

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

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

    def to_document(self) -> dict[str, Any]:
        """Return the fields that are given, as plain values for JSON."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {
            name: value.isoformat() if isinstance(value, datetime.date) else value
            for name, value in values.items()
            if value is not None and value != ""
        }


NO_TERMS = Terms()
"""Those of a survey that says nothing about its collection."""

FIELDS = tuple(field.name for field in dataclasses.fields(Terms))
"""The names of all terms."""


def period_number(period: Period, day: datetime.date) -> int:
    """Return the number of the period that a day is in; it grows by one with each period.

    Days are counted from 1970-01-01, weeks begin on Mondays, and "once" has the one period 0.

    >>> day = datetime.date(2027, 3, 31)
    >>> [period_number(p, day) for p in ("day", "week", "month", "once", 90)]
    [20908, 2987, 686, 0, 232]
    """
    days = (day - _EPOCH).days
    if period == "once":
        return 0
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
        return f"once in {period} days"
    return period if period == "once" else f"once a {period}"


def _checked_period(value: Any, name: str) -> Period:
    if isinstance(value, str) and value in _WORDS:
        return value
    if index(value) is None:
        words = ", ".join(repr(word) for word in _WORDS)
        raise ValueError(f"{name} must be {words} or a number of days, not {shown(value)}")
    return whole(value, f"{name}, a number of days,", 1, LONGEST_PERIOD)
