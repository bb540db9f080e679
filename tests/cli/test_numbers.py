"""Numbers on the command line: from a CSV file to means, quantiles, comparisons and pictures."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import murmurs as mm
from murmurs.estimators.numbers import NumberEstimate
from murmurs.files.counts import read_counts, write_counts
from tests.cli.test_cli import good, run

SURVEY = """
name = "pay"
[[questions]]
name = "income"
text = "What do you earn in a month?"
range = [0, 5999]
width = 1000
unit = "€"
epsilon = 4.0
[[questions]]
name = "hour"
range = [0, 24]
width = 6
whole = false
circular = true
epsilon = 4.0
[[questions]]
name = "meal"
labels = ["bad", "fair", "good"]
ordered = true
epsilon = 4.0
[[questions]]
name = "drink"
labels = ["tea", "mate"]
epsilon = 4.0
"""


def bad(line: str) -> str:
    result = run(line)
    assert result.exit_code == 2
    return " ".join(result.stderr.split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A published survey, and counts of every question in three weeks in which pay rises."""
    folder = tmp_path_factory.mktemp("pay")
    (folder / "pay.toml").write_text(SURVEY)
    survey = mm.Survey.from_toml(SURVEY)
    (folder / "pay.json").write_text(survey.to_json())
    rng = np.random.default_rng(1)
    for week, pay in enumerate((1500, 2500, 3500)):
        held = {
            "income": {500: 2000, pay: 6000, 5999: 2000},
            "hour": {23: 5000, 3: 3000, 12: 2000},
            "meal": {"bad": 2000, "good": 8000},
            "drink": {"tea": 5000, "mate": 5000},
        }
        for question in survey.questions:
            counts = question.simulate(held[question.name], rng)
            write_counts(folder / f"{question.name}{week}.json", survey, question, counts)
    return folder


@pytest.fixture(autouse=True)
def _here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def estimate_of(name: str) -> NumberEstimate:
    question, counts = read_counts(Path(name))
    found = question.estimate(counts)
    assert isinstance(found, NumberEstimate)
    return found


def test_a_column_of_a_file_becomes_a_mean(folder: Path) -> None:
    pay = [500] * 2000 + [1500] * 6000 + [5999] * 2000
    (folder / "people.csv").write_text("income\n" + "\n".join(map(str, pay)) + "\n")
    encode = "encode pay.json people.csv --question income --column income -o income.bin --seed 1"
    assert "10,000 reports" in good(encode)
    good("count pay.json income.bin --question income -o counted.json")
    [mean] = json.loads(good("estimate counted.json --mean --json"))["statistics"]
    assert mean["low"] < 500 * 0.2 + 1500 * 0.6 + 5500 * 0.2 < mean["high"]
    assert good("estimate counted.json") != good("estimate counted.json --mean")


def test_a_bad_number_is_refused_by_its_line(folder: Path) -> None:
    for number, cell in enumerate(("6100", "12.5", "secret")):
        (folder / f"bad{number}.csv").write_text(f"income\n500\n{cell}\n")
        line = f"encode pay.json bad{number}.csv --question income --column income -o {number}.bin"
        said = bad(line)
        assert f"bad{number}.csv, line 3: this is not an answer to 'income'; an answer is a" in said
        assert "whole number from 0 to 5999: correct it" in said
        assert cell not in said
        assert not (folder / f"{number}.bin").exists()
        assert good(f"{line} --unknown '5000 to 5999'").startswith("2 reports")


def test_everything_that_is_asked_for_is_shown_in_every_form() -> None:
    found = estimate_of("income0.json")
    options = "--mean --sum --median --quantile 0.9 --quantile 0.25 --between 1000 3000 "
    options += "--above 2000 --top 2 --level 0.9"
    wanted = [
        found.mean(0.9),
        found.sum(level=0.9, target="population"),
        found.median(0.9),
        found.quantile(0.9, 0.9),
        found.quantile(0.25, 0.9),
        found.between(1000, 3000, 0.9),
        found.above(2000, 0.9),
        found.top(2, 0.9),
    ]
    document = json.loads(good(f"estimate income0.json {options} --json"))
    assert document["statistics"] == [one.to_document() for one in wanted]
    assert document["labels"] == list(found.labels)
    rows = list(csv.DictReader(io.StringIO(good(f"estimate income0.json {options} --csv"))))
    assert [row["number"] for row in rows] == [one.name for one in wanted]
    assert [float(row["value"]) for row in rows] == [one.value for one in wanted]
    assert rows[0]["unit"] == "€"
    text = good(f"estimate income0.json {options}")
    assert found.table(level=0.9) in text
    for one in wanted:
        assert f"{one.shown(one.low)} … {one.shown(one.high)}" in text


def test_numbers_have_a_mean_unasked_and_scales_and_labels_have_not() -> None:
    names = [one["name"] for one in json.loads(good("estimate income0.json --json"))["statistics"]]
    assert names == ["mean", "median", "10 % quantile", "90 % quantile"]
    assert "median " in good("estimate income0.json")
    for other in ("meal0", "drink0"):
        assert "statistics" not in json.loads(good(f"estimate {other}.json --json"))
    assert good("estimate income0.json --csv").startswith("answer,share,low,high")


def test_a_scale_has_a_mean_score_and_a_top_box() -> None:
    text = good("estimate meal0.json --mean --top 1")
    assert "mean " in text
    assert "share of the top 1" in text


def test_a_circle_has_a_mean_direction_and_shares_past_midnight() -> None:
    night = json.loads(good("estimate hour0.json --mean --between 18 6 --json"))["statistics"]
    assert night[1]["low"] < 0.8 < night[1]["high"]
    assert night[0]["value"] > 18
    assert night[0]["value"] != estimate_of("hour0.json").scale.middles @ [0.3, 0, 0.2, 0.5]


def test_changes_are_compared_with_intervals_and_p_values() -> None:
    found = estimate_of("income2.json").difference(estimate_of("income0.json"))
    options = "--mean --median --above 3000"
    document = json.loads(good(f"compare income2.json income0.json {options} --json"))
    wanted = [found.mean(), found.median(), found.above(3000)]
    assert document["statistics"] == [one.to_document() for one in wanted]
    text = good(f"compare income2.json income0.json {options}")
    assert "change of the mean" in text
    assert "p-value" in text
    csv_text = good(f"compare income2.json income0.json {options} --csv")
    assert csv_text.startswith("number,value,low,high,p_value,unit\n")


def test_a_trend_of_the_median_has_a_slope_and_a_picture(folder: Path) -> None:
    files = "income0.json income1.json income2.json"
    document = json.loads(good(f"trend {files} --median --mean --json"))
    assert [course["name"] for course in document["numbers"]] == ["mean", "median"]
    assert all(course["slope"]["low"] > 0 for course in document["numbers"])
    text = good(f"trend {files} --median --plot median.png")
    assert "Slope of the median" in text
    assert (folder / "median.png").stat().st_size > 1000
    good(f"trend {files} --groups --boxes --plot boxes.png")
    assert "add --plot FILE" in bad(f"trend {files} --boxes")
    assert (folder / "boxes.png").read_bytes()[1:4] == b"PNG"
    assert "means and quantiles are of numbers" in bad(
        "trend drink0.json drink1.json --boxes --plot none.png"
    )
    rows = list(csv.DictReader(io.StringIO(good(f"trend {files} --median --csv"))))
    assert [row["period"] for row in rows] == ["income0", "income1", "income2"]
    assert {row["number"] for row in rows} == {"median"}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("estimate drink0.json --mean", "means and quantiles are of numbers, or of ordered labels"),
        ("estimate income0.json --between 1500 3000", "ask for 1000 € or 2000 €"),
        ("estimate income0.json --above 7000", "outside of the survey's range, 0 € to 6000 €"),
        ("estimate income0.json --above high", "'high' is not a number on this scale: a whole"),
        ("estimate income0.json --between 2000 1000", "there is nothing from '2000' up to '1000'"),
        ("estimate income0.json --top 6", "the number of buckets must be from 1 to 5, not 6"),
        ("estimate hour0.json --median", "a circular scale has no first and no last bucket"),
        ("compare drink0.json drink1.json --mean", "means and quantiles are of numbers"),
        ("trend drink0.json drink1.json --mean", "means and quantiles are of numbers"),
        ("estimate income0.json --quantile 90", "90 is not between 0 and 1: for 90 %, give 0.9"),
        ("estimate income0.json --quantile nan", "nan is not between 0 and 1"),
    ],
)
def test_what_the_survey_does_not_have_is_refused(line: str, said: str) -> None:
    assert said in bad(line)


def test_numbers_of_parquet_are_encoded_to_a_table_and_on_all_cores(folder: Path) -> None:
    pay = [500] * 200 + [1500] * 600 + [5999] * 200
    for name, income in (("missing", [*pay, None, None]), ("whole", pay)):
        columns = {"id": list(range(len(income))), "income": income}
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")
    good("encode pay.json missing.parquet --columns income --drop-missing -o private.parquet")
    good("encode pay.json whole.parquet --columns income --engine local --key id -o parts")
    for source in ("private.parquet", "parts"):
        good(f"count pay.json {source} --column income --question income -o table.json")
        found = estimate_of("table.json")
        assert found.n == 1000
        between = found.between(1000, 2000, 1 - 1e-7)  # the true share is left out once in 1e7
        assert 0.3 < between.low < 0.6 < between.high  # that of any other bucket is at most 0.2


def test_people_are_simulated_by_their_numbers(folder: Path) -> None:
    (folder / "held.csv").write_text("500,300\n0,200\n4321,500\n0 to 999,100\n")
    good("simulate pay.json held.csv --question income --seed 1 -o held.json")
    assert estimate_of("held.json").n == 1100
    (folder / "held.csv").write_text("500,300\n7000,200\n")
    assert "'7000' is not an answer to 'income'" in bad(
        "simulate pay.json held.csv --question income -o held2.json"
    )


def test_one_answer_is_a_number(folder: Path) -> None:
    for number, given in enumerate(("income=4321", "hour=3.25", "meal=good", "income=0 to 999")):
        told = good(f"answer pay.json '{given}' --state {number}.state")
        assert "Spent so far: epsilon 4." in told
    said = bad("answer pay.json income=6100 --state none.js")
    assert "not an answer to 'income'; an answer is a whole number from 0 to 5999" in said
    assert "6100" not in said
