"""What POST /submissions promises, asked of a real server."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from murmurs.collect.http.collector import Settings
from murmurs.collect.http.limits import Limits
from murmurs.collect.stores.store import Part, StoreError, StoreFullError
from murmurs.submission import BINARY_TYPE, SubmissionForm
from murmurs.survey.survey import Survey
from tests.collect.made import EVERY_KIND, PLAIN, submission
from tests.collect.running import Running, running

FORM = SubmissionForm(PLAIN)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("served"), PLAIN, EVERY_KIND) as found:
        yield found


def n_of(served: Running, survey: Survey = PLAIN, question: str = "hot") -> int:
    return served.store.counts(Part(survey.fingerprint, question)).n


@pytest.mark.parametrize("binary", [False, True])
def test_a_submission_is_counted_once_however_often_it_is_sent(
    served: Running, binary: bool
) -> None:
    before, sent = n_of(served), submission(PLAIN, 10 + binary)
    first = served.send(sent, PLAIN, binary=binary)
    again = served.send(sent, PLAIN, binary=not binary)
    assert (first.status, first.document) == (200, {"accepted": 1, "duplicates": 0})
    assert (again.status, again.document) == (200, {"accepted": 0, "duplicates": 1})
    assert n_of(served) == before + 3


def test_reports_to_every_kind_of_question_arrive_as_they_were_made(served: Running) -> None:
    sent = [submission(EVERY_KIND, seed, people=5) for seed in range(4)]
    form = SubmissionForm(EVERY_KIND)
    assert served.submit(b"[" + b",".join(map(form.to_json, sent[:2])) + b"]").status == 200
    assert served.submit(b"".join(map(form.to_bytes, sent[2:])), BINARY_TYPE).status == 200
    for asked in EVERY_KIND.reported:
        wanted = asked.count(b"".join(one.reports[asked.name] for one in sent))
        assert served.store.counts(Part(EVERY_KIND.fingerprint, asked.name)) == wanted


def test_all_submissions_of_a_request_are_taken_or_none(served: Running) -> None:
    before = n_of(served)
    good, bad = FORM.to_json(submission(PLAIN, 30)), b'{"survey": "x"}'
    reply = served.submit(b"[" + good + b"," + bad + b"]")
    assert reply.status == 400
    assert reply.error == "form"
    assert n_of(served) == before
    wrong = json.loads(good)
    wrong["reports"]["hot"] = [0, 7]
    reply = served.submit(b"[" + good + b"," + json.dumps(wrong).encode() + b"]")
    assert (reply.status, reply.error, reply.document["submission"]) == (400, "report", 1)
    assert n_of(served) == before


BAD = {
    "not JSON": (b"tea", 400, "form"),
    "nothing": (b"", 400, "form"),
    "an empty list": (b"[]", 400, "form"),
    "another survey": (FORM.to_json(submission(PLAIN, 1)).replace(b"a", b"b"), 404, "survey"),
    "a question of another survey": (
        FORM.to_json(submission(PLAIN, 1)).replace(b'"hot"', b'"cold"'),
        400,
        "question",
    ),
    "a segment that the survey has not": (
        FORM.to_json(submission(PLAIN, 1))[:-1] + b',"segment":"north"}',
        400,
        "segment",
    ),
    "a short id": (FORM.to_json(submission(PLAIN, 1)).replace(b'"id":"', b'"id":"00'), 400, "form"),
    "a key twice": (b'{"id":"0",' + FORM.to_json(submission(PLAIN, 1))[1:], 400, "form"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_submission_is_refused_with_the_reason_and_counted(
    served: Running, name: str
) -> None:
    body, status, error = BAD[name]
    before = served.count("murmurs_refusals_total", reason=error)
    n = n_of(served)
    reply = served.submit(body)
    assert (reply.status, reply.error) == (status, error), reply.body
    assert len(reply.document["reason"]) > 10
    assert served.count("murmurs_refusals_total", reason=error) == before + 1
    assert n_of(served) == n


def test_other_media_types_and_compressed_bodies_are_refused(served: Running) -> None:
    good = FORM.to_json(submission(PLAIN, 40))
    assert served.submit(good, "text/plain").status == 415
    assert served.submit(good, Content_Encoding="gzip").status == 415
    assert served.submit(good, "application/json; charset=utf-8").status == 200
    assert (
        served.ask("POST", "/submissions?a=1", good, Content_Type="application/json").status == 400
    )


@given(
    place=st.integers(0, 10_000),
    value=st.integers(0, 255),
    cut=st.integers(0, 200),
    more=st.binary(max_size=40),
)
@settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_changed_bytes_are_refused_or_count_as_another_valid_submission(
    served: Running, place: int, value: int, cut: int, more: bytes
) -> None:
    """No change of a byte, no cut and no addition makes the server fail or count a bad report."""
    data = bytearray(FORM.to_bytes(submission(PLAIN, 50, people=20)))
    data[place % len(data)] = value
    body = bytes(data[: max(1, len(data) - cut)]) + more
    before = n_of(served)
    reply = served.submit(body, BINARY_TYPE)
    if reply.status == 200:
        people = FORM.from_bytes(body).people  # raises if it is ill-formed
        assert n_of(served) == before + people * reply.document["accepted"]
    else:
        assert reply.status in (400, 404), reply.body
        assert n_of(served) == before


def test_limits_of_size_and_number(tmp_path: Path) -> None:
    limits = Limits(json=2000, body=4000, submissions=3, people=10)
    with running(tmp_path, PLAIN, settings=Settings(limits)) as served:
        assert served.submit(b" " * 2001).error == "size"
        assert served.submit(b" " * 4001, BINARY_TYPE).status == 413
        assert served.submit(b" " * 3999, BINARY_TYPE).status == 400
        many = [FORM.to_json(submission(PLAIN, seed, people=1)) for seed in range(4)]
        reply = served.submit(b"[" + b",".join(many) + b"]")
        assert (reply.status, reply.error) == (413, "batch")
        reply = served.send(submission(PLAIN, 9, people=11), PLAIN, binary=True)
        assert (reply.status, reply.error) == (413, "batch")
        assert n_of(served) == 0


def test_a_body_of_unknown_length_is_refused_while_it_arrives(tmp_path: Path) -> None:
    with running(tmp_path, PLAIN, settings=Settings(Limits(json=1000))) as served:
        import socket

        with socket.create_connection(("127.0.0.1", served.port), timeout=10) as client:
            client.sendall(
                b"POST /submissions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                b"Transfer-Encoding: chunked\r\n\r\n" + b"400\r\n" + b" " * 1024 + b"\r\n"
            )
            assert client.recv(1000).startswith(b"HTTP/1.1 413")


def test_requests_beyond_the_memory_for_bodies_are_told_to_come_back(tmp_path: Path) -> None:
    with running(tmp_path, PLAIN, settings=Settings(Limits(memory=1000))) as served:
        reply = served.send(submission(PLAIN, 1), PLAIN)
        assert (reply.status, reply.error, reply.headers["retry-after"]) == (503, "busy", "1")
        assert served.send(submission(PLAIN, 1), PLAIN, binary=True).status == 200
        assert served.collector.memory.used == 0


def test_a_key_is_asked_for_if_the_operator_wants_it(tmp_path: Path) -> None:
    good = FORM.to_json(submission(PLAIN, 1))
    with running(tmp_path, PLAIN, EVERY_KIND, settings=Settings(keys=True)) as served:
        assert served.submit(good).status == 401
        assert served.submit(good, token="murmurs_wrong").status == 401
        assert served.submit(good, token=served.token("read")).status == 403
        elsewhere = served.submit(good, token=served.token("submit", EVERY_KIND.name))
        unknown = served.submit(good.replace(b"a", b"b"), token=served.token("submit"))
        assert elsewhere.status == unknown.status == 404
        assert served.submit(good, token=served.token("submit", PLAIN.name)).status == 200
        assert served.get("/surveys").status == 401
        listed = served.get("/surveys", served.token("submit", PLAIN.name)).document["surveys"]
        assert [survey["name"] for survey in listed] == [PLAIN.name]
        hidden = served.get(f"/surveys/{PLAIN.name}", served.token("submit", "other"))
        assert hidden.status == 404


def test_each_key_has_its_own_rate(tmp_path: Path) -> None:
    with running(tmp_path, PLAIN, settings=Settings(Limits(rate=0.5))) as served:
        key = served.token("submit")
        replies = [served.send(submission(PLAIN, seed), PLAIN) for seed in range(3)]
        assert replies[0].status == 200
        assert (replies[-1].status, replies[-1].error) == (429, "rate")
        assert int(replies[-1].headers["retry-after"]) >= 1
        assert served.submit(FORM.to_json(submission(PLAIN, 9)), token=key).status == 200


def test_a_survey_takes_submissions_while_it_is_open_and_for_a_day_more(tmp_path: Path) -> None:
    """A client sends hours after an answer, so what was answered on the last day may come later."""
    survey = Survey.from_toml("""
        name = "dated"
        opens = 2026-12-10
        closes = 2026-12-20
        [[questions]]
        name = "hot"
        labels = ["yes", "no"]
        epsilon = 1.0
    """)
    form = SubmissionForm(survey)
    with running(tmp_path, survey) as served:
        outcomes = {}
        listed = []
        for day in (20_796, 20_797, 20_807, 20_808, 20_809):
            served.clock.day = day
            outcomes[day] = served.send(form.make({"hot": [0, 1]}), survey).status
            if served.get("/surveys").document["surveys"]:
                listed.append(day)
        assert outcomes == {20_796: 409, 20_797: 200, 20_807: 200, 20_808: 200, 20_809: 409}
        assert listed == [20_797, 20_807]
        assert served.store.days(survey.fingerprint, "hot") == {
            (20_797, None): 2,
            (20_807, None): 2,
            (20_808, None): 2,
        }
        assert served.count("murmurs_refusals_total", reason="closed") == 2


class _Failing:
    """A store that fails while it is told to, or waits while its gate is shut."""

    def __init__(self, store: object) -> None:
        self._store = store
        self.error: Exception | None = None
        self.gate = threading.Event()
        self.gate.set()

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    def add(self, *arguments: object) -> object:
        self.gate.wait(20)
        if self.error is not None:
            raise self.error
        return self._store.add(*arguments)  # type: ignore[attr-defined]

    def check(self) -> None:
        if self.error is not None:
            raise self.error


@pytest.mark.parametrize(
    ("error", "word"),
    [(StoreFullError("the disk /secret is full"), "full"), (StoreError("/secret"), "store")],
)
def test_a_full_or_broken_store_answers_503_and_loses_nothing(
    tmp_path: Path,
    error: Exception,
    word: str,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("murmurs.collect.http.collector.READY_SECONDS", 0.0)
    with running(tmp_path, PLAIN, wrapped=_Failing) as served:  # type: ignore[arg-type]
        kept, lost = submission(PLAIN, 1), submission(PLAIN, 2)
        assert served.send(kept, PLAIN).status == 200
        served.store.error = error  # type: ignore[attr-defined]
        reply = served.send(lost, PLAIN)
        assert (reply.status, reply.error) == (503, word)
        assert "retry-after" in reply.headers
        assert b"secret" not in reply.body
        assert served.get("/ready").status == 503
        assert served.get("/health").status == 200
        served.store.error = None  # type: ignore[attr-defined]
        assert served.send(lost, PLAIN).document == {"accepted": 1, "duplicates": 0}
        assert served.send(kept, PLAIN).document == {"accepted": 0, "duplicates": 1}
        assert served.get("/ready").status == 200
    assert "secret" in caplog.text


def test_a_store_that_cannot_keep_up_makes_clients_wait_and_loses_nothing(tmp_path: Path) -> None:
    with running(
        tmp_path,
        PLAIN,
        settings=Settings(Limits(waiting=200)),
        wrapped=_Failing,  # type: ignore[arg-type]
    ) as served:
        served.store.gate.clear()  # type: ignore[attr-defined]
        statuses: list[int] = []

        def send(seed: int) -> None:
            statuses.append(served.send(submission(PLAIN, seed), PLAIN).status)

        threads = [threading.Thread(target=send, args=(seed,)) for seed in range(12)]
        for thread in threads:
            thread.start()
        for _ in range(200):
            if statuses.count(503) >= 6:
                break
            time.sleep(0.05)
        assert set(statuses) == {503}
        assert served.get("/health").status == 200
        served.store.gate.set()  # type: ignore[attr-defined]
        for thread in threads:
            thread.join()
        assert statuses.count(200) == 12 - statuses.count(503) > 0
        assert n_of(served) == 3 * statuses.count(200)
        assert served.count("murmurs_refusals_total", reason="busy") == statuses.count(503)


def test_an_error_of_the_collector_is_told_without_its_details(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with running(tmp_path, PLAIN) as served:

        def broken(*arguments: object) -> None:
            raise RuntimeError("secret")

        monkeypatch.setattr(served.collector.intake, "read", broken)
        reply = served.send(submission(PLAIN, 1), PLAIN)
        assert (reply.status, reply.error) == (500, "error")
        assert b"secret" not in reply.body
        assert "secret" in caplog.text


def test_many_clients_at_once_are_all_counted_exactly_once(tmp_path: Path) -> None:
    with running(tmp_path, PLAIN) as served:

        def send_all(first: int) -> None:
            for seed in range(first, first + 20):
                assert served.send(submission(PLAIN, seed), PLAIN, binary=True).status == 200

        threads = [threading.Thread(target=send_all, args=(10 * i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert n_of(served) == 3 * 90  # the seeds 0 to 89, most of them sent twice
        assert served.count("murmurs_submissions_total", outcome="accepted") == 90
        assert served.count("murmurs_submissions_total", outcome="duplicate") == 70
