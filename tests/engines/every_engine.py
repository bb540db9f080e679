"""What every engine promises: the counts of the questions themselves, to the last unit.

The file of tests of each engine in `murmurs.engines.NAMES` imports all of it: with pytest-xdist, a
cluster is then started once, by the process that tests this file.
"""

from __future__ import annotations

import base64
import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from murmurs import Dictionary, Joint, Question, Survey
from murmurs.engines import SourceError, local
from murmurs.wire import Category, Reports, Shape
from tests.engines.made import (
    COFFEE,
    DRINK,
    HOT,
    LABELS,
    ONE,
    Engine,
    asked_with,
    drinks,
    of,
    plain,
    reports_to,
    written,
)
from tests.input_forms import REPORTS, rows
from tests.laws import SMALL

N = 60
"""Reports in each form."""


# Every mechanism in every form of a column


def integers(kind: Any) -> Callable[[Shape[Any], Reports], Any]:
    def made(shape: Shape[Any], reports: Reports) -> Any:
        small = isinstance(shape, Category) and shape.count <= 2 ** (kind.bit_width - 1)
        return pa.array(reports.tolist(), kind) if small else None

    return made


FORMS: dict[str, Callable[[Shape[Any], Reports], Any]] = {
    **{name: REPORTS[name] for name in REPORTS if name.startswith("Arrow") and "list" not in name},
    **{str(kind): integers(kind) for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64())},
    **{str(kind): integers(kind) for kind in (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())},
    "nulls": lambda s, r: pa.array(
        [None if i % 3 else row for i, row in enumerate(rows(s, r))], pa.binary(s.size)
    ),
    "only nulls": lambda s, r: pa.nulls(len(r)),
}
"""Columns that the files of the engines may have."""

_ASKED = [Question(name, ["x", "y", "z"], epsilon=1.0) for name in "abcd"]
EVERY = Survey(
    "every",
    (
        *(asked_with(f"q{i}", mechanism) for i, mechanism in enumerate(SMALL)),
        *_ASKED,
        Dictionary(6.0, 3, name="word"),
    ),
    joints=(Joint(*_ASKED[:2], name="both"), Joint(*_ASKED[2:], name="once", once=True)),
)


def column(asked: Any, form: str) -> Any:
    """The reports to a question in a form; as bytes, if its shape has no such form."""
    shape, reports = asked.mechanism.shape, reports_to(asked, N)
    found = FORMS[form](shape, reports)
    return found if found is not None else pa.array(rows(shape, reports), pa.binary(shape.size))


def test_every_mechanism_in_every_form(engine: Engine, tmp_path: Path) -> None:
    for place, form in enumerate(FORMS):
        own = {asked.name: column(asked, form) for asked in EVERY.reported}
        # Parquet has no views.
        kind = "arrow" if "view" in form or place % 4 == 3 else "parquet"
        written(tmp_path / f"form={form}" / f"a.{kind}", pa.table(own), group=7 * place + 1)
    counted = engine(tmp_path, EVERY, by="form", people="different")
    assert counted.rows == N * len(FORMS)
    expected = {
        (form,): {asked.name: of(asked, reports_to(asked, N)) for asked in EVERY.reported}
        for form in FORMS
        if "nulls" not in form
    }
    kept = np.arange(0, N, 3)
    expected["nulls",] = {a.name: of(a, reports_to(a, N)[kept]) for a in EVERY.reported}
    assert plain(counted) == expected
    assert counted.missing == {a.name: 2 * N - len(kept) for a in EVERY.reported}


# Sources


def test_several_files_folders_and_patterns_are_one_source(engine: Engine, tmp_path: Path) -> None:
    for number in range(12):
        written(tmp_path / f"part-{number}.parquet", {"drink": drinks(10, number)})
    written(tmp_path / "more" / "x.arrow", {"drink": drinks(7, 20)}, group=3)
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / "notes.txt").write_text("")
    pattern = str(tmp_path / "part-1*.parquet")
    expected = [drinks(10, number) for number in (1, 10, 11)]
    assert plain(engine(pattern, ONE)) == {(): {"drink": of(DRINK, np.concatenate(expected))}}
    several = [tmp_path / "more", *(tmp_path / f"part-{number}.parquet" for number in range(12))]
    whole = [*(drinks(10, number) for number in range(12)), drinks(7, 20)]
    for one in (tmp_path, several):
        assert plain(engine(one, ONE)) == {(): {"drink": of(DRINK, np.concatenate(whole))}}


def test_folders_name_days_and_questions(engine: Engine, tmp_path: Path) -> None:
    for day in (30, 31):
        for asked in (DRINK, HOT):
            folder = tmp_path / f"question={asked.name}" / f"day=2027-03-{day}"
            reports = reports_to(asked, 10, day).astype(np.int16)
            written(folder / "a.parquet", {"report": reports})
    folder = tmp_path / "question=hot" / "day=__HIVE_DEFAULT_PARTITION__"
    written(folder / "a.parquet", {"report": reports_to(HOT, 3)})
    counted = engine(tmp_path, COFFEE, by="day", bad="skip")
    assert plain(counted) == {
        (f"2027-03-{day}",): {a.name: of(a, reports_to(a, 10, day)) for a in (DRINK, HOT)}
        for day in (30, 31)
    }
    assert counted.refused == {"the segment 'day' is missing": 3}
    with pytest.raises(SourceError, match=r"row 1: the segment 'day' is missing; correct it"):
        engine(tmp_path, COFFEE, by="day")


def test_empty_files_partitions_and_tables_add_nothing(engine: Engine, tmp_path: Path) -> None:
    nothing = pa.table({"drink": pa.array([], pa.int64())})
    written(tmp_path / "a.parquet", nothing)
    written(tmp_path / "b.arrow", nothing)
    assert plain(engine(tmp_path, ONE)) == {(): {"drink": of(DRINK, [])}}
    assert plain(engine(tmp_path, ONE, by=())) == plain(engine([nothing], ONE))
    with pytest.raises(SourceError, match=r"a\.parquet has no column called 'hot'"):
        engine(tmp_path, COFFEE)
    written(tmp_path / "c.parquet", {"drink": drinks(10)}, group=3)
    written(tmp_path / "d.parquet", nothing)
    counted = engine(tmp_path, ONE)
    assert plain(counted) == {(): {"drink": of(DRINK, drinks(10))}}
    assert counted.rows == 10


def test_tables_in_memory(engine: Engine) -> None:
    tables = [pa.table({"drink": drinks(10, seed)}) for seed in range(3)]
    batch = pa.record_batch({"drink": drinks(5, 9).astype(np.uint8)})
    sources = [*tables, tables[0].slice(0, 0), batch]
    expected = [*(drinks(10, seed) for seed in range(3)), drinks(5, 9)]
    counted = engine(sources, ONE)
    assert plain(counted) == {(): {"drink": of(DRINK, np.concatenate(expected))}}


def test_rows_without_a_report_are_missing(engine: Engine) -> None:
    reports = [None if i % 3 else int(report) for i, report in enumerate(drinks(20))]
    table = pa.table({"drink": pa.array(reports), "id": [i // 2 for i in range(20)]})
    counted = engine([table, table.slice(0, 5)], ONE)
    kept = [*range(0, 20, 3), 0, 3]
    assert plain(counted) == {(): {"drink": of(DRINK, drinks(20)[kept])}}
    assert counted.missing == {"drink": 25 - len(kept)}
    assert counted.notes == ["16 rows have no report to 'drink'."]
    once = engine(table, ONE, id="id")
    assert once.missing == {"drink": 10 - len(range(0, 20, 6))}


# Segments

REGIONS, DAYS = 60, 40


def test_thousands_of_segments_by_two_columns(engine: Engine, tmp_path: Path) -> None:
    n = 9000
    rng = np.random.default_rng(3)
    region, day = rng.integers(0, REGIONS, n), rng.integers(0, DAYS, n)
    first = datetime.date(2027, 3, 1)
    table = pa.table(
        {
            "drink": drinks(n),
            "region": pa.array([f"région {i}" for i in region]).dictionary_encode(),
            "day": [first + datetime.timedelta(int(i)) for i in day],
        }
    )
    for number, start in enumerate(range(0, n, 4000)):
        written(tmp_path / f"{number}.parquet", table.slice(start, 4000), group=997)
    counted = engine(tmp_path, ONE, by=["region", "day"])
    expected = np.zeros((REGIONS, DAYS, len(LABELS)), np.int64)
    np.add.at(expected, (region, day, drinks(n)), 1)
    assert len(counted.segments) == np.count_nonzero(expected.sum(axis=2)) > 2000
    for (name, date), own in counted.segments.items():
        place = int(name.split()[1]), (datetime.date.fromisoformat(date) - first).days
        assert own["drink"].cells.tolist() == expected[place].tolist()
    assert counted["drink"].cells.tolist() == expected.sum(axis=(0, 1)).tolist()


def test_segments_of_every_type_of_column(engine: Engine) -> None:
    n = 12
    columns = {
        "text": pa.array(["x", "y"] * 6, pa.large_string()),
        "view": pa.array(["x", "y"] * 6, pa.string_view()),
        "number": pa.array([-1, 2**40] * 6),
        "bool": pa.array([True, False] * 6),
    }
    table = pa.table({"drink": drinks(n), **columns})
    counted = engine(table, ONE, by=list(columns))
    assert plain(counted) == {
        ("x", "x", "-1", "true"): {"drink": of(DRINK, drinks(n)[::2])},
        ("y", "y", str(2**40), "false"): {"drink": of(DRINK, drinks(n)[1::2])},
    }


def test_rows_without_a_segment_are_refused(engine: Engine) -> None:
    table = pa.table({"drink": drinks(4), "region": ["x", None, "x", "y"], "none": pa.nulls(4)})
    counted = engine([table, table], ONE, by="region", bad="skip")
    assert counted.refused == {"the segment 'region' is missing": 2}
    assert [(s.source, s.row) for s in counted.samples] == [("table 1", 2), ("table 2", 2)]
    assert engine(table, ONE, by="none", bad="skip").segments == {}
    with pytest.raises(SourceError, match=r"table 1, row 2: the segment 'region' is missing;"):
        engine(table, ONE, by="region")


# Ids

IDS: dict[str, Callable[[list[int]], Any]] = {
    "16 bytes": lambda x: pa.array([i.to_bytes(16, "big") for i in x], pa.binary(16)),
    "variable bytes": lambda x: pa.array([i.to_bytes(16, "big") for i in x], pa.binary()),
    "UUIDs": lambda x: pa.array([i.to_bytes(16, "big") for i in x], pa.uuid()),
    "text": lambda x: pa.array([f"person {i}" for i in x]),
    "dictionary": lambda x: pa.array([f"person {i}" for i in x]).dictionary_encode(),
    "numbers": lambda x: pa.array([-i for i in x]),
    "large numbers": lambda x: pa.array([2**64 - 1 - i for i in x], pa.uint64()),
}


def test_each_id_counts_once_where_it_came_first(engine: Engine, tmp_path: Path) -> None:
    own = [0, 1, 1, 2, 3, 0, 4, 5, 6, 6]
    later = [7, 5, 8, 1, 9, 9, 10, 0, 3, 11]
    columns = [
        pa.table({"drink": drinks(10, seed), **{name: made(ids) for name, made in IDS.items()}})
        for seed, ids in enumerate((own, later))
    ]
    written(tmp_path / "a.parquet", columns[0], group=3)
    written(tmp_path / "b.arrow", columns[1], group=4)
    firsts = [drinks(10, 0)[[0, 1, 3, 4, 6, 7, 8]], drinks(10, 1)[[0, 2, 4, 6, 9]]]
    names = IDS if engine.func is local.count else list(IDS)[1::3]  # type: ignore[attr-defined]
    for name in names:
        counted = engine(tmp_path, ONE, id=name)
        assert plain(counted) == {(): {"drink": of(DRINK, np.concatenate(firsts))}}, name
        assert (counted.rows, counted.repeated) == (20, 8)


def test_a_missing_id_is_refused(engine: Engine) -> None:
    table = pa.table({"drink": drinks(5), "person": ["a", None, "b", "a", None]})
    counted = engine([table, table], ONE, id="person", bad="skip")
    assert plain(counted) == {(): {"drink": of(DRINK, drinks(5)[[0, 2]])}}
    assert (counted.refused, counted.repeated) == ({"the id is missing": 4}, 4)
    with pytest.raises(SourceError, match=r"table 1, row 2: the id is missing;"):
        engine(table, ONE, id="person")


# Bad rows


def test_bad_rows_are_left_out_and_named_the_same_everywhere(
    engine: Engine, tmp_path: Path
) -> None:
    good = [base64.b64encode(bytes([i])).decode() for i in drinks(40)]
    for number in range(3):
        values = [*good]
        values[number + 3 : number + 5] = ["no base64!", "AAAA"]
        columns = {"drink": values, "hot": pa.array([0, -1, 2, *[1] * 37], pa.int64())}
        written(tmp_path / f"{number}.parquet", columns, group=11)
    counted = engine(tmp_path, COFFEE, bad="skip")
    left = [drinks(40)[[i for i in range(40) if i - number not in (3, 4)]] for number in range(3)]
    hot = ([0] + [1] * 37) * 3
    assert plain(counted) == {
        (): {"drink": of(DRINK, np.concatenate(left)), "hot": of(HOT, np.array(hot))}
    }
    assert counted.refused == {
        "the column 'drink' has no report to 'drink'": 6,
        "the column 'hot' has no report to 'hot'": 6,
    }
    named = [(Path(s.source).name, s.row, s.reason.split("'")[1]) for s in counted.samples]
    assert sorted(named) == sorted(
        (f"{number}.parquet", row, name)
        for number in range(3)
        for row, name in [(2, "hot"), (3, "hot"), (number + 4, "drink"), (number + 5, "drink")]
    )
    with pytest.raises(SourceError) as caught:
        engine(tmp_path / "2.parquet", COFFEE, columns=["drink"])
    assert str(caught.value) == (
        f"{tmp_path}/2.parquet, row 6: the column 'drink' has no report to 'drink'; correct it, "
        "or leave such rows out with `bad='skip'`"
    )


def test_only_the_first_bad_rows_are_named(engine: Engine) -> None:
    table = pa.table({"drink": [7] * 130})
    counted = engine([table, table], ONE, bad="skip")
    assert [(s.source, s.row) for s in counted.samples] == [("table 1", i + 1) for i in range(100)]
    assert counted.refused == {"the column 'drink' has no report to 'drink'": 260}
    assert counted.notes == ["260 rows refused: the column 'drink' has no report to 'drink'."]


# Labels


def test_reported_labels(engine: Engine) -> None:
    labels = [LABELS[i] for i in drinks(20)]
    table = pa.table({"drink": labels})
    coded = pa.table({"drink": pa.array([*labels[:5], "beer"]).dictionary_encode()})
    counted = engine([table, coded], ONE, reported=True, bad="skip")
    expected = DRINK.count_reported([*labels, *labels[:5]])
    assert plain(counted) == {(): {"drink": (25, expected.cells.tolist())}}
    assert counted.refused == {"the column 'drink' has no label to 'drink'": 1}
    with pytest.raises(SourceError, match=r"table 1, row 6: the column 'drink' has no label"):
        engine(coded, ONE, reported=True)


# Memory


def test_a_memory_counts_only_new_files(engine: Engine, tmp_path: Path) -> None:
    data, memory = tmp_path / "data", tmp_path / "memory"
    ids = [f"person {i}" for i in range(10)]
    written(data / "a.parquet", {"drink": drinks(10, 1), "id": ids}, group=4)
    first = engine(data, ONE, id="id", memory=memory)
    assert (first.rows, first.new, first.repeated) == (10, 10, 0)
    again = engine(data, ONE, id="id", memory=memory)
    assert (plain(again), again.rows, again.new) == (plain(first), 10, 0)
    written(data / "b.parquet", {"drink": drinks(10, 2), "id": [*ids[5:], *"vwxyz"]})
    counted = engine(data, ONE, id="id", memory=memory)
    expected = np.concatenate([drinks(10, 1), drinks(10, 2)[5:]])
    assert plain(counted) == {(): {"drink": of(DRINK, expected)}}
    assert (counted.rows, counted.new, counted.repeated) == (20, 10, 5)
    assert counted.notes[0] == "10 rows counted in earlier runs."
    with pytest.raises(ValueError, match=r"remembers a job with another id: give this one"):
        engine(data, ONE, memory=memory)
    written(data / "a.parquet", {"drink": drinks(11, 1), "id": [*ids, "new"]})
    with pytest.raises(SourceError, match=r"a\.parquet was counted before, and has changed since"):
        engine(data, ONE, id="id", memory=memory)
