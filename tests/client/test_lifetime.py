"""What the odometer says bounds what anybody learns: exact laws of all that leaves a device.

The attacker sees everything that is sent over several days, and knows the survey, but not the
secret. The law of it all is walked with fractions for every course of answers: every branch of
fresh chance and of the permanent responses. The largest ratio between two courses that the memory's
promise compares must stay within e to the odometer's total.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from typing import Any
from unittest import mock

import pytest

from murmurs import Device, Survey
from murmurs.client import Client
from murmurs.randomness.verbs import Randomness
from tests.client.collectors import Clock
from tests.walk import exact_law

QUESTIONS = {
    "kept": 'mechanism = {name = "LOLOHA", epsilon = 0.7, epsilon_permanent = 1.1, g = 2}',
    "fresh": 'mechanism = {name = "KRR", epsilon = 0.8}',
    "bare": 'mechanism = {name = "BasicRappor", f = 0.0, p = 0.4, q = 0.6}',
}
Course = tuple[str, ...]


def survey_of(name: str, memory: str, labels: str = '"a", "b"') -> Survey:
    kept = name == "kept"
    period = "\nperiod = 2" if memory == "period" else ""
    terms = f'memory = "{memory}"{period}' if kept else ""
    return Survey.from_toml(f"""
name = "s"
every = "day"
{terms}
[[questions]]
name = "q"
labels = [{labels}]
{QUESTIONS[name]}
""")


class Replayed:
    """Chance for a permanent response: drawn once from the walk, and the same ever after."""

    def __init__(self, random: Randomness) -> None:
        self._random, self._known, self._next = random, list[Any](), 0

    def again(self) -> Replayed:
        self._next = 0
        return self

    def _draw(self, draw: Callable[[], Any]) -> Any:
        if self._next == len(self._known):
            self._known.append(draw())
        self._next += 1
        return self._known[self._next - 1]

    def chance(self, numerator: int) -> bool:
        return bool(self._draw(lambda: self._random.chance(numerator)))

    def below(self, n: int) -> int:
        if n == 2**32:  # the seed of LOLOHA: one that tells the two answers apart
            return 3
        return int(self._draw(lambda: self._random.below(n)))


def everything(survey: Survey, course: Course, random: Any) -> tuple[bytes, ...]:
    """What leaves a device that gives these answers on consecutive days, without the random ids."""
    responses: dict[Any, Replayed] = {}
    derived = Device._chance

    def chance(device: Device[Any], purpose: str, *key: Any) -> Any:
        if purpose not in ("device", "response"):
            return derived(device, purpose, *key)
        return responses.setdefault((purpose, *key), Replayed(random)).again()

    clock, left = Clock(86_400 * 20_000), []
    with mock.patch.object(Device, "_chance", chance):
        device = Client(survey, {}, delay=0, clock=clock, random=random)
        for answer in course:
            left.append(device.answer({"q": answer}).reports["q"])
            clock.next_day()
    return tuple(left)


@cache
def law(survey: Survey, course: Course) -> dict[tuple[bytes, ...], Fraction]:
    return exact_law(lambda _, random: everything(survey, course, random), 0)


def spent(survey: Survey, course: Course) -> Fraction:
    clock, state = Clock(86_400 * 20_000), dict[str, Any]()
    device = Client(survey, state, delay=0, clock=clock)
    for answer in course:
        device.answer({"q": answer})
        clock.next_day()
    return Fraction(state["client"]["spent"])


def loss(ratio: Fraction) -> Fraction:
    """The logarithm of a ratio, to fifty digits."""
    with localcontext(prec=60):
        return Fraction((Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln())


def values(course: Course) -> Any:
    return tuple(course.index(value) for value in course)


def changes(course: Course) -> Any:
    return tuple(a != b for a, b in itertools.pairwise(course))


PROMISED: dict[str, Callable[[Course], Any]] = {
    "value": values,
    "change": changes,
    "period": lambda course: None,
}


def ratios(survey: Survey, days: int, same: Callable[[Course], Any]) -> dict[Course, Fraction]:
    """For each course the largest ratio of its law to that of another one it is compared with."""
    found = dict.fromkeys(itertools.product("ab", repeat=days), Fraction(1))
    for one, other in itertools.permutations(found, 2):
        if same(one) == same(other):
            laws = law(survey, one), law(survey, other)
            found[one] = max(found[one], *(p / laws[1][seen] for seen, p in laws[0].items()))
    return found


@pytest.mark.parametrize("memory", PROMISED)
def test_permanent_responses_stay_within_the_odometer(memory: str) -> None:
    survey = survey_of("kept", memory)
    for course, ratio in ratios(survey, 2, PROMISED[memory]).items():
        assert sum(law(survey, course).values()) == 1
        assert ratio > 1
        assert loss(ratio) <= spent(survey, course)


def test_the_odometer_of_permanent_responses_is_tight_in_the_long_run() -> None:
    """One permanent bit is nearly known after many reports: a smaller charge would be too small."""
    mechanism: Any = survey_of("kept", "value").question("q").mechanism
    kept, turned = mechanism.second_round
    first = Fraction(mechanism.permanent_truth, 2**53)
    true, other = first + (1 - first) / 2, (1 - first) / 2
    seen = (kept / turned) ** 60  # sixty reports that all say the same
    ratio = (true * seen + (1 - true)) / (other * seen + (1 - other))
    assert loss(ratio) <= spent(survey_of("kept", "value"), ("a",))
    assert loss(ratio) > Fraction(99, 100) * spent(survey_of("kept", "value"), ("a",))


@pytest.mark.parametrize(("name", "days"), [("fresh", 3), ("bare", 2)])
def test_fresh_reports_stay_within_the_odometer_which_is_tight(name: str, days: int) -> None:
    survey = survey_of(name, "")
    for course, ratio in ratios(survey, days, lambda course: None).items():
        total = spent(survey, course)
        assert loss(ratio) <= total
        assert loss(ratio) > total - Fraction(1, 10**9)  # an odometer that charged less would fail


def test_the_attack_finds_a_device_that_is_charged_too_little() -> None:
    """Two responses under one charge, as if each change were free, exceed the odometer."""
    survey = survey_of("kept", "change")
    laws = law(survey, ("a", "b")), law(survey, ("b", "a"))
    ratio = max(p / laws[1][seen] for seen, p in laws[0].items())
    assert loss(ratio) > spent(survey, ("a", "a"))
    assert loss(ratio) <= spent(survey, ("a", "b"))


def spent_each_day(survey: Survey, course: Course) -> list[Fraction]:
    """What the odometer of a day says after each day."""
    clock, state, found = Clock(86_400 * 20_000), dict[str, Any](), []
    device = Client(survey, state, delay=0, clock=clock)
    for answer in course:
        device.answer({"q": answer})
        day = state["client"]["within"]["day"]
        assert day["number"] == clock.now // 86_400
        found.append(Fraction(day["spent"]))
        clock.next_day()
    return found


PAIRS = [(("c", "a"), ("c", "b")), (("a", "c"), ("b", "c"))]
"""Courses that differ on one day only, and change alike."""


@pytest.mark.parametrize("memory", [*PROMISED, "fresh"])
def test_what_is_answered_in_a_period_stays_within_what_is_spent_in_it_for_ever(
    memory: str,
) -> None:
    """Everything that ever leaves the device is seen, also what is made from a response later."""
    survey = survey_of("fresh" if memory == "fresh" else "kept", memory, '"a", "b", "c"')
    largest = Fraction(1)
    for pair, (one, other) in itertools.product(enumerate(PAIRS), [(0, 1), (1, 0)]):
        courses = pair[1][one], pair[1][other]
        differing = [a != b for a, b in zip(*courses, strict=True)].index(True)
        laws = law(survey, courses[0]), law(survey, courses[1])
        ratio = max(p / laws[1][seen] for seen, p in laws[0].items())
        assert loss(ratio) <= spent_each_day(survey, courses[0])[differing]
        largest = max(largest, ratio)
    assert loss(largest) > Fraction(1, 2)  # the attack finds something
