"""Clients and a real collector: what is answered is counted once, also when answers get lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from murmurs import Survey
from murmurs.client import HTTP, Client, Reply
from murmurs.collect.http.collector import Settings
from murmurs.collect.stores.store import Part
from tests.client.collectors import Clock
from tests.collect.running import Running, running
from tests.surveys import CAFE_AND_HOT, KEPT_DRINK, coffee

TERMS = """
every = "day"
memory = "value"
segments = ["north", "south"]
"""
TOML = coffee(KEPT_DRINK + CAFE_AND_HOT, TERMS)
SURVEY = Survey.from_toml(TOML)
ANSWERS = {"drink": "tea", "cafe": "Luna", "hot": "yes"}


def counted(collector: Running, name: str, segment: str | None = None) -> int:
    return collector.store.counts(Part(SURVEY.fingerprint, name, segment)).n


class Lossy:
    """A network that loses every second answer after the collector has acted on the request."""

    def __init__(self, address: str) -> None:
        self._http, self.number = HTTP(address), 0

    def __call__(self, body: bytes) -> Reply:
        reply = self._http(body)
        self.number += 1
        if self.number % 2:
            raise OSError("the connection broke")
        return reply


def test_everything_is_counted_once_in_its_segment(tmp_path: Path) -> None:
    with running(tmp_path / "store", SURVEY) as collector:
        address = f"http://127.0.0.1:{collector.port}"
        clock = Clock()
        devices = [
            Client(SURVEY, {}, segment=segment, delay=0, clock=clock)
            for segment in ("north", "north", "south")
        ]
        networks = [Lossy(address) for _ in devices]
        for _ in range(4):
            for device, network in zip(devices, networks, strict=True):
                device.answer(ANSWERS)
                device.send(network)
            clock.next_day()
        for device, network in zip(devices, networks, strict=True):
            while device.queued:
                clock.next_day()
                device.send(network)
        for name in ("drink", "cafe+hot"):
            assert counted(collector, name) == 12
            assert counted(collector, name, "north") == 8
        assert collector.count("murmurs_submissions_total", outcome="duplicate") == 6


def test_a_closed_survey_and_an_unknown_version_are_refused_for_good(tmp_path: Path) -> None:
    later = Survey.from_toml("version = 2\n" + TOML)
    state: dict[str, Any] = {}
    clock = Clock()
    with running(tmp_path / "store", SURVEY) as collector:
        for survey in (SURVEY, later, SURVEY):
            Client(survey, state, segment="north", delay=0, clock=clock).answer(ANSWERS)
            clock.next_day()
        device = Client(SURVEY, state, segment="north", delay=0, clock=clock)
        sent = device.send(f"http://127.0.0.1:{collector.port}")
        assert (sent.taken, sent.waiting) == (2, 0)
        [refused] = sent.refused
        assert refused.status == 404
        assert "there is no survey with the fingerprint" in refused.reason
        collector.store.set_state(SURVEY.fingerprint, "closed")
        collector.collector.catalogue.refresh(collector.store)
        device.answer(ANSWERS)
        sent = device.send(f"http://127.0.0.1:{collector.port}")
        assert [one.status for one in sent.refused] == [409]
        assert counted(collector, "drink") == 2


def test_a_missing_key_keeps_the_submission_until_the_key_is_there(tmp_path: Path) -> None:
    with running(tmp_path / "store", SURVEY, settings=Settings(keys=True)) as collector:
        address = f"http://127.0.0.1:{collector.port}"
        clock = Clock()
        device = Client(SURVEY, {}, segment="north", delay=0, clock=clock)
        device.answer(ANSWERS)
        sent = device.send(address)
        assert (sent.taken, sent.waiting, sent.refused) == (0, 1, ())
        assert sent.problem is not None
        assert sent.problem.startswith("the collector answers 401")
        clock.next_day()
        key = collector.token("submit", "coffee")
        assert device.send(HTTP(address, key=key)).taken == 1


@pytest.mark.parametrize("size", [2, 120])
def test_what_waited_is_taken_in_few_requests(size: int, tmp_path: Path) -> None:
    with running(tmp_path / "store", SURVEY) as collector:
        clock = Clock()
        device = Client(SURVEY, {}, segment="south", delay=0, clock=clock, most_queued=size)
        for _ in range(size):
            device.answer(ANSWERS)
            clock.next_day()
        requests = []
        http = HTTP(f"http://127.0.0.1:{collector.port}")

        def transport(body: bytes) -> Reply:
            requests.append(len(body))
            return http(body)

        assert device.send(transport).taken == size
        assert len(requests) == -(-size // 50)
        assert counted(collector, "drink") == size


def test_what_is_answered_in_the_last_minute_is_counted(tmp_path: Path) -> None:
    """It is sent hours later, when the last day is over."""
    survey = Survey.from_toml(TOML.replace('every = "day"', 'every = "day"\ncloses = 2026-12-13'))
    clock = Clock(20_800 * 86_400 + 86_399)
    with running(tmp_path, survey) as collector:
        address = HTTP(f"http://127.0.0.1:{collector.port}")
        device = Client(survey, {}, segment="north", clock=clock)
        device.answer(ANSWERS)
        assert device.next_send_after is not None
        clock.now = device.next_send_after
        collector.clock.day = clock.now // 86_400
        assert collector.clock.day == 20_801
        sent = device.send(address)
        assert (sent.taken, sent.refused) == (1, ())


DRAWN = Survey.from_toml("""
name = "office"
every = "week"
questions_each = 1
epsilon_per = {week = 2}
[[questions]]
name = "lift"
labels = ["yes", "no"]
epsilon = 2.0
[[questions]]
name = "noise"
labels = ["yes", "no"]
epsilon = 2.0
""")


def test_results_say_that_devices_drew_the_questions(tmp_path: Path) -> None:
    with running(tmp_path / "store", DRAWN) as collector:
        address = HTTP(f"http://127.0.0.1:{collector.port}")
        states: list[dict[str, Any]] = [{} for _ in range(30)]
        clock, drawn = Clock(collector.clock()), {"lift": 0, "noise": 0}
        for _ in range(2):
            for state in states:
                device = Client(DRAWN, state, delay=0, clock=clock)
                [name] = device.askable()
                device.answer({name: "yes"})
                assert device.send(address).taken == 1
                drawn[name] += 1
            clock.next_day(7)
            collector.clock.day += 7
        token = collector.token("read")
        for name, n in drawn.items():
            text = collector.get(f"/results/office/{name}?format=text", token).body.decode()
            found = " ".join(text.split())  # lines may break anywhere
            assert f"{n} reports in 2 weeks from about" in found
            assert "people, each asked with probability 1/2." in found
            assert "Once a week, each device draws 1 of 2 questions at random" in found
            assert "For answers within one week, to all questions, a device spends at" in found
