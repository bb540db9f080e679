"""`murmurs encode --engine`: reports of whole columns, by key; a mistake leaves nothing behind."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from murmurs import Keyed, Survey
from murmurs.cli import encoding, main

SURVEY = Survey.from_toml("""
name = "coffee"
[[questions]]
name = "drink"
labels = ["espresso", "tea", "none"]
mechanism = {name = "KRR", epsilon = 1.0}
[[questions]]
name = "minutes"
range = [0, 1440]
mechanism = {name = "OUE", epsilon = 1.0}
buckets = 12
""")
N = 300
ENCODE = "encode survey.json people.parquet --engine local --key person -o private"


def people() -> dict[str, Any]:
    rng = np.random.default_rng(1)
    return {
        "drink": rng.choice(["espresso", "tea", "none"], N),
        "minutes": rng.integers(0, 1441, N),
        "person": [f"person {i}" for i in range(N)],
        "region": rng.choice(["north", "south"], N),
    }


@pytest.fixture(autouse=True)
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("survey.json").write_text(SURVEY.to_json())
    pq.write_table(pa.table(people()), "people.parquet")
    return tmp_path


def run(line: str) -> Result:
    return CliRunner().invoke(main, shlex.split(line))


def good(line: str) -> str:
    result = run(line)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_what_was_written_is_counted_and_its_cost_is_said() -> None:
    assert good(f"{ENCODE} --keep region").splitlines() == [
        "300 rows of private codes written to private",
        "A row costs epsilon 2: drink 1, minutes 1.",
        "Copied as they were, and not private: 'region'.",
    ]
    assert pq.read_table("private").column_names == ["drink", "minutes", "region"]
    said = good("count survey.json private --engine local --by region -o counts.parquet")
    assert "  drink: 300 reports\n  minutes: 300 reports\nThere are 2 segments." in said


def test_a_secret_is_made_once_and_gives_the_same_reports() -> None:
    found = json.loads(good(f"{ENCODE} --keep person --secret secret --json"))
    assert (found["rows"], found["missing"], found["kept"]) == (N, {}, ["person"])
    assert Path("secret").stat().st_mode & 0o777 == 0o600
    good(f"{ENCODE}2 --keep person --secret secret")
    one, two = (pq.read_table(name).sort_by("person") for name in ("private", "private2"))
    assert one.equals(two)
    given, own = people(), pa.array(people()["person"])
    keyed = Keyed(bytes.fromhex(Path("secret").read_text()), (SURVEY.fingerprint,), own)
    order = np.argsort(given["person"])
    drinks = SURVEY["drink"].encode_many(given["drink"], keyed)
    assert one["drink"].to_pylist() == drinks[order].tolist()
    minutes = SURVEY["minutes"].mechanism.shape.column(
        SURVEY["minutes"].encode_many(given["minutes"], keyed)[order]
    )
    assert one["minutes"].to_pylist() == minutes


def test_two_jobs_that_make_a_secret_at_once_use_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other job makes it after this one has seen that there is none."""
    other = bytes(range(32))

    def link(_made: Path, path: Path) -> None:
        path.write_text(other.hex())
        raise FileExistsError

    with monkeypatch.context() as at_once:
        at_once.setattr("os.link", link)
        assert encoding._secret(Path("secret")) == other
    made = encoding._secret(Path("new"))
    assert made == encoding._secret(Path("new")) != other
    assert not [path for path in Path().iterdir() if path.name.startswith(".")]


def test_missing_answers_are_told_or_have_a_label() -> None:
    drinks = pa.array([None if i % 3 == 0 else "tea" for i in range(30)])
    pq.write_table(pa.table({"drink": drinks, "person": np.arange(30)}), "people.parquet")
    line = ENCODE.replace("-o", "--question drink -o")
    assert "10 of 30 answers are missing" in run(line).stderr
    assert "10 rows have no report to 'drink'." in good(f"{line} --drop-missing")
    assert "no report" not in good(f"{line}2 --missing none")


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (ENCODE.replace(" --key person", ""), "--engine needs --key: a column that tells rows"),
        (ENCODE.replace("--key person", "--key region"), "have a key in 'region' that another"),
        (ENCODE.replace("--key person", "--key persn"), "did you mean 'person'?"),
        (f"{ENCODE} --seed 1", "--seed is for files that are read here one by one"),
        (f"{ENCODE} --labels", "--labels is for files that are read here one by one"),
        (f"{ENCODE} --format csv", "--format is for files that are read here"),
        (f"{ENCODE} --by region", "--by writes files of reports"),
        (f"{ENCODE} --keep drink", "--keep drink: that column is encoded"),
        (f"{ENCODE} --master local", "--master is for --engine spark"),
        (f"{ENCODE} --secret survey.json", "survey.json has no secret"),
        (f"{ENCODE}.parquet", "an engine writes a folder of Parquet files"),
        (ENCODE.replace("people.parquet", "nothing"), "There is no file or folder"),
        (ENCODE.replace("people.parquet", "-"), "not standard input"),
        ("encode survey.json people.parquet --key person -o x.parquet", "--key needs --engine"),
        ("encode survey.json people.parquet -o s3://bucket/x", "is an address: add --engine"),
        ("encode survey.json s3://bucket/x -o x.parquet", "is an address: add --engine"),
    ],
)
def test_wrong_input_is_one_sentence_and_writes_nothing(line: str, sentence: str) -> None:
    before = sorted(path.name for path in Path().iterdir())
    result = run(line)
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    [*_, said] = result.stderr.strip().splitlines()
    assert said.startswith("Error: ")
    assert sentence in said
    assert sorted(path.name for path in Path().iterdir()) == before


def test_a_store_that_refuses_ends_with_status_1(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing:
        @staticmethod
        def from_uri(uri: str) -> None:
            raise OSError("AWS Error ACCESS_DENIED")

    monkeypatch.setattr("pyarrow.fs.FileSystem", Refusing)
    result = run(ENCODE.replace("-o private", "-o s3://bucket/x"))
    assert (result.exit_code, result.stdout) == (1, "")
    assert "Error: s3://bucket/x cannot be read: the store refused the credentials" in result.stderr


SLOW = """
import os, sys, time
from murmurs.engines import encoding
from murmurs.cli import main
def slowly(*given):
    print("encoding", flush=True)
    while not os.path.exists("go"):
        time.sleep(0.01)
    raise ValueError("there is nothing to test any more")
encoding.Encoder.encoded = slowly
main(sys.argv[1:])
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_ends_in_the_middle_leaves_no_reports_to_the_next(number: int) -> None:
    """What a killed run left was made with another secret: beside new reports, it costs twice."""
    command = [sys.executable, "-c", SLOW, *shlex.split(ENCODE)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"encoding\n"
        left = [path for path in Path().iterdir() if path.name.startswith(".murmurs-private-")]
        assert len(left) == 1
        assert good(f"{ENCODE}2")  # another target
        assert left[0].is_dir()
        assert "another job writes private: wait until it is done" in run(ENCODE).stderr
        process.send_signal(number)
        Path("go").touch()  # threads end their batch before the program ends
    assert left[0].exists() == (number == signal.SIGKILL)
    assert not Path("private").exists()
    good(ENCODE)
    assert not left[0].exists()
    assert pq.read_table("private").num_rows == N
