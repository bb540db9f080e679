"""``murmurs store`` on the command line, beside a collector that is running."""

from __future__ import annotations

import contextlib
import datetime
import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from murmurs.cli import main
from murmurs.cli.store import command
from murmurs.collect.stores import open_store
from murmurs.collect.stores.store import Store
from tests.collect.made import EVERY_KIND, PLAIN, submission

NAMES = ["check", "backup", "restore", "export", "vacuum"]


@pytest.fixture
def collected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.chdir(tmp_path)
    with contextlib.closing(open_store("collected")) as store:
        store.publish(EVERY_KIND, 20_000)
        store.publish(PLAIN, 20_000)
        store.add([submission(EVERY_KIND, 1), submission(PLAIN, 1)], 20_000)
        store.backup(Path("monday.sqlite"))
        yield store


def run(line: str) -> str:
    done = CliRunner().invoke(main, shlex.split(line))
    assert done.exit_code == 0, done.output
    return done.stdout


def example_of(name: str) -> str:
    text = command.commands[name].help or ""
    (line,) = [line.strip() for line in text.splitlines() if line.strip().startswith("murmurs ")]
    return line.removeprefix("murmurs ")


def test_the_commands_are_those_that_are_tested() -> None:
    assert isinstance(command, click.Group)
    assert sorted(command.commands) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("option", ["", " --json"])
def test_the_example_of_the_help_runs(collected: Store, name: str, option: str) -> None:
    example = example_of(name)
    assert example.startswith(f"store {name}")
    if name == "backup":
        Path("monday.sqlite").unlink()
    printed = run(example + option)
    assert printed.strip()
    assert not option or json.loads(printed)


def test_check_says_what_is_there(collected: Store) -> None:
    printed = run("store check --store collected")
    assert "collected: no damage found" in printed
    assert "plain version 1, open\n  hot: 3 reports" in printed
    found = json.loads(run("store check --store collected --json"))
    assert found["surveys"][0]["reports"]["open product"] == 3


def test_a_restored_store_has_everything(collected: Store) -> None:
    run("store restore monday.sqlite --store restored")
    before = json.loads(run("store check --store collected --json"))
    assert json.loads(run("store check --store restored --json"))["surveys"] == before["surveys"]


def test_only_the_owner_can_read_a_backup_and_what_is_restored(collected: Store) -> None:
    run("store restore monday.sqlite --store restored")
    for file in ("monday.sqlite", "restored/store.sqlite"):
        assert Path(file).stat().st_mode & 0o777 == 0o600


def test_kept_reports_of_an_export_are_counted_again(collected: Store) -> None:
    run("store export out --store collected")
    folder = "out/every_kind-1"
    counted = run(
        f"count {folder}/survey.json '{folder}/reports/question=open product' "
        "--column report --question 'open product' -o counts.json --json"
    )
    assert json.loads(counted) == {"question": "open product", "n": 3}


def test_kept_reports_are_counted_by_day_as_the_store_counted_them(collected: Store) -> None:
    run("store export out --store collected")
    folder = "out/every_kind-1"
    run(f"count {folder}/survey.json {folder}/reports --engine local --by day --by segment -o c.pq")
    exported = pq.read_table(f"{folder}/counts.parquet").to_pylist()
    assert pq.read_table("c.pq").to_pylist() == [
        row for row in exported if row["question"] == "open product"
    ]


def test_kept_reports_of_an_older_export_are_counted(collected: Store) -> None:
    """Those were in one file, with the day as a column."""
    run("store export out --store collected")
    folder = "out/every_kind-1"
    [path] = Path(folder, "reports").rglob("*.parquet")
    table = pq.ParquetFile(path).read().replace_schema_metadata(None)
    day = pa.array([datetime.date(2027, 3, 31)] * len(table), pa.date32())
    pq.write_table(table.add_column(0, "day", day), "reports-open_product.parquet")
    line = f"count {folder}/survey.json reports-open_product.parquet --question 'open product'"
    counted = json.loads(run(f"{line} --column report -o counts.json --json"))
    assert counted == {"question": "open product", "n": 3}
    run(f"{line} --column report --engine local --by day -o counts.parquet")
    assert pq.read_table("counts.parquet")["n"].to_pylist() == [3]


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("store check --store nowhere", "there is no store in nowhere"),
        ("store backup monday.sqlite --store collected", "a backup is written to a new file"),
        ("store restore monday.sqlite --store collected", "restore to a new directory"),
        ("store restore nothing.sqlite --store new", "there is no backup nothing.sqlite"),
        ("store export collected --store collected", "an export is written to a new folder"),
    ],
)
def test_mistakes_are_one_sentence(collected: Store, line: str, rule: str) -> None:
    done = CliRunner().invoke(main, shlex.split(line))
    assert done.exit_code == 2
    assert rule in done.stderr


@pytest.mark.parametrize(
    ("line", "module", "missing", "extra"),
    [
        ("store check --store collected", "sqlite", "apsw", "server"),
        ("token list --store collected", "sqlite", "apsw", "server"),
        ("token list --store postgresql://x", "postgresql", "psycopg", "server,postgres"),
    ],
)
def test_a_missing_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, line: str, module: str, missing: str, extra: str
) -> None:
    for name in [
        name for name in sys.modules if name.startswith(f"murmurs.collect.stores.{module}")
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    done = CliRunner().invoke(main, line.split())
    assert done.exit_code == 2
    assert (
        f"the store needs {missing}: install it with pip install 'murmurs[{extra}]'" in done.output
    )
