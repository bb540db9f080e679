"""The page "Your first survey in five minutes" works as it stands, with a real collector."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from tests.pages import DOCS, blocks, commands, run, write_files

DIRECTLY = urllib.request.build_opener(urllib.request.ProxyHandler({}))
PAGE = (DOCS / "collecting.md").read_text(encoding="utf-8")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@contextlib.contextmanager
def serving(command: str, folder: Path, port: int, store: str = "collected") -> Iterator[None]:
    """Run the page's collector on a free port until the end of the block."""
    arguments = [*command.split()[1:], "--port", str(port)]
    process = subprocess.Popen(
        [sys.executable, "-m", "murmurs", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    try:
        told = next(line for line in process.stdout if not line.startswith("Note"))
        assert f"collecting at http://127.0.0.1:{port} into {store}" in told
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)


def fetched(command: str, folder: Path, method: str = "GET") -> str:
    """What curl prints for the page's command, without curl."""
    found = re.fullmatch(r'curl -H "Authorization: Bearer \$\(cat (\S+)\)" "(\S+)"\s*', command)
    assert found is not None, command
    token = (folder / found[1]).read_text(encoding="utf-8").strip()
    fields = {"Authorization": f"Bearer {token}"}
    request = urllib.request.Request(found[2], headers=fields, method=method)
    deadline = time.monotonic() + 30
    while True:
        with DIRECTLY.open(request, timeout=30) as answer:
            if answer.status == 200 or time.monotonic() > deadline:
                return str(answer.read().decode())
        time.sleep(0.2)


def test_the_first_survey_takes_what_the_page_says(tmp_path: Path) -> None:
    port = free_port()
    page = PAGE.replace("8080", str(port))
    write_files(page, tmp_path)
    script, _ = blocks(page, "python")
    (tmp_path / "devices.py").write_text(script, encoding="utf-8")
    run("murmurs publish commute.toml -o commute.json", tmp_path)
    serve, answer, devices, text, both, close, *_ = blocks(page, "sh")
    with serving(serve, tmp_path, port):
        printed = run(answer, tmp_path)
        [shown] = [b for b in blocks(page, "text") if b.startswith("Submission")]
        assert (
            re.sub("[0-9a-f]{32}", "", printed).split("vehicle")[0]
            == (re.sub("[0-9a-f]{32}", "", shown).split("vehicle")[0])
        )
        assert printed.endswith("Spent so far: epsilon 5 of 40.\nSent: 1. Waiting: 0.\n")
        run(devices, tmp_path)
        read = fetched(text, tmp_path)
        table = fetched(text.replace("=text", "=csv"), tmp_path).splitlines()
    [shown] = [b for b in blocks(page, "text") if b.startswith("How did you come")]
    assert read.splitlines()[:4] == shown.splitlines()[:4]
    assert read.partition("Estimator")[2] == shown.partition("Estimator")[2]
    assert table[0] == "answer,share,low,high,unbiased,unbiased_error,people"
    labels = ["bus", "tram", "bicycle", "car", "on foot"]
    assert [row.split(",")[0] for row in table[1:]] == labels
    _, share, *_, error, people = table[1].split(",")
    assert people == "same"
    assert abs(float(share) - 0.3) < 7 * float(error) + 7 * 0.0145  # and that of the sample
    [edit] = [command for command, _ in commands(page) if command.startswith("sed ")]
    run(edit, tmp_path)
    second = (tmp_path / "commute_2.toml").read_text(encoding="utf-8")
    (tmp_path / "commute_2.toml").write_text("version = 2\n" + second, encoding="utf-8")
    run("murmurs diff commute.json commute_2.toml", tmp_path)
    run("murmurs publish commute_2.toml -o commute_2.json", tmp_path)
    surveys = f"http://127.0.0.1:{port}/surveys"
    with serving(both, tmp_path, port):
        with DIRECTLY.open(surveys, timeout=30) as found:
            served = json.load(found)["surveys"]
        closing, backup = close.splitlines()
        closed = json.loads(fetched(closing.replace(" -X POST", ""), tmp_path, "POST"))
        assert (closed["state"], closed["reports"]["vehicle"]) == ("closed", 1001)
        run(backup, tmp_path)
        assert (tmp_path / "commute.sqlite").stat().st_size > 0
    assert {(survey["name"], survey["version"]) for survey in served} == {
        ("commute", 1),
        ("commute", 2),
    }


def test_twelve_weeks_are_rehearsed_as_the_page_says(tmp_path: Path) -> None:
    """With fewer people than on the page, and a minimum that they reach."""
    port = free_port()
    page = PAGE.replace("8080", str(port)).replace("k=1000", "k=24")
    page = page.replace("minimum_reports = 200", "minimum_reports = 20")
    write_files(page, tmp_path)
    _, script = blocks(page, "python")
    (tmp_path / "rehearse.py").write_text(script, encoding="utf-8")
    run("murmurs publish commute.toml -o commute.json", tmp_path)
    serve, devices, trend = blocks(page, "sh")[-3:]
    date, command = serve.splitlines()
    run(date, tmp_path)
    with serving(command, tmp_path, port, "rehearsed"):
        run(devices, tmp_path)
        header, *rows = fetched(trend, tmp_path).splitlines()
    [shown] = [b for b in blocks(page, "text") if b.startswith("answer,")]
    assert header == shown.splitlines()[0]
    weeks = [row.split(",")[1] for row in rows if row.startswith("bus,")]
    assert (len(weeks), weeks[0], weeks[-1]) == (12, "2027-01-04", "2027-03-22")
    assert len(rows) == 5 * 12
