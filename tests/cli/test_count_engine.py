"""`murmurs count --engine`: all questions in one pass, and every mistake in one sentence."""

from __future__ import annotations

import datetime
import json
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from pyarrow.fs import FileSystem, LocalFileSystem, copy_files

from murmurs import KRR, Question, Survey
from murmurs.cli import main
from murmurs.files import reports_table
from murmurs.files.exported import read_exported
from murmurs.present.layout import WIDTH, width

SURVEY = Survey.from_toml("""
name = "coffee"
[[questions]]
name = "drink"
labels = ["espresso", "tea", "none"]
mechanism = {name = "KRR", epsilon = 1.0}
[[questions]]
name = "cups"
labels = ["one", "two", "three"]
mechanism = {name = "OUE", epsilon = 1.0}
[[questions]]
name = "sugar"
labels = ["no", "yes"]
mechanism = {name = "KRR", epsilon = 1.0}
[[questions]]
name = "milk"
labels = ["no", "yes"]
mechanism = {name = "KRR", epsilon = 1.0}
[[joint]]
name = "both"
questions = ["sugar", "milk"]
""")
MONDAY = datetime.date(2027, 1, 4)
EACH = 200
SCHEDULER = "tcp://127.0.0.1:9"


def reports(seed: int, n: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    found = {}
    for asked in SURVEY.reported:
        columns = {q.name: [q.labels[i] for i in rng.integers(2, size=n)] for q in asked.questions}
        found[asked.name] = asked.encode_many(asked.pick(columns), rng)
    return found


def table(day: int, n: int = EACH) -> pa.Table:
    """The submissions of a day, half of them from the north."""
    ids = [np.random.default_rng([day, row]).bytes(16) for row in range(n)]
    return reports_table(
        SURVEY,
        reports(day, n),
        ids=ids,
        day=MONDAY + datetime.timedelta(day),
        segment=["north", "south"] * (n // 2),
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reports of two weeks, and their survey."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "survey.json").write_text(SURVEY.to_json())
    (folder / "reports").mkdir()
    for day in range(14):
        pq.write_table(table(day), folder / "reports" / f"day{day}.parquet")
    return folder


@pytest.fixture
def desk(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


def run(line: str) -> Result:
    result = CliRunner().invoke(main, shlex.split(line))
    for text in [*result.stdout.splitlines(), *result.stderr.splitlines()]:
        if not text.startswith(("{", "Error: ")):
            assert width(text) <= WIDTH, text
    return result


def good(line: str) -> str:
    result = run(line)
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(line: str, status: int = 2) -> str:
    """The sentence of a refusal, which leaves no output."""
    result = run(line)
    assert (result.exit_code, result.stdout) == (status, ""), result.output
    assert not list(Path().glob("*counts.parquet"))
    [*_, sentence] = result.stderr.strip().splitlines()
    assert sentence.startswith("Error: ")
    return sentence


def rows() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table("counts.parquet").to_pylist()
    return found


COUNT = "count survey.json reports --engine local -o counts.parquet"


def test_every_question_is_counted_in_one_pass(desk: Path) -> None:
    assert good(COUNT).splitlines() == [
        "2,800 rows counted; written to counts.parquet",
        "  drink: 2,800 reports",
        "  cups: 2,800 reports",
        "  both: 2,800 reports",
    ]
    for row in rows():
        asked = SURVEY.asked(row["question"])
        parts = [reports(day, EACH)[asked.name] for day in range(14)]
        assert row["cells"] == asked.count(parts).cells.ravel().tolist()
        assert (row["day"], row["segment"], row["n"]) == (None, None, 2800)


def test_days_and_segments_are_estimated_compared_and_shown_as_of_an_export(desk: Path) -> None:
    printed = good(f"{COUNT} --by day --by segment")
    assert "There are 28 segments." in printed
    assert len(rows()) == 28 * 3
    assert {row["segment"] for row in rows()} == {"north", "south"}
    assert "2,800 reports in 2 weeks" in good("trend counts.parquet --question drink")
    assert "2,800 reports in 2 segments" in good(
        "trend counts.parquet --question cups --by segment"
    )
    assert "2,800 reports" in good("estimate counts.parquet --question cups")
    shutil.copy("counts.parquet", "again.parquet")
    assert "minus" in good("compare counts.parquet again.parquet --question drink")
    assert json.loads(good("joint counts.parquet --json"))["n"] == 2800


def test_counts_without_days_are_estimated_and_have_no_trend(desk: Path) -> None:
    good(f"{COUNT} --by segment")
    assert "2,800 reports" in good("estimate counts.parquet --question drink")
    assert run("trend counts.parquet --question drink --by day").stderr == (
        "Error: the counts of 'drink' have no days: show --by segment, or count the reports again "
        "by their day\n"
    )


def test_programs_get_a_document(desk: Path) -> None:
    found = json.loads(good(f"{COUNT} --by segment --json"))
    assert found == {
        "survey": SURVEY.fingerprint,
        "rows": 2800,
        "new": 2800,
        "by": ["segment"],
        "segments": 2,
        "reports": {"drink": 2800, "cups": 2800, "both": 2800},
        "missing": {},
        "repeated": 0,
        "refused": {},
    }


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ("--question drink", ["drink"]),
        ("--question drink --question cups", ["drink", "cups"]),
        ("--columns cups,drink=drink", ["drink", "cups"]),
        ("--question drink --column drink", ["drink"]),
    ],
)
def test_questions_and_their_columns_are_chosen(desk: Path, options: str, names: list[str]) -> None:
    assert list(json.loads(good(f"{COUNT} {options} --json"))["reports"]) == names


def test_several_columns_are_one_segment(desk: Path) -> None:
    Path("more").mkdir()
    whole = table(0)
    size = pa.array(["small", "large"] * (EACH // 2))
    pq.write_table(whole.append_column("size", size), "more/reports.parquet")
    good("count survey.json more --engine local -o counts.parquet --by segment --by size")
    assert {row["segment"] for row in rows()} == {"north-small", "south-large"}


def test_segments_that_would_have_one_name_are_refused(desk: Path) -> None:
    Path("more").mkdir()
    texts = {"one": ["a-b", "a"], "two": ["c", "b-c"], "drink": pa.array([0, 1], pa.uint8())}
    pq.write_table(pa.table(texts), "more/reports.parquet")
    line = "count survey.json more --engine local -o counts.parquet --question drink"
    assert "would have the same name, 'a-b-c'" in refused(f"{line} --by one --by two")


def test_a_day_that_is_no_date_is_refused(desk: Path) -> None:
    pq.write_table(pa.table({"day": ["Monday"], "drink": pa.array([0], pa.uint8())}), "x.parquet")
    line = "count survey.json x.parquet --engine local -o counts.parquet --question drink"
    assert "the column 'day' has 'Monday', which is no date" in refused(f"{line} --by day")


def test_of_rows_with_one_id_the_first_counts(desk: Path) -> None:
    shutil.copy("reports/day3.parquet", "reports/day99.parquet")
    printed = good(f"{COUNT} --id id")
    assert "  drink: 2,800 reports" in printed
    assert "200 rows left out: their ids came before." in printed


def test_bad_rows_stop_or_are_skipped_and_their_places_are_told(desk: Path) -> None:
    drink = pa.array([0, 77, 2, 77], pa.uint8())
    pq.write_table(pa.table({"drink": drink}), "bad.parquet")
    line = "count survey.json bad.parquet --engine local -o counts.parquet --question drink"
    assert "bad.parquet, row 2: the column 'drink' has no report to 'drink'" in refused(line)
    printed = good(f"{line} --bad skip --refused refused.jsonl")
    assert "2 rows refused: the column 'drink' has no report to 'drink'." in printed
    assert [json.loads(text) for text in Path("refused.jsonl").read_text().splitlines()] == [
        {"file": str(desk / "bad.parquet"), "row": row, "reason": reason}
        for row, reason in ((n, "the column 'drink' has no report to 'drink'") for n in (2, 4))
    ]
    lines = map(json.loads, Path("refused.jsonl").read_text().splitlines())
    assert not any("77" in line["reason"] for line in lines)


def test_a_memory_counts_only_new_files_and_refuses_changed_ones(desk: Path) -> None:
    line = f"{COUNT} --memory memory --by day"
    assert good(line).startswith("2,800 new rows counted")
    first = rows()
    pq.write_table(table(14), "reports/day14.parquet")
    printed = good(line)
    assert printed.startswith("200 new rows counted")
    assert "2,800 rows counted in earlier runs." in printed
    assert rows()[: len(first)] == first
    assert sum(row["n"] for row in rows()) == 3 * 3000
    Path("counts.parquet").unlink()
    good(line)
    assert sum(row["n"] for row in rows()) == 3 * 3000
    Path("counts.parquet").unlink()
    pq.write_table(table(15), "reports/day14.parquet")
    assert "was counted before, and has changed since" in refused(line)


def test_a_run_that_fails_leaves_the_memory_as_it_was(desk: Path) -> None:
    line = f"{COUNT} --memory memory --question drink"
    good(line)
    remembered = Path("memory/counted.arrow").read_bytes()
    Path("counts.parquet").unlink()
    bad = pa.table({"drink": pa.array([0, 77], pa.uint8())})
    pq.write_table(bad, "reports/day20.parquet")
    assert "row 2" in refused(line)
    assert Path("memory/counted.arrow").read_bytes() == remembered
    Path("reports/day20.parquet").unlink()
    assert good(line).startswith("0 new rows counted")


def test_deleted_files_stay_counted_and_renamed_ones_are_new(desk: Path) -> None:
    line = f"{COUNT} --memory memory --id id --question drink"
    good(line)
    Path("reports/day0.parquet").unlink()
    assert "  drink: 2,800 reports" in good(line)
    Path("reports/day1.parquet").rename("reports/day21.parquet")
    printed = good(line)
    assert printed.startswith("200 new rows counted")
    assert "  drink: 2,800 reports" in printed
    assert "200 rows left out: their ids came before." in printed


@pytest.mark.parametrize("more", ["--by day", "--id id", "--bad skip", "--question cups"])
def test_a_memory_is_for_one_job(desk: Path, more: str) -> None:
    good(f"{COUNT} --memory memory --question drink")
    Path("counts.parquet").unlink()
    said = refused(f"{COUNT} --memory memory --question drink {more}")
    assert "remembers a job with another" in said


def test_labels_that_were_randomised_already_are_counted(desk: Path) -> None:
    pq.write_table(pa.table({"drink": ["tea", "tea", "none"]}), "paper.parquet")
    line = "count survey.json paper.parquet --engine local -o counts.parquet --question drink"
    good(f"{line} --reported")
    assert rows()[0]["cells"] == [0, 2, 1]


LONGITUDINAL = Survey.from_toml("""
name = "weekly"
every = "week"
[[questions]]
name = "drink"
labels = ["espresso", "tea", "none"]
mechanism = {name = "LOSUE", epsilon = 2.0, epsilon_permanent = 4.0}
""")


def test_reports_of_the_same_people_are_counted_by_day_or_said_to_be_of_different_ones(
    desk: Path,
) -> None:
    Path("weekly.json").write_text(LONGITUDINAL.to_json())
    drink = LONGITUDINAL["drink"]
    for week in range(2):
        made = drink.encode_many(["tea"] * 20, np.random.default_rng(week))
        day = MONDAY + datetime.timedelta(weeks=week)
        whole = reports_table(LONGITUDINAL, {"drink": made}, day=day, segment="north")
        pq.write_table(whole, f"weekly{week}.parquet")
    line = "count weekly.json 'weekly*.parquet' --engine local -o counts.parquet"
    for options in ("", " --by segment"):
        assert "'drink' is asked repeatedly" in refused(line + options)
    good(f"{line} --by day")
    said = run("estimate counts.parquet").stderr + run("estimate counts.parquet").stdout
    assert "assumes the same people every week" in " ".join(said.split())
    good(f"{line} --people different")
    assert read_exported(Path("counts.parquet")).counts().rounds.people == "same"
    assert read_exported(Path("counts.parquet")).counts().counts.n == 40
    Path("counts.parquet").unlink()
    assert "--people same is not for --engine" in refused(f"{line} --people same")


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("count survey.json nothing --engine local -o c.parquet", "There is no file or folder"),
        ("count survey.json 'x*' --engine local -o c.parquet", "There is no file that matches"),
        (f"{COUNT} --question drunk", "did you mean 'drink'?"),
        (f"{COUNT} --columns drink=what", "has no column called 'what'"),
        (f"{COUNT} --columns drink,drink", "--columns has 'drink' twice"),
        (f"{COUNT} --columns drink --question cups", "leave --question and --column out"),
        (f"{COUNT} --question drink --question cups --column x", "--column is for one question"),
        (f"{COUNT} --by region", "has no column called 'region'"),
        (f"{COUNT} --id day --by day --question x", "'x'"),
        (f"{COUNT} --id drink", "the column 'drink' has reports"),
        (f"{COUNT} --salvage", "--salvage is for files that are read here one by one"),
        (f"{COUNT} --format csv", "--format is for files that are read here one by one"),
        (f"{COUNT} --refused r.jsonl", "--refused needs --bad skip"),
        (f"{COUNT} --scheduler {SCHEDULER}", "--scheduler is for --engine dask"),
        (f"{COUNT} --master local", "--master is for --engine spark"),
        (f"{COUNT} --memory s3://bucket/x", "memory is a folder of this computer"),
        ("count survey.json reports --engine local -o counts.json", "ends in .parquet"),
        ("count survey.json - --engine local -o c.parquet", "not standard input"),
        ("count survey.json survey.json --engine local -o c.parquet", "ends in '.parquet'"),
        ("count survey.json s3://bucket/day -o c.parquet", "is an address: add --engine"),
        ("count survey.json reports -o c.json --id id", "--id needs --engine"),
        ("count survey.json reports -o c.json --question a --question b", "several need --engine"),
        ("count survey.json reports --engine dusk -o c.parquet", "did you mean 'dask'?"),
        ("count other.json reports --engine local -o c.parquet", "has reports for the survey with"),
        ("count survey.json cut.parquet --engine local -o c.parquet", "not a whole Parquet"),
        ("count survey.json reports --engine local -o reports/day3.parquet", "which is read too"),
    ],
)
def test_wrong_input_is_one_sentence(desk: Path, line: str, sentence: str) -> None:
    other = Survey("other", (Question("drink", ["a", "b", "c"], KRR(3, 2.0)),))
    Path("other.json").write_text(other.to_json())
    Path("cut.parquet").write_bytes(Path("reports/day1.parquet").read_bytes()[:-9])
    before = Path("reports/day3.parquet").read_bytes()
    assert sentence in refused(line)
    assert Path("reports/day3.parquet").read_bytes() == before


@pytest.mark.parametrize(
    ("engine", "package", "sentence"),
    [
        ("dask", "distributed", "needs Dask on this machine: pip install 'murmurs[dask]'"),
        ("spark", "pyspark.sql", "needs Spark on this machine: pip install 'murmurs[spark]'"),
    ],
)
def test_a_missing_extra_is_named(
    desk: Path, monkeypatch: pytest.MonkeyPatch, engine: str, package: str, sentence: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    assert sentence in refused(f"count survey.json reports --engine {engine} -o c.parquet")


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("AWS Error ACCESS_DENIED", "s3://bucket/day cannot be read: the store refused the cred"),
        ("No credentials were found", "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
        ("AWS Error NETWORK_CONNECTION", "s3://bucket/day cannot be reached: check the address"),
    ],
)
def test_a_store_that_refuses_or_does_not_answer_is_not_reached(
    desk: Path, monkeypatch: pytest.MonkeyPatch, said: str, sentence: str
) -> None:
    class Refusing:
        @staticmethod
        def from_uri(uri: str) -> None:
            raise OSError(said)

    monkeypatch.setattr("pyarrow.fs.FileSystem", Refusing)
    line = "count survey.json s3://bucket/day --engine local -o c.parquet"
    assert sentence in refused(line, status=1)


def test_a_store_at_an_address_where_nothing_listens_is_not_reached(
    desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "someone")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "something")
    address = "s3://bucket/day?endpoint_override=127.0.0.1:9&scheme=http"
    line = f"count survey.json '{address}' --engine local -o c.parquet"
    assert "s3://bucket/day cannot be reached" in refused(line, status=1)


def test_credentials_in_an_address_are_not_told(
    desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = "s3://me:secret@bucket/x?endpoint_override=127.0.0.1:9&scheme=http"
    said = refused(f"count survey.json '{address}' --engine local -o c.parquet", status=1)
    assert "secret" not in said


def test_a_folder_on_an_object_store_is_counted(
    desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", port=0)
    server.start()
    try:
        _, port = server.get_host_and_port()
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "someone")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "something")
        where = f"endpoint_override=127.0.0.1:{port}&scheme=http"
        store, _ = FileSystem.from_uri(f"s3://bucket?{where}&allow_bucket_creation=true")
        store.create_dir("bucket/reports")
        copy_files("reports", "bucket/reports", LocalFileSystem(), store)
        line = f"count survey.json 's3://bucket/reports?{where}' --engine local -o counts.parquet"
        assert "  drink: 2,800 reports" in good(line)
        good(f"{line} --memory memory")
        Path("counts.parquet").unlink()
        assert good(f"{line} --memory memory").startswith("0 new rows counted")
    finally:
        server.stop()


def test_a_scheduler_that_does_not_answer_is_not_reached(
    desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("murmurs.engines.dask._PATIENCE", 0.5)
    line = f"count survey.json reports --engine dask --scheduler {SCHEDULER} -o c.parquet"
    assert f"no Dask scheduler answers at {SCHEDULER}" in refused(line, status=1)


def test_dask_counts_the_same(desk: Path) -> None:
    good(f"{COUNT} --by day")
    here = rows()
    good(f"{COUNT.replace('local', 'dask')} --by day")
    assert rows() == here
