"""The counts.parquet of a collector is read as files of counts are, with whose reports they are."""

from __future__ import annotations

import csv
import datetime
import io
import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from murmurs import Survey
from murmurs.cli import main
from murmurs.collect.stores import open_store
from murmurs.collect.stores.export import export
from murmurs.files.counts import read_counts
from murmurs.files.exported import read_exported
from murmurs.submission import SubmissionForm
from murmurs.survey.rounds import rounds_of

SURVEY = Survey.from_toml("""
name = "coffee"
every = "week"
segments = ["north", "south"]
[[questions]]
name = "drink"
labels = ["espresso", "tea", "none"]
mechanism = {name = "LOSUE", epsilon = 2.0, epsilon_permanent = 4.0}
[[questions]]
name = "cups"
labels = ["one", "two"]
mechanism = {name = "KRR", epsilon = 1.0}
""")
MONDAY = datetime.date(2027, 1, 4)
FIRST = (MONDAY - datetime.date(1970, 1, 1)).days
WEEKS, PEOPLE = 12, 40


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve weeks of forty people in two segments, exported."""
    return collected(tmp_path_factory.mktemp("collected"), WEEKS)


def collected(folder: Path, weeks: int) -> Path:
    form = SubmissionForm(SURVEY)
    random = np.random.default_rng(1)
    store = open_store(folder / "store")
    store.publish(SURVEY, FIRST)
    for week in range(weeks):
        for number, segment in enumerate(("north", "south")):
            reports = {
                question.name: question.mechanism.shape.unstack(
                    question.encode_many([question.labels[number]] * (PEOPLE // 2), random)
                )
                for question in SURVEY.questions
            }
            store.add([form.make(reports, segment=segment)], FIRST + 7 * week + number)
    export(store, folder / "out")
    store.close()
    return folder / "out" / "coffee-1" / "counts.parquet"


def run(line: str) -> Result:
    return CliRunner().invoke(main, shlex.split(line))


def good(line: str) -> str:
    result = run(line)
    assert result.exit_code == 0, result.output
    return result.stdout


def document(line: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(good(f"{line} --json"))
    return found


def test_all_rows_of_a_question_are_estimated_together(exported: Path) -> None:
    result = run(f"estimate {exported} --question drink --json")
    found = json.loads(result.stdout)
    assert (found["question"], found["n"]) == ("drink", WEEKS * PEOPLE)
    assumed = "assumes the same people every week: 480 reports in 12 weeks from 40 people."
    assert " ".join(result.stderr.split()).endswith(assumed)
    table = pq.read_table(exported).to_pylist()
    days = {MONDAY + datetime.timedelta(7 * week + s): 20 for week in range(WEEKS) for s in (0, 1)}
    rounds = rounds_of(days, SURVEY.terms, "same")
    cells = np.sum([row["cells"] for row in table if row["question"] == "drink"], axis=0)
    _, counts = read_counts(exported, SURVEY, "drink")
    assert np.array_equal(counts.cells.ravel(), cells)
    assert counts.times == pytest.approx(rounds.kept) == WEEKS
    wide = np.subtract(found["high"], found["low"])
    people = SURVEY.question("drink").simulate([20, 20, 0], np.random.default_rng(1))
    low, high = SURVEY.question("drink").estimate(people).interval()
    assert (wide > (high - low) / 3).all()  # 480 different people would be sqrt(12) = 3.5 surer


def test_weeks_months_days_and_segments_are_shown_side_by_side(exported: Path) -> None:
    for by, periods in {
        "week": [str(MONDAY + datetime.timedelta(weeks=week)) for week in range(WEEKS)],
        "month": ["2027-01", "2027-02", "2027-03"],
        "segment": ["north", "south"],
    }.items():
        printed = good(f"trend {exported} --question cups --by {by} --csv")
        rows = list(csv.DictReader(io.StringIO(printed)))
        assert list(dict.fromkeys(row["period"] for row in rows)) == periods
    assert good(f"trend {exported} --question cups --csv") == good(
        f"trend {exported} --question cups --by week --csv"
    )
    assert "480 reports in 24 days" in good(f"trend {exported} --question drink --by day")


def test_the_same_people_report_every_week_and_others_in_other_segments(exported: Path) -> None:
    weeks = document(f"trend {exported} --question drink --by week")
    assert weeks["target"] == "respondents"
    noted = " ".join(run(f"trend {exported} --question drink --by week").stderr.split())
    assert noted == (
        "Note: assumes the same people every week, one report per person in each period or segment."
    )
    assert document(f"trend {exported} --question drink --by segment")["target"] == "population"
    apart = document(f"trend {exported} --question drink --people different")
    assert apart["target"] == "population"


def test_exports_are_compared_with_files_of_counts_and_added(
    exported: Path, tmp_path: Path
) -> None:
    line = f"add {exported} --question cups --people different -o {tmp_path / 'cups.json'}"
    assert "480 reports to 'cups' added up" in good(line)
    _, counts = read_counts(tmp_path / "cups.json", SURVEY)
    assert counts.n == 480
    compared = document(f"compare {exported} {tmp_path / 'cups.json'} --question cups")
    assert compared["change"] == pytest.approx([0, 0])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("estimate {}", "has counts of 'drink', 'cups': add --question"),
        ("estimate {} --question cup", "did you mean 'cups'?"),
        ("discover {}", "has counts of 'drink', 'cups': add --question"),
        ("discover {} --question cups", "do not hold prefixes or n-grams to search"),
        ("trend {} {} --question cups --by week", "--by divides one counts.parquet"),
        ("trend {} --question cups --names a,b", "--names has 2 names for 12 weeks"),
        ("estimate other.parquet", "is not a counts.parquet that murmurs store export wrote"),
        ("estimate bad.parquet", "is not a whole Parquet file"),
        ("estimate altered.parquet --question cups", "altered.parquet, row 25: "),
    ],
)
def test_what_cannot_be_read_is_told(
    line: str, message: str, exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"drink": ["tea"]}), "other.parquet")
    Path("bad.parquet").write_bytes(exported.read_bytes()[:-9])
    table = pq.read_table(exported)
    rows = table.to_pylist()
    rows[24]["n"] += 1
    altered = pa.Table.from_pylist(rows, table.schema)
    pq.write_table(altered, "altered.parquet")
    result = run(line.replace("{}", str(exported)))
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("day", datetime.datetime(2027, 1, 4, 12), "row 1: its day is not a date"),
        ("day", "2027-01-04", "row 1: its day is not a date"),
        ("segment", 3, "row 1: its day is not a date, or its segment not a name"),
        ("cells", None, "row 1: its cells are not whole numbers"),
        ("cells", [19.5, 0.5], "row 1: its cells are not whole numbers"),
        ("cells", [19, None], "row 1: its cells are not whole numbers"),
        ("n", None, "row 1: n must be a whole number"),
        ("question", None, "has no question 'None'"),
    ],
)
def test_a_row_that_no_collector_writes_is_refused_by_its_number(
    exported: Path, tmp_path: Path, column: str, value: Any, message: str
) -> None:
    table = pq.read_table(exported)
    cups = table.filter(pa.compute.equal(table["question"], "cups")).slice(0, 1)
    bad = cups.set_column(cups.schema.get_field_index(column), column, pa.array([value]))
    pq.write_table(bad, tmp_path / "bad.parquet")
    with pytest.raises(ValueError, match=message):
        read_exported(tmp_path / "bad.parquet").counts()


def test_counts_have_days_in_every_row_or_in_none(exported: Path, tmp_path: Path) -> None:
    table = pq.read_table(exported)
    place = table.schema.get_field_index("day")
    days = table["day"].to_pylist()
    some = table.set_column(place, "day", pa.array([None, *days[1:]], pa.date32()))
    pq.write_table(some, tmp_path / "some.parquet")
    with pytest.raises(ValueError, match="row 1: its day is not a date"):
        read_exported(tmp_path / "some.parquet", "drink")
    rows = table.to_pylist()
    one = [{**row, "day": None} for row in rows if str(row["day"])[:7] == "2027-01"][:2]
    pq.write_table(pa.Table.from_pylist(one, table.schema), tmp_path / "none.parquet")
    found = read_exported(tmp_path / "none.parquet", "drink")
    assert found.counts().counts.n == 40
    assert list(found.parts("segment")) == ["north", "south"]
    sentence = (
        "the counts of 'drink' have no days: show --by segment, or count the reports again by "
        "their day"
    )
    result = run(f"trend {tmp_path}/none.parquet --question drink")
    assert (result.exit_code, result.stderr) == (2, f"Error: {sentence}\n")
    assert "40 reports in 2 segments" in good(
        f"trend {tmp_path}/none.parquet --question drink --by segment"
    )


def test_a_day_of_a_segment_that_is_there_twice_is_refused(exported: Path, tmp_path: Path) -> None:
    table = pq.read_table(exported)
    pq.write_table(pa.concat_tables([table, table.slice(0, 1)]), tmp_path / "twice.parquet")
    with pytest.raises(ValueError, match="another row is of the same day and segment"):
        read_exported(tmp_path / "twice.parquet", "drink")


def test_a_question_of_another_name_than_that_of_a_file_is_refused(tmp_path: Path) -> None:
    Path(tmp_path / "h.csv").write_text("one,3\n")
    Path(tmp_path / "s.json").write_text(SURVEY.to_json())
    good(f"simulate {tmp_path}/s.json {tmp_path}/h.csv --question cups -o {tmp_path}/c.json")
    result = run(f"estimate {tmp_path}/c.json --question drink")
    assert "answers 'cups', not 'drink'" in result.stderr


def test_the_export_has_the_survey_in_its_metadata(exported: Path) -> None:
    assert read_exported(exported, "drink").survey.fingerprint == SURVEY.fingerprint


@pytest.mark.parametrize(
    "mechanism",
    ['{name = "LOSUE", epsilon = 2.0, epsilon_permanent = 4.0}', '{name = "KRR", epsilon = 2.0}'],
)
def test_of_questions_asked_together_the_largest_round_is_taken(
    tmp_path: Path, mechanism: str
) -> None:
    """Tests of association take every report for another person, whatever the noise."""
    survey = Survey.from_toml(
        'name = "coffee"\nevery = "week"\n[[questions]]\nname = "drink"\nlabels = ["a", "b"]\n'
        f"mechanism = {mechanism}\n"
        '[[questions]]\nname = "cups"\nlabels = ["c", "d"]\n'
        f"mechanism = {mechanism}\n"
        '[[joint]]\nquestions = ["drink", "cups"]\n'
    )
    joint, form, random = survey.joints[0], SubmissionForm(survey), np.random.default_rng(1)
    store = open_store(tmp_path / "store")
    store.publish(survey, FIRST)
    for week, people in enumerate((10, 30, 20)):
        answers = {"drink": ["a"] * people, "cups": ["d"] * people}
        reports = joint.mechanism.shape.unstack(joint.encode_many(answers, random))
        store.add([form.make({joint.name: reports})], FIRST + 7 * week)
    export(store, tmp_path / "out")
    store.close()
    result = run(f"estimate {tmp_path}/out/coffee-1/counts.parquet --json")
    assert json.loads(result.stdout)["n"] == 30
    assert "in the round that began on 2027-01-11 alone" in " ".join(result.stderr.split())


@pytest.mark.parametrize("form", ["", " --csv", " --json"])
def test_whose_reports_are_assumed_is_said_once_for_people(tmp_path: Path, form: str) -> None:
    week = collected(tmp_path, 1)
    result = run(f"estimate {week} --question drink{form}")
    said = (result.stdout if not form else "") + result.stderr
    assert said.count("assumes 40 people with one report each.") == 1
