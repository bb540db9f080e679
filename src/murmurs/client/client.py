"""Client: answers a survey within its terms, and sends what it sealed once it is saved."""

from __future__ import annotations

import contextlib
import datetime
import time
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from murmurs.boundary.checks import real, shown, whole
from murmurs.client.answers import (
    Answer,
    AnswerRefusedError,
    Memory,
    Reporter,
    check_memory,
    checked,
)
from murmurs.client.doubt import (
    CERTAIN_FOR,
    NOT_ASKED,
    is_stale,
    is_worth_waiting,
    verdict,
)
from murmurs.client.limits import Limits
from murmurs.client.sending import (
    LONGEST_WAIT,
    Refusal,
    Sent,
    meaning,
    note_not_taken,
    posted,
    told,
    unreachable,
    wait,
)
from murmurs.client.state import InFile, InMapping, KeptResponse, Queued, State, new_state
from murmurs.client.transport import HTTP, NotSentError, Reply, Transport
from murmurs.devices.device import MEMORIES
from murmurs.questions.asked import Asked
from murmurs.randomness.sources import Chance, as_randomness
from murmurs.submission import Submission, SubmissionForm
from murmurs.survey.budget import Cost, rounded_up
from murmurs.survey.survey import Survey, keeps_response
from murmurs.survey.terms import Calendar, Period

AT_ONCE = 50
"""The most submissions in one request."""

MOST_AT_ONCE = 500_000
"""The most bytes in one request, unless one submission has more."""

_GIVEN_UP = (
    "it may have been counted when it was first sent, perhaps over "
    f"{CERTAIN_FOR // 86_400} days ago"
)

TOO_MANY = 429
"""The status with which a collector takes nothing for now; others leave room for doubt."""


class Client:
    """One device's side of a published survey.

    ``state`` is the path of one small file, which is private and saved durably, or a mapping that
    the caller stores. It contains the device's secret, permanent responses, what was spent, and the
    sealed submissions that wait to be sent. ``segment`` is the device's own, if the survey has
    segments. ``memory`` is for questions with permanent responses where the survey leaves it open,
    for all of them or by name; ``period`` then belongs to memory="period". ``limit`` is the app's
    own lifetime budget, and ``limit_per`` its own budgets of periods, as {"month": 2}, which no
    version of a survey can raise.

    ``delay`` is the length in seconds of the intervals that hide when a person answers: what is
    answered within one is sent at a random moment of the next.

    >>> survey = Survey.from_toml('''
    ... name = "coffee"
    ... every = "week"
    ... lifetime_epsilon = 3
    ... [[questions]]
    ... name = "hot"
    ... labels = ["yes", "no"]
    ... epsilon = 1.0
    ... ''')
    >>> client = Client(survey, {})
    >>> submission = client.answer({"hot": "yes"})
    >>> submission.people, len(submission.reports["hot"]), round(client.spent, 6), client.queued
    (1, 1, 1.0, 1)
    >>> client.answer({"hot": "yes"})
    Traceback (most recent call last):
    murmurs.client.AnswerRefusedError: 'hot' was answered already: it is asked once a week
    """

    def __init__(
        self,
        survey: Survey,
        state: str | Path | MutableMapping[str, Any],
        *,
        segment: str | None = None,
        memory: Memory | Mapping[str, Memory] | None = None,
        period: Period | None = None,
        limit: float | None = None,
        limit_per: Mapping[Calendar, float] | None = None,
        delay: int = 3600,
        most_queued: int = 100,
        random: Chance = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.survey = survey
        self.form = SubmissionForm(survey)
        self.segment = self.form.check_segment(segment)
        self._state: InFile | InMapping
        if isinstance(state, MutableMapping):
            self._state = InMapping(state)
        else:
            self._state = InFile(Path(state))
        self._limits = Limits(survey, limit, limit_per)
        self._period = survey.terms.period if survey.terms.memory else period
        check_memory(survey, memory, period)
        self._reporters = {
            asked.name: self._reporter_of(asked, memory) for asked in survey.reported
        }
        self._delay = whole(delay, "delay", 0, 366 * 86_400)
        self._most_queued = whole(most_queued, "most_queued", 1, 10_000)
        self._random = as_randomness(random)
        self._clock = clock

    def _reporter_of(self, asked: Asked, given: Memory | Mapping[str, Memory] | None) -> Reporter:
        """Return how a question is reported: through a device, if it has permanent responses."""
        if not keeps_response(asked):
            return Reporter(self.survey.name, asked)
        memory = self._memory_of(asked.name, given)
        period = self._period if memory == "period" else None
        return Reporter(self.survey.name, asked, memory, period)

    def _memory_of(self, name: str, given: Memory | Mapping[str, Memory] | None) -> Memory:
        """Return the memory for a question: the survey's or, if that leaves it open, the given."""
        chosen = given.get(name) if isinstance(given, Mapping) else given
        settled = self.survey.terms.memory
        if settled is not None:
            if chosen not in (None, settled):
                raise ValueError(
                    f"survey {shown(self.survey.name)} has memory {settled!r} for its questions: "
                    "leave memory out"
                )
            return settled
        if chosen not in MEMORIES:
            promises = "".join(f"\n  {name!r}: {m.promise}" for name, m in MEMORIES.items())
            raise ValueError(
                f"question {shown(name)} has a permanent response, and its survey leaves open "
                f"which reports share one: give memory, not {shown(chosen)}. It decides what is "
                f"promised:{promises}"
            )
        if chosen == "period" and self._period is None:
            raise ValueError('memory="period" needs a period such as "month"')
        return chosen

    # Answering

    def answer(self, answers: Mapping[str, Any]) -> Submission:
        """Seal a submission of these answers, save it in the queue, and return it.

        ``answers`` are labels, or strings for open questions, by the names of questions; questions
        of a joint are answered together. Each report is made with secure chance. The submission is
        what leaves the device: `murmurs.submission` shows its forms. An answer that the terms do
        not allow is an `AnswerRefusedError`, and then nothing was spent or sealed.
        """
        given = checked(self.survey, answers)
        with self._changing() as state:
            now = self._now()
            day = _day(now)
            self._limits.check_open(day)
            if len(state.queue) >= self._most_queued:
                raise AnswerRefusedError(
                    "queue",
                    f"{len(state.queue)} submissions wait to be sent, and no more are kept: send "
                    "them first",
                )
            names = tuple(answer.asked.name for answer in given)
            self._limits.check_period(state, names, day)
            reports, cost = self._reported(state, given, day)
            try:
                self._limits.check_budgets(state, cost, day)
            except AnswerRefusedError:
                self._note_changes(state, given)
                raise
            state.charge(cost, day)
            submission = self.form.make(reports, segment=self.segment)
            data = self.form.to_bytes(submission)
            state.queue.append(Queued(submission.id.hex(), data, self._due(now)))
        return submission

    def _reported(
        self, state: State, given: list[Answer], day: datetime.date
    ) -> tuple[dict[str, list[Any]], Cost]:
        """Return the reports by question, and what they cost together."""
        reports: dict[str, list[Any]] = {}
        total: Cost = Fraction(0)
        for answer in given:
            reporter = self._reporters[answer.asked.name]
            report, cost = reporter.report(answer, state, day, self._random)
            reports[answer.asked.name] = [report]
            total += cost
        return reports, total

    def _note_changes(self, state: State, given: list[Answer]) -> None:
        """Save that values changed, though their answers are refused: a change is one all the same.

        With memory by change, a value that returned would otherwise belong to the segment that is
        paid, and be sent, while any other value is refused.
        """
        saved, is_new = self._loaded(), False
        for reporter in (self._reporters[answer.asked.name] for answer in given):
            if reporter.memory == "change":
                kept = saved.kept.setdefault(reporter.key, KeptResponse())
                is_new = is_new or kept.state != state.kept[reporter.key].state
                kept.state = state.kept[reporter.key].state
        if is_new:
            self._state.write(saved)

    def _due(self, now: int) -> int:
        """Return a random moment of the interval after this one; without a delay, now."""
        if self._delay == 0:
            return now
        return (now // self._delay + 1) * self._delay + self._random.below(self._delay)

    # Sending

    def send(self, to: str | Transport) -> Sent:
        """Send the submissions that are due, several in one request, until none is left.

        ``to`` is the address of a collector, or a transport (see `murmurs.client.HTTP`). If a
        request fails, sending stops and may be tried again from `next_send_after` on; until then
        this does nothing. Submissions that the collector refuses for good leave the queue, and are
        in the result; so do those that it may have taken long ago, without an answer. Nothing is
        locked while a request is under way.
        """
        transport = HTTP(to) if isinstance(to, str) else to
        taken, problem, refused = 0, None, list[Refusal]()
        alone: set[str] = set()
        try:
            time = self._time(transport)
        except OSError as error:
            with self._changing() as state:
                is_later = isinstance(error, NotSentError) or is_worth_waiting(state)
                if is_later:
                    self._note_failure(state, None)
                    return self._sent(state, 0, [], unreachable(error))
            time = NOT_ASKED  # somebody is there who does not answer that: what is in doubt waits
        batch = self._begun(alone, time, refused)
        while batch:
            reply, problem, is_sent = posted(transport, batch)
            heard, reason = ("failed", problem) if reply is None else meaning(reply, len(batch))
            time = time if time is None else told(reply) or time
            with self._changing() as state:
                if heard == "refused" and len(batch) > 1:
                    alone |= {one.id for one in batch}  # one of them is bad: find out which
                    note_not_taken(state, batch)
                elif heard == "failed":
                    if not is_sent or (reply is not None and reply.status == TOO_MANY):
                        note_not_taken(state, batch)
                    self._note_failure(state, reply)
                    return self._sent(state, taken, refused, reason)
                else:
                    state.failures = state.retry = 0
                    state.heard = told(reply) or state.heard
                    done = {one.id for one in batch}
                    state.queue = [one for one in state.queue if one.id not in done]
                    if heard == "refused":
                        assert reply is not None
                        refused.append(Refusal(batch[0].id, reply.status, reason or ""))
                    taken += len(batch) if heard == "taken" else 0
                    if not state.queue:
                        return self._sent(state, taken, refused, None)
            batch = self._begun(alone, time)
        with self._state.locked():
            state = self._loaded()
            problem = self._held_up(state, time)
            return self._sent(state, taken, refused, problem)

    def _sent(self, state: State, taken: int, refused: list[Refusal], problem: str | None) -> Sent:
        """Return what sending has done, and what it leaves."""
        later = self._next_send_after(state)
        return Sent(taken, tuple(refused), len(state.queue), problem, later)

    def _held_up(self, state: State, time: int | None) -> str | None:
        """Return why something that is due was not sent, though no request failed now."""
        now = self._now()
        due = self._all_due(state, now)
        if due and self._retry(state, now) > now:
            return "the last try failed, and it is too early for another"
        if not any(verdict(one, now, time) == "wait" for one in due):
            return None
        self._note_failure(state, None)
        self._state.write(state)
        return "the time is not known, and something may have been taken before"

    def _time(self, transport: Transport) -> int | None:
        """Return the collector's time if something in doubt is due, or it was not told for long.

        It is None if the transport never tells it, and `NOT_ASKED` if nobody has to know.
        """
        asked: Callable[[], int | None] | None = getattr(transport, "time", None)
        if asked is None:
            return None
        now = self._now()
        with self._reading() as state:
            due = [] if self._retry(state, now) > now else self._all_due(state, now)
            heard = state.heard
        if not due or not (is_stale(heard, now) or any(one.tried for one in due)):
            return NOT_ASKED
        time = asked()
        if time is not None:
            with self._changing() as state:
                state.heard = time
        return time

    def _note_failure(self, state: State, reply: Reply | None) -> None:
        """Note that a request failed, and when to try again."""
        state.failures += 1
        state.heard = told(reply) or state.heard
        after, now = None if reply is None else reply.retry_after, self._now()
        state.retry = now + wait(state.failures, after, now, self._random)

    def _all_due(self, state: State, now: int) -> list[Queued]:
        return [one for one in state.queue if self._due_at(one, now) <= now]

    def _begun(
        self, alone: set[str], time: int | None, refused: list[Refusal] | None = None
    ) -> list[Queued]:
        """Return the submissions of the next request, if it may be sent now.

        They are noted as sent, since they may arrive whatever happens then. What may have been
        taken so long ago that it would count again leaves the queue for ``refused``, if given.
        """
        now = self._now()
        with self._state.locked():
            state = self._loaded()
            if self._retry(state, now) > now:
                return []
            due = [(one, verdict(one, now, time)) for one in self._all_due(state, now)]
            old = {one.id for one, said in due if said == "give up"}
            if refused is not None and old:
                state.queue = [one for one in state.queue if one.id not in old]
                refused += [Refusal(identity, 0, _GIVEN_UP) for identity in sorted(old)]
            batch = _together([one for one, said in due if said in ("none", "send")], alone)
            for one in batch:
                # An older state has no number of requests.
                one.requests = max(one.requests, 1) + 1 if one.tried else 1
                one.heard = one.heard if one.tried else state.heard
                one.tried = one.tried or max(now, 1)
            if batch or (refused is not None and old):
                self._state.write(state)
        return batch

    @property
    def next_send_after(self) -> int | None:
        """When `send` has something to do, in seconds since 1970; None if nothing waits."""
        with self._reading() as state:
            return self._next_send_after(state)

    def _next_send_after(self, state: State) -> int | None:
        if not state.queue:
            return None
        now = self._now()
        due = min(self._due_at(one, now) for one in state.queue)
        return max(self._retry(state, now), due)

    def _due_at(self, one: Queued, now: int) -> int:
        """Return when a submission is due: now, if a clock that went wrong said much later."""
        return one.due if one.due <= now + 2 * max(self._delay, LONGEST_WAIT) else now

    def _retry(self, state: State, now: int) -> int:
        """Return when sending may be tried again: now, if a clock that went wrong said later."""
        return state.retry if state.retry <= now + LONGEST_WAIT else now

    # What was spent, and what may be asked

    @property
    def spent(self) -> float:
        """The epsilon that all answers so far cost together, rounded up."""
        with self._reading() as state:
            return rounded_up(state.exact)

    @property
    def queued(self) -> int:
        """How many submissions wait to be sent."""
        with self._reading() as state:
            return len(state.queue)

    def askable(self) -> tuple[str, ...]:
        """Return the names of the questions and joints that may be answered in this period.

        The budgets may still refuse an answer. Where devices draw some of the questions, these are
        the ones that this device has drawn.
        """
        day = _day(self._now())
        try:
            self._limits.check_open(day)
        except AnswerRefusedError:
            return ()
        with self._reading() as state:
            return self._limits.askable(state, day)

    # The state

    def _now(self) -> int:
        return int(real(self._clock(), "the clock", 0, 253_402_300_799))  # up to the year 9999

    def _loaded(self) -> State:
        found = self._state.read()
        state = found or new_state(self.survey.name)
        if found is None and self.survey.terms.questions_each is not None:
            self._state.write(state)  # another secret would draw other questions
        if state.survey != self.survey.name:
            raise ValueError(
                f"this state belongs to survey {shown(state.survey)}, not to "
                f"{shown(self.survey.name)}: give each survey a state of its own"
            )
        return state

    @contextlib.contextmanager
    def _reading(self) -> Iterator[State]:
        with self._state.locked():
            yield self._loaded()

    @contextlib.contextmanager
    def _changing(self) -> Iterator[State]:
        """Load the state, and save what becomes of it unless there is an error."""
        with self._state.locked():
            state = self._loaded()
            yield state
            self._state.write(state)


def _together(due: list[Queued], alone: set[str]) -> list[Queued]:
    """Return as many as may be sent in one request."""
    batch, size = due[:1], len(due[0].data) if due else 0
    for one in due[1:AT_ONCE]:
        size += len(one.data)
        if size > MOST_AT_ONCE or one.id in alone or batch[0].id in alone:
            break
        batch.append(one)
    return batch


def _day(now: int) -> datetime.date:
    return datetime.datetime.fromtimestamp(now, datetime.UTC).date()
