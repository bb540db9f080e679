"""Periods: how the reports of a question are divided into days, weeks, months or rounds."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable

from murmurs.collect.catalogue import date_of, day_of
from murmurs.collect.refusals import RefusedError
from murmurs.collect.results.queries import CompareQuery
from murmurs.collect.stores.store import Part
from murmurs.survey.terms import Period, period_number


def periods_of(days: Iterable[int], by: Period, whole: Part) -> dict[str, Part]:
    """Return the periods of a part that have reports, each named by its first day, in order."""
    found: dict[int, tuple[int, int]] = {}
    for day in sorted(set(days)):
        if between(day, whole):
            number = period_number(by, date_of(day))
            if number not in found:
                first, last = bounds(by, day)
                found[number] = (_most(first, whole.first_day), _least(last, whole.last_day))
    return {
        label(by, first): Part(whole.survey, whole.question, whole.segment, first, last)
        for first, last in found.values()
    }


def bounds(by: Period, day: int) -> tuple[int, int]:
    """Return the first and last day of the period that a day is in.

    >>> [str(date_of(end)) for end in bounds("week", 20_908)]
    ['2027-03-29', '2027-04-04']
    >>> [str(date_of(end)) for end in bounds("month", 20_908)]
    ['2027-03-01', '2027-03-31']
    >>> [str(date_of(end)) for end in bounds(90, 20_908)]
    ['2027-03-03', '2027-05-31']
    >>> [str(date_of(end)) for end in bounds("year", 20_908)]
    ['2027-01-01', '2027-12-31']
    """
    date = date_of(day)
    if isinstance(by, int):
        return day // by * by, day // by * by + by - 1
    if by == "day":
        return day, day
    if by == "week":
        first = day - date.weekday()
        return first, first + 6
    if by == "year":
        return day_of(date.replace(month=1, day=1)), day_of(date.replace(month=12, day=31))
    following = (date.replace(day=28) + datetime.timedelta(4)).replace(day=1)
    return day - date.day + 1, day_of(following) - 1


def label(by: Period, first: int) -> str:
    """Return the name of the period that begins on a day."""
    date = date_of(first)
    return date.strftime("%Y-%m") if by == "month" else date.isoformat()


def side(part: Part) -> str:
    """Return the name of one side of a comparison."""
    ends = [None if day is None else str(date_of(day)) for day in (part.first_day, part.last_day)]
    period = "" if ends == [None, None] else f"{ends[0] or '…'} to {ends[1] or '…'}"
    return " ".join(text for text in (part.segment, period) if text)


def sides(query: CompareQuery, part: Callable[..., Part]) -> dict[str, Part]:
    """Return the two sides of a comparison, which must have no report in common."""
    if query.other_from is None and query.other_to is None and query.other_segment is None:
        raise RefusedError(
            400, "query", "say what to compare with: other_segment, or other_from and other_to"
        )
    one = part(query.from_, query.to, query.segment)
    is_period = query.other_from is not None or query.other_to is not None
    first = query.other_from if is_period else query.from_
    last = query.other_to if is_period else query.to
    two = part(first, last, query.other_segment or query.segment)
    by_segment = None not in (one.segment, two.segment) and one.segment != two.segment
    if not apart_in_time(one, two) and not by_segment:
        raise RefusedError(
            400,
            "query",
            "the two sides have reports in common: compare two segments, or two periods of which "
            "one ends before the other begins",
        )
    return {side(one): one, side(two): two}


def apart_in_time(one: Part, two: Part) -> bool:
    """Whether one of two parts ends before the other begins."""
    return any(
        before.last_day is not None
        and after.first_day is not None
        and before.last_day < after.first_day
        for before, after in ((one, two), (two, one))
    )


def between(day: int, part: Part) -> bool:
    """Whether a day is in a part."""
    return (part.first_day is None or part.first_day <= day) and (
        part.last_day is None or day <= part.last_day
    )


def _most(first: int, given: int | None) -> int:
    return first if given is None else max(first, given)


def _least(last: int, given: int | None) -> int:
    return last if given is None else min(last, given)
