"""Strings that nobody listed, on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import murmurs as mm
from murmurs.cli import main
from murmurs.files.counts import write_counts


@pytest.fixture
def counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    asked = mm.Dictionary(epsilon=4.0, longest=4, alphabet="aemt", name="drink")
    drawn = asked.simulate({"tea": 3000, "mate": 2000}, np.random.default_rng(1))
    write_counts(Path("counts.json"), mm.Survey("s", (asked.question,)), asked.question, drawn)
    return "counts.json"


@pytest.mark.parametrize("form", ["", "--json", "--csv"])
def test_a_next_survey_on_standard_output_stands_alone(counts: str, form: str) -> None:
    line = ["discover", counts, "--alphabet", "aemt", "--next", "-", "--epsilon", "1"]
    result = CliRunner().invoke(main, [*line, *form.split()])
    assert result.exit_code == 0, result.output
    survey = json.loads(result.stdout)
    assert survey["questions"][0]["labels"] == ["tea", "mate", "(other)"]
    assert "tea" in result.stderr


def test_no_survey_is_written_if_the_picture_cannot_be(counts: str) -> None:
    line = ["discover", counts, "--alphabet", "aemt", "--next", "n.json", "--epsilon", "1"]
    result = CliRunner().invoke(main, [*line, "--plot", "missing/n.png"])
    assert result.exit_code != 0
    assert not Path("n.json").exists()
