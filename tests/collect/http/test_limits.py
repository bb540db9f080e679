"""What the limits of a collector rest on."""

from __future__ import annotations

import asyncio
import json
import threading
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from murmurs.collect.http.collector import READY_SECONDS, Settings
from murmurs.collect.http.limits import JSON_WEIGHT, Limits, Rates, limits_from
from murmurs.collect.http.long_bodies import MOST_WAITING, LongBodies
from murmurs.collect.http.pools import Pools
from murmurs.collect.refusals import RefusedError
from murmurs.submission import BadSubmissionError, SubmissionForm, read_json
from tests.collect.made import PLAIN, submission
from tests.collect.running import running

FORM = SubmissionForm(PLAIN)
WORST = ["[]", "{}", "0", "null", '""', "[[]]", '{"a":0}', "1e9", "-1", '"\\u0000"', "[0]"]


@pytest.mark.parametrize("item", WORST)
def test_a_json_body_takes_no_more_memory_than_is_set_aside_for_it(item: str) -> None:
    """Bodies of half a megabyte that are nothing but small values, which take the most memory."""
    document = json.loads(FORM.to_json(submission(PLAIN, 1)))
    many = 500_000 // (len(item) + 1)
    document["reports"]["hot"] = []
    text = json.dumps(document).replace("[]", "[" + ",".join([item] * many) + "]")
    body = text.encode()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        try:
            read_json(body, lambda fingerprint: FORM)
        except BadSubmissionError:
            assert item != "0"
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak - before < JSON_WEIGHT * len(body), (peak - before) / len(body)


def test_a_body_of_small_values_is_refused_in_good_time(tmp_path: Path) -> None:
    document = json.loads(FORM.to_json(submission(PLAIN, 1)))
    document["reports"]["hot"] = []
    text = json.dumps(document).replace("[]", "[" + "[]," * 300_000 + "[]]")
    with running(tmp_path, PLAIN) as served:
        assert served.submit(text.encode()).error == "size"
        reply = served.submit(text.encode(), token=served.token("submit"))
        assert (reply.status, reply.error) == (400, "report")
        assert len(reply.body) < 1000


def test_the_store_is_written_to_at_most_once_a_second_for_all_who_ask_whether_it_is_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anybody may ask: nobody can wear out the disk, hold the writer or take all threads so."""
    with running(tmp_path, PLAIN) as served:
        looks, go_on = [], threading.Event()

        def check() -> None:
            looks.append(time.monotonic())
            go_on.wait(10)

        monkeypatch.setattr(served.store, "check", check)
        asks = [threading.Thread(target=served.get, args=["/ready"]) for _ in range(20)]
        for ask in asks:
            ask.start()
        time.sleep(0.3)
        assert served.get("/results/plain/hot", served.token("read")).error == "few"
        assert len(looks) == 1
        go_on.set()
        for ask in asks:
            ask.join()
        assert served.get("/ready").status == 200
        assert len(looks) == 1
        time.sleep(READY_SECONDS)
        assert served.get("/ready").status == 200
        assert len(looks) == 2


def test_without_a_token_a_request_may_have_as_many_people_as_a_device_sends(
    tmp_path: Path,
) -> None:
    with running(tmp_path, PLAIN) as served:
        most = Limits().people
        assert served.send(submission(PLAIN, 1, people=most), PLAIN).status == 200
        many = FORM.to_json(submission(PLAIN, 2, people=most + 1))
        reply = served.submit(many)
        assert (reply.status, reply.error) == (413, "batch")
        assert "a relay with a token may send more" in reply.document["reason"]
        assert served.submit(many, token=served.token("submit")).status == 200


def test_the_rate_counts_people_and_not_requests(tmp_path: Path) -> None:
    with running(tmp_path, PLAIN, settings=Settings(Limits(rate=10))) as served:
        assert served.send(submission(PLAIN, 1, people=90), PLAIN).status == 200
        reply = served.send(submission(PLAIN, 2, people=1), PLAIN)
        assert (reply.status, reply.error) == (429, "rate")
        assert 4 <= int(reply.headers["retry-after"]) <= 8  # 90 people, and 20 at once are free


def test_a_key_never_reports_for_more_people_than_its_rate_allows() -> None:
    now, taken = 0.0, 0
    refused: list[RefusedError] = []
    rates = Rates(5, lambda: now)
    for people in (1, 7, 300, 2, 1, 1, 40) * 200:
        now += 0.5
        try:
            rates.take("a")
            rates.take_people("a", people)
            taken += people
        except RefusedError as refusal:
            refused.append(refusal)
    assert {refusal.status for refusal in refused} == {429}
    assert 0.9 * 5 * now < taken <= 5 * now + 10 + 300  # what one bucket holds, and one request


def test_limits_are_set_by_their_names() -> None:
    found = limits_from(["people=7", "token_json=2MiB", "body_seconds=0.5"], Limits(rate=3))
    assert found == Limits(people=7, token_json=2**21, body_seconds=0.5, rate=3)
    for wrong in ("people", "people=", "people=0", "people=-1", "people=1.5", "body=1KB"):
        with pytest.raises(ValueError, match=r"a limit is a whole number.* above 0, as in"):
            limits_from([wrong])
    with pytest.raises(ValueError, match="a limit is a number above 0"):
        limits_from(["idle_seconds=nan"])


def test_long_bodies_of_strangers_do_not_keep_a_relay_waiting() -> None:
    """Each key has a queue of its own, and the queues take turns."""

    async def all_of_them() -> list[str]:
        bodies, order = LongBodies(Pools()), list[str]()
        gate = threading.Event()
        first = asyncio.create_task(bodies.run("", lambda: gate.wait(10)))
        await asyncio.sleep(0)
        others = [
            asyncio.create_task(bodies.run(key, lambda key=key: order.append(key)))  # type: ignore[misc]
            for key in ["", "", "", "", "relay", "relay"]
        ]
        await asyncio.sleep(0)
        others[0].cancel()
        gate.set()
        await asyncio.gather(first, *others, return_exceptions=True)
        return order

    assert asyncio.run(all_of_them()) == ["relay", "", "relay", "", ""]


def test_too_many_long_bodies_are_told_to_come_back() -> None:
    async def refusals() -> list[object]:
        bodies, gate = LongBodies(Pools()), threading.Event()
        tasks = [asyncio.create_task(bodies.run("", gate.wait)) for _ in range(MOST_WAITING + 3)]
        await asyncio.sleep(0)
        relay = asyncio.create_task(bodies.run("relay", gate.wait))
        gate.set()
        assert await relay
        found = await asyncio.gather(*tasks, return_exceptions=True)
        return [one for one in found if one is not True]

    (first, second) = asyncio.run(refusals())  # one has its turn, and so many wait
    assert isinstance(first, RefusedError)
    assert isinstance(second, RefusedError)
    assert (second.status, second.error) == (503, "busy")


def test_the_collector_answers_while_all_long_bodies_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(tmp_path, PLAIN) as served:
        read, gate = served.collector.intake.read, threading.Event()

        def slow(body: bytes, *rest: Any) -> Any:
            if len(body) > 50_000:
                gate.wait(20)
            return read(body, *rest)

        monkeypatch.setattr(served.collector.intake, "read", slow)
        long = FORM.to_json(submission(PLAIN, 1)) + b" " * 60_000
        strangers = [threading.Thread(target=served.submit, args=[long]) for _ in range(20)]
        for stranger in strangers:
            stranger.start()
        time.sleep(0.2)
        assert served.get("/health").status == served.get("/ready").status == 200
        assert served.send(submission(PLAIN, 2), PLAIN).document["accepted"] == 1
        gate.set()
        for stranger in strangers:
            stranger.join()


def test_a_body_is_long_from_8_kib_and_with_a_token_from_32(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it is read: with all that must be answered at once, or in the thread for long ones."""
    with running(tmp_path, PLAIN) as served:
        read, threads = served.collector.intake.read, list[str]()

        def noted(*given: Any) -> Any:
            threads.append(threading.current_thread().name)
            return read(*given)

        monkeypatch.setattr(served.collector.intake, "read", noted)
        token = served.token("submit")
        cases = [(None, 8191), (None, 8192), (token, 32_767), (token, 32_768)]
        for seed, (key, size) in enumerate(cases):
            body = FORM.to_json(submission(PLAIN, seed)).ljust(size)
            assert served.submit(body, token=key).document["accepted"] == 1
        others, long, relay, long_relay = threads
        assert others == relay
        assert long == long_relay != others
