"""`encode` and `count` read columns of files; nothing is randomised twice, nothing is quoted."""

from __future__ import annotations

import base64
import gzip
import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from murmurs import KRR, Counts, Survey
from murmurs.cli import main
from murmurs.files.counts import read_counts
from murmurs.files.reports import count_reports, read_reports

TOML = """
name = "coffee"
[[questions]]
name = "drink"
labels = ["espresso", "tea", "other", "yes"]
mechanism = {name = "KRR", epsilon = 40.0}
[[questions]]
name = "cups"
labels = ["1", "2", "3"]
mechanism = {name = "KRR", epsilon = 1.0}
[[questions]]
name = "cheated"
mechanism = {name = "Crosswise", p = "1/4"}
[[questions]]
name = "milk"
labels = ["no", "yes"]
mechanism = {name = "OUE", epsilon = 1.0}
[[questions]]
name = "cat"
mechanism = {name = "ORR", epsilon = 2.0, width = 8, cohorts = 16}
[[questions]]
name = "again"
labels = ["no", "yes"]
mechanism = {name = "LOLOHA", epsilon = 1.0, epsilon_permanent = 2.0}
"""
ROWS = [
    ("tea", "north"),
    ("espresso", "south"),
    ("chai", "north"),
    (None, "south"),
    ("tea", "north"),
]
CSV = "drink,region\n" + "".join(f"{drink or ''},{region}\n" for drink, region in ROWS)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "coffee.toml").write_text(TOML)
    (tmp_path / "people.csv").write_text(CSV)
    (tmp_path / "people.csv.gz").write_bytes(gzip.compress(CSV.encode()))
    windows = b"\xef\xbb\xbf" + CSV.replace(",", ";").replace("\n", "\r\n").encode()
    (tmp_path / "windows.csv").write_bytes(windows)
    (tmp_path / "bare.csv").write_text(CSV.partition("\n")[2])
    drinks, regions = zip(*ROWS, strict=True)
    pq.write_table(pa.table({"drink": drinks, "region": regions}), tmp_path / "people.parquet")
    rows = [{"drink": drink, "region": region} for drink, region in ROWS]
    (tmp_path / "people.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "people.txt").write_text("".join(f"{drink or ''}\n" for drink in drinks))
    return tmp_path


def survey() -> Survey:
    return Survey.from_toml(TOML)


def run(line: str, text: str | None = None) -> Any:
    return CliRunner().invoke(main, shlex.split(line), input=text)


def good(line: str, text: str | None = None) -> str:
    result = run(line, text)
    assert result.exit_code == 0, result.output
    return str(result.stdout)


def refused(line: str, desk: Path, text: str | None = None) -> str:
    before = sorted(path.name for path in desk.iterdir())
    result = run(line, text)
    assert result.exit_code == 2, result.output
    assert sorted(path.name for path in desk.iterdir()) == before
    assert not any(word in result.stderr for word in ("chai", "secret"))
    return str(result.stderr).partition("Error: ")[2].strip()


READ = {
    "CSV": "people.csv --column drink",
    "CSV by number": "people.csv --column 1",
    "CSV, packed": "people.csv.gz --column drink",
    "CSV of Windows": "windows.csv --column drink --delimiter ;",
    "CSV without a header": "bare.csv --no-header --column 1",
    "Parquet": "people.parquet --column drink",
    "JSON lines": "people.jsonl --column drink",
    "text": "people.txt",
    "CSV as standard input": "- --format csv --column drink",
}


@pytest.mark.parametrize("name", READ)
def test_every_kind_of_file_is_encoded(name: str, desk: Path) -> None:
    """At epsilon 40 a report is another answer with a probability of 1e-17."""
    given = CSV if "standard" in name else None
    start = f"encode coffee.toml {READ[name]} --question drink -o x.bin"
    good(f"{start} --drop-missing --unknown other", given)
    assert count_reports("x.bin", survey())[1].cells.tolist() == [1, 2, 1, 0]
    good(f"{start} --missing other --unknown yes", given)
    assert count_reports("x.bin", survey())[1].cells.tolist() == [1, 2, 1, 1]


@pytest.mark.parametrize("name", READ)
def test_missing_and_unknown_answers_are_refused_with_their_place(name: str, desk: Path) -> None:
    given = CSV if "standard" in name else None
    start = f"encode coffee.toml {READ[name]} --question drink -o x.bin"
    third, fourth = ("line 4", "line 5") if name in (*list(READ)[:4], list(READ)[-1]) else (0, 0)
    if name == "Parquet":
        third, fourth = "row 3", "row 4"
    elif not third:
        third, fourth = "line 3", "line 4"
    said = refused(f"{start} --drop-missing", desk, given)
    assert f"{third}: this is not an answer to 'drink'; answers are 'espresso', 'tea', " in said
    said = refused(f"{start} --unknown other", desk, given)
    assert f"{fourth}: the answer is missing: leave such answers out with --drop-missing" in said


def test_booleans_and_numbers_stand_for_labels(desk: Path) -> None:
    table = pa.table({"milk": [True, False, True], "cups": [1, 3, 3]})
    pq.write_table(table, desk / "t.parquet")
    for name in ("milk", "cups"):
        good(f"encode coffee.toml t.parquet --column {name} --question {name} -o {name}.bin")
        assert count_reports(f"{name}.bin", survey())[1].n == 3
    (desk / "t.jsonl").write_text('{"cups": 1}\n{"cups": 2.0}\n{"cups": 1e300}\n{"cups": [1]}\n')
    said = refused("encode coffee.toml t.jsonl --column cups --question cups -o x", desk)
    assert said.startswith("t.jsonl, line 3: this is not an answer to 'cups'; answers are '1'")


def test_a_number_without_end_is_not_an_answer(desk: Path) -> None:
    pq.write_table(pa.table({"cups": [1.0, float("inf")]}), desk / "t.parquet")
    said = refused("encode coffee.toml t.parquet --column cups --question cups -o x", desk)
    assert said.startswith("t.parquet, row 2: this is not an answer to 'cups'; ")


def test_a_header_taken_for_an_answer_is_refused_with_the_way_out(desk: Path) -> None:
    said = refused("encode coffee.toml - --question drink -o x", desk, "drink\ntea\n")
    assert said.endswith("; if it is a header, add --format csv and --column")
    said = refused("encode coffee.toml - --question drink -o x", desk, "tea\ndrink\n")
    assert "header" not in said
    for question in ("drink", "cat"):  # any string is an answer to the second
        said = refused(f"encode coffee.toml people.csv --question {question} -o x", desk)
        assert said.startswith("people.csv has columns: add --column with a name or a number, or -")
    good("encode coffee.toml people.csv --question cat --format text -o x")
    assert count_reports("x", survey())[1].n == 6


def test_an_open_question_takes_a_column(desk: Path) -> None:
    start = "encode coffee.toml people.parquet --question cat --column drink -o x"
    assert "row 4: the answer is missing" in refused(start, desk)
    good(f"{start} --drop-missing")
    assert count_reports("x", survey())[1].n == 4
    good(f"{start} --missing none")
    assert count_reports("x", survey())[1].n == 5
    said = refused(f"{start} --drop-missing --unknown other", desk)
    assert said == "an open question takes any string: leave --unknown out"
    pq.write_table(pa.table({"a": ["tea", "", "x"]}), "t.pq")
    assert "row 2: " in refused("encode coffee.toml t.pq --column a --question cat -o x2", desk)


def test_options_that_do_not_fit_are_refused(desk: Path) -> None:
    start = "encode coffee.toml people.csv --column drink --question drink -o x"
    assert "choose one of the two" in refused(f"{start} --missing tea --drop-missing", desk)
    assert refused(f"{start} --missing milk", desk).startswith("--missing: this is not an answer")
    assert refused(f"{start} --unknown milk", desk).startswith("--unknown: this is not an answer")
    said = refused("encode coffee.toml people.txt --by region --question drink -o x", desk)
    assert "has no columns: add --format csv, tsv, parquet or jsonl" in said
    said = refused("encode coffee.toml people.jsonl --by region --question drink -o x", desk)
    assert said == "--by needs --column: say which column is counted"
    count = "count coffee.toml people.csv --column drink --reported --question drink -o x"
    assert refused(f"{count} --salvage", desk).startswith("--salvage is for files of reports that")


def test_the_same_labels_and_seed_give_the_same_reports_in_every_format(desk: Path) -> None:
    rest = "--question drink --drop-missing --unknown other --seed 3"
    found = []
    for name in list(READ)[:-1]:
        good(f"encode coffee.toml {READ[name]} {rest} -o x.bin")
        found.append((desk / "x.bin").read_bytes())
    assert len(set(found)) == 1


# Segments


@pytest.mark.parametrize("file", ["people.csv", "people.parquet", "people.jsonl"])
def test_each_segment_has_its_own_file_of_reports(file: str, desk: Path) -> None:
    rest = "--column drink --by region --question drink --unknown other --drop-missing"
    said = good(f"encode coffee.toml {file} {rest} -o r.bin")
    assert said.splitlines() == [
        "4 reports of 1 byte to 'drink' written to 2 files, r-….bin",
        "  north: 3",
        "  south: 1",
    ]
    assert count_reports("r-north.bin", survey())[1].cells.tolist() == [0, 2, 1, 0]
    assert count_reports("r-south.bin", survey())[1].cells.tolist() == [1, 0, 0, 0]
    assert not (desk / "r.bin").exists()
    document = json.loads(good(f"encode coffee.toml {file} {rest} -o r.bin --json"))
    assert document["segments"] == {"north": 3, "south": 1}
    assert document["reports"] == 4


def test_each_segment_has_its_own_file_of_counts(desk: Path) -> None:
    rows = "report,region\n1,north\n0,south\n1,north\n"
    (desk / "r.csv").write_text(rows)
    (desk / "more.csv").write_text("report,region\n3,south\n2,east\n")
    start = "count coffee.toml r.csv more.csv --question drink --column report --by region"
    said = good(f"{start} -o c.json")
    assert said.splitlines() == [
        "5 reports to 'drink' counted; written to 3 files, c-….json",
        *("  east: 1", "  north: 2", "  south: 2"),
    ]
    found = {name: read_counts(f"c-{name}.json")[1].cells.tolist() for name in ("north", "south")}
    assert found == {"north": [0, 2, 0, 0], "south": [1, 0, 0, 1]}
    assert json.loads(good(f"{start} -o c.json --json"))["segments"]["east"] == 1


def test_an_unsafe_segment_writes_nothing(desk: Path) -> None:
    rest = "--column report --by region --question drink -o c"
    for region, said in (("../up", "has '/' in it"), ("", "line 3: the segment is missing")):
        (desk / "r.csv").write_text(f"report,region\n1,north\n1,{region}\n")
        assert said in refused(f"count coffee.toml r.csv {rest}", desk)
        (desk / "a.csv").write_text(f"report,region\ntea,north\ntea,{region}\n")
        assert said in refused(f"encode coffee.toml a.csv {rest}", desk)


def test_a_segment_does_not_overwrite_what_is_read(desk: Path) -> None:
    (desk / "r-north.csv").write_text("report,region\n1,north\n")
    rest = "--column report --by region --question drink -o r.csv"
    said = refused(f"count coffee.toml r-north.csv {rest}", desk)
    assert said == (
        "cannot write r-north.csv: it is r-north.csv, which is read too; give the output another "
        "name"
    )
    assert "standard output" in refused(f"count coffee.toml r-north.csv {rest[:-5]}-", desk)


# Counting


def reports() -> tuple[Any, Any, Counts]:
    question = survey().question("milk")
    made = question.encode_many(["yes", "no"] * 50, np.random.default_rng(1))
    return question, made, question.count(made)


@pytest.mark.parametrize("kind", ["base64 in CSV", "base64", "binary", "fixed", "JSON", "text"])
def test_columns_of_reports_are_counted(kind: str, desk: Path) -> None:
    _, made, counts = reports()
    rows = [bytes(row) for row in made]
    texts = [base64.b64encode(row).decode() for row in rows]
    tables = {"binary": pa.array(rows), "fixed": pa.array(rows, pa.binary(1)), "base64": texts}
    if kind in tables:
        pq.write_table(pa.table({"report": tables[kind]}), "r.parquet")
        file = "r.parquet --column report"
    elif kind == "JSON":
        (desk / "r.jsonl").write_text("".join(f'"{text}"\n' for text in texts))
        file = "r.jsonl"
    elif kind == "text":
        (desk / "r.txt").write_text("\n".join(texts))
        file = "r.txt --format text"
    else:
        (desk / "r.csv").write_text("report\n" + "\n".join(texts))
        file = "r.csv --column report"
    assert good(f"count coffee.toml {file} --question milk -o c.json") == (
        "100 reports to 'milk' counted; written to c.json\n"
    )
    assert read_counts("c.json")[1] == counts


def test_cells_hold_the_json_form_of_lists(desk: Path) -> None:
    question = survey().question("again")
    made = question.encode_many(["yes", "no"] * 50, np.random.default_rng(1))
    shape = question.mechanism.shape
    values = [json.dumps(shape.to_json(report)) for report in shape.unstack(made)]
    (desk / "r.csv").write_text("report\n" + "".join(f'"{value}"\n' for value in values))
    (desk / "r.jsonl").write_text("".join(f'{{"report": {value}}}\n' for value in values))
    for file in ("r.csv", "r.jsonl"):
        good(f"count coffee.toml {file} --column report --question again -o c.json")
        assert read_counts("c.json")[1] == question.count(made)
    start = "count coffee.toml r.csv r.jsonl --column report --question again -o c.json"
    assert "--people different if each comes from different people" in refused(start, desk)
    good(f"{start} --people same")
    assert read_counts("c.json")[1].times == 2
    (desk / "bad.csv").write_text('report\n"[1, 0]"\n"[1, secret]"\n')
    said = refused("count coffee.toml bad.csv --column report --question again -o x", desk)
    assert said == "bad.csv, line 3: this report is not JSON"


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("7", "r.csv, line 3: this report is not a number from 0 to 3: if the"),
        ("", "r.csv, line 3: this report is missing: leave it out"),
        ("tea", "r.csv, line 3: this is a label, not a report: if the answers were randomised alr"),
        ("chai", "r.csv, line 3: this report is refused: 3 bytes are not one report of 1 bytes"),
        ("secrets", "labels that were randomised already are counted with --reported"),
        ("-1", "r.csv, line 3: this report is refused: this text is not base64 with padding"),
    ],
)
def test_a_bad_report_is_refused_with_its_line(cell: str, said: str, desk: Path) -> None:
    (desk / "r.csv").write_text(f"report,n\n1,0\n{cell},0\n")
    found = refused("count coffee.toml r.csv --column report --question drink -o x", desk)
    assert said in found


def test_labels_that_were_randomised_already_are_counted_as_they_are(desk: Path) -> None:
    labels = ["tea"] * 300 + ["espresso"] * 200
    (desk / "paper.txt").write_text("\n".join(labels) + "\n")
    (desk / "paper.csv").write_text("n,drink\n" + "".join(f"1,{label}\n" for label in labels))
    pq.write_table(pa.table({"drink": labels}), "paper.parquet")
    for file in ("paper.txt", "paper.csv --column drink", "paper.parquet --column drink"):
        good(f"count coffee.toml {file} --reported --question drink -o c.json")
        assert read_counts("c.json")[1].cells.tolist() == [200, 300, 0, 0]
    good("count coffee.toml paper.txt paper.txt --reported --question drink -o c.json")
    assert read_counts("c.json")[1].n == 1000
    good("count coffee.toml - --reported --question cheated -o c.json", "same\ndifferent\nsame\n")
    assert read_counts("c.json")[1].n == 3
    said = refused("count coffee.toml - --reported --question cheated -o x", desk, "same\nsecret\n")
    assert "line 2: this is not an answer to 'cheated'; answers are 'same', 'different'" in said
    said = refused("count coffee.toml - --reported --question drink -o x", desk, "tea\n\n")
    assert said == (
        "standard input, line 2: the answer is missing: leave such answers out with --drop-missing"
    )
    said = refused("count coffee.toml - --reported --question milk -o x", desk, "yes\n")
    assert said.endswith(
        "line 1: this report is not a list of labels of 'milk': a report is a set of answers, such "
        'as ["no", "yes"]; encode answers first'
    )


def test_labels_without_the_option_are_refused_with_the_hint(desk: Path) -> None:
    (desk / "paper.txt").write_text("tea\nespresso\n")
    said = refused("count coffee.toml paper.txt --question drink -o x", desk)
    assert "murmurs count --reported takes labels that were randomised already" in said
    for options in ("people.csv --column drink", "people.parquet --column drink", "people.jsonl"):
        file = options.replace("jsonl", "jsonl --column drink")
        said = refused(f"count coffee.toml {file} --question drink -o x", desk)
        assert "this is a label, not a report: if the answers were randomised already" in said


def test_numbers_that_may_be_labels_are_refused(desk: Path) -> None:
    """The label 1 is report 0: taking one for the other would count everybody wrongly."""
    (desk / "r.csv").write_text("cups\n1\n2\n")
    pq.write_table(pa.table({"cups": [1, 2]}), "r.parquet")
    for file in ("r.csv", "r.parquet"):
        start = f"count coffee.toml {file} --column cups --question cups"
        said = refused(f"{start} -o x", desk)
        assert "labels of 'cups' are numbers too: if the answers were randomised already" in said
        good(f"{start} --reported -o c.json")
        assert read_counts("c.json")[1].cells.tolist() == [1, 1, 0]
    (desk / "r.csv").write_text("cups\nAA==\nAQ==\n")
    good("count coffee.toml r.csv --column cups --question cups -o c.json")
    assert read_counts("c.json")[1].cells.tolist() == [1, 1, 0]


def test_the_question_of_a_file_of_reports_is_compared(desk: Path) -> None:
    good("encode coffee.toml - --question milk -o milk.bin", "yes\nno\n")
    good("count coffee.toml milk.bin --question milk -o c.json")
    said = refused("count coffee.toml milk.bin --question drink -o x", desk)
    assert said == "milk.bin answers 'milk', not 'drink'"
    assert "several questions: add --question" in refused(
        "count coffee.toml people.csv --column drink -o x", desk
    )


def test_empty_columns_have_no_reports(desk: Path) -> None:
    (desk / "r.csv").write_text("report,region\n")
    start = "count coffee.toml r.csv --column report --question drink -o c.json"
    good(start)
    assert read_counts("c.json")[1].n == 0
    (desk / "c.json").unlink()
    assert refused(f"{start} --by region", desk) == "there are no rows in r.csv"


def test_reports_of_encode_in_parts_are_one_file(desk: Path) -> None:
    (desk / "long.txt").write_text("tea\n" * 70_000)
    good("encode coffee.toml long.txt --question drink -o x")
    _, parts = read_reports("x", survey())
    assert sum(len(part) for part in parts) == 70_000
    assert isinstance(survey().question("drink").mechanism, KRR)


def test_the_field_of_an_object_must_be_named(desk: Path) -> None:
    said = refused("count coffee.toml people.jsonl --question drink -o x", desk)
    assert said == "people.jsonl, line 1: this is an object: say which field with --column"
    said = refused("encode coffee.toml people.jsonl --question drink -o x", desk)
    assert said.startswith("people.jsonl, line 1: this is not an answer to 'drink'; answers are")
    assert "region" not in said


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_segments_by_several_columns(suffix: str, desk: Path) -> None:
    rows = [("tea", 41, "EU"), ("tea", 40, "US"), ("espresso", 40, "EU"), ("tea", 40, "EU")]
    names = ("drink", "week", "region")
    lines = [",".join(map(str, row)) for row in (names, *rows)]
    (desk / "t.csv").write_text("\n".join(lines) + "\n")
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    pq.write_table(pa.table(columns), "t.parquet")
    texts = [json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows]
    (desk / "t.jsonl").write_text("".join(texts))
    rest = f"coffee.toml t.{suffix} --column drink --by week --by region --question drink"
    good(f"encode {rest} -o r.bin")
    assert sorted(path.name for path in desk.glob("r-*")) == [
        *("r-40-EU.bin", "r-40-US.bin", "r-41-EU.bin")
    ]
    assert count_reports("r-40-EU.bin", survey())[1].cells.tolist() == [1, 1, 0, 0]
    numbers = json.loads(good(f"count {rest} --reported -o c.json --json"))["segments"]
    assert numbers == {"40-EU": 2, "40-US": 1, "41-EU": 1}
    assert read_counts("c-41-EU.json")[1].cells.tolist() == [0, 1, 0, 0]
    said = refused(f"count {rest} --by week --reported -o x.json", desk)
    assert said == "--by week is given twice: name each column once"


def test_segments_whose_joined_names_are_the_same_are_refused(desk: Path) -> None:
    (desk / "t.csv").write_text("drink,a,b\ntea,x-y,z\ntea,x,y-z\n")
    rest = "coffee.toml t.csv --column drink --by a --by b --question drink -o x.bin"
    said = refused(f"encode {rest}", desk)
    assert said == (
        "the segments ('x-y', 'z') and ('x', 'y-z') would have the same file: rename one of them"
    )
    (desk / "t.csv").write_text(f"drink,a,b\ntea,{'x' * 60},{'y' * 60}\n")
    assert "is longer than 100 bytes" in refused(f"encode {rest}", desk)
    (desk / "t.csv").write_text("drink,a,b\ntea,x,z\ntea,x,\n")
    assert "line 3: the segment is missing" in refused(f"encode {rest}", desk)


def test_a_number_and_its_text_are_one_segment(desk: Path) -> None:
    (desk / "t.jsonl").write_text('{"drink": "tea", "w": 1}\n{"drink": "tea", "w": "1"}\n')
    rest = "coffee.toml t.jsonl --column drink --by w --question drink -o x.bin"
    assert good(f"encode {rest}").splitlines()[1:] == ["  1: 2"]
    assert count_reports("x-1.bin", survey())[1].n == 2


def test_missing_and_unknown_labels_that_were_reported(desk: Path) -> None:
    start = "count coffee.toml people.csv --column drink --reported --question drink -o c.json"
    good(f"{start} --drop-missing --unknown other")
    assert read_counts("c.json")[1].cells.tolist() == [1, 2, 1, 0]
    (desk / "c.json").unlink()
    said = refused(f"{start} --drop-missing", desk)
    assert said.startswith("people.csv, line 4: this is not an answer to 'drink'; answers are 'e")
    assert said.endswith("correct it, or name a label for such answers with --unknown")
    said = refused(f"{start} --unknown other", desk)
    assert said.endswith(
        "line 5: the answer is missing: leave such answers out with --drop-missing"
    )
    assert "unknown must be one of the labels" in refused(f"{start} --unknown milk", desk)
    for option in ("--drop-missing", "--unknown other"):
        said = refused(f"{start.replace(' --reported', '')} {option}", desk)
        assert said.startswith(f"{option.split()[0]} is for labels that were randomised already: ")


def test_reports_are_not_written_under_the_name_of_a_packed_table(desk: Path) -> None:
    said = refused("encode coffee.toml people.txt --question drink -o x.csv.gz", desk)
    assert said == "-o x.csv.gz: a table is written without .gz: leave that ending out"


@pytest.mark.parametrize("name", ["x.xlsx", "x.XLSX", "x.json", "x.feather", "x.bin.gz"])
def test_reports_are_not_written_under_the_name_of_another_format(name: str, desk: Path) -> None:
    said = refused(f"encode coffee.toml people.txt --question drink -o {name}", desk)
    assert said.startswith(f"-o {name}: {Path(name).suffix} is not written here: give a name for ")
    assert said.endswith("for reports (.bin), or for a table (.parquet, .csv, .tsv, .jsonl)")
    assert not (desk / name).exists()


def test_segments_are_told_in_order(desk: Path) -> None:
    weeks = ["10", "9", "x", "11", "2"]
    (desk / "t.csv").write_text("drink,week\n" + "".join(f"tea,{week}\n" for week in weeks))
    rest = "coffee.toml t.csv --column drink --by week --question drink"
    wanted = [f"  {week}: 1" for week in ("2", "9", "10", "11", "x")]
    assert good(f"encode {rest} -o r.bin").splitlines()[1:] == wanted
    assert good(f"count {rest} --reported -o c.json").splitlines()[1:] == wanted


@pytest.mark.parametrize("age", [37, 255, -37, 2**63 + 37])
@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_a_number_that_is_no_report_is_not_told(suffix: str, age: int, desk: Path) -> None:
    """It may be an answer, such as an age."""
    path = desk / f"ages.{suffix}"
    if suffix == "csv":
        path.write_text(f"age\n0\n{age}\n")
    elif suffix == "jsonl":
        path.write_text(f'{{"age": 0}}\n{{"age": {age}}}\n')
    else:
        kind = pa.uint8() if 0 <= age < 256 else None
        pq.write_table(pa.table({"age": pa.array([0, abs(age)], kind or pa.uint64())}), path)
    said = refused(f"count coffee.toml ages.{suffix} --column age --question drink -o x", desk)
    assert str(abs(age)) not in said
    assert ("line 2" if suffix == "jsonl" else "line 3" if suffix == "csv" else "row 2") in said
    assert "from 0 to" in said or "not base64" in said


def test_a_field_that_no_line_has_is_named(desk: Path) -> None:
    (desk / "t.jsonl").write_text('{"report": 1, "week": 40}\n{"report": 0, "week": 41}\n')
    start = "count coffee.toml t.jsonl --question drink -o x.json"
    said = refused(f"{start} --column reprot", desk)
    assert said.startswith("t.jsonl, line 1: this report is missing")
    assert said.endswith("(no line so far has a field called 'reprot')")
    said = refused(f"{start} --column report --by weak", desk)
    assert said.startswith("t.jsonl, line 1: the segment is missing: write one there, ")
    assert said.endswith("(no line so far has a field called 'weak')")
    (desk / "t.jsonl").write_text('{"report": 1}\n{"week": 41}\n')
    assert "so far" not in refused(f"{start} --column report", desk)


def test_names_of_reports_are_labels_that_need_an_option(desk: Path) -> None:
    (desk / "said.csv").write_text("said\nsame\ndifferent\n")
    said = refused("count coffee.toml said.csv --column said --question cheated -o x.json", desk)
    assert said.startswith("said.csv, line 2: this is a label, not a report: ")


def test_an_answer_taken_for_a_header_is_refused_with_the_way_out(desk: Path) -> None:
    end = "--question drink --drop-missing --unknown other"
    for command in (
        f"encode coffee.toml bare.csv {end} -o x",
        f"count {end} --reported coffee.toml bare.csv -o x",
    ):
        said = refused(f"{command} --column 1", desk)
        assert said.startswith("bare.csv has a value in column 1 of its first line, not a name: ")
        assert "(--no-header)" in said
        good(f"{command} --column 1 --no-header")
        (desk / "x").unlink()
    assert "column 1 of its first line" in refused(
        "count coffee.toml - --format csv --column 1 --question drink -o x", desk, "2\n0\n"
    )
    (desk / "named.csv").write_text("tea\nespresso\n")  # a column may be called like an answer
    good("encode coffee.toml named.csv --column tea --question drink -o x")


def test_a_name_with_other_capitals_is_told_from_other_wrong_names(desk: Path) -> None:
    said = refused("encode coffee.toml people.csv --column ' Region' --question drink -o x", desk)
    assert "correct the name (that of column 2 differs only in capitals or blanks) or give" in said
    assert "capitals" not in refused(
        "encode coffee.toml people.csv --column regoin --question drink -o x", desk
    )


def test_parquet_without_a_column_is_not_said_to_be_text(desk: Path) -> None:
    said = refused("encode coffee.toml people.parquet --question drink -o x", desk)
    assert said == "people.parquet has columns: add --column with a name or a number"


def test_encoding_with_a_design_notes_that_answers_are_randomised_now(desk: Path) -> None:
    result = run("encode coffee.toml - --question cheated -o x.bin", "yes\nno\n")
    assert result.exit_code == 0
    assert result.stderr.startswith("Note: the answers were randomised now.")
    assert "murmurs count --reported" in result.stderr
    assert run("encode coffee.toml - --question drink -o y.bin", "tea\n").stderr == ""
