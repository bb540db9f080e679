"""The files under deploy/ start a collector: their commands are ones that there are."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from murmurs.cli.serve import command
from murmurs.collect.metrics import COUNTERS, GAUGES, SECONDS
from tests.collect.made import PLAIN
from tests.pages import DOCS

DEPLOY = DOCS.parent / "deploy"


def in_unit() -> list[str]:
    (line,) = re.findall("^ExecStart=(.*)$", (DEPLOY / "murmurs.service").read_text(), re.M)
    program, *words = shlex.split(line)
    assert program == "/opt/murmurs/bin/murmurs"
    return words


def in_image() -> list[str]:
    text = (DEPLOY / "Dockerfile").read_text()
    assert json.loads(re.findall("^ENTRYPOINT (.*)$", text, re.M)[0]) == ["murmurs"]
    words: list[str] = json.loads(re.findall("^CMD (.*)$", text, re.M)[-1])
    return words


def composed() -> Any:
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["collector"]


def in_compose() -> list[str]:
    words: list[str] = composed()["command"]
    return words


@pytest.mark.parametrize("words", [in_unit(), in_image(), in_compose()], ids=str)
def test_the_command_is_one_that_there_is(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "survey.json").write_text(PLAIN.to_json())
    first, *rest = (word.replace("/etc/murmurs", str(tmp_path)) for word in words)
    assert first == "serve"
    found = command.make_context("serve", rest).params
    assert found["place"] == "/var/lib/murmurs/store"
    assert (found["port"], found["log"]) == (8080, "json")


def test_the_command_of_the_unit_starts_a_collector_and_ends_it_at_its_signal(
    tmp_path: Path,
) -> None:
    (tmp_path / "survey.json").write_text(PLAIN.to_json())
    places = {"/etc/murmurs": str(tmp_path), "/var/lib/murmurs": str(tmp_path), "8080": "0"}
    words = in_unit()
    for before, after in places.items():
        words = [word.replace(before, after) for word in words]
    line = [sys.executable, "-m", "murmurs", *words, "--json"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        with urllib.request.urlopen(f"{url}/health", timeout=10) as reply:
            assert reply.status == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd here")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    text = (DEPLOY / "murmurs.service").read_text()
    unit = tmp_path / "murmurs.service"
    unit.write_text(text.replace("/opt/murmurs/bin/murmurs", "/bin/true"))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)],
        capture_output=True,
        text=True,
        check=False,
    )
    said = [line for line in done.stderr.splitlines() if "murmurs.service" in line]
    assert said == []


def test_the_image_has_what_the_build_copies_and_compose_builds_it() -> None:
    kept = (DEPLOY / "Dockerfile.dockerignore").read_text().split()
    for name in (word.removeprefix("!") for word in kept if word.startswith("!")):
        assert (DEPLOY.parent / name).exists()
    build = composed()["build"]
    assert (DEPLOY / build["context"] / build["dockerfile"]).samefile(DEPLOY / "Dockerfile")
    assert "/var/lib/murmurs" in (DEPLOY / "Dockerfile").read_text()
    assert "store:/var/lib/murmurs" in composed()["volumes"]


def test_alerts_are_on_metrics_that_there_are() -> None:
    document = yaml.safe_load((DEPLOY / "alerts.yaml").read_text())
    rules = document["groups"][0]["rules"]
    used = {name for rule in rules for name in re.findall(r"murmurs_\w+", rule["expr"])}
    there = {*COUNTERS, *GAUGES, f"{SECONDS}_bucket"}
    assert len(rules) == 7
    assert used <= there


def test_the_page_names_every_file() -> None:
    page = (DOCS / "collector.md").read_text()
    for path in DEPLOY.iterdir():
        assert path.name in page or path.suffix == ".dockerignore", path.name
