"""Sources are looked at before any work begins; what cannot be counted is one sentence."""

from __future__ import annotations

import datetime
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from murmurs import KRR, Question, Survey
from murmurs.engines import SourceError, batches, local, sources
from murmurs.engines.running import tried
from murmurs.engines.sources import damaged
from murmurs.files.schema import FINGERPRINT
from tests.engines.made import COFFEE, DRINK, ONE, drinks, of, plain, written

N = 6
MOMENT = datetime.datetime(2027, 3, 31, 12)


def refused(*given: Any, **options: Any) -> str:
    """What a job says that is refused."""
    with pytest.raises((ValueError, TypeError, OSError, ImportError)) as caught:
        local.count(*given, **options)
    return str(caught.value)


COLUMNS: dict[str, tuple[Any, dict[str, Any], str]] = {
    "timestamps as segments": (
        {"drink": drinks(N), "at": [MOMENT] * N},
        {"by": "at"},
        "the segments in 'at' must be text, whole numbers or dates, not of type timestamp",
    ),
    "floats as segments": (
        {"drink": drinks(N), "at": [0.5] * N},
        {"by": "at"},
        "the segments in 'at' must be text, whole numbers or dates, not of type double",
    ),
    "timestamps as ids": (
        {"drink": drinks(N), "at": [MOMENT] * N},
        {"id": "at"},
        "the ids in 'at' must be bytes, text or numbers, not of type timestamp",
    ),
    "nested reports": (
        {"drink": [{"report": 1}] * N},
        {},
        "the column 'drink' is of type struct, and reports are whole numbers, bytes or base64 text",
    ),
    "timestamps as reports": (
        {"drink": [MOMENT] * N},
        {},
        "the column 'drink' is of type timestamp, and reports are whole numbers, bytes or base64 "
        "text",
    ),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_of_other_types_are_refused(name: str) -> None:
    columns, options, said = COLUMNS[name]
    assert refused(pa.table(columns), ONE, bad="skip", **options) == f"table 1: {said}"


def test_a_column_that_is_missing_or_there_twice(tmp_path: Path) -> None:
    path = written(tmp_path / "a.parquet", {"drnk": drinks(N), "a": [1] * N})
    said = f"{path} has no column called 'drink'; it has 'drnk', 'a': did you mean 'drnk'?"
    assert refused(path, ONE) == said
    twice = pa.Table.from_arrays([pa.array(drinks(N))] * 2, ["drink", "drink"])
    assert refused(twice, ONE) == "table 1 has several columns called 'drink'"
    folder = written(tmp_path / "x=1" / "b.parquet", {"x": [1], "drink": [1]})
    assert "has a column 'x', and so has its folder: rename one of them" in refused(tmp_path, ONE)
    folder.unlink()
    written(tmp_path / "x=1" / "b.parquet", {"drink": [1]})
    path.unlink()
    assert "has no column called 'x'; it has 'drink'" in refused(tmp_path, ONE, id="x")
    assert refused(tmp_path, ONE, by="drink") == "the column 'drink' has reports: name another one"
    assert refused(tmp_path, ONE, by=["x", "x"]).startswith("by has the column 'x' twice")


def test_names_with_dots_beside_nested_columns(tmp_path: Path) -> None:
    columns = {"a.b": drinks(N), "a": [{"b": 9}] * N, "a.c": ["x", "y"] * (N // 2)}
    path = written(tmp_path / "a.parquet", columns)
    counted = local.count(path, ONE, columns={"drink": "a.b"}, by="a.c")
    assert plain(counted) == {
        ("x",): {"drink": of(DRINK, drinks(N)[::2])},
        ("y",): {"drink": of(DRINK, drinks(N)[1::2])},
    }


def test_files_whose_schemas_differ(tmp_path: Path) -> None:
    written(tmp_path / "a.parquet", {"drink": pa.array(drinks(N), pa.int8()), "id": [1] * N})
    bytes_ = pa.array([bytes([i]) for i in drinks(N)], pa.binary())
    written(tmp_path / "b.arrow", {"id": pa.array([2] * N, pa.uint64()), "drink": bytes_})
    assert local.count(tmp_path, ONE)["drink"].n == 2 * N
    assert local.count(tmp_path, ONE, id="id")["drink"].n == 2
    written(tmp_path / "c.parquet", {"drink": drinks(N), "id": ["3"] * N})
    assert refused(tmp_path, ONE, id="id") == (
        f"the ids in 'id' are whole numbers in one of {tmp_path}/a.parquet and "
        f"{tmp_path}/c.parquet, but not in the other: write them in one way"
    )


def test_an_id_is_the_same_in_every_type(tmp_path: Path) -> None:
    ids = [i.to_bytes(16, "big") for i in range(N)]
    kinds = [pa.binary(16), pa.binary(), pa.large_binary(), pa.uuid()]
    tables = [
        pa.table({"drink": drinks(N, i), "id": pa.array(ids, kind)}) for i, kind in enumerate(kinds)
    ]
    counted = local.count(tables, ONE, id="id")
    assert plain(counted) == {(): {"drink": of(DRINK, drinks(N, 0))}}
    numbers = [pa.array([-1, 5], pa.int64()), pa.array([2**64 - 1, 5], pa.uint64())]
    tables = [pa.table({"drink": [0, 1], "id": own}) for own in numbers]
    assert local.count(tables, ONE, id="id")["drink"].cells.tolist() == [2, 1, 0, 0]


def test_a_file_that_is_given_twice_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "a.parquet", {"drink": drinks(N)})
    said = f"{path} is given twice, and would be counted twice"
    assert refused([tmp_path, path], ONE) == said


def test_a_file_with_two_names_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "in" / "a.parquet", {"drink": drinks(N)})
    (tmp_path / "in" / "latest.parquet").symlink_to(path)
    both = "a.parquet and .*latest.parquet are one file, and would count twice"
    assert re.search(both, refused(tmp_path / "in", ONE))
    for other in (f"{tmp_path}/in/../in/a.parquet", f"file://{path}"):
        assert "are one file, and would count twice" in refused([path, other], ONE)


def test_names_with_the_marks_of_a_pattern(tmp_path: Path) -> None:
    path = written(tmp_path / "day [1] 100%.parquet", {"drink": drinks(N)})
    assert local.count(path, ONE)["drink"].n == N
    assert local.count(tmp_path / "day*", ONE)["drink"].n == N
    assert local.count(f"file://{path}", ONE)["drink"].n == N


def test_what_is_no_source(tmp_path: Path) -> None:
    assert refused(tmp_path / "a", ONE) == f"There is no file or folder '{tmp_path}/a'."
    ends = "that ends in '.parquet', '.pq', '.arrow', '.feather', '.ipc'."
    assert refused(tmp_path, ONE) == f"There is no file in the folder '{tmp_path}' {ends}"
    assert refused(tmp_path / "*", ONE) == f"There is no file that matches '{tmp_path}/*' {ends}"
    assert refused([], ONE).startswith("there are no sources: give at least one")
    assert refused(7, ONE).startswith("sources are paths, URIs or tables of Arrow, or a list")
    assert refused([7], ONE) == "a source is a path, a URI or a table of Arrow, not of type int"
    (tmp_path / "a.csv").write_text("drink\n1\n")
    assert "is not read here: the name of a file ends in" in refused(tmp_path / "a.csv", ONE)


def test_a_file_that_is_cut_off_is_refused_before_any_work(tmp_path: Path) -> None:
    for name in ("a.parquet", "b.arrow"):
        path = written(tmp_path / name, {"drink": drinks(1000)})
        path.write_bytes(path.read_bytes()[:-20])
        assert refused(path, ONE) == (
            f"{path} is not a whole Parquet or Arrow file: it is cut off, damaged or of another "
            "kind"
        )


def test_a_file_with_damaged_pages_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"drink": np.arange(10_000) % 4}), path, compression="snappy")
    data = bytearray(path.read_bytes())
    data[20:400] = bytes(380)
    path.write_bytes(data)
    assert refused(path, ONE).startswith(f"{path} ")


FAILURES = {
    "network": (
        OSError("AWS Error NETWORK_CONNECTION during GetObject operation: curlCode: 18"),
        "s3://b/a.parquet cannot be reached: check the address, and that this computer may reach",
    ),
    "expired": (
        OSError("AWS Error ACCESS_DENIED during GetObject operation"),
        "s3://b/a.parquet cannot be read: the store refused the credentials",
    ),
    "disk": (OSError(5, "I/O error"), "s3://b/a.parquet cannot be read: Input/output error"),
    "damage": (OSError("Corrupt snappy compressed data."), "is not a whole Parquet or Arrow file"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_what_may_go_well_again_is_not_taken_for_damage_and_tried_three_times(name: str) -> None:
    error, said = FAILURES[name]
    tries: list[object] = []

    def read(item: object) -> None:
        tries.append(item)
        with damaged("s3://b/a.parquet"):
            raise error

    with pytest.raises(SourceError, match=said):
        tried(read, 1)
    assert len(tries) == (1 if name == "damage" else 3)


def test_a_file_of_another_survey_is_refused(tmp_path: Path) -> None:
    table = pa.table({"drink": drinks(N)})
    table = table.replace_schema_metadata({FINGERPRINT: COFFEE.fingerprint})
    path = written(tmp_path / "a.parquet", table)
    said = refused(path, ONE)
    assert f"{path} has reports for the survey with fingerprint" in said
    own = table.replace_schema_metadata({FINGERPRINT: ONE.fingerprint})
    assert local.count(own, ONE)["drink"].n == N


def test_numbers_that_may_be_labels_are_refused() -> None:
    stars = Question("stars", ["1", "2", "3"], mechanism=KRR(k=3, epsilon=1.0))
    said = refused(pa.table({"stars": [1, 2]}), Survey("s", (stars,)))
    assert "has numbers in 'stars', and labels of 'stars' are numbers too" in said


def test_a_file_that_is_replaced_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "a.parquet", {"drink": drinks(N), "id": range(N)})
    (part,) = sources.find(path).parts
    stream = batches.batches(part, ["drink"])
    next(stream)
    written(tmp_path / "new.parquet", {"drink": drinks(N + 1)}).replace(path)
    with pytest.raises(SourceError, match="changed while it was read: count again when nothing"):
        list(stream)
    (part,) = sources.find(path).parts
    path.unlink()
    with pytest.raises(SourceError, match=r"a\.parquet is gone: count again when nothing removes"):
        list(batches.batches(part, ["drink"]))


def test_a_file_that_is_replaced_between_ids_and_reports_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "a.parquet", {"drink": drinks(N), "id": range(N)})

    def replaced(done: int, of_all: int) -> None:
        written(path, {"drink": drinks(N + 1), "id": range(N + 1)})

    assert "changed while it was read" in refused(path, ONE, id="id", progress=replaced)


def test_parts_are_whole_groups_of_rows(tmp_path: Path) -> None:
    for name in ("a.parquet", "b.arrow"):
        path = written(tmp_path / name, {"drink": drinks(100)}, group=7)
        found = sources.find(path, rows=20)
        assert [part.rows for part in found.parts] == [21, 21, 21, 21, 16]
        assert [part.first for part in found.parts] == [0, 21, 42, 63, 84]
        counted = local.count(found, ONE)
        assert plain(counted) == {(): {"drink": of(DRINK, drinks(100))}}


def test_longitudinal_reports_are_not_added_up_unasked() -> None:
    kept = Survey.from_toml(
        'name = "kept"\n[[questions]]\nname = "drink"\nlabels = ["tea", "mate"]\n'
        'mechanism = {name = "LOLOHA", epsilon = 1.0, epsilon_permanent = 2.0}'
    )
    table = pa.table({"drink": [b"\0" * kept.reported[0].mechanism.shape.size], "day": ["1"]})
    assert "the same people may have reported several times" in refused(table, kept)
    assert local.count(table, kept, by="day")["drink"].n == 1
    assert local.count(table, kept, people="different")["drink"].n == 1
    assert refused(table, kept, people="same").startswith("people must be 'different' here")


def test_without_arrow_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.fs", None)
    assert refused("a.parquet", ONE).endswith("pip install 'murmurs[frames]'")
