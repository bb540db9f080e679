"""Device: one person's side of a question that is asked again and again, and what it remembers.

Its reports are made from permanent responses, which it derives from a secret. Which reports share a
response is its memory; three are offered, and each has a promise of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Generic, Literal

from murmurs.boundary.checks import shown, whole
from murmurs.mechanisms.longitudinal import Longitudinal
from murmurs.randomness.derived import Derived
from murmurs.randomness.sources import Chance, as_randomness
from murmurs.wire import Report

Record = Mapping[str, Any]
"""What a device has written into its state."""

_RECORD = "device"


@dataclass(frozen=True)
class Memory:
    """Which reports share a permanent response, and what that promises.

    Any number of reports costs `epsilon_permanent_realised` for each ``unit``, ``between`` two
    courses of a person's values over time; what is ``visible`` is not covered. ``kept`` are the
    names of what is in the state of a device.
    """

    name: str
    unit: str
    between: str
    visible: str
    price: str
    use: str
    kept: tuple[str, ...]
    recall: Callable[[Device[Any], Any, Record | None, int], tuple[Any, Record | None]] = field(
        repr=False
    )

    @property
    def promise(self) -> str:
        """What is promised, as a part of a sentence."""
        return f"each {self.unit} costs epsilon_permanent_realised, between {self.between}"


def _by_value(device: Device[Any], value: Any, *_: object) -> tuple[Any, None]:
    return device._respond(value), None


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
                f"period {period} is before {kept['period']}, which was reported in already: "
                "periods never go back"
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
            visible="when values change, and which reports are of one value",
            price="nothing to store; a value that comes back is recognised",
            use="values hardly ever change, or it is no secret when they do and when they return",
            kept=(),
            recall=_by_value,
        ),
        Memory(
            "change",
            unit="segment without a change",
            between="two histories that change at the same reports",
            visible="when values change",
            price="a state to store; a value that comes back is paid for again",
            use="values change a few times, and it is no secret when",
            kept=("segment", "value"),
            recall=_by_change,
        ),
        Memory(
            "period",
            unit="period",
            between="any two histories",
            visible="nothing",
            price="a state to store; a change is told in the next period, and a value that stays "
            "is paid for in each",
            use="a total must hold whatever people do",
            kept=("period", "response"),
            recall=_by_period,
        ),
    )
}
"""The memories by name; one listed here joins the battery in tests/test_device_memories.py."""


@dataclass(frozen=True)
class Device(Generic[Report]):
    """One person's side of a question that is asked again and again.

    ``secret`` is at least 16 random bytes that never leave the device, ``question`` a name that no
    other question has that is answered with this secret. ``memory`` says which reports share a
    permanent response: "value", "change" or "period"; `promise` says what follows from it. A
    permanent response follows from the secret, the question, the memory, the law of the first
    round, the value, and the number of the segment or period; it is independent when any of them is
    another.

    The device itself never changes. What "change" and "period" must remember is in ``state``, a
    mapping that the caller stores between reports, as JSON for example: save it first, then send
    the report. It holds no value in the clear. docs/longitudinal.md says what losing it costs.

    >>> import murmurs as mm
    >>> mechanism = mm.LOSUE(k=8, epsilon=1.0, epsilon_permanent=2.0)
    >>> secret = bytes(range(32))  # secrets.token_bytes(32) is better
    >>> device = Device(mechanism, secret, "coffee/drink", memory="period")
    >>> len(device.report(3, period=2024)), len(device.report(5, period=2024))
    (1, 1)
    >>> [device.epsilon_spent(periods) for periods in (1, 2)]
    [2.0, 4.0]
    >>> print(device.promise)
    Any number of reports costs epsilon 2 for each period, between any two histories. Visible
    beyond that: nothing.
    >>> device
    Device(mechanism=LOSUE(k=8, epsilon=1.0, epsilon_permanent=2.0), question='coffee/drink',
    memory='period')
    """

    mechanism: Longitudinal[Report]
    secret: bytes = field(repr=False)
    question: str
    memory: Literal["value", "change", "period"] | None = field(default=None, kw_only=True)
    state: MutableMapping[str, Any] = field(
        default_factory=dict, kw_only=True, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if not isinstance(self.mechanism, Longitudinal):
            raise TypeError(
                f"{self.mechanism!r} has no permanent response to keep: "
                "take BasicRappor, Rappor, LOSUE or LOLOHA"
            )
        if not isinstance(self.question, str):
            raise TypeError(f"question must be text, not {self.question!r}")
        if self.memory not in MEMORIES:
            *names, last = (repr(name) for name in MEMORIES)
            promises = "; ".join(f"{name!r}: {m.promise}" for name, m in MEMORIES.items())
            raise ValueError(
                f"Device needs memory={', '.join(names)} or {last}, not {shown(self.memory)}. "
                f"It says what is promised. {promises}"
            )
        if not isinstance(self.state, MutableMapping):
            raise TypeError(f"state must be a dict or the like, not {type(self.state).__name__}")
        self._chance("device")  # refuses a bad secret now, not at the first report
        self._kept()

    @property
    def promise(self) -> str:
        """Between which courses of values the loss is bounded by what, and what stays visible."""
        memory, each = self._memory, self.mechanism.epsilon_permanent_realised
        return (
            f"Any number of reports costs epsilon {each:.4g} for each {memory.unit}, between "
            f"{memory.between}. Visible beyond that: {memory.visible}."
        )

    def report(
        self,
        answer: Any,
        random: Chance = None,
        *,
        period: int | None = None,
    ) -> Report:
        """Return a report of the answer, from a permanent response and fresh chance.

        ``random`` is `Secure` by default; a reproducible study hands in a NumPy generator.
        ``period`` is for memory by period: the number of the public period, which never goes back.
        The first answer in a period stands for the whole of it. The state is written when the
        report is made, and at once.
        """
        fresh = as_randomness(random)
        number = self._check_period(period)
        value = self.mechanism.check(answer)
        permanent, record = self._memory.recall(self, value, self._kept(), number)
        report = self.mechanism._instant(permanent, fresh)
        if record is not None:
            self.state[_RECORD] = {**record, "check": self._seal(record)}
        return report

    def epsilon_spent(self, count: int) -> float:
        """Return the epsilon of so many different values, segments or periods, as memory has it.

        It is `epsilon_permanent_realised` for each, rounded up, and holds between the courses of
        `promise`.
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

    def _check_period(self, period: int | None) -> int:
        if self.memory != "period":
            if period is not None:
                raise ValueError(
                    f"a device with memory by {self.memory} has no periods: leave period out, or "
                    "take memory='period'"
                )
            return 0
        if period is None:
            raise ValueError(
                "a device with memory by period must be told the period: report(answer, period=7)"
            )
        return whole(period, "period", 0, 2**53 - 1)

    def _respond(self, *key: int | str) -> Report:
        """Return the permanent response to a value, the last of the key."""
        device, response = self._chance("device"), self._chance("response", *key)
        return self.mechanism._permanent(key[-1], device, response)

    def _tag(self, *key: int | str) -> str:
        """Return what is stored for a value: equal if it is, and random without the secret."""
        return self._chance("value", *key).take(16).hex()

    def _seal(self, record: Record) -> str:
        """Return what tells a record that this device has written from all others."""
        parts = [record[name] for name in self._memory.kept]
        return self._chance("state", *parts).take(16).hex()

    def _kept(self) -> Record | None:
        """Return what the device has written into its state, if anything."""
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
            "law was another one, or something else wrote to it. Give each device a state of its "
            "own; a new one, state={}, begins anew and spends as much again"
        )

    def _chance(self, purpose: str, *key: int | str) -> Derived:
        """Return chance that is the same whenever it is asked for."""
        kind, law = type(self.mechanism).__name__, self.mechanism.permanent_law
        return Derived(self.secret, purpose, self.question, self._memory.name, kind, *law, *key)
