"""Comparing files of counts: the numbers of the library, and refusals in one sentence."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

import murmurs as mm
from murmurs import Question, Survey
from murmurs.files.counts import read_counts, write_counts
from murmurs.files.segments import segments_of
from tests.cli.test_cli import SURVEY, TOML, desk, good, refused, run

__all__ = ["desk"]  # the fixture of the other file

OPEN = """
name = "pages"
[[questions]]
name = "home"
mechanism = {name = "ORR", epsilon = 4.0, width = 32, cohorts = 64}
"""
PAGES = Survey.from_toml(OPEN)


@pytest.fixture(autouse=True)
def weeks(desk: Path) -> None:
    """Three weeks in which the second answer gains, and two files of an open question."""
    question, rng = SURVEY.questions[0], np.random.default_rng(1)
    for number, people in enumerate(
        ([4000, 1000, 500, 500], [4000, 1000, 500, 500], [3000, 2000, 500, 500])
    ):
        counts = question.closed.simulate(people, rng)
        write_counts(desk / f"week{number + 1}.json", SURVEY, question, counts)
    home = PAGES.questions[0]
    for name, held in (("home1", (3000, 2000)), ("home2", (1000, 4000))):
        write_counts(
            desk / f"{name}.json",
            PAGES,
            home,
            home.simulate(dict(zip("ab", held, strict=True)), rng),
        )
    (desk / "candidates.txt").write_text("a\nb\nc\n")


def estimate_of(path: Path) -> mm.Estimate:
    question, counts = read_counts(path)
    return question.estimate(counts)


@pytest.mark.parametrize("target", ["population", "respondents"])
def test_compare_prints_the_difference_of_the_library(desk: Path, target: str) -> None:
    this, other = (estimate_of(desk / f"week{number}.json") for number in (3, 1))
    wanted = this.difference(other, target)  # type: ignore[arg-type]
    line = f"compare week3.json week1.json --target {target} --level 0.9"
    document = json.loads(good(f"{line} --json"))
    assert document["question"] == "drink"
    assert document["n"] == {"this": 6000, "other": 6000}
    assert {key: document[key] for key in wanted.to_document(0.9)} == wanted.to_document(0.9)
    assert good(f"{line} --csv") == wanted.to_csv(0.9)
    text = good(line)
    assert "drink?\nweek3.json (6,000 reports) minus week1.json (6,000 reports)\n" in text
    assert wanted.table(level=0.9) in text
    assert wanted.conclusion in text


def test_trend_prints_the_trend_of_the_library(desk: Path) -> None:
    wanted = mm.trend(
        [estimate_of(desk / f"week{number}.json") for number in (1, 2, 3)],
        ["week1", "week2", "week3"],
    )
    line = "trend week1.json week2.json week3.json"
    document = json.loads(good(f"{line} --level 0.8 --json"))
    assert document == {"question": "drink", **wanted.to_document(0.8)}
    assert good(f"{line} --csv") == wanted.to_csv()
    text = good(line)
    assert text.startswith("What do you drink?\n18,000 reports in 3 files\n")
    assert wanted.table() in text
    assert wanted.conclusion in text


def test_options_of_trend_act(desk: Path) -> None:
    line = "trend week1.json week3.json --json"
    plain = json.loads(good(line))
    assert (plain["people"], plain["target"]) == ("different", "population")
    assert json.loads(good(f"{line} --names 'before, after'"))["periods"] == ["before", "after"]
    same = json.loads(good(f"{line} --people same"))
    assert (same["people"], same["target"]) == ("same", "respondents")
    assert same["p_value"] < plain["p_value"]
    both = json.loads(good(f"{line} --people same --target population"))
    assert both["p_value"] == plain["p_value"]
    assert "new sample" in both["notes"][0]
    assert "Note: the same people are treated" in good(
        "trend week1.json week3.json --people same --target population"
    )


def test_files_of_one_name_in_two_folders_are_told_apart(desk: Path) -> None:
    (desk / "other").mkdir()
    (desk / "other" / "week1.json").write_bytes((desk / "week3.json").read_bytes())
    document = json.loads(good("trend week1.json other/week1.json --json"))
    assert document["periods"] == ["week1.json", str(Path("other/week1.json"))]


@pytest.mark.parametrize(
    "line",
    [
        "compare week3.json week1.json",
        "trend week1.json week2.json week3.json",
        "trend week1.json week2.json --groups",
    ],
)
def test_pictures_are_saved_and_the_table_still_comes(line: str, desk: Path) -> None:
    plain = good(line.removesuffix(" --groups"))
    assert good(f"{line} --plot a.png") == plain
    assert (desk / "a.png").read_bytes().startswith(b"\x89PNG")


def test_groups_are_drawn_as_marks_instead_of_lines(desk: Path) -> None:
    good("trend week1.json week2.json --plot lines.svg")
    good("trend week1.json week2.json --plot marks.svg --groups")
    assert (desk / "lines.svg").read_text() != (desk / "marks.svg").read_text()


@pytest.mark.parametrize("command", ["compare", "trend"])
def test_an_open_question_needs_candidates(command: str, desk: Path) -> None:
    line = f"{command} home1.json home2.json"
    assert "add --candidates" in refused(line, desk)
    document = json.loads(good(f"{line} --candidates candidates.txt --json"))
    labels = document["answer" if command == "compare" else "labels"]
    assert sorted(labels) == ["(other)", "a", "b", "c"]
    assert document["p_value"] < 1e-6
    complete = json.loads(good(f"{line} --candidates candidates.txt --complete --json"))
    assert "(other)" not in complete["answer" if command == "compare" else "labels"]
    assert "it takes no --candidates" in refused(
        f"{command} week1.json week2.json --candidates candidates.txt", desk
    )


@pytest.mark.parametrize("command", ["compare", "trend"])
def test_another_survey_is_compared_with_a_note_if_the_answers_agree(
    command: str, desk: Path
) -> None:
    survey = Survey.from_toml(TOML.replace("epsilon = 1.0", "epsilon = 3.0"))
    question = survey.questions[0]
    counts = question.closed.simulate([4000, 1000, 500, 500], np.random.default_rng(2))
    write_counts(desk / "later.json", survey, question, counts)
    result = run(f"{command} week1.json later.json --json")
    assert result.exit_code == 0
    assert "later.json belongs to another survey than week1.json" in result.stderr
    assert json.loads(result.stdout)["p_value"] > 1e-7
    assert "another survey" not in run(f"{command} week1.json week2.json").stderr


@pytest.mark.parametrize("command", ["compare", "trend"])
@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('"filter", "tea"', '"tea", "filter"', "have different lists of answers to 'drink'"),
        ('name = "drink"', 'name = "drinks"', "answers 'drinks' and week1.json 'drink'"),
    ],
)
def test_another_question_is_refused(
    command: str, old: str, new: str, sentence: str, desk: Path
) -> None:
    survey = Survey.from_toml(TOML.replace(old, new))
    question = survey.questions[0]
    counts = question.closed.simulate([10, 10, 10, 10], np.random.default_rng(2))
    write_counts(desk / "later.json", survey, question, counts)
    assert sentence in refused(f"{command} week1.json later.json", desk)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("trend week1.json", "at least two files of counts: for one, run murmurs estimate"),
        ("trend week1.json week2.json --names a", "--names has 1 name for 2 files"),
        ("trend week1.json week2.json --names a,b,c", "--names has 3 names for 2 files"),
        ("trend week1.json week2.json --names a,a", "two estimates have the name 'a'"),
        ("trend week1.json week2.json --csv --json", "different forms: give one"),
        ("compare week1.json week2.json --csv --json", "different forms: give one"),
        ("compare week1.json week2.json --plot a.xyz", "must end with .png"),
        ("trend week1.json week2.json --plot a.xyz", "must end with .png"),
        ("compare week1.json reports.bin", "reports.bin is a file of reports"),
    ],
)
def test_what_is_wrong_is_refused_in_one_sentence(line: str, sentence: str, desk: Path) -> None:
    assert sentence in refused(line, desk)


# What was detected


def test_the_json_of_an_estimate_says_what_was_detected(desk: Path) -> None:
    line = "estimate home1.json --candidates candidates.txt"
    document = json.loads(good(f"{line} --json"))
    question, counts = read_counts(desk / "home1.json")
    assert isinstance(question, Question)
    wanted = question.estimate(counts, candidates=["a", "b", "c"]).detected(0.05)
    assert document["detected"] == wanted.to_document()
    assert document["detected"]["present"][:3] == [True, True, False]
    closed = json.loads(good("estimate week1.json --json"))["detected"]
    assert closed["error_rate"] == 0.05
    assert closed["control"] == "bonferroni"
    assert len(closed["p_values"]) == len(closed["present"]) == 4


def test_the_table_of_an_open_question_marks_what_was_detected(desk: Path) -> None:
    lines = good("estimate home1.json --candidates candidates.txt").splitlines()
    marked = {line.split()[0] for line in lines if len(line.split()) > 3 and line.split()[1] == "*"}
    assert marked == {"a", "b"}
    assert any(line.startswith("* 2 of 3 candidates detected; at most a 5 %") for line in lines)
    assert "*" not in good("estimate week1.json")


def test_a_picture_has_the_title_and_the_order_of_its_question(desk: Path) -> None:
    import matplotlib as mpl

    survey = Survey.from_toml(TOML.replace("text =", "ordered = true\ntext ="))
    question = survey.questions[0]
    counts = question.closed.simulate([10, 20, 30, 40], np.random.default_rng(2))
    write_counts(desk / "scale.json", survey, question, counts)
    with mpl.rc_context({"svg.fonttype": "none"}):
        text = good("estimate scale.json --plot a.svg")
    drawn = (desk / "a.svg").read_text(encoding="utf-8")
    assert "What do you drink?" in drawn
    labels = list(question.labels)
    assert sorted(labels, key=drawn.index) == labels
    assert sorted(labels, key=text.index) == labels
    rows = csv.DictReader(io.StringIO(good("estimate scale.json --csv")))
    assert [row["answer"] for row in rows] == labels


def test_names_of_the_two_are_in_the_table_and_the_picture(desk: Path) -> None:
    import matplotlib as mpl

    line = "compare week3.json week1.json --names law arts"
    this, other = (estimate_of(desk / f"week{number}.json") for number in (3, 1))
    wanted = this.difference(other, names=("law", "arts"))
    text = good(line)
    assert text.startswith("What do you drink?\nlaw (6,000 reports) minus arts (6,000 reports)\n")
    assert wanted.table() in text
    assert wanted.conclusion in text
    assert "chang" not in text
    assert json.loads(good(f"{line} --json"))["names"] == ["law", "arts"]
    assert good(f"{line} --csv") == good(line.partition(" --names")[0] + " --csv")
    with mpl.rc_context({"svg.fonttype": "none"}):
        good(f"{line} --plot named.svg")
        good("compare week3.json week1.json --plot plain.svg")
    assert "difference law minus arts in percentage points" in (desk / "named.svg").read_text()
    assert "change, week3 minus week1, in percentage points" in (desk / "plain.svg").read_text()
    said = refused("compare week3.json week1.json --names law law", desk)
    assert said.startswith("names are two different texts, such as ('law', 'arts'), not ")


def test_groups_without_a_picture_print_the_same_table(desk: Path) -> None:
    line = "trend week1.json week2.json"
    assert good(f"{line} --groups") == good(line)


def test_files_of_segments_are_named_after_the_segment(desk: Path) -> None:
    for number, name in ((1, "north"), (2, "south-east"), (3, "west")):
        (desk / f"my-counts-{name}.json").write_bytes((desk / f"week{number}.json").read_bytes())
    files = "my-counts-north.json my-counts-south-east.json my-counts-west.json"
    document = json.loads(good(f"trend {files} --json"))
    assert document["periods"] == ["north", "south-east", "west"]


@pytest.mark.parametrize(
    ("stems", "names"),
    [
        (["c-a-x", "c-b-x"], ["a", "b"]),
        (["c-a", "c-a-b"], ["a", "a-b"]),
        (["a-b-a", "a-a"], ["b-a", "a"]),
        (["2026-10", "2026-11"], ["2026-10", "2026-11"]),
        (["c-40-EU", "c-40-US"], ["40-EU", "40-US"]),
        (["c-x-40", "c-y-40"], ["x-40", "y-40"]),
        (["c-", "c-a"], ["c-", "c-a"]),
        (["monday", "tuesday"], ["monday", "tuesday"]),
        (["c-a"], ["a"]),
    ],
)
def test_what_files_have_in_common_is_no_part_of_the_segment(
    stems: list[str], names: list[str]
) -> None:
    assert segments_of(stems) == names


@pytest.mark.parametrize("command", ["compare", "trend"])
def test_few_people_are_noted_on_the_command_line_too(command: str, desk: Path) -> None:
    question = SURVEY.questions[0]
    write_counts(desk / "few.json", SURVEY, question, question.closed.simulate([1, 1, 0, 0]))
    told = "with only 2 people on one side, intervals and p-values are rough"
    assert good(f"{command} few.json week1.json").rstrip().endswith(f"Note: {told}.")
    assert json.loads(good(f"{command} few.json week1.json --json"))["notes"] == [told]


def test_weeks_in_the_order_of_a_shell_are_noted(desk: Path) -> None:
    for week in (9, 10, 11):
        (desk / f"counts-{week}.json").write_bytes((desk / "week1.json").read_bytes())
    globbed = "trend counts-10.json counts-11.json counts-9.json"
    note = " ".join(run(globbed).stderr.split())
    assert "10 first, 9 last. If they are periods" in note
    assert "in the order of time: 9 first, 11 last." in note
    for line in (
        f"{globbed} --groups",
        f"{globbed} --names a,b,c",
        "trend counts-9.json counts-10.json counts-11.json",
        "trend counts-11.json counts-10.json counts-9.json",  # on purpose
        "trend week1.json week2.json week3.json",
    ):
        assert run(line).stderr == ""
