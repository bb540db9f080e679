"""Surveys, tokens, headers and metrics of a real collector."""

from __future__ import annotations

import json
import sqlite3
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import apsw
import pytest

from murmurs.collect import tokens
from murmurs.collect.http.collector import Settings
from murmurs.collect.http.limits import Rates
from murmurs.collect.refusals import REASONS, RefusedError
from murmurs.collect.stores import open_store
from murmurs.collect.stores.store import Part, StoreError
from murmurs.collect.upkeep import Schedule, Upkeep
from murmurs.submission import SubmissionForm
from murmurs.survey.survey import Survey
from tests.collect.made import PLAIN, submission
from tests.collect.running import DAY, Running, running


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path / "store", PLAIN) as found:
        yield found


SECOND = Survey.from_toml(
    """
    name = "plain"
    version = 2
    [[questions]]
    name = "hot"
    labels = ["yes", "no", "perhaps"]
    mechanism = {name = "KRR", epsilon = 1.0}
    """
)


def test_a_survey_is_handed_out_as_it_was_published(served: Running) -> None:
    reply = served.get("/surveys/plain")
    assert Survey.from_json(reply.body) == PLAIN
    assert reply.headers["etag"] == f'"{PLAIN.fingerprint}"'
    again = served.get("/surveys/plain", If_None_Match=reply.headers["etag"])
    assert (again.status, again.body) == (304, b"")
    assert served.get("/surveys/plain?version=1").status == 200
    assert served.get("/surveys/plain?version=7").status == 404
    assert served.get("/surveys/plain?version=tea").status == 400
    assert served.get("/surveys/tea").error == "survey"


@pytest.mark.parametrize("digits", [17, 5000])
def test_a_version_of_many_digits_is_no_address(served: Running, digits: int) -> None:
    for method, end in (("DELETE", ""), ("POST", "/close"), ("GET", "")):
        reply = served.ask(method, f"/admin/surveys/plain/{'9' * digits}{end}")
        assert (reply.status, reply.error) == (404, "address")


def test_a_token_that_is_revoked_is_not_read_back_by_another_thread(served: Running) -> None:
    """A refresh that began before the token was revoked must not end after the one that follows."""
    text = served.token("read")
    [name] = [token.name for token in served.store.tokens()]
    catalogue, store = served.collector.catalogue, served.store
    began, go_on = threading.Event(), threading.Event()
    tokens_of = store.tokens

    def slow() -> Any:
        found = tokens_of()
        began.set()
        assert go_on.wait(5)
        return found

    with mock.patch.object(store, "tokens", slow):
        first = threading.Thread(target=catalogue.refresh, args=[store])
        first.start()
        assert began.wait(5)
    store.revoke(name)
    second = threading.Thread(target=catalogue.refresh, args=[store])
    second.start()
    second.join(0.3)  # waits for the first, or is done before it
    go_on.set()
    first.join()
    second.join()
    assert served.get("/results/plain", text).status == 401


@pytest.mark.parametrize("name", ["a/b", ".", ".."])
def test_a_token_that_could_not_be_revoked_is_not_made(served: Running, name: str) -> None:
    admin = served.token("admin")
    reply = served.post("/admin/tokens", {"name": name, "scope": "read"}, admin)
    assert (reply.status, reply.error) == (400, "form")


@pytest.mark.parametrize(
    ("surveys", "said"),
    [
        ([], []),
        (["plain"], []),
        (["plian"], ["the store has no survey 'plian', it has 'plain': did you mean 'plain'?"]),
    ],
)
def test_a_token_for_a_survey_that_is_not_there_is_made_with_a_warning(
    served: Running, surveys: list[str], said: list[str]
) -> None:
    wanted = {"name": "dashboard", "scope": "read", "surveys": surveys}
    made = served.post("/admin/tokens", wanted, served.token("admin"))
    assert (made.status, made.document["surveys"]) == (201, surveys)
    assert [text.partition(" The token")[0] for text in made.document["warnings"]] == said


def test_a_survey_is_created_closed_reopened_and_deleted(served: Running) -> None:
    admin = served.token("admin")
    made = served.ask(
        "POST",
        "/admin/surveys",
        SECOND.to_json().encode(),
        token=admin,
        Content_Type="application/json",
    )
    assert (made.status, made.document["fingerprint"]) == (201, SECOND.fingerprint)
    assert Survey.from_json(served.get("/surveys/plain").body) == SECOND
    sent = SubmissionForm(SECOND).make({"hot": [0, 2]})
    assert served.send(sent, SECOND).status == 200

    closed = served.post("/admin/surveys/plain/2/close", None, admin)
    assert closed.status == 400  # it takes no body
    closed = served.ask("POST", "/admin/surveys/plain/2/close", token=admin)
    assert closed.document["state"] == "closed"
    assert served.send(SubmissionForm(SECOND).make({"hot": [1]}), SECOND).status == 409
    assert Survey.from_json(served.get("/surveys/plain").body) == PLAIN  # the newest that is open
    served.ask("POST", "/admin/surveys/plain/2/reopen", token=admin)
    assert served.send(SubmissionForm(SECOND).make({"hot": [1]}), SECOND).status == 200

    [first, second] = served.get("/admin/surveys", admin).document["surveys"]
    assert (first["version"], second["version"], second["reports"]) == (1, 2, {"hot": 3})
    assert served.ask("DELETE", "/admin/surveys/plain/2", token=admin).status == 204
    assert served.ask("DELETE", "/admin/surveys/plain/2", token=admin).status == 404
    assert served.send(sent, SECOND).status == 404


def test_a_changed_survey_needs_a_new_version(served: Running) -> None:
    admin = served.token("admin")
    document = {**SECOND.to_document(), "version": 1}
    reply = served.post("/admin/surveys", document, admin)
    assert (reply.status, reply.error) == (409, "version")
    assert served.post("/admin/surveys", PLAIN.to_document(), admin).status == 200
    for bad in ({}, {"name": "x", "questions": []}, {**document, "name": "a/b"}, [1]):
        assert served.post("/admin/surveys", bad, admin).status == 400


def test_old_reports_are_forgotten_on_demand(served: Running) -> None:
    admin = served.token("admin")
    served.send(submission(PLAIN, 1), PLAIN)
    served.clock.day = DAY + 3
    served.send(submission(PLAIN, 2), PLAIN)
    address = "/admin/surveys/plain/1/forget"
    assert served.post(address, {"before": "tea"}, admin).status == 400
    assert served.post(address, {"before": "2026-12-15"}, admin).document == {"forgotten": 3}
    assert served.store.days(PLAIN.fingerprint, "hot") == {(DAY + 3, None): 3}


def test_tokens_are_made_listed_and_revoked(served: Running) -> None:
    admin = served.token("admin")
    wanted = {"name": "dashboard", "scope": "read", "surveys": ["plain"]}
    made = served.post("/admin/tokens", wanted, admin)
    assert made.status == 201
    token = made.document["token"]
    assert made.headers["cache-control"] == "no-store"
    assert served.get("/results/plain", token).status == 200
    assert served.post("/admin/tokens", wanted, admin).status == 409
    listed = served.get("/admin/tokens", admin)
    assert wanted in listed.document["tokens"]
    assert token.encode() not in listed.body
    assert served.ask("DELETE", "/admin/tokens/dashboard", token=admin).status == 204
    assert served.ask("DELETE", "/admin/tokens/dashboard", token=admin).status == 404
    assert served.get("/results/plain", token).status == 401


def test_a_token_allows_what_its_scope_says_for_its_surveys_only(served: Running) -> None:
    read, submit = served.token("read"), served.token("submit")
    elsewhere, one = served.token("read", "tea"), served.token("admin", "plain")
    for path in ("/results/plain", "/results/tea", "/admin/surveys", "/admin/tokens", "/metrics"):
        replies = {served.get(path, token).status for token in (None, "murmurs_x", "")}
        assert replies == {401}, path
        assert served.get(path, submit).status == 403
    assert served.get("/results/plain", read).status == 200
    assert served.get("/admin/surveys", read).status == 403
    assert served.get("/metrics", read).status == 403  # they tell how many submitted just now
    metrics = served.token("metrics")
    assert served.get("/metrics", metrics).status == 200
    assert served.get("/results/plain", metrics).status == 403
    assert served.get("/results/plain", one).status == 200
    assert served.get("/admin/surveys", one).status == 200
    for path in ("/admin/tokens", "/metrics", "/admin/backup"):  # need a token for all surveys
        assert served.get(path, one).status == 403
        assert "needs a token for all surveys" in served.get(path, one).document["reason"]
    there, nowhere = served.get("/results/plain", elsewhere), served.get("/results/mate", elsewhere)
    assert there.status == nowhere.status == 404
    assert there.body.replace(b"plain", b"mate") == nowhere.body


def test_without_a_token_nothing_tells_whether_a_survey_exists(served: Running) -> None:
    paths = ("/results/{}", "/results/{}/hot", "/results/{}/hot/trend", "/admin/surveys/{}/1/close")
    for path in paths:
        method = "POST" if path.startswith("/admin") else "GET"
        there, nowhere = (served.ask(method, path.format(name)) for name in ("plain", "mate"))
        assert (there.status, there.body) == (nowhere.status, nowhere.body) == (401, there.body)


def test_only_the_hash_of_a_token_is_in_the_store(tmp_path: Path) -> None:
    with running(tmp_path / "store", PLAIN) as served:
        text = served.token("read")
        secret = text.removeprefix(tokens.PREFIX)
        served.store.backup(tmp_path / "copy")
        data = b"".join(p.read_bytes() for p in (tmp_path / "store").iterdir() if p.is_file())
    assert secret.encode() not in data
    assert tokens.digest(text) in (tmp_path / "copy").read_bytes()


def test_tokens_are_random_and_found_whatever_else_there_is() -> None:
    made = [tokens.new_token(f"{i}", "read") for i in range(50)]
    assert len({text for text, _ in made}) == 50
    kept = [token for _, token in made]
    assert all(tokens.find(text, kept) is token for text, token in made)
    assert tokens.find("murmurs_x", kept) is None


def test_a_token_revoked_by_another_process_stops_working_soon(tmp_path: Path) -> None:
    settings = Settings(refresh_seconds=0.05)
    with running(tmp_path / "store", PLAIN, settings=settings) as served:
        read = served.token("read")
        assert served.get("/results/plain", read).status == 200
        beside = open_store(str(tmp_path / "store"), collecting=False)
        beside.revoke("read 0")
        beside.close()
        for _ in range(100):
            if served.get("/results/plain", read).status == 401:
                return
        raise AssertionError("the token still works")


def test_a_backup_is_a_store(served: Running, tmp_path: Path) -> None:
    served.send(submission(PLAIN, 1), PLAIN)
    reply = served.get("/admin/backup", served.token("admin"))
    assert reply.headers["content-type"] == "application/octet-stream"
    path = tmp_path / "copy.sqlite"
    path.write_bytes(reply.body)
    with sqlite3.connect(path) as db:
        ids = db.execute("select count(*) from ids").fetchone()
    db.close()
    assert ids == (1,)


def test_a_backup_without_room_for_it_is_refused_with_the_reason(
    served: Running, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    admin = served.token("admin")

    class Full:
        def execute(self, *_: object) -> None:
            raise apsw.FullError

        def close(self) -> None:
            pass

    with monkeypatch.context() as patch:
        patch.setattr(served.store, "_connected", Full)
        reply = served.get("/admin/backup", admin)
    assert (reply.status, reply.error) == (503, "full")
    assert f"the disk with {tempfile.gettempdir()}" in caplog.text
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    reply = served.get("/admin/backup", admin)
    assert (reply.status, reply.error) == (503, "full")
    assert b"temporary files" in reply.body
    assert served.send(submission(PLAIN, 1), PLAIN).status == 200


def test_every_answer_has_strict_headers_and_none_names_the_server(served: Running) -> None:
    for reply in (
        served.get("/health"),
        served.get("/nowhere"),
        served.get("/results/plain", served.token("read")),
        served.ask("PATCH", "/surveys"),
        served.submit(b"tea"),
    ):
        headers = reply.headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert headers["cache-control"] in ("no-store", "no-cache")
        assert "server" not in headers
        assert "set-cookie" not in headers
    assert served.ask("PATCH", "/surveys").headers["allow"] == "GET"
    assert served.ask("HEAD", "/health").body == b""


def test_web_pages_of_other_origins_are_let_in_only_if_configured(tmp_path: Path) -> None:
    page: dict[str, Any] = {
        "Origin": "https://app.example",
        "Access_Control_Request_Method": "POST",
    }
    with running(tmp_path / "a", PLAIN) as served:
        reply = served.ask("OPTIONS", "/submissions", **page)
        assert "access-control-allow-origin" not in reply.headers
    with running(
        tmp_path / "b", PLAIN, settings=Settings(origins=("https://app.example",))
    ) as served:
        reply = served.ask("OPTIONS", "/submissions", **page)
        assert (reply.status, reply.headers["access-control-allow-origin"]) == (200, page["Origin"])
        assert reply.headers["x-content-type-options"] == "nosniff"
        reply = served.get("/surveys", Origin="https://app.example")
        assert reply.headers["access-control-allow-origin"] == "https://app.example"
        reply = served.get("/surveys", Origin="https://other.example")
        assert "access-control-allow-origin" not in reply.headers


def test_metrics_count_what_happens_and_name_nobody(served: Running) -> None:
    served.send(submission(PLAIN, 1), PLAIN)
    served.submit(b"tea")
    text = served.get("/metrics", served.token("metrics")).body.decode()
    lines = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert lines['murmurs_submissions_total{outcome="accepted"}'] == "1"
    assert lines["murmurs_people_total"] == "3"
    assert lines['murmurs_refusals_total{reason="form"}'] == "1"
    assert lines['murmurs_requests_total{route="/submissions",status="200"}'] == "1"
    assert lines['murmurs_request_seconds_count{route="/submissions"}'] == "2"
    assert float(lines["murmurs_store_bytes"]) > 1000
    assert lines["murmurs_ready"] == "1"
    for secret in ("plain", "hot", "127.0.0.1", "murmurs_x"):
        assert secret not in text


def test_counters_that_alerts_watch_begin_at_zero(served: Running) -> None:
    text = served.get("/metrics", served.token("metrics")).body.decode()
    lines = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    names = [
        "murmurs_people_total",
        "murmurs_cut_off_total",
        "murmurs_upkeep_failures_total",
        *(f'murmurs_submissions_total{{outcome="{word}"}}' for word in ("accepted", "duplicate")),
        *(f'murmurs_refusals_total{{reason="{word}"}}' for word in REASONS),
    ]
    assert {name: lines[name] for name in names} == dict.fromkeys(names, "0")


def test_nothing_is_kept_about_who_sent_a_submission(tmp_path: Path) -> None:
    """The store and the log have no address, no program and no time of day of a client."""
    with running(tmp_path / "store", PLAIN) as served:
        marker = "a-very-special-program"
        sent = SubmissionForm(PLAIN).to_json(submission(PLAIN, 1))
        assert served.submit(sent, User_Agent=marker, X_Forwarded_For="203.0.113.77").status == 200
        served.store.backup(tmp_path / "copy")
    found = [tmp_path / "copy", *(tmp_path / "store").iterdir()]
    data = b"".join(path.read_bytes() for path in found if path.is_file())
    assert data
    for secret in (marker.encode(), b"203.0.113.77", b"127.0.0.1"):
        assert secret not in data


def test_rates_refill_with_time() -> None:
    now = [0.0]
    rates = Rates(2.0, clock=lambda: now[0])
    for _ in range(4):
        rates.take("a")
    with pytest.raises(RefusedError) as refused:
        rates.take("a")
    assert refused.value.status == 429
    rates.take("b")
    now[0] = 0.6
    rates.take("a")
    with pytest.raises(RefusedError):
        rates.take("a")


def test_upkeep_folds_forgets_and_goes_on_after_a_failure(
    served: Running, caplog: pytest.LogCaptureFixture
) -> None:
    served.send(submission(PLAIN, 1), PLAIN)
    now = [0.0]
    schedule = Schedule(tidy_seconds=100.0, keep_ids_days=30, keep_reports_days=60)
    upkeep = Upkeep(served.collector, schedule, clock=lambda: now[0])
    upkeep.once()
    assert served.send(submission(PLAIN, 1), PLAIN).document["duplicates"] == 1
    served.clock.day, now[0] = DAY + 31, 200.0
    upkeep.once()  # the id is gone, its reports are not
    assert served.store.days(PLAIN.fingerprint, "hot") == {(DAY, None): 3}
    assert served.send(submission(PLAIN, 1), PLAIN).document["accepted"] == 1
    served.clock.day, now[0] = DAY + 61, 400.0
    upkeep.once()
    assert served.store.days(PLAIN.fingerprint, "hot") == {(DAY + 31, None): 3}
    assert served.store.counts(Part(PLAIN.fingerprint, "hot")).n == 3

    def broken() -> None:
        raise RuntimeError("broken")

    served.collector.store.fold = broken  # type: ignore[method-assign]
    upkeep.once()
    assert served.count("murmurs_upkeep_failures_total") == 1
    assert caplog.records[-1].exc_info is not None  # a bug: the log says where

    def away() -> None:
        raise StoreError("the disk is gone")

    served.collector.store.fold = away  # type: ignore[method-assign]
    upkeep.once()
    assert served.count("murmurs_upkeep_failures_total") == 2
    last = caplog.records[-1]
    assert last.exc_info is None  # the sentence has the reason
    assert last.getMessage() == "upkeep of the store failed, and is tried again: the disk is gone"


def test_a_store_that_is_away_is_logged_in_one_sentence(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def away() -> None:
        raise StoreError("the disk is gone")

    with running(tmp_path / "store", PLAIN, settings=Settings(refresh_seconds=0.05)) as served:
        served.store.collections = away  # type: ignore[method-assign, assignment]
        until = time.monotonic() + 20
        while not caplog.records and time.monotonic() < until:
            time.sleep(0.02)
        del served.store.collections
    first = caplog.records[0]
    assert first.getMessage() == "surveys and tokens could not be read again: the disk is gone"
    assert first.exc_info is None


def test_the_openapi_document_lists_every_route(served: Running) -> None:
    document = json.loads(served.get("/openapi.json").body)
    assert document["openapi"] == "3.1.0"
    assert "/submissions" in document["paths"]
    assert {"get", "post"} <= set(document["paths"]["/results/{survey}/{question}"])
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            assert operation["summary"].endswith("."), (path, method)
            assert "503" in operation["responses"]
