"""State: what a client keeps between answers, in one small file or in the caller's mapping."""

from __future__ import annotations

import contextlib
import datetime
import math
import os
import re
import secrets
import threading
from collections.abc import Iterator, MutableMapping
from fractions import Fraction
from pathlib import Path
from typing import IO, Annotated, Any

import msgspec

from murmurs.boundary.checks import shown
from murmurs.boundary.documents import document
from murmurs.boundary.writing import STANDARD, delete_leftovers, is_standard_output, writing
from murmurs.survey.budget import Cost
from murmurs.survey.terms import CALENDAR, Calendar, period_number

SECRET_BYTES = 32
_KEY = "client"
_FORMAT = 2
_COST = re.compile(r"[0-9]{1,300}/[1-9][0-9]{0,300}|inf")
Day = Annotated[int, msgspec.Meta(ge=0, le=2_932_896)]
"""A day up to the year 9999, counted from 1970-01-01."""


class Queued(msgspec.Struct, forbid_unknown_fields=True):
    """A sealed submission that waits to be sent: its id, its bytes, and when it may be sent."""

    id: str
    data: bytes
    due: int
    tried: int = 0
    """When it was first sent in a request that may have been taken; 0 if in none."""
    requests: int = 0
    """How many requests that may have been taken, or are under way, it was in."""
    heard: int = 0
    """The collector's time that was known when it was first sent; 0 if none was."""


class KeptResponse(msgspec.Struct, forbid_unknown_fields=True):
    """What is kept for a question with permanent responses: a device's state, and what is paid."""

    state: dict[str, Any] = {}
    paid: list[str] = []
    """Names of the values, segments or periods that the odometer was charged for."""


class Within(msgspec.Struct, forbid_unknown_fields=True):
    """What was spent in the last day, week, month or year, and the number of that period."""

    number: int = 0
    spent: str = "0/1"


class State(msgspec.Struct, forbid_unknown_fields=True):
    """Everything that a client keeps; it holds no answer in plain text."""

    survey: str
    """The name of the survey; its versions share a state."""
    secret: str
    spent: str = "0/1"
    """The epsilon that all reports so far have cost: an exact fraction, or inf without a bound."""
    within: dict[str, Within] = {}
    """What was spent in the last day, week, month and year in which something was answered."""
    answered: dict[str, Day] = {}
    """For each question the day on which it was answered last, counted from 1970-01-01."""
    kept: dict[str, KeptResponse] = {}
    queue: list[Queued] = []
    failures: int = 0
    """How often sending has failed since it last succeeded."""
    retry: int = 0
    """When sending may be tried again, in seconds since 1970."""
    heard: int = 0
    """The time that the collector told last, in seconds since 1970; 0 if it never did."""
    murmurs: str = _KEY
    format: int = _FORMAT

    @property
    def exact(self) -> Cost:
        """What was spent, as a number."""
        return _cost(self.spent)

    def charge(self, cost: Cost, day: datetime.date) -> None:
        """Add to what was spent, and to what was spent in the periods of a day.

        Periods never go back: what is spent after a clock was set back counts in the last one.
        """
        for word in CALENDAR:
            number = max(period_number(word, day), self.within.get(word, Within()).number)
            self.within[word] = Within(number, _written(self.spent_within(word, day) + cost))
        self.spent = _written(self.exact + cost)

    def spent_within(self, word: Calendar, day: datetime.date) -> Cost:
        """Return what was spent in the day, week, month or year of a day, or in a later one."""
        last = self.within.get(word, Within())
        return _cost(last.spent) if last.number >= period_number(word, day) else Fraction(0)

    @property
    def last_day(self) -> datetime.date | None:
        """The last day on which something was answered."""
        return max(map(_day, self.answered.values()), default=None)


def _day(number: int) -> datetime.date:
    return datetime.date(1970, 1, 1) + datetime.timedelta(number)


def _cost(text: str) -> Cost:
    return math.inf if text == "inf" else Fraction(text)


def _written(cost: Cost) -> str:
    return "inf" if isinstance(cost, float) else f"{cost.numerator}/{cost.denominator}"


def new_state(survey: str) -> State:
    """Return the state of a device that has not answered yet, with a new secret."""
    return State(survey, secrets.token_hex(SECRET_BYTES))


def _checked(found: object, where: str) -> State:
    """Return a state if it is one that a client wrote."""
    try:
        state = msgspec.convert(found, State)
    except msgspec.ValidationError as error:
        raise _damaged(where, shown(str(error), 200)) from None
    if state.murmurs != _KEY:
        raise _damaged(where, "it is no state of a client")
    if state.format not in (1, _FORMAT):
        raise ValueError(
            f"{where} has format {state.format}, this release reads up to {_FORMAT}: upgrade "
            "murmurs"
        )
    costs = [state.spent, *(one.spent for one in state.within.values())]
    if not re.fullmatch(r"[0-9a-f]{64}", state.secret) or not all(map(_COST.fullmatch, costs)):
        raise _damaged(where, "its secret or what was spent is unreadable")
    if state.format == 1:
        _complete(state)
    return state


def _complete(state: State) -> None:
    """Complete a state of a release that did not note when it spent: all of it on its last day."""
    state.format = _FORMAT
    last = state.last_day
    if last is not None:
        state.within = {word: Within(period_number(word, last), state.spent) for word in CALENDAR}


def _damaged(where: str, why: str) -> ValueError:
    return ValueError(
        f"{where} is damaged: {why}. Restore it from where it was kept; a new one starts over and "
        "spends as much again"
    )


class InFile:
    """A state in a file: written whole, durably and for its owner only, by one process at a time.

    A second file, with ``.lock`` added to its name, is locked while the state is read and changed.
    Links to one state have one lock. What a process that was killed left is deleted. The path is
    that of the moment in which the object is made, whatever the current folder becomes.
    """

    def __init__(self, path: Path) -> None:
        if path == STANDARD:
            raise ValueError(_unkept("-", "standard output"))
        self._path = path.absolute()
        self._lock: Path | None = None

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep all other processes and threads away from the state."""
        if is_standard_output(self._path):
            raise ValueError(_unkept(str(self._path), "standard output"))
        if self._path.exists() and not self._path.is_file():
            raise ValueError(_unkept(str(self._path), "no file"))
        is_first = self._lock is None
        if self._lock is None:
            target = Path(os.path.realpath(self._path))
            self._lock = target.with_name(f"{target.name}.lock")
        handle = os.open(self._lock, os.O_RDWR | os.O_CREAT, 0o600)
        with os.fdopen(handle, "r+b") as file:
            _lock(file)
            if is_first:
                delete_leftovers(self._path)
            yield

    def read(self) -> State | None:
        """Return the state, or None if there is none yet."""
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return None
        where = f"the state {self._path}"
        try:
            found = document(data)
        except ValueError as error:
            raise _damaged(where, str(error)) from None
        return _checked(found, where)

    def write(self, state: State) -> None:
        """Replace the state; after this it survives a loss of power."""
        with writing(self._path, private=True) as file:
            file.write(msgspec.json.format(msgspec.json.encode(state), indent=1) + b"\n")


def _unkept(path: str, what: str) -> str:
    return (
        f"a state holds a secret and must be kept, and {path} is {what}: give the path of a file, "
        "as me.json"
    )


class InMapping:
    """A state in the caller's mapping, written in one assignment to its key "client".

    The value consists of dicts, lists, text and numbers: the caller stores it, for example as JSON.
    """

    LOCK = threading.RLock()
    """One for all mappings, as several clients may have the same one."""

    def __init__(self, mapping: MutableMapping[str, Any]) -> None:
        self._mapping = mapping

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other threads away from the state, with this client or another."""
        with self.LOCK:
            yield

    def read(self) -> State | None:
        """Return the state, or None if there is none yet."""
        found = self._mapping.get(_KEY)
        return None if found is None else _checked(found, "the state")

    def write(self, state: State) -> None:
        """Replace the state."""
        self._mapping[_KEY] = msgspec.to_builtins(state)


if os.name == "nt":  # pragma: no cover

    def _lock(file: IO[bytes]) -> None:
        import msvcrt

        msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)  # type: ignore[attr-defined]

else:

    def _lock(file: IO[bytes]) -> None:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX)  # closing the file unlocks it
