"""Questions asked together, from a file of answers to a table, on the command line."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from murmurs import Joint, Survey
from murmurs.cli import main
from murmurs.files.counts import read_counts
from murmurs.files.reports import read_reports

QUESTIONS = """
name = "coffee"
[[questions]]
name = "drink"
labels = ["tea", "mate", "water"]
mechanism = {name = "KRR", epsilon = 40.0}
[[questions]]
name = "sugar"
labels = ["yes", "no"]
mechanism = {name = "KRR", epsilon = 40.0}
"""
WORD = """
[[questions]]
name = "word"
mechanism = {name = "ORR", epsilon = 4.0, width = 16, cohorts = 8}
"""
CHEATED = """
[[questions]]
name = "cheated"
mechanism = {name = "Crosswise", p = "1/4"}
"""
ASKED_ALL = QUESTIONS + '[[joint]]\nquestions = ["drink", "sugar"]\n'
OPEN = QUESTIONS + WORD + '[[joint]]\nquestions = ["word", "sugar"]\n'
PAPER = QUESTIONS + CHEATED + '[[joint]]\nquestions = ["cheated", "sugar"]\n'
TRUTH = {("tea", "yes"): 60, ("tea", "no"): 20, ("mate", "no"): 50, ("water", "yes"): 70}


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with surveys, and the same answers in several formats."""
    monkeypatch.chdir(tmp_path)
    for name, text in (
        ("coffee.toml", ASKED_ALL),
        ("once.toml", ASKED_ALL + "once = true\n"),
        ("single.toml", QUESTIONS),
        ("open.toml", OPEN),
        ("paper.toml", PAPER),
    ):
        Path(name).write_text(text)
    rows = [pair for pair, n in TRUTH.items() for _ in range(n)]
    frame = pd.DataFrame(rows, columns=["drink", "sugar"])
    frame["region"] = np.where(np.arange(len(frame)) % 4 == 0, "south", "north")
    frame["word"] = frame["drink"].replace("water", "juice")
    frame = frame[["region", "sugar", "word", "drink"]]
    frame.to_csv("answers.csv", index=False)
    frame.to_csv("answers.tsv", index=False, sep="\t")
    frame.to_parquet("answers.parquet", index=False)
    frame.to_json("answers.jsonl", orient="records", lines=True)
    return tmp_path


def run(line: str) -> Any:
    return CliRunner().invoke(main, shlex.split(line))


def good(line: str) -> str:
    result = run(line)
    assert result.exit_code == 0, result.output
    return str(result.stdout)


def refused(line: str) -> str:
    result = run(line)
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("Error: ")
    assert not Path("out.bin").exists()
    assert not Path("out.json").exists()
    return str(result.stderr)


def table_of(path: str) -> dict[tuple[str, str], int]:
    """The table of counts of a question that is nearly without noise."""
    joint, counts = read_counts(path)
    assert isinstance(joint, Joint)
    cells = counts.cells.reshape(joint.sizes)
    labels = [question.labels for question in joint.questions]
    return {(labels[0][i], labels[1][j]): int(n) for (i, j), n in np.ndenumerate(cells) if n}


@pytest.mark.parametrize("survey", ["coffee.toml", "once.toml"])
@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "jsonl"])
def test_columns_with_the_names_of_the_questions_become_one_report(
    kind: str, survey: str, desk: Path
) -> None:
    assert "200 reports" in good(f"encode {survey} answers.{kind} -o out.bin --seed 1")
    asked, parts = read_reports("out.bin", Survey.from_toml(Path(survey).read_text()))
    assert isinstance(asked, Joint)
    assert sum(len(part) for part in parts) == 200
    good(f"count {survey} out.bin -o out.json")
    assert table_of("out.json") == TRUTH
    text = good("joint out.json")
    assert "drink ╲ sugar" in text
    assert "The answers go together: p < 1e-6" in text
    assert "Cramér's V is" in text


def test_segments_have_their_own_tables(desk: Path) -> None:
    good("encode coffee.toml answers.csv --by region -o out.bin --seed 1")
    for region in ("north", "south"):
        good(f"count coffee.toml out-{region}.bin -o {region}.json")
    good("add north.json south.json -o all.json")
    assert table_of("all.json") == TRUTH
    change = good("compare north.json south.json --names north south")
    assert "tea × yes" in change
    assert "north minus south, overall test" in change
    assert "tea × yes" in good("trend north.json south.json --groups")
    assert "Estimator: joint" in good("estimate all.json")


def test_reports_of_a_column_are_counted(desk: Path) -> None:
    survey = Survey.from_toml(ASKED_ALL)
    frame = pd.read_csv("answers.csv")
    frame["report"] = [list(r) for r in zip([0] * 200, [1] * 200, strict=True)]
    frame.to_csv("reports.csv", index=False)
    good("count coffee.toml reports.csv --column report --by region -o out.json")
    assert table_of("out-north.json") == {("tea", "no"): 150}
    assert survey.joints[0].name == read_counts("out-south.json")[0].name


def test_files_of_single_questions_with_aligned_rows_give_the_same_table(desk: Path) -> None:
    for name in ("drink", "sugar"):
        good(f"encode single.toml answers.csv --question {name} --column {name} -o {name}.bin")
    text = good("joint single.toml drink.bin sugar.bin -o out.json")
    assert "drink × sugar\n200 reports\n" in text
    assert table_of("out.json") == TRUTH
    assert read_counts("out.json", Survey.from_toml(QUESTIONS))[1].n == 200
    assert good("joint out.json").splitlines()[2:] == text.splitlines()[2:]


def test_files_that_are_not_aligned_are_refused(desk: Path) -> None:
    good("encode single.toml answers.csv --question drink --column drink -o drink.bin")
    Path("few.csv").write_text("sugar\nyes\n")
    good("encode single.toml few.csv --question sugar --column sugar -o few.bin")
    message = refused("joint single.toml drink.bin few.bin -o out.json")
    assert "'drink' has more reports than 'sugar', which has 1: one submission is one" in message
    assert "is there twice" in refused("joint single.toml drink.bin drink.bin")
    assert "drink.bin alone is not enough" in refused("joint single.toml drink.bin")
    assert "fingerprint" in refused("joint open.toml drink.bin few.bin")
    good("encode coffee.toml answers.csv -o both.bin")
    assert "run murmurs count" in refused("joint coffee.toml both.bin both.bin")
    line = "joint single.toml drink.bin drink.bin"
    assert "'drink' is there twice" in refused(line)
    good("count coffee.toml both.bin -o both.json")
    message = refused("joint both.json --question sugar --question drink")
    assert "in which they were asked: give --question drink --question sugar" in message


def test_single_counts_are_refused_with_the_way_out(desk: Path) -> None:
    Path("people.csv").write_text("tea,5\n")
    good("simulate single.toml people.csv --question drink -o one.json")
    assert "murmurs estimate shows its shares" in refused("joint one.json")


def test_programs_get_json_and_csv_and_a_picture(desk: Path) -> None:
    Path("people.csv").write_text("".join(f"{a},{b},{n}\n" for (a, b), n in TRUTH.items()))
    good("simulate coffee.toml people.csv -o out.json --seed 1")
    assert table_of("out.json") == TRUTH
    document = json.loads(good("joint out.json --json --level 0.9 --target respondents"))
    assert document["association"]["p_value"] < 1e-6
    assert document["cramers_v"]["level"] == 0.9
    assert document["questions"][0]["name"] == "drink"
    lines = good("joint out.json --csv --estimator unbiased").splitlines()
    assert lines[0].startswith("drink,sugar,share,low,high")
    assert len(lines) == 7
    good("joint out.json --plot table.png")
    assert Path("table.png").read_bytes().startswith(b"\x89PNG")


def test_what_cannot_be_tested_is_null(desk: Path) -> None:
    labels = json.dumps([f"label {i}" for i in range(40)])
    question = "[[questions]]\nname = '{}'\nlabels = {}\nepsilon = 1.0\n"
    asked = question.format("a", labels) + question.format("b", labels)
    joint = "[[joint]]\nquestions = ['a', 'b']\nonce = true\n"
    Path("large.toml").write_text(f"name = 'large'\n{asked}{joint}")
    Path("people.csv").write_text("label 1,label 2,5000\n")
    good("simulate large.toml people.csv -o large.json --seed 1")
    document = json.loads(good("joint large.json --json"))
    assert document["association"] is None
    assert document["cramers_v"] is None
    assert len(document["shares"]) == 1600
    assert "-o is for counts of reports" in refused("joint large.json -o out.json")


def test_some_of_the_questions_have_a_table_of_their_own(desk: Path) -> None:
    milk = QUESTIONS.partition('[[questions]]\nname = "sugar"')
    third = f"{milk[1]}{milk[2]}".replace("sugar", "milk")
    both = '[[joint]]\nquestions = ["drink", "sugar", "milk"]\n'
    Path("people.csv").write_text("tea,yes,yes,300\ntea,no,no,200\nmate,no,yes,500\n")
    for text in (both, both + "once = true\n"):
        Path("three.toml").write_text(QUESTIONS + third + text)
        good("simulate three.toml people.csv --question drink+sugar+milk -o three.json --seed 1")
        shown = good("joint three.json --question drink --question milk --plot milk.png")
        assert shown.startswith("drink × milk\n1,000 reports\n\ndrink ╲ milk")
        assert re.search(r"^tea .*30\.0+.*20\.0+.*50\.0+$", shown, re.MULTILINE)
        assert Path("milk.png").exists()
        Path("milk.png").unlink()
        document = json.loads(good("joint three.json --question drink --question milk --json"))
        assert len(document["shares"]) == 6
        assert "needs two or more" in refused("joint three.json --question milk")
        said = refused("joint three.json --question milk --question honey")
        assert "there is no question 'honey'; there are 'drink', 'sugar', 'milk'" in said
        Path("three.json").unlink()
    Path("three.toml").write_text(QUESTIONS + third + both)
    good("simulate three.toml people.csv --question drink+sugar+milk -o three.json --seed 1")
    line = "joint three.json --question drink --question milk --estimator em"
    assert "Estimator: em." in good(line)


def test_open_questions_take_a_list_each(desk: Path) -> None:
    good("encode open.toml answers.csv --question word+sugar -o word.bin --seed 2")
    good("count open.toml word.bin -o word.json")
    Path("words.txt").write_text("tea\nmate\n")
    text = good("joint word.json --candidates word=words.txt --estimator unbiased")
    rows = re.findall(r"^(tea|mate|\(other\)) ", text, re.MULTILINE)
    assert rows == ["tea", "mate", "(other)"]
    assert "add --candidates word=FILE" in refused("joint word.json")
    assert "give it as NAME=FILE" in refused("joint word.json --candidates words.txt")
    assert "murmurs joint takes a list" in refused("estimate word.json --candidates words.txt")
    Path("people.csv").write_text("tea,yes,500\nmate,no,300\n")
    good("simulate open.toml people.csv --question word+sugar -o drawn.json --seed 1")
    assert read_counts("drawn.json")[1].n == 800


def test_answers_randomised_on_paper_are_counted_together(desk: Path) -> None:
    Path("paper.csv").write_text("cheated,sugar\nsame,yes\ndifferent,no\n,no\nsame,odd\n")
    line = "count paper.toml paper.csv --question cheated+sugar --reported -o out.json"
    assert "line 4: the answer to 'cheated' is missing" in refused(line)
    assert "line 5: this is not an answer to 'sugar'" in refused(f"{line} --drop-missing")
    good(f"{line} --drop-missing --unknown sugar=no")
    assert table_of("out.json") == {("yes", "yes"): 1, ("yes", "no"): 1, ("no", "no"): 1}


REFUSED = [
    ("encode coffee.toml answers.csv --column drink -o out.bin", "leave --column out"),
    ("encode coffee.toml answers.csv --no-header -o out.bin", "leave --no-header out"),
    ("encode coffee.toml answers.txt -o out.bin", "2 questions are a column each"),
    (
        "encode coffee.toml few.csv -o out.bin",
        "no column called 'drink' among the 1 of its first line: correct the name, or name a",
    ),
    ("encode coffee.toml bad.csv -o out.bin", "line 3: this is not an answer to 'drink'"),
    ("encode coffee.toml gaps.csv -o out.bin", "line 2: the answer to 'sugar' is missing"),
    ("encode coffee.toml gaps.csv --missing no -o out.bin", "give it as NAME=LABEL"),
    (
        "encode coffee.toml gaps.csv --missing sugar=no --missing sugar=yes -o out.bin",
        "once for each of 'drink', 'sugar'",
    ),
    ("encode coffee.toml gaps.csv --unknown sugar=odd -o out.bin", "--unknown: this is not"),
    (
        "encode single.toml answers.csv --question sugar --column sugar --missing no --missing yes "
        "-o out.bin",
        "--missing is given twice",
    ),
    ("encode open.toml answers.csv -o out.bin", "one of drink, sugar, word, word+sugar"),
    ("encode coffee.toml answers.csv --by drink -o out.bin", "segments must be by another column"),
    ("simulate coffee.toml single.csv -o out.json", "'tea,5' is not drink,sugar,number"),
    ("simulate coffee.toml wrong.csv -o out.json", "'chai' is not an answer to 'drink'"),
    ("simulate coffee.toml nobody.csv -o out.json", "there is nobody to simulate"),
]


@pytest.mark.parametrize(("line", "rule"), REFUSED, ids=[rule for _, rule in REFUSED])
def test_what_does_not_fit_is_refused_and_not_quoted(line: str, rule: str, desk: Path) -> None:
    for name, text in (
        ("few.csv", "sugar\nyes\n"),
        ("bad.csv", "drink,sugar\ntea,yes\nsecret,no\n"),
        ("gaps.csv", "drink,sugar\ntea,\nmate,no\n"),
        ("answers.txt", "tea\n"),
        ("single.csv", "tea,5\n"),
        ("wrong.csv", "chai,yes,5\n"),
        ("nobody.csv", "tea,yes,0\n"),
    ):
        Path(name).write_text(text)
    message = refused(line)
    assert rule in message
    assert "secret" not in message


def test_rows_with_gaps_are_left_out_or_filled(desk: Path) -> None:
    Path("gaps.csv").write_text("drink,sugar\ntea,\nmate,no\n,yes\nodd,yes\n")
    line = "encode coffee.toml gaps.csv --drop-missing --unknown drink=water"
    good(f"{line} -o few.bin")
    good("count coffee.toml few.bin -o few.json")
    assert table_of("few.json") == {("mate", "no"): 1, ("water", "yes"): 1}
    good(f"{line} --missing sugar=no -o more.bin")
    good("count coffee.toml more.bin -o more.json")
    assert table_of("more.json")["tea", "no"] == 1


def test_a_published_survey_tells_what_the_reports_together_reveal(desk: Path) -> None:
    text = good("publish coffee.toml -o coffee.json")
    row = next(line for line in text.splitlines() if line.startswith("drink+sugar"))
    assert row.split()[:4] == ["drink+sugar", "6", "Product", "80"]
    assert "drink and sugar are reported together, as drink+sugar: do not ask for their own" in text
    assert "together" not in good("publish single.toml -o single.json")
