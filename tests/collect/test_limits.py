"""What the limits of a collector rest on."""

from __future__ import annotations

import json
import threading
import time
import tracemalloc
from pathlib import Path

import pytest

from murmurs.collect.collector import READY_SECONDS
from murmurs.collect.limits import JSON_WEIGHT
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
        reply = served.submit(text.encode())
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
