"""Answers: from what a person answered to one report for each question, with what it costs."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from murmurs.boundary.checks import shown
from murmurs.boundary.texts import listed
from murmurs.client.state import KeptResponse, State
from murmurs.devices.device import Device
from murmurs.questions.asked import Asked
from murmurs.randomness.verbs import Randomness
from murmurs.survey.budget import Cost, price
from murmurs.survey.survey import Survey, keeps_response
from murmurs.survey.terms import Period, period_number

Memory = Literal["value", "change", "period"]


class AnswerRefusedError(Exception):
    """The terms of the survey do not allow an answer now; nothing was spent or sealed.

    ``reason`` is "budget", "period", "draw", "closed" or "queue".
    """

    __module__ = "murmurs.client"  # as users import it

    def __init__(self, reason: str, rule: str) -> None:
        super().__init__(rule)
        self.reason = reason


@dataclass(frozen=True)
class Answer:
    """The answer to one question or joint as its mechanism takes it, never shown in errors."""

    asked: Asked
    value: Any

    def __repr__(self) -> str:
        return f"Answer({self.asked.name!r}, ...)"


def checked(survey: Survey, answers: Mapping[str, Any]) -> list[Answer]:
    """Return the answers by what is reported; refuse what is no answer, without quoting it."""
    if not isinstance(answers, Mapping):
        raise TypeError(
            "answers are a mapping from the names of questions, {'drink': 'tea'}, not of type "
            f"{type(answers).__name__}"
        )
    names = {question.name for question in survey.questions}
    for number, name in enumerate(answers):
        if name not in names:  # it may be an answer, given the wrong way round
            known = listed(tuple(question.name for question in survey.questions))
            raise ValueError(
                f"name number {number} (from 0) in answers is no question of survey "
                f"{shown(survey.name)}, which has {known}"
            )
    if not answers:
        raise ValueError("there are no answers: give at least one, {'drink': 'tea'}")
    found = []
    for asked in survey.reported:
        given = [name for name in asked.names if name in answers]
        if not given:
            continue
        if len(given) < len(asked.names):
            missing = listed(tuple(name for name in asked.names if name not in given))
            together = listed(asked.names)
            raise ValueError(f"{together} are answered together, and {missing} is missing")
        found.append(Answer(asked, asked.answer(asked.pick(answers))))
    return found


@dataclass(frozen=True)
class Reporter:
    """How one question of a survey is reported: with fresh noise, or through a `Device`."""

    survey: str
    asked: Asked
    memory: Any = None
    """For a question with a permanent response, which reports share one."""
    period: Period | None = None
    """With memory "period", how long a response is kept."""

    @property
    def key(self) -> str:
        """The name under which a state keeps this, and from which its responses are derived.

        Another first round, other labels or other periods make it another device: the same number
        would otherwise stand for two answers, or for two periods, and share one response.
        """
        mechanism: Any = self.asked.mechanism
        law = f"{type(mechanism).__name__} {mechanism.permanent_law} {self.asked.meanings}"
        digest = hashlib.sha256(law.encode()).hexdigest()[:16]
        lasting = "" if self.period is None else f" {self.period}"
        return f"{self.asked.name}/{self.memory}{lasting}/{digest}"

    def report(
        self, answer: Answer, state: State, day: datetime.date, random: Randomness
    ) -> tuple[Any, Cost]:
        """Return the report of an answer and what it costs; the state keeps what is permanent."""
        if not keeps_response(self.asked):
            return self.asked.mechanism.encode(answer.value, random), price(self.asked)
        kept = state.kept.setdefault(self.key, KeptResponse())
        period = None if self.period is None else period_number(self.period, day)
        mechanism: Any = self.asked.mechanism
        device: Device[Any] = Device(
            mechanism,
            bytes.fromhex(state.secret),
            f"{self.survey}/{self.key}",
            memory=self.memory,
            state=kept.state,
        )
        if period is not None and kept.paid and period < int(kept.paid[-1]):
            raise AnswerRefusedError(
                "period",
                f"{shown(self.asked.name)} was answered in a later period already: the clock was "
                "set back",
            )
        unit = device.unit(answer.value, period=period)
        cost: Cost = Fraction(0)
        if unit not in kept.paid:
            cost = price(self.asked)
            kept.paid.append(unit)
        return device.report(answer.value, random, period=period), cost


def check_memory(
    survey: Survey, memory: Memory | Mapping[str, Memory] | None, period: Period | None
) -> None:
    """Refuse a memory for questions that keep no permanent response, which would do nothing."""
    kept = tuple(asked.name for asked in survey.reported if keeps_response(asked))
    for name in memory if isinstance(memory, Mapping) else ():
        if name not in kept:
            raise ValueError(
                f"memory names {shown(name)}, which is none of the questions with permanent "
                f"responses{f': {listed(kept)}' if kept else ''}"
            )
    if not kept and (memory is not None or period is not None):
        raise ValueError(
            f"no question of survey {shown(survey.name)} has a permanent response: leave memory "
            "and period out"
        )
