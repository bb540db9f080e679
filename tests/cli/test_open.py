"""Open questions on the command line: strings in, candidates looked for, nothing half-done."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from murmurs import Survey
from murmurs.files.candidates import read_candidates
from murmurs.files.counts import read_counts
from tests.cli.test_cli import good, run

TOML = """
name = "pages"
[[questions]]
name = "home"
text = "What is your home page?"
mechanism = {name = "ORR", epsilon = 4.0, width = 32, cohorts = 16}
"""
PEOPLE = {"https://example.org": 6000, "https://z\u00fcrich.example": 3000, "about:blank": 1000}


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pages.toml").write_text(TOML)
    (tmp_path / "pages.json").write_text(Survey.from_toml(TOML).to_json())
    answers = [text for text, people in PEOPLE.items() for _ in range(people)]
    (tmp_path / "answers.txt").write_text("\n".join(answers) + "\n", encoding="utf-8")
    (tmp_path / "people.csv").write_text(
        "".join(f"{text},{people}\n" for text, people in PEOPLE.items()), encoding="utf-8"
    )
    (tmp_path / "candidates.txt").write_text(
        "https://example.org\nhttps://nobody.example\nhttps://zu\u0308rich.example\n",
        encoding="utf-8",
    )
    return tmp_path


def counted(way: str) -> None:
    if way == "encode":
        good("encode pages.json answers.txt --seed 3 -o reports.bin")
        good("count pages.json reports.bin -o counts.json")
    else:
        good("simulate pages.json people.csv --seed 3 -o counts.json")


@pytest.mark.parametrize("way", ["encode", "simulate"])
def test_strings_are_encoded_counted_and_found(desk: Path, way: str) -> None:
    """Shares within five standard errors: a false alarm in 4e5 runs, for each of four."""
    counted(way)
    document = json.loads(good("estimate counts.json --candidates candidates.txt --json"))
    assert document["labels"][-1] == "(other)"
    truth = {"https://example.org": 0.6, "https://nobody.example": 0.0, "(other)": 0.1}
    for label, share, error in zip(
        document["labels"], document["shares"], document["unbiased_errors"], strict=True
    ):
        assert abs(share - truth.get(label, 0.3)) < 5 * error
        assert error < 0.03
    text = good("estimate counts.json --candidates candidates.txt")
    assert "2 of 3 candidates detected; at most a 5 % chance" in text
    assert "https://z\u00fcrich.example" in text
    # Without normalisation the decomposed candidate would be another string, and nobody's.
    result = run("estimate counts.json --candidates candidates.txt")
    assert "line 3: 'https://zu\u0308rich.example' is used in its normal form" in result.stderr


def test_an_open_question_is_published(desk: Path) -> None:
    text = good("publish pages.toml -o again.json")
    assert "any" in text
    assert Survey.from_json((desk / "again.json").read_text()) == Survey.from_toml(TOML)
    counted("simulate")
    question, counts = read_counts(desk / "counts.json")
    assert question.is_open
    assert counts.n == 10_000


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"tea\n\nmate\ntea\n", "2 of 4 strings cannot be taken: line 2: it is empty; line 4: "),
        (b"tea\nma\xffte\n", "line 2: it is not UTF-8 (invalid start byte at byte 3)"),
        ("Z\u00fcrich\nZu\u0308rich\n".encode(), "is the same as line 1"),
        (b"", "has no strings: it should have one per line"),
        (b"tea\n(other)\n", "line 2: '(other)' stands for all strings that are not listed"),
        (b"x\n" * 9, "line 6: 'x' is the same as line 1; and 3 more"),
    ],
)
def test_a_bad_list_of_candidates_is_refused_by_line(
    desk: Path, content: bytes, words: str
) -> None:
    counted("simulate")
    (desk / "bad.txt").write_bytes(content)
    result = run("estimate counts.json --candidates bad.txt --plot plot.png")
    assert result.exit_code == 2
    assert words in result.stderr
    assert not (desk / "plot.png").exists()


def test_lines_may_end_as_on_windows_and_begin_with_a_mark(desk: Path) -> None:
    (desk / "list.txt").write_bytes(b"\xef\xbb\xbftea\r\nmate\r\n")
    assert read_candidates(desk / "list.txt") == (("tea", "mate"), [])


@pytest.mark.parametrize(
    ("line", "text", "words"),
    [
        ("encode pages.json - -o r.bin", "tea\n\nmate\n", "line 2: the answer is missing"),
        ("estimate counts.json", None, "question 'home' is open: add --candidates"),
        ("simulate pages.json - -o c.json", "tea,3\n,4\n", "line 2: an answer to an open question"),
    ],
)
def test_what_is_missing_is_told(desk: Path, line: str, text: str | None, words: str) -> None:
    counted("simulate")
    result = run(line, text)
    assert result.exit_code == 2
    assert words in result.stderr
    assert not (desk / "r.bin").exists()
    assert not (desk / "c.json").exists()


def test_a_closed_question_takes_no_candidates(desk: Path) -> None:
    closed = TOML.replace("ORR", "KRR").replace(", width = 32, cohorts = 16", "")
    (desk / "c.toml").write_text(closed + 'labels = ["a", "b"]\n')
    good("simulate c.toml - --seed 1 -o c.json", "a,30\nb,20\n")
    result = run("estimate c.json --candidates candidates.txt")
    assert result.exit_code == 2
    assert "question 'home' has labels: it takes no --candidates" in result.stderr
    assert "it takes no --complete" in run("estimate c.json --complete").stderr


def test_candidates_with_blanks_at_an_end_get_a_note(desk: Path) -> None:
    counted("simulate")
    (desk / "blanks.txt").write_text("https://example.org \n\ttea\nno note\n")
    result = run("estimate counts.json --candidates blanks.txt --csv")
    assert result.exit_code == 0
    end = "begins or ends with a blank, which is part of the string"
    assert result.stderr.splitlines() == [
        f"blanks.txt, line 1: 'https://example.org ' {end}",
        f"blanks.txt, line 2: '\\ttea' {end}",
    ]
    (desk / "answers.txt").write_text("https://example.org \n")  # answers are not looked at
    assert not run("encode pages.json answers.txt -o r.bin").stderr


def test_a_complete_list_has_no_others(desk: Path) -> None:
    counted("simulate")
    (desk / "all.txt").write_text("\n".join(PEOPLE), encoding="utf-8")
    document = json.loads(good("estimate counts.json --candidates all.txt --complete --json"))
    assert document["labels"] == list(PEOPLE)
    assert sum(document["shares"]) == pytest.approx(1.0)
    text = good("estimate counts.json --candidates all.txt --complete")
    assert "3 of 3 candidates detected; at most a 5 % chance" in text
    assert text.endswith("(Bonferroni), if the list is complete.\n")
    with_others = json.loads(good("estimate counts.json --candidates all.txt --json"))
    assert with_others["labels"][-1] == "(other)"


def test_without_scipy_shares_are_told_all_the_same(
    desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted("simulate")
    monkeypatch.setitem(sys.modules, "scipy.special", None)
    text = good("estimate counts.json --candidates candidates.txt")
    assert "https://example.org" in text
    assert "Candidates were not tested: tests of hypotheses need SciPy: install it with pip" in text


def test_labels_of_an_open_question_are_its_candidates() -> None:
    question = Survey.from_toml(TOML + 'labels = ["a", "b"]\n').questions[0]
    assert question.is_open
    counts = question.simulate({"a": 6000, "b": 3000, "c": 1000}, np.random.default_rng(1))
    assert question.estimate(counts).labels == ("a", "b", "(other)")


def test_very_many_candidates_are_taken(desk: Path) -> None:
    counted("simulate")
    rng = np.random.default_rng(1)
    names = [*(f"https://{x}.example" for x in rng.permutation(5000)), *PEOPLE]
    (desk / "many.txt").write_text("\n".join(names) + "\n", encoding="utf-8")
    text = good("estimate counts.json --candidates many.txt")
    assert "Estimator: selection" in text
    assert "3 of 5,003 candidates detected; at most a 5 % chance" in text
    assert "… and 4,964 more" in text


def test_it_is_said_in_words_that_no_candidate_was_found(desk: Path) -> None:
    """Each of three absent candidates is found with a chance of 5 % / 3; the seed is fixed."""
    good("simulate pages.json people.csv --seed 3 -o counts.json")
    (desk / "absent.txt").write_text("https://a.example\nhttps://b.example\nhttps://c.example\n")
    text = good("estimate counts.json --candidates absent.txt")
    assert text.endswith("None of 3 candidates was detected.\n")
    assert "Found" not in text
