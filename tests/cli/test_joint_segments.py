"""Tables of segments of people on the command line: what is read, shown, written and refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from murmurs import Survey
from murmurs.inference import bootstrap
from tests.cli.test_joint import ASKED_ALL, QUESTIONS, good, refused, table_of

NORTH = {("tea", "yes"): 300, ("tea", "no"): 100, ("mate", "yes"): 100, ("mate", "no"): 300}
SOUTH = {("tea", "yes"): 100, ("tea", "no"): 200, ("water", "no"): 100}


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a survey, and the reports of two regions, nearly without noise."""
    monkeypatch.chdir(tmp_path)
    Path("single.toml").write_text(QUESTIONS)
    Path("coffee.toml").write_text(ASKED_ALL)
    Path("once.toml").write_text(ASKED_ALL + "once = true\n")
    rows = [
        (*pair, region)
        for region, table in (("north", NORTH), ("south", SOUTH))
        for pair, n in table.items()
        for _ in range(n)
    ]
    answers = pd.DataFrame(rows, columns=["drink", "sugar", "region"])
    answers = answers.sample(frac=1, random_state=1)
    answers["week"] = np.where(np.arange(len(answers)) % 2, 10, 9)
    answers.to_csv("answers.csv", index=False)
    survey = Survey.from_toml(QUESTIONS)
    reports = answers[["region", "week"]].copy()
    for name in ("drink", "sugar"):
        reports[name] = survey.question(name).encode_column(answers[name])
    reports.to_csv("reports.csv", index=False)
    reports.to_parquet("reports.parquet", index=False)
    reports.to_json("reports.jsonl", orient="records", lines=True)
    for name in ("drink", "sugar"):
        good(f"encode single.toml answers.csv --question {name} --column {name} -o {name}.bin")
    good("encode coffee.toml answers.csv -o both.bin")
    return tmp_path


@pytest.mark.parametrize(
    "files",
    [
        "single.toml drink.bin sugar.bin answers.csv",
        "coffee.toml both.bin answers.csv",
        "single.toml reports.csv",
        "coffee.toml reports.parquet",
        "single.toml reports.jsonl --question drink --question sugar",
    ],
)
def test_each_segment_has_its_table_and_its_counts(files: str, desk: Path) -> None:
    text = good(f"joint {files} --by region -o out.json")
    assert table_of("out-north.json") == NORTH
    assert table_of("out-south.json") == SOUTH
    assert not Path("out.json").exists()
    assert text.index("drink × sugar in north\n800 reports") < text.index("in south\n400 reports")
    assert text.count("The answers go together: p ") == 2
    assert "The answers go together in 2 of 2 segments" in text
    assert "The tables differ between the segments: p < 1e-6." in text
    assert "How the answers go together" in text
    again = good("joint out-north.json out-south.json")
    assert again == text


def test_combinations_of_columns_and_columns_of_joint_reports(
    desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bootstrap, "DRAWS", 199)  # the p-value is 1/200 at least
    survey = Survey.from_toml(Path("once.toml").read_text())
    answers = pd.read_csv("answers.csv")
    answers["report"] = survey.joints[0].encode_column(answers[["drink", "sugar"]])
    answers[["report", "region", "week"]].to_csv("once.csv", index=False)
    line = "joint once.toml once.csv --column report --by week --by region"
    document = json.loads(good(f"{line} --json"))
    names = [part["segment"] for part in document["segments"]]
    assert names == ["9-north", "9-south", "10-north", "10-south"]
    assert sum(part["n"] for part in document["segments"]) == 1200
    assert document["segments"][0]["association"]["p_value"] == 1 / 200  # simulated
    assert 0 <= document["comparison"]["homogeneity"]["p_value"] <= 1
    assert document["comparison"]["p_value"] < 1e-6
    assert "name the column with its reports" in refused("joint once.toml once.csv --by week")


def test_segments_in_other_forms(desk: Path) -> None:
    lines = good("joint single.toml reports.csv --by region --csv").splitlines()
    assert lines[0].startswith("segment,drink,sugar,share,low,high")
    assert [line.split(",")[0] for line in lines[1:]] == ["north"] * 6 + ["south"] * 6
    good("joint single.toml reports.csv --by region --plot table.png")
    for region in ("north", "south"):
        assert Path(f"table-{region}.png").read_bytes().startswith(b"\x89PNG")
    assert "drink × sugar\n1,200 reports\n" in good("joint single.toml reports.csv")
    assert "drink × sugar\n1,200 reports\n" in good("joint coffee.toml both.bin")


def test_a_segment_with_one_report_is_shown_with_a_note(desk: Path) -> None:
    frame = pd.read_csv("reports.csv")
    frame.loc[0, "region"] = "east/west"  # no file is written, so any name will do
    frame.to_csv("few.csv", index=False)
    text = good("joint single.toml few.csv --by region")
    assert "drink × sugar in east/west\n1 report\n" in text
    assert "Note: fewer than 30 people are in 'east/west'" in text
    assert "All segments" in text
    assert "has '/' in it" in refused("joint single.toml few.csv --by region -o out.json")
    assert not list(Path().glob("out*"))


def test_one_report_is_not_called_reports(desk: Path) -> None:
    Path("one.csv").write_text("drink,sugar\ntea,yes\n")
    assert "1 report of 2 bytes to 'drink+sugar'" in good("encode coffee.toml one.csv -o one.bin")
    assert "1 report to 'drink+sugar' counted" in good("count coffee.toml one.bin -o one.json")
    assert "drink × sugar\n1 report\n" in good("joint one.json")


def test_one_segment_has_nothing_to_be_compared_with(desk: Path) -> None:
    pd.read_csv("reports.csv").assign(region="here").to_csv("one.csv", index=False)
    text = good("joint single.toml one.csv --by region")
    assert "There is one segment, and nothing to compare it with." in text


def test_rows_without_a_segment_and_segments_of_other_types_are_refused(desk: Path) -> None:
    frame = pd.read_csv("reports.csv")
    frame.loc[1, "region"] = None
    frame.to_csv("gap.csv", index=False)
    frame.assign(region=0.5).to_parquet("half.parquet", index=False)
    message = "gap.csv, line 3: the segment is missing"
    assert message in refused("joint single.toml gap.csv --by region -o out.json")
    assert message in refused("joint coffee.toml both.bin gap.csv --by region -o out.json")
    message = "half.parquet: a segment must be text, a whole number or a date, not float"
    assert message in refused("joint single.toml half.parquet --by region -o out.json")
    assert "in 9\n" in good("joint single.toml reports.parquet --by week")  # whole numbers do


REFUSED = [
    ("single.toml reports.csv --by city", "has no column called 'city'"),
    ("single.toml drink.bin sugar.bin --by region", "--by region needs one file with that column"),
    ("single.toml drink.bin sugar.bin answers.csv", "add --by with its name"),
    ("coffee.toml both.bin few.csv --by region", "has more than 2 reports and few.csv 2 rows"),
    ("coffee.toml both.bin long.csv --by region", "has 1200 reports and long.csv more rows"),
    ("coffee.toml both.bin answers.csv --by region --column drink", "--column is for reports in"),
    ("single.toml answers.csv --by region", "line 2: this is a label, not a report"),
    ("single.toml reports.csv --by drink", "segments must be by another column"),
    ("single.toml many.csv --by person", "there are more than 200 segments"),
    ("single.toml drink.bin", "alone is not enough"),
    ("coffee.toml both.bin both.bin", "give it alone, or run murmurs count"),
]


@pytest.mark.parametrize(("line", "rule"), REFUSED, ids=[rule for _, rule in REFUSED])
def test_what_does_not_fit_is_refused(line: str, rule: str, desk: Path) -> None:
    Path("few.csv").write_text("region\nnorth\nsouth\n")
    Path("long.csv").write_text("region\n" + "north\n" * 1201)
    frame = pd.read_csv("reports.csv")
    frame.assign(person=np.arange(len(frame))).to_csv("many.csv", index=False)
    assert rule in refused(f"joint {line} -o out.json")


def test_counts_take_no_columns_and_have_one_question(desk: Path) -> None:
    good("joint single.toml reports.csv --by region -o out.json")
    assert "which have no columns" in refused("joint out-north.json out-south.json --by region")
    assert "is given twice" in refused("joint out-north.json out-north.json")
    good("count single.toml drink.bin -o drink.json")
    assert "give files of one question" in refused("joint out-north.json drink.json")
