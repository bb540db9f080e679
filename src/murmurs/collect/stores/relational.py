"""A store in relational tables: everything that SQLite and PostgreSQL have in common.

A survey has one series for each question and segment. The reports of a transaction are one row of
``recent`` for each series and day; folds turn them into one row of ``counts`` for each series and
day, and into rows of ``kept`` where reports are kept.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import threading
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, TypeVar

import numpy as np

from murmurs.boundary.checks import shown
from murmurs.boundary.texts import listed
from murmurs.collect.stores import adding, folding
from murmurs.collect.stores.cells import unpack_cells
from murmurs.collect.stores.session import Row, Session
from murmurs.collect.stores.store import (
    Collection,
    DamagedError,
    Entry,
    Part,
    Store,
    Token,
    UnknownSurveyError,
    keeps_reports,
)
from murmurs.collect.stores.sums import check_sum
from murmurs.collect.stores.verifying import read_token, verify
from murmurs.counts import Counts
from murmurs.questions.asked import Asked
from murmurs.submission import Batch, Submission, batches_of
from murmurs.survey.survey import Survey

Result = TypeVar("Result")

_PUBLISH = """
insert into surveys (fingerprint, document, state, first_day)
values (:fingerprint, :document, 'open', :day) returning number
"""
_SERIES = """
insert into series (survey, question, segment) values (:survey, :question, :segment)
"""
_SERIES_OF = "select question, segment, number from series where survey = :survey"
_COLLECTIONS = """
select number, fingerprint, document, state, first_day from surveys
where state <> 'deleting' order by number
"""
_FIND = "select number, document, state from surveys where fingerprint = :fingerprint"
_SET_STATE = "update surveys set state = :state where number = :number"
_MEANT = """
series in (
    select number from series where survey = :survey and question = :question
    and (cast(:segment as text) is null or segment = :segment)
) and day between :first and :last
"""
_FOUND = """
from {table} as found join series on series.number = found.series
where series.survey = :survey and series.question = :question
and (cast(:segment as text) is null or series.segment = :segment)
and found.day between :first and :last
"""
_COUNTED_BY_DAY = (
    "select series.segment, found.series, found.day, found.n, found.cells, found.crc "
    f"{_FOUND.format(table='counts')}"
)
_NOT_YET_BY_DAY = (
    "select series.segment, found.series, found.day, found.n, found.reports, found.crc "
    f"{_FOUND.format(table='recent')} order by found.series, found.day"
)
_COUNTED = f"select series, day, n, cells, crc from counts where {_MEANT}"
_NOT_YET = f"select series, day, n, reports, crc from recent where {_MEANT}"
_KEPT = f"""
select series, day, n, reports, crc from kept where {_MEANT}
union all select series, day, n, reports, crc from recent where {_MEANT}
"""
_DAYS = """
with chosen as (
    select number, segment from series where survey = :survey and question = :question
)
select day, segment, sum(n) from (
    select series, day, n from counts where series in (select number from chosen)
    union all select series, day, n from recent where series in (select number from chosen)
) as found join chosen on chosen.number = found.series
group by day, segment order by day, segment
"""
_ADD_TOKEN = """
insert into tokens (name, digest, scope, surveys) values (:name, :digest, :scope, :surveys)
on conflict (name) do update set name = excluded.name where tokens.digest = excluded.digest
returning name
"""
_OLD_DAYS = """
select distinct series, day from counts
where series in (select number from series where survey = :survey) and day < :before
union select distinct series, day from recent
where series in (select number from series where survey = :survey) and day < :before
union select distinct series, day from kept
where series in (select number from series where survey = :survey) and day < :before
"""

_CHECK = """
insert into meta (key, value) values ('checked', '0')
on conflict (key) do update set value = case meta.value when '0' then '1' else '0' end
"""

_FIRST_DAY, _LAST_DAY = -(2**31), 2**31 - 1


class Relational(Store):
    """What the stores have in common; a database adds how it opens, reads, writes and copies."""

    FOR_ADDING = """
    select number from surveys where fingerprint = :fingerprint and state <> 'deleting'
    """

    def __init__(self) -> None:
        self._surveys: dict[int, Survey] = {}
        self._series_of: dict[int, dict[tuple[str, str | None], int]] = {}
        self._folding = threading.Lock()

    @abstractmethod
    def _read(self) -> contextlib.AbstractContextManager[Session]:
        """Return a transaction that sees one moment of the store and changes nothing."""

    @abstractmethod
    def _write(self, work: Callable[[Session], Result]) -> Result:
        """Do some work in one durable transaction: all of it, or on an error none."""

    def _run(self, sql: str, **parameters: Any) -> list[Row]:
        """Run one statement in a durable transaction of its own; return its rows."""
        return self._write(lambda session: session.run(sql, **parameters))

    @abstractmethod
    def _check_room(self) -> None:
        """Raise a `StoreFullError` if there is no room for more submissions."""

    # Surveys

    def publish(self, survey: Survey, day: int) -> None:
        """Add a survey, open for submissions; one that is there already stays as it is."""
        self._check_collecting()
        self._sweep()

        def insert(session: Session) -> None:
            if session.run(_FIND, fingerprint=survey.fingerprint):
                return
            fields = {"fingerprint": survey.fingerprint, "document": survey.to_json(), "day": day}
            ((number,),) = session.run(_PUBLISH, **fields)
            for question, segment in _series_of(survey):
                session.run(_SERIES, survey=number, question=question, segment=segment)

        self._write(insert)

    def collections(self) -> tuple[Collection, ...]:
        """Return all surveys with their states, in the order in which they were added."""
        with self._read() as session:
            rows = session.run(_COLLECTIONS)
        return tuple(
            Collection(self._survey(number, fingerprint, document), state, first_day)
            for number, fingerprint, document, state, first_day in rows
        )

    def set_state(self, survey: str, state: Literal["open", "closed"]) -> None:
        """Open or close the survey with this fingerprint."""
        if state not in ("open", "closed"):
            raise ValueError(f"a survey is 'open' or 'closed', not {shown(state)}")

        def change(session: Session) -> None:
            number, _ = self._find(session, survey)
            session.run(_SET_STATE, number=number, state=state)

        self._write(change)

    def delete(self, survey: str) -> None:
        """Delete the survey with this fingerprint and everything that was collected for it."""

        def mark(session: Session) -> None:
            number, _ = self._find(session, survey)
            session.run(_SET_STATE, number=number, state="deleting")

        self._write(mark)
        self._sweep()

    def _sweep(self) -> None:
        """Finish deletions, also those that the end of a process interrupted."""
        with self._read() as session:
            rows = session.run("select number from surveys where state = 'deleting'")
        for (number,) in rows:
            self._forget_ids(number, _LAST_DAY + 1)
            self._forget_days(number, _LAST_DAY + 1)
            self._write(lambda session, number=number: _remove(session, number))  # type: ignore[misc]
            self._surveys.pop(number, None)
            self._series_of.pop(number, None)

    def _find(self, session: Session, fingerprint: str) -> tuple[int, Survey]:
        """Return the number of the survey with this fingerprint, and the survey."""
        for number, document, state in session.run(_FIND, fingerprint=fingerprint):
            if state != "deleting":
                return number, self._survey(number, fingerprint, document)
        raise UnknownSurveyError(fingerprint)

    def _survey(self, number: int, fingerprint: str, document: str) -> Survey:
        survey = self._surveys.get(number)
        if survey is None:
            try:
                survey = Survey.from_json(document)
            except ValueError:
                survey = None
            if survey is None or survey.fingerprint != fingerprint:
                raise DamagedError(
                    f"the survey with the fingerprint {shown(fingerprint[:12])} is damaged: it is "
                    "not as it was written. Look at the disk, and restore a backup"
                )
            self._surveys[number] = survey
        return survey

    # Submissions

    def add(self, submissions: Sequence[Submission | Batch], day: int) -> list[bool]:
        """Add submissions in one durable transaction: all of them, or on an error none."""
        self._check_collecting()
        if not submissions:
            return []
        self._check_room()
        by_survey: dict[str, list[tuple[int, Batch]]] = {}
        count = 0
        for batch in batches_of(submissions):
            by_survey.setdefault(batch.survey, []).append((count, batch))
            count += batch.count

        def insert(session: Session) -> list[bool]:
            new = [True] * count
            for fingerprint in sorted(by_survey):
                rows = session.run(self.FOR_ADDING, fingerprint=fingerprint)
                if not rows:
                    raise UnknownSurveyError(fingerprint)
                ((number,),) = rows
                series = self._series(session, number, fingerprint)
                for place in adding.add(session, number, series, by_survey[fingerprint], day):
                    new[place] = False
            return new

        return self._write(insert)

    def _series(
        self, session: Session, number: int, fingerprint: str
    ) -> dict[tuple[str, str | None], int]:
        """Return the numbers of the series of a survey, which never change."""
        found = self._series_of.get(number)
        if found is None:
            _, survey = self._find(session, fingerprint)
            found = self._series_of[number] = _read_series(session, number, survey)
        return found

    # What was collected

    def counts(self, part: Part) -> Counts:
        """Return the counts of all reports of a part, exact at the moment of the call."""
        with self._read() as session:
            asked, where = self._meant(session, part)
            mechanism = asked.mechanism
            waiting = (check_sum(*row) for row in session.stream(_NOT_YET, **where))
            recent = mechanism.count_checked(folding.joined(waiting, mechanism.shape))
            n, cells = recent.n, np.array(recent.cells)
            for row in session.stream(_COUNTED, **where):
                n += row[2]
                cells += unpack_cells(check_sum(*row), cells.shape)
        return Counts(mechanism, n, cells)

    def by_day(self, part: Part) -> Iterator[Entry]:
        """Return the counts of a part by day and segment, read once and in one go."""
        with self._read() as session:
            asked, where = self._meant(session, part)
            mechanism = asked.mechanism
            shape = mechanism.channel.cells
            some = max(1, min(1000, 2**18 // math.prod(shape)))
            for segment, *row in session.stream(_COUNTED_BY_DAY, at_once=some, **where):
                yield Entry(row[1], segment, row[2], unpack_cells(check_sum(*row), shape))
            waiting = session.stream(_NOT_YET_BY_DAY, **where)
            for (segment, _, day), rows in itertools.groupby(waiting, lambda row: row[:3]):
                blobs = (check_sum(*row[1:]) for row in rows)
                found = mechanism.count_checked(folding.joined(blobs, mechanism.shape))
                yield Entry(day, segment, found.n, found.cells)

    def days(self, survey: str, question: str) -> dict[tuple[int, str | None], int]:
        """Return the number of reports to a question by day and segment."""
        with self._read() as session:
            _, where = self._meant(session, Part(survey, question))
            found = {"survey": where["survey"], "question": question}
            return {(day, segment): int(n) for day, segment, n in session.run(_DAYS, **found)}

    def reports(self, part: Part) -> Iterator[bytes]:
        """Return the packed reports of a part, of a question whose reports are kept, in batches."""
        with self._read() as session:
            asked, where = self._meant(session, part)
            if not keeps_reports(asked):
                raise ValueError(
                    f"reports to {shown(part.question)} are not kept: their counts have all that "
                    "an analysis needs"
                )
            for row in session.stream(_KEPT, **where):
                yield check_sum(*row)

    @abstractmethod
    def changes(self, survey: str) -> int:
        """Return a number that grows whenever reports to a survey are added or deleted."""

    def _meant(self, session: Session, part: Part) -> tuple[Asked, dict[str, Any]]:
        """Return the question of a part, and the parameters that select its rows."""
        number, survey = self._find(session, part.survey)
        units = {asked.name: asked for asked in survey.reported}
        if part.question not in units:
            raise ValueError(
                f"survey {shown(survey.name)} takes no reports to {shown(part.question)}; it takes "
                f"reports to {listed(tuple(units))}"
            )
        if part.segment is not None and part.segment not in survey.segments:
            raise ValueError(f"survey {shown(survey.name)} has no segment {shown(part.segment)}")
        self._series(session, number, part.survey)
        return units[part.question], {
            "survey": number,
            "question": part.question,
            "segment": part.segment,
            "first": _FIRST_DAY if part.first_day is None else part.first_day,
            "last": _LAST_DAY if part.last_day is None else part.last_day,
        }

    # Tokens

    def add_token(self, token: Token) -> None:
        """Keep a token; a name that exists is refused."""
        fields = {"name": token.name, "digest": token.digest, "scope": token.scope}
        surveys = json.dumps(token.surveys)
        if not self._run(_ADD_TOKEN, **fields, surveys=surveys):
            raise ValueError(
                f"there is a token called {shown(token.name)}: revoke it, or choose another name"
            )

    def tokens(self) -> tuple[Token, ...]:
        """Return all tokens, without those that are damaged: they let nobody in."""
        with self._read() as session:
            rows = session.run("select name, digest, scope, surveys from tokens order by name")
        return tuple(token for row in rows if (token := read_token(*row)) is not None)

    def revoke(self, name: str) -> None:
        """Delete the token with this name."""
        if not self._run("delete from tokens where name = :name returning name", name=name):
            raise ValueError(f"there is no token called {shown(name)}")

    # Upkeep

    def fold(self) -> None:
        """Add recent reports up, so that only counts remain of questions that need no reports."""
        with self._folding, self._alone_folding() as alone:
            if not alone:
                return
            self._sweep()
            with self._read() as session:
                last = folding.newest_recent(session)
            while self._fold_some(last):
                pass

    def _alone_folding(self) -> contextlib.AbstractContextManager[bool]:
        """Return whether nobody else folds this store now."""
        return contextlib.nullcontext(True)

    def _fold_some(self, last: int) -> bool:
        """Fold some recent reports up to a number; return whether there were any."""
        with self._read() as session:
            folds = folding.read_recent(session, last, self._asked_by_series(session))
        for fold in folds:
            fold.prepare()

        return bool(folds) and self._apply(folds)

    def _apply(self, folds: list[folding.Fold]) -> bool:
        """Apply folds in one transaction; leave alone those whose counts are damaged."""

        def apply(session: Session) -> None:
            for fold in folds:
                folding.apply(session, fold)

        try:
            self._write(apply)
        except folding.GoneError:  # somebody deleted them: read again
            return True
        except DamagedError:
            return len(folds) > 1 and sum(self._apply([fold]) for fold in folds) > 0
        return True

    def _asked_by_series(self, session: Session) -> dict[int, Asked]:
        """Return the question of every series, of surveys that are not being deleted."""
        found = {}
        for number, fingerprint, document, *_ in session.run(_COLLECTIONS):
            survey = self._survey(number, fingerprint, document)
            units = {asked.name: asked for asked in survey.reported}
            for question, _, series in session.run(_SERIES_OF, survey=number):
                if question in units:  # else it is damaged
                    found[series] = units[question]
        return found

    def forget_ids(self, before_day: int) -> int:
        """Delete the ids of submissions before a day; return how many."""
        return self._forget_ids(None, before_day)

    @abstractmethod
    def _forget_ids(self, survey: int | None, before_day: int) -> int:
        """Delete old ids, of one survey or of all, in many small transactions."""

    def forget_reports(self, survey: str, before_day: int) -> int:
        """Delete counts and reports of a survey from before a day; return how many reports."""
        with self._read() as session:
            number, _ = self._find(session, survey)
        return self._forget_days(number, before_day)

    def _forget_days(self, survey: int, before_day: int) -> int:
        """Delete what was collected before a day, one series and day after another."""
        with self._read() as session:
            rows = session.run(_OLD_DAYS, survey=survey, before=before_day)

        def forget(session: Session, series: int, day: int) -> int:
            session.hold_counts()
            where, total = {"series": series, "day": day}, 0
            for table in ("counts", "recent"):
                gone = f"delete from {table} where series = :series and day = :day returning n"
                total += sum(n for (n,) in session.run(gone, **where))
            session.run("delete from kept where series = :series and day = :day", **where)
            session.changed(survey)
            return total

        return sum(
            self._write(lambda session, where=where: forget(session, *where))  # type: ignore[misc]
            for where in rows
        )

    def check(self) -> None:
        """Raise a `StoreError` if the store cannot take submissions now: write, to find out."""
        self._check_collecting()
        self._check_room()
        self._run(_CHECK)

    def verify(self, *, sums_only: bool = False) -> None:
        """Read everything; raise a `StoreError` that says what is damaged, if something is."""
        self._verify_pages()
        with self._read() as session:
            for number, fingerprint, document, state, _ in session.run(_COLLECTIONS):
                survey = self._survey(number, fingerprint, document)
                _read_series(session, number, survey)
                if state not in ("open", "closed"):
                    raise DamagedError(
                        f"the state of the survey {shown(survey.name)} is damaged: it is "
                        f"{shown(state)}. Close or reopen the survey, and look at the disk"
                    )
            verify(session, self._asked_by_series(session), sums_only=sums_only)

    def _verify_pages(self) -> None:
        """Raise a `StoreError` if the database itself finds damage."""

    def _check_collecting(self) -> None:
        """Raise a `StoreError` if this store was opened only for reading and upkeep."""


def _series_of(survey: Survey) -> Iterator[tuple[str, str | None]]:
    """Return the question and the segment of each series of a survey."""
    for asked in survey.reported:
        for segment in survey.segments or (None,):
            yield asked.name, segment


def _read_series(
    session: Session, number: int, survey: Survey
) -> dict[tuple[str, str | None], int]:
    """Return the numbers of the series of a survey; refuse others than it was published with."""
    rows = session.run(_SERIES_OF, survey=number)
    found = {(question, segment): series for question, segment, series in rows}
    if found.keys() != set(_series_of(survey)):
        raise DamagedError(
            f"the questions of the survey {shown(survey.name)} are damaged: they are not as they "
            "were written. Look at the disk, and restore a backup"
        )
    return found


def _remove(session: Session, survey: int) -> None:
    """Delete a survey of which nothing else is left."""
    session.run("delete from series where survey = :survey", survey=survey)
    session.run("delete from surveys where number = :survey", survey=survey)
