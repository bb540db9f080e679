"""Strings that nobody listed, from a file of counts to a survey that asks again."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from murmurs import Survey
from murmurs.cli import main

PETS = """
name = "pets"
[[questions]]
name = "pet"
mechanism = {name = "Dictionary", epsilon = 4.0, longest = 4, letters = 9}
"""


def run(*arguments: str) -> str:
    result = CliRunner().invoke(main, list(arguments))
    assert result.exit_code == 0, result.output
    return result.output


def test_a_next_survey_asks_for_the_strings_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pets.toml").write_text(PETS)
    Path("people.txt").write_text("luna,20000\nleo,20000\n")
    run("publish", "pets.toml", "-o", "pets.json")
    run("simulate", "pets.json", "people.txt", "--seed", "1", "-o", "counts.json")
    text = run(
        *("discover", "counts.json", "--alphabet", "aelnou"),
        *("--next", "again.json", "--epsilon", "1"),
    )
    assert "A survey of these strings is in again.json" in text
    labels = Survey.from_json(Path("again.json").read_text())["pet"].labels
    assert set(labels) == {"luna", "leo", "(other)"}
    Path("answers.txt").write_text("luna\nbello\n")
    refused = CliRunner().invoke(main, ["encode", "again.json", "answers.txt", "-o", "r.bin"])
    assert "name a label for such answers with --unknown" in refused.output
    said = run("encode", "again.json", "answers.txt", "--unknown", "(other)", "-o", "r.bin")
    assert said.startswith("2 reports of 1 byte to 'pet'")
