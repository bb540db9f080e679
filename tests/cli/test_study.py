"""`murmurs study`: data without noise, histograms in place of data, and tables for papers."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from murmurs.cli import main

FEW = "--epsilon 1 --mechanism KRR --estimator simplex --repetitions 2 --seed 1"


@pytest.fixture(autouse=True)
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.txt").write_text("tea\nmate\ntea\ngin\ntea\n")
    return tmp_path


def run(line: str) -> Result:
    return CliRunner().invoke(main, shlex.split(line))


def document(line: str) -> dict[str, Any]:
    result = run(f"{line} --json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_where_nothing_is_wrong_the_smallest_error_is_zero_and_is_said() -> None:
    """At epsilon 30 and 5 people, several pairs have no error but that of arithmetic."""
    result = run("study data.txt --repetitions 2 --epsilon 30 --seed 1")
    assert result.exit_code == 0, result.output
    assert re.search(r"^KRR +default +0 ± 0", result.stdout, re.MULTILINE)
    one = "study data.txt --repetitions 2 --epsilon 30 --seed 1 --mechanism KRR --mechanism OUE"
    assert run(f"{one} --estimator default").exit_code == 0
    for row in document(one)["rows"]:
        assert row["l1"] == 0 or row["l1"] > 1e-9


def test_a_choice_with_errors_is_compared_with_a_smallest_error_of_zero(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from murmurs import OUE
    from murmurs.cli import study
    from murmurs.planning.choice import Chosen

    monkeypatch.setattr(study, "choose", lambda k, e: Chosen(OUE(k, e), "for this test"))
    line = "study data.txt --repetitions 9 --epsilon 30 --seed 1 --mechanism KRR --mechanism OUE"
    told = " ".join(run(line).stdout.split())
    assert re.search(r"murmurs takes OUE with default: l1 0\.\d+, not within two", told)


@pytest.mark.parametrize(
    ("text", "way"),
    [
        ("tea,300\nmate,200\ngin,0\n", "--format csv --no-header --column 1 --counts 2"),
        ("tea;300\nmate; 200\n", "--format csv --delimiter ';' --no-header --column 1 --counts 2"),
        ("tea\t300\nmate\t200\n", "--format tsv --no-header --column 1 --counts 2"),
    ],
)
def test_a_histogram_in_place_of_data_is_noticed_and_the_way_out_works(
    text: str, way: str, desk: Path
) -> None:
    (desk / "counts.txt").write_text(text)
    refused = run(f"study counts.txt {FEW}")
    assert refused.exit_code == 2
    assert f"add {way}; if the line is the value, add --format text" in refused.stderr
    if ";" not in text:  # a blank before a number is not read as one
        found = document(f"study counts.txt {FEW} {way}")
        assert (found["answers"], found["people"]) == (2, 500)
    assert document(f"study counts.txt {FEW} --format text")["people"] == text.count("\n")


def test_lines_that_end_with_numbers_and_come_again_are_data(desk: Path) -> None:
    (desk / "rooms.txt").write_text("floor,1\nfloor,2\nfloor,1\n")
    assert document(f"study rooms.txt {FEW}")["people"] == 3


def test_a_column_with_numbers_of_people_is_used(desk: Path) -> None:
    table = pa.table({"drink": ["tea", "mate", "tea", None], "n": [300, 200, 10, 7]})
    pq.write_table(table, "drinks.parquet")
    counted = document(f"study drinks.parquet --column drink --counts n --drop-missing {FEW}")
    assert (counted["answers"], counted["people"]) == (2, 510)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ("tea,3\nmate,x", "line 3: the number of people under --counts is missing, or not a whole"),
        ("tea,3\nmate,", "line 3: the number of people under --counts is missing, or not a whole"),
        ("tea,-3\nmate,1", "line 2: the number of people"),
        (f"tea,{2**62}\nmate,1", "there are more than 2**62 people"),
        (f"tea,{10**30}\nmate,1", "line 2: the number of people"),
        ("tea,3\nmate,0", "there is one value only"),
    ],
)
def test_numbers_of_people_are_whole(cells: str, message: str, desk: Path) -> None:
    (desk / "bad.csv").write_text(f"drink,n\n{cells}\n")
    result = run(f"study bad.csv --column drink --counts n {FEW}")
    assert result.exit_code == 2
    assert message in result.stderr


def test_numbers_of_people_are_in_another_column_and_not_fractions(desk: Path) -> None:
    pq.write_table(pa.table({"drink": ["tea", "mate"], "n": [3.5, 2.0]}), "bad.parquet")
    line = f"study bad.parquet --column drink {FEW}"
    assert "must be another column" in run(f"{line} --counts drink").stderr
    assert "row 1: the number of people under --counts" in run(f"{line} --counts n").stderr


def test_values_that_all_differ_are_noted(desk: Path) -> None:
    (desk / "h.csv").write_text("drink,n\ntea,300\nmate,200\n")
    noted = run(f"study h.csv --column drink {FEW}").stderr
    assert "another column says how many people hold it, name that column with --counts" in noted
    assert "Note" not in run(f"study h.csv --column drink --counts n {FEW}").stderr


def test_the_table_is_printed_as_csv_and_as_latex() -> None:
    line = f"study data.txt {FEW} --mechanism OUE"
    rows = document(line)["rows"]
    printed = list(csv.DictReader(io.StringIO(run(f"{line} --csv").stdout)))
    assert [{key: str(value) for key, value in row.items()} for row in rows] == printed
    latex = run(f"{line} --latex").stdout
    about = r"% simplex, data.txt, 3 answers, 5 people, epsilon 1; means of 2 repetitions"
    assert latex.startswith(about)
    number = r"\$[0-9.]+ \\pm [0-9.]+\$"
    assert len(re.findall(rf"^(KRR|OUE)( & {number}){{3}} \\\\$", latex, re.MULTILINE)) == 2
    assert latex.endswith("\\hline\n\\end{tabular}\n")


def test_latex_needs_no_other_package(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("jinja2", "pandas", "polars", "pyarrow"):
        monkeypatch.setitem(__import__("sys").modules, name, None)
    assert run(f"study data.txt {FEW} --latex").exit_code == 0


def test_names_are_escaped_for_latex(desk: Path) -> None:
    (desk / "50_%.csv").write_text("a_b,c\ntea,1\nmate,1\n")
    latex = run(f"study 50_%.csv --column a_b {FEW} --latex").stdout
    assert latex.startswith("% simplex, a_b, ")  # a comment
    assert "\nKRR & $" in latex


def test_one_form_is_printed_at_a_time() -> None:
    for pair in ("--csv --latex", "--csv --json", "--latex --json"):
        result = run(f"study data.txt {FEW} {pair}")
        assert (result.exit_code, result.stdout) == (2, "")
        assert (
            "--csv, --latex and --json print the same in different forms: give one" in result.stderr
        )
