"""A word that is mistyped is answered with the nearest one that is known."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from murmurs.cli import main

TOML = """
name = "coffee"
[[questions]]
name = "drink"
labels = ["espresso", "tea"]
epsilon = 1.0
[[questions]]
name = "cups"
labels = ["1", "2"]
epsilon = 1.0
"""


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("estmate counts.json", "there is no command 'estmate': did you mean 'estimate'?"),
        ("Trend a b", "there is no command 'Trend': did you mean 'trend'?"),
        ("store exprt x", "there is no command 'exprt': did you mean 'export'?"),
        (
            "estimate c.json --method em",
            "No such option '--method'. Did you mean '--estimator'?",
        ),
        ("estimate c.json --confidence .9", "option '--confidence'. Did you mean '--level'?"),
        ("mechanisms --people 9", "No such option '--people'. Did you mean '--respondents'?"),
        ("rappor decod", "there is no command 'decod': did you mean 'decode'?"),
        ("token crate x", "there is no command 'crate': did you mean 'create'?"),
        ("frobnicate", "there is no command 'frobnicate'\n"),
        ("estimate c.json --estmator em", "Did you mean '--estimator'?"),
        ("estimate c.json --estimator simplx", "did you mean 'simplex'?"),
        ("study d.txt --epsilon 1 --mechanism krr", "did you mean 'KRR'?"),
        ("trend c.json c.json --people sames", "did you mean 'same'?"),
        ("encode s.toml a.txt --question drnk -o r.bin", "'cups': did you mean 'drink'?"),
        ("count s.toml a.txt --question cup --reported -o c.json", "did you mean 'cups'?"),
        ("publish bad.toml -o s.json", "did you mean 'labels'?"),
    ],
)
def test_the_nearest_word_is_named(
    line: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "s.toml": TOML,
        "bad.toml": TOML.replace("labels", "lables"),
        "a.txt": "tea\n",
        "d.txt": "tea\nespresso\n",
        "c.json": "{}",
    }.items():
        Path(name).write_text(text)
    result = CliRunner().invoke(main, shlex.split(line))
    assert result.exit_code == 2
    assert message in result.output


def test_what_is_like_nothing_known_is_told_without_a_guess(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(TOML)
    Path("a.txt").write_text("tea\n")
    line = "encode s.toml a.txt --question weather -o r.bin"
    result = CliRunner().invoke(main, shlex.split(line))
    assert result.output.endswith("has no question 'weather'; it has 'drink', 'cups'\n")
