"""``murmurs demo``: a whole collection with simulated devices, from a survey to its estimates."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import numpy as np

from murmurs.cli import demo_devices as devices
from murmurs.cli.options import Command, as_json, respondents
from murmurs.cli.output import Form, say
from murmurs.client import HTTP, Client
from murmurs.present.text import shares_table, table
from murmurs.submission import Submission
from murmurs.survey.survey import Survey

SHOWN = 5
"""Devices whose reports are shown."""

_PATIENCE = 60
"""Seconds until a collector that does not start, or a result that does not come, is given up."""


@click.command("demo", cls=Command)
@respondents("Number of simulated people.", 100, 10**7, default=100_000, show_default=True)
@as_json
def command(respondents: int, form: Form) -> None:
    """Run a collection with simulated devices.

    Publishes a survey with a closed, an open and a joint question, starts a collector in a
    temporary directory, and lets the devices encode and submit over HTTP. Prints what the collector
    estimates, next to the truth. In a terminal, the collector then keeps running until Ctrl-C.

    \b
    Example:
      murmurs demo --respondents 2000
    """
    if find_spec("uvicorn") is None or find_spec("apsw") is None:
        raise ImportError(
            "the demo runs a collector: install it with pip install 'murmurs[server]'"
        )
    survey = Survey.from_toml(devices.SURVEY)
    everybody = devices.People.made(survey, respondents)
    with (
        _ending_in_order(),
        tempfile.TemporaryDirectory(prefix="murmurs-demo-") as folder,
        _collector(survey, Path(folder)) as (address, token),
    ):
        started = time.perf_counter()
        first = list(devices.clients(survey, everybody, SHOWN))
        if form.kind == "text":
            _tell_start(survey, everybody, first, address)
        _submit(survey, everybody, first, address, quiet=form.kind == "json")
        seconds = time.perf_counter() - started
        results = {
            asked.name: _result(address, token, survey, asked.name) for asked in survey.reported
        }
        form.show(
            json=lambda: _document(survey, everybody, results),
            text=lambda: _results(survey, everybody, results, seconds),
        )
        if form.kind == "text":
            _stay(survey, address, Path(folder))


@contextlib.contextmanager
def _ending_in_order() -> Iterator[None]:
    """Stop the collector and delete the directory also if the demo is told to end, or hung up."""

    def end(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may say what signals do
        return
    before = {sign: signal.signal(sign, end) for sign in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for sign, handler in before.items():
            signal.signal(sign, handler)


@contextlib.contextmanager
def _collector(survey: Survey, folder: Path) -> Iterator[tuple[str, str]]:
    """Run a collector in a process of its own; yield its address and a token."""
    (folder / "morning.json").write_text(survey.to_json(), encoding="utf-8")
    store = folder / "collected"
    survey_file = str(folder / "morning.json")
    arguments = ["serve", survey_file, "--store", str(store), "--port", "0", "--live"]
    for name in ("submissions", "people"):  # one process plays many devices
        arguments += ["--limit", f"{name}={devices.AT_ONCE}"]
    with (folder / "collector.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "murmurs", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        address = _address(process, folder / "collector.log")
        yield address, (store / "admin-token").read_text(encoding="utf-8").strip()
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    """Wait until the collector says where it is."""
    for _ in range(_PATIENCE * 20):
        said = log.read_text(encoding="utf-8", errors="replace")
        for line in said.splitlines(keepends=True):
            if line.startswith("collecting at ") and line.endswith("\n"):
                return line.split()[2]
        if process.poll() is not None:
            raise OSError(f"the collector did not start: {said.strip()[-300:]}")
        time.sleep(0.05)
    raise OSError(f"the collector did not start within {_PATIENCE} seconds")


def _submit(
    survey: Survey,
    people: devices.People,
    first: list[tuple[Client, Submission]],
    address: str,
    *,
    quiet: bool,
) -> None:
    transport = HTTP(address)
    for client, _ in first:
        sent = client.send(transport)
        if sent.taken != 1:
            raise OSError(f"the collector did not take a submission: {sent.problem}")
    batches = devices.submit(survey, people, SHOWN, transport)
    if quiet or not sys.stdout.isatty():
        for _ in batches:
            pass
        return
    with click.progressbar(length=len(people) - SHOWN, label="submitting") as bar:
        for count in batches:
            bar.update(count)


def _result(address: str, token: str, survey: Survey, name: str) -> dict[str, Any]:
    """Return the estimate of a question from the collector."""
    path = "/".join(urllib.parse.quote(part, safe="") for part in (survey.name, name))
    asked = survey.asked(name)
    wanted = [("candidates", pet) for pet in devices.PETS] if asked.is_open else []
    url = f"{address}/results/{path}?{urllib.parse.urlencode(wanted)}"
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    for _ in range(_PATIENCE):
        try:
            with opener.open(request, timeout=_PATIENCE) as answer:
                if answer.status == 200:
                    found: dict[str, Any] = json.load(answer)
                    return found
        except urllib.error.HTTPError as error:
            with error:
                reason = json.load(error).get("reason")
            raise OSError(f"the collector gave no result: {reason}") from None
        time.sleep(1)
    raise OSError(f"there was no result within {_PATIENCE} seconds")


def _tell_start(
    survey: Survey,
    people: devices.People,
    first: list[tuple[Client, Submission]],
    address: str,
) -> None:
    drink, pet = survey.question("drink"), survey.question("pet")
    width = getattr(pet.mechanism, "width", 1)
    say(f"Survey {survey.name!r}, fingerprint {survey.short_fingerprint}: a closed question")
    say("(drink), an open one (pet), and two that are answered together (sleep, mood).\n")
    spent = first[0][0].spent
    say(f"Any answer can lead to any report. Everything a device sends costs epsilon {spent:.4g}:")
    say(f"no answers make it more than e^{spent:.4g} times as likely as any others would.\n")
    say("Five devices:\n")
    rows = []
    for number, (_, submission) in enumerate(first):
        report = drink.mechanism.shape.unpack(submission.reports["drink"])
        cohort, bucket = divmod(pet.mechanism.shape.unpack(submission.reports["pet"]), width)
        rows.append(
            [
                people.answers["drink"][number],
                ", ".join(drink.labels[i] for i in report),
                people.answers["pet"][number],
                f"bucket {bucket} of cohort {cohort}",
            ]
        )
    say(table(["drink", "report that leaves", "pet", "report that leaves"], rows, left=4))
    say(f"\nThe collector is at {address}; {len(people):,} devices submit to it ...")


def _results(
    survey: Survey, people: devices.People, results: dict[str, dict[str, Any]], seconds: float
) -> str:
    reports = sum(result["reports"] for result in results.values())
    lines = [f"{reports:,} reports were encoded, submitted and stored in {seconds:.1f} s."]
    for name, result in results.items():
        asked = survey.asked(name)
        text = asked.text or name
        columns = _columns(result)
        truth = people.shares(survey, name, columns["answer"])
        lines.append(f"\n{text}\n{result['reports']:,} reports\n")
        lines.append(shares_table(columns, "95 % interval", np.array(truth)))
    return "\n".join(lines)


def _columns(result: dict[str, Any]) -> dict[str, Any]:
    """Return a result's table as columns."""
    numbers = {"share": "shares", "low": "low", "high": "high", "unbiased_error": "unbiased_errors"}
    return {"answer": result["labels"]} | {
        name: np.array(result[field], float) for name, field in numbers.items()
    }


def _stay(survey: Survey, address: str, folder: Path) -> None:
    """Keep the collector on a terminal until Ctrl-C; elsewhere the demo ends."""
    token = folder / "collected" / "admin-token"
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return
    say(f"\nThe collector stays at {address} until Ctrl-C. To ask it for a result:\n")
    field = f'"Authorization: Bearer $(cat {token})"'
    say(f'  curl -H {field} "{address}/results/{survey.name}/drink?format=text"', most=None)
    with contextlib.suppress(KeyboardInterrupt):
        while True:
            time.sleep(3600)


def _document(
    survey: Survey, people: devices.People, results: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    questions = {
        name: {"truth": people.shares(survey, name, result["labels"]), **result}
        for name, result in results.items()
    }
    return {"survey": survey.fingerprint, "people": len(people), "questions": questions}
