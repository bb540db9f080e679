"""Device: one person's side of a question that is asked repeatedly, and what it remembers.

It makes reports from permanent responses, which it derives from a secret. Its memory decides which
reports share a response; there are three memories, each with its own promise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Generic, Literal

from murmurs.boundary.checks import index, shown, whole
from murmurs.mechanisms.longitudinal.two_rounds import Longitudinal
from murmurs.mechanisms.settling import LEFT_OPEN
from murmurs.questions.asked import Asked
from murmurs.randomness.derived import Derived
from murmurs.randomness.sources import Chance, as_randomness
from murmurs.randomness.verbs import Randomness
from murmurs.wire import Report

Record = Mapping[str, Any]
"""What a device wrote into its state."""

_RECORD = "device"


@dataclass(frozen=True)
class Memory:
    """Which reports share a permanent response, and what that promises.

    Any number of reports costs `epsilon_permanent_realised` for each ``unit``, ``between`` two
    histories of a person's values; what is ``visible`` is not protected. ``kept`` lists the fields
    in the state of a device.
    """

    name: str
    unit: str
    between: str
    visible: str
    price: str
    use: str
    kept: tuple[str, ...]
    unit_of: Callable[[Device[Any], Any, Record | None, int], str] = field(repr=False)
    recall: Callable[[Device[Any], Any, Record | None, int], tuple[Any, Record | None]] = field(
        repr=False
    )

    @property
    def promise(self) -> str:
        """The promise in one line, with what it does not cover."""
        return f"epsilon_permanent for each {self.unit}; visible: {self.visible}"


def _by_value(device: Device[Any], value: Any, *_: object) -> tuple[Any, None]:
    return device._respond(value), None


def _value(device: Device[Any], value: Any, *_: object) -> str:
    return device._tag(value)


def _segment(device: Device[Any], value: Any, kept: Record | None, _: int) -> str:
    if kept is None:
        return "0"
    segment: int = kept["segment"]
    return str(segment + (kept["value"] != device._tag(segment, value)))


def _period(*given: Any) -> str:
    return str(given[-1])


def _by_change(
    device: Device[Any], value: Any, kept: Record | None, _: int
) -> tuple[Any, Record | None]:
    segment = 0 if kept is None else kept["segment"]
    if kept is not None:
        if kept["value"] == device._tag(segment, value):
            return device._respond(segment, value), None
        segment += 1
    record = {"segment": segment, "value": device._tag(segment, value)}
    return device._respond(segment, value), record


def _by_period(
    device: Device[Any], value: Any, kept: Record | None, period: int
) -> tuple[Any, Record | None]:
    shape = device.mechanism.shape
    if kept is not None:
        if period < kept["period"]:
            raise ValueError(
                f"period {period} is earlier than {kept['period']}, which already has a report; "
                "periods must not decrease"
            )
        if period == kept["period"]:
            return shape.unpack(bytes.fromhex(kept["response"])), None
    response = device._respond(period, value)
    return response, {"period": period, "response": shape.pack(response).hex()}


MEMORIES = {
    memory.name: memory
    for memory in (
        Memory(
            "value",
            unit="different value",
            between="two histories in which the same reports repeat the same value, such as A A "
            "B A and C C D C",
            visible="when values change, and which reports have the same value",
            price="nothing to store; a value that returns is recognised",
            use="values hardly ever change, or it is no secret when they change and return",
            kept=(),
            unit_of=_value,
            recall=_by_value,
        ),
        Memory(
            "change",
            unit="segment without a change",
            between="two histories that change at the same reports",
            visible="when values change",
            price="a state to store; a value that returns costs `epsilon_permanent` again",
            use="values change a few times, and it is no secret when",
            kept=("segment", "value"),
            unit_of=_segment,
            recall=_by_change,
        ),
        Memory(
            "period",
            unit="period",
            between="any two histories",
            visible="nothing",
            price="a state to store; a change shows only in the next period, and every period "
            "costs `epsilon_permanent`, even if the value stays",
            use="a bound on the total must hold whatever people do",
            kept=("period", "response"),
            unit_of=_period,
            recall=_by_period,
        ),
    )
}
"""The memories by name; tests/devices/test_memories.py tests each one listed here."""


@dataclass(frozen=True)
class Device(Generic[Report]):
    """One person's side of a question that is asked repeatedly.

    The first argument is a `Question`, whose labels are then the answers, or a longitudinal
    mechanism. ``secret`` is at least 16 random bytes that never leave the device. ``question`` is a
    name, by default that of the `Question`; each question answered with this secret needs a
    different one. ``memory`` says which reports share a permanent response: "value", "change" or
    "period"; `promise` says what follows from it. A permanent response is determined by the secret,
    the question, the memory, the law of the first round, the value, and the number of the segment
    or period; if any of them differs, it is independent.

    The device itself never changes. What "change" and "period" must remember is in ``state``, a
    mapping that the caller stores between reports, for example as JSON: save it first, then send
    the report. It contains no value in plain text, except that without a first round (f = 0) the
    stored response is the value. docs/longitudinal.md says what losing it costs.

    >>> import murmurs as mm
    >>> mechanism = mm.LOSUE(k=8, epsilon=1.0, epsilon_permanent=2.0)
    >>> secret = bytes(range(32))  # in practice secrets.token_bytes(32)
    >>> device = Device(mechanism, secret, "coffee/drink", memory="period")
    >>> len(device.report(3, period=2024)), len(device.report(5, period=2024))
    (1, 1)
    >>> [device.epsilon_spent(periods) for periods in (1, 2)]
    [2.0, 4.0]
    >>> print(device.promise)
    Any number of reports costs epsilon_permanent = 2 for each period, between any two histories.
    Visible beyond that: nothing.
    >>> device
    Device(mechanism=LOSUE(k=8, epsilon=1.0, epsilon_permanent=2.0), question='coffee/drink',
    memory='period')
    """

    mechanism: Longitudinal[Report]
    secret: bytes = field(repr=False)
    question: str = LEFT_OPEN
    memory: Literal["value", "change", "period"] | None = field(default=None, kw_only=True)
    state: MutableMapping[str, Any] = field(
        default_factory=dict, kw_only=True, repr=False, compare=False
    )

    asked: Asked | None = field(default=None, init=False, repr=False, compare=False)

    if TYPE_CHECKING:

        def __init__(
            self,
            mechanism: Longitudinal[Report] | Asked,
            secret: bytes,
            question: str = "",
            *,
            memory: Literal["value", "change", "period"] | None = None,
            state: MutableMapping[str, Any] = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        given: object = self.mechanism
        if isinstance(given, Asked):
            object.__setattr__(self, "asked", given)
            object.__setattr__(self, "mechanism", given.mechanism)
            if self.question is None:
                object.__setattr__(self, "question", given.name)
        if not isinstance(self.mechanism, Longitudinal):
            raise TypeError(
                f"{self.mechanism!r} has no permanent response to keep: "
                "use BasicRappor, Rappor, LOSUE or LOLOHA"
            )
        if not isinstance(self.question, str):
            raise TypeError(
                f"question must be a name such as 'coffee/drink', not {shown(self.question)}; a "
                "Question is the first argument"
            )
        if self.memory not in MEMORIES:
            *names, last = (repr(name) for name in MEMORIES)
            promises = "".join(f"\n  {name!r}: {m.promise}" for name, m in MEMORIES.items())
            raise ValueError(
                f"Device needs memory={', '.join(names)} or {last}, not {shown(self.memory)}. "
                f"It decides what is promised:{promises}"
            )
        if not isinstance(self.state, MutableMapping):
            raise TypeError(f"state must be a dict or the like, not {type(self.state).__name__}")
        self._chance("device")  # refuses a bad secret now, not at the first report
        self._kept()

    @property
    def promise(self) -> str:
        """What the reports cost, between which histories of values, and what stays visible."""
        memory, each = self._memory, self.mechanism.epsilon_permanent_realised
        return (
            f"Any number of reports costs epsilon_permanent = {each:.4g} for each {memory.unit}, "
            f"between {memory.between}. Visible beyond that: {memory.visible}."
        )

    def report(
        self,
        answer: Any,
        random: Chance = None,
        *,
        period: int | None = None,
    ) -> Report:
        """Return a report of the answer, from a permanent response and fresh chance.

        ``random`` is `Secure` by default; a reproducible study passes a NumPy generator.
        ``period`` is for memory="period": the number of the public period, which never goes back.
        The first answer in a period is used for the whole period. The state is written in one
        assignment, after the report is made.
        """
        value = self._value(answer)
        fresh = self._fresh(random, period)
        number = self._check_period(period)
        permanent, record = self._memory.recall(self, value, self._kept(), number)
        report = self.mechanism._instant(permanent, fresh)
        if record is not None:
            self.state[_RECORD] = {**record, "check": self._seal(record)}
        return report

    def unit(self, answer: Any, *, period: int | None = None) -> str:
        """Return the name of the value, segment or period that a report would now belong to.

        Reports of one unit share a permanent response and cost `epsilon_permanent_realised`
        together. The name of a value looks random to anyone without the secret.

        >>> import murmurs as mm
        >>> mechanism = mm.LOSUE(k=8, epsilon=1.0, epsilon_permanent=2.0)
        >>> device = Device(mechanism, bytes(range(32)), "coffee/drink", memory="change")
        >>> units = []
        >>> for value in (3, 3, 5, 3):
        ...     units.append(device.unit(value))
        ...     report = device.report(value)
        >>> units
        ['0', '0', '1', '2']
        """
        value, number = self._value(answer), self._check_period(period)
        return self._memory.unit_of(self, value, self._kept(), number)

    def epsilon_spent(self, count: int) -> float:
        """Return the epsilon of this many values, segments or periods, the units of the memory.

        It is `epsilon_permanent_realised` for each, rounded up, and holds between the histories
        that `promise` names.
        """
        count, each = whole(count, "count", 0, 2**53), self.mechanism.epsilon_permanent_realised
        if count == 0 or math.isinf(each):
            return each if count else 0.0
        exact = count * Fraction(each)
        nearest = float(exact)
        return nearest if nearest >= exact else math.nextafter(nearest, math.inf)

    @property
    def _memory(self) -> Memory:
        assert self.memory is not None
        return MEMORIES[self.memory]

    def _fresh(self, random: Chance, period: int | None) -> Randomness:
        """Return the chance of one report; a period in its place gets a hint."""
        try:
            return as_randomness(random)
        except TypeError as error:
            number = index(random) if self.memory == "period" and period is None else None
            hint = "" if number is None else f": write period={shown(number)}"
            raise TypeError(f"{error}{hint}") from None

    def _value(self, answer: Any) -> Any:
        """Return an answer as the mechanism takes it: the number of a label, or a string."""
        return (self.mechanism.check if self.asked is None else self.asked.answer)(answer)

    def _check_period(self, period: int | None) -> int:
        if self.memory != "period":
            if period is not None:
                raise ValueError(
                    f"a device with memory={self.memory!r} has no periods: leave period out, or "
                    "use memory='period'"
                )
            return 0
        if period is None:
            raise ValueError(
                "a device with memory='period' needs the period: report(answer, period=7)"
            )
        return whole(period, "period", 0, 2**53 - 1)

    def _respond(self, *key: int | str) -> Report:
        """Return the permanent response to a value, which is the last part of the key."""
        device, response = self._chance("device"), self._chance("response", *key)
        return self.mechanism._permanent(key[-1], device, response)

    def _tag(self, *key: int | str) -> str:
        """Return what is stored for a value: it looks random to anyone without the secret."""
        return self._chance("value", *key).take(16).hex()

    def _seal(self, record: Record) -> str:
        """Return the seal of a record, which only this device can make."""
        parts = [record[name] for name in self._memory.kept]
        return self._chance("state", *parts).take(16).hex()

    def _kept(self) -> Record | None:
        """Return what the device wrote into its state, if anything."""
        if not len(self.state):
            return None
        record = self.state.get(_RECORD)
        names = {*self._memory.kept, "check"}
        if len(self.state) == 1 and isinstance(record, Mapping) and set(record) == names:
            plain = all(type(part) in (int, str) for part in record.values())
            if plain and record["check"] == self._seal(record):
                return record
        raise ValueError(
            "the state was not written by this device: its secret, question, memory or permanent "
            "law was a different one, or something else wrote to it. Give each device its own "
            "state; a new one, state={}, starts over and spends as much again"
        )

    def _chance(self, purpose: str, *key: int | str) -> Derived:
        """Return derived chance: the same key always gives the same one."""
        kind, law = type(self.mechanism).__name__, self.mechanism.permanent_law
        return Derived(self.secret, purpose, self.question, self._memory.name, kind, *law, *key)
