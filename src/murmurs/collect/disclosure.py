"""Disclosure: which reports results may be computed from, if a survey has a minimum.

Results of fewer reports than the minimum are not shown, and neither are two results whose
difference would be one. So the days of each question and segment are divided into runs, each with
at least the minimum of reports, and every result is computed from whole runs. A run ends with the
first day on which it has enough; days after the last full run wait. What has been shown thus
differs from anything else that is shown by whole runs.

The present day is not over. Its reports, and those of the days that wait, are shown once they are
enough, and are then counted anew only when at least the minimum has been added. One step may be
smaller: the last of a day, when the day is over. Whoever needs to rule that out shows complete days
only.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from murmurs.collect.store import ERA, Part, Store
from murmurs.counts import Counts
from murmurs.survey import Survey


@dataclass(frozen=True)
class Run:
    """Days in a row, both ends included."""

    first: int
    last: int

    def within(self, first: int | None, last: int | None) -> bool:
        """Whether all its days are in a period; None is an end that is open."""
        return (first is None or first <= self.first) and (last is None or self.last <= last)


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


def merged(runs: Iterable[Run], all_runs: list[Run]) -> list[Run]:
    """Return runs that follow each other as one.

    >>> every = [Run(1, 2), Run(5, 5), Run(6, 9)]
    >>> merged([Run(1, 2), Run(5, 5)], every), merged([Run(1, 2), Run(6, 9)], every)
    ([Run(first=1, last=5)], [Run(first=1, last=2), Run(first=6, last=9)])
    """
    found: list[Run] = []
    before = -2
    for run in runs:
        place = all_runs.index(run)
        if place == before + 1:
            found[-1] = Run(found[-1].first, run.last)
        else:
            found.append(run)
        before = place
    return found


class Disclosure:
    """Gives the counts that may be shown, and remembers what was shown of the present day."""

    def __init__(self, store: Store, *, complete_days: bool = False) -> None:
        self._store, self._complete_days = store, complete_days
        self._shown: dict[tuple[str, str, str | None], tuple[tuple[int | None, int], Counts]] = {}
        self._lock = threading.Lock()

    def counts(
        self,
        survey: Survey,
        part: Part,
        today: int,
        days: Mapping[tuple[int, str | None], int] | None = None,
    ) -> Counts | None:
        """Return the counts of a part, as far as they may be shown; None if nothing may be.

        ``days`` are those of the question, if the caller has them.
        """
        minimum = survey.terms.minimum_reports or 1
        if minimum == 1 and not self._complete_days:
            found = self._store.counts(part)
            return found if found.n else None
        total: Counts | None = None
        for piece, is_waiting in self._pieces(survey, part, today, days):
            counts = self._store.counts(piece)
            if is_waiting:
                shown = self._of_today(piece, counts, minimum)
                if shown is None:
                    continue
                counts = shown
            total = counts if total is None else total + counts
        return total

    def parts(self, survey: Survey, part: Part, today: int) -> list[Part]:
        """Return the parts whose single reports may be used; of the present day none may be."""
        if (survey.terms.minimum_reports or 1) == 1 and not self._complete_days:
            return [part]
        pieces = self._pieces(survey, part, today)
        return [piece for piece, is_waiting in pieces if not is_waiting]

    def _pieces(
        self,
        survey: Survey,
        part: Part,
        today: int,
        days: Mapping[tuple[int, str | None], int] | None = None,
    ) -> Iterator[tuple[Part, bool]]:
        """Return the full runs of a part, and perhaps the days that wait."""
        minimum = survey.terms.minimum_reports or 1
        if days is None:
            days = self._store.days(part.survey, part.question)
        for segment in _segments(survey, part):
            own = {day: n for (day, named), n in days.items() if named == segment}
            runs, waiting = runs_of(own, minimum, today)
            chosen = [run for run in runs if run.within(part.first_day, part.last_day)]
            for run in merged(chosen, runs):
                yield _narrowed(part, segment, run), False
            if waiting is None or self._complete_days:
                continue
            if Run(waiting, today).within(part.first_day, part.last_day):
                yield _narrowed(part, segment, Run(waiting, today)), True

    def _of_today(self, part: Part, now: Counts, minimum: int) -> Counts | None:
        """Return what may be shown of the days that wait: in steps of the minimum."""
        key = (part.survey, part.question, part.segment)
        since = (part.first_day, self._store.changes(part.survey) // ERA)
        with self._lock:
            began, before = self._shown.get(key, (None, None))
            if before is None or began != since or now.n - before.n >= minimum:
                if now.n < minimum:
                    return None
                self._shown[key] = (since, now)
                return now
            return before


def _segments(survey: Survey, part: Part) -> tuple[str | None, ...]:
    if part.segment is not None:
        return (part.segment,)
    return survey.segments or (None,)


def _narrowed(part: Part, segment: str | None, run: Run) -> Part:
    return Part(part.survey, part.question, segment, run.first, run.last)
