"""`count` and `encode` read folders, patterns and several files, in the order of their numbers."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from murmurs import Survey
from murmurs.cli import main
from murmurs.files.counts import read_counts
from murmurs.files.inputs import find_files
from murmurs.files.reports import read_reports

SURVEY = Survey.from_toml("""
name = "coffee"
[[questions]]
name = "drink"
labels = ["espresso", "tea"]
mechanism = {name = "KRR", epsilon = 40.0}
""")


@pytest.fixture(autouse=True)
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("s.json").write_text(SURVEY.to_json())
    Path("days").mkdir()
    for day in range(1, 12):
        Path(f"days/day{day}.txt").write_text("tea\n" * day)
    return tmp_path


def run(line: str) -> Result:
    return CliRunner().invoke(main, shlex.split(line))


def good(line: str) -> str:
    result = run(line)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize(
    "given", ["days", "'days/*.txt'", "'**/day*.txt'", "days/day?.txt days/day1[01].txt"]
)
def test_all_files_are_read(given: str) -> None:
    assert "66 reports" in good(f"encode s.json {given} -o r.bin")
    assert "66 reports" in good(f"count s.json {given} --reported -o c.json")
    assert read_counts("c.json", SURVEY)[1].n == 66


def test_files_of_reports_in_a_folder_are_added_up() -> None:
    Path("out").mkdir()
    for day in (1, 2, 3):
        good(f"encode s.json days/day{day}.txt -o out/day{day}.bin")
    assert "6 reports" in good("count s.json out -o c.json")
    assert "6 reports" in good("count s.json 'out/*.bin' -o c.json")
    assert "3 reports" in good("count s.json out/day1.bin out/day2.bin -o c.json")


def test_files_come_in_the_order_of_their_numbers() -> None:
    names = [path.name for path in find_files(Path("days"))]
    assert names == [f"day{day}.txt" for day in range(1, 12)]
    assert [path.name for path in find_files(Path("days/*1.txt"))] == ["day1.txt", "day11.txt"]


def test_the_rows_of_several_files_follow_each_other_in_reports() -> None:
    Path("a.txt").write_text("tea\ntea\n")
    Path("b.txt").write_text("espresso\n")
    good("encode s.json a.txt b.txt -o r.bin")  # at epsilon 40 a report is the answer
    _, parts = read_reports("r.bin", SURVEY)
    assert [int(report) for part in parts for report in part] == [1, 1, 0]


def test_other_programs_notes_in_a_folder_are_not_read() -> None:
    Path("days/.hidden").write_text("secret\n")
    Path("days/_SUCCESS").write_text("secret\n")
    assert "66 reports" in good("encode s.json days -o r.bin")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("nowhere.txt", "File 'nowhere.txt' does not exist."),
        ("'no*.txt'", "No file matches 'no*.txt'."),
        ("empty", "There is no file in the folder 'empty'."),
    ],
)
@pytest.mark.parametrize("command", ["encode", "count"])
def test_what_is_not_there_is_told(command: str, given: str, message: str) -> None:
    Path("empty").mkdir()
    result = run(f"{command} s.json {given} -o out.bin")
    assert result.exit_code == 2
    assert message in result.stderr
    assert not Path("out.bin").exists()


def test_a_file_with_a_star_in_its_name_is_itself() -> None:
    Path("day*.txt").write_text("tea\n")
    assert "1 report " in good("encode s.json 'day*.txt' -o r.bin")


def test_no_file_of_a_folder_is_overwritten() -> None:
    result = run("encode s.json days -o days/day3.txt")
    assert result.exit_code == 2
    assert "it is days/day3.txt, which is read too" in result.stderr
    assert Path("days/day3.txt").read_text() == "tea\n" * 3


def test_a_table_of_several_files_has_all_rows() -> None:
    good("encode s.json days -o private.csv")
    assert len(Path("private.csv").read_text().splitlines()) == 67
