"""`murmurs encode -o private.parquet`: a table counts as its reports do, and copies nothing."""

from __future__ import annotations

import csv
import json
import shlex
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

import murmurs as mm
from murmurs import Survey
from murmurs.cli import main
from murmurs.files.counts import read_counts

TOML = """
name = "coffee"
[[questions]]
name = "drink"
labels = ["espresso", "tea", "none"]
mechanism = {name = "KRR", epsilon = 1.0}
[[questions]]
name = "cups"
labels = ["1", "2", "3", "4", "5"]
mechanism = {name = "KRR", epsilon = 1.5}
[[questions]]
name = "sorts"
labels = ["a", "b", "c", "d", "e", "f", "g"]
mechanism = {name = "Subset", epsilon = 1.0}
[[questions]]
name = "milk"
labels = ["no", "yes"]
mechanism = {name = "OUE", epsilon = 1.0}
[[questions]]
name = "town"
labels = ["x", "y", "z"]
mechanism = {name = "LocalHashing", epsilon = 1.0}
[[questions]]
name = "cheated"
mechanism = {name = "Crosswise", p = "1/4"}
[[questions]]
name = "pet"
mechanism = {name = "ORR", epsilon = 2.0, width = 8, cohorts = 16}
"""
SURVEY = Survey.from_toml(TOML)
KINDS = ["csv", "tsv", "parquet", "jsonl"]
LABELLED = ["drink", "cups", "sorts", "milk", "cheated"]
N = 210


@pytest.fixture(autouse=True)
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("coffee.json").write_text(SURVEY.to_json())
    rows = {
        "name": [f"person {i}" for i in range(N)],
        "drink": [["espresso", "tea", "none"][i % 3] for i in range(N)],
        "cups": [str(1 + i % 5) for i in range(N)],
        "sorts": ["abcdefg"[i % 7] for i in range(N)],
        "milk": [["no", "yes"][i % 2] for i in range(N)],
        "town": ["xyz"[i % 3] for i in range(N)],
        "cheated": [["yes", "no"][i % 2] for i in range(N)],
        "pet": [["Leo", "Luna", "Milo"][i % 3] for i in range(N)],
        "region": [["north", "south"][i % 2] for i in range(N)],
    }
    pq.write_table(pa.table(rows), "data.parquet")
    with Path("data.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(rows)
        writer.writerows(zip(*rows.values(), strict=True))
    return tmp_path


def run(line: str) -> Result:
    return CliRunner().invoke(main, shlex.split(line))


def good(line: str) -> str:
    result = run(line)
    assert result.exit_code == 0, result.output
    return result.stdout


def bad(line: str) -> str:
    result = run(line)
    assert result.exit_code == 2, result.output
    assert not list(Path().glob("private*"))
    return result.stderr


def cells(path: str, question: str, options: str = "") -> Any:
    """The counts of a column, as `count` reads it."""
    good(f"count coffee.json {path} --column {question} --question {question} {options} -o c.json")
    return read_counts("c.json", SURVEY)[1].cells


def table(path: str) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = pq.read_table(path).to_pydict()
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("source", ["data.csv", "data.parquet"])
def test_codes_of_every_question_count_as_its_reports_do(kind: str, source: str) -> None:
    good(f"encode coffee.json {source} --seed 1 --keep-order -o private.{kind}")
    random = np.random.default_rng(1)
    people = table("data.parquet")
    for asked in SURVEY.questions:
        reports = asked.encode_many(people[asked.name], random)
        wanted = asked.count(reports).cells
        assert np.array_equal(cells(f"private.{kind}", asked.name), wanted)


@pytest.mark.parametrize("kind", KINDS)
def test_labels_count_as_the_codes_do(kind: str) -> None:
    named = ",".join(LABELLED)
    good(f"encode coffee.json data.csv --columns {named} --seed 2 --labels -o private.{kind}")
    good(f"encode coffee.json data.csv --columns {named} --seed 2 -o codes.{kind}")
    for name in LABELLED:
        codes = cells(f"codes.{kind}", name)
        assert np.array_equal(cells(f"private.{kind}", name, "--reported"), codes)


def test_a_label_is_what_the_report_says() -> None:
    good("encode coffee.json data.csv --columns drink,sorts,milk --labels -o private.parquet")
    found = table("private.parquet")
    assert set(found["drink"]) <= {"espresso", "tea", "none"}
    size = mm.Subset(7, 1.0).w
    assert all(len(set(sorts)) == size and sorts == sorted(sorts) for sorts in found["sorts"])
    assert {tuple(milk) for milk in found["milk"]} == {(), ("no",), ("yes",), ("no", "yes")}


def test_reports_without_labels_are_refused_with_a_way_out() -> None:
    message = bad("encode coffee.json data.csv --columns drink,town --labels -o private.csv")
    assert "is not made of labels: write codes for 'town', without labels" in message


def test_no_other_column_is_copied_and_the_rows_are_shuffled() -> None:
    told = good("encode coffee.json data.parquet --columns drink,milk -o private.parquet")
    assert list(table("private.parquet")) == ["drink", "milk"]
    assert "The rows are shuffled" in told
    assert "No other column was copied" in told
    assert b"person" not in Path("private.parquet").read_bytes()


def test_the_order_is_kept_only_if_it_is_asked_for() -> None:
    """210 names that come back in order by chance: below 1e-300."""
    names = table("data.parquet")["name"]
    good("encode coffee.json data.parquet --columns drink --keep name -o private.parquet")
    shuffled = table("private.parquet")["name"]
    assert shuffled != names
    assert sorted(shuffled) == sorted(names)
    good("encode coffee.json data.parquet --columns drink --keep name --keep-order -o in.parquet")
    assert table("in.parquet")["name"] == names


def test_the_columns_of_a_row_are_shuffled_together() -> None:
    """At epsilon 40 a report is the answer: 5 wrong pairs of 210 have a chance below 1e-70."""
    sure = TOML.replace("epsilon = 1.0", "epsilon = 40.0")
    Path("sure.toml").write_text(sure)
    line = "encode sure.toml data.parquet --columns drink,town,sorts --keep town,region"
    assert "that column is encoded" in bad(f"{line} -o private.csv".replace("town,region", "town"))
    good("encode sure.toml data.parquet --columns drink --labels --keep name -o private.parquet")
    people = table("data.parquet")
    truth = dict(zip(people["name"], people["drink"], strict=True))
    found = table("private.parquet")
    pairs = zip(found["name"], found["drink"], strict=True)
    assert sum(truth[name] != drink for name, drink in pairs) < 5


@pytest.mark.parametrize("seed", ["", "--seed 3"])
def test_a_seed_repeats_the_table_and_chance_does_not(seed: str) -> None:
    for name in ("one", "two"):
        good(f"encode coffee.json data.csv {seed} -o {name}.csv")
    assert (Path("one.csv").read_text() == Path("two.csv").read_text()) == bool(seed)


def test_a_seed_is_noted_because_it_undoes_the_noise() -> None:
    line = "encode coffee.json data.csv --columns drink -o private.csv"
    assert "guesses the seed can undo the noise and the order" in run(f"{line} --seed 1").stderr
    assert not run(line).stderr


def test_the_epsilon_of_a_row_is_the_exact_sum() -> None:
    names = ["drink", "cups", "sorts"]
    line = f"encode coffee.json data.csv --columns {','.join(names)} -o private.csv"
    document = json.loads(good(f"{line} --json"))
    realised = {name: SURVEY.question(name).mechanism.epsilon_realised for name in names}
    assert document["columns"] == realised
    exact = sum(map(Fraction, realised.values()))
    assert Fraction(document["epsilon"]) >= exact
    assert Fraction(np.nextafter(document["epsilon"], 0)) < exact
    assert "A row costs epsilon 3.5: drink 1, cups 1.5, sorts 1." in good(line)


def test_an_epsilon_without_a_bound_is_said() -> None:
    text = TOML + '[[questions]]\nname = "hot"\nmechanism = {name = "Triangular", p = "1/4"}\n'
    Path("more.toml").write_text(text)
    Path("hot.csv").write_text("hot,drink\nyes,tea\nno,none\n")
    told = good("encode more.toml hot.csv --columns drink,hot -o private.csv")
    assert "A row costs epsilon inf: drink 1, hot inf." in told


def test_columns_may_have_other_names_than_questions() -> None:
    Path("other.csv").write_text("Getränk,x\ntea,1\nnone,2\n")
    good("encode coffee.json other.csv --columns drink=Getränk,cups=x -o private.parquet")
    assert list(table("private.parquet")) == ["drink", "cups"]
    good("encode coffee.json other.csv --question drink --column Getränk -o one.parquet")
    assert list(table("one.parquet")) == ["drink"]
    Path("lines.txt").write_text("tea\nnone\n")
    good("encode coffee.json lines.txt --question drink -o lines.parquet")
    assert len(table("lines.parquet")["drink"]) == 2


def test_data_without_a_survey_are_told_what_comes_first() -> None:
    message = bad("encode data.parquet --columns drink -o private.parquet")
    assert "as in murmurs encode survey.json data.parquet -o private.parquet" in message


def test_missing_and_unknown_answers_are_refused_by_line_or_given_labels() -> None:
    Path("holes.csv").write_text("drink,milk\ntea,no\n,yes\ntea,\nchai,no\n")
    line = "encode coffee.json holes.csv --columns drink,milk -o private.parquet"
    assert "line 3: the answer to 'drink' is missing" in bad(line)
    unknown = bad(f"{line} --drop-missing")
    assert "line 5: this is not an answer to 'drink'" in unknown
    assert "chai" not in unknown
    good(f"{line} --drop-missing --unknown drink=none")
    assert len(table("private.parquet")["drink"]) == 2
    good(f"{line} --missing drink=none --drop-missing --unknown drink=none")
    assert len(table("private.parquet")["drink"]) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--columns drink,drink -o private.csv", "--columns has 'drink' twice"),
        ("--columns drnk -o private.csv", "did you mean 'drink'?"),
        ("--columns drink --question drink -o private.csv", "leave --question and --column out"),
        ("--columns drink --by region -o private.csv", "keep the column with --keep"),
        ("--columns drink --keep drink -o private.csv", "its answers do not go out"),
        ("--columns drink --keep milk -o private.csv", "the survey asks that with noise"),
        ("--columns drink -o private.bin", "are for a table: give -o a name that ends in .parquet"),
        ("--question drink --column drink --labels -o private.bin", "are for a table"),
        ("--columns drink -o private.csv.gz", "a table is written without .gz"),
        ("--columns drink=nowhere -o private.csv", "has no column called 'nowhere'"),
    ],
)
def test_what_does_not_go_together_is_refused_and_nothing_written(
    options: str, message: str
) -> None:
    assert message in bad(f"encode coffee.json data.csv {options}")


def test_questions_asked_together_are_one_column() -> None:
    text = TOML + '[[joint]]\nquestions = ["drink", "milk"]\n'
    together = Survey.from_toml(text)
    Path("joint.json").write_text(together.to_json())
    good("encode joint.json data.csv --columns drink+milk,town --seed 1 -o private.csv")
    line = "count joint.json private.csv --column drink+milk --question drink+milk -o c.json"
    assert "210 reports" in good(line)
    people = table("data.parquet")
    answers = {name: people[name] for name in ("drink", "milk")}
    joint = together.asked("drink+milk")
    reports = joint.encode_many(answers, np.random.default_rng(1))
    wanted = joint.mechanism.count(reports).cells
    assert np.array_equal(read_counts("c.json", together)[1].cells, wanted)
    Path("private.csv").unlink()
    line = "encode joint.json data.csv --columns drink+milk --labels -o private.tsv"
    assert "one code for several questions" in bad(line)


def test_tables_of_codes_are_read_by_joint() -> None:
    good("encode coffee.json data.csv --columns drink,milk -o private.parquet")
    Path("two.toml").write_text(
        TOML.split('[[questions]]\nname = "cups"')[0]
        + '[[questions]]\nname = "milk"\nlabels = ["no", "yes"]\n'
        'mechanism = {name = "OUE", epsilon = 1.0}\n'
    )
    assert "drink × milk\n210 reports\n" in good("joint two.toml private.parquet")


@pytest.mark.parametrize("source", ["data.csv", "data.parquet"])
@pytest.mark.parametrize("pair", ["drink=2 --keep copy", "drink --keep 10", "drink=copy --keep 2"])
def test_the_answers_do_not_go_out_under_another_name_or_number(source: str, pair: str) -> None:
    rows = table("data.parquet")
    rows["copy"] = rows["drink"]
    pq.write_table(pa.table(rows), "data.parquet")
    with Path("data.csv").open("w", newline="") as file:
        csv.writer(file).writerows([list(rows), *zip(*rows.values(), strict=True)])
    message = bad(f"encode coffee.json {source} --columns {pair} -o private.csv")
    assert "that column has the answers to 'drink' as they are" in message


@pytest.mark.parametrize(
    ("answers", "copy"),
    [
        ([1, 2, 5], ["1", "2", "5"]),
        (["1", "2", "5"], [1.0, 2.0, 5.0]),
        ([1.0, float("nan"), 5.0], [1.0, float("nan"), 5.0]),
        (["1", None, "5"], [1.0, float("nan"), 5.0]),
    ],
)
def test_answers_do_not_go_out_as_another_type_of_value(answers: Any, copy: Any) -> None:
    pq.write_table(pa.table({"cups": answers, "copy": copy}), "typed.parquet")
    line = "encode coffee.json typed.parquet --columns cups --missing 1 --keep copy"
    assert "that column has the answers to 'cups'" in bad(f"{line} -o private.csv")


def test_a_column_that_differs_in_one_row_is_no_copy() -> None:
    pq.write_table(pa.table({"cups": [1, 2, 5], "other": ["1", "2", "4"]}), "typed.parquet")
    good("encode coffee.json typed.parquet --columns cups --keep other -o private.csv")


def test_a_first_line_with_an_answer_is_no_header() -> None:
    Path("headless.csv").write_text("tea,x\nnone,y\n")
    line = "encode coffee.json headless.csv --columns drink=1"
    assert "has a value in column 1 of its first line" in bad(f"{line} -o private.csv")
    good(f"{line} --no-header -o private.csv")
    assert len(Path("private.csv").read_text().splitlines()) == 3


def test_kept_values_that_parquet_does_not_hold_are_refused_without_a_cell() -> None:
    for odd in ('"somebody"', str(10**30)):
        Path("mixed.jsonl").write_text(
            f'{{"drink": "tea", "k": 1}}\n{{"drink": "tea", "k": {odd}}}\n'
        )
        line = "encode coffee.json mixed.jsonl --columns drink --keep k"
        message = bad(f"{line} -o private.parquet")
        assert "column 'k' has values of several types, or too large ones" in message
        assert "somebody" not in message
        good(f"{line} -o private.jsonl")
        Path("private.jsonl").unlink()


@pytest.mark.parametrize("kind", ["csv", "tsv"])
def test_kept_text_is_read_back_as_it_was_whatever_is_in_it(kind: str) -> None:
    texts = ["a\rb", "a\r\nb", "a\nb", 'a"b', "a,b", "a\tb", "\r", " a "]
    pq.write_table(pa.table({"drink": ["tea"] * len(texts), "k": texts}), "texts.parquet")
    line = "encode coffee.json texts.parquet --columns drink --keep k --keep-order"
    good(f"{line} -o private.{kind}")
    with Path(f"private.{kind}").open(newline="") as file:
        rows = list(csv.reader(file, delimiter="," if kind == "csv" else "\t"))
    assert [row[1] for row in rows[1:]] == texts


def test_a_table_in_json_lines_is_json_also_where_a_kept_number_is_not_there() -> None:
    pq.write_table(pa.table({"drink": ["tea"] * 2, "k": [float("nan"), 1.5]}), "nan.parquet")
    good("encode coffee.json nan.parquet --columns drink --keep k --keep-order -o private.jsonl")

    def refuse(text: str) -> None:
        raise ValueError(text)

    lines = Path("private.jsonl").read_text().splitlines()
    assert [json.loads(line, parse_constant=refuse)["k"] for line in lines] == [None, 1.5]


# Sets of labels that are read


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ('["a"]', "line 3: this report does not have 2 labels of 'sorts'"),
        ('["a", "a"]', "line 3: this report has what is not a label, or a label twice"),
        ('["a", "secret"]', "line 3: this report has what is not a label, or a label twice"),
        ("secret", "line 3: this report is not a list of labels of 'sorts'"),
        ("", "line 3: this report is not a list of labels of 'sorts'"),
        ("[1, 2]", "line 3: this report is not a list of labels of 'sorts'"),
    ],
)
def test_sets_that_are_no_reports_are_refused_by_line(value: str, message: str) -> None:
    with Path("sets.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["sorts", "x"], ['["a", "b"]', 1], [value, 2]])
    line = "count coffee.json sets.csv --column sorts --question sorts --reported -o private.json"
    said = bad(line)
    assert message in said
    assert "secret" not in said
    if not value:
        good(f"{line} --drop-missing")
