"""Disclosure: which reports results may be computed from, if a survey has a minimum.

Results of fewer reports than the minimum are not shown, and neither are two results whose
difference would be one. So the days of each question and segment are divided into runs, each with
at least the minimum of reports, and every result is computed from whole runs. A run ends with the
first day on which it has enough; days after the last full run wait. What has been shown thus
differs from anything else that is shown by whole runs.

The present day is not over. Where anybody may submit, it is not shown: whoever fills a step with
reports of their own would see what one other person reported a moment ago. If it is shown all the
same, its reports and those of the days that wait are counted anew only when at least the minimum
has been added, and a random number more. One step may be smaller: the last of a day, when the day
is over.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from murmurs.collect.stores.store import ERA, Entry, Part, Store
from murmurs.numerics.arrays import Integers
from murmurs.survey.survey import Survey

Name = TypeVar("Name", bound=Hashable)

Days = Mapping[tuple[int, str | None], int]
"""The number of reports to a question by day and segment."""

_OPEN = 2**31 - 1
"""More than any day, for periods without an end."""


@dataclass(frozen=True)
class Run:
    """Days in a row, both ends included."""

    first: int
    last: int


def runs_of(days: Mapping[int, int], minimum: int, today: int) -> tuple[list[Run], int | None]:
    """Return the runs of complete days with enough reports, and the first day that waits.

    ``days`` has the number of reports of each day.

    >>> runs_of({1: 60, 2: 50, 5: 120, 6: 30, 7: 10}, 100, today=7)
    ([Run(first=1, last=2), Run(first=5, last=5)], 6)
    """
    runs: list[Run] = []
    first, n = None, 0
    for day in sorted(days):
        if first is None:
            first, n = day, 0
        n += days[day]
        if n >= minimum and day < today:
            runs.append(Run(first, day))
            first = None
    return runs, first


@dataclass
class Shown:
    """Reports that may be shown: how many came on each day, and what they add up to."""

    days: dict[int, int] = field(default_factory=dict)
    cells: Integers | None = None

    @property
    def n(self) -> int:
        """The number of reports."""
        return sum(self.days.values())

    def add(self, days: Mapping[int, int], cells: Integers | None) -> None:
        """Add reports of some days."""
        for day, n in days.items():
            self.days[day] = self.days.get(day, 0) + n
        if cells is not None:
            self.cells = cells.copy() if self.cells is None else self.cells + cells


@dataclass(frozen=True)
class _Step:
    """What is shown of days that wait, and from which number of reports on they are shown anew."""

    since: tuple[int, int]
    shown: Shown | None
    at: int


class _Periods(Generic[Name]):
    """The parts that a segment's reports may be in, which have no report in common."""

    def __init__(self, parts: Mapping[Name, Part], segment: str | None) -> None:
        self._parts = [(p, name) for name, p in parts.items() if p.segment in (None, segment)]
        self._parts.sort(key=lambda both: _first(both[0]))
        self._firsts = [_first(part) for part, _ in self._parts]

    def of(self, first: int, last: int) -> Name | None:
        """Return the name of the part in which all these days are, if there is one."""
        place = bisect_right(self._firsts, first) - 1
        if place < 0:
            return None
        part, name = self._parts[place]
        return name if part.last_day is None or last <= part.last_day else None


@dataclass
class _Plan(Generic[Name]):
    """In which part the days of each segment are shown, and which days wait."""

    chosen: dict[tuple[int, str | None], Name] = field(default_factory=dict)
    waiting: dict[str | None, tuple[Name, int]] = field(default_factory=dict)


def _go_on() -> None:
    """Nobody wants to stop what is being read."""


class Disclosure:
    """Gives the counts that may be shown, and remembers what was shown of the present day.

    ``only_complete`` says for a minimum whether nothing is shown of a day that is not over.
    ``below`` draws a number of that many.
    """

    def __init__(
        self,
        store: Store,
        only_complete: Callable[[int], bool],
        below: Callable[[int], int] = secrets.randbelow,
    ) -> None:
        self._store, self._only_complete, self._below = store, only_complete, below
        self._steps: dict[tuple[str, str, str | None], _Step] = {}
        self._lock = threading.Lock()

    def shown(
        self,
        survey: Survey,
        parts: Mapping[Name, Part],
        today: int,
        days: Days | None = None,
        going_on: Callable[[], None] = _go_on,
    ) -> dict[Name, Shown]:
        """Return what may be shown of parts of one question without a report in common.

        The store is read once, whatever the number of parts. ``days`` are those of the question, if
        the caller has them; ``going_on`` is called again and again, and may raise to stop it.
        """
        whole = _whole(parts.values())
        if days is None:
            days = self._store.days(whole.survey, whole.question)
        plan = self._plan(survey, parts, today, days)
        found: dict[Name, Shown] = {}
        waiting: dict[str | None, Shown] = {segment: Shown() for segment in plan.waiting}
        with contextlib.closing(self._store.by_day(whole)) as entries:  # type: ignore[type-var]
            for number, entry in enumerate(entries):
                if number % 64 == 0:
                    going_on()
                name = plan.chosen.get((entry.day, entry.segment))
                if name is not None:
                    _add(found.setdefault(name, Shown()), entry)
                elif entry.segment in waiting and (
                    plan.waiting[entry.segment][1] <= entry.day <= today
                ):
                    _add(waiting[entry.segment], entry)
        for segment, now in waiting.items():
            name, first = plan.waiting[segment]
            shown = self._step(survey, Part(whole.survey, whole.question, segment), first, now)
            if shown is not None:
                found.setdefault(name, Shown()).add(shown.days, shown.cells)
        return found

    def number(self, survey: Survey, part: Part, today: int) -> int | None:
        """Return how many reports of a part may be shown; None if there are too few."""
        days = self._store.days(part.survey, part.question)
        plan = self._plan(survey, {"all": part}, today, days)
        total = sum(days[key] for key in plan.chosen)
        for segment, (_, first) in plan.waiting.items():
            own, now = Part(part.survey, part.question, segment, first, today), Shown()
            for entry in self._store.by_day(own):
                _add(now, entry)
            shown = self._step(survey, own, first, now)
            total += 0 if shown is None else shown.n
        return total or None

    def numbers(
        self, survey: Survey, parts: Mapping[Name, Part], today: int, days: Days
    ) -> dict[Name, int]:
        """Return how many single reports of parts without one in common may be used."""
        found: dict[Name, int] = {}
        for key, name in self._plan(survey, parts, today, days).chosen.items():
            found[name] = found.get(name, 0) + days[key]
        return found

    def parts(self, survey: Survey, part: Part, today: int) -> list[Part]:
        """Return the parts whose single reports may be used; of days that wait none may be."""
        minimum = survey.terms.minimum_reports or 1
        if minimum == 1 and not self._only_complete(minimum):
            return [part]
        days = self._store.days(part.survey, part.question)
        ends: dict[str | None, list[int]] = {}
        for day, segment in self._plan(survey, {"all": part}, today, days).chosen:
            ends.setdefault(segment, []).append(day)
        return [  # the runs in a period follow each other
            Part(part.survey, part.question, segment, min(own), max(own))
            for segment, own in ends.items()
        ]

    def _plan(
        self, survey: Survey, parts: Mapping[Name, Part], today: int, days: Days
    ) -> _Plan[Name]:
        """Return which days of which segments are shown in which part."""
        minimum = survey.terms.minimum_reports or 1
        only_complete = self._only_complete(minimum)
        by_segment: dict[str | None, dict[int, int]] = {}
        for (day, segment), n in days.items():
            by_segment.setdefault(segment, {})[day] = n
        plan: _Plan[Name] = _Plan()
        for segment, own in by_segment.items():
            periods, ordered = _Periods(parts, segment), sorted(own)
            runs, waiting = [Run(day, day) for day in ordered], None
            if minimum > 1 or only_complete:
                runs, waiting = runs_of(own, minimum, today)
            for run in runs:
                name = periods.of(run.first, run.last)
                if name is not None:
                    inside = slice(bisect_left(ordered, run.first), bisect_right(ordered, run.last))
                    plan.chosen.update(((day, segment), name) for day in ordered[inside])
            if waiting is not None and not only_complete:
                name = periods.of(waiting, today)
                if name is not None:
                    plan.waiting[segment] = (name, waiting)
        return plan

    def _step(self, survey: Survey, part: Part, first: int, now: Shown) -> Shown | None:
        """Return what may be shown of the days that wait: in steps of the minimum and more."""
        minimum = survey.terms.minimum_reports or 1
        key = (part.survey, part.question, part.segment)
        since = (first, self._store.changes(part.survey) // ERA)
        with self._lock:
            step = self._steps.get(key)
            if step is None or step.since != since:
                step = _Step(since, None, minimum + self._below(minimum))
            if now.n >= step.at:
                step = _Step(since, now, now.n + minimum + self._below(minimum))
            self._steps[key] = step
            return step.shown


def _first(part: Part) -> int:
    return -_OPEN if part.first_day is None else part.first_day


def _add(shown: Shown, entry: Entry) -> None:
    shown.days[entry.day] = shown.days.get(entry.day, 0) + entry.n
    if shown.cells is None:
        shown.cells = entry.cells.copy()
    else:
        shown.cells += entry.cells


def _whole(parts: Iterable[Part]) -> Part:
    """Return a part that has all the others in it."""
    several = list(parts)
    segments = {part.segment for part in several}
    first = min(map(_first, several))
    last = max(_OPEN if part.last_day is None else part.last_day for part in several)
    segment = segments.pop() if len(segments) == 1 else None
    return Part(several[0].survey, several[0].question, segment, first, last)
