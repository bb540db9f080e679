"""What is exported is what was collected, in files that other tools and `murmurs count` read."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from murmurs import Survey
from murmurs.collect.stores.export import export, folder_name
from murmurs.collect.stores.store import Part, Store
from murmurs.engines import local
from murmurs.files.columns import read_column
from murmurs.files.schema import question_schema
from murmurs.submission import SubmissionForm
from tests.collect.made import EVERY_KIND, PLAIN, answers, submission

E = EVERY_KIND.fingerprint


def test_an_export_has_every_count_and_every_kept_report(store: Store, tmp_path: Path) -> None:
    store.publish(EVERY_KIND, 20_000)
    store.publish(PLAIN, 20_000)
    for seed in range(6):
        store.add([submission(EVERY_KIND, seed, people=4)], 20_000 + seed % 2)
    found = export(store, tmp_path / "parquet")
    assert found == {"every_kind-1": 6 * 4 * 8, "plain-1": 0}
    folder = tmp_path / "parquet" / "every_kind-1"
    assert Survey.from_json((folder / "survey.json").read_text()) == EVERY_KIND
    rows = pq.read_table(folder / "counts.parquet").to_pylist()
    assert len(rows) == len(EVERY_KIND.reported) * 2
    first = datetime.date(1970, 1, 1)
    for row in rows:
        day = (row["day"] - first).days
        counts = store.counts(Part(E, row["question"], row["segment"], day, day))
        assert (row["n"], row["cells"]) == (counts.n, counts.cells.ravel().tolist())
        assert (row["survey"], row["version"], row["fingerprint"]) == ("every kind", 1, E)
    files = sorted((folder / "reports").rglob("*.parquet"))
    days = [first + datetime.timedelta(day) for day in (20_000, 20_001)]
    assert [path.relative_to(folder / "reports").as_posix() for path in files] == [
        f"question=open product/day={day}/part-0.parquet" for day in days
    ]
    kept = EVERY_KIND.asked("open product")
    chunks = [chunk.values for path in files for chunk in read_column(path, "report", "segment")]
    assert kept.count(chunks) == store.counts(Part(E, "open product"))
    segments = {text for path in files for text in pq.read_table(path)["segment"].to_pylist()}
    assert segments == {"north", "south"}
    assert not pq.read_table(tmp_path / "parquet" / "plain-1" / "counts.parquet").num_rows


def test_an_export_is_written_to_a_new_folder_or_not_at_all(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.publish(PLAIN, 1)
    store.add([submission(PLAIN, 1)], 1)
    (tmp_path / "there").mkdir()
    with pytest.raises(FileExistsError, match="an export is written to a new folder"):
        export(store, tmp_path / "there")

    def fail(part: Part) -> None:
        raise OSError("no room")

    monkeypatch.setattr(store, "counts", fail)
    with pytest.raises(OSError, match="no room"):
        export(store, tmp_path / "new")
    assert [path.name for path in tmp_path.iterdir() if path.name != "store"] == ["there"]


TWO_JOINTS = Survey.from_toml("""
name = "two"
segments = ["north", "south"]
[[questions]]
name = "age"
labels = ["young", "old"]
mechanism = {name = "KRR", epsilon = 1.0}
[[questions]]
name = "pet"
mechanism = {name = "ORappor", epsilon = 2.0, width = 16, cohorts = 4, hashes = 2}
[[questions]]
name = "city"
labels = ["small", "large"]
mechanism = {name = "KRR", epsilon = 1.0}
[[questions]]
name = "name"
mechanism = {name = "ORappor", epsilon = 2.0, width = 16, cohorts = 4, hashes = 2}
[[joint]]
name = "a b"
questions = ["age", "pet"]
[[joint]]
name = "a: b"
questions = ["city", "name"]
""")


def test_questions_whose_names_look_alike_have_folders_of_their_own(
    store: Store, tmp_path: Path
) -> None:
    store.publish(TWO_JOINTS, 1)
    rng, form = np.random.default_rng(1), SubmissionForm(TWO_JOINTS)
    for number, asked in enumerate(TWO_JOINTS.reported, 3):
        reports = asked.encode_many(answers(asked, number, rng), rng)
        store.add([form.make({asked.name: reports}, segment="north")], 1)
    export(store, tmp_path / "parquet")
    folder = tmp_path / "parquet" / "two-1" / "reports"
    names = ["question=a b", "question=a%3A b"]
    assert sorted(path.name for path in folder.iterdir()) == sorted(names)
    day = "day=1970-01-02/part-0.parquet"
    assert [pq.ParquetFile(folder / name / day).metadata.num_rows for name in names] == [3, 4]


@pytest.mark.parametrize("by", [["day"], ["day", "segment"]])
def test_an_engine_counts_the_reports_of_an_export_again(
    store: Store, tmp_path: Path, by: list[str]
) -> None:
    store.publish(TWO_JOINTS, 1)
    rng, form = np.random.default_rng(1), SubmissionForm(TWO_JOINTS)
    for number in range(12):
        asked = TWO_JOINTS.reported[number % 2]
        reports = asked.encode_many(answers(asked, 5, rng), rng)
        sent = form.make({asked.name: reports}, segment=["north", "south"][number % 4 // 2])
        store.add([sent], 1 + number % 3)
    export(store, tmp_path / "parquet")
    found = local.count(tmp_path / "parquet" / "two-1" / "reports", TWO_JOINTS, by=by)
    counted = {
        (*segment, name): own
        for segment in found.segments
        for name, own in found.segments[segment].items()
    }
    first = datetime.date(1970, 1, 1)
    there = {
        (*((str(first + datetime.timedelta(day)), segment)[: len(by)]), asked.name): store.counts(
            Part(TWO_JOINTS.fingerprint, asked.name, segment if len(by) > 1 else None, day, day)
        )
        for asked in TWO_JOINTS.reported
        for day, segment in store.days(TWO_JOINTS.fingerprint, asked.name)
    }
    assert counted == there


def test_the_files_of_an_export_have_the_schema_of_their_survey(
    store: Store, tmp_path: Path
) -> None:
    store.publish(EVERY_KIND, 20_000)
    store.add([submission(EVERY_KIND, 1, people=4)], 20_000)
    export(store, tmp_path / "parquet")
    [path] = (tmp_path / "parquet" / "every_kind-1" / "reports").rglob("*.parquet")
    found = pq.ParquetFile(path).schema_arrow
    assert found.equals(question_schema(EVERY_KIND, "open product"), check_metadata=True)
    assert found.metadata[b"murmurs_fingerprint"].decode() == E
    assert Survey.from_json(found.metadata[b"murmurs_survey"].decode()) == EVERY_KIND


def test_surveys_of_one_name_and_version_have_folders_of_their_own() -> None:
    assert folder_name(EVERY_KIND, set()) == "every_kind-1"
    assert folder_name(PLAIN, {"plain-1"}) == f"plain-1-{PLAIN.short_fingerprint}"
