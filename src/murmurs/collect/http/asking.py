"""Asking: a request for results, from its query to the task that is computed."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any

import msgspec

from murmurs.boundary.checks import shown
from murmurs.boundary.texts import listed, numbered
from murmurs.collect import tokens
from murmurs.collect.catalogue import Entry, date_of, day_of
from murmurs.collect.http.candidates import candidates_of
from murmurs.collect.http.collector import Collector
from murmurs.collect.http.operations import Call
from murmurs.collect.http.routes.surveys import no_survey
from murmurs.collect.refusals import RefusedError
from murmurs.collect.results.compute import (
    LIKELIHOOD,
    Counted,
    Kind,
    Options,
    Result,
    Task,
    is_long,
    is_pooled,
    unit_of,
)
from murmurs.collect.results.disclosure import Days, Shown
from murmurs.collect.results.periods import periods_of, sides
from murmurs.collect.results.queries import Day
from murmurs.collect.results.wording import HOW_TO_LIST
from murmurs.collect.stores.folding import joined
from murmurs.collect.stores.store import ERA, Part, keeps_reports
from murmurs.inference.wanted import Wanted
from murmurs.survey.rounds import drawn_part, people_of, round_of, rounds_of

MOST_PERIODS = 400
"""Periods of a trend."""

MOST_AT_ONCE = 500
"""Periods times answers of a trend that takes no more than a moment."""

MOST_ENTRIES = 2000
"""Days times segments that are read for a trend in no more than a moment."""


def entry_of(collector: Collector, call: Call) -> Entry:
    """Return the survey of an address, if it is there and the token is for it."""
    name = call.path["survey"]
    entry = collector.catalogue.find(name, call.query.version)
    if entry is None or not tokens.covers(call.holder, name):
        raise no_survey(name)
    return entry


class Asking:
    """One request for results: which survey and question, which parts, which options."""

    def __init__(self, collector: Collector, call: Call, kind: Kind) -> None:
        self.collector, self.query, self.kind = collector, call.query, kind
        self.entry = entry_of(collector, call)
        self.survey, self.name = self.entry.survey, call.path["question"]
        if self.name not in self.survey.names:
            raise RefusedError(
                404,
                "question",
                f"there is no question {shown(self.name)} in this survey; it has "
                f"{listed(self.survey.names)}",
            )
        self.asked, self.unit = self.survey.asked(self.name), unit_of(self.survey, self.name)
        self.today = collector.unfinished_day
        self.people = call.query.people or people_of(self.survey.terms, self.unit.mechanism)
        self.days: Days = {}
        """The number of reports by day and segment, as of `look`."""
        most = collector.limits.candidates
        self.candidates = candidates_of(self.asked, call.query.candidates, call.body, most)
        self.options = self._options()
        if kind != "estimate" and self.candidates is None and self.asked.searches:
            raise RefusedError(
                400,
                "query",
                f"{shown(self.name)} is open, and each period or segment has strings of its own: "
                f"say which, {HOW_TO_LIST}",
            )

    def _options(self) -> Options:
        fields = ("level", "target", "method", "complete", "alphabet", "error_rate", "control")
        given = {name: getattr(self.query, name) for name in fields if hasattr(self.query, name)}
        try:
            wanted = Wanted.read(self.query.statistic)
        except ValueError as error:
            raise RefusedError(400, "query", f"statistic: {error}") from None
        return Options(candidates=self.candidates, people=self.people, wanted=wanted, **given)

    @property
    def key(self) -> Hashable:
        """What distinguishes this result from others; the format does not."""
        query = msgspec.structs.asdict(self.query)
        del query["format"]
        query["candidates"] = _frozen(self.candidates)
        query["statistic"] = self.options.wanted
        has_minimum = (self.survey.terms.minimum_reports or 1) > 1
        day = self.today if has_minimum or self.only_complete else None
        return (self.entry.fingerprint, self.name, self.kind, day, tuple(query.items()))

    @property
    def only_complete(self) -> bool:
        """Whether the result is of days that are over: then it stays the same all day."""
        return self.collector.settings.only_complete(self.survey.terms.minimum_reports or 1)

    def in_form(self, found: Result | None) -> Result | None:
        """Return a result if it has the form that is asked for; those of the worker have all."""
        has_it = found is not None and (self.query.format != "text" or found.text is not None)
        return found if has_it else None

    @property
    def is_long(self) -> bool:
        """Whether the result may take more than a moment: it is then computed by the worker."""
        count = 0 if isinstance(self.candidates, Mapping) else len(self.candidates or ())
        if is_long(self.survey, self.name, count, self.kind, self.options.method):
            return True
        if self.kind != "trend":
            return False
        answers = max(count, len(self.asked.labels), 10)
        periods = len(self.named_parts())
        return periods * answers > MOST_AT_ONCE or len(self.days) > MOST_ENTRIES

    def look(self, changes: int) -> Hashable:
        """Read how many reports there are, and return what differs once some have been deleted.

        A result that took long is shown for a while after changes, but not if some of its reports
        were deleted meanwhile: the oldest, or all of them with the survey.
        """
        self.days = self.collector.store.days(self.entry.fingerprint, self.unit.name)
        if not self.is_long and not self.only_complete:  # shown only as long as nothing changes
            return None
        return changes // ERA, min((day for day, _ in self.days), default=None)

    def part(self, first: Day | None, last: Day | None, segment: str | None) -> Part:
        """Return a part of the reports, if the survey has the segment."""
        if segment is not None and segment not in self.survey.segments:
            known = f"; it has {listed(self.survey.segments)}" if self.survey.segments else ""
            raise RefusedError(
                400, "segment", f"this survey has no segment {shown(segment)}{known}"
            )
        if first is not None and last is not None and last < first:
            raise RefusedError(400, "query", f"the period ends on {last}, before {first}")
        return Part(
            self.entry.fingerprint,
            self.unit.name,
            segment,
            None if first is None else day_of(first),
            None if last is None else day_of(last),
        )

    def parts(self) -> dict[str, Part]:
        """Return the named parts that the result is about, before looking at the store."""
        query = self.query
        if self.kind == "compare":
            return sides(query, self.part)
        return {"all": self.part(query.from_, query.to, query.segment)}

    def named_parts(self) -> dict[str, Part]:
        """Return the named parts whose shares are estimated: for a trend, its periods."""
        return self._periods(self.parts()["all"]) if self.kind == "trend" else self.parts()

    def task(self, going_on: Callable[[], None] = lambda: None) -> Task:
        """Read the counts, and return what is to be computed from them."""
        parts = self.named_parts()
        if self.options.method == LIKELIHOOD:
            return self._of_reports(parts, going_on)
        one_round = self.people == "same" and not is_pooled(self.survey, self.name)
        found = self._rounds(parts, going_on) if one_round else self._whole(parts, going_on)
        needed = 2 if self.kind != "estimate" else 1
        if len(found) < needed or (self.kind == "compare" and len(found) < len(parts)):
            raise self._too_few(needed, one_round=one_round)
        text = self.entry.published.decode()
        return Task(text, self.name, self.kind, tuple(found), self.options)

    def _whole(self, parts: dict[str, Part], going_on: Callable[[], None]) -> list[Counted]:
        """Return the counts of parts, each with what is assumed about its people."""
        disclosure = self.collector.disclosure
        shown = disclosure.shown(self.survey, parts, self.today, self.days, going_on)
        return [self._counted(name, shown[name]) for name in parts if name in shown]

    def _rounds(self, parts: dict[str, Part], going_on: Callable[[], None]) -> list[Counted]:
        """Return the counts of one round in each part: that with the most reports.

        Questions that are asked together are estimated from one report of each person. Segments
        are compared in the same round.
        """
        each, days = round_of(self.survey.terms), [day for day, _ in self.days]
        rounds = {
            (name, first): part
            for name, whole in parts.items()
            for first, part in periods_of(days, each, whole).items()
        }
        if not rounds:
            return []
        disclosure = self.collector.disclosure
        shown = disclosure.shown(self.survey, rounds, self.today, self.days, going_on)
        of = {name: {key[1]: shown[key] for key in shown if key[0] == name} for name in parts}
        if len({(part.first_day, part.last_day) for part in parts.values()}) < len(parts):
            common = set.intersection(*(set(own) for own in of.values()))
            best = max(common, key=lambda own: (min(of[n][own].n for n in of), own), default=None)
            of = {name: {best: own[best]} if best in own else {} for name, own in of.items()}
        found = []
        for name, own in of.items():
            if own:
                first = max(own, key=lambda first: (own[first].n, first))
                found.append(self._counted(name, own[first], first))
        return found

    def _counted(self, name: str, shown: Shown, only: str | None = None) -> Counted:
        assert shown.cells is not None
        numbers = {date_of(day): n for day, n in shown.days.items()}
        part = drawn_part(self.survey)
        rounds = rounds_of(numbers, self.survey.terms, self.people, part)
        return Counted(name, shown.n, shown.cells, rounds, only)

    def _of_reports(self, parts: dict[str, Part], going_on: Callable[[], None]) -> Task:
        """Return what is to be computed from the reports themselves, and from their counts."""
        if not keeps_reports(self.unit):
            raise RefusedError(
                400,
                "query",
                f"reports to {shown(self.name)} are not kept, as counts suffice: choose another "
                "method",
            )
        if self.name != self.unit.name or self.kind != "estimate":
            raise RefusedError(
                400,
                "query",
                f"method {LIKELIHOOD} is for the table of {shown(self.unit.name)}, not for its "
                "questions, trends or comparisons: choose another method",
            )
        mechanism, whole, only = self.unit.mechanism, parts["all"], None
        if self.people == "same":
            whole, only = self._largest_round(whole)
        reports = list(self._kept(whole, going_on))
        if not reports:
            raise self._too_few(1, one_round=only is not None)
        counts = mechanism.count_checked(joined(reports, mechanism.shape))
        rounds = rounds_of({date_of(self.today): counts.n}, self.survey.terms, self.people)
        found = (Counted("all", counts.n, counts.cells, rounds, only),)
        text = self.entry.published.decode()
        return Task(text, self.name, self.kind, found, self.options, tuple(reports))

    def _largest_round(self, whole: Part) -> tuple[Part, str | None]:
        """Return the round with the most reports among those that may be shown."""
        rounds = periods_of((day for day, _ in self.days), round_of(self.survey.terms), whole)
        numbers = self.collector.disclosure.numbers(self.survey, rounds, self.today, self.days)
        if not numbers:
            return whole, None
        most = max(numbers, key=lambda name: (numbers[name], name))
        return rounds[most], most

    def _kept(self, part: Part, going_on: Callable[[], None]) -> Iterator[bytes]:
        """Return the reports that are kept, in batches, unless they are too many for the memory."""
        most, size = self.collector.limits.reports, 0
        for piece in self.collector.disclosure.parts(self.survey, part, self.today):
            for batch in self.collector.store.reports(piece):
                going_on()
                size += len(batch)
                if size > most * self.unit.mechanism.shape.size:
                    raise RefusedError(
                        400,
                        "query",
                        f"method {LIKELIHOOD} takes at most {most:,} reports, and there are more: "
                        "choose another method, or a shorter period",
                    )
                yield batch

    def _too_few(self, needed: int, *, one_round: bool = False) -> RefusedError:
        minimum = self.survey.terms.minimum_reports or 1
        each = " in each of two periods or segments" if needed > 1 else ""
        reports = numbered(minimum, "report")
        said = f"results are shown from {reports} on{each}: there are fewer so far"
        if self.only_complete:
            said += " on days that are over"
        if one_round:
            said += " in any one round; people=different takes all rounds together"
        return RefusedError(404, "few", said)

    def _periods(self, whole: Part) -> dict[str, Part]:
        """Return the periods of a trend that have reports."""
        found = periods_of((day for day, _ in self.days), self.query.by, whole)
        if len(found) > MOST_PERIODS:
            raise RefusedError(
                400, "query", f"these are {len(found)} periods; at most {MOST_PERIODS} are compared"
            )
        return found


def _frozen(candidates: Any) -> Hashable:
    return tuple(candidates.items()) if isinstance(candidates, Mapping) else candidates
