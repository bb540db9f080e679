"""``murmurs answer``: one device at the shell, which shows what leaves it and no answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from murmurs import Survey
from murmurs.cli import main
from murmurs.client import HTTP, Reply
from murmurs.submission import SubmissionForm
from tests.client.collectors import Collector
from tests.client.test_transport import server
from tests.surveys import DRINK, coffee

SURVEY = Survey.from_toml(coffee(DRINK, "lifetime_epsilon = 3"))


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "coffee.json").write_text(SURVEY.to_json(), encoding="utf-8")
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["answer", "coffee.json", "--state", "me.json", *arguments])


def test_an_answer_is_shown_as_it_leaves_and_sent(desk: Path) -> None:
    collector = Collector(SURVEY)
    with server(lambda body: (200, {}, collector(body).body)) as (address, _):
        done = run("drink=nothing", "--to", address)
        assert done.exit_code == 0, done.output
        assert "Spent so far: epsilon 1 of 3." in done.output
        assert "Sent: 1. Waiting: 0." in done.output
        assert "nothing" not in done.output
        [submission] = collector.counted.values()
        report = SURVEY.question("drink").mechanism.shape.unpack(submission.reports["drink"])
        assert f"drink     {report}" in done.output
        assert submission.id.hex() in done.output


def test_what_waits_is_sent_later_without_new_answers(desk: Path) -> None:
    kept = run("drink=tea", "--json")
    document = json.loads(kept.stdout)
    assert (document["waiting"], round(document["spent"], 9)) == (1, 1.0)
    collector = Collector(SURVEY)
    with server(lambda body: (200, {}, collector(body).body)) as (address, _):
        sent = json.loads(run("--to", address, "--json").stdout)
    assert (sent["sent"], sent["waiting"], sent["spent"]) == (1, 0, document["spent"])
    [one] = collector.counted.values()
    form = SubmissionForm(SURVEY)
    assert one.id.hex() == document["submission"]["id"]
    assert form.to_bytes(one) == collector.bodies[0]


def test_refusals_and_problems_are_told(desk: Path) -> None:
    body = b'{"error": "closed", "reason": "the survey is closed"}'
    with server(lambda _: (409, {}, body)) as (address, _):
        refused = run("drink=tea", "--to", address)
    assert "Refused: " in refused.output
    assert "'the survey is closed'" in refused.output
    assert refused.exit_code == 1
    lost = run("drink=tea", "--to", address)
    assert "Not sent: the collector cannot be reached" in lost.output
    assert "It is kept." in " ".join(lost.output.split())
    assert lost.exit_code == 1
    early = run("--to", address)  # within a minute of the failure, nothing is tried
    assert "Not sent: the last try failed, and it is too early for another." in early.output
    assert early.exit_code == 1
    told = run("--to", address, "--json")
    assert (json.loads(told.stdout)["waiting"], told.exit_code) == (1, 1)
    assert early.output.startswith("Spent so far: epsilon 2 of 3.\nSent: 0. Waiting: 1.\n")
    assert 1 <= int(early.output.partition("can be sent in ")[2].split()[0]) <= 60
    run("drink=tea")
    spent = run("drink=tea")
    assert spent.exit_code == 2
    assert "allows a device epsilon 3 over its lifetime: 3 is spent" in spent.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["drink"], "answers are written QUESTION=ANSWER, as drink=tea"),
        (["drink=tea", "drink=filter"], "a question has two answers: give one"),
        (
            ["milk=Zanzibar"],
            "name number 0 (from 0) in answers is no question of survey 'coffee', which has",
        ),
        (["drink=Zanzibar"], "this is not an answer to 'drink'; answers are 'espresso'"),
        ([], "give answers, or --to to send what waits"),
        (["drink=tea", "--to", "http://collect.example.org"], "is not encrypted"),
        (["drink=tea", "--to", "http://collect.example.org"], "Use https, or --plain within a net"),
        (["drink=tea", "--segment", "north"], "this survey has no segment 'north'"),
    ],
)
def test_mistakes_are_refused_without_quoting_an_answer(
    arguments: list[str], message: str, desk: Path
) -> None:
    done = run(*arguments)
    assert done.exit_code == 2
    assert message in done.output
    assert "Zanzibar" not in done.output
    assert not (desk / "me.json").exists()


def test_a_missing_segment_is_asked_for_by_its_option(desk: Path) -> None:
    text = SURVEY.to_json().replace('"questions"', '"segments": ["north", "south"], "questions"', 1)
    (desk / "coffee.json").write_text(Survey.from_json(text).to_json(), encoding="utf-8")
    done = run("drink=tea")
    assert done.exit_code == 2
    assert "add --segment, one of 'north', 'south'" in done.output
    assert run("drink=tea", "--segment", "south").exit_code == 0


def test_plain_http_to_another_machine_is_allowed_by_its_option(
    desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HTTP, "__call__", lambda transport, body: Reply(503, b""))
    done = run("drink=tea", "--to", "http://collect.example.org", "--plain")
    assert done.exit_code == 1, done.output  # it was not taken
    assert "Sent: 0. Waiting: 1." in done.output


def test_what_is_not_due_yet_is_no_failure(desk: Path) -> None:
    with server(lambda _: (500, {}, b"")) as (address, _):
        later = run("drink=tea", "--to", address, "--delay", "3600")
    assert later.exit_code == 0
    assert "Sent: 0. Waiting: 1." in later.output
    assert "Not sent" not in later.output


def test_a_device_that_draws_questions_is_told_which(desk: Path) -> None:
    more = '[[questions]]\nname = "{}"\nlabels = ["yes", "no"]\nepsilon = 1.0\n'
    toml = 'name = "some"\nevery = "week"\nquestions_each = 1\n'
    some = Survey.from_toml(toml + more.format("lift") + more.format("noise"))
    (desk / "coffee.json").write_text(some.to_json(), encoding="utf-8")
    told = run().output
    drawn = "lift" if "is now asked 'lift'" in told else "noise"
    assert f"this device is now asked '{drawn}'" in told
    other = {"lift": "noise", "noise": "lift"}[drawn]
    assert f"and this one drew '{drawn}'" in run(f"{other}=yes").output
    assert run(f"{drawn}=yes").exit_code == 0
    assert "this device is now asked nothing" in run().output
