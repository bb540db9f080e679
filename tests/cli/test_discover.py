"""Strings that nobody listed, from a file of counts to a survey that asks again."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import murmurs as mm
from murmurs import Survey
from murmurs.cli import main
from murmurs.cli.progress import progress_bar
from murmurs.files.counts import write_counts

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
    assert "Its labels of 4 letters may be only beginnings: whoever holds a longer" in text
    labels = Survey.from_json(Path("again.json").read_text())["pet"].labels
    assert set(labels) == {"luna", "leo", "(other)"}
    Path("answers.txt").write_text("luna\nbello\n")
    refused = CliRunner().invoke(main, ["encode", "again.json", "answers.txt", "-o", "r.bin"])
    assert "name a label for such answers with --unknown" in refused.output
    said = run("encode", "again.json", "answers.txt", "--unknown", "(other)", "-o", "r.bin")
    assert said.startswith("2 reports of 1 byte to 'pet'")


@pytest.fixture
def counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    asked = mm.Dictionary(epsilon=4.0, longest=4, alphabet="aemt", name="drink")
    drawn = asked.simulate({"tea": 3000, "mate": 2000}, np.random.default_rng(1))
    write_counts(Path("counts.json"), mm.Survey("s", (asked,)), asked, drawn)
    return "counts.json"


@pytest.mark.parametrize("form", ["", "--json", "--csv"])
def test_a_next_survey_on_standard_output_stands_alone(counts: str, form: str) -> None:
    line = ["discover", counts, "--alphabet", "aemt", "--next", "-", "--epsilon", "1"]
    result = CliRunner().invoke(main, [*line, *form.split()])
    assert result.exit_code == 0, result.output
    survey = json.loads(result.stdout)
    assert survey["questions"][0]["labels"] == ["tea", "mate", "(other)"]
    assert "tea" in result.stderr


def test_a_next_survey_replaces_no_other_survey(counts: str) -> None:
    first = mm.Survey("s", (mm.Question("q", ["a", "b"], epsilon=1.0),)).to_json()
    Path("s.json").write_text(first)
    line = ["discover", counts, "--alphabet", "aemt", "--next", "s.json", "--epsilon", "1"]
    result = CliRunner().invoke(main, line)
    assert result.exit_code == 2
    assert "s.json holds version 1 of survey 's'" in result.stderr
    assert Path("s.json").read_text() == first


def test_programs_read_the_summary_too(counts: str) -> None:
    found = json.loads(run("discover", counts, "--alphabet", "aemt", "--json"))
    assert found["summary"].startswith("2 strings found; at most a 5 % chance")


def test_no_survey_is_written_if_the_picture_cannot_be(counts: str) -> None:
    line = ["discover", counts, "--alphabet", "aemt", "--next", "n.json", "--epsilon", "1"]
    result = CliRunner().invoke(main, [*line, "--plot", "missing/n.png"])
    assert result.exit_code != 0
    assert not Path("n.json").exists()


def test_estimates_of_a_dictionary_point_to_discover(counts: str) -> None:
    result = CliRunner().invoke(main, ["estimate", counts])
    assert result.exit_code == 2
    assert (
        "run murmurs discover; to look for strings of your own, add --candidates" in result.stderr
    )


def test_ngrams_go_from_a_survey_file_to_a_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pets.toml").write_text(PETS.replace("epsilon = 4.0", 'method = "ngrams", epsilon = 24.0'))
    Path("answers.txt").write_text("luna\nleo\n" * 1500)
    assert "NGrams" in run("publish", "pets.toml", "-o", "pets.json")
    run("encode", "pets.json", "answers.txt", "--seed", "1", "-o", "reports.bin")
    run("count", "pets.json", "reports.bin", "-o", "counts.json")
    text = run(
        *("discover", "counts.json", "--survey", "pets.json", "--alphabet", "aelnou"),
        *("--plot", "found.png"),
    )
    assert "2 strings found; at most a 5 % chance that any of them is false." in text
    assert Path("found.png").read_bytes().startswith(b"\x89PNG")
    Path("similar.txt").write_text("lea\n")
    line = ["discover", "counts.json", "--alphabet", "aelnou", "--corpus", "similar.txt"]
    refused = CliRunner().invoke(main, line)
    assert "a corpus is for prefixes; n-grams have none: leave it out" in refused.output


def test_a_bar_shows_progress_on_a_terminal_only(
    counts: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress_bar("searching") as nothing:
        assert nothing is None
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with progress_bar("searching") as show:
        assert show is not None
        show(1, 4)
        show(4, 4)
    assert "searching" in capsys.readouterr().err


def test_a_picture_is_drawn_if_nothing_was_found(counts: str) -> None:
    text = run("discover", counts, "--alphabet", "xyz", "--plot", "none.png")
    assert "No string was found." in text
    assert Path("none.png").exists()
