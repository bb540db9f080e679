"""Clocks that are wrong, put right or never set: nothing is counted twice, and little is given up.

The collector forgets ids after thirty days of its own, true time. The device's clock shows what it
likes. The histories are random: the device is off for weeks, its clock is moved ahead and back and
begins in 1970, answers to requests get lost, and requests do not arrive.
"""

from __future__ import annotations

import dataclasses
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from murmurs import Survey
from murmurs.client import Client, NotSentError, Reply
from murmurs.client.doubt import CERTAIN_FOR, FRESH_FOR
from murmurs.submission import SubmissionForm, read_bytes
from tests.client.collectors import Clock, acknowledged

SURVEY = Survey.from_toml("""
name = "s"
[[questions]]
name = "q"
labels = ["a", "b"]
epsilon = 1.0
""")
DAY = 86_400
START = 1_800_000_000


class World:
    """A collector with the true time, which forgets ids after thirty days, and what it counted."""

    def __init__(self) -> None:
        self.now = START
        self.counted: Counter[bytes] = Counter()
        self._known: dict[bytes, int] = {}
        self._form = SubmissionForm(SURVEY)

    def take(self, body: bytes) -> Reply:
        found = read_bytes(body, lambda _: self._form)
        self._known = {one: at for one, at in self._known.items() if self.now - at < 30 * DAY}
        new = [one.id for one in found if one.id not in self._known]
        self.counted.update(new)
        self._known |= dict.fromkeys(new, self.now)
        return acknowledged(len(new), len(found) - len(new))


class Line:
    """A transport that tells the collector's time, and whose requests or answers may get lost."""

    def __init__(self, world: World, fate: str, tells: bool = True) -> None:
        self._world, self._fate = world, fate
        if tells:
            self.time = self._time

    def _time(self) -> int:
        if self._fate == "unreachable":
            raise NotSentError("no network")
        return self._world.now

    def __call__(self, body: bytes) -> Reply:
        if self._fate == "unreachable":
            raise NotSentError("no network")
        if self._fate == "cut":
            raise OSError("no answer, and nothing has arrived")
        reply = self._world.take(body)
        if self._fate == "lost":
            raise OSError("no answer")
        told = self._world.now if hasattr(self, "time") else None
        return Reply(reply.status, reply.body, None, told)


FATES = ["taken", "lost", "lost", "cut", "unreachable"]
DOUBTFUL = ("lost", "cut")


def moved(rng: random.Random, true: int) -> int:
    """Where a clock is set to: right, ahead or back by days or weeks, or where it begins."""
    days = rng.choice([0, 0, 3, 14, 40, 400]) * rng.choice([1, -1])
    return rng.choice([true + days * DAY, true + days * DAY, rng.randrange(10**6)])


def begins(rng: random.Random, true: int) -> int:
    """Where a clock is after the device was switched on: right, or at the beginning."""
    return rng.choice([true, rng.randrange(10**6)])


@dataclass
class Course:
    """What became of the submissions of one device."""

    world: World = field(default_factory=World)
    sealed: set[str] = field(default_factory=set)
    first: dict[str, int] = field(default_factory=dict)
    """When each submission was first sent in a request that may have arrived."""
    given_up: dict[str, int] = field(default_factory=dict)

    def send(self, device: Client, fate: str, tells: bool) -> None:
        before = {one["id"]: one["tried"] for one in _queue(device)}
        sent = device.send(Line(self.world, fate, tells))
        for one in _queue(device):
            if fate in DOUBTFUL and one["tried"] and not before[one["id"]]:
                self.first.setdefault(one["id"], self.world.now)
        self.given_up |= {one.id: self.world.now for one in sent.refused}


def _queue(device: Client) -> list[dict[str, Any]]:
    state: Any = device._state
    return list(state._mapping.get("client", {}).get("queue", []))


def lived(
    seed: int, clock_of: Callable[[random.Random, int], int], *, tells: bool = True
) -> Course:
    """Live through a random history, and send what waits when all is well at last."""
    rng, course, state = random.Random(seed), Course(), dict[str, Any]()
    world, clock = course.world, Clock(START)
    for _ in range(40):
        device = Client(SURVEY, state, delay=0, clock=clock)
        event = rng.choice(["answer", "send", "send", "off", "clock"])
        passed = rng.choice([60, 3600, DAY])
        if event == "answer":
            course.sealed.add(device.answer({"q": "a"}).id.hex())
        elif event == "send":
            course.send(device, rng.choice(FATES), tells)
        elif event == "off":
            passed += rng.choice([1, 4, 12, 20, 29, 31, 35, 60]) * DAY
        else:
            clock.now = clock_of(rng, world.now)
        world.now += passed
        clock.now += passed
    clock.now = world.now
    for _ in range(3):
        course.send(Client(SURVEY, state, delay=0, clock=clock), "taken", tells)
        world.now += 2 * DAY
        clock.now += 2 * DAY
    return course


def test_whatever_the_clock_does_nothing_is_counted_twice_or_lost_without_a_word() -> None:
    doubtful = 0
    for seed in range(150):
        course = lived(seed, moved)
        counted = course.world.counted
        assert set(counted.values()) <= {1}, seed
        assert course.sealed <= {one.hex() for one in counted} | set(course.given_up), seed
        assert set(course.given_up) <= set(course.first), seed  # what never left is kept
        doubtful += len(course.first)
    assert doubtful > 200


def test_devices_whose_clock_begins_in_1970_give_up_only_what_is_old() -> None:
    """Nothing that was first sent less than fifteen days ago, by the true time."""
    kept = 0
    for seed in range(150):
        course = lived(seed, begins)
        assert set(course.world.counted.values()) <= {1}, seed
        for one, when in course.given_up.items():
            assert when - course.first[one] > CERTAIN_FOR - FRESH_FOR, seed
        kept += len(set(course.first) - set(course.given_up))
    assert kept > 80


def test_the_histories_would_find_a_client_that_trusts_its_own_clock() -> None:
    """Without the collector's time, some are counted twice: the clock was ahead and put right."""
    twice = sum(
        max(lived(seed, moved, tells=False).world.counted.values(), default=0) > 1
        for seed in range(150)
    )
    assert twice > 0


def test_without_the_collectors_time_a_clock_that_is_right_or_not_set_counts_nothing_twice() -> (
    None
):
    for seed in range(150):
        counted = lived(seed, begins, tells=False).world.counted
        assert set(counted.values()) <= {1}, seed


@pytest.mark.parametrize("tells", [True, False])
def test_a_clock_that_was_weeks_ahead_and_is_put_right_counts_nothing_twice(tells: bool) -> None:
    """Forty days pass, and the clock that was fifty days ahead shows an earlier day than before."""
    world, clock, state = World(), Clock(START + 50 * DAY), dict[str, Any]()
    device = Client(SURVEY, state, delay=0, clock=clock)
    device.answer({"q": "a"})
    assert device.send(Line(world, "lost", tells)).waiting == 1
    world.now += 40 * DAY
    clock.now = world.now
    assert len(device.send(Line(world, "taken", tells)).refused) == 1
    assert set(world.counted.values()) == {1}


def test_a_clock_that_was_not_set_yet_gives_up_nothing_while_it_waits() -> None:
    world, clock = World(), Clock(START)
    device = Client(SURVEY, {}, delay=0, clock=clock)
    device.answer({"q": "a"})
    assert device.send(Line(world, "cut", tells=False)).waiting == 1
    clock.now = 1000
    sent = device.send(Line(world, "taken", tells=False))
    assert (sent.taken, sent.refused, sent.waiting) == (0, (), 1)
    assert sent.problem == "the time is not known, and something may have been taken before"
    assert sent.next_send_after is not None
    assert sent.next_send_after > clock.now  # an app that waits until then does not spin
    clock.now = START + DAY
    assert device.send(Line(world, "taken", tells=False)).taken == 1


def test_a_time_that_was_told_wrongly_counts_nothing_twice() -> None:
    """A proxy whose clock is a year ahead told the time before the first request."""
    world, clock = World(), Clock(START)
    device = Client(SURVEY, {}, delay=0, clock=clock)
    device.answer({"q": "a"})
    ahead = Line(world, "lost")
    ahead.time = lambda: world.now + 365 * DAY
    assert device.send(ahead).waiting == 1
    world.now += 40 * DAY
    clock.now = world.now
    assert len(device.send(Line(world, "taken")).refused) == 1
    assert set(world.counted.values()) == {1}


@pytest.mark.parametrize("seconds", [1, 3600])
def test_collectors_whose_clocks_differ_a_little_take_what_was_in_doubt(seconds: int) -> None:
    world, clock = World(), Clock(START)
    device = Client(SURVEY, {}, delay=0, clock=clock)
    device.answer({"q": "a"})
    assert device.send(Line(world, "cut")).waiting == 1
    world.now -= seconds
    clock.now += 3600
    assert device.send(Line(world, "taken")).taken == 1


class Faltering(Line):
    """A line on which the first answer is lost, which would have told the time."""

    def _time(self) -> int:
        raise TimeoutError("timed out")


def test_nothing_leaves_before_the_time_was_told_once() -> None:
    """The clock is twenty days ahead and is put right; the ids of the first day are forgotten."""
    world, clock = World(), Clock(START + 20 * DAY)
    device = Client(SURVEY, {}, delay=0, clock=clock)
    device.answer({"q": "a"})
    sent = device.send(Faltering(world, "lost"))
    assert (sent.waiting, sent.problem) == (1, "the collector cannot be reached: 'timed out'")
    assert not world.counted
    clock.now += 3600
    assert device.send(Line(world, "lost")).waiting == 1  # it arrives, and its answer is lost
    world.now += 40 * DAY
    clock.now = world.now
    assert len(device.send(Line(world, "taken")).refused) == 1
    assert set(world.counted.values()) == {1}


def test_a_relay_that_never_tells_the_time_gets_submissions_after_some_tries() -> None:
    world, clock = World(), Clock(START)
    device = Client(SURVEY, {}, delay=0, clock=clock)
    device.answer({"q": "a"})
    tries = 0
    while not world.counted:
        clock.now = device.next_send_after or clock.now
        sent = device.send(Silent(world, "taken"))
        tries += 1
    assert (tries, sent.taken, sent.waiting) == (6, 1, 0)
    assert clock.now - START < 3600


class Silent(Line):
    """A relay that takes submissions and answers nothing else."""

    def _time(self) -> int:
        raise TimeoutError("timed out")

    def __call__(self, body: bytes) -> Reply:
        return dataclasses.replace(super().__call__(body), date=None)


def test_a_relay_that_tells_no_time_gets_what_is_new_and_holds_up_what_is_in_doubt() -> None:
    world, clock = World(), Clock(START)
    device = Client(SURVEY, {}, delay=0, clock=clock)
    device.answer({"q": "a"})
    assert device.send(Line(world, "lost")).waiting == 1
    clock.next_day()
    device.answer({"q": "a"})
    sent = device.send(Silent(world, "taken"))
    assert (sent.taken, sent.waiting, sent.refused) == (1, 1, ())
    assert sent.problem is not None
    assert sent.next_send_after is not None
    assert sent.next_send_after > clock.now
    clock.next_day(26)
    assert len(device.send(Silent(world, "taken")).refused) == 1  # it does not wait for ever
    assert set(world.counted.values()) == {1}
