"""What the limits of a collector rest on."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import pytest

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
