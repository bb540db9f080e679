"""A client that is killed at any step loses nothing, spends once, and never reports twice.

The scenario is a few days of answering and sending. Every place where the world can end is a step:
before and after the state is written, before and after the collector has a request, and inside the
writing of the file. The scenario is run once for each step, is killed there, and then goes on with
a new client from what was saved.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from murmurs import Survey
from murmurs.client import AnswerRefusedError, Client, Reply
from murmurs.client.state import InFile, InMapping
from murmurs.survey.budget import rounded_up
from tests.client.collectors import Clock, Collector
from tests.surveys import HOT, KEPT_DRINK, coffee

TERMS = """
every = "day"
lifetime_epsilon = 50
memory = "change"
"""
SURVEY = Survey.from_toml(coffee(KEPT_DRINK + HOT, TERMS))
DAYS = [("tea", "yes"), ("tea", "no"), ("filter", "no"), ("tea", "yes")]
COST = 4 * Fraction(SURVEY.question("hot").mechanism.epsilon_realised) + 3 * Fraction(2)


class Killed(BaseException):
    """The end of the process."""


class Steps:
    """Counts steps, and ends the world at one of them."""

    def __init__(self, last: int | None) -> None:
        self.last, self.number = last, 0

    def __call__(self) -> None:
        self.number += 1
        if self.number - 1 == self.last:
            raise Killed


def run(state: Any, steps: Steps, collector: Collector) -> None:
    """Live through the days: answer, then send; begin again with a new client after the end."""

    def transport(body: bytes) -> Reply:
        steps()  # the request is lost
        reply = collector(body)
        steps()  # the answer is lost
        return reply

    clock = Clock()
    for drink, hot in DAYS:
        for _ in range(2):  # the second time after the end of the world, or for nothing
            try:
                device = Client(SURVEY, state, delay=0, clock=clock)
                answer_once(device, {"drink": drink, "hot": hot})
                device.send(transport)
            except Killed:
                continue
        clock.next_day()
    Client(SURVEY, state, delay=0, clock=clock).send(collector)


def answer_once(device: Client, answers: dict[str, str]) -> None:
    """Answer as an app does that does not remember whether it did."""
    with contextlib.suppress(AnswerRefusedError):
        device.answer(answers)


def check(state: Any, collector: Collector) -> None:
    device = Client(SURVEY, state, delay=0)
    assert len(collector.counted) == len(DAYS)  # nothing lost, nothing twice
    assert device.queued == 0
    assert device.spent == rounded_up(COST)
    # A submission is sent again with the same bytes: the collector asserts it for each id. No
    # other reports ever left the device:
    each = len(collector.bodies[0])
    seen = {body[at : at + each] for body in collector.bodies for at in range(0, len(body), each)}
    assert len(seen) == len(DAYS)


def written_with(steps: Steps, kind: type) -> Any:
    """The state's writing with a step before and after it."""
    write = kind.write  # type: ignore[attr-defined]

    def patched(self: Any, state: Any) -> None:
        steps()
        write(self, state)
        steps()

    return mock.patch.object(kind, "write", patched)


def steps_in_all() -> int:
    steps, state = Steps(None), dict[str, Any]()
    with written_with(steps, InMapping):
        run(state, steps, Collector(SURVEY))
    return steps.number


ALL = steps_in_all()


def test_the_scenario_has_every_kind_of_step() -> None:
    answered, begun, asked, done = 2, 2, 2, 2
    assert len(DAYS) * (answered + begun + asked + done) == ALL


@pytest.mark.parametrize("last", range(ALL))
def test_a_mapping_survives_the_end_at_every_step(last: int) -> None:
    steps, collector, state = Steps(last), Collector(SURVEY), dict[str, Any]()
    with written_with(steps, InMapping):
        run(state, steps, collector)
    assert steps.number > last
    check(state, collector)


def file_steps(steps: Steps) -> Any:
    """The system calls of writing a file, each with a step before it and after it."""
    originals = {name: getattr(os, name) for name in ("fsync", "replace", "write")}

    def around(name: str) -> Any:
        def call(*arguments: Any, **more: Any) -> Any:
            steps()
            result = originals[name](*arguments, **more)
            steps()
            return result

        return call

    return mock.patch.multiple(os, fsync=around("fsync"), replace=around("replace"))


def file_steps_in_all(folder: Path) -> int:
    steps = Steps(None)
    with file_steps(steps):
        run(folder / "count.json", steps, Collector(SURVEY))
    return steps.number


def test_a_file_survives_the_end_at_every_system_call(tmp_path: Path) -> None:
    """Each writing has three calls: the file and its folder are made durable, and it is named."""
    total = file_steps_in_all(tmp_path)
    assert total == len(DAYS) * (3 * 3 * 2 + 2)  # three writings a day
    for last in range(total):
        steps, collector, path = Steps(last), Collector(SURVEY), tmp_path / f"{last}.json"
        with file_steps(steps):
            run(path, steps, collector)
        assert steps.number > last
        check(path, collector)
    left = {path.name for path in tmp_path.iterdir() if path.suffix not in (".json", ".lock")}
    assert left == set()


def test_the_state_is_saved_before_anything_is_sent() -> None:
    state: dict[str, Any] = {}
    device = Client(SURVEY, state, delay=0)
    sealed = device.answer({"hot": "yes"})
    saved = state["client"]["queue"][0]
    assert sealed.id.hex() == saved["id"]

    def transport(body: bytes) -> Reply:
        [now] = state["client"]["queue"]
        assert now["tried"] > 0  # that it may have arrived is saved as well
        assert now | {"tried": 0, "requests": 0} == saved
        raise OSError

    assert device.send(transport).waiting == 1


def test_a_write_that_fails_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "me.json"
    device = Client(SURVEY, path, delay=0)
    device.answer({"hot": "yes"})
    before = path.read_bytes()
    full = mock.patch.object(InFile, "write", side_effect=OSError("disk full"))
    with full, pytest.raises(OSError, match="disk full"):
        device.answer({"drink": "tea"})
    assert path.read_bytes() == before
    device.answer({"drink": "tea"})
    assert device.spent == 3.0


CUT = """
import os, sys
from murmurs.client import Client
from tests.client.test_crashes import SURVEY

os.replace = lambda *_, **__: os._exit(9)
Client(SURVEY, sys.argv[1]).answer({"hot": "yes"})
"""


def test_what_a_killed_process_left_is_deleted(tmp_path: Path) -> None:
    """It holds a secret. What belongs to another state, or to another program, stays."""
    path, other = tmp_path / "me.json", tmp_path / "other.json"
    for state in (path, other):
        command = [sys.executable, "-c", CUT, str(state)]
        assert subprocess.run(command, cwd=Path(__file__).parents[2], check=False).returncode == 9
    (tmp_path / ".murmurs-0123456789abcdef").touch()
    assert len(list(tmp_path.glob(".murmurs-*"))) == 3
    Client(SURVEY, path).answer({"hot": "yes"})
    assert len(list(tmp_path.glob(".murmurs-*"))) == 2
    assert Client(SURVEY, other).spent == 0.0
    assert [left.name for left in tmp_path.glob(".murmurs-*")] == [".murmurs-0123456789abcdef"]


KILLED = """
import sys, time
from murmurs.client import Client
from tests.client.test_crashes import SURVEY
from tests.client.collectors import Clock
from murmurs.client.transport import Reply

clock = Clock()
path, sent = sys.argv[1:]
def transport(body):
    with open(sent, "ab") as file:
        file.write(len(body).to_bytes(4, "little") + body)
    raise OSError
while True:
    device = Client(SURVEY, path, delay=0, clock=clock, most_queued=10_000)
    try:
        device.answer({"hot": "yes"})
    except Exception:
        pass
    clock.next_day()
    print(flush=True)
"""


def test_a_process_that_is_killed_leaves_a_state_that_opens(tmp_path: Path) -> None:
    """Killed at five random moments by the system itself; the odometer fits the queue each time."""
    path = tmp_path / "me.json"
    for number in range(5):
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(path), str(tmp_path / "sent")],
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
        )
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.02 * number)
        process.kill()
        process.communicate()
        device = Client(SURVEY, path, delay=0)
        price = Fraction(SURVEY.question("hot").mechanism.epsilon_realised)
        assert device.queued > 0
        assert device.spent == rounded_up(device.queued * price)
