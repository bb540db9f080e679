"""Devices: many people's sides of a repeated question at once, for studies."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from murmurs.boundary.answers import coded
from murmurs.boundary.checks import integers, shown, whole
from murmurs.boundary.frames import MISSING, Coded
from murmurs.boundary.labels import OR_NAMED
from murmurs.devices.device import MEMORIES
from murmurs.mechanisms.longitudinal.two_rounds import Longitudinal
from murmurs.mechanisms.mechanism import Mechanism, OpenMechanism
from murmurs.numerics.arrays import Booleans, Integers
from murmurs.questions.single import Single
from murmurs.randomness.bulk import Bulk, bulk
from murmurs.randomness.sources import ChanceInBulk
from murmurs.wire import Reports


class Devices:
    """``n`` devices that answer the same question again and again; see `murmurs.Device`.

    It is for studies: permanent responses are drawn, not derived from secrets, and are kept in
    memory. Reports have the distribution of as many `Device` objects with the same memory. The
    question may be a `Question`, whose labels are then the answers, or a longitudinal mechanism.

    >>> import murmurs as mm
    >>> losue = mm.LOSUE(k=2, epsilon=1.0, epsilon_permanent=2.0)
    >>> drink = mm.Question("drink", ["tea", "mate"], losue)
    >>> devices = Devices(drink, 1000, memory="period", random=np.random.default_rng(1))
    >>> weeks = [devices.report(["tea"] * 600 + ["mate"] * 400, period=1) for _ in range(4)]
    >>> drink.estimate(mm.pool(map(drink.count, weeks), people="same")).n
    4000
    """

    def __init__(
        self,
        question: Single | Longitudinal[Any],
        n: int,
        *,
        memory: Literal["value", "change", "period"],
        random: ChanceInBulk = None,
    ) -> None:
        mechanism: Any = question.mechanism if isinstance(question, Single) else question
        if not isinstance(mechanism, Longitudinal):
            raise TypeError(
                f"{shown(mechanism)} has no permanent response to keep: "
                "take BasicRappor, Rappor, LOSUE or LOLOHA"
            )
        if memory not in MEMORIES:
            names = ", ".join(repr(name) for name in MEMORIES)
            raise ValueError(f"memory must be one of {names}, not {shown(memory)}")
        self.question = question
        self.mechanism: Any = mechanism
        self.memory = memory
        self.n = whole(n, "n", 1, 2**31)
        self._random: Bulk = bulk(random)
        self._own = mechanism._own_many(self.n, self._random)
        self._responses = mechanism.shape.empty(self.n)
        self._held = np.full(self.n, -1, np.int64)
        self._periods = np.full(self.n, -1, np.int64)
        self._numbers: dict[Any, int] = {}
        self._by_value: dict[int, tuple[Booleans, Reports]] = {}

    def __repr__(self) -> str:
        return f"Devices({self.mechanism!r}, n={self.n}, memory={self.memory!r})"

    def report(self, answers: object, who: object = None, *, period: int | None = None) -> Reports:
        """Return one report of each device, or of those in ``who``, as one array.

        ``answers`` are one per reporting device; ``who`` are the numbers of the devices, each at
        most once. ``period`` is for memory by period, and never goes back for any device.
        """
        reporting = self._reporting(who)
        values = self._values(answers, len(reporting))
        number = self._check_period(period, reporting)
        if self.memory == "value":
            self._recall_values(reporting, values)
        else:
            new = (
                self._periods[reporting] != number
                if self.memory == "period"
                else self._held[reporting] != values
            )
            self._draw(reporting[new], values[new])
        self._held[reporting] = values
        self._periods[reporting] = number
        return np.asarray(self.mechanism._instant_many(self._responses[reporting], self._random))

    def _reporting(self, who: object) -> Integers:
        if who is None:
            return np.arange(self.n)
        numbers = integers(who, "who").astype(np.int64)
        if len(numbers) and not (int(numbers.min()) >= 0 and int(numbers.max()) < self.n):
            raise ValueError(f"who must be numbers of devices from 0 to {self.n - 1}")
        if len(np.unique(numbers)) != len(numbers):
            raise ValueError("who must name each device at most once")
        return numbers

    def _values(self, answers: object, count: int) -> Integers:
        """Return the answers as numbers; strings of an open question get theirs as they come."""
        mechanism = self.mechanism
        if isinstance(mechanism, OpenMechanism):
            column = _present(answers)
            known = [
                self._numbers.setdefault(mechanism.check(text), len(self._numbers))
                for text in column.values
            ]
            found: Integers = np.array(known, np.int64)[column.codes]
        elif isinstance(self.question, Single):
            try:
                found = self.question.numbers(_present(answers))
            except ValueError as error:
                raise ValueError(str(error).replace(OR_NAMED, "")) from None
        else:
            found = self._checked(integers(answers, "answers"), mechanism)
        if len(found) != count:
            raise ValueError(f"there are {len(found)} answers of {count} devices")
        return found

    def _checked(self, answers: NDArray[Any], mechanism: Mechanism[Any]) -> Integers:
        wide = answers.astype(np.int64)
        bad = (wide < 0) | (wide >= mechanism.k)
        if bad.any():
            where = int(bad.argmax())
            raise ValueError(f"answer number {where} is not one of 0..{mechanism.k - 1}")
        return wide

    def _check_period(self, period: int | None, reporting: Integers) -> int:
        if self.memory != "period":
            if period is not None:
                raise ValueError(f"devices with memory by {self.memory} have no periods")
            return -1
        if period is None:
            raise ValueError("devices with memory by period need one: report(answers, period=7)")
        number = whole(period, "period", 0, 2**53 - 1)
        if len(reporting) and int(self._periods[reporting].max()) > number:
            raise ValueError(
                f"period {number} is earlier than a reported period; periods must not decrease"
            )
        return number

    def _draw(self, devices: Integers, values: Integers) -> None:
        """Draw new permanent responses of these devices to these values."""
        if not len(devices):
            return
        own = None if self._own is None else self._own[devices]
        answers: Any = values
        if isinstance(self.mechanism, OpenMechanism):
            answers = (self.mechanism.layout_of(list(self._numbers)), values)
        self._responses[devices] = self.mechanism._permanent_many(answers, own, self._random)

    def _recall_values(self, devices: Integers, values: Integers) -> None:
        """Find the responses to these values again, and draw those that are new."""
        for value in np.unique(values).tolist():
            holders = devices[values == value]
            drawn, kept = self._by_value.setdefault(
                value, (np.zeros(self.n, np.bool_), self.mechanism.shape.empty(self.n))
            )
            new = holders[~drawn[holders]]
            self._draw(new, np.full(len(new), value))
            kept[new] = self._responses[new]
            drawn[new] = True
            self._responses[holders] = kept[holders]


def _present(answers: object) -> Coded:
    """Return a column of answers, of which none may be missing."""
    column = coded(answers)
    missing = column.codes == MISSING
    if missing.any():
        raise ValueError(
            f"answer number {int(missing.argmax())} is missing: leave those devices out with who"
        )
    return column
